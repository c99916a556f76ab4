/* SPDX-License-Identifier: BSD-3-Clause */
/* Sockets, as Linux has them: how they are bound, connected, accepted and shut, and end. */
#include <linux/sockios.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "sim_socket.h"

/* Headers of libc may be older than that. */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

int __real_socket(int family, int type, int protocol);
int __wrap_socket(int family, int type, int protocol);
int __real_socketpair(int family, int type, int protocol, int ends[2]);
int __wrap_socketpair(int family, int type, int protocol, int ends[2]);
int __real_bind(int fd, const struct sockaddr *address, socklen_t size);
int __wrap_bind(int fd, const struct sockaddr *address, socklen_t size);
int __real_listen(int fd, int backlog);
int __wrap_listen(int fd, int backlog);
int __real_connect(int fd, const struct sockaddr *address, socklen_t size);
int __wrap_connect(int fd, const struct sockaddr *address, socklen_t size);
int __real_accept4(int fd, struct sockaddr *address, socklen_t *size, int flags);
int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *size, int flags);
int __real_shutdown(int fd, int how);
int __wrap_shutdown(int fd, int how);
int __real_getsockopt(int fd, int level, int option, void *value, socklen_t *size);
int __wrap_getsockopt(int fd, int level, int option, void *value, socklen_t *size);
int __real_setsockopt(int fd, int level, int option, const void *value, socklen_t size);
int __wrap_setsockopt(int fd, int level, int option, const void *value, socklen_t size);
int __real_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, ...);

struct ucred
sim_credentials(const struct sim_process *process)
{
	return (struct ucred){.pid = process->pid, .uid = process->uid, .gid = process->uid};
}

static short
ready(const struct sim_file *file)
{
	const struct sim_socket *socket = file->socket;
	short events = 0;

	if (socket->listens)
		return socket->n_backlog > 0 ? POLLIN : 0;
	if (socket->error != 0)
		events |= POLLERR;
	if ((socket->shut & SIM_SHUT_RECEIVE) != 0)
		events |= POLLIN | POLLRDHUP;
	if (socket->shut == SIM_SHUT_BOTH)
		events |= POLLHUP;
	if (socket->first != NULL)
		events |= POLLIN;
	if (socket->connected && (socket->peer == NULL || socket->unread < SIM_QUEUE))
		events |= POLLOUT;
	return events;
}

/* Its other end is told, and what was on its way to here is lost. */
static void
end(struct sim_file *file)
{
	struct sim_socket *socket = file->socket;
	struct sim_file *peer = socket->peer;

	if (socket->listens)
		sim_inode_listen(socket->inode, NULL);
	while (socket->n_backlog > 0)
		sim_file_drop(socket->backlog[--socket->n_backlog]);
	if (peer != NULL) {
		peer->socket->shut = SIM_SHUT_BOTH;
		peer->socket->peer = NULL;
		if (socket->first != NULL || socket->unaccepted)
			peer->socket->error = ECONNRESET;
		peer->socket->unread = 0;
	}
	socket->peer = NULL;
	while (socket->first != NULL)
		sim_message_free(sim_message_take(file));
	if (peer != NULL)
		sim_file_changed(peer);
}

const struct sim_file_kind sim_socket_kind = {
	.name = "socket", .ready = ready, .end = end, .read = sim_socket_read};

static struct sim_file *
make(bool nonblocking)
{
	struct sim_file *file = sim_file_make(&sim_socket_kind);

	file->socket = calloc(1, sizeof(*file->socket));
	if (file->socket == NULL)
		abort();
	file->socket->owner = sim_credentials(sim_process_self());
	file->socket->owner_process = sim_process_self();
	file->nonblocking = nonblocking;
	return file;
}

/* One place for both: who is at one end comes to the other with each call. */
static void
join(struct sim_file *one, struct sim_file *other)
{
	other->word = one->word;
	one->socket->peer = other;
	other->socket->peer = one;
	one->socket->connected = other->socket->connected = true;
	one->socket->other = other->socket->owner;
	other->socket->other = one->socket->owner;
	one->socket->other_process = other->socket->owner_process;
	other->socket->other_process = one->socket->owner_process;
}

int
__wrap_socket(int family, int type, int protocol)
{
	if (sim_process_self() == NULL)
		return __real_socket(family, type, protocol);
	sim_call(&machine.word, "socket", 0);
	if (!sim_fd_is_free())
		return sim_refuse(EMFILE);
	return sim_fd_open(make((type & SOCK_NONBLOCK) != 0), (type & SOCK_CLOEXEC) != 0);
}

int
__wrap_socketpair(int family, int type, int protocol, int ends[2])
{
	bool nonblocking = (type & SOCK_NONBLOCK) != 0, cloexec = (type & SOCK_CLOEXEC) != 0;
	struct sim_file *files[2];

	if (sim_process_self() == NULL)
		return __real_socketpair(family, type, protocol, ends);
	sim_call(&machine.word, "socketpair", 0);
	if (!sim_fd_is_free())
		return sim_refuse(EMFILE);
	files[0] = make(nonblocking);
	files[1] = make(nonblocking);
	join(files[0], files[1]);
	ends[0] = sim_fd_open(files[0], cloexec);
	if (ends[0] < 0)
		return -1;
	ends[1] = sim_fd_open(files[1], cloexec);
	if (ends[1] >= 0)
		return 0;
	sim_process_self()->fds[ends[0]].file = NULL;
	sim_file_drop(files[0]);
	return sim_refuse(EMFILE);
}

int
__wrap_bind(int fd, const struct sockaddr *address, socklen_t size)
{
	const char *path = ((const struct sockaddr_un *)address)->sun_path;
	struct sim_file *file;

	if (sim_process_self() == NULL)
		return __real_bind(fd, address, size);
	file = sim_fd_enter(fd, "bind");
	if (sim_inode_of(path) != NULL)
		return sim_refuse(EADDRINUSE);
	file->socket->inode = sim_inode_make(path, S_IFSOCK | 0755);
	return 0;
}

int
__wrap_listen(int fd, int backlog)
{
	struct sim_file *file;

	if (sim_process_self() == NULL)
		return __real_listen(fd, backlog);
	file = sim_fd_enter(fd, "listen");
	file->socket->listens = true;
	file->socket->owner = sim_credentials(sim_process_self());
	file->socket->owner_process = sim_process_self();
	sim_inode_listen(file->socket->inode, file);
	return 0;
}

/* --- connecting --- */

static bool
has_room(void *arg)
{
	const struct sim_file *listener = sim_inode_listener(arg);

	return listener == NULL || listener->socket->n_backlog < SIM_BACKLOG ||
	       (listener->socket->shut & SIM_SHUT_RECEIVE) != 0;
}

static int
connect_to(struct sim_file *file, struct sim_inode *inode)
{
	struct sim_file *listener, *accepted;

	if (!has_room(inode) && file->nonblocking)
		return sim_refuse(EAGAIN);
	if (sim_wait_ends(has_room, inode, 0))
		return sim_refuse(EINTR);
	listener = sim_inode_listener(inode);
	if (listener == NULL || (listener->socket->shut & SIM_SHUT_RECEIVE) != 0)
		return sim_refuse(ECONNREFUSED);
	accepted = make(false);
	accepted->socket->owner = listener->socket->owner;
	accepted->socket->owner_process = listener->socket->owner_process;
	file->socket->owner = sim_credentials(sim_process_self());
	file->socket->owner_process = sim_process_self();
	accepted->socket->unaccepted = true;
	join(file, accepted);
	sim_file_hold(accepted);
	listener->socket->backlog[listener->socket->n_backlog++] = accepted;
	sim_file_changed(listener);
	return 0;
}

int
__wrap_connect(int fd, const struct sockaddr *address, socklen_t size)
{
	const char *path = ((const struct sockaddr_un *)address)->sun_path;
	struct sim_inode *inode;
	struct sim_file *file;
	int result;

	if (sim_process_self() == NULL)
		return __real_connect(fd, address, size);
	file = sim_fd_enter(fd, "connect");
	inode = sim_inode_of(path);
	if (inode == NULL)
		return sim_refuse(ENOENT);
	if (sim_inode_listener(inode) != NULL)
		sim_call(sim_inode_listener(inode)->word, "connect", fd);
	sim_file_keep(file);
	result = connect_to(file, inode);
	sim_file_keep_none(sim_self());
	sim_tell("connects %d: %s", fd, result == 0 ? "it is" : strerrorname_np(errno));
	return result;
}

int
__wrap_accept4(int fd, struct sockaddr *address, socklen_t *size, int flags)
{
	struct sim_file *file, *accepted;
	int result;

	if (sim_process_self() == NULL)
		return __real_accept4(fd, address, size, flags);
	file = sim_fd_enter(fd, "accept4");
	if (!sim_fd_is_free())
		return sim_refuse(EMFILE);
	sim_expect(file->nonblocking, "a listener that blocks is not simulated");
	if (file->socket->n_backlog == 0)
		return sim_refuse((file->socket->shut & SIM_SHUT_RECEIVE) != 0 ? EINVAL : EAGAIN);
	accepted = file->socket->backlog[0];
	file->socket->n_backlog--;
	memmove(file->socket->backlog, file->socket->backlog + 1,
		file->socket->n_backlog * sizeof(accepted));
	accepted->socket->unaccepted = false;
	accepted->nonblocking = (flags & SOCK_NONBLOCK) != 0;
	result = sim_fd_open(accepted, (flags & SOCK_CLOEXEC) != 0);
	accepted->refs--;
	sim_changed();
	sim_tell("accepts %d", result);
	return result;
}

int
__wrap_shutdown(int fd, int how)
{
	unsigned int sides = how == SHUT_RD   ? SIM_SHUT_RECEIVE
			     : how == SHUT_WR ? SIM_SHUT_SEND
					      : SIM_SHUT_BOTH;
	struct sim_file *file;

	if (sim_process_self() == NULL)
		return __real_shutdown(fd, how);
	file = sim_fd_enter(fd, "shutdown");
	file->socket->shut |= sides;
	sim_tell("shuts %d", fd);
	if (file->socket->peer != NULL) {
		if ((sides & SIM_SHUT_RECEIVE) != 0)
			file->socket->peer->socket->shut |= SIM_SHUT_SEND;
		if ((sides & SIM_SHUT_SEND) != 0)
			file->socket->peer->socket->shut |= SIM_SHUT_RECEIVE;
		sim_file_changed(file->socket->peer);
	}
	sim_file_changed(file);
	return 0;
}

/* --- what is asked of one --- */

/* Whoever has ended is waited for. */
static int
peer_pidfd(const struct sim_process *process, void *value)
{
	int fd;

	if (machine.lacks_peer_pidfd)
		return sim_refuse(ENOPROTOOPT);
	if (!process->lives)
		return sim_refuse(EINVAL);
	fd = sim_pidfd_of(process);
	if (fd < 0)
		return fd;
	memcpy(value, &fd, sizeof(fd));
	return 0;
}

int
__wrap_getsockopt(int fd, int level, int option, void *value, socklen_t *size)
{
	const struct sim_file *file;

	if (sim_process_self() == NULL)
		return __real_getsockopt(fd, level, option, value, size);
	file = sim_fd_enter(fd, "getsockopt");
	if (option == SO_PEERPIDFD)
		return peer_pidfd(file->socket->other_process, value);
	sim_expect(option == SO_PEERCRED, "socket option %d is not simulated", option);
	memcpy(value, &file->socket->other, sizeof(file->socket->other));
	return 0;
}

int
__wrap_setsockopt(int fd, int level, int option, const void *value, socklen_t size)
{
	if (sim_process_self() == NULL)
		return __real_setsockopt(fd, level, option, value, size);
	sim_expect(option == SO_PASSCRED, "socket option %d is not simulated", option);
	sim_fd_enter(fd, "setsockopt")->socket->credentials = true;
	return 0;
}

int
__wrap_ioctl(int fd, unsigned long request, ...)
{
	const struct sim_file *file;
	va_list args;
	int *value;

	va_start(args, request);
	value = va_arg(args, int *);
	va_end(args);
	if (sim_process_self() == NULL)
		return __real_ioctl(fd, request, value);
	sim_expect(request == SIOCOUTQ, "ioctl() %lu is not simulated", request);
	file = sim_fd_enter(fd, "ioctl");
	/* In bytes of the kernel's own. */
	*value = (int)(file->socket->unread * 768);
	return 0;
}

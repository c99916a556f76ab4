/* SPDX-License-Identifier: BSD-3-Clause */
/* What clients that do not attach cannot do to a domain over its socket, nor whoever serves a
 * socket to a client. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <linux/sockios.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "domain/domain.h"
#include "domain/share.h"
#include "primary/process.h"
#include "socket_bed.h"

/* Headers of libc may be older than the kernel. */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/* It goes one way: it cannot be filled, nor with descriptors that would be closed with it. */
static void
misuse(int fd)
{
	const uint64_t most = UINT64_MAX - 1;

	assert_int_equal(send(fd, &most, sizeof(most), MSG_NOSIGNAL), -1);
	assert_int_equal(errno, EPIPE);
	assert_int_equal(fcntl(fd, F_SETFL, 0), 0);
}

/* It misuses the descriptor of its watch, and never reads it. */
static void
no_watch_stalls_a_home(void **state)
{
	struct trip_cntr *cntr = socket_cntr("watched");
	struct trip_client_cntr seen = socket_find("watched");
	unsigned int ready = 0;
	uint32_t watch;
	int fd;

	assert_int_equal(trip_client_watch(socket_client, seen.id, &watch, &fd), 0);
	misuse(fd);
	/* More signals than the kernel keeps. */
	for (unsigned int i = 0; i < 2000; i++) {
		assert_int_equal(trip_client_read(socket_client, seen.id, &seen), 0);
		assert_int_equal(trip_client_arm(socket_client, watch, TRIP_CLIENT_ANY, &seen), 0);
		trip_cntr_add(cntr, 1);
		assert_true(socket_is_ready(fd));
	}
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	for (uint64_t signal; read(fd, &signal, sizeof(signal)) > 0; ready++)
		assert_int_equal(signal, 1);
	trip_assert_range(ready, 1, 2000);
	assert_false(socket_is_ready(fd));
	assert_int_equal(trip_client_read(socket_client, seen.id, &seen), 0);
	assert_int_equal(trip_client_arm(socket_client, watch, TRIP_CLIENT_ANY, &seen), 0);
	assert_false(socket_is_ready(fd));
	trip_cntr_add(cntr, 1);
	assert_true(socket_is_ready(fd));
	assert_int_equal(trip_cntr_close(cntr), 0);
}

/* The answer's error; 1: the connection was closed. */
static int
answer_to(const void *message, size_t size)
{
	struct trip_protocol_reply reply;
	int fd = socket_connect();
	ssize_t got;

	assert_int_equal(send(fd, message, size, MSG_NOSIGNAL), size);
	got = recv(fd, &reply, sizeof(reply), 0);
	close(fd);
	return got <= 0 ? 1 : reply.head.error;
}

static void
garbage_ends_the_connection(void **state)
{
	struct trip_random random = {.state = trip_test_seed("garbage")};
	uint64_t rounds = trip_test_rounds(2000);
	struct socket_message raw = {
		.head = socket_head(TRIP_PROTOCOL_READ, sizeof(raw.request.read))};
	size_t size = raw.head.size;
	char big[64 * 1024] = {0};

	assert_int_equal(answer_to(&raw, size), -ENOENT);
	assert_int_equal(answer_to(&raw, size - 1), 1);
	assert_int_equal(answer_to(&raw, size + 1), 1);
	assert_int_equal(answer_to(&raw, 3), 1);
	assert_int_equal(answer_to(big, sizeof(big)), 1);
	raw.head.size++;
	assert_int_equal(answer_to(&raw, size + 1), 1);
	raw.head = socket_head(TRIP_PROTOCOL_TYPES, sizeof(raw.request.read));
	assert_int_equal(answer_to(&raw, size), 1);
	raw.head = socket_head(0, sizeof(raw.request.read));
	assert_int_equal(answer_to(&raw, size), 1);
	raw.head = socket_head(TRIP_PROTOCOL_READ, sizeof(raw.request.read));
	raw.head.version++;
	assert_int_equal(answer_to(&raw, size), -EPROTO);
	raw.head.magic++;
	assert_int_equal(answer_to(&raw, size), 1);
	for (uint64_t i = 0; i < rounds; i++) {
		unsigned char bytes[sizeof(raw)];

		size = trip_random_below(&random, sizeof(bytes)) + 1;
		for (size_t at = 0; at < size; at++)
			bytes[at] = (unsigned char)trip_random_u64(&random);
		assert_int_equal(answer_to(bytes, size), 1);
	}
	/* Others are served all the time. */
	assert_int_equal(
		trip_client_find(socket_client, "none",
			&(struct trip_client_cntr){.size = sizeof(struct trip_client_cntr)}),
		-ENOENT);
}

/* Well-formed requests whose fields are random. */
static void
no_field_is_believed(void **state)
{
	struct trip_random random = {.state = trip_test_seed("fields")};
	uint64_t rounds = trip_test_rounds(20000);
	struct trip_cntr *cntr = socket_cntr("bait");
	static const size_t sizes[TRIP_PROTOCOL_TYPES] = {
		[TRIP_PROTOCOL_LIST] = sizeof(struct trip_protocol_list),
		[TRIP_PROTOCOL_FIND] = sizeof(struct trip_protocol_find),
		[TRIP_PROTOCOL_READ] = sizeof(struct trip_protocol_read),
		[TRIP_PROTOCOL_WATCH] = sizeof(struct trip_protocol_read),
		[TRIP_PROTOCOL_ARM] = sizeof(struct trip_protocol_arm),
		[TRIP_PROTOCOL_UNWATCH] = sizeof(struct trip_protocol_unwatch),
	};
	unsigned int before = socket_count_fds(), answered = 0;
	int fd = socket_connect();

	for (uint64_t i = 0; i < rounds; i++) {
		unsigned int type =
			1 + (unsigned int)trip_random_below(&random, TRIP_PROTOCOL_UNWATCH);
		struct socket_message raw = {.head = socket_head(type, sizes[type])};
		struct trip_protocol_reply reply;
		unsigned char *bytes = (unsigned char *)&raw.request;

		/* Small numbers pass the first checks and meet the next ones. */
		for (size_t at = 0; at < sizes[type]; at++)
			bytes[at] = trip_random_below(&random, 4) == 0
					    ? (unsigned char)trip_random_u64(&random)
					    : (unsigned char)trip_random_below(&random, 3) / 2;
		if (type == TRIP_PROTOCOL_LIST && trip_random_below(&random, 2) == 0) {
			raw.request.list.kind %= 6;
			raw.request.list.size = (const uint32_t[]){
				sizeof(struct trip_client_domain), sizeof(struct trip_client_cntr),
				sizeof(struct trip_client_work), sizeof(struct trip_client_flow),
				sizeof(struct trip_client_process),
				sizeof(struct trip_client_home)}[raw.request.list.kind];
		}
		assert_int_equal(send(fd, &raw, raw.head.size, MSG_NOSIGNAL), raw.head.size);
		/* Any descriptor that comes along is not taken, and so closed by the kernel. */
		assert_true(recv(fd, &reply, sizeof(reply), 0) >= (ssize_t)sizeof(reply.head));
		assert_true(reply.head.error <= 0);
		answered += reply.head.error == 0;
	}
	assert_true(answered > 0);
	close(fd);
	socket_wait_for_fds(before);
	assert_int_equal(trip_cntr_close(cntr), 0);
}

/* ---- descriptors that come along --------------------------------------------------------------
 */

#define LINGER_S 600

/* The last descriptor of a TCP socket that is closed when data that waits there has gone: in so
 * many seconds, since nobody reads it. */
static int
lingering_socket(int ends[2])
{
	const struct linger linger = {.l_onoff = 1, .l_linger = LINGER_S};
	struct sockaddr_in here = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(here);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	static const char page[4096];

	ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(ends[0], (struct sockaddr *)&here, sizeof(here)), 0);
	assert_int_equal(listen(ends[0], 1), 0);
	assert_int_equal(getsockname(ends[0], (struct sockaddr *)&here, &length), 0);
	(void)connect(fd, (struct sockaddr *)&here, sizeof(here));
	ends[1] = accept(ends[0], NULL, NULL);
	assert_true(ends[1] >= 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
	while (write(fd, page, sizeof(page)) > 0)
		;
	return fd;
}

/* Which is what it ends by, after all. */
static void
close_lingering(const int ends[2])
{
	close(ends[1]);
	close(ends[0]);
}

#define COPIES_MAX 4

/* So many bytes of a message, and so many copies of a descriptor, which stays open. */
static void
send_copies(int to, const void *bytes, size_t size, int fd, unsigned int n)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(COPIES_MAX * sizeof(int))];
	} control = {.head = {.cmsg_level = SOL_SOCKET,
			     .cmsg_type = SCM_RIGHTS,
			     .cmsg_len = CMSG_LEN(n * sizeof(int))}};
	struct iovec part = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = size};
	struct msghdr msg = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = n > 0 ? &control : NULL,
		.msg_controllen = n > 0 ? CMSG_SPACE(n * sizeof(int)) : 0};

	for (unsigned int i = 0; i < n; i++)
		memcpy(CMSG_DATA(&control.head) + i * sizeof(fd), &fd, sizeof(fd));
	assert_int_equal(sendmsg(to, &msg, MSG_NOSIGNAL), size);
}

static void
send_with(int to, const void *bytes, size_t size, int fd)
{
	send_copies(to, bytes, size, fd, 1);
	close(fd);
}

/* They end the connection, whatever they came with. */
static void
descriptors_that_come_along_are_closed(void **state)
{
	const struct socket_message raw = {
		.head = socket_head(TRIP_PROTOCOL_READ, sizeof(raw.request.read))};
	unsigned int before = socket_count_fds();
	struct trip_protocol_reply reply;
	int fd = socket_connect();

	send_with(fd, &raw, raw.head.size, open("/dev/null", O_RDONLY));
	assert_true(recv(fd, &reply, sizeof(reply), 0) <= 0);
	close(fd);
	socket_wait_for_fds(before);
}

enum place {
	/* The message that is read next. */
	NEXT,
	/* One of no bytes. */
	EMPTY,
	/* Behind one that ends the connection. */
	BEHIND_GARBAGE,
	/* Behind one of no bytes, which does so, too. */
	BEHIND_EMPTY,
	/* The same of a client that has not read an answer when it goes. */
	BEHIND_ANSWER,
	PLACES,
};

static void
send_lingering(enum place place, int ends[2])
{
	const struct socket_message raw = {
		.head = socket_head(TRIP_PROTOCOL_READ, sizeof(raw.request.read))};
	struct pollfd answered = {.events = POLLIN};
	int fd = -1, unread = 1;

	if (place == BEHIND_ANSWER) {
		answered.fd = fd = socket_connect();
		assert_int_equal(send(fd, &raw, raw.head.size, MSG_NOSIGNAL), raw.head.size);
		assert_int_equal(poll(&answered, 1, -1), 1);
	}
	/* Without it nobody is accepted, and no connection ends: all of it comes at once. */
	pthread_mutex_lock(&socket_domain->lock);
	if (place != BEHIND_ANSWER)
		fd = socket_connect();
	if (place == BEHIND_GARBAGE || place == BEHIND_ANSWER)
		assert_int_equal(send(fd, "garbage", 7, MSG_NOSIGNAL), 7);
	/* Read, and not yet hung up on. */
	while (place == BEHIND_ANSWER && unread > 0)
		assert_int_equal(ioctl(fd, SIOCOUTQ, &unread), 0);
	if (place == BEHIND_EMPTY)
		assert_int_equal(send(fd, NULL, 0, MSG_NOSIGNAL), 0);
	send_with(fd, &raw, place == EMPTY ? 0 : raw.head.size, lingering_socket(ends));
	close(fd);
	pthread_mutex_unlock(&socket_domain->lock);
}

/* Closing them takes ten minutes: the control thread serves others meanwhile, and the domain is
 * closed. */
static void
descriptors_that_linger_hold_up_nobody(void **state)
{
	unsigned int before = socket_count_fds();
	int ends[PLACES][2];

	assert_int_equal(socket_open(state), 0);
	for (enum place place = 0; place < PLACES; place++) {
		send_lingering(place, ends[place]);
		for (unsigned int i = 0; i < 20; i++)
			assert_int_equal(trip_client_find(socket_client, "none",
						 &(struct trip_client_cntr){
							 .size = sizeof(struct trip_client_cntr)}),
				-ENOENT);
	}
	assert_int_equal(socket_close(state), 0);
	socket_wait_for_fds(before + 2 * PLACES);
	for (enum place place = 0; place < PLACES; place++)
		close_lingering(ends[place]);
	socket_wait_for_fds(before);
}

/* It asks and asks, and never reads an answer. */
static void
slow_clients_keep_nobody_waiting(void **state)
{
	struct socket_message raw = {
		.head = socket_head(TRIP_PROTOCOL_LIST, sizeof(raw.request.list)),
		.request.list = {.kind = TRIP_CLIENT_CNTR,
			.count = 1000,
			.size = sizeof(struct trip_client_cntr)}};
	struct trip_cntr *cntrs[200];
	struct trip_client_cntr seen = {.size = sizeof(seen)};
	unsigned int asked = 0;
	int fd = socket_connect();

	for (unsigned int i = 0; i < 200; i++)
		cntrs[i] = socket_cntr(NULL);
	/* Until its answers fill the socket, and then its questions do. */
	while (send(fd, &raw, raw.head.size, MSG_DONTWAIT | MSG_NOSIGNAL) > 0 || asked < 1000) {
		asked++;
		assert_int_equal(trip_client_find(socket_client, "none", &seen), -ENOENT);
	}
	assert_int_equal(trip_client_find(socket_client, "none", &seen), -ENOENT);
	close(fd);
	for (unsigned int i = 0; i < 200; i++)
		assert_int_equal(trip_cntr_close(cntrs[i]), 0);
}

struct stranger {
	int listener;
	/* What it answers. */
	const void *bytes;
	size_t size;
	/* Copies of a descriptor that go along with it. */
	unsigned int n_fds;
};

static void *
answer_strangely(void *arg)
{
	const struct stranger *stranger = arg;
	int fd = accept(stranger->listener, NULL, NULL);
	struct socket_message raw;

	assert_true(recv(fd, &raw, sizeof(raw), 0) > 0);
	send_copies(fd, stranger->bytes, stranger->size, stranger->listener, stranger->n_fds);
	close(fd);
	return NULL;
}

static int
ask_stranger_with(const struct trip_protocol_reply *reply, size_t size, unsigned int n_fds)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct stranger stranger = {.bytes = reply, .size = size, .n_fds = n_fds};
	struct trip_client *other;
	pthread_t thread;
	int error;

	snprintf(address.sun_path, sizeof(address.sun_path), "%.80s/stranger", socket_folder);
	stranger.listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(
		bind(stranger.listener, (const struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(stranger.listener, 1), 0);
	assert_int_equal(pthread_create(&thread, NULL, answer_strangely, &stranger), 0);
	error = trip_client_open(address.sun_path, &other);
	if (error == 0)
		trip_client_close(other);
	pthread_join(thread, NULL);
	close(stranger.listener);
	unlink(address.sun_path);
	return error;
}

static int
ask_stranger(const struct trip_protocol_reply *reply, size_t size)
{
	return ask_stranger_with(reply, size, 0);
}

/* Who serves the path of a socket need not be a primary. */
static void
no_answer_is_believed(void **state)
{
	static struct trip_protocol_reply reply;
	const size_t head = sizeof(reply.head) + offsetof(struct trip_protocol_records, record);
	size_t size = head + sizeof(struct trip_client_domain);

	memset(&reply, 'x', sizeof(reply));
	reply.head = socket_head(TRIP_PROTOCOL_LIST, size - sizeof(reply.head));
	reply.answer.records.cursor = TRIP_PROTOCOL_END;
	reply.answer.records.count = 1;
	assert_int_equal(ask_stranger(&reply, size), 0);
	/* More than was asked for, or than came. */
	reply.answer.records.count = 2;
	assert_int_equal(ask_stranger(&reply, size), -EPROTO);
	reply.answer.records.count = 1;
	reply.head.size = (uint32_t)head;
	assert_int_equal(ask_stranger(&reply, head), -EPROTO);
	assert_int_equal(ask_stranger(&reply, 7), -EPROTO);
	reply.head.size = sizeof(reply);
	reply.head.error = -EIO;
	assert_int_equal(ask_stranger(&reply, sizeof(reply)), -EIO);
	assert_true(strlen(trip_error_message()) < 256);
	/* None of an errno would be taken for a number of records. */
	reply.head.error = 1000;
	assert_int_equal(ask_stranger(&reply, sizeof(reply)), -EPROTO);
	reply.head.error = INT32_MIN;
	assert_int_equal(ask_stranger(&reply, sizeof(reply)), -EPROTO);
}

static void
descriptors_that_come_with_an_answer_are_closed(void **state)
{
	static struct trip_protocol_reply reply;
	const size_t size = sizeof(reply.head) + offsetof(struct trip_protocol_records, record) +
			    sizeof(struct trip_client_domain);
	unsigned int fds = socket_count_fds();

	reply.head = socket_head(TRIP_PROTOCOL_LIST, size - sizeof(reply.head));
	reply.answer.records.cursor = TRIP_PROTOCOL_END;
	reply.answer.records.count = 1;
	for (unsigned int n = 0; n <= COPIES_MAX; n++) {
		assert_int_equal(ask_stranger_with(&reply, size, n), 0);
		assert_int_equal(socket_count_fds(), fds);
	}
}

/* ---- a pid that is used again -----------------------------------------------------------------
 */

/* A process with that pid, 0: any; until its end of the pipe is closed. Negative: why not. */
static pid_t
start(pid_t pid, int socket, const int until[2])
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct clone_args args = {
		.exit_signal = SIGCHLD,
		.set_tid = pid != 0 ? (uintptr_t)&pid : 0,
		.set_tid_size = pid != 0,
	};
	pid_t child = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	char byte = 0;

	if (child != 0)
		return child < 0 ? -errno : child;
	strcpy(address.sun_path, socket_path);
	byte = (char)connect(socket, (const struct sockaddr *)&address, sizeof(address));
	(void)!write(until[1], &byte, 1);
	(void)!read(until[0], &byte, 1);
	_exit(0);
}

static int
call(int fd, unsigned int type, const void *request, size_t size)
{
	struct socket_message message = {.head = socket_head(type, size)};
	struct trip_protocol_reply reply;

	memcpy(&message.request, request, size);
	assert_int_equal(send(fd, &message, message.head.size, MSG_NOSIGNAL), message.head.size);
	assert_true(recv(fd, &reply, sizeof(reply), 0) > 0);
	return reply.head.error;
}

static int
attach_by(int fd)
{
	const struct trip_protocol_attach attach = {
		.nonce = socket_domain->nonce, .layout = trip_share_layout()};

	/* As if its memory could be mapped. */
	socket_domain->server->attachable = true;
	return call(fd, TRIP_PROTOCOL_ATTACH, &attach, sizeof(attach));
}

static bool
has_peer_pidfd(void)
{
	int fd = socket_connect(), pidfd = -1, result;
	socklen_t length = sizeof(pidfd);

	result = getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &length);
	close(fd);
	close(pidfd);
	return result == 0;
}

/* Whoever has connected has ended, and left the connection to others; the pid is a stranger's, who
 * gets no place by it, and nobody gets into his. */
static void
a_pid_that_is_used_again_is_a_strangers(void **state)
{
	const struct trip_protocol_join join = {.number = 0};
	int first = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	int second = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	int until[2];
	pid_t pid;
	char byte;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, until), 0);
	pid = start(0, first, (const int[2]){until[1], until[1]});
	assert_true(pid > 0);
	assert_int_equal(read(until[0], &byte, 1), 1);
	assert_int_equal(byte, 0);
	assert_int_equal(write(until[0], &byte, 1), 1);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	if (!has_peer_pidfd() || start(pid, second, (const int[2]){until[1], until[1]}) != pid)
		skip();
	assert_int_equal(read(until[0], &byte, 1), 1);
	assert_int_equal(attach_by(first), -ESRCH);
	assert_int_equal(attach_by(second), 0);
	assert_int_equal(call(first, TRIP_PROTOCOL_JOIN, &join, sizeof(join)), -ESRCH);
	assert_int_equal(write(until[0], &byte, 1), 1);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(first);
	close(second);
	close(until[0]);
	close(until[1]);
	while (socket_domain->server->processes[0].used)
		(void)trip_progress(socket_domain);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		SOCKET_TEST(no_watch_stalls_a_home),
		SOCKET_TEST(garbage_ends_the_connection),
		SOCKET_TEST(no_field_is_believed),
		SOCKET_TEST(descriptors_that_come_along_are_closed),
		cmocka_unit_test(descriptors_that_linger_hold_up_nobody),
		SOCKET_TEST(slow_clients_keep_nobody_waiting),
		SOCKET_TEST(no_answer_is_believed),
		SOCKET_TEST(descriptors_that_come_with_an_answer_are_closed),
		SOCKET_TEST(a_pid_that_is_used_again_is_a_strangers),
	};

	return socket_run(tests);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The control thread: starts, serves what its epoll reports, and stops. */
#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_log.h>

#include <trip_error.h>

#include "domain/domain.h"
#include "domain/error.h"
#include "domain/share.h"
#include "domain/thread.h"
#include "primary/generation.h"
#include "primary/list.h"
#include "primary/process.h"
#include "primary/server.h"
#include "primary/socket.h"
#include "waiter.h"

/* How often the thread looks whether homes have let go of descriptors, and whether there is memory
 * for an answer. */
#define REAP_MS 5
#define NS_A_SECOND UINT64_C(1000000000)
/* Of each kind, in the log. */
#define LINES_A_SECOND 8

RTE_LOG_REGISTER(trip_server_logtype, tripline, NOTICE);

static void
tell(struct trip_server *server, struct trip_server_telling *telling,
	const struct ucred *credentials, const char *verdict, const char *what)
{
	uint64_t now = trip_thread_now_ns();

	telling->count++;
	if (now - telling->since_ns >= NS_A_SECOND) {
		telling->since_ns = now;
		telling->lines = 0;
	}
	if (telling->lines == LINES_A_SECOND) {
		telling->untold++;
		return;
	}
	telling->lines++;
	rte_log(RTE_LOG_WARNING, (uint32_t)trip_server_logtype,
		"tripline: domain \"%s\": process %d of user %d %s: %s (%" PRIu64
		" such before it are not told)\n",
		server->domain->name, (int)credentials->pid, (int)credentials->uid, verdict, what,
		telling->untold);
	telling->untold = 0;
}

void
trip_server_complain(struct trip_server *server, const struct ucred *credentials, const char *what)
{
	tell(server, &server->garbage, credentials, "leaves garbage", what);
}

void
trip_server_refuse(struct trip_server *server, const struct ucred *credentials)
{
	tell(server, &server->refusals, credentials, "is not let in", trip_error_message());
}

void
trip_server_forbid(struct trip_server *server, const struct ucred *credentials)
{
	tell(server, &server->forbidden, credentials, "may give no command", trip_error_message());
}

static int
probe(const struct rte_mp_msg *message, const void *connection)
{
	return 0;
}

/* Whether EAL makes files by which other processes find this one. */
static bool
shares_config(void)
{
	static const char name[] = "tripline_probe";

	if (rte_mp_action_register(name, probe) == 0) {
		rte_mp_action_unregister(name);
		return true;
	}
	/* With --no-shconf and --in-memory; another thread may be asking just now. */
	return rte_errno != ENOTSUP;
}

int
trip_server_poll(struct trip_server *server, int fd, struct trip_server_source *source)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = source};

	return epoll_ctl(server->epoll, EPOLL_CTL_ADD, fd, &event) == 0
		       ? 0
		       : trip_socket_fail(server, "cannot wait on");
}

void
trip_server_unpoll(struct trip_server *server, int fd)
{
	epoll_ctl(server->epoll, EPOLL_CTL_DEL, fd, NULL);
}

void
trip_server_close(struct trip_server *server, int *fd)
{
	if (*fd < 0)
		return;
	trip_server_unpoll(server, *fd);
	close(*fd);
	*fd = -1;
}

static void
accept_connection(void *owner)
{
	struct trip_server *server = owner;
	const struct timespec pause = {.tv_nsec = 10000000};
	int socket;

	if (trip_hangup_is_busy()) {
		nanosleep(&pause, NULL);
		return;
	}
	/* No child is forked that has the socket and does not know it. */
	pthread_mutex_lock(&server->domain->lock);
	socket = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (socket >= 0)
		trip_connection_open(server, socket);
	pthread_mutex_unlock(&server->domain->lock);
	if (socket < 0 && (errno == EMFILE || errno == ENFILE))
		/* It stays acceptable: no busy loop until somebody lets go of a descriptor. */
		nanosleep(&pause, NULL);
}

static void *
server_main(void *arg)
{
	struct trip_server *server = arg;

	for (;;) {
		bool waits = trip_watch_reap(server);
		const struct trip_server_source *source;
		struct epoll_event event;
		int n;

		waits |= trip_process_reap(server);
		waits |= trip_reply_send_again(server);
		/* One at a time: what follows in the same batch might be of one that is gone. */
		n = epoll_wait(server->epoll, &event, 1, waits ? REAP_MS : -1);
		if (n < 0 && errno != EINTR)
			return NULL;
		if (n <= 0)
			continue;
		source = event.data.ptr;
		if (source->ready == NULL)
			return NULL;
		source->ready(source->owner);
	}
}

static int
start(struct trip_server *server)
{
	int error = trip_socket_choose_path(server);

	if (error == 0)
		error = trip_process_init(server);
	if (error == 0)
		error = trip_generation_take(server);
	if (error != 0)
		return error;
	error = trip_socket_listen(server);
	if (error != 0) {
		/* What could not be made is not there to be removed later. */
		if (server->listener < 0)
			trip_generation_remove(server);
		return error;
	}
	server->epoll = epoll_create1(EPOLL_CLOEXEC);
	server->stop = eventfd(0, EFD_CLOEXEC);
	if (server->epoll < 0 || server->stop < 0)
		return trip_socket_fail(server, "no descriptors to serve");
	server->listening =
		(struct trip_server_source){.ready = accept_connection, .owner = server};
	strcpy(server->domain->share->socket, server->path);
	error = trip_server_poll(server, server->listener, &server->listening);
	if (error == 0)
		error = trip_server_poll(server, server->stop, &server->stopping);
	if (error != 0)
		return error;
	trip_generation_watch(server);
	error = trip_thread_start(&server->thread, "trip-control", server_main, server);
	server->started = error == 0;
	return error;
}

int
trip_server_start(struct trip_domain *domain)
{
	const char *given = domain->attr.socket;
	bool shares = shares_config();
	struct trip_server *server;
	char runtime[PATH_MAX];

	if (given != NULL ? given[0] == 0 : !shares)
		return 0;
	server = calloc(1, sizeof(*server));
	if (server == NULL)
		return trip_error_set(ENOMEM, "domain: no memory for its socket");
	domain->server = server;
	server->domain = domain;
	server->since_ns = trip_thread_now_ns();
	server->attachable = shares && rte_eal_has_hugepages() != 0;
	trip_command_init(server);
	server->epoll = server->listener = server->stop = server->lock = -1;
	snprintf(runtime, sizeof(runtime), "%s", rte_eal_get_runtime_dir());
	snprintf(server->prefix, sizeof(server->prefix), "%s", basename(runtime));
	return start(server);
}

static void
close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

/* The ends of sockets that homes write. */
static void
forget_waiters(struct trip_home *home)
{
	for (uint32_t i = 0; i < home->shape.n_waiters; i++) {
		int fd = atomic_load_explicit(&home->waiter_fds[i], memory_order_relaxed);

		if (fd >= 0 && (fd & TRIP_WAITER_SOCKET) != 0)
			close(fd & ~TRIP_WAITER_SOCKET);
	}
}

void
trip_server_forget(struct trip_domain *domain)
{
	struct trip_server *server = domain->server;

	if (server == NULL)
		return;
	for (uint32_t i = 0; i < TRIP_SERVER_CONNECTIONS; i++)
		if (server->connections[i] != NULL)
			close(server->connections[i]->socket);
	for (uint32_t i = 0; i < domain->engine.n_homes; i++)
		forget_waiters(domain->engine.homes[i]);
	for (uint32_t i = 0; i < domain->attr.max_processes; i++)
		close_fd(server->processes[i].common);
	close_fd(server->listener);
	close_fd(server->lock);
}

/* Those that have connected, and were not served yet. */
static void
stop_listening(int listener)
{
	int socket;

	if (listener < 0)
		return;
	shutdown(listener, SHUT_RD);
	while ((socket = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0)
		trip_hangup(socket);
	close(listener);
}

void
trip_server_stop(struct trip_domain *domain)
{
	struct trip_server *server = domain->server;

	if (server == NULL)
		return;
	if (server->started) {
		trip_thread_tell(server->stop);
		pthread_join(server->thread, NULL);
	}
	trip_command_stop(server);
	trip_proxy_stop(server);
	for (uint32_t i = 0; i < TRIP_SERVER_CONNECTIONS; i++)
		if (server->connections[i] != NULL)
			trip_connection_close(server->connections[i]);
	trip_process_fini(server);
	while (trip_watch_reap(server))
		sched_yield();
	/* Only while the lock is held are the paths ours. */
	if (server->listener >= 0) {
		unlink(server->path);
		trip_generation_remove(server);
	}
	trip_generation_fini(server);
	stop_listening(server->listener);
	close_fd(server->lock);
	close_fd(server->epoll);
	close_fd(server->stop);
	trip_list_top_free(server);
	free(server->retired);
	trip_command_fini(server);
	free(server);
	domain->server = NULL;
}

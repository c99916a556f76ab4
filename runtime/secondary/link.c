/* SPDX-License-Identifier: BSD-3-Clause */
/* The connection to the primary: sends a request, waits for its answer. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_lcore.h>

#include "client/protocol.h"
#include "cntr/native.h"
#include "domain/detach.h"
#include "domain/domain.h"
#include "domain/error.h"
#include "domain/peer.h"
#include "domain/share.h"
#include "domain/thread.h"
#include "secondary/link.h"
#include "waiter.h"

static bool
has_ended(const struct trip_link *link)
{
	struct pollfd primary = {.fd = link->pidfd, .events = POLLIN};

	return poll(&primary, 1, 0) == 1;
}

/* The connection ends with the primary, and with the domain. Why stays the client's sentence. */
static int
fail_ended(int error)
{
	return error == -EPIPE ? -ESHUTDOWN : error;
}

int
trip_link_fail(const struct trip_domain *domain, int error)
{
	return fail_ended(has_ended(domain->link) ? -EPIPE : error);
}

/* A further connection of an attached process. */
static int
connect_as(const char *path, uint32_t number, struct trip_client **out)
{
	const struct trip_protocol_join join = {.number = number};
	struct trip_client *client;
	int error = trip_client_open_within(path, -1, &client);

	if (error != 0)
		return error;
	error = trip_client_call(client, TRIP_PROTOCOL_JOIN, &join, sizeof(join), NULL, NULL);
	if (error == 0)
		*out = client;
	else
		trip_client_close(client);
	return error;
}

/* Under the lock of slow calls. */
static int
join(struct trip_domain *domain)
{
	struct trip_link *link = domain->link;
	int error;

	if (link->slow != NULL)
		return 0;
	error = connect_as(link->path, link->number, &link->slow);
	if (error != 0)
		return error;
	/* Whoever comes second of us and the watcher, which has ended the domain before it looks
	 * here, sees what the other has done. */
	atomic_store(&link->slow_socket, trip_client_socket(link->slow));
	if (atomic_load(&domain->detached))
		shutdown(trip_client_socket(link->slow), SHUT_RDWR);
	return 0;
}

int
trip_link_call(struct trip_domain *domain, enum trip_protocol_type type, const void *body,
	size_t size, union trip_protocol_answer *answer, int *fd)
{
	struct trip_link *link = domain->link;
	bool slow = type > TRIP_PROTOCOL_JOIN;
	pthread_mutex_t *lock = slow ? &link->slow_lock : &link->lock;
	int error = 0;

	pthread_mutex_lock(lock);
	if (slow)
		error = join(domain);
	else
		(void)trip_link_settle(domain, true, NULL);
	if (error == 0)
		error = trip_client_call(
			slow ? link->slow : link->client, type, body, size, answer, fd);
	pthread_mutex_unlock(lock);
	return error == 0 ? 0 : trip_link_fail(domain, error);
}

/* What another connection is asked for by. */
struct way {
	char path[sizeof(((struct trip_link *)0)->path)];
	uint32_t number;
};

static void
copy_way(const struct trip_domain *domain, void *arg)
{
	struct way *way = arg;

	memcpy(way->path, domain->link->path, sizeof(way->path));
	way->number = domain->link->number;
}

int
trip_link_call_once(enum trip_protocol_type type, const void *body, size_t size,
	union trip_protocol_answer *answer)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct trip_client *client;
	struct way way;
	int error = trip_detach_any(copy_way, &way);

	if (error != 0)
		return error;
	/* One at a time: the primary has no place for more, and answers one after the other. */
	pthread_mutex_lock(&lock);
	error = connect_as(way.path, way.number, &client);
	if (error == 0) {
		error = trip_client_call(client, type, body, size, answer, NULL);
		trip_client_close(client);
	}
	pthread_mutex_unlock(&lock);
	return error == 0 ? 0 : fail_ended(error);
}

static int
attach(struct trip_domain *domain, uint64_t nonce)
{
	struct trip_protocol_attach attach = {.nonce = nonce, .layout = trip_share_layout()};
	union trip_protocol_answer answer;
	int error;

	for (unsigned int i = 0; i < RTE_MAX_LCORE && i < TRIP_PROTOCOL_LCORES; i++)
		if (rte_eal_lcore_role(i) != ROLE_OFF)
			attach.lcores[i / 64] |= UINT64_C(1) << i % 64;
	error = trip_link_call(
		domain, TRIP_PROTOCOL_ATTACH, &attach, sizeof(attach), &answer, NULL);
	if (error != 0)
		return error;
	domain->attr = answer.attached.attr;
	domain->attr.name = domain->name;
	domain->engine.tsc_hz = answer.attached.tsc_hz;
	domain->engine.base_tsc = answer.attached.base_tsc;
	domain->link->number = answer.attached.number;
	domain->claimant = answer.attached.number + 1;
	return answer.attached.number < domain->attr.max_processes
		       ? 0
		       : trip_error_set(EPROTO, "domain \"%s\": the primary gives number %u",
				 domain->name, answer.attached.number);
}

static int
open_pidfd(struct trip_domain *domain)
{
	struct ucred primary = {0};
	socklen_t length = sizeof(primary);
	int pidfd;

	if (getsockopt(trip_client_socket(domain->link->client), SOL_SOCKET, SO_PEERCRED, &primary,
		    &length) != 0)
		return trip_error_system(
			errno, "domain \"%s\": no telling who its primary is", domain->name);
	pidfd = trip_peer_pidfd(trip_client_socket(domain->link->client), primary.pid);
	domain->link->pidfd = pidfd >= 0 ? pidfd : -1;
	return pidfd >= 0 ? 0
			  : trip_error_system(-pidfd, "domain \"%s\": no pidfd of its primary %d",
				    domain->name, (int)primary.pid);
}

int
trip_link_open(struct trip_domain *domain, const char *path, uint64_t nonce)
{
	struct trip_link *link = calloc(1, sizeof(*link));
	int error;

	if (link == NULL)
		return trip_error_set(ENOMEM, "domain: no memory for its handle");
	/* What it asks for is done once, however long the primary takes. */
	error = trip_client_open_within(path, -1, &link->client);
	if (error != 0) {
		free(link);
		return fail_ended(error);
	}
	pthread_mutex_init(&link->lock, NULL);
	pthread_mutex_init(&link->slow_lock, NULL);
	snprintf(link->path, sizeof(link->path), "%s", path);
	link->pidfd = link->stop = -1;
	link->asked = TRIP_NONE;
	atomic_init(&link->slow_socket, -1);
	domain->link = link;
	error = open_pidfd(domain);
	/* The primary answers after that, so the pidfd is its, and no later process's. */
	if (error == 0)
		error = attach(domain, nonce);
	if (error != 0)
		trip_link_close(domain);
	return error;
}

int
trip_link_detach(struct trip_domain *domain)
{
	int error;

	/* First: a watcher that sees the end while we leave wakes nobody. */
	atomic_store(&domain->link->leaving, true);
	error = trip_link_call(domain, TRIP_PROTOCOL_DETACH, NULL, 0, NULL, NULL);
	if (error != 0 && error != -ESHUTDOWN)
		atomic_store(&domain->link->leaving, false);
	return error;
}

/* The connection ends with the primary, however that ends, and so does whatever waits on it. */
static void *
watch(void *arg)
{
	struct trip_domain *domain = arg;
	struct pollfd ends[] = {
		{.fd = trip_client_socket(domain->link->client), .events = POLLRDHUP},
		{.fd = domain->link->stop, .events = POLLIN},
		{.fd = domain->link->pidfd, .events = POLLIN},
	};
	int slow;

	while (poll(ends, RTE_DIM(ends), -1) < 0 && errno == EINTR)
		;
	if (ends[1].revents != 0)
		return NULL;
	trip_detach_end(domain);
	shutdown(ends[0].fd, SHUT_RDWR);
	slow = atomic_load(&domain->link->slow_socket);
	if (slow >= 0)
		shutdown(slow, SHUT_RDWR);
	for (uint32_t i = 0; i < domain->engine.n_homes && !atomic_load(&domain->link->leaving);
		i++) {
		/* Partner: trip_native_close(). Else the number could be another file's by now. */
		pthread_mutex_lock(&domain->lock);
		trip_waiter_end(domain->engine.homes[i]);
		pthread_mutex_unlock(&domain->lock);
	}
	return NULL;
}

int
trip_link_watch(struct trip_domain *domain)
{
	struct trip_link *link = domain->link;
	int error;

	link->stop = eventfd(0, EFD_CLOEXEC);
	if (link->stop < 0)
		return trip_error_system(
			errno, "domain \"%s\": no descriptor to watch its primary", domain->name);
	error = trip_thread_start(&link->watcher, "trip-watcher", watch, domain);
	link->watching = error == 0;
	return error;
}

void
trip_link_rest(struct trip_domain *domain)
{
	struct trip_link *link = domain->link;

	pthread_mutex_lock(&link->lock);
	if (link->watching)
		pthread_join(link->watcher, NULL);
	link->watching = false;
	pthread_mutex_unlock(&link->lock);
	trip_native_rest(domain);
}

/* The primary sees it end also where a child of fork() has the connection open. */
static void
disconnect(struct trip_client *client)
{
	shutdown(trip_client_socket(client), SHUT_RDWR);
	trip_client_close(client);
}

void
trip_link_close(struct trip_domain *domain)
{
	struct trip_link *link = domain->link;

	if (link->watching) {
		trip_thread_tell(link->stop);
		pthread_join(link->watcher, NULL);
	}
	if (link->stop >= 0)
		close(link->stop);
	if (link->pidfd >= 0)
		close(link->pidfd);
	if (link->slow != NULL)
		disconnect(link->slow);
	disconnect(link->client);
	pthread_mutex_destroy(&link->slow_lock);
	pthread_mutex_destroy(&link->lock);
	free(link);
	domain->link = NULL;
}

int
trip_link_homes(struct trip_domain *domain, struct trip_client_home *homes)
{
	uint64_t cursor = 0;
	int n = 0, got;

	pthread_mutex_lock(&domain->link->lock);
	(void)trip_link_settle(domain, true, NULL);
	while ((got = trip_client_list(domain->link->client, TRIP_CLIENT_HOME, &cursor, homes + n,
			sizeof(*homes), (uint32_t)(TRIP_HOMES_MAX - n))) > 0)
		n += got;
	pthread_mutex_unlock(&domain->link->lock);
	return got < 0 ? trip_link_fail(domain, got) : n;
}

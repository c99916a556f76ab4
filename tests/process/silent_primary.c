/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A primary that does not answer, as one that is stopped: whoever looks on over its socket is told
 * so in time. All are asked at once, since each takes as long as the limit is.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <trip_client.h>
#include <trip_test.h>

#include "client/protocol.h"

/* When whoever hangs is found out. */
#define WATCHDOG_S 60

struct scene {
	const char *name;
	/* What the primary does once it has accepted; NULL: it does not accept. */
	void (*serve)(int socket);
	/* As many wait to be accepted as may. */
	bool crowded;
	/* What is expected: of the first call, and of one on the connection that is open then. */
	int open, find;

	struct sockaddr_un address;
	int listener, waiting;
	pthread_t server, asker;
	int opened, found, read;
	bool closed;
	char sentence[256];
};

static char folder[] = "/tmp/trip-silent-XXXXXX";

/* ---- the primary ------------------------------------------------------------------------------
 */

/* Whether there was a request. */
static bool
take_request(int socket)
{
	char request[sizeof(union trip_protocol_request) + sizeof(struct trip_protocol_head)];

	return recv(socket, request, sizeof(request), 0) > 0;
}

static void
answer_list(int socket, uint32_t count, uint64_t cursor)
{
	struct trip_protocol_reply reply = {
		.head = {.magic = TRIP_PROTOCOL_MAGIC,
			.version = TRIP_PROTOCOL_VERSION,
			.type = TRIP_PROTOCOL_LIST,
			.size = (uint32_t)(sizeof(reply.head) +
					   offsetof(struct trip_protocol_records, record) +
					   count * sizeof(struct trip_client_domain))},
		.answer.records = {.count = count, .cursor = cursor},
	};

	(void)send(socket, &reply, reply.head.size, MSG_NOSIGNAL);
}

/* It is stopped when it has answered the first one. */
static void
serve_one(int socket)
{
	(void)take_request(socket);
	answer_list(socket, 1, TRIP_PROTOCOL_END);
	while (take_request(socket))
		;
}

static void
serve_none(int socket)
{
	while (take_request(socket))
		;
}

/* Always only part of it. */
static void
serve_parts(int socket)
{
	for (uint64_t cursor = 1; take_request(socket); cursor++)
		answer_list(socket, 0, cursor);
}

static void *
play_primary(void *arg)
{
	const struct scene *scene = arg;
	int socket = accept(scene->listener, NULL, NULL);

	scene->serve(socket);
	close(socket);
	return NULL;
}

/* Until there is no place. */
static void
crowd(struct scene *scene)
{
	int socket_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);

	assert_int_equal(connect(socket_fd, (const struct sockaddr *)&scene->address,
				 sizeof(scene->address)),
		0);
	scene->waiting = socket_fd;
	socket_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
	assert_int_equal(connect(socket_fd, (const struct sockaddr *)&scene->address,
				 sizeof(scene->address)),
		-1);
	assert_int_equal(errno, EAGAIN);
	close(socket_fd);
}

/* ---- who looks on -----------------------------------------------------------------------------
 */

static void *
ask(void *arg)
{
	struct trip_client_cntr cntr = {.size = sizeof(cntr)};
	struct scene *scene = arg;
	struct trip_client *client;
	struct pollfd end = {.events = POLLRDHUP};

	scene->opened = trip_client_open(scene->address.sun_path, &client);
	if (scene->opened == 0)
		scene->found = trip_client_find(client, "one", &cntr);
	snprintf(scene->sentence, sizeof(scene->sentence), "%s", trip_error_message());
	if (scene->opened != 0)
		return NULL;
	/* What comes now would be the answer to what was asked before. */
	scene->read = trip_client_read(client, 1, &cntr);
	end.fd = trip_client_socket(client);
	scene->closed = poll(&end, 1, 0) == 1 && (end.revents & POLLRDHUP) != 0;
	trip_client_close(client);
	return NULL;
}

static void
begin(struct scene *scene)
{
	scene->address.sun_family = AF_UNIX;
	snprintf(scene->address.sun_path, sizeof(scene->address.sun_path), "%s/%s", folder,
		scene->name);
	scene->listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	scene->waiting = -1;
	assert_int_equal(bind(scene->listener, (const struct sockaddr *)&scene->address,
				 sizeof(scene->address)),
		0);
	assert_int_equal(listen(scene->listener, 0), 0);
	if (scene->crowded)
		crowd(scene);
	if (scene->serve != NULL)
		assert_int_equal(pthread_create(&scene->server, NULL, play_primary, scene), 0);
	assert_int_equal(pthread_create(&scene->asker, NULL, ask, scene), 0);
}

static void
end(struct scene *scene)
{
	char sentence[256], who[32];

	pthread_join(scene->asker, NULL);
	if (scene->serve != NULL)
		pthread_join(scene->server, NULL);
	close(scene->listener);
	if (scene->waiting >= 0)
		close(scene->waiting);
	unlink(scene->address.sun_path);
	/* Who it is, is known of a connection alone. */
	snprintf(who, sizeof(who), "process %d", (int)getpid());
	snprintf(sentence, sizeof(sentence), "client: socket %s: %s has not answered for 5 s",
		scene->address.sun_path, scene->crowded ? "the primary" : who);
	assert_string_equal(scene->sentence, sentence);
	assert_int_equal(scene->opened, scene->open);
	assert_int_equal(scene->found, scene->find);
	if (scene->open == 0) {
		assert_int_equal(scene->read, -EPIPE);
		assert_true(scene->closed);
	}
}

static void
no_call_outlasts_its_limit(void **state)
{
	struct scene scenes[] = {
		{.name = "crowded", .crowded = true, .open = -ETIMEDOUT},
		{.name = "stopped", .open = -ETIMEDOUT},
		{.name = "silent", .serve = serve_none, .open = -ETIMEDOUT},
		{.name = "endless", .serve = serve_parts, .open = -ETIMEDOUT},
		{.name = "stopped-later", .serve = serve_one, .find = -ETIMEDOUT},
	};
	const unsigned int n = sizeof(scenes) / sizeof(scenes[0]);

	alarm(WATCHDOG_S);
	assert_non_null(mkdtemp(folder));
	for (unsigned int i = 0; i < n; i++)
		begin(&scenes[i]);
	for (unsigned int i = 0; i < n; i++)
		end(&scenes[i]);
	rmdir(folder);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_call_outlasts_its_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

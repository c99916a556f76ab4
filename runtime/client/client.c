/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls of trip_client.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <trip_client.h>

#include "client/protocol.h"
#include "client/wire.h"
#include "domain/error.h"
#include "domain/sized.h"

/* How long a list that is being changed is asked for again. */
#define AGAIN_MS 1000

int
trip_client_path(const char *prefix, const char *domain, char *path, size_t size)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	char folder[sizeof(((struct sockaddr_un *)0)->sun_path)];
	int length;

	if (getuid() == 0)
		strcpy(folder, "/run/tripline");
	else if (runtime != NULL)
		snprintf(folder, sizeof(folder), "%s/tripline", runtime);
	else
		snprintf(folder, sizeof(folder), "/tmp/tripline-%u", (unsigned int)getuid());
	length = snprintf(path, size, "%s/%s.%s.sock", folder, prefix != NULL ? prefix : "rte",
		domain != NULL ? domain : "trip");
	if (length < 0 || (size_t)length >= size ||
		(size_t)length >= sizeof(((struct sockaddr_un *)0)->sun_path))
		return trip_error_set(
			ENAMETOOLONG, "client: the path of a socket in %s is too long", folder);
	return 0;
}

static int
ask(struct trip_client *client, enum trip_protocol_type type, const void *body, size_t size)
{
	return trip_client_call(client, type, body, size, NULL, NULL);
}

int
trip_client_socket(const struct trip_client *client)
{
	return client->socket;
}

void
trip_client_limit(struct trip_client *client, int limit_ms)
{
	client->limit_ms = limit_ms;
}

void
trip_client_close(struct trip_client *client)
{
	for (unsigned int i = 0; i < TRIP_WIRE_WATCHES_MAX; i++)
		if (client->fds[i] >= 0)
			close(client->fds[i]);
	if (client->socket >= 0)
		close(client->socket);
	free(client);
}

/* Some lists cannot be read while a control call of the primary changes them. */
static int
ask_again(struct trip_client *client, enum trip_protocol_type type, const void *body, size_t size)
{
	int error = -EAGAIN;

	for (unsigned int i = 0; i < AGAIN_MS && error == -EAGAIN; i++) {
		struct timespec left = {.tv_nsec = 1000000};

		/* A signal of the application's does not count as a millisecond. */
		while (i > 0 && nanosleep(&left, &left) != 0 && errno == EINTR)
			;
		error = trip_wire_exchange(client, type, body, size, NULL, NULL);
	}
	return error;
}

/* Keys are records that no list has. */
#define KEY (TRIP_CLIENT_EACH + 1)

/* Records, and the texts of each; without a text its size is 0. */
static const struct {
	const char *name;
	size_t size;
	struct {
		size_t at, size;
	} texts[3];
} records_of[] = {
#define RECORD(type) "struct " #type, sizeof(struct type)
#define TEXT(type, member)                                                        \
	{                                                                         \
		offsetof(struct type, member), sizeof(((struct type *)0)->member) \
	}
	[TRIP_CLIENT_DOMAIN] = {RECORD(trip_client_domain),
		{TEXT(trip_client_domain, version), TEXT(trip_client_domain, name),
			TEXT(trip_client_domain, prefix)}},
	[TRIP_CLIENT_CNTR] = {RECORD(trip_client_cntr), {TEXT(trip_client_cntr, name)}},
	[TRIP_CLIENT_WORK] = {RECORD(trip_client_work), {TEXT(trip_client_work, function)}},
	[TRIP_CLIENT_FLOW] = {RECORD(trip_client_flow),
		{TEXT(trip_client_flow, pattern), TEXT(trip_client_flow, reason)}},
	[TRIP_CLIENT_PROCESS] = {RECORD(trip_client_process)},
	[TRIP_CLIENT_HOME] = {RECORD(trip_client_home)},
	[TRIP_CLIENT_EACH] = {RECORD(trip_client_each),
		{TEXT(trip_client_each, name), TEXT(trip_client_each, fields)}},
	[KEY] = {RECORD(trip_client_key), {TEXT(trip_client_key, key)}},
#undef TEXT
#undef RECORD
};

/* Whoever serves the socket may be anybody: his texts have an end, too. */
static void
end_texts(uint32_t kind, void *record)
{
	for (unsigned int t = 0; t < 3 && records_of[kind].texts[t].size > 0; t++)
		((char *)record)[records_of[kind].texts[t].at + records_of[kind].texts[t].size -
				 1] = 0;
}

/* A record that came, as far as the caller's goes. */
static void
give_record(uint32_t kind, void *came, void *record, size_t size)
{
	end_texts(kind, came);
	memcpy(record, came, size);
	memcpy(record, &size, sizeof(size));
}

/* The records that came, of a kind, up to so many as were asked for: how many, or the error. */
static int
take_records(struct trip_client *client, uint32_t kind, uint32_t count, char *records, size_t size)
{
	struct trip_protocol_records *got = &client->reply.answer.records;
	size_t bytes = (size_t)got->count * records_of[kind].size;

	if (got->count > count ||
		client->reply.head.size != sizeof(client->reply.head) +
						   offsetof(struct trip_protocol_records, record) +
						   bytes)
		return trip_error_set(EPROTO,
			"client: a list of %" PRIu32 " records has %" PRIu32 " bytes", got->count,
			client->reply.head.size);
	for (uint32_t i = 0; i < got->count; i++)
		give_record(
			kind, &got->record[i * records_of[kind].size], &records[i * size], size);
	return (int)got->count;
}

static int
check_records(uint32_t kind, size_t size, uint32_t count)
{
	if (kind > KEY || count == 0)
		return trip_error_set(EINVAL,
			"client: no room for records of kind %u in %" PRIu32 " of %zu bytes", kind,
			count, size);
	return trip_sized_check(records_of[kind].name, size, records_of[kind].size);
}

static int
list_some(struct trip_client *client, enum trip_client_kind kind, uint64_t *cursor, void *records,
	size_t size, uint32_t count)
{
	struct trip_protocol_list list = {.kind = kind};
	int got = (unsigned int)kind < KEY ? check_records(kind, size, count)
					   : check_records(UINT32_MAX, size, count);
	uint32_t most;

	if (got != 0)
		return got;
	list.size = (uint32_t)records_of[kind].size;
	most = TRIP_PROTOCOL_RECORDS / list.size;
	list.count = count < most ? count : most;
	while (got == 0 && *cursor != TRIP_PROTOCOL_END) {
		list.cursor = *cursor;
		got = ask_again(client, TRIP_PROTOCOL_LIST, &list, sizeof(list));
		if (got == 0)
			got = take_records(client, kind, list.count, records, size);
		if (got >= 0)
			*cursor = client->reply.answer.records.cursor;
	}
	return got;
}

int
trip_client_list(struct trip_client *client, enum trip_client_kind kind, uint64_t *cursor,
	void *records, size_t size, uint32_t count)
{
	trip_wire_begin(client);
	return list_some(client, kind, cursor, records, size, count);
}

int
trip_client_top(struct trip_client *client, const char *name, uint32_t rank,
	struct trip_client_key *keys, size_t size, uint32_t count)
{
	struct trip_protocol_top top = {.rank = rank,
		.size = sizeof(*keys),
		.count = count < TRIP_CLIENT_TOP_MAX ? count : TRIP_CLIENT_TOP_MAX};
	int error = check_records(KEY, size, count);

	if (error == 0 && strlen(name) >= sizeof(top.name))
		error = trip_error_set(EINVAL, "client: the name \"%.40s\" ... is too long", name);
	if (error != 0)
		return error;
	strcpy(top.name, name);
	trip_wire_begin(client);
	error = ask_again(client, TRIP_PROTOCOL_TOP, &top, sizeof(top));
	return error == 0 ? take_records(client, KEY, top.count, (char *)keys, size) : error;
}

int
trip_client_open_within(const char *path, int limit_ms, struct trip_client **out)
{
	struct trip_client *client = calloc(1, sizeof(*client));
	char usual[sizeof(((struct sockaddr_un *)0)->sun_path)];
	struct trip_client_domain domain;
	uint64_t cursor = 0;
	int error = 0;

	if (client == NULL)
		return trip_error_set(ENOMEM, "client: no memory");
	client->socket = -1;
	client->limit_ms = limit_ms;
	trip_wire_begin(client);
	for (unsigned int i = 0; i < TRIP_WIRE_WATCHES_MAX; i++)
		client->fds[i] = -1;
	if (path == NULL)
		error = trip_client_path(NULL, NULL, usual, sizeof(usual));
	if (error == 0)
		error = trip_wire_connect(client, path != NULL ? path : usual);
	/* Refusals are told in answer to the first request. */
	if (error == 0)
		error = list_some(client, TRIP_CLIENT_DOMAIN, &cursor, &domain, sizeof(domain), 1);
	if (error < 0) {
		trip_client_close(client);
		return error;
	}
	*out = client;
	return 0;
}

int
trip_client_open(const char *path, struct trip_client **out)
{
	return trip_client_open_within(path, TRIP_CLIENT_LIMIT_MS, out);
}

static int
ask_cntr(struct trip_client *client, enum trip_protocol_type type, const void *body, size_t size,
	struct trip_client_cntr *cntr)
{
	int error = TRIP_SIZED_CHECK(trip_client_cntr, cntr->size);

	if (error == 0)
		error = ask(client, type, body, size);
	if (error == 0)
		give_record(TRIP_CLIENT_CNTR, &client->reply.answer.cntr, cntr, cntr->size);
	return error;
}

int
trip_client_find(struct trip_client *client, const char *name, struct trip_client_cntr *cntr)
{
	struct trip_protocol_find find = {0};

	if (strlen(name) >= sizeof(find.name))
		return trip_error_set(EINVAL, "client: the name \"%.40s\" ... is too long", name);
	strcpy(find.name, name);
	return ask_cntr(client, TRIP_PROTOCOL_FIND, &find, sizeof(find), cntr);
}

int
trip_client_read(struct trip_client *client, uint64_t id, struct trip_client_cntr *cntr)
{
	const struct trip_protocol_read read = {.cntr = id};

	return ask_cntr(client, TRIP_PROTOCOL_READ, &read, sizeof(read), cntr);
}

int
trip_client_watch(struct trip_client *client, uint64_t id, uint32_t *watch, int *fd)
{
	const struct trip_protocol_read read = {.cntr = id};
	int error = trip_client_call(client, TRIP_PROTOCOL_WATCH, &read, sizeof(read), NULL, fd);

	if (error != 0)
		return error;
	*watch = client->reply.answer.watching.watch;
	if (*fd < 0 || *watch >= TRIP_WIRE_WATCHES_MAX || client->fds[*watch] >= 0) {
		if (*fd >= 0)
			close(*fd);
		return trip_error_set(EMFILE, "client: the descriptor of the watch did not arrive");
	}
	client->fds[*watch] = *fd;
	return 0;
}

int
trip_client_arm(struct trip_client *client, uint32_t watch, uint64_t threshold,
	const struct trip_client_cntr *given)
{
	struct trip_client_cntr seen;
	struct trip_protocol_arm arm = {.threshold = threshold, .watch = watch};
	int error = TRIP_SIZED_TAKE(trip_client_cntr, &seen, given);

	if (error != 0)
		return error;
	arm.success = seen.success;
	arm.error = seen.error;
	arm.errgen = seen.errgen;
	arm.setgen = seen.setgen;
	return ask(client, TRIP_PROTOCOL_ARM, &arm, sizeof(arm));
}

int
trip_client_unwatch(struct trip_client *client, uint32_t watch)
{
	const struct trip_protocol_unwatch unwatch = {.watch = watch};
	int error;

	if (watch >= TRIP_WIRE_WATCHES_MAX || client->fds[watch] < 0)
		return trip_error_set(ENOENT, "watch %" PRIu32 ": there is none", watch);
	error = ask(client, TRIP_PROTOCOL_UNWATCH, &unwatch, sizeof(unwatch));
	if (error != 0)
		return error;
	close(client->fds[watch]);
	client->fds[watch] = -1;
	return 0;
}

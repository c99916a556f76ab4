/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include <rte_common.h>

#include "model.h"
#include "trips.h"

/* Characters of a string: all of a record's are to be in one datagram. */
#define STRING_MAX 250

int
tripd_trips_init(struct tripd_trips *trips, int fd, size_t size)
{
	*trips = (struct tripd_trips){.fd = fd, .text = malloc(size), .size = size};
	return trips->text != NULL ? 0 : -ENOMEM;
}

void
tripd_trips_free(struct tripd_trips *trips)
{
	if (trips->fd >= 0)
		close(trips->fd);
	free(trips->text);
	trips->fd = -1;
	trips->text = NULL;
}

/* The front of it, without half a character. */
static fbVarfield_t
string_of(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));
	size_t length = text != NULL ? strlen(text) : 0;

	if (length > STRING_MAX)
		for (length = STRING_MAX; length > 0 && (text[length] & 0xc0) == 0x80;)
			length--;
	return (fbVarfield_t){.len = length, .buf = (uint8_t *)(uintptr_t)text};
}

static uint64_t
number_of(const json_t *object, const char *name)
{
	return (uint64_t)json_integer_value(json_object_get(object, name));
}

static int
put_trip(struct tripd_message *message, const json_t *trip)
{
	struct tripd_model_trip record = {
		.counter = string_of(trip, "counter"),
		.condition = string_of(trip, "condition"),
		.operation = string_of(trip, "op"),
		.key = string_of(trip, "key"),
		.time = tripd_model_time(number_of(trip, "time_ns")),
		.threshold = number_of(trip, "threshold"),
		.value = number_of(trip, "value"),
		.count = number_of(trip, "count"),
		.latency_ns = number_of(trip, "latency_ns"),
		.line = (uint32_t)number_of(trip, "line"),
		.result = (int32_t)number_of(trip, "result"),
		.ends = json_is_true(json_object_get(trip, "ends")) ? TRIPD_MODEL_TRUE
								    : TRIPD_MODEL_FALSE,
	};

	return tripd_message_put(message, TRIPD_MODEL_TRIP, &record, sizeof(record), NULL);
}

/* A key that was idle has another word for that. */
static int
put_change(struct tripd_message *message, const json_t *change)
{
	static const char expiry[] = "expiry";
	struct tripd_model_change record = {
		.event = json_is_true(json_object_get(change, "idle"))
				 ? (fbVarfield_t){.len = strlen(expiry),
					   .buf = (uint8_t *)(uintptr_t)expiry}
				 : string_of(change, "event"),
		.each = string_of(change, "each"),
		.key = string_of(change, "key"),
		.time = tripd_model_time(number_of(change, "time_ns")),
		.packets = number_of(change, "packets"),
		.bytes = number_of(change, "bytes"),
		.error = number_of(change, "error"),
		.queue = (uint32_t)number_of(change, "queue"),
	};

	return tripd_message_put(message, TRIPD_MODEL_CHANGE, &record, sizeof(record), NULL);
}

static bool
is_change(const char *event)
{
	return event != NULL && (strcmp(event, "admission") == 0 || strcmp(event, "eviction") == 0);
}

/* What was left out before is counted where it was. */
static int
put_line(struct tripd_message *message, const char *line, size_t length)
{
	json_t *trip = json_loadb(line, length, 0, NULL);
	const char *event = json_string_value(json_object_get(trip, "event"));
	int ret = 0;

	if (is_change(event))
		ret = put_change(message, trip);
	else if (event == NULL || strcmp(event, "trip") == 0)
		ret = event != NULL ? put_trip(message, trip) : -EMSGSIZE;
	if (ret != 0)
		message->lost++;
	json_decref(trip);
	return ret == -EMSGSIZE ? 0 : ret;
}

int
tripd_trips_take(struct tripd_trips *trips, struct tripd_message *message)
{
	ssize_t n = read(trips->fd, trips->text + trips->length, trips->size - trips->length);
	char *line = trips->text, *end;
	int ret = 0, error;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		close(trips->fd);
		trips->fd = -1;
		return 0;
	}
	trips->length += (size_t)n;
	while ((end = memchr(line, '\n', trips->length - (size_t)(line - trips->text))) != NULL) {
		error = put_line(message, line, (size_t)(end - line));
		ret = ret == 0 ? error : ret;
		line = end + 1;
	}
	trips->length -= (size_t)(line - trips->text);
	memmove(trips->text, line, trips->length);
	error = tripd_message_flush(message);
	return ret == 0 ? error : ret;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* trip_client_command(): a text goes to the application in pieces, and its answer comes so. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <trip_client.h>

#include "client/wire.h"
#include "domain/error.h"

/* All pieces of a command; the answer to the last one is in the reply. */
static int
send_command(struct trip_client *client, const char *text, size_t length)
{
	struct trip_protocol_command piece = {.total = (uint32_t)length};
	size_t at = 0, size;
	int error;

	do {
		size = length - at < sizeof(piece.text) ? length - at : sizeof(piece.text);
		piece.at = (uint32_t)at;
		memcpy(piece.text, text + at, size);
		memset(piece.text + size, 0, sizeof(piece.text) - size);
		error = trip_wire_exchange(
			client, TRIP_PROTOCOL_COMMAND, &piece, sizeof(piece), NULL, NULL);
		at += size;
	} while (error == 0 && at < length);
	return error;
}

/* Appends what came of the answer: how much, or the error. */
static int
take_told(struct trip_client *client, char *answer, size_t at)
{
	const struct trip_protocol_told *told = &client->reply.answer.told;
	size_t head = sizeof(client->reply.head) + offsetof(struct trip_protocol_told, text);
	size_t size = client->reply.head.size - head;

	if (client->reply.head.size < head || size > sizeof(told->text) || told->at != at ||
		size > told->total - at || (size == 0 && at < told->total))
		return trip_error_set(EPROTO,
			"client: %" PRIu32
			" bytes of an answer came where those from %zu of %" PRIu32 " were to come",
			client->reply.head.size, at, told->total);
	memcpy(answer + at, told->text, size);
	return (int)size;
}

static int
take_answer(struct trip_client *client, char *answer, size_t total)
{
	struct trip_protocol_command_more more = {0};
	size_t at = 0;
	int got;

	for (;;) {
		if (client->reply.answer.told.total != total)
			return trip_error_set(
				EPROTO, "client: the length of an answer has changed");
		got = take_told(client, answer, at);
		if (got < 0)
			return got;
		at += (size_t)got;
		if (at == total)
			return 0;
		more.at = (uint32_t)at;
		got = trip_wire_exchange(
			client, TRIP_PROTOCOL_COMMAND_MORE, &more, sizeof(more), NULL, NULL);
		if (got != 0)
			return got;
	}
}

int
trip_client_command(struct trip_client *client, const char *text, size_t length, int *status,
	char **answer, size_t *answer_length)
{
	size_t total;
	int error;

	*answer = NULL;
	if (length > TRIP_CLIENT_COMMAND_MAX)
		return trip_error_set(EMSGSIZE, "client: the command has %zu bytes of at most %zu",
			length, TRIP_CLIENT_COMMAND_MAX);
	trip_wire_begin(client);
	error = send_command(client, text, length);
	if (error != 0)
		return error;
	total = client->reply.answer.told.total;
	*status = client->reply.answer.told.status;
	if (total > TRIP_CLIENT_COMMAND_MAX)
		return trip_error_set(EPROTO, "client: an answer of %zu bytes", total);
	*answer = malloc(total + 1);
	if (*answer == NULL)
		return trip_error_set(ENOMEM, "client: no memory for %zu bytes", total);
	error = take_answer(client, *answer, total);
	if (error != 0) {
		free(*answer);
		*answer = NULL;
		return error;
	}
	(*answer)[total] = 0;
	*answer_length = total;
	return 0;
}

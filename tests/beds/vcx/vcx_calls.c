/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls of vcx.h as requests; the same for a device in this process and in another. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "vcx.h"

_Static_assert(sizeof(struct vcx_stats) <= sizeof(((struct vcx_reply *)0)->value), "");

/* A reply is too large for a small stack; a test's threads may have one. */
static int
ask(uint32_t op, unsigned port, const uint64_t arg[4], const void *data, size_t length,
	struct vcx_reply **out)
{
	struct vcx_request *request = calloc(1, sizeof(*request) + length);
	struct vcx_reply *reply = calloc(1, sizeof(*reply));
	int result = -ENOMEM;

	if (request != NULL && reply != NULL) {
		request->op = op;
		request->port = port;
		if (arg != NULL)
			memcpy(request->arg, arg, sizeof(request->arg));
		request->length = (uint32_t)length;
		if (length > 0)
			memcpy(request->data, data, length);
		result = vcx_call(request, reply);
	}
	free(request);
	if (out != NULL && result == 0)
		*out = reply;
	else
		free(reply);
	return result;
}

int
vcx_inject(unsigned port, const void *packet, size_t length, uint64_t times, bool patient,
	struct vcx_injected *result)
{
	struct vcx_reply *reply = NULL;
	int error;

	if (length > VCX_FRAME_MAX)
		return -EINVAL;
	error = ask(VCX_OP_INJECT, port, (uint64_t[4]){times, patient}, packet, length, &reply);
	if (error == 0 && result != NULL)
		memcpy(result, reply->value, sizeof(*result));
	free(reply);
	return error;
}

int
vcx_latency(unsigned port, enum vcx_command command, uint64_t us)
{
	return ask(VCX_OP_LATENCY, port, (uint64_t[4]){command, us}, NULL, 0, NULL);
}

int
vcx_fail(unsigned port, enum vcx_command command, uint64_t after, uint64_t times, int error)
{
	return ask(VCX_OP_FAIL, port, (uint64_t[4]){command, after, times, (uint64_t)error}, NULL,
		0, NULL);
}

int
vcx_counter_limit(unsigned port, uint64_t counters)
{
	return ask(VCX_OP_LIMIT, port, (uint64_t[4]){counters}, NULL, 0, NULL);
}

int
vcx_hold(unsigned port, bool held)
{
	return ask(VCX_OP_HOLD, port, (uint64_t[4]){held}, NULL, 0, NULL);
}

int
vcx_remove(unsigned port)
{
	return ask(VCX_OP_REMOVE, port, NULL, NULL, 0, NULL);
}

int
vcx_stats(unsigned port, struct vcx_stats *stats)
{
	struct vcx_reply *reply = NULL;
	int error = ask(VCX_OP_STATS, port, NULL, NULL, 0, &reply);

	if (error == 0)
		memcpy(stats, reply->value, sizeof(*stats));
	free(reply);
	return error;
}

int
vcx_tx_mode(unsigned port, enum vcx_tx_mode mode)
{
	return ask(VCX_OP_TX_MODE, port, (uint64_t[4]){mode}, NULL, 0, NULL);
}

int
vcx_tx_flush(unsigned port, uint64_t *sent)
{
	struct vcx_reply *reply = NULL;
	int error = ask(VCX_OP_TX_FLUSH, port, NULL, NULL, 0, &reply);

	if (error == 0 && sent != NULL)
		*sent = reply->value[0];
	free(reply);
	return error;
}

int
vcx_tx_read(unsigned port, void *packet, size_t *length)
{
	struct vcx_reply *reply = NULL;
	int error = ask(VCX_OP_TX_READ, port, (uint64_t[4]){*length}, NULL, 0, &reply);

	if (error == 0 && reply->length <= *length) {
		memcpy(packet, reply->data, reply->length);
		*length = reply->length;
	}
	free(reply);
	return error;
}

int
vcx_ifname(unsigned port, char *name, size_t size)
{
	struct vcx_reply *reply = NULL;
	int error = ask(VCX_OP_IFNAME, port, NULL, NULL, 0, &reply);

	if (error == 0 && reply->length >= size)
		error = -EMSGSIZE;
	if (error == 0) {
		memcpy(name, reply->data, reply->length);
		name[reply->length] = '\0';
	}
	free(reply);
	return error;
}

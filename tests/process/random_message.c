/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "flow/flow_wire.h"
#include "flows.h"
#include "random_message.h"
#include "primary/request.h"
#include "domain/share.h"

struct trip_random random_message_state;
uint64_t random_message_nonce, random_message_bait;

bool
random_message_one_in(uint64_t n)
{
	return trip_random_below(&random_message_state, n) == 0;
}

/* Small numbers are often what something has. */
static void
draw(uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i += 4)
		if (random_message_one_in(4))
			bytes[i] = (uint8_t)trip_random_below(&random_message_state, 8);
		else if (random_message_one_in(16))
			bytes[i + trip_random_below(&random_message_state, 4) % (size - i)] =
				(uint8_t)trip_random_u64(&random_message_state);
}

static void
draw_rule(struct trip_protocol_flow *flow)
{
	struct trip_flow_wire *wire = (void *)flow->rule;
	struct flows_pattern pattern;

	flows_make_pattern(&pattern, FLOWS_DNS);
	assert_int_equal(trip_flow_wire_pack(wire, pattern.items, NULL, NULL), 0);
	flow->port = 0;
	if (random_message_one_in(2))
		((uint8_t *)wire)[trip_random_below(&random_message_state, 8 + wire->used)] ^=
			(uint8_t)(1u << trip_random_below(&random_message_state, 8));
}

/* What passes the first checks, and meets the next ones. */
static void
make_likely(struct random_message *message)
{
	union trip_protocol_request *request = &message->request;
	static const uint32_t sizes[] = {sizeof(struct trip_client_domain),
		sizeof(struct trip_client_cntr), sizeof(struct trip_client_work),
		sizeof(struct trip_client_flow), sizeof(struct trip_client_process),
		sizeof(struct trip_client_home)};

	switch (message->head.type) {
	case TRIP_PROTOCOL_LIST:
		request->list.kind %= 6;
		request->list.size = sizes[request->list.kind];
		break;
	case TRIP_PROTOCOL_READ:
	case TRIP_PROTOCOL_WATCH:
	case TRIP_PROTOCOL_CLOSE:
		request->read.cntr = random_message_bait;
		break;
	case TRIP_PROTOCOL_FIND:
	case TRIP_PROTOCOL_FOUND:
	case TRIP_PROTOCOL_OPEN:
		strcpy(request->find.name, random_message_one_in(2) ? "bait" : "other");
		break;
	case TRIP_PROTOCOL_EACH:
		strcpy(request->each.name, "bait");
		request->each.number = 0;
		break;
	case TRIP_PROTOCOL_BY_HAND:
		request->by_hand = (struct trip_protocol_by_hand){
			.key = {trip_random_below(&random_message_state, 4)},
			.time_us = trip_random_below(&random_message_state, 1000),
			.op = (uint32_t)trip_random_below(&random_message_state, 6)};
		break;
	case TRIP_PROTOCOL_ATTACH:
		memset(&request->attach, 0, sizeof(request->attach));
		request->attach.nonce = random_message_nonce;
		request->attach.layout = trip_share_layout();
		break;
	case TRIP_PROTOCOL_FLOW:
	case TRIP_PROTOCOL_VALIDATE:
		draw_rule(&request->flow);
		break;
	}
}

/* A request of any type; returns its size. */
size_t
random_message_compose(struct random_message *message)
{
	size_t size = 0;

	memset(message, 0, sizeof(*message));
	message->head = (struct trip_protocol_head){
		.magic = TRIP_PROTOCOL_MAGIC,
		.version = TRIP_PROTOCOL_VERSION,
		.type = (uint16_t)trip_random_below(&random_message_state, TRIP_PROTOCOL_TYPES),
	};
	while (trip_request_of(message->head.type) == NULL)
		message->head.type++;
	size = trip_request_of(message->head.type)->size;
	/* To detach ends what is needed to go on. */
	if (message->head.type == TRIP_PROTOCOL_DETACH && !random_message_one_in(20))
		return random_message_compose(message);
	draw((uint8_t *)&message->request, size);
	if (random_message_one_in(2))
		make_likely(message);
	size += sizeof(message->head);
	message->head.size = (uint32_t)size;
	return size;
}

size_t
random_message_spoil(struct random_message *message, size_t size)
{
	uint8_t *head = (uint8_t *)&message->head;

	switch (trip_random_below(&random_message_state, 6)) {
	case 0:
		head[trip_random_below(&random_message_state, sizeof(message->head))] ^=
			(uint8_t)(1u << trip_random_below(&random_message_state, 8));
		return size;
	case 1:
		return trip_random_below(&random_message_state, size + 1);
	case 2:
		return size + 1 +
		       trip_random_below(&random_message_state, sizeof(*message) - size + 1);
	case 3:
		message->head.size = (uint32_t)trip_random_u64(&random_message_state);
		return size;
	case 4:
		message->head.type = (uint16_t)trip_random_u64(&random_message_state);
		return size;
	default:
		message->head.version++;
		return size;
	}
}

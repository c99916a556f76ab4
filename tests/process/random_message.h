/* SPDX-License-Identifier: BSD-3-Clause */
/* Random requests to a domain's socket: of every type, most of them of the right size, half of them
 * such as pass the first checks. */
#ifndef TRIP_PROCESS_RANDOM_MESSAGE_H
#define TRIP_PROCESS_RANDOM_MESSAGE_H

#include <trip_test.h>

#include "client/protocol.h"

struct random_message {
	struct trip_protocol_head head;
	union trip_protocol_request request;
};

extern struct trip_random random_message_state;
/* Of the domain: what is needed to attach, and the id of a counter. */
extern uint64_t random_message_nonce, random_message_bait;

bool random_message_one_in(uint64_t n);

/* Returns its size. */
size_t random_message_compose(struct random_message *message);
/* As no client sends it: of another size, with another head. */
size_t random_message_spoil(struct random_message *message, size_t size);

#endif

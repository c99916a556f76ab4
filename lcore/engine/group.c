/* SPDX-License-Identifier: BSD-3-Clause */
/* What becomes of an item of pairs, and of its pairs. group.h tells how they go. */
#include <rte_common.h>

#include "group.h"
#include "home.h"
#include "node.h"

bool
trip_group_takes(const void *parameters, uint64_t interval, struct trip_op_refusal *refusal)
{
	const struct trip_group_pairs *pairs = parameters;

	*refusal = (struct trip_op_refusal){
		.operand = "count", .value = pairs->n, .low = 1, .limit = TRIP_CONDITION_PAIRS_MAX};
	return pairs->n >= 1 && pairs->n <= TRIP_CONDITION_PAIRS_MAX;
}

void
trip_group_tell(const void *parameters, struct trip_condition_told *told)
{
	const struct trip_group_pairs *pairs = parameters;

	*told = (struct trip_condition_told){.count = pairs->n};
}

/* Its channel is this client's on all homes. */
static void
cancel(struct trip_home *home, uint32_t channel, uint64_t id)
{
	uint32_t number = trip_channel_id_number(id) / home->n_nodes;
	struct trip_home *at;

	if (number >= home->engine->n_homes)
		return;
	at = home->engine->homes[number];
	if (trip_channel_cancel(&at->clients[channel], id) == 0)
		trip_doorbell_ring(&at->doorbell, TRIP_BELL_CHANNEL, channel);
}

/* The item of pairs that is queued by this id on this home, or TRIP_NONE. */
static uint32_t
find_nested(const struct trip_home *home, uint32_t channel, uint64_t id)
{
	const struct trip_channel_home *of = &home->channels[channel];
	uint32_t slot = trip_channel_id_number(id) - of->map.first;
	uint64_t generation = trip_channel_id_generation(id);
	const struct trip_node *node;
	uint32_t index;

	/* Below the first it wraps around. One that is queued and was not accepted is behind its
	 * root, which no correct client does; what its node has is of another. */
	if (slot >= of->map.slots || !trip_channel_queued(of, slot, generation))
		return TRIP_NONE;
	index = trip_node_of(home, channel, slot);
	node = &home->nodes[index];
	if (node->generation != generation || !trip_node_has_condition(home, node) ||
		trip_condition_of(home->nodes[node->more].flags)->needs == NULL)
		return TRIP_NONE;
	return index;
}

static void
cancel_pairs(const struct trip_condition_look *look, bool nested)
{
	const struct trip_group_pairs *pairs = look->memory;
	struct trip_home *home = look->home;
	uint32_t channel = (uint32_t)home->nodes[look->item].channel;
	uint32_t at = look->first;

	for (uint64_t i = 0; i < pairs->n; i++) {
		uint64_t id = home->nodes[at].operands[i % TRIP_GROUP_IDS];
		uint32_t inner = nested ? find_nested(home, channel, id) : TRIP_NONE;

		/* None of its pairs refers to anything when its slot comes back. */
		if (inner != TRIP_NONE) {
			struct trip_condition_look within = trip_condition_look_of(home, inner);

			cancel_pairs(&within, false);
		}
		cancel(home, channel, id);
		if (i % TRIP_GROUP_IDS == TRIP_GROUP_IDS - 1)
			at = home->nodes[at].more;
	}
}

void
trip_group_end(const struct trip_condition_look *look)
{
	cancel_pairs(look, true);
}

uint64_t
trip_group_reached(const void *parameters, uint64_t sum)
{
	const struct trip_group_pairs *pairs = parameters;

	return sum > pairs->base ? RTE_MIN(sum - pairs->base, pairs->n) : 0;
}

/* It tells how many of its pairs have been reached. */
enum trip_condition_state
trip_group_look(struct trip_condition_look *look)
{
	if (look->stands)
		return TRIP_CONDITION_WAITS;
	trip_group_end(look);
	look->sum = trip_group_reached(look->memory, look->sum);
	return TRIP_CONDITION_HOLDS;
}

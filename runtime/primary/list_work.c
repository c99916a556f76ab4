/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists works: what stands in the slots of all channels. */
#include <string.h>
#include <unistd.h>

#include <rte_common.h>

#include "domain/domain.h"
#include "primary/list.h"
#include "primary/process.h"
#include "primary/server.h"
#include "clock.h"
#include "condition.h"
#include "group.h"
#include "op.h"

/* What triggers an item has come to so much, all clocks to the same; false: it is no counter. */
static bool
read_trigger(const struct trip_engine *engine, uint32_t trigger, uint64_t *sum)
{
	if (trip_engine_has_cntr(engine, trigger))
		*sum = trip_cell_clamp(trip_cell_sum(trip_home_cell(engine, trigger)));
	else if (trigger - trip_clock_global(engine->homes[0]) < engine->n_homes)
		*sum = trip_clock_at(engine->homes[0], rte_rdtsc());
	else
		return false;
	return true;
}

/* An interval item fires at each interval that the sum passes, so the next one is above the sum; or
 * it is about to fire for the last time. */
static uint64_t
next_threshold(const struct trip_work_desc *desc, uint64_t sum)
{
	uint64_t passed;

	/* A condition begins anew at one that its home alone knows. */
	if (desc->interval != 0 && desc->condition != 0)
		return TRIP_CLIENT_ANY;
	if (desc->interval == 0 || sum < desc->threshold)
		return desc->threshold;
	passed = sum - (sum - desc->threshold) % desc->interval;
	return passed <= TRIP_CNTR_MAX - desc->interval ? passed + desc->interval : passed;
}

/* What stands in a slot, as it was read: another process writes what it likes there. */
struct queued {
	uint64_t word;
	struct trip_work_desc desc;
	/* Of its condition; 0 where its slot is none. */
	uint64_t parameters[TRIP_CONDITION_MEMORY / sizeof(uint64_t)];
};

static void
fill_work(struct trip_domain *domain, const struct queued *queued, uint64_t sum,
	struct trip_client_work *out)
{
	const struct trip_work_desc *desc = &queued->desc;
	enum trip_op_target target = trip_op_of(desc->op)->target;

	*out = (struct trip_client_work){
		.context = desc->context,
		.threshold = next_threshold(desc, sum),
		.interval = desc->interval,
		.value = desc->value,
		.index = desc->target,
		.op = desc->op,
		.flags = desc->flags,
		.sum = sum,
	};
	if (desc->condition != 0) {
		const struct trip_condition_row *row = trip_condition_of(desc->condition_kind);
		struct trip_condition_told told;

		row->tell(queued->parameters, &told);
		if (row->needs != NULL) {
			out->threshold = row->needs(told.count);
			out->sum = trip_group_reached(queued->parameters, sum);
		}
		out->condition = desc->condition_kind;
		out->condition_count = told.count;
		out->condition_time = told.time;
		out->condition_until_count = told.until_count;
		out->condition_until_time = told.until_time;
	}
	pthread_mutex_lock(&domain->lock);
	out->cntr = trip_list_id(domain, desc->trigger);
	out->completion = trip_list_id(domain, desc->completion);
	out->target = target == TRIP_OP_ON_CNTR ? trip_list_id(domain, desc->target) : 0;
	/* Another process writes what it likes into its descriptors. */
	if (target == TRIP_OP_ON_FUNCTION && desc->target < domain->attr.max_functions)
		strcpy(out->function, domain->function_names[desc->target]);
	pthread_mutex_unlock(&domain->lock);
}

/* A channel that is listed, and whose it is. */
struct channel {
	const struct trip_channel_map *map;
	/* NULL: another process's. */
	struct trip_lock *lock;
	uint32_t pid;
};

/* Those of this process come first, then one for each process that may be attached. */
static struct channel
channel_of(const struct trip_server *server, uint32_t home, uint32_t channel)
{
	struct trip_domain *domain = server->domain;
	const struct trip_process *process;

	if (channel < domain->n_channels) {
		struct trip_submitter *submitter = &domain->submitters[home][channel];

		return (struct channel){.map = &submitter->channel->map,
			.lock = &submitter->lock,
			.pid = (uint32_t)getpid()};
	}
	process = &server->processes[(channel - domain->n_channels) /
				     (domain->attr.max_process_threads + 1)];
	return (struct channel){
		.map = &domain->engine.homes[home]->clients[channel].map,
		.pid = process->used ? (uint32_t)process->credentials.pid : 0,
	};
}

static void
read_parameters(const struct trip_channel_map *map, struct queued *queued)
{
	uint32_t slot = queued->desc.condition - 1;

	memset(queued->parameters, 0, sizeof(queued->parameters));
	if (slot < map->slots)
		memcpy(queued->parameters, &map->desc[slot], sizeof(queued->parameters));
}

/* False: the slot is not queued. */
static bool
read_slot(const struct channel *channel, uint32_t slot, struct queued *queued)
{
	const struct trip_channel_map *map = channel->map;
	bool steady;

	/* Of a slot that is free or queued, the descriptor moves under this lock only. What another
	 * process writes meanwhile shows in the generation, where it is a correct one. */
	if (channel->lock != NULL)
		trip_domain_lock(channel->lock);
	queued->word = atomic_load(&map->state[slot]);
	queued->desc = map->desc[slot];
	read_parameters(map, queued);
	atomic_thread_fence(memory_order_acquire);
	steady = atomic_load_explicit(&map->state[slot], memory_order_relaxed) == queued->word;
	if (channel->lock != NULL)
		trip_domain_unlock(channel->lock);
	return steady && trip_channel_word_state(queued->word) == TRIP_CHANNEL_QUEUED;
}

/* Whether an item may be such. */
static bool
is_valid(const struct trip_channel_map *map, const struct queued *queued)
{
	const struct trip_work_desc *desc = &queued->desc;
	struct trip_op_refusal refusal;

	if (desc->threshold > TRIP_CNTR_MAX || desc->interval > TRIP_CNTR_MAX)
		return false;
	return desc->condition == 0 ||
	       (desc->condition - 1 < map->slots &&
		       trip_condition_takes(trip_condition_of(desc->condition_kind),
			       queued->parameters, desc->interval, &refusal));
}

static bool
list_slot(struct trip_domain *domain, const struct channel *channel, uint32_t slot,
	struct trip_client_work *out)
{
	struct queued queued;
	uint64_t sum;

	/* A pair is no item of its own. */
	if (!read_slot(channel, slot, &queued) || queued.desc.is_pair != 0 ||
		!is_valid(channel->map, &queued) ||
		!read_trigger(&domain->engine, queued.desc.trigger, &sum))
		return false;
	fill_work(domain, &queued, sum, out);
	out->id = trip_channel_id(channel->map, slot, trip_channel_word_generation(queued.word));
	out->pid = channel->pid;
	return true;
}

int
trip_list_works(struct trip_list *list)
{
	struct trip_domain *domain = list->server->domain;
	uint32_t channels = domain->engine.homes[0]->shape.n_channels;
	struct trip_client_work *out = list->records;
	uint64_t first = 0;

	for (uint32_t at = 0; at < domain->engine.n_homes * channels; at++) {
		const struct channel channel =
			channel_of(list->server, at / channels, at % channels);
		uint32_t slots = channel.pid != 0 ? channel.map->slots : 0;

		/* A process may come between two requests. */
		for (; list->cursor < first + slots; list->cursor++) {
			if (list->count == list->room || list->scanned++ == TRIP_LIST_SCAN)
				return 0;
			list->count += list_slot(domain, &channel, (uint32_t)(list->cursor - first),
				&out[list->count]);
		}
		first += channel.map->slots;
		list->cursor = RTE_MAX(list->cursor, first);
	}
	list->cursor = TRIP_PROTOCOL_END;
	return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* What a history has, drawn from its seed. */
#include <rte_common.h>

#include "each.h"

struct each_world world;

static void
plan_when(unsigned int kind)
{
	struct trip_each_when *when = &world.whens[world.n_whens];
	struct trip_each_act *act = &world.acts[world.n_whens];
	uint64_t count = (world.is_crowded ? 2 * QUEUES : 1) + sim_draw(world.most);
	uint64_t every = 1 + sim_draw(8), what = sim_draw(4), until = sim_draw(2);

	/* There is one at least. */
	if (sim_draw(3) == 0 && (kind < RATE || world.n_whens > 0))
		return;
	world.kinds[world.n_whens++] = kind;
	when->count = kind != RATE ? count : 0;
	when->rate = kind == RATE ? 1000 : 0;
	if (kind == EVERY)
		when->every = every;
	else if (kind == RATE)
		when->burst = 1 + count / 2;
	if (kind == RESETS)
		act->op = TRIP_EACH_OP_RESET;
	if (kind == RESETS || world.drops < WHENS || what == 0)
		return;
	world.drops = kind;
	act->op = what == 1 ? TRIP_EACH_OP_POLICE : TRIP_EACH_OP_DROP;
	if (what == 1) {
		act->rate = 1 + every;
		act->unit = TRIP_POLICE_UNIT_PACKETS;
		return;
	}
	world.holds_end = what == 2 || (kind == RATE && until == 0);
	if (kind == RATE && until == 0) {
		act->until_count = every;
		act->until_us = HOLD;
	} else if (what == 2) {
		act->time_us = HOLD;
	}
}

static void
plan_bursts(struct queue *queue)
{
	for (unsigned int i = 0; i < BURSTS; i++) {
		struct burst *burst = &queue->bursts[i];

		burst->pause = sim_draw(4) == 0 ? (uint32_t)sim_draw(2 * HOLD) : 0;
		burst->rests = sim_draw(8) == 0;
		burst->n = 1 + (uint32_t)sim_draw(PACKETS);
		for (unsigned int k = 0; k < PACKETS; k++)
			burst->keys[k] = (uint8_t)(world.is_crowded && sim_draw(3) == 0
							   ? KEYS
							   : sim_draw(world.n_keys));
		if (!sim_wants())
			burst->n = 0;
	}
}

/* All that were there before; nobody has more than one of theirs. */
static void
crowd(struct trip_keyed *table)
{
	const uint32_t bytes = LENGTH;

	for (unsigned int i = 0; i < CROWD; i++) {
		const uint64_t key = each_word_of(KEYS + world.strangers++);
		uint32_t dropped;
		const struct trip_keyed_chunk chunk = {
			.keys = &key, .bytes = &bytes, .count = 1, .dropped = &dropped};

		(void)trip_keyed_count(table, &chunk, world.bed.now);
	}
}

static void
open_all(unsigned int n_queues)
{
	static struct trip_domain domain;
	const struct trip_each_attr attr = {.max = 1 + (uint32_t)sim_draw(100),
		.idle_us = world.expires ? 2 * LONG : UINT64_C(3600) * 1000000,
		.whens = world.whens,
		.acts = world.acts,
		.n_whens = world.n_whens,
		.trips_kept = KEPT,
		.events_kept = 8};

	trip_each_bed_open(&world.bed, &attr, n_queues);
	domain.engine.eaches = world.bed.zone;
	world.each.domain = &domain;
	world.each.statement = *world.bed.statement;
	/* Some will clear the bits of keys that are close. */
	if (sim_draw(4) == 0)
		atomic_store(&world.bed.at.ring->came, (1u << TRIP_KEYED_CLOSE_BITS) / 64 - 1);
	for (unsigned int q = 0; q < n_queues && world.is_crowded; q++)
		crowd(world.bed.tables[q]);
	sim_name(world.bed.tables[0], (size_t)world.bed.statement->table_lines * TRIP_EACH_LINE,
		n_queues, "table %u");
}

static void
begin(void)
{
	static const char *const names[QUEUES] = {"queue 0", "queue 1", "queue 2"};
	unsigned int n_queues = 1 + (unsigned int)sim_draw(QUEUES);
	bool kills = sim_draw(2) == 0;

	memset(&world, 0, sizeof(world));
	world.drops = WHENS;
	world.is_gated = sim_draw(4) > 0;
	world.is_crowded = sim_draw(8) == 0;
	world.expires = sim_draw(8) == 0;
	world.most = sim_draw(2) == 0 ? 6 : 24;
	world.n_keys = sim_draw(4) == 0 ? KEYS : 1;
	for (unsigned int kind = 0; kind < WHENS; kind++)
		plan_when(kind);
	open_all(n_queues);
	for (unsigned int q = 0; q < n_queues; q++)
		plan_bursts(&world.queues[q]);
	for (unsigned int i = 0; i < n_queues * POLLERS; i++)
		world.queues[i / POLLERS].pollers[i % POLLERS] = sim_spawn(names[i / POLLERS],
			kills && i % POLLERS + 1 < POLLERS, each_run_poller, (void *)(uintptr_t)i);
	(void)sim_spawn("reader", false, each_run_reader, (void *)(uintptr_t)sim_draw(8));
}

static void
forget(void)
{
	trip_each_bed_close(&world.bed);
}

int
main(int argc, char **argv)
{
	static const struct sim_world each = {.name = "each",
		.length = 4096,
		.begin = begin,
		.judge = each_judge,
		.forget = forget};

	return sim_main(argc, argv, &each);
}

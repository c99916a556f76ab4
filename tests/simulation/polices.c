/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A small world: queues that take from a flow's bucket, whose rate a home changes (police.h).
 * Time stands still until everything rests, or goes on meanwhile, so that who has read it may come
 * late. Then a bucket of the textbook, which has had the same
 * packets in any order, is as full: nothing passed that it had no room for, nothing was refused
 * that it had, and one who was killed has taken all of a packet or nothing.
 */
#include <inttypes.h>
#include <string.h>

#include "police.h"
#include "sim.h"

#define TAKERS 3
#define ROUNDS 16
#define BURST_MS 1
#define BURST (BURST_MS * TRIP_POLICE_SECOND / 1000)
/* In bits a second: a byte takes a microsecond; and an hour and more for a packet. */
#define FAST 8000000
#define SLOW 1
/* Of the largest packet that there could be, at that rate. */
#define LARGEST (TRIP_POLICE_BYTES_MAX * US)
#define US (TRIP_POLICE_SECOND / 1000000)

static struct {
	struct trip_police police;
	/* In ticks. */
	uint64_t now;
	/* Bytes of what comes in each round; nothing: 0. */
	uint32_t packets[TAKERS][ROUNDS][2];
	unsigned int n_turns;
	/* Costs of this round: passed, and the least that was refused. */
	uint64_t passed, refused;
	/* Likewise, under way: where it still is when all rests, who took has died. */
	uint64_t under_way[TAKERS];
	bool has_died;
	/* When the bucket was to be full, at the latest that was seen. */
	uint64_t full;
	/* Time that has gone by in this round. */
	uint64_t elapsed;
	/* How far ahead the bucket may be: as if those that died had not taken, and had. */
	uint64_t least, most;
} flow;

/* Nothing orders it but itself. */
static uint64_t
read_time(void *arg)
{
	bool looks = sim_look(true);
	uint64_t now = flow.now;

	(void)sim_look(looks);
	return now;
}

/* At one rate it is only put off: else what was taken could be taken again. */
static void
watch_full(void)
{
	uint64_t full = atomic_load(&flow.police.full);

	sim_expect(flow.n_turns > 0 || full >= flow.full,
		"the bucket is full %" PRIu64 " us earlier than it was to be",
		(flow.full - full) / US);
	flow.full = full;
}

static void
take(unsigned int number, uint32_t bytes)
{
	struct trip_police_clock clock = {read_time(NULL), read_time, NULL};
	uint64_t cost = trip_police_cost(FAST, bytes);
	bool passes, looks = sim_look(true);

	flow.under_way[number] = cost;
	(void)sim_look(looks);
	passes = trip_police_passes(&flow.police, 1, 0, bytes, &clock);
	looks = sim_look(true);
	flow.under_way[number] = 0;
	if (passes)
		flow.passed += cost;
	else if (cost < flow.refused)
		flow.refused = cost;
	watch_full();
	(void)sim_look(looks);
	sim_tell("it %s", passes ? "passes" : "does not pass");
}

static void
run_taker(void *arg)
{
	unsigned int number = (unsigned int)(uintptr_t)arg;

	for (unsigned int round = 0; round < ROUNDS; round++) {
		for (unsigned int i = 0; i < 2; i++)
			if (flow.packets[number][round][i] != 0) {
				sim_op("takes %u bytes", flow.packets[number][round][i]);
				take(number, flow.packets[number][round][i]);
			}
		sim_op("waits");
		sim_rest();
	}
}

static void
run_time(void *arg)
{
	for (unsigned int i = 0; i < ROUNDS; i++) {
		/* Longer at times than the largest packet could be ahead. */
		uint64_t by = sim_draw(2) == 0 ? sim_draw(3 * BURST) : sim_draw(3 * LARGEST);

		bool looks;

		sim_op("goes on by %" PRIu64 " us", by / US);
		looks = sim_look(true);
		flow.now += by;
		flow.elapsed += by;
		(void)sim_look(looks);
		sim_op("waits");
		sim_rest();
	}
}

/* As a home does (op_flow.c). */
static void
turn(uint64_t rate)
{
	struct trip_police_clock clock = {.read = read_time};
	uint64_t old = atomic_load(&flow.police.word), word;

	word = trip_police_begin(&flow.police, trip_police_word(rate, false, BURST_MS), 0);
	trip_police_turn(&flow.police, old, word, &clock);
}

/* While it is slow others come by; some are still on their way when it is fast again. */
static void
run_home(void *arg)
{
	for (unsigned int i = 0; i < flow.n_turns; i++) {
		sim_op("makes the rate slow");
		turn(SLOW);
		sim_progress();
		sim_pause();
		sim_op("makes it fast again");
		turn(FAST);
		sim_progress();
		sim_op("waits");
		sim_rest();
	}
}

/* Nobody else comes in that round, who would find an empty bucket no more, or put it right. */
static void
leave_alone(unsigned int round, unsigned int taker)
{
	for (unsigned int i = 0; i < TAKERS; i++) {
		if (i != taker)
			flow.packets[i][round][0] = 0;
		flow.packets[i][round][1] = 0;
	}
}

static void
begin(void)
{
	static const char *const names[TAKERS] = {"queue 0", "queue 1", "queue 2"};

	memset(&flow, 0, sizeof(flow));
	trip_police_init(&flow.police, 0);
	(void)trip_police_begin(&flow.police, trip_police_word(FAST, false, BURST_MS), 0);
	flow.now = TRIP_POLICE_SECOND;
	flow.refused = UINT64_MAX;
	flow.n_turns = sim_draw(2) == 0 ? 0 : 1 + (unsigned int)sim_draw(ROUNDS);
	for (unsigned int i = 0; i < TAKERS * ROUNDS * 2; i++) {
		/* At the slow rate one passes that finds the bucket empty. */
		uint32_t bytes = flow.n_turns > 0 ? 1 + (uint32_t)sim_draw(50)
						  : 100 + (uint32_t)sim_draw(500);

		if (sim_draw(2) == 0 && sim_wants())
			flow.packets[i / (ROUNDS * 2)][i / 2 % ROUNDS][i % 2] = bytes;
	}
	for (unsigned int round = 0; round < ROUNDS; round++) {
		unsigned int taker = (unsigned int)sim_draw(2 * TAKERS);

		if (flow.n_turns > 0 && taker < TAKERS)
			leave_alone(round, taker);
	}
	for (uintptr_t i = 0; i < TAKERS; i++)
		(void)sim_spawn(names[i], true, run_taker, (void *)i);
	(void)sim_spawn("home", false, run_home, NULL);
	if (flow.n_turns == 0 && sim_draw(2) == 0)
		(void)sim_spawn("time", false, run_time, NULL);
}

/* How far ahead whoever comes next finds it. */
static uint64_t
find_ahead(void)
{
	struct trip_police_clock clock = {flow.now, read_time, NULL};
	struct trip_police found;

	trip_police_init(&found, 0);
	atomic_store(&found.full, atomic_load(&flow.police.full));
	(void)trip_police_takes(&found, atomic_load(&flow.police.word), 1, &clock);
	return trip_police_ahead(atomic_load(&found.full), flow.now);
}

/* Where the rate changes there is no one rate to judge by. But nobody waits for the slow one. */
static void
judge(void)
{
	uint64_t ahead = trip_police_ahead(atomic_load(&flow.police.full), flow.now);

	flow.least += flow.passed;
	flow.least -= flow.least < flow.elapsed ? flow.least : flow.elapsed;
	flow.most += flow.passed;
	for (unsigned int i = 0; i < TAKERS; i++) {
		flow.has_died |= flow.under_way[i] != 0;
		flow.most += flow.under_way[i];
		flow.under_way[i] = 0;
	}
	sim_expect(
		ahead <= BURST || flow.has_died, "the bucket is %" PRIu64 " us ahead", ahead / US);
	sim_expect(find_ahead() <= LARGEST, "the bucket stays %" PRIu64 " us ahead", ahead / US);
	sim_expect(flow.n_turns > 0 || (ahead >= flow.least && ahead <= flow.most),
		"the bucket is %" PRIu64 " us ahead, and %" PRIu64 " to %" PRIu64 " were taken",
		ahead / US, flow.least / US, flow.most / US);
	/* Where time went on there may be room by now. */
	sim_expect(flow.n_turns > 0 || flow.elapsed > 0 || flow.refused == UINT64_MAX ||
			   ahead + flow.refused > BURST,
		"%" PRIu64 " us were refused, and there was room for them", flow.refused / US);
	flow.passed = flow.elapsed = 0;
	flow.refused = UINT64_MAX;
	/* Less than a burst, so that some of it is left. */
	flow.now += BURST / 3;
	flow.least = ahead > BURST / 3 ? ahead - BURST / 3 : 0;
	flow.most = flow.least;
}

static void
forget(void)
{
}

int
main(int argc, char **argv)
{
	static const struct sim_world world = {
		.name = "polices", .length = 400, .begin = begin, .judge = judge, .forget = forget};

	return sim_main(argc, argv, &world);
}

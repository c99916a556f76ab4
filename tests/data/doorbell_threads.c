/* SPDX-License-Identifier: BSD-3-Clause */
/* Ringers against the consumer: whatever was rung for is looked at, without any scrub. */
#include <trip_threads.h>

#include "doorbell.h"

#define RINGERS 2
#define INDICES 5000 /* two leaf words a span */
#define MANY 300     /* of them that are rung at random */

static uint64_t seed;

struct stage {
	struct trip_doorbell_shape shape;
	struct trip_doorbell db;
	struct trip_barrier start, end;
	_Atomic unsigned ringing;
	_Atomic uint64_t value[INDICES]; /* what the rings speak of */
	uint64_t seen[INDICES];
	uint64_t take[INDICES]; /* the call that reported it last */
	uint64_t takes;
	uint64_t rounds;
	uint32_t indices; /* of this round: few, so that ringers meet */
	uint32_t stride;
};

struct actor {
	struct stage *stage;
	struct trip_random rnd;
	pthread_t thread;
};

static struct stage *
stage_make(uint64_t rounds, unsigned threads)
{
	struct stage *stage = calloc(1, sizeof(*stage));
	void *memory;

	stage->rounds = rounds;
	stage->start.threads = stage->end.threads = threads;
	stage->shape = (struct trip_doorbell_shape){.count = {INDICES, INDICES}, .words = {1, 1}};
	memory = aligned_alloc(64, trip_doorbell_size(&stage->shape));
	trip_doorbell_init(memory, &stage->shape);
	trip_doorbell_map(&stage->db, memory, &stage->shape);
	return stage;
}

static void
stage_free(struct stage *stage)
{
	free(stage->db.summary);
	free(stage);
}

static void *
change_and_ring(void *arg)
{
	struct actor *actor = arg;
	struct stage *stage = actor->stage;
	uint64_t round;
	unsigned i;

	for (round = 0; round < stage->rounds; round++) {
		trip_barrier_wait(&stage->start);
		for (i = 0; i < 20; i++) {
			uint32_t index = (uint32_t)trip_random_below(&actor->rnd, stage->indices) *
					 stage->stride;

			atomic_fetch_add(&stage->value[index], 1);
			trip_doorbell_ring(&stage->db, 0, index);
		}
		atomic_fetch_sub(&stage->ringing, 1);
		trip_barrier_wait(&stage->end);
	}
	return NULL;
}

/* One call, which reports no index twice. */
static unsigned
take(struct stage *stage, unsigned section, uint32_t *out, unsigned max)
{
	unsigned i, n = trip_doorbell_take(&stage->db, section, out, max);

	stage->takes++;
	for (i = 0; i < n; i++) {
		assert_true(stage->take[out[i]] != stage->takes);
		stage->take[out[i]] = stage->takes;
	}
	return n;
}

static void
look(struct stage *stage, unsigned max)
{
	uint32_t out[64];
	unsigned n;

	if (trip_doorbell_idle(&stage->db))
		return;
	n = take(stage, 0, out, max);
	while (n-- > 0)
		stage->seen[out[n]] = atomic_load(&stage->value[out[n]]);
}

static void
no_ring_is_lost(void **state)
{
	struct stage *stage = stage_make(trip_test_rounds(4000), RINGERS + 1);
	struct trip_random rnd = {seed};
	struct actor actor[RINGERS];
	uint64_t round;
	unsigned i;

	for (i = 0; i < RINGERS; i++) {
		actor[i] = (struct actor){.stage = stage, .rnd.state = seed + i + 1};
		trip_thread_start(&actor[i].thread, change_and_ring, &actor[i]);
	}
	for (round = 0; round < stage->rounds; round++) {
		unsigned max = (unsigned)(1 + trip_random_below(&rnd, 64));

		stage->indices = (uint32_t)(1 + trip_random_below(&rnd, 6));
		stage->stride = (uint32_t)(1 + trip_random_below(&rnd, INDICES / 6));
		atomic_store(&stage->ringing, RINGERS);
		trip_barrier_wait(&stage->start);
		while (atomic_load(&stage->ringing) > 0)
			look(stage, max);
		trip_barrier_wait(&stage->end);
		while (!trip_doorbell_idle(&stage->db))
			look(stage, max);
		for (i = 0; i < stage->indices; i++)
			assert_true(stage->seen[i * stage->stride] ==
				    atomic_load(&stage->value[i * stage->stride]));
		assert_null(trip_doorbell_check(&stage->db));
	}
	for (i = 0; i < RINGERS; i++)
		pthread_join(actor[i].thread, NULL);
	stage_free(stage);
}

/* Rings section 1, then changes something and rings section 0 for it: submit, then add. */
static void *
ring_both(void *arg)
{
	struct actor *actor = arg;
	struct stage *stage = actor->stage;
	uint64_t k;

	for (k = 1; k <= stage->rounds; k++) {
		uint32_t index = (uint32_t)trip_random_below(&actor->rnd, MANY);

		atomic_store(&stage->value[1], k);
		trip_doorbell_ring(&stage->db, 1, index);
		atomic_store(&stage->value[0], k);
		trip_doorbell_ring(&stage->db, 0, 7);
	}
	atomic_fetch_sub(&stage->ringing, 1);
	return NULL;
}

/* Whoever sees the second sees the first by then: nothing is fired before it was accepted. */
static void
later_section_sees_earlier_rings(void **state)
{
	struct stage *stage = stage_make(trip_test_rounds(100000), 1);
	struct actor actor = {.stage = stage, .rnd.state = seed + 20};
	struct trip_random rnd = {seed};
	uint64_t submitted = 0;
	uint32_t out[MANY];
	unsigned n, max, going;

	atomic_store(&stage->ringing, 1);
	trip_thread_start(&actor.thread, ring_both, &actor);
	do {
		uint64_t updated = 0;

		going = atomic_load(&stage->ringing);
		if (take(stage, 0, out, MANY) > 0)
			updated = atomic_load(&stage->value[0]);
		/* A small one first leaves the cursor anywhere; one for all of them is complete. */
		max = (unsigned)trip_random_below(&rnd, 8);
		n = take(stage, 1, out, max) + take(stage, 1, out, MANY);
		if (n > 0)
			submitted = atomic_load(&stage->value[1]);
		assert_true(submitted >= updated);
	} while (going > 0);
	assert_true(submitted == stage->rounds);
	assert_true(trip_doorbell_idle(&stage->db));
	pthread_join(actor.thread, NULL);
	stage_free(stage);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_ring_is_lost),
		cmocka_unit_test(later_section_sees_earlier_rings),
	};

	trip_threads_prepare();
	seed = trip_test_seed("stress doorbell");
	return cmocka_run_group_tests(tests, NULL, NULL);
}

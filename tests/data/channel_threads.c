/* SPDX-License-Identifier: BSD-3-Clause */
/* Submit, cancel and fire against each other: exactly one outcome each, and all slots come back. */
#include <stdbool.h>
#include <string.h>

#include <trip_threads.h>

#include "channel.h"

#define CANCELERS 2
#define SLOTS 40

static uint64_t seed;

struct stage {
	struct trip_channel_shape shape;
	struct trip_channel_client client;
	struct trip_channel_home home;
	pthread_mutex_t lock; /* the client's */
	uint64_t items;
	_Atomic uint64_t *id;    /* by serial */
	_Atomic uint32_t *fired; /* last firings */
	_Atomic uint32_t *canceled;
	_Atomic uint64_t submitted;
	void *memory, *marks;
};

struct actor {
	struct stage *stage;
	struct trip_random rnd;
	pthread_t thread;
};

static void *
submit_all(void *arg)
{
	struct actor *actor = arg;
	struct stage *stage = actor->stage;

	for (;;) {
		uint64_t serial, id;
		uint32_t operands = 0;
		int slot = -EAGAIN;
		bool with;

		pthread_mutex_lock(&stage->lock);
		serial = atomic_load(&stage->submitted);
		with = serial % 3 == 0;
		if (serial < stage->items)
			slot = with ? trip_channel_alloc_more(&stage->client,
					      trip_channel_returned(&stage->client), &operands, 1)
				    : trip_channel_alloc(&stage->client,
					      trip_channel_returned(&stage->client));
		if (slot >= 0) {
			struct trip_work_desc *desc =
				trip_channel_desc(&stage->client, (uint32_t)slot);

			memset(desc, 0, sizeof(*desc));
			desc->context = serial;
			desc->interval = trip_random_below(&actor->rnd, 4);
			if (with) {
				desc->operands = 1 + operands;
				memcpy(trip_channel_operands(&stage->client, operands), &serial,
					sizeof(serial));
			}
			if (trip_channel_submit(&stage->client, (uint32_t)slot, &id) != 0)
				abort();
			atomic_store(&stage->id[serial], id);
			atomic_store(&stage->submitted, serial + 1);
		}
		pthread_mutex_unlock(&stage->lock);
		if (serial == stage->items)
			return NULL;
		if (slot == -EAGAIN)
			sched_yield();
		else if (slot < 0)
			abort();
	}
}

/* Tries to cancel what was submitted last, and what was long ago. */
static void *
cancel_some(void *arg)
{
	struct actor *actor = arg;
	struct stage *stage = actor->stage;
	uint64_t submitted;

	do {
		uint64_t serial, back = trip_random_below(&actor->rnd, SLOTS * 2);

		if (trip_random_below(&actor->rnd, 64) == 0)
			sched_yield();

		submitted = atomic_load(&stage->submitted);
		if (submitted == 0)
			continue;
		serial = back < submitted ? submitted - 1 - back : 0;
		if (trip_channel_cancel(&stage->client, atomic_load(&stage->id[serial])) == 0)
			atomic_fetch_add(&stage->canceled[serial], 1);
	} while (submitted < stage->items);
	return NULL;
}

/* What the home knows of a slot that it holds. */
struct held {
	struct trip_work_desc desc;
	uint64_t generation;
	bool here;
};

static void
home_return(struct stage *stage, struct held *held, uint32_t slot)
{
	held->here = false;
	trip_channel_return(&stage->home, slot);
	if (held->desc.operands != 0)
		trip_channel_return(&stage->home, held->desc.operands - 1);
}

/* What it says, and its operands. */
static void
home_read(struct stage *stage, struct held *held, uint32_t slot)
{
	uint64_t operands[TRIP_OPERANDS_MAX / 8];

	assert_false(held->here);
	held->here = true;
	held->generation = trip_channel_read(&stage->home, slot, &held->desc);
	assert_int_equal(held->desc.operands != 0, held->desc.context % 3 == 0);
	if (held->desc.operands == 0)
		return;
	assert_true(trip_channel_take_operands(&stage->home, held->desc.operands - 1));
	trip_channel_read_operands(&stage->home, held->desc.operands - 1, operands);
	assert_true(operands[0] == held->desc.context);
}

static void
home_fire(struct stage *stage, struct held *held, uint32_t slot)
{
	if (held->desc.interval > 0) {
		held->desc.interval--;
		if (trip_channel_queued(&stage->home, slot, held->generation))
			return;
	} else if (trip_channel_claim(&stage->home, slot, held->generation)) {
		atomic_fetch_add(&stage->fired[held->desc.context], 1);
	}
	home_return(stage, held, slot);
}

/* One round of the home; the order of its parts is random. */
static void
home_round(struct stage *stage, struct trip_random *rnd, struct held *held)
{
	uint32_t slot, slots[16], max = (uint32_t)(1 + trip_random_below(rnd, 16));
	int i, n;

	if (trip_random_below(rnd, 2)) {
		n = trip_channel_accept(
			&stage->home, trip_channel_pending_tail(&stage->home), slots, max);
		assert_true(n >= 0);
		for (i = 0; i < n; i++)
			home_read(stage, &held[slots[i]], slots[i]);
	}
	if (trip_random_below(rnd, 2)) {
		n = (int)trip_channel_take_canceled(&stage->home, slots, max);
		for (i = 0; i < n; i++) {
			assert_true(held[slots[i]].here);
			home_return(stage, &held[slots[i]], slots[i]);
		}
	}
	/* Slowly, or the arena is never full and nothing is left to cancel. */
	slot = (uint32_t)trip_random_below(rnd, SLOTS);
	if (held[slot].here && trip_random_below(rnd, 4) == 0)
		home_fire(stage, &held[slot], slot);
}

static void
stage_make(struct stage *stage, uint64_t items)
{
	memset(stage, 0, sizeof(*stage));
	stage->shape = (struct trip_channel_shape){.slots = SLOTS, .first = 1000};
	stage->items = items;
	pthread_mutex_init(&stage->lock, NULL);
	stage->id = calloc(items, sizeof(*stage->id));
	stage->fired = calloc(items, sizeof(*stage->fired));
	stage->canceled = calloc(items, sizeof(*stage->canceled));
	stage->memory = aligned_alloc(64, trip_channel_size(&stage->shape));
	stage->marks = malloc(trip_channel_marks_size(&stage->shape));
	trip_channel_init(stage->memory, &stage->shape);
	trip_channel_map_client(&stage->client, stage->memory, &stage->shape);
	trip_channel_map_home(&stage->home, stage->memory, &stage->shape, stage->marks);
}

static void
stage_free(struct stage *stage)
{
	pthread_mutex_destroy(&stage->lock);
	free((void *)stage->id);
	free((void *)stage->fired);
	free((void *)stage->canceled);
	free(stage->memory);
	free(stage->marks);
}

static void
one_outcome_each(void **state)
{
	struct trip_random rnd = {seed};
	struct held held[SLOTS] = {0};
	struct actor actor[1 + CANCELERS];
	uint64_t i, fired = 0;
	const char *wrong;
	struct stage stage;

	stage_make(&stage, trip_test_rounds(30000));
	for (i = 0; i < 1 + CANCELERS; i++) {
		actor[i] = (struct actor){.stage = &stage, .rnd.state = seed + 1 + i};
		trip_thread_start(&actor[i].thread, i == 0 ? submit_all : cancel_some, &actor[i]);
	}
	while (atomic_load(&stage.submitted) < stage.items)
		home_round(&stage, &rnd, held);
	for (i = 0; i < 1 + CANCELERS; i++)
		pthread_join(actor[i].thread, NULL);
	while (stage.home.held > 0 || trip_channel_canceling(&stage.home) ||
		trip_channel_pending(&stage.home, trip_channel_pending_tail(&stage.home)))
		home_round(&stage, &rnd, held);
	for (i = 0; i < stage.items; i++) {
		assert_int_equal(atomic_load(&stage.fired[i]) + atomic_load(&stage.canceled[i]), 1);
		fired += atomic_load(&stage.fired[i]);
	}
	wrong = trip_channel_check(&stage.home);
	if (wrong != NULL)
		fail_msg("%s", wrong);
	assert_int_equal(stage.home.garbage, 0);
	for (i = 0; i < SLOTS; i++)
		assert_true(trip_channel_alloc(
				    &stage.client, trip_channel_returned(&stage.client)) >= 0);
	assert_int_equal(
		trip_channel_alloc(&stage.client, trip_channel_returned(&stage.client)), -EAGAIN);
	printf("%llu items: %llu fired, %llu canceled\n", (unsigned long long)stage.items,
		(unsigned long long)fired, (unsigned long long)(stage.items - fired));
	stage_free(&stage);
}

struct handoff {
	struct trip_ring *ring;
	uint64_t payload[64]; /* not atomic: the ring orders it */
	uint64_t values;
};

static void *
produce(void *arg)
{
	struct handoff *handoff = arg;
	struct trip_random rnd = {seed + 9};
	struct trip_ring_end end;
	uint64_t sent = 0;
	uint32_t values[16];

	trip_ring_map_producer(&end, handoff->ring, 32);
	while (sent < handoff->values) {
		uint32_t i, n = (uint32_t)(1 + trip_random_below(&rnd, 16));

		/* Room first: the payload is not ours before. */
		if (end.here - atomic_load(&handoff->ring->head) + n > 32) {
			sched_yield();
			continue;
		}
		for (i = 0; i < n; i++) {
			values[i] = (uint32_t)((sent + i) % 64);
			handoff->payload[values[i]] = sent + i;
		}
		if (trip_ring_enqueue(&end, values, n) != 0)
			abort();
		sent += n;
	}
	return NULL;
}

/* In order, each once, and with what it refers to. */
static void
ring_hands_over(void **state)
{
	struct handoff handoff = {.values = trip_test_rounds(300000)};
	struct trip_random rnd = {seed + 8};
	struct trip_ring_end end;
	uint32_t values[16];
	pthread_t thread;
	uint64_t got = 0;
	int i, n;

	handoff.ring = aligned_alloc(64, trip_ring_size(32));
	trip_ring_init(handoff.ring);
	trip_ring_map_consumer(&end, handoff.ring, 32);
	trip_thread_start(&thread, produce, &handoff);
	while (got < handoff.values) {
		/* Peek, use, release: only then may the producer write the payload again. */
		n = trip_ring_peek(&end, trip_ring_tail(&end), values,
			(uint32_t)(1 + trip_random_below(&rnd, 16)));
		assert_true(n >= 0);
		for (i = 0; i < n; i++, got++) {
			assert_int_equal(values[i], got % 64);
			assert_true(handoff.payload[values[i]] == got);
		}
		if (n > 0)
			trip_ring_release(&end, (uint32_t)n);
		else
			sched_yield();
	}
	pthread_join(thread, NULL);
	assert_null(trip_ring_check(handoff.ring, 32));
	free(handoff.ring);
}

/* A home that looks into the channel only where its doorbell was rung, as the engine's does. */
struct bellboy {
	struct stage stage;
	struct trip_doorbell db;
	_Atomic uint64_t accepted;
	_Atomic uint64_t rounds;
	_Atomic bool done;
};

static void *
accept_what_rang(void *arg)
{
	struct bellboy *boy = arg;
	struct trip_channel_home *home = &boy->stage.home;
	uint32_t rung, slots[SLOTS];

	while (!atomic_load(&boy->done)) {
		if (trip_doorbell_take(&boy->db, 0, &rung, 1) > 0) {
			int n = trip_channel_accept(
				home, trip_channel_pending_tail(home), slots, SLOTS);

			for (int i = 0; i < n; i++) {
				struct trip_work_desc desc;

				(void)trip_channel_claim(
					home, slots[i], trip_channel_read(home, slots[i], &desc));
				trip_channel_return(home, slots[i]);
			}
			atomic_fetch_add(&boy->accepted, (uint64_t)n);
		} else if (atomic_load(&boy->rounds) % 64 == 0) {
			sched_yield();
		}
		atomic_fetch_add(&boy->rounds, 1);
	}
	return NULL;
}

static void
submit_and_ring(struct bellboy *boy)
{
	uint64_t id;
	int slot;

	while ((slot = trip_channel_alloc(
			&boy->stage.client, trip_channel_returned(&boy->stage.client))) < 0)
		sched_yield();
	assert_int_equal(trip_channel_submit(&boy->stage.client, (uint32_t)slot, &id), 0);
	trip_doorbell_ring(&boy->db, 0, 0);
}

/* The second of two often finds the bell rung, and the home just about to take it. */
static void
no_submission_is_overlooked(void **state)
{
	const struct trip_doorbell_shape shape = {.count = {1}, .words = {1}};
	struct trip_random rnd = {seed + 7};
	struct bellboy *boy = calloc(1, sizeof(*boy));
	uint64_t submitted = 0, rounds;
	pthread_t thread;
	void *bell;

	stage_make(&boy->stage, trip_test_rounds(60000));
	bell = aligned_alloc(64, trip_doorbell_size(&shape));
	trip_doorbell_init(bell, &shape);
	trip_doorbell_map(&boy->db, bell, &shape);
	trip_thread_start(&thread, accept_what_rang, boy);
	while (submitted < boy->stage.items) {
		unsigned int pauses = (unsigned int)trip_random_below(&rnd, 64);

		submit_and_ring(boy);
		for (unsigned int i = 0; i < pauses; i++)
			(void)atomic_load_explicit(&boy->done, memory_order_relaxed);
		submit_and_ring(boy);
		submitted += 2;
		/* Two whole rounds that began after the ring have seen it. */
		rounds = atomic_load(&boy->rounds);
		while (atomic_load(&boy->accepted) != submitted &&
			atomic_load(&boy->rounds) < rounds + 3)
			sched_yield();
		assert_int_equal(atomic_load(&boy->accepted), submitted);
	}
	atomic_store(&boy->done, true);
	pthread_join(thread, NULL);
	stage_free(&boy->stage);
	free(bell);
	free(boy);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_outcome_each),
		cmocka_unit_test(ring_hands_over),
		cmocka_unit_test(no_submission_is_overlooked),
	};

	trip_threads_prepare();
	seed = trip_test_seed("stress channel");
	return cmocka_run_group_tests(tests, NULL, NULL);
}

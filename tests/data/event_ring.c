/* SPDX-License-Identifier: BSD-3-Clause */
/* The event ring against a queue without a limit, and its promise to one-shot items. */
#include <trip_test.h>

#include <string.h>

#include "event_ring.h"

#define EVENTS 100000

struct model {
	uint64_t unread[4096];
	unsigned int head, count;
	/* One-shot items admitted and not read yet. */
	unsigned int outstanding, one_shots_unread;
};

static struct trip_random rnd;

static void
push(struct trip_event_ring *ring, struct model *model, uint64_t id, bool one_shot)
{
	struct trip_event event = {.id = id, .one_shot = one_shot};
	bool room = one_shot || model->count < ring->limit;

	assert_int_equal(trip_event_ring_push(ring, &event), room);
	if (room)
		model->unread[(model->head + model->count++) % 4096] = id << 1 | one_shot;
	model->one_shots_unread += one_shot;
}

static void
pop(struct trip_event_ring *ring, struct model *model)
{
	struct trip_event events[8];
	unsigned int max = (unsigned int)trip_random_below(&rnd, 9);
	unsigned int n = trip_event_ring_pop(ring, events, max);

	assert_int_equal(n, model->count < max ? model->count : max);
	for (unsigned int i = 0; i < n; i++) {
		uint64_t expected = model->unread[model->head];
		bool one_shot = events[i].one_shot;

		assert_int_equal(events[i].id << 1 | one_shot, expected);
		model->head = (model->head + 1) % 4096;
		model->count--;
		model->outstanding -= one_shot;
		model->one_shots_unread -= one_shot;
	}
}

static void
against_a_model(void **state)
{
	uint64_t seed = trip_test_seed("event_ring");

	for (uint32_t limit = 1; limit <= 1025; limit = limit * 2 + (uint32_t)(seed & 1)) {
		size_t size = trip_event_ring_size(limit);
		struct trip_event_ring ring;
		struct model model = {0};
		void *memory = aligned_alloc(64, (size + 63) / 64 * 64);

		rnd.state = seed + limit;
		assert_non_null(memory);
		memset(memory, 0xa5, size);
		trip_event_ring_init(&ring, memory, limit);
		for (uint64_t id = 1; id <= trip_test_rounds(EVENTS) / 10; id++) {
			/* Admitted, as the runtime does: at most `limit` outstanding. */
			bool one_shot =
				model.outstanding < limit && trip_random_below(&rnd, 2) == 0;

			model.outstanding += one_shot;
			push(&ring, &model, id, one_shot);
			if (trip_random_below(&rnd, 3) == 0)
				pop(&ring, &model);
			assert_null(trip_event_ring_check(&ring));
		}
		free(memory);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(against_a_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The channel and its rings against a model, one step of either side at a time. */
#include <string.h>

#include <trip_test.h>

#include "channel.h"

static struct trip_random rnd;

/* What the model knows of a slot. */
enum place {
	WITH_CLIENT,
	SUBMITTED,
	ACCEPTED,
	OPERANDS,
};

struct item {
	enum place place;
	bool canceled;
	uint64_t id, serial;
	uint32_t more[TRIP_CHANNEL_MORE]; /* 1 + the slots of its operands and condition */
};

struct pair {
	struct trip_channel_shape shape;
	struct trip_channel_client client;
	struct trip_channel_home home;
	void *memory, *marks;
	struct item *item;
	uint32_t *queue; /* submitted slots in order */
	uint64_t serial;
	uint32_t queued, free;
};

static void
pair_make(struct pair *pair, uint32_t slots)
{
	memset(pair, 0, sizeof(*pair));
	pair->shape.slots = slots;
	pair->shape.first = (uint32_t)trip_random_below(&rnd, 1u << 27);
	pair->memory = aligned_alloc(64, trip_channel_size(&pair->shape));
	pair->marks = malloc(trip_channel_marks_size(&pair->shape));
	pair->item = calloc(slots, sizeof(*pair->item));
	pair->queue = calloc(slots, sizeof(*pair->queue));
	pair->free = slots;
	trip_channel_init(pair->memory, &pair->shape);
	trip_channel_map_client(&pair->client, pair->memory, &pair->shape);
	trip_channel_map_home(&pair->home, pair->memory, &pair->shape, pair->marks);
}

static void
pair_free(struct pair *pair)
{
	free(pair->memory);
	free(pair->marks);
	free(pair->item);
	free(pair->queue);
}

static void
pair_check(const struct pair *pair)
{
	const char *wrong = trip_channel_check(&pair->home);

	if (wrong != NULL)
		fail_msg("%s", wrong);
	assert_int_equal(pair->home.garbage, 0);
}

/* What the operands of an item are. */
static void
fill_operands(uint64_t *operands, uint64_t serial)
{
	for (unsigned int i = 0; i < TRIP_OPERANDS_MAX / sizeof(*operands); i++)
		operands[i] = serial * (i + 1);
}

/* In the model: the slots that it has beside its own. */
static void
take_more(struct pair *pair, struct item *item, const uint32_t *more, unsigned int n)
{
	/* One alone is either. */
	unsigned int at = n == 1 ? (unsigned int)trip_random_below(&rnd, 2) : 0;

	memset(item->more, 0, sizeof(item->more));
	for (unsigned int i = 0; i < n; i++) {
		item->more[at + i] = 1 + more[i];
		assert_int_equal(pair->item[more[i]].place, WITH_CLIENT);
		pair->item[more[i]].place = OPERANDS;
		pair->free--;
		fill_operands(trip_channel_operands(&pair->client, more[i]), item->serial + i);
	}
}

/* Some have operands, or a condition, or both: a slot more for each. */
static void
submit(struct pair *pair)
{
	unsigned int n =
		trip_random_below(&rnd, 3) == 0 ? 1 + (unsigned int)trip_random_below(&rnd, 2) : 0;
	uint32_t more[TRIP_CHANNEL_MORE];
	int slot = n > 0 ? trip_channel_alloc_more(
				   &pair->client, trip_channel_returned(&pair->client), more, n)
			 : trip_channel_alloc(&pair->client, trip_channel_returned(&pair->client));
	struct trip_work_desc *desc;
	struct item *item;
	uint64_t before;

	if (pair->free < 1 + n) {
		assert_int_equal(slot, -EAGAIN);
		return;
	}
	assert_true(slot >= 0 && (uint32_t)slot < pair->shape.slots);
	item = &pair->item[slot];
	assert_int_equal(item->place, WITH_CLIENT);
	desc = trip_channel_desc(&pair->client, (uint32_t)slot);
	memset(desc, 0, sizeof(*desc));
	item->serial = desc->context = ++pair->serial;
	take_more(pair, item, more, n);
	desc->operands = item->more[0];
	desc->condition = item->more[1];
	before = item->id;
	assert_int_equal(trip_channel_submit(&pair->client, (uint32_t)slot, &item->id), 0);
	assert_true(item->id > before); /* of one slot, so no id comes again */
	item->place = SUBMITTED;
	item->canceled = false;
	pair->free--;
	pair->queue[pair->queued++] = (uint32_t)slot;
}

/* Any id that was ever given: only what is queued now can be canceled, and once. */
static void
cancel(struct pair *pair)
{
	struct item *item = &pair->item[trip_random_below(&rnd, pair->shape.slots)];
	bool possible = (item->place == SUBMITTED || item->place == ACCEPTED) && !item->canceled;
	uint64_t strange =
		item->id + (trip_random_below(&rnd, 2) ? UINT64_C(1) << 28 : pair->shape.slots);

	assert_int_equal(trip_channel_cancel(&pair->client, item->id), possible ? 0 : -ENOENT);
	assert_int_equal(trip_channel_cancel(&pair->client, strange), -ENOENT);
	item->canceled |= possible;
}

/* In the model: the client's again, and what it had beside it. */
static void
goes_back(struct pair *pair, struct item *item)
{
	item->place = WITH_CLIENT;
	pair->free++;
	for (unsigned int i = 0; i < TRIP_CHANNEL_MORE; i++) {
		if (item->more[i] == 0)
			continue;
		assert_int_equal(pair->item[item->more[i] - 1].place, OPERANDS);
		pair->item[item->more[i] - 1].place = WITH_CLIENT;
		pair->free++;
	}
}

static void
give_back(struct pair *pair, uint32_t slot)
{
	const uint32_t twice[] = {slot, slot};

	for (unsigned int i = 0; i < TRIP_CHANNEL_MORE; i++) {
		uint32_t more = pair->item[slot].more[i];

		if (more == 0)
			continue;
		assert_true(trip_channel_has_operands(&pair->home, more - 1));
		assert_false(trip_channel_held(&pair->home, more - 1));
		trip_channel_return(&pair->home, more - 1);
		assert_false(trip_channel_has_operands(&pair->home, more - 1));
	}
	/* The second time is refused, together with the first or after it. */
	if (trip_random_below(&rnd, 2) == 0) {
		trip_channel_return(&pair->home, slot);
		trip_channel_return(&pair->home, slot);
	} else {
		trip_channel_return_many(&pair->home, twice, 2);
	}
	goes_back(pair, &pair->item[slot]);
}

/* What an item has beside its own slot is read, once. */
static void
read_more(struct pair *pair, uint32_t slot, uint32_t more, uint64_t serial)
{
	uint64_t operands[TRIP_OPERANDS_MAX / 8], expected[TRIP_OPERANDS_MAX / 8];

	assert_true(trip_channel_take_operands(&pair->home, more));
	trip_channel_read_operands(&pair->home, more, operands);
	fill_operands(expected, serial);
	assert_memory_equal(operands, expected, sizeof(expected));
	/* Neither one's own slot, nor one that is taken, nor one beyond. */
	assert_false(trip_channel_take_operands(&pair->home, more));
	assert_false(trip_channel_take_operands(&pair->home, slot));
	assert_false(trip_channel_take_operands(&pair->home, pair->shape.slots));
	assert_false(trip_channel_take_operands(&pair->home, UINT32_MAX));
}

/* And so is its descriptor. */
static void
read_item(struct pair *pair, uint32_t slot, const struct item *item)
{
	struct trip_work_desc desc;
	uint64_t generation = trip_channel_read(&pair->home, slot, &desc);

	assert_true(trip_channel_id(&pair->home.map, slot, generation) == item->id);
	assert_true(desc.context == item->serial);
	assert_int_equal(desc.operands, item->more[0]);
	assert_int_equal(desc.condition, item->more[1]);
	if (desc.operands != 0)
		read_more(pair, slot, desc.operands - 1, item->serial);
	/* With operands, it is the second. */
	if (desc.condition != 0)
		read_more(pair, slot, desc.condition - 1, item->serial + (desc.operands != 0));
}

static void
accept(struct pair *pair)
{
	uint32_t tail = trip_channel_pending_tail(&pair->home), slots[8], i, at = 0;
	uint32_t max = (uint32_t)trip_random_below(&rnd, 9), looked;
	int n;

	looked = pair->queued < max ? pair->queued : max;
	assert_int_equal(trip_channel_pending(&pair->home, tail), pair->queued != 0);
	n = trip_channel_accept(&pair->home, tail, slots, max);
	for (i = 0; i < looked; i++) {
		struct item *item = &pair->item[pair->queue[i]];

		if (item->canceled) {
			goes_back(pair, item);
			continue;
		}
		assert_true(at < (uint32_t)n);
		assert_int_equal(slots[at], pair->queue[i]);
		item->place = ACCEPTED;
		read_item(pair, slots[at], item);
		at++;
	}
	assert_int_equal(n, at);
	pair->queued -= looked;
	memmove(pair->queue, pair->queue + looked, pair->queued * sizeof(*pair->queue));
}

static void
fire(struct pair *pair)
{
	uint32_t slot = (uint32_t)trip_random_below(&rnd, pair->shape.slots);
	struct item *item = &pair->item[slot];
	uint64_t generation = item->id >> TRIP_CHANNEL_SLOT_BITS;

	if (item->place != ACCEPTED)
		return;
	assert_int_equal(trip_channel_queued(&pair->home, slot, generation), !item->canceled);
	if (trip_random_below(&rnd, 2))
		return; /* an interval item that stays */
	assert_int_equal(trip_channel_claim(&pair->home, slot, generation), !item->canceled);
	assert_int_equal(trip_channel_cancel(&pair->client, item->id), -ENOENT);
	give_back(pair, slot);
}

static void
drop_canceled(struct pair *pair, unsigned max)
{
	uint32_t slots[64];
	unsigned n = trip_channel_take_canceled(&pair->home, slots, max);

	while (n > 0) {
		struct item *item = &pair->item[slots[--n]];

		assert_true(item->place == ACCEPTED && item->canceled);
		give_back(pair, slots[n]);
	}
}

/* In the end everything is back with the client, by any order of the home's two ways. */
static void
drain(struct pair *pair)
{
	uint32_t slot;

	while (pair->queued > 0)
		accept(pair);
	while (trip_channel_canceling(&pair->home))
		drop_canceled(pair, 64);
	for (slot = 0; slot < pair->shape.slots; slot++) {
		struct item *item = &pair->item[slot];

		assert_false(item->place == ACCEPTED && item->canceled);
		while (item->place == ACCEPTED)
			fire(pair);
	}
	assert_int_equal(pair->free, pair->shape.slots);
	assert_int_equal(pair->home.held, 0);
	pair_check(pair);
}

static void
random_operations(void **state)
{
	uint64_t rounds = trip_test_rounds(300), i;
	struct pair pair;
	unsigned step;

	for (i = 0; i < rounds; i++) {
		pair_make(&pair, (uint32_t)(1 + trip_random_below(&rnd, 100)));
		for (step = 0; step < 1000; step++) {
			switch (trip_random_below(&rnd, 8)) {
			case 0:
			case 1:
			case 2:
				submit(&pair);
				break;
			case 3:
				cancel(&pair);
				break;
			case 4:
				accept(&pair);
				break;
			case 5:
				drop_canceled(&pair, (unsigned)trip_random_below(&rnd, 5));
				break;
			default:
				fire(&pair);
				break;
			}
			if (step % 16 == 0)
				pair_check(&pair);
		}
		drain(&pair);
		pair_free(&pair);
	}
}

static void
exhausted_slot_is_retired(void **state)
{
	struct pair pair;
	uint32_t slots[4];
	uint64_t id;

	pair_make(&pair, 2);
	atomic_store(&pair.client.map.state[0],
		trip_channel_word(TRIP_CHANNEL_GENERATION_MAX - 1, TRIP_CHANNEL_FREE));
	assert_int_equal(trip_channel_alloc(&pair.client, trip_channel_returned(&pair.client)), 0);
	assert_int_equal(trip_channel_submit(&pair.client, 0, &id), 0);
	assert_true(id >> TRIP_CHANNEL_SLOT_BITS == TRIP_CHANNEL_GENERATION_MAX);
	assert_int_equal(
		trip_channel_accept(&pair.home, trip_channel_pending_tail(&pair.home), slots, 4),
		1);
	assert_true(trip_channel_claim(&pair.home, 0, TRIP_CHANNEL_GENERATION_MAX));
	trip_channel_return(&pair.home, 0);
	assert_int_equal(trip_channel_alloc(&pair.client, trip_channel_returned(&pair.client)), 1);
	assert_int_equal(
		trip_channel_alloc(&pair.client, trip_channel_returned(&pair.client)), -EAGAIN);
	pair_free(&pair);
}

/* Whoever writes it there has used up nothing: a generation is submitted before the next. */
static void
last_generation_is_not_believed(void **state)
{
	struct pair pair;
	uint32_t slots[4];
	uint64_t id;

	pair_make(&pair, 2);
	for (unsigned int i = 0; i < 4; i++) {
		uint32_t slot = i % 2;

		assert_int_equal(
			trip_channel_alloc(&pair.client, trip_channel_returned(&pair.client)),
			slot);
		assert_int_equal(trip_channel_submit(&pair.client, slot, &id), 0);
		/* The last one is killed before the home hears of it. */
		if (i == 3)
			break;
		assert_int_equal(trip_channel_accept(&pair.home,
					 trip_channel_pending_tail(&pair.home), slots, 4),
			1);
		assert_true(trip_channel_claim(&pair.home, slot, id >> TRIP_CHANNEL_SLOT_BITS));
		trip_channel_return(&pair.home, slot);
	}
	atomic_store(&pair.client.map.state[0], UINT64_MAX);
	trip_channel_renew(&pair.client, &pair.home, &pair.shape);
	/* Behind all that it has submitted there, and the other slot's goes on. */
	for (uint32_t slot = 0; slot < 2; slot++) {
		assert_int_equal(
			trip_channel_alloc(&pair.client, trip_channel_returned(&pair.client)),
			slot);
		assert_int_equal(trip_channel_submit(&pair.client, slot, &id), 0);
		assert_int_equal(id >> TRIP_CHANNEL_SLOT_BITS, slot == 0 ? 5 : 3);
	}
	pair_free(&pair);
}

/* Operands have no generation, so it is good for these. */
static void
retired_slot_has_operands(void **state)
{
	for (unsigned int retired = 0; retired < 2; retired++) {
		struct pair pair;
		uint32_t operands;

		pair_make(&pair, 3);
		atomic_store(&pair.client.map.state[retired],
			trip_channel_word(TRIP_CHANNEL_GENERATION_MAX, TRIP_CHANNEL_FREE));
		assert_int_equal(trip_channel_alloc_more(&pair.client,
					 trip_channel_returned(&pair.client), &operands, 1),
			1 - retired);
		assert_int_equal(operands, retired);
		/* One is left: it stays. */
		assert_int_equal(trip_channel_alloc_more(&pair.client,
					 trip_channel_returned(&pair.client), &operands, 1),
			-EAGAIN);
		assert_int_equal(
			trip_channel_alloc(&pair.client, trip_channel_returned(&pair.client)), 2);
		pair_free(&pair);
	}
}

/* Two that are retired make no item, and go for good. */
static void
retired_slots_make_no_item(void **state)
{
	struct pair pair;
	uint32_t operands;

	pair_make(&pair, 3);
	for (unsigned int i = 0; i < 2; i++)
		atomic_store(&pair.client.map.state[i],
			trip_channel_word(TRIP_CHANNEL_GENERATION_MAX, TRIP_CHANNEL_FREE));
	assert_int_equal(trip_channel_alloc_more(
				 &pair.client, trip_channel_returned(&pair.client), &operands, 1),
		2);
	assert_int_equal(operands, 1);
	pair_free(&pair);
}

/* A client that scribbles: the home neither leaves its memory nor hands a slot out twice. */
static void
hostile_client(void **state)
{
	uint64_t rounds = trip_test_rounds(300), i;
	struct pair pair;
	unsigned step;

	for (i = 0; i < rounds; i++) {
		size_t words;
		bool held[64] = {false};

		pair_make(&pair, (uint32_t)(1 + trip_random_below(&rnd, 64)));
		words = trip_channel_size(&pair.shape) / 4;
		for (step = 0; step < 300; step++) {
			uint32_t *raw = pair.memory, slots[16];
			struct trip_work_desc desc;
			int n;

			raw[trip_random_below(&rnd, words)] = (uint32_t)trip_random_below(&rnd, 70);
			if (trip_random_below(&rnd, 3) == 0)
				atomic_fetch_add(&pair.home.submit.ring->tail,
					(uint32_t)trip_random_below(&rnd, 4));
			n = trip_channel_accept(
				&pair.home, trip_channel_pending_tail(&pair.home), slots, 16);
			while (n > 0) {
				assert_true(slots[--n] < pair.shape.slots && !held[slots[n]]);
				held[slots[n]] = true;
				trip_channel_read(&pair.home, slots[n], &desc);
				if (trip_channel_take_operands(&pair.home, desc.operands - 1)) {
					assert_true(desc.operands - 1 < pair.shape.slots);
					assert_false(held[desc.operands - 1]);
					trip_channel_return(&pair.home, desc.operands - 1);
				}
			}
			n = (int)trip_channel_take_canceled(&pair.home, slots, 16);
			while (n > 0) {
				assert_true(slots[--n] < pair.shape.slots && held[slots[n]]);
				held[slots[n]] = false;
				trip_channel_return(&pair.home, slots[n]);
			}
			slots[0] = (uint32_t)trip_random_below(&rnd, pair.shape.slots);
			if (held[slots[0]]) {
				trip_channel_claim(&pair.home, slots[0], 1);
				trip_channel_return(&pair.home, slots[0]);
				held[slots[0]] = false;
			}
		}
		pair_free(&pair);
	}
}

static void
ring_against_model(void **state)
{
	uint64_t rounds = trip_test_rounds(300), i;
	struct trip_ring_end in, out;
	struct trip_ring *ring;
	unsigned step;

	for (i = 0; i < rounds; i++) {
		uint32_t size = 1u << trip_random_below(&rnd, 7), values[130], k, put = 0, got = 0;
		uint32_t start = (uint32_t)0 - (uint32_t)trip_random_below(&rnd, 200);

		ring = aligned_alloc(64, trip_ring_size(size));
		trip_ring_init(ring);
		/* Indices wrap around 2^32 within the test. */
		atomic_store(&ring->head, start);
		atomic_store(&ring->tail, start);
		trip_ring_map_producer(&in, ring, size);
		trip_ring_map_consumer(&out, ring, size);
		for (step = 0; step < 200; step++) {
			uint32_t n = (uint32_t)trip_random_below(&rnd, 130);
			int done;

			if (trip_random_below(&rnd, 2)) {
				for (k = 0; k < n; k++)
					values[k] = put + k;
				done = trip_ring_enqueue(&in, values, n);
				assert_int_equal(done, put + n - got <= size ? 0 : -EAGAIN);
				put += done == 0 ? n : 0;
			} else {
				done = trip_ring_dequeue_to(&out, trip_ring_tail(&out), values, n);
				assert_int_equal(done, put - got < n ? put - got : n);
				for (k = 0; k < (uint32_t)done; k++)
					assert_int_equal(values[k], got++);
			}
			assert_null(trip_ring_check(ring, size));
		}
		atomic_store(&ring->head, in.here + 1);
		assert_non_null(trip_ring_check(ring, size));
		assert_int_equal(trip_ring_enqueue(&in, values, size + 1), -EPROTO);
		atomic_store(&ring->tail, out.here + size + 1);
		assert_int_equal(
			trip_ring_dequeue_to(&out, trip_ring_tail(&out), values, 130), -EPROTO);
		free(ring);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_operations),
		cmocka_unit_test(exhausted_slot_is_retired),
		cmocka_unit_test(last_generation_is_not_believed),
		cmocka_unit_test(retired_slot_has_operands),
		cmocka_unit_test(retired_slots_make_no_item),
		cmocka_unit_test(hostile_client),
		cmocka_unit_test(ring_against_model),
	};

	rnd.state = trip_test_seed("channel");
	return cmocka_run_group_tests(tests, NULL, NULL);
}

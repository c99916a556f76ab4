/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables of keys beside a model that remembers every key: what holds of each key and of all
 * together, after any stream of packets; on a clock of the test.
 */
#include <string.h>

#include "keyed_model.h"

/* ---- streams ----------------------------------------------------------------------------------
 */

/* As key and bytes of the next packet. */
struct stream {
	const char *name;
	uint32_t (*key)(struct model *model);
	uint32_t (*bytes)(struct model *model);
};

static uint32_t
any_key(struct model *model)
{
	return (uint32_t)trip_random_below(&model->random, model->n_keys);
}

/* Half of them have one of as many keys as are a 1024th of all, a quarter one of four times as
 * many, and so on. */
static uint32_t
skewed_key(struct model *model)
{
	uint32_t keys = model->n_keys / 1024 + 1;

	while (keys < model->n_keys && trip_random_below(&model->random, 2) != 0)
		keys *= 4;
	return (uint32_t)trip_random_below(
		&model->random, keys < model->n_keys ? keys : model->n_keys);
}

/* One after the other, as long as there are new ones. */
static uint32_t
new_key(struct model *model)
{
	return model->next++ % model->n_keys;
}

/* Few have most of it; the others come and go. */
static uint32_t
heavy_and_new_key(struct model *model)
{
	return trip_random_below(&model->random, 2) != 0
		       ? (uint32_t)trip_random_below(&model->random, MAX / 2)
		       : new_key(model);
}

/* As many have the same as there is room for, and then others come. */
static uint32_t
filled_key(struct model *model)
{
	uint32_t next = model->next++;

	return next < 64 * MAX ? next % MAX : (MAX + next % (model->n_keys - MAX));
}

/* The one that would go next, mostly: it is saved by that. */
static uint32_t
saved_key(struct model *model)
{
	struct trip_keyed_entry reading;
	uint32_t hand = model->table->hand;

	if (trip_random_below(&model->random, 4) == 0)
		return new_key(model);
	for (uint32_t i = 0; i < 64; i++) {
		uint32_t entry = (hand + i) % trip_keyed_entries(model->table);

		if (trip_keyed_read(model->table, entry, &reading) &&
			keyed_rank(model->table, entry) <= keyed_load(&model->table->floor))
			return model_key(model, reading.key);
	}
	return any_key(model);
}

static uint32_t
equal_bytes(struct model *model)
{
	(void)model;
	return 60;
}

static uint32_t
frame_bytes(struct model *model)
{
	return 60 + (uint32_t)trip_random_below(&model->random, 1455);
}

/* Of any magnitude. */
static uint32_t
wild_bytes(struct model *model)
{
	return 1 +
	       ((uint32_t)trip_random_u64(&model->random) >> trip_random_below(&model->random, 32));
}

static const struct stream streams[] = {
	{"any, equal", any_key, equal_bytes},
	{"any, frames", any_key, frame_bytes},
	{"skewed, frames", skewed_key, frame_bytes},
	{"skewed, wild", skewed_key, wild_bytes},
	{"new, equal", new_key, equal_bytes},
	{"new, frames", new_key, frame_bytes},
	{"heavy and new, frames", heavy_and_new_key, frame_bytes},
	{"heavy and new, wild", heavy_and_new_key, wild_bytes},
	{"filled, equal", filled_key, equal_bytes},
	{"filled, frames", filled_key, frame_bytes},
	{"saved, equal", saved_key, equal_bytes},
	{"saved, frames", saved_key, frame_bytes},
};

static void
send(struct model *model, const struct stream *stream, uint32_t chunks)
{
	for (uint32_t i = 0; i < chunks; i++) {
		uint32_t count = 1 + (uint32_t)trip_random_below(&model->random, TRIP_KEYED_CHUNK);
		uint32_t keys[TRIP_KEYED_CHUNK], bytes[TRIP_KEYED_CHUNK];

		for (uint32_t k = 0; k < count; k++) {
			keys[k] = stream->key(model);
			bytes[k] = stream->bytes(model);
		}
		model_count(model, keys, bytes, count);
	}
}

/* EACH-01 to 03, and the bound, by each rank, key length and choice of keys. */
static void
run_stream(const struct stream *stream, uint64_t seed, bool colliding)
{
	struct trip_random random = {seed};
	struct trip_keyed_attr attr = {.max = MAX,
		.words = 1 + (uint32_t)trip_random_below(&random, TRIP_KEYED_WORDS_MAX),
		.by_bytes = trip_random_below(&random, 2) != 0,
		.idle = FOREVER,
		.limits = {{1 + trip_random_below(&random, 500),
			1 + trip_random_below(&random, 100000)}},
		.secret = {trip_random_u64(&random), trip_random_u64(&random)}};
	struct model model;

	model_open(&model, &attr, trip_random_u64(&random), colliding ? 4 * MAX : 16 * MAX);
	model_draw_keys(&model, colliding);
	for (unsigned int i = 0; i < 8; i++) {
		send(&model, stream, 500);
		model_check(&model);
		assert_int_equal(model.totals.refused_packets, 0);
	}
	/* There were more keys than room. */
	assert_true(model.totals.evicted > 0);
	model_close(&model);
}

static void
keyed_bounds_hold_of_each_key(void **state)
{
	struct trip_random random = {trip_test_seed("keyed_bounds_hold_of_each_key")};
	uint64_t rounds = trip_test_rounds(4);

	for (uint64_t i = 0; i < rounds; i++)
		for (unsigned int k = 0; k < sizeof(streams) / sizeof(streams[0]); k++)
			run_stream(&streams[k], trip_random_u64(&random), false);
}

/* Whoever knows the secret can make it slow, and nothing else. */
static void
keyed_bounds_hold_of_keys_that_collide(void **state)
{
	struct trip_random random = {trip_test_seed("keyed_bounds_hold_of_keys_that_collide")};

	for (unsigned int k = 0; k < sizeof(streams) / sizeof(streams[0]); k++)
		run_stream(&streams[k], trip_random_u64(&random), true);
}

/* A killed writer's follower finds the table elsewhere, and counts on. */
static void
keyed_recovers_what_was_counted(void **state)
{
	struct trip_keyed_attr attr = {.max = MAX, .words = 2, .idle = FOREVER, .secret = {7, 8}};
	struct model model;
	size_t size = trip_keyed_size(&attr);
	void *other;

	model_open(&model, &attr, trip_test_seed("keyed_recovers"), 16 * MAX);
	model_draw_keys(&model, false);
	for (unsigned int i = 0; i < 10; i++) {
		send(&model, &streams[i % 8], 200);
		other = aligned_alloc(64, size);
		assert_non_null(other);
		memcpy(other, model.table, size);
		free(model.table);
		model.table = other;
		trip_keyed_recover(model.table, model.now);
		model_check(&model);
	}
	model_close(&model);
}

/* ---- beside the writer -------------------------------------------------------------------------
 */

static void
seek_all(const struct model *model)
{
	struct trip_keyed_entry sought, reading;

	for (uint32_t i = 0; i < model->n_keys; i++) {
		const uint64_t *key = &model->words[(size_t)i * model->attr.words];
		uint32_t entry = trip_keyed_find(model->table, key);
		bool there = trip_keyed_seek(model->table, key, &sought);

		assert_int_equal(there, entry != TRIP_KEYED_NONE);
		if (!there)
			continue;
		assert_true(trip_keyed_read(model->table, entry, &reading));
		assert_int_equal(sought.packets, reading.packets);
		assert_int_equal(sought.bytes, reading.bytes);
		assert_int_equal(sought.error, reading.error);
		assert_memory_equal(sought.key, key, model->attr.words * sizeof(model->words[0]));
	}
}

/* By the lines, which may be long where keys collide; and where these are being made, by all. */
static void
keyed_is_searched_by_others(void **state)
{
	struct trip_random random = {trip_test_seed("keyed_is_searched_by_others")};

	for (unsigned int k = 0; k < 4; k++) {
		struct trip_keyed_attr attr = {
			.max = MAX, .words = 1 + k, .idle = FOREVER, .secret = {k, 8}};
		struct model model;

		model_open(&model, &attr, trip_random_u64(&random), 8 * MAX);
		model_draw_keys(&model, k % 2 != 0);
		for (unsigned int i = 0; i < 4; i++) {
			send(&model, &streams[i], 300);
			seek_all(&model);
		}
		/* As one leaves it that was killed when it had cleared them. */
		atomic_fetch_add(&model.table->rebuilt, 1);
		memset(keyed_lines(model.table), 0, model.table->lines * sizeof(struct keyed_line));
		for (uint32_t i = 0; i < model.n_keys; i++) {
			struct trip_keyed_entry sought;
			uint32_t entry = 0, alive = 0;

			if (!trip_keyed_seek(
				    model.table, &model.words[(size_t)i * attr.words], &sought))
				continue;
			for (; entry < trip_keyed_entries(model.table); entry++)
				alive += trip_keyed_read(model.table, entry, &sought) &&
					 memcmp(sought.key, &model.words[(size_t)i * attr.words],
						 attr.words * 8) == 0;
			assert_int_equal(alive, 1);
		}
		trip_keyed_recover(model.table, model.now);
		assert_int_equal(atomic_load(&model.table->rebuilt) % 2, 0);
		seek_all(&model);
		model_check(&model);
		model_close(&model);
	}
}

/* Anything that a writer may have left in what it writes: the next one stays within the table, and
 * counts each packet. */
static void
keyed_takes_over_garbage(void **state)
{
	struct trip_random random = {trip_test_seed("keyed_takes_over_garbage")};
	struct trip_keyed_attr attr = {.max = MAX, .words = 2, .idle = 320, .secret = {3, 4}};
	const size_t from = offsetof(struct trip_keyed, now), size = trip_keyed_size(&attr);
	uint64_t rounds = trip_test_rounds(100);
	uint8_t *memory = aligned_alloc(64, size / 64 * 64 + 128);
	struct trip_keyed *table;

	assert_non_null(memory);
	for (uint64_t round = 0; round < rounds; round++) {
		struct trip_keyed_totals before, totals;
		uint64_t keys[2 * TRIP_KEYED_CHUNK], now = 1000 + round;
		uint32_t bytes[TRIP_KEYED_CHUNK] = {0};
		const struct trip_keyed_chunk chunk = {
			.keys = keys, .bytes = bytes, .count = TRIP_KEYED_CHUNK};

		table = trip_keyed_init(memory, &attr);
		memset(memory + size, 0xa5, 64);
		for (size_t i = from; i < size; i++)
			if (round % 3 == 0 || trip_random_below(&random, 64) == 0)
				memory[i] = (uint8_t)trip_random_u64(&random);
		trip_keyed_recover(table, now);
		trip_keyed_totals(table, &before);
		for (unsigned int k = 0; k < 40; k++) {
			for (unsigned int i = 0; i < 2 * TRIP_KEYED_CHUNK; i++)
				keys[i] = trip_random_below(&random, 40);
			(void)trip_keyed_count(table, &chunk, now += 10);
		}
		trip_keyed_totals(table, &totals);
		assert_int_equal(totals.packets - before.packets, 40 * TRIP_KEYED_CHUNK);
		for (size_t i = size; i < size + 64; i++)
			assert_int_equal(memory[i], 0xa5);
	}
	free(memory);
}

/* ---- marks ------------------------------------------------------------------------------------
 */

static void
mark_all(struct model *model, uint8_t mark)
{
	struct trip_keyed_entry reading;

	for (uint32_t i = 0; i < trip_keyed_entries(model->table); i++)
		if (trip_keyed_read(model->table, i, &reading)) {
			trip_keyed_mark(model->table, i, mark);
			assert_true(trip_keyed_read(model->table, i, &reading));
			assert_int_equal(reading.mark, mark);
		}
}

/* EACH-06: what is marked stays; where all is, new keys are refused and told of; then no more. */
static void
keyed_keeps_what_is_marked(void **state)
{
	struct trip_keyed_attr attr = {
		.max = MAX, .words = 2, .idle = 1000, .limits = {{1, 0}}, .secret = {1, 2}};
	const struct stream *flood = &streams[4];
	struct model model;
	uint32_t entry;

	model_open(&model, &attr, trip_test_seed("keyed_keeps_what_is_marked"), 64 * MAX);
	model_draw_keys(&model, false);
	model_count(&model, (const uint32_t[]){0}, (const uint32_t[]){60}, 1);
	assert_int_equal(model.over, 1);
	entry = trip_keyed_find(model.table, &model.words[0]);
	trip_keyed_mark(model.table, entry, 9);
	trip_keyed_tell(model.table, entry, 1, 0);
	model_count(&model, (const uint32_t[]){0}, (const uint32_t[]){60}, 1);
	assert_int_equal(model.over, 0);
	send(&model, flood, 1000);
	/* A hundred thousand times as long as it may be idle: more than its memory of that. */
	for (unsigned int i = 0; i < 1000; i++)
		trip_keyed_sweep(model.table, model.now += 100000);
	assert_int_equal(trip_keyed_find(model.table, &model.words[0]), entry);
	trip_keyed_totals(model.table, &model.totals);
	assert_int_equal(model.totals.keys, 1);
	assert_int_equal(model.totals.refused_packets, 0);
	while (model.totals.refused_packets == 0) {
		send(&model, flood, 1);
		mark_all(&model, 1);
		trip_keyed_totals(model.table, &model.totals);
	}
	send(&model, flood, 100);
	trip_keyed_totals(model.table, &model.totals);
	assert_true(model.totals.refused_packets > 100);
	assert_null(trip_keyed_check(model.table));
	mark_all(&model, 0);
	for (unsigned int i = 0; i < 1000; i++)
		trip_keyed_sweep(model.table, model.now += 100);
	trip_keyed_totals(model.table, &model.totals);
	assert_int_equal(model.totals.keys, 0);
	assert_int_equal(model.totals.packets, model.totals.remainder_packets);
	assert_int_equal(model.totals.bytes, model.totals.remainder_bytes);
	model_close(&model);
}

/* The bound with what was refused, and its floor. */
static void
keyed_bounds_hold_beside_what_is_refused(void **state)
{
	struct trip_keyed_attr attr = {
		.max = MAX, .words = 2, .by_bytes = true, .idle = FOREVER, .secret = {1, 2}};
	struct model model;

	model_open(&model, &attr, trip_test_seed("keyed_bounds_refused"), 16 * MAX);
	model_draw_keys(&model, false);
	for (unsigned int i = 0; i < 40; i++) {
		send(&model, &streams[6], 100);
		/* In turn: some are, all are, none is. */
		mark_all(&model, (uint8_t)(i % 8 < 6));
		model_check(&model);
	}
	assert_true(model.totals.refused_packets > 0 && model.totals.evicted > 0);
	model_close(&model);
}

/* ---- time -------------------------------------------------------------------------------------
 */

/* EACH-05, with calls that come often, and seldom. */
static void
idle_keys(struct trip_random *random, uint64_t idle, uint64_t step)
{
	struct trip_keyed_attr attr = {.max = MAX, .words = 2, .idle = idle, .secret = {3, 4}};
	/* Where calls come seldom, the hand is that much late. */
	uint64_t late = 3 * idle / 320 + 2 * step * (2 * step <= idle / 32000 ? 1 : 102);
	struct model model;

	model_open(&model, &attr, trip_random_u64(random), MAX / 2);
	model_draw_keys(&model, false);
	for (uint64_t i = 0; i < 8 * idle / step; i++) {
		uint32_t key = any_key(&model);

		model.now += trip_random_below(random, 2 * step);
		/* Each key about once in that time. */
		if (trip_random_below(random, idle) < model.n_keys * step)
			model_count(&model, &key, (const uint32_t[]){60}, 1);
		else
			trip_keyed_sweep(model.table, model.now);
		key = any_key(&model);
		if (trip_keyed_find(model.table, &model.words[key * 2]) == TRIP_KEYED_NONE)
			assert_true(model.keys[key].packets == 0 ||
				    model.now - model.keys[key].seen >= idle);
		else
			assert_true(model.now - model.keys[key].seen <= idle + late);
	}
	trip_keyed_totals(model.table, &model.totals);
	assert_true(model.totals.expired > 100);
	assert_null(trip_keyed_check(model.table));
	model_close(&model);
}

static void
keyed_idle_keys_go_in_time(void **state)
{
	struct trip_random random = {trip_test_seed("keyed_idle_keys_go_in_time")};

	idle_keys(&random, 3200000, 50);
	idle_keys(&random, 1000000, 1000);
	idle_keys(&random, TRIP_KEYED_IDLE_MIN, 1);
	idle_keys(&random, 70007, 100);
}

static void
send_each(struct model *model, uint32_t from, uint32_t to, uint32_t packets)
{
	const uint32_t bytes = 60;

	for (uint32_t i = 0; i < packets; i++)
		for (uint32_t key = from; key < to; key++)
			model_count(model, &key, &bytes, 1);
}

/* Those that have gone since the hand came by are not among the entries for which the floor rises:
 * the hand is nearly round when all that it has counted go, and then less is counted to others. */
static void
keyed_floor_is_of_keys_that_are_there(void **state)
{
	struct trip_keyed_attr attr = {.max = 2000, .words = 2, .idle = 1000000, .secret = {3, 4}};
	uint32_t capacity, full;
	struct model model;

	model_open(&model, &attr, trip_test_seed("keyed_floor_is_of_keys_that_are_there"), 9000);
	model_draw_keys(&model, false);
	capacity = trip_keyed_entries(model.table);
	full = capacity - model.table->free_least;
	send_each(&model, 0, full, 10);
	assert_int_equal(model.table->hand, 0);
	send_each(&model, full, full + 1, capacity / TRIP_KEYED_LOOKS);
	assert_true(model.table->hand > attr.max);
	for (model.now += attr.idle; model.table->free < capacity; model.now += 4000)
		trip_keyed_sweep(model.table, model.now);
	send_each(&model, full, 2 * full + 1, 1);
	send_each(&model, full, full + 1, capacity / TRIP_KEYED_LOOKS);
	assert_int_equal(model.table->lost, 0);
	assert_null(trip_keyed_check(model.table));
	model_close(&model);
}

/* After any pause nothing is left, and no bucket holds what was in it before. */
static void
keyed_pauses_end_what_was(void **state)
{
	struct trip_random random = {trip_test_seed("keyed_pauses_end_what_was")};
	struct trip_keyed_attr attr = {.max = MAX,
		.words = 2,
		.idle = 60000000,
		.rate = TRIP_KEYED_RATE_MAX,
		.burst = 1,
		.secret = {3, 4}};
	struct model model;

	model_open(&model, &attr, trip_random_u64(&random), MAX);
	model_draw_keys(&model, false);
	for (unsigned int i = 0; i < 2000; i++) {
		const uint32_t keys[] = {any_key(&model), any_key(&model)};

		/* At random up to three hundred years. */
		model.now += attr.idle * 2 +
			     (trip_random_u64(&random) >> (11 + trip_random_below(&random, 40)));
		if (model.now > UINT64_MAX / 2)
			break;
		model_count(&model, keys, (const uint32_t[]){60, 60}, 2);
		assert_int_equal(model.over, keys[0] == keys[1] ? 2 : 0);
	}
	model_close(&model);
}

/* ---- rates ------------------------------------------------------------------------------------
 */

#define RATE_PACKETS 400u

/* Over it: in some time until now there was more than the rate and the burst, by all of them. */
static bool
is_over(const uint64_t *times, const uint64_t *units, uint32_t last,
	const struct trip_keyed_attr *attr)
{
	const uint64_t us = UINT64_C(1000000) * (attr->seconds != 0 ? attr->seconds : 1);
	trip_u128 sum = 0;

	for (uint32_t i = last + 1; i-- > 0;) {
		sum += units[i];
		if (sum * us > (trip_u128)attr->rate * (times[last] - times[i]) +
				       (trip_u128)attr->burst * us)
			return true;
	}
	return false;
}

/* Whatever time it takes a key to be idle: a rate is that of each interval, as short as it may be.
 */
static void
keyed_rates_are_of_any_interval(void **state)
{
	static const struct {
		uint64_t rate, idle, over; /* a second; microseconds */
	} cases[] = {
		{UINT64_C(12500000000), UINT64_C(86400000000), 500},
		{UINT64_C(1250000000), UINT64_C(86400000000), 150},
		{UINT64_C(125000000), UINT64_C(2592000000000), 100},
		{UINT64_C(1250000000), UINT64_C(2592000000000), 9999},
		{TRIP_KEYED_RATE_MAX, UINT64_C(604800000000), 100},
		{UINT64_C(4000000000), TRIP_KEYED_IDLE_MAX, 333},
	};

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct trip_keyed_attr attr = {.max = MAX,
			.words = 1,
			.idle = cases[i].idle,
			.rate_of_bytes = true,
			.rate = cases[i].rate,
			.burst = cases[i].rate * cases[i].over / 1000000,
			.secret = {5, 6}};
		struct model model;
		uint64_t begin, bytes, sum = 0;

		model_open(&model, &attr, i, 1);
		model_draw_keys(&model, false);
		begin = model.now;
		/* All of it, each microsecond; then a 2000th more. */
		for (uint64_t us = 1; us <= 4 * cases[i].over; us++) {
			bytes = (uint64_t)((trip_u128)us * attr.rate / 1000000) - sum;
			sum += bytes;
			model.now = begin + us;
			model_count(&model, (const uint32_t[]){0}, &(uint32_t){(uint32_t)bytes}, 1);
			assert_int_equal(model.over, 0);
		}
		for (uint64_t us = 0; us < 2100 * cases[i].over && model.over == 0; us++) {
			model.now++;
			bytes = attr.rate / 1000000 + attr.rate / 2000000000 + 1;
			model_count(&model, (const uint32_t[]){0}, &(uint32_t){(uint32_t)bytes}, 1);
		}
		assert_int_not_equal(model.over, 0);
		model_close(&model);
	}
}

static uint32_t
one_rate(struct trip_random *random)
{
	static uint64_t times[RATE_PACKETS], units[RATE_PACKETS];
	struct trip_keyed_attr attr = {.max = MAX,
		.words = 1,
		.idle = 4000000,
		.rate_of_bytes = trip_random_below(random, 2) != 0,
		.rate = 1 + (trip_random_u64(random) >> (32 + trip_random_below(random, 30))),
		.burst = trip_random_u64(random) >> (40 + trip_random_below(random, 24)),
		.secret = {5, 6}};
	uint32_t mean = attr.rate_of_bytes ? 800 : 1, overs = 0;
	uint64_t pause = 2 * mean * UINT64_C(1000000) / attr.rate;
	struct model model;

	/* Or so much in some time, which is no whole number a second. */
	if (trip_random_below(random, 2) != 0) {
		attr.seconds = attr.rate_of_bytes ? 60 : 3600;
		attr.rate = 1 + (attr.rate & 0xffff);
		attr.idle = FOREVER;
		pause = 2 * mean * UINT64_C(1000000) * attr.seconds / attr.rate;
	}
	model_open(&model, &attr, trip_random_u64(random), 1);
	model_draw_keys(&model, false);
	for (uint32_t i = 0; i < RATE_PACKETS; i++) {
		uint32_t bytes = frame_bytes(&model);

		/* About the rate, with pauses; as long as the key is not idle meanwhile. */
		model.now += trip_random_below(random, 2 + pause) % (attr.idle / 4 * 3);
		times[i] = model.now;
		units[i] = attr.rate_of_bytes ? bytes : 1;
		model_count(&model, (const uint32_t[]){0}, &bytes, 1);
		assert_int_equal(model.over, is_over(times, units, i, &attr));
		overs += model.over;
	}
	model_close(&model);
	return overs;
}

static void
keyed_rates_are_exact(void **state)
{
	struct trip_random random = {trip_test_seed("keyed_rates_are_exact")};
	uint64_t rounds = trip_test_rounds(300), packets = 0, overs = 0;

	for (uint64_t i = 0; i < rounds; i++, packets += RATE_PACKETS)
		overs += one_rate(&random);
	/* Neither never nor always. */
	trip_assert_range(overs, packets / 100, packets - packets / 10);
}

/* ---- the rest ---------------------------------------------------------------------------------
 */

/* Beside OpenSSL's: key 00 01 ... 0f, message 00 01 02 ... */
static void
keyed_secret_is_spread_by_siphash(void **state)
{
	static const struct {
		uint32_t words;
		uint8_t hash[8];
	} known[] = {
		{0, {0xdc, 0xc4, 0x0f, 0x05, 0x58, 0x01, 0xac, 0xab}},
		{1, {0x8e, 0x9a, 0x29, 0x8d, 0x11, 0x95, 0x90, 0x36}},
		{2, {0x66, 0x8b, 0x90, 0x7d, 0x1a, 0xdd, 0x4f, 0xcc}},
		{5, {0x31, 0x15, 0xe4, 0x99, 0x32, 0x36, 0xd2, 0xc1}},
	};
	uint8_t bytes[40];
	uint64_t secret[2], key[5], hash;

	for (uint8_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = i;
	memcpy(secret, bytes, sizeof(secret));
	memcpy(key, bytes, sizeof(key));
	for (unsigned int i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		hash = keyed_sip(secret, key, known[i].words);
		for (unsigned int k = 0; k < 8; k++)
			assert_int_equal((uint8_t)(hash >> 8 * k), known[i].hash[k]);
	}
}

static void
keyed_memory_is_as_promised(void **state)
{
	for (uint32_t words = 1; words <= TRIP_KEYED_WORDS_MAX; words++)
		for (uint32_t max = 7168; max <= TRIP_KEYED_MAX; max += max / 3) {
			struct trip_keyed_attr attr = {.max = max, .words = words, .idle = FOREVER};

			assert_true(trip_keyed_size(&attr) <=
				    TRIP_KEYED_ITSELF + (words <= 2 ? 63 : 91) * (size_t)max);
		}
}

static void
keyed_refuses_what_is_out_of_range(void **state)
{
	const struct trip_keyed_attr good = {.max = 1, .words = 1, .idle = TRIP_KEYED_IDLE_MIN};
	struct trip_keyed_attr bad[9];

	assert_int_not_equal(trip_keyed_size(&good), 0);
	for (unsigned int i = 0; i < 9; i++)
		bad[i] = good;
	bad[0].max = 0;
	bad[1].max = TRIP_KEYED_MAX + 1;
	bad[2].words = 0;
	bad[3].words = TRIP_KEYED_WORDS_MAX + 1;
	bad[4].idle = TRIP_KEYED_IDLE_MIN - 1;
	bad[5].idle = TRIP_KEYED_IDLE_MAX + 1;
	bad[6].rate = TRIP_KEYED_RATE_MAX + 1;
	bad[7].burst = TRIP_KEYED_BURST_MAX + 1;
	bad[8].rate = TRIP_KEYED_RATE_MAX;
	bad[8].idle = TRIP_KEYED_IDLE_MAX;
	for (unsigned int i = 0; i < 9; i++)
		assert_int_equal(trip_keyed_size(&bad[i]), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keyed_secret_is_spread_by_siphash),
		cmocka_unit_test(keyed_memory_is_as_promised),
		cmocka_unit_test(keyed_refuses_what_is_out_of_range),
		cmocka_unit_test(keyed_bounds_hold_of_each_key),
		cmocka_unit_test(keyed_bounds_hold_of_keys_that_collide),
		cmocka_unit_test(keyed_recovers_what_was_counted),
		cmocka_unit_test(keyed_is_searched_by_others),
		cmocka_unit_test(keyed_takes_over_garbage),
		cmocka_unit_test(keyed_keeps_what_is_marked),
		cmocka_unit_test(keyed_bounds_hold_beside_what_is_refused),
		cmocka_unit_test(keyed_idle_keys_go_in_time),
		cmocka_unit_test(keyed_floor_is_of_keys_that_are_there),
		cmocka_unit_test(keyed_pauses_end_what_was),
		cmocka_unit_test(keyed_rates_are_exact),
		cmocka_unit_test(keyed_rates_are_of_any_interval),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* A table of keys beside a model that knows of all keys what each had; keys are numbers of it. */
#ifndef KEYED_MODEL_H
#define KEYED_MODEL_H

#include <string.h>

#include "keyed_priv.h"
#include "trip_test.h"

#define MAX 300u
/* Longer than any test goes on, on its clock. */
#define FOREVER (UINT64_C(3600) * 1000000)

struct model_key {
	uint64_t packets, bytes, seen;
};

struct model {
	struct trip_random random;
	struct trip_keyed_attr attr;
	struct trip_keyed *table;
	struct trip_keyed_totals totals; /* of the last check */
	struct model_key *keys;
	uint64_t *words; /* [n_keys][words] */
	uint32_t n_keys;
	uint32_t next; /* a stream's */
	uint32_t over;
	uint64_t now, packets, bytes;
};

static inline void
model_open(struct model *model, const struct trip_keyed_attr *attr, uint64_t seed, uint32_t n_keys)
{
	void *memory = aligned_alloc(64, trip_keyed_size(attr) / 64 * 64 + 64);

	assert_non_null(memory);
	memset(memory, 0xa5, trip_keyed_size(attr));
	*model = (struct model){.random = {seed}, .attr = *attr, .n_keys = n_keys, .now = 1};
	model->table = trip_keyed_init(memory, attr);
	model->keys = calloc(n_keys, sizeof(*model->keys));
	model->words = calloc(n_keys, attr->words * sizeof(*model->words));
	assert_non_null(model->keys);
	assert_non_null(model->words);
}

static inline void
model_close(struct model *model)
{
	free(model->table);
	free(model->keys);
	free(model->words);
}

/* The first word says which it is; colliding: so that all have one of two lines for a home. */
static inline void
model_draw_keys(struct model *model, bool colliding)
{
	uint32_t words = model->attr.words;

	for (uint32_t i = 0; i < model->n_keys; i++) {
		uint64_t *key = &model->words[(size_t)i * words];

		do
			for (uint32_t k = 0; k < words; k++)
				key[k] = k == 0 ? trip_random_u64(&model->random) << 32 | i
						: trip_random_u64(&model->random);
		while (colliding && keyed_home(model->table->lines,
					    keyed_hash(model->table->secret, key, words)) > 1);
	}
}

static inline uint32_t
model_key(const struct model *model, const uint64_t *words)
{
	uint32_t key = (uint32_t)words[0];

	assert_true(key < model->n_keys);
	assert_memory_equal(words, &model->words[(size_t)key * model->attr.words],
		model->attr.words * sizeof(*words));
	return key;
}

/* What a packet's key being over a limit of all of its packets means, where it has them all. */
static inline void
model_check_over(const struct model *model, const struct model_key *key, bool over)
{
	/* EACH-04: never before. */
	if (over && model->attr.rate == 0)
		assert_true((model->attr.limits[0].packets != 0 &&
				    key->packets >= model->attr.limits[0].packets) ||
			    (model->attr.limits[0].bytes != 0 &&
				    key->bytes >= model->attr.limits[0].bytes));
}

/* Where the floor rises, as many as there is room for have reached it. */
static inline void
model_check_floor(const struct model *model, uint64_t before)
{
	uint64_t floor = keyed_load(&model->table->floor);
	uint32_t above = 0;

	if (floor == before || keyed_load(&model->table->refused_packets) != 0)
		return;
	for (uint32_t i = 0; i < trip_keyed_entries(model->table); i++) {
		const _Atomic uint64_t *entry = keyed_entry(model->table, i);

		above += keyed_lives(keyed_load(&entry[KEYED_PACKETS])) &&
			 keyed_rank(model->table, i) >= floor;
	}
	assert_true(above >= model->attr.max);
}

static inline void
model_count(struct model *model, const uint32_t *keys, const uint32_t *bytes, uint32_t count)
{
	uint64_t words[TRIP_KEYED_CHUNK * TRIP_KEYED_WORDS_MAX];
	const struct trip_keyed_chunk chunk = {.keys = words, .bytes = bytes, .count = count};
	uint64_t floor = keyed_load(&model->table->floor);
	uint32_t length = model->attr.words;

	for (uint32_t i = 0; i < count; i++) {
		struct model_key *key = &model->keys[keys[i]];

		memcpy(&words[i * length], &model->words[(size_t)keys[i] * length],
			length * sizeof(words[0]));
		key->packets++;
		key->bytes += bytes[i];
		key->seen = model->now;
		model->packets++;
		model->bytes += bytes[i];
	}
	model->over = trip_keyed_count(model->table, &chunk, model->now);
	assert_int_equal((uint64_t)model->over >> count, 0);
	model_check_floor(model, floor);
	for (uint32_t i = 0; i < count; i++)
		model_check_over(model, &model->keys[keys[i]], model->over >> i & 1);
}

static inline void
model_check_key(const struct model *model, uint32_t at)
{
	const struct model_key *key = &model->keys[at];
	uint64_t truth = model->attr.by_bytes ? key->bytes : key->packets, counted;
	uint32_t entry =
		trip_keyed_find(model->table, &model->words[(size_t)at * model->attr.words]);
	struct trip_keyed_entry reading;

	if (entry == TRIP_KEYED_NONE) {
		assert_true(truth <= model->totals.floor);
		return;
	}
	assert_true(trip_keyed_read(model->table, entry, &reading));
	assert_int_equal(model_key(model, reading.key), at);
	counted = model->attr.by_bytes ? reading.bytes : reading.packets;
	assert_true(reading.packets <= key->packets && reading.bytes <= key->bytes);
	assert_true(counted + reading.error >= truth);
}

/* Of a table from which no key has gone as it was idle. */
static inline void
model_check(struct model *model)
{
	const char *broken = trip_keyed_check(model->table);
	uint64_t seen, refused;

	if (broken != NULL)
		fail_msg("not so: %s", broken);
	trip_keyed_totals(model->table, &model->totals);
	assert_int_equal(model->totals.packets, model->packets);
	assert_int_equal(model->totals.bytes, model->bytes);
	assert_true(model->totals.keys <= trip_keyed_entries(model->table));
	seen = model->attr.by_bytes ? model->bytes : model->packets;
	refused =
		model->attr.by_bytes ? model->totals.refused_bytes : model->totals.refused_packets;
	assert_true((model->totals.floor - refused) * model->attr.max <= seen);
	for (uint32_t i = 0; i < model->n_keys; i++)
		model_check_key(model, i);
}

#endif

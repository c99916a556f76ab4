/* SPDX-License-Identifier: BSD-3-Clause */
/* A table of keys against the end of its memory: behind it nothing may be read. */
#include <sys/mman.h>
#include <unistd.h>

#include "keyed_model.h"

#define LINE 5u
#define KEYS_OF_OTHERS 8u

/* At the end of pages behind which there is none. */
struct edge {
	uint8_t *pages;
	size_t size, length;
	struct trip_keyed *table;
};

static void
edge_open(struct edge *edge, const struct trip_keyed_attr *attr)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	edge->size = (trip_keyed_size(attr) + 63) / 64 * 64;
	edge->length = (edge->size + page - 1) / page * page;
	edge->pages = mmap(NULL, edge->length + page, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(edge->pages, MAP_FAILED);
	assert_int_equal(mprotect(edge->pages + edge->length, page, PROT_NONE), 0);
	edge->table = trip_keyed_init(edge->pages + edge->length - edge->size, attr);
}

static uint32_t
home_of(const struct trip_keyed *table, const uint64_t *key)
{
	return keyed_home(table->lines, keyed_hash(table->secret, key, table->words));
}

/* One that nobody has had, and whose home has fewer than so many keys. */
static void
draw_key(const struct trip_keyed *table, struct trip_random *random, const uint32_t *homes,
	bool in_line, uint64_t *key)
{
	do
		for (uint32_t i = 0; i < table->words; i++)
			key[i] = trip_random_u64(random);
	while (in_line ? home_of(table, key) != LINE
		       : home_of(table, key) == LINE ||
				 homes[home_of(table, key)] == KEYS_OF_OTHERS);
}

static void
count_one(struct trip_keyed *table, const uint64_t *key)
{
	const uint32_t bytes = 60;
	const struct trip_keyed_chunk chunk = {.keys = key, .bytes = &bytes, .count = 1};
	uint32_t entry;

	trip_keyed_count(table, &chunk, 1);
	entry = trip_keyed_find(table, key);
	/* So that it stays. */
	if (entry != TRIP_KEYED_NONE)
		trip_keyed_mark(table, entry, 1);
}

/* The last slot of a full line has the last entry; a key that is not there has that line for its
 * home. */
static void
keyed_reads_nothing_behind_its_end(void **state)
{
	struct trip_random random = {trip_test_seed("keyed_reads_nothing_behind_its_end")};

	for (uint32_t words = 1; words <= TRIP_KEYED_WORDS_MAX; words++) {
		struct trip_keyed_attr attr = {.max = 1,
			.words = words,
			.idle = FOREVER,
			.rate = words % 2,
			.secret = {trip_random_u64(&random), 1}};
		uint64_t key[TRIP_KEYED_WORDS_MAX];
		struct trip_keyed_totals totals;
		uint32_t *homes;
		struct edge edge;

		edge_open(&edge, &attr);
		homes = calloc(edge.table->lines, sizeof(*homes));
		assert_non_null(homes);
		for (uint32_t i = 0; i < edge.table->capacity; i++) {
			bool last = i + KEYED_SLOTS >= edge.table->capacity;

			draw_key(edge.table, &random, homes, last, key);
			homes[home_of(edge.table, key)]++;
			count_one(edge.table, key);
		}
		assert_int_equal(edge.table->free, 0);
		assert_int_equal(
			keyed_lines(edge.table)[LINE].slots[KEYED_SLOTS - 1] & edge.table->id_mask,
			edge.table->capacity);
		draw_key(edge.table, &random, homes, true, key);
		count_one(edge.table, key);
		trip_keyed_totals(edge.table, &totals);
		assert_int_equal(totals.refused_packets, 1);
		assert_null(trip_keyed_check(edge.table));
		free(homes);
		munmap(edge.pages, edge.length + (size_t)sysconf(_SC_PAGESIZE));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keyed_reads_nothing_behind_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

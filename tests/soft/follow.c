/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A table that follows a rulebook becomes what that says, whatever has changed and however long it
 * did not look; and what it takes in while the writer writes is one rule, never parts of two.
 */
#include <pthread.h>
#include <unistd.h>

#include <sys/mman.h>

#include "follow.h"
#include "packet_draw.h"
#include "trip_test.h"
#include "table_check.h"

#define RULES 200

struct world {
	struct trip_random random;
	struct trip_rulebook book;
	struct trip_follow follow;
	void *memory;
	uint64_t sequence;
	/* What the book has; sequence 0: nothing. */
	struct trip_table_rule rules[RULES];
	struct trip_pattern patterns[RULES];
};

static uint32_t
random_below(void *arg, uint32_t n)
{
	return (uint32_t)trip_random_below(arg, n);
}

static void
open_world(struct world *world)
{
	int fd = trip_rulebook_create(trip_rulebook_size(RULES), &world->memory);

	assert_true(fd >= 0);
	/* Nobody else writes it. */
	assert_ptr_equal(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
	close(fd);
	trip_rulebook_view(&world->book, world->memory, RULES);
	assert_int_equal(trip_follow_open(&world->follow, world->memory, RULES), 0);
}

static void
close_world(struct world *world)
{
	trip_follow_close(&world->follow);
	munmap(world->memory, trip_rulebook_size(RULES));
}

static void
change_one(struct world *world)
{
	struct draw draw = {random_below, &world->random};
	uint32_t index = random_below(&world->random, RULES);
	struct trip_table_rule *rule = &world->rules[index];
	struct draw_pattern drawn;
	struct draw_frame frame;

	if (rule->sequence != 0) {
		(void)trip_rulebook_take(&world->book, index);
		rule->sequence = 0;
		return;
	}
	*rule = (struct trip_table_rule){
		.rule = index,
		.group = random_below(&world->random, 3),
		.priority = random_below(&world->random, UINT32_MAX),
		.sequence = ++world->sequence,
		.mark = random_below(&world->random, UINT32_MAX),
		.also = random_below(&world->random, 4) == 0,
	};
	draw_frame(&draw, &frame);
	draw_pattern(&draw, &frame, &drawn);
	assert_int_equal(trip_pattern_compile(drawn.items, &world->patterns[index], NULL), 0);
	assert_int_equal(trip_rulebook_put(&world->book, rule, &world->patterns[index]), 0);
}

static void
compare(struct world *world)
{
	for (uint32_t i = 0; i < RULES; i++) {
		const struct trip_table_rule *rule = &world->rules[i];
		struct trip_table_rule had;
		struct trip_pattern pattern;
		bool there = trip_table_get(world->follow.table, i, &had, &pattern);

		assert_int_equal(there, rule->sequence != 0);
		assert_int_equal(trip_rulebook_sequence(&world->book, i), rule->sequence);
		if (!there)
			continue;
		assert_int_equal(had.sequence, rule->sequence);
		assert_int_equal(had.group, rule->group);
		assert_int_equal(had.priority, rule->priority);
		assert_int_equal(had.mark, rule->mark);
		assert_int_equal(had.also, rule->also);
		assert_memory_equal(&pattern, &world->patterns[i], sizeof(pattern));
	}
	assert_int_equal(table_check(world->follow.table), 0);
}

static void
a_table_becomes_what_the_rulebook_says(void **state)
{
	static struct world world;
	uint64_t rounds = trip_test_rounds(60);

	world.random.state = trip_test_seed("a_table_becomes_what_the_rulebook_says");
	open_world(&world);
	for (uint64_t round = 0; round < rounds; round++) {
		/* Now and then more than the log holds. */
		uint64_t changes = trip_random_below(&world.random,
			round % 16 == 7 ? 3 * TRIP_RULEBOOK_LOG : 3 * TRIP_FOLLOW_CHANGES);
		uint64_t bursts = 0, began;

		while (changes-- > 0)
			change_one(&world);
		do {
			began = trip_follow_begin(&world.follow);
			assert_true(++bursts < 3 + 3 * TRIP_RULEBOOK_LOG / TRIP_FOLLOW_CHANGES);
		} while (trip_follow_is_behind(&world.follow, began));
		compare(&world);
	}
	close_world(&world);
}

/* All of a rule that follows from its sequence. */
static void
make_rule(uint32_t index, uint64_t sequence, struct trip_table_rule *rule,
	struct trip_pattern *pattern)
{
	*rule = (struct trip_table_rule){.rule = index,
		.group = (uint32_t)sequence,
		.priority = (uint32_t)sequence * 3,
		.sequence = sequence,
		.mark = (uint32_t)sequence * 5};
	memset(pattern, 0, sizeof(*pattern));
	/* Keys of one word, or of five; and a mask that is given up now and then. */
	for (unsigned int word = 1; word < (sequence % 2 == 0 ? 2 : 6); word++) {
		pattern->mask[word] = sequence % 64 == 0 ? UINT32_MAX : UINT64_MAX;
		pattern->value[word] = sequence * (word + 1) & pattern->mask[word];
	}
}

static void *
write_on(void *arg)
{
	struct world *world = arg;

	for (uint64_t changes = trip_test_rounds(20000); changes > 0; changes--) {
		uint32_t index = random_below(&world->random, RULES);
		struct trip_table_rule *rule = &world->rules[index];

		if (rule->sequence != 0) {
			(void)trip_rulebook_take(&world->book, index);
			rule->sequence = 0;
			continue;
		}
		make_rule(index, ++world->sequence, rule, &world->patterns[index]);
		assert_int_equal(trip_rulebook_put(&world->book, rule, &world->patterns[index]), 0);
	}
	return NULL;
}

static void
expect_whole(const struct trip_table *table, uint32_t index)
{
	struct trip_table_rule had, wanted;
	struct trip_pattern pattern, pattern_wanted;

	if (!trip_table_get(table, index, &had, &pattern))
		return;
	make_rule(index, had.sequence, &wanted, &pattern_wanted);
	assert_int_equal(had.group, wanted.group);
	assert_int_equal(had.priority, wanted.priority);
	assert_int_equal(had.mark, wanted.mark);
	assert_memory_equal(&pattern, &pattern_wanted, sizeof(pattern));
}

static void
a_rule_is_taken_in_whole(void **state)
{
	static struct world world;
	pthread_t writer;
	uint64_t began, bursts = 0;

	world.random.state = trip_test_seed("a_rule_is_taken_in_whole");
	open_world(&world);
	assert_int_equal(pthread_create(&writer, NULL, write_on, &world), 0);
	while (pthread_tryjoin_np(writer, NULL) != 0) {
		(void)trip_follow_begin(&world.follow);
		for (uint32_t i = 0; i < RULES; i++)
			expect_whole(world.follow.table, i);
		bursts++;
	}
	do
		began = trip_follow_begin(&world.follow);
	while (trip_follow_is_behind(&world.follow, began));
	compare(&world);
	printf("%llu bursts beside %llu rules\n", (unsigned long long)bursts,
		(unsigned long long)world.sequence);
	close_world(&world);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_becomes_what_the_rulebook_says),
		cmocka_unit_test(a_rule_is_taken_in_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* What trip_domain_stats_read() gives is what the homes have, all of it: a statistic that is left
 * out on the way would be 0 for ever. */
#include <trip_test.h>

#include <stddef.h>
#include <string.h>

#include <rte_common.h>

#include <trip.h>
#include <trip_client.h>

#include <trip_eal.h>

#include "domain/domain.h"
#include "domain/stats.h"
#include "home.h"

#define HOMES 3

enum made { SUM, MOST, NOT_OF_HOMES };

#define OF(statistic, how)                                                 \
	{                                                                  \
#statistic, offsetof(struct trip_domain_stats, statistic), \
			offsetof(struct trip_client_home, statistic), how  \
	}
#define NOT_OF(statistic)                                                                  \
	{                                                                                  \
#statistic, offsetof(struct trip_domain_stats, statistic), 0, NOT_OF_HOMES \
	}

/* Each statistic of a domain. */
static const struct statistic {
	const char *name;
	size_t of_domain, of_home;
	enum made how;
} statistics[] = {
	OF(accepted, SUM),
	OF(fired, SUM),
	OF(canceled, SUM),
	OF(pending, SUM),
	OF(refused, SUM),
	OF(iterations, SUM),
	OF(busy_iterations, SUM),
	OF(longest_iteration_ns, MOST),
	OF(wakes, SUM),
	OF(scrub_repairs, SUM),
	OF(events_lost, SUM),
	OF(worst_overshoot, MOST),
	NOT_OF(commands),
	NOT_OF(commands_refused),
};

static struct trip_domain *domain;

static uint64_t
word_at(const void *structure, size_t offset)
{
	uint64_t word;

	memcpy(&word, (const char *)structure + offset, sizeof(word));
	return word;
}

/* Another number for each statistic of each home; neither the first nor the last home has most. */
static void
fill(struct trip_home *home, uint64_t more)
{
	_Atomic uint64_t *words = (_Atomic uint64_t *)&home->stats;
	size_t n = offsetof(struct trip_home_stats, heated) / sizeof(*words);

	for (size_t i = 0; i < n; i++)
		atomic_store(&words[i], 1000 * (i + 1) + more);
	/* So many seconds: whole nanoseconds. */
	atomic_store(&home->stats.longest_tsc, (1000 + more) * home->engine->tsc_hz);
	atomic_store(&home->iterations, 1000 * (n + 1) + more);
}

/* Each of a histogram's quantiles is another number, which none of the others has. */
static void
fill_spreads(struct trip_home *home)
{
	static const uint64_t times[] = {500, 400, 90, 9, 1};

	for (unsigned int i = 0; i < TRIP_HOME_SPREADS; i++)
		for (unsigned int k = 0; k < RTE_DIM(times); k++)
			trip_spread_add(
				&home->spreads[i], UINT64_C(1) << (4 + 12 * i + 2 * k), times[k]);
}

static void
each_home_tells_all_of_its_statistics(void **state)
{
	size_t first = offsetof(struct trip_client_home, accepted);
	struct trip_client_home homes[HOMES];

	assert_int_equal(trip_stats_homes(domain, homes), HOMES);
	for (size_t at = first; at < sizeof(homes[0]); at += sizeof(uint64_t)) {
		uint64_t word = word_at(&homes[0], at);
		bool given = word != 0;

		for (size_t other = first; other < at; other += sizeof(uint64_t))
			given &= word != word_at(&homes[0], other);
		if (!given)
			fail_msg("byte %zu of struct trip_client_home is no statistic of its own",
				at);
	}
}

static void
those_of_the_domain_are_of_all_homes(void **state)
{
	struct trip_domain_stats stats = {.size = sizeof(stats)};
	struct trip_client_home homes[HOMES];

	assert_int_equal(trip_stats_homes(domain, homes), HOMES);
	assert_int_equal(trip_domain_stats_read(domain, &stats), 0);
	for (unsigned int i = 0; i < RTE_DIM(statistics); i++) {
		const struct statistic *statistic = &statistics[i];
		uint64_t sum = 0, most = 0;

		for (unsigned int home = 0; statistic->how != NOT_OF_HOMES && home < HOMES;
			home++) {
			uint64_t word = word_at(&homes[home], statistic->of_home);

			sum += word;
			most = RTE_MAX(most, word);
		}
		if (word_at(&stats, statistic->of_domain) != (statistic->how == SUM ? sum : most))
			fail_msg("%s of the domain is not that of its homes", statistic->name);
	}
}

static void
each_statistic_is_in_the_table(void **state)
{
	for (size_t at = sizeof(size_t); at < sizeof(struct trip_domain_stats);
		at += sizeof(uint64_t)) {
		unsigned int rows = 0;

		for (unsigned int i = 0; i < RTE_DIM(statistics); i++)
			rows += statistics[i].of_domain == at;
		if (rows != 1)
			fail_msg("%u rows of the table are of byte %zu of struct "
				 "trip_domain_stats",
				rows, at);
	}
}

static int
open_domain(void **state)
{
	static const uint64_t more[HOMES] = {100, 300, 200};
	const struct trip_domain_attr attr = {.size = sizeof(attr),
		.progress = TRIP_PROGRESS_MANUAL,
		.n_lcores = HOMES,
		.max_cntrs = 3,
		.max_works = 16};

	assert_int_equal(trip_domain_open(&attr, &domain, NULL), 0);
	for (unsigned int i = 0; i < HOMES; i++)
		fill(domain->engine.homes[i], more[i]);
	for (unsigned int i = 0; i < HOMES; i++)
		fill_spreads(domain->engine.homes[i]);
	return 0;
}

static int
close_domain(void **state)
{
	/* As they were. */
	for (unsigned int i = 0; i < HOMES; i++) {
		domain->engine.homes[i]->stats = (struct trip_home_stats){0};
		memset(domain->engine.homes[i]->spreads, 0,
			TRIP_HOME_SPREADS * sizeof(struct trip_spread));
	}
	return trip_domain_close(domain);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_home_tells_all_of_its_statistics),
		cmocka_unit_test(those_of_the_domain_are_of_all_homes),
		cmocka_unit_test(each_statistic_is_in_the_table),
	};

	if (trip_eal_init(NULL) < 0) {
		printf("EAL does not start here\n");
		return TRIP_TEST_SKIP;
	}
	return cmocka_run_group_tests(tests, open_domain, close_domain);
}

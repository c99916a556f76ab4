/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers and lines of tripctl: each has room where it stands, or is left out whole. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "base/text.h"
#include "trip_test.h"
#include "look/view.h"

#define TIME_COLUMNS 7
#define SHORT_COLUMNS 6
#define WIDTH_MAX 200

/* What a text of tripctl_text_time() says, in nanoseconds. */
static double
meant(const char *text)
{
	unsigned int big, small;
	char unit[4], one[8];
	uint64_t ns;
	double n;

	if (sscanf(text, "%um%u", &big, &small) == 2)
		return (big * 60.0 + small) * 1e9;
	if (sscanf(text, "%uh%u", &big, &small) == 2)
		return (big * 60.0 + small) * 60e9;
	assert_int_equal(sscanf(text, "%lf%3s", &n, unit), 2);
	snprintf(one, sizeof(one), "1%s", unit);
	assert_int_equal(tripctl_text_parse_time(one, &ns), 0);
	return n * (double)ns;
}

static void
check_time(uint64_t ns)
{
	char text[TRIPCTL_TEXT_NUMBER];

	tripctl_text_time(ns, text);
	if (strlen(text) > TIME_COLUMNS)
		fail_msg("%" PRIu64 " ns have %zu columns: \"%s\"", ns, strlen(text), text);
	/* A day is cut off, the rest rounded. */
	if (fabs(meant(text) - (double)ns) > 0.06 * (double)ns && ns < UINT64_C(86400000000000))
		fail_msg("%" PRIu64 " ns are said to be \"%s\"", ns, text);
}

static void
times_have_seven_columns(void **state)
{
	/* Around whatever could be rounded, and 130.2 ms. */
	static const uint64_t edges[] = {1, 10, 100, 1000, 9950, 99950, 999500, 999950, 1000000,
		9995000, 99950000, 130200000, 999500000, 999950000, 1000000000, 59950000000,
		99950000000, 100000000000, 6000000000000, 360000000000000, UINT64_MAX - 2};

	for (size_t i = 0; i < RTE_DIM(edges); i++)
		for (uint64_t ns = edges[i] - 1; ns <= edges[i] + 1; ns++)
			check_time(ns);
	for (double ns = 1; ns < 1.8e19; ns *= 1.003)
		check_time((uint64_t)ns);
}

static void
assert_in_columns(const char *text, unsigned int width)
{
	if (strlen(text) > width)
		fail_msg("\"%s\" has more than %u columns", text, width);
}

static void
numbers_have_six_columns(void **state)
{
	char text[TRIPCTL_TEXT_NUMBER];

	for (double number = 0.001; number < 1.8e19; number *= 1.003)
		assert_in_columns(tripctl_text_short(number, text), SHORT_COLUMNS);
}

/* Words of the whole line, of which a shorter one has the first ones. */
static void
check_cut(const char *whole, const char *line, unsigned int width)
{
	size_t length = strlen(line);

	assert_in_columns(line, width);
	if (strncmp(line, whole, length) != 0)
		fail_msg("\"%s\" is no beginning of \"%s\"", line, whole);
	if (strchr(line, ',') != NULL && whole[length] != ',' && whole[length] != 0)
		fail_msg("\"%s\" ends in the middle of \"%s\"", line, whole);
}

static void
a_line_ends_between_its_parts(void **state)
{
	struct tripctl_view view = {0};
	struct tripctl_sample *now = &view.samples[0];
	char whole[TRIPCTL_VIEW_LINE], line[TRIPCTL_VIEW_LINE];

	now->n_homes = 1;
	now->homes[0] = (struct trip_client_home){
		.lcore = 2, .pending = 12, .longest_iteration_ns = 130200000};
	tripctl_view_home(&view, 0, TRIPCTL_VIEW_LINE - 1, whole);
	for (unsigned int width = 1; width < WIDTH_MAX; width++) {
		tripctl_view_home(&view, 0, width, line);
		check_cut(whole, line, width);
	}
}

/* Whether it polls, two readings tell. */
static void
a_home_polls_or_does_not(void **state)
{
	struct tripctl_view view = {.latest = 1};
	char line[TRIPCTL_VIEW_LINE];

	view.samples[1].n_homes = 1;
	view.samples[1].at_ns = 2;
	view.samples[1].homes[0] = (struct trip_client_home){
		.lcore = 2, .iterations = 200, .busy_iterations = 1, .longest_iteration_ns = 5};
	tripctl_view_home(&view, 0, TRIPCTL_VIEW_LINE - 1, line);
	assert_string_equal(line, "home 0 lcore 2: 0 pending, - fired/s, longest 5 ns");
	view.samples[0] = view.samples[1];
	view.samples[0].at_ns = 1;
	tripctl_view_home(&view, 0, TRIPCTL_VIEW_LINE - 1, line);
	assert_string_equal(
		line, "home 0 lcore 2: not polling, 0 pending, 0 fired/s, longest 5 ns");
	view.samples[0].homes[0].iterations = 100;
	view.samples[0].homes[0].busy_iterations = 0;
	tripctl_view_home(&view, 0, TRIPCTL_VIEW_LINE - 1, line);
	assert_string_equal(line,
		"home 0 lcore 2: polling, 1.0% with work, 0 pending, 0 fired/s, longest 5 ns");
}

static void
a_row_has_whole_numbers(void **state)
{
	/* Of no other number is a beginning among these. */
	static const char *const cells[] = {"8.881M", "777777", "66", "9.000M", "5.555M", "130 ms"};
	struct trip_client_cntr cntr = {.success = 8881000, .error = 66, .next = 9000000};
	struct tripctl_change change = {.cntr = &cntr,
		.known = true,
		.rate = 777777,
		.missing = 5555000,
		.eta_ns = 130200000};
	struct tripctl_view view = {.rows = &change, .n_rows = 1};
	char line[TRIPCTL_VIEW_LINE], *at;

	strcpy(cntr.name, "a");
	for (unsigned int width = 1; width < 150; width++) {
		tripctl_view_row(&view, 0, width, line);
		assert_in_columns(line, width);
		for (at = line + 1; *(at += strspn(at, " ")) != 0;) {
			size_t i = 0;

			while (i < RTE_DIM(cells) && strncmp(at, cells[i], strlen(cells[i])) != 0)
				i++;
			if (i == RTE_DIM(cells))
				fail_msg("%u columns: what is \"%s\"?", width, at);
			at += strlen(cells[i]);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_have_seven_columns),
		cmocka_unit_test(numbers_have_six_columns),
		cmocka_unit_test(a_line_ends_between_its_parts),
		cmocka_unit_test(a_home_polls_or_does_not),
		cmocka_unit_test(a_row_has_whole_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

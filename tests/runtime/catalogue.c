/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The catalogue keeps its rules (profile/catalogue.h), and the table of the README beside it is
 * what the catalogue says. `catalogue page` prints that table.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <trip_test.h>

#include "profile/catalogue.h"

#define MEANING_MAX 80
#define BEGIN "<!-- by tests/runtime/catalogue page -->\n"
#define END "<!-- to here -->\n"

static const char *page_path, *header_path;

static bool
ends_with(const char *name, const char *end)
{
	size_t length = strlen(name), tail = strlen(end);

	return length > tail && strcmp(name + length - tail, end) == 0;
}

static char *
read_file(const char *path)
{
	FILE *file = fopen(path, "r");
	size_t size = 0;
	char *text = NULL;

	if (file == NULL)
		fail_msg("%s cannot be read", path);
	assert_true(getdelim(&text, &size, 0, file) > 0);
	fclose(file);
	return text;
}

/* The constant of a number is its name in capitals. */
static void
check_constant(const char *header, const char *prefix, const char *name, uint32_t id)
{
	char constant[96];
	int n = snprintf(constant, sizeof(constant), "\t%s%s = 0x%x,\n", prefix, name, id);

	assert_true(n > 0 && (size_t)n < sizeof(constant));
	for (char *c = constant; *c != ' '; c++)
		*c = (char)toupper((unsigned char)*c);
	if (strstr(header, constant) == NULL)
		fail_msg("trip_profile.h does not have%s", constant);
}

static void
a_name_is_that_of_its_number(void **state)
{
	char *header = read_file(header_path);

	for (unsigned int i = 0; i < TRIP_CATALOGUE_VARS; i++)
		check_constant(header, "TRIP_VAR_", trip_catalogue_vars[i].name,
			trip_catalogue_vars[i].id);
	for (unsigned int i = 0; i < TRIP_CATALOGUE_EVENTS; i++)
		check_constant(header, "TRIP_EVENT_", trip_catalogue_events[i].name,
			trip_catalogue_events[i].id);
	free(header);
}

static void
check_name(const char *name)
{
	for (const char *c = name; *c != 0; c++)
		if (!islower((unsigned char)*c) && !isdigit((unsigned char)*c) && *c != '_')
			fail_msg("%s is no name", name);
}

/* One line, without a full stop. */
static void
check_meaning(const char *name, const char *meaning)
{
	size_t length = strlen(meaning);

	if (length == 0 || length > MEANING_MAX || strchr(meaning, '\n') != NULL ||
		meaning[length - 1] == '.' || !isupper((unsigned char)meaning[0]))
		fail_msg("%s: the meaning is no short line", name);
}

/* "_ns_p99". */
static void
print_end(const struct trip_catalogue_var *var, enum trip_profile_unit unit, char *end, size_t size)
{
	int n = snprintf(
		end, size, "%s%s", trip_catalogue_unit(unit), trip_catalogue_kind(var->kind));

	if (var->kind == TRIP_PROFILE_QUANTILE)
		snprintf(end + n, size - (size_t)n, "%u",
			var->permille % 10 == 0 ? var->permille / 10 : var->permille);
}

static void
a_name_says_kind_and_unit(void **state)
{
	for (unsigned int i = 0; i < TRIP_CATALOGUE_VARS; i++) {
		const struct trip_catalogue_var *var = &trip_catalogue_vars[i];
		char end[32];

		check_name(var->name);
		print_end(var, var->unit, end, sizeof(end));
		if (!ends_with(var->name, end))
			fail_msg("%s does not end with %s", var->name, end);
		/* Nor does it have a unit that is none of its. */
		for (unsigned int unit = TRIP_PROFILE_NS; unit <= TRIP_PROFILE_BYTES; unit++) {
			print_end(var, unit, end, sizeof(end));
			if (unit != var->unit && ends_with(var->name, end))
				fail_msg("%s is not measured so", var->name);
		}
		check_meaning(var->name, var->meaning);
	}
	for (unsigned int i = 0; i < TRIP_CATALOGUE_EVENTS; i++) {
		check_name(trip_catalogue_events[i].name);
		check_meaning(trip_catalogue_events[i].name, trip_catalogue_events[i].meaning);
	}
}

/* A quantile, or the most, of one; and each has the same ones. */
static void
each_histogram_has_all_its_quantiles(void **state)
{
	unsigned int n[TRIP_CATALOGUE_DETECTION + 1] = {0};

	for (unsigned int i = 0; i < TRIP_CATALOGUE_VARS; i++) {
		const struct trip_catalogue_var *var = &trip_catalogue_vars[i];

		assert_int_equal(var->kind == TRIP_PROFILE_QUANTILE,
			var->permille > 0 && var->permille < 1000);
		assert_int_equal(var->spread != TRIP_CATALOGUE_NO_SPREAD, var->permille > 0);
		if (var->permille == 1000)
			assert_int_equal(var->kind, TRIP_PROFILE_MOST);
		n[var->spread] += var->kind == TRIP_PROFILE_QUANTILE;
	}
	for (unsigned int i = 1; i <= TRIP_CATALOGUE_DETECTION; i++)
		assert_int_equal(n[i], 4);
}

static void
numbers_and_names_are_unique(void **state)
{
	for (unsigned int i = 1; i < TRIP_CATALOGUE_VARS; i++)
		if (trip_catalogue_vars[i].id <= trip_catalogue_vars[i - 1].id)
			fail_msg("%s stands behind a larger number", trip_catalogue_vars[i].name);
	for (unsigned int i = 1; i < TRIP_CATALOGUE_EVENTS; i++)
		if (trip_catalogue_events[i].id <= trip_catalogue_events[i - 1].id)
			fail_msg("%s stands behind a larger number", trip_catalogue_events[i].name);
	assert_true(trip_catalogue_vars[TRIP_CATALOGUE_VARS - 1].id < trip_catalogue_events[0].id);
	for (unsigned int i = 0; i < TRIP_CATALOGUE_VARS; i++) {
		for (unsigned int other = 0; other < i; other++)
			assert_string_not_equal(
				trip_catalogue_vars[i].name, trip_catalogue_vars[other].name);
		for (unsigned int event = 0; event < TRIP_CATALOGUE_EVENTS; event++)
			assert_string_not_equal(
				trip_catalogue_vars[i].name, trip_catalogue_events[event].name);
	}
	for (unsigned int i = 0; i < TRIP_CATALOGUE_EVENTS; i++)
		for (unsigned int other = 0; other < i; other++)
			assert_string_not_equal(
				trip_catalogue_events[i].name, trip_catalogue_events[other].name);
}

static void
what_succeeds_has_what_fails_beside_it(void **state)
{
	for (unsigned int i = 0; i < TRIP_CATALOGUE_VARS; i++) {
		const struct trip_catalogue_var *var = &trip_catalogue_vars[i];
		int row;

		if (var->faults == TRIP_CATALOGUE_NONE)
			continue;
		if (var->kind != TRIP_PROFILE_TOTAL)
			fail_msg("%s is no total, and nothing of it fails", var->name);
		if (var->faults == TRIP_CATALOGUE_FAULT)
			continue;
		row = trip_catalogue_var_of(var->faults, var->scopes);
		if (row < 0 || trip_catalogue_vars[row].faults != TRIP_CATALOGUE_FAULT ||
			trip_catalogue_vars[row].scopes != var->scopes ||
			trip_catalogue_vars[row].unit != var->unit)
			fail_msg(
				"%s: 0x%x does not count what fails there", var->name, var->faults);
	}
}

/* It grows, so it is a total. */
static void
an_event_is_the_growth_of_a_total(void **state)
{
	for (unsigned int i = 0; i < TRIP_CATALOGUE_EVENTS; i++) {
		const struct trip_catalogue_event *event = &trip_catalogue_events[i];
		int row = trip_catalogue_var_of(event->var, UINT32_MAX);

		if (row < 0 || trip_catalogue_vars[row].kind != TRIP_PROFILE_TOTAL)
			fail_msg("%s is no growth of a total", event->name);
		assert_int_equal(trip_catalogue_event_of(event->id, UINT32_MAX), i);
	}
	for (unsigned int i = 0; i < TRIP_CATALOGUE_VARS; i++)
		assert_int_equal(
			trip_catalogue_var_of(trip_catalogue_vars[i].id, UINT32_MAX), (int)i);
	assert_int_equal(trip_catalogue_var_of(0, UINT32_MAX), -1);
	assert_int_equal(trip_catalogue_event_of(0, UINT32_MAX), -1);
}

/* ---- its page ---------------------------------------------------------------------------------
 */

static void
print_scopes(FILE *out, uint32_t scopes)
{
	static const char *const names[] = {"domain", "lcore", "counter", "port", "queue", "each"};
	const char *between = "";

	for (unsigned int i = 0; scopes >> i != 0; i++) {
		if ((scopes >> i & 1) == 0)
			continue;
		fprintf(out, "%s%s", between, names[i]);
		between = ", ";
	}
}

static void
print_page(FILE *out)
{
	fprintf(out, "| variable | number | of | meaning | what goes wrong |\n");
	fprintf(out, "|---|---|---|---|---|\n");
	for (unsigned int i = 0; i < TRIP_CATALOGUE_VARS; i++) {
		const struct trip_catalogue_var *var = &trip_catalogue_vars[i];
		int row = trip_catalogue_var_of(var->faults, UINT32_MAX);

		fprintf(out, "| `%s` | 0x%x | ", var->name, var->id);
		print_scopes(out, var->scopes);
		fprintf(out, " | %s | ", var->meaning);
		if (row >= 0)
			fprintf(out, "`%s` ", trip_catalogue_vars[row].name);
		else if (var->faults == TRIP_CATALOGUE_FAULT)
			fprintf(out, "itself ");
		fprintf(out, "|\n");
	}
	fprintf(out,
		"\n| event | number | variable that has grown | meaning |\n|---|---|---|---|\n");
	for (unsigned int i = 0; i < TRIP_CATALOGUE_EVENTS; i++) {
		const struct trip_catalogue_event *event = &trip_catalogue_events[i];
		int row = trip_catalogue_var_of(event->var, UINT32_MAX);

		fprintf(out, "| `%s` | 0x%x | `%s` | %s |\n", event->name, event->id,
			trip_catalogue_vars[row].name, event->meaning);
	}
}

static void
the_page_is_the_catalogue(void **state)
{
	char *text = read_file(page_path), *from = strstr(text, BEGIN), *to, *made;
	size_t size;
	FILE *out = open_memstream(&made, &size);

	assert_non_null(out);
	print_page(out);
	fclose(out);
	assert_non_null(from);
	from += strlen(BEGIN);
	to = strstr(from, END);
	assert_non_null(to);
	*to = 0;
	if (strcmp(from, made) != 0)
		fail_msg("%s does not have what `catalogue page` prints", page_path);
	free(made);
	free(text);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_is_that_of_its_number),
		cmocka_unit_test(a_name_says_kind_and_unit),
		cmocka_unit_test(each_histogram_has_all_its_quantiles),
		cmocka_unit_test(numbers_and_names_are_unique),
		cmocka_unit_test(what_succeeds_has_what_fails_beside_it),
		cmocka_unit_test(an_event_is_the_growth_of_a_total),
		cmocka_unit_test(the_page_is_the_catalogue),
	};

	if (argc == 2 && strcmp(argv[1], "page") == 0) {
		print_page(stdout);
		return 0;
	}
	if (argc != 3)
		return fprintf(stderr, "catalogue page, or catalogue README trip_profile.h\n"), 2;
	page_path = argv[1];
	header_path = argv[2];
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers as people read them, lines that fit, and a block that is drawn in place. */
#include <string.h>

#include "start/describe.h"
#include "run/screen.h"
#include "trip_test.h"

static void
is_number(uint64_t number, const char *expected)
{
	char text[16];

	tripd_describe_number(number, text);
	assert_string_equal(text, expected);
}

static void
is_time(uint64_t ns, const char *expected)
{
	char text[16];

	tripd_describe_time(ns, text);
	assert_string_equal(text, expected);
}

static void
numbers_read_well(void **state)
{
	is_number(0, "0");
	is_number(999, "999");
	is_number(1000, "1,000");
	is_number(1000007, "1,000,007");
	is_number(999999999, "999,999,999");
	is_number(1000000000, "1.000 G");
	is_number(12345678901, "12.35 G");
	is_number(999999999999, "1.000 T");
	is_number(UINT64_MAX, "18.45 E");
	is_time(0, "0 ns");
	is_time(999, "999 ns");
	is_time(1000, "1.000 us");
	is_time(999960, "1.000 ms");
	is_time(12345678, "12.35 ms");
	is_time(3600000000000, "3600.0 s");
}

static void
is_cut(const char *line, unsigned int width, const char *expected)
{
	char cut[64];

	tripd_screen_cut(line, width, cut, sizeof(cut));
	assert_string_equal(cut, expected);
}

static void
lines_are_cut_by_what_is_seen(void **state)
{
	is_cut("abc", 3, "abc");
	is_cut("abcd", 3, "abc");
	is_cut("", 0, "");
	/* Colours take no room, and the one that ends them is kept. */
	is_cut("\033[1mabcd\033[0m", 3, "\033[1mabc\033[0m");
	is_cut("\033[1m", 0, "\033[1m");
	is_cut("\033[1", 0, "\033[1");
	/* A character of two bytes is whole or not there. */
	is_cut("a\xc3\xa4z", 2, "a\xc3\xa4");
	is_cut("a\xc3\xa4z", 1, "a");
}

static void
a_block_is_drawn_in_place(void **state)
{
	struct tripd_screen screen;
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);

	tripd_screen_init(&screen, stdout);
	screen = (struct tripd_screen){.out = file, .terminal = true, .width = 80, .height = 4};
	tripd_screen_say(&screen, "one");
	tripd_screen_block(&screen);
	tripd_screen_say(&screen, "b%d", 1);
	tripd_screen_say(&screen, "b%d", 2);
	tripd_screen_say(&screen, "b%d", 3);
	/* More than the terminal has lines would scroll away, never to be taken back. */
	tripd_screen_say(&screen, "b%d", 4);
	tripd_screen_end(&screen);
	assert_string_equal(text, "one\nb1\nb2\nb3\n");
	assert_int_equal(screen.block, 3);
	tripd_screen_begin(&screen);
	tripd_screen_say(&screen, "two");
	tripd_screen_end(&screen);
	assert_string_equal(text, "one\nb1\nb2\nb3\n\033[3A\r\033[Jtwo\n");
	assert_int_equal(screen.block, 0);
	fclose(file);
	free(text);
}

/* What scrolls by is not drawn again: the terminal may wrap it, and nothing of it is lost. */
static void
only_the_block_is_cut(void **state)
{
	struct tripd_screen screen;
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);

	tripd_screen_init(&screen, stdout);
	screen = (struct tripd_screen){.out = file, .terminal = true, .width = 3, .height = 24};
	tripd_screen_say(&screen, "%s", "a long line");
	tripd_screen_block(&screen);
	tripd_screen_say(&screen, "%s", "another one");
	tripd_screen_end(&screen);
	assert_string_equal(text, "a long line\nano\n");
	fclose(file);
	free(text);
}

static void
no_terminal_no_escapes(void **state)
{
	struct tripd_screen screen;
	FILE *file = tmpfile();

	tripd_screen_init(&screen, file);
	assert_false(screen.terminal);
	assert_string_equal(tripd_screen_colour(&screen, TRIPD_RED), "");
	tripd_screen_block(&screen);
	tripd_screen_say(&screen, "%s", "line");
	assert_int_equal(screen.block, 0);
	tripd_screen_begin(&screen);
	tripd_screen_end(&screen);
	assert_int_equal(ftell(file), strlen("line\n"));
	fclose(file);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_read_well),
		cmocka_unit_test(lines_are_cut_by_what_is_seen),
		cmocka_unit_test(a_block_is_drawn_in_place),
		cmocka_unit_test(only_the_block_is_cut),
		cmocka_unit_test(no_terminal_no_escapes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

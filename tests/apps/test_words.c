/* SPDX-License-Identifier: BSD-3-Clause */
/* tripd's own words, and what is read from or chosen for EAL's. */
#include <errno.h>
#include <string.h>

#include "start/options.h"
#include "trip_test.h"
#include "start/words.h"

static struct tripd_options options;
static struct tripd_words words;

/* Parses a line of words as main() gets them; what is wrong in it would end the test. */
static void
parse(const char *line)
{
	static char text[1024], program[] = "/usr/sbin/tripd";
	static char *argv[64];
	char *save, *word;
	int argc = 1;

	argv[0] = program;
	snprintf(text, sizeof(text), "%s", line);
	for (word = strtok_r(text, " ", &save); word != NULL; word = strtok_r(NULL, " ", &save))
		argv[argc++] = word;
	argv[argc] = NULL;
	tripd_options_parse(argc, argv, &options);
	assert_int_equal(tripd_words_init(&words, &options, 0), 0);
}

static bool
has_word(const char *start)
{
	int i;

	for (i = 1; i < words.argc; i++)
		if (strncmp(words.argv[i], start, strlen(start)) == 0)
			return true;
	return false;
}

static void
own_words_stand_behind(void **state)
{
	parse("-l 0-2 --vdev net_tap0 -- --rules r.txt --report=out.json --until-idle 1.5 "
	      "--forward mac --pair 0,1 --pair 4,5 --ports 2-3,7,3 --isolate --force");
	assert_string_equal(options.rules, "r.txt");
	assert_string_equal(options.report, "out.json");
	assert_int_equal(options.until_idle_ns, 1500000000);
	assert_int_equal(options.forward, TRIPD_FORWARD_MAC);
	assert_int_equal(options.n_pairs, 2);
	assert_int_equal(options.pairs[1].b, 5);
	assert_int_equal(options.n_ports, 3);
	assert_int_equal(options.ports[2], 7);
	assert_true(options.isolate && options.force);
	assert_int_equal(options.n_eal_words, 4);
	assert_int_equal(words.argc, 5);
	assert_false(words.chosen);
}

static void
eal_words_are_understood(void **state)
{
	char path[PATH_MAX];

	parse("-m 256 --file-prefix=x --vdev net_tap0,iface=a --huge-dir /h --vdev=net_tap1 "
	      "--no-huge --in-memory --no-shconf -- --rules r");
	assert_int_equal(words.memory_mib, 256);
	assert_string_equal(words.file_prefix, "x");
	assert_string_equal(words.huge_dir, "/h");
	assert_int_equal(words.n_vdevs, 2);
	assert_string_equal(words.vdevs[0], "net_tap0,iface=a");
	assert_string_equal(words.vdevs[1], "net_tap1");
	assert_true(words.no_huge && words.in_memory && words.no_shconf);
	assert_false(words.secondary);
	parse("--socket-mem 100,28 --proc-type secondary -m1 -- --rules r");
	assert_true(words.secondary);
	assert_int_equal(words.memory_mib, 1);
	parse("--socket-mem 100,28 --log-level --no-huge -- --rules r");
	/* The value of a word is not a word. */
	assert_false(words.no_huge);
	assert_int_equal(words.memory_mib, 128);
	assert_string_equal(words.file_prefix, "rte");
	setenv("RUNTIME_DIRECTORY", "/run/x", 1);
	tripd_words_config_path(&words, path);
	assert_string_equal(path, "/run/x/dpdk/rte/config");
	unsetenv("RUNTIME_DIRECTORY");
}

static void
words_are_chosen_where_none_are(void **state)
{
	parse("--iface lo --iface eth0 --rules r");
	assert_true(words.chosen);
	assert_true(has_word("--lcores=0@"));
	assert_true(has_word("--no-pci"));
	assert_string_equal(words.file_prefix, "tripd");
	assert_int_equal(words.n_vdevs, 2);
	assert_string_equal(words.vdevs[0], "net_af_packet0,iface=lo");
	assert_string_equal(words.vdevs[1], "net_af_packet1,iface=eth0");
	/* Real devices are wanted where no interface is. */
	parse("-- --rules r");
	assert_true(words.chosen);
	assert_false(has_word("--no-pci"));
	/* Interfaces join the words that are given. */
	parse("--file-prefix y -- --iface lo --rules r");
	assert_false(words.chosen);
	assert_string_equal(words.file_prefix, "y");
	assert_string_equal(words.vdevs[0], "net_af_packet0,iface=lo");
	/* So do all of tripd's, on whichever side they stand. */
	parse("--iface lo -- --rules r");
	assert_true(words.chosen);
	assert_string_equal(words.vdevs[0], "net_af_packet0,iface=lo");
	parse("--rules=r --no-huge --iface lo -m 9 --force -- --isolate");
	assert_string_equal(options.rules, "r");
	assert_true(options.force && options.isolate && words.no_huge);
	assert_int_equal(words.memory_mib, 9);
	assert_int_equal(words.argc, 5);
}

static void
the_demo_leaves_nothing(void **state)
{
	parse("--demo");
	assert_true(options.demo);
	assert_true(words.in_memory);
	assert_int_equal(words.n_vdevs, 2);
	assert_int_equal(tripd_words_init(&words, &options, 100), 0);
	assert_true(words.no_huge && words.no_shconf && !words.in_memory);
	assert_int_equal(words.memory_mib, 100);
}

static void
too_many_words_are_refused(void **state)
{
	static char *many[TRIPD_WORDS_MAX];
	static char word[] = "--no-pci";
	int i;

	for (i = 0; i < TRIPD_WORDS_MAX; i++)
		many[i] = word;
	options = (struct tripd_options){.eal_words = many, .n_eal_words = TRIPD_WORDS_MAX};
	assert_int_equal(tripd_words_init(&words, &options, 0), -E2BIG);
	options.n_eal_words = TRIPD_WORDS_MAX - 1;
	assert_int_equal(tripd_words_init(&words, &options, 0), 0);
	assert_null(words.argv[words.argc]);
	options.ifaces[options.n_ifaces++] = "lo";
	assert_int_equal(tripd_words_init(&words, &options, 0), -E2BIG);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_words_stand_behind),
		cmocka_unit_test(eal_words_are_understood),
		cmocka_unit_test(words_are_chosen_where_none_are),
		cmocka_unit_test(the_demo_leaves_nothing),
		cmocka_unit_test(too_many_words_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

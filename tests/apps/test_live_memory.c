/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A change of rules for which there is no memory, at each place at which it asks for some: either
 * all is as it was before, and that is said, or all is as it was to be. Counts, fates and what
 * fires are those of the rules that are at work then.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live_bed.h"
#include "rules.h"
#include "trip_test.h"

/* ---- memory that is not to be had -------------------------------------------------------------
 */

static struct {
	pthread_t thread;
	bool counts, refused;
	uint64_t left;
} memory;

static bool
is_refused(void)
{
	if (!memory.counts || !pthread_equal(pthread_self(), memory.thread) || memory.left-- != 0)
		return false;
	memory.refused = true;
	errno = ENOMEM;
	return true;
}

#define REFUSED(type, name, parameters, ...)       \
	type __real_##name parameters;             \
	type __wrap_##name parameters;             \
	type __wrap_##name parameters              \
	{                                          \
		if (is_refused())                  \
			return NULL;               \
		return __real_##name(__VA_ARGS__); \
	}

REFUSED(void *, malloc, (size_t size), size)
REFUSED(void *, calloc, (size_t n, size_t size), n, size)
REFUSED(void *, realloc, (void *before, size_t size), before, size)
REFUSED(void *, reallocarray, (void *before, size_t n, size_t size), before, n, size)
REFUSED(void *, aligned_alloc, (size_t line, size_t size), line, size)
REFUSED(char *, strdup, (const char *text), text)
REFUSED(FILE *, open_memstream, (char **text, size_t *size), text, size)

/* What is asked for behind so much is refused once. */
static void
refuse(uint64_t nth)
{
	memory.thread = pthread_self();
	memory.left = nth;
	memory.refused = false;
	memory.counts = true;
}

/* Returns whether anything was refused. */
static bool
do_without(uint64_t nth, const char *command, int *status, char **answer)
{
	size_t size = 0;
	FILE *file = open_memstream(answer, &size);

	refuse(nth);
	*status = tripd_command(command, strlen(command), file, &live_bed.commands);
	memory.counts = false;
	fclose(file);
	tripd_exec_follow(&live_programs, live_bed.quota.rules);
	live_progress();
	return memory.refused;
}

/* ---- what is at work --------------------------------------------------------------------------
 */

#define PORTS 16

/* None of them is started here. */
static void
tell_programs(FILE *file)
{
	for (unsigned int i = 0; i < TRIPD_EXEC_MAX; i++)
		if (live_programs.programs[i].taken)
			fprintf(file, "%s: %d\n", live_programs.programs[i].path,
				live_programs.programs[i].outlet.buffer != NULL);
}

static void
tell_count(FILE *file, unsigned int i)
{
	const struct trip_rules_count *rule = &live_bed.quota.rules->counts[i];
	struct trip_flow_count sum;

	if (rule->gone)
		return;
	assert_int_equal(trip_apply_count_query(&live_bed.quota.counts[i], &sum), 0);
	live_check_cntr(live_bed.quota.counts[i].packets, sum.packets);
	live_check_cntr(live_bed.quota.counts[i].bytes, sum.bytes);
	fprintf(file, "%s: %" PRIu64 " packets, fate %d, %" PRIu64 " policed by %" PRIu64 "\n",
		rule->source, sum.packets, sum.fate, sum.policed_packets, sum.police_rate);
}

/* To be freed; of rules that are the same, and have seen the same, it is the same. */
static char *
tell(void)
{
	const struct tripd_quota *quota = &live_bed.quota;
	size_t size = 0;
	char *text;
	FILE *file = open_memstream(&text, &size);

	for (unsigned int i = 0; i < quota->rules->n_counts; i++)
		tell_count(file, i);
	for (unsigned int i = 0; i < quota->rules->n_counters; i++)
		if (!quota->rules->counters[i].gone)
			fprintf(file, "%s: %" PRIu64 "\n", quota->rules->counters[i].source,
				trip_cntr_read(quota->counters[i]));
	for (unsigned int i = 0; i < quota->rules->n_whens; i++)
		if (!quota->rules->whens[i].gone)
			fprintf(file, "%s: %" PRIu64 " %d%d\n", quota->rules->whens[i].source,
				quota->fired[i], quota->items[i].ended,
				tripd_quota_holds(quota, i));
	for (unsigned int i = 0; i < quota->rules->n_sets; i++)
		if (!quota->rules->sets[i].gone)
			fprintf(file, "%s: %zu\n", quota->rules->sets[i].source,
				quota->rules->sets[i].n_entries);
	tell_programs(file);
	fclose(file);
	return text;
}

/* Appends how a packet to each port fares. */
static char *
send_all(char *before)
{
	char passed[PORTS + 1] = "", *text, *all;

	for (unsigned int port = 0; port < PORTS; port++)
		passed[port] = live_packet(port) ? '+' : '-';
	text = tell();
	assert_true(asprintf(&all, "%s-- %s\n%s", before, passed, text) > 0);
	free(before);
	free(text);
	return all;
}

/* ---- changes ----------------------------------------------------------------------------------
 */

#define BEFORE                                                                     \
	"counter total\ncounter old\nset ports { 5, 6 }\nset us { 10.0.0.0/24 }\n" \
	"set few { 3 }\n"                                                          \
	"allow three port 0 pattern udp dst in few / end\n"                        \
	"count asked port 0 pattern ipv4 src in us / udp dst in ports / end\n"     \
	"count web port 0 pattern eth / ipv4 / udp dst range 0 - 6 / end\n"        \
	"count dns port 0 pattern eth / ipv4 / udp dst is 9 / end\n"               \
	"count rest port 0 pattern eth / end\n"                                    \
	"also count all port 0 pattern eth / end\n"                                \
	"quota q 6 per month of web.packets\nwhen q spent drop web\n"              \
	"quota both 100 of web.packets, rest.packets\n"                            \
	"when both >= 50 % police rest 8bit/s\n"                                   \
	"when web.packets >= 2 every 3 add total 1\n"                              \
	"when dns.packets >= 1 drop dns for 1h\n"                                  \
	"when all(rest.packets >= 2, old >= 0) add old 5\n"                        \
	"when rest.bytes rate >= 1bit/s over 1h until < 1bit/s for 1h drop rest\n" \
	"when after 1h exec /bin/true\nwhen after 2h exec /bin/false\n"
#define AFTER                                                                            \
	"counter total\ncounter new\nset ports { 6, 7, 8 }\nset us { 10.0.0.0/25 }\n"    \
	"set more { 2 }\n"                                                               \
	"count asked port 0 pattern ipv4 src in us / udp dst in ports / end\n"           \
	"count web port 0 pattern eth / ipv4 / udp dst range 0 - 7 / end\n"              \
	"count other port 0 priority 1 pattern ipv4 src in us / udp dst in more / end\n" \
	"count rest port 0 pattern eth / end\n"                                          \
	"count dns port 0 priority 2 pattern eth / ipv4 / udp dst range 8 - 9 / end\n"   \
	"also count all port 0 pattern eth / ipv4 / end\n"                               \
	"quota q 7 per month of web.packets\nwhen q spent drop web\n"                    \
	"quota less 9 of rest.packets\nwhen less spent drop other\n"                     \
	"when web.packets >= 2 every 3 add total 1\n"                                    \
	"when dns.packets >= 1 drop dns for 1h\n"                                        \
	"when any(rest.packets >= 2, new >= 9) add new 5\n"                              \
	"when web.packets >= 9 police web 8bit/s\nwhen after 2h exec /bin/false\n"       \
	"when after 3h exec /bin/false\n"

/* All of it goes, so that what comes begins anew. */
static void
begin(const char *rules)
{
	char *text;

	live_command("reload none\ncounter nothing\n", 0);
	assert_true(asprintf(&text, "reload before\n%s", rules) > 0);
	live_command(text, 0);
	free(text);
	free(send_all(strdup("")));
}

static void
either_or(const char *rules, const char *command)
{
	char *as_before, *as_after, *answer, *text;
	uint64_t nth = 0;
	bool refused = true;
	int status;

	begin(rules);
	as_before = send_all(tell());
	begin(rules);
	live_command(command, 0);
	as_after = send_all(tell());
	assert_string_not_equal(as_before, as_after);
	for (; refused; nth++) {
		begin(rules);
		refused = do_without(nth, command, &status, &answer);
		if (status != 0 && answer[0] == 0)
			fail_msg("%.20s, allocation %" PRIu64 ": nothing is said of %d", command,
				nth, status);
		text = send_all(tell());
		if (strcmp(text, status != 0 ? as_before : as_after) != 0)
			fail_msg("%.20s, allocation %" PRIu64 " (%d, %s): it is\n%s\nnot\n%s",
				command, nth, status, answer, text,
				status != 0 ? as_before : as_after);
		free(answer);
		free(text);
	}
	print_message("%.20s: %" PRIu64 " allocations\n", command, nth - 1);
	assert_int_equal(status, 0);
	free(as_before);
	free(as_after);
}

static void
without_memory_nothing_is_half_changed(void **state)
{
	tripd_bed_open(&live_bed, "counter nothing\ncount none port 0 pattern eth / end\n",
		(struct tripd_live){64, 1u << 16, 4096, 1});
	live_bed.quota.programs = &live_programs;
	either_or(BEFORE, "reload after\n" AFTER);
	either_or(AFTER, "reload before\n" BEFORE);
	either_or(BEFORE, "apply more\ncount dns port 0 pattern udp dst is 10 / end\ncount last "
			  "port 0 pattern udp / end\nset us { 10.0.1.0/24 }\nset few { 4 }\n"
			  "when last.packets >= 1 drop web\n");
	either_or(BEFORE, "remove dns");
	either_or(BEFORE, "remove q");
	either_or(BEFORE, "reset q");
	either_or(BEFORE, "do drop web");
	either_or(BEFORE, "do police web 8bit/s");
	tripd_bed_close(&live_bed);
}

/* Before there is EAL, as in tripd. */
static void
without_memory_no_programs_are_opened(void **state)
{
	struct trip_rules_when whens[] = {
		{.op = TRIP_RULES_OP_EXEC, .text = (char *)"/bin/true"},
		{.op = TRIP_RULES_OP_EXEC, .text = (char *)"/bin/false"},
	};
	const struct trip_rules rules = {.whens = whens, .n_whens = RTE_DIM(whens)};
	struct tripd_exec programs;
	uint64_t nth = 0;
	int ret;

	do {
		refuse(nth++);
		ret = tripd_exec_open(&programs, &rules);
		memory.counts = false;
		assert_int_equal(ret != 0, memory.refused);
		assert_int_equal(tripd_exec_close(&programs), 0);
	} while (ret != 0);
	assert_true(nth > RTE_DIM(whens));
}

int
main(void)
{
	const struct CMUnitTest before[] = {
		cmocka_unit_test(without_memory_no_programs_are_opened),
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_memory_nothing_is_half_changed),
	};
	int ret = cmocka_run_group_tests(before, NULL, NULL);

	if (ret == 0)
		ret = live_init();
	return ret != 0 ? ret : cmocka_run_group_tests(tests, NULL, NULL);
}

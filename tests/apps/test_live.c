/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rules that change while they are at work, by the commands that tripctl sends: case by case; what
 * is refused changes nothing; what is hostile is refused.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "live_bed.h"
#include "rules.h"
#include "trip_test.h"

/* ---- what is refused --------------------------------------------------------------------------
 */

#define RULES                                                               \
	"counter total\n"                                                   \
	"count web port 0 pattern eth / ipv4 / udp dst range 0 - 7 / end\n" \
	"when web.packets >= 3 drop web\n"

static void
what_is_refused_changes_nothing(void **state)
{
	static const struct {
		const char *text;
		int error;
		const char *why;
	} wrong[] = {
		{"apply f\ncount a port 0 pattern eth / end\ncount b port 0 pattern etc / end\n",
			-EINVAL, "f:2:24: expected"},
		{"apply f\nwhen wbe.packets >= 1 drop web\n", -EINVAL,
			"no 'count' rule or 'each' is named 'wbe': did you mean 'web'?"},
		{"apply f\ncounter web\n", -EINVAL, "f: with what is at work, 'when web.packets"},
		{"apply f\ncount a port 3 pattern eth / end\n", -ENODEV, "port 3 is not in use"},
		{"apply f\ncount a port name \"no\" pattern eth / end\n", -ENODEV,
			"no port is named \"no\""},
		{"apply f\ncount a port 0 egress pattern eth / end\n", -ENOTSUP, "egress"},
		{"apply f\ncount a port 0 pattern eth / ipv4 / udp dst range 1 - 254 / end\n",
			-ENOSPC, "--live-flows"},
		{"apply f\neach k port 0 ipv4.src max 9 idle 1s hardware 99\nwhen k.packets >= 9 "
		 "drop k\n",
			-ENOSPC, "this takes 198 more"},
		{"remove wbe", -ENOENT,
			"no 'count' rule, 'counter', 'quota', 'set' or 'each' is named 'wbe'"},
		{"do drop wbe", -EINVAL, "did you mean 'web'?"},
		{"do drop", -EINVAL, "expected a name"},
		{"do drop web for 10s", -EINVAL, "'for' is for rules"},
		{"do log \"x\"", -EINVAL, "acts on no count"},
		{"reload", -ENOENT, "no rules file"},
		{"", -EINVAL, "no such command"},
		{"reloading", -EINVAL, "no such command"},
	};

	tripd_bed_open(&live_bed, RULES, (struct tripd_live){4, 4, 16, 1});
	for (unsigned int i = 0; i < RTE_DIM(wrong); i++)
		live_refused(wrong[i].text, strlen(wrong[i].text), wrong[i].error, wrong[i].why);
	assert_int_equal(live_bed.commands.n_changes, 0);
	assert_int_equal(live_bed.quota.rules->n_counts, 1);
	for (unsigned int i = 0; i < 5; i++)
		assert_int_equal(live_packet(i), i < 3);
	live_check_cntr(live_bed.quota.counts[0].packets, 5);
	tripd_bed_close(&live_bed);
}

/* Zeros, one long line, many lines, depth: as long as a command may be. */
static void
what_is_hostile_is_refused(void **state)
{
	static const struct {
		const char *first;
		char fill;
	} hostile[] = {{"apply f\n", 0}, {"apply f\n", '('}, {"apply f\n", '\\'}, {"diff f\n", '"'},
		{"apply f\nwhen all ", '('}, {"reload f\ncount ", 'x'}, {"apply f\n#", 'x'}};
	size_t length = 4u << 20;
	char *text = malloc(length + 1);

	tripd_bed_open(&live_bed, RULES, (struct tripd_live){4, 4, 16, 1});
	for (unsigned int i = 0; i < RTE_DIM(hostile); i++) {
		size_t n = strlen(hostile[i].first);

		memset(text, hostile[i].fill, length);
		memcpy(text, hostile[i].first, n);
		text[length] = 0;
		/* A comment adds nothing. */
		free(live_command_of(text, length, hostile[i].first[n - 1] == '#' ? 0 : -EINVAL));
	}
	memset(text, 0, length);
	free(live_command_of(text, length, -EINVAL));
	free(live_command_of("do drop web\0x", 13, -EINVAL));
	assert_int_equal(live_bed.commands.n_changes, 0);
	tripd_bed_close(&live_bed);
	free(text);
}

/* Of each what it was when it went; the report has it to the end. */
static void
what_has_gone_keeps_its_counts(void **state)
{
	struct trip_flow_count sum;

	tripd_bed_open(&live_bed, RULES, (struct tripd_live){16, 16, 16, 1});
	for (unsigned int i = 0; i < 4; i++)
		live_packet(1);
	live_command("do add total 7", 0);
	live_command("remove web", 0);
	live_command("remove total", 0);
	live_packet(1);
	assert_true(live_bed.quota.rules->counts[0].gone);
	assert_int_equal(trip_apply_count_query(&live_bed.quota.counts[0], &sum), 0);
	assert_int_equal(sum.packets, 4);
	assert_int_equal(live_bed.quota.rules->counters[0].last, 7);
	assert_int_equal(live_bed.quota.n_trips, 1);
	/* Anew, it begins anew. */
	live_command("apply f\n" RULES, 0);
	live_packet(1);
	live_check_cntr(live_bed.quota.counts[1].packets, 1);
	assert_int_equal(tripd_quota_settle(&live_bed.quota), -1);
	tripd_bed_close(&live_bed);
}

/* Once others that have found what had it have let go of that. */
static void
a_name_that_has_gone_is_free(void **state)
{
	const struct trip_cntr_attr attr = {.size = sizeof(attr), .name = "total"};
	struct trip_cntr *found;

	tripd_bed_open(&live_bed, RULES, (struct tripd_live){16, 16, 16, 1});
	assert_int_equal(trip_cntr_find(live_bed.domain, &attr, &found, NULL), 0);
	live_command("remove total", 0);
	live_declined("apply f\ncounter total\n", -EEXIST, "the name is taken");
	assert_int_equal(trip_cntr_close(found), 0);
	live_command("apply f\ncounter total\n", 0);
	tripd_bed_close(&live_bed);
}

/* However often: what has gone takes no room of what comes. */
static void
rules_come_and_go_for_ever(void **state)
{
	static const char rules[] =
		"apply f\n"
		"counter sum\n"
		"set some { 10.0.0.0/8 }\n"
		"allow own port 0 pattern eth / ipv4 src in some / udp dst is 9 / end\n"
		"count dns port 0 pattern eth / ipv4 / udp dst range 8 - 15 / end\n"
		"quota month 1k per month of dns.packets, web.packets\n"
		"when month spent drop dns\n"
		"when all(dns.packets >= 100, web.packets >= 100) drop dns\n"
		"when dns.packets rate >= 1kpps over 1s until < 10pps for 1s police dns 100pps\n"
		"when web.packets idle 1h add sum 1\n";
	static const char *const names[] = {"month", "own", "some", "dns", "sum"};

	tripd_bed_open(&live_bed, RULES, (struct tripd_live){64, 16, 4096, 1});
	for (unsigned int i = 0; i < 100; i++) {
		live_command(rules, 0);
		live_packet(8);
		for (unsigned int k = 0; k < RTE_DIM(names); k++) {
			char remove[32];

			snprintf(remove, sizeof(remove), "remove %s", names[k]);
			live_command(remove, 0);
		}
	}
	live_packet(1);
	live_check_cntr(live_bed.quota.counts[0].packets, 1);
	tripd_bed_close(&live_bed);
}

#define POLICED(high)                                                              \
	"count web port 0 pattern eth / ipv4 / udp dst range 0 - " high " / end\n" \
	"when web.packets >= 3 police web 8bit/s\n"

/* Its patterns share a rate, at which one packet passes a minute; so do those that take their
 * place, and what did not pass is not forgotten. */
static void
what_is_policed_stays_so(void **state)
{
	struct trip_flow_count sum;

	tripd_bed_open(&live_bed, POLICED("6"), (struct tripd_live){16, 16, 16, 1});
	for (unsigned int i = 0; i < 3; i++)
		live_packet(1);
	assert_int_equal(tripd_quota_settle(&live_bed.quota), -1);
	for (uint16_t i = 0; i < 6; i++)
		live_packet(i);
	assert_int_equal(trip_apply_count_query(&live_bed.quota.counts[0], &sum), 0);
	assert_int_equal(sum.fate, TRIP_FLOW_FATE_POLICE);
	assert_int_equal(sum.policed_packets, 5);
	live_command("reload f\n" POLICED("7"), 0);
	for (uint16_t i = 0; i < 6; i++)
		live_packet(i);
	assert_int_equal(trip_apply_count_query(&live_bed.quota.counts[0], &sum), 0);
	assert_int_equal(sum.fate, TRIP_FLOW_FATE_POLICE);
	assert_int_equal(sum.packets, 15);
	assert_int_equal(sum.policed_packets, 10);
	live_command("do pass web", 0);
	for (uint16_t i = 0; i < 6; i++)
		live_packet(i);
	assert_int_equal(trip_apply_count_query(&live_bed.quota.counts[0], &sum), 0);
	assert_int_equal(sum.fate, TRIP_FLOW_FATE_PASS);
	assert_int_equal(sum.policed_packets, 10);
	tripd_bed_close(&live_bed);
}

#define WEB "count web port 0 pattern eth / ipv4 / udp dst range 0 - 7 / end\n"
#define DNS "count dns port 0 pattern eth / ipv4 / udp dst is 9 / end\n"

/* What the quota at a place has come to, once its home has read all. */
static void
expect_spent(unsigned int counter, uint64_t spent)
{
	live_check_cntr(live_bed.quota.counters[counter], spent);
}

static void
send_some(unsigned int port, unsigned int n, bool pass)
{
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(live_packet(port), pass);
}

/* It comes over counts that are there, gets another value, is of others, and goes. */
static void
a_quota_changes_at_work(void **state)
{
	tripd_bed_open(&live_bed, "counter n\n" WEB DNS, (struct tripd_live){16, 16, 64, 1});
	send_some(1, 3, true);
	live_command("apply f\nquota q 4 per day of web.packets\nwhen q spent drop web\n"
		     "when q >= 50 % every 2 add n 1\n",
		0);
	/* From here on. */
	send_some(1, 3, true);
	expect_spent(1, 3);
	live_check_cntr(live_bed.quota.counters[0], 1);
	live_command("apply f\nquota q 8 per day of web.packets\n", 0);
	assert_int_equal(live_bed.quota.rules->counters[1].quota->limit, 8);
	/* It was due at 2, and is at 4, 6 and 8. */
	send_some(1, 4, true);
	live_check_cntr(live_bed.quota.counters[0], 3);
	send_some(1, 1, true);
	send_some(1, 1, false);
	expect_spent(1, 9);
	live_check_cntr(live_bed.quota.counters[0], 4);
	/* What is spent by either value stays so; what is not any more passes, until it is. */
	live_command("apply f\nquota q 9 per day of web.packets\n", 0);
	send_some(1, 1, false);
	live_command("apply f\nquota q 12 per day of web.packets\n", 0);
	send_some(1, 2, true);
	send_some(1, 1, false);
	/* Of one more count, with what it has. */
	live_command("apply f\nquota q 14 per day of web.packets, dns.packets\n", 0);
	send_some(9, 1, true);
	expect_spent(1, 14);
	send_some(1, 1, false);
	send_some(9, 1, true);
	expect_spent(1, 16);
	live_command("remove web", -EBUSY);
	live_command("remove q", 0);
	send_some(1, 1, true);
	assert_int_equal(live_bed.quota.rules->counters[1].last, 16);
	/* And it does not feed the next one of that name. */
	live_command("apply f\nquota q 2 of web.packets\nwhen q spent drop web\n", 0);
	send_some(1, 2, true);
	send_some(1, 1, false);
	expect_spent(2, 3);
	live_command("remove web", 0);
	assert_true(live_bed.quota.rules->counters[2].gone);
	live_check_cntr(live_bed.quota.counts[1].packets, 2);
	tripd_bed_close(&live_bed);
}

/* Periods end of those that have come; a reload says the order of flows all the same. */
static void
a_quota_that_has_come_begins_anew(void **state)
{
	struct tripd_period *period;

	tripd_bed_open(&live_bed, WEB "count all port 0 pattern eth / end\n",
		(struct tripd_live){16, 16, 64, 1});
	live_command("apply f\nquota q 2 per hour of web.packets\nwhen q spent drop web\n", 0);
	send_some(1, 2, true);
	send_some(1, 1, false);
	/* It stands where it was: before what it overlaps. */
	live_check_cntr(live_bed.quota.counts[1].packets, 0);
	expect_spent(0, 3);
	period = tripd_period_of(&live_bed.quota, 0);
	assert_int_equal(tripd_period_update(&live_bed.quota, period->ends), 0);
	assert_int_equal(period->spent, 3);
	send_some(1, 2, true);
	send_some(1, 1, false);
	expect_spent(0, 3);
	live_command("do reset q", 0);
	assert_int_equal(period->n_ended, 2);
	send_some(1, 2, true);
	/* Of another kind there is none of this name. */
	live_command("apply f\nquota q 2 of web.bytes\n", -ENOTSUP);
	live_command("reload f\n" WEB "counter q\n", -ENOTSUP);
	live_command("apply f\nwhen q spent exec \"/bin/true\"\n", -ECHILD);
	/* All that came along is refused, whichever command brings it. */
	live_bed.commands.asker = geteuid() + 1;
	live_command("apply f\nwhen q spent exec \"/bin/true\"\n", -EPERM);
	live_command("reload f\n" WEB "when web.packets >= 9 exec \"/bin/true\"\n", -EPERM);
	live_bed.commands.asker = 0;
	send_some(1, 1, false);
	tripd_bed_close(&live_bed);
}

#define SPENT                                                  \
	"counter n\n" WEB "quota q 4 per day of web.packets\n" \
	"when all(q spent, web.bytes >= 60) drop web\n"        \
	"when any(after 1d, all(q >= 50 %, web.packets >= 1)) add n 1\n"

/* What stands among the conditions of all() and any() is as good as what stands alone. */
static void
a_quota_changes_beside_others(void **state)
{
	struct tripd_period *period;

	tripd_bed_open(&live_bed, SPENT, (struct tripd_live){16, 16, 1024, 1});
	send_some(1, 4, true);
	send_some(1, 1, false);
	live_check_cntr(live_bed.quota.counters[0], 1);
	/* The half of this is reached as it was, and the whole is not any more. */
	live_command("apply f\nquota q 6 per day of web.packets\n", 0);
	send_some(1, 1, true);
	send_some(1, 1, false);
	live_command("apply f\nquota q 20 per day of web.packets\n", 0);
	send_some(1, 1, true);
	live_check_cntr(live_bed.quota.counters[0], 1);
	send_some(1, 2, true);
	live_check_cntr(live_bed.quota.counters[0], 2);
	live_command("apply f\nquota q 10 per day of web.packets\n", 0);
	send_some(1, 1, false);
	expect_spent(1, 11);
	/* Another period, and no statement any more. */
	period = tripd_period_of(&live_bed.quota, 1);
	assert_int_equal(tripd_period_update(&live_bed.quota, period->ends), 0);
	assert_int_equal(period->spent, 11);
	send_some(1, 10, true);
	send_some(1, 1, false);
	live_check_cntr(live_bed.quota.counters[0], 3);
	live_command("reload f\ncounter n\n" WEB "quota q 10 per day of web.packets\n", 0);
	send_some(1, 1, true);
	expect_spent(1, 12);
	tripd_bed_close(&live_bed);
}

/* 48 flows each, of which a home fires so many in one iteration that it is in the midst of some. */
#define MANY(name, from, to)                                                                       \
	"count " name " port 0 pattern eth / ipv4 / udp src range 1 - 14 dst range " from " - " to \
	" / end\n"                                                                                 \
	"when all(q spent, n >= 1) drop " name "\n"
#define MANY_COUNTS 6

static void
check_all_drop(void *arg, const struct tripd_trip *trip)
{
	const struct tripd_quota *quota = &live_bed.quota;
	const struct trip_apply_count *count =
		&quota->counts[quota->rules->whens[trip->when].target];
	struct trip_flow_count one = {.size = sizeof(one)};

	for (unsigned int i = 0; i < count->n_flows; i++) {
		assert_int_equal(trip_flow_query(count->flows[i], &one), 0);
		assert_int_equal(one.fate, TRIP_FLOW_FATE_DROP);
	}
}

/* What all() has fired is told when it is done to all flows, also where it was queued again. */
static void
what_is_told_is_done(void **state)
{
	tripd_bed_open(&live_bed,
		"counter n\n" WEB "quota q 3 of web.packets\n" MANY("a", "33", "62")
			MANY("b", "65", "94") MANY("c", "97", "126") MANY("d", "129", "158")
				MANY("e", "161", "190") MANY("f", "193", "222"),
		(struct tripd_live){16, 16, 64, 1});
	live_bed.quota.told = check_all_drop;
	for (unsigned int round = 1; round <= 3; round++) {
		send_some(1, 3, true);
		expect_spent(1, 3);
		trip_cntr_add(live_bed.quota.counters[0], 1);
		while (live_bed.quota.n_trips < round * MANY_COUNTS) {
			trip_progress(live_bed.domain);
			tripd_quota_read(&live_bed.quota);
		}
		live_command("do set n 0", 0);
		live_command("do reset q", 0);
	}
	tripd_bed_close(&live_bed);
}

/* Statements that come and go leave nothing: there is room for one of them. */
static void
what_has_pairs_goes_whole(void **state)
{
	static const char more[] = "reload f\ncounter n\n" WEB DNS
				   "when any(after 1h, all(n >= 1, web.packets >= 3)) reset dns\n";

	tripd_bed_open(&live_bed, "counter n\n" WEB DNS, (struct tripd_live){0, 1, 400, 1});
	live_command("do add n 1", 0);
	for (unsigned int i = 0; i < 20; i++) {
		live_command(more, 0);
		live_command("reload f\ncounter n\n" WEB DNS, 0);
	}
	live_command(more, 0);
	send_some(9, 1, true);
	send_some(1, 3, true);
	live_check_cntr(live_bed.quota.counts[1].packets, 0);
	assert_int_equal(live_bed.quota.fired[20], 1);
	tripd_bed_close(&live_bed);
}

#define FOR_A_TIME(high, condition)                                                \
	"reload t\n"                                                               \
	"count web port 0 pattern eth / ipv4 / udp dst range 0 - " high " / end\n" \
	"when " condition " drop web for 500ms\n"

/* On the flows that take the place of those that it began on, too. */
static void
drop_for_a_time(const char *rules, const char *more)
{
	tripd_bed_open(&live_bed, strchr(rules, '\n') + 1, (struct tripd_live){16, 16, 16, 1});
	for (unsigned int i = 0; i < 4; i++)
		live_packet(1);
	live_command(more, 0);
	/* It goes on, and is told once. */
	assert_false(live_packet(1));
	assert_int_equal(live_bed.quota.n_trips, 1);
	while (!live_bed.quota.items[0].ended)
		live_progress();
	assert_true(live_packet(1));
	assert_int_equal(live_bed.quota.fired[0], 1);
	assert_int_equal(live_bed.quota.n_trips, 2);
	/* What drops for ever still does. */
	live_command("do drop web", 0);
	live_command(rules, 0);
	assert_false(live_packet(1));
	tripd_bed_close(&live_bed);
}

#define PLAIN "web.packets >= 3"
#define PAIRS "all(web.packets >= 3, any(web.bytes >= 60, after 1h))"

static void
what_drops_for_a_time_ends(void **state)
{
	drop_for_a_time(FOR_A_TIME("7", PLAIN), FOR_A_TIME("9", PLAIN));
	drop_for_a_time(FOR_A_TIME("7", PAIRS), FOR_A_TIME("9", PAIRS));
}

#define PROLONGED(high)                                                            \
	"count web port 0 pattern eth / ipv4 / udp dst range 0 - " high " / end\n" \
	"when web.packets >= 1 every 1 drop web for 999ms\n"

static void
advance(unsigned int ms)
{
	tripd_bed_advance(&live_bed, ms * UINT64_C(1000000));
}

/* It goes on, on flows that are made anew, as long as its last firing says; and not where it has
 * passed, or its statement has gone. */
static void
what_drops_for_a_time_lasts_no_longer(void **state)
{
	tripd_bed_open_by_packets(&live_bed, PROLONGED("7"), (struct tripd_live){16, 16, 16, 1});
	assert_true(live_packet(1));
	live_command("reload t\n" PROLONGED("6"), 0);
	advance(500);
	assert_false(live_packet(1));
	/* Its first firing would have ended. */
	advance(600);
	assert_false(live_bed.quota.items[0].ended);
	assert_int_equal(live_bed.quota.n_trips, 2);
	assert_false(live_packet(1));
	advance(1000);
	assert_int_equal(live_bed.quota.n_trips, 4);
	/* A pass ends it, for new flows, too. */
	live_command(FOR_A_TIME("7", PLAIN), 0);
	assert_true(live_bed.quota.items[0].ended);
	live_command("do pass web", 0);
	live_command(FOR_A_TIME("6", PLAIN), 0);
	assert_true(live_packet(1));
	/* What goes while it lasts ends, on new flows as on old ones. */
	live_command("reload t\n" PROLONGED("6"), 0);
	assert_false(live_packet(1));
	live_command("reload t\n" WEB, 0);
	assert_true(live_packet(1));
	tripd_bed_close(&live_bed);
}

#define RATED(high, op)                                                            \
	"count web port 0 pattern eth / ipv4 / udp dst range 0 - " high " / end\n" \
	"when web.packets rate >= 5pps over 1s until < 2pps for 1s " op "\n"

/* On flows that are made anew, too: until the rate is over, by what comes from then on. */
static void
what_a_rate_has_begun_goes_on(void **state)
{
	static const struct {
		const char *rules, *next;
		uint32_t fate;
	} rates[] = {
		{RATED("7", "drop web"), "reload t\n" RATED("6", "drop web"), TRIP_FLOW_FATE_DROP},
		{RATED("7", "police web 8bit/s"), "reload t\n" RATED("6", "police web 8bit/s"),
			TRIP_FLOW_FATE_POLICE}};

	for (unsigned int i = 0; i < RTE_DIM(rates); i++) {
		tripd_bed_open_by_packets(
			&live_bed, rates[i].rules, (struct tripd_live){16, 16, 16, 1});
		for (unsigned int k = 0; k < 5; k++)
			live_packet(1);
		assert_int_equal(live_bed.quota.n_trips, 1);
		advance(500);
		live_command(rates[i].next, 0);
		assert_int_equal(tripd_bed_fate(&live_bed, 0), rates[i].fate);
		/* It was not over, and goes on for as long as there is no less. */
		for (unsigned int k = 0; k < 8; k++) {
			live_packet(1);
			advance(400);
			assert_int_equal(tripd_bed_fate(&live_bed, 0), rates[i].fate);
		}
		/* It is told once that it begins, and ends. */
		assert_int_equal(live_bed.quota.n_trips, 1);
		advance(1050);
		assert_int_equal(tripd_bed_fate(&live_bed, 0), TRIP_FLOW_FATE_PASS);
		assert_int_equal(live_bed.quota.n_trips, 2);
		assert_true(live_bed.quota.trips[1].ends);
		/* And begins again. */
		for (unsigned int k = 0; k < 5; k++)
			live_packet(1);
		assert_int_equal(tripd_bed_fate(&live_bed, 0), rates[i].fate);
		assert_int_equal(live_bed.quota.n_trips, 3);
		/* A pass by hand ends it, for new flows, too. */
		live_command("do pass web", 0);
		live_command(rates[i].next, 0);
		assert_int_equal(tripd_bed_fate(&live_bed, 0), TRIP_FLOW_FATE_PASS);
		live_command("reload t\n" WEB, 0);
		assert_int_equal(tripd_bed_fate(&live_bed, 0), TRIP_FLOW_FATE_PASS);
		tripd_bed_close(&live_bed);
	}
}

/* What it was by hand stays so, whatever its actions become. */
static void
what_is_dropped_by_hand_stays_so(void **state)
{
	struct trip_flow_count sum;

	tripd_bed_open(&live_bed,
		"count web port 0 pattern eth / ipv4 / udp dst range 0 - 7 / end actions drop / "
		"end\n",
		(struct tripd_live){16, 16, 16, 1});
	live_command("do drop web", 0);
	live_command("reload t\n" WEB, 0);
	assert_false(live_packet(1));
	live_command("do pass web", 0);
	live_command(FOR_A_TIME("7", PLAIN), 0);
	live_command("do police web 8bit/s", 0);
	for (unsigned int i = 0; i < 4; i++)
		live_packet(1);
	assert_int_equal(live_bed.quota.n_trips, 1);
	live_command(FOR_A_TIME("6", PLAIN), 0);
	live_command("reload t\n" WEB, 0);
	live_packet(1);
	assert_int_equal(trip_apply_count_query(&live_bed.quota.counts[0], &sum), 0);
	assert_int_equal(sum.fate, TRIP_FLOW_FATE_POLICE);
	tripd_bed_close(&live_bed);
}

#define SPENDING(actions)                                                         \
	"count web port 0 pattern eth / ipv4 / udp dst range 0 - 7 / end" actions \
	"\nquota q 2 per hour of web.packets\nwhen q spent drop web\n"

/* What a quota has dropped in a period that is over stays dropped as long as something else holds
 * the count, whatever its actions become; and what was dropped by hand does in any case. */
static void
what_others_hold_stays_so(void **state)
{
	static const char *const by_hand[] = {"do police web 8bit/s", "do drop web"};

	for (unsigned int i = 0; i < RTE_DIM(by_hand); i++) {
		tripd_bed_open(&live_bed, SPENDING(""), (struct tripd_live){16, 16, 16, 1});
		send_some(1, 2, true);
		send_some(1, 1, false);
		live_command(by_hand[i], 0);
		live_command("do reset q", 0);
		assert_int_equal(tripd_bed_fate(&live_bed, 0), TRIP_FLOW_FATE_DROP);
		live_command("reload t\n" SPENDING(" actions drop / end"), 0);
		live_command("reload t\n" SPENDING(""), 0);
		assert_int_equal(tripd_bed_fate(&live_bed, 0), TRIP_FLOW_FATE_DROP);
		live_command("do pass web", 0);
		assert_int_equal(tripd_bed_fate(&live_bed, 0), TRIP_FLOW_FATE_PASS);
		live_command("reload t\n" SPENDING(" actions drop / end"), 0);
		live_command("reload t\n" SPENDING(""), 0);
		assert_int_equal(tripd_bed_fate(&live_bed, 0), TRIP_FLOW_FATE_PASS);
		tripd_bed_close(&live_bed);
	}
}

/* What drops right behind a pass by hand is known to have come behind it. */
static void
what_passes_may_be_dropped_at_once(void **state)
{
	tripd_bed_open(&live_bed, SPENDING(""), (struct tripd_live){16, 16, 16, 1});
	send_some(1, 1, true);
	/* Which its home has not looked at yet. */
	assert_true(live_burst(1));
	live_command("do pass web", 0);
	assert_int_equal(live_bed.quota.n_trips, 1);
	assert_int_equal(tripd_bed_fate(&live_bed, 0), TRIP_FLOW_FATE_DROP);
	live_command("do reset q", 0);
	assert_int_equal(tripd_bed_fate(&live_bed, 0), TRIP_FLOW_FATE_PASS);
	tripd_bed_close(&live_bed);
}

/* By its flows, those that have gone among them. */
static void
expect_counted(unsigned int count, uint64_t packets)
{
	struct trip_flow_count sum;

	assert_int_equal(trip_apply_count_query(&live_bed.quota.counts[count], &sum), 0);
	assert_int_equal(sum.packets, packets);
}

#define FED WEB DNS "quota q 1000 of dns.packets, web.packets\n"

/* What an operation has ended feeds the quota no more that it was of, and holds its name no longer
 * than the quota is there; it stays ended, and takes nothing from others. */
static void
what_has_ended_lets_go_of_a_quota(void **state)
{
	static const char *const removals[] = {
		"remove q", "reload f\n" WEB DNS, "apply f\nquota q 1000 of web.packets\n"};

	for (unsigned int i = 0; i < RTE_DIM(removals); i++) {
		tripd_bed_open(&live_bed, FED, (struct tripd_live){16, 16, 64, 1});
		send_some(9, 3, true);
		send_some(1, 2, true);
		live_command("do delete dns", 0);
		send_some(9, 1, true);
		expect_spent(0, 5);
		live_command(removals[i], 0);
		if (i == 2)
			live_command("remove q", 0);
		live_command("reload f\ncounter q\n" WEB DNS, 0);
		send_some(9, 1, true);
		send_some(1, 1, true);
		assert_int_equal(tripd_bed_fate(&live_bed, 1), TRIP_FLOW_FATE_DELETED);
		live_check_cntr(live_bed.quota.counts[1].packets, 3);
		expect_counted(1, 3);
		live_check_cntr(live_bed.quota.counts[0].packets, 3);
		live_command("do set q 7", 0);
		live_command("remove q", 0);
		live_command("reload f\n" FED, 0);
		send_some(9, 1, true);
		send_some(1, 1, true);
		live_check_cntr(live_bed.quota.counts[1].packets, 3);
		expect_spent(live_bed.quota.rules->n_counters - 1, 1);
		tripd_bed_close(&live_bed);
	}
}

#define ASKING "count asked port 0 pattern ipv4 src in us / udp dst in ports / end\n"

static void
sets_change_and_counts_stay(void **state)
{
	tripd_bed_open(&live_bed, "set us { 10.0.0.0/24 }\nset ports { 5, 6 }\n" ASKING,
		(struct tripd_live){16, 16, 16, 1});
	for (unsigned int i = 4; i < 8; i++)
		live_packet(i);
	live_check_cntr(live_bed.quota.counts[0].packets, 2);
	live_answered("apply f\nset ports { 6, 7 }\n", 0, "~ set ports { 6, 7 }\n");
	for (unsigned int i = 4; i < 8; i++)
		live_packet(i);
	live_check_cntr(live_bed.quota.counts[0].packets, 4);
	live_answered("diff f\nset us { 10.0.0.0/24 }\nset  ports { 6, 7 } # same\n" ASKING, 0, "");
	live_declined("remove us", -EBUSY, "count asked asks for the set us");
	live_declined("apply f\nset us file /dev/null\n", -EPERM, "comes with tripd's own rules");
	live_declined("reread us", -ENOENT, "no 'set' with a file is named 'us'");
	live_declined("apply f\nset us { 10.0.0.0/33 }\n", -EINVAL, "f:1:10: expected an address");
	/* Another set in place of one that goes, in one change. */
	live_answered(
		"reload f\nset them { 10.0.0.1 }\nset ports { 6, 7 }\ncount asked port 0 pattern "
		"ipv4 src in them / udp dst in ports / end\n",
		0,
		"- set us { 10.0.0.0/24 }\n"
		"~ count asked port 0 pattern ipv4 src in them / udp dst in ports / end\n"
		"+ set them { 10.0.0.1 }\n");
	live_packet(6);
	live_check_cntr(live_bed.quota.counts[0].packets, 5);
	live_answered("remove asked", 0,
		"- count asked port 0 pattern ipv4 src in them / udp dst in ports / end\n");
	live_answered("remove them", 0, "- set them { 10.0.0.1 }\n");
	assert_int_equal(live_bed.quota.rules->n_sets, 3);
	tripd_bed_close(&live_bed);
}

/* What is allowed passes whatever drops the rest, and counts in one rule and in `also`. */
static void
what_is_allowed_is_never_dropped(void **state)
{
	tripd_bed_open(&live_bed,
		"count all port 0 pattern eth / end\nalso count every port 0 pattern eth / end\n"
		"quota few 3 of all.packets\nwhen few spent drop all\n"
		"allow five port 0 pattern udp dst is 5 / end\n",
		(struct tripd_live){16, 16, 16, 1});
	for (unsigned int i = 0; i < 8; i++)
		assert_int_equal(live_packet(i), i < 3 || i == 5);
	live_command("do drop every", 0);
	assert_true(live_packet(5));
	live_check_cntr(live_bed.quota.counts[2].packets, 2);
	live_check_cntr(live_bed.quota.counts[1].packets, 9);
	live_check_cntr(live_bed.quota.counts[0].packets, 7);
	live_declined("do drop five", -EINVAL, "'five' is an 'allow', which nothing drops");
	tripd_bed_close(&live_bed);
}

/* It comes while others are at work, and goes before them all the same. */
static void
what_is_allowed_later_goes_first(void **state)
{
	tripd_bed_open(&live_bed,
		"count all port 0 pattern eth / end actions drop / end\nset few { 3 }\n",
		(struct tripd_live){16, 16, 16, 1});
	assert_false(live_packet(2));
	live_answered("apply f\nallow two port 0 pattern udp dst is 2 / end\n"
		      "allow three port 0 pattern udp dst in few / end\n",
		0,
		"+ allow two port 0 pattern udp dst is 2 / end\n"
		"+ allow three port 0 pattern udp dst in few / end\n");
	assert_true(live_packet(2) && live_packet(3) && !live_packet(4));
	live_command("apply f\nset few { 4 }\n", 0);
	assert_true(live_packet(2) && !live_packet(3) && live_packet(4));
	live_command("remove two", 0);
	assert_false(live_packet(2));
	live_check_cntr(live_bed.quota.counts[0].packets, 4);
	tripd_bed_close(&live_bed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_refused_changes_nothing),
		cmocka_unit_test(what_is_hostile_is_refused),
		cmocka_unit_test(what_has_gone_keeps_its_counts),
		cmocka_unit_test(a_name_that_has_gone_is_free),
		cmocka_unit_test(rules_come_and_go_for_ever),
		cmocka_unit_test(what_drops_for_a_time_ends),
		cmocka_unit_test(what_drops_for_a_time_lasts_no_longer),
		cmocka_unit_test(what_a_rate_has_begun_goes_on),
		cmocka_unit_test(what_is_dropped_by_hand_stays_so),
		cmocka_unit_test(what_others_hold_stays_so),
		cmocka_unit_test(what_passes_may_be_dropped_at_once),
		cmocka_unit_test(a_quota_changes_at_work),
		cmocka_unit_test(a_quota_that_has_come_begins_anew),
		cmocka_unit_test(a_quota_changes_beside_others),
		cmocka_unit_test(what_is_told_is_done),
		cmocka_unit_test(what_has_pairs_goes_whole),
		cmocka_unit_test(what_is_policed_stays_so),
		cmocka_unit_test(what_has_ended_lets_go_of_a_quota),
		cmocka_unit_test(sets_change_and_counts_stay),
		cmocka_unit_test(what_is_allowed_is_never_dropped),
		cmocka_unit_test(what_is_allowed_later_goes_first),
	};
	int ret;

	ret = tripd_bed_init();
	return ret != 0 ? ret : cmocka_run_group_tests(tests, NULL, NULL);
}

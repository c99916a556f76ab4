/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tripd --demo: three quotas trip on live traffic, for everybody to see.
 *
 *     kernel's stack -> tap0 = port 0 -> tripd -> port 1 = tap1 -> packet socket
 *
 * All of it is tripd as it always runs, with rules, forwarder and polling lcore; what is the demo's
 * own is the traffic, which comes and goes through the kernel. It proceeds in rounds: a batch is
 * sent, a marker behind it says when it is through (wire.c), then the trips of the round are read.
 * A drop that is read between two rounds was in force before the next was sent.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "demo.h"
#include "rules.h"
#include "run/report.h"
#include "run/signals.h"
#include "run/view.h"
#include "start/describe.h"
#include "start/fail.h"
#include "start/options.h"

#define ROUNDS 200
#define ROUND_MS 20
#define BAR 12

/* In no order on purpose: what fires when is not for the file to say. */
static const char demo_rules[] =
	"count dns  port 0 pattern eth / ipv4 / udp dst is 53 / end\n"
	"count web  port 0 pattern eth / ipv4 / udp dst is 443 / end\n"
	"count ping port 0 pattern eth / ipv4 / icmp type is 8 / end\n"
	"counter warnings\n"
	"when dns.packets  >= 1500               drop dns\n"
	"when dns.packets  >= 1000               log \"two thirds of dns\"\n"
	"when dns.packets  >= 1000               add warnings 1\n"
	"when dns.packets  >= 500                log \"one third of dns\"\n"
	"when web.bytes    >= 2M                 drop web\n"
	"when web.bytes    >= 500k  every 500k   add warnings 1\n"
	"when ping.packets >= 200   every 200    log \"200 more pings\"\n"
	"when warnings     >= 4                  log \"four warnings\"\n";

/* The flows of the wire are the counts of the rules, in this order. */
static const struct {
	const char *limit;
	bool bytes;
	uint64_t value;
	/* Packets of a round: more than arrive in one burst, of no common measure. */
	unsigned int batch;
} quotas[] = {
	[TRIPD_WIRE_DNS] = {"1,500 packets", false, 1500, 13},
	[TRIPD_WIRE_WEB] = {"2,000,000 bytes", true, 2000000, 17},
	[TRIPD_WIRE_PING] = {"watched only", false, 0, 5},
};

static void
introduce(struct tripd_demo *demo)
{
	struct tripd_screen *screen = &demo->screen;
	const char *dim = tripd_screen_colour(screen, TRIPD_DIM);
	const char *plain = tripd_screen_colour(screen, TRIPD_PLAIN);
	const char *line = demo_rules;

	tripd_screen_say(screen, "%sTripline: three quotas on live traffic%s",
		tripd_screen_colour(screen, TRIPD_BOLD), plain);
	tripd_screen_say(screen, "%s", "");
	tripd_screen_say(screen,
		"The kernel sends out of tap0; tripd forwards port 0 to port 1; what "
		"comes");
	tripd_screen_say(screen, "out of tap1 is counted there once more. The rules, in no order:");
	tripd_screen_say(screen, "%s", "");
	while (*line != '\0') {
		size_t length = strcspn(line, "\n");

		tripd_screen_say(screen, "  %s%.*s%s", dim, (int)length, line, plain);
		line += length + 1;
	}
	tripd_screen_say(screen, "%s", "");
	tripd_screen_end(screen);
}

static void
draw_bar(char bar[BAR + 4], uint64_t used, uint64_t limit)
{
	unsigned int full = used >= limit ? BAR : (unsigned int)(used * BAR / limit);

	strcpy(bar, " [");
	memset(bar + 2, '#', full);
	memset(bar + 2 + full, '.', BAR - full);
	strcpy(bar + 2 + BAR, "]");
}

static void
draw_flow(struct tripd_demo *demo, unsigned int flow)
{
	struct tripd_screen *screen = &demo->screen;
	char sent[16], counted[16], arrived[16], dropped[16], bar[BAR + 4] = "";
	const struct tripd_wire *wire = &demo->wire;
	struct trip_flow_count count = {.size = sizeof(count)};
	const char *state;

	(void)trip_apply_count_query(&demo->run.quota.counts[flow], &count);
	tripd_describe_number(wire->sent[flow], sent);
	tripd_describe_number(count.packets, counted);
	tripd_describe_number(wire->arrived[flow], arrived);
	tripd_describe_number(wire->sent[flow] - wire->arrived[flow], dropped);
	if (quotas[flow].value != 0)
		draw_bar(bar, quotas[flow].bytes ? count.bytes : count.packets, quotas[flow].value);
	state = tripd_screen_colour(
		screen, count.fate == TRIP_FLOW_FATE_DROP ? TRIPD_YELLOW : TRIPD_GREEN);
	tripd_screen_say(screen, "%-6s %-15s %8s %8s %8s %8s  %s%s%s%s",
		demo->run.rules->counts[flow].name, quotas[flow].limit, sent, counted, arrived,
		dropped, state, count.fate == TRIP_FLOW_FATE_DROP ? "drop" : "pass", bar,
		tripd_screen_colour(screen, TRIPD_PLAIN));
}

static void
draw(struct tripd_demo *demo)
{
	struct tripd_screen *screen = &demo->screen;

	tripd_screen_say(screen, "%s", "");
	tripd_screen_say(screen, "%s%-6s %-15s %8s %8s %8s %8s  %s%s",
		tripd_screen_colour(screen, TRIPD_BOLD), "flow", "quota", "sent", "counted",
		"arrived", "dropped", "fate", tripd_screen_colour(screen, TRIPD_PLAIN));
	for (unsigned int flow = 0; flow < TRIPD_WIRE_MARKER; flow++)
		draw_flow(demo, flow);
}

static void
say_trip_head(struct tripd_demo *demo)
{
	tripd_screen_say(&demo->screen, "%s%-18s    %-11s %-9s %9s  %s%s",
		tripd_screen_colour(&demo->screen, TRIPD_BOLD), "counter", "threshold", "overshoot",
		"latency", "what fired", tripd_screen_colour(&demo->screen, TRIPD_PLAIN));
	tripd_screen_end(&demo->screen);
}

static void
update(struct tripd_demo *demo, unsigned int round)
{
	struct tripd_screen *screen = &demo->screen;

	tripd_screen_begin(screen);
	while (demo->said < demo->run.quota.n_trips)
		tripd_view_trip(screen, &demo->run.quota, demo->said++);
	if (!screen->terminal && round % (ROUNDS / 4) == ROUNDS / 4 - 1 && round + 1 < ROUNDS)
		tripd_screen_say(
			screen, "-- %u %% of the traffic sent --", 100 * (round + 1) / ROUNDS);
	tripd_screen_block(screen);
	if (screen->terminal)
		draw(demo);
	tripd_screen_end(screen);
}

/* Notes what had arrived of a flow when its drop was read. The round is through: nothing of it is
 * on its way any more. */
static void
note_drops(struct tripd_demo *demo, size_t from)
{
	const struct tripd_quota *quota = &demo->run.quota;

	for (size_t i = from; i < quota->n_trips; i++) {
		const struct trip_rules_when *when = &quota->rules->whens[quota->trips[i].when];

		if (when->op != TRIP_RULES_OP_DROP || quota->trips[i].result != 0 ||
			demo->dropped[when->target])
			continue;
		demo->dropped[when->target] = true;
		demo->arrived_at_drop[when->target] = demo->wire.arrived[when->target];
	}
}

static int
say_failure(struct tripd_demo *demo, int error)
{
	tripd_screen_begin(&demo->screen);
	tripd_screen_end(&demo->screen);
	if (error == -ETIMEDOUT)
		return tripd_fail(TRIPD_EXIT_RUN,
			"demo: a packet that no rule drops went in at tap0 and has not come out of "
			"tap1 within ten seconds");
	if (error == -ENOBUFS)
		return tripd_fail(TRIPD_EXIT_RUN,
			"demo: the packet socket on tap1 overflowed; what arrived cannot be "
			"counted");
	return tripd_fail(TRIPD_EXIT_RUN, "demo: sending: %s", strerror(-error));
}

static int
play(struct tripd_demo *demo)
{
	size_t known;
	int ret = 0;

	say_trip_head(demo);
	for (unsigned int round = 0; round < ROUNDS; round++) {
		for (unsigned int flow = 0; flow < TRIPD_WIRE_MARKER && ret == 0; flow++)
			ret = tripd_wire_send(
				&demo->wire, (enum tripd_wire_flow)flow, quotas[flow].batch);
		if (ret == 0)
			ret = tripd_wire_fence(&demo->wire);
		if (ret != 0)
			return say_failure(demo, ret);
		known = demo->run.quota.n_trips;
		if (tripd_run_wait(&demo->run, ROUND_MS))
			return tripd_fail(TRIPD_EXIT_RUN, "demo: interrupted");
		note_drops(demo, known);
		update(demo, round);
	}
	return 0;
}

static int
conclude(struct tripd_demo *demo)
{
	const char *report = demo->run.options->report;
	unsigned int broken;
	int ret = tripd_run_stop(&demo->run);

	tripd_screen_begin(&demo->screen);
	while (demo->said < demo->run.quota.n_trips)
		tripd_view_trip(&demo->screen, &demo->run.quota, demo->said++);
	draw(demo);
	tripd_screen_say(&demo->screen, "%s", "");
	broken = tripd_verdict_say(demo);
	tripd_screen_end(&demo->screen);
	if (broken > 0)
		ret = tripd_fail(TRIPD_EXIT_RUN, "demo: %u of its claims %s not hold", broken,
			broken == 1 ? "does" : "do");
	if (report != NULL && tripd_report_write(report, &demo->run.quota) != 0)
		ret = TRIPD_EXIT_RUN;
	return ret;
}

static int
parse_rules(struct tripd_run *run)
{
	struct trip_rules_errors *errors;

	if (trip_rules_parse_text(
		    "demo", demo_rules, sizeof(demo_rules) - 1, &run->rules, &errors) == 0)
		return 0;
	trip_rules_errors_print(errors, stderr);
	trip_rules_errors_free(errors);
	return TRIPD_EXIT_RUN;
}

int
tripd_demo_run(const struct tripd_options *options)
{
	static struct tripd_demo demo;
	struct tripd_options own = *options;
	int ret;

	own.pairs[own.n_pairs++] = (struct tripd_pair){0, 1};
	demo.run.options = &own;
	demo.run.out = own.report != NULL && strcmp(own.report, "-") == 0 ? stderr : stdout;
	demo.wire.capture = -1;
	tripd_screen_init(&demo.screen, demo.run.out);
	if (tripd_wire_unshare() != 0)
		return TRIPD_EXIT_RUN;
	ret = parse_rules(&demo.run);
	if (ret == 0)
		ret = tripd_run_prepare(&demo.run);
	if (ret == 0) {
		introduce(&demo);
		ret = tripd_run_start(&demo.run);
	}
	demo.run.ended = ret != 0 && tripd_signals_came();
	if (ret == 0 && tripd_wire_open(&demo.wire, "tap0", "tap1") != 0)
		ret = TRIPD_EXIT_RUN;
	if (ret == 0)
		ret = play(&demo);
	if (ret == 0)
		ret = conclude(&demo);
	tripd_wire_close(&demo.wire);
	return tripd_run_close(&demo.run, ret);
}

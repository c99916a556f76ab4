/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks the demo's claims: by what was sent, what tripd counted, and what the second tap saw. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include <trip.h>

#include "demo.h"
#include "rules.h"
#include "start/describe.h"

__attribute__((format(printf, 3, 4))) static unsigned int
claim(struct tripd_demo *demo, bool holds, const char *format, ...)
{
	struct tripd_screen *screen = &demo->screen;
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	tripd_screen_say(screen, "%s%s%s  %s",
		tripd_screen_colour(screen, holds ? TRIPD_GREEN : TRIPD_RED), holds ? "ok " : "NOT",
		tripd_screen_colour(screen, TRIPD_PLAIN), text);
	return !holds;
}

static unsigned int
check_counts(struct tripd_demo *demo)
{
	uint64_t sent = 0, counted = 0, sent_bytes = 0, counted_bytes = 0;
	struct trip_flow_count count = {.size = sizeof(count)};
	bool same = true;
	char texts[4][16];

	for (unsigned int i = 0; i < TRIPD_WIRE_MARKER; i++) {
		uint64_t bytes = demo->wire.sent[i] * tripd_wire_frame((enum tripd_wire_flow)i);

		(void)trip_apply_count_query(&demo->run.quota.counts[i], &count);
		same = same && count.packets == demo->wire.sent[i] && count.bytes == bytes;
		sent += demo->wire.sent[i];
		sent_bytes += bytes;
		counted += count.packets;
		counted_bytes += count.bytes;
	}
	tripd_describe_number(sent, texts[0]);
	tripd_describe_number(counted, texts[1]);
	tripd_describe_number(sent_bytes, texts[2]);
	tripd_describe_number(counted_bytes, texts[3]);
	return claim(demo, same, "every packet counted: %s of %s packets, %s of %s bytes", texts[1],
		texts[0], texts[3], texts[2]);
}

/*
 * Two trips of one counter that were queued before the traffic stand in order when thresholds rise,
 * or are equal and the rules have them in that order. One that repeats (every) is queued anew each
 * time, behind what is ready then: of it only its own order is promised.
 */
static bool
in_order(const struct tripd_quota *quota, const struct tripd_trip *a, const struct tripd_trip *b)
{
	const struct trip_rules_when *x = &quota->rules->whens[a->when];
	const struct trip_rules_when *y = &quota->rules->whens[b->when];

	if (a->when == b->when)
		return a->threshold < b->threshold;
	if (x->ref != y->ref || x->index != y->index || a->threshold != x->threshold ||
		b->threshold != y->threshold)
		return true;
	return a->threshold < b->threshold || (a->threshold == b->threshold && a->when < b->when);
}

static unsigned int
check_order(struct tripd_demo *demo)
{
	const struct tripd_quota *quota = &demo->run.quota;
	uint64_t worst = 0;
	bool ordered = true, reached = true;

	for (size_t i = 0; i < quota->n_trips; i++) {
		const struct tripd_trip *trip = &quota->trips[i];

		reached = reached && trip->value >= trip->threshold && trip->result == 0;
		if (quota->rules->whens[trip->when].ref == TRIP_RULES_REF_PACKETS &&
			trip->value - trip->threshold > worst)
			worst = trip->value - trip->threshold;
		for (size_t k = i + 1; k < quota->n_trips; k++)
			ordered = ordered && in_order(quota, trip, &quota->trips[k]);
	}
	return claim(demo, ordered,
		       "%zu trips in threshold order, equal ones as the rules have them",
		       quota->n_trips) +
	       claim(demo, reached && quota->n_trips > 0,
		       "none early, and none failed; at worst %" PRIu64 " packets past a threshold",
		       worst);
}

/* Every statement has fired as often as its counter gives cause for. */
static unsigned int
check_complete(struct tripd_demo *demo)
{
	const struct tripd_quota *quota = &demo->run.quota;
	unsigned int wrong = 0;

	for (unsigned int i = 0; i < quota->rules->n_whens; i++) {
		const struct trip_rules_when *when = &quota->rules->whens[i];
		uint64_t value = tripd_quota_value(quota, when), due = 0;

		if (value >= when->threshold)
			due = when->every == 0 ? 1 : 1 + (value - when->threshold) / when->every;
		wrong += quota->fired[i] != due || due == 0;
	}
	return claim(demo, wrong == 0, "all %u statements fired, each as often as it was due",
		quota->rules->n_whens);
}

static unsigned int
check_flow(struct tripd_demo *demo, unsigned int flow)
{
	const char *name = demo->run.rules->counts[flow].name;
	uint64_t sent = demo->wire.sent[flow], arrived = demo->wire.arrived[flow];
	char texts[3][16];

	tripd_describe_number(sent, texts[0]);
	tripd_describe_number(arrived, texts[1]);
	tripd_describe_number(sent - arrived, texts[2]);
	if (!demo->dropped[flow])
		return claim(demo, sent == arrived, "%s was never dropped: %s of %s arrived", name,
			texts[1], texts[0]);
	return claim(demo, arrived == demo->arrived_at_drop[flow] && arrived > 0 && arrived < sent,
		"after its drop not one packet of %s arrived: %s before, %s not", name, texts[1],
		texts[2]);
}

unsigned int
tripd_verdict_say(struct tripd_demo *demo)
{
	unsigned int broken = 0, flow;

	broken += check_counts(demo);
	broken += check_order(demo);
	broken += check_complete(demo);
	broken += claim(demo,
		demo->dropped[TRIPD_WIRE_DNS] && demo->dropped[TRIPD_WIRE_WEB] &&
			!demo->dropped[TRIPD_WIRE_PING],
		"two quotas dropped their flow, and only those");
	for (flow = 0; flow < TRIPD_WIRE_MARKER; flow++)
		broken += check_flow(demo, flow);
	return broken;
}

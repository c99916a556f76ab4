/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts and counters that are reset, by rules and by hand: they begin at 0, what stands on them is
 * armed again, and what that has dropped passes. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rules.h"
#include "run/signals.h"
#include "trip_test.h"
#include "tripd_bed.h"

#define ALL "count all port 0 pattern eth / end\n"

static struct tripd_bed bed;

static void
open_bed(const char *text)
{
	tripd_bed_open(&bed, text, (struct tripd_live){1, 1, 16, 1});
}

/* No period ends here. */
static void
update(void)
{
	assert_int_equal(tripd_period_update(&bed.quota, tripd_quota_seconds(&bed.quota)), 0);
}

/* What the control thread does each time that it wakes, until nothing is left to do. */
static void
turn(void)
{
	unsigned int rounds = 0;

	do {
		assert_true(rounds++ < 1000);
		tripd_bed_progress(&bed);
		tripd_quota_read(&bed.quota);
		update();
		tripd_bed_progress(&bed);
	} while (tripd_quota_read(&bed.quota) > 0);
}

/* So many packets, of which all that is due by now fires and is done. */
static void
send_some(uint16_t n)
{
	tripd_bed_count(&bed, n);
	turn();
}

/* The operator's own word, by a command: what it answers, to be freed. */
static char *
answer_of(const char *text)
{
	char *answer = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&answer, &size);
	int status = tripd_command(text, strlen(text), file, &bed.commands);

	fclose(file);
	if (status != 0)
		fail_msg("%s: %d: %s", text, status, answer);
	return answer;
}

static void
give(const char *text)
{
	free(answer_of(text));
	turn();
}

static void
expect_count(uint64_t packets)
{
	tripd_quota_freshen(&bed.quota);
	assert_int_equal(trip_cntr_read(bed.quota.counts[0].packets), packets);
	assert_int_equal(trip_cntr_read(bed.quota.counts[0].bytes), TRIPD_BED_BYTES * packets);
}

static void
expect_trip(size_t at, unsigned int when, uint64_t threshold)
{
	const struct tripd_trip *trip = &bed.quota.trips[at];

	if (at >= bed.quota.n_trips || trip->when != when || trip->threshold != threshold ||
		trip->ends)
		fail_msg("trip %zu of %zu is not of statement %u at %lu", at, bed.quota.n_trips,
			when, (unsigned long)threshold);
}

/* ---- armed again ------------------------------------------------------------------------------
 */

/* The statement that resets, one that fires once, and one that is of bytes: each time. */
static void
what_is_reset_is_armed_again(void **state)
{
	open_bed(ALL "counter n\n"
		     "when all.packets >= 4 every 4 reset all\n"
		     "when all.packets >= 2 add n 1\nwhen all.bytes >= 180 every 1000 log\n");
	for (unsigned int i = 0; i < 5; i++) {
		send_some(2);
		expect_trip(3 * i, 1, 2);
		send_some(2);
		assert_int_equal(bed.quota.n_trips, 3 * i + 3);
		assert_int_equal(trip_cntr_read(bed.quota.counters[0]), i + 1);
		expect_count(0);
	}
	send_some(3);
	assert_int_equal(bed.quota.n_trips, 17);
	expect_count(3);
	tripd_bed_close(&bed);
}

/* Of a counter, by rules of another, and by itself. */
static void
a_counter_is_reset(void **state)
{
	open_bed(ALL "counter n\ncounter m\n"
		     "when n >= 3 add m 1\nwhen n >= 5 reset n\n"
		     "when all.packets >= 2 every 2 add n 1\nwhen m >= 2 every 2 reset all\n");
	for (unsigned int i = 0; i < 10; i++)
		send_some(2);
	/* The count began anew at the second of m, when n was at 3 of its second time. */
	assert_int_equal(trip_cntr_read(bed.quota.counters[0]), 0);
	assert_int_equal(trip_cntr_read(bed.quota.counters[1]), 2);
	expect_count(4);
	give("reset n");
	send_some(6);
	assert_int_equal(trip_cntr_read(bed.quota.counters[0]), 3);
	assert_int_equal(trip_cntr_read(bed.quota.counters[1]), 3);
	tripd_bed_close(&bed);
}

/* An all() and an any() begin with none of their conditions held. */
static void
pairs_begin_anew(void **state)
{
	open_bed(ALL "counter n\n"
		     "when all(all.packets >= 2, n >= 1) drop all\n"
		     "when any(all.packets >= 9, all(all.bytes >= 120, n >= 2)) log\n"
		     "when n >= 1 every 1 log\n");
	for (unsigned int i = 0; i < 3; i++) {
		send_some(2);
		assert_int_equal(tripd_bed_fate(&bed, 0), TRIP_FLOW_FATE_PASS);
		trip_cntr_add(bed.quota.counters[0], 1);
		turn();
		assert_int_equal(tripd_bed_fate(&bed, 0), TRIP_FLOW_FATE_DROP);
		give("reset all");
		assert_int_equal(tripd_bed_fate(&bed, 0), TRIP_FLOW_FATE_PASS);
		assert_int_equal(bed.quota.n_trips, 2 * i + 2);
		/* The other one is 1 again. */
		give("reset n");
	}
	trip_cntr_add(bed.quota.counters[0], 2);
	send_some(2);
	assert_int_equal(bed.quota.n_trips, 6 + 4);
	tripd_bed_close(&bed);
}

/* What is reached at 0 is reached in any case: it is not reached again and again. */
static void
what_is_reached_at_0_does_not_go_round(void **state)
{
	open_bed(ALL "counter n\ncounter m\n"
		     "when n >= 0 reset n\nwhen n >= 0 every 3 add m 1\nwhen n >= 0 drop all\n"
		     "when m >= 1 every 1 reset n\n");
	turn();
	assert_int_equal(bed.quota.n_trips, 4);
	assert_int_equal(tripd_bed_fate(&bed, 0), TRIP_FLOW_FATE_DROP);
	give("reset n");
	assert_int_equal(bed.quota.n_trips, 4);
	assert_int_equal(tripd_bed_fate(&bed, 0), TRIP_FLOW_FATE_DROP);
	trip_cntr_add(bed.quota.counters[0], 3);
	turn();
	assert_int_equal(bed.quota.n_trips, 6);
	assert_int_equal(trip_cntr_read(bed.quota.counters[0]), 0);
	/* What its error makes due, too. */
	trip_cntr_adderr(bed.quota.counters[0], 7);
	turn();
	assert_int_equal(bed.quota.n_trips, 6 + 4);
	give("reset n");
	assert_int_equal(bed.quota.n_trips, 10);
	trip_cntr_add(bed.quota.counters[0], 2);
	turn();
	assert_int_equal(bed.quota.n_trips, 12);
	tripd_bed_close(&bed);
}

/* An all() or any() that holds by what does not begin anew goes on: it fires again once it has not
 * held, and so what it has dropped stays dropped till then. */
static void
what_still_holds_does_not_go_round(void **state)
{
	open_bed(ALL "counter n\ncounter m\n"
		     "when any(all.packets >= 4, after 1ns) reset all\n"
		     "when any(all.packets >= 3, n >= 1) add m 1\n"
		     "when all(any(all.packets >= 3, n >= 1), n >= 2) drop all\n");
	while (bed.quota.n_trips == 0)
		turn();
	assert_int_equal(bed.quota.n_trips, 1);
	trip_cntr_add(bed.quota.counters[0], 1);
	turn();
	assert_int_equal(trip_cntr_read(bed.quota.counters[1]), 1);
	give("reset all");
	send_some(3);
	give("reset n");
	assert_int_equal(trip_cntr_read(bed.quota.counters[1]), 1);
	give("reset all");
	send_some(2);
	assert_int_equal(trip_cntr_read(bed.quota.counters[1]), 1);
	send_some(1);
	assert_int_equal(trip_cntr_read(bed.quota.counters[1]), 2);
	trip_cntr_add(bed.quota.counters[0], 2);
	turn();
	assert_int_equal(tripd_bed_fate(&bed, 0), TRIP_FLOW_FATE_DROP);
	give("reset all");
	assert_int_equal(tripd_bed_fate(&bed, 0), TRIP_FLOW_FATE_DROP);
	assert_int_equal(bed.quota.n_trips, 4);
	give("reset n");
	assert_int_equal(tripd_bed_fate(&bed, 0), TRIP_FLOW_FATE_PASS);
	trip_cntr_add(bed.quota.counters[0], 2);
	turn();
	assert_int_equal(tripd_bed_fate(&bed, 0), TRIP_FLOW_FATE_DROP);
	assert_int_equal(trip_cntr_read(bed.quota.counters[1]), 3);
	tripd_bed_close(&bed);
}

/* The next period of a quota is told to what waits for 0; what resets it is not told so. */
static void
a_quota_that_is_reset_does_not_go_round(void **state)
{
	const struct tripd_period *period;

	open_bed(ALL "counter c\nquota q 8 per minute of all.packets\n"
		     "when q >= 0 add c 1\nwhen c >= 1 every 1 reset q\n");
	period = &bed.quota.periods.all[0];
	for (unsigned int i = 1; i <= 3; i++) {
		turn();
		assert_int_equal(trip_cntr_read(bed.quota.counters[0]), i);
		assert_int_equal(period->n_ended, 3 * i - 2);
		give("reset q");
		assert_int_equal(trip_cntr_read(bed.quota.counters[0]), i);
		assert_int_equal(tripd_period_update(&bed.quota, period->ends), 0);
	}
	tripd_bed_close(&bed);
}

/* ---- what was dropped -------------------------------------------------------------------------
 */

/* By a statement on the count, whatever count it has dropped; not what another statement has, nor
 * what was dropped by hand. */
static void
what_was_dropped_passes(void **state)
{
	open_bed(ALL "count two port 0 priority 1 pattern eth / end\ncounter n\n"
		     "when all.packets >= 3 drop all\nwhen all.bytes >= 180 police two 8bit/s\n"
		     "when n >= 1 drop all\nwhen n >= 5 every 5 reset all\n");
	send_some(3);
	assert_int_equal(tripd_bed_fate(&bed, 0), TRIP_FLOW_FATE_DROP);
	assert_int_equal(tripd_bed_fate(&bed, 1), TRIP_FLOW_FATE_POLICE);
	give("reset all");
	assert_int_equal(tripd_bed_fate(&bed, 0), TRIP_FLOW_FATE_PASS);
	assert_int_equal(tripd_bed_fate(&bed, 1), TRIP_FLOW_FATE_PASS);
	send_some(4);
	assert_int_equal(tripd_bed_fate(&bed, 0), TRIP_FLOW_FATE_DROP);
	give("do drop all");
	give("reset all");
	assert_int_equal(tripd_bed_fate(&bed, 0), TRIP_FLOW_FATE_DROP);
	assert_int_equal(tripd_bed_fate(&bed, 1), TRIP_FLOW_FATE_PASS);
	give("do pass all");
	give("do add n 1");
	send_some(3);
	give("do add n 4");
	/* By the rules; n has dropped it, and is not reset. */
	expect_count(0);
	assert_int_equal(tripd_bed_fate(&bed, 0), TRIP_FLOW_FATE_DROP);
	assert_int_equal(tripd_bed_fate(&bed, 1), TRIP_FLOW_FATE_PASS);
	give("reset n");
	assert_int_equal(tripd_bed_fate(&bed, 0), TRIP_FLOW_FATE_PASS);
	tripd_bed_close(&bed);
}

/* What it has begun that ends by itself ends with a reset, and that is told: once. */
static void
what_lasts_ends(void **state)
{
	open_bed(
		ALL "when all.packets >= 2 drop all for 1h\n"
		    "when all.packets rate >= 3000/h over 4m until < 30/h for 2m exec /bin/true\n");
	for (unsigned int i = 1; i <= 3; i++) {
		send_some(TRIPD_BED_BURST);
		for (unsigned int k = 0; k < 12; k++)
			send_some(TRIPD_BED_BURST);
		assert_int_equal(tripd_bed_fate(&bed, 0), TRIP_FLOW_FATE_DROP);
		assert_int_equal(bed.quota.n_trips, 4 * i - 2);
		give("reset all");
		assert_int_equal(tripd_bed_fate(&bed, 0), TRIP_FLOW_FATE_PASS);
		assert_int_equal(bed.quota.n_trips, 4 * i);
		assert_true(bed.quota.trips[4 * i - 2].ends && bed.quota.trips[4 * i - 1].ends);
		assert_int_equal(bed.quota.trips[4 * i - 2].threshold, 2);
		give("reset all");
		assert_int_equal(bed.quota.n_trips, 4 * i);
	}
	tripd_bed_close(&bed);
}

/* ---- between ----------------------------------------------------------------------------------
 */

/* The packets of the next call's firing; and then no more. */
static void
count_between(void *arg, const struct tripd_trip *trip)
{
	bed.quota.told = NULL;
	tripd_bed_count(&bed, 6);
	tripd_quota_freshen(&bed.quota);
}

static void
expect_crossings(const char *reset, unsigned int more)
{
	/* It is read when the work is taken back. */
	tripd_bed_count(&bed, 3);
	tripd_bed_progress(&bed);
	bed.quota.told = count_between;
	if (reset != NULL)
		free(answer_of(reset));
	else
		update();
	assert_int_equal(trip_cntr_read(bed.quota.counters[0]), 1);
	assert_int_equal(bed.quota.n_trips, 6 + more);
	expect_trip(more, 2, 2);
	expect_trip(1 + more, 0, 3);
	expect_trip(2 + more, 2, 5);
	expect_trip(3 + more, 1, 8);
	expect_trip(4 + more, 2, 8);
	expect_trip(5 + more, 3, 540);
	/* And not once more. */
	send_some(1);
	assert_int_equal(bed.quota.n_trips, 6 + more);
	expect_count(1);
}

#define CROSSED                                   \
	ALL "counter n\n"                         \
	    "when all.packets >= 3 log\n"         \
	    "when all.packets >= 8 add n 1\n"     \
	    "when all.packets >= 2 every 3 log\n" \
	    "when all.bytes >= 540 log\n"

/* What is counted after the work was taken back fires what it has crossed, as what was before. */
static void
what_is_crossed_by_then_fires(void **state)
{
	open_bed(CROSSED);
	expect_crossings("reset all", 0);
	tripd_bed_close(&bed);
	open_bed(CROSSED "when after 1ns reset all\n");
	while (bed.quota.n_trips == 0) {
		tripd_bed_progress(&bed);
		tripd_quota_read(&bed.quota);
	}
	expect_crossings(NULL, 1);
	tripd_bed_close(&bed);
}

/* And of one, which has been there for long, pairs held just then. */
static void
open_between(void *arg, const struct tripd_trip *trip)
{
	count_between(arg, trip);
	trip_cntr_add(bed.quota.items[5].gate, 2);
}

/* Likewise of all() and any(), on functions, counters and flows, which are told as ever. */
static void
pairs_that_are_crossed_by_then_fire(void **state)
{
	open_bed(ALL "counter n\ncounter m\n"
		     "when all.packets >= 3 log\n"
		     "when all(all.packets >= 8, n >= 1) add m 1\n"
		     "when any(all.bytes >= 540, n >= 9) drop all\n"
		     "when all(any(all.packets >= 20, all.bytes >= 540), n >= 1, after 1ns) log\n"
		     "when any(all.packets >= 10, all(all.bytes >= 540, n >= 2)) log\n"
		     "when all(all.packets >= 90, n idle 1h) police all 8bit/s\n");
	trip_cntr_add(bed.quota.counters[0], 1);
	turn();
	for (unsigned int i = 0; i < 2; i++) {
		static const struct {
			unsigned int when;
			uint64_t threshold;
		} expected[] = {{0, 3}, {2, 1}, {1, 2}, {5, 2}, {3, 3}};

		tripd_bed_count(&bed, 3);
		tripd_bed_progress(&bed);
		bed.quota.told = open_between;
		free(answer_of("reset all"));
		assert_int_equal(trip_cntr_read(bed.quota.counters[1]), i + 1);
		assert_int_equal(bed.quota.n_trips, 5 * i + 5);
		for (unsigned int k = 0; k < 5; k++) {
			expect_trip(5 * i + k, expected[k].when, expected[k].threshold);
			assert_int_equal(bed.quota.trips[5 * i + k].result, 0);
			if (k > 0)
				assert_int_equal(
					bed.quota.trips[5 * i + k].value, expected[k].threshold);
		}
		turn();
		assert_int_equal(tripd_bed_fate(&bed, 0), TRIP_FLOW_FATE_PASS);
		/* And not once more; what it drops it has dropped. */
		send_some(2);
		give("reset all");
		assert_int_equal(bed.quota.n_trips, 5 * i + 5);
	}
	send_some(9);
	assert_int_equal(tripd_bed_fate(&bed, 0), TRIP_FLOW_FATE_DROP);
	assert_int_equal(bed.quota.n_trips, 10 + 4);
	tripd_bed_close(&bed);
}

/* ---- under traffic ----------------------------------------------------------------------------
 */

/* Of the first trips, how many are of the first statement, each at the next of its thresholds. */
static uint64_t
take_trips(uint64_t n_before)
{
	for (size_t i = 0; i < bed.quota.n_trips; i++)
		assert_int_equal(bed.quota.trips[i].threshold, 1 + 5 * n_before++);
	tripd_quota_forget(&bed.quota);
	return n_before;
}

/* By hand: what it was each time is all that came, to the packet and to the byte, and all of its
 * thresholds have fired, once, in order. */
static void
nothing_is_lost_by_hand(void **state)
{
	struct tripd_bed_sender sender;
	uint64_t packets = 0, bytes = 0;

	open_bed(ALL "when all.packets >= 1 every 5 log\n");
	tripd_bed_send(&sender, &bed);
	for (unsigned int i = 0; i < 200; i++) {
		uint64_t before = trip_cntr_read(bed.quota.counts[0].packets), fired = 0;
		unsigned long was_packets, was_bytes;
		char *answer;

		while (trip_cntr_read(bed.quota.counts[0].packets) == before) {
			tripd_bed_progress(&bed);
			tripd_quota_read(&bed.quota);
			fired = take_trips(fired);
		}
		answer = answer_of("reset all");
		assert_int_equal(sscanf(answer, "all.packets %lu\nall.bytes %lu\n", &was_packets,
					 &was_bytes),
			2);
		free(answer);
		fired = take_trips(fired);
		assert_int_equal(fired, (was_packets + 4) / 5);
		packets += was_packets;
		bytes += was_bytes;
	}
	(void)tripd_bed_stop(&sender);
	tripd_quota_freshen(&bed.quota);
	assert_true(packets > 0);
	packets += trip_cntr_read(bed.quota.counts[0].packets);
	bytes += trip_cntr_read(bed.quota.counts[0].bytes);
	assert_int_equal(packets, sender.sent);
	assert_int_equal(bytes, TRIPD_BED_BYTES * sender.sent);
	tripd_bed_close(&bed);
}

#define UNREAD(limit)                                                                           \
	ALL "counter n\ncounter m\nquota q " limit " of all.packets\nwhen n >= 1 every 1 log\n" \
	    "when q spent add m 1\nwhen q spent drop all\n"

/* However much is to be read, what had fired by then is known to have: it does not fire again. */
static void
what_is_unread_has_fired(void **state)
{
	/* What a ring holds of trips that repeat is whole bursts. */
	tripd_bed_open(&bed, UNREAD("4"), (struct tripd_live){1, 1, 256, 1});
	assert_int_equal(bed.quota.max_events % 256, 0);
	trip_cntr_add(bed.quota.counters[0], bed.quota.max_events);
	tripd_bed_progress(&bed);
	tripd_bed_count(&bed, 4);
	tripd_bed_progress(&bed);
	free(answer_of("reload t\n" UNREAD("3")));
	assert_int_equal(trip_cntr_read(bed.quota.counters[1]), 1);
	turn();
	assert_int_equal(trip_cntr_read(bed.quota.counters[1]), 1);
	assert_int_equal(bed.quota.n_trips, bed.quota.max_events + 2);
	assert_int_equal(bed.quota.n_overrun, 0);
	give("reset q");
	assert_int_equal(tripd_bed_fate(&bed, 0), TRIP_FLOW_FATE_PASS);
	tripd_bed_close(&bed);
}

/* Trips that were lost have happened: what they did is not done again; and what they reset begins
 * anew, once. */
static void
what_was_lost_has_happened(void **state)
{
	tripd_bed_open(&bed,
		ALL "counter n\ncounter m\ncounter c\nwhen n >= 1 every 1 log\n"
		    "when all.packets >= 1 every 1 add m 1\nwhen c >= 1 every 5 reset all\n",
		(struct tripd_live){1, 1, 256, 1});
	for (unsigned int i = 0; i < 2; i++) {
		trip_cntr_add(bed.quota.counters[0], bed.quota.max_events);
		tripd_bed_progress(&bed);
		tripd_bed_count(&bed, 3);
		trip_cntr_add(bed.quota.counters[2], i);
		tripd_bed_progress(&bed);
		if (i == 0)
			give("reset all");
		turn();
		assert_int_equal(bed.quota.n_overrun, i == 0 ? 3 : 7);
		assert_int_equal(trip_cntr_read(bed.quota.counters[1]), 3 * i + 3);
		expect_count(0);
	}
	trip_cntr_add(bed.quota.counters[2], 4);
	send_some(2);
	expect_count(2);
	trip_cntr_add(bed.quota.counters[2], 1);
	turn();
	expect_count(0);
	assert_int_equal(trip_cntr_read(bed.quota.counters[1]), 8);
	tripd_bed_close(&bed);
}

/* Each trip makes another one. */
static void
trip_again(void *arg, const struct tripd_trip *trip)
{
	uint64_t *left = arg;

	*left -= *left > 0;
	if (*left > 0)
		trip_cntr_add(bed.quota.counters[0], 1);
	tripd_bed_progress(&bed);
}

/* Who reads trips that come as fast as they are told comes to an end, and to what is to be done. */
static void
trips_without_end_hold_nothing_up(void **state)
{
	uint64_t left;

	open_bed(ALL "counter n\nwhen n >= 1 every 1 log\nwhen n >= 2 reset all\n");
	left = 32 * (uint64_t)bed.quota.max_events;
	tripd_bed_count(&bed, 3);
	trip_cntr_add(bed.quota.counters[0], 1000);
	tripd_bed_progress(&bed);
	bed.quota.told = trip_again;
	bed.quota.told_arg = &left;
	assert_true(tripd_quota_read(&bed.quota) <= 2 * bed.quota.max_events + 256);
	assert_true(left > 0);
	update();
	assert_true(left > 0);
	tripd_quota_freshen(&bed.quota);
	assert_int_equal(trip_cntr_read(bed.quota.counts[0].packets), 0);
	bed.quota.told = NULL;
	tripd_bed_close(&bed);
}

/* Of a key of its own. */
static void
send_vlan(uint16_t vid)
{
	struct rte_mbuf *pkt = rte_pktmbuf_alloc(tripd_bed_pool);
	uint8_t *frame;

	assert_non_null(pkt);
	frame = (uint8_t *)rte_pktmbuf_append(pkt, TRIPD_BED_BYTES);
	memset(frame, 0, TRIPD_BED_BYTES);
	frame[12] = 0x81;
	frame[14] = (uint8_t)(vid >> 8);
	frame[15] = (uint8_t)vid;
	/* IPv4. */
	frame[16] = 0x08;
	frame[18] = 0x45;
	frame[21] = TRIPD_BED_BYTES - 18;
	if (trip_port_burst(bed.quota.ports[0], 0, &pkt, 1) == 1)
		rte_pktmbuf_free(pkt);
}

static void
trip_another(void *arg, const struct tripd_trip *trip)
{
	uint16_t *left = arg;

	if (*left > 0)
		send_vlan((*left)--);
}

/* Likewise of keys, of which new ones may come without end; by a reset as well. */
static void
trips_of_keys_without_end_hold_nothing_up(void **state)
{
	uint16_t left = 4000;

	open_bed("each v port 0 vlan.vid max 8k idle 1h\nwhen v.packets >= 1 log\n");
	send_vlan(0);
	bed.quota.told = trip_another;
	bed.quota.told_arg = &left;
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(tripd_quota_read(&bed.quota), 1);
	assert_int_equal(left, 4000 - 3);
	free(answer_of("reset v"));
	assert_int_equal(left, 4000 - 4);
	bed.quota.told = NULL;
	tripd_bed_close(&bed);
}

/* What is behind a trip is looked for as long as there is time, and then all of it is known or
 * nothing. */
static void
what_is_behind_a_trip_is_in_time(void **state)
{
	struct trip_each_trip trip;
	struct tripd_tops *tops;

	open_bed("each v port 0 vlan.vid max 64 idle 1h\nwhen v.packets >= 1 log\n"
		 "each p port 0 vlan.vid,ipv4.src max 64 idle 1h\n");
	send_vlan(7);
	assert_int_equal(trip_each_trips(bed.quota.eaches[0].each, 0, &trip, sizeof(trip), 1), 1);
	tops = tripd_quota_tops(&bed.quota, 0, &trip, 1, UINT64_MAX);
	assert_int_equal(tops->n, 1);
	assert_int_equal(tops->of[0].n, 1);
	free(tops);
	tops = tripd_quota_tops(&bed.quota, 0, &trip, 1, 1);
	assert_int_equal(tops->n, 0);
	free(tops);
	tripd_bed_close(&bed);
}

static void
count_ends(void *arg, const struct tripd_trip *trip)
{
	*(unsigned int *)arg += trip->ends;
}

/* One that another process has in its hands cannot begin anew, and then none of its keys passes:
 * nobody is told that one did. */
static void
what_cannot_begin_anew_ends_nothing(void **state)
{
	struct trip_each_info info = {.size = sizeof(info)};
	struct trip_each *found;
	unsigned int ends = 0;

	open_bed("each v port 0 vlan.vid max 64 idle 1h\nwhen v.packets >= 1 drop v for 1h\n");
	for (uint16_t vid = 1; vid <= 5; vid++)
		send_vlan(vid);
	bed.quota.told = count_ends;
	bed.quota.told_arg = &ends;
	assert_int_equal(trip_each_find(bed.quota.domain, "v", &found), 0);
	assert_int_equal(tripd_quota_each_reset(&bed.quota, 0), -EBUSY);
	assert_int_equal(ends, 0);
	assert_int_equal(trip_each_query(bed.quota.eaches[0].each, &info), 0);
	assert_int_equal(info.held, 5);
	assert_int_equal(trip_each_close(found), 0);
	assert_int_equal(tripd_quota_each_reset(&bed.quota, 0), 0);
	assert_int_equal(ends, 5);
	assert_int_equal(trip_each_query(bed.quota.eaches[0].each, &info), 0);
	assert_int_equal(info.held, 0);
	bed.quota.told = NULL;
	tripd_bed_close(&bed);
}

static void
expect_an_end(void *arg, const struct tripd_trip *trip)
{
	uint64_t *left = arg;

	if (--*left == 0)
		fail_msg("it is waited for what has no end");
}

/* Rules that have each other fire for ever: who asks for the end again is heard. */
static void
what_has_no_end_does_not_keep_it(void **state)
{
	uint64_t left = UINT64_C(1) << 28;

	tripd_signals_block();
	open_bed("count all port 0 pattern eth / end\ncounter n\n"
		 "when n >= 1 every 1 add n 1\nwhen n >= 2 log\n");
	bed.quota.told = expect_an_end;
	bed.quota.told_arg = &left;
	trip_cntr_add(bed.quota.counters[0], 1);
	raise(SIGTERM);
	assert_int_equal(tripd_quota_settle(&bed.quota), 0);
	assert_int_equal(tripd_signals_wait(0), SIGTERM);
	assert_int_equal(bed.quota.fired[1], 1);
	tripd_bed_close(&bed);
}

/* By a rule: each time anew one that fires once does, then the one that resets, as often as it is
 * due until the count begins anew. */
static void
nothing_is_lost_by_rules(void **state)
{
	struct tripd_bed_sender sender;
	uint64_t last = 0, rounds = 0;

	open_bed(ALL "when all.packets >= 20 every 20 reset all\nwhen all.packets >= 7 log\n");
	tripd_bed_send(&sender, &bed);
	while (rounds < 200) {
		tripd_bed_progress(&bed);
		tripd_quota_read(&bed.quota);
		for (size_t i = 0; i < bed.quota.n_trips; i++) {
			const struct tripd_trip *trip = &bed.quota.trips[i];

			if (trip->when == 1)
				assert_true(last == 0 || last >= 20);
			else
				assert_int_equal(trip->threshold, last == 7 ? 20 : last + 20);
			last = trip->threshold;
			rounds += last == 7;
		}
		tripd_quota_forget(&bed.quota);
		update();
	}
	(void)tripd_bed_stop(&sender);
	tripd_bed_close(&bed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_reset_is_armed_again),
		cmocka_unit_test(a_counter_is_reset),
		cmocka_unit_test(pairs_begin_anew),
		cmocka_unit_test(what_is_reached_at_0_does_not_go_round),
		cmocka_unit_test(what_still_holds_does_not_go_round),
		cmocka_unit_test(a_quota_that_is_reset_does_not_go_round),
		cmocka_unit_test(what_was_dropped_passes),
		cmocka_unit_test(what_lasts_ends),
		cmocka_unit_test(what_is_crossed_by_then_fires),
		cmocka_unit_test(pairs_that_are_crossed_by_then_fire),
		cmocka_unit_test(nothing_is_lost_by_hand),
		cmocka_unit_test(what_is_unread_has_fired),
		cmocka_unit_test(what_was_lost_has_happened),
		cmocka_unit_test(trips_without_end_hold_nothing_up),
		cmocka_unit_test(trips_of_keys_without_end_hold_nothing_up),
		cmocka_unit_test(what_is_behind_a_trip_is_in_time),
		cmocka_unit_test(what_cannot_begin_anew_ends_nothing),
		cmocka_unit_test(what_has_no_end_does_not_keep_it),
		cmocka_unit_test(nothing_is_lost_by_rules),
	};
	int ret = tripd_bed_init();

	return ret != 0 ? ret : cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Work of statements that cannot be queued: what is at work beside it stays whole, and it is tried
 * again. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

#include "rules.h"
#include "trip_test.h"
#include "tripd_bed.h"

#define BURST 16
#define ALL "count all port 0 pattern eth / end\n"

static struct tripd_bed bed;
static int64_t now;

/* ---- what is refused --------------------------------------------------------------------------
 */

/* By statement, a bit for each. */
static uint64_t refused;

int __real_trip_work_queue(struct trip_domain *domain, const struct trip_work *work, uint64_t *id);
int __wrap_trip_work_queue(struct trip_domain *domain, const struct trip_work *work, uint64_t *id);

int
__wrap_trip_work_queue(struct trip_domain *domain, const struct trip_work *work, uint64_t *id)
{
	if (work->context < 64 && (refused >> work->context & 1) != 0)
		return -ENOSPC;
	return __real_trip_work_queue(domain, work, id);
}

/* ---- rules at work ----------------------------------------------------------------------------
 */

static void
open_bed(const char *text)
{
	refused = 0;
	tripd_bed_open(&bed, text, (struct tripd_live){16, 16, 64, 1});
	now = tripd_quota_seconds(&bed.quota);
}

static int
update(int64_t seconds)
{
	now += seconds;
	return tripd_period_update(&bed.quota, now);
}

static void
count_packets(uint16_t n)
{
	struct rte_mbuf *pkts[BURST];

	assert_true(n <= BURST);
	assert_int_equal(rte_pktmbuf_alloc_bulk(tripd_bed_pool, pkts, n), 0);
	for (uint16_t i = 0; i < n; i++)
		memset(rte_pktmbuf_append(pkts[i], 60), 0, 60);
	n = trip_port_burst(bed.quota.ports[0], 0, pkts, n);
	rte_pktmbuf_free_bulk(pkts, n);
}

static void
turn(void)
{
	do
		tripd_bed_progress(&bed);
	while (tripd_quota_read(&bed.quota) > 0);
}

static void
send_some(uint16_t n)
{
	count_packets(n);
	turn();
}

/* The operator's own word, by a command; what it answers has this in it. */
static void
give(const char *text, const char *expected)
{
	char *answer = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&answer, &size);
	int status = tripd_command(text, strlen(text), file, &bed.commands);

	fclose(file);
	if (status != 0 || strstr(answer, expected) == NULL)
		fail_msg("%s: %d: %s", text, status, answer);
	free(answer);
	turn();
}

/* From here on, these statements cannot be queued, as what they stand on begins anew: the last
 * statement has that at 4 packets. */
static void
refuse(uint64_t statements)
{
	refused = statements;
	send_some(4);
	assert_int_equal(update(0), -ENOSPC);
	turn();
	tripd_quota_forget(&bed.quota);
}

/* ---- queued once ------------------------------------------------------------------------------
 */

/* A change that queues it is all that does. */
static void
what_a_change_has_queued_is_queued_once(void **state)
{
	open_bed(ALL "quota q 8 of all.packets\nwhen q >= 75 % every 2 log\n"
		     "when q >= 5 every 3 drop all\nwhen all.packets >= 4 reset q\n");
	refuse(1 | 2);
	refused = 0;
	give("apply f\nquota q 16 of all.packets\n", "");
	give("apply f\ncount all port 0 pattern eth / ipv4 / end\n", "");
	assert_int_equal(update(1), 0);
	trip_cntr_add(bed.quota.counters[0], 15);
	turn();
	/* At 12 and 14; at 5, 8, 11 and 14. */
	assert_int_equal(bed.quota.fired[0], 2);
	assert_int_equal(bed.quota.fired[1], 4);
	assert_int_equal(bed.quota.n_trips, 6);
	tripd_bed_close(&bed);
}

/* One that a change could not queue is, at the next look. */
static void
what_a_change_could_not_queue_is_tried_again(void **state)
{
	open_bed(ALL "quota q 8 of all.packets\nwhen q >= 5 every 2 drop all\n");
	refused = 1 | 2;
	give("apply f\nwhen all.packets >= 2 log\n", "when all.packets >= 2 log: ");
	give("apply f\ncount all port 0 pattern eth / ipv4 / end\n",
		"when q >= 5 every 2 drop all: ");
	assert_int_equal(update(0), -ENOSPC);
	refused = 0;
	assert_int_equal(update(1), 0);
	trip_cntr_add(bed.quota.counters[0], 8);
	trip_cntr_add(bed.quota.counts[0].packets, 2);
	turn();
	assert_int_equal(bed.quota.fired[0], 2);
	assert_int_equal(bed.quota.fired[1], 1);
	assert_int_equal(bed.quota.n_trips, 3);
	tripd_bed_close(&bed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_change_has_queued_is_queued_once),
		cmocka_unit_test(what_a_change_could_not_queue_is_tried_again),
	};
	int ret = tripd_bed_init();

	return ret != 0 ? ret : cmocka_run_group_tests(tests, NULL, NULL);
}

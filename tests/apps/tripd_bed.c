/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include <rte_common.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "link/port.h"
#include "rules.h"
#include "trip_eal.h"
#include "trip_test.h"
#include "tripd_bed.h"

struct rte_mempool *tripd_bed_pool;

int
tripd_bed_init(void)
{
	if (trip_eal_init("net_null0") < 0)
		return TRIP_TEST_SKIP;
	tripd_bed_pool = rte_pktmbuf_pool_create(
		"test", 4095, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	return tripd_bed_pool != NULL ? 0 : 1;
}

static void
open_bed(struct tripd_bed *bed, const char *text, const struct tripd_options *options)
{
	struct trip_rules_errors *errors;
	struct trip_domain_attr attr;

	memset(bed, 0, sizeof(*bed));
	assert_int_equal(
		trip_rules_parse_text("test", text, strlen(text), &bed->rules, &errors), 0);
	assert_int_equal(tripd_plan_ports(&bed->plan, options, bed->rules), 0);
	assert_int_equal(tripd_plan_lcores(&bed->plan, (unsigned int[]){1}, 1), 0);
	tripd_plan_domain(bed->rules, &bed->plan, &attr);
	attr.socket = "";
	assert_int_equal(trip_domain_open(&attr, &bed->domain, NULL), 0);
	assert_int_equal(
		tripd_port_configure(&bed->plan, bed->links, false, attr.max_flows, tripd_bed_pool),
		0);
	assert_int_equal(tripd_port_start(&bed->plan, bed->links), 0);
	assert_int_equal(
		tripd_quota_open(&bed->quota, bed->domain, bed->rules, &bed->plan, bed->links), 0);
	bed->commands.quota = &bed->quota;
}

void
tripd_bed_open(struct tripd_bed *bed, const char *text, struct tripd_live live)
{
	const struct tripd_options options = {.live = live};

	open_bed(bed, text, &options);
}

void
tripd_bed_open_by_packets(struct tripd_bed *bed, const char *text, struct tripd_live live)
{
	const struct tripd_options options = {.live = live, .by_packets = true};

	open_bed(bed, text, &options);
}

void
tripd_bed_advance(struct tripd_bed *bed, uint64_t ns)
{
	struct tripd_quota *quota = &bed->quota;
	uint64_t to = quota->packet_ns + ns;

	while (quota->packet_ns < to) {
		uint64_t next = RTE_MIN(to, tripd_period_next(quota));
		int64_t seconds = (int64_t)(next / 1000000000);

		while (trip_clock_advance(bed->domain, next) != 0)
			tripd_quota_read(quota);
		tripd_quota_read(quota);
		quota->packet_ns = next;
		assert_int_equal(tripd_period_update(quota, seconds), 0);
	}
}

void
tripd_bed_close(struct tripd_bed *bed)
{
	tripd_quota_close(&bed->quota);
	assert_int_equal(trip_domain_close(bed->domain), 0);
	rte_eth_dev_stop(0);
	trip_rules_free(bed->rules);
}

void
tripd_bed_count(const struct tripd_bed *bed, uint16_t n)
{
	struct rte_mbuf *pkts[TRIPD_BED_BURST];

	assert_true(n <= TRIPD_BED_BURST);
	assert_int_equal(rte_pktmbuf_alloc_bulk(tripd_bed_pool, pkts, n), 0);
	for (uint16_t i = 0; i < n; i++)
		memset(rte_pktmbuf_append(pkts[i], TRIPD_BED_BYTES), 0, TRIPD_BED_BYTES);
	n = trip_port_burst(bed->quota.ports[0], 0, pkts, n);
	rte_pktmbuf_free_bulk(pkts, n);
}

static void *
send_on(void *arg)
{
	struct tripd_bed_sender *sender = arg;

	while (!atomic_load(&sender->stop)) {
		tripd_bed_count(sender->bed, 3);
		sender->sent += 3;
	}
	return NULL;
}

void
tripd_bed_send(struct tripd_bed_sender *sender, const struct tripd_bed *bed)
{
	*sender = (struct tripd_bed_sender){.bed = bed};
	assert_int_equal(pthread_create(&sender->thread, NULL, send_on, sender), 0);
}

uint64_t
tripd_bed_stop(struct tripd_bed_sender *sender)
{
	atomic_store(&sender->stop, true);
	pthread_join(sender->thread, NULL);
	return sender->sent;
}

void
tripd_bed_progress(const struct tripd_bed *bed)
{
	while (trip_progress(bed->domain) > 0)
		;
}

enum trip_flow_fate
tripd_bed_fate(const struct tripd_bed *bed, unsigned int count)
{
	struct trip_flow_count sum;

	assert_int_equal(trip_apply_count_query(&bed->quota.counts[count], &sum), 0);
	return sum.fate;
}

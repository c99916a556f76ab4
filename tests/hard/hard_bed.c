/* SPDX-License-Identifier: BSD-3-Clause */
#include "hard_bed.h"

#include <string.h>

struct hard_bed hard_bed;

const struct fake_nic hard_direct = {0};
const struct fake_nic hard_shared = {.shared = true, .keeps_shared = true};
const struct fake_nic hard_forgetful = {.shared = true};
const struct fake_nic hard_cached = {.driver = "mlx5_pci",
	.devargs = "0000:01:00.0,dv_flow_en=2,svc_cycle_time=20",
	.shared = true,
	.cached = true,
	.keeps_shared = true};

static void
note_event(struct trip_port *which, enum trip_port_event event, void *arg)
{
	void (*on_event)(enum trip_port_event event) = atomic_load(&hard_bed.on_event);

	atomic_fetch_add(&hard_bed.n_events[event], 1);
	if (on_event != NULL)
		on_event(event);
}

void
hard_open_domain(
	unsigned int n_homes, const struct fake_nic *nic, const struct trip_domain_attr *tune)
{
	memset(&hard_bed, 0, sizeof(hard_bed));
	fake_nic_open(nic);
	harness_open(n_homes, tune);
	hard_bed.port_id = traffic_start(2);
}

void
hard_open_port(uint32_t flow_queue)
{
	const struct trip_port_attr attr = {.size = sizeof(attr),
		.mode = TRIP_PORT_BURST,
		.notify = note_event,
		.flow_queue = flow_queue};
	struct trip_cntr_attr by_bytes = {
		.size = sizeof(by_bytes), .events = TRIP_CNTR_EVENTS_BYTES};

	if (trip_port_open(harness_domain, hard_bed.port_id, &attr, &hard_bed.port) != 0)
		fail_msg("%s", trip_error_message());
	hard_bed.packets = harness_cntr(TRIP_WAIT_NONE);
	hard_bed.completion = harness_cntr(TRIP_WAIT_NONE);
	assert_int_equal(trip_cntr_open(harness_domain, &by_bytes, &hard_bed.bytes, NULL), 0);
}

void
hard_open_homes(
	unsigned int n_homes, const struct fake_nic *nic, const struct trip_domain_attr *tune)
{
	hard_open_domain(n_homes, nic, tune);
	hard_open_port(0);
}

void
hard_open(const struct fake_nic *nic)
{
	hard_open_homes(1, nic, NULL);
}

void
hard_close_port(void)
{
	assert_int_equal(trip_work_flush(harness_domain, NULL), 0);
	if (trip_port_close(hard_bed.port) != 0)
		fail_msg("%s", trip_error_message());
	traffic_stop();
	harness_cntr_close(hard_bed.packets);
	harness_cntr_close(hard_bed.bytes);
	harness_cntr_close(hard_bed.completion);
	harness_close();
}

void
hard_close(void)
{
	hard_close_port();
	fake_nic_close();
}

int
hard_try_create(const struct rte_flow_item *pattern, const struct trip_flow_attr *more,
	struct trip_flow **flow, struct rte_flow_error *error)
{
	struct trip_cntr *cntrs[] = {hard_bed.packets, hard_bed.bytes};
	struct trip_flow_attr attr = *more;

	attr.size = sizeof(attr);
	attr.cntrs = cntrs;
	attr.n_cntrs = 2;
	return trip_flow_create(hard_bed.port, &attr, pattern, NULL, flow, error);
}

struct trip_flow *
hard_create_soft(uint16_t udp_port)
{
	const struct trip_flow_attr attr = {.engine = TRIP_FLOW_ENGINE_SW};
	struct trip_flow *flow;

	assert_int_equal(hard_try_create(traffic_pattern(udp_port), &attr, &flow, NULL), 0);
	return flow;
}

struct trip_flow *
hard_create(uint16_t udp_port, bool recreate)
{
	const struct trip_flow_attr attr = {.recreate = recreate, .engine = TRIP_FLOW_ENGINE_HW};
	struct rte_flow_error error = {0};
	struct trip_flow *flow;

	if (hard_try_create(traffic_pattern(udp_port), &attr, &flow, &error) != 0)
		fail_msg("%s: %s", trip_error_message(), error.message);
	return flow;
}

void
hard_destroy(struct trip_flow *flow)
{
	if (trip_flow_destroy(flow) != 0)
		fail_msg("%s", trip_error_message());
}

void
hard_expect_flow(struct trip_flow *flow, uint64_t n, enum trip_flow_fate fate)
{
	struct trip_flow_count count = {.size = sizeof(count)};

	assert_int_equal(trip_flow_query(flow, &count), 0);
	assert_int_equal(count.packets, n);
	assert_int_equal(count.bytes, HARD_PACKET * n);
	assert_int_equal(count.fate, fate);
	assert_int_equal(count.engine, TRIP_FLOW_ENGINE_HW);
}

enum trip_flow_fate
hard_fate_of(struct trip_flow *flow)
{
	struct trip_flow_count count = {.size = sizeof(count)};

	assert_int_equal(trip_flow_query(flow, &count), 0);
	return count.fate;
}

struct trip_port_stats
hard_stats_of(void)
{
	struct trip_port_stats stats = {.size = sizeof(stats)};

	assert_int_equal(trip_port_stats_read(hard_bed.port, &stats), 0);
	return stats;
}

void
hard_receive(uint16_t udp_port, uint64_t n, uint64_t left)
{
	assert_int_equal(fake_nic_receive(udp_port, n, HARD_PACKET), left);
	fake_nic_refresh();
}

void
hard_queue_op(struct trip_flow *flow, uint64_t threshold, enum trip_op op)
{
	struct trip_work work = harness_work(hard_bed.packets, threshold, op);

	work.op.flow = flow;
	work.completion_cntr = hard_bed.completion;
	harness_queue(&work);
}

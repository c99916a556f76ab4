/* SPDX-License-Identifier: BSD-3-Clause */
#include "hws_bed.h"

#include <string.h>

#include <rte_ethdev.h>

struct trip_flow *hws_flows[HWS_MANY];

static const struct fake_nic hws = {.driver = "mlx5_pci",
	.devargs = "0000:01:00.0,dv_flow_en=2,svc_cycle_time=2",
	.shared = true,
	.cached = true,
	.keeps_shared = true,
	.templates = true};

static void
open_domain(const struct fake_nic *nic)
{
	static const struct trip_domain_attr tune = {.max_flows = HWS_MANY + 16};

	fake_hws_open(harness_seed);
	hard_open_domain(1, nic, &tune);
	assert_int_equal(rte_eth_dev_stop(hard_bed.port_id), 0);
}

void
hws_open_stopped(void)
{
	open_domain(&hws);
}

void
hws_open_started(uint32_t flow_queue)
{
	assert_int_equal(rte_eth_dev_start(hard_bed.port_id), 0);
	hard_open_port(flow_queue);
}

static void
open_port(void)
{
	if (trip_port_prepare(hard_bed.port_id, HWS_MANY) != 0)
		fail_msg("%s", trip_error_message());
	hws_open_started(0);
}

void
hws_open(void)
{
	hws_open_stopped();
	open_port();
}

void
hws_open_forgetful(void)
{
	struct fake_nic forgetful = hws;

	forgetful.keeps_shared = false;
	open_domain(&forgetful);
	open_port();
}

static void
close_nic(void)
{
	assert_int_equal(fake_hws_missed(), 0);
	fake_hws_close();
	fake_nic_close();
}

void
hws_close(void)
{
	hard_close_port();
	close_nic();
}

void
hws_close_with_rest(void)
{
	hard_close_port();
	fake_hws_abandon();
	close_nic();
}

const struct rte_flow_item *
hws_masked(uint16_t src_mask, uint16_t dst, uint16_t dst_mask)
{
	static struct rte_flow_item_udp spec, mask;
	static const struct rte_flow_item_ipv4 no_mask;
	static const struct rte_flow_item pattern[] = {{.type = RTE_FLOW_ITEM_TYPE_ETH},
		{.type = RTE_FLOW_ITEM_TYPE_VOID},
		{.type = RTE_FLOW_ITEM_TYPE_IPV4, .spec = &no_mask, .mask = &no_mask},
		{.type = RTE_FLOW_ITEM_TYPE_UDP, .spec = &spec, .mask = &mask},
		{.type = RTE_FLOW_ITEM_TYPE_END}};

	spec.hdr.src_port = rte_cpu_to_be_16(0xffff);
	spec.hdr.dst_port = rte_cpu_to_be_16(dst);
	mask.hdr.src_port = rte_cpu_to_be_16(src_mask);
	mask.hdr.dst_port = rte_cpu_to_be_16(dst_mask);
	return pattern;
}

void
hws_expect_refused(const struct rte_flow_item *pattern, const struct trip_flow_attr *attr,
	int result, const char *why)
{
	struct trip_flow_attr automatic = *attr;
	struct rte_flow_error error = {0};
	struct trip_flow_count counted = {.size = sizeof(counted)};
	struct trip_flow *flow = NULL;

	assert_int_equal(hard_try_create(pattern, attr, &flow, &error), result);
	assert_null(flow);
	if (strstr(error.message, why) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", error.message, why);
	automatic.engine = TRIP_FLOW_ENGINE_AUTO;
	assert_int_equal(hard_try_create(pattern, &automatic, &flow, &error), 0);
	assert_string_equal(trip_flow_reason(flow), error.message);
	trip_flow_query(flow, &counted);
	assert_int_equal(counted.engine, TRIP_FLOW_ENGINE_SW);
	hard_destroy(flow);
}

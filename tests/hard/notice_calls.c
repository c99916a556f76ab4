/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include <rte_common.h>

#include "notice_calls.h"

struct notice_bed notice_bed;

int
notice_function(const struct trip_work_event *event, void *arg)
{
	return 0;
}

static int
call_function_register(void)
{
	struct trip_function *function;

	return trip_function_register(harness_domain, notice_function, NULL, &function);
}

static int
call_function_name(void)
{
	return trip_function_name(notice_bed.functions[0], "calls");
}

static int
call_function_unregister(void)
{
	return trip_function_unregister(notice_bed.functions[0]);
}

int
notice_police(struct trip_flow *flow)
{
	struct trip_work work = harness_work(hard_bed.packets, 0, TRIP_OP_FLOW_POLICE);

	work.op.police.flow = flow;
	work.op.police.rate = 1000;
	work.op.police.unit = TRIP_POLICE_UNIT_PACKETS;
	return trip_work_queue(harness_domain, &work, NULL);
}

static int
call_work_queue(void)
{
	return notice_police(notice_bed.soft);
}

static int
call_work_flush(void)
{
	return trip_work_flush(harness_domain, NULL);
}

static int
call_work_cancel(void)
{
	return trip_work_cancel(harness_domain, TRIP_WORK_NONE);
}

static int
call_work_read(void)
{
	struct trip_work_event event;

	return trip_work_read(harness_domain, &event, sizeof(event), 1);
}

static int
call_cntr_open(void)
{
	const struct trip_cntr_attr attr = {.size = sizeof(attr)};
	struct trip_cntr *cntr;

	return trip_cntr_open(harness_domain, &attr, &cntr, NULL);
}

static int
call_cntr_close(void)
{
	return trip_cntr_close(notice_bed.cntrs[--notice_bed.n_cntrs]);
}

static int
call_cntr_wait(void)
{
	return trip_cntr_wait(notice_bed.cntrs[0], 1, 1);
}

static int
call_flow_create(void)
{
	const struct trip_flow_attr attr = {.engine = TRIP_FLOW_ENGINE_SW};
	struct trip_flow *flow;

	return hard_try_create(traffic_pattern(1009), &attr, &flow, NULL);
}

static int
call_flow_query(void)
{
	struct trip_flow_count count = {.size = sizeof(count)};

	return trip_flow_query(notice_bed.hard, &count);
}

static int
call_flow_retire(void)
{
	return trip_flow_retire(notice_bed.hard);
}

static int
call_flow_destroy(void)
{
	return trip_flow_destroy(notice_bed.soft);
}

static int
call_counters_attach(void)
{
	const struct trip_counter_attach_attr attr = {
		.size = sizeof(attr), .counter_desc = TRIP_COUNTER_PACKETS};

	return trip_counters_attach_point_flow(notice_bed.counters, &attr, notice_bed.hard);
}

static int
call_counters_read(void)
{
	uint64_t value;

	return trip_counters_read(notice_bed.counters, &value, 1, 0);
}

static int
call_counters_destroy(void)
{
	return trip_counters_destroy(notice_bed.counters);
}

static int
call_counters_create(void)
{
	return trip_counters_create(harness_domain, NULL, &notice_bed.counters);
}

static int
call_set_open(void)
{
	const struct trip_set_attr attr = {.size = sizeof(attr), .name = "other"};
	struct trip_set *set;

	return trip_set_open(harness_domain, &attr, &set);
}

static int
call_set_replace(void)
{
	return trip_set_replace(notice_bed.set, NULL, 0);
}

static int
call_set_replace_all(void)
{
	const struct trip_set_change change = {.set = notice_bed.set};

	return trip_set_replace_all(&change, 1);
}

static int
call_set_query(void)
{
	struct trip_set_info info = {.size = sizeof(info)};

	return trip_set_query(notice_bed.set, &info);
}

static int
call_set_close(void)
{
	return trip_set_close(notice_bed.set);
}

int
notice_open_each(const char *name, struct trip_each **each)
{
	static const struct trip_each_part by_port[] = {{TRIP_EACH_L4_DST, 0}};
	const struct trip_each_attr attr = {.size = sizeof(attr),
		.name = name,
		.ports = &hard_bed.port,
		.n_ports = 1,
		.parts = by_port,
		.n_parts = 1,
		.max = 16,
		.idle_us = 1000000};

	return trip_each_open(harness_domain, &attr, each);
}

static int
call_each_open(void)
{
	struct trip_each *each;

	return notice_open_each("other", &each);
}

static int
call_each_find(void)
{
	struct trip_each *each;

	return trip_each_find(harness_domain, "each", &each);
}

static int
call_each_close(void)
{
	return trip_each_close(notice_bed.each);
}

static int
call_each_settle(void)
{
	return trip_each_settle(notice_bed.each);
}

static int
call_each_hold(void)
{
	return trip_each_hold(notice_bed.each, (const uint8_t[]){0, 53}, TRIP_EACH_OP_DROP, 0);
}

static int
call_port_open(void)
{
	const struct trip_port_attr attr = {.size = sizeof(attr)};
	struct trip_port *port;

	return trip_port_open(harness_domain, hard_bed.port_id, &attr, &port);
}

static int
call_port_close(void)
{
	return trip_port_close(hard_bed.port);
}

static int
call_port_stopping(void)
{
	return trip_port_stopping(hard_bed.port);
}

static int
call_port_started(void)
{
	return trip_port_started(hard_bed.port);
}

static int
call_port_facts_read(void)
{
	struct trip_port_facts facts = {.size = sizeof(facts)};

	return trip_port_facts_read(hard_bed.port, &facts);
}

static int
call_port_stats_read(void)
{
	struct trip_port_stats stats = {.size = sizeof(stats)};

	return trip_port_stats_read(hard_bed.port, &stats);
}

static int
call_domain_close(void)
{
	return trip_domain_close(harness_domain);
}

static int
call_thread_attach(void)
{
	return trip_thread_attach(harness_domain);
}

static int
call_thread_detach(void)
{
	return trip_thread_detach(harness_domain);
}

const struct notice_call notice_calls[] = {
	{"trip_function_register", call_function_register, -EDEADLK},
	{"trip_function_name", call_function_name, 0},
	{"trip_work_queue", call_work_queue, -EDEADLK},
	{"trip_work_flush", call_work_flush, -EINPROGRESS},
	{"trip_work_cancel", call_work_cancel, -ENOENT},
	{"trip_work_read", call_work_read, 0},
	{"trip_cntr_open", call_cntr_open, -ENOSPC},
	{"trip_cntr_close", call_cntr_close, 0},
	{"trip_cntr_wait", call_cntr_wait, -ETIMEDOUT},
	{"trip_flow_create", call_flow_create, -EDEADLK},
	{"trip_flow_query", call_flow_query, 0},
	{"trip_flow_retire", call_flow_retire, -EDEADLK},
	{"trip_flow_destroy", call_flow_destroy, -EDEADLK},
	{"trip_counters_attach_point_flow", call_counters_attach, -EDEADLK},
	{"trip_counters_read", call_counters_read, 0},
	{"trip_counters_destroy", call_counters_destroy, 0},
	{"trip_counters_create", call_counters_create, 0},
	{"trip_set_open", call_set_open, -EDEADLK},
	{"trip_set_replace", call_set_replace, -EDEADLK},
	{"trip_set_replace_all", call_set_replace_all, -EDEADLK},
	{"trip_set_query", call_set_query, -EDEADLK},
	{"trip_set_close", call_set_close, -EDEADLK},
	{"trip_each_open", call_each_open, -EDEADLK},
	{"trip_each_find", call_each_find, -EDEADLK},
	{"trip_each_close", call_each_close, -EDEADLK},
	{"trip_each_settle", call_each_settle, -EDEADLK},
	{"trip_each_hold", call_each_hold, -EDEADLK},
	{"trip_port_open", call_port_open, -EDEADLK},
	{"trip_port_close", call_port_close, -EDEADLK},
	{"trip_port_stopping", call_port_stopping, -EDEADLK},
	{"trip_port_started", call_port_started, -EDEADLK},
	{"trip_port_facts_read", call_port_facts_read, 0},
	{"trip_port_stats_read", call_port_stats_read, 0},
	{"trip_domain_close", call_domain_close, -EBUSY},
	{"trip_thread_attach", call_thread_attach, 0},
	{"trip_thread_detach", call_thread_detach, 0},
	{"trip_function_unregister", call_function_unregister, 0},
};

const unsigned int n_notice_calls = RTE_DIM(notice_calls);

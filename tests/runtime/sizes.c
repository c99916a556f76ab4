/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Structures of programs that were compiled with other headers. Each is given in every size from
 * none to beyond what is known, with garbage behind it: what a short one lacks is zero, what does
 * not fit is not written, and a long one is refused by its name.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "harness.h"
#include "traffic.h"

/* gcc 15 and later clear no more of a union than the member that an initializer names: whatever
 * must be 0 behind that is the member's own. */
#define COVERS_ALL(type, in, member)                                                            \
	_Static_assert(sizeof(((struct type *)0)->in.member) == sizeof(((struct type *)0)->in), \
		"initializers of " #in "." #member " clear all of it")

COVERS_ALL(trip_condition, when, idle);
COVERS_ALL(trip_condition, when, rate);
COVERS_ALL(trip_condition, when, pairs);
/* A drop for ever, by op.flow, has the time 0 in op.drop.time. */
_Static_assert(sizeof(((struct trip_work *)0)->op.flow) +
			       sizeof(((struct trip_work *)0)->op.flow_reserved) ==
		       sizeof(((struct trip_work *)0)->op),
	"an initializer of op.flow clears all of it");

#define GARBAGE 0xa5
/* Bytes behind the longest. */
#define BEYOND 64

static struct {
	struct trip_port *port;
	struct trip_flow *flow;
	struct trip_cntr *cntr, *cond;
	struct trip_counters *counters;
	struct trip_each *each;
} bed;

/* ---- what is given: its full contents, and the call, which leaves nothing behind ----------------
 */

static int
open_cntr(const void *attr)
{
	struct trip_cntr *cntr;
	int error = trip_cntr_open(harness_domain, attr, &cntr, NULL);

	return error == 0 ? trip_cntr_close(cntr) : error;
}

static int
find_cntr(const void *attr)
{
	struct trip_cntr *cntr;
	int error = trip_cntr_find(harness_domain, attr, &cntr, NULL);

	return error == 0 ? trip_cntr_close(cntr) : error;
}

static int
open_wait_set(const void *attr)
{
	struct trip_wait_set *set;
	int error = trip_wait_open(harness_domain, attr, &set);

	return error == 0 ? trip_wait_close(set) : error;
}

static int
open_poll_set(const void *attr)
{
	struct trip_poll_set *set;
	int error = trip_poll_open(harness_domain, attr, &set);

	return error == 0 ? trip_poll_close(set) : error;
}

static int
create_counters(const void *attr)
{
	struct trip_counters *counters;
	int error = trip_counters_create(harness_domain, attr, &counters);

	return error == 0 ? trip_counters_destroy(counters) : error;
}

static int
attach_point(const void *attr)
{
	return trip_counters_attach_point_flow(bed.counters, attr, NULL);
}

/* Of no port, so that nothing comes of it. */
static int
open_port(const void *attr)
{
	struct trip_port *port;

	return trip_port_open(harness_domain, 999, attr, &port);
}

static int
validate_flow(const void *attr)
{
	return trip_flow_validate(999, attr, traffic_pattern(1000), NULL, NULL, NULL);
}

static int
create_flow(const void *attr)
{
	struct trip_flow *flow;
	int error = trip_flow_create(bed.port, attr, traffic_pattern(1000), NULL, &flow, NULL);

	return error == 0 ? trip_flow_destroy(flow) : error;
}

static int
cost_each(const void *attr)
{
	uint64_t bytes;
	int error = trip_each_footprint(attr, 3, &bytes);

	return error == 0 ? (int)(bytes / 64) : error;
}

static int
cost_domain(const void *attr)
{
	struct trip_domain_footprint print = {.size = sizeof(print)};

	return trip_domain_footprint(attr, &print);
}

/* In the primary, where nobody attaches, and elsewhere to none that there is: a name is wrong. */
static int
attach(const void *attr)
{
	struct trip_domain *domain;
	int error = trip_domain_attach(attr, &domain, NULL);

	return error == 0 ? trip_domain_close(domain) : error;
}

static int
queue(const void *work)
{
	uint64_t id;
	int error = trip_work_queue(harness_domain, work, &id);

	return error == 0 ? trip_work_cancel(harness_domain, id) : error;
}

static const struct trip_cntr_attr cntr = {.events = TRIP_CNTR_EVENTS_BYTES, .name = "sized"};
static const struct trip_cntr_attr found = {.name = "known"};
static const struct trip_wait_attr wait_set = {.wait_obj = TRIP_WAIT_YIELD};
static const struct trip_poll_attr poll_set;
static const struct trip_counters_init_attr counters = {.n_slots = 3};
static const struct trip_counter_attach_attr point = {
	.counter_desc = TRIP_COUNTER_BYTES, .index = 1};
static const struct trip_port_attr port = {.n_queues = 1};
static const struct trip_flow_attr flow = {.priority = 1, .engine = TRIP_FLOW_ENGINE_SW};
static const struct trip_domain_attr domain = {
	.progress = TRIP_PROGRESS_MANUAL, .idle_us = 7, .clock = TRIP_CLOCK_PACKET};
static const struct trip_each_part parts[] = {{TRIP_EACH_IPV4_SRC, 24}, {TRIP_EACH_PROTO, 0}};
static const struct trip_each_attr each = {
	.parts = parts, .n_parts = 2, .max = 1000, .idle_us = 1000000};
static const struct trip_domain_attach_attr attached = {.name = "no name"};
static struct trip_work work = {.threshold = 5, .op_type = TRIP_OP_CNTR_FILL};
static const struct trip_condition condition = {
	.kind = TRIP_CONDITION_IDLE, .when.idle.time = TRIP_CNTR_MAX};

static const struct trip_metrics_attr metrics = {.max_cntrs = 5};

static int
tell_metrics(const void *attr)
{
	char *text;
	size_t length;
	int error = trip_metrics_text(harness_domain, attr, &text, &length);

	if (error == 0)
		free(text);
	return error;
}

static int
queue_condition(const void *given)
{
	struct trip_work item = work;
	uint64_t id;
	int error;

	item.size = sizeof(item);
	item.condition = given;
	error = trip_work_queue(harness_domain, &item, &id);
	return error == 0 ? trip_work_cancel(harness_domain, id) : error;
}

#define GIVEN(tag, contents, call)                                                                \
	{                                                                                         \
		"struct " #tag, &(contents), sizeof(struct tag), call, offsetof(struct tag, size) \
	}

static const struct given {
	const char *name;
	const void *contents;
	size_t size;
	int (*call)(const void *structure);
	size_t size_at;
} given[] = {
	GIVEN(trip_cntr_attr, cntr, open_cntr),
	GIVEN(trip_cntr_attr, found, find_cntr),
	GIVEN(trip_wait_attr, wait_set, open_wait_set),
	GIVEN(trip_poll_attr, poll_set, open_poll_set),
	GIVEN(trip_counters_init_attr, counters, create_counters),
	GIVEN(trip_counter_attach_attr, point, attach_point),
	GIVEN(trip_port_attr, port, open_port),
	GIVEN(trip_flow_attr, flow, validate_flow),
	GIVEN(trip_flow_attr, flow, create_flow),
	GIVEN(trip_domain_attr, domain, cost_domain),
	GIVEN(trip_each_attr, each, cost_each),
	GIVEN(trip_metrics_attr, metrics, tell_metrics),
	GIVEN(trip_work, work, queue),
	GIVEN(trip_condition, condition, queue_condition),
};
static const struct given attaching = GIVEN(trip_domain_attach_attr, attached, attach);

/* ---- what is filled ---------------------------------------------------------------------------
 */

static int
fill_footprint(void *out)
{
	return trip_domain_footprint(NULL, out);
}

static int
fill_stats(void *out)
{
	return trip_domain_stats_read(harness_domain, out);
}

static int
fill_op(void *out)
{
	return trip_op_describe(TRIP_OP_CNTR_FILL, out);
}

static int
fill_condition(void *out)
{
	return trip_condition_describe(TRIP_CONDITION_IDLE, out);
}

static int
fill_facts(void *out)
{
	return trip_port_facts_read(bed.port, out);
}

static int
fill_facts_of_any(void *out)
{
	return trip_port_facts(0, out);
}

static int
fill_port_stats(void *out)
{
	return trip_port_stats_read(bed.port, out);
}

static int
fill_count(void *out)
{
	return trip_flow_query(bed.flow, out);
}

static int
fill_cond(void *out)
{
	return trip_cntr_control(bed.cond, TRIP_GETWAIT, out);
}

static int
fill_each(void *out)
{
	return trip_each_query(bed.each, out);
}

static int
fill_entry(void *out)
{
	return trip_each_read(bed.each, (const uint8_t[]){1001 >> 8, 1001 & 0xff}, out);
}

#define FILLED(tag, call, same)                                                              \
	{                                                                                    \
		"struct " #tag, sizeof(struct tag), call, offsetof(struct tag, size), (same) \
	}

static const struct filled {
	const char *name;
	size_t size;
	int (*call)(void *structure);
	size_t size_at;
	/* It says the same twice. */
	bool same;
} filled[] = {
	FILLED(trip_domain_footprint, fill_footprint, true),
	FILLED(trip_domain_stats, fill_stats, false),
	FILLED(trip_op_info, fill_op, true),
	FILLED(trip_condition_info, fill_condition, true),
	FILLED(trip_port_facts, fill_facts, true),
	FILLED(trip_port_facts, fill_facts_of_any, true),
	FILLED(trip_port_stats, fill_port_stats, true),
	FILLED(trip_flow_count, fill_count, true),
	FILLED(trip_mutex_cond, fill_cond, true),
	FILLED(trip_each_info, fill_each, true),
	FILLED(trip_each_entry, fill_entry, true),
};

/* ---- tests ------------------------------------------------------------------------------------
 */

static void
open_bed(void)
{
	static const struct trip_each_part by_port[] = {{TRIP_EACH_L4_DST, 0}};
	const struct trip_each_attr sized = {.size = sizeof(sized),
		.name = "sized",
		.parts = by_port,
		.n_parts = 1,
		.max = 16,
		.idle_us = UINT64_C(3600) * 1000000};
	const struct trip_port_attr attr = {.size = sizeof(attr), .mode = TRIP_PORT_BURST};
	const struct trip_cntr_attr known = {.size = sizeof(known), .name = "known"};

	bed.port = traffic_open(1, &attr);
	bed.flow = traffic_flow(bed.port, NULL, 1001);
	bed.each = traffic_each(bed.port, &sized, 0);
	assert_int_equal(traffic_burst(bed.port, 0, 3, 1001, 64), 3);
	assert_int_equal(trip_cntr_open(harness_domain, &known, &bed.cntr, NULL), 0);
	bed.cond = harness_cntr(TRIP_WAIT_MUTEX_COND);
	assert_int_equal(trip_counters_create(harness_domain, NULL, &bed.counters), 0);
	work.triggering_cntr = bed.cntr;
	work.op.fill.cntr = bed.cond;
	work.op.fill.value = 3;
	work.op.fill.limit = 9;
}

static void
close_bed(void)
{
	assert_int_equal(trip_counters_destroy(bed.counters), 0);
	harness_cntr_close(bed.cond);
	harness_cntr_close(bed.cntr);
	traffic_each_close(bed.each);
	traffic_flow_destroy(bed.flow);
	traffic_close(bed.port);
}

static bool
is_known(size_t size, size_t known)
{
	return size >= sizeof(size_t) && size <= known && size % sizeof(size_t) == 0;
}

static void
expect_refused(int result, const char *name, size_t size, size_t known)
{
	char text[80];

	if (result != -EINVAL || strncmp(trip_error_message(), name, strlen(name)) != 0)
		fail_msg("%s of %zu bytes: %d, %s", name, size, result, trip_error_message());
	snprintf(text, sizeof(text),
		size > known ? ": size %zu is above the limit %zu" : ": size %zu is none of ", size,
		known);
	if (strstr(trip_error_message(), text) == NULL)
		fail_msg("%s: \"%s\" lacks \"%s\"", name, trip_error_message(), text);
}

static void
give_all_sizes(const struct given *row)
{
	unsigned char *memory = malloc(row->size + BEYOND), *full = calloc(1, row->size);

	assert_int_equal(row->size_at, 0);
	for (size_t size = 0; size <= row->size + BEYOND; size++) {
		int result, expected;

		memset(memory, GARBAGE, row->size + BEYOND);
		memcpy(memory, row->contents, RTE_MIN(size, row->size));
		memcpy(memory, &size, sizeof(size));
		result = row->call(memory);
		if (!is_known(size, row->size)) {
			expect_refused(result, row->name, size, row->size);
			continue;
		}
		memset(full, 0, row->size);
		memcpy(full, row->contents, size);
		memcpy(full, &row->size, sizeof(size));
		expected = row->call(full);
		if (result != expected)
			fail_msg("%s of %zu bytes: %d, and %d with zeros behind them: %s",
				row->name, size, result, expected, trip_error_message());
	}
	free(memory);
	free(full);
}

static void
fill_all_sizes(const struct filled *row)
{
	unsigned char *memory = malloc(row->size + BEYOND), *full = calloc(1, row->size);

	assert_int_equal(row->size_at, 0);
	memcpy(full, &row->size, sizeof(size_t));
	assert_int_equal(row->call(full), 0);
	for (size_t size = 0; size <= row->size + BEYOND; size++) {
		bool known = is_known(size, row->size);
		int result;

		memset(memory, GARBAGE, row->size + BEYOND);
		memcpy(memory, &size, sizeof(size));
		result = row->call(memory);
		if (known)
			assert_int_equal(result, 0);
		else
			expect_refused(result, row->name, size, row->size);
		assert_memory_equal(memory, &size, sizeof(size));
		if (known && row->same)
			assert_memory_equal(
				memory + sizeof(size), full + sizeof(size), size - sizeof(size));
		for (size_t i = known ? size : sizeof(size); i < row->size + BEYOND; i++)
			assert_int_equal(memory[i], GARBAGE);
	}
	free(memory);
	free(full);
}

static void
cntr_10_what_is_given_may_be_shorter(void **state)
{
	open_bed();
	for (size_t i = 0; i < RTE_DIM(given); i++)
		give_all_sizes(&given[i]);
	close_bed();
}

static void
what_is_filled_may_be_shorter(void **state)
{
	open_bed();
	for (size_t i = 0; i < RTE_DIM(filled); i++)
		fill_all_sizes(&filled[i]);
	close_bed();
}

/* Without its name it would be a good one: of the usual domain. */
static void
attaching_takes_attributes(void **state)
{
	struct trip_domain_attach_attr attr = attached;
	struct trip_domain *none;

	for (attr.size = 0; attr.size <= sizeof(attr) + BEYOND; attr.size++) {
		int result;

		if (attr.size == sizeof(attr.size))
			continue;
		result = trip_domain_attach(&attr, &none, NULL);
		if (attr.size == sizeof(attr))
			assert_int_equal(result, -EINVAL);
		else
			expect_refused(result, attaching.name, attr.size, attaching.size);
	}
}

/* Events stand as close as the program has them. */
static void
work_15_events_may_be_shorter(void **state)
{
	struct trip_cntr *trigger = harness_cntr(TRIP_WAIT_NONE);
	struct trip_work item = harness_work(trigger, 1, TRIP_OP_CNTR_ADD);
	size_t known = sizeof(struct trip_work_event);
	unsigned char memory[3 * sizeof(struct trip_work_event)];

	item.op.cntr.cntr = harness_cntr(TRIP_WAIT_NONE);
	item.flags = TRIP_WORK_COMPLETION;
	trip_cntr_add(trigger, 1);
	for (size_t size = 0; size <= known + BEYOND; size++) {
		int n = 0;

		if (!is_known(size, known)) {
			expect_refused(trip_work_read(harness_domain, (void *)memory, size, 1),
				"struct trip_work_event", size, known);
			continue;
		}
		for (item.context = 7; item.context < 9; item.context++)
			harness_queue(&item);
		memset(memory, GARBAGE, sizeof(memory));
		while (n < 2) {
			n += trip_work_read(
				harness_domain, (void *)(memory + n * size), size, 2 - (uint32_t)n);
			harness_step();
		}
		for (unsigned int i = 0; i < 2; i++) {
			struct trip_work_event event = {0};

			memcpy(&event, memory + i * size, size);
			assert_int_equal(event.size, size);
			if (size > offsetof(struct trip_work_event, context))
				assert_int_equal(event.context, 7 + i);
			assert_int_equal(event.flags, 0);
			assert_int_equal(event.reserved, 0);
		}
		for (size_t i = 2 * size; i < sizeof(memory); i++)
			assert_int_equal(memory[i], GARBAGE);
	}
	harness_cntr_close(trigger);
	harness_cntr_close(item.op.cntr.cntr);
}

/* Behind the last member there is no padding, which a later version could not use: what an earlier
 * program has there is not zero. */
#define ENDS_WITH(tag, last)                                                           \
	_Static_assert(offsetof(struct tag, last) + sizeof(((struct tag *)0)->last) == \
			       sizeof(struct tag),                                     \
		#tag)

ENDS_WITH(trip_client_cntr, name);
ENDS_WITH(trip_client_domain, may_command);
ENDS_WITH(trip_client_flow, reserved);
ENDS_WITH(trip_client_home, detection_ns);
ENDS_WITH(trip_client_key, reserved);
ENDS_WITH(trip_client_process, lcores);
ENDS_WITH(trip_client_work, condition_until_time);
ENDS_WITH(trip_cntr_attr, name);
ENDS_WITH(trip_condition, when);
ENDS_WITH(trip_condition_info, pairs);
ENDS_WITH(trip_counter_attach_attr, reserved);
ENDS_WITH(trip_counters_init_attr, n_slots);
ENDS_WITH(trip_domain_attach_attr, name);
ENDS_WITH(trip_domain_attr, each_bytes);
ENDS_WITH(trip_domain_footprint, node_bytes);
ENDS_WITH(trip_domain_stats, commands_refused);
ENDS_WITH(trip_each_attr, reserved);
ENDS_WITH(trip_each_act, until_us);
ENDS_WITH(trip_each_entry, reserved);
ENDS_WITH(trip_each_event, reserved);
ENDS_WITH(trip_each_info, reserved_hand);
ENDS_WITH(trip_each_trip, pid);
ENDS_WITH(trip_flow_attr, reason);
ENDS_WITH(trip_flow_count, police_burst_ms);
ENDS_WITH(trip_metrics_attr, top);
ENDS_WITH(trip_mutex_cond, cond);
ENDS_WITH(trip_op_info, reserved);
ENDS_WITH(trip_pair, condition);
ENDS_WITH(trip_poll_attr, flags);
ENDS_WITH(trip_port_attr, reserved);
ENDS_WITH(trip_port_facts, reserved);
ENDS_WITH(trip_port_stats, reserved);
ENDS_WITH(trip_set_attr, name);
ENDS_WITH(trip_set_info, flows);
ENDS_WITH(trip_wait_attr, flags);
ENDS_WITH(trip_work, op);
ENDS_WITH(trip_work_event, reserved);

static void
the_library_says_its_version(void **state)
{
	assert_int_equal(trip_version(), TRIP_VERSION);
	assert_true(TRIP_VERSION >= TRIP_VERSION_NUM(0, 2, 0));
	assert_true(TRIP_VERSION_NUM(0, 3, 0) > TRIP_VERSION_NUM(0, 2, 255));
}

static void
an_unknown_condition_is_refused(void **state)
{
	static const int unknown[] = {TRIP_CONDITION_NONE, -1, 200, 256, INT_MAX};
	struct trip_cntr *target = harness_cntr(TRIP_WAIT_NONE);
	struct trip_work item = harness_work(target, 1, TRIP_OP_CNTR_ADD);
	struct trip_condition strange = {.size = sizeof(strange)};
	struct trip_condition_info info = {.size = sizeof(info)};

	item.op.cntr.cntr = target;
	item.condition = &strange;
	for (unsigned int i = 0; i < RTE_DIM(unknown); i++) {
		strange.kind = (enum trip_condition_kind)unknown[i];
		assert_int_equal(trip_work_queue(harness_domain, &item, NULL), -ENOSYS);
		assert_int_equal(trip_condition_describe(strange.kind, &info), -ENOSYS);
	}
	harness_cntr_close(target);
}

static int
open_with_each(void **state)
{
	harness_open(1, &(struct trip_domain_attr){.each_bytes = 1 << 20});
	return 0;
}

static const struct CMUnitTest tests[] = {
	{"cntr_10_what_is_given_may_be_shorter", cntr_10_what_is_given_may_be_shorter,
		open_with_each, harness_teardown, NULL},
	{"what_is_filled_may_be_shorter", what_is_filled_may_be_shorter, open_with_each,
		harness_teardown, NULL},
	HARNESS_TEST(attaching_takes_attributes),
	HARNESS_TEST(work_15_events_may_be_shorter),
	HARNESS_TEST(an_unknown_condition_is_refused),
	HARNESS_TEST(the_library_says_its_version),
};

TRAFFIC_MAIN(tests)

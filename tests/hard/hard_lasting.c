/* SPDX-License-Identifier: BSD-3-Clause */
/* Drops of flows in hardware that last for a time, on a driver that the test plays: they end, and
 * what fails meanwhile changes nothing of that (DATA-10). */
#include <errno.h>

#include "domain/domain.h"
#include "hard_bed.h"

/* For so many nanoseconds, at once; the item's id. */
static uint64_t
drop_for(struct trip_flow *flow, uint64_t time)
{
	struct trip_work work = harness_work(hard_bed.packets, 0, TRIP_OP_FLOW_DROP);

	work.op.drop.flow = flow;
	work.op.drop.time = time;
	work.completion_cntr = hard_bed.completion;
	work.flags = TRIP_WORK_COMPLETION;
	return harness_queue(&work);
}

#define HOUR UINT64_C(3600000000000)

static void
receive_before_the_end(void)
{
	assert_int_equal(fake_nic_receive(1000, 13, 100), 0);
	fake_nic_refresh();
}

static void
receive_while_it_drops(void)
{
	assert_int_equal(fake_nic_receive(1000, 5, 100), 5);
	fake_nic_at(FAKE_NIC_DESTROY, receive_before_the_end);
}

static void
data_10_a_drop_for_a_time_ends(void **state)
{
	struct trip_flow *flow;

	hard_open(&hard_shared);
	flow = hard_create(1000, false);
	fake_nic_at(FAKE_NIC_CREATE, receive_while_it_drops);
	(void)drop_for(flow, 1000000);
	assert_int_equal(harness_event().flags, TRIP_WORK_MORE);
	assert_int_equal(harness_event().flags, TRIP_WORK_END);
	assert_int_equal(hard_fate_of(flow), TRIP_FLOW_FATE_PASS);
	hard_receive(1000, 10, 10);
	hard_expect_flow(flow, 28, TRIP_FLOW_FATE_PASS);
	harness_expect(hard_bed.completion, 1, 0);
	assert_int_equal(hard_stats_of().operations, 2);
	hard_destroy(flow);
	hard_close();
}

/* The driver does not let the flow pass, and then does. */
static void
data_10_an_end_that_fails_comes_later(void **state)
{
	struct trip_flow *flow;
	struct trip_work_event event;

	hard_open(&hard_direct);
	flow = hard_create(1000, false);
	(void)drop_for(flow, 100000000);
	assert_int_equal(harness_event().result, 0);
	fake_nic_fail(FAKE_NIC_CREATE, 3, EIO);
	event = harness_event();
	assert_int_equal(event.flags, TRIP_WORK_END);
	assert_int_equal(event.result, -EIO);
	harness_until(hard_fate_of(flow) == TRIP_FLOW_FATE_PASS);
	assert_int_equal(hard_stats_of().failed_operations, 3);
	harness_expect(hard_bed.completion, 1, 0);
	hard_receive(1000, 10, 10);
	hard_destroy(flow);
	hard_close();
}

#define MANY 300
#define RING 256

/* What ends while the port takes nothing more ends behind all that. */
static void
data_10_an_end_finds_the_queue_full(void **state)
{
	struct trip_flow *flow, *other;
	uint64_t id;

	hard_open(&hard_direct);
	flow = hard_create(1000, false);
	other = hard_create(1001, false);
	id = drop_for(flow, HOUR);
	(void)harness_event();
	fake_nic_hold(FAKE_NIC_CREATE, true);
	for (unsigned int i = 0; i < MANY; i++)
		hard_queue_op(other, 0, i % 2 == 0 ? TRIP_OP_FLOW_DROP : TRIP_OP_FLOW_PASS);
	harness_until(trip_cntr_readerr(hard_bed.completion) == MANY - RING);
	assert_int_equal(trip_work_cancel(harness_domain, id), 0);
	harness_settle();
	/* The worker, which is held, cannot be asked. */
	assert_int_equal(fake_nic_receive(1000, 10, 100), 0);
	fake_nic_hold(FAKE_NIC_CREATE, false);
	harness_until(hard_fate_of(flow) == TRIP_FLOW_FATE_PASS);
	harness_await(hard_bed.completion, 1 + RING, MANY - RING);
	hard_receive(1000, 10, 10);
	hard_destroy(flow);
	hard_destroy(other);
	hard_close();
}

/* What fails while the flow is as it was before. */
static void
expect_failure(struct trip_flow *flow, enum trip_op op, int error)
{
	struct trip_work work = harness_work(hard_bed.packets, 0, op);
	struct trip_work_event event;

	work.op.flow = flow;
	work.flags = TRIP_WORK_COMPLETION;
	harness_queue(&work);
	event = harness_event();
	assert_int_equal(event.op_type, op);
	assert_int_equal(event.result, error);
}

static uint64_t
drop_for_an_hour(struct trip_flow *flow)
{
	uint64_t id = drop_for(flow, HOUR);
	struct trip_work_event event = harness_event();

	assert_int_equal(event.id, id);
	assert_int_equal(event.result, 0);
	return id;
}

/* As at the end of its time. */
static void
end_drop(struct trip_flow *flow, uint64_t id)
{
	assert_int_equal(trip_work_cancel(harness_domain, id), 0);
	harness_until(hard_fate_of(flow) == TRIP_FLOW_FATE_PASS);
	hard_receive(1000, 10, 10);
}

static void
data_10_a_pass_that_fails_ends_no_drop(void **state)
{
	struct trip_flow *flow;
	uint64_t id;

	hard_open(&hard_direct);
	flow = hard_create(1000, false);
	id = drop_for_an_hour(flow);
	fake_nic_fail(FAKE_NIC_CREATE, 1, EIO);
	expect_failure(flow, TRIP_OP_FLOW_PASS, -EIO);
	hard_receive(1000, 10, 0);
	end_drop(flow, id);
	hard_destroy(flow);
	hard_close();
}

/* While the driver recovers from an error. */
static void
fails_in_a_recovery(enum trip_op op)
{
	struct trip_flow *flow;
	uint64_t id;

	hard_open(&hard_forgetful);
	flow = hard_create(1000, true);
	id = drop_for_an_hour(flow);
	fake_nic_event(RTE_ETH_EVENT_ERR_RECOVERING);
	expect_failure(flow, op, -EBUSY);
	fake_nic_flush();
	fake_nic_event(RTE_ETH_EVENT_RECOVERY_SUCCESS);
	harness_until(atomic_load(&hard_bed.n_events[TRIP_PORT_STARTED]) == 1);
	hard_receive(1000, 10, 0);
	end_drop(flow, id);
	hard_destroy(flow);
	hard_close();
}

static void
data_10_what_fails_in_a_recovery_ends_no_drop(void **state)
{
	fails_in_a_recovery(TRIP_OP_FLOW_PASS);
	fails_in_a_recovery(TRIP_OP_FLOW_DELETE);
}

/* A drop for ever outlasts one for a time only where it has begun. */
static void
data_10_a_drop_that_fails_outlasts_none(void **state)
{
	struct trip_flow *flow;
	uint64_t id;

	fails_in_a_recovery(TRIP_OP_FLOW_DROP);
	hard_open(&hard_direct);
	flow = hard_create(1000, false);
	fake_nic_fail(FAKE_NIC_CREATE, 1, EIO);
	expect_failure(flow, TRIP_OP_FLOW_DROP, -EIO);
	id = drop_for_an_hour(flow);
	end_drop(flow, id);
	hard_destroy(flow);
	hard_close();
}

/* Nor does another for a time. */
static void
data_10_a_timed_drop_that_fails_holds_none(void **state)
{
	struct trip_flow *flow;
	uint64_t failed, id;

	hard_open(&hard_direct);
	flow = hard_create(1000, false);
	fake_nic_fail(FAKE_NIC_CREATE, 1, EIO);
	failed = drop_for(flow, HOUR);
	assert_int_equal(harness_event().result, -EIO);
	id = drop_for_an_hour(flow);
	end_drop(flow, id);
	id = drop_for_an_hour(flow);
	assert_int_equal(trip_work_cancel(harness_domain, failed), 0);
	harness_settle();
	hard_receive(1000, 10, 0);
	end_drop(flow, id);
	hard_destroy(flow);
	hard_close();
}

/* Canceled, or its time over, while the port has other things to do. */
static void
data_10_a_drop_ends_before_it_has_begun(void **state)
{
	struct trip_flow *flow, *other;
	uint64_t id;

	hard_open(&hard_direct);
	flow = hard_create(1000, false);
	other = hard_create(1001, false);
	fake_nic_hold(FAKE_NIC_CREATE, true);
	hard_queue_op(other, 0, TRIP_OP_FLOW_DROP);
	harness_until(fake_nic_is_held());
	id = drop_for(flow, HOUR);
	harness_settle();
	assert_int_equal(trip_work_cancel(harness_domain, id), 0);
	/* And one whose time is over by then. */
	(void)drop_for(other, 1);
	harness_settle();
	fake_nic_hold(FAKE_NIC_CREATE, false);
	assert_int_equal(harness_event().flags, TRIP_WORK_MORE);
	assert_int_equal(harness_event().flags, TRIP_WORK_MORE);
	assert_int_equal(harness_event().flags, TRIP_WORK_END);
	harness_until(hard_fate_of(flow) == TRIP_FLOW_FATE_PASS);
	hard_receive(1000, 10, 10);
	/* That one drops for ever. */
	assert_int_equal(hard_fate_of(other), TRIP_FLOW_FATE_DROP);
	id = drop_for_an_hour(flow);
	end_drop(flow, id);
	hard_destroy(flow);
	hard_destroy(other);
	hard_close();
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(data_10_a_drop_for_a_time_ends),
	cmocka_unit_test(data_10_an_end_that_fails_comes_later),
	cmocka_unit_test(data_10_an_end_finds_the_queue_full),
	cmocka_unit_test(data_10_a_pass_that_fails_ends_no_drop),
	cmocka_unit_test(data_10_what_fails_in_a_recovery_ends_no_drop),
	cmocka_unit_test(data_10_a_drop_that_fails_outlasts_none),
	cmocka_unit_test(data_10_a_timed_drop_that_fails_holds_none),
	cmocka_unit_test(data_10_a_drop_ends_before_it_has_begun),
};

HARNESS_MAIN(TRAFFIC_VDEV, tests)

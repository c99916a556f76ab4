/* SPDX-License-Identifier: BSD-3-Clause */
/* Flows in hardware while their port stops, starts and goes, on a driver that the test plays. */
#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <rte_ethdev.h>

#include "hard.h"
#include "hard_bed.h"

/* The longest that a worker has meant to sleep, in nanoseconds, and how often it has. */
static _Atomic uint64_t longest_sleep, sleeps;

/* Ahead of libc's. */
int
ppoll(struct pollfd *fds, nfds_t n, const struct timespec *limit, const sigset_t *mask)
{
	/* The system writes what is left. */
	struct timespec left = limit != NULL ? *limit : (struct timespec){0};
	uint64_t ns = (uint64_t)left.tv_sec * 1000000000 + (uint64_t)left.tv_nsec;

	if (trip_hard_current != NULL && limit != NULL) {
		if (ns > atomic_load(&longest_sleep))
			atomic_store(&longest_sleep, ns);
		atomic_fetch_add(&sleeps, 1);
	}
	return (int)syscall(
		SYS_ppoll, fds, n, limit != NULL ? &left : NULL, mask, sizeof(uint64_t));
}

static void
stop_and_start(const struct fake_nic *nic)
{
	struct trip_flow *kept, *lost;

	hard_open(nic);
	kept = hard_create(1000, true);
	lost = hard_create(1001, false);
	hard_receive(1000, 10, 10);
	assert_int_equal(fake_nic_receive(1001, 5, 100), 5);
	assert_int_equal(trip_port_stopping(hard_bed.port), 0);
	assert_int_equal(fake_nic_rules(), 0);
	assert_int_equal(rte_eth_dev_stop(hard_bed.port_id), 0);
	fake_nic_flush();
	/* Read to the last, and told. */
	hard_expect_flow(lost, 5, TRIP_FLOW_FATE_LOST);
	hard_expect_flow(kept, 10, TRIP_FLOW_FATE_PASS);
	harness_await(hard_bed.packets, 15, 1);
	harness_await(hard_bed.bytes, 1500, 1);
	assert_int_equal(rte_eth_dev_start(hard_bed.port_id), 0);
	assert_int_equal(trip_port_started(hard_bed.port), 0);
	assert_int_equal(hard_stats_of().recreated, 1);
	assert_int_equal(hard_stats_of().lost, 1);
	hard_receive(1000, 20, 20);
	assert_int_equal(fake_nic_receive(1001, 5, 100), 5);
	hard_expect_flow(kept, 30, TRIP_FLOW_FATE_PASS);
	hard_expect_flow(lost, 5, TRIP_FLOW_FATE_LOST);
	/* A drop that fires meanwhile is that of the rule that comes back. */
	assert_int_equal(trip_port_stopping(hard_bed.port), 0);
	fake_nic_flush();
	hard_queue_op(kept, 0, TRIP_OP_FLOW_DROP);
	hard_queue_op(lost, 0, TRIP_OP_FLOW_DROP);
	harness_until(
		trip_cntr_read(hard_bed.completion) + trip_cntr_readerr(hard_bed.completion) == 2);
	harness_expect(hard_bed.completion, 1, 1);
	assert_int_equal(trip_port_started(hard_bed.port), 0);
	hard_receive(1000, 1, 0);
	hard_expect_flow(kept, 31, TRIP_FLOW_FATE_DROP);
	/* One that cannot be created again is lost. */
	assert_int_equal(trip_port_stopping(hard_bed.port), 0);
	fake_nic_fail(FAKE_NIC_CREATE, 1, EIO);
	assert_int_equal(trip_port_started(hard_bed.port), 1);
	hard_expect_flow(kept, 31, TRIP_FLOW_FATE_LOST);
	harness_await(hard_bed.packets, 36, 2);
	hard_destroy(kept);
	hard_destroy(lost);
	hard_close();
}

static void
hard_stop_and_start_direct(void **state)
{
	stop_and_start(&hard_direct);
}

static void
hard_stop_and_start_shared(void **state)
{
	stop_and_start(&hard_shared);
}

/* The driver destroys counters with the stop. */
static void
hard_stop_and_start_forgetful(void **state)
{
	stop_and_start(&hard_forgetful);
}

/* Its rule is gone, and its counter is still read, as the cache may be behind. */
static void
hard_stop_before_a_deleted_flow_is_final(void **state)
{
	struct trip_flow *flow;

	hard_open(&hard_forgetful);
	flow = hard_create(1000, true);
	hard_receive(1000, 10, 10);
	hard_queue_op(flow, 0, TRIP_OP_FLOW_DELETE);
	harness_until(trip_cntr_read(hard_bed.completion) == 1);
	assert_int_equal(trip_port_stopping(hard_bed.port), 0);
	fake_nic_flush();
	hard_expect_flow(flow, 10, TRIP_FLOW_FATE_DELETED);
	assert_int_equal(trip_port_started(hard_bed.port), 0);
	hard_expect_flow(flow, 10, TRIP_FLOW_FATE_DELETED);
	hard_destroy(flow);
	harness_await(hard_bed.packets, 10, 0);
	hard_close();
}

/* The application says nothing: no dead handle is used all the same. */
static void
hard_stop_that_is_not_told(void **state)
{
	struct trip_flow *kept, *lost;

	hard_open(&hard_shared);
	kept = hard_create(1000, true);
	lost = hard_create(1001, false);
	hard_receive(1000, 10, 10);
	harness_until(trip_cntr_read(hard_bed.packets) == 10);
	fake_nic_hold(FAKE_NIC_QUERY, true);
	harness_until(fake_nic_is_held());
	assert_int_equal(rte_eth_dev_stop(hard_bed.port_id), 0);
	fake_nic_hold(FAKE_NIC_QUERY, false);
	harness_until(trip_cntr_readerr(hard_bed.packets) == 1);
	fake_nic_flush();
	hard_expect_flow(lost, 0, TRIP_FLOW_FATE_LOST);
	assert_int_equal(rte_eth_dev_start(hard_bed.port_id), 0);
	assert_int_equal(trip_port_started(hard_bed.port), 0);
	hard_receive(1000, 10, 10);
	hard_expect_flow(kept, 20, TRIP_FLOW_FATE_PASS);
	hard_destroy(kept);
	hard_destroy(lost);
	hard_close();
}

/* Nor is the stop seen: the port runs again, with the same queues, before the worker looks. */
static void
hard_stop_that_only_the_start_tells_of(void **state)
{
	struct trip_flow *kept, *lost;

	hard_open(&hard_shared);
	kept = hard_create(1000, true);
	lost = hard_create(1001, false);
	hard_receive(1000, 10, 10);
	harness_until(trip_cntr_read(hard_bed.packets) == 10);
	fake_nic_hold(FAKE_NIC_QUERY, true);
	harness_until(fake_nic_is_held());
	assert_int_equal(rte_eth_dev_stop(hard_bed.port_id), 0);
	fake_nic_flush();
	assert_int_equal(rte_eth_dev_start(hard_bed.port_id), 0);
	fake_nic_hold(FAKE_NIC_QUERY, false);
	assert_int_equal(trip_port_started(hard_bed.port), 1);
	hard_expect_flow(lost, 0, TRIP_FLOW_FATE_LOST);
	assert_int_equal(fake_nic_rules(), 1);
	hard_receive(1000, 10, 10);
	hard_expect_flow(kept, 20, TRIP_FLOW_FATE_PASS);
	hard_destroy(kept);
	hard_destroy(lost);
	hard_close();
}

/* Somebody else creates a flow between the start and the word of it. Nobody could say whether its
 * rule is of before the stop: so there is none. */
static void
hard_create_before_the_start_is_told(void **state)
{
	static const struct trip_flow_attr hw = {.engine = TRIP_FLOW_ENGINE_HW};
	struct trip_flow *kept, *early = NULL;
	struct rte_flow_error error;
	int result;

	hard_open(&hard_shared);
	kept = hard_create(1000, true);
	assert_int_equal(trip_port_stopping(hard_bed.port), 0);
	assert_int_equal(rte_eth_dev_stop(hard_bed.port_id), 0);
	fake_nic_flush();
	assert_int_equal(rte_eth_dev_start(hard_bed.port_id), 0);
	result = hard_try_create(traffic_pattern(1001), &hw, &early, &error);
	assert_int_equal(trip_port_started(hard_bed.port), 0);
	assert_int_equal(fake_nic_rules(), 1 + (result == 0));
	assert_int_equal(result, -EBUSY);
	assert_non_null(strstr(error.message, "trip_port_started()"));
	early = hard_create(1001, false);
	hard_receive(1001, 10, 10);
	hard_expect_flow(early, 10, TRIP_FLOW_FATE_PASS);
	hard_destroy(early);
	hard_destroy(kept);
	hard_close();
}

/* Where the stop was seen, it was created after the start, and its rule is alive. */
static void
hard_create_after_a_stop_that_was_seen(void **state)
{
	struct trip_flow *kept, *early;

	hard_open(&hard_shared);
	kept = hard_create(1000, true);
	assert_int_equal(rte_eth_dev_stop(hard_bed.port_id), 0);
	harness_until(atomic_load(&hard_bed.n_events[TRIP_PORT_STOPPED]) == 1);
	fake_nic_flush();
	assert_int_equal(rte_eth_dev_start(hard_bed.port_id), 0);
	early = hard_create(1001, false);
	assert_int_equal(trip_port_started(hard_bed.port), 0);
	assert_int_equal(fake_nic_rules(), 2);
	hard_receive(1001, 10, 10);
	hard_expect_flow(early, 10, TRIP_FLOW_FATE_PASS);
	hard_destroy(early);
	hard_destroy(kept);
	hard_close();
}

/* However seldom its counters are read, the worker looks whether the port runs. */
static void
hard_stop_is_looked_for(void **state)
{
	static const struct fake_nic slow = {.driver = "mlx5_pci",
		.devargs = "dv_flow_en=2,svc_cycle_time=2000",
		.shared = true,
		.cached = true,
		.keeps_shared = true};
	struct trip_flow *flow;
	uint64_t before;

	hard_open(&slow);
	flow = hard_create(1000, false);
	before = atomic_load(&sleeps);
	atomic_store(&longest_sleep, 0);
	harness_until(atomic_load(&sleeps) >= before + 3);
	assert_true(atomic_load(&longest_sleep) <= 10000000);
	hard_destroy(flow);
	hard_close();
}

/* Waiters wake, the value stays, and no handle is touched any more. */
static void
cntr_03_removal_is_an_error(void **state)
{
	const struct trip_flow_attr hw = {.engine = TRIP_FLOW_ENGINE_HW};
	struct rte_flow_error error;
	struct trip_flow *flow, *other = NULL;

	hard_open(&hard_forgetful);
	flow = hard_create(1000, true);
	hard_receive(1000, 10, 10);
	harness_until(trip_cntr_read(hard_bed.packets) == 10);
	fake_nic_event(RTE_ETH_EVENT_INTR_RMV);
	harness_await(hard_bed.packets, 10, 1);
	harness_await(hard_bed.bytes, 1000, 1);
	fake_nic_flush();
	harness_until(atomic_load(&hard_bed.n_events[TRIP_PORT_REMOVED]) == 1);
	hard_expect_flow(flow, 10, TRIP_FLOW_FATE_LOST);
	hard_queue_op(flow, 0, TRIP_OP_FLOW_DROP);
	harness_until(trip_cntr_readerr(hard_bed.completion) == 1);
	assert_int_equal(trip_port_started(hard_bed.port), 0);
	assert_int_equal(hard_try_create(traffic_pattern(1000), &hw, &other, &error), -ENODEV);
	hard_destroy(flow);
	hard_close();
}

/* Two rules of a drop that failed stand until the stop; the counter that the flow has afterwards is
 * given back with it. */
static void
hard_what_stays_ends_with_a_stop_not_told(void **state)
{
	struct trip_flow *flow;

	hard_open(&hard_forgetful);
	flow = hard_create(1000, true);
	fake_nic_fail(FAKE_NIC_DESTROY, 2, EIO);
	hard_queue_op(flow, 0, TRIP_OP_FLOW_DROP);
	harness_until(trip_cntr_readerr(hard_bed.completion) == 1);
	assert_int_equal(fake_nic_rules(), 2);
	assert_int_equal(rte_eth_dev_stop(hard_bed.port_id), 0);
	harness_until(atomic_load(&hard_bed.n_events[TRIP_PORT_STOPPED]) == 1);
	fake_nic_flush();
	assert_int_equal(rte_eth_dev_start(hard_bed.port_id), 0);
	assert_int_equal(trip_port_started(hard_bed.port), 0);
	hard_receive(1000, 10, 10);
	hard_expect_flow(flow, 10, TRIP_FLOW_FATE_PASS);
	hard_destroy(flow);
	hard_close();
}

/* Of a stop that only the start tells of nobody knows when it was: a drop that failed may have been
 * after it, and its rule stand, which has the flow's counter. */
static void
stays_after_a_stop(bool recreate)
{
	struct trip_flow *flow;

	hard_open(&hard_shared);
	flow = hard_create(1000, recreate);
	fake_nic_fail(FAKE_NIC_DESTROY, 2, EIO);
	hard_queue_op(flow, 0, TRIP_OP_FLOW_DROP);
	harness_until(trip_cntr_readerr(hard_bed.completion) == 1);
	assert_int_equal(trip_port_started(hard_bed.port), recreate ? 0 : 1);
	assert_int_equal(fake_nic_rules(), recreate ? 3 : 2);
	hard_destroy(flow);
	assert_int_equal(fake_nic_rules(), 2);
	hard_close_port();
	/* With the device all of it goes. */
	fake_nic_open(&hard_forgetful);
	fake_nic_flush();
	fake_nic_close();
}

static void
hard_what_stays_may_be_of_after_a_stop(void **state)
{
	stays_after_a_stop(false);
	stays_after_a_stop(true);
}

/* The cache stands still, the port does not. */
static void
hard_stale_counters_are_noticed(void **state)
{
	struct trip_flow *flow;

	hard_open(&hard_cached);
	flow = hard_create(1000, false);
	hard_receive(1000, 10, 10);
	harness_until(trip_cntr_read(hard_bed.packets) == 10);
	while (!hard_stats_of().stale_now) {
		fake_nic_receive(1000, 1, 100);
		harness_step();
	}
	harness_until(atomic_load(&hard_bed.n_events[TRIP_PORT_STALE]) == 1);
	assert_int_equal(hard_stats_of().stale, 1);
	fake_nic_refresh();
	harness_until(!hard_stats_of().stale_now);
	harness_until(atomic_load(&hard_bed.n_events[TRIP_PORT_FRESH]) == 1);
	hard_destroy(flow);
	hard_close();
}

static int
try_what_waits(const struct trip_work_event *event, void *arg)
{
	struct trip_flow *flow = arg, *other;

	if (trip_flow_retire(flow) != -EDEADLK || trip_port_stopping(hard_bed.port) != -EDEADLK ||
		trip_port_started(hard_bed.port) != -EDEADLK)
		return -EPROTO;
	return hard_try_create(traffic_pattern(1001), &(struct trip_flow_attr){0}, &other, NULL) ==
			       -EDEADLK
		       ? 0
		       : -EPROTO;
}

static void
hard_functions_do_not_wait_for_the_worker(void **state)
{
	struct trip_function *function;
	struct trip_flow_count count = {.size = sizeof(count)};
	struct trip_flow *flow;
	struct trip_work work;

	hard_open(&hard_direct);
	flow = hard_create(1000, false);
	trip_flow_query(flow, &count);
	assert_int_equal(
		trip_function_register(harness_domain, try_what_waits, flow, &function), 0);
	work = harness_work(hard_bed.packets, 0, TRIP_OP_CALL);
	work.op.call.function = function;
	work.completion_cntr = hard_bed.completion;
	harness_queue(&work);
	harness_until(trip_cntr_read(hard_bed.completion) == 1);
	assert_int_equal(trip_work_flush(harness_domain, NULL), 0);
	assert_int_equal(trip_function_unregister(function), 0);
	hard_destroy(flow);
	hard_close();
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(hard_stop_and_start_direct),
	cmocka_unit_test(hard_stop_and_start_shared),
	cmocka_unit_test(hard_stop_and_start_forgetful),
	cmocka_unit_test(hard_stop_before_a_deleted_flow_is_final),
	cmocka_unit_test(hard_stop_that_is_not_told),
	cmocka_unit_test(hard_stop_that_only_the_start_tells_of),
	cmocka_unit_test(hard_create_before_the_start_is_told),
	cmocka_unit_test(hard_create_after_a_stop_that_was_seen),
	cmocka_unit_test(hard_stop_is_looked_for),
	cmocka_unit_test(cntr_03_removal_is_an_error),
	cmocka_unit_test(hard_what_stays_ends_with_a_stop_not_told),
	cmocka_unit_test(hard_what_stays_may_be_of_after_a_stop),
	cmocka_unit_test(hard_stale_counters_are_noticed),
	cmocka_unit_test(hard_functions_do_not_wait_for_the_worker),
};

HARNESS_MAIN(TRAFFIC_VDEV, tests)

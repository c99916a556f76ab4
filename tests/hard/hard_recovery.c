/* SPDX-License-Identifier: BSD-3-Clause */
/* Flows in hardware while the driver recovers from an error, or is to be reset, on one that the
 * test plays. It tells so in a thread of its own, and goes on when it has been heard. */
#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <rte_ethdev.h>

#include "hard_bed.h"

/* --- the driver's thread --- */

static _Thread_local bool is_driver;
/* It waits for the worker; it has told all. */
static _Atomic bool waits, has_told;
/* Rules that went in while it was recovering. */
static _Atomic uint64_t went_in;
static pthread_t driver;

/* Ahead of libc's. */
int
nanosleep(const struct timespec *time, struct timespec *left)
{
	if (is_driver)
		atomic_store(&waits, true);
	return (int)syscall(SYS_nanosleep, time, left);
}

static void *
run_driver(void *tell)
{
	is_driver = true;
	((void (*)(void))(uintptr_t)tell)();
	atomic_store(&has_told, true);
	return NULL;
}

/* Until it has told all, or waits. */
static void
start_driver(void (*tell)(void))
{
	atomic_store(&waits, false);
	atomic_store(&has_told, false);
	atomic_store(&went_in, 0);
	assert_int_equal(pthread_create(&driver, NULL, run_driver, (void *)(uintptr_t)tell), 0);
	while (!atomic_load(&waits) && !atomic_load(&has_told))
		;
}

static void
join_driver(void)
{
	harness_until(atomic_load(&has_told));
	assert_int_equal(pthread_join(driver, NULL), 0);
}

static void
recover_once(void)
{
	uint64_t before;

	fake_nic_event(RTE_ETH_EVENT_ERR_RECOVERING);
	before = fake_nic_called(FAKE_NIC_CREATE);
	fake_nic_flush();
	atomic_fetch_add(&went_in, fake_nic_called(FAKE_NIC_CREATE) - before);
	fake_nic_event(RTE_ETH_EVENT_RECOVERY_SUCCESS);
}

static void
recover_and_begin_again(void)
{
	recover_once();
	fake_nic_event(RTE_ETH_EVENT_ERR_RECOVERING);
	atomic_store(&went_in, fake_nic_called(FAKE_NIC_CREATE));
	fake_nic_flush();
}

static void
want_reset(void)
{
	fake_nic_event(RTE_ETH_EVENT_INTR_RESET);
}

/* In a call of the worker's. */
static void
recover_meanwhile(void)
{
	start_driver(recover_once);
}

static void
begin_again_meanwhile(void)
{
	start_driver(recover_and_begin_again);
}

static void
end_recovery(void)
{
	fake_nic_flush();
	fake_nic_event(RTE_ETH_EVENT_RECOVERY_SUCCESS);
}

/* --- the tests --- */

/* One rule, and it is that of the flow. */
static void
expect_alive(struct trip_flow *flow, uint64_t n)
{
	hard_receive(1000, 10, 10);
	hard_expect_flow(flow, n + 10, TRIP_FLOW_FATE_PASS);
	assert_int_equal(fake_nic_rules(), 1);
}

/* Otherwise it would be forgotten as one of before the recovery, and stand for ever. */
static void
hard_a_rule_goes_in_before_a_recovery(void **state)
{
	struct trip_flow *flow;

	hard_open(&hard_shared);
	fake_nic_at(FAKE_NIC_CREATE, recover_meanwhile);
	flow = hard_create(1000, true);
	join_driver();
	harness_until(atomic_load(&hard_bed.n_events[TRIP_PORT_STARTED]) == 1);
	expect_alive(flow, 0);
	hard_destroy(flow);
	hard_close();
}

/* The first has ended, and no rule goes in during the second. */
static void
hard_a_recovery_after_another(void **state)
{
	struct trip_flow *flow;

	hard_open(&hard_forgetful);
	fake_nic_at(FAKE_NIC_CREATE, begin_again_meanwhile);
	flow = hard_create(1000, true);
	join_driver();
	harness_settle();
	assert_int_equal(fake_nic_called(FAKE_NIC_CREATE), atomic_load(&went_in));
	end_recovery();
	harness_until(fake_nic_rules() == 1);
	expect_alive(flow, 0);
	hard_destroy(flow);
	hard_close();
}

/* The application has started the port, and tells so when the driver already recovers from what
 * came next. */
static void
hard_started_while_it_recovers(void **state)
{
	struct trip_flow *flow;

	hard_open(&hard_forgetful);
	flow = hard_create(1000, true);
	assert_int_equal(trip_port_stopping(hard_bed.port), 0);
	fake_nic_flush();
	fake_nic_event(RTE_ETH_EVENT_ERR_RECOVERING);
	assert_int_equal(trip_port_started(hard_bed.port), 0);
	assert_int_equal(fake_nic_rules(), 0);
	end_recovery();
	harness_until(fake_nic_rules() == 1);
	expect_alive(flow, 0);
	hard_destroy(flow);
	hard_close();
}

/* It is about to stop the port: nothing goes in before it has started it again. */
static void
hard_recovery_before_a_stop(void **state)
{
	struct trip_flow *flow;

	hard_open(&hard_forgetful);
	flow = hard_create(1000, true);
	assert_int_equal(trip_port_stopping(hard_bed.port), 0);
	fake_nic_event(RTE_ETH_EVENT_ERR_RECOVERING);
	end_recovery();
	harness_until(atomic_load(&hard_bed.n_events[TRIP_PORT_STOPPED]) == 2);
	harness_settle();
	assert_int_equal(fake_nic_rules(), 0);
	assert_int_equal(rte_eth_dev_stop(hard_bed.port_id), 0);
	assert_int_equal(rte_eth_dev_start(hard_bed.port_id), 0);
	assert_int_equal(trip_port_started(hard_bed.port), 0);
	expect_alive(flow, 0);
	hard_destroy(flow);
	hard_close();
}

/* Until the worker knows of the error. */
static void
begin_recovery(void)
{
	const struct trip_flow_attr hw = {.engine = TRIP_FLOW_ENGINE_HW};
	struct trip_flow *other = NULL;

	fake_nic_event(RTE_ETH_EVENT_ERR_RECOVERING);
	assert_int_equal(hard_try_create(traffic_pattern(1001), &hw, &other, NULL), -EBUSY);
	fake_nic_flush();
}

/* All handles may be dead: none is used, and flows can be destroyed. */
static void
end_for_good(enum rte_eth_event_type event)
{
	struct trip_flow *flow;

	hard_open(&hard_forgetful);
	flow = hard_create(1000, true);
	hard_receive(1000, 10, 10);
	harness_until(trip_cntr_read(hard_bed.packets) == 10);
	begin_recovery();
	fake_nic_event(event);
	harness_await(hard_bed.packets, 10, 1);
	harness_until(atomic_load(&hard_bed.n_events[TRIP_PORT_REMOVED]) == 1);
	hard_expect_flow(flow, 10, TRIP_FLOW_FATE_LOST);
	hard_destroy(flow);
	hard_close();
}

static void
hard_recovery_that_fails(void **state)
{
	end_for_good(RTE_ETH_EVENT_RECOVERY_FAILED);
}

static void
hard_removal_while_it_recovers(void **state)
{
	end_for_good(RTE_ETH_EVENT_INTR_RMV);
}

/* A call that does not end before the driver has told keeps it for a moment only. */
static void
hard_a_driver_is_not_kept(void **state)
{
	struct trip_flow *flow;

	hard_open(&hard_forgetful);
	flow = hard_create(1000, true);
	fake_nic_hold(FAKE_NIC_QUERY, true);
	harness_until(fake_nic_is_held());
	fake_nic_event(RTE_ETH_EVENT_ERR_RECOVERING);
	assert_true(fake_nic_is_held());
	fake_nic_hold(FAKE_NIC_QUERY, false);
	end_recovery();
	harness_until(atomic_load(&hard_bed.n_events[TRIP_PORT_STARTED]) == 1);
	expect_alive(flow, 0);
	hard_destroy(flow);
	hard_close();
}

static void
hard_reset_and_recovery(void **state)
{
	const struct trip_flow_attr hw = {.engine = TRIP_FLOW_ENGINE_HW};
	struct trip_flow *flow, *other = NULL;
	uint64_t queries;

	hard_open(&hard_forgetful);
	flow = hard_create(1000, true);
	hard_receive(1000, 10, 10);
	harness_until(trip_cntr_read(hard_bed.packets) == 10);
	/* Nothing is asked while the driver recovers. */
	fake_nic_event(RTE_ETH_EVENT_ERR_RECOVERING);
	hard_queue_op(flow, 0, TRIP_OP_FLOW_DROP);
	harness_until(trip_cntr_readerr(hard_bed.completion) == 1);
	assert_int_equal(hard_try_create(traffic_pattern(1001), &hw, &other, NULL), -EBUSY);
	hard_expect_flow(flow, 10, TRIP_FLOW_FATE_PASS);
	queries = fake_nic_called(FAKE_NIC_QUERY);
	fake_nic_flush();
	harness_settle();
	assert_int_equal(fake_nic_called(FAKE_NIC_QUERY), queries);
	fake_nic_event(RTE_ETH_EVENT_RECOVERY_SUCCESS);
	harness_until(atomic_load(&hard_bed.n_events[TRIP_PORT_STARTED]) == 1);
	hard_receive(1000, 10, 10);
	harness_until(trip_cntr_read(hard_bed.packets) == 20);
	fake_nic_hold(FAKE_NIC_QUERY, true);
	harness_until(fake_nic_is_held());
	start_driver(want_reset);
	fake_nic_hold(FAKE_NIC_QUERY, false);
	join_driver();
	harness_until(atomic_load(&hard_bed.n_events[TRIP_PORT_STOPPED]) == 2);
	fake_nic_flush();
	assert_int_equal(trip_port_started(hard_bed.port), 0);
	hard_receive(1000, 10, 10);
	hard_expect_flow(flow, 30, TRIP_FLOW_FATE_PASS);
	harness_expect(hard_bed.completion, 0, 1);
	hard_destroy(flow);
	harness_expect(hard_bed.packets, 30, 0);
	hard_close();
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(hard_reset_and_recovery),
	cmocka_unit_test(hard_a_rule_goes_in_before_a_recovery),
	cmocka_unit_test(hard_a_recovery_after_another),
	cmocka_unit_test(hard_started_while_it_recovers),
	cmocka_unit_test(hard_recovery_before_a_stop),
	cmocka_unit_test(hard_a_driver_is_not_kept),
	cmocka_unit_test(hard_removal_while_it_recovers),
	cmocka_unit_test(hard_recovery_that_fails),
};

HARNESS_MAIN(TRAFFIC_VDEV, tests)

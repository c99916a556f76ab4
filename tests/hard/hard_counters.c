/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters objects over flows in hardware, on a driver that the test plays: who asks the device,
 * who waits for it, and who must not. */
#include <errno.h>
#include <inttypes.h>

#include <rte_alarm.h>
#include <rte_cycles.h>

#include <trip_threads.h>

#include "hard.h"
#include "hard_bed.h"
#include "flow/port.h"
#include "refresher.h"

static struct trip_port *port;
static struct trip_counters *counters;

static void
attach(uint32_t index, enum trip_counter_description desc, struct trip_flow *flow)
{
	const struct trip_counter_attach_attr attr = {
		.size = sizeof(attr), .index = index, .counter_desc = desc};

	if (trip_counters_attach_point_flow(counters, &attr, flow) != 0)
		fail_msg("%s", trip_error_message());
}

/* The worker reads nothing by itself. */
static void
open_all(const struct fake_nic *nic)
{
	const struct trip_port_attr attr = {
		.size = sizeof(attr), .mode = TRIP_PORT_BURST, .query_us = UINT32_MAX};

	fake_nic_open(nic);
	harness_open(1, NULL);
	if (trip_port_open(harness_domain, traffic_start(2), &attr, &port) != 0)
		fail_msg("%s", trip_error_message());
	assert_int_equal(trip_counters_create(harness_domain, NULL, &counters), 0);
}

static void
close_all(void)
{
	if (trip_counters_destroy(counters) != 0 || trip_port_close(port) != 0)
		fail_msg("%s", trip_error_message());
	traffic_stop();
	harness_close();
	fake_nic_close();
}

static struct trip_flow *
create(uint16_t udp_port, struct trip_counters *with)
{
	const struct trip_flow_attr attr = {
		.size = sizeof(attr), .engine = TRIP_FLOW_ENGINE_HW, .counters = with};
	struct trip_flow *flow;

	if (trip_flow_create(port, &attr, traffic_pattern(udp_port), NULL, &flow, NULL) != 0)
		fail_msg("%s", trip_error_message());
	return flow;
}

static void
receive(uint16_t udp_port, uint64_t n)
{
	fake_nic_receive(udp_port, n, HARD_PACKET);
	fake_nic_refresh();
}

static void
expect(uint32_t flags, uint64_t first, uint64_t second)
{
	uint64_t values[2];

	assert_int_equal(trip_counters_read(counters, values, 2, flags), 0);
	assert_int_equal(values[0], first);
	assert_int_equal(values[1], second);
}

static void
collect(const struct fake_nic *nic)
{
	struct trip_flow *flow, *live;

	open_all(nic);
	attach(0, TRIP_COUNTER_PACKETS, NULL);
	attach(1, TRIP_COUNTER_BYTES, NULL);
	flow = create(1000, counters);
	live = create(1001, NULL);
	receive(1000, 10);
	receive(1001, 100);
	expect(0, 10, 1000);
	/* What it has counted, and nobody has read yet, was before. */
	attach(0, TRIP_COUNTER_PACKETS, live);
	expect(0, 10, 1000);
	receive(1000, 1);
	receive(1001, 2);
	expect(0, 13, 1100);
	receive(1000, 3);
	receive(1001, 4);
	hard_destroy(flow);
	expect(0, 20, 1400);
	hard_destroy(live);
	expect(0, 20, 1400);
	expect(TRIP_READ_CACHED, 20, 1400);
	close_all();
}

static void
pnt_06_points_of_a_direct_counter(void **state)
{
	collect(&hard_direct);
}

static void
pnt_06_points_of_a_shared_counter(void **state)
{
	collect(&hard_shared);
}

static void
pnt_06_points_of_a_cached_counter(void **state)
{
	collect(&hard_cached);
}

static void
pnt_08_the_cache_is_not_the_device(void **state)
{
	struct trip_flow *flow;
	uint64_t calls;

	open_all(&hard_direct);
	attach(0, TRIP_COUNTER_PACKETS, NULL);
	flow = create(1000, counters);
	receive(1000, 10);
	calls = fake_nic_called(FAKE_NIC_QUERY);
	expect(TRIP_READ_CACHED, 0, 0);
	assert_int_equal(fake_nic_called(FAKE_NIC_QUERY), calls);
	expect(0, 10, 0);
	assert_true(fake_nic_called(FAKE_NIC_QUERY) > calls);
	receive(1000, 5);
	expect(TRIP_READ_CACHED, 10, 0);
	/* What the device does not answer, it has answered before. */
	fake_nic_fail(FAKE_NIC_QUERY, 1, EIO);
	expect(0, 10, 0);
	expect(0, 15, 0);
	hard_destroy(flow);
	close_all();
}

/* --- while the device takes its time --- */

struct reader {
	pthread_t thread;
	uint64_t value;
	_Atomic bool done;
};

static void *
read_in_thread(void *arg)
{
	struct reader *reader = arg;

	assert_int_equal(trip_counters_read(counters, &reader->value, 1, 0), 0);
	atomic_store(&reader->done, true);
	return NULL;
}

static int
read_on_home(const struct trip_work_event *event, void *arg)
{
	return trip_counters_read(counters, arg, 1, 0);
}

static void
call_on_home(trip_function_t run, void *arg)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	struct trip_work work = harness_work(cntr, 0, TRIP_OP_CALL);
	struct trip_function *function;

	assert_int_equal(trip_function_register(harness_domain, run, arg, &function), 0);
	work.op.call.function = function;
	work.completion_cntr = cntr;
	harness_queue(&work);
	harness_until(trip_cntr_read(cntr) + trip_cntr_readerr(cntr) > 0);
	harness_expect(cntr, 1, 0);
	assert_int_equal(trip_function_unregister(function), 0);
	harness_cntr_close(cntr);
}

static void
pnt_08_nobody_waits_for_a_reader_that_waits(void **state)
{
	struct reader reader = {.value = 0};
	struct trip_flow *flow;
	uint64_t value = 0;

	open_all(&hard_direct);
	attach(0, TRIP_COUNTER_PACKETS, NULL);
	flow = create(1000, counters);
	receive(1000, 10);
	expect(0, 10, 0);
	receive(1000, 5);
	fake_nic_hold(FAKE_NIC_QUERY, true);
	trip_thread_start(&reader.thread, read_in_thread, &reader);
	harness_until(fake_nic_is_held());
	call_on_home(read_on_home, &value);
	assert_int_equal(value, 10);
	expect(TRIP_READ_CACHED, 10, 0);
	assert_int_equal(trip_counters_destroy(counters), -EBUSY);
	assert_false(atomic_load(&reader.done));
	fake_nic_hold(FAKE_NIC_QUERY, false);
	pthread_join(reader.thread, NULL);
	assert_int_equal(reader.value, 15);
	hard_destroy(flow);
	close_all();
}

static void *
destroy_in_thread(void *arg)
{
	hard_destroy(arg);
	return NULL;
}

/* A flow on its way out is not asked any more: it tells what it told last, then its last count. */
static void
pnt_07_a_flow_that_goes_is_not_asked(void **state)
{
	struct trip_flow *flow;
	pthread_t thread;
	uint64_t calls;

	open_all(&hard_direct);
	attach(0, TRIP_COUNTER_PACKETS, NULL);
	flow = create(1000, counters);
	receive(1000, 10);
	expect(0, 10, 0);
	receive(1000, 5);
	fake_nic_hold(FAKE_NIC_DESTROY, true);
	trip_thread_start(&thread, destroy_in_thread, flow);
	harness_until(fake_nic_is_held());
	calls = fake_nic_called(FAKE_NIC_QUERY);
	expect(0, 15, 0);
	assert_int_equal(fake_nic_called(FAKE_NIC_QUERY), calls);
	assert_int_equal(trip_counters_destroy(counters), -EBUSY);
	fake_nic_hold(FAKE_NIC_DESTROY, false);
	pthread_join(thread, NULL);
	expect(0, 15, 0);
	close_all();
}

/* The flow stays until a reader that asks it has its answer. */
static void
pnt_07_a_reader_is_waited_for(void **state)
{
	struct reader reader = {.value = 0};
	struct trip_flow *flow;
	pthread_t thread;

	open_all(&hard_direct);
	attach(0, TRIP_COUNTER_PACKETS, NULL);
	flow = create(1000, counters);
	receive(1000, 10);
	fake_nic_hold(FAKE_NIC_QUERY, true);
	trip_thread_start(&reader.thread, read_in_thread, &reader);
	harness_until(fake_nic_is_held());
	trip_thread_start(&thread, destroy_in_thread, flow);
	for (unsigned int i = 0; i < 100; i++)
		harness_step();
	assert_int_equal(fake_nic_rules(), 1);
	fake_nic_hold(FAKE_NIC_QUERY, false);
	pthread_join(thread, NULL);
	pthread_join(reader.thread, NULL);
	assert_int_equal(reader.value, 10);
	expect(0, 10, 0);
	close_all();
}

static void
pnt_07_a_lost_flow_keeps_what_it_counted(void **state)
{
	struct trip_flow_count count = {.size = sizeof(count)};
	struct trip_flow *flow;

	open_all(&hard_direct);
	attach(0, TRIP_COUNTER_PACKETS, NULL);
	flow = create(1000, counters);
	receive(1000, 10);
	expect(0, 10, 0);
	fake_nic_event(RTE_ETH_EVENT_INTR_RMV);
	harness_until(trip_flow_query(flow, &count) == 0 && count.fate == TRIP_FLOW_FATE_LOST);
	expect(0, 10, 0);
	assert_int_equal(trip_counters_destroy(counters), -EBUSY);
	hard_destroy(flow);
	expect(0, 10, 0);
	fake_nic_flush();
	close_all();
}

/* --- whose cache is refreshed late --- */

/* By EAL's interrupt thread, once a second. */
static const struct fake_nic bulk = {.driver = "mlx5_pci",
	.devargs = "0000:01:00.0,dv_flow_en=1",
	.shared = true,
	.cached = true,
	.keeps_shared = true};

static struct {
	_Atomic bool holds, done;
	/* When that thread had refreshed the cache. */
	uint64_t refreshed;
	struct trip_flow *flow;
} interrupt;

static void
begin_in_interrupt(rte_eal_alarm_callback callback)
{
	atomic_store(&interrupt.holds, false);
	atomic_store(&interrupt.done, false);
	assert_int_equal(rte_eal_alarm_set(1, callback, NULL), 0);
	harness_until(atomic_load(&interrupt.holds));
}

/* Somebody's callback takes longer than the lag and a quarter. */
static void
refresh_late(void *arg)
{
	uint64_t began = rte_rdtsc(), hz = rte_get_tsc_hz();

	atomic_store(&interrupt.holds, true);
	while (rte_rdtsc() - began < hz + hz * 6 / 10)
		rte_delay_us_sleep(1000);
	fake_nic_refresh();
	interrupt.refreshed = rte_rdtsc();
	atomic_store(&interrupt.done, true);
}

static void
pnt_07_a_late_refresher_is_waited_for(void **state)
{
	struct trip_flow *flow;
	uint64_t began, value;

	open_all(&bulk);
	attach(0, TRIP_COUNTER_PACKETS, NULL);
	flow = create(1000, counters);
	fake_nic_receive(1000, 10, HARD_PACKET);
	begin_in_interrupt(refresh_late);
	began = rte_rdtsc();
	hard_destroy(flow);
	assert_int_equal(trip_counters_read(counters, &value, 1, TRIP_READ_CACHED), 0);
	harness_until(atomic_load(&interrupt.done));
	/* Nobody waits for ever. */
	if (interrupt.refreshed - began < 8 * rte_get_tsc_hz())
		assert_int_equal(value, 10);
	close_all();
}

static int
shorten_lag(struct trip_hard *hard, struct trip_hard_call *call)
{
	trip_lag_init(&hard->lag, hard->lag.assumed / 20, 0);
	return 0;
}

static void
destroy_in_interrupt(void *arg)
{
	atomic_store(&interrupt.holds, true);
	hard_destroy(interrupt.flow);
	atomic_store(&interrupt.done, true);
}

/* Whoever refreshes waits for the end of a flow itself. */
static void
pnt_07_a_refresher_does_not_wait_for_itself(void **state)
{
	struct trip_hard_call call = {.run = shorten_lag};

	open_all(&bulk);
	attach(0, TRIP_COUNTER_PACKETS, NULL);
	interrupt.flow = create(1000, counters);
	assert_int_equal(trip_hard_call(port->hard, &call), 0);
	receive(1000, 10);
	begin_in_interrupt(destroy_in_interrupt);
	harness_until(atomic_load(&interrupt.done));
	expect(0, 10, 0);
	close_all();
}

/* mlx5 DV asks for one pool of counters after the other: the more there were, the more beats. */
static void
pnt_07_all_pools_are_waited_for(void **state)
{
	struct trip_hard_call call = {.run = shorten_lag};
	struct trip_flow *flows[3];
	struct trip_engine *engine;
	uint64_t began;

	open_all(&bulk);
	for (uint16_t i = 0; i < RTE_DIM(flows); i++)
		flows[i] = create((uint16_t)(1000 + i), NULL);
	engine = port->hard->engine;
	assert_int_equal(trip_hard_call(port->hard, &call), 0);
	hard_destroy(flows[0]);
	flows[0] = create(1000, NULL);
	assert_int_equal(atomic_load(&engine->n_counted), RTE_DIM(flows));
	assert_int_equal(atomic_load(&engine->most_counted), RTE_DIM(flows));
	/* As if 1,024 pools were full: a round over them takes as many beats. */
	atomic_store(&engine->most_counted, 256 * 1023);
	harness_until(atomic_load(&port->hard->beats.wanted) == 0);
	began = rte_rdtsc();
	hard_destroy(flows[0]);
	assert_true(rte_rdtsc() - began > 2 * port->hard->lag.bound);
	assert_int_equal(atomic_load(&port->hard->beats.us), MS_PER_S / 20 * 1000 / 1024);
	for (uint16_t i = 1; i < RTE_DIM(flows); i++)
		hard_destroy(flows[i]);
	assert_int_equal(atomic_load(&engine->n_counted), 0);
	close_all();
}

/* Their counters wait in the driver as those do that were given back. */
static void
pnt_07_pools_of_refused_rules_are_waited_for(void **state)
{
	const struct trip_flow_attr attr = {.size = sizeof(attr), .engine = TRIP_FLOW_ENGINE_HW};
	struct trip_flow *flow, *refused;

	open_all(&bulk);
	flow = create(1000, NULL);
	fake_nic_fail(FAKE_NIC_CREATE, 300, ENOSPC);
	for (unsigned int i = 0; i < 300; i++)
		assert_int_equal(
			trip_flow_create(port, &attr, traffic_pattern(1001), NULL, &refused, NULL),
			-ENOSPC);
	assert_int_equal(atomic_load(&port->hard->engine->n_counted), 1);
	assert_int_equal(atomic_load(&port->hard->engine->most_counted), 301);
	hard_destroy(flow);
	close_all();
}

/* Of a flow whose rule went two lags ago: whether its counts are final with as many pools as then,
 * with one more, and another lag later. */
static struct {
	bool then, grown, later;
} final;

static int
find_what_is_final(struct trip_hard *hard, struct trip_hard_call *call)
{
	struct trip_engine *engine = hard->engine;
	struct trip_hard_flow flow;
	uint64_t bound = hard->lag.bound, began;
	uint32_t i = 0;

	while (hard->flows[i] == NULL)
		i++;
	flow = *hard->flows[i];
	atomic_store(&engine->most_counted, 256);
	trip_refresher_out(hard, &flow);
	began = rte_rdtsc() + 2 * bound;
	atomic_fetch_add(&hard->beats.ran_tsc, 2 * bound);
	final.then = trip_refresher_is_final(hard, &flow, began);
	atomic_store(&engine->most_counted, 257);
	final.grown = trip_refresher_is_final(hard, &flow, began);
	atomic_fetch_add(&hard->beats.ran_tsc, bound);
	final.later = trip_refresher_is_final(hard, &flow, began + bound);
	return 0;
}

/* A pool that comes while a flow is waited for is asked in the same round. */
static void
pnt_07_pools_that_come_are_waited_for(void **state)
{
	struct trip_hard_call call = {.run = find_what_is_final};
	struct trip_flow *flow;

	open_all(&bulk);
	flow = create(1000, NULL);
	assert_int_equal(trip_hard_call(port->hard, &call), 0);
	assert_true(final.then);
	assert_false(final.grown);
	assert_true(final.later);
	hard_destroy(flow);
	close_all();
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(pnt_06_points_of_a_direct_counter),
	cmocka_unit_test(pnt_06_points_of_a_shared_counter),
	cmocka_unit_test(pnt_06_points_of_a_cached_counter),
	cmocka_unit_test(pnt_07_a_flow_that_goes_is_not_asked),
	cmocka_unit_test(pnt_07_a_late_refresher_is_waited_for),
	cmocka_unit_test(pnt_07_all_pools_are_waited_for),
	cmocka_unit_test(pnt_07_pools_that_come_are_waited_for),
	cmocka_unit_test(pnt_07_pools_of_refused_rules_are_waited_for),
	cmocka_unit_test(pnt_07_a_reader_is_waited_for),
	cmocka_unit_test(pnt_07_a_refresher_does_not_wait_for_itself),
	cmocka_unit_test(pnt_07_a_lost_flow_keeps_what_it_counted),
	cmocka_unit_test(pnt_08_the_cache_is_not_the_device),
	cmocka_unit_test(pnt_08_nobody_waits_for_a_reader_that_waits),
};

HARNESS_MAIN(TRAFFIC_VDEV, tests)

/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations on flows in hardware, on a driver that the test plays, and how they fail. */
#include <errno.h>
#include <limits.h>

#include "domain/domain.h"
#include "drop.h"
#include "hard_bed.h"

/* --- drop, pass, delete --- */

static void
receive_in_the_swap(void)
{
	/* The drop stands, the rule that it replaces too. */
	assert_int_equal(fake_nic_rules(), 2);
	assert_int_equal(fake_nic_receive(1000, 13, 100), 0);
	fake_nic_refresh();
}

static void
receive_before_the_swap(void)
{
	assert_int_equal(fake_nic_rules(), 1);
	assert_int_equal(fake_nic_receive(1000, 5, 100), 5);
	fake_nic_at(FAKE_NIC_DESTROY, receive_in_the_swap);
}

/* No packet is uncounted, and none that comes after the new rule gets through. */
static void
drop_and_delete(const struct fake_nic *nic)
{
	struct trip_flow *flow;

	hard_open(nic);
	flow = hard_create(1000, false);
	hard_queue_op(flow, 100, TRIP_OP_FLOW_DROP);
	hard_queue_op(flow, 200, TRIP_OP_FLOW_DELETE);
	hard_queue_op(flow, 200, TRIP_OP_FLOW_DROP);
	harness_settle();
	hard_receive(1000, 99, 99);
	fake_nic_at(FAKE_NIC_CREATE, receive_before_the_swap);
	hard_receive(1000, 1, 1);
	harness_until(trip_cntr_read(hard_bed.completion) == 1);
	hard_expect_flow(flow, 118, TRIP_FLOW_FATE_DROP);
	assert_int_equal(fake_nic_rules(), 1);
	hard_receive(1000, 82, 0);
	harness_until(trip_cntr_readerr(hard_bed.completion) == 1);
	harness_expect(hard_bed.completion, 2, 1);
	assert_int_equal(fake_nic_rules(), 0);
	hard_receive(1000, 50, 50);
	hard_expect_flow(flow, 200, TRIP_FLOW_FATE_DELETED);
	harness_await(hard_bed.packets, 200, 0);
	hard_destroy(flow);
	harness_expect(hard_bed.packets, 200, 0);
	harness_expect(hard_bed.bytes, 20000, 0);
	hard_close();
}

static void
hard_drop_misses_no_packet_direct(void **state)
{
	drop_and_delete(&hard_direct);
}

static void
hard_drop_misses_no_packet_shared(void **state)
{
	drop_and_delete(&hard_shared);
}

static void
hard_drop_misses_no_packet_cached(void **state)
{
	drop_and_delete(&hard_cached);
}

static void
receive_before_the_pass(void)
{
	assert_int_equal(fake_nic_rules(), 2);
	assert_int_equal(fake_nic_receive(1000, 13, 100), 0);
}

/* Where the counter is shared, no packet is uncounted here either. */
static void
hard_pass_after_drop(void **state)
{
	struct trip_flow *flow;

	hard_open(&hard_shared);
	flow = hard_create(1000, false);
	hard_queue_op(flow, 0, TRIP_OP_FLOW_DROP);
	harness_until(trip_cntr_read(hard_bed.completion) == 1);
	hard_receive(1000, 10, 0);
	fake_nic_at(FAKE_NIC_DESTROY, receive_before_the_pass);
	hard_queue_op(flow, 0, TRIP_OP_FLOW_PASS);
	harness_until(trip_cntr_read(hard_bed.completion) == 2);
	hard_receive(1000, 10, 10);
	hard_expect_flow(flow, 33, TRIP_FLOW_FATE_PASS);
	/* It is what it is asked to be. */
	hard_queue_op(flow, 0, TRIP_OP_FLOW_PASS);
	harness_until(trip_cntr_read(hard_bed.completion) == 3);
	hard_destroy(flow);
	harness_expect(hard_bed.packets, 33, 0);
	hard_close();
}

/* Any failure leaves the old rule, and all counts. */
static void
drop_fails(const struct fake_nic *nic, enum fake_nic_call call, uint64_t swapped)
{
	struct trip_flow *flow;

	hard_open(nic);
	flow = hard_create(1000, false);
	hard_receive(1000, 10, 10);
	harness_until(trip_cntr_read(hard_bed.packets) == 10);
	fake_nic_fail(call, 1, EIO);
	hard_queue_op(flow, 0, TRIP_OP_FLOW_DROP);
	harness_until(
		trip_cntr_read(hard_bed.completion) + trip_cntr_readerr(hard_bed.completion) == 1);
	harness_expect(hard_bed.completion, swapped, 1 - swapped);
	hard_receive(1000, 10, 10 - 10 * swapped);
	hard_expect_flow(flow, 20, swapped ? TRIP_FLOW_FATE_DROP : TRIP_FLOW_FATE_PASS);
	hard_queue_op(flow, 0, TRIP_OP_FLOW_DROP);
	harness_until(trip_cntr_read(hard_bed.completion) == 1 + swapped);
	hard_receive(1000, 10, 0);
	hard_destroy(flow);
	harness_expect(hard_bed.packets, 30, 0);
	hard_close();
}

static void
hard_drop_whose_rule_is_refused(void **state)
{
	drop_fails(&hard_direct, FAKE_NIC_CREATE, 0);
	drop_fails(&hard_shared, FAKE_NIC_CREATE, 0);
}

static void
hard_drop_whose_old_rule_stays(void **state)
{
	drop_fails(&hard_direct, FAKE_NIC_DESTROY, 0);
	drop_fails(&hard_shared, FAKE_NIC_DESTROY, 0);
}

static uint64_t
fresh_of(const struct trip_flow *flow)
{
	return atomic_load(&harness_domain->engine.flows[flow->index].fresh_tsc);
}

/* What came to the old rule may not have been read. */
static void
age_after_a_drop_that_fails(enum fake_nic_call call)
{
	struct trip_flow *flow;
	uint64_t failed, fresh;

	hard_open(&hard_direct);
	flow = hard_create(1000, false);
	failed = hard_stats_of().failed_readings;
	fake_nic_fail(FAKE_NIC_QUERY, UINT_MAX, EIO);
	harness_until(hard_stats_of().failed_readings > failed);
	fresh = fresh_of(flow);
	fake_nic_receive(1000, 10, 100);
	fake_nic_fail(call, call == FAKE_NIC_QUERY ? UINT_MAX : 1, EIO);
	hard_queue_op(flow, 0, TRIP_OP_FLOW_DROP);
	harness_until(trip_cntr_readerr(hard_bed.completion) == 1);
	assert_int_equal(trip_cntr_read(hard_bed.packets), 0);
	assert_int_equal(fresh_of(flow), fresh);
	fake_nic_fail(FAKE_NIC_QUERY, 0, 0);
	harness_until(trip_cntr_read(hard_bed.packets) == 10);
	harness_until(fresh_of(flow) > fresh);
	hard_destroy(flow);
	hard_close();
}

static void
cntr_23_age_after_a_drop_that_fails(void **state)
{
	age_after_a_drop_that_fails(FAKE_NIC_QUERY);
	age_after_a_drop_that_fails(FAKE_NIC_CREATE);
}

/* Nobody else gets the counter of a rule that nobody could take out. */
static void
hard_a_rule_that_stays_has_its_counter(void **state)
{
	struct trip_flow *flow;

	hard_open(&hard_forgetful);
	flow = hard_create(1000, false);
	fake_nic_fail(FAKE_NIC_DESTROY, 1, EIO);
	hard_destroy(flow);
	assert_int_equal(fake_nic_rules(), 1);
	fake_nic_flush();
	hard_close();
}

/* --- the home goes on --- */

static void
hard_home_goes_on_while_the_device_is_slow(void **state)
{
	static struct harness_notes notes;
	struct trip_flow *flow;
	uint64_t calls;

	hard_open(&hard_direct);
	harness_notes_open(&notes);
	flow = hard_create(1000, false);
	fake_nic_hold(FAKE_NIC_CREATE, true);
	hard_queue_op(flow, 0, TRIP_OP_FLOW_DROP);
	harness_until(fake_nic_is_held());
	calls = fake_nic_called(FAKE_NIC_CREATE);
	for (uint64_t i = 1; i <= 1000; i++) {
		harness_note(&notes, hard_bed.packets, 0, i);
		harness_until(harness_notes_count(&notes) == i);
	}
	assert_true(fake_nic_is_held());
	assert_int_equal(fake_nic_called(FAKE_NIC_CREATE), calls);
	harness_expect(hard_bed.completion, 0, 0);
	fake_nic_hold(FAKE_NIC_CREATE, false);
	harness_until(trip_cntr_read(hard_bed.completion) == 1);
	harness_notes_close(&notes);
	hard_destroy(flow);
	hard_close();
}

#define MANY 300
#define RING 256

static void
hard_full_queue_is_an_error_of_the_operation(void **state)
{
	struct trip_work_event events[MANY];
	struct trip_flow *flow;
	struct trip_work work;
	unsigned int n = 0, refused = 0;

	hard_open(&hard_direct);
	flow = hard_create(1000, false);
	fake_nic_hold(FAKE_NIC_CREATE, true);
	for (uint64_t i = 0; i < MANY; i++) {
		work = harness_work(
			hard_bed.packets, 0, i % 2 == 0 ? TRIP_OP_FLOW_DROP : TRIP_OP_FLOW_PASS);
		work.op.flow = flow;
		work.completion_cntr = hard_bed.completion;
		work.flags = TRIP_WORK_COMPLETION;
		work.context = i;
		harness_queue(&work);
	}
	harness_until(trip_cntr_readerr(hard_bed.completion) == MANY - RING);
	harness_expect(hard_bed.completion, 0, MANY - RING);
	assert_int_equal(hard_stats_of().refused_operations, MANY - RING);
	/* Nothing of it is over before it has finished. */
	fake_nic_hold(FAKE_NIC_CREATE, false);
	assert_int_equal(trip_work_flush(harness_domain, NULL), 0);
	harness_expect(hard_bed.completion, RING, MANY - RING);
	assert_int_equal(hard_stats_of().operations, RING);
	while (n < MANY)
		n += (unsigned int)trip_work_read(
			harness_domain, events + n, sizeof(struct trip_work_event), MANY - n);
	/* Those that were refused were told at once; the others in the order of their firing. */
	for (unsigned int i = 0; i < MANY; i++) {
		refused += events[i].result == -EAGAIN;
		if (events[i].result == -EAGAIN)
			assert_int_equal(events[i].context, RING + i);
		else
			assert_int_equal(events[i].context, i - (MANY - RING));
	}
	assert_int_equal(refused, MANY - RING);
	hard_destroy(flow);
	hard_close();
}

/* The next client finds neither their events nor, where it has their counters, what they count. */
static void
hard_operations_of_the_dead_end_before_it_is_dropped(void **state)
{
	struct trip_channel_client *client;
	struct trip_event event;
	struct trip_home *home;
	struct trip_flow *flow;
	uint32_t channel;
	uint64_t id;
	int slot;

	hard_open(&hard_direct);
	flow = hard_create(1000, false);
	home = harness_domain->engine.homes[0];
	channel = home->shape.n_channels - home->shape.n_clients;
	client = &home->clients[channel];
	fake_nic_hold(FAKE_NIC_CREATE, true);
	slot = trip_channel_alloc(client, trip_channel_returned(client));
	assert_true(slot >= 0);
	*trip_channel_desc(client, (uint32_t)slot) = (struct trip_work_desc){
		.trigger = hard_bed.packets->global,
		.target = flow->index,
		.completion = hard_bed.completion->global,
		.op = TRIP_OP_FLOW_DROP,
		.flags = TRIP_WORK_COMPLETION,
	};
	assert_int_equal(trip_channel_submit(client, (uint32_t)slot, &id), 0);
	trip_doorbell_ring(&home->doorbell, TRIP_BELL_CHANNEL, channel);
	harness_until(fake_nic_is_held());
	trip_drop_ask(home, 0);
	harness_settle();
	assert_false(trip_drop_done(home, 0));
	fake_nic_hold(FAKE_NIC_CREATE, false);
	harness_until(trip_drop_done(home, 0));
	harness_settle();
	harness_expect(hard_bed.completion, 1, 0);
	assert_int_equal(trip_event_ring_pop(&home->events[1], &event, 1), 0);
	hard_destroy(flow);
	hard_close();
}

/* Each home fires some, by turns; the port does them in the order of their firing. */
static void
work_02_operations_complete_in_firing_order(void **state)
{
	struct trip_flow *flows[8];
	struct trip_cntr *triggers[8];
	struct trip_work work;

	hard_open_homes(2, &hard_direct, NULL);
	for (unsigned int i = 0; i < RTE_DIM(flows); i++) {
		flows[i] = hard_create((uint16_t)(1000 + i), false);
		triggers[i] = harness_cntr(TRIP_WAIT_NONE);
	}
	fake_nic_hold(FAKE_NIC_CREATE, true);
	/* Counters are at home by turns. */
	for (unsigned int i = RTE_DIM(flows); i-- > 0;) {
		work = harness_work(triggers[(i * 5) % RTE_DIM(flows)], 0, TRIP_OP_FLOW_DROP);
		work.op.flow = flows[i];
		work.completion_cntr = hard_bed.completion;
		harness_queue(&work);
		harness_settle();
	}
	fake_nic_hold(FAKE_NIC_CREATE, false);
	harness_until(trip_cntr_read(hard_bed.completion) == RTE_DIM(flows));
	for (unsigned int i = 0; i < RTE_DIM(flows); i++)
		assert_int_equal(
			fake_nic_created(RTE_DIM(flows) + i), 1000 + RTE_DIM(flows) - 1 - i);
	for (unsigned int i = 0; i < RTE_DIM(flows); i++) {
		hard_destroy(flows[i]);
		harness_cntr_close(triggers[i]);
	}
	hard_close();
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(hard_drop_misses_no_packet_direct),
	cmocka_unit_test(hard_drop_misses_no_packet_shared),
	cmocka_unit_test(hard_drop_misses_no_packet_cached),
	cmocka_unit_test(hard_pass_after_drop),
	cmocka_unit_test(cntr_23_age_after_a_drop_that_fails),
	cmocka_unit_test(hard_drop_whose_rule_is_refused),
	cmocka_unit_test(hard_drop_whose_old_rule_stays),
	cmocka_unit_test(hard_a_rule_that_stays_has_its_counter),
	cmocka_unit_test(hard_home_goes_on_while_the_device_is_slow),
	cmocka_unit_test(hard_full_queue_is_an_error_of_the_operation),
	cmocka_unit_test(hard_operations_of_the_dead_end_before_it_is_dropped),
	cmocka_unit_test(work_02_operations_complete_in_firing_order),
};

HARNESS_MAIN(TRAFFIC_VDEV, tests)

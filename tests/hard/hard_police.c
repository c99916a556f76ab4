/* SPDX-License-Identifier: BSD-3-Clause */
/* A police that waits for a place among those that may be policed, which errands of a port keep
 * back, has its own room meanwhile (WORK-11). */
#include <errno.h>
#include <pthread.h>

#include "domain/domain.h"
#include "hard_bed.h"

static struct trip_work
police(struct trip_flow *flow)
{
	struct trip_work work = harness_work(hard_bed.packets, 0, TRIP_OP_FLOW_POLICE);

	work.op.police.flow = flow;
	work.op.police.rate = 1000;
	work.op.police.unit = TRIP_POLICE_UNIT_PACKETS;
	work.completion_cntr = hard_bed.completion;
	return work;
}

/* A thread that polices a flow: it has its answer. */
static _Atomic bool is_over;
static int result;

static void *
run_police(void *flow)
{
	struct trip_work work = police(flow);

	result = trip_work_queue(harness_domain, &work, NULL);
	atomic_store(&is_over, true);
	return NULL;
}

static uint32_t
kept(void)
{
	struct trip_submitter *submitter = &harness_domain->submitters[0][0];
	uint32_t n;

	trip_domain_lock(&submitter->lock);
	n = submitter->kept_slots;
	trip_domain_unlock(&submitter->lock);
	return n;
}

static void
fill(void)
{
	struct trip_work work = harness_work(hard_bed.packets, TRIP_CNTR_MAX, TRIP_OP_CNTR_ADD);
	int error;

	work.op.cntr.cntr = hard_bed.completion;
	while ((error = trip_work_queue(harness_domain, &work, NULL)) == 0)
		;
	assert_int_equal(error, -EAGAIN);
}

static void
work_11_what_waits_for_a_place_has_room(void **state)
{
	struct trip_flow *hard, *gone, *soft;
	struct trip_work work;
	pthread_t thread;

	hard_open_homes(1, &hard_direct, &(struct trip_domain_attr){.max_policed = 1});
	hard = hard_create(1000, false);
	gone = hard_create_soft(1001);
	soft = hard_create_soft(1002);
	work = police(gone);
	harness_queue(&work);
	harness_until(trip_cntr_read(hard_bed.completion) == 1);
	fake_nic_hold(FAKE_NIC_CREATE, true);
	hard_queue_op(hard, 0, TRIP_OP_FLOW_DROP);
	harness_until(fake_nic_is_held());
	hard_destroy(gone);
	atomic_store(&is_over, false);
	assert_int_equal(pthread_create(&thread, NULL, run_police, soft), 0);
	harness_until(kept() == 2);
	fill();
	assert_false(atomic_load(&is_over));
	fake_nic_hold(FAKE_NIC_CREATE, false);
	harness_until(atomic_load(&is_over));
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(result, 0);
	assert_int_equal(kept(), 0);
	harness_until(trip_cntr_read(hard_bed.completion) == 3);
	assert_int_equal(trip_work_flush(harness_domain, NULL), 0);
	hard_destroy(hard);
	hard_destroy(soft);
	hard_close();
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(work_11_what_waits_for_a_place_has_room),
};

HARNESS_MAIN(TRAFFIC_VDEV, tests)

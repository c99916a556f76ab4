/* SPDX-License-Identifier: BSD-3-Clause */
/* Drops of a flow in hardware that last for a time: what has failed, or waits for the port's worker
 * yet, holds nothing (DATA-10). */
#include <string.h>

#include <rte_common.h>

#include "errand.h"
#include "fate.h"
#include "lasting_bed.h"
#include "op.h"

#define PORT 2

/* A port's worker that does what it is told, when the test says so. */
struct port {
	struct trip_errand errands[2];
	struct trip_errand_ring ring;
	struct trip_errand_desk desk;
	enum trip_op last;
};

static void
open_hard(struct scene *scene, struct port *port)
{
	memset(port, 0, sizeof(*port));
	trip_errand_init(&port->ring, port->errands, RTE_DIM(port->errands));
	port->desk.rings = &port->ring;
	atomic_store(&scene->bed->engine.desks[PORT], &port->desk);
	atomic_store(&scene->bed->engine.flows[0].hard, PORT + 1);
}

/* Returns how many there were. */
static unsigned int
do_errands(struct scene *scene, struct port *port)
{
	struct trip_errand *errand;
	unsigned int n = 0;

	for (; (errand = trip_errand_peek(&port->ring, 0)) != NULL; n++) {
		port->last = trip_op_flow_now(&scene->bed->engine, errand);
		trip_op_flow_done(&scene->bed->engine, errand);
		trip_errand_done(&port->ring);
		trip_doorbell_ring(&scene->bed->home->doorbell, TRIP_BELL_HARD, PORT);
	}
	bed_settle(scene->bed);
	return n;
}

/* In hardware: where the worker has all that it may have, a delete fails, and nothing is deleted.
 * What drops ends when it was to. */
static void
data_10_a_delete_that_is_not_sent_ends_no_drop(void **state)
{
	struct scene *scene = scene_open();
	struct port port;

	open_hard(scene, &port);
	scene_submit(scene, OWN, 1, 0, TIME);
	scene_go_to(scene, 100);
	scene_add(scene, 1);
	assert_int_equal(do_errands(scene, &port), 1);
	assert_int_equal(port.last, TRIP_OP_FLOW_DROP);
	/* Another flow's. */
	for (unsigned int i = 0; i < RTE_DIM(port.errands); i++) {
		*trip_errand_next(&port.ring) = (struct trip_errand){.flow = 1,
			.completion = TRIP_NONE,
			.op = TRIP_OP_FLOW_PASS,
			.event.op_type = TRIP_OP_FLOW_PASS};
		trip_errand_send(&port.ring);
	}
	scene_operate(scene, TRIP_OP_FLOW_DELETE);
	assert_int_equal(atomic_load(&port.desk.refused), 1);
	assert_int_equal(do_errands(scene, &port), RTE_DIM(port.errands));
	scene_go_to(scene, 100 + TIME + 1);
	assert_int_equal(do_errands(scene, &port), 1);
	assert_int_equal(port.last, TRIP_OP_FLOW_PASS);
	scene_close(scene);
}

/* It fires twice before the worker has done the first. */
static void
data_10_what_waits_for_the_port_holds_once(void **state)
{
	struct scene *scene = scene_open();
	struct port port;
	uint64_t id;

	open_hard(scene, &port);
	id = scene_submit(scene, OWN, 1, 1, TIME);
	scene_go_to(scene, 100);
	scene_add(scene, 2);
	assert_int_equal(do_errands(scene, &port), 2);
	scene_go_to(scene, 100 + TIME + 1);
	assert_int_equal(do_errands(scene, &port), 1);
	assert_int_equal(port.last, TRIP_OP_FLOW_PASS);
	scene_cancel(scene, OWN, id);
	assert_false(trip_fate_drops(&scene->bed->engine.flows[0].fate));
	scene_expect_all_back(scene, OWN);
	scene_close(scene);
}

/* Its time is over before the worker has done the first; then it fires again, and lasts on. */
static void
data_10_what_was_to_end_may_begin_anew(void **state)
{
	struct scene *scene = scene_open();
	struct port port;
	uint64_t id;

	open_hard(scene, &port);
	id = scene_submit(scene, OWN, 1, 1, TIME);
	scene_go_to(scene, 100);
	scene_add(scene, 1);
	scene_go_to(scene, 100 + TIME + 1);
	scene_add(scene, 1);
	assert_int_equal(do_errands(scene, &port), 2);
	assert_true(trip_fate_drops(&scene->bed->engine.flows[0].fate));
	scene_go_to(scene, 100 + TIME + TIME);
	assert_int_equal(do_errands(scene, &port), 0);
	scene_go_to(scene, 100 + TIME + 1 + TIME + 1);
	assert_int_equal(do_errands(scene, &port), 1);
	assert_int_equal(port.last, TRIP_OP_FLOW_PASS);
	scene_cancel(scene, OWN, id);
	scene_close(scene);
}

/* What the worker has begun of an item that is gone by then is nobody's, also where another item
 * has its node. */
static void
data_10_what_is_canceled_before_it_is_done_holds_nothing(void **state)
{
	struct scene *scene = scene_open();
	struct port port;
	uint64_t id;

	open_hard(scene, &port);
	id = scene_submit(scene, OWN, 1, 0, TIME);
	scene_add(scene, 1);
	scene_cancel(scene, OWN, id);
	scene_expect_all_back(scene, OWN);
	(void)scene_submit(scene, CLIENT, 1, 0, TIME);
	assert_int_equal(do_errands(scene, &port), 2);
	assert_true(atomic_load(&scene->bed->engine.flows[0].fate) % TRIP_FATE_EVER == 1);
	scene_go_to(scene, scene->bed->now + TIME + 1);
	assert_int_equal(do_errands(scene, &port), 1);
	assert_int_equal(port.last, TRIP_OP_FLOW_PASS);
	scene_close(scene);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(data_10_a_delete_that_is_not_sent_ends_no_drop),
		cmocka_unit_test(data_10_what_waits_for_the_port_holds_once),
		cmocka_unit_test(data_10_what_was_to_end_may_begin_anew),
		cmocka_unit_test(data_10_what_is_canceled_before_it_is_done_holds_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

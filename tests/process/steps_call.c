/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls that steps.c steps through, and the parts that make one on command. */
#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_pause.h>

#include "flows.h"
#include "steps.h"

enum queue {
	UNCLAIMED,
	POLLED,
	OF_ANOTHER_HANDLE,
};

struct scene {
	struct trip_cntr *theirs, *own, *armed;
	uint64_t id, id_of_pairs, id_of_drop;
	/* The other has no flow. */
	struct trip_port *port, *other_port;
	struct trip_flow *flow, *stopped;
};

static struct trip_work
item(struct scene *scene, uint64_t threshold)
{
	return (struct trip_work){.size = sizeof(struct trip_work),
		.triggering_cntr = scene->theirs,
		.threshold = threshold,
		.op_type = TRIP_OP_CNTR_ADD,
		.op.cntr = {.cntr = scene->own, .value = 1}};
}

static void
do_queue(struct scene *scene)
{
	struct trip_work work = item(scene, UINT64_C(1) << 40);

	(void)trip_work_queue(family_domain, &work, NULL);
}

static void
do_queue_due(struct scene *scene)
{
	struct trip_work work = item(scene, 0);

	(void)trip_work_queue(family_domain, &work, NULL);
}

/* By a channel of its own. */
static void
do_queue_as_thread(struct scene *scene)
{
	(void)trip_thread_attach(family_domain);
	do_queue(scene);
	(void)trip_thread_detach(family_domain);
}

static void
do_cancel(struct scene *scene)
{
	(void)trip_work_cancel(family_domain, scene->id);
}

/* ---- of conditions, and of what lasts ---------------------------------------------------------
 */

static uint64_t
queue_condition(struct scene *scene, const struct trip_condition *condition)
{
	struct trip_work work = item(scene, 0);
	uint64_t id = TRIP_WORK_NONE;

	work.condition = condition;
	work.interval = condition->kind == TRIP_CONDITION_RATE;
	if (condition->kind == TRIP_CONDITION_ALL)
		work.triggering_cntr = NULL;
	(void)trip_work_queue(family_domain, &work, &id);
	return id;
}

static void
do_queue_rate(struct scene *scene)
{
	(void)queue_condition(scene, &(struct trip_condition){.size = sizeof(struct trip_condition),
					     .kind = TRIP_CONDITION_RATE,
					     .when.rate = {.count = 1000, .time = NS_PER_S}});
}

static void
do_queue_idle(struct scene *scene)
{
	(void)queue_condition(scene, &(struct trip_condition){.size = sizeof(struct trip_condition),
					     .kind = TRIP_CONDITION_IDLE,
					     .when.idle.time = NS_PER_S});
}

/* One of them is reached, one is of the clock, and one nested. */
static uint64_t
queue_pairs(struct scene *scene)
{
	const struct trip_pair inner[] = {
		{.size = sizeof(inner[0]), .cntr = scene->own, .threshold = 5},
		{.size = sizeof(inner[0]), .cntr = scene->theirs, .threshold = UINT64_C(1) << 40}};
	const struct trip_condition any = {.size = sizeof(any),
		.kind = TRIP_CONDITION_ANY,
		.when.pairs = {.of = inner, .count = RTE_DIM(inner)}};
	const struct trip_pair pairs[] = {{.size = sizeof(pairs[0]), .cntr = scene->theirs},
		{.size = sizeof(pairs[0]),
			.cntr = trip_clock_cntr(family_domain),
			.threshold = TRIP_CNTR_MAX},
		{.size = sizeof(pairs[0]), .condition = &any}};

	return queue_condition(
		scene, &(struct trip_condition){.size = sizeof(struct trip_condition),
			       .kind = TRIP_CONDITION_ALL,
			       .when.pairs = {.of = pairs, .count = RTE_DIM(pairs)}});
}

static void
do_queue_pairs(struct scene *scene)
{
	(void)queue_pairs(scene);
}

static void
do_cancel_pairs(struct scene *scene)
{
	(void)trip_work_cancel(family_domain, scene->id_of_pairs);
}

/* It has fired, or is about to. */
static uint64_t
queue_drop(struct scene *scene)
{
	struct trip_work work = {.size = sizeof(work),
		.triggering_cntr = scene->theirs,
		.op_type = TRIP_OP_FLOW_DROP,
		.op.drop = {.flow = scene->stopped, .time = UINT64_C(3600) * NS_PER_S}};
	uint64_t id = TRIP_WORK_NONE;

	(void)trip_work_queue(family_domain, &work, &id);
	return id;
}

static void
do_queue_drop(struct scene *scene)
{
	(void)queue_drop(scene);
}

static void
do_cancel_drop(struct scene *scene)
{
	(void)trip_work_cancel(family_domain, scene->id_of_drop);
}

static void
do_queue_police(struct scene *scene)
{
	const struct trip_work work = {.size = sizeof(work),
		.triggering_cntr = scene->theirs,
		.op_type = TRIP_OP_FLOW_POLICE,
		.op.police = {.flow = scene->stopped, .rate = 1, .unit = TRIP_POLICE_UNIT_PACKETS}};

	(void)trip_work_queue(family_domain, &work, NULL);
}

static void
do_arm(struct scene *scene)
{
	(void)trip_cntr_arm(scene->armed, 1000000);
}

static void
do_trywait(struct scene *scene)
{
	struct trip_fid *fid = trip_cntr_fid(scene->armed);

	(void)trip_trywait(family_domain, &fid, 1);
}

static void
do_add(struct scene *scene)
{
	(void)trip_cntr_add(scene->theirs, 1);
}

static void
do_adderr(struct scene *scene)
{
	(void)trip_cntr_adderr(scene->theirs, 1);
}

static void
do_set(struct scene *scene)
{
	(void)trip_cntr_set(scene->theirs, 5);
}

static void
do_open(struct scene *scene)
{
	(void)family_cntr("new", TRIP_WAIT_FD);
}

static void
do_find(struct scene *scene)
{
	(void)family_find("theirs", TRIP_WAIT_FD);
}

static void
do_close(struct scene *scene)
{
	(void)trip_cntr_close(scene->armed);
}

static void
do_sleep(struct scene *scene)
{
	(void)trip_cntr_wait(scene->own, 1, 200);
}

/* ---- of flows and queues ----------------------------------------------------------------------
 */

static struct trip_flow *
make_flow(struct scene *scene, uint16_t udp_port)
{
	const struct trip_flow_attr attr = {
		.size = sizeof(attr), .cntrs = &scene->theirs, .n_cntrs = 1};

	return flows_create(scene->port, &attr, udp_port);
}

static void
set_flows(struct scene *scene)
{
	scene->port = flows_find();
	scene->other_port = flows_find();
	scene->flow = make_flow(scene, FLOWS_DNS);
	scene->stopped = make_flow(scene, FLOWS_DNS + 2);
	assert_int_equal(trip_port_claim(scene->port, TRIP_FLOW_INGRESS, POLLED), 0);
	assert_int_equal(
		trip_port_claim(scene->other_port, TRIP_FLOW_INGRESS, OF_ANOTHER_HANDLE), 0);
	assert_int_equal(flows_burst(scene->port, POLLED, FLOWS_DNS, 1), 1);
}

static void
do_find_port(struct scene *scene)
{
	(void)flows_find();
}

static void
do_close_port(struct scene *scene)
{
	(void)trip_port_close(scene->other_port);
}

static void
do_create(struct scene *scene)
{
	(void)make_flow(scene, FLOWS_DNS + 1);
}

static void
do_query(struct scene *scene)
{
	struct trip_flow_count count = {.size = sizeof(count)};

	(void)trip_flow_query(scene->flow, &count);
}

static void
do_destroy(struct scene *scene)
{
	(void)trip_flow_destroy(scene->flow);
}

static void
do_claim(struct scene *scene)
{
	(void)trip_port_claim(scene->port, TRIP_FLOW_INGRESS, UNCLAIMED);
}

static void
do_burst(struct scene *scene)
{
	(void)flows_burst(scene->port, POLLED, FLOWS_DNS, 4);
}

/* Which takes the queue, too. */
static void
do_first_burst(struct scene *scene)
{
	(void)flows_burst(scene->port, UNCLAIMED, FLOWS_DNS, 4);
}

static void
do_release(struct scene *scene)
{
	(void)trip_port_release(scene->port, TRIP_FLOW_INGRESS, POLLED);
}

static void
do_detach(struct scene *scene)
{
	(void)trip_work_flush(family_domain, NULL);
	(void)trip_flow_destroy(scene->flow);
	(void)trip_flow_destroy(scene->stopped);
	(void)trip_port_close(scene->other_port);
	(void)trip_port_close(scene->port);
	(void)trip_cntr_close(scene->armed);
	(void)trip_cntr_close(scene->own);
	(void)trip_cntr_close(scene->theirs);
	(void)family_try_close();
}

static const struct {
	struct step_call shown;
	void (*make)(struct scene *scene);
} calls[] = {
	{{"queue", 1}, do_queue},
	{{"queue what is due", 4}, do_queue_due},
	{{"queue as a thread", 8}, do_queue_as_thread},
	{{"cancel", 1}, do_cancel},
	{{"queue a rate", 4}, do_queue_rate},
	{{"queue what idles", 4}, do_queue_idle},
	{{"queue pairs", 8}, do_queue_pairs},
	{{"cancel pairs", 2}, do_cancel_pairs},
	{{"queue a drop for a time", 4}, do_queue_drop},
	{{"cancel a drop for a time", 1}, do_cancel_drop},
	{{"queue a police", 4}, do_queue_police},
	{{"arm", 1}, do_arm},
	{{"trywait", 4}, do_trywait},
	{{"add", 1}, do_add},
	{{"adderr", 1}, do_adderr},
	{{"set", 1}, do_set},
	{{"open", 4}, do_open},
	{{"find", 4}, do_find},
	{{"close", 2}, do_close},
	{{"sleep", 4}, do_sleep},
	{{"find a port", 4}, do_find_port},
	{{"close a port", 3}, do_close_port},
	{{"create", 2}, do_create},
	{{"query", 2}, do_query},
	{{"destroy", 2}, do_destroy},
	{{"claim", 1}, do_claim},
	{{"burst", 6}, do_burst},
	{{"first burst", 8}, do_first_burst},
	{{"release", 1}, do_release},
	{{"detach", 22}, do_detach},
};

const struct step_call *
steps_call(unsigned int call)
{
	return call < RTE_DIM(calls) ? &calls[call].shown : NULL;
}

void
steps_play_call(const char *arg)
{
	struct scene scene = {0};
	struct trip_work work;

	family_attach();
	scene.theirs = family_find("theirs", TRIP_WAIT_NONE);
	scene.own = family_cntr("own", TRIP_WAIT_UNSPEC);
	scene.armed = family_find("theirs", TRIP_WAIT_FD);
	work = item(&scene, UINT64_C(1) << 41);
	assert_int_equal(trip_work_queue(family_domain, &work, &scene.id), 0);
	set_flows(&scene);
	scene.id_of_pairs = queue_pairs(&scene);
	scene.id_of_drop = queue_drop(&scene);
	family_say('r');
	calls[family_listen() - 'a'].make(&scene);
	family_say('d');
	/* Whoever steps it further finds instructions. */
	for (;;)
		rte_pause();
}

void
steps_play_attach(const char *arg)
{
	family_say('r');
	family_listen();
	family_attach();
	family_say('d');
	for (;;)
		rte_pause();
}

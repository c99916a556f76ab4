/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters objects read by some threads while others create flows with them, attach points to live
 * ones, and destroy them, and packets are counted all the while. Whatever the interleaving,
 *
 *	a slot is never below what any thread has read of it before,
 *	at the end, a slot of static points is what the counters of the same flows say, which got it
 *	another way,
 *	and an object of a thread's own has the counts of its flow to the packet.
 *
 * What may go wrong does so while a burst is between its search and its counts. So a timer of the
 * queue's own stops it there now and then, and the others go on.
 */
#include <trip_test.h>

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <trip_eal.h>
#include <trip_flows.h>
#include <trip_threads.h>

#if defined(__SANITIZE_THREAD__)
#define SANITIZED true
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SANITIZED true
#endif
#endif
#ifndef SANITIZED
#define SANITIZED false
#endif
#define CHANGES (SANITIZED ? 400 : 4000)
#define QUEUES 2
#define CHANGERS 2
#define READERS 2
#define BURST 256
/* Of each changer. */
#define RULES (FLOWS / CHANGERS)

/* Slots of the shared objects: by static points, then by those of live flows. */
enum { PACKETS, BYTES, BOTH, LIVE, SLOTS };
#define OBJECTS 3

struct object {
	struct trip_counters *counters;
	struct trip_cntr *cntrs[2];
	/* The most that anybody has read. */
	_Atomic uint64_t seen[SLOTS];
};

struct changer {
	pthread_t thread;
	uint32_t first;
	struct trip_random random;
	struct trip_flow *rules[RULES];
	uint64_t creations, attaches, owns;
};

struct world {
	struct trip_domain *domain;
	struct trip_port *port;
	struct object objects[OBJECTS];
	struct flows_traffic traffic[QUEUES];
	struct changer changers[CHANGERS];
	uint64_t changes;
	_Atomic uint64_t bursts, reads;
	_Atomic bool stop;
	uint64_t seed;
};

static struct world world;

static void
attach(struct trip_counters *counters, uint32_t index, enum trip_counter_description desc,
	struct trip_flow *flow)
{
	const struct trip_counter_attach_attr attr = {
		.size = sizeof(attr), .index = index, .counter_desc = desc};

	assert_int_equal(trip_counters_attach_point_flow(counters, &attr, flow), 0);
}

static void
open_world(uint64_t seed)
{
	struct trip_counters_init_attr init = {.size = sizeof(init), .n_slots = SLOTS};

	world = (struct world){.seed = seed, .changes = trip_test_rounds(CHANGES)};
	flows_open(&world.domain, &world.port, QUEUES, 2 * OBJECTS, 2 * FLOWS);
	for (uint32_t i = 0; i < OBJECTS; i++) {
		struct object *object = &world.objects[i];

		flows_cntrs_open(world.domain, object->cntrs);
		assert_int_equal(trip_counters_create(world.domain, &init, &object->counters), 0);
		attach(object->counters, PACKETS, TRIP_COUNTER_PACKETS, NULL);
		attach(object->counters, BYTES, TRIP_COUNTER_BYTES, NULL);
		attach(object->counters, BOTH, TRIP_COUNTER_PACKETS, NULL);
		attach(object->counters, BOTH, TRIP_COUNTER_BYTES, NULL);
		attach(object->counters, BOTH, TRIP_COUNTER_BYTES, NULL);
	}
	for (uint32_t i = 0; i < QUEUES; i++)
		flows_traffic_open(&world.traffic[i], seed + i);
}

/* Where a queue is stopped. */
static void
stay(int signal)
{
	for (unsigned int i = 0; i < 50; i++)
		sched_yield();
}

/* ThreadSanitizer delivers no signal in the middle of a burst. */
static void
stop_soon(timer_t timer, struct trip_random *random)
{
	if (!SANITIZED && trip_random_below(random, 4) == 0)
		trip_thread_interrupt(timer, random);
}

static void *
run_queue(void *arg)
{
	uint16_t queue = (uint16_t)(uintptr_t)arg;
	struct flows_traffic *traffic = &world.traffic[queue];
	timer_t timer = trip_thread_timer();

	while (!atomic_load_explicit(&world.stop, memory_order_relaxed)) {
		stop_soon(timer, &traffic->random);
		flows_burst(traffic, world.port, queue, BURST);
		atomic_fetch_add_explicit(&world.bursts, 1, memory_order_relaxed);
		if (trip_random_below(&traffic->random, 2) == 0)
			sched_yield();
	}
	timer_delete(timer);
	return NULL;
}

/* A read that begins after another has ended shows no less. */
static void
read_object(struct object *object, uint32_t flags)
{
	uint64_t before[SLOTS], values[SLOTS];

	for (uint32_t s = 0; s < SLOTS; s++)
		before[s] = atomic_load_explicit(&object->seen[s], memory_order_acquire);
	assert_int_equal(trip_counters_read(object->counters, values, SLOTS, flags), 0);
	for (uint32_t s = 0; s < SLOTS; s++) {
		uint64_t most = before[s];

		if (values[s] < before[s])
			fail_msg("slot %" PRIu32 ": %" PRIu64 " after %" PRIu64, s, values[s],
				before[s]);
		while (values[s] > most &&
			!atomic_compare_exchange_weak_explicit(&object->seen[s], &most, values[s],
				memory_order_release, memory_order_relaxed))
			;
	}
}

static void *
run_reader(void *arg)
{
	struct trip_random random = {world.seed + 100 + (uintptr_t)arg};

	while (!atomic_load_explicit(&world.stop, memory_order_relaxed)) {
		read_object(&world.objects[trip_random_below(&random, OBJECTS)],
			trip_random_below(&random, 2) == 0 ? TRIP_READ_CACHED : 0);
		atomic_fetch_add_explicit(&world.reads, 1, memory_order_relaxed);
		if (trip_random_below(&random, 4) == 0)
			sched_yield();
	}
	return NULL;
}

/* The others go on meanwhile, however few processors there are. */
static void
wait_for(_Atomic uint64_t *what)
{
	uint64_t before = atomic_load_explicit(what, memory_order_relaxed);

	while (atomic_load_explicit(what, memory_order_relaxed) == before)
		sched_yield();
}

static struct trip_flow *
create(struct changer *changer, uint32_t rule, struct object *object,
	struct trip_counters *counters)
{
	const struct trip_flow_attr attr = {.size = sizeof(attr),
		.cntrs = object->cntrs,
		.n_cntrs = counters == object->counters ? 2 : 0,
		.counters = counters,
		.priority = (uint32_t)trip_random_below(&changer->random, 3)};

	changer->creations++;
	return flows_create(world.port, changer->first + rule, &attr, FLOWS_COUNT,
		trip_random_u64(&changer->random));
}

/* A flow and an object that are gone when this returns, and a counter's-worth of packets. */
static void
use_own(struct changer *changer, uint32_t rule)
{
	struct object *object = &world.objects[0];
	uint32_t length = flows_length(&world.traffic[0], changer->first + rule);
	struct trip_flow_count at_attach = {.size = sizeof(at_attach)},
			       count = {.size = sizeof(count)};
	struct trip_counters *own;
	uint64_t values[2];
	struct trip_flow *flow;

	changer->owns++;
	assert_int_equal(trip_counters_create(world.domain, NULL, &own), 0);
	attach(own, 0, TRIP_COUNTER_PACKETS, NULL);
	flow = create(changer, rule, object, own);
	wait_for(&world.bursts);
	assert_int_equal(trip_flow_query(flow, &at_attach), 0);
	/* The bytes of a burst are counted behind its packets. */
	wait_for(&world.bursts);
	attach(own, 1, TRIP_COUNTER_BYTES, flow);
	wait_for(&world.bursts);
	assert_int_equal(trip_counters_destroy(own), -EBUSY);
	assert_int_equal(trip_flow_query(flow, &count), 0);
	assert_int_equal(trip_flow_destroy(flow), 0);
	assert_int_equal(trip_counters_read(own, values, 2, 0), 0);
	assert_true(values[0] >= count.packets);
	assert_true(values[1] % length == 0);
	assert_true(values[1] <= (values[0] - at_attach.packets) * length);
	assert_int_equal(trip_counters_destroy(own), 0);
}

static void
change(struct changer *changer)
{
	uint32_t rule = (uint32_t)trip_random_below(&changer->random, RULES);
	struct object *object = &world.objects[trip_random_below(&changer->random, OBJECTS)];
	struct trip_flow **flow = &changer->rules[rule];
	uint64_t what = trip_random_below(&changer->random, 8);

	if (*flow == NULL && what == 0) {
		use_own(changer, rule);
	} else if (*flow == NULL) {
		*flow = create(changer, rule, object, object->counters);
	} else if (what < 4) {
		changer->attaches++;
		attach(object->counters, LIVE, (enum trip_counter_description)(what % 2), *flow);
	} else {
		assert_int_equal(trip_flow_destroy(*flow), 0);
		*flow = NULL;
	}
}

static void *
run_changer(void *arg)
{
	struct changer *changer = arg;

	for (uint64_t i = 0; i < world.changes; i++) {
		change(changer);
		if (trip_random_below(&changer->random, 8) == 0)
			wait_for(&world.bursts);
		if (trip_random_below(&changer->random, 8) == 0)
			wait_for(&world.reads);
	}
	for (uint32_t i = 0; i < RULES; i++)
		if (changer->rules[i] != NULL)
			assert_int_equal(trip_flow_destroy(changer->rules[i]), 0);
	return NULL;
}

static void
run_world(void)
{
	pthread_t queues[QUEUES], readers[READERS];
	uint32_t i;

	for (i = 0; i < QUEUES; i++)
		trip_thread_start(&queues[i], run_queue, (void *)(uintptr_t)i);
	for (i = 0; i < READERS; i++)
		trip_thread_start(&readers[i], run_reader, (void *)(uintptr_t)i);
	for (i = 0; i < CHANGERS; i++) {
		struct changer *changer = &world.changers[i];

		changer->first = i * RULES;
		changer->random.state = world.seed + 200 + i;
		trip_thread_start(&changer->thread, run_changer, changer);
	}
	for (i = 0; i < CHANGERS; i++)
		pthread_join(world.changers[i].thread, NULL);
	atomic_store(&world.stop, true);
	for (i = 0; i < QUEUES; i++)
		pthread_join(queues[i], NULL);
	for (i = 0; i < READERS; i++)
		pthread_join(readers[i], NULL);
}

static void
close_world(void)
{
	uint64_t total = 0;

	for (uint32_t i = 0; i < OBJECTS; i++) {
		struct object *object = &world.objects[i];
		uint64_t packets = trip_cntr_read(object->cntrs[0]);
		uint64_t bytes = trip_cntr_read(object->cntrs[1]);
		uint64_t values[SLOTS];

		read_object(object, 0);
		assert_int_equal(trip_counters_read(object->counters, values, SLOTS, 0), 0);
		assert_int_equal(values[PACKETS], packets);
		assert_int_equal(values[BYTES], bytes);
		assert_int_equal(values[BOTH], packets + 2 * bytes);
		assert_int_equal(trip_counters_destroy(object->counters), 0);
		assert_int_equal(trip_cntr_close(object->cntrs[0]), 0);
		assert_int_equal(trip_cntr_close(object->cntrs[1]), 0);
		total += packets;
	}
	assert_true(total > 0);
	assert_int_equal(trip_domain_check(world.domain, stderr), 0);
	assert_int_equal(trip_port_close(world.port), 0);
	assert_int_equal(trip_domain_close(world.domain), 0);
	for (uint32_t i = 0; i < QUEUES; i++)
		flows_traffic_close(&world.traffic[i]);
	for (uint32_t i = 0; i < CHANGERS; i++)
		printf("changer %" PRIu32 ": %" PRIu64 " creations, %" PRIu64 " attaches, %" PRIu64
		       " of its own\n",
			i, world.changers[i].creations, world.changers[i].attaches,
			world.changers[i].owns);
	printf("%" PRIu64 " bursts, %" PRIu64 " reads, %" PRIu64 " packets\n",
		atomic_load(&world.bursts), atomic_load(&world.reads), total);
}

static void
read_while_flows_come_and_go(void **state)
{
	open_world(trip_test_seed("counters"));
	run_world();
	close_world();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(read_while_flows_come_and_go)};
	int failed;

	trip_threads_prepare();
	signal(SIGUSR1, stay);
	if (trip_eal_init("net_null0") < 0) {
		printf("EAL does not start\n");
		return TRIP_TEST_SKIP;
	}
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rte_eal_cleanup();
	return failed;
}

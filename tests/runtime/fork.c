/* SPDX-License-Identifier: BSD-3-Clause */
/* A child of fork(), which has handles of its parent's objects and is not attached. */
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rte_memzone.h>

#include "traffic.h"
#include "waits.h"

/* One of everything. */
static struct trip_cntr *cntr, *fd, *cond, *member, *plain;
static struct trip_wait_set *wait_set;
static struct trip_poll_set *poll_set;
static struct trip_function *function;
static struct trip_counters *counters;
static struct trip_port *port;
static struct trip_flow *flow;
static struct trip_profile *profile;
static uint64_t pending;
/* What the clock was when it was read last. */
static uint64_t shown;

static int
do_nothing(const struct trip_work_event *event, void *arg)
{
	return 0;
}

static int
told(struct trip_profile *of, const struct trip_profile_desc *event, void *param, size_t size,
	void *context)
{
	return 0;
}

static void
open_profile(void)
{
	assert_int_equal(trip_profile_open(trip_domain_fid(harness_domain), 0, &profile, NULL), 0);
	/* Its thread is the parent's alone. */
	assert_int_equal(
		trip_profile_register_callback(profile, TRIP_EVENT_WORK_FAILED, told, NULL), 0);
}

static void
open_flow(void)
{
	struct trip_flow_attr attr = {.size = sizeof(attr), .cntrs = &plain, .n_cntrs = 1};
	const struct trip_port_attr port_attr = {
		.size = sizeof(port_attr), .mode = TRIP_PORT_BURST};
	struct rte_flow_error error;

	assert_int_equal(trip_port_open(harness_domain, traffic_start(1), &port_attr, &port), 0);
	assert_int_equal(
		trip_flow_create(port, &attr, traffic_pattern(53), NULL, &flow, &error), 0);
}

static void
open_all(void)
{
	struct trip_work work;

	cntr = harness_cntr(TRIP_WAIT_UNSPEC);
	fd = harness_cntr(TRIP_WAIT_FD);
	cond = harness_cntr(TRIP_WAIT_MUTEX_COND);
	plain = harness_cntr(TRIP_WAIT_NONE);
	wait_set = waits_set(TRIP_WAIT_FD);
	member = waits_member(wait_set);
	assert_int_equal(trip_poll_open(harness_domain, NULL, &poll_set), 0);
	assert_int_equal(trip_poll_add(poll_set, trip_cntr_fid(cntr), 0), 0);
	assert_int_equal(trip_function_register(harness_domain, do_nothing, NULL, &function), 0);
	assert_int_equal(trip_counters_create(harness_domain, NULL, &counters), 0);
	open_profile();
	work = harness_work(cntr, 1000, TRIP_OP_CNTR_ADD);
	work.op.cntr.cntr = plain;
	work.op.cntr.value = 1;
	pending = harness_queue(&work);
	open_flow();
	shown = trip_cntr_read(trip_clock_cntr(harness_domain));
}

static void
close_all(bool fired)
{
	assert_int_equal(trip_profile_close(profile), 0);
	assert_int_equal(trip_flow_destroy(flow), 0);
	assert_int_equal(trip_port_close(port), 0);
	traffic_stop();
	assert_int_equal(trip_work_cancel(harness_domain, pending), fired ? -ENOENT : 0);
	assert_int_equal(trip_counters_destroy(counters), 0);
	assert_int_equal(trip_function_unregister(function), 0);
	assert_int_equal(trip_poll_del(poll_set, trip_cntr_fid(cntr), 0), 0);
	assert_int_equal(trip_poll_close(poll_set), 0);
	harness_cntr_close(member);
	assert_int_equal(trip_wait_close(wait_set), 0);
	harness_cntr_close(plain);
	harness_cntr_close(cond);
	harness_cntr_close(fd);
	harness_cntr_close(cntr);
}

static unsigned int wrong;

static void
expect(const char *what, bool good)
{
	if (!good) {
		dprintf(STDERR_FILENO, "in the child: %s: %s\n", what, trip_error_message());
		wrong++;
	}
}

/* No macro of cmocka: its failure would run the parent's tests on, in the child. */
#define REFUSED(call) expect(#call, (call) == -ESHUTDOWN)

static void
refuse_counters(void)
{
	struct trip_cntr_attr named = {.size = sizeof(named), .name = "dns"};
	struct trip_mutex_cond object = {.size = sizeof(object)};
	struct trip_cntr *other;
	int number;

	REFUSED(trip_cntr_add(trip_clock_cntr(harness_domain), 1));
	REFUSED(trip_cntr_wait(trip_clock_cntr(harness_domain), TRIP_CNTR_MAX, -1));
	REFUSED(trip_cntr_add(cntr, 1));
	REFUSED(trip_cntr_add(cntr, UINT64_C(1) << 40));
	REFUSED(trip_cntr_adderr(cntr, 1));
	REFUSED(trip_cntr_set(cntr, 1));
	REFUSED(trip_cntr_reset(cntr, NULL));
	REFUSED(trip_cntr_seterr(cntr, 1));
	REFUSED(trip_cntr_wait(cntr, 0, -1));
	REFUSED(trip_cntr_wait(cntr, 100, -1));
	REFUSED(trip_cntr_wait_from(cntr, 100, 0, -1));
	REFUSED(trip_cntr_arm(fd, 1));
	REFUSED(trip_cntr_control(fd, TRIP_GETWAIT, &number));
	REFUSED(trip_cntr_control(cond, TRIP_GETWAIT, &object));
	REFUSED(trip_cntr_open(harness_domain, NULL, &other, NULL));
	REFUSED(trip_cntr_find(harness_domain, &named, &other, NULL));
	REFUSED(trip_cntr_close(plain));
}

static void
refuse_waits(void)
{
	struct trip_wait_attr attr = {.size = sizeof(attr), .wait_obj = TRIP_WAIT_FD};
	struct trip_poll_set *other_poll;
	struct trip_wait_set *other;
	void *context;
	int number;

	REFUSED(waits_try(trip_cntr_fid(fd)));
	REFUSED(waits_try(trip_wait_fid(wait_set)));
	REFUSED(trip_wait(wait_set, -1));
	REFUSED(trip_wait_control(wait_set, TRIP_GETWAIT, &number));
	REFUSED(trip_wait_open(harness_domain, &attr, &other));
	REFUSED(trip_wait_close(wait_set));
	REFUSED(trip_poll(poll_set, &context, 1));
	REFUSED(trip_poll_add(poll_set, trip_cntr_fid(fd), 0));
	REFUSED(trip_poll_del(poll_set, trip_cntr_fid(cntr), 0));
	REFUSED(trip_poll_open(harness_domain, NULL, &other_poll));
	REFUSED(trip_poll_close(poll_set));
}

static void
refuse_works(void)
{
	struct trip_work work = harness_work(cntr, 1, TRIP_OP_CNTR_ADD);
	struct trip_function *other;
	struct trip_work_event event;

	work.op.cntr.cntr = plain;
	REFUSED(trip_work_queue(harness_domain, &work, NULL));
	REFUSED(trip_work_cancel(harness_domain, pending));
	REFUSED(trip_work_flush(harness_domain, NULL));
	REFUSED(trip_work_flush(harness_domain, cntr));
	REFUSED(trip_work_read(harness_domain, &event, sizeof(struct trip_work_event), 1));
	REFUSED(trip_thread_attach(harness_domain));
	REFUSED(trip_thread_detach(harness_domain));
	REFUSED(trip_function_register(harness_domain, do_nothing, NULL, &other));
	REFUSED(trip_function_unregister(function));
}

static void
refuse_flows(void)
{
	const struct trip_port_attr attr = {.size = sizeof(attr)};
	struct trip_counters *other_counters;
	struct rte_flow_error error;
	struct trip_port_stats stats = {.size = sizeof(stats)};
	struct trip_flow_count count = {.size = sizeof(count)};
	struct trip_port *other_port;
	struct trip_flow *other;
	uint64_t value;

	REFUSED(trip_port_open(harness_domain, 0, &attr, &other_port));
	REFUSED(trip_port_stats_read(port, &stats));
	REFUSED(trip_port_close(port));
	REFUSED(trip_flow_create(port, NULL, traffic_pattern(54), NULL, &other, &error));
	REFUSED(trip_flow_query(flow, &count));
	REFUSED(trip_flow_retire(flow));
	REFUSED(trip_flow_destroy(flow));
	REFUSED(trip_counters_create(harness_domain, NULL, &other_counters));
	REFUSED(trip_counters_attach_point_flow(counters, NULL, NULL));
	REFUSED(trip_counters_read(counters, &value, 0, 0));
	REFUSED(trip_counters_destroy(counters));
}

static void
refuse_profiles(void)
{
	struct trip_profile *other;
	size_t count = 0;
	uint64_t value;

	REFUSED(trip_profile_open(trip_cntr_fid(cntr), 0, &other, NULL));
	REFUSED(trip_profile_query_vars(profile, NULL, &count, sizeof(struct trip_profile_desc)));
	REFUSED(trip_profile_query_events(profile, NULL, &count, sizeof(struct trip_profile_desc)));
	REFUSED(trip_profile_read_u64(profile, TRIP_VAR_WORKS_FIRED_TOTAL, &value));
	REFUSED(trip_profile_register_callback(profile, TRIP_EVENT_WORK_FAILED, told, NULL));
	REFUSED(trip_profile_start_reads(profile, 0));
	REFUSED(trip_profile_end_reads(profile, 0));
	REFUSED(trip_profile_reset(profile, 0));
	REFUSED(trip_profile_close(profile));
}

static void
refuse_domain(void)
{
	struct trip_domain_attr attr = {
		.size = sizeof(attr), .name = "other", .progress = TRIP_PROGRESS_MANUAL};
	struct trip_domain_stats stats = {.size = sizeof(stats)};
	struct trip_domain *other;

	REFUSED(trip_progress(harness_domain));
	REFUSED(trip_domain_stats_read(harness_domain, &stats));
	REFUSED(trip_domain_check(harness_domain, stderr));
	REFUSED(trip_domain_close(harness_domain));
	REFUSED(trip_domain_open(&attr, &other, NULL));
}

static uint64_t errgen;
static bool errgen_is_kept = true;

/* Those of the fork: the parent's other threads leave them alone. */
static void
expect_values(const char *when)
{
	expect(when, trip_cntr_read(trip_clock_cntr(harness_domain)) == shown);
	expect(when, trip_cntr_read(cntr) == 7 && trip_cntr_readerr(cntr) == 3);
	expect(when, trip_cntr_read(plain) == TRIP_CNTR_MAX && trip_cntr_readerr(plain) == 0);
	expect("errgen", !errgen_is_kept || trip_cntr_errgen(cntr) == errgen);
}

/* Waits for a byte of the parent's. */
static void
await(int end)
{
	char byte;

	expect("pipe", read(end, &byte, 1) == 1);
}

static int
live_as_child(int end, int told)
{
	/* What hangs is wrong, too. */
	alarm(60);
	expect_values("values");
	expect("pipe", write(told, "", 1) == 1);
	refuse_counters();
	refuse_waits();
	refuse_works();
	refuse_flows();
	refuse_profiles();
	refuse_domain();
	expect_values("values after calls");
	await(end);
	expect_values("values after the parent's updates");
	refuse_counters();
	expect_values("values in the end");
	return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Returns when the child has seen the values. */
static pid_t
start_child(int ends[2])
{
	int told[2];
	pid_t child;
	char byte;

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(pipe(told), 0);
	errgen = trip_cntr_errgen(cntr);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(live_as_child(ends[0], told[1]));
	close(told[1]);
	assert_int_equal(read(told[0], &byte, 1), 1);
	close(told[0]);
	return child;
}

static void
finish_child(pid_t child, int ends[2])
{
	int status;

	assert_int_equal(write(ends[1], "", 1), 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	close(ends[0]);
	close(ends[1]);
}

/* It changes nothing of its parent's, and sees nothing of what that changes. */
static void
wait_12_a_child_is_not_attached(void **state)
{
	struct trip_domain_stats before = {.size = sizeof(before)}, after = {.size = sizeof(after)};
	pid_t child;
	int ends[2];

	open_all();
	trip_cntr_add(cntr, 7);
	trip_cntr_adderr(cntr, 3);
	trip_cntr_set(plain, TRIP_CNTR_MAX);
	harness_settle();
	assert_int_equal(trip_domain_stats_read(harness_domain, &before), 0);
	child = start_child(ends);
	for (unsigned int i = 0; i < 500; i++)
		trip_cntr_add(cntr, 1);
	trip_cntr_adderr(cntr, 1);
	trip_cntr_set(plain, 0);
	finish_child(child, ends);
	harness_settle();
	harness_expect(plain, 0, 0);
	harness_expect(cntr, 507, 4);
	assert_int_equal(trip_domain_stats_read(harness_domain, &after), 0);
	/* But for what settling queues and fires. */
	assert_int_equal(after.accepted - after.fired, before.accepted - before.fired);
	assert_int_equal(after.canceled, before.canceled);
	assert_int_equal(after.pending, before.pending);
	close_all(false);
}

struct blocked {
	uint64_t threshold;
	_Atomic bool done;
	int result;
	pthread_t thread;
};

static void *
block(void *arg)
{
	struct blocked *blocked = arg;

	blocked->result = trip_cntr_wait(cntr, blocked->threshold, -1);
	atomic_store(&blocked->done, true);
	return NULL;
}

/* Threads that open, close, wait and update on and on, so that a fork comes in the middle. */
static _Atomic bool stop;

static void *
churn(void *arg)
{
	while (!atomic_load(&stop)) {
		struct trip_cntr_attr attr = {
			.size = sizeof(attr), .wait_obj = TRIP_WAIT_FD, .name = arg};
		struct trip_cntr *own;

		if (trip_cntr_open(harness_domain, &attr, &own, NULL) != 0)
			return arg;
		(void)trip_cntr_wait(own, 1, 0);
		trip_cntr_arm(own, 1);
		trip_cntr_add(own, 1);
		if (trip_cntr_close(own) != 0)
			return arg;
	}
	return NULL;
}

/* Whatever the parent's other threads are doing, the child hangs nowhere. */
static void
wait_12_forks_at_any_time(void **state)
{
	static char names[2][8] = {"one", "two"};
	struct blocked blocked = {.threshold = 1000};
	pthread_t threads[2];
	pid_t child;
	void *failed;
	int ends[2];

	open_all();
	trip_cntr_set(cntr, 7);
	trip_cntr_adderr(cntr, 3);
	trip_cntr_set(plain, TRIP_CNTR_MAX);
	atomic_store(&stop, false);
	assert_int_equal(pthread_create(&blocked.thread, NULL, block, &blocked), 0);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, churn, names[i]), 0);
	for (unsigned int i = 0; i < 20; i++) {
		harness_step();
		child = start_child(ends);
		finish_child(child, ends);
	}
	atomic_store(&stop, true);
	for (unsigned int i = 0; i < 2; i++) {
		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
	trip_cntr_set(plain, 0);
	/* The item counts the errors, too. */
	trip_cntr_add(cntr, 990);
	harness_until(trip_cntr_read(plain) == 1);
	assert_false(atomic_load(&blocked.done));
	trip_cntr_add(cntr, 3);
	harness_until(atomic_load(&blocked.done));
	pthread_join(blocked.thread, NULL);
	assert_int_equal(blocked.result, 0);
	close_all(true);
}

/* Drivers keep memory that devices write to from children; here the mapping that the domain lies
 * in. Returns how many those were. */
static unsigned int
keep_from_children(int advice)
{
	FILE *file = fopen("/proc/self/maps", "r");
	uint64_t first, end,
		cell = (uint64_t)(uintptr_t)rte_memzone_lookup("trip_trip_home0")->addr;
	unsigned int n = 0;
	char line[512];

	assert_non_null(file);
	while (fgets(line, sizeof(line), file) != NULL)
		if (sscanf(line, "%" SCNx64 "-%" SCNx64, &first, &end) == 2 && first <= cell &&
			cell < end)
			n += madvise((void *)(uintptr_t)first, end - first, advice) == 0;
	fclose(file);
	return n;
}

/* They lack the values, too, and have what was last read of them. */
static void
wait_12_a_child_without_the_memory(void **state)
{
	pid_t child;
	int ends[2];

	open_all();
	trip_cntr_set(cntr, 7);
	trip_cntr_adderr(cntr, 3);
	trip_cntr_set(plain, TRIP_CNTR_MAX);
	harness_expect(cntr, 7, 3);
	harness_expect(plain, TRIP_CNTR_MAX, 0);
	harness_settle();
	assert_int_equal(keep_from_children(MADV_DONTFORK), 1);
	errgen_is_kept = false;
	child = start_child(ends);
	finish_child(child, ends);
	errgen_is_kept = true;
	assert_int_equal(keep_from_children(MADV_DOFORK), 1);
	trip_cntr_set(plain, 0);
	close_all(false);
}

static const struct CMUnitTest tests[] = {
	HARNESS_TEST(wait_12_a_child_is_not_attached),
	HARNESS_TEST(wait_12_a_child_without_the_memory),
	HARNESS_TEST(wait_12_forks_at_any_time),
};

HARNESS_MAIN(TRAFFIC_VDEV, tests)

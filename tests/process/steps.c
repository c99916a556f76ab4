/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A secondary is stepped through one call, instruction by instruction, and killed behind a step: a
 * write to what it shares with the homes, or a system call. Whichever that is, it leaves nothing,
 * and the others go on. Each step of each call, and of attaching, has its kill.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rte_memzone.h>
#include <rte_pause.h>

#include "baseline.h"
#include "domain.h"
#include "flows.h"
#include "home.h"
#include "waiter.h"

/* ---- the part: one call, on command -----------------------------------------------------------
 */

enum queue {
	UNCLAIMED,
	POLLED,
	OF_ANOTHER_HANDLE,
	QUEUES,
};

struct scene {
	struct trip_cntr *theirs, *own, *armed;
	uint64_t id;
	/* The other has no flow. */
	struct trip_port *port, *other_port;
	struct trip_flow *flow;
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
	struct trip_flow_count count;

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
	(void)trip_port_close(scene->other_port);
	(void)trip_port_close(scene->port);
	(void)trip_cntr_close(scene->armed);
	(void)trip_cntr_close(scene->own);
	(void)trip_cntr_close(scene->theirs);
	(void)trip_domain_close(family_domain);
}

/* Steps that two runs need not have in common are left to chance where only every `stride`th has
 * its kill: all of them have with `scripts/test --long`. */
static const struct {
	const char *name;
	void (*call)(struct scene *scene);
	unsigned int stride;
} calls[] = {
	{"queue", do_queue, 1},
	{"queue what is due", do_queue_due, 4},
	{"queue as a thread", do_queue_as_thread, 8},
	{"cancel", do_cancel, 1},
	{"arm", do_arm, 1},
	{"trywait", do_trywait, 4},
	{"add", do_add, 1},
	{"adderr", do_adderr, 1},
	{"set", do_set, 1},
	{"open", do_open, 4},
	{"find", do_find, 4},
	{"close", do_close, 2},
	{"sleep", do_sleep, 4},
	{"find a port", do_find_port, 4},
	{"close a port", do_close_port, 3},
	{"create", do_create, 2},
	{"query", do_query, 2},
	{"destroy", do_destroy, 2},
	{"claim", do_claim, 1},
	{"burst", do_burst, 6},
	{"first burst", do_first_burst, 8},
	{"release", do_release, 1},
	{"detach", do_detach, 22},
};

#define CALLS (sizeof(calls) / sizeof(*calls))

static void
play_stepped(const char *arg)
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
	family_say('r');
	calls[family_listen() - 'a'].call(&scene);
	family_say('d');
	/* Whoever steps it further finds instructions. */
	for (;;)
		rte_pause();
}

static void
play_attaching(const char *arg)
{
	family_say('r');
	family_listen();
	family_attach();
	family_say('d');
	for (volatile unsigned int i = 0;; i++)
		;
}

/* ---- the primary ------------------------------------------------------------------------------
 */

static void
step(pid_t pid, enum __ptrace_request request)
{
	int status;

	assert_int_equal(ptrace(request, pid, NULL, NULL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSTOPPED(status));
}

/* ---- what it shares with the homes ------------------------------------------------------------
 */

#define RANGES_MAX 12

struct range {
	const void *at;
	size_t size;
	void *before;
};

static struct range ranges[RANGES_MAX];
static unsigned int n_ranges;

static void
watch(const void *from, const void *to)
{
	struct range *range = &ranges[n_ranges++];

	assert_true(n_ranges <= RANGES_MAX);
	*range =
		(struct range){.at = from, .size = (size_t)((const char *)to - (const char *)from)};
	range->before = malloc(range->size);
	assert_non_null(range->before);
}

/* Of each home its doorbell and cells, which come first, its waiters, and the channels of the first
 * process; and of queues their claims and counts. */
static void
watch_all(void)
{
	const struct trip_engine *engine = &family_domain->engine;

	watch(engine->claims, &engine->claims[QUEUES]);
	for (uint32_t q = 0; q < QUEUES; q++)
		watch(trip_engine_count(engine, q, 0),
			trip_engine_count(engine, q, engine->n_flows));
	for (uint32_t i = 0; i < family_domain->engine.n_homes; i++) {
		struct trip_home *home = family_domain->engine.homes[i];
		uint32_t first = trip_home_client_channel(&home->shape, 0);
		uint32_t last = first + trip_home_client_channels(&home->shape) - 1;
		const struct trip_channel_map *map = &home->channels[last].map;

		watch(home->epoch, &home->cells[home->shape.n_cntrs]);
		watch(home->waiters, &home->waiters[home->shape.n_waiters]);
		watch(home->channels[first].submit.ring, &map->desc[map->slots]);
	}
}

static void
watch_nothing(void)
{
	while (n_ranges > 0)
		free(ranges[--n_ranges].before);
}

static bool
changed(void)
{
	bool any = false;

	for (unsigned int i = 0; i < n_ranges; i++) {
		if (memcmp(ranges[i].before, ranges[i].at, ranges[i].size) == 0)
			continue;
		memcpy(ranges[i].before, ranges[i].at, ranges[i].size);
		any = true;
	}
	return any;
}

/* ---- steps ------------------------------------------------------------------------------------
 */

/* What a call waits for, homes do after so many instructions without a step. */
#define PATIENCE 2000

/* A system call that is about to be made: its number, or -1. */
static long
next_syscall(pid_t pid, struct user_regs_struct *regs)
{
	unsigned short instruction = 0;
	struct iovec here = {&instruction, sizeof(instruction)},
		     there = {NULL, sizeof(instruction)};

	assert_int_equal(ptrace(PTRACE_GETREGS, pid, NULL, regs), 0);
	there.iov_base = (void *)(uintptr_t)regs->rip;
	assert_int_equal(process_vm_readv(pid, &here, 1, &there, 1, 0), sizeof(instruction));
	return instruction == 0x050f ? (long)regs->rax : -1;
}

/* Not what it talks to the test by, nor how it waits for homes. */
static bool
is_step_of_call(long call, const struct user_regs_struct *regs)
{
	return call >= 0 && call != SYS_sched_yield &&
	       !(call == SYS_read && regs->rdi == FAMILY_HEARD);
}

/* The proxy's answer takes homes that go on meanwhile. */
static void
step_through_syscall(pid_t pid)
{
	int status;

	assert_int_equal(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), 0);
	family_until(waitpid(pid, &status, WNOHANG) == pid);
	assert_true(WIFSTOPPED(status));
}

/* False: it says that the call has ended. */
static bool
single_step(pid_t pid, bool *is_step)
{
	struct user_regs_struct regs;
	long call = next_syscall(pid, &regs);

	if (call == SYS_write && regs.rdi == FAMILY_SAID)
		return false;
	*is_step = is_step_of_call(call, &regs);
	if (*is_step)
		step_through_syscall(pid);
	else
		step(pid, PTRACE_SINGLESTEP);
	*is_step = changed() || *is_step;
	return true;
}

/* To behind its n-th step from here; false: the call has fewer. */
static bool
run_to_step(pid_t pid, unsigned int n)
{
	unsigned int done = 0, waited = 0;
	bool is_step;

	(void)changed();
	while (done < n) {
		if (!single_step(pid, &is_step))
			return false;
		done += is_step;
		waited = is_step ? 0 : waited + 1;
		if (waited < PATIENCE)
			continue;
		baseline_settle();
		(void)changed();
		waited = 0;
	}
	return true;
}

/* Of every `stride` steps one has its kill. */
static bool
has_kill(unsigned int step_number, unsigned int stride)
{
	return getenv("TRIP_SCALE") != NULL || step_number % stride == 0;
}

/* The two take turns for each instruction, which is quicker on one processor. */
static void
run_on_first(pid_t pid)
{
	cpu_set_t first;

	CPU_ZERO(&first);
	CPU_SET(0, &first);
	(void)sched_setaffinity(pid, sizeof(first), &first);
}

static struct family_child
start_and_seize(const char *part)
{
	struct family_child child = family_start(part, 8, NULL);

	assert_int_equal(family_hear(&child), 'r');
	baseline_settle();
	run_on_first(0);
	run_on_first(child.pid);
	assert_int_equal(ptrace(PTRACE_SEIZE, child.pid, NULL, PTRACE_O_TRACESYSGOOD), 0);
	step(child.pid, PTRACE_INTERRUPT);
	return child;
}

/* How many of its steps had their kill. */
static unsigned int
kill_in_call(unsigned int call, const struct baseline *baseline)
{
	unsigned int kills = 0;
	bool left = true;

	for (unsigned int n = 1; left; n++) {
		struct family_child child;

		if (!has_kill(n, calls[call].stride))
			continue;
		child = start_and_seize("stepped");
		family_tell(&child, (char)('a' + call));
		left = run_to_step(child.pid, n);
		/* What the homes find of a half-done call, they find while it is stopped, too. */
		baseline_settle();
		family_kill(&child);
		baseline_expect(baseline);
		kills += left;
	}
	return kills;
}

static void
killed_between_any_two_steps(void **state)
{
	struct trip_domain_stats stats;
	struct baseline baseline;
	struct trip_cntr *theirs;

	family_open(TRIP_PROGRESS_MANUAL,
		&(struct trip_domain_attr){.scrub_us = 1000, .max_process_threads = 1});
	flows_open_port(QUEUES);
	theirs = family_cntr("theirs", TRIP_WAIT_NONE);
	baseline_take(&baseline);
	watch_all();
	for (unsigned int call = 0; call < CALLS; call++)
		printf("%s: %u kills\n", calls[call].name, kill_in_call(call, &baseline));
	watch_nothing();
	assert_int_equal(trip_domain_stats_read(family_domain, &stats), 0);
	printf("%llu lost rings repaired\n", (unsigned long long)stats.scrub_repairs);
	flows_close_port();
	assert_int_equal(trip_cntr_close(theirs), 0);
	family_close();
}

#define ATTACH_STRIDE 12

/* To where it connects: behind all that EAL has locks for. */
static void
run_to_connect(pid_t pid)
{
	struct __ptrace_syscall_info info;

	do {
		step(pid, PTRACE_SYSCALL);
		assert_true(ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) > 0);
	} while (info.op != PTRACE_SYSCALL_INFO_ENTRY || info.entry.nr != SYS_connect);
}

static void
killed_between_any_two_steps_of_attaching(void **state)
{
	unsigned int attached = 0, kills = 0;
	struct baseline baseline;
	bool left = true;

	family_open(TRIP_PROGRESS_MANUAL, NULL);
	baseline_take(&baseline);
	watch_all();
	for (unsigned int n = 1; left; n++) {
		struct family_child child;

		if (!has_kill(n, ATTACH_STRIDE))
			continue;
		child = start_and_seize("attaching");
		family_tell(&child, 'g');
		run_to_connect(child.pid);
		left = run_to_step(child.pid, n);
		baseline_settle();
		attached += family_attached();
		family_kill(&child);
		baseline_expect(&baseline);
		kills += left;
	}
	watch_nothing();
	printf("attach: %u kills, %u of them once attached\n", kills, attached);
	family_close();
}

static const struct family_part parts[] = {
	{"stepped", play_stepped},
	{"attaching", play_attaching, false},
	{NULL, NULL},
};

static int
run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(killed_between_any_two_steps),
		cmocka_unit_test(killed_between_any_two_steps_of_attaching),
	};

	return family_run(tests);
}

int
main(int argc, char **argv)
{
	static const struct flows_engine software = {.engine = TRIP_ENGINE_SW};

	flows_engine = &software;
	family_device = FLOWS_DEVICE;
	return family_main(argc, argv, parts, run);
}

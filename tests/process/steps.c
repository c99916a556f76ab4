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

#include "baseline.h"
#include "domain/domain.h"
#include "flows.h"
#include "home.h"
#include "steps.h"
#include "waiter.h"

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

	watch(engine->claims, &engine->claims[STEPS_QUEUES]);
	for (uint32_t q = 0; q < STEPS_QUEUES; q++)
		watch(trip_engine_count(engine, q, 0),
			trip_engine_count(engine, q, engine->n_flows));
	for (uint32_t i = 0; i < family_domain->engine.n_homes; i++) {
		struct trip_home *home = family_domain->engine.homes[i];
		uint32_t first = trip_home_client_channel(&home->shape, 0);
		uint32_t last = first + trip_home_client_channels(&home->shape) - 1;
		const struct trip_channel_map *map = &home->channels[last].map;

		watch(home->epoch, &home->cells[trip_home_cntrs(&home->shape)]);
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
/* Where one step in so many has its kill, few have. */
#define FEW 4

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

/* Of every so many steps one has its kill. */
static unsigned int
stride_of(unsigned int stride)
{
	return trip_test_scale() > 1 ? 1 : stride;
}

/* To find that a call has no more steps takes the longest: where few have their kill, one is it. So
 * it is below a scale of 1, since another build has the others. */
static bool
is_enough(unsigned int kills, unsigned int stride)
{
	return kills > 0 && (trip_test_scale() < 1 || (trip_test_scale() <= 1 && stride >= FEW));
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
	unsigned int stride = stride_of(steps_call(call)->stride), kills = 0;
	bool left = true;

	for (unsigned int n = stride; left && !is_enough(kills, stride); n += stride) {
		struct family_child child = start_and_seize("stepped");
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
	struct trip_domain_stats stats = {.size = sizeof(stats)};
	struct baseline baseline;
	struct trip_cntr *theirs;

	family_open(TRIP_PROGRESS_MANUAL,
		&(struct trip_domain_attr){.scrub_us = 1000, .max_process_threads = 1});
	flows_open_port(STEPS_QUEUES);
	theirs = family_cntr("theirs", TRIP_WAIT_NONE);
	baseline_take(&baseline);
	watch_all();
	for (unsigned int call = 0; steps_call(call) != NULL; call++)
		printf("%s: %u kills\n", steps_call(call)->name, kill_in_call(call, &baseline));
	watch_nothing();
	assert_int_equal(trip_domain_stats_read(family_domain, &stats), 0);
	printf("%llu lost rings repaired\n", (unsigned long long)stats.scrub_repairs);
	flows_close_port();
	assert_int_equal(trip_cntr_close(theirs), 0);
	family_close();
}

static unsigned int
call_of_name(const char *name)
{
	unsigned int call = 0;

	while (strcmp(steps_call(call)->name, name) != 0)
		call++;
	return call;
}

/* Nobody is there to tell of it: who waits compares (CNTR-14). */
static void
an_error_of_one_that_was_killed_is_not_missed(void **state)
{
	unsigned int call = call_of_name("adderr"), seen = 0;
	struct trip_cntr *theirs;
	bool left = true;

	family_open(TRIP_PROGRESS_MANUAL, &(struct trip_domain_attr){.max_process_threads = 1});
	flows_open_port(STEPS_QUEUES);
	theirs = family_cntr("theirs", TRIP_WAIT_UNSPEC);
	watch_all();
	for (unsigned int n = 1; left; n++) {
		uint64_t errgen = trip_cntr_errgen(theirs), error = trip_cntr_readerr(theirs);
		struct family_child child = start_and_seize("stepped");

		family_tell(&child, (char)('a' + call));
		left = run_to_step(child.pid, n);
		family_kill(&child);
		if (trip_cntr_readerr(theirs) == error)
			continue;
		assert_int_equal(trip_cntr_wait_from(theirs, TRIP_CNTR_MAX, errgen, 0), -EIO);
		seen += left;
	}
	assert_true(seen > 1);
	watch_nothing();
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
	unsigned int stride = stride_of(ATTACH_STRIDE), attached = 0, kills = 0;
	struct baseline baseline;
	bool left = true;

	family_open(TRIP_PROGRESS_MANUAL, NULL);
	baseline_take(&baseline);
	watch_all();
	for (unsigned int n = stride; left && !is_enough(kills, stride); n += stride) {
		struct family_child child = start_and_seize("attaching");
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
	{"stepped", steps_play_call},
	{"attaching", steps_play_attach},
	{NULL, NULL},
};

static int
run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(killed_between_any_two_steps),
		cmocka_unit_test(an_error_of_one_that_was_killed_is_not_missed),
		cmocka_unit_test(killed_between_any_two_steps_of_attaching),
	};

	return family_run(tests);
}

int
main(int argc, char **argv)
{
	return flows_main(argc, argv, parts, run);
}

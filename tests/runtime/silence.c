/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * WAIT-10 by a filter of the kernel's: in the thread that updates, every system call but those that
 * end a thread is trapped and counted. By hand, the same thread progresses the homes.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness.h"

#define UPDATES 1000

static _Atomic uint32_t trapped;

static void
count_trap(int number, siginfo_t *info, void *context)
{
	atomic_fetch_add(&trapped, 1);
}

/* For the calling thread alone, and for the rest of its life. */
static bool
trap_all(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 5, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigprocmask, 4, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_munmap, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {
		.len = sizeof(filter) / sizeof(*filter), .filter = filter};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

struct updater {
	struct trip_cntr **cntrs;
	unsigned int n;
	bool filtered;
	/* System calls of the updates, and of a call that is known to make one. */
	uint32_t silent, loud;
};

static void
update_all(const struct updater *updater, unsigned int i)
{
	for (unsigned int k = 0; k < updater->n; k++) {
		struct trip_cntr *cntr = updater->cntrs[k];

		trip_cntr_add(cntr, i);
		trip_cntr_adderr(cntr, 1);
		trip_cntr_set(cntr, i);
		trip_cntr_seterr(cntr, 0);
		trip_cntr_read(cntr);
		trip_cntr_readerr(cntr);
	}
	if (harness_mode == TRIP_PROGRESS_MANUAL)
		trip_progress(harness_domain);
}

static void *
update_in_silence(void *arg)
{
	struct updater *updater = arg;

	updater->filtered = trap_all();
	if (!updater->filtered)
		return NULL;
	atomic_store(&trapped, 0);
	for (unsigned int i = 0; i < UPDATES; i++)
		update_all(updater, i);
	updater->silent = atomic_load(&trapped);
	syscall(SYS_getppid);
	updater->loud = atomic_load(&trapped) - updater->silent;
	return NULL;
}

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SANITIZED true
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define SANITIZED true
#endif
#endif
#ifndef SANITIZED
#define SANITIZED false
#endif

static void
run(struct updater *updater)
{
	const struct sigaction action = {.sa_sigaction = count_trap, .sa_flags = SA_SIGINFO};
	pthread_t thread;

	assert_int_equal(sigaction(SIGSYS, &action, NULL), 0);
	assert_int_equal(pthread_create(&thread, NULL, update_in_silence, updater), 0);
	pthread_join(thread, NULL);
	if (!updater->filtered) {
		print_message("no seccomp filter here: %s\n", strerror(errno));
		harness_close();
		skip();
	}
	assert_int_equal(updater->loud, 1);
	assert_int_equal(updater->silent, 0);
}

/* Whatever their wait objects, also where somebody was armed before, and is no more. */
static void
wait_10_updates_make_no_system_call(void **state)
{
	static const enum trip_wait_obj objs[] = {TRIP_WAIT_NONE, TRIP_WAIT_YIELD, TRIP_WAIT_FD};
	struct trip_cntr *cntrs[3];
	struct updater updater = {.cntrs = cntrs, .n = 3};
	struct trip_domain_stats stats = {.size = sizeof(stats)};
	uint64_t wakes;

	/* Sanitizers make system calls of their own. */
	if (SANITIZED)
		skip();
	harness_open(1, NULL);
	for (unsigned int i = 0; i < 3; i++)
		cntrs[i] = harness_cntr(objs[i]);
	assert_int_equal(trip_cntr_arm(cntrs[2], 5), 0);
	harness_settle();
	trip_cntr_add(cntrs[2], 5);
	harness_settle();
	trip_domain_stats_read(harness_domain, &stats);
	wakes = stats.wakes;
	assert_int_equal(wakes, 1);
	run(&updater);
	harness_settle();
	trip_domain_stats_read(harness_domain, &stats);
	assert_int_equal(stats.wakes, wakes);
	for (unsigned int i = 0; i < 3; i++)
		harness_cntr_close(cntrs[i]);
}

/* Deferred work fires without one, too. */
static void
wait_10_firing_makes_no_system_call(void **state)
{
	struct trip_cntr *cntr, *target;
	struct updater updater = {.cntrs = &cntr, .n = 1};
	struct trip_work work;

	if (SANITIZED)
		skip();
	harness_open(1, NULL);
	cntr = harness_cntr(TRIP_WAIT_NONE);
	target = harness_cntr(TRIP_WAIT_NONE);
	work = harness_work(cntr, 1, TRIP_OP_CNTR_ADD);
	work.op.cntr.cntr = target;
	work.op.cntr.value = 1;
	for (unsigned int i = 0; i < UPDATES; i++) {
		work.threshold = 1 + i / 2;
		harness_queue(&work);
	}
	harness_settle();
	run(&updater);
	trip_cntr_add(cntr, UPDATES);
	harness_until(trip_cntr_read(target) == UPDATES);
	harness_cntr_close(target);
	harness_cntr_close(cntr);
}

static const struct CMUnitTest tests[] = {
	HARNESS_TEST_OWN(wait_10_updates_make_no_system_call),
	HARNESS_TEST_OWN(wait_10_firing_makes_no_system_call),
};

HARNESS_MAIN(NULL, tests)

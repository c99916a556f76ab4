/* SPDX-License-Identifier: BSD-3-Clause */
/* What the code asks the kernel for, and the C library: linked in their place by --wrap. */
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <time.h>

#include "sim_inside.h"
#include "trip_atomics_memory.h"

long __wrap_syscall(long number, ...);
long __real_syscall(long number, ...);
int __real_sched_yield(void);
int __wrap_sched_yield(void);
_Noreturn void __wrap___assert_fail(
	const char *assertion, const char *file, unsigned int line, const char *function);

static bool
sleep_on(const volatile void *word, const struct timespec *timeout)
{
	uint64_t until = 0;

	if (!sim.has_clock)
		return sim_sleep(word, timeout != NULL);
	if (timeout != NULL)
		until = sim.now + (uint64_t)timeout->tv_sec * 1000000000 +
			(uint64_t)timeout->tv_nsec + 1;
	return sim_sleep_until(word, until);
}

static long
futex_wait(const volatile void *word, uint32_t seen, const struct timespec *timeout)
{
	/* Under the lock of its hash bucket the kernel sees what was stored last. */
	if ((uint32_t)trip_atomics_get(word, sizeof(seen)) != seen) {
		errno = EAGAIN;
		return -1;
	}
	if (sim.interrupted != NULL && sim.interrupted()) {
		errno = EINTR;
		return -1;
	}
	/* The kernel says 0 then, too. */
	if (sim_turn_wakes() || sleep_on(word, timeout))
		return 0;
	errno = ETIMEDOUT;
	return -1;
}

long
__wrap_syscall(long number, ...)
{
	const volatile void *word;
	const void *timeout;
	uint32_t value;
	va_list args;
	int op;

	va_start(args, number);
	word = va_arg(args, const volatile void *);
	op = va_arg(args, int);
	value = va_arg(args, uint32_t);
	timeout = va_arg(args, const void *);
	va_end(args);
	if (sim.self == NULL)
		return __real_syscall(number, word, op, value, timeout, NULL, 0);
	if (number == SYS_pidfd_open && sim.pidfd_open != NULL)
		return sim.pidfd_open((int)(intptr_t)word);
	sim_expect(number == SYS_futex, "system call %ld is not simulated", number);
	sim_step(word, false);
	sim_memory_drain(sim.self);
	switch (op) {
	case FUTEX_WAIT:
		return futex_wait(word, value, timeout);
	case FUTEX_WAKE:
		sim_story_mark("wakes who sleeps");
		return sim_wake(word, value);
	}
	sim_fail("futex operation %d is not simulated", op);
}

int
__wrap_sched_yield(void)
{
	/* A sanitizer's, at the end of the program. */
	if (sim.self == NULL)
		return __real_sched_yield();
	sim_pause();
	return 0;
}

void
__wrap___assert_fail(
	const char *assertion, const char *file, unsigned int line, const char *function)
{
	sim_fail("%s:%u: %s: assert(%s)", file, line, function, assertion);
}

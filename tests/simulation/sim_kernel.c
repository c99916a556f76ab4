/* SPDX-License-Identifier: BSD-3-Clause */
/* What the code asks the kernel for, and the C library: linked in their place by --wrap. */
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/syscall.h>

#include "sim_inside.h"
#include "trip_atomics_memory.h"

long __wrap_syscall(long number, ...);
long __real_syscall(long number, ...);
int __real_sched_yield(void);
int __wrap_sched_yield(void);
_Noreturn void __wrap___assert_fail(
	const char *assertion, const char *file, unsigned int line, const char *function);

static long
futex_wait(const volatile void *word, uint32_t seen, bool times_out)
{
	/* Under the lock of its hash bucket the kernel sees what was stored last. */
	if ((uint32_t)trip_atomics_get(word, sizeof(seen)) != seen) {
		errno = EAGAIN;
		return -1;
	}
	if (sim_sleep(word, times_out))
		return 0;
	errno = ETIMEDOUT;
	return -1;
}

long
__wrap_syscall(long number, ...)
{
	const volatile void *word, *timeout;
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
	sim_expect(number == SYS_futex, "system call %ld is not simulated", number);
	sim_step(word, false);
	sim_memory_drain(sim.self);
	switch (op) {
	case FUTEX_WAIT:
		return futex_wait(word, value, timeout != NULL);
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

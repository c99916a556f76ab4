/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whoever runs on without a step keeps the turn for ever: in a list that has become a circle, say.
 * A timer of CPU time ends that. Any step comes within a small part of the limit, so whether a
 * history spins does not depend on the machine; nor does the step behind which it does.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "sim_inside.h"

#define TICK_US 10000
/* Of CPU time. */
#define LIMIT_MS 1000
#define FRAMES 8
/* sim_watchdog_frames(), the handler, and what the kernel calls that by. */
#define OWN_FRAMES 3

static struct {
	unsigned int limit_ms;
	/* So many ticks have found the same step. */
	unsigned int ticks;
	uint32_t step;
	bool runs;
} watchdog = {.limit_ms = LIMIT_MS};

/* Whose code that is, for who reads the story. */
__attribute__((noinline)) void
sim_watchdog_frames(const char *what)
{
	void *frames[FRAMES];
	int n = backtrace(frames, FRAMES);
	char command[64 + 24 * FRAMES];
	int used =
		snprintf(command, sizeof(command), "addr2line -sfpe /proc/%d/exe", (int)getpid());
	Dl_info program;

	for (int i = OWN_FRAMES; i < n && dladdr(frames[i], &program) != 0; i++)
		used += snprintf(command + used, sizeof(command) - (size_t)used, " %#zx",
			(size_t)((char *)frames[i] - (char *)program.dli_fbase));
	printf("%s\n", what);
	fflush(stdout);
	if (system(command) != 0)
		printf("nobody knows: %s\n", command);
}

static void
look(int number)
{
	if (sim.self == NULL || sim.steps != watchdog.step) {
		watchdog.step = sim.steps;
		watchdog.ticks = 0;
		return;
	}
	if (++watchdog.ticks * (TICK_US / 1000) < watchdog.limit_ms)
		return;
	watchdog.ticks = 0;
	sim.history->spun = true;
	if (sim.history->told)
		sim_watchdog_frames("it spins in");
	sim_fail("%s goes on without a step behind %s:%d",
		sim.self->looks ? "whoever judges" : sim.self->name,
		sim.self->here.file != NULL ? sim_story_base_of(sim.self->here.file) : "none",
		sim.self->here.line);
}

void
sim_watchdog_begin(void)
{
	const struct sigaction action = {
		.sa_handler = look, .sa_flags = SA_ONSTACK | SA_NODEFER | SA_RESTART};
	const struct itimerval every = {{.tv_usec = TICK_US}, {.tv_usec = TICK_US}};

	if (watchdog.runs)
		return;
	watchdog.runs = true;
	sigaction(SIGVTALRM, &action, NULL);
	setitimer(ITIMER_VIRTUAL, &every, NULL);
}

void
sim_watchdog_limit(unsigned int ms)
{
	watchdog.limit_ms = ms != 0 ? ms : LIMIT_MS;
}

/* A crash is a failure like any other; under a debugger it stops there. Where the history does not
 * run, the seed is what is needed. */
static void
crash(int number)
{
	char what[128];
	int n;

	if (sim.self != NULL) {
		if (sim.history->told)
			sim_watchdog_frames("it crashes in");
		sim_fail("%s crashes by signal %d behind %s:%d",
			sim.self->looks ? "whoever judges" : sim.self->name, number,
			sim.self->here.file != NULL ? sim_story_base_of(sim.self->here.file)
						    : "none",
			sim.self->here.line);
	}
	n = snprintf(what, sizeof(what), "seed %llu: signal %d at step %u\n",
		(unsigned long long)(sim.history != NULL ? sim.history->seed : 0), number,
		sim.steps);

	if (write(STDERR_FILENO, what, (size_t)n) < 0)
		_exit(1);
	signal(number, SIG_DFL);
	raise(number);
}

void
sim_watchdog_catch_crashes(void)
{
	static char stack[65536];
	const stack_t own = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction action = {.sa_handler = crash, .sa_flags = SA_ONSTACK | SA_NODEFER};

	sigaltstack(&own, NULL);
	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
	sigaction(SIGFPE, &action, NULL);
}

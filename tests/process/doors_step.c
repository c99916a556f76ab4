/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process is stopped between two instructions of its attach, and the primary closes the domain
 * there. Those of libraries count as one: some of EAL hold a lock that the close takes.
 */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "domain/domain.h"
#include "doors.h"
#include "home.h"
#include "primary/process.h"
#include "primary/server.h"
#include "trip_step.h"

/* Points of an attach that have their close, until it is let in; and behind that. TRIP_SCALE makes
 * more. */
#define POINTS 60
#define POINTS_BEHIND 10

/* Where the program lies in the child, which is the same as here but for the base. */
struct text {
	uint64_t from, to;
	/* Where the attach begins, and where it has ended. */
	uint64_t begin, end;
};

static bool
find_text(pid_t pid, uint64_t *from, uint64_t *to, uint64_t *base)
{
	char path[64], line[512], program[256] = "", exe[64];
	bool found = false;
	FILE *file;

	snprintf(exe, sizeof(exe), "/proc/%d/exe", (int)pid);
	assert_true(readlink(exe, program, sizeof(program) - 1) > 0);
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	file = fopen(path, "r");
	assert_non_null(file);
	*base = 0;
	while (!found && fgets(line, sizeof(line), file) != NULL) {
		char access[8];

		if (strstr(line, program) == NULL ||
			sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s", from, to, access) != 3)
			continue;
		if (*base == 0)
			*base = *from;
		found = strchr(access, 'x') != NULL;
	}
	fclose(file);
	return found;
}

static void
find_child_text(pid_t pid, struct text *text)
{
	uint64_t from, to, here, there;

	assert_true(find_text(getpid(), &from, &to, &here));
	assert_true(find_text(pid, &text->from, &text->to, &there));
	text->begin = (uint64_t)(uintptr_t)trip_domain_attach - here + there;
	text->end = (uint64_t)(uintptr_t)doors_report - here + there;
}

static void
wait_stopped(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP)
		fail_msg("the attach ends with status 0x%x", (unsigned int)status);
}

static void
run(pid_t pid, enum __ptrace_request request, struct user_regs_struct *regs)
{
	assert_int_equal(ptrace(request, pid, NULL, NULL), 0);
	wait_stopped(pid);
	assert_int_equal(ptrace(PTRACE_GETREGS, pid, NULL, regs), 0);
}

static bool
is_within(const struct text *text, uint64_t address)
{
	return address >= text->from && address < text->to;
}

/* Words on the stack above where a call came from, at most: the dynamic linker has some. */
#define WORDS_ABOVE 3

/* Where a library that was just called returns to; 0: it was not called from the program. */
static uint64_t
find_return(pid_t pid, const struct text *text, const struct user_regs_struct *regs)
{
	for (unsigned int i = 0; i < WORDS_ABOVE; i++) {
		uint64_t word = (uint64_t)ptrace(
			PTRACE_PEEKDATA, pid, (void *)(uintptr_t)(regs->rsp + 8 * i), NULL);

		if (is_within(text, word))
			return word;
	}
	return 0;
}

#define BREAKPOINT 0xcc

/* As fast as it can. */
static void
run_to(pid_t pid, uint64_t address, struct user_regs_struct *regs)
{
	void *at = (void *)(uintptr_t)address;
	long word = ptrace(PTRACE_PEEKTEXT, pid, at, NULL);

	assert_int_equal(ptrace(PTRACE_POKETEXT, pid, at, (word & ~0xffL) | BREAKPOINT), 0);
	run(pid, PTRACE_CONT, regs);
	assert_int_equal(ptrace(PTRACE_POKETEXT, pid, at, word), 0);
	assert_int_equal(regs->rip, address + 1);
	regs->rip = address;
	assert_int_equal(ptrace(PTRACE_SETREGS, pid, NULL, regs), 0);
}

/* To behind its next instruction; false: that is behind the attach. */
static bool
step(pid_t pid, const struct text *text, struct user_regs_struct *regs)
{
	run(pid, PTRACE_SINGLESTEP, regs);
	while (!is_within(text, regs->rip)) {
		uint64_t back = find_return(pid, text, regs);

		if (back != 0)
			run_to(pid, back, regs);
		else
			run(pid, PTRACE_SINGLESTEP, regs);
	}
	return regs->rip != text->end;
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

/* Hears that it is to attach, and is about to. */
static void
begin(const struct family_child *child, const struct text *text)
{
	struct user_regs_struct regs;

	doors_open_domain(NULL);
	assert_int_equal(ptrace(PTRACE_SEIZE, child->pid, NULL, NULL), 0);
	assert_int_equal(ptrace(PTRACE_INTERRUPT, child->pid, NULL, NULL), 0);
	wait_stopped(child->pid);
	family_tell(child, 'a');
	/* Not by steps: on the stack of a read that was cut short any word may look like a
	 * return. */
	run_to(child->pid, text->begin, &regs);
}

/* It was let in. */
static void
leave(const struct family_child *child)
{
	family_tell(child, 'c');
	assert_int_equal(doors_hear(child), 0);
	doors_close_domain();
}

/* True: it was let in before, and the domain stays. */
static bool
close_at(const struct family_child *child, const struct text *text, unsigned int n)
{
	struct user_regs_struct regs;
	const void *there;
	int closed, attached;

	begin(child, text);
	there = family_domain->engine.homes[0]->waiters;
	for (unsigned int i = 0; i < n; i++)
		assert_true(step(child->pid, text, &regs));
	closed = doors_try_close();
	if (closed == 0)
		doors_fill_memory(there);
	assert_int_equal(ptrace(PTRACE_DETACH, child->pid, NULL, NULL), 0);
	attached = doors_hear(child);
	if (attached != (closed == 0 ? -ENOENT : 0) || (closed != 0 && closed != -EBUSY))
		fail_msg("behind instruction %u the close says %d, the attach %d", n, closed,
			attached);
	if (closed == 0)
		doors_expect_memory();
	else
		leave(child);
	return closed != 0;
}

/* How many instructions it has until it is let in. */
static unsigned int
count_instructions(const struct family_child *child, const struct text *text)
{
	struct user_regs_struct regs;
	unsigned int n = 0;

	begin(child, text);
	while (!family_domain->server->processes[0].used && step(child->pid, text, &regs))
		n++;
	assert_int_equal(ptrace(PTRACE_DETACH, child->pid, NULL, NULL), 0);
	assert_int_equal(doors_hear(child), 0);
	leave(child);
	return n;
}

void
closed_behind_each_step_of_an_attach(void **state)
{
	struct trip_random random = {.state = trip_test_seed("doors")};
	unsigned int points = (unsigned int)trip_test_rounds(POINTS), n, stays = 0;
	struct family_child child;
	struct text text;

	/* The sanitizer's instructions lie in the program's text, and outnumber it. */
	if (!TRIP_STEP_POSSIBLE)
		skip();
	child = doors_invite(8);
	family_tell(&child, 'r');
	(void)doors_hear(&child);
	find_child_text(child.pid, &text);
	run_on_first(0);
	run_on_first(child.pid);
	n = count_instructions(&child, &text);
	/* One in each stretch. */
	for (unsigned int i = 0; i < points + POINTS_BEHIND; i++)
		stays += close_at(&child, &text,
			(unsigned int)(((uint64_t)i * n + trip_random_below(&random, n)) / points));
	printf("%u closes beside an attach of %u instructions, %u of them refused\n",
		points + POINTS_BEHIND, n, stays);
	trip_assert_range(stays, 1, points);
	family_tell(&child, 'q');
	family_join(&child);
}

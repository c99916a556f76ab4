/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs of `exec`, as tripd sees them. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rte_common.h>

#include "exec.h"
#include "now.h"
#include "quota.h"
#include "report.h"
#include "rules.h"
#include "start/fail.h"
#include "start/program.h"

#define BUFFER ((size_t)256 << 10)
#define DELAY_MIN_NS UINT64_C(100000000)
#define DELAY_MAX_NS UINT64_C(60000000000)
#define SAY_NS UINT64_C(60000000000)
#define END_NS UINT64_C(1000000000)

int
tripd_exec_check_one(const struct tripd_exec *exec, const char *path, unsigned int nth)
{
	unsigned int taken = 0;

	if (exec == NULL || exec->socket < 0)
		return -ECHILD;
	for (unsigned int i = 0; i < TRIPD_EXEC_MAX; i++)
		taken += exec->programs[i].taken;
	return taken + nth > TRIPD_EXEC_MAX ? -ENOSPC : tripd_program_check(path);
}

int
tripd_exec_room(struct tripd_exec *exec, unsigned int n_whens, unsigned int n)
{
	unsigned int *of_when;

	if (exec == NULL || exec->programs == NULL)
		return 0;
	of_when = reallocarray(exec->of_when, (size_t)n_whens + 1, sizeof(*of_when));
	if (of_when == NULL)
		return -ENOMEM;
	exec->of_when = of_when;
	for (unsigned int i = 0; i < TRIPD_EXEC_MAX && n > 0; i++) {
		struct tripd_program *program = &exec->programs[i];

		if (program->taken)
			continue;
		if (program->outlet.buffer == NULL &&
			tripd_outlet_open(&program->outlet, BUFFER) != 0)
			return -ENOMEM;
		n--;
	}
	return 0;
}

/* A place is free, and has room. */
static void
take_place(struct tripd_exec *exec, const struct trip_rules *rules, unsigned int when)
{
	struct tripd_program *program = exec->programs;

	while (program->taken)
		program++;
	*program = (struct tripd_program){
		.taken = true,
		.when = when,
		.path = rules->whens[when].text,
		.outlet = program->outlet,
		.input = -1,
		.delay_ns = DELAY_MIN_NS,
	};
	exec->of_when[when] = (unsigned int)(program - exec->programs);
}

/* Those that are not known. */
static void
take_places(struct tripd_exec *exec, const struct trip_rules *rules)
{
	for (; exec->n_whens < rules->n_whens; exec->n_whens++)
		if (rules->whens[exec->n_whens].op == TRIP_RULES_OP_EXEC)
			take_place(exec, rules, exec->n_whens);
}

int
tripd_exec_open(struct tripd_exec *exec, const struct trip_rules *rules)
{
	unsigned int n = 0;
	int ret;

	*exec = (struct tripd_exec){.socket = -1};
	exec->programs = calloc(TRIPD_EXEC_MAX, sizeof(*exec->programs));
	for (unsigned int i = 0; i < rules->n_whens; i++)
		n += rules->whens[i].op == TRIP_RULES_OP_EXEC;
	ret = exec->programs != NULL ? tripd_exec_room(exec, rules->n_whens, n) : -ENOMEM;
	if (ret == 0)
		ret = exec->socket = tripd_exec_helper_fork(&exec->helper);
	if (ret < 0)
		return tripd_fail(ret, "exec: %s", strerror(-ret));
	tripd_exec_follow(exec, rules);
	return 0;
}

void
tripd_exec_put(
	struct tripd_exec *exec, const struct tripd_quota *quota, const struct tripd_trip *trip)
{
	if (quota->rules->whens[trip->when].op != TRIP_RULES_OP_EXEC)
		return;
	/* It may fire while its rules come in. */
	if (trip->when >= exec->n_whens)
		tripd_exec_follow(exec, quota->rules);
	if (trip->when < exec->n_whens && !quota->rules->whens[trip->when].gone)
		tripd_outlet_put(&exec->programs[exec->of_when[trip->when]].outlet,
			tripd_report_event(quota, trip));
}

/* Has the helper start it, with the other end of its outlet; or end it, without. */
static int
order(const struct tripd_exec *exec, unsigned int i, int input)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {.header = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
	struct tripd_exec_start start = {.program = i};
	struct iovec data = {&start, sizeof(start)};
	struct msghdr message = {.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};

	if (input < 0)
		message.msg_controllen = 0;
	else
		memcpy(CMSG_DATA(&control.header), &input, sizeof(input));
	snprintf(start.path, sizeof(start.path), "%s", exec->programs[i].path);
	return sendmsg(exec->socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) > 0 ? 0 : -errno;
}

/* Closes its stdin, and counts what it has not read. It does not run any more. */
static void
drain(struct tripd_program *program)
{
	/* As much as a pipe holds. */
	static char text[65536];
	int n = 0;

	tripd_outlet_connect(&program->outlet, -1);
	if (program->input < 0)
		return;
	if (ioctl(program->input, FIONREAD, &n) == 0 && n > 0 &&
		(n = (int)read(program->input, text, sizeof(text))) > 0)
		tripd_outlet_lose(&program->outlet, text, (size_t)n);
	close(program->input);
	program->input = -1;
}

static void
start(struct tripd_exec *exec, unsigned int i, uint64_t now)
{
	struct tripd_program *program = &exec->programs[i];
	int ends[2];

	program->start_ns = now + program->delay_ns;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return;
	fcntl(ends[1], F_SETFL, O_NONBLOCK);
	if (order(exec, i, ends[0]) == 0) {
		program->runs = true;
		program->started_ns = now;
		program->input = ends[0];
		tripd_outlet_connect(&program->outlet, ends[1]);
	} else {
		close(ends[0]);
		close(ends[1]);
	}
}

/* It has ended. Returns how many trips it has not got. */
static uint64_t
close_program(struct tripd_program *program)
{
	uint64_t left_out;

	drain(program);
	tripd_outlet_close(&program->outlet);
	left_out = program->outlet.left_out;
	if (left_out != 0)
		tripd_fail(0, "line %u of the rules: exec %s: %" PRIu64 " trips were left out",
			program->line, program->path, left_out);
	program->taken = false;
	return left_out;
}

/* Its stdin ends; its place is free when it has. */
static void
begin_end(struct tripd_exec *exec, struct tripd_program *program)
{
	program->ends_now = true;
	(void)tripd_outlet_flush(&program->outlet, 0);
	tripd_outlet_connect(&program->outlet, -1);
	if (program->runs && exec->socket >= 0)
		(void)order(exec, (unsigned int)(program - exec->programs), -1);
	else
		exec->left_out += close_program(program);
}

void
tripd_exec_follow(struct tripd_exec *exec, const struct trip_rules *rules)
{
	if (exec->programs == NULL)
		return;
	take_places(exec, rules);
	for (unsigned int i = 0; i < TRIPD_EXEC_MAX; i++) {
		struct tripd_program *program = &exec->programs[i];

		if (!program->taken)
			continue;
		program->line = rules->whens[program->when].line;
		if (rules->whens[program->when].gone && !program->ends_now)
			begin_end(exec, program);
	}
}

/* One that has run for long begins with the shortest delay again. */
static void
note_end(struct tripd_exec *exec, struct tripd_program *program,
	const struct tripd_exec_ended *ended, uint64_t now)
{
	if (program->ends_now) {
		exec->left_out += close_program(program);
		return;
	}
	drain(program);
	if (now - program->started_ns >= DELAY_MAX_NS)
		program->delay_ns = DELAY_MIN_NS;
	program->runs = false;
	program->waits_ns = program->delay_ns;
	program->start_ns = now + program->delay_ns;
	program->delay_ns = RTE_MIN(2 * program->delay_ns, DELAY_MAX_NS);
	program->last = *ended;
	program->ends++;
}

/* Without its helper none is started any more, and those that ran have been killed. */
static void
lose_helper(struct tripd_exec *exec)
{
	close(exec->socket);
	exec->socket = -1;
	for (unsigned int i = 0; i < TRIPD_EXEC_MAX; i++)
		if (exec->programs[i].taken)
			tripd_outlet_connect(&exec->programs[i].outlet, -1);
	tripd_fail(0,
		"warning: the process that starts programs for exec is gone: there are none any "
		"more");
}

static void
receive(struct tripd_exec *exec, uint64_t now)
{
	struct tripd_exec_ended ended;
	ssize_t n = 0;

	while (exec->socket >= 0 && (n = recv(exec->socket, &ended, sizeof(ended), MSG_DONTWAIT)) ==
					    (ssize_t)sizeof(ended))
		if (ended.program < TRIPD_EXEC_MAX && exec->programs[ended.program].taken)
			note_end(exec, &exec->programs[ended.program], &ended, now);
	if (exec->socket >= 0 && (n >= 0 || (errno != EAGAIN && errno != EINTR)))
		lose_helper(exec);
}

static bool
has_left_out(const struct tripd_program *program, uint64_t now)
{
	return program->outlet.left_out != program->said_left_out &&
	       (program->said_ns == 0 || now - program->said_ns >= SAY_NS);
}

bool
tripd_exec_update(struct tripd_exec *exec)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC);
	bool news = false;

	if (exec->programs == NULL)
		return false;
	if (exec->socket >= 0)
		receive(exec, now);
	for (unsigned int i = 0; i < TRIPD_EXEC_MAX; i++) {
		struct tripd_program *program = &exec->programs[i];

		if (!program->taken || program->ends_now)
			continue;
		if (exec->socket >= 0 && !program->runs && now >= program->start_ns)
			start(exec, i, now);
		(void)tripd_outlet_flush(&program->outlet, 0);
		news |= program->ends != program->said_ends || has_left_out(program, now);
	}
	return news;
}

static void
say_end(const struct tripd_program *program)
{
	const struct tripd_exec_ended *last = &program->last;
	const char *how = "has ended with the exit code";
	int code = WEXITSTATUS(last->status);

	if (last->error != 0) {
		how = "could not be started, errno";
		code = last->error;
	} else if (WIFSIGNALED(last->status)) {
		how = "was killed by the signal";
		code = WTERMSIG(last->status);
	}
	tripd_fail(0, "warning: line %u of the rules: exec %s %s %d: it is started again in %g s",
		program->line, program->path, how, code, (double)program->waits_ns / 1e9);
}

void
tripd_exec_say(struct tripd_exec *exec)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC);

	for (unsigned int i = 0; i < TRIPD_EXEC_MAX; i++) {
		struct tripd_program *program = &exec->programs[i];

		if (!program->taken || program->ends_now)
			continue;
		if (program->ends != program->said_ends)
			say_end(program);
		program->said_ends = program->ends;
		if (!has_left_out(program, now))
			continue;
		program->said_left_out = program->outlet.left_out;
		program->said_ns = now;
		tripd_fail(0,
			"warning: line %u of the rules: exec %s does not read what it gets: "
			"%" PRIu64 " trips so far are left out",
			program->line, program->path, program->said_left_out);
	}
}

/* Its stdin ends behind what it takes until then. */
static void
end_input(struct tripd_program *program, uint64_t until)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC);

	(void)tripd_outlet_flush(
		&program->outlet, now < until ? (int)((until - now) / 1000000) : 0);
	tripd_outlet_connect(&program->outlet, -1);
}

static uint64_t
end_programs(struct tripd_exec *exec)
{
	uint64_t until = now_ns(CLOCK_MONOTONIC) + END_NS, left_out = exec->left_out;

	for (unsigned int i = 0; i < TRIPD_EXEC_MAX; i++)
		if (exec->programs[i].taken)
			end_input(&exec->programs[i], until);
	if (exec->socket >= 0)
		close(exec->socket);
	waitpid(exec->helper, NULL, 0);
	for (unsigned int i = 0; i < TRIPD_EXEC_MAX; i++)
		if (exec->programs[i].taken)
			left_out += close_program(&exec->programs[i]);
	return left_out;
}

int
tripd_exec_close(struct tripd_exec *exec)
{
	uint64_t left_out = exec->helper > 0 ? end_programs(exec) : 0;

	for (unsigned int i = 0; exec->programs != NULL && i < TRIPD_EXEC_MAX; i++)
		free(exec->programs[i].outlet.buffer);
	free(exec->programs);
	free(exec->of_when);
	*exec = (struct tripd_exec){.socket = -1};
	return left_out == 0 ? 0 : -EIO;
}

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
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rte_common.h>

#include "exec.h"
#include "now.h"
#include "quota.h"
#include "report.h"
#include "rules.h"
#include "start/fail.h"

#define BUFFER ((size_t)256 << 10)
#define DELAY_MIN_NS UINT64_C(100000000)
#define DELAY_MAX_NS UINT64_C(60000000000)
#define SAY_NS UINT64_C(60000000000)
#define END_NS UINT64_C(1000000000)

static int
check_path(const char *path)
{
	struct stat status;

	if (stat(path, &status) != 0)
		return errno;
	if (!S_ISREG(status.st_mode))
		return EACCES;
	return access(path, X_OK) == 0 ? 0 : errno;
}

int
tripd_exec_check(const struct trip_rules *rules)
{
	unsigned int n = 0;
	int ret = 0;

	for (unsigned int i = 0; i < rules->n_whens; i++) {
		const struct trip_rules_when *when = &rules->whens[i];
		int error = when->op == TRIP_RULES_OP_EXEC ? check_path(when->text) : 0;

		n += when->op == TRIP_RULES_OP_EXEC;
		if (error != 0)
			ret = tripd_fail(-error, "line %u of the rules: exec %s: %s", when->line,
				when->text, strerror(error));
	}
	if (n > TRIPD_EXEC_MAX)
		ret = tripd_fail(
			-E2BIG, "the rules have %u exec: the limit is %u", n, TRIPD_EXEC_MAX);
	return ret;
}

int
tripd_exec_open(struct tripd_exec *exec, const struct trip_rules *rules)
{
	int ret = 0;

	*exec = (struct tripd_exec){.socket = -1};
	exec->of_when = calloc(rules->n_whens + 1, sizeof(*exec->of_when));
	exec->programs = calloc(TRIPD_EXEC_MAX, sizeof(*exec->programs));
	if (exec->of_when == NULL || exec->programs == NULL)
		ret = -ENOMEM;
	for (unsigned int i = 0; i < rules->n_whens && ret == 0; i++) {
		struct tripd_program *program = &exec->programs[exec->n_programs];

		if (rules->whens[i].op != TRIP_RULES_OP_EXEC)
			continue;
		exec->of_when[i] = exec->n_programs++;
		program->line = rules->whens[i].line;
		program->path = rules->whens[i].text;
		program->input = -1;
		program->delay_ns = DELAY_MIN_NS;
		ret = tripd_outlet_open(&program->outlet, BUFFER);
	}
	if (ret == 0 && exec->n_programs > 0)
		ret = exec->socket = tripd_exec_helper_fork(&exec->helper);
	return ret >= 0 ? 0 : tripd_fail(ret, "exec: %s", strerror(-ret));
}

void
tripd_exec_put(
	struct tripd_exec *exec, const struct tripd_quota *quota, const struct tripd_trip *trip)
{
	if (quota->rules->whens[trip->when].op == TRIP_RULES_OP_EXEC)
		tripd_outlet_put(&exec->programs[exec->of_when[trip->when]].outlet,
			tripd_report_event(quota, trip));
}

/* Has the helper start it, with the other end of its outlet. */
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

/* One that has run for long begins with the shortest delay again. */
static void
note_end(struct tripd_program *program, const struct tripd_exec_ended *ended, uint64_t now)
{
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
	for (unsigned int i = 0; i < exec->n_programs; i++)
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
		if (ended.program < exec->n_programs)
			note_end(&exec->programs[ended.program], &ended, now);
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

	if (exec->n_programs == 0)
		return false;
	receive(exec, now);
	for (unsigned int i = 0; i < exec->n_programs; i++) {
		struct tripd_program *program = &exec->programs[i];

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

	for (unsigned int i = 0; i < exec->n_programs; i++) {
		struct tripd_program *program = &exec->programs[i];

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

/* It has ended. Returns how many trips it has not got. */
static uint64_t
close_program(struct tripd_program *program)
{
	drain(program);
	tripd_outlet_close(&program->outlet);
	if (program->outlet.left_out != 0)
		tripd_fail(0, "line %u of the rules: exec %s: %" PRIu64 " trips were left out",
			program->line, program->path, program->outlet.left_out);
	return program->outlet.left_out;
}

static uint64_t
end_programs(struct tripd_exec *exec)
{
	uint64_t until = now_ns(CLOCK_MONOTONIC) + END_NS, left_out = 0;

	for (unsigned int i = 0; i < exec->n_programs; i++)
		end_input(&exec->programs[i], until);
	if (exec->socket >= 0)
		close(exec->socket);
	waitpid(exec->helper, NULL, 0);
	for (unsigned int i = 0; i < exec->n_programs; i++)
		left_out += close_program(&exec->programs[i]);
	return left_out;
}

int
tripd_exec_close(struct tripd_exec *exec)
{
	uint64_t left_out = exec->helper > 0 ? end_programs(exec) : 0;

	free(exec->programs);
	free(exec->of_when);
	*exec = (struct tripd_exec){.socket = -1};
	return left_out == 0 ? 0 : -EIO;
}

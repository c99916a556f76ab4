/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts programs, and says when they have ended. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exec_helper.h"
#include "now.h"

#define END_NS UINT64_C(2000000000)
#define TERM_NS UINT64_C(1000000000)

struct helper {
	int socket;
	/* Readable when a program has ended. */
	int children;
	/* What was blocked before: programs begin with that. */
	sigset_t signals;
	pid_t pids[TRIPD_EXEC_MAX];
	/* When one that is to end gets its next signal; 0: it is not to. */
	uint64_t due_ns[TRIPD_EXEC_MAX];
	/* It has had SIGTERM. */
	bool termed[TRIPD_EXEC_MAX];
};

static void
tell(const struct helper *helper, uint32_t program, int error, int status)
{
	const struct tripd_exec_ended ended = {program, error, status};

	(void)send(helper->socket, &ended, sizeof(ended), MSG_NOSIGNAL);
}

/* In the child. It is killed when its parent is, and has a group of its own: what a terminal sends
 * to tripd is not for it. What it writes goes where tripd's errors go. */
static _Noreturn void
become(const struct helper *helper, pid_t parent, const char *path, int input, int failed)
{
	char *words[] = {strdup(path), NULL};
	int error;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* It may have been killed before that. */
	if (getppid() != parent)
		_exit(127);
	if (words[0] != NULL && dup2(input, STDIN_FILENO) >= 0 &&
		dup2(STDERR_FILENO, STDOUT_FILENO) >= 0) {
		sigprocmask(SIG_SETMASK, &helper->signals, NULL);
		execv(path, words);
	}
	error = errno;
	(void)!write(failed, &error, sizeof(error));
	_exit(127);
}

/* Returns 0, or the errno that kept it from being started. */
static int
start(struct helper *helper, uint32_t program, const char *path, int input)
{
	int failed[2], error = 0;
	pid_t parent = getpid(), pid;

	if (pipe2(failed, O_CLOEXEC) != 0)
		return errno;
	pid = fork();
	if (pid == 0) {
		close(failed[0]);
		become(helper, parent, path, input, failed[1]);
	}
	error = pid < 0 ? errno : 0;
	close(failed[1]);
	/* Empty when it has become the program, which has closed its end. */
	if (pid > 0 && read(failed[0], &error, sizeof(error)) <= 0)
		error = 0;
	close(failed[0]);
	if (error == 0)
		helper->pids[program] = pid;
	else if (pid > 0)
		waitpid(pid, NULL, 0);
	return error;
}

static void
reap(struct helper *helper)
{
	struct signalfd_siginfo info;
	int status;
	pid_t pid;

	(void)!read(helper->children, &info, sizeof(info));
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (uint32_t i = 0; i < TRIPD_EXEC_MAX; i++)
			if (helper->pids[i] == pid) {
				helper->pids[i] = 0;
				helper->due_ns[i] = 0;
				helper->termed[i] = false;
				/* What it has left behind in its group ends, too. */
				kill(-pid, SIGKILL);
				tell(helper, i, 0, status);
			}
}

/* Returns whether tripd is there. */
static bool
receive(struct helper *helper)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	static struct tripd_exec_start order;
	struct iovec data = {&order, sizeof(order)};
	struct msghdr message = {.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	struct cmsghdr *header;
	ssize_t n = recvmsg(helper->socket, &message, MSG_CMSG_CLOEXEC);
	int input, error;

	if (n < 0 && errno == EINTR)
		return true;
	if (n <= 0)
		return false;
	header = CMSG_FIRSTHDR(&message);
	if (header == NULL) {
		/* One that has ended meanwhile is not there, and the next one is another. */
		if (helper->pids[order.program] != 0)
			helper->due_ns[order.program] = now_ns(CLOCK_MONOTONIC) + END_NS;
		return true;
	}
	memcpy(&input, CMSG_DATA(header), sizeof(input));
	error = start(helper, order.program, order.path, input);
	close(input);
	if (error != 0)
		tell(helper, order.program, error, 0);
	return true;
}

static bool
is_program(const struct helper *helper, pid_t pid)
{
	unsigned int i = 0;

	while (i < TRIPD_EXEC_MAX && helper->pids[i] != pid)
		i++;
	return i < TRIPD_EXEC_MAX;
}

/* Programs with their groups, and what they have left behind elsewhere: that has become the
 * helper's child. */
static void
signal_all(const struct helper *helper, int number)
{
	FILE *file = fopen("/proc/thread-self/children", "re");
	int pid;

	for (unsigned int i = 0; i < TRIPD_EXEC_MAX; i++)
		if (helper->pids[i] != 0)
			kill(-helper->pids[i], number);
	while (file != NULL && fscanf(file, "%d", &pid) == 1)
		if (!is_program(helper, pid))
			kill(pid, number);
	if (file != NULL)
		fclose(file);
}

/* Programs, and what they have left behind. */
static bool
has_children(void)
{
	siginfo_t info;

	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* Until all have ended, or for so long. */
static void
await_all(struct helper *helper, uint64_t ns)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC), until = now + ns;
	struct pollfd children = {.fd = helper->children, .events = POLLIN};

	for (; has_children() && now < until; now = now_ns(CLOCK_MONOTONIC))
		if (poll(&children, 1, (int)((until - now) / 1000000) + 1) > 0)
			reap(helper);
}

/* Signals those that are to end and have not. Returns for how many milliseconds nothing is due, or
 * -1: for ever. */
static int
end_due(struct helper *helper)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC), least = UINT64_MAX;

	for (unsigned int i = 0; i < TRIPD_EXEC_MAX; i++) {
		uint64_t *due = &helper->due_ns[i];

		if (helper->pids[i] == 0 || *due == 0)
			continue;
		if (now >= *due) {
			/* The second one is the last. */
			kill(-helper->pids[i], helper->termed[i] ? SIGKILL : SIGTERM);
			helper->termed[i] = true;
			*due = now + TERM_NS;
		}
		least = *due < least ? *due : least;
	}
	return least == UINT64_MAX ? -1 : (int)((least - now) / 1000000) + 1;
}

static void
serve(struct helper *helper)
{
	struct pollfd fds[] = {{.fd = helper->socket, .events = POLLIN},
		{.fd = helper->children, .events = POLLIN}};

	do {
		poll(fds, 2, end_due(helper));
		if (fds[1].revents != 0)
			reap(helper);
	} while (fds[0].revents == 0 || receive(helper));
	await_all(helper, END_NS);
	signal_all(helper, SIGTERM);
	await_all(helper, TERM_NS);
	/* What ends leaves its own children behind. */
	while (has_children()) {
		signal_all(helper, SIGKILL);
		if (poll(&fds[1], 1, (int)(TERM_NS / 1000000)) > 0)
			reap(helper);
	}
}

/* Keeps of tripd's files only what programs write to, and is in no terminal's way. */
static _Noreturn void
run(int socket)
{
	static struct helper helper;
	int null = open("/dev/null", O_RDWR);
	sigset_t all;

	setpgid(0, 0);
	prctl(PR_SET_NAME, "tripd-exec");
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	dup2(null, STDIN_FILENO);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	helper.socket = dup2(socket, STDERR_FILENO + 1);
	close_range(STDERR_FILENO + 2, ~0u, 0);
	fcntl(helper.socket, F_SETFD, FD_CLOEXEC);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &helper.signals);
	sigemptyset(&all);
	sigaddset(&all, SIGCHLD);
	helper.children = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
	serve(&helper);
	_exit(0);
}

int
tripd_exec_helper_fork(pid_t *pid)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		return -errno;
	*pid = fork();
	if (*pid == 0)
		run(ends[1]);
	close(ends[1]);
	if (*pid > 0)
		return ends[0];
	close(ends[0]);
	return -EAGAIN;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Who starts programs for exec: what it is told, and what becomes of them. */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/exec_helper.h"
#include "trip_test.h"

struct bed {
	int socket;
	pid_t pid;
};

static struct bed
open_bed(void)
{
	struct bed bed;

	bed.socket = tripd_exec_helper_fork(&bed.pid);
	assert_true(bed.socket >= 0);
	return bed;
}

static void
close_bed(struct bed *bed)
{
	close(bed->socket);
	assert_int_equal(waitpid(bed->pid, NULL, 0), bed->pid);
}

/* Without an input it is to end. */
static void
order(const struct bed *bed, uint32_t program, const char *path, int input)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {.header = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
	struct tripd_exec_start start = {.program = program};
	struct iovec data = {&start, sizeof(start)};
	struct msghdr message = {.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = input >= 0 ? sizeof(control) : 0};

	snprintf(start.path, sizeof(start.path), "%s", path);
	memcpy(CMSG_DATA(&control.header), &input, sizeof(input));
	assert_int_equal(sendmsg(bed->socket, &message, 0), sizeof(start));
}

/* Returns the other end of its stdin. */
static int
start(const struct bed *bed, uint32_t program, const char *path)
{
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	order(bed, program, path, ends[0]);
	close(ends[0]);
	return ends[1];
}

/* The next one that ends is this. */
static int
await_end(const struct bed *bed, uint32_t program)
{
	struct tripd_exec_ended ended;

	assert_int_equal(recv(bed->socket, &ended, sizeof(ended), 0), sizeof(ended));
	assert_int_equal(ended.program, program);
	assert_int_equal(ended.error, 0);
	return ended.status;
}

/* It has ended by itself when it is told to: that is not for the next one in its place. */
static void
who_is_to_end_is_no_other(void **state)
{
	struct bed bed = open_bed();
	int first, second;

	close(start(&bed, 0, "/bin/true"));
	assert_int_equal(await_end(&bed, 0), 0);
	order(&bed, 0, "/bin/true", -1);
	first = start(&bed, 0, "/bin/cat");
	/* It is told later, and so ended later than who was told before. */
	second = start(&bed, 1, "/bin/cat");
	order(&bed, 1, "/bin/cat", -1);
	assert_int_equal(WTERMSIG(await_end(&bed, 1)), SIGTERM);
	close(first);
	assert_int_equal(await_end(&bed, 0), 0);
	close(second);
	close_bed(&bed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_to_end_is_no_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

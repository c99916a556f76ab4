/* SPDX-License-Identifier: BSD-3-Clause */
/* Watches stdout until the program exits: what could not be written is an error. */
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "whole_output.h"

/* Of a pipe or a socket. */
static bool
has_reader(void)
{
	struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};

	return poll(&out, 1, 0) < 1 || (out.revents & (POLLERR | POLLHUP)) == 0;
}

int
whole_output_check(const char *program, int code)
{
	/* Both: what was written before may have failed already. */
	if ((fflush(stdout) == 0 && !ferror(stdout)) || !has_reader())
		return code;
	fprintf(stderr, "%s: what it says cannot be written\n", program);
	return code != 0 ? code : 1;
}

static void
check(int code, void *arg)
{
	int whole = whole_output_check(arg, code);

	if (whole != code)
		_exit(whole);
}

/* Where one of the three is closed, the next file or socket would take its place, and get what is
 * said. /dev/null takes it, in the wrong direction: to use it goes wrong as before. */
static void
keep_places(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			(void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

void
whole_output_watch(const char *program)
{
	keep_places();
	on_exit(check, (void *)(uintptr_t)program);
}

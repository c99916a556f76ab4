/* SPDX-License-Identifier: BSD-3-Clause */
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

void
whole_output_watch(const char *program)
{
	on_exit(check, (void *)(uintptr_t)program);
}

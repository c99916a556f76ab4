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

static void
check(int code, void *arg)
{
	const char *program = arg;

	/* Both: what was written before may have failed already. */
	if ((fflush(stdout) == 0 && !ferror(stdout)) || !has_reader())
		return;
	fprintf(stderr, "%s: what it says cannot be written\n", program);
	_exit(code != 0 ? code : 1);
}

void
whole_output_watch(const char *program)
{
	on_exit(check, (void *)(uintptr_t)program);
}

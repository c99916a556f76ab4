/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * EAL's start, quiet. It writes to stdout, stderr and the log at will before anybody can tell it
 * not to, so both descriptors lead to a memory file while it starts.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>

#include "quiet_eal.h"

struct capture {
	int file;
	int out, err;
};

static bool
begin(struct capture *capture)
{
	capture->file = memfd_create("eal", MFD_CLOEXEC);
	if (capture->file < 0)
		return false;
	fflush(stdout);
	fflush(stderr);
	capture->out = dup(STDOUT_FILENO);
	capture->err = dup(STDERR_FILENO);
	dup2(capture->file, STDOUT_FILENO);
	dup2(capture->file, STDERR_FILENO);
	return true;
}

static void
restore(int saved, int fd)
{
	if (saved < 0)
		close(fd);
	else
		dup2(saved, fd);
	if (saved >= 0)
		close(saved);
}

static void
end(struct capture *capture)
{
	fflush(stdout);
	fflush(stderr);
	restore(capture->out, STDOUT_FILENO);
	restore(capture->err, STDERR_FILENO);
}

/* EAL names the cause first and then what it could not do for it: the cause is the last line that
 * is not of the alarm itself. Where words are wrong, all that it takes stands between the two. */
static void
explain(const char *program, struct capture *capture, int error)
{
	FILE *file = fdopen(capture->file, "r");
	char line[512], cause[512] = "", alarm[512] = "";
	bool usage = false;

	if (file != NULL) {
		rewind(file);
		while (fgets(line, sizeof(line), file) != NULL) {
			line[strcspn(line, "\n")] = '\0';
			usage |= strncmp(line, "Usage: ", 7) == 0;
			if (strstr(line, "FATAL: ") != NULL)
				strcpy(alarm, strstr(line, "FATAL: ") + 7);
			else if (alarm[0] == '\0' && !usage && strstr(line, ": ") != NULL &&
				 strstr(line, "EAL: Detected") == NULL)
				strcpy(cause, line);
		}
		fclose(file);
	}
	fprintf(stderr, "%s: EAL did not start: %s%s%s%s (--verbose shows all it says)\n", program,
		alarm[0] != '\0' ? alarm : strerror(error), cause[0] != '\0' ? " (" : "", cause,
		cause[0] != '\0' ? ")" : "");
}

/* Of a start under way: from 25.11 on EAL ends the process where it does not take its words. */
static struct {
	const char *program;
	struct capture *capture;
} starting;

static void
explain_exit(void)
{
	if (starting.capture == NULL)
		return;
	end(starting.capture);
	explain(starting.program, starting.capture, EINVAL);
	_exit(EXIT_FAILURE);
}

int
quiet_eal_start(const char *program, int argc, char **argv, bool quiet)
{
	struct capture capture;
	int ret;

	quiet = quiet && begin(&capture);
	if (quiet && atexit(explain_exit) == 0) {
		starting.program = program;
		starting.capture = &capture;
	}
	ret = rte_eal_init(argc, argv);
	starting.capture = NULL;
	if (quiet)
		end(&capture);
	if (ret < 0) {
		if (quiet)
			explain(program, &capture, rte_errno);
		else
			fprintf(stderr, "%s: EAL did not start: %s\n", program,
				strerror(rte_errno));
		return -1;
	}
	if (quiet)
		close(capture.file);
	return 0;
}

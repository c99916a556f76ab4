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
#include <rte_log.h>

#include "eal.h"
#include "options.h"
#include "words.h"

struct capture {
	int file;
	int out, err;
};

static bool
begin(struct capture *capture)
{
	capture->file = memfd_create("tripd-eal", MFD_CLOEXEC);
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
 * is not of the alarm itself. */
static void
explain(struct capture *capture, int error)
{
	FILE *file = fdopen(capture->file, "r");
	char line[512], cause[512] = "", alarm[512] = "";

	if (file != NULL) {
		rewind(file);
		while (fgets(line, sizeof(line), file) != NULL) {
			line[strcspn(line, "\n")] = '\0';
			if (strstr(line, "FATAL: ") != NULL)
				strcpy(alarm, strstr(line, "FATAL: ") + 7);
			else if (alarm[0] == '\0' && strstr(line, ": ") != NULL &&
				 strstr(line, "EAL: Detected") == NULL)
				strcpy(cause, line);
		}
		fclose(file);
	}
	fprintf(stderr, "tripd: EAL did not start: %s%s%s%s (--verbose shows all it says)\n",
		alarm[0] != '\0' ? alarm : strerror(error), cause[0] != '\0' ? " (" : "", cause,
		cause[0] != '\0' ? ")" : "");
}

int
tripd_eal_start(struct tripd_words *words, bool verbose)
{
	struct capture capture;
	/* --help writes and exits. */
	bool quiet = !verbose && !words->help && begin(&capture);
	int ret;

	ret = rte_eal_init(words->argc, words->argv);
	if (quiet)
		end(&capture);
	if (ret < 0) {
		if (quiet)
			explain(&capture, rte_errno);
		else
			fprintf(stderr, "tripd: EAL did not start: %s\n", strerror(rte_errno));
		return TRIPD_EXIT_RUN;
	}
	if (quiet)
		close(capture.file);
	if (verbose)
		return 0;
	if (rte_log_get_global_level() > RTE_LOG_ERR)
		rte_log_set_global_level(RTE_LOG_ERR);
	/* Without shared files there is no secondary, and net_tap calls it an error to have none.
	 */
	if (words->in_memory || words->no_shconf)
		rte_log_set_level_pattern("pmd.net.tap", RTE_LOG_CRIT);
	return 0;
}

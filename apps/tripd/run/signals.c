/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * SIGINT, SIGTERM and SIGHUP are blocked from the first step on, in every thread, and the control
 * thread waits for them. So there is no handler, and they interrupt nobody's calls. While tripd
 * starts, steps that take long look for them from rule to rule. Once the rules are at work, SIGHUP
 * has them read again.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "signals.h"

static void
end_signals(sigset_t *signals)
{
	struct sigaction hangup;

	sigemptyset(signals);
	sigaddset(signals, SIGINT);
	sigaddset(signals, SIGTERM);
	/* It may be told to outlive the terminal's end, as by nohup. */
	if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
		sigaddset(signals, SIGHUP);
}

/* There is a terminal that controls the process. */
static bool
has_terminal(void)
{
	int fd = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

bool
tripd_signals_block(void)
{
	sigset_t signals;

	end_signals(&signals);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	return has_terminal();
}

int
tripd_signals_wait(unsigned int ms)
{
	const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
	sigset_t signals;

	end_signals(&signals);
	/* Other signals end the wait early, such as a tap's when a packet arrives. */
	return sigtimedwait(&signals, NULL, &time);
}

bool
tripd_signals_is_reload(int number, bool had_terminal)
{
	return number == SIGHUP && (!had_terminal || has_terminal());
}

bool
tripd_signals_came(void)
{
	sigset_t asked, pending;

	end_signals(&asked);
	sigpending(&pending);
	sigandset(&pending, &pending, &asked);
	return !sigisemptyset(&pending);
}

void
tripd_signals_end(void)
{
	const struct timespec at_once = {0};
	sigset_t asked;
	int number;

	end_signals(&asked);
	number = sigtimedwait(&asked, NULL, &at_once);
	if (number < 0)
		return;
	fprintf(stderr, "tripd: ended while it started (%s): nothing was counted\n",
		strsignal(number));
	signal(number, SIG_DFL);
	raise(number);
	sigprocmask(SIG_UNBLOCK, &asked, NULL);
}

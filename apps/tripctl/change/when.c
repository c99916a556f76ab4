/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tripctl count and when: statements of the rules language as flows and deferred work of this
 * process, which stays until all have fired that fire once. when_work.c has how they are queued,
 * and how we come to know of what fires.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <trip.h>

#include "attach.h"
#include "base/options.h"
#include "base/tripctl.h"
#include "now.h"
#include "when.h"

#define EVENTS_BURST 64
/* How long to wait for an event that the tick has announced: at first, and at most, as one may be
 * lost. */
#define PAUSE_MIN_NS UINT64_C(50000)
#define PAUSE_MAX_NS UINT64_C(100000000)

static const struct tripctl_option options[] = {
	{"timeout", "TIME", "end after that long: 500ms, 10s, 5m; a bare number is of seconds",
		TRIPCTL_OPTION_TIME, offsetof(struct tripctl_when, timeout_ns)},
	{NULL},
};

static void
take_word(struct argp_state *state, void *into, char *word)
{
	struct tripctl_when *when = into;

	when->words[when->n_words++] = word;
}

/* The first word is the command's own. */
static void
check_words(struct argp_state *state, void *into)
{
	const struct tripctl_when *when = into;

	if (when->n_words == 1)
		argp_error(state, "a statement is wanted");
}

/* ---- what fires ---------------------------------------------------------------------------- */

/* Takes what has fired; negative: the error. */
static int
read_events(struct tripctl_when *when)
{
	struct trip_work_event events[EVENTS_BURST];
	int n;

	do {
		n = trip_work_read(
			when->domain, events, sizeof(struct trip_work_event), EVENTS_BURST);
		for (int i = 0; i < n; i++) {
			if (events[i].context >= when->statement.rules->n_whens)
				continue;
			tripctl_when_tell(when, &events[i]);
			/* An end has no tick. */
			when->events += (events[i].flags & TRIP_WORK_END) == 0;
			when->pause_ns = PAUSE_MIN_NS;
			when->left -= (events[i].flags & TRIP_WORK_MORE) == 0;
		}
	} while (n == EVENTS_BURST);
	fflush(stdout);
	return n < 0 ? n : 0;
}

/* When to look again, whether the tick has changed or not. */
static uint64_t
time_to_look(struct tripctl_when *when, uint64_t now, uint64_t deadline)
{
	uint64_t pause = when->pause_ns;

	if (when->events >= when->ticks && when->ends)
		return RTE_MIN(deadline, now + PAUSE_MAX_NS);
	if (when->events >= when->ticks)
		return deadline;
	when->pause_ns = pause < PAUSE_MAX_NS / 2 ? 2 * pause : PAUSE_MAX_NS;
	return now + pause < deadline ? now + pause : deadline;
}

/* Until the tick has changed, or it is time to look. 0, -ETIMEDOUT, -EINTR: a signal is pending, or
 * -ESHUTDOWN. */
static int
block(struct tripctl_when *when, int signals, uint64_t deadline)
{
	struct trip_fid *fid = trip_cntr_fid(when->tick);
	struct pollfd fds[] = {{.events = POLLIN}, {.fd = signals, .events = POLLIN}};
	struct timespec left = {0};
	uint64_t now = now_ns(CLOCK_MONOTONIC);
	uint64_t until = time_to_look(when, now, deadline);
	int error = trip_trywait(when->domain, &fid, 1);

	if (error != 0)
		return error == -EAGAIN ? 0 : error;
	if (until != UINT64_MAX && now < until) {
		left.tv_sec = (time_t)((until - now) / 1000000000);
		left.tv_nsec = (long)((until - now) % 1000000000);
	}
	trip_cntr_control(when->tick, TRIP_GETWAIT, &fds[0].fd);
	if (ppoll(fds, 2, until == UINT64_MAX ? NULL : &left, NULL) == 0)
		return until == deadline ? -ETIMEDOUT : 0;
	return fds[1].revents != 0 ? -EINTR : 0;
}

/* 0: all has fired; -ETIMEDOUT, -EINTR, -ESHUTDOWN. */
static int
follow(struct tripctl_when *when)
{
	uint64_t deadline = when->timeout_ns != UINT64_MAX
				    ? now_ns(CLOCK_MONOTONIC) + when->timeout_ns
				    : UINT64_MAX;
	sigset_t pending;
	int signals, error = 0;

	/* Blocked since it attached: what comes stays pending, and ends the program at last. */
	sigprocmask(SIG_BLOCK, NULL, &pending);
	signals = signalfd(-1, &pending, SFD_CLOEXEC);
	while (error == 0) {
		when->ticks = trip_cntr_read(when->tick) + trip_cntr_readerr(when->tick);
		error = read_events(when);
		if (error == 0 && when->left == 0 && !when->stays)
			break;
		if (error == 0)
			error = block(when, signals, deadline);
		if (error == -ETIMEDOUT && read_events(when) == 0 && when->left == 0 &&
			!when->stays)
			error = 0;
		if (ferror(stdout))
			break;
	}
	close(signals);
	return error;
}

/* ---- from the words to the end ------------------------------------------------------------- */

static void
close_cntr(struct trip_cntr *cntr)
{
	if (cntr != NULL)
		(void)trip_cntr_close(cntr);
}

/* The primary clears away what is left of a process, too; this is sooner. */
static void
close_all(struct tripctl_when *when)
{
	const struct trip_rules *rules = when->statement.rules;

	(void)trip_work_flush(when->domain, NULL);
	for (unsigned int i = 0; i < rules->n_whens; i++) {
		tripctl_when_tell_left_out(when, i, UINT64_MAX);
		close_cntr(when->gates[i]);
	}
	for (unsigned int i = 0; i < rules->n_counts; i++) {
		tripctl_count_tell(&when->counts[i], &rules->counts[i], when->ctl->json);
		tripctl_count_close(&when->counts[i]);
		close_cntr(when->packets[i]);
		close_cntr(when->bytes[i]);
	}
	for (unsigned int i = 0; i < rules->n_counters; i++)
		close_cntr(when->counters[i]);
	close_cntr(when->tick);
}

static int
code_of(struct tripctl_when *when, int error)
{
	switch (error) {
	case 0:
	/* The signal ends the program. */
	case -EINTR:
		return 0;
	case -ETIMEDOUT:
		/* What repeats has no end of its own. */
		if (when->left == 0)
			return 0;
		return tripctl_complain(TRIPCTL_EXIT_TIMEOUT,
			"the time is over, and %u of the statements %s not fired", when->left,
			when->left == 1 ? "has" : "have");
	case -ESHUTDOWN:
		return tripctl_complain(TRIPCTL_EXIT_ENDED,
			"the primary, process %" PRIu32 ", has ended", when->ctl->about.pid);
	default:
		return tripctl_attach_fail(error);
	}
}

static int
run(struct tripctl_when *when)
{
	const struct trip_rules *rules = when->statement.rules;
	int code;

	/* One more: calloc() of nothing may be NULL. */
	when->counts = calloc((size_t)rules->n_counts + 1, sizeof(*when->counts));
	when->packets =
		calloc(2 * (size_t)rules->n_counts + rules->n_counters + 1, sizeof(*when->packets));
	when->limits = calloc((size_t)rules->n_whens + 1, sizeof(*when->limits));
	when->gates = calloc((size_t)rules->n_whens + 1, sizeof(struct trip_cntr *));
	if (when->counts == NULL || when->packets == NULL || when->limits == NULL ||
		when->gates == NULL)
		return tripctl_fail(-ENOMEM);
	when->bytes = when->packets + rules->n_counts;
	when->counters = when->bytes + rules->n_counts;
	code = tripctl_attach(when->ctl, &when->domain);
	if (code != 0)
		return code;
	code = tripctl_when_open(when);
	if (code == 0)
		code = code_of(when, follow(when));
	/* Nothing can be closed any more of a domain whose primary has ended. */
	if (code != TRIPCTL_EXIT_ENDED)
		close_all(when);
	fflush(stdout);
	tripctl_attach_end(when->domain);
	return code;
}

/* `word` begins the first statement. */
static int
run_statements(
	struct tripctl *ctl, const struct tripctl_line *line, char *word, int argc, char **argv)
{
	/* Handles that outlive the primary stay in here. */
	static struct tripctl_when when;
	struct tripctl_names names = {0};
	int error, code;

	when = (struct tripctl_when){
		.ctl = ctl, .timeout_ns = UINT64_MAX, .pause_ns = PAUSE_MIN_NS};
	when.words = calloc((size_t)argc + 1, sizeof(*when.words));
	if (when.words == NULL)
		return tripctl_fail(-ENOMEM);
	when.words[when.n_words++] = word;
	tripctl_options_parse(ctl, line, argc, argv, &when);
	code = tripctl_connect(ctl, when.timeout_ns);
	if (code == 0 && ((error = tripctl_names_read(&names, ctl->client)) != 0 ||
				 (error = tripctl_names_read_eaches(&names, ctl->client)) != 0))
		code = tripctl_fail(error);
	if (code == 0)
		code = tripctl_statement_parse(&when.statement, &names, when.words, when.n_words);
	if (code == 0)
		code = tripctl_when_check(&when);
	if (code == 0)
		code = run(&when);
	tripctl_names_free(&names);
	if (code == TRIPCTL_EXIT_ENDED)
		return code;
	tripctl_statement_free(&when.statement);
	free(when.limits);
	free(when.gates);
	free(when.packets);
	free(when.counts);
	free(when.words);
	return code;
}

int
tripctl_when(struct tripctl *ctl, int argc, char **argv)
{
	static const struct tripctl_line line = {
		.options = options,
		.args_doc = "CONDITION [every VALUE] OPERATION [';' STATEMENT]...",
		.doc = "Has the domain do what a \"when\" of the rules language says: add, set, or "
		       "log, which is written here. Stays until all of them have fired, and "
		       "writes a line for each firing."
		       "\v"
		       "  tripctl when 'dns.packets >= 1M every 1M' log 'one more million'\n"
		       "  tripctl when 'after 250ms' set window 0\n"
		       "  tripctl when 'dns.packets idle 30s every 1' log 'nobody asks'\n"
		       "  tripctl when 'dns.bytes rate >= 1Gbit/s over 5s' log 'too much'\n"
		       "\n"
		       "Exit code: 0; 2: the statement is wrong, or names a counter that there is "
		       "not; 3: there is no such domain, or the counter has been closed; 4: the "
		       "time is over; 5: the primary has ended; 7: it does not answer.",
		.word = take_word,
		.end = check_words,
		.in_order = true,
	};
	static char word[] = "when";

	return run_statements(ctl, &line, word, argc, argv);
}

static const struct tripctl_line count_line = {
	.options = options,
	.args_doc = "NAME port N [...] pattern ITEM / ... / end [actions ...] [';' STATEMENT]...",
	.doc = "Counts what a \"count\" of the rules language says, on a port of the primary, "
	       "until "
	       "it is told to end, or everything has fired that \"when\" says behind it. Writes "
	       "what it has counted at the end. What another count matches first, counts there "
	       "only; "
	       "\"tripctl also count\" counts it here, too."
	       "\v"
	       "  tripctl count dns port 0 pattern eth / ipv4 / udp dst is 53 / end ';' when "
	       "'dns.packets >= 10k' drop dns\n"
	       "\n"
	       "Exit code: 0; 1: the port's engine refuses it; 2: the statement is wrong, or names "
	       "a counter that there is not; 3: there is no such port or domain, or the counter "
	       "has been closed; 4: the time is over; 5: the primary has ended; 7: it does not "
	       "answer.",
	.word = take_word,
	.end = check_words,
	.in_order = true,
};

int
tripctl_count(struct tripctl *ctl, int argc, char **argv)
{
	static char word[] = "count";

	return run_statements(ctl, &count_line, word, argc, argv);
}

int
tripctl_also(struct tripctl *ctl, int argc, char **argv)
{
	static char word[] = "also";
	struct tripctl_line line = count_line;

	line.args_doc = "count NAME port N [...] pattern ITEM / ... / end [actions ...] [';' "
			"STATEMENT]...";
	return run_statements(ctl, &line, word, argc, argv);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* tripctl top: rounds of reading the domain over its socket, on a terminal or as text. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/options.h"
#include "base/record.h"
#include "base/text.h"
#include "base/tripctl.h"
#include "hitters.h"
#include "now.h"
#include "screen.h"
#include "view.h"

#define TEXT_WIDTH 80
/* Of its time, a reading takes one part in so many, and the primary's control thread as much. */
#define SHARE 10

struct top {
	struct tripctl *ctl;
	uint64_t interval_ns;
	/* 0: for ever. */
	uint64_t rounds;
	/* Rows of a round, where it is no terminal. */
	uint64_t rows;
	/* Of the view. */
	const char *sort, *match;
	/* The `each` whose keys are shown; NULL: counters are. */
	const char *each;
	bool terminal;
	struct tripctl_hitters hitters;
	struct tripctl_view view;
	struct tripctl_screen screen;
};

#define AT(member) offsetof(struct top, member)

static const struct tripctl_option options[] = {
	{"interval", "TIME", "time from one reading to the next; default 1s", TRIPCTL_OPTION_TIME,
		AT(interval_ns)},
	{"rounds", "N", "end after so many", TRIPCTL_OPTION_NUMBER, AT(rounds), UINT64_MAX,
		"number of rounds"},
	{"rows", "N", "of text and JSON, only so many counters or keys, and quotas, a round",
		TRIPCTL_OPTION_NUMBER, AT(rows), SIZE_MAX, "number of rows"},
	{"sort", "BY",
		"name (default), value, rate, or left: the time to the next threshold; of keys, "
		"packets (default), bytes, rate or key",
		TRIPCTL_OPTION_TEXT, AT(sort)},
	{"match", "GLOB", "only counters, or keys, that are called so (\"dns.*\") or contain this",
		TRIPCTL_OPTION_TEXT, AT(match)},
	{NULL},
};

static volatile sig_atomic_t ended;
/* Signals that are let in only while nothing is done. */
static sigset_t waiting_mask;

static void
note_end(int number)
{
	ended = number;
}

static enum tripctl_sort
find_sort(struct argp_state *state, const char *word)
{
	char escaped[64];

	for (unsigned int i = 0; i < TRIPCTL_SORTS; i++)
		if (strcmp(word, tripctl_view_sorts[i]) == 0)
			return (enum tripctl_sort)i;
	argp_error(state, "--sort: \"%s\" is none of name, value, rate, left",
		tripctl_text_escape(word, escaped, sizeof(escaped)));
	return TRIPCTL_SORTS;
}

static enum tripctl_hitters_sort
find_key_sort(struct argp_state *state, const char *word)
{
	char escaped[64];

	for (unsigned int i = 0; i < TRIPCTL_HITTERS_SORTS; i++)
		if (strcmp(word, tripctl_hitters_sorts[i]) == 0)
			return (enum tripctl_hitters_sort)i;
	argp_error(state, "--sort: \"%s\" is none of packets, bytes, rate, key",
		tripctl_text_escape(word, escaped, sizeof(escaped)));
	return TRIPCTL_HITTERS_SORTS;
}

static void
take_each(struct argp_state *state, void *into, char *word)
{
	struct top *top = into;

	if (top->each != NULL)
		argp_error(state, "it shows the keys of one 'each'");
	if (strlen(word) >= sizeof(top->hitters.name))
		argp_error(
			state, "a name has at most %zu characters", sizeof(top->hitters.name) - 1);
	strcpy(top->hitters.name, word);
	top->each = top->hitters.name;
}

static void
check(struct argp_state *state, void *into)
{
	struct top *top = into;

	if (top->interval_ns < 10000000 || top->interval_ns > UINT64_C(3600000000000))
		argp_error(state, "--interval: not from 10ms to 1h");
	if (top->sort != NULL && top->each != NULL)
		top->hitters.sort = find_key_sort(state, top->sort);
	else if (top->sort != NULL)
		top->view.sort = find_sort(state, top->sort);
	if (strlen(top->match) >= sizeof(top->view.filter))
		argp_error(state, "--match: longer than %zu", sizeof(top->view.filter) - 1);
	strcpy(top->view.filter, top->match);
	top->hitters.filter = top->match;
}

/* ---- as text ------------------------------------------------------------------------------- */

static size_t
rows_of(const struct top *top)
{
	return top->view.n_rows < top->rows ? top->view.n_rows : top->rows;
}

static void
write_text(const struct top *top, bool first)
{
	const struct tripctl_view *view = &top->view;
	char line[TRIPCTL_VIEW_LINE];

	tripctl_view_domain(view, TEXT_WIDTH, line);
	printf("%s%s\n", first ? "" : "\n", line);
	for (unsigned int i = 0; i < tripctl_view_now(view)->n_homes; i++) {
		tripctl_view_home(view, i, TEXT_WIDTH, line);
		puts(line);
	}
	for (size_t i = 0; i < view->n_quotas && i < top->rows; i++) {
		tripctl_view_quota(view, i, TEXT_WIDTH, line);
		puts(line);
	}
	tripctl_view_titles(TEXT_WIDTH, line);
	puts(line);
	for (size_t i = 0; i < rows_of(top); i++) {
		tripctl_view_row(view, i, TEXT_WIDTH, line);
		puts(line);
	}
}

/* No line is cut: part of a key would be another. */
static void
write_hitters(const struct top *top, bool first)
{
	char line[TRIPCTL_HITTERS_LINE];

	tripctl_hitters_head(&top->hitters, sizeof(line), line);
	printf("%s%s\n", first ? "" : "\n", line);
	tripctl_hitters_titles(sizeof(line), line);
	puts(line);
	for (size_t i = 0; i < top->hitters.n_rows && i < top->rows; i++) {
		tripctl_hitters_row(&top->hitters, i, sizeof(line), line);
		puts(line);
	}
}

static json_t *
json_of(const struct tripctl_change *change)
{
	json_t *object = tripctl_record_json(TRIP_CLIENT_CNTR, NULL, change->cntr);

	tripctl_record_put(object, "rate", change->known ? json_real(change->rate) : json_null());
	tripctl_record_put(object, "left_s",
		change->eta_ns != UINT64_MAX ? json_real((double)change->eta_ns / 1e9)
					     : json_null());
	return object;
}

/* One object a round, on a line of its own. */
static void
write_json(const struct top *top)
{
	const struct tripctl_view *view = &top->view;
	const struct tripctl_sample *now = tripctl_view_now(view);
	json_t *object = json_object(), *homes = json_array(), *cntrs = json_array();
	json_t *quotas = json_array();

	tripctl_record_put(object, "seconds",
		json_real(tripctl_sample_seconds(tripctl_view_before(view), now)));
	tripctl_record_put(
		object, "domain", tripctl_record_json(TRIP_CLIENT_DOMAIN, NULL, &now->domain));
	for (unsigned int i = 0; i < now->n_homes; i++)
		json_array_append_new(
			homes, tripctl_record_json(TRIP_CLIENT_HOME, NULL, &now->homes[i]));
	tripctl_record_put(object, "lcores", homes);
	for (size_t i = 0; i < view->n_quotas && i < top->rows; i++)
		json_array_append_new(quotas,
			tripctl_record_object(&tripctl_quotas_kind, NULL, &view->quotas.all[i]));
	tripctl_record_put(object, "quotas", quotas);
	for (size_t i = 0; i < rows_of(top); i++)
		json_array_append_new(cntrs, json_of(&view->rows[i]));
	tripctl_record_put(object, "counters", cntrs);
	tripctl_record_write(object);
}

/* ---- rounds -------------------------------------------------------------------------------- */

static void
show(struct top *top, uint64_t round)
{
	if (top->terminal)
		tripctl_screen_draw(&top->screen);
	else if (top->each != NULL && top->ctl->json)
		tripctl_record_write(tripctl_hitters_json(&top->hitters, top->rows));
	else if (top->each != NULL)
		write_hitters(top, round == 0);
	else if (top->ctl->json)
		write_json(top);
	else
		write_text(top, round == 0);
	if (!top->terminal)
		fflush(stdout);
}

/* Until it is time for the next reading. True: it is to end. */
static bool
pause_until(struct top *top, uint64_t deadline)
{
	struct pollfd fds[] = {
		{.fd = trip_client_socket(top->ctl->client), .events = POLLRDHUP},
		{.fd = top->terminal ? STDIN_FILENO : -1, .events = POLLIN},
	};
	uint64_t now;

	while (ended == 0 && ((now = now_ns(CLOCK_MONOTONIC)) < deadline || top->screen.paused)) {
		const struct timespec left = {.tv_sec = (time_t)((deadline - now) / 1000000000),
			.tv_nsec = (long)((deadline - now) % 1000000000)};
		int n = ppoll(fds, 2, top->screen.paused ? NULL : &left, &waiting_mask);

		if (n > 0 && fds[0].revents != 0)
			return false;
		if (n > 0 && (fds[1].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0)
			return true;
		/* A new size of the terminal interrupts, and is among the keys. */
		if (top->terminal && n != 0) {
			if (tripctl_screen_keys(&top->screen))
				return true;
			tripctl_screen_draw(&top->screen);
		}
	}
	return ended != 0;
}

/* Reads, and says how long to wait then: very many counters are read less often than asked for. */
static int
read_paced(struct top *top, uint64_t *interval_ns)
{
	uint64_t began = now_ns(CLOCK_PROCESS_CPUTIME_ID);
	int error = top->each != NULL ? tripctl_hitters_read(&top->hitters, top->ctl->client)
				      : tripctl_view_read(&top->view, top->ctl->client);

	*interval_ns = SHARE * (now_ns(CLOCK_PROCESS_CPUTIME_ID) - began);
	top->screen.slowed_ns = *interval_ns > top->interval_ns ? *interval_ns : 0;
	if (*interval_ns < top->interval_ns)
		*interval_ns = top->interval_ns;
	return error;
}

static int
play(struct top *top)
{
	uint64_t round = 0, next = now_ns(CLOCK_MONOTONIC), interval;
	/* Text begins with the second reading, which has rates; a screen shows the first at
	 * once. */
	bool hidden = !top->terminal;
	int error;

	for (;;) {
		error = read_paced(top, &interval);
		if (error != 0)
			return error;
		if (!hidden)
			show(top, round++);
		hidden = false;
		if ((top->rounds != 0 && round >= top->rounds) || ferror(stdout))
			return 0;
		/* Late rounds are left out. */
		next += interval;
		if (next < now_ns(CLOCK_MONOTONIC))
			next = now_ns(CLOCK_MONOTONIC);
		if (pause_until(top, next))
			return 0;
	}
}

static void
catch_signals(void)
{
	const struct sigaction action = {.sa_handler = note_end};
	sigset_t blocked;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGINT);
	sigaddset(&blocked, SIGTERM);
	sigaddset(&blocked, SIGHUP);
	/* That one is ncurses' own: a new size. */
	sigaddset(&blocked, SIGWINCH);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

static int
conclude(struct top *top, int error)
{
	if (error == -EPIPE)
		return tripctl_complain(TRIPCTL_EXIT_ENDED,
			"the primary, process %" PRIu32 ", has ended", top->ctl->about.pid);
	if (error == -ENOMEM)
		return tripctl_complain(TRIPCTL_EXIT_RUN, "no memory for so many counters");
	if (error == -EPROTO)
		return tripctl_complain(TRIPCTL_EXIT_RUN, "what was said of quotas is not known");
	return error != 0 ? tripctl_fail(error) : 0;
}

static bool
is_terminal(void)
{
	const char *term = getenv("TERM");

	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term != NULL && term[0] != 0 &&
	       strcmp(term, "dumb") != 0;
}

int
tripctl_top(struct tripctl *ctl, int argc, char **argv)
{
	static const struct tripctl_line line = {
		.options = options,
		.args_doc = "[EACH]",
		.doc = "Shows a domain's counters as they change: value, rate, and what is missing "
		       "to the next threshold; and the quotas of tripd, to whoever may give it "
		       "commands. With the name of an 'each', its keys that "
		       "have most: packets, bytes, rates, share. On what is no terminal, or with "
		       "--json, one round follows the "
		       "other.\v"
		       "Keys: q quit; s next order; n, v, r, l by name, value, rate, time left; / "
		       "filter; space pause; arrows and pages; of keys p, b, r, k "
		       "by packets, bytes, rate, key. Exit code: 0; 5: the primary has "
		       "ended; 7: it does not answer.",
		.word = take_each,
		.end = check,
	};
	struct top top = {.ctl = ctl, .interval_ns = 1000000000, .rows = SIZE_MAX, .match = ""};
	int error;

	tripctl_options_parse(ctl, &line, argc, argv, &top);
	error = tripctl_connect(ctl, UINT64_MAX);
	if (error != 0)
		return error;
	top.terminal = !ctl->json && is_terminal();
	/* Who is refused is told in the log of tripd. */
	top.view.asks = ctl->about.may_command != 0;
	sigprocmask(SIG_BLOCK, NULL, &waiting_mask);
	if (top.terminal) {
		catch_signals();
		top.terminal = tripctl_screen_open(&top.screen, &top.view,
				       top.each != NULL ? &top.hitters : NULL) == 0;
	}
	error = play(&top);
	if (top.terminal)
		tripctl_screen_close();
	tripctl_view_free(&top.view);
	if (ended != 0) {
		signal((int)ended, SIG_DFL);
		sigprocmask(SIG_SETMASK, &waiting_mask, NULL);
		raise((int)ended);
	}
	return conclude(&top, error);
}

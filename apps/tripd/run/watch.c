/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A run with the rules of a file, and what the control thread does meanwhile: 50 times a second
 * it reads the trips, changes the rules where somebody asks for that, and draws.
 */
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <trip.h>

#include "now.h"
#include "removal.h"
#include "report.h"
#include "run.h"
#include "signals.h"
#include "start/fail.h"
#include "view.h"

#define WAIT_MS 20
#define REFUSED_NS UINT64_C(60000000000)

/* Once a minute at most: who may not could go on asking; and at the end what is left to say. */
static void
say_refused(struct tripd_run *run, struct tripd_view *view, bool ends)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC), n = run->quota.n_refused - run->told_refused;

	if (n == 0 ||
		(!ends && run->told_refused_ns != 0 && now - run->told_refused_ns < REFUSED_NS))
		return;
	run->told_refused = run->quota.n_refused;
	run->told_refused_ns = now;
	tripd_screen_begin(&view->screen);
	fprintf(stderr,
		"tripd: %" PRIu64 " command%s refused: %s may give none (--verbose has more of "
		"it)\n",
		n, n == 1 ? " was" : "s were", n == 1 ? "its user" : "their users");
	tripd_screen_end(&view->screen);
}

static int
do_command(const struct trip_command *command, FILE *answer, void *arg)
{
	struct tripd_run *run = arg;
	int result;

	run->asker = command;
	run->commands.asker = command->uid;
	result = tripd_command(command->text, command->length, answer, &run->commands);
	run->asker = NULL;
	return result;
}

/* Rules change by commands, and by SIGHUP, whose answer goes to stderr; in a moment, where another
 * thread reads them. */
static void
change_rules(struct tripd_run *run, struct tripd_view *view)
{
	struct trip_command last = {.size = sizeof(last)};
	uint64_t before = run->commands.n_changes;

	if (tripd_exporting_reads(&run->exporting))
		return;
	if (run->quota.n_refused != run->refused && trip_command_refused(run->domain, &last) == 0)
		tripd_events_refused(&run->events, &last, run->quota.n_refused - run->refused);
	run->refused = run->quota.n_refused;
	say_refused(run, view, false);
	if (run->reload) {
		tripd_screen_begin(&view->screen);
		/* A signal comes from root or this user. */
		run->commands.asker = geteuid();
		(void)tripd_command("reload", strlen("reload"), stderr, &run->commands);
		tripd_screen_end(&view->screen);
	}
	run->reload = false;
	(void)trip_command_serve(run->domain, do_command, run);
	if (run->commands.n_changes == before)
		return;
	tripd_exec_follow(&run->exec, run->quota.rules);
	tripd_screen_begin(&view->screen);
	fprintf(run->out, "rules: %" PRIu64 " statement%s came in, changed or went\n",
		run->commands.n_changes - before, run->commands.n_changes - before == 1 ? "" : "s");
	tripd_screen_end(&view->screen);
	fflush(run->out);
}

/* A port is idle when it was polled and gave nothing. Time in which its forwarder did not run does
 * not count. */
static void
loop(struct tripd_run *run, struct tripd_view *view)
{
	uint64_t until = run->options->until_idle_ns;
	uint64_t received = 0, idle = 0, polls = 0, before = now_ns(CLOCK_MONOTONIC);

	while (!tripd_run_wait(run, WAIT_MS)) {
		uint64_t now = now_ns(CLOCK_MONOTONIC),
			 n = tripd_forward_received(&run->forwarding);
		uint64_t polled = tripd_forward_polls(&run->forwarding);

		if (n != received || run->replaying)
			idle = 0;
		else if (polled > polls + 1)
			idle += now - before;
		received = n;
		polls = polled;
		before = now;
		change_rules(run, view);
		(void)tripd_patient_flush(&run->patient_err);
		view->screen.waits = tripd_patient_flush(
			run->out == stderr ? &run->patient_err : &run->patient_out);
		tripd_view_update(view);
		tripd_view_forget(view, &run->quota);
		tripd_tell_news(run, &view->screen);
		if (tripd_removal_count(&run->plan) == run->plan.n_ports ||
			(until != 0 && idle >= until))
			return;
	}
}

/* From here on nobody who reads what is said can stop the control thread. */
static int
begin_to_say(struct tripd_run *run, struct tripd_view *view)
{
	bool on_stdout = run->out == stdout;
	int ret = tripd_patient_begin(&run->patient_err, stderr, _IOLBF);

	if (ret == 0 && on_stdout)
		ret = tripd_patient_begin(&run->patient_out, stdout, _IOFBF);
	if (run->patient_err.stream != NULL)
		stderr = run->patient_err.stream;
	if (run->patient_out.stream != NULL)
		stdout = run->patient_out.stream;
	run->out = view->screen.out = on_stdout ? stdout : stderr;
	return ret == 0 ? 0 : tripd_fail(TRIPD_EXIT_RUN, "no memory for what is to be said");
}

/* stderr last: of what was left out, it tells. */
static int
end_to_say(struct tripd_run *run, int code)
{
	bool on_stdout = run->out == stdout;
	uint64_t left_out;

	if (run->patient_out.stream != NULL)
		stdout = run->patient_out.to;
	left_out = tripd_patient_end(&run->patient_out);
	if (run->patient_err.stream != NULL)
		stderr = run->patient_err.to;
	left_out += tripd_patient_end(&run->patient_err);
	run->out = on_stdout ? stdout : stderr;
	if (left_out == 0)
		return code;
	return tripd_fail(TRIPD_EXIT_RUN,
		"%" PRIu64 " lines of what it said were left out: nobody read them", left_out);
}

static int
watch(struct tripd_run *run)
{
	const char *report = run->options->report;
	struct tripd_view view;
	int ret = 0;

	if (tripd_view_open(&view, &run->quota, run->out) != 0) {
		ret = tripd_fail(TRIPD_EXIT_RUN, "no memory for %u counts", run->rules->n_counts);
	} else if ((ret = begin_to_say(run, &view)) == 0) {
		loop(run, &view);
		run->patient_out.ends = run->patient_err.ends = true;
		ret = tripd_run_stop(run);
		say_refused(run, &view, true);
		tripd_tell_news(run, &view.screen);
		tripd_view_end(&view);
		tripd_view_forget(&view, &run->quota);
		tripd_view_losses(&view);
		if (report != NULL && tripd_report_write(report, &run->quota) != 0)
			ret = TRIPD_EXIT_RUN;
		if (tripd_removal_count(&run->plan) > 0 || run->periods_failed)
			ret = TRIPD_EXIT_RUN;
	}
	ret = end_to_say(run, ret);
	tripd_view_close(&view);
	return ret;
}

int
tripd_run_rules(const struct tripd_options *options)
{
	/* Static: the forwarders' statistics are a few pages. */
	static struct tripd_run run;
	bool on_stdout = (options->report != NULL && strcmp(options->report, "-") == 0) ||
			 (options->events != NULL && strcmp(options->events, "-") == 0);
	int ret;

	run.options = options;
	run.out = on_stdout ? stderr : stdout;
	ret = tripd_preflight_rules(options->rules, &run.rules);
	if (ret == 0 && !options->dry_run && tripd_exec_open(&run.exec, run.rules) != 0)
		ret = TRIPD_EXIT_RUN;
	if (ret == 0)
		ret = tripd_run_prepare(&run);
	if (ret == 0)
		ret = options->dry_run ? tripd_dry_run(&run) : tripd_run_start(&run);
	/* Once it runs, that ends it with a report. */
	run.ended = ret != 0 && tripd_signals_came();
	if (ret == 0 && !options->dry_run)
		ret = watch(&run);
	return tripd_run_close(&run, ret);
}

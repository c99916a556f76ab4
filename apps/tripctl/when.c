/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tripctl count and when: statements of the rules language as flows and deferred work of this
 * process, which stays until all have fired that fire once.
 *
 * Each item has a second one behind it, of the same threshold, that adds to a counter of our own,
 * the tick. So the tick's descriptor is all there is to wait for: behind each change of it the
 * events of what fired can be read. Functions run in the primary, so what `log` does is nothing,
 * with an event. What a flow's hardware is asked to do is done later than the tick says: then we
 * look anyway.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <trip.h>

#include "attach.h"
#include "count.h"
#include "describe.h"
#include "options.h"
#include "record.h"
#include "statement.h"
#include "text.h"
#include "tripctl.h"

#define EVENTS_BURST 64
/* Context of the items behind others. */
#define NOBODY UINT64_MAX
/* How often what flows do is looked at without a tick. */
#define LOOK_NS UINT64_C(100000000)

struct when {
	struct tripctl *ctl;
	uint64_t timeout_ns;
	char **words;
	unsigned int n_words;
	struct tripctl_statement statement;
	struct trip_domain *domain;
	/* By the index of the rules: our own counts; values of others', and counters. */
	struct tripctl_count *counts;
	struct trip_cntr **packets, **bytes, **counters;
	struct trip_cntr *tick;
	/* Statements that fire once and have not. */
	unsigned int left;
	/* Some fire again and again, or there is nothing but counts. */
	bool stays;
	/* Some are about flows. */
	bool looks;
};

enum {
	KEY_TIMEOUT = 0x200,
};

static const struct argp_option options[] = {
	{"timeout", KEY_TIMEOUT, "TIME", 0,
		"end after that long: 500ms, 10s, 5m; a bare number is of seconds", 1},
	{NULL, 0, NULL, 0, NULL, 0},
};

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct when *when = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = when->ctl;
		return 0;
	case KEY_TIMEOUT:
		when->timeout_ns = tripctl_options_time(state, "timeout", arg);
		return 0;
	case ARGP_KEY_ARG:
		when->words[when->n_words++] = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "a statement is wanted");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- counters ---------------------------------------------------------------------------------
 */

/* Finds a counter where `cntr` is wanted and not found yet. */
static int
find(struct when *when, const char *name, const char *tail, struct trip_cntr **cntr)
{
	char full[TRIP_RULES_NAME_MAX + 16];
	const struct trip_cntr_attr attr = {.size = sizeof(attr), .name = full};
	int error;

	if (*cntr != NULL)
		return 0;
	snprintf(full, sizeof(full), "%s%s", name, tail);
	error = trip_cntr_find(when->domain, &attr, cntr, NULL);
	return error != 0 ? tripctl_attach_fail(error) : 0;
}

static bool
is_own(const struct when *when, const struct trip_rules_count *rule)
{
	return rule->line <= when->statement.lines;
}

static int
find_trigger(struct when *when, const struct trip_rules_when *rule, struct trip_cntr **cntr)
{
	const struct trip_rules *rules = when->statement.rules;
	bool packets = rule->ref == TRIP_RULES_REF_PACKETS;
	struct trip_cntr **place;
	int error;

	if (rule->ref == TRIP_RULES_REF_COUNTER) {
		place = &when->counters[rule->index];
		error = find(when, rules->counters[rule->index].name, "", place);
	} else if (is_own(when, &rules->counts[rule->index])) {
		place = packets ? &when->counts[rule->index].packets
				: &when->counts[rule->index].bytes;
		error = 0;
	} else {
		place = packets ? &when->packets[rule->index] : &when->bytes[rule->index];
		error = find(when, rules->counts[rule->index].name, packets ? ".packets" : ".bytes",
			place);
	}
	*cntr = *place;
	return error;
}

/* ---- work -------------------------------------------------------------------------------------
 */

static int
queue(struct when *when, const struct trip_work *work)
{
	int error = trip_work_queue(when->domain, work, NULL);

	return error != 0 ? tripctl_attach_fail(error) : 0;
}

static bool
is_on_flow(enum trip_rules_op op)
{
	return op == TRIP_RULES_OP_DROP || op == TRIP_RULES_OP_PASS || op == TRIP_RULES_OP_DELETE;
}

/* What can be known before anything is opened. */
static int
check(const struct when *when)
{
	const struct trip_rules *rules = when->statement.rules;
	int error = 0;

	for (unsigned int i = 0; i < rules->n_counts && error == 0; i++)
		if (is_own(when, &rules->counts[i]))
			error = tripctl_count_check(&rules->counts[i]);
	for (unsigned int i = 0; i < rules->n_counters && error == 0; i++)
		if (rules->counters[i].line <= when->statement.lines) {
			tripctl_complain("counter %s: a counter that ends with this command is of "
					 "no use to it",
				rules->counters[i].name);
			error = TRIPCTL_EXIT_USAGE;
		}
	for (unsigned int i = 0; i < rules->n_whens && error == 0; i++)
		if (is_on_flow(rules->whens[i].op) &&
			!is_own(when, &rules->counts[rules->whens[i].target])) {
			tripctl_complain("%s %s: its flows are another process's, which alone can "
					 "do that",
				tripd_describe_op(rules->whens[i].op),
				rules->counts[rules->whens[i].target].name);
			error = TRIPCTL_EXIT_USAGE;
		}
	return error;
}

/* Work of one threshold fires in the order of its queueing: the last one says that all is done. */
static int
queue_flows(struct when *when, const struct trip_rules_when *rule, struct trip_work *work)
{
	const struct tripctl_count *count = &when->counts[rule->target];
	int error = 0;

	work->op_type = rule->op == TRIP_RULES_OP_DROP   ? TRIP_OP_FLOW_DROP
			: rule->op == TRIP_RULES_OP_PASS ? TRIP_OP_FLOW_PASS
							 : TRIP_OP_FLOW_DELETE;
	for (unsigned int i = 0; i < count->n_flows && error == 0; i++) {
		work->flags = i + 1 == count->n_flows ? TRIP_COMPLETION : 0;
		work->op.flow = count->flows[i];
		error = queue(when, work);
	}
	return error;
}

/* What it does, with an event. */
static int
queue_operation(struct when *when, const struct trip_rules_when *rule, struct trip_work work)
{
	int error = 0;

	work.flags = TRIP_COMPLETION;
	if (is_on_flow(rule->op))
		return queue_flows(when, rule, &work);
	work.op_type = rule->op == TRIP_RULES_OP_SET ? TRIP_OP_CNTR_SET : TRIP_OP_CNTR_ADD;
	if (rule->op == TRIP_RULES_OP_LOG) {
		work.op.cntr.cntr = when->tick;
		work.op.cntr.value = 0;
	} else {
		error = find(when, when->statement.rules->counters[rule->target].name, "",
			&when->counters[rule->target]);
		work.op.cntr.cntr = when->counters[rule->target];
		work.op.cntr.value = rule->value;
	}
	return error == 0 ? queue(when, &work) : error;
}

static int
queue_when(struct when *when, unsigned int index)
{
	const struct trip_rules_when *rule = &when->statement.rules->whens[index];
	struct trip_work work = {
		.size = sizeof(work),
		.threshold = rule->threshold,
		.interval = rule->every,
		.context = index,
	};
	int error = find_trigger(when, rule, &work.triggering_cntr);

	if (error == 0)
		error = queue_operation(when, rule, work);
	if (error != 0)
		return error;
	/* Among equals the first queued fires first, and its event is there. */
	work.context = NOBODY;
	work.op_type = TRIP_OP_CNTR_ADD;
	work.op.cntr.cntr = when->tick;
	work.op.cntr.value = 1;
	return queue(when, &work);
}

/* ---- what fires -------------------------------------------------------------------------------
 */

static void
tell(const struct when *when, const struct trip_work_event *event)
{
	const struct trip_rules *rules = when->statement.rules;
	const struct trip_rules_when *rule = &rules->whens[event->context];
	char trigger[TRIPD_DESCRIBE_MAX], action[TRIPD_DESCRIBE_MAX], escaped[512];
	json_t *object;

	tripd_describe_trigger(rules, rule, trigger);
	tripd_describe_action(rules, rule, action);
	if (!when->ctl->json) {
		printf("%s reached %" PRIu64 ", now %" PRIu64 ": %s\n", trigger, event->threshold,
			event->value, tripctl_text_escape(action, escaped, sizeof(escaped)));
		return;
	}
	object = json_object();
	tripctl_record_put_text(object, "counter", trigger);
	tripctl_record_put_number(object, "threshold", event->threshold);
	tripctl_record_put_number(object, "value", event->value);
	tripctl_record_put_number(object, "overshoot", event->value - event->threshold);
	tripctl_record_put_text(object, "does", action);
	tripctl_record_put(object, "result", json_integer(event->result));
	tripctl_record_put_number(object, "latency_ns", event->latency_ns);
	json_dumpf(object, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(object);
}

/* Takes what has fired; negative: the error. */
static int
read_events(struct when *when)
{
	struct trip_work_event events[EVENTS_BURST];
	int n;

	do {
		n = trip_work_read(when->domain, events, EVENTS_BURST);
		for (int i = 0; i < n; i++) {
			if (events[i].context >= when->statement.rules->n_whens)
				continue;
			tell(when, &events[i]);
			when->left -= (events[i].flags & TRIP_MORE) == 0;
		}
	} while (n == EVENTS_BURST);
	fflush(stdout);
	return n < 0 ? n : 0;
}

/* Until the tick has changed, or it is time to look. 0, -ETIMEDOUT, -EINTR: a signal is pending, or
 * -ESHUTDOWN. */
static int
block(struct when *when, int signals, uint64_t deadline)
{
	struct trip_fid *fid = trip_cntr_fid(when->tick);
	struct pollfd fds[] = {{.events = POLLIN}, {.fd = signals, .events = POLLIN}};
	struct timespec left = {0};
	uint64_t now = tripctl_text_now();
	uint64_t until = when->looks && now + LOOK_NS < deadline ? now + LOOK_NS : deadline;
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
follow(struct when *when)
{
	uint64_t deadline =
		when->timeout_ns != UINT64_MAX ? tripctl_text_now() + when->timeout_ns : UINT64_MAX;
	sigset_t pending;
	int signals, error = 0;

	/* Blocked since it attached: what comes stays pending, and ends the program at last. */
	sigprocmask(SIG_BLOCK, NULL, &pending);
	signals = signalfd(-1, &pending, SFD_CLOEXEC);
	while (error == 0) {
		(void)trip_cntr_read(when->tick);
		(void)trip_cntr_readerr(when->tick);
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

/* ---- from the words to the end ----------------------------------------------------------------
 */

static void
close_cntr(struct trip_cntr *cntr)
{
	if (cntr != NULL)
		(void)trip_cntr_close(cntr);
}

/* The primary clears away what is left of a process, too; this is sooner. */
static void
close_all(struct when *when)
{
	const struct trip_rules *rules = when->statement.rules;

	(void)trip_work_flush(when->domain, NULL);
	for (unsigned int i = 0; i < rules->n_counts; i++) {
		if (when->counts[i].n_flows > 0)
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
open_all(struct when *when)
{
	const struct trip_cntr_attr attr = {.size = sizeof(attr), .wait_obj = TRIP_WAIT_FD};
	const struct trip_rules *rules = when->statement.rules;
	int error = trip_cntr_open(when->domain, &attr, &when->tick, NULL);

	if (error != 0)
		return tripctl_attach_fail(error);
	for (unsigned int i = 0; error == 0 && i < rules->n_counts; i++)
		if (is_own(when, &rules->counts[i]))
			error = tripctl_count_open(
				&when->counts[i], when->domain, &rules->counts[i]);
	when->stays = rules->n_whens == 0;
	for (unsigned int i = 0; error == 0 && i < rules->n_whens; i++) {
		error = queue_when(when, i);
		when->stays |= rules->whens[i].every != 0;
		when->left += rules->whens[i].every == 0;
		when->looks |= is_on_flow(rules->whens[i].op);
	}
	return error;
}

static int
code_of(struct when *when, int error)
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
		tripctl_complain("the time is over, and %u of the statements %s not fired",
			when->left, when->left == 1 ? "has" : "have");
		return TRIPCTL_EXIT_TIMEOUT;
	case -ESHUTDOWN:
		tripctl_complain(
			"the primary, process %" PRIu32 ", has ended", when->ctl->about.pid);
		return TRIPCTL_EXIT_ENDED;
	default:
		return tripctl_attach_fail(error);
	}
}

static int
run(struct when *when)
{
	const struct trip_rules *rules = when->statement.rules;
	int code;

	/* One more: calloc() of nothing may be NULL. */
	when->counts = calloc((size_t)rules->n_counts + 1, sizeof(*when->counts));
	when->packets =
		calloc(2 * (size_t)rules->n_counts + rules->n_counters + 1, sizeof(*when->packets));
	if (when->counts == NULL || when->packets == NULL)
		return tripctl_fail(-ENOMEM);
	when->bytes = when->packets + rules->n_counts;
	when->counters = when->bytes + rules->n_counts;
	code = tripctl_attach(when->ctl, &when->domain);
	if (code != 0)
		return code;
	code = open_all(when);
	if (code == 0)
		code = code_of(when, follow(when));
	close_all(when);
	fflush(stdout);
	tripctl_attach_end(when->domain);
	return code;
}

/* `word` begins the first statement. */
static int
run_statements(struct tripctl *ctl, const struct argp *argp, char *word, int argc, char **argv)
{
	struct when when = {.ctl = ctl, .timeout_ns = UINT64_MAX};
	struct tripctl_names names = {0};
	int code;

	when.words = calloc((size_t)argc + 1, sizeof(*when.words));
	if (when.words == NULL)
		return tripctl_fail(-ENOMEM);
	when.words[when.n_words++] = word;
	argp_parse(argp, argc, argv, ARGP_IN_ORDER, NULL, &when);
	code = tripctl_connect(ctl);
	if (code == 0 && tripctl_names_read(&names, ctl->client) != 0)
		code = tripctl_fail(-EPIPE);
	if (code == 0)
		code = tripctl_statement_parse(&when.statement, &names, when.words, when.n_words);
	if (code == 0)
		code = check(&when);
	if (code == 0)
		code = run(&when);
	tripctl_statement_free(&when.statement);
	tripctl_names_free(&names);
	free(when.packets);
	free(when.counts);
	free(when.words);
	return code;
}

int
tripctl_when(struct tripctl *ctl, int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "CONDITION [every VALUE] OPERATION [';' STATEMENT]...",
		.doc = "Has the domain do what a \"when\" of the rules language says: add, set, or "
		       "log, which is written here. Stays until all of them have fired, and "
		       "writes a line for each firing."
		       "\v"
		       "  tripctl when 'dns.packets >= 1M every 1M' log 'one more million'\n"
		       "\n"
		       "Exit code: 0; 2: the statement is wrong; 3: there is no such counter; 4: "
		       "the time is over; 5: the primary has ended.",
		.children = tripctl_options_shared,
	};
	static char word[] = "when";

	return run_statements(ctl, &argp, word, argc, argv);
}

int
tripctl_count(struct tripctl *ctl, int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "NAME port N [...] pattern ITEM / ... / end [actions ...] [';' "
			    "STATEMENT]...",
		.doc = "Counts what a \"count\" of the rules language says, on a port of the "
		       "primary, until it is told to end, or everything has fired that \"when\" "
		       "says behind it. Writes what it has counted at the end."
		       "\v"
		       "  tripctl count dns port 0 pattern eth / ipv4 / udp dst is 53 / end ';' "
		       "when "
		       "'dns.packets >= 10k' drop dns\n"
		       "\n"
		       "Exit code: 0; 1: the port's engine refuses it; 2: the statement is wrong; "
		       "3: there is no such port or counter; 4: the time is over; 5: the primary "
		       "has ended.",
		.children = tripctl_options_shared,
	};
	static char word[] = "count";

	return run_statements(ctl, &argp, word, argc, argv);
}

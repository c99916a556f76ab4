/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control thread: the main lcore, which sleeps. It sets everything up in the order in which one
 * thing needs the other, reads the trips while the forwarders and the polling lcore work (watch.c),
 * and takes everything down in the opposite order.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>

#include <trip.h>

#include "link/port.h"
#include "removal.h"
#include "report.h"
#include "rules.h"
#include "run.h"
#include "signals.h"
#include "start/fail.h"
#include "start/hugepages.h"
#include "start/partner.h"
#include "start/resolve.h"
#include "whole_output.h"

/* At the end. */
#define RESETS_MAX 16

static int
plan_ports(struct tripd_run *run)
{
	int ret = tripd_plan_ports(&run->plan, run->options, run->rules);

	if (ret == 0)
		return 0;
	if (ret == -ENOENT && run->rules->n_counts + run->rules->n_eaches > 0)
		return tripd_fail(TRIPD_EXIT_USAGE,
			"'port any' is every port that another rule, --ports, --pair or --iface "
			"names, and none does: add --ports 0");
	if (ret == -ENOENT)
		return tripd_fail(TRIPD_EXIT_USAGE,
			"the rules count on no port: add a line such as \"count all port 0 pattern "
			"eth / end\"");
	return tripd_fail(TRIPD_EXIT_USAGE, "more than %u ports", TRIPD_PORTS_MAX);
}

int
tripd_run_prepare(struct tripd_run *run)
{
	const struct tripd_options *options = run->options;
	int ret;

	run->had_terminal = tripd_signals_block();
	/* Whoever reads the trips may go away; the report is written all the same. */
	signal(SIGPIPE, SIG_IGN);
	ret = plan_ports(run);
	if (ret != 0)
		return ret;
	if (options->report != NULL && tripd_report_check(options->report) != 0)
		return TRIPD_EXIT_USAGE;
	if (options->events != NULL && !options->dry_run &&
		tripd_events_open(&run->events, options->events) != 0)
		return TRIPD_EXIT_USAGE;
	if (!options->dry_run && tripd_exporter_check(&options->ipfix) != 0)
		return TRIPD_EXIT_USAGE;
	if (!options->dry_run && tripd_samples_open(&run->samples, &options->samples) != 0)
		return TRIPD_EXIT_USAGE;
	if (tripd_preflight_need(run->rules, &run->plan, &run->need) != 0)
		return TRIPD_EXIT_USAGE;
	ret = tripd_words_init(&run->words, options, 0);
	/* The demo is to run wherever it can. */
	if (options->demo && !tripd_preflight_has_hugepages(&run->words, &run->need))
		ret = tripd_words_init(&run->words, options, run->need.total_bytes / 1048576 + 1);
	if (ret != 0)
		return tripd_fail(TRIPD_EXIT_USAGE, "more than %u words for EAL", TRIPD_WORDS_MAX);
	tripd_preflight_devices(&run->words, options, &run->need);
	return tripd_preflight_check(&run->words, &run->need);
}

static int
plan_lcores(struct tripd_run *run)
{
	unsigned int workers[TRIPD_LCORES_MAX], n = 0, lcore;

	RTE_LCORE_FOREACH_WORKER (lcore)
		if (n < TRIPD_LCORES_MAX)
			workers[n++] = lcore;
	if (tripd_plan_lcores(&run->plan, workers, n) == 0)
		return 0;
	return tripd_fail(TRIPD_EXIT_USAGE,
		"one lcore is too few, it takes a main one and at least one worker: --lcores "
		"0@0,1@0,2@1 before --, or -l 0-2 on three processors");
}

/* Who is in the one group, and in no other, is to get as far as the socket. */
static void
warn_of_groups(const char *control, const struct trip_domain_attr *attr)
{
	bool has_socket = attr->socket == NULL || attr->socket[0] != '\0';

	if (!has_socket || (attr->socket_mode & S_IWOTH) != 0 ||
		(strcmp(attr->socket_group, control) == 0 && (attr->socket_mode & S_IWGRP) != 0))
		return;
	fprintf(stderr,
		"tripd: warning: --control-group %s: the socket is of group %s, with mode %04o, "
		"and lets nobody in for being in %s\n",
		control, attr->socket_group, (unsigned int)attr->socket_mode, control);
}

static int
open_domain(struct tripd_run *run)
{
	struct trip_domain_attr attr;
	int ret;

	tripd_plan_domain(run->rules, &run->plan, &attr);
	tripd_tell_plan(run, &attr);
	run->pool = rte_pktmbuf_pool_create("tripd", run->need.n_mbufs, TRIPD_MBUF_CACHE, 0,
		RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	if (run->pool == NULL)
		return tripd_fail(TRIPD_EXIT_RUN, "%" PRIu32 " packet buffers: %s",
			run->need.n_mbufs, rte_strerror(rte_errno));
	if (run->options->domain != NULL)
		attr.name = run->options->domain;
	attr.socket = run->options->socket;
	attr.socket_group = run->options->socket_group;
	attr.socket_mode = run->options->socket_mode;
	if (run->options->control_group != NULL) {
		/* It has to get as far as the socket. */
		if (attr.socket_group == NULL)
			attr.socket_group = run->options->control_group;
		if (attr.socket_mode == 0)
			attr.socket_mode = 0660;
		warn_of_groups(run->options->control_group, &attr);
	}
	ret = trip_domain_open(&attr, &run->domain, NULL);
	return ret == 0 ? 0 : tripd_fail(TRIPD_EXIT_RUN, "%s", trip_error_message());
}

/* Once the rules are at work. */
static int
open_metrics(struct tripd_run *run)
{
	const struct trip_metrics_attr attr = {
		.size = sizeof(attr), .listen = run->options->metrics};

	if (attr.listen == NULL || trip_metrics_open(run->domain, &attr, &run->metrics) == 0)
		return 0;
	return tripd_fail(TRIPD_EXIT_RUN, "--metrics: %s", trip_error_message());
}

static void
tell_command(void *arg, const char *line, size_t length, int result)
{
	struct tripd_run *run = arg;

	tripd_events_command(&run->events, run->asker, line, length, result);
}

/* Once the rules are at work. */
static int
take_commands(struct tripd_run *run)
{
	int ret = trip_command_open(run->domain, run->options->control_group);

	run->commands = (struct tripd_commands){.quota = &run->quota,
		.rules = run->options->rules,
		.told = tell_command,
		.told_arg = run};
	/* Without a socket nobody asks. */
	return ret == 0 || ret == -ENOTSUP ? 0
					   : tripd_fail(TRIPD_EXIT_RUN, "%s", trip_error_message());
}

int
tripd_run_begin(struct tripd_run *run)
{
	bool unknown = tripd_resolve_unknown(run->rules);
	int ret = tripd_words_start_eal(&run->words, run->options->verbose);

	if (ret != 0)
		return ret;
	run->eal_started = true;
	ret = tripd_resolve_ports(run->rules);
	if (ret == 0)
		ret = plan_ports(run);
	if (ret == 0 && unknown)
		ret = tripd_resolve_any(run->rules, &run->plan);
	if (ret == 0)
		ret = tripd_port_check(&run->plan, run->options, run->rules);
	if (ret == 0 && run->plan.by_packets)
		ret = tripd_replay_check(&run->plan);
	if (ret != 0)
		return ret;
	tripd_partner_warn(run->rules, &run->plan, run->options);
	tripd_port_plan_queues(&run->plan);
	return plan_lcores(run);
}

static void
tell_trip(void *arg, const struct tripd_trip *trip)
{
	struct tripd_run *run = arg;

	tripd_events_put(&run->events, &run->quota, trip);
	tripd_exec_put(&run->exec, &run->quota, trip);
	tripd_exporting_put(&run->exporting, &run->quota, trip);
}

static void
tell_period(void *arg, const struct tripd_period *period)
{
	struct tripd_run *run = arg;

	tripd_events_period(&run->events, &run->quota, period);
}

static void
tell_sample(void *arg, const struct tripd_sample *sample)
{
	struct tripd_run *run = arg;

	tripd_events_sample(&run->events, sample);
}

static int
start_samples(struct tripd_run *run)
{
	if (run->samples.options == NULL)
		return 0;
	run->samples.told = tell_sample;
	run->samples.told_arg = run;
	run->quota.samples = &run->samples;
	return tripd_samples_start(
		&run->samples, run->plan.by_packets ? &run->quota.packet_ns : NULL);
}

static void
tell_key(void *arg, unsigned int each, const struct trip_each_event *event)
{
	struct tripd_run *run = arg;

	tripd_events_key(&run->events, &run->quota, each, event);
	tripd_exporting_key(&run->exporting, &run->quota, each, event);
}

/* By ourselves it is for who asks us. */
static void
tell_by_hand(void *arg, const struct tripd_by_hand *by_hand)
{
	struct tripd_run *run = arg;

	tripd_events_by_hand(&run->events, &run->quota, by_hand,
		by_hand->pid == (uint32_t)getpid() ? run->asker : NULL);
}

int
tripd_run_start(struct tripd_run *run)
{
	struct trip_domain_attr attr;
	int ret = tripd_run_begin(run);

	if (ret == 0)
		ret = open_domain(run);
	if (ret != 0)
		return ret;
	run->ports_configured = true;
	tripd_plan_domain(run->rules, &run->plan, &attr);
	ret = tripd_port_configure(
		&run->plan, run->links, run->options->isolate, attr.max_flows, run->pool);
	if (ret != 0)
		return ret;
	/* A port takes rules in hardware only once it runs; what arrives before them waits in its
	 * queues for the forwarders, which start behind all rules. */
	ret = tripd_port_start(&run->plan, run->links);
	if (ret != 0)
		return ret;
	if (tripd_quota_open(&run->quota, run->domain, run->rules, &run->plan, run->links) != 0)
		return TRIPD_EXIT_RUN;
	run->quota.told = tell_trip;
	run->quota.period_told = tell_period;
	run->quota.hand_told = tell_by_hand;
	run->quota.key_told = run->options->event_keys ? tell_key : NULL;
	run->quota.told_arg = run;
	run->quota.programs = &run->exec;
	run->quota.keep = run->options->report != NULL ? TRIPD_TRIPS_MAX : 0;
	if (start_samples(run) != 0)
		return TRIPD_EXIT_RUN;
	run->ports_watched = true;
	tripd_removal_begin(&run->plan, &run->quota);
	if (tripd_forward_start(&run->forwarding, &run->plan, run->links, &run->quota,
		    run->options->forward) != 0)
		return TRIPD_EXIT_RUN;
	if (run->plan.by_packets &&
		tripd_replay_open(&run->replay, &run->forwarding, &run->quota) != 0)
		return TRIPD_EXIT_RUN;
	if (tripd_exporting_open(&run->exporting, &run->options->ipfix, &run->quota) != 0)
		return TRIPD_EXIT_RUN;
	tripd_tell_engines(run);
	(void)tripd_exec_update(&run->exec);
	ret = open_metrics(run);
	return ret == 0 ? take_commands(run) : ret;
}

static void
update_periods(struct tripd_run *run)
{
	run->periods_failed |=
		tripd_period_update(&run->quota, tripd_quota_seconds(&run->quota)) != 0;
	run->periods_failed |= run->replay.failed || run->quota.undone;
}

bool
tripd_run_wait(struct tripd_run *run, unsigned int ms)
{
	bool is_reload;
	int number;

	if (run->tripping)
		ms = 1;
	run->replaying = run->plan.by_packets && tripd_replay_run(&run->replay, ms);
	if (run->replaying)
		ms = 0;
	number = tripd_signals_wait(ms);
	is_reload =
		run->commands.rules != NULL && tripd_signals_is_reload(number, run->had_terminal);
	run->reload |= is_reload;
	if (number > 0 && !is_reload)
		return true;
	run->tripping = tripd_quota_read(&run->quota) > 0;
	update_periods(run);
	tripd_losses_update(&run->quota.losses, false);
	return false;
}

/* What has fired last may be a reset, by which more is due; but rules may go round. */
static int
settle(struct tripd_run *run)
{
	unsigned int rounds = 0;
	bool more;
	int when;

	do {
		when = tripd_quota_settle(&run->quota);
		more = run->quota.anew_asked && when < 0;
		update_periods(run);
	} while (more && ++rounds < RESETS_MAX);
	return when;
}

int
tripd_run_stop(struct tripd_run *run)
{
	const struct tripd_quota *quota = &run->quota;
	uint64_t untold;
	int when, ret = 0;

	/* Whose tables take what hardware has counted as long as queues are polled. */
	tripd_quota_eaches_settle(&run->quota);
	tripd_forward_stop(&run->forwarding);
	tripd_losses_update(&run->quota.losses, true);
	tripd_quota_freshen(&run->quota);
	when = settle(run);
	for (unsigned int i = 0; i < run->rules->n_eaches; i++)
		tripd_quota_keys_read_all(&run->quota, i);
	tripd_samples_finish(&run->samples);
	(void)tripd_events_update(&run->events, &run->quota);
	if (when >= 0)
		ret = tripd_fail(TRIPD_EXIT_RUN,
			"line %u of the rules is due and has not fired: %s",
			run->rules->whens[when].line, run->rules->whens[when].source);
	untold = quota->n_overrun + quota->n_untold;
	if (untold != 0)
		ret = tripd_fail(TRIPD_EXIT_RUN,
			"%" PRIu64
			" trips came faster than they could be written down; what they did is done",
			untold);
	if (quota->n_unread != 0)
		ret = tripd_fail(TRIPD_EXIT_RUN,
			"%" PRIu64
			" trips of keys came faster than they could be read: no log, program or "
			"event has them",
			quota->n_unread);
	if (quota->periods.n_unsaid != 0)
		ret = tripd_fail(TRIPD_EXIT_RUN,
			"%" PRIu64 " periods of quotas ended faster than they could be said",
			quota->periods.n_unsaid);
	return ret;
}

/* The domain's memory and its polling lcore stay as they are until the process has ended: EAL would
 * wait for that lcore, and the processes that are attached for the end. */
static _Noreturn void
leave(struct tripd_run *run, int code)
{
	fprintf(run->out, "other processes are attached: they are told of the end\n");
	code = whole_output_check("tripd", code);
	fflush(NULL);
	if (run->ended)
		tripd_signals_end();
	_exit(code);
}

int
tripd_run_close(struct tripd_run *run, int code)
{
	int left = 0;

	tripd_forward_stop(&run->forwarding);
	tripd_replay_close(&run->replay);
	run->quota.key_told = NULL;
	run->quota.samples = NULL;
	if (tripd_samples_close(&run->samples) != 0 && code == 0)
		code = TRIPD_EXIT_RUN;
	if (tripd_events_close(&run->events) != 0 && code == 0)
		code = TRIPD_EXIT_RUN;
	if (tripd_exec_close(&run->exec) != 0 && code == 0)
		code = TRIPD_EXIT_RUN;
	if (tripd_exporting_close(&run->exporting, &run->quota) != 0 && code == 0)
		code = TRIPD_EXIT_RUN;
	tripd_quota_close(&run->quota);
	if (run->metrics != NULL)
		trip_metrics_close(run->metrics);
	if (run->domain != NULL)
		left = trip_domain_close(run->domain);
	if (left != 0 && left != -EBUSY)
		tripd_fail(code, "at the end: %s", trip_error_message());
	if (run->ports_watched)
		tripd_removal_end(&run->plan);
	if (run->ports_configured)
		tripd_port_close(&run->plan, run->links);
	if (left == -EBUSY)
		leave(run, code);
	rte_mempool_free(run->pool);
	if (run->eal_started)
		rte_eal_cleanup();
	if (run->eal_started && !run->words.no_huge && !run->words.keeps_pages)
		tripd_hugepages_sweep(run->words.huge_dir, run->words.file_prefix);
	trip_rules_free(run->rules);
	if (run->ended)
		tripd_signals_end();
	return code;
}

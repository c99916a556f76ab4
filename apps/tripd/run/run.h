/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPD_RUN_H
#define TRIPD_RUN_H

#include <stdbool.h>
#include <stdio.h>

#include "command.h"
#include "events.h"
#include "exec.h"
#include "exporting.h"
#include "forward.h"
#include "link/link.h"
#include "patient.h"
#include "quota.h"
#include "replay.h"
#include "start/options.h"
#include "start/plan.h"
#include "start/preflight.h"
#include "sample/samples.h"
#include "start/words.h"

/* A run of tripd, from its rules to its report. */
struct tripd_run {
	const struct tripd_options *options;
	/* Where people are told what happens. */
	FILE *out;
	/* What stands in for stdout and stderr while it lasts. */
	struct tripd_patient patient_out, patient_err;
	struct trip_rules *rules;
	struct tripd_plan plan;
	struct tripd_words words;
	struct tripd_need need;
	bool eal_started;
	bool ports_configured;
	struct rte_mempool *pool;
	struct trip_domain *domain;
	/* Or NULL. */
	struct trip_metrics *metrics;
	/* By port, as in the plan. */
	struct tripd_link links[TRIPD_PORTS_MAX];
	struct tripd_quota quota;
	struct tripd_commands commands;
	/* Who gives the one that is being done; NULL: a signal. */
	const struct trip_command *asker;
	struct tripd_forwarding forwarding;
	struct tripd_replay replay;
	struct tripd_events events;
	struct tripd_exec exec;
	struct tripd_exporting exporting;
	struct tripd_samples samples;
	/* Ports are watched for their removal. */
	bool ports_watched;
	/* The last reading brought trips; and packets, or what is due by their times, were not all
	 * done. */
	bool tripping, replaying;
	/* A quota could not begin anew at once. */
	bool periods_failed;
	/* Of commands that were refused, how many are in the events. */
	uint64_t refused;
	/* Likewise, how many have been told, and when. */
	uint64_t told_refused, told_refused_ns;
	/* A terminal controlled the process; the rules are to be read again. */
	bool had_terminal, reload;
	/* A signal has come before it ran, which is to end it. */
	bool ended;
};

/* Each step returns 0 or the exit code, and has said why; close follows in any case. */

/* Plans a run of `run->rules`, and checks all that can be checked before anything is started. */
int tripd_run_prepare(struct tripd_run *run);

/* Starts EAL, and plans ports and lcores. It takes no port, and no memory but EAL's. */
int tripd_run_begin(struct tripd_run *run);

/* Begins, and starts domain, ports and forwarders. */
int tripd_run_start(struct tripd_run *run);

/* Sleeps for up to `ms` milliseconds, and takes what happened; for a shorter time while much does.
 * Returns whether SIGINT, SIGTERM, or SIGHUP at a terminal's end, has asked for the end. */
bool tripd_run_wait(struct tripd_run *run, unsigned int ms);

/* Stops the forwarders, and lets everything fire that is due. Counts are final after this. */
int tripd_run_stop(struct tripd_run *run);

/* Takes everything down. Processes that are attached keep the domain open, and learn of the end by
 * that of this process, which then does not return from here; nor does it where a signal is to end
 * it. Returns `code`, to exit with. */
int tripd_run_close(struct tripd_run *run, int code);

/* Says what a prepared run would take, and the engine of each rule. Returns the exit code. */
int tripd_dry_run(struct tripd_run *run);

/* Reads the rules file of --check and says what is wrong with it, or what it holds. Returns the
 * exit code. */
int tripd_dry_run_check(const struct tripd_options *options);

/* Says, before the domain is opened, its size, lcores, and partners of ports. */
void tripd_tell_plan(const struct tripd_run *run, const struct trip_domain_attr *attr);

/* Says how many flows are in which engine: packets count from here on. */
void tripd_tell_engines(const struct tripd_run *run);

struct tripd_screen;

/* Says what has become of ports, and of those whom trips are told. */
void tripd_tell_news(struct tripd_run *run, struct tripd_screen *screen);

/* A whole run with the rules of a file. Returns the exit code. */
int tripd_run_rules(const struct tripd_options *options);

#endif

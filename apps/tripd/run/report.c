/* SPDX-License-Identifier: BSD-3-Clause */
/* The report: the same facts as on the terminal, for programs. README.md says what each key is. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include <rte_common.h>

#include "apply/text.h"
#include "link/losses.h"
#include "quota.h"
#include "removal.h"
#include "report.h"
#include "rules.h"
#include "sample/samples.h"
#include "start/describe.h"
#include "start/fail.h"
#include "write_all.h"

/* A device, a pipe: what is written there is written to that itself. */
static bool
is_special(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

/* Nobody waits for a pipe's reader: until one came, no signal would end the run. */
static int
open_special(const char *path)
{
	int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC), flags;

	if (fd < 0)
		return -errno;
	flags = fcntl(fd, F_GETFL);
	if (flags >= 0)
		fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
	return fd;
}

/* Opens a new file beside `path`. */
static int
open_beside(const char *path, char beside[PATH_MAX])
{
	struct stat status;
	int fd;

	if (stat(path, &status) == 0) {
		if (S_ISDIR(status.st_mode))
			return -EISDIR;
		if (access(path, W_OK) != 0)
			return -errno;
	}
	if (snprintf(beside, PATH_MAX, "%s.XXXXXX", path) >= PATH_MAX)
		return -ENAMETOOLONG;
	fd = mkostemp(beside, O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int
fail(const char *path, int error)
{
	return tripd_fail(-error, "the report cannot be written to %s: %s", path,
		error == ENXIO ? "nobody reads from it" : strerror(error));
}

/* A pipe is not opened: its reader would take that for the end of the report. */
int
tripd_report_check(const char *path)
{
	char beside[PATH_MAX];
	int fd;

	if (strcmp(path, "-") == 0)
		return 0;
	if (is_special(path))
		return access(path, W_OK) == 0 ? 0 : fail(path, errno);
	fd = open_beside(path, beside);
	if (fd < 0)
		return fail(path, -fd);
	close(fd);
	unlink(beside);
	return 0;
}

static json_t *
make_counters(const struct tripd_quota *quota)
{
	const struct trip_rules *rules = quota->rules;
	json_t *list = json_array();
	struct trip_flow_count count = {.size = sizeof(count)};

	for (unsigned int i = 0; i < rules->n_counts; i++) {
		const struct trip_apply_count *flows = &quota->counts[i];
		bool gone = rules->counts[i].gone;

		(void)trip_apply_count_query(flows, &count);
		json_array_append_new(
			list, json_pack("{s:s, s:I, s:I, s:I, s:I, s:s, s:s}", "name",
				      rules->counts[i].name, "packets", (json_int_t)count.packets,
				      "bytes", (json_int_t)count.bytes, "policed_packets",
				      (json_int_t)count.policed_packets, "policed_bytes",
				      (json_int_t)count.policed_bytes, "engine",
				      gone ? "none" : tripd_describe_engine(count.engine), "reason",
				      gone ? "removed while it ran"
					   : trip_flow_reason(flows->flows[flows->n_flows - 1])));
	}
	for (unsigned int i = 0; i < rules->n_counters; i++)
		if (rules->counters[i].quota == NULL)
			json_array_append_new(list,
				json_pack("{s:s, s:I, s:I, s:s}", "name", rules->counters[i].name,
					"packets",
					(json_int_t)(rules->counters[i].gone
							     ? rules->counters[i].last
							     : trip_cntr_read(quota->counters[i])),
					"bytes", (json_int_t)0, "engine", "none"));
	return list;
}

/* What has become of a quota in its period: of several, the last of these. */
enum quota_state {
	QUOTA_COUNTING,
	QUOTA_TRIPPED,
	QUOTA_PASSED,
	QUOTA_POLICED,
	QUOTA_DROPPED,
};

static enum quota_state
state_by(const struct tripd_quota *quota, unsigned int when)
{
	enum trip_rules_op op = quota->rules->whens[when].op;

	if (quota->rules->whens[when].gone || quota->fired[when] == 0)
		return QUOTA_COUNTING;
	if (!tripd_quota_is_hold(op))
		return QUOTA_TRIPPED;
	if (!tripd_quota_holds(quota, when))
		return QUOTA_PASSED;
	return op == TRIP_RULES_OP_DROP ? QUOTA_DROPPED : QUOTA_POLICED;
}

struct marking {
	/* By counter. */
	unsigned char *states;
	enum quota_state state;
};

static void
mark(void *arg, struct trip_rules_pair *pair)
{
	const struct marking *marking = arg;

	if (pair->ref == TRIP_RULES_REF_COUNTER)
		marking->states[pair->index] =
			RTE_MAX(marking->states[pair->index], (unsigned char)marking->state);
}

/* By counter; NULL: no memory. */
static unsigned char *
find_states(const struct tripd_quota *quota)
{
	const struct trip_rules *rules = quota->rules;
	struct marking marking = {.states = calloc(rules->n_counters + 1, 1)};

	for (unsigned int i = 0; marking.states != NULL && i < rules->n_whens; i++) {
		struct trip_rules_pair own = {
			.ref = rules->whens[i].ref, .index = rules->whens[i].index};

		marking.state = state_by(quota, i);
		if (marking.state == QUOTA_COUNTING)
			continue;
		if (rules->whens[i].pairs == NULL)
			mark(&marking, &own);
		else
			trip_rules_pairs_walk(rules->whens[i].pairs, mark, &marking);
	}
	return marking.states;
}

static const char *
say_state(const struct trip_rules_counter *counter, uint64_t spent, unsigned char state)
{
	static const char *const words[] = {
		[QUOTA_COUNTING] = "counting",
		[QUOTA_TRIPPED] = "tripped",
		[QUOTA_PASSED] = "passed",
		[QUOTA_POLICED] = "policed",
		[QUOTA_DROPPED] = "dropped",
	};

	if (counter->gone)
		return "removed";
	return words[state == QUOTA_COUNTING && spent >= counter->quota->limit ? QUOTA_TRIPPED
									       : state];
}

/* All there have been, or those that are at work. */
static json_t *
make_quotas(const struct tripd_quota *quota, bool all)
{
	json_t *list = json_array();
	unsigned char *states = find_states(quota);

	for (unsigned int i = 0; states != NULL && i < quota->periods.n; i++) {
		const struct tripd_period *period = &quota->periods.all[i];
		const struct trip_rules_counter *counter = &quota->rules->counters[period->counter];
		uint64_t spent;

		if (counter->gone && !all)
			continue;
		spent = counter->gone ? counter->last
				      : trip_cntr_read(quota->counters[period->counter]);
		json_array_append_new(list,
			json_pack("{s:s, s:s, s:I, s:I, s:s, s:I, s:o, s:I}", "name", counter->name,
				"of", tripd_period_unit(counter->quota), "limit",
				(json_int_t)counter->quota->limit, "spent", (json_int_t)spent,
				"state", say_state(counter, spent, states[period->counter]),
				"began", (json_int_t)period->began, "ends",
				period->ends == INT64_MAX ? json_null()
							  : json_integer(period->ends),
				"ended", (json_int_t)period->n_ended));
	}
	free(states);
	return list;
}

int
tripd_report_quotas(const struct tripd_quota *quota, FILE *out)
{
	json_t *list = make_quotas(quota, false);
	int ret = json_dumpf(list, out, JSON_COMPACT) == 0 ? 0 : -ENOMEM;

	json_decref(list);
	return ret;
}

static json_t *
make_losses(const struct tripd_losses *losses)
{
	json_t *object = json_pack("{s:I}", "frames", (json_int_t)tripd_losses_uncounted(losses));

	for (unsigned int i = 0; i < TRIPD_LOSSES; i++)
		json_object_set_new(
			object, tripd_losses_names[i], json_integer((json_int_t)losses->frames[i]));
	return object;
}

static json_t *
make_ports(const struct tripd_quota *quota)
{
	json_t *list = json_array();
	struct trip_port_facts facts = {.size = sizeof(facts)};
	struct trip_port_stats stats = {.size = sizeof(stats)};

	for (unsigned int i = 0; i < quota->n_ports; i++) {
		trip_port_facts_read(quota->ports[i], &facts);
		trip_port_stats_read(quota->ports[i], &stats);
		json_array_append_new(list,
			json_pack("{s:i, s:s, s:s, s:I, s:s, s:I, s:b, s:b, s:I, s:I, s:I, s:I, "
				  "s:I, s:b, s:o}",
				"port", (int)quota->port_ids[i], "driver", facts.driver, "engine",
				facts.engine, "refresh_lag_ns", (json_int_t)facts.refresh_lag_ns,
				"refresh_lag_from", tripd_describe_fact(facts.refresh_lag_from),
				"query_ns", (json_int_t)facts.query_ns, "indirect",
				(int)facts.indirect, "templates", (int)facts.templates, "readings",
				(json_int_t)stats.readings, "late_readings",
				(json_int_t)stats.late_readings, "missed", (json_int_t)stats.missed,
				"lost", (json_int_t)stats.lost, "stale", (json_int_t)stats.stale,
				"removed", (int)tripd_removal_of(quota->port_ids[i]), "uncounted",
				make_losses(&quota->losses.ports[i])));
	}
	return list;
}

json_t *
tripd_report_trip(const struct tripd_quota *quota, const struct tripd_trip *trip)
{
	const struct trip_rules_when *when = &quota->rules->whens[trip->when];
	char name[TRIP_APPLY_TEXT_MAX], date[TRIPD_DESCRIBE_DATE];
	char packet_date[TRIPD_DESCRIBE_DATE];

	trip_apply_text_trigger(quota->rules, when, name);
	tripd_describe_date(trip->time_ns, date);
	tripd_describe_date(trip->packet_ns, packet_date);
	return json_pack(
		"{s:s, s:s*, s:s*, s:i, s:s?, s:s?, s:I, s:I, s:I, s:I, s:s, s:b, s:i, s:I}",
		"time", date, "packet_time", quota->plan->by_packets ? packet_date : NULL, "key",
		trip->key, "line", (int)when->line, "counter",
		when->ref != TRIP_RULES_REF_CLOCK && !trip_rules_is_of_several(when) ? name : NULL,
		"condition", when->condition_text, "threshold", (json_int_t)trip->threshold,
		"value", (json_int_t)trip->value, "overshoot",
		(json_int_t)(trip->value - trip->threshold), "count", (json_int_t)trip->count, "op",
		trip_rules_op_of(when->op)->word, "ends", (int)trip->ends, "result",
		(int)trip->result, "latency_ns", (json_int_t)trip->latency_ns);
}

json_t *
tripd_report_event(const struct tripd_quota *quota, const struct tripd_trip *trip)
{
	json_t *object = tripd_report_trip(quota, trip);

	if (trip->tops != NULL)
		json_object_set_new(object, "top", tripd_report_tops(quota, trip->tops));
	if (trip->sample != NULL)
		json_object_set_new(object, "sample", json_string(trip->sample));
	json_object_set_new(object, "event", json_string("trip"));
	return object;
}

/* NULL: none are taken. */
static json_t *
make_samples(const struct tripd_samples *samples)
{
	if (samples == NULL)
		return NULL;
	return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I}", "folder", samples->folder.path,
		"written", (json_int_t)samples->written, "deleted",
		(json_int_t)samples->folder.deleted, "empty", (json_int_t)samples->empty, "refused",
		(json_int_t)samples->refused, "failed", (json_int_t)samples->failed);
}

static json_t *
make_trips(const struct tripd_quota *quota)
{
	json_t *list = json_array();

	for (size_t i = 0; i < quota->n_trips; i++)
		json_array_append_new(list, tripd_report_trip(quota, &quota->trips[i]));
	return list;
}

/* mkostemp() makes a private file: give the report the mode of any new one. */
static void
share(int fd)
{
	mode_t mask = umask(0);

	umask(mask);
	fchmod(fd, 0666 & ~mask);
}

/* All of it, and closes the file. */
static int
write_and_close(int fd, const char *text, bool synced)
{
	int ret = write_all(fd, text, strlen(text));

	if (ret == 0)
		ret = write_all(fd, "\n", 1);
	if (ret == 0 && synced && fsync(fd) != 0)
		ret = -errno;
	if (close(fd) != 0 && ret == 0)
		ret = -errno;
	return ret;
}

static int
write_file(const char *path, const char *text)
{
	char beside[PATH_MAX];
	bool special = is_special(path);
	int fd = special ? open_special(path) : open_beside(path, beside), ret;

	if (fd < 0)
		return fd;
	if (special)
		return write_and_close(fd, text, false);
	share(fd);
	/* On the disk before the name points to it. */
	ret = write_and_close(fd, text, true);
	if (ret == 0 && rename(beside, path) != 0)
		ret = -errno;
	if (ret != 0)
		unlink(beside);
	return ret;
}

int
tripd_report_write(const char *path, const struct tripd_quota *quota)
{
	uint64_t omitted = quota->n_unkept + quota->n_untold + quota->n_overrun + quota->n_unread;
	json_t *report = json_pack("{s:o, s:o, s:o, s:o, s:o, s:I, s:o*}", "counters",
		make_counters(quota), "each", tripd_report_eaches(quota), "quotas",
		make_quotas(quota, true), "ports", make_ports(quota), "trips", make_trips(quota),
		"trips_omitted", (json_int_t)omitted, "samples", make_samples(quota->samples));
	char *text = report != NULL ? json_dumps(report, JSON_INDENT(2)) : NULL;
	int ret;

	if (text == NULL)
		ret = -ENOMEM;
	else if (strcmp(path, "-") == 0)
		ret = puts(text) < 0 || fflush(stdout) != 0 ? -errno : 0;
	else
		ret = write_file(path, text);
	free(text);
	json_decref(report);
	if (ret != 0)
		return fail(path, -ret);
	if (quota->n_unkept == 0)
		return 0;
	return tripd_fail(-ENOSPC, "%" PRIu64 " trips are not in the report, which holds %zu",
		quota->n_unkept, quota->n_trips);
}

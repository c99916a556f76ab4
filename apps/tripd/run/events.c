/* SPDX-License-Identifier: BSD-3-Clause */
/* --events: trips as they happen. README.md says what each line has. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_common.h>

#include "events.h"
#include "now.h"
#include "quota.h"
#include "rules.h"
#include "report.h"
#include "sample/samples.h"
#include "start/describe.h"
#include "start/fail.h"

#define BUFFER ((size_t)1 << 20)
#define LOOK_NS UINT64_C(100000000)
#define SAY_NS UINT64_C(60000000000)
#define END_MS 1000

static bool
is_stdout(const struct tripd_events *events)
{
	return strcmp(events->path, "-") == 0;
}

/* What others write to it, and cut off it, stays right: each line goes to its end. */
static int
connect_file(struct tripd_events *events)
{
	int fd =
		is_stdout(events)
			? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
			: open(events->path,
				  O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
				  0666);
	struct stat status;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &status) == 0) {
		events->device = status.st_dev;
		events->inode = status.st_ino;
	}
	tripd_outlet_connect(&events->outlet, fd);
	return 0;
}

int
tripd_events_open(struct tripd_events *events, const char *path)
{
	int error;

	*events = (struct tripd_events){.path = path};
	error = tripd_outlet_open(&events->outlet, BUFFER);
	if (error == 0)
		error = connect_file(events);
	/* A pipe without a reader. */
	if (error == 0 || error == -ENXIO)
		return 0;
	return tripd_fail(error, "the events cannot be written to %s: %s", path, strerror(-error));
}

void
tripd_events_put(
	struct tripd_events *events, const struct tripd_quota *quota, const struct tripd_trip *trip)
{
	if (events->path != NULL)
		tripd_outlet_put(&events->outlet, tripd_report_event(quota, trip));
}

/* With the time of the day. */
static void
put_timed(struct tripd_events *events, json_t *object)
{
	char date[TRIPD_DESCRIBE_DATE];

	tripd_describe_date(now_ns(CLOCK_REALTIME), date);
	json_object_set_new(object, "time", json_string(date));
	tripd_outlet_put(&events->outlet, object);
}

void
tripd_events_period(struct tripd_events *events, const struct tripd_quota *quota,
	const struct tripd_period *period)
{
	const struct trip_rules_counter *counter = &quota->rules->counters[period->counter];
	char packet_date[TRIPD_DESCRIBE_DATE];

	if (events->path == NULL)
		return;
	tripd_describe_date(quota->packet_ns, packet_date);
	put_timed(
		events, json_pack("{s:s, s:s*, s:s, s:s, s:I, s:I, s:I, s:I}", "event", "period",
				"packet_time", quota->plan->by_packets ? packet_date : NULL,
				"quota", counter->name, "of", tripd_period_unit(counter->quota),
				"limit", (json_int_t)counter->quota->limit, "spent",
				(json_int_t)period->spent, "began", (json_int_t)period->ended_began,
				"ended", (json_int_t)period->ended));
}

void
tripd_events_key(struct tripd_events *events, const struct tripd_quota *quota, unsigned int i,
	const struct trip_each_event *event)
{
	json_t *object = events->path != NULL ? tripd_report_key(quota, i, event) : NULL;

	if (object != NULL)
		put_timed(events, object);
}

void
tripd_events_sample(struct tripd_events *events, const struct tripd_sample *sample)
{
	if (events->path == NULL)
		return;
	put_timed(events, json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:i}", "event", "sample",
				  "each", sample->each_name, "key", sample->key, "file",
				  sample->path, "packets", (json_int_t)sample->packets, "bytes",
				  (json_int_t)sample->bytes, "result", sample->result));
}

/* Of what others chose: it may be anything. */
static json_t *
printable(const char *from, size_t length)
{
	char text[512];
	size_t n = 0;

	for (; n < length && n + 1 < sizeof(text); n++)
		text[n] = from[n] >= ' ' && from[n] <= '~' ? from[n] : '?';
	text[n] = 0;
	return json_string(text);
}

/* What a process calls itself, if it is there yet. */
static void
add_name(json_t *object, pid_t pid)
{
	char path[32], name[32];
	ssize_t length = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	length = read(fd, name, sizeof(name));
	close(fd);
	/* A line. */
	if (length > 1)
		json_object_set_new(object, "name", printable(name, (size_t)length - 1));
}

static void
add_asker(json_t *object, const struct trip_command *asker)
{
	json_object_set_new(object, "uid", json_integer(asker->uid));
	json_object_set_new(object, "pid", json_integer(asker->pid));
	add_name(object, asker->pid);
}

void
tripd_events_by_hand(struct tripd_events *events, const struct tripd_quota *quota,
	const struct tripd_by_hand *by_hand, const struct trip_command *asker)
{
	static const char *const words[] = {[TRIP_EACH_OP_NONE] = "release",
		[TRIP_EACH_OP_DROP] = "drop",
		[TRIP_EACH_OP_PASS] = "pass"};
	char packet_date[TRIPD_DESCRIBE_DATE];
	json_t *object;

	if (events->path == NULL || by_hand->op >= RTE_DIM(words) || words[by_hand->op] == NULL)
		return;
	tripd_describe_date(by_hand->packet_ns, packet_date);
	object = json_pack("{s:s, s:s*, s:s, s:s, s:s, s:b, s:I, s:I}", "event", "by_hand",
		"packet_time", quota->plan->by_packets ? packet_date : NULL, "each",
		quota->rules->eaches[by_hand->each].count.name, "key", by_hand->key, "op",
		words[by_hand->op], "ends", (int)by_hand->ends, "packets",
		(json_int_t)by_hand->packets, "bytes", (json_int_t)by_hand->bytes);
	if (asker != NULL) {
		add_asker(object, asker);
	} else if (by_hand->pid != 0) {
		json_object_set_new(object, "pid", json_integer(by_hand->pid));
		add_name(object, (pid_t)by_hand->pid);
	}
	put_timed(events, object);
}

void
tripd_events_command(struct tripd_events *events, const struct trip_command *asker,
	const char *line, size_t length, int result)
{
	json_t *object;

	if (events->path == NULL)
		return;
	object = json_pack("{s:s, s:o, s:i}", "event", "command", "command",
		printable(line, length), "result", result);
	if (asker != NULL)
		add_asker(object, asker);
	put_timed(events, object);
}

void
tripd_events_refused(struct tripd_events *events, const struct trip_command *last, uint64_t n)
{
	json_t *object;

	if (events->path == NULL)
		return;
	object = json_pack("{s:s, s:I}", "event", "refused", "commands", (json_int_t)n);
	add_asker(object, last);
	put_timed(events, object);
}

/* Whether the path is another file by now, or none. */
static bool
is_moved(const struct tripd_events *events)
{
	struct stat status;

	if (stat(events->path, &status) != 0)
		return errno == ENOENT;
	return status.st_dev != events->device || status.st_ino != events->inode;
}

bool
tripd_events_update(struct tripd_events *events, const struct tripd_quota *quota)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC);
	int error;

	if (events->path == NULL)
		return false;
	tripd_outlet_leave_out(&events->outlet, quota->n_overrun - events->overrun);
	events->overrun = quota->n_overrun;
	tripd_outlet_leave_out(&events->outlet, quota->n_keys_unread - events->unread);
	events->unread = quota->n_keys_unread;
	error = tripd_outlet_flush(&events->outlet, 0);
	if (error == -EPIPE) {
		tripd_outlet_connect(&events->outlet, -1);
		error = -ENOTCONN;
	}
	if (!is_stdout(events) && now - events->looked_ns >= LOOK_NS) {
		events->looked_ns = now;
		if ((events->outlet.fd < 0 || is_moved(events)) && connect_file(events) == 0)
			error = tripd_outlet_flush(&events->outlet, 0);
	}
	events->error = error;
	if (events->said_ns != 0 && now - events->said_ns < SAY_NS)
		return false;
	return (error != 0 && error != -EAGAIN) || events->outlet.left_out != events->said_left_out;
}

static const char *
reason(int error)
{
	return error == 0           ? "they came too fast"
	       : error == -EAGAIN   ? "it is read too slowly"
	       : error == -ENOTCONN ? "nobody reads from it"
				    : strerror(-error);
}

void
tripd_events_say(struct tripd_events *events)
{
	uint64_t left_out = events->outlet.left_out;

	if (left_out == events->said_left_out)
		tripd_fail(0, "warning: events wait, as %s takes none: %s", events->path,
			reason(events->error));
	else
		tripd_fail(0, "warning: %" PRIu64 " events so far are left out of %s: %s", left_out,
			events->path, reason(events->error));
	events->said_ns = now_ns(CLOCK_MONOTONIC);
	events->said_left_out = left_out;
}

int
tripd_events_close(struct tripd_events *events)
{
	const char *path = events->path;
	int error;

	if (path == NULL)
		return 0;
	error = tripd_outlet_flush(&events->outlet, END_MS);
	tripd_outlet_close(&events->outlet);
	events->path = NULL;
	if (events->outlet.left_out == 0)
		return 0;
	return tripd_fail(-EIO, "%" PRIu64 " events are left out of %s: %s",
		events->outlet.left_out, path, reason(error));
}

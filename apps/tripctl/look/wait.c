/* SPDX-License-Identifier: BSD-3-Clause */
/* tripctl wait: by a watch of the domain's socket. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "base/options.h"
#include "base/record.h"
#include "base/tripctl.h"
#include "now.h"

struct wait {
	struct tripctl *ctl;
	struct tripctl_words words;
	/* UINT64_MAX: for ever. */
	uint64_t timeout_ns;
	/* The counter as it was at first, and as it is. */
	struct trip_client_cntr before, now;
	bool watches;
	uint32_t watch;
	int fd;
	/* The sum that the watch waits for. */
	uint64_t armed;
};

/* How long the home has to forget a watch. */
#define LEAVE_NS UINT64_C(2000000000)

static const struct tripctl_option options[] = {
	{"timeout", "TIME", "give up after that long: 500ms, 10s, 5m; a bare number is of seconds",
		TRIPCTL_OPTION_TIME, offsetof(struct wait, timeout_ns)},
	{NULL},
};

/* Nanoseconds until the deadline; UINT64_MAX: there is none. */
static uint64_t
left_ns(uint64_t deadline)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC);

	if (deadline == UINT64_MAX)
		return UINT64_MAX;
	return now < deadline ? deadline - now : 0;
}

/* As poll() has it: at least 1 before the deadline. */
static int
left_ms(uint64_t deadline)
{
	uint64_t left = left_ns(deadline);

	if (left == UINT64_MAX)
		return -1;
	return left < UINT64_C(3600000000000) ? (int)((left + 999999) / 1000000) : 3600000;
}

/* Until the watch is ready. 0, -ETIME: the time is over, -EPIPE: the primary has ended. */
static int
block(struct wait *wait, uint64_t deadline)
{
	struct pollfd fds[] = {
		{.fd = wait->fd, .events = POLLIN},
		{.fd = trip_client_socket(wait->ctl->client), .events = POLLRDHUP},
	};
	uint64_t signals;
	int n = 0;

	while (n <= 0) {
		int ms = left_ms(deadline);

		n = poll(fds, 2, ms);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0 && ms == 0)
			return -ETIME;
	}
	if (fds[0].revents != 0 && read(wait->fd, &signals, sizeof(signals)) < 0 && errno != EAGAIN)
		return -errno;
	return fds[1].revents != 0 ? -EPIPE : 0;
}

/* 0: reached; -EIO: the error value changed; -ETIME: the time is over; or as the client's calls. */
static int
follow(struct wait *wait, uint64_t deadline)
{
	struct trip_client *client = wait->ctl->client;
	int error;

	wait->before.size = sizeof(wait->before);
	error = trip_client_find(client, wait->words.name, &wait->before);
	wait->now = wait->before;
	if (error == 0 && wait->now.success < wait->words.value) {
		error = trip_client_watch(client, wait->before.id, &wait->watch, &wait->fd);
		wait->watches = error == 0;
	}
	while (error == 0 && wait->now.success < wait->words.value) {
		if (wait->now.errgen != wait->before.errgen ||
			wait->now.error != wait->before.error)
			return -EIO;
		wait->armed = wait->words.value + wait->now.error;
		error = trip_client_arm(client, wait->watch, wait->words.value, &wait->now);
		if (error == 0)
			error = block(wait, deadline);
		trip_client_limit(client, tripctl_limit_ms(left_ns(deadline)));
		if (error == 0 || error == -ETIME) {
			int lost = trip_client_read(client, wait->before.id, &wait->now);

			error = lost != 0 ? lost : error;
		}
	}
	/* It came in the last moment. */
	return error == -ETIME && wait->now.success >= wait->words.value ? 0 : error;
}

/* Waits until the counter's next threshold is not that of our watch, which the home forgets in its
 * next round; not where somebody else waits for the same sum. */
static void
leave(struct wait *wait)
{
	uint64_t until = now_ns(CLOCK_MONOTONIC) + LEAVE_NS;
	struct trip_client *client = wait->ctl->client;
	struct trip_client_cntr now = {.size = sizeof(now)};

	if (!wait->watches || trip_client_unwatch(client, wait->watch) != 0)
		return;
	while (trip_client_read(client, wait->before.id, &now) == 0) {
		wait->now.next = now.next;
		if (now.next != wait->armed || wait->before.next == wait->armed ||
			now_ns(CLOCK_MONOTONIC) >= until)
			return;
		(void)poll(NULL, 0, 1);
	}
}

static void
tell(const struct wait *wait, bool reached)
{
	if (wait->ctl->json) {
		json_t *object = tripctl_record_json(TRIP_CLIENT_CNTR, NULL, &wait->now);

		tripctl_record_put_number(object, "threshold", wait->words.value);
		tripctl_record_put(object, "reached", json_boolean(reached));
		tripctl_record_write(object);
	} else if (reached) {
		printf("%s %" PRIu64 "\n", wait->now.name, wait->now.success);
	}
}

int
tripctl_wait(struct tripctl *ctl, int argc, char **argv)
{
	static const struct tripctl_line line = {
		.options = options,
		.args_doc = "NAME VALUE",
		.doc = "Waits until the success value of a counter has reached a value, and writes "
		       "what it is then.\v"
		       "Exit code: 0; 3: there is no such counter, or it has been closed; 4: the "
		       "time is over; 5: the primary has ended; 6: the counter's error value "
		       "changed before; 7: the primary does not answer.",
		.words = offsetof(struct wait, words),
	};
	struct wait wait = {.ctl = ctl, .timeout_ns = UINT64_MAX};
	uint64_t deadline;
	int error, code;

	tripctl_options_parse(ctl, &line, argc, argv, &wait);
	deadline = wait.timeout_ns != UINT64_MAX ? now_ns(CLOCK_MONOTONIC) + wait.timeout_ns
						 : UINT64_MAX;
	code = tripctl_connect(ctl, wait.timeout_ns);
	if (code != 0)
		return code;
	error = follow(&wait, deadline);
	if (error == 0 || error == -ETIME || error == -EIO) {
		if (ctl->json)
			leave(&wait);
		tell(&wait, error == 0);
	}
	switch (error) {
	case 0:
		return 0;
	case -ETIME:
		return tripctl_complain(TRIPCTL_EXIT_TIMEOUT,
			"the time is over: cntr \"%s\" is at %" PRIu64 ", not %" PRIu64,
			wait.now.name, wait.now.success, wait.words.value);
	case -EIO:
		return tripctl_complain(TRIPCTL_EXIT_ERROR,
			"the error value of cntr \"%s\" changed from %" PRIu64 " to %" PRIu64,
			wait.now.name, wait.before.error, wait.now.error);
	case -EPIPE:
		return tripctl_complain(TRIPCTL_EXIT_ENDED,
			"the primary, process %" PRIu32 ", has ended", ctl->about.pid);
	default:
		return tripctl_fail(error);
	}
}

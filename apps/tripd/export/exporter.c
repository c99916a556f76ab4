/* SPDX-License-Identifier: BSD-3-Clause */
/* The thread that exports, and what others have of it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <rte_common.h>

#include "collector.h"
#include "exporter.h"
#include "message.h"
#include "now.h"
#include "round.h"
#include "start/fail.h"
#include "trips.h"

#define RETRY_MIN_NS UINT64_C(500000000)
#define RETRY_MAX_NS UINT64_C(30000000000)
/* Templates by datagrams, at least so often. */
#define REFRESH_NS UINT64_C(600000000000)
/* At the end: what patience there is, and then for what is under way. */
#define END_NS UINT64_C(3000000000)
#define HURRY_NS UINT64_C(1000000000)
#define POLL_MS 100

enum look_state {
	LOOK_NONE,
	LOOK_ASKED,
	LOOK_GIVEN,
	LOOK_READ,
	/* Nobody may read it any more. */
	LOOK_TAKEN_BACK,
};

struct tripd_exporter {
	struct tripd_ipfix_options options;
	pthread_t thread;
	/* Rings where a look is given; and where nobody is to be waited for any more. */
	int given, bell;
	_Atomic int look_state;
	struct tripd_look look;
	_Atomic uint64_t lost, left_out;
	_Atomic int error;
	/* The thread's own. */
	struct tripd_collector collector;
	struct tripd_message message;
	struct tripd_round round;
	struct tripd_trips trips;
	uint64_t next_ns, refresh_ns, retry_ns, delay_ns;
	bool ended;
};

int
tripd_exporter_check(const struct tripd_ipfix_options *options)
{
	struct tripd_collector collector;
	int ret;

	if (options->kind != TRIPD_IPFIX_FILE)
		return 0;
	tripd_collector_init(&collector, options, -1);
	ret = tripd_collector_connect(&collector);
	tripd_collector_close(&collector);
	/* A pipe without a reader. */
	if (ret == 0 || ret == -ENXIO)
		return 0;
	return tripd_fail(ret, "IPFIX cannot be written to %s: %s", options->path, strerror(-ret));
}

/* ---- the thread ------------------------------------------------------------------------------ */

static void
ring(int bell)
{
	const uint64_t one = 1;

	/* It rings already where it takes no more. */
	if (write(bell, &one, sizeof(one)) < 0)
		return;
}

/* That there is no connection has its reason already. */
static void
note(struct tripd_exporter *exporter, int error)
{
	if (error != -ENOTCONN || atomic_load(&exporter->error) == 0)
		atomic_store(&exporter->error, error);
	atomic_store(&exporter->lost, exporter->message.lost);
	atomic_store(&exporter->left_out, exporter->round.left_out);
}

static bool
is_connected(const struct tripd_exporter *exporter)
{
	return exporter->message.buf != NULL;
}

/* It is tried again, later each time. */
static void
disconnect(struct tripd_exporter *exporter, int error)
{
	tripd_message_end(&exporter->message);
	tripd_collector_close(&exporter->collector);
	exporter->retry_ns = now_ns(CLOCK_MONOTONIC) + exporter->delay_ns;
	exporter->delay_ns = RTE_MIN(2 * exporter->delay_ns, RETRY_MAX_NS);
	note(exporter, error);
}

static void
try_to_connect(struct tripd_exporter *exporter)
{
	int ret = tripd_collector_connect(&exporter->collector);

	if (ret == 0)
		ret = tripd_message_begin(&exporter->message);
	if (ret == 0)
		ret = tripd_round_begin(&exporter->round, &exporter->message);
	if (ret != 0) {
		disconnect(exporter, ret);
		return;
	}
	exporter->refresh_ns = now_ns(CLOCK_MONOTONIC) + REFRESH_NS;
	note(exporter, 0);
}

/* What has gone well for once is tried soon where it fails. */
static void
settle(struct tripd_exporter *exporter, int error)
{
	if (error != 0) {
		disconnect(exporter, error);
		return;
	}
	exporter->delay_ns = RETRY_MIN_NS;
	note(exporter, 0);
}

static int
refresh(struct tripd_exporter *exporter)
{
	if (exporter->options.kind != TRIPD_IPFIX_UDP)
		return 0;
	exporter->refresh_ns = now_ns(CLOCK_MONOTONIC) + REFRESH_NS;
	return tripd_round_refresh(&exporter->round, &exporter->message);
}

/* A look that is there is read, and exported. */
static void
take_look(struct tripd_exporter *exporter)
{
	int given = LOOK_GIVEN, ret;
	uint64_t rings;
	bool last;

	if (read(exporter->given, &rings, sizeof(rings)) < 0 && errno != EAGAIN)
		return;
	if (!atomic_compare_exchange_strong(&exporter->look_state, &given, LOOK_READ)) {
		exporter->ended |= given == LOOK_TAKEN_BACK;
		return;
	}
	ret = tripd_round_read(&exporter->round, &exporter->look);
	last = exporter->look.last;
	atomic_store(&exporter->look_state, LOOK_NONE);
	exporter->next_ns = now_ns(CLOCK_MONOTONIC) + exporter->options.interval_ns;
	if (last && !is_connected(exporter))
		try_to_connect(exporter);
	if (ret == 0 && is_connected(exporter))
		ret = refresh(exporter);
	if (ret == 0 && (is_connected(exporter) || last)) {
		ret = tripd_round_export(&exporter->round, &exporter->message);
		settle(exporter, ret);
	} else {
		note(exporter, ret != 0 ? ret : atomic_load(&exporter->error));
	}
	exporter->ended |= last;
}

static void
ask(struct tripd_exporter *exporter, uint64_t now)
{
	int none = LOOK_NONE;

	if (is_connected(exporter) && now >= exporter->next_ns)
		(void)atomic_compare_exchange_strong(&exporter->look_state, &none, LOOK_ASKED);
	if (is_connected(exporter) && now >= exporter->refresh_ns)
		settle(exporter, refresh(exporter));
}

/* Trips wait in their pipe while nobody gets them; the last ones do not. */
static void
wait_a_while(struct tripd_exporter *exporter)
{
	bool takes = is_connected(exporter);
	struct pollfd ends[] = {
		{.fd = exporter->given, .events = POLLIN},
		{.fd = exporter->trips.fd, .events = takes ? POLLIN : 0},
		{.fd = takes && exporter->options.kind == TRIPD_IPFIX_TCP ? exporter->collector.fd
									  : -1,
			.events = POLLRDHUP},
	};

	if (poll(ends, RTE_DIM(ends), POLL_MS) <= 0)
		return;
	if (takes && ends[1].revents != 0)
		settle(exporter, tripd_trips_take(&exporter->trips, &exporter->message));
	if (ends[0].revents != 0)
		take_look(exporter);
}

/* Nothing more comes. */
static void
take_rest(struct tripd_exporter *exporter)
{
	int ret = 0, error;

	while (exporter->trips.fd >= 0) {
		error = tripd_trips_take(&exporter->trips, &exporter->message);
		ret = ret == 0 ? error : ret;
	}
	note(exporter, ret == 0 ? atomic_load(&exporter->error) : ret);
	tripd_message_end(&exporter->message);
	tripd_collector_close(&exporter->collector);
	note(exporter, atomic_load(&exporter->error));
}

static void *
run(void *arg)
{
	struct tripd_exporter *exporter = arg;

	while (!exporter->ended) {
		uint64_t now = now_ns(CLOCK_MONOTONIC);

		if (tripd_collector_is_gone(&exporter->collector))
			disconnect(
				exporter, exporter->options.kind == TRIPD_IPFIX_FILE ? 0 : -EPIPE);
		if (!is_connected(exporter) && now >= exporter->retry_ns)
			try_to_connect(exporter);
		ask(exporter, now);
		wait_a_while(exporter);
	}
	if (atomic_load(&exporter->look_state) != LOOK_TAKEN_BACK)
		take_rest(exporter);
	return NULL;
}

/* ---- the control thread ---------------------------------------------------------------------- */

static void
free_exporter(struct tripd_exporter *exporter)
{
	tripd_trips_free(&exporter->trips);
	tripd_message_free(&exporter->message);
	tripd_round_free(&exporter->round);
	if (exporter->given >= 0)
		close(exporter->given);
	if (exporter->bell >= 0)
		close(exporter->bell);
	free(exporter);
}

int
tripd_exporter_open(struct tripd_exporter **exporter, const struct tripd_ipfix_options *options,
	int trips, size_t line_max)
{
	struct tripd_exporter *one = calloc(1, sizeof(*one));
	int ret;

	if (one == NULL) {
		close(trips);
		return -ENOMEM;
	}
	one->options = *options;
	one->delay_ns = RETRY_MIN_NS;
	one->next_ns = now_ns(CLOCK_MONOTONIC) + options->interval_ns;
	one->given = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	one->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ret = one->given >= 0 && one->bell >= 0 ? 0 : -errno;
	tripd_collector_init(&one->collector, &one->options, one->bell);
	if (tripd_trips_init(&one->trips, trips, line_max) != 0 ||
		tripd_message_init(&one->message, &one->options, &one->collector) != 0)
		ret = -ENOMEM;
	if (ret == 0)
		ret = -pthread_create(&one->thread, NULL, run, one);
	if (ret != 0) {
		free_exporter(one);
		return ret;
	}
	pthread_setname_np(one->thread, "tripd-ipfix");
	*exporter = one;
	return 0;
}

struct tripd_look *
tripd_exporter_asks(struct tripd_exporter *exporter)
{
	return atomic_load(&exporter->look_state) == LOOK_ASKED ? &exporter->look : NULL;
}

void
tripd_exporter_give(struct tripd_exporter *exporter)
{
	atomic_store(&exporter->look_state, LOOK_GIVEN);
	ring(exporter->given);
}

bool
tripd_exporter_reads(const struct tripd_exporter *exporter)
{
	int state = atomic_load(&exporter->look_state);

	return state == LOOK_GIVEN || state == LOOK_READ;
}

void
tripd_exporter_state(const struct tripd_exporter *exporter, struct tripd_exporter_state *state)
{
	*state = (struct tripd_exporter_state){.lost = atomic_load(&exporter->lost),
		.error = atomic_load(&exporter->error),
		.left_out = atomic_load(&exporter->left_out)};
}

const char *
tripd_exporter_reason(int error)
{
	return error == 0 ? "they came too fast" : tripd_collector_reason(error);
}

static void
sleep_a_little(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

struct tripd_look *
tripd_exporter_last(struct tripd_exporter *exporter)
{
	uint64_t began = now_ns(CLOCK_MONOTONIC);

	while (tripd_exporter_reads(exporter)) {
		uint64_t ns = now_ns(CLOCK_MONOTONIC) - began;

		if (ns >= END_NS + HURRY_NS)
			return NULL;
		if (ns >= END_NS)
			ring(exporter->bell);
		sleep_a_little();
	}
	return &exporter->look;
}

/* Whether the thread has ended by then. */
static bool
join(struct tripd_exporter *exporter, uint64_t ns)
{
	uint64_t until = now_ns(CLOCK_REALTIME) + ns;
	const struct timespec at = {
		.tv_sec = (time_t)(until / 1000000000), .tv_nsec = (long)(until % 1000000000)};

	return pthread_timedjoin_np(exporter->thread, NULL, &at) == 0;
}

/* A resolver may hold the thread up, which no bell reaches: it then finds that the look was taken
 * back. */
void
tripd_exporter_close(struct tripd_exporter *exporter, struct tripd_exporter_state *state)
{
	/* What is left behind is no leak. */
	static struct tripd_exporter *left_behind;
	bool ended = join(exporter, END_NS);
	int given = LOOK_GIVEN;

	if (!ended) {
		ring(exporter->bell);
		ended = join(exporter, HURRY_NS);
	}
	if (!ended &&
		!atomic_compare_exchange_strong(&exporter->look_state, &given, LOOK_TAKEN_BACK) &&
		given == LOOK_READ)
		/* It waits for nobody while it reads. */
		ended = pthread_join(exporter->thread, NULL) == 0;
	tripd_exporter_state(exporter, state);
	if (ended)
		free_exporter(exporter);
	else
		left_behind = exporter;
	if (!ended && state->error == 0)
		state->error = -ETIMEDOUT;
	(void)left_behind;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A secondary that writes garbage over what it shares with the homes, rings them for anything, and
 * silences whoever rings, makes them do nothing but operate on wrong objects, and others wait a
 * while; one that sends garbage, nothing that it may not; and one that leaves full what it is
 * signalled by, and reads nothing, keeps nobody waiting.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "baseline.h"
#include "domain/domain.h"
#include "family.h"
#include "secondary/link.h"
#include "primary/request.h"
#include "primary/server.h"
#include "waiter.h"

/* ---- garbage ----------------------------------------------------------------------------------
 */

static struct trip_random scribbler;

static void
scribble(void *memory, size_t size)
{
	unsigned char *bytes = memory;
	uint64_t n = 1 + trip_random_below(&scribbler, 64);

	/* Small numbers pass the first checks and meet the next ones. */
	for (uint64_t i = 0; i < n; i++)
		bytes[trip_random_below(&scribbler, size)] =
			trip_random_below(&scribbler, 2) == 0
				? (unsigned char)trip_random_u64(&scribbler)
				: (unsigned char)trip_random_below(&scribbler, 8);
}

/* From the submission ring, which comes first, to the end of the descriptors. */
static void
scribble_channel(struct trip_home *home, struct trip_submitter *submitter)
{
	const struct trip_channel_client *channel = submitter->channel;
	unsigned char *first = (unsigned char *)channel->submit.ring;
	unsigned char *end = (unsigned char *)&channel->map.desc[channel->map.slots];

	switch (trip_random_below(&scribbler, 4)) {
	case 0:
		scribble(
			channel->submit.ring, sizeof(struct trip_ring) + 4u * channel->submit.size);
		break;
	case 1:
		scribble(channel->map.state, 8u * channel->map.slots);
		break;
	case 2:
		scribble(channel->map.desc, sizeof(*channel->map.desc) * channel->map.slots);
		break;
	default:
		scribble(first, (size_t)(end - first));
	}
	trip_doorbell_ring(&home->doorbell, TRIP_BELL_CHANNEL, submitter->number);
}

static void
scribble_events_and_waiters(struct trip_home *home)
{
	scribble(home->events->shared, 128);
	for (uint32_t i = 0; i < home->shape.n_waiters; i++)
		if (home->waiters[i].word != 0 && trip_random_below(&scribbler, 8) == 0) {
			atomic_store(&home->waiters[i].cntr, (uint32_t)trip_random_u64(&scribbler));
			atomic_store(
				&home->waiters[i].signals, (uint32_t)trip_random_u64(&scribbler));
			atomic_store(&home->waiters[i].threshold, trip_random_u64(&scribbler));
			trip_doorbell_ring(&home->doorbell, TRIP_BELL_WAITER, i);
		}
}

/* Of all sections: also for what control threads ask for, and ports' workers. */
static void
ring_any(struct trip_home *home)
{
	unsigned int bell = (unsigned int)trip_random_below(&scribbler, TRIP_BELLS);

	trip_doorbell_ring(&home->doorbell, bell,
		(uint32_t)trip_random_below(&scribbler, home->doorbell.section[bell].count));
}

/* What anybody has rung for. */
static void
silence_any(struct trip_home *home)
{
	unsigned int bell = (unsigned int)trip_random_below(&scribbler, TRIP_BELLS);
	const struct trip_doorbell_section *section = &home->doorbell.section[bell];

	atomic_store(&section->leaf[trip_random_below(&scribbler, section->leaves)], 0);
	if (trip_random_below(&scribbler, 2) == 0)
		atomic_store(&home->doorbell.summary[section->first], 0);
}

static void
play_scribbler(const char *arg)
{
	struct trip_work work = {
		.size = sizeof(work), .op_type = TRIP_OP_CNTR_ADD, .op.cntr = {.value = 1}};
	struct trip_cntr *armed;
	uint64_t id;

	scribbler.state = strtoull(arg, NULL, 0);
	family_attach();
	work.triggering_cntr = family_find("theirs", TRIP_WAIT_NONE);
	work.op.cntr.cntr = family_cntr("own", TRIP_WAIT_UNSPEC);
	armed = family_find("theirs", TRIP_WAIT_FD);
	family_say('s');
	for (;;) {
		uint32_t h = (uint32_t)trip_random_below(&scribbler, family_domain->engine.n_homes);

		work.threshold = trip_random_below(&scribbler, 1000);
		work.op_type = trip_random_below(&scribbler, 2) == 0 ? TRIP_OP_CNTR_ADD
								     : TRIP_OP_CNTR_FILL;
		work.op.fill.limit = trip_random_below(&scribbler, 1000);
		(void)trip_work_queue(family_domain, &work, &id);
		(void)trip_cntr_arm(armed, trip_random_below(&scribbler, 1000));
		scribble_channel(family_domain->engine.homes[h], family_domain->submitters[h]);
		scribble_events_and_waiters(family_domain->engine.homes[h]);
		ring_any(family_domain->engine.homes[h]);
		silence_any(family_domain->engine.homes[h]);
	}
}

/* A request that is well formed; what it says is random. */
static size_t
babble(struct trip_protocol_head *head, unsigned char *body)
{
	unsigned int type;
	size_t size;

	do
		type = (unsigned int)trip_random_below(&scribbler, TRIP_PROTOCOL_TYPES);
	while (trip_request_of(type) == NULL || type == TRIP_PROTOCOL_DETACH);
	size = trip_request_of(type)->size;
	for (size_t at = 0; at < size; at++)
		body[at] = trip_random_below(&scribbler, 8) == 0
				   ? (unsigned char)trip_random_u64(&scribbler)
				   : (unsigned char)trip_random_below(&scribbler, 3) / 2;
	if ((type == TRIP_PROTOCOL_OPEN || type == TRIP_PROTOCOL_FOUND) &&
		trip_random_below(&scribbler, 2) == 0)
		snprintf((char *)body, 8, trip_random_below(&scribbler, 2) ? "theirs" : "a%c",
			'a' + (int)trip_random_below(&scribbler, 26));
	*head = (struct trip_protocol_head){.magic = TRIP_PROTOCOL_MAGIC,
		.version = TRIP_PROTOCOL_VERSION,
		.type = (uint16_t)type,
		.size = (uint32_t)(sizeof(*head) + size)};
	/* Some are garbage as a whole, and end the connection. */
	if (trip_random_below(&scribbler, 2000) == 0)
		scribble(head, sizeof(*head));
	return sizeof(*head) + size;
}

/* Requests of an attached process, by its own connection. */
static void
play_babbler(const char *arg)
{
	struct {
		struct trip_protocol_head head;
		union trip_protocol_request request;
	} message;
	struct trip_protocol_reply reply;
	int socket;

	scribbler.state = strtoull(arg, NULL, 0);
	family_attach();
	socket = trip_client_socket(family_domain->link->client);
	family_say('s');
	for (;;) {
		size_t size = babble(&message.head, (unsigned char *)&message.request);

		if (send(socket, &message, size, MSG_NOSIGNAL) != (ssize_t)size ||
			recv(socket, &reply, sizeof(reply), 0) <= 0)
			break;
	}
	/* Whose connection has ended keeps what it has until it ends. */
	for (;;)
		pause();
}

/* Beside it, the primary works and waits as ever. */
struct innocent {
	struct trip_cntr *trigger, *done;
	uint64_t n;
};

static void
open_innocent(struct innocent *innocent)
{
	innocent->trigger = family_cntr(NULL, TRIP_WAIT_NONE);
	innocent->done = family_cntr(NULL, TRIP_WAIT_UNSPEC);
	innocent->n = 0;
}

/* An item each for the trigger's next value, and one that is taken back. */
static void
work(struct innocent *innocent)
{
	struct trip_work work = {.size = sizeof(work),
		.op_type = TRIP_OP_CNTR_ADD,
		.triggering_cntr = innocent->trigger,
		.threshold = ++innocent->n,
		.op.cntr = {.cntr = innocent->done, .value = 1}};
	uint64_t id;

	assert_int_equal(trip_work_queue(family_domain, &work, NULL), 0);
	work.threshold = TRIP_CNTR_MAX;
	assert_int_equal(trip_work_queue(family_domain, &work, &id), 0);
	assert_int_equal(trip_work_cancel(family_domain, id), 0);
	assert_int_equal(trip_cntr_add(innocent->trigger, 1), 0);
}

static void
close_innocent(struct innocent *innocent)
{
	assert_int_equal(trip_cntr_close(innocent->trigger), 0);
	assert_int_equal(trip_cntr_close(innocent->done), 0);
}

/* What was silenced last is repaired by the second whole pass from now on, at the latest. */
static void
let_scrub(void)
{
	for (uint32_t i = 0; i < family_domain->engine.n_homes; i++)
		for (unsigned int passes = 0; passes < 3; passes++) {
			const struct trip_home *home = family_domain->engine.homes[i];
			uint64_t next = home->scrub.next_tsc;

			family_until(home->scrub.next_tsc != next);
		}
}

/* One after the other, for some seconds; what each leaves is cleared away. */
static void
endure(const char *part, struct trip_domain_stats *stats)
{
	struct trip_random random = {.state = trip_test_seed(part)};
	double ticks = trip_test_seconds(3) * (double)rte_get_tsc_hz();
	uint64_t iterations = 0;
	struct trip_cntr *theirs;
	struct innocent innocent;
	uint64_t deadline;
	struct baseline baseline;
	unsigned int n;

	family_open(TRIP_PROGRESS_MANUAL, &(struct trip_domain_attr){.scrub_us = 1000});
	open_innocent(&innocent);
	theirs = family_cntr("theirs", TRIP_WAIT_NONE);
	baseline_take(&baseline);
	deadline = rte_rdtsc() + (uint64_t)ticks;
	for (n = 0; rte_rdtsc() < deadline; n++) {
		struct family_child child;
		char seed[32];

		snprintf(seed, sizeof(seed), "%llu", (unsigned long long)trip_random_u64(&random));
		child = family_start(part, 8, seed);
		assert_int_equal(family_hear(&child), 's');
		/* On one processor, it needs its turns. */
		for (unsigned int i = 0; i < 2000; i++, iterations++)
			if (i % 100 == 0) {
				family_step();
				work(&innocent);
			} else {
				(void)trip_progress(family_domain);
			}
		assert_int_equal(trip_cntr_wait(innocent.done, innocent.n, -1), 0);
		/* Nor does it to the process itself. */
		assert_int_equal(waitpid(child.pid, NULL, WNOHANG), 0);
		family_kill(&child);
		let_scrub();
		baseline_expect(&baseline);
	}
	assert_int_equal(trip_domain_stats_read(family_domain, stats), 0);
	printf("%s: %u processes, %llu iterations, %llu items refused, %llu lost rings repaired; "
	       "longest iteration %.1f us\n",
		part, n, (unsigned long long)iterations, (unsigned long long)stats->refused,
		(unsigned long long)stats->scrub_repairs,
		(double)stats->longest_iteration_ns / 1000);
	close_innocent(&innocent);
	assert_int_equal(trip_cntr_close(theirs), 0);
	family_close();
}

static void
garbage_in_a_channel_does_no_harm(void **state)
{
	struct trip_domain_stats stats = {.size = sizeof(stats)};

	endure("scribbler", &stats);
	assert_true(stats.refused > 0);
}

static void
garbage_on_the_socket_does_no_harm(void **state)
{
	struct trip_domain_stats stats = {.size = sizeof(stats)};

	endure("babbler", &stats);
}

/* ---- stubbornness -----------------------------------------------------------------------------
 */

#define SIGNALS 400

static void
fill(int fd)
{
	const uint64_t most = UINT64_MAX - 1;

	fcntl(fd, F_SETFL, O_NONBLOCK);
	while (write(fd, &most, sizeof(most)) > 0)
		;
	fcntl(fd, F_SETFL, 0);
}

/* Whatever it can be signalled by is full, blocks, and is read by nobody: the helper, whom a mutex
 * keeps from it, either. */
static void
play_stubborn(const char *arg)
{
	struct trip_cntr *by_fd, *by_cond;
	struct trip_mutex_cond cond = {.size = sizeof(cond)};
	char path[32], target[64];
	int fd;

	family_attach();
	by_fd = family_find("theirs", TRIP_WAIT_FD);
	by_cond = family_find("theirs", TRIP_WAIT_MUTEX_COND);
	assert_int_equal(trip_cntr_control(by_fd, TRIP_GETWAIT, &fd), 0);
	assert_int_equal(trip_cntr_control(by_cond, TRIP_GETWAIT, &cond), 0);
	pthread_mutex_lock(cond.mutex);
	fill(fd);
	for (int i = 0; i < 256; i++) {
		memset(target, 0, sizeof(target));
		snprintf(path, sizeof(path), "/proc/self/fd/%d", i);
		if (readlink(path, target, sizeof(target) - 1) > 0 &&
			strstr(target, "[eventfd]") != NULL)
			fill(i);
	}
	for (unsigned int i = 1; i <= SIGNALS; i++) {
		assert_int_equal(trip_cntr_arm(by_fd, i), 0);
		assert_int_equal(trip_cntr_arm(by_cond, i), 0);
		family_say('a');
		family_listen();
	}
	assert_int_equal(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 0), 1);
	family_say('d');
	for (;;)
		pause();
}

static void
no_client_stalls_a_home(void **state)
{
	struct family_child child;
	struct trip_cntr *theirs;
	struct baseline baseline;

	family_open(TRIP_PROGRESS_MANUAL, NULL);
	theirs = family_cntr("theirs", TRIP_WAIT_NONE);
	baseline_take(&baseline);
	child = family_start("stubborn", 8, NULL);
	for (unsigned int i = 1; i <= SIGNALS; i++) {
		assert_int_equal(family_hear(&child), 'a');
		trip_cntr_add(theirs, 1);
		/* A stalled home is this thread. */
		alarm(60);
		baseline_settle();
		family_tell(&child, 'n');
	}
	alarm(0);
	assert_int_equal(family_hear(&child), 'd');
	family_kill(&child);
	baseline_expect(&baseline);
	assert_int_equal(trip_cntr_close(theirs), 0);
	family_close();
}

static const struct family_part parts[] = {
	{"stubborn", play_stubborn},
	{"babbler", play_babbler, false},
	{"scribbler", play_scribbler},
	{NULL, NULL},
};

static int
run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(garbage_in_a_channel_does_no_harm),
		cmocka_unit_test(garbage_on_the_socket_does_no_harm),
		cmocka_unit_test(no_client_stalls_a_home),
	};

	return family_run(tests);
}

int
main(int argc, char **argv)
{
	return family_main(argc, argv, parts, run);
}

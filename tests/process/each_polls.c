/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Statements that count by keys, over several processes: others find them, read them, count in the
 * tables of the queues that they poll, and may be stopped or killed at any instruction of that.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <rte_byteorder.h>

#include "flows.h"
#include "flow/each.h"

#define QUEUES 2
#define MAX 1
#define LONG_US (UINT64_C(3600) * 1000000)
/* More than a table has room for. */
#define MANY 1400
/* Of a key, when it trips. */
#define COUNT 4

static const struct trip_each_part by_port[] = {{TRIP_EACH_L4_DST, 0}};

/* ---- in any process ---------------------------------------------------------------------------
 */

static int
sum_up(const struct trip_each_entry *entry, void *arg)
{
	*(uint64_t *)arg += entry->packets + entry->anew_packets;
	return 0;
}

static struct trip_each_info
query(const struct trip_each *each)
{
	struct trip_each_info info = {.size = sizeof(info)};

	if (trip_each_query(each, &info) != 0)
		fail_msg("%s", trip_error_message());
	return info;
}

/* Packets of all keys, and of the remainder. */
static uint64_t
packets_of_all(const struct trip_each *each)
{
	uint64_t packets = query(each).remainder_packets;

	assert_int_equal(trip_each_walk(each, sum_up, &packets), 0);
	return packets;
}

static int
packets_of(const struct trip_each *each, uint16_t key)
{
	struct trip_each_entry entry = {.size = sizeof(entry)};
	const uint16_t bytes = rte_cpu_to_be_16(key);
	int error = trip_each_read(each, &bytes, &entry);

	return error == 0 ? (int)entry.packets : error;
}

/* ---- the part ---------------------------------------------------------------------------------
 */

enum action {
	POLL,
	RELEASE,
	FIND,
	READ,
	ALL,
	FIRST,
	LET_GO,
	LEAVE,
};

struct order {
	enum action action;
	uint16_t queue, key, n;
	char name[TRIP_NAME_MAX + 1];
};

static struct trip_each *found;

static int
obey(struct trip_port *port, const struct order *order)
{
	struct trip_each_entry entry;

	switch (order->action) {
	case POLL:
		return flows_burst(port, order->queue, order->key, order->n);
	case RELEASE:
		return trip_port_release(port, TRIP_FLOW_INGRESS, order->queue);
	case FIND:
		return trip_each_find(family_domain, order->name, &found);
	case READ:
		return packets_of(found, order->key);
	case ALL:
		return (int)packets_of_all(found);
	case FIRST:
		assert_int_equal(
			trip_each_top(found, TRIP_EACH_PACKETS, &entry, sizeof(entry), 1), 1);
		return entry.key[0] << 8 | entry.key[1];
	default:
		return trip_each_close(found);
	}
}

static void
play_poller(const char *arg)
{
	struct trip_port *port;
	struct order order;

	family_attach();
	port = flows_find();
	family_say('r');
	while (family_receive(FAMILY_HEARD, &order, sizeof(order)) && order.action != LEAVE) {
		int answer = obey(port, &order);

		assert_true(family_send(FAMILY_SAID, &answer, sizeof(answer)));
	}
	assert_int_equal(trip_port_close(port), 0);
	assert_int_equal(family_try_close(), 0);
}

/* ---- the primary ------------------------------------------------------------------------------
 */

static struct trip_each *each;
static struct trip_cntr *trips;
static uint64_t cost;

static struct trip_each_attr
attr_of(const char *name)
{
	static const struct trip_each_when when = {.count = COUNT};

	return (struct trip_each_attr){.size = sizeof(struct trip_each_attr),
		.name = name,
		.ports = &flows_port,
		.n_ports = 1,
		.parts = by_port,
		.n_parts = 1,
		.max = MAX,
		.idle_us = LONG_US,
		.whens = &when,
		.n_whens = 1};
}

static int
try_each(const char *name, struct trip_each **out)
{
	const struct trip_each_attr attr = attr_of(name);

	return trip_each_open(family_domain, &attr, out);
}

/* With room for two statements. */
static void
open_all(void)
{
	struct trip_domain_attr tune = {.refresh_us = 4000000000, .scrub_us = 4000000000};
	const struct trip_each_attr attr = attr_of("keys");

	assert_int_equal(trip_each_footprint(&attr, QUEUES, &cost), 0);
	tune.each_bytes = 2 * cost;
	family_open(TRIP_PROGRESS_MANUAL, &tune);
	flows_open_port(QUEUES);
	if (try_each("keys", &each) != 0)
		fail_msg("%s", trip_error_message());
}

static void
close_all(void)
{
	if (trip_each_close(each) != 0)
		fail_msg("%s", trip_error_message());
	flows_close_port();
	family_close();
}

static struct family_child
start_poller(unsigned int lcore)
{
	struct family_child child = family_start("poller", lcore, NULL);

	assert_int_equal(family_hear(&child), 'r');
	return child;
}

static int
hear(const struct family_child *child)
{
	int answer;

	assert_true(family_receive(child->from, &answer, sizeof(answer)));
	return answer;
}

static int
ask(const struct family_child *child, enum action action, uint16_t queue, uint16_t key, uint16_t n)
{
	const struct order order = {action, queue, key, n, ""};

	assert_true(family_send(child->to, &order, sizeof(order)));
	return hear(child);
}

static int
find(const struct family_child *child, const char *name)
{
	struct order order = {.action = FIND};

	strcpy(order.name, name);
	assert_true(family_send(child->to, &order, sizeof(order)));
	return hear(child);
}

static void
leave(struct family_child *child)
{
	const struct order order = {.action = LEAVE};

	assert_true(family_send(child->to, &order, sizeof(order)));
	family_join(child);
	family_until(family_attached() == 0);
}

/* Each counts in the tables of its queue, and all see the sums of both. */
static void
others_find_read_and_count(void **state)
{
	struct family_child poller;
	struct trip_each *other;

	open_all();
	poller = start_poller(8);
	assert_int_equal(find(&poller, "nothing"), -ENOENT);
	assert_int_equal(find(&poller, "keys"), 0);
	assert_int_equal(ask(&poller, POLL, 1, 53, 5), 5);
	assert_int_equal(flows_burst(flows_port, 0, 53, 4), 4);
	assert_int_equal(flows_burst(flows_port, 0, 54, 8), 8);
	assert_int_equal(packets_of(each, 53), 9);
	assert_int_equal(ask(&poller, READ, 0, 53, 0), 9);
	assert_int_equal(ask(&poller, READ, 0, 55, 0), -ENOENT);
	assert_int_equal(ask(&poller, ALL, 0, 0, 0), 17);
	assert_int_equal(ask(&poller, FIRST, 0, 0, 0), 53);
	/* One that is opened while it polls counts from its next burst on. */
	assert_int_equal(try_each("other", &other), 0);
	assert_int_equal(ask(&poller, POLL, 1, 56, 3), 3);
	assert_int_equal(packets_of(other, 56), 3);
	assert_int_equal(packets_of(each, 56), 3);
	assert_int_equal(trip_each_close(other), 0);
	assert_int_equal(ask(&poller, POLL, 1, 56, 3), 3);
	assert_int_equal(packets_of(each, 56), 6);
	/* It stays as long as somebody has found it. */
	assert_int_equal(trip_each_close(each), -EBUSY);
	assert_int_equal(ask(&poller, LET_GO, 0, 0, 0), 0);
	assert_int_equal(find(&poller, "keys"), 0);
	assert_int_equal(trip_each_close(each), -EBUSY);
	family_kill(&poller);
	/* What it had found it has let go of; what it has counted stays. */
	assert_int_equal(query(each).packets, 23);
	close_all();
}

/* ---- who dies ---------------------------------------------------------------------------------
 */

static const struct trip_claim *
claim_of(uint16_t queue)
{
	return &family_domain->engine.claims[flows_port->sides[0].first_queue + queue];
}

static bool
is_in_burst(uint16_t queue)
{
	return atomic_load(&claim_of(queue)->since) != TRIP_ERA_IDLE;
}

static void
step(pid_t pid, enum __ptrace_request request)
{
	int status;

	assert_int_equal(ptrace(request, pid, NULL, NULL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSTOPPED(status));
}

/* Stops a poller some instructions into a burst, or behind it. */
static void
step_into_burst(
	const struct family_child *child, uint16_t queue, uint16_t key, uint16_t n, uint64_t steps)
{
	const struct order order = {POLL, queue, key, n, ""};

	assert_int_equal(ptrace(PTRACE_SEIZE, child->pid, NULL, NULL), 0);
	step(child->pid, PTRACE_INTERRUPT);
	assert_true(family_send(child->to, &order, sizeof(order)));
	while (!is_in_burst(queue))
		step(child->pid, PTRACE_SINGLESTEP);
	for (uint64_t s = 0; s < steps && is_in_burst(queue); s++)
		step(child->pid, PTRACE_SINGLESTEP);
}

/* Of a burst, or of putting in order what another one has left: about. */
#define BURST_LENGTH 6000

static void
check_tables(uint64_t seen)
{
	struct trip_each_info info = query(each);

	for (uint32_t i = 0; i < QUEUES; i++) {
		const char *broken = trip_keyed_check(trip_each_table_at(each, i));

		if (broken != NULL)
			fail_msg("it does not hold that %s", broken);
	}
	assert_int_equal(info.packets, seen);
	assert_int_equal(packets_of_all(each), seen);
}

/* What it has counted stays counted, and whoever polls the queue next counts on: to the packet. */
static void
each_03_a_killed_poller_loses_nothing(void **state)
{
	struct trip_random random = {.state = trip_test_seed("each_03_killed")};
	uint64_t rounds = trip_test_rounds(24), seen = 0;
	struct family_child poller;

	open_all();
	/* The tables are full, so that keys go as well. */
	for (uint16_t i = 0; i < MANY; i++, seen++)
		assert_int_equal(flows_burst(flows_port, 0, (uint16_t)(1000 + i), 1), 1);
	assert_int_equal(trip_port_release(flows_port, TRIP_FLOW_INGRESS, 0), 0);
	for (uint64_t round = 0; round < rounds; round++) {
		uint16_t key = (uint16_t)(5000 + round);

		poller = start_poller(8);
		/* Every other one has taken over before. */
		if (round % 2 == 0)
			assert_int_equal(ask(&poller, POLL, 0, 7, 2), 2);
		seen += round % 2 == 0 ? 2 : 0;
		step_into_burst(&poller, 0, key, 5, trip_random_below(&random, BURST_LENGTH));
		family_kill(&poller);
		assert_false(is_in_burst(0));
		/* Readers have whole entries before anybody has looked after them. */
		trip_assert_range(packets_of_all(each), seen, seen + 5);
		if (round % 4 < 2) {
			assert_int_equal(trip_port_claim(flows_port, TRIP_FLOW_INGRESS, 0), 0);
			trip_assert_range(query(each).packets, seen, seen + 5);
			seen = query(each).packets;
			assert_int_equal(flows_burst(flows_port, 0, key, 3), 3);
			check_tables(seen += 3);
			assert_true(packets_of(each, key) >= 3);
			assert_int_equal(trip_port_release(flows_port, TRIP_FLOW_INGRESS, 0), 0);
			continue;
		}
		poller = start_poller(9);
		assert_int_equal(ask(&poller, POLL, 0, key, 3), 3);
		trip_assert_range(query(each).packets, seen + 3, seen + 8);
		seen = query(each).packets;
		check_tables(seen);
		leave(&poller);
	}
	close_all();
}

/* It has looked which statements there are, and not counted yet. */
#define BURST_BEGUN 400

/* It holds up the memory of what was closed, and nobody. */
static void
who_is_stopped_keeps_the_tables(void **state)
{
	struct trip_each *more, *none;
	struct family_child poller;

	open_all();
	poller = start_poller(8);
	assert_int_equal(ask(&poller, POLL, 0, 53, 2), 2);
	step_into_burst(&poller, 0, 53, 5, BURST_BEGUN);
	assert_true(is_in_burst(0));
	assert_int_equal(ptrace(PTRACE_DETACH, poller.pid, NULL, SIGSTOP), 0);
	assert_int_equal(trip_each_close(each), 0);
	/* The name is free, and what is left of the memory. */
	assert_int_equal(try_each("keys", &each), 0);
	assert_int_equal(try_each("more", &none), -ENOSPC);
	assert_int_equal(flows_burst(flows_port, 1, 53, 4), 4);
	assert_int_equal(query(each).packets, 4);
	kill(poller.pid, SIGCONT);
	assert_int_equal(hear(&poller), 5);
	assert_int_equal(query(each).packets, 4);
	assert_int_equal(ask(&poller, POLL, 0, 53, 6), 6);
	assert_int_equal(query(each).packets, 10);
	assert_int_equal(try_each("more", &more), 0);
	assert_int_equal(query(more).packets, 0);
	/* Stopped, and killed: then it is free, too. */
	step_into_burst(&poller, 0, 53, 5, BURST_BEGUN);
	assert_int_equal(ptrace(PTRACE_DETACH, poller.pid, NULL, SIGSTOP), 0);
	assert_int_equal(trip_each_close(more), 0);
	assert_int_equal(try_each("more", &none), -ENOSPC);
	family_kill(&poller);
	assert_int_equal(try_each("more", &more), 0);
	assert_int_equal(trip_each_close(more), 0);
	close_all();
}

/* ---- trips ----
 */

static uint16_t
key_of(const struct trip_each_trip *trip)
{
	return (uint16_t)(trip->key[0] << 8 | trip->key[1]);
}

/* How often a key has tripped; each of its trips is of enough packets. */
static unsigned int
trips_of(uint16_t key)
{
	struct trip_each_trip some[16];
	unsigned int times = 0;
	uint64_t next = 0;
	int n;

	for (; (n = trip_each_trips(each, next, some, sizeof(some[0]), 16)) > 0; next += n)
		for (int i = 0; i < n; i++) {
			assert_int_equal(some[i].number, next + (uint64_t)i);
			assert_true(some[i].packets >= COUNT);
			times += key_of(&some[i]) == key;
		}
	return times;
}

/* Kills a poller in the middle of what takes a key to its count; or of taking the queue over. */
static void
kill_at(uint16_t key, uint64_t steps, bool taken)
{
	struct family_child poller = start_poller(8);

	if (taken)
		assert_int_equal(ask(&poller, POLL, 0, (uint16_t)(key + 10000), 1), 1);
	step_into_burst(&poller, 0, key, 2, steps);
	family_kill(&poller);
	assert_false(is_in_burst(0));
}

/* Whoever polls the queue next tells what its last one had counted, or was about to tell: each key
 * that has enough, once, and the counter knows. */
static void
each_04_a_killed_poller_misses_no_trip(void **state)
{
	struct trip_random random = {.state = trip_test_seed("each_04_killed")};
	uint64_t rounds = trip_test_rounds(24), told = 0;
	struct trip_cntr_attr attr = {.size = sizeof(attr), .name = "trips"};
	struct trip_each_attr each_attr = attr_of("trips");

	open_all();
	assert_int_equal(trip_each_close(each), 0);
	assert_int_equal(trip_cntr_open(family_domain, &attr, &trips, NULL), 0);
	each_attr.trips = trips;
	assert_int_equal(trip_each_open(family_domain, &each_attr, &each), 0);
	for (uint64_t round = 0; round < rounds; round++) {
		uint16_t key = (uint16_t)(100 + round);

		/* On both queues, or on that one alone. */
		assert_int_equal(flows_burst(flows_port, round % 2, key, COUNT - 2), COUNT - 2);
		if (round % 2 == 0)
			assert_int_equal(trip_port_release(flows_port, TRIP_FLOW_INGRESS, 0), 0);
		kill_at(key, trip_random_below(&random, BURST_LENGTH / 2), round % 8 != 7);
		/* It has been told by then, or not. */
		trip_assert_range(trips_of(key), 0, 1);
		assert_int_equal(trip_port_claim(flows_port, TRIP_FLOW_INGRESS, 0), 0);
		assert_int_equal(flows_burst(flows_port, 0, 0, 0), 0);
		assert_int_equal(trips_of(key), packets_of(each, key) >= COUNT);
		told += trips_of(key);
		assert_int_equal(flows_burst(flows_port, 0, key, 3), 3);
		assert_int_equal(trips_of(key), 1);
		assert_int_equal(query(each).trips, round + 1);
		assert_int_equal(trip_cntr_read(trips), round + 1);
		assert_int_equal(trip_port_release(flows_port, TRIP_FLOW_INGRESS, 0), 0);
	}
	printf("%llu of %llu had been counted\n", (unsigned long long)told,
		(unsigned long long)rounds);
	assert_int_equal(trip_each_close(each), 0);
	assert_int_equal(trip_cntr_close(trips), 0);
	each = NULL;
	flows_close_port();
	family_close();
}

/* ---- lives ------------------------------------------------------------------------------------
 */

/* Of these, all(2, any(3, a time that never comes)); and a rate, of which nothing leaks in a test.
 */
static const struct trip_each_when lives_whens[] = {{.count = COUNT}, {.count = 2, .every = 1},
	{.group = TRIP_EACH_ALL}, {.rate = 1, .seconds = UINT32_MAX, .burst = 2, .again = 1}};
static const struct trip_each_act lives_acts[] = {{.op = TRIP_EACH_OP_RESET}, {0}, {0}, {0}};
static const struct trip_each_member lives_members[] = {{.when = {.count = 2}, .of = 2},
	{.when = {.group = TRIP_EACH_ANY}, .of = 2}, {.when = {.count = 3}, .of = 2, .within = 2},
	{.when = {.quiet_us = UINT64_C(1800) * 1000000}, .of = 2, .within = 2}};

/* Of a key, in the order of its trips: each crossing is in one of them, all of a life come before
 * its end, and lives and the rest together are what was counted; no rate is told of what another
 * trip of it was told of. Returns what was counted. */
static uint64_t
check_lives(uint16_t key)
{
	struct trip_each_entry entry = {.size = sizeof(entry)};
	const uint16_t bytes = rte_cpu_to_be_16(key);
	struct trip_each_trip trip;
	uint64_t next = 0, told = 0, lives = 0, crossings = 0, all = 0, rated = 0;

	for (; trip_each_trips(each, next, &trip, sizeof(trip), 1) > 0; next = trip.number + 1) {
		if (key_of(&trip) != key)
			continue;
		assert_true(trip.packets >= lives_whens[trip.when].count);
		crossings += trip.when == 1 ? trip.times : 0;
		assert_int_equal(crossings, trip.packets - 1);
		all += trip.when == 2;
		assert_true(all == 0 || trip.packets >= 3);
		assert_true(trip.when != 3 || trip.packets >= rated + 3);
		rated = trip.when == 3 ? trip.packets : rated;
		if (trip.when != 0)
			continue;
		assert_int_equal(all, 1);
		lives++;
		told += trip.packets;
		crossings = all = rated = 0;
	}
	assert_int_equal(trip_each_read(each, &bytes, &entry), 0);
	assert_int_equal(entry.anew, lives);
	assert_int_equal(entry.anew_packets, told);
	assert_true(entry.packets < COUNT);
	assert_int_equal(crossings, entry.packets < 2 ? 0 : entry.packets - 1);
	assert_int_equal(all, entry.packets >= 3);
	return entry.packets + told;
}

/* One that is killed on the way from one life of a key to the next, in the middle of that, or as it
 * takes over what another has left: nothing is lost of either, and nothing is in both. */
static void
each_03_a_killed_poller_is_in_one_life(void **state)
{
	struct trip_random random = {.state = trip_test_seed("each_03_one_life")};
	uint64_t rounds = trip_test_rounds(32), anew = 0;
	struct trip_each_attr attr = attr_of("lives");

	open_all();
	assert_int_equal(trip_each_close(each), 0);
	attr.whens = lives_whens;
	attr.acts = lives_acts;
	attr.n_whens = RTE_DIM(lives_whens);
	attr.members = lives_members;
	attr.n_members = RTE_DIM(lives_members);
	assert_int_equal(trip_each_open(family_domain, &attr, &each), 0);
	for (uint64_t round = 0; round < rounds; round++) {
		uint16_t key = (uint16_t)(100 + round);
		uint64_t counted;

		assert_int_equal(flows_burst(flows_port, round % 2, key, COUNT - 2), COUNT - 2);
		if (round % 2 == 0)
			assert_int_equal(trip_port_release(flows_port, TRIP_FLOW_INGRESS, 0), 0);
		kill_at(key, trip_random_below(&random, BURST_LENGTH), round % 8 != 7);
		/* The other queue may come first, before anybody has looked after it. */
		if (round % 4 < 2)
			assert_int_equal(flows_burst(flows_port, 1, key, 1), 1);
		assert_int_equal(trip_port_claim(flows_port, TRIP_FLOW_INGRESS, 0), 0);
		assert_int_equal(flows_burst(flows_port, 0, 0, 0), 0);
		counted = check_lives(key);
		trip_assert_range(counted, COUNT - 2u, COUNT + 1u);
		anew += counted >= COUNT;
		for (unsigned int i = 0; i < 2 * COUNT; i++, counted++) {
			assert_int_equal(flows_burst(flows_port, (uint16_t)(i % 2), key, 1), 1);
			assert_int_equal(check_lives(key), counted + 1);
		}
		check_tables(query(each).packets);
		assert_int_equal(trip_port_release(flows_port, TRIP_FLOW_INGRESS, 0), 0);
	}
	printf("%llu of %llu had begun anew\n", (unsigned long long)anew,
		(unsigned long long)rounds);
	close_all();
}

/* ---- secrets ----------------------------------------------------------------------------------
 */

#define SECRET_KEYS 1024u

/* In which of as many buckets each key is. */
static void
read_buckets(uint32_t *buckets)
{
	const struct trip_keyed *table = trip_each_table_at(each, 0);

	for (uint32_t i = 0; i < SECRET_KEYS; i++) {
		uint64_t key = rte_cpu_to_be_16((uint16_t)i);

		buckets[i] = (uint32_t)((trip_keyed_number(table, &key) >> 32) * SECRET_KEYS >> 32);
	}
}

/* Keys that shared a bucket in one run share one in the next no oftener than any others. */
static void
each_07_which_keys_share_a_bucket_is_a_secret(void **state)
{
	static uint32_t first[SECRET_KEYS], second[SECRET_KEYS];
	unsigned int together = 0, again = 0;

	open_all();
	read_buckets(first);
	close_all();
	open_all();
	read_buckets(second);
	close_all();
	for (uint32_t i = 0; i < SECRET_KEYS; i++)
		for (uint32_t k = 0; k < i; k++) {
			together += first[i] == first[k];
			again += first[i] == first[k] && second[i] == second[k];
		}
	/* 512 are to be expected, and of these one or none again. */
	trip_assert_range(together, 300, 800);
	trip_assert_range(again, 0, 10);
}

static int
play_all(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(others_find_read_and_count),
		cmocka_unit_test(each_03_a_killed_poller_loses_nothing),
		cmocka_unit_test(each_04_a_killed_poller_misses_no_trip),
		cmocka_unit_test(each_03_a_killed_poller_is_in_one_life),
		cmocka_unit_test(who_is_stopped_keeps_the_tables),
		cmocka_unit_test(each_07_which_keys_share_a_bucket_is_a_secret),
	};

	return family_run(tests);
}

int
main(int argc, char **argv)
{
	static const struct family_part parts[] = {{"poller", play_poller}, {0}};

	return flows_main(argc, argv, parts, play_all);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The domain's socket: what clients that do not attach see of a domain. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <rte_common.h>

#include "domain/domain.h"
#include "socket_bed.h"
#include "work/submitter.h"

static void
domain_is_described(void **state)
{
	struct trip_client_domain seen[2];
	struct trip_client_process process;
	struct trip_client_home homes[3];
	uint64_t cursor = 0;

	assert_int_equal(trip_client_list(socket_client, TRIP_CLIENT_DOMAIN, &cursor, seen,
				 sizeof(*seen), 2),
		1);
	assert_string_equal(seen->name, "seen");
	assert_int_equal(seen->max_cntrs, 300);
	assert_int_equal(seen->homes, 2);
	assert_int_equal(seen->pid, getpid());
	assert_int_equal(seen->progress, TRIP_PROGRESS_MANUAL);
	assert_true(seen->generation > 0);
	assert_int_equal(trip_client_list(socket_client, TRIP_CLIENT_DOMAIN, &cursor, seen,
				 sizeof(*seen), 2),
		0);
	cursor = 0;
	assert_int_equal(trip_client_list(socket_client, TRIP_CLIENT_HOME, &cursor, homes,
				 sizeof(*homes), 3),
		2);
	assert_int_equal(homes[1].index, 1);
	assert_int_equal(homes[1].lcore, UINT32_MAX);
	cursor = 0;
	assert_int_equal(trip_client_list(socket_client, TRIP_CLIENT_PROCESS, &cursor, &process,
				 sizeof(process), 1),
		1);
	assert_int_equal(process.pid, getpid());
	assert_int_equal(process.state, TRIP_CLIENT_PRIMARY);
}

/* More than one reply holds, and some in the middle are closed. */
static void
all_counters_are_listed(void **state)
{
	struct trip_cntr *cntrs[250];
	struct trip_client_cntr seen[60];
	uint64_t cursor = 0, sum = 0;
	unsigned int n = 0;
	int got;

	for (unsigned int i = 0; i < 250; i++) {
		cntrs[i] = socket_cntr(NULL);
		trip_cntr_add(cntrs[i], i);
	}
	for (unsigned int i = 100; i < 110; i++)
		assert_int_equal(trip_cntr_close(cntrs[i]), 0);
	while ((got = trip_client_list(
			socket_client, TRIP_CLIENT_CNTR, &cursor, seen, sizeof(*seen), 60)) > 0) {
		for (int i = 0; i < got; i++)
			sum += seen[i].success;
		n += (unsigned int)got;
	}
	assert_int_equal(got, 0);
	assert_int_equal(n, 240);
	assert_int_equal(sum, 249 * 250 / 2 - (100 + 109) * 10 / 2);
	for (unsigned int i = 0; i < 250; i++)
		if (i < 100 || i >= 110)
			assert_int_equal(trip_cntr_close(cntrs[i]), 0);
}

static void
counters_are_found_and_read(void **state)
{
	struct trip_cntr *cntr = socket_cntr("one");
	struct trip_client_cntr seen = socket_find("one"), again = {.size = sizeof(again)};
	char name[64];

	assert_string_equal(seen.name, "one");
	assert_int_equal(seen.pid, getpid());
	trip_cntr_add(cntr, 5);
	trip_cntr_adderr(cntr, 2);
	assert_int_equal(trip_client_read(socket_client, seen.id, &again), 0);
	assert_int_equal(again.success, 5);
	assert_int_equal(again.error, 2);
	assert_int_not_equal(again.errgen, seen.errgen);
	assert_int_equal(trip_client_find(socket_client, "two", &again), -ENOENT);
	assert_non_null(strstr(trip_error_message(), "two"));
	assert_int_equal(trip_client_find(socket_client, "no name", &again), -EINVAL);
	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	assert_int_equal(trip_client_find(socket_client, name, &again), -EINVAL);
	assert_int_equal(trip_cntr_close(cntr), 0);
	assert_int_equal(trip_client_read(socket_client, seen.id, &again), -ENOENT);
	/* Its index is used again, its id is not. */
	cntr = socket_cntr("one");
	assert_int_not_equal(socket_find("one").id, seen.id);
	assert_int_equal(trip_client_read(socket_client, seen.id, &again), -ENOENT);
	assert_int_equal(trip_client_read(socket_client, 0, &again), -ENOENT);
	assert_int_equal(trip_client_read(socket_client, UINT64_MAX, &again), -ENOENT);
	assert_int_equal(trip_cntr_close(cntr), 0);
}

static bool
is_size(size_t size, size_t known)
{
	return size >= sizeof(size_t) && size <= known && size % sizeof(size_t) == 0;
}

static void
expect_refused(int result, const char *name, size_t size)
{
	char text[64];

	snprintf(text, sizeof(text), "%s: size %zu is ", name, size);
	if (result != -EINVAL || strstr(trip_error_message(), text) != trip_error_message())
		fail_msg("%s of %zu bytes: %d, %s", name, size, result, trip_error_message());
}

/* Of a program of an earlier version; of a later one they are refused, by name. */
static void
records_may_be_shorter(void **state)
{
	static const struct {
		const char *name;
		enum trip_client_kind kind;
		size_t size;
	} kinds[] = {
		{"struct trip_client_domain", TRIP_CLIENT_DOMAIN,
			sizeof(struct trip_client_domain)},
		{"struct trip_client_cntr", TRIP_CLIENT_CNTR, sizeof(struct trip_client_cntr)},
		{"struct trip_client_work", TRIP_CLIENT_WORK, sizeof(struct trip_client_work)},
		{"struct trip_client_flow", TRIP_CLIENT_FLOW, sizeof(struct trip_client_flow)},
		{"struct trip_client_process", TRIP_CLIENT_PROCESS,
			sizeof(struct trip_client_process)},
		{"struct trip_client_home", TRIP_CLIENT_HOME, sizeof(struct trip_client_home)},
		{"struct trip_client_each", TRIP_CLIENT_EACH, sizeof(struct trip_client_each)},
	};
	struct trip_cntr *cntr = socket_cntr("one");
	unsigned char full[2048], some[2048];

	for (unsigned int i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t known = kinds[i].size;
		uint64_t cursor = 0;
		int n = trip_client_list(socket_client, kinds[i].kind, &cursor, full, known, 2),
		    got;

		assert_true(2 * known <= sizeof(full));
		assert_true(n >= 0);
		for (size_t size = 0; size <= known + 16; size++) {
			memset(some, 0xa5, sizeof(some));
			cursor = 0;
			got = trip_client_list(
				socket_client, kinds[i].kind, &cursor, some, size, 2);
			if (!is_size(size, known)) {
				expect_refused(got, kinds[i].name, size);
				continue;
			}
			assert_int_equal(got, n);
			for (int r = 0; r < n; r++) {
				assert_memory_equal(&some[r * size], &size, sizeof(size));
				assert_memory_equal(
					&some[r * size + 8], &full[r * known + 8], size - 8);
			}
			for (size_t at = (size_t)n * size; at < sizeof(some); at++)
				assert_int_equal(some[at], 0xa5);
		}
	}
	assert_int_equal(trip_cntr_close(cntr), 0);
}

static void
counters_seen_may_be_shorter(void **state)
{
	struct trip_cntr *cntr = socket_cntr("one");
	struct trip_client_cntr one = socket_find("one"), seen;
	uint32_t watch;
	int fd;

	assert_int_equal(trip_client_watch(socket_client, one.id, &watch, &fd), 0);
	for (size_t size = 0; size <= sizeof(seen) + 16; size++) {
		bool good = is_size(size, sizeof(seen));
		int results[3];

		memset(&seen, 0xa5, sizeof(seen));
		seen.size = size;
		results[0] = trip_client_find(socket_client, "one", &seen);
		if (!good)
			expect_refused(results[0], "struct trip_client_cntr", size);
		results[1] = trip_client_read(socket_client, one.id, &seen);
		if (!good)
			expect_refused(results[1], "struct trip_client_cntr", size);
		results[2] = trip_client_arm(socket_client, watch, 1000, &seen);
		if (!good)
			expect_refused(results[2], "struct trip_client_cntr", size);
		for (unsigned int i = 0; i < 3 && good; i++)
			assert_int_equal(results[i], 0);
		if (good)
			assert_memory_equal(&seen.id, &one.id, size - sizeof(size));
		for (size_t at = good ? size : sizeof(size); at < sizeof(seen); at++)
			assert_int_equal(((unsigned char *)&seen)[at], 0xa5);
	}
	assert_int_equal(trip_client_unwatch(socket_client, watch), 0);
	assert_int_equal(trip_cntr_close(cntr), 0);
}

static void
pending_work_is_listed(void **state)
{
	struct trip_cntr *trigger = socket_cntr("trigger"), *target = socket_cntr("target");
	struct trip_work work = {.size = sizeof(work),
		.triggering_cntr = trigger,
		.threshold = 100,
		.interval = 50,
		.context = 77,
		.op_type = TRIP_OP_CNTR_ADD,
		.op.cntr = {.cntr = target, .value = 3}};
	struct trip_client_work seen[4];
	uint64_t cursor = 0, id;

	assert_int_equal(trip_work_queue(socket_domain, &work, &id), 0);
	work.interval = 0;
	assert_int_equal(trip_work_queue(socket_domain, &work, NULL), 0);
	trip_cntr_add(trigger, 120);
	while (trip_progress(socket_domain) > 0)
		;
	assert_int_equal(
		trip_client_list(socket_client, TRIP_CLIENT_WORK, &cursor, seen, sizeof(*seen), 4),
		1);
	assert_int_equal(seen->id, id);
	assert_int_equal(seen->cntr, socket_find("trigger").id);
	assert_int_equal(seen->target, socket_find("target").id);
	assert_int_equal(seen->completion, 0);
	assert_int_equal(seen->threshold, 150);
	assert_int_equal(seen->interval, 50);
	assert_int_equal(seen->value, 3);
	assert_int_equal(seen->context, 77);
	assert_int_equal(seen->op, TRIP_OP_CNTR_ADD);
	assert_int_equal(seen->pid, getpid());
	assert_int_equal(seen->sum, 120);
	assert_string_equal(seen->function, "");
	assert_int_equal(seen->condition, TRIP_CONDITION_NONE);
	assert_int_equal(
		trip_client_list(socket_client, TRIP_CLIENT_WORK, &cursor, seen, sizeof(*seen), 4),
		0);
	assert_int_equal(trip_work_flush(socket_domain, NULL), 0);
	assert_int_equal(trip_cntr_close(trigger), 0);
	assert_int_equal(trip_cntr_close(target), 0);
}

/* The item by itself: its condition has a slot, which is none. */
static void
conditions_are_listed(void **state)
{
	const struct trip_condition idle = {
		.size = sizeof(idle), .kind = TRIP_CONDITION_IDLE, .when.idle.time = TRIP_CNTR_MAX};
	struct trip_cntr *cntr = socket_cntr("trigger");
	const struct trip_work work = {.size = sizeof(work),
		.triggering_cntr = cntr,
		.threshold = 7,
		.interval = 1,
		.condition = &idle,
		.op_type = TRIP_OP_CNTR_FILL,
		.op.fill = {.cntr = cntr, .limit = 5}};
	struct trip_client_work seen[4];
	uint64_t cursor = 0, id;

	assert_int_equal(trip_work_queue(socket_domain, &work, &id), 0);
	trip_cntr_add(cntr, 20);
	while (trip_progress(socket_domain) > 0)
		;
	assert_int_equal(
		trip_client_list(socket_client, TRIP_CLIENT_WORK, &cursor, seen, sizeof(*seen), 4),
		1);
	assert_int_equal(seen->id, id);
	assert_int_equal(seen->condition, TRIP_CONDITION_IDLE);
	assert_true(seen->condition_time == TRIP_CNTR_MAX);
	/* It goes on from the sum at which the condition held. */
	assert_true(seen->threshold == TRIP_CLIENT_ANY);
	assert_int_equal(trip_work_flush(socket_domain, NULL), 0);
	assert_int_equal(trip_cntr_close(cntr), 0);
}

/* The descriptors of the channel that has this item, and its slot there. */
static struct trip_work_desc *
descriptors_of(uint64_t id, uint32_t *slot, uint32_t *slots)
{
	for (uint32_t h = 0; h < socket_domain->engine.n_homes; h++)
		for (uint32_t c = 0; c < socket_domain->n_channels; c++) {
			struct trip_submitter *submitter = &socket_domain->submitters[h][c];
			const struct trip_channel_map *map = &submitter->channel->map;

			*slots = map->slots;
			for (*slot = 0; *slot < map->slots; ++*slot)
				if (trip_channel_queued_id(submitter->channel, *slot) == id)
					return map->desc;
		}
	fail_msg("no channel has it");
	return NULL;
}

static void
expect_listed(int n)
{
	struct trip_client_work seen[2];
	uint64_t cursor = 0;

	assert_int_equal(
		trip_client_list(socket_client, TRIP_CLIENT_WORK, &cursor, seen, sizeof(*seen), 2),
		n);
}

/* An attached process writes what it likes into its slots: what its home would refuse is no item,
 * and nothing behind the slots is read. */
static void
conditions_that_are_garbage_are_not_listed(void **state)
{
	const struct trip_condition idle = {
		.size = sizeof(idle), .kind = TRIP_CONDITION_IDLE, .when.idle.time = 1000};
	struct trip_cntr *cntr = socket_cntr("trigger");
	const struct trip_work work = {.size = sizeof(work),
		.triggering_cntr = cntr,
		.threshold = 7,
		.condition = &idle,
		.op_type = TRIP_OP_CNTR_ADD,
		.op.cntr = {.cntr = cntr}};
	struct trip_work_desc *descs, *desc, *parameters, good;
	uint32_t slot = 0, slots = 0;
	uint64_t id;

	assert_int_equal(trip_work_queue(socket_domain, &work, &id), 0);
	descs = descriptors_of(id, &slot, &slots);
	desc = &descs[slot];
	parameters = &descs[desc->condition - 1];
	good = *desc;
	expect_listed(1);
	desc->condition = slots;
	expect_listed(1);
	desc->condition = slots + 1;
	expect_listed(0);
	desc->condition = UINT32_MAX;
	expect_listed(0);
	*desc = good;
	desc->condition_kind = TRIP_CONDITION_NONE;
	expect_listed(0);
	desc->condition_kind = UINT8_MAX;
	expect_listed(0);
	*desc = good;
	parameters->threshold = TRIP_CNTR_MAX + UINT64_C(1);
	expect_listed(0);
	parameters->threshold = idle.when.idle.time;
	expect_listed(1);
	assert_int_equal(trip_work_flush(socket_domain, NULL), 0);
	assert_int_equal(trip_cntr_close(cntr), 0);
}

/* None is above the largest value, though the sum is. */
static int
do_nothing(const struct trip_work_event *event, void *arg)
{
	return 0;
}

static void
expect_function(const char *name)
{
	struct trip_client_work seen[2];
	uint64_t cursor = 0;

	assert_int_equal(
		trip_client_list(socket_client, TRIP_CLIENT_WORK, &cursor, seen, sizeof(*seen), 2),
		1);
	assert_int_equal(seen->op, TRIP_OP_CALL);
	assert_int_equal(seen->cntr, 0);
	assert_true(seen->sum > 0 && seen->sum < seen->threshold);
	assert_string_equal(seen->function, name);
}

/* By its name, which ends with it. */
static void
a_call_is_listed(void **state)
{
	static const char longest[] = "n2345678901234567890123456789012";
	struct trip_work work = {.size = sizeof(work),
		.triggering_cntr = trip_clock_cntr(socket_domain),
		.threshold = TRIP_CNTR_MAX,
		.op_type = TRIP_OP_CALL};

	for (unsigned int i = 0; i < 2; i++) {
		struct trip_function **function = &work.op.call.function;

		assert_int_equal(
			trip_function_register(socket_domain, do_nothing, NULL, function), 0);
		assert_int_equal(trip_work_queue(socket_domain, &work, NULL), 0);
		expect_function("");
		assert_int_equal(trip_function_name(*function, "log"), 0);
		expect_function("log");
		assert_int_equal(trip_function_name(*function, "a name"), -EINVAL);
		assert_int_equal(trip_function_name(*function, longest), 0);
		expect_function(longest);
		assert_int_equal(trip_work_flush(socket_domain, NULL), 0);
		assert_int_equal(trip_function_unregister(*function), 0);
	}
}

static void
the_last_threshold_of_an_interval_is_told(void **state)
{
	static const struct {
		uint64_t threshold, interval, told;
	} items[] = {
		{TRIP_CNTR_MAX - 5, 3, TRIP_CNTR_MAX - 2},
		{0, TRIP_CNTR_MAX, TRIP_CNTR_MAX},
		{TRIP_CNTR_MAX, 1, TRIP_CNTR_MAX},
	};
	struct trip_cntr *cntr = socket_cntr("trigger");
	struct trip_client_work seen[RTE_DIM(items)];
	uint64_t cursor = 0;

	for (unsigned int i = 0; i < RTE_DIM(items); i++) {
		const struct trip_work work = {.size = sizeof(work),
			.triggering_cntr = cntr,
			.threshold = items[i].threshold,
			.interval = items[i].interval,
			.op_type = TRIP_OP_CNTR_ADD,
			.op.cntr = {.cntr = cntr}};

		assert_int_equal(trip_work_queue(socket_domain, &work, NULL), 0);
	}
	/* The home has yet to see it. */
	trip_cntr_set(cntr, TRIP_CNTR_MAX);
	trip_cntr_adderr(cntr, 10);
	assert_int_equal(trip_client_list(socket_client, TRIP_CLIENT_WORK, &cursor, seen,
				 sizeof(*seen), RTE_DIM(seen)),
		RTE_DIM(seen));
	for (unsigned int i = 0; i < RTE_DIM(items); i++)
		assert_true(seen[i].threshold == items[i].told);
	assert_int_equal(trip_work_flush(socket_domain, NULL), 0);
	assert_int_equal(trip_cntr_close(cntr), 0);
}

static uint64_t
next_of(const char *name)
{
	while (trip_progress(socket_domain) > 0)
		;
	return socket_find(name).next;
}

/* Of work and of waiters, whichever is lower. */
static void
the_next_threshold_is_told(void **state)
{
	struct trip_cntr *cntr = socket_cntr("trigger");
	struct trip_work work = {.size = sizeof(work),
		.triggering_cntr = cntr,
		.threshold = 100,
		.op_type = TRIP_OP_CNTR_ADD,
		.op.cntr = {.cntr = cntr}};
	uint64_t first, second;
	uint32_t watch;
	int fd;

	assert_true(next_of("trigger") == TRIP_CLIENT_ANY);
	assert_int_equal(trip_work_queue(socket_domain, &work, &second), 0);
	assert_int_equal(next_of("trigger"), 100);
	work.threshold = 70;
	assert_int_equal(trip_work_queue(socket_domain, &work, &first), 0);
	assert_int_equal(next_of("trigger"), 70);
	trip_cntr_add(cntr, 60);
	assert_int_equal(next_of("trigger"), 70);
	trip_cntr_adderr(cntr, 10);
	assert_int_equal(next_of("trigger"), 100);
	assert_int_equal(
		trip_client_watch(socket_client, socket_find("trigger").id, &watch, &fd), 0);
	assert_int_equal(trip_client_arm(socket_client, watch, 80,
				 &(struct trip_client_cntr){.size = sizeof(struct trip_client_cntr),
					 .success = 60,
					 .error = 10,
					 .errgen = socket_find("trigger").errgen,
					 .setgen = socket_find("trigger").setgen}),
		0);
	/* It waits for success, and 10 of the sum are errors. */
	assert_int_equal(next_of("trigger"), 90);
	assert_int_equal(trip_client_unwatch(socket_client, watch), 0);
	assert_int_equal(next_of("trigger"), 100);
	assert_int_equal(trip_work_cancel(socket_domain, second), 0);
	assert_true(next_of("trigger") == TRIP_CLIENT_ANY);
	assert_int_equal(trip_cntr_close(cntr), 0);
}

static void
watches_miss_nothing(void **state)
{
	struct trip_cntr *cntr = socket_cntr("watched");
	struct trip_client_cntr seen = socket_find("watched");
	uint32_t watch;
	int fd;

	assert_int_equal(trip_client_watch(socket_client, seen.id, &watch, &fd), 0);
	assert_false(socket_is_ready(fd));
	/* A change between reading and arming counts. */
	trip_cntr_add(cntr, 1);
	assert_int_equal(trip_client_arm(socket_client, watch, TRIP_CLIENT_ANY, &seen), 0);
	assert_true(socket_is_ready(fd));
	socket_drain(fd);
	/* It was armed once. */
	trip_cntr_add(cntr, 1);
	assert_false(socket_is_ready(fd));
	assert_int_equal(trip_client_read(socket_client, seen.id, &seen), 0);
	assert_int_equal(trip_client_arm(socket_client, watch, TRIP_CLIENT_ANY, &seen), 0);
	assert_false(socket_is_ready(fd));
	trip_cntr_set(cntr, 2);
	assert_true(socket_is_ready(fd));
	socket_drain(fd);
	assert_int_equal(trip_client_unwatch(socket_client, watch), 0);
	assert_int_equal(trip_client_unwatch(socket_client, watch), -ENOENT);
	assert_int_equal(trip_cntr_close(cntr), 0);
}

static void
thresholds_errors_and_the_end_wake(void **state)
{
	struct trip_cntr *cntr = socket_cntr("watched");
	struct trip_client_cntr seen = socket_find("watched");
	uint32_t watch;
	int fd;

	assert_int_equal(trip_client_watch(socket_client, seen.id, &watch, &fd), 0);
	assert_int_equal(trip_client_arm(socket_client, watch, 10, &seen), 0);
	trip_cntr_add(cntr, 9);
	assert_false(socket_is_ready(fd));
	trip_cntr_add(cntr, 1);
	assert_true(socket_is_ready(fd));
	socket_drain(fd);
	assert_int_equal(trip_client_arm(socket_client, watch, 20, &seen), 0);
	trip_cntr_adderr(cntr, 1);
	assert_true(socket_is_ready(fd));
	socket_drain(fd);
	assert_int_equal(trip_client_read(socket_client, seen.id, &seen), 0);
	assert_int_equal(trip_client_arm(socket_client, watch, 20, &seen), 0);
	assert_int_equal(trip_client_arm(socket_client, watch, UINT64_C(1) << 63, &seen), -EINVAL);
	assert_int_equal(trip_client_arm(socket_client, watch + 1, 20, &seen), -ENOENT);
	assert_false(socket_is_ready(fd));
	/* A watch holds nothing open, and is told. */
	assert_int_equal(trip_cntr_close(cntr), 0);
	assert_true(socket_is_ready(fd));
	assert_int_equal(trip_client_arm(socket_client, watch, 20, &seen), -ENOENT);
}

static void
watches_are_limited_and_end_with_the_connection(void **state)
{
	unsigned int before = socket_count_fds(), n = 0;
	struct trip_cntr *cntr = socket_cntr("watched");
	uint64_t id = socket_find("watched").id;
	struct trip_client *others[3];
	uint32_t watch;
	int fd;

	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(trip_client_open(socket_path, &others[i]), 0);
		while (trip_client_watch(others[i], id, &watch, &fd) == 0)
			n++;
		assert_non_null(strstr(trip_error_message(), i == 0 ? "at most 64" : "all 100"));
	}
	/* A quarter of the waiters of both homes. */
	assert_int_equal(n, 100);
	for (unsigned int i = 0; i < 3; i++)
		trip_client_close(others[i]);
	socket_wait_for_fds(before);
	assert_int_equal(trip_client_watch(socket_client, id, &watch, &fd), 0);
	assert_int_equal(trip_cntr_close(cntr), 0);
}

static int
bind_socket(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	strcpy(address.sun_path, path);
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static void
one_primary_serves_a_path(void **state)
{
	struct trip_client_domain seen;
	struct trip_domain *other;
	char longer[200];
	uint64_t cursor = 0;
	struct stat status;
	int fd;

	assert_int_equal(stat(socket_path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0660);
	trip_client_list(socket_client, TRIP_CLIENT_DOMAIN, &cursor, &seen, sizeof(seen), 1);
	assert_int_equal(seen.generation, 1);
	socket_close(state);
	/* What a primary leaves that was killed. */
	close(bind_socket(socket_path));
	fd = open(socket_lock, O_CREAT | O_WRONLY, 0644);
	assert_int_equal(write(fd, "41 1 gone\n", 10), 10);
	close(fd);
	socket_open(state);
	cursor = 0;
	trip_client_list(socket_client, TRIP_CLIENT_DOMAIN, &cursor, &seen, sizeof(seen), 1);
	assert_int_equal(seen.generation, 42);
	/* EAL shares nothing here, so a domain has a socket only where it is told. */
	assert_int_equal(socket_domain_open(NULL, &other), 0);
	assert_int_equal(trip_domain_close(other), 0);
	memset(longer, 'x', sizeof(longer));
	longer[sizeof(longer) - 1] = 0;
	assert_int_equal(
		trip_domain_open(&(struct trip_domain_attr){.size = sizeof(struct trip_domain_attr),
					 .progress = TRIP_PROGRESS_MANUAL,
					 .name = "other",
					 .socket = longer},
			&other, NULL),
		-ENAMETOOLONG);
	assert_int_equal(
		trip_domain_open(&(struct trip_domain_attr){.size = sizeof(struct trip_domain_attr),
					 .progress = TRIP_PROGRESS_MANUAL,
					 .name = "other",
					 .socket = socket_path},
			&other, NULL),
		-EEXIST);
	assert_int_equal(
		trip_client_find(socket_client, "none",
			&(struct trip_client_cntr){.size = sizeof(struct trip_client_cntr)}),
		-ENOENT);
}

static void
write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void
expect_text(const char *path, const char *text)
{
	char found[64] = "";
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	assert_non_null(fgets(found, sizeof(found), file));
	fclose(file);
	assert_string_equal(found, text);
}

/* It says what is there, and makes nothing. */
static void
expect_path_refused(const char *what)
{
	struct trip_domain *domain;

	assert_int_equal(socket_domain_open(socket_path, &domain), -EEXIST);
	assert_non_null(strstr(trip_error_message(), what));
}

/* By a slip in an option, the path may be that of anything. */
static void
nothing_but_a_socket_is_replaced(void **state)
{
	static const char text[] = "42 is the answer to a question that nobody has asked\n";
	char other[sizeof(socket_path) + 8];
	struct stat status;
	int fd;

	socket_close(state);
	snprintf(other, sizeof(other), "%s.other", socket_path);
	write_text(socket_path, text);
	expect_path_refused(socket_path);
	expect_text(socket_path, text);
	assert_int_equal(rename(socket_path, other), 0);
	assert_int_equal(symlink(other, socket_path), 0);
	expect_path_refused(socket_path);
	expect_text(socket_path, text);
	assert_int_equal(unlink(socket_path), 0);
	assert_int_equal(access(socket_lock, F_OK), -1);
	assert_int_equal(rename(other, socket_lock), 0);
	expect_path_refused(socket_lock);
	expect_text(socket_lock, text);
	assert_int_equal(unlink(socket_lock), 0);
	/* Another program's, which is not one of a domain. */
	fd = bind_socket(socket_path);
	assert_int_equal(listen(fd, 1), 0);
	expect_path_refused("another program listens on");
	assert_int_equal(lstat(socket_path, &status), 0);
	assert_true(S_ISSOCK(status.st_mode));
	assert_int_equal(access(socket_lock, F_OK), -1);
	close(fd);
	socket_open(state);
}

static void
clients_learn_of_the_end(void **state)
{
	struct trip_cntr *cntr = socket_cntr("watched");
	struct trip_client_cntr seen = socket_find("watched");
	struct trip_client *other;
	uint32_t watch;
	uint64_t signal;
	int fd;

	assert_int_equal(trip_client_open(socket_path, &other), 0);
	assert_int_equal(trip_client_watch(other, seen.id, &watch, &fd), 0);
	assert_int_equal(trip_cntr_close(cntr), 0);
	assert_false(socket_is_ready(fd));
	socket_close(state);
	assert_int_equal(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 0), 1);
	assert_int_equal(read(fd, &signal, sizeof(signal)), 0);
	assert_int_equal(trip_client_find(other, "none", &seen), -EPIPE);
	trip_client_close(other);
	assert_int_equal(trip_client_open(socket_path, &other), -ENOENT);
	socket_open(state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		SOCKET_TEST(domain_is_described),
		SOCKET_TEST(all_counters_are_listed),
		SOCKET_TEST(counters_are_found_and_read),
		SOCKET_TEST(records_may_be_shorter),
		SOCKET_TEST(counters_seen_may_be_shorter),
		SOCKET_TEST(pending_work_is_listed),
		SOCKET_TEST(a_call_is_listed),
		SOCKET_TEST(conditions_are_listed),
		SOCKET_TEST(conditions_that_are_garbage_are_not_listed),
		SOCKET_TEST(the_last_threshold_of_an_interval_is_told),
		SOCKET_TEST(the_next_threshold_is_told),
		SOCKET_TEST(watches_miss_nothing),
		SOCKET_TEST(thresholds_errors_and_the_end_wake),
		SOCKET_TEST(watches_are_limited_and_end_with_the_connection),
		SOCKET_TEST(one_primary_serves_a_path),
		SOCKET_TEST(nothing_but_a_socket_is_replaced),
		SOCKET_TEST(clients_learn_of_the_end),
	};

	return socket_run(tests);
}

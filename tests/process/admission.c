/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who is let in, and how much of the domain each may have: a refusal gives its reason to whoever is
 * refused, and in the primary's log.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <rte_log.h>

#include "domain/domain.h"
#include "family.h"
#include "domain/share.h"
#include "home.h"
#include "secondary/link.h"

/* What the primary has logged. */
static char *logged;
static size_t logged_size;
static FILE *log_stream;

static void
expect_logged(pid_t pid, const char *reason)
{
	char who[32];

	snprintf(who, sizeof(who), "process %d ", (int)pid);
	fflush(log_stream);
	if (strstr(logged, who) == NULL || strstr(logged, reason) == NULL)
		fail_msg("the log tells nothing of \"%s\" and %s: %s", who, reason, logged);
	rewind(log_stream);
	memset(logged, 0, logged_size);
}

static int
open_log(void **state)
{
	log_stream = open_memstream(&logged, &logged_size);
	assert_non_null(log_stream);
	rte_log_set_global_level(RTE_LOG_NOTICE);
	rte_log_set_level_pattern("tripline", RTE_LOG_NOTICE);
	assert_int_equal(rte_openlog_stream(log_stream), 0);
	return 0;
}

static int
close_log(void **state)
{
	rte_openlog_stream(NULL);
	rte_log_set_global_level(RTE_LOG_ERR);
	fclose(log_stream);
	free(logged);
	return 0;
}

/* ---- who is let in ----------------------------------------------------------------------------
 */

static void
expect_refused(int error, const char *reason)
{
	struct trip_domain *domain;

	assert_int_equal(trip_domain_attach(NULL, &domain, NULL), error);
	if (strstr(trip_error_message(), reason) == NULL)
		fail_msg("not for that: %s", trip_error_message());
}

static void
play_version(const char *arg)
{
	expect_refused(-EPROTO, "the primary has version 9.9.9 of the library, this process ");
}

static void
play_layout(const char *arg)
{
	expect_refused(-EPROTO, "the primary has version ");
}

static void
play_stranger(const char *arg)
{
	expect_refused(-EPROTO, "the process has mapped another domain");
}

static void
play_memory(const char *arg)
{
	expect_refused(-EPROTO, "the memory found is none of Tripline's");
}

#define NOBODY 65534

static void
play_user(const char *arg)
{
	/* Of the process: what the C library makes of it is not needed. */
	assert_int_equal(syscall(SYS_setresuid, NOBODY, NOBODY, NOBODY), 0);
	expect_refused(-EACCES, "user 65534 may not attach, only user 0 and root");
	/* What cannot be cleared away as nobody is left to the primary. */
	_exit(0);
}

static void
play_same_lcore(const char *arg)
{
	expect_refused(-EINVAL, arg);
}

static void
play_one_too_many(const char *arg)
{
	expect_refused(-EUSERS, "all 1 processes are attached, or being cleared away");
}

static void
play_guest(const char *arg)
{
	family_attach();
	family_say('a');
	family_listen();
	assert_int_equal(family_try_close(), 0);
}

static pid_t
play(const char *part, unsigned int lcore, const char *arg)
{
	struct family_child child = family_start(part, lcore, arg);
	pid_t pid = child.pid;

	family_join(&child);
	return pid;
}

static void
the_same_library_and_domain(void **state)
{
	struct trip_share *share;
	char version[sizeof(share->version)];

	family_open(TRIP_PROGRESS_MANUAL, NULL);
	share = family_domain->share;
	memcpy(version, share->version, sizeof(version));
	snprintf(share->version, sizeof(share->version), "9.9.9");
	play("version", 8, NULL);
	memcpy(share->version, version, sizeof(version));
	share->layout++;
	play("layout", 8, NULL);
	share->layout--;
	share->magic++;
	play("memory", 8, NULL);
	share->magic--;
	/* As if it had mapped one that was here before. */
	share->nonce++;
	expect_logged(play("stranger", 8, NULL), "the process has mapped another domain");
	share->nonce--;
	assert_int_equal(family_attached(), 0);
	family_close();
}

static void
the_same_user_or_root(void **state)
{
	if (geteuid() != 0)
		skip();
	family_open(TRIP_PROGRESS_MANUAL, &(struct trip_domain_attr){.socket_mode = 0666});
	expect_logged(play("user", 8, NULL), "user 65534 may not attach, only user 0 and root");
	assert_int_equal(family_attached(), 0);
	family_close();
}

static void
so_many_and_with_lcores_of_their_own(void **state)
{
	struct family_child guest;
	char reason[64];

	family_open(TRIP_PROGRESS_MANUAL, &(struct trip_domain_attr){.max_processes = 1});
	guest = family_start("guest", 8, NULL);
	assert_int_equal(family_hear(&guest), 'a');
	snprintf(reason, sizeof(reason), "lcore id 8 is that of process %d", (int)guest.pid);
	expect_logged(play("same_lcore", 8, reason), reason);
	expect_logged(play("one_too_many", 9, NULL), "all 1 processes are attached");
	family_tell(&guest, 'c');
	family_end(&guest);
	family_close();
}

/* ---- how much ---------------------------------------------------------------------------------
 */

#define CNTRS 24
#define WAITERS 8

static void
expect_reason(int error, int expected, const char *reason)
{
	assert_int_equal(error, expected);
	if (strstr(trip_error_message(), reason) == NULL)
		fail_msg("not for that: %s", trip_error_message());
}

static void
limit_cntrs(struct trip_cntr **cntrs)
{
	const struct trip_cntr_attr attr = {.size = sizeof(attr), .name = "theirs"};
	struct trip_cntr *more;

	/* Found ones count, each time. */
	for (unsigned int i = 0; i < CNTRS; i++)
		cntrs[i] = i % 2 == 0 ? family_find("theirs", TRIP_WAIT_UNSPEC)
				      : family_cntr(NULL, TRIP_WAIT_UNSPEC);
	expect_reason(trip_cntr_open(family_domain, NULL, &more, NULL), -ENOSPC,
		"has all 24 counters open that a process may");
	expect_reason(trip_cntr_find(family_domain, &attr, &more, NULL), -ENOSPC,
		"has all 24 counters open that a process may");
	for (unsigned int i = 2; i < CNTRS; i++)
		assert_int_equal(trip_cntr_close(cntrs[i]), 0);
}

static void
limit_waiters(struct trip_cntr *theirs)
{
	const struct trip_cntr_attr attr = {
		.size = sizeof(attr), .name = "theirs", .wait_obj = TRIP_WAIT_FD};
	struct trip_cntr *waiting[WAITERS + 1];
	unsigned int n = 0;

	while (n <= WAITERS && trip_cntr_find(family_domain, &attr, &waiting[n], NULL) == 0)
		n++;
	assert_int_equal(n, WAITERS);
	assert_non_null(
		strstr(trip_error_message(), "has all 8 waiters of home 0 that a process may"));
	/* A thread that waits is never refused (CNTR-17). */
	assert_int_equal(trip_cntr_wait(theirs, 1, 1), -ETIMEDOUT);
	while (n > 0)
		assert_int_equal(trip_cntr_close(waiting[--n]), 0);
}

static void
limit_works(struct trip_cntr *theirs, struct trip_cntr *own)
{
	const struct trip_work work = {.size = sizeof(work),
		.op_type = TRIP_OP_CNTR_ADD,
		.triggering_cntr = theirs,
		.threshold = 1000,
		.op.cntr = {.cntr = own, .value = 1}};
	unsigned int n = 0;
	int error;

	while ((error = trip_work_queue(family_domain, &work, NULL)) == 0)
		n++;
	assert_int_equal(n, family_domain->attr.max_process_works);
	expect_reason(error, -EAGAIN, "work items of the channel are in flight");
	assert_int_equal(trip_work_flush(family_domain, NULL), 0);
}

static void
play_greedy(const char *arg)
{
	struct trip_cntr *cntrs[CNTRS];

	family_attach();
	limit_cntrs(cntrs);
	limit_waiters(cntrs[0]);
	limit_works(cntrs[0], cntrs[1]);
	assert_int_equal(trip_cntr_close(cntrs[0]), 0);
	assert_int_equal(trip_cntr_close(cntrs[1]), 0);
	assert_int_equal(family_try_close(), 0);
}

static void
so_much_and_no_more(void **state)
{
	const struct trip_domain_attr attr = {
		.max_process_cntrs = CNTRS, .max_process_waiters = WAITERS};
	struct family_child child;
	struct trip_cntr *theirs;

	family_open(TRIP_PROGRESS_MANUAL, &attr);
	theirs = family_cntr("theirs", TRIP_WAIT_NONE);
	child = family_start("greedy", 8, NULL);
	family_end(&child);
	assert_int_equal(trip_domain_check(family_domain, stdout), 0);
	assert_int_equal(trip_cntr_close(theirs), 0);
	family_close();
}

/*
 * Two threads ask for the first waiters at once. The primary gives all that the process may have to
 * the one; the other asks before these are in the list.
 */
struct asker {
	pthread_t thread;
	_Atomic pid_t tid;
	struct trip_wait_set *set;
	_Atomic bool done;
	int error;
};

static struct asker second;

static void *
ask(void *arg)
{
	const struct trip_wait_attr attr = {.size = sizeof(attr), .wait_obj = TRIP_WAIT_UNSPEC};
	struct asker *asker = arg;

	asker->tid = (pid_t)syscall(SYS_gettid);
	asker->error = trip_wait_open(family_domain, &attr, &asker->set);
	asker->done = true;
	return NULL;
}

/* It waits for a lock. */
static bool
is_blocked(const struct asker *asker)
{
	char path[64], line[16] = "";
	FILE *file;

	if (asker->tid == 0)
		return false;
	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", (int)asker->tid);
	file = fopen(path, "r");
	assert_non_null(file);
	(void)fgets(line, sizeof(line), file);
	fclose(file);
	return strtol(line, NULL, 10) == SYS_futex;
}

void __real_trip_slots_give(struct trip_slots *slots, uint32_t index);
void __wrap_trip_slots_give(struct trip_slots *slots, uint32_t index);

static bool asking;

void
__wrap_trip_slots_give(struct trip_slots *slots, uint32_t index)
{
	if (asking) {
		asking = false;
		assert_int_equal(pthread_create(&second.thread, NULL, ask, &second), 0);
		family_until(second.done || is_blocked(&second));
	}
	__real_trip_slots_give(slots, index);
}

static void
play_askers(const char *arg)
{
	struct asker first = {0};

	family_attach();
	asking = true;
	ask(&first);
	assert_false(asking);
	pthread_join(second.thread, NULL);
	assert_int_equal(first.error, 0);
	assert_int_equal(second.error, 0);
	assert_int_equal(trip_wait_close(first.set), 0);
	assert_int_equal(trip_wait_close(second.set), 0);
	assert_int_equal(family_try_close(), 0);
}

static void
as_much_to_threads_that_ask_at_once(void **state)
{
	struct family_child child;

	family_open(
		TRIP_PROGRESS_MANUAL, &(struct trip_domain_attr){.max_process_waiters = WAITERS});
	child = family_start("askers", 8, NULL);
	family_end(&child);
	family_close();
}

/* ---- garbage ----------------------------------------------------------------------------------
 */

static void
play_garbage(const char *arg)
{
	struct trip_submitter *submitter;
	struct trip_channel_client *channel;
	struct trip_home *home;
	uint64_t id;
	int slot;

	family_attach();
	home = family_domain->engine.homes[0];
	submitter = family_domain->submitters[0];
	channel = submitter->channel;
	for (unsigned int i = 0; i < 3; i++) {
		slot = trip_channel_alloc(channel, trip_channel_returned(channel));
		assert_true(slot >= 0);
		*trip_channel_desc(channel, (uint32_t)slot) =
			i == 2 ? (struct trip_work_desc){.op = TRIP_OP_CNTR_FILL,
					 .completion = UINT32_MAX,
					 .operands = channel->map.slots + 1}
			       : (struct trip_work_desc){.trigger = UINT32_MAX - 1, .op = 200};
		assert_int_equal(trip_channel_submit(channel, (uint32_t)slot, &id), 0);
	}
	trip_doorbell_ring(&home->doorbell, TRIP_BELL_CHANNEL, submitter->number);
	_exit(0);
}

static void
garbage_is_counted_and_told(void **state)
{
	struct trip_domain_stats stats = {.size = sizeof(stats)};
	struct family_child child;
	pid_t pid;

	family_open(TRIP_PROGRESS_MANUAL, NULL);
	child = family_start("garbage", 8, NULL);
	pid = child.pid;
	family_end(&child);
	expect_logged(pid, "leaves garbage: 3 times in its channels");
	assert_int_equal(trip_domain_stats_read(family_domain, &stats), 0);
	assert_int_equal(stats.refused, 3);
	family_close();
}

/* ---- what homes have yet to give back ---------------------------------------------------------
 */

/* Whoever pauses ends the iteration that holds the places back. */
static bool ends_iteration;
static unsigned int pauses;

int __real_nanosleep(const struct timespec *time, struct timespec *left);
int __wrap_nanosleep(const struct timespec *time, struct timespec *left);

int
__wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
	if (!ends_iteration)
		return __real_nanosleep(time, left);
	ends_iteration = false;
	pauses++;
	atomic_fetch_add(family_domain->engine.homes[0]->epoch, 1);
	return 0;
}

static void
play_late(const char *arg)
{
	const struct trip_protocol_open open = {.name = "raw"};
	const struct trip_cntr_attr attr = {.size = sizeof(attr), .name = "late"};
	struct trip_cntr *cntr;

	family_attach();
	family_say('a');
	family_listen();
	/* The control thread has others to serve. */
	assert_int_equal(trip_client_call(family_domain->link->client, TRIP_PROTOCOL_OPEN, &open,
				 sizeof(open), NULL, NULL),
		-EAGAIN);
	assert_int_equal(trip_cntr_open(family_domain, &attr, &cntr, NULL), -ENOSPC);
	ends_iteration = true;
	assert_int_equal(trip_cntr_open(family_domain, &attr, &cntr, NULL), 0);
	assert_int_equal(pauses, 1);
	family_say('o');
	family_listen();
	assert_int_equal(trip_cntr_close(cntr), 0);
	assert_int_equal(trip_domain_close(family_domain), 0);
}

/* All counters are taken, but for one that was closed during an iteration. */
static void
who_waits_for_a_home_keeps_nobody_waiting(void **state)
{
	struct trip_cntr *cntrs[4];
	struct family_child child;
	char byte;

	family_open(TRIP_PROGRESS_MANUAL,
		&(struct trip_domain_attr){.max_cntrs = 4, .max_process_cntrs = 1});
	for (unsigned int i = 0; i < 4; i++)
		cntrs[i] = family_cntr(NULL, TRIP_WAIT_NONE);
	child = family_start("late", 8, NULL);
	assert_int_equal(family_hear(&child), 'a');
	while (trip_progress(family_domain) > 0)
		;
	atomic_fetch_add(family_domain->engine.homes[0]->epoch, 1);
	assert_int_equal(trip_cntr_close(cntrs[0]), 0);
	family_tell(&child, 'g');
	while (read(child.from, &byte, 1) < 0 && errno == EINTR)
		;
	assert_int_equal(byte, 'o');
	family_tell(&child, 'g');
	family_end(&child);
	for (unsigned int i = 1; i < 4; i++)
		assert_int_equal(trip_cntr_close(cntrs[i]), 0);
	family_close();
}

static const struct family_part parts[] = {
	{"version", play_version, false},
	{"layout", play_layout, false},
	{"stranger", play_stranger, false},
	{"memory", play_memory, false},
	{"user", play_user, false},
	{"same_lcore", play_same_lcore, false},
	{"one_too_many", play_one_too_many, false},
	{"guest", play_guest, false},
	{"greedy", play_greedy, false},
	{"askers", play_askers, false},
	{"garbage", play_garbage, false},
	{"late", play_late, false},
	{NULL, NULL, false},
};

static int
run(void)
{
	const struct CMUnitTest tests[] = {
#define EACH(f) cmocka_unit_test_setup_teardown(f, open_log, close_log)
		EACH(the_same_library_and_domain),
		EACH(the_same_user_or_root),
		EACH(so_many_and_with_lcores_of_their_own),
		EACH(so_much_and_no_more),
		EACH(as_much_to_threads_that_ask_at_once),
		EACH(garbage_is_counted_and_told),
		EACH(who_waits_for_a_home_keeps_nobody_waiting),
	};

	return family_run(tests);
}

int
main(int argc, char **argv)
{
	return family_main(argc, argv, parts, run);
}

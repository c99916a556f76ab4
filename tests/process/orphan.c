/* SPDX-License-Identifier: BSD-3-Clause */
/* WAIT-12: the primary is killed, and every call of its secondaries returns within 100 ms: those
 * that wait, those that are under way, and those that come then. */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "family.h"
#include "waiter.h"

/* Beside what other programs keep its threads from a processor. */
#define LIMIT_NS 100000000
#define THREADS 7
/* As many as family_open() makes. */
#define HOMES 2
/* The watcher is still in the domain's memory when everybody has been woken. */
#define WATCHER_US 10000

static struct trip_profile *profile;

static uint64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

struct waiting {
	struct trip_cntr *cntr;
	struct trip_wait_set *set;
	struct trip_mutex_cond cond;
	int fd;
	bool yields;
	pthread_t thread;
};

/* Homes whose waiters the watcher has woken, and has stayed at for a while after that. */
static _Atomic unsigned int n_ended;

void __real_trip_waiter_end(struct trip_home *home);
void __wrap_trip_waiter_end(struct trip_home *home);

void
__wrap_trip_waiter_end(struct trip_home *home)
{
	__real_trip_waiter_end(home);
	usleep(WATCHER_US);
	atomic_fetch_add(&n_ended, 1);
}

static sem_t done;
/* The most that one of those that slept was kept from a processor: the machine's doing. */
static _Atomic uint64_t kept;

static void
woken(void)
{
	uint64_t most = atomic_load(&kept), own = family_kept_ns();

	while (own > most && !atomic_compare_exchange_weak(&kept, &most, own))
		;
}

static void *
returned(void)
{
	sem_post(&done);
	return NULL;
}

static void *
wait_cntr(void *arg)
{
	struct waiting *waiting = arg;

	assert_int_equal(trip_cntr_wait(waiting->cntr, TRIP_CNTR_MAX, -1), -ESHUTDOWN);
	if (!waiting->yields)
		woken();
	return returned();
}

static void *
wait_set(void *arg)
{
	struct waiting *waiting = arg;

	assert_int_equal(trip_wait(waiting->set, -1), -ESHUTDOWN);
	woken();
	return returned();
}

static void *
wait_fd(void *arg)
{
	struct waiting *waiting = arg;
	struct pollfd entry = {.fd = waiting->fd, .events = POLLIN};

	assert_int_equal(poll(&entry, 1, -1), 1);
	woken();
	return returned();
}

static void *
wait_cond(void *arg)
{
	struct waiting *waiting = arg;
	struct trip_fid *fid = trip_cntr_fid(waiting->cntr);
	int error = 0;

	pthread_mutex_lock(waiting->cond.mutex);
	while ((error = trip_trywait(family_domain, &fid, 1)) == 0)
		pthread_cond_wait(waiting->cond.cond, waiting->cond.mutex);
	pthread_mutex_unlock(waiting->cond.mutex);
	assert_int_equal(error, -ESHUTDOWN);
	woken();
	return returned();
}

/* Calls that are under way when the primary ends, and the one that finds it. */
static void *
open_and_close(void *arg)
{
	struct trip_cntr *cntr;
	int error;

	while ((error = trip_cntr_open(family_domain, NULL, &cntr, NULL)) == 0)
		error = trip_cntr_close(cntr);
	assert_int_equal(error, -ESHUTDOWN);
	return returned();
}

static void *
queue_and_cancel(void *arg)
{
	struct waiting *waiting = arg;
	const struct trip_work work = {.size = sizeof(work),
		.op_type = TRIP_OP_CNTR_ADD,
		.triggering_cntr = waiting->cntr,
		.threshold = TRIP_CNTR_MAX,
		.op.cntr = {.cntr = waiting->cntr, .value = 1}};
	uint64_t id;
	int error;

	do {
		error = trip_thread_attach(family_domain);
		if (error == 0)
			error = trip_work_queue(family_domain, &work, &id);
		if (error == 0)
			error = trip_work_cancel(family_domain, id);
		if (error == 0 || error == -EAGAIN)
			error = trip_thread_detach(family_domain);
	} while (error == 0);
	assert_int_equal(error, -ESHUTDOWN);
	return returned();
}

static int
told(struct trip_profile *of, const struct trip_profile_desc *event, void *param, size_t size,
	void *context)
{
	return 0;
}

/* While the primary lives, a thread looks for its events. */
static void
open_profile(void)
{
	assert_int_equal(trip_profile_open(trip_domain_fid(family_domain), 0, &profile, NULL), 0);
	assert_int_equal(
		trip_profile_register_callback(profile, TRIP_EVENT_WORK_FAILED, told, NULL), 0);
}

static void
refused_of_profiles(void)
{
	uint64_t value;

	assert_int_equal(
		trip_profile_read_u64(profile, TRIP_VAR_WORKS_FIRED_TOTAL, &value), -ESHUTDOWN);
	assert_int_equal(
		trip_profile_register_callback(profile, TRIP_EVENT_WORK_FAILED, NULL, NULL),
		-ESHUTDOWN);
	assert_int_equal(trip_profile_start_reads(profile, 0), -ESHUTDOWN);
	assert_int_equal(trip_profile_close(profile), -ESHUTDOWN);
}

static bool
is_teller(const char *thread)
{
	char path[300], name[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%s/comm", thread);
	file = fopen(path, "r");
	if (file == NULL)
		return false;
	(void)fgets(name, sizeof(name), file);
	fclose(file);
	return strcmp(name, "trip-teller\n") == 0;
}

static unsigned int
count_tellers(void)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *entry;
	unsigned int n = 0;

	assert_non_null(tasks);
	while ((entry = readdir(tasks)) != NULL)
		n += is_teller(entry->d_name);
	closedir(tasks);
	return n;
}

static void
refused_everywhere(struct trip_cntr *cntr, struct trip_wait_set *set)
{
	struct trip_work work = {.size = sizeof(work),
		.op_type = TRIP_OP_CNTR_ADD,
		.triggering_cntr = cntr,
		.op.cntr = {.cntr = cntr, .value = 1}};
	struct trip_domain_stats stats = {.size = sizeof(stats)};
	struct trip_poll_set *poll_set;
	struct trip_work_event event;
	struct trip_cntr *other;

	assert_int_equal(trip_cntr_add(cntr, 1), -ESHUTDOWN);
	assert_non_null(strstr(trip_error_message(), "its primary has ended"));
	assert_int_equal(trip_cntr_set(cntr, 1), -ESHUTDOWN);
	assert_int_equal(trip_cntr_reset(cntr, NULL), -ESHUTDOWN);
	assert_int_equal(trip_cntr_wait(cntr, 1, -1), -ESHUTDOWN);
	assert_int_equal(trip_wait(set, -1), -ESHUTDOWN);
	assert_int_equal(trip_work_queue(family_domain, &work, NULL), -ESHUTDOWN);
	assert_int_equal(trip_work_flush(family_domain, NULL), -ESHUTDOWN);
	assert_int_equal(trip_work_read(family_domain, &event, sizeof(struct trip_work_event), 1),
		-ESHUTDOWN);
	assert_int_equal(trip_work_cancel(family_domain, 1), -ESHUTDOWN);
	assert_int_equal(trip_thread_attach(family_domain), -ESHUTDOWN);
	assert_int_equal(trip_thread_detach(family_domain), -ESHUTDOWN);
	assert_int_equal(trip_cntr_open(family_domain, NULL, &other, NULL), -ESHUTDOWN);
	assert_int_equal(trip_cntr_close(cntr), -ESHUTDOWN);
	assert_int_equal(trip_poll_open(family_domain, NULL, &poll_set), -ESHUTDOWN);
	assert_int_equal(trip_domain_stats_read(family_domain, &stats), -ESHUTDOWN);
	refused_of_profiles();
	assert_int_equal(family_try_close(), -ESHUTDOWN);
	assert_int_equal(count_tellers(), 0);
	/* From here on EAL may unmap the domain's memory. */
	assert_int_equal(atomic_load(&n_ended), HOMES);
	/* Reads keep the last value. */
	assert_int_equal(trip_cntr_read(cntr), 7);
}

/* Nor does one who looks on from outside wait for ever. */
static void
look_on(const char *path, struct trip_client **client, struct pollfd *entry)
{
	struct trip_client_cntr seen = {.size = sizeof(seen)};
	uint32_t watch;

	assert_int_equal(trip_client_open(path, client), 0);
	assert_int_equal(trip_client_find(*client, "seven", &seen), 0);
	assert_int_equal(trip_client_watch(*client, seen.id, &watch, &entry->fd), 0);
	assert_int_equal(trip_client_arm(*client, watch, 1000, &seen), 0);
	entry->events = POLLIN;
}

static void
play_orphan(const char *arg)
{
	const enum trip_wait_obj objects[] = {
		TRIP_WAIT_UNSPEC, TRIP_WAIT_YIELD, TRIP_WAIT_FD, TRIP_WAIT_MUTEX_COND};
	const struct trip_wait_attr set_attr = {
		.size = sizeof(set_attr), .wait_obj = TRIP_WAIT_UNSPEC};
	void *(*const waits[])(void *) = {wait_cntr, wait_cntr, wait_fd, wait_cond};
	struct trip_cntr_attr member = {.size = sizeof(member), .wait_obj = TRIP_WAIT_SET};
	struct waiting waiting[5] = {0};
	pthread_t callers[2];
	struct trip_client_cntr seen = {.size = sizeof(seen)};
	struct trip_client *client;
	struct pollfd watch;
	uint64_t began, took;

	/* It is to outlive the primary. */
	prctl(PR_SET_PDEATHSIG, 0);
	/* What the thread that watches the primary is kept is not known. */
	family_hurry();
	family_attach();
	sem_init(&done, 0, 0);
	for (unsigned int i = 0; i < 4; i++) {
		waiting[i].cntr = family_find("seven", objects[i]);
		waiting[i].yields = objects[i] == TRIP_WAIT_YIELD;
		(void)trip_cntr_read(waiting[i].cntr);
	}
	assert_int_equal(trip_cntr_control(waiting[2].cntr, TRIP_GETWAIT, &waiting[2].fd), 0);
	assert_int_equal(trip_cntr_arm(waiting[2].cntr, 1000), 0);
	waiting[3].cond.size = sizeof(waiting[3].cond);
	assert_int_equal(trip_cntr_control(waiting[3].cntr, TRIP_GETWAIT, &waiting[3].cond), 0);
	assert_int_equal(trip_wait_open(family_domain, &set_attr, &waiting[4].set), 0);
	member.wait_set = waiting[4].set;
	assert_int_equal(trip_cntr_open(family_domain, &member, &waiting[4].cntr, NULL), 0);
	for (unsigned int i = 0; i < 5; i++)
		pthread_create(&waiting[i].thread, NULL, i < 4 ? waits[i] : wait_set, &waiting[i]);
	pthread_create(&callers[0], NULL, open_and_close, NULL);
	pthread_create(&callers[1], NULL, queue_and_cancel, &waiting[0]);
	open_profile();
	assert_int_equal(count_tellers(), 1);
	look_on(arg, &client, &watch);
	usleep(20000);
	family_say('o');
	family_outlive();
	began = now_ns();
	for (unsigned int i = 0; i < THREADS; i++)
		sem_wait(&done);
	assert_int_equal(poll(&watch, 1, -1), 1);
	assert_int_equal(trip_client_find(client, "seven", &seen), -EPIPE);
	refused_everywhere(waiting[0].cntr, waiting[4].set);
	took = now_ns() - began;
	printf("%.1f ms until all had returned; one was kept from a processor for %.1f ms\n",
		(double)took / 1e6, (double)kept / 1e6);
	fflush(stdout);
	_exit(took < LIMIT_NS + kept ? 0 : 6);
}

static const struct family_part parts[] = {
	{"orphan", play_orphan},
	{NULL, NULL},
};

/* A child of the primary has every descriptor that it had, and outlives it and them. */
static void
fork_heir(const struct family_child *children, unsigned int n)
{
	char byte;

	if (fork() != 0)
		return;
	for (unsigned int i = 0; i < n; i++)
		close(children[i].to);
	for (unsigned int i = 0; i < n; i++)
		while (read(children[i].from, &byte, 1) > 0)
			;
	_exit(0);
}

/* Both of them wait for all that there is to wait for, under load. */
static void
wait_12_a_killed_primary_ends_all_waiting(void **state)
{
	struct family_child children[2];
	struct trip_cntr *seven, *busy;

	family_open(TRIP_PROGRESS_LCORE, &(struct trip_domain_attr){.max_process_threads = 1});
	seven = family_cntr("seven", TRIP_WAIT_NONE);
	busy = family_cntr("busy", TRIP_WAIT_NONE);
	assert_int_equal(trip_cntr_set(seven, 7), 0);
	for (unsigned int i = 0; i < 2; i++) {
		children[i] = family_start("orphan", 8 + i, family_socket());
		assert_int_equal(family_hear(&children[i]), 'o');
	}
	fork_heir(children, 2);
	for (unsigned int i = 0; i < 100000; i++) {
		struct trip_work work = {.size = sizeof(work),
			.op_type = TRIP_OP_CNTR_ADD,
			.triggering_cntr = busy,
			.threshold = i,
			.op.cntr = {.cntr = busy, .value = 1}};

		trip_cntr_add(busy, 1);
		(void)trip_work_queue(family_domain, &work, NULL);
	}
	kill(getpid(), SIGKILL);
}

static int
run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wait_12_a_killed_primary_ends_all_waiting),
	};

	return family_run(tests);
}

int
main(int argc, char **argv)
{
	return family_main(argc, argv, parts, run);
}

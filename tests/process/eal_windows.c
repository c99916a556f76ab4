/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * EAL's locks in shared memory are not robust. A secondary is killed while it holds one, as it does
 * for a moment inside calls of EAL, or stopped: the domain goes on and clears it away, because
 * nothing of that takes such a lock. What becomes of the primary's own calls of EAL is printed:
 * README.md has it. The lock's name is the test's: TRIP_WINDOW.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_eal_memconfig.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_malloc.h>
#include <rte_memzone.h>

#include "family.h"

/* How long an operation may take before it is said to hang. */
#define PATIENCE_MS 1500
#define ZONE "trip_test_zone"

/* ---- the victim -------------------------------------------------------------------------------
 */

static void
hold_nothing(void)
{
}

static void *
allocate_and_free(void *arg)
{
	for (;;)
		rte_free(rte_malloc(NULL, 64, 0));
	return NULL;
}

/* Most of the time one of them is in the midst of it. */
static void
allocate_for_ever(void)
{
	pthread_t thread;

	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&thread, NULL, allocate_and_free, NULL), 0);
}

static void *
look_up(void *arg)
{
	for (;;)
		(void)rte_memzone_lookup(ZONE);
	return NULL;
}

/* Readers share the lock: one of them is in it. */
static void
look_up_for_ever(void)
{
	pthread_t thread;

	for (unsigned int i = 0; i < 8; i++)
		assert_int_equal(pthread_create(&thread, NULL, look_up, NULL), 0);
}

static const struct {
	const char *name;
	void (*enter)(void);
	bool stopped;
} windows[] = {
	{"none", hold_nothing, false},
	{"memory_read", rte_mcfg_mem_read_lock, false},
	{"memory_write", rte_mcfg_mem_write_lock, false},
	{"tailq_read", rte_mcfg_tailq_read_lock, false},
	{"tailq_write", rte_mcfg_tailq_write_lock, false},
	{"mempool_write", rte_mcfg_mempool_write_lock, false},
	{"malloc", allocate_for_ever, false},
	{"memzone_lookup", look_up_for_ever, false},
	{"stopped", hold_nothing, true},
};

#define WINDOWS (sizeof(windows) / sizeof(*windows))

static unsigned int
window(void)
{
	const char *name = getenv("TRIP_WINDOW");
	unsigned int i = 0;

	while (name != NULL && i + 1 < WINDOWS && strcmp(windows[i].name, name) != 0)
		i++;
	return i;
}

static void
play_victim(const char *arg)
{
	struct trip_cntr *theirs;

	family_attach();
	theirs = family_find("theirs", TRIP_WAIT_FD);
	assert_int_equal(trip_cntr_arm(theirs, 1), 0);
	windows[window()].enter();
	family_say('h');
	for (;;)
		pause();
}

static void
play_next(const char *arg)
{
	family_attach();
	family_say('n');
	for (;;)
		pause();
}

/* ---- the primary ------------------------------------------------------------------------------
 */

static void
reserve(void)
{
	if (rte_memzone_reserve("trip_test_more", 64, SOCKET_ID_ANY, 0) == NULL)
		printf("\n  rte_memzone_reserve: -%d", rte_errno);
}

static void
allocate(void)
{
	rte_free(rte_malloc(NULL, 64, 0));
}

/* More than there is: EAL tells the secondaries of the pages that come. */
static void
grow(void)
{
	void *memory = rte_malloc(NULL, 66u << 20, 0);

	if (memory == NULL)
		printf("\n  rte_malloc of 66 MiB: no memory");
	rte_free(memory);
}

static void
start_next(void)
{
	struct family_child next = family_start("next", 9, NULL);

	assert_int_equal(family_hear(&next), 'n');
	kill(next.pid, SIGKILL);
}

struct attempt {
	const char *name;
	void (*call)(void);
	_Atomic bool done;
};

static void *
run_attempt(void *arg)
{
	struct attempt *attempt = arg;

	attempt->call();
	atomic_store(&attempt->done, true);
	return NULL;
}

static void
try_all(const char *name)
{
	static struct attempt attempts[] = {{"rte_malloc", allocate, false},
		{"new secondary", start_next, false}, {"rte_memzone_reserve", reserve, false},
		{"heap growth", grow, false}};
	const uint64_t hz = rte_get_tsc_hz();

	printf("%s:", name);
	for (unsigned int i = 0; i < sizeof(attempts) / sizeof(*attempts); i++) {
		uint64_t began = rte_rdtsc(), end = began + hz * PATIENCE_MS / 1000;
		pthread_t thread;

		assert_int_equal(pthread_create(&thread, NULL, run_attempt, &attempts[i]), 0);
		while (!atomic_load(&attempts[i].done) && rte_rdtsc() < end)
			usleep(1000);
		printf(" %s %s%s", attempts[i].name,
			atomic_load(&attempts[i].done) ? "ok" : "HANGS",
			i + 1 < sizeof(attempts) / sizeof(*attempts) ? "," : "\n");
	}
	fflush(stdout);
}

static void
the_domain_goes_on(void **state)
{
	struct family_child victim;
	struct trip_cntr *theirs, *fired;
	struct trip_work work = {.size = sizeof(work),
		.threshold = 1,
		.op_type = TRIP_OP_CNTR_ADD,
		.op.cntr = {.value = 1}};
	bool stopped = windows[window()].stopped;
	int status;

	assert_non_null(rte_memzone_reserve(ZONE, 64, SOCKET_ID_ANY, 0));
	family_open(TRIP_PROGRESS_LCORE, NULL);
	theirs = family_cntr("theirs", TRIP_WAIT_UNSPEC);
	fired = family_cntr("fired", TRIP_WAIT_UNSPEC);
	victim = family_start("victim", 8, NULL);
	assert_int_equal(family_hear(&victim), 'h');
	usleep(10000);
	kill(victim.pid, stopped ? SIGSTOP : SIGKILL);
	assert_int_equal(waitpid(victim.pid, &status, WUNTRACED), victim.pid);
	family_until(family_attached() == (stopped ? 1 : 0));
	/* With counters, work and waits. */
	work.triggering_cntr = theirs;
	work.op.cntr.cntr = fired;
	assert_int_equal(trip_work_queue(family_domain, &work, NULL), 0);
	assert_int_equal(trip_cntr_add(theirs, 1), 0);
	assert_int_equal(trip_cntr_wait(fired, 1, -1), 0);
	if (!stopped)
		assert_int_equal(trip_cntr_close(theirs), 0);
	assert_int_equal(trip_cntr_close(fired), 0);
	try_all(windows[window()].name);
	/* What hangs would keep it from ending in order. */
	if (stopped)
		kill(victim.pid, SIGKILL);
	_exit(EXIT_SUCCESS);
}

static const struct family_part parts[] = {
	{"victim", play_victim, false},
	{"next", play_next, false},
	{NULL, NULL, false},
};

static int
run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_domain_goes_on),
	};

	return family_run(tests);
}

int
main(int argc, char **argv)
{
	return family_main(argc, argv, parts, run);
}

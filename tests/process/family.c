/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <mntent.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_lcore.h>

#include <trip_threads.h>

#include "family.h"

#define PATIENCE_S 60

struct trip_domain *family_domain;
const char *family_device;

static char program[256], prefix[64], path[108];
static enum trip_progress progress;
static struct trip_client *client;

/* DPDK's bus of virtual devices loses what it asks the primary for. */
const char *__lsan_default_suppressions(void);

const char *
__lsan_default_suppressions(void)
{
	return "leak:librte_bus_vdev\n";
}

/* EAL wants words that it may write, and that stay. */
static int
start_eal(const char *const *words, unsigned int n)
{
	static char storage[16][128];
	char *copies[RTE_DIM(storage)];

	for (unsigned int i = 0; i < n; i++) {
		snprintf(storage[i], sizeof(storage[i]), "%s", words[i]);
		copies[i] = storage[i];
	}
	return rte_eal_init((int)n, copies);
}

static int
start_primary(const char *argv0)
{
	char file_prefix[80], device[80];
	/* The base lies where no sanitizer has its shadow, nor the system its libraries: the
	 * secondaries find it free. */
	const char *words[] = {"primary", "--lcores=0@0-1,1@0-1,2@0-1", "-m", "64", file_prefix,
		"--base-virtaddr=0x200000000000", "--no-pci", "--no-telemetry", "--log-level=error",
		device};
	unsigned int n = RTE_DIM(words) - (family_device == NULL);

	snprintf(program, sizeof(program), "%s", argv0);
	snprintf(file_prefix, sizeof(file_prefix), "--file-prefix=%s", prefix);
	if (family_device != NULL)
		snprintf(device, sizeof(device), "--vdev=%s", family_device);
	if (start_eal(words, n) < 0 || rte_eal_has_hugepages() == 0)
		return -1;
	return 0;
}

static void
remove_pages(const char *folder, const char *generation)
{
	char pattern[PATH_MAX];
	glob_t files;

	snprintf(pattern, sizeof(pattern), "%s/%s%smap_*", folder, prefix, generation);
	if (glob(pattern, 0, NULL, &files) != 0)
		return;
	for (size_t i = 0; i < files.gl_pathc; i++)
		unlink(files.gl_pathv[i]);
	globfree(&files);
}

/* EAL leaves its hugepages, and what it made under this name. */
static void
remove_files(void)
{
	FILE *mounts = setmntent("/proc/mounts", "r");
	char pattern[PATH_MAX];
	struct mntent *mount;

	while (mounts != NULL && (mount = getmntent(mounts)) != NULL) {
		if (strcmp(mount->mnt_type, "hugetlbfs") != 0)
			continue;
		remove_pages(mount->mnt_dir, "");
		remove_pages(mount->mnt_dir, "@*");
	}
	if (mounts != NULL)
		endmntent(mounts);
	snprintf(pattern, sizeof(pattern),
		"rm -rf /var/run/dpdk/%s /var/run/dpdk/%s@* /run/tripline/%s.* /tmp/dpdk/%s "
		"/tmp/dpdk/%s@*",
		prefix, prefix, prefix, prefix, prefix);
	if (system(pattern) != 0)
		printf("%s failed\n", pattern);
}

void
family_open(enum trip_progress mode, const struct trip_domain_attr *tune)
{
	static const unsigned int lcores[] = {1, 2};
	/* An idle lcore leaves the CPU to the other tests; what has work never sleeps. */
	static const enum trip_idle idle[] = {TRIP_IDLE_SLEEP, TRIP_IDLE_SLEEP};
	struct trip_domain_attr attr = {0};

	if (tune != NULL)
		attr = *tune;
	attr.size = sizeof(attr);
	attr.progress = progress = mode;
	attr.lcores = mode == TRIP_PROGRESS_MANUAL ? NULL : lcores;
	attr.idle = mode == TRIP_PROGRESS_LCORE ? idle : NULL;
	attr.n_lcores = 2;
	if (attr.max_cntrs == 0)
		attr.max_cntrs = 256;
	attr.max_works = 1024;
	attr.max_waiters = 128;
	attr.max_flows = 16;
	attr.max_events = 256;
	attr.max_process_works = 512;
	if (trip_domain_open(&attr, &family_domain, NULL) != 0)
		fail_msg("%s", trip_error_message());
	family_look_on();
}

void
family_find_socket(void)
{
	char first[sizeof(prefix)];

	/* All generations have the same. */
	strcpy(first, prefix);
	*strchrnul(first, '@') = 0;
	assert_int_equal(trip_client_path(first, NULL, path, sizeof(path)), 0);
}

void
family_look_on(void)
{
	family_find_socket();
	if (trip_client_open(path, &client) != 0)
		fail_msg("%s", trip_error_message());
}

void
family_look_away(void)
{
	trip_client_close(client);
}

const char *
family_socket(void)
{
	return path;
}

int
family_try_close(void)
{
	int error = trip_domain_close(family_domain);

	if (error == 0)
		family_domain = NULL;
	return error;
}

void
family_close(void)
{
	family_look_away();
	family_until(family_try_close() == 0);
}

/* Whether something was done here. */
static bool
step(void)
{
	return family_domain != NULL && progress == TRIP_PROGRESS_MANUAL &&
	       trip_progress(family_domain) > 0;
}

void
family_step(void)
{
	(void)step();
	sched_yield();
}

void
family_watch(const char *condition, const char *file, int line, struct family_patience *patience)
{
	if (!step())
		trip_thread_rest(&patience->rests);
	if (patience->deadline == 0)
		patience->deadline = rte_rdtsc() + PATIENCE_S * rte_get_tsc_hz();
	else if (rte_rdtsc() > patience->deadline)
		fail_msg("%s:%d: %s has not come true in %d s: %s", file, line, condition,
			PATIENCE_S, trip_error_message());
}

struct family_child
family_start(const char *part, unsigned int lcore, const char *arg)
{
	struct family_child child = {.lcore = lcore};
	char number[16];
	int to[2], from[2];

	assert_int_equal(pipe2(to, O_CLOEXEC), 0);
	assert_int_equal(pipe2(from, O_CLOEXEC), 0);
	snprintf(number, sizeof(number), "%u", lcore);
	child.pid = fork();
	assert_true(child.pid >= 0);
	if (child.pid == 0) {
		char *words[] = {program, (char *)(uintptr_t)part, prefix, number,
			(char *)(uintptr_t)arg, NULL};

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(to[0], FAMILY_HEARD);
		dup2(from[1], FAMILY_SAID);
		execv(program, words);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	child.to = to[1];
	child.from = from[0];
	return child;
}

void
family_tell(const struct family_child *child, char byte)
{
	assert_int_equal(write(child->to, &byte, 1), 1);
}

char
family_hear(const struct family_child *child)
{
	struct pollfd entry = {.fd = child->from, .events = POLLIN};
	char byte;

	family_until(poll(&entry, 1, 1) == 1);
	return read(child->from, &byte, 1) == 1 ? byte : 0;
}

static void
close_pipes(struct family_child *child)
{
	close(child->to);
	close(child->from);
}

void
family_join(struct family_child *child)
{
	int status = 0;

	family_until(waitpid(child->pid, &status, WNOHANG) == child->pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		fail_msg("a secondary ended with status 0x%x", (unsigned int)status);
	close_pipes(child);
}

void
family_end(struct family_child *child)
{
	family_join(child);
	family_until(family_attached() == 0);
}

void
family_kill(struct family_child *child)
{
	kill(child->pid, SIGKILL);
	assert_int_equal(waitpid(child->pid, NULL, 0), child->pid);
	close_pipes(child);
	family_until(family_attached() == 0);
}

unsigned int
family_attached(void)
{
	struct trip_client_process seen[16];
	uint64_t cursor = 0;
	unsigned int n = 0;
	int got;

	while ((got = trip_client_list(
			client, TRIP_CLIENT_PROCESS, &cursor, seen, sizeof(*seen), 16)) > 0)
		for (int i = 0; i < got; i++)
			n += seen[i].state != TRIP_CLIENT_PRIMARY;
	assert_int_equal(got, 0);
	return n;
}

void
family_attach(void)
{
	if (trip_domain_attach(NULL, &family_domain, NULL) != 0)
		fail_msg("%s", trip_error_message());
}

void
family_say(char byte)
{
	assert_int_equal(write(FAMILY_SAID, &byte, 1), 1);
}

char
family_listen(void)
{
	char byte;

	if (read(FAMILY_HEARD, &byte, 1) != 1)
		_exit(3);
	return byte;
}

void
family_outlive(void)
{
	char byte;

	while (read(FAMILY_HEARD, &byte, 1) == 1)
		;
}

void
family_hurry(void)
{
	(void)setpriority(PRIO_PROCESS, 0, -20);
}

uint64_t
family_kept_ns(void)
{
	unsigned long long ran, kept = 0;
	FILE *file = fopen("/proc/thread-self/schedstat", "r");

	if (file == NULL)
		return 0;
	if (fscanf(file, "%llu %llu", &ran, &kept) != 2)
		kept = 0;
	fclose(file);
	return kept;
}

bool
family_send(int fd, const void *message, size_t size)
{
	return write(fd, message, size) == (ssize_t)size;
}

bool
family_receive(int fd, void *message, size_t size)
{
	size_t got = 0;

	while (got < size) {
		ssize_t n = read(fd, (char *)message + got, size - got);

		if (n <= 0)
			return false;
		got += (size_t)n;
	}
	return true;
}

static struct trip_cntr *
handle(const char *name, enum trip_wait_obj wait_obj, bool found)
{
	const struct trip_cntr_attr attr = {
		.size = sizeof(attr), .name = name, .wait_obj = wait_obj};
	struct trip_cntr *cntr;
	int error = found ? trip_cntr_find(family_domain, &attr, &cntr, NULL)
			  : trip_cntr_open(family_domain, &attr, &cntr, NULL);

	if (error != 0)
		fail_msg("%s", trip_error_message());
	return cntr;
}

struct trip_cntr *
family_cntr(const char *name, enum trip_wait_obj wait_obj)
{
	return handle(name, wait_obj, false);
}

struct trip_cntr *
family_find(const char *name, enum trip_wait_obj wait_obj)
{
	return handle(name, wait_obj, true);
}

void
family_become(const char *part, const char *file_prefix, unsigned int lcore)
{
	char number[16];

	snprintf(number, sizeof(number), "%u", lcore);
	execl("/proc/self/exe", program, part, file_prefix, number, NULL);
	_exit(127);
}

const char *
family_prefix(void)
{
	return prefix;
}

static int
start_secondary(char **argv)
{
	char lcores[32], file_prefix[80];
	const char *words[] = {"secondary", lcores, "--proc-type=secondary", file_prefix,
		"--no-pci", "--no-telemetry", "--log-level=error"};

	progress = TRIP_PROGRESS_LCORE;
	snprintf(program, sizeof(program), "%s", argv[0]);
	snprintf(lcores, sizeof(lcores), "--lcores=%s@0-1", argv[3]);
	snprintf(file_prefix, sizeof(file_prefix), "--file-prefix=%s", argv[2]);
	return start_eal(words, RTE_DIM(words));
}

static int
play(char **argv, const struct family_part *parts)
{
	while (parts->name != NULL && strcmp(parts->name, argv[1]) != 0)
		parts++;
	if (parts->name == NULL)
		return 5;
	snprintf(prefix, sizeof(prefix), "%s", argv[2]);
	if (!parts->bare && (parts->primary ? start_primary(argv[0]) : start_secondary(argv)) < 0)
		return 4;
	parts->play(argv[4] != NULL ? argv[4] : "");
	if (!parts->bare)
		rte_eal_cleanup();
	return 0;
}

/* The status of the first that did not end well, or of the last; -1: there is none. */
static int
wait_for_orphans(void)
{
	int status = -1, one;

	while (waitpid(-1, &one, 0) > 0)
		if (status <= 0)
			status = one;
	return status;
}

/* Names are asked for. */
static bool listing;

int
family_run_tests(const struct CMUnitTest *tests, size_t n)
{
	const char *only = getenv("TRIP_TEST");

	if (only != NULL)
		cmocka_set_test_filter(only);
	if (!listing)
		return _cmocka_run_group_tests("process", tests, n, NULL, NULL) == 0 ? EXIT_SUCCESS
										     : EXIT_FAILURE;
	for (size_t i = 0; i < n; i++)
		printf("%s\n", tests[i].name);
	return EXIT_SUCCESS;
}

int
family_main(int argc, char **argv, const struct family_part *parts, int (*tests)(void))
{
	int status = 0;
	pid_t pid;

	setenv("CMOCKA_TEST_ABORT", "1", 1);
	if (argc > 1 && strcmp(argv[1], "list") == 0) {
		listing = true;
		return argc > 2 && strcmp(argv[2], "secondary") != 0 ? EXIT_SUCCESS : tests();
	}
	if (argc > 1)
		return play(argv, parts);
	snprintf(prefix, sizeof(prefix), "trip-test-%d", (int)getpid());
	/* They become ours. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	/* However the primary ends, somebody clears up behind it. */
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGPIPE, SIG_IGN);
		if (start_primary(argv[0]) != 0) {
			printf("EAL has no hugepages here, by which processes share memory\n");
			exit(TRIP_TEST_SKIP);
		}
		status = tests();
		rte_eal_cleanup();
		exit(status == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
	}
	while (waitpid(pid, &status, 0) < 0)
		;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		status = wait_for_orphans();
	remove_files();
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}

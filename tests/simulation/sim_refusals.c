/* SPDX-License-Identifier: BSD-3-Clause */
/* Of the simulator itself: what cannot be played as it is asked for is refused by a sentence, and
 * what is no history is not waited for. */
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <trip_test.h>

#include "sim_inside.h"

/* Who waits for a pipe is ended by then. */
#define WAIT_S 60
#define ARGS 6

static _Atomic uint32_t place;
static char folder[] = "/tmp/sim-refusals-XXXXXX", path[64];

static void
store(void *arg)
{
	atomic_store(&place, 1);
}

static void
begin(void)
{
	atomic_init(&place, (uint32_t)sim_draw(8));
	(void)sim_spawn("a", false, store, NULL);
}

static void
nothing(void)
{
}

static const struct sim_world world = {
	.name = "small", .length = 16, .begin = begin, .judge = nothing, .forget = nothing};

/* --- a run, as its program has it --- */

static struct {
	int code;
	char said[1024];
} run;

static void
run_child(int fd, int argc, char **argv)
{
	(void)dup2(fd, STDOUT_FILENO);
	(void)dup2(fd, STDERR_FILENO);
	alarm(WAIT_S);
	exit(sim_main(argc, argv, &world));
}

/* Up to NULL. */
static void
play(const char *const args[ARGS])
{
	static char program[] = "simulation_small";
	char *argv[ARGS + 2] = {program};
	int argc = 1, status, ends[2];
	ssize_t got;
	size_t n = 0;
	pid_t child;

	for (; argc <= ARGS && args[argc - 1] != NULL; argc++)
		argv[argc] = (char *)(uintptr_t)args[argc - 1];
	assert_int_equal(pipe(ends), 0);
	fflush(stdout);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		run_child(ends[1], argc, argv);
	close(ends[1]);
	while ((got = read(ends[0], &run.said[n], sizeof(run.said) - 1 - n)) > 0)
		n += (size_t)got;
	run.said[n] = '\0';
	close(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	run.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

#define PLAY(...) play((const char *const[ARGS]){__VA_ARGS__})

static void
expect(int code, const char *sentence)
{
	if (run.code != code || strstr(run.said, sentence) == NULL)
		fail_msg("ends with %d, and not with %d, \"%s\":\n%s", run.code, code, sentence,
			run.said);
}

static void
write_history(const char *text)
{
	FILE *file;

	(void)unlink(path);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/* --- of a folder and of files --- */

static void
a_folder_has_a_name(void **state)
{
	PLAY("--corpus", "", "--seeds", "1");
	expect(2, "--corpus: its name is empty");
	PLAY("--corpus", path, "--seeds", "1");
	expect(2, "No such file or directory");
}

static void
a_pipe_is_no_history(void **state)
{
	assert_int_equal(mkfifo(path, 0600), 0);
	PLAY("--corpus", folder, "--seeds", "1");
	expect(0, "1 histories, of which 0 fail");
	PLAY("--history", path);
	expect(2, "no history of small");
	assert_int_equal(unlink(path), 0);
	PLAY("--history", folder);
	expect(2, "no history of small");
}

static void
a_history_is_read_to_its_end(void **state)
{
	static const char *const wrong[] = {
		"history of small\n0 5 2 1\n3\n",                              /* cut off */
		"history of small\n0 5 1 1\n3\n1 2 3 0 4\nfive\n",             /* and more */
		"history of small\n0 5 1 1\n3\n1 2 3 0 4\n5\n",                /* and more */
		"history of small\n0 18446744073709551616 1 0\n3\n",           /* its seed */
		"history of small\n0 5 1 0\n18446744073709551616\n",           /* a draw */
		"history of small\n0 5 1 0\n000000000000000000000000000003\n", /* too long */
		"history of small\n0 5 1 0\n-3\n",                             /* none */
		"history of small\n0 5 1 1\n3\n1 4294967298 3 0 4\n",          /* a step */
		"history of small\n3 5 1 0\n3\n",                              /* a memory */
		"history of small\n0 5 1 0\n3x\n",
		"history of great\n0 5 1 0\n3\n",
	};

	write_history("history of small\n0 5 1 1\n3\n1 2 3 0 4\n \n");
	PLAY("--history", path);
	expect(0, "small: 1 histories, of which 0 fail");
	for (unsigned int i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		write_history(wrong[i]);
		PLAY("--history", path);
		expect(2, "no history of small");
	}
	assert_int_equal(unlink(path), 0);
}

/* --- of several options --- */

static void
a_history_is_one(void **state)
{
	static const char *const with[][2] = {{"--memory", "views"}, {"--seeds", "10"},
		{"--first", "3"}, {"--seed", "3"}, {"--corpus", folder}, {"--steer"}};

	write_history("history of small\n0 5 1 0\n3\n");
	for (unsigned int i = 0; i < sizeof(with) / sizeof(with[0]); i++) {
		PLAY("--history", path, with[i][0], with[i][1]);
		expect(2, "--history plays one");
		if (with[i][1] == NULL)
			continue;
		PLAY(with[i][0], with[i][1], "--history", path);
		expect(2, "--history plays one");
	}
	assert_int_equal(unlink(path), 0);
}

static void
seeds_end_where_numbers_do(void **state)
{
	PLAY("--first", "18446744073709551615", "--seeds", "3");
	expect(2, "--first 18446744073709551615 --seeds 3: the last seed is beyond");
	PLAY("--first", "18446744073709551614", "--seeds", "2");
	expect(0, "2 histories, of which 0 fail");
	PLAY("--first", "18446744073709551614", "--seeds", "2", "--planted", "5");
	expect(1, "planted: not found");
	PLAY("--seed", "18446744073709551615");
	expect(0, "1 histories, of which 0 fail");
	PLAY("--seed", "18446744073709551616");
	expect(2, "it is a number from 0 to 18446744073709551615");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_folder_has_a_name),
		cmocka_unit_test(a_pipe_is_no_history),
		cmocka_unit_test(a_history_is_read_to_its_end),
		cmocka_unit_test(a_history_is_one),
		cmocka_unit_test(seeds_end_where_numbers_do),
	};
	char command[64];
	int failed;

	if (mkdtemp(folder) == NULL)
		return 1;
	snprintf(path, sizeof(path), "%s/kept-it", folder);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	return system(command) == 0 ? failed : 1;
}

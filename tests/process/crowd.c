/* SPDX-License-Identifier: BSD-3-Clause */
/* Many connections: each user has so many, nobody takes those of the owner, of root or of attached
 * processes, and who says nothing gives way. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "domain/domain.h"
#include "domain/share.h"
#include "socket_bed.h"

#define USER 60000
#define EACH 32
#define OTHERS 96
/* With the four processes that a domain has room for by default. */
#define OWN (128 + 4)
/* Beside the bed's own connection. */
#define OWN_LEFT (OWN - 1)
#define PROCESSES 128
#define PATIENCE_MS 30000

/* Files for all ends in this one process. */
static void
limit_files(rlim_t n)
{
	struct rlimit files;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	files.rlim_cur = n < files.rlim_max ? n : files.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
}

static void
let_others_in(void)
{
	assert_int_equal(chmod(socket_folder, 0755), 0);
	assert_int_equal(chmod(socket_path, 0666), 0);
}

static int
open_to_all(void **state)
{
	int error = socket_open(state);

	limit_files(4096);
	let_others_in();
	return error;
}

/* The calling thread alone becomes the user, for a moment. */
static int
connect_as(uid_t user)
{
	uid_t before = geteuid();
	int fd;

	assert_int_equal(syscall(SYS_setresuid, -1, user, -1), 0);
	fd = socket_connect();
	assert_int_equal(syscall(SYS_setresuid, -1, before, -1), 0);
	return fd;
}

static struct trip_protocol_reply answer;

static void
ask(int fd, unsigned int type, const void *request, size_t size)
{
	struct socket_message message = {.head = socket_head(type, size)};

	memcpy(&message.request, request, size);
	/* Whoever is refused is told so, and may find the end before. */
	(void)send(fd, &message, message.head.size, MSG_NOSIGNAL);
}

/* The error; 1: the connection has ended. */
static int
take(int fd)
{
	struct pollfd answered = {.fd = fd, .events = POLLIN};

	if (poll(&answered, 1, PATIENCE_MS) != 1)
		fail_msg("no answer in %d ms", PATIENCE_MS);
	while (recv(fd, &answer, sizeof(answer), 0) <= 0)
		if (errno != ECONNRESET)
			return 1;
	return answer.head.error;
}

static int
call(int fd, unsigned int type, const void *request, size_t size)
{
	ask(fd, type, request, size);
	return take(fd);
}

/* Connects, and asks for something: 0, or why it is refused. */
static int
come(uid_t user, int *fd)
{
	const struct trip_protocol_find none = {.name = "none"};
	int error;

	*fd = connect_as(user);
	error = call(*fd, TRIP_PROTOCOL_FIND, &none, sizeof(none));
	return error == -ENOENT ? 0 : error;
}

/* Until no more are let in: how many are. */
static unsigned int
come_all(uid_t user, int *fds, unsigned int most)
{
	unsigned int n = 0;

	while (n < most && come(user, &fds[n]) == 0)
		n++;
	if (n < most)
		close(fds[n]);
	return n;
}

static void
close_all(const int *fds, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		close(fds[i]);
}

static void
expect_reason(const char *reason)
{
	if (strstr(answer.answer.sentence, reason) == NULL)
		fail_msg("not for that: %s", answer.answer.sentence);
}

/* The owner works, all the time. */
static void
expect_served(void)
{
	struct trip_client *client;

	if (trip_client_open(socket_path, &client) != 0)
		fail_msg("%s", trip_error_message());
	trip_client_close(client);
}

/* ---- users ------------------------------------------------------------------------------------
 */

static void
who_says_nothing_gives_way(void **state)
{
	int silent[2 * TRIP_CLIENTS_MAX], fds[EACH];

	for (unsigned int i = 0; i < 2 * TRIP_CLIENTS_MAX; i++)
		silent[i] = connect_as(USER);
	expect_served();
	assert_int_equal(come_all(USER, fds, EACH), EACH);
	/* The first has been told. */
	assert_int_equal(take(silent[0]), -EUSERS);
	expect_reason("said nothing, and user 60000 has 32 of at most 32");
	close_all(fds, EACH);
	close_all(silent, 2 * TRIP_CLIENTS_MAX);
}

static void
each_user_has_so_many(void **state)
{
	int fds[OTHERS], more;
	unsigned int n = 0;

	for (uid_t user = USER; user < USER + OTHERS / EACH; user++) {
		assert_int_equal(come_all(user, &fds[n], EACH), EACH);
		n += EACH;
		assert_int_equal(come(user, &more), -EUSERS);
		close(more);
		if (user == USER)
			expect_reason("user 60000 has 32 connections of at most 32");
		expect_served();
	}
	assert_int_equal(come(USER + OTHERS / EACH, &more), -EUSERS);
	expect_reason("96 connections of at most 96 together: all but users 0 and 0");
	close(more);
	expect_served();
	close_all(fds, n);
}

/* Fewer, where the primary has few files for all. */
static void
each_user_has_fewer_of_few(void **state)
{
	int fds[EACH];

	limit_files(64);
	assert_int_equal(come_all(USER, fds, EACH), 6);
	expect_reason("user 60000 has 6 connections of at most 6");
	expect_served();
	close_all(fds, 6);
	limit_files(4096);
}

static void
each_user_has_so_many_watches(void **state)
{
	struct trip_cntr *cntr = socket_cntr("watched");
	struct trip_client_cntr seen = socket_find("watched");
	const struct trip_protocol_read watch = {.cntr = seen.id};
	/* Of 100, for all. */
	static const unsigned int mosts[] = {17, 17, 16};
	int fds[3], fd;
	uint32_t owns;

	for (unsigned int user = 0; user < 3; user++) {
		assert_int_equal(come(USER + user, &fds[user]), 0);
		for (unsigned int i = 0; i < mosts[user]; i++)
			assert_int_equal(
				call(fds[user], TRIP_PROTOCOL_WATCH, &watch, sizeof(watch)), 0);
		assert_int_equal(
			call(fds[user], TRIP_PROTOCOL_WATCH, &watch, sizeof(watch)), -ENOSPC);
	}
	expect_reason("user 60002 has 16 watches of at most 17, all users but 0 and 0 50 of 50");
	assert_int_equal(trip_client_watch(socket_client, seen.id, &owns, &fd), 0);
	assert_int_equal(trip_client_unwatch(socket_client, owns), 0);
	close_all(fds, 3);
	assert_int_equal(trip_cntr_close(cntr), 0);
}

/* Nor does the owner leave root out, nor root the owner. */
static void
owner_and_root_have_their_own(void **state)
{
	static int fds[OWN], roots[OWN + 1];
	int more;

	/* All threads: the primary's user is another one now. */
	assert_int_equal(seteuid(USER), 0);
	assert_int_equal(come_all(USER, fds, OWN), OWN);
	assert_int_equal(come(USER, &more), -EUSERS);
	expect_reason("user 60000 has 132 connections of at most 132");
	close(more);
	assert_int_equal(come_all(0, roots, OWN + 1), OWN_LEFT);
	expect_reason("user 0 has 132 connections of at most 132");
	close_all(roots, OWN_LEFT);
	close_all(fds, OWN);
	assert_int_equal(seteuid(0), 0);
}

/* ---- attached processes -----------------------------------------------------------------------
 */

static uint32_t
connect_as_process(bool joins, uint32_t number)
{
	const struct trip_protocol_attach attach = {
		.nonce = socket_domain->nonce, .layout = trip_share_layout()};
	const struct trip_protocol_join join = {.number = number};
	int fd = socket_connect();
	int error = joins ? call(fd, TRIP_PROTOCOL_JOIN, &join, sizeof(join))
			  : call(fd, TRIP_PROTOCOL_ATTACH, &attach, sizeof(attach));

	if (error != 0) {
		printf("refused: %s\n", answer.answer.sentence);
		fflush(stdout);
		_exit(1);
	}
	return answer.answer.attached.number;
}

/* As an attached process that uses flows has them, and asks for what is asked for once. */
static void
play_process(int told, int until)
{
	uint32_t number = connect_as_process(false, 0);
	char byte = 0;

	(void)connect_as_process(true, number);
	(void)connect_as_process(true, number);
	(void)!write(told, &byte, 1);
	(void)!read(until, &byte, 1);
	_exit(0);
}

static void
open_with_room(void)
{
	const struct trip_domain_attr attr = {.size = sizeof(attr),
		.progress = TRIP_PROGRESS_MANUAL,
		.n_lcores = 1,
		.max_cntrs = 16,
		.max_works = 16,
		.max_process_works = 16,
		.max_processes = PROCESSES,
		.socket = socket_path,
		.socket_mode = 0660};

	if (trip_domain_open(&attr, &socket_domain, NULL) != 0)
		fail_msg("%s", trip_error_message());
	/* As if its memory could be mapped. */
	socket_domain->server->attachable = true;
	let_others_in();
	limit_files(4096);
}

static void
start_processes(pid_t *pids, const int until[2], int said)
{
	for (unsigned int i = 0; i < PROCESSES; i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (pids[i] != 0)
			continue;
		close(until[1]);
		play_process(said, until[0]);
	}
}

static void
await_processes(int told)
{
	struct pollfd entry = {.fd = told, .events = POLLIN};
	char byte;

	for (unsigned int i = 0; i < PROCESSES; i++)
		if (poll(&entry, 1, PATIENCE_MS) != 1 || read(told, &byte, 1) != 1)
			fail_msg("%u processes of %u have their connections", i, PROCESSES);
}

/* All at once, though others and the owner have all that they may. */
static void
all_processes_have_what_they_need(void **state)
{
	static int others[OTHERS], own[128];
	static pid_t pids[PROCESSES];
	int until[2], told[2];

	open_with_room();
	for (unsigned int i = 0; i < OTHERS / EACH; i++)
		(void)come_all(USER + i, &others[i * EACH], EACH);
	assert_int_equal(come_all(0, own, 128), 128);
	assert_int_equal(pipe(until), 0);
	assert_int_equal(pipe(told), 0);
	start_processes(pids, until, told[1]);
	await_processes(told[0]);
	close(until[0]);
	close(until[1]);
	for (unsigned int i = 0; i < PROCESSES; i++)
		assert_int_equal(waitpid(pids[i], NULL, 0), pids[i]);
	close(told[0]);
	close(told[1]);
	close_all(own, 128);
	close_all(others, OTHERS);
	if (trip_domain_close(socket_domain) != 0)
		fail_msg("%s", trip_error_message());
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define OPEN(f) cmocka_unit_test_setup_teardown(f, open_to_all, socket_close)
		OPEN(who_says_nothing_gives_way),
		OPEN(each_user_has_so_many),
		OPEN(each_user_has_fewer_of_few),
		OPEN(each_user_has_so_many_watches),
		OPEN(owner_and_root_have_their_own),
		cmocka_unit_test(all_processes_have_what_they_need),
	};

	if (geteuid() != 0) {
		printf("Only root can connect as others\n");
		return TRIP_TEST_SKIP;
	}
	return socket_run(tests);
}

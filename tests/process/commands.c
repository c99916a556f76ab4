/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands to the application, over the socket: who may give them, how they come, what is answered.
 */
#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <trip_eal.h>

#include "domain/domain.h"
#include "socket_bed.h"

#define USER 4711
#define STATUS (-7)
/* Its group stands for those that may. */
#define GROUP "daemon"
#define GROUPS 300

/* ---- the application --------------------------------------------------------------------------
 */

static struct {
	pthread_t thread;
	atomic_bool stop;
	/* A command is held until this is set. */
	atomic_bool go;
	atomic_uint n_begun;
	/* Who gave the last one. */
	atomic_uint uid, gid;
} application;

/* The answer is the text, and a byte for each of its zeros. */
static int
echo(const struct trip_command *command, FILE *answer, void *arg)
{
	const char *text = command->text;
	size_t length = command->length;

	assert_int_equal(command->size, sizeof(*command));
	assert_int_equal(command->pid, getpid());
	atomic_store(&application.uid, command->uid);
	atomic_store(&application.gid, command->gid);
	assert_ptr_equal(arg, &application);
	assert_int_equal(text[length], 0);
	atomic_fetch_add(&application.n_begun, 1);
	while (!atomic_load(&application.go))
		sched_yield();
	fwrite(text, 1, length, answer);
	for (size_t i = 0; i < length; i++)
		if (text[i] == 0)
			putc('0', answer);
	return STATUS;
}

static void *
serve(void *arg)
{
	while (!atomic_load(&application.stop)) {
		assert_true(trip_command_serve(socket_domain, echo, arg) >= 0);
		sched_yield();
	}
	return NULL;
}

static void
begin(const char *group)
{
	atomic_store(&application.stop, false);
	atomic_store(&application.go, true);
	atomic_store(&application.n_begun, 0);
	assert_int_equal(trip_command_open(socket_domain, group), 0);
	/* A long command is hundreds of round trips, on cores that others use, too. */
	trip_client_limit(socket_client, -1);
	pthread_create(&application.thread, NULL, serve, &application);
}

/* And has what the first command opens for good. Returns how many descriptors there are. */
static unsigned int
begin_used(void)
{
	char *answer;
	size_t length;
	int status;

	begin(NULL);
	assert_int_equal(trip_client_command(socket_client, "", 0, &status, &answer, &length), 0);
	free(answer);
	return socket_count_fds();
}

static void
end(void)
{
	atomic_store(&application.stop, true);
	pthread_join(application.thread, NULL);
	trip_command_close(socket_domain);
}

static struct trip_domain_stats
stats(void)
{
	struct trip_domain_stats seen = {.size = sizeof(seen)};

	assert_int_equal(trip_domain_stats_read(socket_domain, &seen), 0);
	return seen;
}

/* ---- how they come ----------------------------------------------------------------------------
 */

static int
command(struct trip_client *client, const char *text, size_t length)
{
	size_t answer_length = 0;
	char *answer = NULL;
	int status = 0, error;

	error = trip_client_command(client, text, length, &status, &answer, &answer_length);
	if (error == 0) {
		assert_int_equal(status, STATUS);
		assert_true(answer_length >= length);
		assert_memory_equal(answer, text, length);
		for (size_t i = length; i < answer_length; i++)
			assert_int_equal(answer[i], '0');
		assert_int_equal(answer[answer_length], 0);
	} else {
		assert_null(answer);
	}
	free(answer);
	return error;
}

static void
a_command_of_any_length_is_answered(void **state)
{
	static const size_t lengths[] = {0, 1, TRIP_PROTOCOL_PIECE - 1, TRIP_PROTOCOL_PIECE,
		TRIP_PROTOCOL_PIECE + 1, 2 * TRIP_PROTOCOL_PIECE, 3000001};
	struct trip_random random = {.state = trip_test_seed("text")};
	char *text = malloc(3000001);

	for (size_t i = 0; i < 3000001; i++)
		text[i] = (char)trip_random_below(&random, 4);
	begin(NULL);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++)
		assert_int_equal(command(socket_client, text, lengths[i]), 0);
	assert_int_equal(stats().commands, sizeof(lengths) / sizeof(*lengths));
	assert_int_equal(stats().commands_refused, 0);
	assert_int_equal(trip_command_open(socket_domain, NULL), -EALREADY);
	end();
	free(text);
}

static void
the_longest_command_is_taken_and_no_longer_one(void **state)
{
	char *text = calloc(1, TRIP_CLIENT_COMMAND_MAX + 1);

	memset(text, 'x', TRIP_CLIENT_COMMAND_MAX + 1);
	begin(NULL);
	trip_client_limit(socket_client, -1);
	assert_int_equal(command(socket_client, text, TRIP_CLIENT_COMMAND_MAX + 1), -EMSGSIZE);
	assert_int_equal(command(socket_client, text, TRIP_CLIENT_COMMAND_MAX), 0);
	end();
	free(text);
}

static void
without_an_application_there_is_no_command(void **state)
{
	assert_int_equal(command(socket_client, "x", 1), -ENOTSUP);
	assert_int_equal(trip_command_open(socket_domain, "no-such-group"), -ENOENT);
	assert_int_equal(command(socket_client, "x", 1), -ENOTSUP);
	begin(NULL);
	end();
	assert_int_equal(command(socket_client, "x", 1), -ENOTSUP);
	assert_int_equal(stats().commands, 0);
}

/* ---- who may ----------------------------------------------------------------------------------
 */

/* The calling thread alone is the user, with these groups, while it connects. */
static int
command_as(uid_t user, gid_t group, size_t n, const gid_t *groups)
{
	struct trip_client_domain domain;
	struct trip_client *client;
	uint64_t cursor = 0;
	int error;

	assert_int_equal(syscall(SYS_setgroups, n, groups), 0);
	assert_int_equal(syscall(SYS_setresgid, -1, group, -1), 0);
	assert_int_equal(syscall(SYS_setresuid, -1, user, -1), 0);
	error = trip_client_open(socket_path, &client);
	assert_int_equal(syscall(SYS_setresuid, -1, 0, -1), 0);
	assert_int_equal(syscall(SYS_setresgid, -1, 0, -1), 0);
	assert_int_equal(syscall(SYS_setgroups, 0, NULL), 0);
	assert_int_equal(error, 0);
	/* Who asks knows before. */
	assert_int_equal(
		trip_client_list(client, TRIP_CLIENT_DOMAIN, &cursor, &domain, sizeof(domain), 1),
		1);
	error = command(client, "x", 1);
	assert_int_equal(domain.may_command, error == 0);
	trip_client_close(client);
	return error;
}

static void
who_may_not_is_refused_told_and_counted(void **state)
{
	const struct group *entry = getgrnam(GROUP);
	struct trip_command refused = {.size = sizeof(refused)};
	gid_t group, groups[GROUPS];
	unsigned int n_lines;
	char who[64];

	if (geteuid() != 0)
		skip();
	assert_non_null(entry);
	group = entry->gr_gid;
	for (unsigned int i = 0; i < GROUPS; i++)
		groups[i] = USER + i;
	assert_int_equal(chmod(socket_folder, 0755), 0);
	assert_int_equal(chmod(socket_path, 0666), 0);
	begin(NULL);
	assert_int_equal(trip_command_refused(socket_domain, &refused), -ENOENT);
	assert_int_equal(command_as(0, 0, 0, NULL), 0);
	assert_int_equal(command_as(USER, group, 1, &group), -EACCES);
	assert_non_null(
		strstr(trip_error_message(), "user 4711 may give no commands: only root may"));
	assert_int_equal(stats().commands_refused, 1);
	assert_int_equal(trip_command_refused(socket_domain, &refused), 0);
	assert_true(refused.uid == USER && refused.gid == group && refused.pid == getpid());
	assert_null(refused.text);
	refused.size = 3;
	assert_int_equal(trip_command_refused(socket_domain, &refused), -EINVAL);
	end();
	begin(GROUP);
	assert_int_equal(command_as(USER, USER, GROUPS, groups), -EACCES);
	snprintf(who, sizeof(who), ": only root and group %u %s may", (unsigned int)group, GROUP);
	assert_non_null(strstr(trip_error_message(), who));
	/* As a group's own, as a supplementary one, as the last of many; as none. */
	assert_int_equal(command_as(USER, group, 0, NULL), 0);
	assert_true(application.uid == USER && application.gid == group);
	assert_int_equal(command_as(USER, USER, 1, &group), 0);
	groups[GROUPS - 1] = group;
	assert_int_equal(command_as(USER, USER, GROUPS, groups), 0);
	assert_int_equal(command_as(USER, USER, 0, NULL), -EACCES);
	assert_int_equal(command_as(USER, 0, 0, NULL), -EACCES);
	assert_int_equal(stats().commands, 4);
	assert_int_equal(stats().commands_refused, 4);
	/* However many there are, the log has some. */
	for (unsigned int i = 0; i < 20; i++)
		assert_int_equal(command_as(USER, USER, 0, NULL), -EACCES);
	assert_int_equal(stats().commands_refused, 24);
	assert_int_equal(socket_domain->server->forbidden.count, 24);
	n_lines = socket_domain->server->forbidden.lines;
	assert_true(n_lines > 0 && n_lines <= 8);
	end();
	assert_int_equal(chmod(socket_folder, 0700), 0);
}

/* ---- what is hostile --------------------------------------------------------------------------
 */

static struct trip_protocol_reply reply;

static int
ask(int fd, unsigned int type, const void *body, size_t size)
{
	static struct socket_message message;

	message.head = socket_head(type, size);
	memcpy(&message.request, body, size);
	assert_int_equal(send(fd, &message, message.head.size, MSG_NOSIGNAL), message.head.size);
	assert_true(recv(fd, &reply, sizeof(reply), 0) >= (ssize_t)sizeof(reply.head));
	return reply.head.error;
}

static int
send_piece(int fd, uint32_t total, uint32_t at)
{
	const struct trip_protocol_command piece = {.total = total, .at = at};

	return ask(fd, TRIP_PROTOCOL_COMMAND, &piece, sizeof(piece));
}

static int
ask_more(int fd, uint32_t at)
{
	const struct trip_protocol_command_more more = {.at = at};

	return ask(fd, TRIP_PROTOCOL_COMMAND_MORE, &more, sizeof(more));
}

static void
pieces_come_in_order_or_not_at_all(void **state)
{
	const uint32_t piece = TRIP_PROTOCOL_PIECE;
	unsigned int before = begin_used();
	int fd = socket_connect();

	assert_int_equal(ask_more(fd, 0), -EPROTO);
	assert_int_equal(send_piece(fd, 3 * piece, piece), -EPROTO);
	assert_int_equal(send_piece(fd, 3 * piece, 0), 0);
	assert_int_equal(reply.answer.told.total, 0);
	assert_int_equal(ask_more(fd, 0), -EPROTO);
	assert_int_equal(send_piece(fd, 3 * piece, 2 * piece), -EPROTO);
	/* With that it is no more. */
	assert_int_equal(send_piece(fd, 3 * piece, piece), -EPROTO);
	assert_int_equal(send_piece(fd, 3 * piece, 0), 0);
	assert_int_equal(send_piece(fd, 4 * piece, piece), -EPROTO);
	assert_int_equal(send_piece(fd, UINT32_MAX, 0), -EMSGSIZE);
	assert_int_equal(send_piece(fd, 2 * piece, 0), 0);
	assert_int_equal(send_piece(fd, piece, 0), 0);
	assert_int_equal(reply.answer.told.total, 2 * piece);
	assert_int_equal(ask_more(fd, 2 * piece), -EPROTO);
	assert_int_equal(ask_more(fd, 2 * piece - 1), 0);
	assert_int_equal(send_piece(fd, piece, piece), -EPROTO);
	assert_int_equal(stats().commands, 2);
	assert_int_equal(send_piece(fd, 2 * piece, 0), 0);
	close(fd);
	socket_wait_for_fds(before);
	assert_int_equal(socket_domain->server->commands.bytes, 0);
	end();
}

/* More than may be on its way, by connections that never end theirs. */
static void
what_is_never_whole_keeps_nobody_waiting(void **state)
{
	static const uint32_t total = (uint32_t)TRIP_CLIENT_COMMAND_MAX,
			      piece = TRIP_PROTOCOL_PIECE;
	unsigned int before = begin_used();
	size_t length = total / 2;
	char *text = calloc(1, length);
	uint32_t at = 0;
	int fds[6];

	for (unsigned int i = 0; i < 6; i++) {
		fds[i] = socket_connect();
		for (at = 0; at + piece < total / 2; at += piece)
			assert_int_equal(send_piece(fds[i], total, at), 0);
		assert_true(socket_domain->server->commands.bytes <= TRIP_COMMAND_BYTES_MAX);
	}
	assert_int_equal(command(socket_client, text, length), 0);
	/* Those have lost theirs that had not gone on for longest. */
	assert_int_equal(send_piece(fds[5], total, at), 0);
	assert_int_equal(send_piece(fds[0], total, at), -ENOBUFS);
	assert_int_equal(send_piece(fds[0], total, at), -EPROTO);
	assert_int_equal(send_piece(fds[1], piece, 0), 0);
	for (unsigned int i = 0; i < 6; i++)
		close(fds[i]);
	socket_wait_for_fds(before);
	assert_int_equal(socket_domain->server->commands.bytes, 0);
	free(text);
	end();
}

static void
who_goes_leaves_nothing(void **state)
{
	unsigned int before = begin_used();
	int gone = socket_connect(), other = socket_connect();
	static struct socket_message message;

	atomic_store(&application.go, false);
	atomic_store(&application.n_begun, 0);
	message.head = socket_head(TRIP_PROTOCOL_COMMAND, sizeof(message.request.command));
	message.request.command.total = 1;
	/* One that is being done, and one that waits behind it. */
	assert_true(send(gone, &message, message.head.size, 0) > 0);
	while (atomic_load(&application.n_begun) == 0)
		sched_yield();
	assert_true(send(other, &message, message.head.size, 0) > 0);
	while (stats().commands < 3)
		sched_yield();
	close(gone);
	close(other);
	/* Others are served meanwhile, but for commands. */
	assert_int_equal(
		trip_client_find(socket_client, "none",
			&(struct trip_client_cntr){.size = sizeof(struct trip_client_cntr)}),
		-ENOENT);
	atomic_store(&application.go, true);
	assert_int_equal(command(socket_client, "x", 1), 0);
	socket_wait_for_fds(before);
	end();
}

/* Its application ends while one waits. */
static void
who_waits_is_told_of_the_end(void **state)
{
	static struct socket_message message;
	int fd = socket_connect();

	assert_int_equal(trip_command_open(socket_domain, NULL), 0);
	message.head = socket_head(TRIP_PROTOCOL_COMMAND, sizeof(message.request.command));
	assert_true(send(fd, &message, message.head.size, 0) > 0);
	while (stats().commands == 0)
		sched_yield();
	trip_command_close(socket_domain);
	assert_true(recv(fd, &reply, sizeof(reply), 0) >= (ssize_t)sizeof(reply.head));
	assert_int_equal(reply.head.error, -ESHUTDOWN);
	/* And the domain with one: what it sees is the end of the connection, or the same. */
	assert_int_equal(trip_command_open(socket_domain, NULL), 0);
	assert_true(send(fd, &message, message.head.size, 0) > 0);
	while (stats().commands < 2)
		sched_yield();
	socket_close(state);
	(void)recv(fd, &reply, sizeof(reply), 0);
	assert_int_equal(recv(fd, &reply, sizeof(reply), 0), 0);
	close(fd);
	socket_open(state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		SOCKET_TEST(a_command_of_any_length_is_answered),
		SOCKET_TEST(the_longest_command_is_taken_and_no_longer_one),
		SOCKET_TEST(without_an_application_there_is_no_command),
		SOCKET_TEST(who_may_not_is_refused_told_and_counted),
		SOCKET_TEST(pieces_come_in_order_or_not_at_all),
		SOCKET_TEST(what_is_never_whole_keeps_nobody_waiting),
		SOCKET_TEST(who_goes_leaves_nothing),
		SOCKET_TEST(who_waits_is_told_of_the_end),
	};

	return socket_run(tests);
}

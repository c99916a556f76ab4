/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Descriptors on their way, which the kernel counts by the user that sends them: where that is not
 * root, it sends no more when they are more than the open files that the sender may have. This
 * program is an ordinary user's, who may have few.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rte_ethdev.h>

#include "domain/domain.h"
#include "flow/port.h"
#include "domain/share.h"
#include "socket_bed.h"
#include "waiter.h"

#define FILES 64
/* Whom nobody else is. */
#define USERS (UINT32_C(1) << 30)

static rlim_t files_before;

static void
limit_files(rlim_t n)
{
	struct rlimit files;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	files_before = files.rlim_cur;
	files.rlim_cur = n;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
}

static int
open_limited(void **state)
{
	int error = socket_open(state);

	limit_files(FILES);
	return error;
}

static int
close_limited(void **state)
{
	limit_files(files_before);
	return socket_close(state);
}

/* More than may be are on their way, until the ends are closed. */
static void
occupy(int ends[2])
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE((FILES + 1) * sizeof(int))];
	} control = {.head = {.cmsg_level = SOL_SOCKET,
			     .cmsg_type = SCM_RIGHTS,
			     .cmsg_len = CMSG_LEN((FILES + 1) * sizeof(int))}};
	char byte = 0;
	struct iovec part = {.iov_base = &byte, .iov_len = 1};
	struct msghdr msg = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control.bytes)};

	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends), 0);
	/* The same one, so many times. */
	for (unsigned int i = 0; i <= FILES; i++)
		memcpy(CMSG_DATA(&control.head) + i * sizeof(fd), &fd, sizeof(fd));
	assert_int_equal(sendmsg(ends[0], &msg, 0), 1);
	close(fd);
}

static void
let_go(const int ends[2])
{
	close(ends[0]);
	close(ends[1]);
}

/* ---- raw connections --------------------------------------------------------------------------
 */

static void
ask(int fd, unsigned int type, const void *request, size_t size)
{
	struct socket_message message = {.head = socket_head(type, size)};

	if (size > 0)
		memcpy(&message.request, request, size);
	assert_int_equal(send(fd, &message, message.head.size, MSG_NOSIGNAL), message.head.size);
}

/* The answer's error, and the descriptor that came along, or -1. */
static int
take(int fd, struct trip_protocol_reply *reply, int *came)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = {.iov_base = reply, .iov_len = sizeof(*reply)};
	struct msghdr msg = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control.bytes)};

	if (recvmsg(fd, &msg, 0) <= 0)
		fail_msg("the connection has ended");
	*came = -1;
	if (msg.msg_controllen > 0)
		memcpy(came, CMSG_DATA(&control.head), sizeof(*came));
	return reply->head.error;
}

static struct trip_protocol_reply answer;

static int
call_answer(int fd)
{
	int came, error = take(fd, &answer, &came);

	if (came >= 0)
		close(came);
	return error;
}

static int
call(int fd, unsigned int type, const void *request, size_t size)
{
	ask(fd, type, request, size);
	return call_answer(fd);
}

/* ---- what cannot go along ---------------------------------------------------------------------
 */

/* Others' doing is answered with an error, and passes. */
static void
a_watch_that_cannot_be_had_is_an_error(void **state)
{
	struct trip_cntr *cntr = socket_cntr("watched");
	struct trip_client_cntr seen = socket_find("watched");
	unsigned int before = socket_count_fds();
	int ends[2], fd;
	uint32_t watch;

	occupy(ends);
	for (unsigned int i = 0; i < 2 * TRIP_SERVER_WATCHES; i++)
		assert_int_equal(
			trip_client_watch(socket_client, seen.id, &watch, &fd), -ETOOMANYREFS);
	assert_non_null(strstr(trip_error_message(), "more than the 64 open files"));
	assert_int_equal(trip_client_read(socket_client, seen.id, &seen), 0);
	let_go(ends);
	socket_wait_for_fds(before);
	assert_int_equal(socket_domain->server->n_watches, 0);
	assert_int_equal(trip_client_watch(socket_client, seen.id, &watch, &fd), 0);
	assert_int_equal(watch, 0);
	assert_int_equal(trip_client_unwatch(socket_client, watch), 0);
	assert_int_equal(trip_cntr_close(cntr), 0);
}

/* As if its memory could be mapped. */
static int
attach(void)
{
	const struct trip_protocol_attach attach = {
		.nonce = socket_domain->nonce, .layout = trip_share_layout()};
	int fd = socket_connect();

	socket_domain->server->attachable = true;
	assert_int_equal(call(fd, TRIP_PROTOCOL_ATTACH, &attach, sizeof(attach)), 0);
	return fd;
}

static uint32_t
take_slot(int fd)
{
	const struct trip_protocol_slots slots = {.count = 1};

	assert_int_equal(call(fd, TRIP_PROTOCOL_SLOTS, &slots, sizeof(slots)), 0);
	return answer.answer.slots.slot[0];
}

static void
expect_signals(int fd, enum trip_protocol_signal_by by)
{
	struct trip_protocol_signal signal = {.slot = take_slot(fd), .by = by};
	struct trip_home *home = socket_domain->engine.homes[0];
	unsigned int before;
	int ends[2];

	before = socket_count_fds();
	occupy(ends);
	assert_int_equal(call(fd, TRIP_PROTOCOL_SIGNAL, &signal, sizeof(signal)), -ETOOMANYREFS);
	assert_int_equal(atomic_load(&home->waiter_fds[signal.slot]), -1);
	let_go(ends);
	socket_wait_for_fds(before);
	assert_int_equal(call(fd, TRIP_PROTOCOL_SIGNAL, &signal, sizeof(signal)), 0);
	assert_true(atomic_load(&home->waiter_fds[signal.slot]) >= 0);
}

/* What the process has in common already stays, where another cannot be sent. */
static void
expect_common_stays(int fd)
{
	struct trip_protocol_signal signal = {
		.slot = take_slot(fd), .by = TRIP_PROTOCOL_SIGNAL_COMMON};
	struct trip_home *home = socket_domain->engine.homes[0];
	unsigned int before;
	uint32_t slots[3];
	uint64_t one = 1;
	int ends[2], common;

	ask(fd, TRIP_PROTOCOL_SIGNAL, &signal, sizeof(signal));
	assert_int_equal(take(fd, &answer, &common), 0);
	/* The control thread closes its own of a descriptor before it answers the next request. */
	for (unsigned int i = 0; i < 3; i++)
		slots[i] = take_slot(fd);
	before = socket_count_fds();
	for (unsigned int i = 0; i < 3; i++) {
		signal.slot = slots[i];
		signal.by = TRIP_PROTOCOL_SIGNAL_COMMON;
		occupy(ends);
		assert_int_equal(
			call(fd, TRIP_PROTOCOL_SIGNAL, &signal, sizeof(signal)), -ETOOMANYREFS);
		assert_int_equal(atomic_load(&home->waiter_fds[signal.slot]), -1);
		let_go(ends);
		signal.by = TRIP_PROTOCOL_SIGNAL_SAME;
		assert_int_equal(call(fd, TRIP_PROTOCOL_SIGNAL, &signal, sizeof(signal)), 0);
		assert_int_equal(
			send(atomic_load(&home->waiter_fds[signal.slot]) & ~TRIP_WAITER_SOCKET,
				&one, sizeof(one), MSG_NOSIGNAL),
			sizeof(one));
		assert_int_equal(recv(common, &one, sizeof(one), MSG_DONTWAIT), sizeof(one));
		/* One more is the slot's; and the first failure has ended what was kept of the
		 * socket before this. */
		socket_wait_for_fds(before + i);
	}
	close(common);
}

/* The port is not held by who does not know that he has it. */
static void
expect_port(int fd, const struct trip_port *port)
{
	struct trip_protocol_port find = {.port = port->port_id};
	int ends[2];

	occupy(ends);
	assert_int_equal(call(fd, TRIP_PROTOCOL_PORT, &find, sizeof(find)), -ETOOMANYREFS);
	assert_non_null(strstr(answer.answer.sentence, "more than the 64 open files"));
	assert_int_equal(port->n_found, 0);
	let_go(ends);
	assert_int_equal(call(fd, TRIP_PROTOCOL_PORT, &find, sizeof(find)), 0);
	assert_int_equal(port->n_found, 1);
	find.close = 1;
	assert_int_equal(call(fd, TRIP_PROTOCOL_PORT, &find, sizeof(find)), 0);
	assert_int_equal(port->n_found, 0);
}

static void
what_an_attached_process_cannot_have_is_an_error(void **state)
{
	struct trip_port *port = socket_open_port();
	int fd = attach();

	expect_signals(fd, TRIP_PROTOCOL_SIGNAL_OWN);
	expect_signals(fd, TRIP_PROTOCOL_SIGNAL_COMMON);
	expect_common_stays(fd);
	expect_port(fd, port);
	assert_int_equal(call(fd, TRIP_PROTOCOL_DETACH, NULL, 0), 0);
	close(fd);
	assert_int_equal(trip_port_close(port), 0);
	assert_int_equal(rte_eth_dev_stop(0), 0);
}

/* Whoever dies before he closes his end may have left it to a child. */
static void
who_has_detached_is_not_connected_any_more(void **state)
{
	unsigned int before = socket_count_fds();
	struct pollfd end = {.fd = attach(), .events = POLLRDHUP};

	ask(end.fd, TRIP_PROTOCOL_DETACH, NULL, 0);
	assert_int_equal(poll(&end, 1, 10000), 1);
	/* The answer is there still. */
	assert_int_equal(call_answer(end.fd), 0);
	assert_int_equal(recv(end.fd, &answer, sizeof(answer), 0), 0);
	socket_wait_for_fds(before + 1);
	close(end.fd);
}

/* ---- what clients leave on its way ------------------------------------------------------------
 */

#define CONNECTIONS 8
#define ASKED 10

/* They ask for watches, again and again, and never read an answer. */
static void
play_flood(uint64_t cntr, int until, int told)
{
	const struct trip_protocol_read watch = {.cntr = cntr};
	const struct trip_protocol_unwatch unwatch = {.watch = 0};
	char byte = 0;

	for (unsigned int i = 0; i < CONNECTIONS; i++) {
		int fd = socket_connect();

		for (unsigned int n = 0; n < ASKED; n++) {
			struct socket_message message = {
				.head = socket_head(TRIP_PROTOCOL_WATCH, sizeof(watch)),
				.request.read = watch};

			(void)send(fd, &message, message.head.size, MSG_NOSIGNAL);
			message.head = socket_head(TRIP_PROTOCOL_UNWATCH, sizeof(unwatch));
			message.request.unwatch = unwatch;
			(void)send(fd, &message, message.head.size, MSG_NOSIGNAL);
		}
	}
	(void)!write(told, &byte, 1);
	(void)!read(until, &byte, 1);
	_exit(0);
}

static void
no_client_leaves_others_without(void **state)
{
	struct trip_cntr *cntr = socket_cntr("watched");
	struct trip_client_cntr seen = socket_find("watched");
	int until[2], told[2], fd;
	uint32_t watch;
	char byte;
	pid_t pid;

	assert_int_equal(pipe(until), 0);
	assert_int_equal(pipe(told), 0);
	pid = fork();
	if (pid == 0) {
		close(until[1]);
		play_flood(seen.id, until[0], told[1]);
	}
	assert_int_equal(read(told[0], &byte, 1), 1);
	/* With each of these, one request of each connection at least is looked at. */
	for (unsigned int i = 0; i < 2 * CONNECTIONS * ASKED; i++) {
		if (trip_client_watch(socket_client, seen.id, &watch, &fd) != 0)
			fail_msg("after %u: %s", i, trip_error_message());
		assert_int_equal(trip_client_unwatch(socket_client, watch), 0);
	}
	close(until[0]);
	close(until[1]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(told[0]);
	close(told[1]);
	assert_int_equal(trip_cntr_close(cntr), 0);
}

static unsigned int
count_connections(void)
{
	unsigned int n = 0;

	pthread_mutex_lock(&socket_domain->lock);
	for (uint32_t i = 0; i < TRIP_SERVER_CONNECTIONS; i++)
		n += socket_domain->server->connections[i] != NULL;
	pthread_mutex_unlock(&socket_domain->lock);
	return n;
}

/* What the control thread has been told before it answers. */
static void
settle(void)
{
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(trip_client_find(socket_client, "none",
					 &(struct trip_client_cntr){
						 .size = sizeof(struct trip_client_cntr)}),
			-ENOENT);
}

enum end {
	GARBAGE,
	SHUT,
	ENDS,
};

/* Whose watch's descriptor is on its way, unread: the connection ends. */
static int
leave_unread(enum end end, uint64_t cntr)
{
	const struct trip_protocol_read watch = {.cntr = cntr};
	struct pollfd answered = {.fd = socket_connect(), .events = POLLIN};

	ask(answered.fd, TRIP_PROTOCOL_WATCH, &watch, sizeof(watch));
	assert_int_equal(poll(&answered, 1, -1), 1);
	if (end == GARBAGE)
		assert_int_equal(send(answered.fd, "garbage", 7, MSG_NOSIGNAL), 7);
	else
		shutdown(answered.fd, SHUT_RDWR);
	answered.events = POLLRDHUP;
	assert_int_equal(poll(&answered, 1, -1), 1);
	settle();
	return answered.fd;
}

/* Nobody comes back for more, and leaves what he has asked for before on its way. */
static void
who_has_not_read_keeps_his_place(void **state)
{
	struct trip_cntr *cntr = socket_cntr("watched");
	uint64_t id = socket_find("watched").id;
	unsigned int before = count_connections(), fds = socket_count_fds();
	struct trip_protocol_reply reply;
	int fd, came;

	for (enum end end = 0; end < ENDS; end++) {
		fd = leave_unread(end, id);
		assert_int_equal(count_connections(), before + 1);
		close(fd);
		while (count_connections() != before)
			settle();
	}
	fd = leave_unread(GARBAGE, id);
	assert_int_equal(count_connections(), before + 1);
	assert_int_equal(take(fd, &reply, &came), 0);
	close(came);
	/* It is told of the end, then. */
	assert_int_equal(recv(fd, &reply, sizeof(reply), 0), 0);
	while (count_connections() != before)
		settle();
	close(fd);
	socket_wait_for_fds(fds);
	assert_int_equal(trip_cntr_close(cntr), 0);
}

static void
become_a_user(void)
{
	uint32_t user;

	if (geteuid() != 0)
		return;
	assert_int_equal(getrandom(&user, sizeof(user), 0), sizeof(user));
	user = USERS | (user % USERS);
	assert_int_equal(syscall(SYS_setresgid, user, user, user), 0);
	assert_int_equal(syscall(SYS_setresuid, user, user, user), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define LIMITED(f) cmocka_unit_test_setup_teardown(f, open_limited, close_limited)
		LIMITED(a_watch_that_cannot_be_had_is_an_error),
		LIMITED(what_an_attached_process_cannot_have_is_an_error),
		LIMITED(who_has_detached_is_not_connected_any_more),
		LIMITED(no_client_leaves_others_without),
		LIMITED(who_has_not_read_keeps_his_place),
	};

	become_a_user();
	socket_device = "net_ring0";
	return socket_run(tests);
}

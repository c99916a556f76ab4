/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where there is no memory: what is sent over the domain's socket waits for the kernel's, nothing
 * that is done or undone is half so, and no descriptor is closed that is another's, or left open.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_ethdev.h>

#include "domain/domain.h"
#include "domain/share.h"
#include "flow/port.h"
#include "primary/process.h"
#include "socket_bed.h"

static pthread_t main_thread;

/* ---- what is not to be had --------------------------------------------------------------------
 */

#define SENDS_MAX 8

/* What the next messages of the library fail with, of its threads or of this one. */
static struct {
	_Atomic bool is_server;
	_Atomic unsigned int n, next;
	int errors[SENDS_MAX];
} sends;

static void
refuse_sends(bool is_server, const int *errors, unsigned int n)
{
	assert_true(n <= SENDS_MAX);
	for (unsigned int i = 0; i < n; i++)
		sends.errors[i] = errors[i];
	atomic_store(&sends.is_server, is_server);
	atomic_store(&sends.next, 0);
	atomic_store(&sends.n, n);
}

static bool
is_server(void)
{
	return !pthread_equal(pthread_self(), main_thread);
}

ssize_t __real_sendmsg(int fd, const struct msghdr *msg, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *msg, int flags);

ssize_t
__wrap_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	if (atomic_load(&sends.next) == atomic_load(&sends.n) || is_server() != sends.is_server)
		return __real_sendmsg(fd, msg, flags);
	errno = sends.errors[atomic_fetch_add(&sends.next, 1)];
	return -1;
}

/* One that this thread asks for is not to be had, so many later; and nothing for the others. */
static struct {
	bool counts;
	unsigned int left;
	_Atomic bool none;
} memory = {.left = 0};

static bool
is_refused(void)
{
	if (is_server())
		return atomic_load(&memory.none);
	return memory.counts && memory.left-- == 0;
}

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__real_realloc(void *before, size_t size);
void *__wrap_realloc(void *before, size_t size);

void *
__wrap_calloc(size_t n, size_t size)
{
	if (!is_refused())
		return __real_calloc(n, size);
	errno = ENOMEM;
	return NULL;
}

void *
__wrap_realloc(void *before, size_t size)
{
	if (!is_refused())
		return __real_realloc(before, size);
	errno = ENOMEM;
	return NULL;
}

/* ---- raw connections --------------------------------------------------------------------------
 */

static struct trip_protocol_reply answer;

/* The answer's error, and the descriptor that came along, or -1. */
static int
call(int fd, unsigned int type, const void *request, size_t size, int *came)
{
	struct socket_message message = {.head = socket_head(type, size)};
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = {.iov_base = &answer, .iov_len = sizeof(answer)};
	struct msghdr msg = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control.bytes)};

	if (size > 0)
		memcpy(&message.request, request, size);
	assert_int_equal(send(fd, &message, message.head.size, MSG_NOSIGNAL), message.head.size);
	if (recvmsg(fd, &msg, MSG_CMSG_CLOEXEC) <= 0)
		fail_msg("the connection has ended");
	*came = -1;
	if (msg.msg_controllen > 0)
		memcpy(came, CMSG_DATA(&control.head), sizeof(*came));
	return answer.head.error;
}

static int
call_plain(int fd, unsigned int type, const void *request, size_t size)
{
	int came, error = call(fd, type, request, size, &came);

	assert_int_equal(came, -1);
	return error;
}

/* As if its memory could be mapped. */
static int
attach(void)
{
	const struct trip_protocol_attach asked = {
		.nonce = socket_domain->nonce, .layout = trip_share_layout()};
	int fd = socket_connect();

	socket_domain->server->attachable = true;
	assert_int_equal(call_plain(fd, TRIP_PROTOCOL_ATTACH, &asked, sizeof(asked)), 0);
	return fd;
}

static struct trip_protocol_signal
take_slot(int fd)
{
	const struct trip_protocol_slots slots = {.count = 1};

	assert_int_equal(call_plain(fd, TRIP_PROTOCOL_SLOTS, &slots, sizeof(slots)), 0);
	return (struct trip_protocol_signal){
		.slot = answer.answer.slots.slot[0], .by = TRIP_PROTOCOL_SIGNAL_OWN};
}

/* ---- messages ---------------------------------------------------------------------------------
 */

static const int twice[] = {ENOBUFS, ENOMEM};
/* And then, those that are on their way are too many. */
static const int too_many[] = {ENOBUFS, ETOOMANYREFS};

/* Of a request that the control thread answers, and of one that the proxy does; with a descriptor
 * and without. */
static void
an_answer_waits_for_memory(void **state)
{
	struct trip_port *port = socket_open_port();
	const struct trip_protocol_port find = {.port = port->port_id};
	const struct trip_protocol_port_ask stats = {.port = port->port_id};
	unsigned int before = socket_count_fds();
	int fd = attach(), signaled, rules;
	struct trip_protocol_signal signal;

	refuse_sends(true, twice, 2);
	signal = take_slot(fd);
	refuse_sends(true, twice, 2);
	assert_int_equal(call(fd, TRIP_PROTOCOL_SIGNAL, &signal, sizeof(signal), &signaled), 0);
	assert_true(signaled >= 0);
	refuse_sends(true, twice, 2);
	assert_int_equal(call(fd, TRIP_PROTOCOL_PORT, &find, sizeof(find), &rules), 0);
	assert_true(rules >= 0);
	assert_int_equal(port->n_found, 1);
	refuse_sends(true, twice, 2);
	assert_int_equal(call_plain(fd, TRIP_PROTOCOL_PORT_STATS, &stats, sizeof(stats)), 0);
	/* It is connected until it has its answer. */
	refuse_sends(true, twice, 2);
	assert_int_equal(call_plain(fd, TRIP_PROTOCOL_DETACH, NULL, 0), 0);
	assert_int_equal(recv(fd, &answer, sizeof(answer), 0), 0);
	close(signaled);
	close(rules);
	close(fd);
	while (port->n_found > 0)
		trip_progress(socket_domain);
	/* What the port shares its rules by is open as long as the port is. */
	socket_wait_for_fds(before + 1 + 1);
	assert_int_equal(trip_port_close(port), 0);
	assert_int_equal(rte_eth_dev_stop(0), 0);
}

/* What was asked for is undone when it shows that the descriptor does not go along. */
static void
what_waits_for_memory_is_undone(void **state)
{
	struct trip_home *home = socket_domain->engine.homes[0];
	int came, fd = attach();
	struct trip_protocol_signal signal = take_slot(fd);

	refuse_sends(true, too_many, 2);
	assert_int_equal(
		call(fd, TRIP_PROTOCOL_SIGNAL, &signal, sizeof(signal), &came), -ETOOMANYREFS);
	assert_int_equal(came, -1);
	assert_int_equal(atomic_load(&home->waiter_fds[signal.slot]), -1);
	/* The connection goes on. */
	assert_int_equal(call(fd, TRIP_PROTOCOL_SIGNAL, &signal, sizeof(signal), &came), 0);
	close(came);
	assert_int_equal(call_plain(fd, TRIP_PROTOCOL_DETACH, NULL, 0), 0);
	close(fd);
}

/* Nobody is served for it any more; its descriptor goes with it. */
static void
who_goes_takes_what_waits_along(void **state)
{
	int errors[SENDS_MAX], fd, before = (int)socket_count_fds();
	struct socket_message message = {
		.head = socket_head(TRIP_PROTOCOL_WATCH, sizeof(message.request.read))};
	struct trip_cntr *cntr = socket_cntr("watched");

	message.request.read.cntr = socket_find("watched").id;
	for (unsigned int i = 0; i < SENDS_MAX; i++)
		errors[i] = ENOBUFS;
	fd = socket_connect();
	refuse_sends(true, errors, SENDS_MAX);
	assert_int_equal(send(fd, &message, message.head.size, MSG_NOSIGNAL), message.head.size);
	while (atomic_load(&sends.next) == 0)
		usleep(100);
	close(fd);
	socket_wait_for_fds((unsigned int)before);
	refuse_sends(true, NULL, 0);
	assert_int_equal(socket_domain->server->n_watches, 0);
	assert_int_equal(trip_cntr_close(cntr), 0);
}

static void
a_request_waits_for_memory(void **state)
{
	struct trip_cntr *cntr = socket_cntr("asked");

	refuse_sends(false, twice, 2);
	(void)socket_find("asked");
	assert_int_equal(trip_cntr_close(cntr), 0);
}

/* ---- descriptors ------------------------------------------------------------------------------
 */

/* With the nth block that opening it asks for not to be had: it cannot be opened, and its
 * descriptors are closed, and no other. */
static void
a_domain_that_cannot_be_opened_closes_its_own(void **state)
{
	unsigned int before = socket_count_fds(), n = 0;
	struct trip_domain *domain;
	struct stat was, is;
	int error;

	assert_int_equal(fstat(STDIN_FILENO, &was), 0);
	do {
		memory.left = n++;
		memory.counts = true;
		error = socket_domain_open(socket_path, &domain);
		memory.counts = false;
		assert_true(error == 0 || error == -ENOMEM);
		if (fstat(STDIN_FILENO, &is) != 0 || is.st_ino != was.st_ino)
			fail_msg("without block %u, descriptor 0 is closed", n);
		if (error != 0)
			assert_int_equal(socket_count_fds(), before);
	} while (error != 0);
	assert_true(n > 8);
	assert_int_equal(trip_domain_close(domain), 0);
}

/* The control thread has come by what it closes, before the second. */
static void
ask_twice(void)
{
	(void)socket_find("watched");
	(void)socket_find("watched");
}

/* Homes are in an iteration, so that none can be closed yet. */
static void
set_iterating(bool iterate)
{
	for (uint32_t i = 0; i < socket_domain->engine.n_homes; i++)
		atomic_fetch_add(socket_domain->engine.homes[i]->epoch, iterate ? 1 : -1);
}

static void
one_that_homes_may_write_is_closed_without_memory(void **state)
{
	struct trip_cntr *cntr = socket_cntr("watched");
	struct trip_client_cntr seen = socket_find("watched");
	unsigned int before = socket_count_fds();
	uint32_t watch;
	int fd;

	assert_int_equal(trip_client_watch(socket_client, seen.id, &watch, &fd), 0);
	set_iterating(true);
	atomic_store(&memory.none, true);
	assert_int_equal(trip_client_unwatch(socket_client, watch), 0);
	atomic_store(&memory.none, false);
	/* The library's own is open still. */
	ask_twice();
	assert_int_equal(socket_count_fds(), before + 1);
	set_iterating(false);
	ask_twice();
	assert_int_equal(socket_count_fds(), before);
	assert_int_equal(trip_cntr_close(cntr), 0);
}

/* As one that attached processes have made up, in the slots of others, would come back. The control
 * thread sleeps: it closes what there is when it is asked for something. */
static void
more_than_slots_were_given_come_back(void **state)
{
	struct trip_server *server = socket_domain->server;
	struct trip_cntr *cntr = socket_cntr("watched");
	struct trip_client_cntr seen = socket_find("watched");
	unsigned int before = socket_count_fds();
	int fd, made_up[64];
	uint32_t watch;

	assert_int_equal(trip_client_watch(socket_client, seen.id, &watch, &fd), 0);
	assert_int_equal(trip_client_unwatch(socket_client, watch), 0);
	ask_twice();
	assert_int_equal(socket_count_fds(), before);
	assert_true(server->room_retired > 0 && server->room_retired < 64);
	set_iterating(true);
	for (unsigned int i = 0; i <= server->room_retired; i++)
		assert_true((made_up[i] = eventfd(0, EFD_CLOEXEC)) >= 0);
	for (unsigned int i = 0; i <= server->room_retired; i++)
		trip_watch_retire(server, made_up[i]);
	assert_int_equal(server->n_retired, server->room_retired);
	set_iterating(false);
	ask_twice();
	/* There was no room to note the last. */
	assert_int_equal(socket_count_fds(), before + 1);
	close(made_up[server->room_retired]);
	assert_int_equal(trip_cntr_close(cntr), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		SOCKET_TEST(an_answer_waits_for_memory),
		SOCKET_TEST(what_waits_for_memory_is_undone),
		SOCKET_TEST(who_goes_takes_what_waits_along),
		SOCKET_TEST(a_request_waits_for_memory),
		cmocka_unit_test(a_domain_that_cannot_be_opened_closes_its_own),
		SOCKET_TEST(one_that_homes_may_write_is_closed_without_memory),
		SOCKET_TEST(more_than_slots_were_given_come_back),
	};

	main_thread = pthread_self();
	socket_device = "net_ring0";
	return socket_run(tests);
}

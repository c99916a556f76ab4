/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random messages to the domain's socket, over many connections at once, some of which have
 * attached, some never read an answer: mutated requests of every type, messages of wrong lengths,
 * descriptors of every odd kind, early ends. Whoever sends them runs no EAL and no call of the
 * library. Others are served meanwhile, and when it is gone, all is as it was.
 */
#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "baseline.h"
#include "domain/domain.h"
#include "flows.h"
#include "odd_fds.h"
#include "random_message.h"
#include "primary/request.h"
#include "primary/server.h"

#define CONNECTIONS 24
#define STEPS 2000
/* More than are let in at once. */
#define CROWD 160
/* An answer that has not come by then will not come. */
#define PATIENCE_MS 30000
/* Bytes that the primary's heap may have grown by, over all: what its threads keep for
 * themselves. */
#define HEAP_SLACK 65536

/* ---- the part that sends ----------------------------------------------------------------------
 */

struct connection {
	/* -1: not connected. */
	int fd;
	/* It reads no answers; its heads may be garbage. */
	bool deaf, rough;
};

static struct connection connections[CONNECTIONS];
static uint64_t sent, answered, good, ended, refused;

static int
connect_one(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	strcpy(address.sun_path, family_socket());
	/* Connections that wait to be accepted are limited as well. */
	while (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
		if (errno != EAGAIN && errno != EINTR)
			fail_msg("connect: %s", strerror(errno));
	return fd;
}

static void
disconnect(struct connection *connection)
{
	close(connection->fd);
	connection->fd = -1;
	ended++;
}

/* Descriptors go along, as many as may; a message of rights may be cut, or said to be longer. */
static bool
send_one(struct connection *connection, const struct random_message *message, size_t size, bool fds)
{
	static union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(ODD_FDS_MAX * sizeof(int))];
	} control;
	static uint8_t longer[2 * sizeof(struct random_message)];
	struct iovec part = {.iov_base = longer, .iov_len = size};
	struct msghdr msg = {.msg_iov = &part, .msg_iovlen = 1};
	size_t n = random_message_one_in(20) ? ODD_FDS_MAX
					     : 1 + trip_random_below(&random_message_state, 8);

	memcpy(longer, message, sizeof(*message));
	if (fds) {
		control.head = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS,
			.cmsg_len = CMSG_LEN(n * sizeof(int))};
		for (size_t i = 0; i < n; i++) {
			const int fd = odd_fds_draw(trip_random_u64(&random_message_state));

			memcpy(CMSG_DATA(&control.head) + i * sizeof(fd), &fd, sizeof(fd));
		}
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(n * sizeof(int));
	}
	sent++;
	return sendmsg(connection->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0 || errno == EAGAIN ||
	       errno == ETOOMANYREFS;
}

/* Takes the answer, and what comes along. False: the connection has ended. */
static bool
take_answer(const struct connection *connection)
{
	static struct trip_protocol_reply reply;
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = {.iov_base = &reply, .iov_len = sizeof(reply)};
	struct msghdr msg = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	struct pollfd entry = {.fd = connection->fd, .events = POLLIN};
	int fd;

	if (poll(&entry, 1, PATIENCE_MS) != 1)
		fail_msg("no answer in %d ms", PATIENCE_MS);
	if (recvmsg(connection->fd, &msg, MSG_CMSG_CLOEXEC) <= 0)
		return false;
	if (msg.msg_controllen > 0) {
		memcpy(&fd, CMSG_DATA(&control.head), sizeof(fd));
		close(fd);
	}
	assert_int_equal(reply.head.magic, TRIP_PROTOCOL_MAGIC);
	assert_true(reply.head.error <= 0);
	answered++;
	good += reply.head.error == 0;
	refused += reply.head.error == -EUSERS;
	if (reply.head.error == 0 && reply.head.type == TRIP_PROTOCOL_FIND)
		random_message_bait = reply.answer.cntr.id;
	return true;
}

/* Up to what a user may have, and beyond. */
static void
crowd(void)
{
	static int fds[CROWD];
	struct random_message message;

	for (unsigned int i = 0; i < CROWD; i++) {
		struct connection connection = {.fd = fds[i] = connect_one()};

		if (random_message_one_in(4))
			(void)send_one(&connection, &message, random_message_compose(&message),
				random_message_one_in(8));
	}
	for (unsigned int i = 0; i < CROWD; i++)
		close(fds[i]);
}

static void
step(void)
{
	struct connection *connection =
		&connections[trip_random_below(&random_message_state, CONNECTIONS)];
	struct random_message message;
	size_t size;

	if (connection->fd < 0)
		*connection = (struct connection){.fd = connect_one(),
			.deaf = random_message_one_in(6),
			.rough = random_message_one_in(2)};
	size = random_message_compose(&message);
	if (connection->rough && random_message_one_in(8))
		size = random_message_spoil(&message, size);
	if (!send_one(connection, &message, size, random_message_one_in(8)))
		disconnect(connection);
	else if (random_message_one_in(40) && connection->rough)
		shutdown(connection->fd, random_message_one_in(2) ? SHUT_WR : SHUT_RD);
	else if (random_message_one_in(200))
		disconnect(connection);
	else if (!connection->deaf && !take_answer(connection))
		disconnect(connection);
}

static void
play_fuzz(const char *arg)
{
	int socket;

	assert_int_equal(sscanf(arg, "%" SCNu64 " %" SCNu64, &random_message_state.state,
				 &random_message_nonce),
		2);
	family_find_socket();
	for (unsigned int i = 0; i < CONNECTIONS; i++)
		connections[i].fd = -1;
	socket = connect_one();
	odd_fds_open(socket);
	for (unsigned int i = 0; i < STEPS; i++) {
		step();
		if (random_message_one_in(STEPS))
			crowd();
		/* The last to hold what others still have on its way. */
		if (random_message_one_in(STEPS / 2)) {
			odd_fds_close();
			odd_fds_open(socket);
		}
	}
	printf("%" PRIu64 " messages, %" PRIu64 " answered, %" PRIu64 " of them good, %" PRIu64
	       " connections ended, %" PRIu64 " refused\n",
		sent, answered, good, ended, refused);
	fflush(stdout);
	assert_true(good > 0 && ended > 0);
	family_say('e');
	_exit(0);
}

/* ---- what counts by keys ----------------------------------------------------------------------
 */

static struct trip_each *each;

/* Keys of it are held by hand, so there is something to be taken. */
static void
each_open(void)
{
	static const struct trip_each_part by_port[] = {{TRIP_EACH_L4_DST, 0}};
	struct trip_domain_attr tune = {.refresh_us = 4000000000, .scrub_us = 4000000000};
	struct trip_each_attr attr = {.size = sizeof(attr),
		.name = "bait",
		.ports = &flows_port,
		.parts = by_port,
		.n_ports = 1,
		.n_parts = 1,
		.max = 8,
		.idle_us = 1000000,
		.by_hand = 1};

	assert_int_equal(trip_each_footprint(&attr, 1, &tune.each_bytes), 0);
	family_open(TRIP_PROGRESS_MANUAL, &tune);
	flows_open_port(1);
	if (trip_each_open(family_domain, &attr, &each) != 0)
		fail_msg("%s", trip_error_message());
}

/* Whoever found it has let go. */
static void
each_close(void)
{
	struct trip_each_info info = {.size = sizeof(info)};

	assert_int_equal(trip_each_query(each, &info), 0);
	printf("%" PRIu64 " keys held by hand, let go or over\n", info.trips);
	assert_int_equal(trip_each_close(each), 0);
}

/* ---- the primary, and a witness ---------------------------------------------------------------
 */

struct witness {
	struct trip_client *client;
	struct trip_cntr *cntr, *fired;
	uint32_t watch;
	int fd;
	uint64_t rounds, longest_ns;
};

static uint64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void
witness_open(struct witness *witness)
{
	struct trip_client_cntr seen = {.size = sizeof(seen)};

	*witness = (struct witness){.cntr = family_cntr("bait", TRIP_WAIT_NONE),
		.fired = family_cntr("fired", TRIP_WAIT_NONE)};
	if (trip_client_open(family_socket(), &witness->client) != 0 ||
		trip_client_find(witness->client, "bait", &seen) != 0 ||
		trip_client_watch(witness->client, seen.id, &witness->watch, &witness->fd) != 0)
		fail_msg("%s", trip_error_message());
}

static bool
is_ready(int fd)
{
	return poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 0) == 1;
}

/* Lists, reads, arms, is woken; and what is due fires. */
static void
witness_round(struct witness *witness)
{
	struct trip_work work = {.size = sizeof(work),
		.op_type = TRIP_OP_CNTR_ADD,
		.triggering_cntr = witness->cntr,
		.threshold = trip_cntr_read(witness->cntr) + 1,
		.op.cntr = {.cntr = witness->fired, .value = 1}};
	uint64_t fired = trip_cntr_read(witness->fired), cursor = 0, began = now_ns(), signal;
	struct trip_client_process processes[16];
	struct trip_client_cntr seen = {.size = sizeof(seen)};

	assert_true(trip_client_list(witness->client, TRIP_CLIENT_PROCESS, &cursor, processes,
			    sizeof(*processes), 16) > 0);
	assert_int_equal(trip_client_find(witness->client, "bait", &seen), 0);
	assert_int_equal(seen.success, work.threshold - 1);
	assert_int_equal(
		trip_client_arm(witness->client, witness->watch, work.threshold, &seen), 0);
	assert_int_equal(trip_work_queue(family_domain, &work, NULL), 0);
	assert_int_equal(trip_cntr_add(witness->cntr, 1), 0);
	family_until(is_ready(witness->fd) && trip_cntr_read(witness->fired) == fired + 1);
	assert_int_equal(read(witness->fd, &signal, sizeof(signal)), sizeof(signal));
	(void)flows_burst(flows_port, 0, 53, 1);
	assert_int_equal(trip_port_release(flows_port, TRIP_FLOW_INGRESS, 0), 0);
	witness->rounds++;
	if (now_ns() - began > witness->longest_ns)
		witness->longest_ns = now_ns() - began;
}

static size_t
heap(void)
{
	return mallinfo2().uordblks;
}

static void
fuzz_once(struct witness *witness, uint64_t seed)
{
	struct family_child child;
	char arg[64];

	snprintf(arg, sizeof(arg), "%" PRIu64 " %" PRIu64, seed, family_domain->nonce);
	child = family_start("fuzz", 8, arg);
	while (!is_ready(child.from))
		witness_round(witness);
	assert_int_equal(family_hear(&child), 'e');
	family_end(&child);
}

static void
random_messages_do_no_harm(void **state)
{
	struct trip_random random = {.state = trip_test_seed("messages")};
	uint64_t end = now_ns() + (uint64_t)(trip_test_seconds(3) * 1e9);
	struct baseline baseline;
	struct witness witness;
	unsigned int n = 0;
	size_t before = 0;

	each_open();
	witness_open(&witness);
	baseline_take(&baseline);
	do {
		fuzz_once(&witness, trip_random_u64(&random));
		baseline_expect(&baseline);
		/* What is allocated once is there by then. */
		if (++n == 2)
			before = heap();
	} while (now_ns() < end || n < 3);
	printf("%u processes; %" PRIu64 " rounds of a witness, the longest %.1f ms; %zd bytes\n", n,
		witness.rounds, (double)witness.longest_ns / 1e6, (ssize_t)(heap() - before));
	assert_true(heap() < before + HEAP_SLACK);
	trip_client_close(witness.client);
	assert_int_equal(trip_cntr_close(witness.cntr), 0);
	assert_int_equal(trip_cntr_close(witness.fired), 0);
	each_close();
	flows_close();
}

/* Whoever forgets a row has a request that is never drawn above. */
static void
each_request_has_a_row(void **state)
{
	for (unsigned int type = 1; type < TRIP_PROTOCOL_TYPES; type++) {
		const struct trip_request *row = trip_request_of(type);

		if (row == NULL || (row->run == NULL) == (row->answer == NULL))
			fail_msg("request %u has no row, or not one call that answers it", type);
	}
}

/* A process of another build must not take one message for another: whoever changes the size of a
 * request, an answer or a record finds here that the version has to move, and notes both. */
static void
the_version_moves_with_messages(void **state)
{
#define ANSWER(name) sizeof(((union trip_protocol_answer *)NULL)->name)
	static const size_t answers[] = {sizeof(struct trip_protocol_head), ANSWER(sentence),
		ANSWER(records), ANSWER(cntr), ANSWER(watching), ANSWER(attached), ANSWER(opened),
		ANSWER(port), ANSWER(slots), ANSWER(made), ANSWER(counted), ANSWER(facts),
		ANSWER(port_stats), ANSWER(values), ANSWER(told), ANSWER(counters), ANSWER(each),
		sizeof(struct trip_client_domain), sizeof(struct trip_client_work),
		sizeof(struct trip_client_flow), sizeof(struct trip_client_process),
		sizeof(struct trip_client_home), sizeof(struct trip_client_each),
		sizeof(struct trip_client_key)};
	const uint64_t prime = 1099511628211;
	uint64_t sizes = 0;

	for (unsigned int type = 1; type < TRIP_PROTOCOL_TYPES; type++)
		sizes = sizes * prime + trip_request_of(type)->size;
	for (unsigned int i = 0; i < RTE_DIM(answers); i++)
		sizes = sizes * prime + answers[i];
	if (TRIP_PROTOCOL_VERSION != 25 || sizes != UINT64_C(0x78c44bde21f370c4))
		fail_msg("messages are of other sizes (0x%" PRIx64 "), or of version %d: "
			 "TRIP_PROTOCOL_VERSION moves, and both stand here",
			sizes, TRIP_PROTOCOL_VERSION);
}

static const struct family_part parts[] = {
	{.name = "fuzz", .play = play_fuzz, .bare = true},
	{.name = NULL},
};

static int
run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_request_has_a_row),
		cmocka_unit_test(the_version_moves_with_messages),
		cmocka_unit_test(random_messages_do_no_harm),
	};

	return family_run(tests);
}

int
main(int argc, char **argv)
{
	return flows_main(argc, argv, parts, run);
}

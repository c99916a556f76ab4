/* SPDX-License-Identifier: BSD-3-Clause */
/* The domain's socket: what clients that do not attach see of a domain, and what they cannot do. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <trip.h>
#include <trip_eal.h>
#include <trip_test.h>

#include "protocol.h"
#include "server.h"

static char folder[] = "/tmp/trip-socket-XXXXXX";
static char path[64], lock[80];
static struct trip_domain *domain;
static struct trip_client *client;

static int
domain_open(const char *socket, struct trip_domain **out)
{
	const struct trip_domain_attr attr = {
		.size = sizeof(attr),
		.progress = TRIP_PROGRESS_MANUAL,
		.n_lcores = 2,
		.max_cntrs = 300,
		.max_works = 256,
		.max_waiters = 200,
		.max_flows = 16,
		.name = socket != NULL ? "seen" : "unseen",
		.socket = socket,
		.socket_mode = 0660,
	};

	return trip_domain_open(&attr, out, NULL);
}

static int
open_all(void **state)
{
	if (domain_open(path, &domain) != 0 || trip_client_open(path, &client) != 0)
		fail_msg("%s; %s", trip_error_message(), trip_client_message());
	return 0;
}

static int
close_all(void **state)
{
	trip_client_close(client);
	while (trip_progress(domain) > 0)
		;
	assert_int_equal(trip_domain_check(domain, stdout), 0);
	if (trip_domain_close(domain) != 0)
		fail_msg("%s", trip_error_message());
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(access(lock, F_OK), -1);
	return 0;
}

static unsigned int
count_fds(void)
{
	DIR *fds = opendir("/proc/self/fd");
	unsigned int n = 0;

	while (readdir(fds) != NULL)
		n++;
	closedir(fds);
	return n;
}

/* What the control thread closes, it closes in time of its own. */
static void
wait_for_fds(unsigned int n)
{
	while (count_fds() != n)
		usleep(1000);
}

static struct trip_cntr *
cntr_open(const char *name)
{
	const struct trip_cntr_attr attr = {.size = sizeof(attr), .name = name};
	struct trip_cntr *cntr;

	if (trip_cntr_open(domain, &attr, &cntr, NULL) != 0)
		fail_msg("%s", trip_error_message());
	return cntr;
}

static struct trip_client_cntr
find(const char *name)
{
	struct trip_client_cntr cntr;

	if (trip_client_find(client, name, &cntr) != 0)
		fail_msg("%s", trip_client_message());
	return cntr;
}

static bool
is_ready(int fd)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

	while (trip_progress(domain) > 0)
		;
	return poll(&poll_fd, 1, 0) == 1;
}

static void
drain(int fd)
{
	uint64_t signals;

	assert_int_equal(read(fd, &signals, sizeof(signals)), sizeof(signals));
}

static void
domain_is_described(void **state)
{
	struct trip_client_domain seen[2];
	struct trip_client_process process;
	struct trip_client_home homes[3];
	uint64_t cursor = 0;

	assert_int_equal(
		trip_client_list(client, TRIP_CLIENT_DOMAIN, &cursor, seen, sizeof(*seen), 2), 1);
	assert_string_equal(seen->name, "seen");
	assert_int_equal(seen->max_cntrs, 300);
	assert_int_equal(seen->homes, 2);
	assert_int_equal(seen->pid, getpid());
	assert_int_equal(seen->progress, TRIP_PROGRESS_MANUAL);
	assert_true(seen->generation > 0);
	assert_int_equal(
		trip_client_list(client, TRIP_CLIENT_DOMAIN, &cursor, seen, sizeof(*seen), 2), 0);
	cursor = 0;
	assert_int_equal(
		trip_client_list(client, TRIP_CLIENT_HOME, &cursor, homes, sizeof(*homes), 3), 2);
	assert_int_equal(homes[1].index, 1);
	assert_int_equal(homes[1].lcore, UINT32_MAX);
	cursor = 0;
	assert_int_equal(trip_client_list(client, TRIP_CLIENT_PROCESS, &cursor, &process,
				 sizeof(process), 1),
		1);
	assert_int_equal(process.pid, getpid());
	assert_int_equal(process.state, TRIP_CLIENT_PRIMARY);
}

/* More than one reply holds, and some in the middle are closed. */
static void
all_counters_are_listed(void **state)
{
	struct trip_cntr *cntrs[250];
	struct trip_client_cntr seen[60];
	uint64_t cursor = 0, sum = 0;
	unsigned int n = 0;
	int got;

	for (unsigned int i = 0; i < 250; i++) {
		cntrs[i] = cntr_open(NULL);
		trip_cntr_add(cntrs[i], i);
	}
	for (unsigned int i = 100; i < 110; i++)
		assert_int_equal(trip_cntr_close(cntrs[i]), 0);
	while ((got = trip_client_list(
			client, TRIP_CLIENT_CNTR, &cursor, seen, sizeof(*seen), 60)) > 0) {
		for (int i = 0; i < got; i++)
			sum += seen[i].success;
		n += (unsigned int)got;
	}
	assert_int_equal(got, 0);
	assert_int_equal(n, 240);
	assert_int_equal(sum, 249 * 250 / 2 - (100 + 109) * 10 / 2);
	for (unsigned int i = 0; i < 250; i++)
		if (i < 100 || i >= 110)
			assert_int_equal(trip_cntr_close(cntrs[i]), 0);
}

static void
counters_are_found_and_read(void **state)
{
	struct trip_cntr *cntr = cntr_open("one");
	struct trip_client_cntr seen = find("one"), again;
	char name[64];

	assert_string_equal(seen.name, "one");
	assert_int_equal(seen.pid, getpid());
	trip_cntr_add(cntr, 5);
	trip_cntr_adderr(cntr, 2);
	assert_int_equal(trip_client_read(client, seen.id, &again), 0);
	assert_int_equal(again.success, 5);
	assert_int_equal(again.error, 2);
	assert_int_not_equal(again.errgen, seen.errgen);
	assert_int_equal(trip_client_find(client, "two", &again), -ENOENT);
	assert_non_null(strstr(trip_client_message(), "two"));
	assert_int_equal(trip_client_find(client, "no name", &again), -EINVAL);
	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	assert_int_equal(trip_client_find(client, name, &again), -EINVAL);
	assert_int_equal(trip_cntr_close(cntr), 0);
	assert_int_equal(trip_client_read(client, seen.id, &again), -ENOENT);
	/* Its index is used again, its id is not. */
	cntr = cntr_open("one");
	assert_int_not_equal(find("one").id, seen.id);
	assert_int_equal(trip_client_read(client, seen.id, &again), -ENOENT);
	assert_int_equal(trip_client_read(client, 0, &again), -ENOENT);
	assert_int_equal(trip_client_read(client, UINT64_MAX, &again), -ENOENT);
	assert_int_equal(trip_cntr_close(cntr), 0);
}

static void
pending_work_is_listed(void **state)
{
	struct trip_cntr *trigger = cntr_open("trigger"), *target = cntr_open("target");
	struct trip_work work = {.size = sizeof(work),
		.triggering_cntr = trigger,
		.threshold = 100,
		.interval = 50,
		.context = 77,
		.op_type = TRIP_OP_CNTR_ADD,
		.op.cntr = {.cntr = target, .value = 3}};
	struct trip_client_work seen[4];
	uint64_t cursor = 0, id;

	assert_int_equal(trip_work_queue(domain, &work, &id), 0);
	work.interval = 0;
	assert_int_equal(trip_work_queue(domain, &work, NULL), 0);
	trip_cntr_add(trigger, 120);
	while (trip_progress(domain) > 0)
		;
	assert_int_equal(
		trip_client_list(client, TRIP_CLIENT_WORK, &cursor, seen, sizeof(*seen), 4), 1);
	assert_int_equal(seen->id, id);
	assert_int_equal(seen->cntr, find("trigger").id);
	assert_int_equal(seen->target, find("target").id);
	assert_int_equal(seen->completion, 0);
	assert_int_equal(seen->threshold, 150);
	assert_int_equal(seen->interval, 50);
	assert_int_equal(seen->value, 3);
	assert_int_equal(seen->context, 77);
	assert_int_equal(seen->op, TRIP_OP_CNTR_ADD);
	assert_int_equal(seen->pid, getpid());
	assert_int_equal(
		trip_client_list(client, TRIP_CLIENT_WORK, &cursor, seen, sizeof(*seen), 4), 0);
	assert_int_equal(trip_work_flush(domain, NULL), 0);
	assert_int_equal(trip_cntr_close(trigger), 0);
	assert_int_equal(trip_cntr_close(target), 0);
}

static uint64_t
next_of(const char *name)
{
	while (trip_progress(domain) > 0)
		;
	return find(name).next;
}

/* Of work and of waiters, whichever is lower. */
static void
the_next_threshold_is_told(void **state)
{
	struct trip_cntr *cntr = cntr_open("trigger");
	struct trip_work work = {.size = sizeof(work),
		.triggering_cntr = cntr,
		.threshold = 100,
		.op_type = TRIP_OP_CNTR_ADD,
		.op.cntr = {.cntr = cntr}};
	uint64_t first, second;
	uint32_t watch;
	int fd;

	assert_true(next_of("trigger") == TRIP_CLIENT_ANY);
	assert_int_equal(trip_work_queue(domain, &work, &second), 0);
	assert_int_equal(next_of("trigger"), 100);
	work.threshold = 70;
	assert_int_equal(trip_work_queue(domain, &work, &first), 0);
	assert_int_equal(next_of("trigger"), 70);
	trip_cntr_add(cntr, 60);
	assert_int_equal(next_of("trigger"), 70);
	trip_cntr_adderr(cntr, 10);
	assert_int_equal(next_of("trigger"), 100);
	assert_int_equal(trip_client_watch(client, find("trigger").id, &watch, &fd), 0);
	assert_int_equal(trip_client_arm(client, watch, 80,
				 &(struct trip_client_cntr){.success = 60,
					 .error = 10,
					 .errgen = find("trigger").errgen,
					 .setgen = find("trigger").setgen}),
		0);
	/* It waits for success, and 10 of the sum are errors. */
	assert_int_equal(next_of("trigger"), 90);
	assert_int_equal(trip_client_unwatch(client, watch), 0);
	assert_int_equal(next_of("trigger"), 100);
	assert_int_equal(trip_work_cancel(domain, second), 0);
	assert_true(next_of("trigger") == TRIP_CLIENT_ANY);
	assert_int_equal(trip_cntr_close(cntr), 0);
}

static void
watches_miss_nothing(void **state)
{
	struct trip_cntr *cntr = cntr_open("watched");
	struct trip_client_cntr seen = find("watched");
	uint32_t watch;
	int fd;

	assert_int_equal(trip_client_watch(client, seen.id, &watch, &fd), 0);
	assert_false(is_ready(fd));
	/* A change between reading and arming counts. */
	trip_cntr_add(cntr, 1);
	assert_int_equal(trip_client_arm(client, watch, TRIP_CLIENT_ANY, &seen), 0);
	assert_true(is_ready(fd));
	drain(fd);
	/* It was armed once. */
	trip_cntr_add(cntr, 1);
	assert_false(is_ready(fd));
	assert_int_equal(trip_client_read(client, seen.id, &seen), 0);
	assert_int_equal(trip_client_arm(client, watch, TRIP_CLIENT_ANY, &seen), 0);
	assert_false(is_ready(fd));
	trip_cntr_set(cntr, 2);
	assert_true(is_ready(fd));
	drain(fd);
	assert_int_equal(trip_client_unwatch(client, watch), 0);
	assert_int_equal(trip_client_unwatch(client, watch), -ENOENT);
	assert_int_equal(trip_cntr_close(cntr), 0);
}

static void
thresholds_errors_and_the_end_wake(void **state)
{
	struct trip_cntr *cntr = cntr_open("watched");
	struct trip_client_cntr seen = find("watched");
	uint32_t watch;
	int fd;

	assert_int_equal(trip_client_watch(client, seen.id, &watch, &fd), 0);
	assert_int_equal(trip_client_arm(client, watch, 10, &seen), 0);
	trip_cntr_add(cntr, 9);
	assert_false(is_ready(fd));
	trip_cntr_add(cntr, 1);
	assert_true(is_ready(fd));
	drain(fd);
	assert_int_equal(trip_client_arm(client, watch, 20, &seen), 0);
	trip_cntr_adderr(cntr, 1);
	assert_true(is_ready(fd));
	drain(fd);
	assert_int_equal(trip_client_read(client, seen.id, &seen), 0);
	assert_int_equal(trip_client_arm(client, watch, 20, &seen), 0);
	assert_int_equal(trip_client_arm(client, watch, UINT64_C(1) << 63, &seen), -EINVAL);
	assert_int_equal(trip_client_arm(client, watch + 1, 20, &seen), -ENOENT);
	assert_false(is_ready(fd));
	/* A watch holds nothing open, and is told. */
	assert_int_equal(trip_cntr_close(cntr), 0);
	assert_true(is_ready(fd));
	assert_int_equal(trip_client_arm(client, watch, 20, &seen), -ENOENT);
}

static void
watches_are_limited_and_end_with_the_connection(void **state)
{
	unsigned int before = count_fds(), n = 0;
	struct trip_cntr *cntr = cntr_open("watched");
	uint64_t id = find("watched").id;
	struct trip_client *others[3];
	uint32_t watch;
	int fd;

	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(trip_client_open(path, &others[i]), 0);
		while (trip_client_watch(others[i], id, &watch, &fd) == 0)
			n++;
		assert_non_null(strstr(trip_client_message(), i == 0 ? "at most 64" : "all 100"));
	}
	/* A quarter of the waiters of both homes. */
	assert_int_equal(n, 100);
	for (unsigned int i = 0; i < 3; i++)
		trip_client_close(others[i]);
	wait_for_fds(before);
	assert_int_equal(trip_client_watch(client, id, &watch, &fd), 0);
	assert_int_equal(trip_cntr_close(cntr), 0);
}

/* As full as it can be made, and blocking. */
static void
fill(int fd)
{
	const uint64_t most = UINT64_MAX - 1;

	while (write(fd, &most, sizeof(most)) > 0)
		;
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(fcntl(fd, F_SETFL, 0), 0);
}

/* It fills the descriptor of its watch, and never reads it. */
static void
no_watch_stalls_a_home(void **state)
{
	struct trip_cntr *cntr = cntr_open("watched");
	struct trip_client_cntr seen = find("watched");
	unsigned int ready = 0;
	uint32_t watch;
	int fd;

	assert_int_equal(trip_client_watch(client, seen.id, &watch, &fd), 0);
	fill(fd);
	/* More signals than the kernel keeps. */
	for (unsigned int i = 0; i < 2000; i++) {
		assert_int_equal(trip_client_read(client, seen.id, &seen), 0);
		assert_int_equal(trip_client_arm(client, watch, TRIP_CLIENT_ANY, &seen), 0);
		trip_cntr_add(cntr, 1);
		assert_true(is_ready(fd));
	}
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	for (uint64_t signal; read(fd, &signal, sizeof(signal)) > 0; ready++)
		assert_int_equal(signal, 1);
	assert_in_range(ready, 1, 2000);
	assert_false(is_ready(fd));
	assert_int_equal(trip_client_read(client, seen.id, &seen), 0);
	assert_int_equal(trip_client_arm(client, watch, TRIP_CLIENT_ANY, &seen), 0);
	assert_false(is_ready(fd));
	trip_cntr_add(cntr, 1);
	assert_true(is_ready(fd));
	assert_int_equal(trip_cntr_close(cntr), 0);
}

static int
connect_raw(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	strcpy(address.sun_path, path);
	assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static struct trip_protocol_head
head_of(unsigned int type, size_t size)
{
	return (struct trip_protocol_head){
		.magic = TRIP_PROTOCOL_MAGIC,
		.version = TRIP_PROTOCOL_VERSION,
		.type = (uint16_t)type,
		.size = (uint32_t)(sizeof(struct trip_protocol_head) + size),
	};
}

struct raw {
	struct trip_protocol_head head;
	union trip_protocol_request request;
};

/* The answer's error; 1: the connection was closed. */
static int
answer_to(const void *message, size_t size)
{
	struct trip_protocol_reply reply;
	int fd = connect_raw();
	ssize_t got;

	assert_int_equal(send(fd, message, size, MSG_NOSIGNAL), size);
	got = recv(fd, &reply, sizeof(reply), 0);
	close(fd);
	return got <= 0 ? 1 : reply.head.error;
}

static void
garbage_ends_the_connection(void **state)
{
	struct trip_random random = {.state = trip_test_seed("garbage")};
	uint64_t rounds = trip_test_rounds(2000);
	struct raw raw = {.head = head_of(TRIP_PROTOCOL_READ, sizeof(raw.request.read))};
	size_t size = raw.head.size;
	char big[64 * 1024] = {0};

	assert_int_equal(answer_to(&raw, size), -ENOENT);
	assert_int_equal(answer_to(&raw, size - 1), 1);
	assert_int_equal(answer_to(&raw, size + 1), 1);
	assert_int_equal(answer_to(&raw, 3), 1);
	assert_int_equal(answer_to(big, sizeof(big)), 1);
	raw.head.size++;
	assert_int_equal(answer_to(&raw, size + 1), 1);
	raw.head = head_of(TRIP_PROTOCOL_TYPES, sizeof(raw.request.read));
	assert_int_equal(answer_to(&raw, size), 1);
	raw.head = head_of(0, sizeof(raw.request.read));
	assert_int_equal(answer_to(&raw, size), 1);
	raw.head = head_of(TRIP_PROTOCOL_READ, sizeof(raw.request.read));
	raw.head.version++;
	assert_int_equal(answer_to(&raw, size), -EPROTO);
	raw.head.magic++;
	assert_int_equal(answer_to(&raw, size), 1);
	for (uint64_t i = 0; i < rounds; i++) {
		unsigned char bytes[sizeof(raw)];

		size = trip_random_below(&random, sizeof(bytes)) + 1;
		for (size_t at = 0; at < size; at++)
			bytes[at] = (unsigned char)trip_random_u64(&random);
		assert_int_equal(answer_to(bytes, size), 1);
	}
	/* Others are served all the time. */
	assert_int_equal(trip_client_find(client, "none", &(struct trip_client_cntr){0}), -ENOENT);
}

/* Well-formed requests whose fields are random. */
static void
no_field_is_believed(void **state)
{
	struct trip_random random = {.state = trip_test_seed("fields")};
	uint64_t rounds = trip_test_rounds(20000);
	struct trip_cntr *cntr = cntr_open("bait");
	static const size_t sizes[TRIP_PROTOCOL_TYPES] = {
		[TRIP_PROTOCOL_LIST] = sizeof(struct trip_protocol_list),
		[TRIP_PROTOCOL_FIND] = sizeof(struct trip_protocol_find),
		[TRIP_PROTOCOL_READ] = sizeof(struct trip_protocol_read),
		[TRIP_PROTOCOL_WATCH] = sizeof(struct trip_protocol_read),
		[TRIP_PROTOCOL_ARM] = sizeof(struct trip_protocol_arm),
		[TRIP_PROTOCOL_UNWATCH] = sizeof(struct trip_protocol_unwatch),
	};
	unsigned int before = count_fds(), answered = 0;
	int fd = connect_raw();

	for (uint64_t i = 0; i < rounds; i++) {
		unsigned int type =
			1 + (unsigned int)trip_random_below(&random, TRIP_PROTOCOL_UNWATCH);
		struct raw raw = {.head = head_of(type, sizes[type])};
		struct trip_protocol_reply reply;
		unsigned char *bytes = (unsigned char *)&raw.request;

		/* Small numbers pass the first checks and meet the next ones. */
		for (size_t at = 0; at < sizes[type]; at++)
			bytes[at] = trip_random_below(&random, 4) == 0
					    ? (unsigned char)trip_random_u64(&random)
					    : (unsigned char)trip_random_below(&random, 3) / 2;
		if (type == TRIP_PROTOCOL_LIST && trip_random_below(&random, 2) == 0) {
			raw.request.list.kind %= 6;
			raw.request.list.size = (const uint32_t[]){
				sizeof(struct trip_client_domain), sizeof(struct trip_client_cntr),
				sizeof(struct trip_client_work), sizeof(struct trip_client_flow),
				sizeof(struct trip_client_process),
				sizeof(struct trip_client_home)}[raw.request.list.kind];
		}
		assert_int_equal(send(fd, &raw, raw.head.size, MSG_NOSIGNAL), raw.head.size);
		/* Any descriptor that comes along is not taken, and so closed by the kernel. */
		assert_true(recv(fd, &reply, sizeof(reply), 0) >= (ssize_t)sizeof(reply.head));
		assert_true(reply.head.error <= 0);
		answered += reply.head.error == 0;
	}
	assert_true(answered > 0);
	close(fd);
	wait_for_fds(before);
	assert_int_equal(trip_cntr_close(cntr), 0);
}

static void
descriptors_that_come_along_are_closed(void **state)
{
	struct raw raw = {.head = head_of(TRIP_PROTOCOL_READ, sizeof(raw.request.read))};
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(12 * sizeof(int))];
	} control = {.head = {.cmsg_level = SOL_SOCKET,
			     .cmsg_type = SCM_RIGHTS,
			     .cmsg_len = CMSG_LEN(12 * sizeof(int))}};
	struct iovec part = {.iov_base = &raw, .iov_len = raw.head.size};
	struct msghdr msg = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	unsigned int before = count_fds();
	struct trip_protocol_reply reply;
	int fd = connect_raw(), null = open("/dev/null", O_RDONLY);

	for (unsigned int i = 0; i < 12; i++)
		memcpy(CMSG_DATA(&control.head) + i * sizeof(int), &null, sizeof(int));
	assert_int_equal(sendmsg(fd, &msg, 0), raw.head.size);
	assert_true(recv(fd, &reply, sizeof(reply), 0) > 0);
	close(null);
	close(fd);
	wait_for_fds(before);
}

/* It asks and asks, and never reads an answer. */
static void
slow_clients_keep_nobody_waiting(void **state)
{
	struct raw raw = {.head = head_of(TRIP_PROTOCOL_LIST, sizeof(raw.request.list)),
		.request.list = {.kind = TRIP_CLIENT_CNTR,
			.count = 1000,
			.size = sizeof(struct trip_client_cntr)}};
	struct trip_cntr *cntrs[200];
	struct trip_client_cntr seen;
	unsigned int asked = 0;
	int fd = connect_raw();

	for (unsigned int i = 0; i < 200; i++)
		cntrs[i] = cntr_open(NULL);
	/* Until its answers fill the socket, and then its questions do. */
	while (send(fd, &raw, raw.head.size, MSG_DONTWAIT | MSG_NOSIGNAL) > 0 || asked < 1000) {
		asked++;
		assert_int_equal(trip_client_find(client, "none", &seen), -ENOENT);
	}
	assert_int_equal(trip_client_find(client, "none", &seen), -ENOENT);
	close(fd);
	for (unsigned int i = 0; i < 200; i++)
		assert_int_equal(trip_cntr_close(cntrs[i]), 0);
}

static void
clients_are_limited(void **state)
{
	struct trip_client *others[TRIP_SERVER_PEERS];
	unsigned int n = 0;

	while (n < TRIP_SERVER_PEERS && trip_client_open(path, &others[n]) == 0)
		n++;
	assert_int_equal(n, TRIP_SERVER_PEERS - 1);
	assert_int_equal(trip_client_open(path, &others[n]), -EUSERS);
	assert_non_null(strstr(trip_client_message(), "128"));
	while (n > 0)
		trip_client_close(others[--n]);
	/* As soon as the control thread has seen one go. */
	while (trip_client_open(path, &others[0]) != 0)
		usleep(1000);
	trip_client_close(others[0]);
}

static void
one_primary_serves_a_path(void **state)
{
	struct trip_client_domain seen;
	struct trip_domain *other;
	char longer[200];
	uint64_t cursor = 0;
	struct stat status;
	int fd;

	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0660);
	trip_client_list(client, TRIP_CLIENT_DOMAIN, &cursor, &seen, sizeof(seen), 1);
	assert_int_equal(seen.generation, 1);
	close_all(state);
	/* What a primary leaves that was killed. */
	close(open(path, O_CREAT | O_WRONLY, 0600));
	fd = open(lock, O_CREAT | O_WRONLY, 0644);
	assert_int_equal(write(fd, "41 1 gone\n", 10), 10);
	close(fd);
	open_all(state);
	cursor = 0;
	trip_client_list(client, TRIP_CLIENT_DOMAIN, &cursor, &seen, sizeof(seen), 1);
	assert_int_equal(seen.generation, 42);
	/* EAL shares nothing here, so a domain has a socket only where it is told. */
	assert_int_equal(domain_open(NULL, &other), 0);
	assert_int_equal(trip_domain_close(other), 0);
	memset(longer, 'x', sizeof(longer));
	longer[sizeof(longer) - 1] = 0;
	assert_int_equal(
		trip_domain_open(&(struct trip_domain_attr){.size = sizeof(struct trip_domain_attr),
					 .progress = TRIP_PROGRESS_MANUAL,
					 .name = "other",
					 .socket = longer},
			&other, NULL),
		-ENAMETOOLONG);
	assert_int_equal(
		trip_domain_open(&(struct trip_domain_attr){.size = sizeof(struct trip_domain_attr),
					 .progress = TRIP_PROGRESS_MANUAL,
					 .name = "other",
					 .socket = path},
			&other, NULL),
		-EEXIST);
	assert_int_equal(trip_client_find(client, "none", &(struct trip_client_cntr){0}), -ENOENT);
}

static void
clients_learn_of_the_end(void **state)
{
	struct trip_cntr *cntr = cntr_open("watched");
	struct trip_client_cntr seen = find("watched");
	struct trip_client *other;
	uint32_t watch;
	uint64_t signal;
	int fd;

	assert_int_equal(trip_client_open(path, &other), 0);
	assert_int_equal(trip_client_watch(other, seen.id, &watch, &fd), 0);
	assert_int_equal(trip_cntr_close(cntr), 0);
	assert_false(is_ready(fd));
	close_all(state);
	assert_int_equal(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 0), 1);
	assert_int_equal(read(fd, &signal, sizeof(signal)), 0);
	assert_int_equal(trip_client_find(other, "none", &seen), -EPIPE);
	trip_client_close(other);
	assert_int_equal(trip_client_open(path, &other), -ENOENT);
	open_all(state);
}

struct stranger {
	int listener;
	/* What it answers. */
	const void *bytes;
	size_t size;
};

static void *
answer_strangely(void *arg)
{
	const struct stranger *stranger = arg;
	int fd = accept(stranger->listener, NULL, NULL);
	struct raw raw;

	assert_true(recv(fd, &raw, sizeof(raw), 0) > 0);
	assert_int_equal(send(fd, stranger->bytes, stranger->size, MSG_NOSIGNAL), stranger->size);
	close(fd);
	return NULL;
}

static int
ask_stranger(const struct trip_protocol_reply *reply, size_t size)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct stranger stranger = {.bytes = reply, .size = size};
	struct trip_client *other;
	pthread_t thread;
	int error;

	snprintf(address.sun_path, sizeof(address.sun_path), "%.80s/stranger", folder);
	stranger.listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(
		bind(stranger.listener, (const struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(stranger.listener, 1), 0);
	assert_int_equal(pthread_create(&thread, NULL, answer_strangely, &stranger), 0);
	error = trip_client_open(address.sun_path, &other);
	if (error == 0)
		trip_client_close(other);
	pthread_join(thread, NULL);
	close(stranger.listener);
	unlink(address.sun_path);
	return error;
}

/* Who serves the path of a socket need not be a primary. */
static void
no_answer_is_believed(void **state)
{
	static struct trip_protocol_reply reply;
	const size_t head = sizeof(reply.head) + offsetof(struct trip_protocol_records, record);
	size_t size = head + sizeof(struct trip_client_domain);

	memset(&reply, 'x', sizeof(reply));
	reply.head = head_of(TRIP_PROTOCOL_LIST, size - sizeof(reply.head));
	reply.answer.records.cursor = TRIP_PROTOCOL_END;
	reply.answer.records.count = 1;
	assert_int_equal(ask_stranger(&reply, size), 0);
	/* More than was asked for, or than came. */
	reply.answer.records.count = 2;
	assert_int_equal(ask_stranger(&reply, size), -EPROTO);
	reply.answer.records.count = 1;
	reply.head.size = (uint32_t)head;
	assert_int_equal(ask_stranger(&reply, head), -EPROTO);
	assert_int_equal(ask_stranger(&reply, 7), -EPROTO);
	reply.head.size = sizeof(reply);
	reply.head.error = -EIO;
	assert_int_equal(ask_stranger(&reply, sizeof(reply)), -EIO);
	assert_true(strlen(trip_client_message()) < 256);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define EACH(f) cmocka_unit_test_setup_teardown(f, open_all, close_all)
		EACH(domain_is_described),
		EACH(all_counters_are_listed),
		EACH(counters_are_found_and_read),
		EACH(pending_work_is_listed),
		EACH(the_next_threshold_is_told),
		EACH(watches_miss_nothing),
		EACH(thresholds_errors_and_the_end_wake),
		EACH(watches_are_limited_and_end_with_the_connection),
		EACH(no_watch_stalls_a_home),
		EACH(garbage_ends_the_connection),
		EACH(no_field_is_believed),
		EACH(descriptors_that_come_along_are_closed),
		EACH(slow_clients_keep_nobody_waiting),
		EACH(clients_are_limited),
		EACH(one_primary_serves_a_path),
		EACH(clients_learn_of_the_end),
		EACH(no_answer_is_believed),
	};
	int failed;

	setenv("CMOCKA_TEST_ABORT", "1", 1);
	/* A home that is stalled is this thread. */
	alarm(100);
	if (trip_eal_init(NULL) < 0) {
		printf("EAL does not start here\n");
		return TRIP_TEST_SKIP;
	}
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/trip.sock", folder);
	snprintf(lock, sizeof(lock), "%s.lock", path);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(folder);
	rte_eal_cleanup();
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

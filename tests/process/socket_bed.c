/* SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <trip_eal.h>

#include "socket_bed.h"

char socket_folder[] = "/tmp/trip-socket-XXXXXX";
char socket_path[64], socket_lock[80];
struct trip_domain *socket_domain;
struct trip_client *socket_client;
const char *socket_device;
uint64_t socket_each_bytes;

int
socket_domain_open(const char *socket, struct trip_domain **out)
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
		.each_bytes = socket_each_bytes,
	};

	return trip_domain_open(&attr, out, NULL);
}

int
socket_open(void **state)
{
	if (socket_domain_open(socket_path, &socket_domain) != 0 ||
		trip_client_open(socket_path, &socket_client) != 0)
		fail_msg("%s", trip_error_message());
	return 0;
}

int
socket_close(void **state)
{
	trip_client_close(socket_client);
	while (trip_progress(socket_domain) > 0)
		;
	assert_int_equal(trip_domain_check(socket_domain, stdout), 0);
	if (trip_domain_close(socket_domain) != 0)
		fail_msg("%s", trip_error_message());
	assert_int_equal(access(socket_path, F_OK), -1);
	assert_int_equal(access(socket_lock, F_OK), -1);
	return 0;
}

unsigned int
socket_count_fds(void)
{
	DIR *fds = opendir("/proc/self/fd");
	unsigned int n = 0;

	while (readdir(fds) != NULL)
		n++;
	closedir(fds);
	return n;
}

void
socket_wait_for_fds(unsigned int n)
{
	while (socket_count_fds() != n)
		usleep(1000);
}

struct trip_port *
socket_open_port(void)
{
	const struct rte_eth_conf conf = {0};
	const struct trip_port_attr attr = {.size = sizeof(attr), .mode = TRIP_PORT_BURST};
	struct rte_mempool *pool = rte_pktmbuf_pool_create(
		"socket", 127, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	struct trip_port *port;

	assert_non_null(pool);
	assert_int_equal(rte_eth_dev_configure(0, 1, 1, &conf), 0);
	assert_int_equal(rte_eth_rx_queue_setup(0, 0, 64, SOCKET_ID_ANY, NULL, pool), 0);
	assert_int_equal(rte_eth_tx_queue_setup(0, 0, 64, SOCKET_ID_ANY, NULL), 0);
	assert_int_equal(rte_eth_dev_start(0), 0);
	if (trip_port_open(socket_domain, 0, &attr, &port) != 0)
		fail_msg("%s", trip_error_message());
	return port;
}

struct trip_cntr *
socket_cntr(const char *name)
{
	const struct trip_cntr_attr attr = {.size = sizeof(attr), .name = name};
	struct trip_cntr *cntr;

	if (trip_cntr_open(socket_domain, &attr, &cntr, NULL) != 0)
		fail_msg("%s", trip_error_message());
	return cntr;
}

struct trip_client_cntr
socket_find(const char *name)
{
	struct trip_client_cntr cntr = {.size = sizeof(cntr)};

	if (trip_client_find(socket_client, name, &cntr) != 0)
		fail_msg("%s", trip_error_message());
	return cntr;
}

bool
socket_is_ready(int fd)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

	while (trip_progress(socket_domain) > 0)
		;
	return poll(&poll_fd, 1, 0) == 1;
}

void
socket_drain(int fd)
{
	uint64_t signals;

	assert_int_equal(read(fd, &signals, sizeof(signals)), sizeof(signals));
}

int
socket_connect(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	strcpy(address.sun_path, socket_path);
	assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

struct trip_protocol_head
socket_head(unsigned int type, size_t size)
{
	return (struct trip_protocol_head){
		.magic = TRIP_PROTOCOL_MAGIC,
		.version = TRIP_PROTOCOL_VERSION,
		.type = (uint16_t)type,
		.size = (uint32_t)(sizeof(struct trip_protocol_head) + size),
	};
}

int
socket_run_tests(const struct CMUnitTest *tests, size_t n)
{
	const char *only = getenv("TRIP_TEST");
	int failed;

	if (only != NULL)
		cmocka_set_test_filter(only);
	setenv("CMOCKA_TEST_ABORT", "1", 1);
	/* A home that is stalled is this thread. */
	alarm(100);
	if (trip_eal_init(socket_device) < 0) {
		printf("EAL does not start here\n");
		return TRIP_TEST_SKIP;
	}
	assert_non_null(mkdtemp(socket_folder));
	snprintf(socket_path, sizeof(socket_path), "%s/trip.sock", socket_folder);
	snprintf(socket_lock, sizeof(socket_lock), "%s.lock", socket_path);
	failed = _cmocka_run_group_tests("socket", tests, n, NULL, NULL);
	rmdir(socket_folder);
	rte_eal_cleanup();
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

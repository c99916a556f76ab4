/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections to whoever collects. */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <rte_common.h>

#include "collector.h"
#include "now.h"

#define CONNECT_NS UINT64_C(5000000000)
#define STALL_NS UINT64_C(10000000000)
/* Between two datagrams: a collector's socket holds some hundred of them. */
#define PACE_NS 100000

void
tripd_collector_init(
	struct tripd_collector *collector, const struct tripd_ipfix_options *options, int bell)
{
	*collector = (struct tripd_collector){.options = options, .bell = bell, .fd = -1};
}

/* Returns 0 once the descriptor is ready, or a negative errno. */
static int
await(const struct tripd_collector *collector, uint64_t until)
{
	struct pollfd ends[] = {{.fd = collector->fd, .events = POLLOUT},
		{.fd = collector->bell, .events = POLLIN}};
	uint64_t now = now_ns(CLOCK_MONOTONIC);
	int n = poll(ends, RTE_DIM(ends), now < until ? (int)((until - now) / 1000000) + 1 : 0);

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	if (ends[1].revents != 0)
		return -ECANCELED;
	return n == 0 ? -ETIMEDOUT : 0;
}

static int
open_file(struct tripd_collector *collector)
{
	struct stat status;

	collector->fd = open(collector->options->path,
		O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);
	if (collector->fd < 0)
		return -errno;
	if (fstat(collector->fd, &status) == 0) {
		collector->device = status.st_dev;
		collector->inode = status.st_ino;
	}
	return 0;
}

static int
connect_to(struct tripd_collector *collector, const struct addrinfo *address)
{
	uint64_t until = now_ns(CLOCK_MONOTONIC) + CONNECT_NS;
	socklen_t length = sizeof(int);
	int error = 0;

	collector->fd = socket(address->ai_family,
		address->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, address->ai_protocol);
	if (collector->fd < 0)
		return -errno;
	if (connect(collector->fd, address->ai_addr, address->ai_addrlen) != 0)
		error = errno;
	if (error == EINPROGRESS) {
		error = -await(collector, until);
		if (error == 0 &&
			getsockopt(collector->fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0)
			error = errno;
	}
	if (error != 0)
		tripd_collector_close(collector);
	return -error;
}

int
tripd_collector_connect(struct tripd_collector *collector)
{
	const struct tripd_ipfix_options *options = collector->options;
	const struct addrinfo hints = {
		.ai_socktype = options->kind == TRIPD_IPFIX_TCP ? SOCK_STREAM : SOCK_DGRAM};
	struct addrinfo *all, *address;
	int ret;

	if (options->kind == TRIPD_IPFIX_FILE)
		return open_file(collector);
	ret = getaddrinfo(options->host, options->port, &hints, &all);
	if (ret != 0)
		return TRIPD_COLLECTOR_NAME - (ret < 0 ? -ret : ret);
	ret = -EHOSTUNREACH;
	for (address = all; address != NULL && ret != 0 && ret != -ECANCELED;
		address = address->ai_next)
		ret = connect_to(collector, address);
	freeaddrinfo(all);
	return ret;
}

/* Of a file, the part of a message goes: a full disk is no reason for one that nobody can read. */
static void
take_back(const struct tripd_collector *collector, size_t part)
{
	struct stat status;

	if (part == 0 || collector->options->kind != TRIPD_IPFIX_FILE ||
		fstat(collector->fd, &status) != 0 || !S_ISREG(status.st_mode) ||
		status.st_size < (off_t)part)
		return;
	/* What cannot be is as it was. */
	if (ftruncate(collector->fd, status.st_size - (off_t)part) != 0)
		return;
}

static int
send_stream(struct tripd_collector *collector, const char *message, size_t length)
{
	uint64_t until = now_ns(CLOCK_MONOTONIC) + STALL_NS;
	size_t done = 0;
	int error = 0;
	ssize_t n;

	while (error == 0 && done < length) {
		n = write(collector->fd, message + done, length - done);
		if (n >= 0)
			done += (size_t)n;
		else if (errno == EAGAIN)
			error = await(collector, until);
		else if (errno != EINTR)
			error = -errno;
	}
	if (error != 0)
		take_back(collector, done);
	return error;
}

/* What the last one has come to is told by this one, which goes all the same. */
static int
send_datagram(struct tripd_collector *collector, const void *message, size_t length)
{
	const struct timespec pace = {.tv_nsec = PACE_NS};
	struct pollfd bell = {.fd = collector->bell, .events = POLLIN};
	int refused = 0;
	ssize_t n;

	for (unsigned int i = 0; i < 2; i++) {
		n = send(collector->fd, message, length, MSG_NOSIGNAL);
		if (n >= 0 || errno != ECONNREFUSED)
			break;
		refused = -ECONNREFUSED;
	}
	if (n < 0 && errno != ECONNREFUSED)
		return -errno;
	if (ppoll(&bell, 1, &pace, NULL) > 0)
		return -ECANCELED;
	return refused;
}

int
tripd_collector_send(struct tripd_collector *collector, const void *message, size_t length)
{
	int error;

	if (collector->fd < 0)
		return -ENOTCONN;
	if (collector->options->kind == TRIPD_IPFIX_UDP)
		error = send_datagram(collector, message, length);
	else
		error = send_stream(collector, message, length);
	if (error != 0 && error != -ECONNREFUSED)
		tripd_collector_close(collector);
	return error;
}

static bool
is_moved(const struct tripd_collector *collector)
{
	struct stat status;

	if (stat(collector->options->path, &status) != 0)
		return errno == ENOENT;
	return status.st_dev != collector->device || status.st_ino != collector->inode;
}

/* Nobody answers: what comes is the end. */
bool
tripd_collector_is_gone(const struct tripd_collector *collector)
{
	struct pollfd end = {.fd = collector->fd, .events = POLLRDHUP};

	if (collector->fd < 0)
		return false;
	if (collector->options->kind == TRIPD_IPFIX_FILE)
		return is_moved(collector);
	return collector->options->kind == TRIPD_IPFIX_TCP && poll(&end, 1, 0) > 0;
}

void
tripd_collector_close(struct tripd_collector *collector)
{
	if (collector->fd >= 0)
		close(collector->fd);
	collector->fd = -1;
}

const char *
tripd_collector_reason(int error)
{
	if (error <= TRIPD_COLLECTOR_NAME)
		return gai_strerror(error - TRIPD_COLLECTOR_NAME);
	return error == -ETIMEDOUT   ? "it takes nothing"
	       : error == -EPIPE     ? "it has closed the connection"
	       : error == -ECANCELED ? "there was no time left for it"
				     : strerror(-error);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "odd_fds.h"

#define KINDS_MAX 32

static int fds[KINDS_MAX];
static unsigned int n_fds;

static int
keep(int fd)
{
	if (fd >= 0 && n_fds < KINDS_MAX)
		fds[n_fds++] = fd;
	else if (fd >= 0)
		close(fd);
	return fd;
}

/* Ends whose other end is gone, and one that is full. */
static void
open_pipes(void)
{
	static const char page[4096];
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) == 0) {
		keep(ends[0]);
		close(ends[1]);
	}
	if (pipe2(ends, O_CLOEXEC) == 0) {
		keep(ends[1]);
		close(ends[0]);
	}
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
		return;
	while (write(ends[1], page, sizeof(page)) > 0)
		;
	keep(ends[0]);
	keep(ends[1]);
}

/* A connection over which data waits that nobody reads: to close it takes the time that it is told
 * to linger. */
static void
open_tcp(int seconds)
{
	const struct linger linger = {.l_onoff = 1, .l_linger = seconds};
	struct sockaddr_in here = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(here);
	int listener = keep(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
	int fd = keep(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	static const char page[4096];

	if (bind(listener, (struct sockaddr *)&here, sizeof(here)) != 0 ||
		listen(listener, 1) != 0 ||
		getsockname(listener, (struct sockaddr *)&here, &length) != 0)
		return;
	(void)connect(fd, (struct sockaddr *)&here, sizeof(here));
	keep(accept(listener, NULL, NULL));
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	while (write(fd, page, sizeof(page)) > 0)
		;
}

/* A pair of sockets of which each holds the other in a message that nobody takes. */
static void
open_circle(int socket)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(2 * sizeof(int))];
	} control = {.head = {.cmsg_level = SOL_SOCKET,
			     .cmsg_type = SCM_RIGHTS,
			     .cmsg_len = CMSG_LEN(2 * sizeof(int))}};
	char byte = 0;
	struct iovec part = {.iov_base = &byte, .iov_len = 1};
	struct msghdr msg = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control.bytes)};
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
		return;
	for (unsigned int i = 0; i < 2; i++) {
		const int sent[2] = {ends[1 - i], socket};

		memcpy(CMSG_DATA(&control.head), sent, sizeof(sent));
		(void)!sendmsg(ends[i], &msg, MSG_DONTWAIT);
		keep(ends[i]);
	}
}

static void
open_epolls(int socket)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET};
	int inner = keep(epoll_create1(EPOLL_CLOEXEC)), outer = keep(epoll_create1(EPOLL_CLOEXEC));

	epoll_ctl(inner, EPOLL_CTL_ADD, socket, &event);
	epoll_ctl(outer, EPOLL_CTL_ADD, inner, &event);
}

static void
open_timer(void)
{
	const struct itimerspec soon = {.it_interval.tv_nsec = 1000, .it_value.tv_nsec = 1000};

	timerfd_settime(keep(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)), 0, &soon, NULL);
}

void
odd_fds_open(int socket)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	open_pipes();
	open_tcp(0);
	open_tcp(1);
	open_circle(socket);
	open_epolls(socket);
	open_timer();
	keep(memfd_create("odd", MFD_CLOEXEC));
	keep(eventfd(1, EFD_CLOEXEC | EFD_SEMAPHORE));
	keep(signalfd(-1, &signals, SFD_CLOEXEC));
	keep(inotify_init1(IN_CLOEXEC));
	keep(open("/", O_PATH | O_CLOEXEC));
	keep(open("/proc/self/mem", O_RDWR | O_CLOEXEC));
	keep(open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC));
	keep((int)syscall(SYS_pidfd_open, getpid(), 0));
	keep(fcntl(socket, F_DUPFD_CLOEXEC, 0));
}

void
odd_fds_close(void)
{
	while (n_fds > 0)
		close(fds[--n_fds]);
}

int
odd_fds_draw(uint64_t random)
{
	return fds[random % n_fds];
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* What packet sockets of tripd's ask of the kernel, and of the sockets that are there already. */
#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_byteorder.h>

#include "packet_open.h"
#include "start/fail.h"
#include "start/interface.h"

/* What the kernel holds for us: of full frames some 10 thousand. */
#define RECEIVE_BYTES (32 << 20)
#define SEND_BYTES (4 << 20)

static int
fail(const char *ifname, const char *what)
{
	int error = errno;

	return tripd_fail(-error, "packet socket on %s: %s: %s", ifname, what, strerror(error));
}

static bool
set(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof(value)) == 0;
}

/* Without privilege the ordinary size must do; what is lost by that is told like all that is. */
static void
set_size(int fd, int forced, int ordinary, int bytes)
{
	if (!set(fd, SOL_SOCKET, forced, bytes))
		set(fd, SOL_SOCKET, ordinary, bytes);
}

static int
bind_to(int fd, const char *ifname, uint16_t protocol)
{
	struct sockaddr_ll link = {.sll_family = AF_PACKET,
		.sll_protocol = rte_cpu_to_be_16(protocol),
		.sll_ifindex = (int)if_nametoindex(ifname)};

	return bind(fd, (struct sockaddr *)&link, sizeof(link)) == 0 ? 0 : fail(ifname, "binding");
}

/* Before it is bound, so that no frame arrives of another form. */
static int
set_up_receiver(int fd, const char *ifname)
{
	if (!set(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1))
		return fail(ifname, "PACKET_IGNORE_OUTGOING, which takes Linux 4.20");
	if (!set(fd, SOL_PACKET, PACKET_VNET_HDR, 1))
		return fail(ifname, "PACKET_VNET_HDR");
	if (!set(fd, SOL_PACKET, PACKET_AUXDATA, 1))
		return fail(ifname, "PACKET_AUXDATA");
	set_size(fd, SO_RCVBUFFORCE, SO_RCVBUF, RECEIVE_BYTES);
	if (tripd_interface_hold(fd, ifname) != 0)
		return fail(ifname, "promiscuous mode");
	return bind_to(fd, ifname, ETH_P_ALL);
}

/* Of no protocol, so it receives nothing. */
static int
set_up_sender(int fd, const char *ifname)
{
	set_size(fd, SO_SNDBUFFORCE, SO_SNDBUF, SEND_BYTES);
	return bind_to(fd, ifname, 0);
}

/* Makes a socket of the driver's on this interface drop all, before the kernel copies any of it. */
static void
silence(int fd, unsigned int ifindex)
{
	struct sock_filter none = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog program = {.len = 1, .filter = &none};
	struct sockaddr_ll link;
	socklen_t size = sizeof(link);

	if (getsockname(fd, (struct sockaddr *)&link, &size) == 0 && link.sll_family == AF_PACKET &&
		link.sll_ifindex == (int)ifindex)
		setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

static void
silence_driver(const char *ifname)
{
	unsigned int ifindex = if_nametoindex(ifname);
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;

	/* It would cost time, and nothing else. */
	if (dir == NULL)
		return;
	while ((entry = readdir(dir)) != NULL)
		if (entry->d_name[0] != '.')
			silence(atoi(entry->d_name), ifindex);
	closedir(dir);
}

static int
open_one(const char *ifname, int (*set_up)(int fd, const char *ifname))
{
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0), ret;

	if (fd < 0)
		return fail(ifname, "opening");
	ret = set_up(fd, ifname);
	if (ret == 0)
		return fd;
	close(fd);
	return ret;
}

int
tripd_packet_open(const char *ifname, struct tripd_packet_fds *fds)
{
	silence_driver(ifname);
	fds->receiver = open_one(ifname, set_up_receiver);
	if (fds->receiver < 0)
		return fds->receiver;
	fds->sender = open_one(ifname, set_up_sender);
	if (fds->sender < 0)
		close(fds->receiver);
	return fds->sender < 0 ? fds->sender : 0;
}

void
tripd_packet_close(const struct tripd_packet_fds *fds)
{
	close(fds->receiver);
	close(fds->sender);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The network of the demo: a namespace with two taps. The kernel's stack sends out of the first one
 * by ordinary sockets, to a neighbour that stands behind the second one; a packet socket there sees
 * what comes through.
 *
 * Nothing here relies on time. A marker is sent behind a batch and takes the same way, queue by
 * queue, so its arrival says that the batch is through.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <rte_ip.h>

#include "start/fail.h"
#include "wire.h"

/* 198.18.0.0/15 is set aside for measurements (RFC 2544). */
#define OWN_ADDRESS "198.18.0.1"
#define PEER_ADDRESS "198.18.0.2"
#define NETMASK "255.255.255.0"
#define FENCE_S 10
#define CAPTURE_BYTES (8 << 20)

static const struct {
	uint16_t port;
	uint16_t payload;
} flows[TRIPD_WIRE_FLOWS] = {
	[TRIPD_WIRE_DNS] = {53, 64},
	[TRIPD_WIRE_WEB] = {443, 1000},
	[TRIPD_WIRE_PING] = {0, 56},
	[TRIPD_WIRE_MARKER] = {9, sizeof(uint32_t)},
};

static int
fail(const char *what)
{
	int error = errno;

	return tripd_fail(-error, "demo: %s: %s", what, strerror(error));
}

static void
write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	/* Some of these files are absent, by kernel; what is not written is not missed. */
	if (fd < 0)
		return;
	if (write(fd, text, strlen(text)) < 0)
		errno = 0;
	close(fd);
}

int
tripd_wire_unshare(void)
{
	char map[64];
	uid_t uid = geteuid();
	gid_t gid = getegid();

	if (unshare(CLONE_NEWNET) != 0) {
		/* Without privilege a user namespace around it gives what the network needs. */
		if (errno != EPERM || unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
			return tripd_fail(-EPERM,
				"no permission to make a network for the demo (%s): run it as root",
				strerror(errno));
		write_file("/proc/self/setgroups", "deny");
		snprintf(map, sizeof(map), "0 %u 1", (unsigned int)uid);
		write_file("/proc/self/uid_map", map);
		snprintf(map, sizeof(map), "0 %u 1", (unsigned int)gid);
		write_file("/proc/self/gid_map", map);
	}
	/* Taps would speak of themselves. */
	write_file("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
	return 0;
}

static struct sockaddr_in
address(const char *text, uint16_t port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};

	inet_pton(AF_INET, text, &address.sin_addr);
	return address;
}

static int
set_address(int fd, const char *ifname)
{
	struct sockaddr_in own = address(OWN_ADDRESS, 0), mask = address(NETMASK, 0);
	struct sockaddr_in peer = address(PEER_ADDRESS, 0);
	struct arpreq arp = {.arp_flags = ATF_PERM | ATF_COM};
	struct ifreq request = {0};

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", ifname);
	memcpy(&request.ifr_addr, &own, sizeof(own));
	if (ioctl(fd, SIOCSIFADDR, &request) != 0)
		return fail("address of the first tap");
	memcpy(&request.ifr_netmask, &mask, sizeof(mask));
	if (ioctl(fd, SIOCSIFNETMASK, &request) != 0)
		return fail("netmask of the first tap");
	memcpy(&arp.arp_pa, &peer, sizeof(peer));
	arp.arp_ha.sa_family = ARPHRD_ETHER;
	memcpy(arp.arp_ha.sa_data, "\x02\x00\x00\x00\x00\x02", 6);
	snprintf(arp.arp_dev, sizeof(arp.arp_dev), "%s", ifname);
	if (ioctl(fd, SIOCSARP, &arp) != 0)
		return fail("neighbour of the first tap");
	return 0;
}

static int
open_capture(struct tripd_wire *wire, const char *ifname)
{
	struct sockaddr_ll link = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP)};
	int bytes = CAPTURE_BYTES;

	link.sll_ifindex = (int)if_nametoindex(ifname);
	wire->capture = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (link.sll_ifindex == 0 || wire->capture < 0)
		return fail("packet socket on the second tap");
	/* Without it the ordinary size must do: one batch fits. */
	if (setsockopt(wire->capture, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) != 0)
		setsockopt(wire->capture, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	if (bind(wire->capture, (struct sockaddr *)&link, sizeof(link)) != 0)
		return fail("packet socket on the second tap");
	return 0;
}

int
tripd_wire_open(struct tripd_wire *wire, const char *first, const char *second)
{
	memset(wire, 0, sizeof(*wire));
	wire->capture = -1;
	for (unsigned int i = 0; i < TRIPD_WIRE_FLOWS; i++) {
		bool icmp = i == TRIPD_WIRE_PING;

		wire->peers[i] = address(PEER_ADDRESS, flows[i].port);
		wire->sockets[i] = socket(AF_INET, (icmp ? SOCK_RAW : SOCK_DGRAM) | SOCK_CLOEXEC,
			icmp ? IPPROTO_ICMP : 0);
		if (wire->sockets[i] < 0)
			return fail("sockets of the senders");
	}
	if (set_address(wire->sockets[TRIPD_WIRE_DNS], first) != 0)
		return -EIO;
	return open_capture(wire, second);
}

void
tripd_wire_close(struct tripd_wire *wire)
{
	for (unsigned int i = 0; i < TRIPD_WIRE_FLOWS; i++)
		if (wire->sockets[i] > 0)
			close(wire->sockets[i]);
	if (wire->capture > 0)
		close(wire->capture);
}

size_t
tripd_wire_frame(enum tripd_wire_flow flow)
{
	size_t l4 = flow == TRIPD_WIRE_PING ? sizeof(struct icmphdr) : sizeof(struct udphdr);

	return sizeof(struct ether_header) + sizeof(struct iphdr) + l4 + flows[flow].payload;
}

static void
make_echo(struct tripd_wire *wire, unsigned char *message, size_t length)
{
	struct icmphdr icmp = {.type = ICMP_ECHO};

	icmp.un.echo.sequence = htons(++wire->sequence);
	memcpy(message, &icmp, sizeof(icmp));
	icmp.checksum = (uint16_t)~rte_raw_cksum(message, length);
	memcpy(message, &icmp, sizeof(icmp));
}

int
tripd_wire_send(struct tripd_wire *wire, enum tripd_wire_flow flow, unsigned int n)
{
	unsigned char message[2048] = {0};
	size_t length = flows[flow].payload;
	uint32_t marker;

	if (flow == TRIPD_WIRE_PING)
		length += sizeof(struct icmphdr);
	for (; n > 0; n--) {
		if (flow == TRIPD_WIRE_PING)
			make_echo(wire, message, length);
		marker = htonl((uint32_t)wire->sent[flow] + 1);
		if (flow == TRIPD_WIRE_MARKER)
			memcpy(message, &marker, sizeof(marker));
		while (sendto(wire->sockets[flow], message, length, 0,
			       (const struct sockaddr *)&wire->peers[flow],
			       sizeof(wire->peers[flow])) < 0)
			if (errno != EINTR)
				return -errno;
		wire->sent[flow]++;
	}
	return 0;
}

static void
count_frame(struct tripd_wire *wire, const unsigned char *frame, size_t length)
{
	struct iphdr ip;
	struct udphdr udp;
	struct icmphdr icmp;
	uint32_t marker;

	frame += sizeof(struct ether_header);
	if (length < sizeof(struct ether_header) + sizeof(ip) + sizeof(udp) + sizeof(marker))
		return;
	memcpy(&ip, frame, sizeof(ip));
	memcpy(&udp, frame + sizeof(ip), sizeof(udp));
	memcpy(&icmp, frame + sizeof(ip), sizeof(icmp));
	memcpy(&marker, frame + sizeof(ip) + sizeof(udp), sizeof(marker));
	if (ip.protocol == IPPROTO_ICMP && icmp.type == ICMP_ECHO)
		wire->arrived[TRIPD_WIRE_PING]++;
	for (unsigned int i = 0; ip.protocol == IPPROTO_UDP && i < TRIPD_WIRE_FLOWS; i++)
		if (flows[i].port != 0 && udp.dest == htons(flows[i].port))
			wire->arrived[i]++;
	if (ip.protocol == IPPROTO_UDP && udp.dest == htons(flows[TRIPD_WIRE_MARKER].port))
		wire->marker = ntohl(marker);
}

/* Counts all frames that are there. */
static int
drain(struct tripd_wire *wire)
{
	unsigned char frame[2048];
	struct sockaddr_ll from;
	socklen_t size;
	ssize_t length;

	for (;;) {
		size = sizeof(from);
		length = recvfrom(
			wire->capture, frame, sizeof(frame), 0, (struct sockaddr *)&from, &size);
		if (length < 0 && errno == EINTR)
			continue;
		if (length < 0)
			return errno == EAGAIN ? 0 : -errno;
		if (from.sll_pkttype != PACKET_OUTGOING)
			count_frame(wire, frame, (size_t)length);
	}
}

static int
check_capture(struct tripd_wire *wire)
{
	struct tpacket_stats stats = {0};
	socklen_t size = sizeof(stats);

	if (getsockopt(wire->capture, SOL_PACKET, PACKET_STATISTICS, &stats, &size) != 0)
		return -errno;
	return stats.tp_drops == 0 ? 0 : -ENOBUFS;
}

int
tripd_wire_fence(struct tripd_wire *wire)
{
	struct pollfd poller = {.fd = wire->capture, .events = POLLIN};
	struct timespec now;
	time_t deadline;
	int ret = tripd_wire_send(wire, TRIPD_WIRE_MARKER, 1);

	clock_gettime(CLOCK_MONOTONIC, &now);
	deadline = now.tv_sec + FENCE_S;
	while (ret == 0 && wire->marker != (uint32_t)wire->sent[TRIPD_WIRE_MARKER]) {
		if (poll(&poller, 1, 100) < 0 && errno != EINTR)
			return -errno;
		ret = drain(wire);
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (now.tv_sec > deadline)
			return -ETIMEDOUT;
	}
	return ret != 0 ? ret : check_capture(wire);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernel says of a network interface. */
#include <errno.h>
#include <inttypes.h>
#include <linux/ethtool.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "interface.h"

static bool
call(const char *ifname, unsigned long command, struct ifreq *request)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), error;
	bool done;

	if (fd < 0)
		return false;
	snprintf(request->ifr_name, sizeof(request->ifr_name), "%s", ifname);
	done = ioctl(fd, command, request) == 0;
	error = errno;
	close(fd);
	errno = error;
	return done;
}

static bool
ask(const char *ifname, void *command)
{
	return call(ifname, SIOCETHTOOL, &(struct ifreq){.ifr_data = command});
}

unsigned int
tripd_interface_queues(const char *ifname, const char **word)
{
	struct ethtool_channels channels = {.cmd = ETHTOOL_GCHANNELS};
	unsigned int n = 0;

	if (ask(ifname, &channels))
		n = channels.combined_count + channels.rx_count;
	*word = channels.combined_count > 0 ? "combined" : "rx";
	return n > 0 ? n : 1;
}

bool
tripd_interface_unsent(const char *ifname, uint64_t *unsent)
{
	char line[512], name[IF_NAMESIZE];
	uint64_t dropped;
	bool found = false;
	/* /proc/thread-self shows this thread's network; sysfs shows that of whoever mounted it. */
	FILE *file = fopen("/proc/thread-self/net/dev", "r");

	if (file == NULL)
		return false;
	while (!found && fgets(line, sizeof(line), file) != NULL)
		found = sscanf(line,
				" %15[^:]: %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %" SCNu64,
				name, &dropped) == 2 &&
			strcmp(name, ifname) == 0;
	fclose(file);
	if (found)
		*unsent = dropped;
	return found;
}

bool
tripd_interface_is_veth(const char *ifname)
{
	struct ethtool_drvinfo driver = {.cmd = ETHTOOL_GDRVINFO};

	return ask(ifname, &driver) && strcmp(driver.driver, "veth") == 0;
}

bool
tripd_interface_is_promiscuous(const char *ifname)
{
	struct ifreq request = {0};

	return call(ifname, SIOCGIFFLAGS, &request) && (request.ifr_flags & IFF_PROMISC) != 0;
}

void
tripd_interface_make_promiscuous(const char *ifname)
{
	struct ifreq request = {0};

	if (call(ifname, SIOCGIFFLAGS, &request)) {
		request.ifr_flags = (short)(request.ifr_flags | IFF_PROMISC);
		if (call(ifname, SIOCSIFFLAGS, &request))
			return;
	}
	fprintf(stderr, "tripd: %s was promiscuous and is no longer: %s\n", ifname,
		strerror(errno));
}

int
tripd_interface_hold(int fd, const char *ifname)
{
	struct packet_mreq all = {
		.mr_ifindex = (int)if_nametoindex(ifname), .mr_type = PACKET_MR_PROMISC};

	return setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof(all)) == 0 ? 0
											 : -errno;
}

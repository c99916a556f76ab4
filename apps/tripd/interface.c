/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernel says of a network interface. */
#include <inttypes.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "interface.h"

static bool
ask(const char *ifname, void *command)
{
	struct ifreq request = {.ifr_data = command};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool answered;

	if (fd < 0)
		return false;
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", ifname);
	answered = ioctl(fd, SIOCETHTOOL, &request) == 0;
	close(fd);
	return answered;
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

uint64_t
tripd_interface_unsent(const char *ifname)
{
	char line[512], name[IF_NAMESIZE];
	uint64_t dropped = 0;
	/* That of this thread's network; sysfs is that of whoever mounted it. */
	FILE *file = fopen("/proc/thread-self/net/dev", "r");

	if (file == NULL)
		return 0;
	while (fgets(line, sizeof(line), file) != NULL)
		if (sscanf(line, " %15[^:]: %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %" SCNu64,
			    name, &dropped) == 2 &&
			strcmp(name, ifname) == 0)
			break;
		else
			dropped = 0;
	fclose(file);
	return dropped;
}

bool
tripd_interface_is_veth(const char *ifname)
{
	struct ethtool_drvinfo driver = {.cmd = ETHTOOL_GDRVINFO};

	return ask(ifname, &driver) && strcmp(driver.driver, "veth") == 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Who carries the default route: a port taken from it cuts off whoever is logged in. */
#include <dirent.h>
#include <limits.h>
#include <net/route.h>
#include <stdio.h>
#include <string.h>

#include "route.h"

/* Stacks of devices are shallow; the bound stops a cycle that sysfs should not have. */
#define DEPTH_MAX 8

static bool
carries(const char *root, const char *device, const char *ifname, unsigned int depth)
{
	char path[PATH_MAX];
	struct dirent *entry;
	bool found = false;
	DIR *dir;

	if (strcmp(device, ifname) == 0)
		return true;
	if (depth == DEPTH_MAX)
		return false;
	snprintf(path, sizeof(path), "%s/sys/class/net/%s", root, device);
	dir = opendir(path);
	if (dir == NULL)
		return false;
	while (!found && (entry = readdir(dir)) != NULL)
		if (strncmp(entry->d_name, "lower_", 6) == 0)
			found = carries(root, entry->d_name + 6, ifname, depth + 1);
	closedir(dir);
	return found;
}

/* Does this line say the default route? Then `device` is where it leaves. */
static bool
is_default_ipv4(const char *line, char device[64])
{
	unsigned int destination, gateway, flags, mask;

	return sscanf(line, "%63s %x %x %x %*d %*d %*d %x", device, &destination, &gateway, &flags,
		       &mask) == 5 &&
	       destination == 0 && mask == 0 && (flags & RTF_REJECT) == 0;
}

static bool
is_default_ipv6(const char *line, char device[64])
{
	unsigned int prefix, flags;
	char destination[33];

	return sscanf(line, "%32s %x %*s %*s %*s %*s %*s %*s %x %63s", destination, &prefix, &flags,
		       device) == 4 &&
	       prefix == 0 && strspn(destination, "0") == 32 && (flags & RTF_REJECT) == 0;
}

static bool
carries_any(const char *root, const char *table, const char *ifname,
	bool (*is_default)(const char *line, char device[64]))
{
	char path[PATH_MAX], line[512], device[64];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "%s/proc/net/%s", root, table);
	file = fopen(path, "r");
	if (file == NULL)
		return false;
	while (!found && fgets(line, sizeof(line), file) != NULL)
		found = is_default(line, device) && carries(root, device, ifname, 0);
	fclose(file);
	return found;
}

bool
tripd_route_is_default(const char *root, const char *ifname)
{
	return carries_any(root, "route", ifname, is_default_ipv4) ||
	       carries_any(root, "ipv6_route", ifname, is_default_ipv6);
}

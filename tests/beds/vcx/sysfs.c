/* SPDX-License-Identifier: BSD-3-Clause */
/* The directories in which a driver looks for devices, and the kernel interface of each port.
 *
 * DPDK reads PCI devices where SYSFS_PCI_DEVICES says, so that is all the redirection there is; the
 * rest is reached from ibv_device.ibdev_path. All this stands in one directory, VCX_DIR:
 *
 *   VCX_DIR/pci/0000:7f:00.0/{vendor,device,class,resource,uevent,driver,...}
 *   VCX_DIR/vcx0/device/uevent                  which PCI device this is
 *   VCX_DIR/vcx0/device/net/vcx<pid>p0/dev_port which kernel interface it has
 *   VCX_DIR/control                             the socket of control.c
 *
 * The first process that finds no answering socket there owns the device. One that does find it,
 * such as a secondary process, only sees the directories. Only a process that has DPDK gets a
 * device: the shell that starts one is passed over, though the library is preloaded into it too. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/if_tun.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "device.h"

unsigned vcx_device_count, vcx_device_listed;
struct vcx_device vcx_devices[VCX_PORTS];

static char directory[128];
static pid_t owner;

const char *
vcx_sysfs_directory(void)
{
	return directory;
}

unsigned
vcx_sysfs_option(const char *name, unsigned otherwise)
{
	const char *options = getenv("VCX_OPTIONS");
	size_t length = strlen(name);

	for (const char *at = options; at != NULL && *at != '\0';) {
		if (strncmp(at, name, length) == 0 && at[length] == '=')
			return (unsigned)strtoul(at + length + 1, NULL, 0);
		at = strchr(at, ',');
		at = at == NULL ? NULL : at + 1;
	}
	return otherwise;
}

/* Writes a file, and the directories on the way to it. */
__attribute__((format(printf, 2, 3))) static bool
write_file(const char *contents, const char *format, ...)
{
	char path[PATH_MAX];
	va_list arguments;
	FILE *file;
	bool good;

	va_start(arguments, format);
	vsnprintf(path, sizeof(path), format, arguments);
	va_end(arguments);
	for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, 0755) != 0 && errno != EEXIST)
			return false;
		*slash = '/';
	}
	file = fopen(path, "w");
	if (file == NULL)
		return false;
	good = fputs(contents, file) >= 0;
	return fclose(file) == 0 && good;
}

static bool
write_pci(const struct vcx_device *device)
{
	static const char *const files[][2] = {
		{"vendor", "0x15b3\n"},
		{"device", "0x1017\n"},
		{"subsystem_vendor", "0x15b3\n"},
		{"subsystem_device", "0x0016\n"},
		{"class", "0x020000\n"},
		{"numa_node", "-1\n"},
		{"max_vfs", "0\n"},
		{"resource", "0x0 0x0 0x0\n0x0 0x0 0x0\n0x0 0x0 0x0\n0x0 0x0 0x0\n0x0 0x0 0x0\n0x0 "
			     "0x0 0x0\n"},
	};
	char link[PATH_MAX];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		if (!write_file(files[i][1], "%s/pci/%s/%s", directory, device->pci, files[i][0]))
			return false;
	}
	snprintf(link, sizeof(link), "%s/pci/%s/driver", directory, device->pci);
	return symlink("../mlx5_core", link) == 0 || errno == EEXIST;
}

static void
name_device(struct vcx_device *device, unsigned port)
{
	struct ibv_device *ibv = &device->ibv;

	device->port = port;
	snprintf(device->pci, sizeof(device->pci), "0000:7f:%02x.0", port & 0xff);
	snprintf(ibv->name, sizeof(ibv->name), "vcx%u", port);
	snprintf(ibv->dev_name, sizeof(ibv->dev_name), "uverbs%u", port);
	snprintf(ibv->ibdev_path, sizeof(ibv->ibdev_path), "%s/vcx%u", directory, port);
	snprintf(ibv->dev_path, sizeof(ibv->dev_path), "%s/uverbs%u", directory, port);
	ibv->node_type = IBV_NODE_CA;
	ibv->transport_type = IBV_TRANSPORT_IB;
}

static bool
write_verbs(const struct vcx_device *device)
{
	char uevent[64];

	snprintf(uevent, sizeof(uevent), "PCI_SLOT_NAME=%s\n", device->pci);
	return write_file(uevent, "%s/device/uevent", device->ibv.ibdev_path) &&
	       write_file(
		       "0\n", "%s/device/net/%s/dev_port", device->ibv.ibdev_path, device->ifname);
}

/* A tap is the only kind of virtual interface that the driver takes: it asks it for its MTU, its
 * address and its link as it would ask mlx5_core's. */
static bool
open_tap(struct vcx_device *device)
{
	struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};
	int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool good;

	snprintf(device->ifname, sizeof(device->ifname), "vcx%dp%u", (int)getpid(), device->port);
	memcpy(request.ifr_name, device->ifname, IF_NAMESIZE);
	device->tap = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	good = sock >= 0 && device->tap >= 0 && ioctl(device->tap, TUNSETIFF, &request) == 0;
	if (good) {
		request.ifr_hwaddr.sa_family = 1; /* ARPHRD_ETHER */
		memcpy(request.ifr_hwaddr.sa_data,
			(uint8_t[6]){2, 0, 0, 0, 0, (uint8_t)(1 + device->port)}, 6);
		good = ioctl(sock, SIOCSIFHWADDR, &request) == 0;
	}
	if (sock >= 0)
		close(sock);
	return good;
}

static bool
start_device(unsigned port)
{
	struct vcx_device *device = &vcx_devices[port];

	name_device(device, port);
	pthread_mutex_init(&device->lock, NULL);
	pthread_cond_init(&device->changed, NULL);
	vcx_match_table_init(&device->root);
	vcx_match_table_init(&device->tx_root);
	LIST_INIT(&device->sqs);
	LIST_INIT(&device->counters);
	TAILQ_INIT(&device->captured);
	return open_tap(device) && write_pci(device) && write_verbs(device);
}

static bool
answers(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	bool good;

	if (directory[0] == '\0' || sock < 0)
		return false;
	snprintf(address.sun_path, sizeof(address.sun_path), "%.90s/control", directory);
	good = connect(sock, (struct sockaddr *)&address, sizeof(address)) == 0;
	close(sock);
	return good;
}

static bool
find_directory(void)
{
	const char *given = getenv("VCX_DIR");

	if (given != NULL && given[0] != '\0') {
		snprintf(directory, sizeof(directory), "%.90s", given);
		return mkdir(directory, 0755) == 0 || errno == EEXIST;
	}
	snprintf(directory, sizeof(directory), "/tmp/vcx.XXXXXX");
	return mkdtemp(directory) != NULL && setenv("VCX_DIR", directory, 1) == 0;
}

/* A secondary process looks for the device that it is about to share, and never opens it. */
static void
list_theirs(void)
{
	for (unsigned port = 0; port < VCX_PORTS; port++) {
		name_device(&vcx_devices[port], port);
		if (access(vcx_devices[port].ibv.ibdev_path, F_OK) != 0)
			break;
		vcx_device_listed++;
	}
}

static int
remove_entry(const char *path, const struct stat *state, int type, struct FTW *walk)
{
	(void)state, (void)type, (void)walk;
	return remove(path);
}

static void
remove_directory(void)
{
	nftw(directory, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

__attribute__((constructor)) static void
appear(void)
{
	char pci[PATH_MAX];
	unsigned ports = vcx_sysfs_option("ports", VCX_PORTS);

	if (dlsym(RTLD_DEFAULT, "rte_eal_init") == NULL || getenv("VCX_OFF") != NULL)
		return;
	if (!find_directory()) {
		fprintf(stderr, "vcx: no device: %s: %s\n", directory, strerror(errno));
		return;
	}
	snprintf(pci, sizeof(pci), "%s/pci", directory);
	setenv("SYSFS_PCI_DEVICES", pci, 1);
	if (answers()) {
		list_theirs();
		return;
	}
	owner = getpid();
	for (unsigned port = 0; port < ports && port < VCX_PORTS; port++) {
		if (!start_device(port)) {
			fprintf(stderr, "vcx: no device: port %u: %s\n", port, strerror(errno));
			vcx_device_count = 0;
			remove_directory();
			return;
		}
		vcx_device_count++;
	}
	vcx_device_listed = vcx_device_count;
	vcx_control_start(directory);
}

__attribute__((destructor)) static void
disappear(void)
{
	if (owner == getpid() && vcx_device_count > 0)
		remove_directory();
}

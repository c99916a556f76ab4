/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What would fail, said before anything is started: one sentence, with the command that helps.
 * These are forecasts. Where one is wrong or something else fails, EAL's own word is
 * shown (quiet_eal.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/capability.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <trip.h>

#include "apply/each.h"
#include "apply/set.h"
#include "cpus.h"
#include "fail.h"
#include "hugepages.h"
#include "options.h"
#include "plan.h"
#include "preflight.h"
#include "program.h"
#include "resolve.h"
#include "rules.h"
#include "words.h"

#define MIB UINT64_C(1048576)
/* EAL's heap at rest, and a port's queues and private data; measured with net_tap, net_pcap and
 * net_af_packet, which take the least, and ixgbe's descriptor rings. */
#define EAL_BYTES (6 * MIB)
#define PORT_BYTES (1 * MIB)
/* What --no-huge gets without -m. */
#define NO_HUGE_MIB 64

/* Files that rules name: what is wrong with any is said. */
static int
check_files(struct trip_rules *rules)
{
	int sets = trip_apply_set_load_all(rules, stderr);

	return tripd_program_check_all(rules) == 0 && sets == 0 ? 0 : TRIPD_EXIT_USAGE;
}

/* What hardware cannot do for keys. */
static int
check_eaches(const struct trip_rules *rules)
{
	int ret = 0;

	for (unsigned int i = 0; i < rules->n_eaches; i++) {
		const struct trip_rules_each *each = &rules->eaches[i];

		if (trip_apply_each_check(each) != 0)
			ret = tripd_fail(TRIPD_EXIT_USAGE, "line %u of the rules: %s",
				each->count.line, trip_error_message());
	}
	return ret;
}

int
tripd_preflight_rules(const char *path, struct trip_rules **rules)
{
	struct trip_rules_errors *errors;
	int ret = trip_rules_parse_file(path, false, rules, &errors);

	if (ret == 0) {
		if (!tripd_resolve_unknown(*rules))
			trip_rules_errors_print((*rules)->warnings, stderr);
		if (check_files(*rules) == 0 && check_eaches(*rules) == 0)
			return 0;
		trip_rules_free(*rules);
		*rules = NULL;
		return TRIPD_EXIT_USAGE;
	}
	if (errors == NULL)
		return tripd_fail(TRIPD_EXIT_RUN, "%s: %s", path, strerror(-ret));
	trip_rules_errors_print(errors, stderr);
	if (errors->rules != NULL)
		(void)check_files(errors->rules);
	trip_rules_errors_free(errors);
	return TRIPD_EXIT_USAGE;
}

static void
set_mbufs(struct tripd_need *need, uint32_t n_mbufs)
{
	struct rte_mempool_objsz size;

	need->total_bytes -= need->pool_bytes;
	rte_mempool_calc_obj_size(sizeof(struct rte_mbuf) + RTE_MBUF_DEFAULT_BUF_SIZE, 0, &size);
	need->n_mbufs = n_mbufs;
	need->pool_bytes = (uint64_t)n_mbufs * size.total_size + MIB;
	need->total_bytes += need->pool_bytes;
}

int
tripd_preflight_need(
	const struct trip_rules *rules, const struct tripd_plan *plan, struct tripd_need *need)
{
	unsigned int n_ports = plan->n_ports + plan->n_unknown;
	struct trip_domain_footprint footprint = {.size = sizeof(footprint)};
	struct trip_domain_attr attr;
	int ret;

	tripd_plan_domain(rules, plan, &attr);
	/* Its lcore is not known yet, and changes nothing of the sizes. */
	attr.progress = TRIP_PROGRESS_MANUAL;
	attr.lcores = NULL;
	ret = trip_domain_footprint(&attr, &footprint);
	if (ret != 0)
		return tripd_fail(ret, "%s", trip_error_message());
	/* Full queues, bursts in hand and in the caches of the forwarders and of the main lcore. */
	need->pool_bytes = 0;
	/* The domain's memzones round up to hugepages. */
	need->total_bytes =
		RTE_MAX(footprint.bytes, footprint.hugepages * footprint.hugepage_bytes) +
		EAL_BYTES + n_ports * PORT_BYTES;
	set_mbufs(need, n_ports * (2 * TRIPD_DESCRIPTORS + 2 * TRIPD_BURST) +
				(n_ports + 1) * 2 * TRIPD_MBUF_CACHE);
	return 0;
}

static uint64_t
capabilities(void)
{
	uint64_t effective = 0;
	char line[256];
	FILE *file = fopen("/proc/self/status", "r");

	if (file == NULL)
		return geteuid() == 0 ? UINT64_MAX : 0;
	while (fgets(line, sizeof(line), file) != NULL)
		if (sscanf(line, "CapEff: %" SCNx64, &effective) == 1)
			break;
	fclose(file);
	return effective;
}

/* The value of a key in "net_x0,key=value,...", or NULL. */
static const char *
vdev_value(const char *vdev, const char *key, char value[PATH_MAX])
{
	size_t length = strlen(key);
	const char *at = vdev;

	while ((at = strchr(at, ',')) != NULL) {
		at++;
		if (strncmp(at, key, length) != 0 || at[length] != '=')
			continue;
		snprintf(value, PATH_MAX, "%.*s", (int)strcspn(at + length + 1, ","),
			at + length + 1);
		return value;
	}
	return NULL;
}

void
tripd_preflight_devices(const struct tripd_words *words, const struct tripd_options *options,
	struct tripd_need *need)
{
	uint32_t n_mbufs = need->n_mbufs;
	char value[PATH_MAX];

	for (unsigned int i = 0; i < words->n_vdevs; i++) {
		uint32_t n_queues = 1;

		if (strncmp(words->vdevs[i], "net_af_xdp", 10) != 0)
			continue;
		if (vdev_value(words->vdevs[i], "queue_count", value) != NULL)
			n_queues = (uint32_t)strtoul(value, NULL, 10);
		/* Each queue lends the kernel a full fill ring from the start, and sent buffers
		 * come back as late. */
		n_mbufs += n_queues * 2 * TRIPD_XDP_DESCRIPTORS;
	}
	need->mbufs_given = options->mbufs != 0;
	if (need->mbufs_given && options->mbufs < n_mbufs)
		fprintf(stderr,
			"tripd: warning: --mbufs %" PRIu32 " are fewer than the %" PRIu32
			" that the queues of all ports can hold: for lack of them frames are "
			"lost, or a port does not start\n",
			options->mbufs, n_mbufs);
	set_mbufs(need, need->mbufs_given ? options->mbufs : n_mbufs);
}

static int
check_interface(const char *vdev, const char *name)
{
	struct if_nameindex *all, *one;

	if (strlen(name) >= IF_NAMESIZE)
		return tripd_fail(TRIPD_EXIT_USAGE,
			"%s: \"%s\" has %zu characters, and the name of a network interface has up "
			"to %d",
			vdev, name, strlen(name), IF_NAMESIZE - 1);
	if (if_nametoindex(name) != 0)
		return 0;
	fprintf(stderr, "tripd: %s: there is no network interface %s; there are", vdev, name);
	all = if_nameindex();
	for (one = all; one != NULL && one->if_index != 0; one++)
		fprintf(stderr, "%s %s", one == all ? "" : ",", one->if_name);
	fprintf(stderr, " (ip link shows them)\n");
	if_freenameindex(all);
	return TRIPD_EXIT_USAGE;
}

#define CAPABILITY(name) (UINT64_C(1) << (name))
#define NAMES_MAX 64
/* Of drivers of sockets that set an interface's address, modes or program. What the libraries under
 * that of XDP need beside it, they say themselves. */
#define BOTH_NEEDS (CAPABILITY(CAP_NET_RAW) | CAPABILITY(CAP_NET_ADMIN))

static void
name_capabilities(uint64_t set, char text[NAMES_MAX])
{
	static const struct {
		uint64_t bit;
		const char *name;
	} all[] = {
		{CAPABILITY(CAP_NET_RAW), "CAP_NET_RAW"},
		{CAPABILITY(CAP_NET_ADMIN), "CAP_NET_ADMIN"},
	};
	size_t used = 0;

	for (unsigned int i = 0; i < RTE_DIM(all); i++) {
		if ((set & all[i].bit) != 0)
			used += (size_t)snprintf(text + used, NAMES_MAX - used, "%s%s",
				used == 0 ? "" : " and ", all[i].name);
	}
}

static int
check_capable(const char *vdev, uint64_t needed)
{
	uint64_t missing = needed & ~capabilities();
	char needs[NAMES_MAX], lacks[NAMES_MAX];

	if (missing == 0)
		return 0;
	name_capabilities(needed, needs);
	name_capabilities(missing, lacks);
	return tripd_fail(TRIPD_EXIT_RUN,
		"no permission for %s, which needs %s%s%s: run tripd as root, or as tripd(8) "
		"says of users other than root",
		vdev, needs, missing != needed ? ", and tripd has no " : "",
		missing != needed ? lacks : "");
}

static int
check_tap(const char *vdev)
{
	int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return tripd_fail(TRIPD_EXIT_RUN, "%s: /dev/net/tun: %s: %s", vdev, strerror(errno),
			errno == EACCES ? "run tripd as root" : "scripts/setup makes it, as root");
	close(fd);
	return check_capable(vdev, CAPABILITY(CAP_NET_ADMIN));
}

static int
check_vdev(const char *vdev)
{
	bool is_packet = strncmp(vdev, "net_af_packet", 13) == 0;
	char value[PATH_MAX];

	if (strncmp(vdev, "net_tap", 7) == 0)
		return check_tap(vdev);
	if (strncmp(vdev, "net_pcap", 8) == 0 && vdev_value(vdev, "rx_pcap", value) != NULL &&
		access(value, R_OK) != 0)
		return tripd_fail(TRIPD_EXIT_USAGE, "%s: %s: %s", vdev, value, strerror(errno));
	if (strncmp(vdev, "net_af_xdp", 10) == 0) {
		if (vdev_value(vdev, "iface", value) != NULL && check_interface(vdev, value) != 0)
			return TRIPD_EXIT_USAGE;
		return check_capable(vdev, BOTH_NEEDS);
	}
	if (is_packet || strncmp(vdev, "net_pcap", 8) == 0) {
		if (vdev_value(vdev, "iface", value) == NULL)
			return 0;
		if (check_interface(vdev, value) != 0)
			return TRIPD_EXIT_USAGE;
		return check_capable(vdev, is_packet ? BOTH_NEEDS : CAPABILITY(CAP_NET_RAW));
	}
	return 0;
}

/* EAL makes its folder, but not the one that it is to be in. */
static int
check_runtime_parent(const char *path)
{
	char parent[PATH_MAX];

	snprintf(parent, sizeof(parent), "%.*s", (int)(strrchr(path, '/') - path), path);
	if (access(parent[0] != '\0' ? parent : "/", W_OK | X_OK) == 0)
		return 0;
	return tripd_fail(TRIPD_EXIT_RUN,
		"%s, where EAL keeps what it runs by, cannot be made: %s: %s names the folder it "
		"is to be in",
		path, strerror(errno),
		getenv("RUNTIME_DIRECTORY") != NULL ? "RUNTIME_DIRECTORY" : "XDG_RUNTIME_DIR");
}

/* In /tmp, EAL's folder belongs to the first user who ran EAL. */
static int
check_runtime(const struct tripd_words *words)
{
	char path[PATH_MAX];

	tripd_words_runtime_path(path);
	if (access(path, F_OK) != 0)
		return words->in_memory || words->no_shconf ? 0 : check_runtime_parent(path);
	if (access(path, R_OK | W_OK | X_OK) == 0)
		return 0;
	return tripd_fail(TRIPD_EXIT_RUN,
		"no permission for %s, where EAL keeps what it runs by: run tripd as its owner, or "
		"set XDG_RUNTIME_DIR to a folder of your own",
		path);
}

/* The primary of a prefix holds a write lock on its configuration for as long as it lives. */
static int
check_prefix(const struct tripd_words *words)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	char path[PATH_MAX], process[PATH_MAX], name[64] = "";
	bool locked;
	FILE *file;
	int fd;

	tripd_words_config_path(words, path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	locked = fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
	close(fd);
	if (!locked)
		return 0;
	snprintf(process, sizeof(process), "/proc/%ld/comm", (long)lock.l_pid);
	file = fopen(process, "r");
	if (file != NULL) {
		if (fscanf(file, "%63s", name) != 1)
			name[0] = '\0';
		fclose(file);
	}
	return tripd_fail(TRIPD_EXIT_RUN,
		"process %ld (%s) runs with the file prefix %s already: end it with kill %ld, or "
		"give this one a prefix of its own, --file-prefix NAME before --",
		(long)lock.l_pid, name[0] != '\0' ? name : "of another container",
		words->file_prefix, (long)lock.l_pid);
}

/* What asks for the memory. */
static const char *
needy(const struct tripd_need *need)
{
	return need->mbufs_given ? "these rules and --mbufs" : "these rules";
}

static int
check_no_huge(const struct tripd_words *words, const struct tripd_need *need)
{
	uint64_t has = words->memory_mib != 0 ? words->memory_mib : NO_HUGE_MIB;
	uint64_t wants = (need->total_bytes + MIB - 1) / MIB;

	if (has >= wants)
		return 0;
	return tripd_fail(TRIPD_EXIT_RUN,
		"--no-huge gives EAL %" PRIu64 " MiB, and %s need %" PRIu64 ": add -m %" PRIu64
		" before --",
		has, needy(need), wants, wants);
}

bool
tripd_preflight_has_hugepages(const struct tripd_words *words, const struct tripd_need *need)
{
	struct tripd_hugepages pages;

	tripd_hugepages_read("", words->huge_dir, !words->in_memory, &pages);
	return pages.free_bytes >= need->total_bytes;
}

static int
check_hugepages(const struct tripd_words *words, const struct tripd_need *need)
{
	struct tripd_hugepages pages;
	uint64_t free_pages, wanted;

	tripd_hugepages_read("", words->huge_dir, !words->in_memory, &pages);
	if (pages.page_bytes == 0)
		return tripd_fail(TRIPD_EXIT_RUN,
			"this kernel has no hugepages: add --no-huge -m %" PRIu64 " before --",
			need->total_bytes / MIB + 1);
	if (!words->in_memory && pages.directory[0] != '\0' &&
		access(pages.directory, R_OK | W_OK | X_OK) != 0)
		return tripd_fail(TRIPD_EXIT_RUN,
			"no permission for the hugepages in %s: name a folder of them that you may "
			"write to by --huge-dir before --, or run tripd as root",
			pages.directory);
	free_pages = pages.free_bytes / pages.page_bytes;
	wanted = (need->total_bytes + pages.page_bytes - 1) / pages.page_bytes;
	if (free_pages >= wanted)
		return 0;
	if (pages.directory[0] == '\0' && !words->in_memory && pages.total > 0)
		return tripd_fail(TRIPD_EXIT_RUN,
			"the hugepages are not mounted%s%s: scripts/setup does that, as root",
			words->huge_dir != NULL ? " at " : "",
			words->huge_dir != NULL ? words->huge_dir : "");
	return tripd_fail(TRIPD_EXIT_RUN,
		"too few hugepages: %s need %" PRIu64 " of %" PRIu64 " kB, and %" PRIu64
		" are free: scripts/setup --hugepages %" PRIu64 ", as root",
		needy(need), wanted, pages.page_bytes / 1024, free_pages,
		pages.total - (free_pages < pages.total ? free_pages : pages.total) + wanted);
}

int
tripd_preflight_check(const struct tripd_words *words, const struct tripd_need *need)
{
	int ret = 0;

	if (words->secondary)
		return tripd_fail(TRIPD_EXIT_USAGE,
			"a domain is opened by a primary process: leave out --proc-type secondary");
	ret = tripd_cpus_check(words);
	for (unsigned int i = 0; i < words->n_vdevs && ret == 0; i++)
		ret = check_vdev(words->vdevs[i]);
	if (ret == 0)
		ret = check_runtime(words);
	if (ret == 0 && !words->in_memory && !words->no_shconf)
		ret = check_prefix(words);
	if (ret == 0)
		ret = words->no_huge ? check_no_huge(words, need) : check_hugepages(words, need);
	return ret;
}

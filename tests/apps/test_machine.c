/* SPDX-License-Identifier: BSD-3-Clause */
/* What is read of the machine: hugepages and default routes, from files laid out here. */
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "start/hugepages.h"
#include "start/route.h"
#include "trip_test.h"

static char root[] = "/tmp/tripd-machine-XXXXXX";

static void
lay(const char *name, const char *text)
{
	char path[PATH_MAX];
	FILE *file;
	char *at;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	for (at = path + 1; (at = strchr(at, '/')) != NULL; at++) {
		*at = '\0';
		mkdir(path, 0755);
		*at = '/';
	}
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void
free_hugepages_are_summed(void **state)
{
	struct tripd_hugepages pages;

	lay("proc/meminfo", "MemTotal: 1 kB\nHugepagesize:       2048 kB\n");
	lay("proc/mounts", "proc /proc proc rw 0 0\nh /huge hugetlbfs rw,pagesize=2M 0 0\n");
	lay("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "20\n");
	lay("sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "7\n");
	lay("sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", "1\n");
	lay("sys/kernel/mm/hugepages/hugepages-1048576kB/free_hugepages", "1\n");
	lay("huge/other", "");
	tripd_hugepages_read(root, NULL, true, &pages);
	assert_int_equal(pages.page_bytes, 2 << 20);
	assert_int_equal(pages.total, 20);
	assert_int_equal(pages.free_bytes, 7 * (2 << 20));
	assert_string_equal(pages.directory + strlen(root), "/huge");
	/* The size that is mounted nowhere is of use in memory only. */
	tripd_hugepages_read(root, NULL, false, &pages);
	assert_int_equal(pages.free_bytes, UINT64_C(7) * (2 << 20) + (1 << 30));
}

static void
pages_of_the_dead_are_free(void **state)
{
	struct tripd_hugepages pages;
	char path[PATH_MAX], text[8193];
	uint64_t before;
	int fd;

	tripd_hugepages_read(root, NULL, true, &pages);
	before = pages.free_bytes;
	memset(text, 'x', 8192);
	text[8192] = '\0';
	lay("huge/tripdmap_0", text);
	tripd_hugepages_read(root, NULL, true, &pages);
	assert_true(pages.free_bytes >= before + 8192);
	/* One that somebody holds is not. */
	snprintf(path, sizeof(path), "%s/huge/tripdmap_0", root);
	fd = open(path, O_RDONLY);
	assert_return_code(flock(fd, LOCK_SH), 0);
	tripd_hugepages_read(root, NULL, true, &pages);
	assert_int_equal(pages.free_bytes, before);
	close(fd);
}

static void
nothing_is_nothing(void **state)
{
	struct tripd_hugepages pages;

	tripd_hugepages_read("/nonexistent", NULL, true, &pages);
	assert_int_equal(pages.page_bytes, 0);
	assert_int_equal(pages.free_bytes, 0);
	assert_false(tripd_route_is_default("/nonexistent", "eth0"));
}

static void
default_routes_are_found(void **state)
{
	lay("proc/net/route", "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\n"
			      "eth1\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\n"
			      "eth2\t00000000\t00000000\t0201\t0\t0\t0\t00000000\t0\n"
			      "br0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\n");
	lay("proc/net/ipv6_route",
		"00000000000000000000000000000000 00 00000000000000000000000000000000 00 "
		"fe800000000000000000000000000001 00000400 00000001 00000000 00450003     eth3\n"
		"00000000000000000000000000000000 00 00000000000000000000000000000000 00 "
		"00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo\n"
		"fe800000000000000000000000000000 40 00000000000000000000000000000000 00 "
		"00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth1\n");
	lay("sys/class/net/br0/lower_bond0/x", "");
	lay("sys/class/net/bond0/lower_eth0/x", "");
	assert_true(tripd_route_is_default(root, "br0"));
	/* Two floors below the bridge that the route names. */
	assert_true(tripd_route_is_default(root, "eth0"));
	assert_true(tripd_route_is_default(root, "eth3"));
	assert_false(tripd_route_is_default(root, "eth1"));
	/* A route that rejects carries nothing. */
	assert_false(tripd_route_is_default(root, "eth2"));
	assert_false(tripd_route_is_default(root, "lo"));
}

static int
make_root(void **state)
{
	return mkdtemp(root) == NULL;
}

static int
remove_one(const char *path, const struct stat *status, int flag, struct FTW *walk)
{
	return remove(path);
}

static int
remove_root(void **state)
{
	return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(free_hugepages_are_summed),
		cmocka_unit_test(pages_of_the_dead_are_free),
		cmocka_unit_test(nothing_is_nothing),
		cmocka_unit_test(default_routes_are_found),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}

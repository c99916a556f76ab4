/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The words for EAL, and its start with them. Read here only as far as the checks before
 * rte_eal_init() need; EAL has the last word on all of them.
 *
 * Chosen ones put the control thread (lcore 0) on the first processor that this process may use,
 * the forwarding lcore (1) on the next that is not the polling lcore's (2), and let them share
 * where the machine has fewer: the control thread sleeps, and a busy lcore that shares yields.
 */
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_log.h>

#include "options.h"
#include "quiet_eal.h"
#include "words.h"
#include "xdp_words.h"

static char program[] = "tripd";

/* Long words of EAL whose value may be the next word; of the short ones all but -h and -v. */
static const char *const valued[] = {"allow", "base-virtaddr", "block", "file-prefix",
	"force-max-simd-bitwidth", "huge-dir", "huge-unlink", "iova-mode", "lcores", "log-level",
	"main-lcore", "mbuf-pool-ops-name", "proc-type", "service-corelist", "socket-limit",
	"socket-mem", "syslog", "trace", "trace-bufsz", "trace-dir", "trace-mode", "vdev",
	"vfio-intr", "vfio-vf-token"};

static const char *const flags[] = {"create-uio-dev", "huge-worker-stack", "in-memory",
	"legacy-mem", "match-allocations", "no-hpet", "no-huge", "no-pci", "no-shconf",
	"no-telemetry", "single-file-segments", "telemetry", "vmware-tsc-map"};

static bool
is_one_of(const char *word, size_t length, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(names[i]) == length && strncmp(word, names[i], length) == 0)
			return true;
	return false;
}

bool
tripd_words_is_eal(const char *word)
{
	size_t length = strcspn(word, "=");

	if (word[0] != '-' || length < 2)
		return false;
	if (word[1] != '-')
		return strchr("abcdlmnrsSv", word[1]) != NULL;
	return is_one_of(word + 2, length - 2, valued, sizeof(valued) / sizeof(*valued)) ||
	       is_one_of(word + 2, length - 2, flags, sizeof(flags) / sizeof(*flags));
}

static uint64_t
sum_list(const char *text)
{
	uint64_t sum = 0;
	char *end;

	for (;; text = end + 1) {
		sum += strtoull(text, &end, 10);
		if (end == text || *end != ',')
			return sum;
	}
}

static void
note_valued(struct tripd_words *words, const char *name, const char *value)
{
	if (strcmp(name, "file-prefix") == 0)
		words->file_prefix = value;
	else if (strcmp(name, "huge-dir") == 0)
		words->huge_dir = value;
	else if (strcmp(name, "vdev") == 0)
		words->vdevs[words->n_vdevs++] = value;
	else if (strcmp(name, "socket-mem") == 0 || strcmp(name, "m") == 0)
		words->memory_mib = sum_list(value);
	else if (strcmp(name, "l") == 0 || strcmp(name, "lcores") == 0 || strcmp(name, "c") == 0) {
		words->lcores = value;
		words->lcores_option = name[0] == 'c' ? "-c" : name[1] == 0 ? "-l" : "--lcores";
	} else if (strcmp(name, "huge-unlink") == 0)
		words->keeps_pages = strcmp(value, "never") == 0;
	else if (strcmp(name, "proc-type") == 0)
		words->secondary = strcmp(value, "secondary") == 0;
}

static void
note_flag(struct tripd_words *words, const char *name)
{
	if (strcmp(name, "no-huge") == 0)
		words->no_huge = true;
	else if (strcmp(name, "in-memory") == 0)
		words->in_memory = true;
	else if (strcmp(name, "no-shconf") == 0)
		words->no_shconf = true;
	else if (strcmp(name, "help") == 0 || strcmp(name, "h") == 0)
		words->help = true;
}

/* Returns how many words it took: 1 or 2. */
static int
scan_long(struct tripd_words *words, int i)
{
	const char *word = words->argv[i] + 2;
	const char *equals = strchr(word, '=');
	char name[64];

	if (equals != NULL && (size_t)(equals - word) < sizeof(name)) {
		memcpy(name, word, (size_t)(equals - word));
		name[equals - word] = '\0';
		note_valued(words, name, equals + 1);
		return 1;
	}
	for (unsigned int k = 0; k < sizeof(valued) / sizeof(*valued); k++)
		if (strcmp(word, valued[k]) == 0 && i + 1 < words->argc) {
			note_valued(words, word, words->argv[i + 1]);
			return 2;
		}
	note_flag(words, word);
	return 1;
}

static int
scan_short(struct tripd_words *words, int i)
{
	const char *word = words->argv[i] + 1;
	char name[2] = {word[0], '\0'};

	if (word[0] == 'h' || word[0] == 'v') {
		note_flag(words, name);
		return 1;
	}
	if (word[1] != '\0') {
		note_valued(words, name, word + 1);
		return 1;
	}
	if (i + 1 < words->argc)
		note_valued(words, name, words->argv[i + 1]);
	return 2;
}

static void
scan(struct tripd_words *words)
{
	int i = 1;

	words->file_prefix = "rte";
	while (i < words->argc) {
		if (strncmp(words->argv[i], "--", 2) == 0)
			i += scan_long(words, i);
		else if (words->argv[i][0] == '-' && words->argv[i][1] != '\0')
			i += scan_short(words, i);
		else
			i++;
	}
}

__attribute__((format(printf, 3, 4))) static int
choose(struct tripd_words *words, size_t *used, const char *format, ...)
{
	char *text = words->text + *used;
	size_t room = sizeof(words->text) - *used;
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(text, room, format, args);
	va_end(args);
	if (length < 0 || (size_t)length >= room || words->argc == TRIPD_WORDS_MAX)
		return -E2BIG;
	words->argv[words->argc++] = text;
	*used += (size_t)length + 1;
	return 0;
}

static int
choose_lcores(struct tripd_words *words, size_t *used)
{
	int cpus[3] = {0, 0, 0};
	cpu_set_t allowed;
	int n = 0, cpu;

	CPU_ZERO(&allowed);
	if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		CPU_SET(0, &allowed);
	for (cpu = 0; cpu < CPU_SETSIZE && n < 3; cpu++)
		if (CPU_ISSET(cpu, &allowed))
			cpus[n++] = cpu;
	if (n == 1)
		cpus[1] = cpus[2] = cpus[0];
	if (n == 2) {
		cpus[2] = cpus[1];
		cpus[1] = cpus[0];
	}
	return choose(words, used, "--lcores=0@%d,1@%d,2@%d", cpus[0], cpus[1], cpus[2]);
}

static int
choose_ifaces(struct tripd_words *words, size_t *used, const struct tripd_options *options)
{
	int ret = 0;

	for (unsigned int i = 0; i < options->n_ifaces; i++)
		ret |= choose(
			words, used, "--vdev=net_af_packet%u,iface=%s", i, options->ifaces[i]);
	return ret;
}

static int
choose_all(struct tripd_words *words, const struct tripd_options *options, uint64_t memory_mib)
{
	size_t used = 0;
	int ret = choose_lcores(words, &used);

	if (options->demo) {
		/* Nothing of the demo outlives it, and any number of them run side by side. */
		ret |= choose(words, &used, memory_mib == 0 ? "--in-memory" : "--no-shconf");
		ret |= choose(words, &used, "--file-prefix=tripd-demo-%ld", (long)getpid());
	} else {
		ret |= choose(words, &used, "--file-prefix=tripd");
	}
	if (memory_mib != 0) {
		ret |= choose(words, &used, "--no-huge");
		ret |= choose(words, &used, "-m%llu", (unsigned long long)memory_mib);
	}
	if (options->demo || options->n_ifaces != 0)
		ret |= choose(words, &used, "--no-pci");
	for (unsigned int i = 0; options->demo && i < 2; i++)
		ret |= choose(words, &used, "--vdev=net_tap%u,iface=tap%u", i, i);
	ret |= choose_ifaces(words, &used, options);
	return ret == 0 ? 0 : -E2BIG;
}

int
tripd_words_init(
	struct tripd_words *words, const struct tripd_options *options, uint64_t memory_mib)
{
	size_t used = 0;
	int i, ret = 0;

	memset(words, 0, sizeof(*words));
	words->argv[words->argc++] = program;
	words->chosen = options->eal_words == NULL;
	if (words->chosen) {
		ret = choose_all(words, options, memory_mib);
	} else {
		if (options->n_eal_words >= TRIPD_WORDS_MAX)
			return -E2BIG;
		for (i = 0; i < options->n_eal_words; i++)
			words->argv[words->argc++] = options->eal_words[i];
		ret = choose_ifaces(words, &used, options);
	}
	scan(words);
	return ret;
}

void
tripd_words_runtime_path(char path[PATH_MAX])
{
	const char *directory = getenv("RUNTIME_DIRECTORY");

	if (directory == NULL)
		directory = getuid() == 0 ? "/var/run" : getenv("XDG_RUNTIME_DIR");
	if (directory == NULL)
		directory = "/tmp";
	snprintf(path, PATH_MAX, "%s/dpdk", directory);
}

void
tripd_words_config_path(const struct tripd_words *words, char path[PATH_MAX])
{
	size_t length;

	tripd_words_runtime_path(path);
	length = strlen(path);
	snprintf(path + length, PATH_MAX - length, "/%s/config", words->file_prefix);
}

int
tripd_words_start_eal(struct tripd_words *words, bool verbose)
{
	/* --help writes and exits. */
	if (quiet_eal_start("tripd", words->argc, words->argv, !verbose && !words->help) != 0)
		return TRIPD_EXIT_RUN;
	if (verbose)
		return 0;
	tripd_xdp_words_keep();
	if (rte_log_get_global_level() > RTE_LOG_ERR)
		rte_log_set_global_level(RTE_LOG_ERR);
	/* No shared files, no secondaries: net_tap calls that an error. */
	if (words->in_memory || words->no_shconf)
		rte_log_set_level_pattern("pmd.net.tap", RTE_LOG_CRIT);
	return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Attaching. The secondary gets an lcore id that no process of the domain has, and no devices: it
 * is there for the domain alone. */
#include <errno.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_config.h>
#include <rte_eal.h>
#include <rte_log.h>

#include <trip.h>

#include "attach.h"
#include "base/tripctl.h"
#include "quiet_eal.h"

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

static void
end_signals(sigset_t *set)
{
	sigemptyset(set);
	for (unsigned int i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaddset(set, signals[i]);
}

int
tripctl_attach_fail(int error)
{
	return tripctl_complain(error == -ENOENT      ? TRIPCTL_EXIT_NONE
				: error == -ESHUTDOWN ? TRIPCTL_EXIT_ENDED
				: error == -EIO       ? TRIPCTL_EXIT_ERROR
						      : TRIPCTL_EXIT_RUN,
		"%s", trip_error_message());
}

/*
 * An lcore id that is free; negative: none is. Two that attach at the same time see the same ones,
 * so each begins elsewhere. And the user of the primary.
 */
static int
choose_lcore(struct tripctl *ctl, uint32_t *user)
{
	struct trip_client_process process;
	uint64_t used[sizeof(process.lcores) / sizeof(process.lcores[0])] = {0}, cursor = 0;
	int got;

	while ((got = trip_client_list(ctl->client, TRIP_CLIENT_PROCESS, &cursor, &process,
			sizeof(process), 1)) > 0) {
		for (unsigned int i = 0; i < sizeof(used) / sizeof(used[0]); i++)
			used[i] |= process.lcores[i];
		if (process.pid == ctl->about.pid)
			*user = process.uid;
	}
	if (got < 0)
		return got;
	for (unsigned int i = 0; i < RTE_MAX_LCORE; i++) {
		unsigned int lcore = ((unsigned int)getpid() + i) % RTE_MAX_LCORE;

		if ((used[lcore / 64] >> lcore % 64 & 1) == 0)
			return (int)lcore;
	}
	return -EUSERS;
}

/* The lcore may run wherever this process may. */
static int
write_lcores(char *out, size_t size, int lcore)
{
	int length = snprintf(out, size, "--lcores=%d@(", lcore);
	const char *comma = "";
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	sched_getaffinity(0, sizeof(cpus), &cpus);
	for (int cpu = 0; cpu < CPU_SETSIZE && length < (int)size; cpu++) {
		if (!CPU_ISSET(cpu, &cpus))
			continue;
		length += snprintf(out + length, size - (size_t)length, "%s%d", comma, cpu);
		comma = ",";
	}
	if (length < (int)size)
		length += snprintf(out + length, size - (size_t)length, ")");
	return length < (int)size ? 0 : -E2BIG;
}

static int
complain_user(const struct tripctl *ctl, uint32_t user)
{
	const struct passwd *entry = getpwuid(user);

	return tripctl_complain(TRIPCTL_EXIT_RUN,
		"process %u is of user %u%s%s, and shares its memory with that user: run tripctl "
		"as %s%s",
		ctl->about.pid, user, entry != NULL ? " " : "", entry != NULL ? entry->pw_name : "",
		user == 0 ? "root" : "that user",
		geteuid() == 0 ? "" : " (who may give commands to tripd may not attach for that)");
}

static int
start_eal(struct tripctl *ctl, int lcore, uint32_t user)
{
	/* EAL keeps its words, and may write to them. */
	static char lcores[8192], prefix[96],
		words[][32] = {"tripctl", "--proc-type=secondary", "--no-pci", "--no-telemetry",
			"--log-level=error"};
	char *all[sizeof(words) / sizeof(words[0]) + 3];
	int n = 0;

	/* It becomes part of paths. */
	if (ctl->about.prefix[0] == 0 || strchr(ctl->about.prefix, '/') != NULL)
		return tripctl_complain(TRIPCTL_EXIT_RUN,
			"the primary has no file prefix, but \"%s\"", ctl->about.prefix);
	snprintf(prefix, sizeof(prefix), "--file-prefix=%s", ctl->about.prefix);
	for (; n < (int)(sizeof(words) / sizeof(words[0])); n++)
		all[n] = words[n];
	all[n++] = prefix;
	if (write_lcores(lcores, sizeof(lcores), lcore) == 0)
		all[n++] = lcores;
	all[n] = NULL;
	if (quiet_eal_start("tripctl", n, all, !ctl->verbose) == 0)
		return 0;
	/* Root has a runtime folder of its own, too. */
	if (user != geteuid())
		return complain_user(ctl, user);
	return tripctl_complain(TRIPCTL_EXIT_RUN,
		"process %u shares its memory if it has hugepages and runs without --no-shconf "
		"and --in-memory",
		ctl->about.pid);
}

int
tripctl_attach(struct tripctl *ctl, struct trip_domain **domain)
{
	uint32_t user = geteuid();
	int lcore = choose_lcore(ctl, &user), error;
	sigset_t set;

	if (lcore == -EUSERS)
		return tripctl_complain(
			TRIPCTL_EXIT_RUN, "all %d lcore ids are used", RTE_MAX_LCORE);
	if (lcore < 0)
		return tripctl_fail(lcore);
	/* EAL would say something else of it. */
	if (geteuid() != 0 && user != geteuid())
		return complain_user(ctl, user);
	end_signals(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	error = start_eal(ctl, lcore, user);
	if (error != 0)
		return error;
	error = trip_domain_attach(
		&(struct trip_domain_attach_attr){
			.size = sizeof(struct trip_domain_attach_attr), .name = ctl->about.name},
		domain, NULL);
	if (error == 0)
		return 0;
	error = tripctl_attach_fail(error);
	rte_eal_cleanup();
	return error;
}

void
tripctl_attach_end(struct trip_domain *domain)
{
	sigset_t set;

	(void)trip_domain_close(domain);
	/* From 24.11 on it complains where the primary has ended before, which has been said. */
	rte_log_set_global_level(RTE_LOG_CRIT);
	rte_eal_cleanup();
	end_signals(&set);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

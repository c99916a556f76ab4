/* SPDX-License-Identifier: BSD-3-Clause */
/* The primary's main thread: opens the domain, uses it, closes it, and does so again. */
#include <errno.h>

#include "domain/domain.h"
#include "processes.h"

/* When everything rests that often, everybody else has ended. */
#define PATIENCE 64

static void
open_domain(struct user *user)
{
	struct trip_domain *domain;
	int error;

	sim_op("opens the domain");
	user->moving = true;
	user->files = sim_files_of(user->process);
	user->blocks = sim_blocks_of(user->process);
	error = trip_domain_open(&processes.attr, &domain, NULL);
	user->moving = false;
	processes.changes++;
	sim_expect(error == 0, "the domain cannot be opened: error %d", -error);
	user->domain = domain;
	user->opening = domain->engine.base_tsc;
	processes.open = true;
	processes.opening = user->opening;
}

/* Whether anybody may be attached, is about to be, or is being cleared away. */
static bool
is_used(void)
{
	if (processes.changes != processes.rested)
		return true;
	for (uint32_t i = 0; i < CLIENTS; i++) {
		const struct user *user = &processes.users[i];

		if ((user->attached || user->moving || user->executed) &&
			sim_process_lives(user->process))
			return true;
	}
	return false;
}

static bool
has_cntrs(const struct user *user)
{
	for (uint32_t i = 0; i < HANDLES; i++)
		if (user->handles[i].cntr != NULL)
			return true;
	return false;
}

static void
close_domain(struct user *user)
{
	bool used = is_used();
	uint32_t changes = processes.changes;
	int error;

	sim_op("closes the domain");
	user->moving = true;
	processes_enter(user, "trip_domain_close", 0);
	error = trip_domain_close(user->domain);
	processes_leave(user);
	user->moving = false;
	sim_tell("it is %s", error == 0 ? "closed" : "in use");
	if (error != 0) {
		sim_expect(error == -EBUSY, "the domain cannot be closed: error %d", -error);
		sim_expect(used || has_cntrs(user) || changes != processes.changes,
			"nobody uses the domain, and it is not closed for that");
		processes.changes++;
		return;
	}
	sim_expect(!has_cntrs(user), "the domain is closed, and counters are open in it");
	processes.changes++;
	processes.open = false;
	user->domain = NULL;
	processes_judge_closed();
	sim_expect(sim_zones_of(user->process) == 0, "a domain was closed, and has left memzones");
	sim_expect(sim_files_of(user->process) == user->files,
		"a domain was closed, and has left %d descriptors",
		(int)(sim_files_of(user->process) - user->files));
	sim_expect(sim_blocks_of(user->process) == user->blocks,
		"a domain was closed, and has left %d blocks of memory",
		(int)(sim_blocks_of(user->process) - user->blocks));
}

static void
do_act(struct user *user, const struct act *act)
{
	switch (act->kind) {
	case ACT_REST:
		sim_rest();
		break;
	case ACT_OPEN_DOMAIN:
		if (user->domain == NULL)
			open_domain(user);
		break;
	case ACT_CLOSE_DOMAIN:
		if (user->domain != NULL)
			close_domain(user);
		break;
	case ACT_FORK:
		processes_fork(user);
		break;
	default:
		if (user->domain != NULL)
			processes_act_on_cntr(user, act);
	}
}

void
processes_run_primary(void *arg)
{
	struct user *user = arg;
	const struct act *act;

	while ((act = processes_next(&user->plan)) != NULL)
		do_act(user, act);
	/* Others may still have something to do in it. */
	sim_act(1 + ACTS);
	for (unsigned int i = 0; user->domain != NULL; i++) {
		sim_rest();
		processes_close_cntrs(user);
		close_domain(user);
		sim_expect(i < PATIENCE, "everybody has ended, and the domain cannot be closed");
	}
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The primary's main thread: opens the domain, uses it, closes it, and does so again. */
#include <errno.h>

#include "domain/domain.h"
#include "primary/server.h"
#include "processes.h"

/* When everything rests that often, everybody else has ended. */
#define PATIENCE 64
/* Of one act; and how often it gives up its turn for somebody to attach. */
#define CLOSES 16
#define PAUSES 3

static void
check_left(const struct user *user, const char *what)
{
	/* A thread may be closing what nobody has read (hangup.c). */
	unsigned int hangups = trip_hangup_count();
	unsigned int files = sim_files_of(user->process), blocks = sim_blocks_of(user->process);

	sim_expect(sim_zones_of(user->process) == 0, "a domain %s, and has left memzones", what);
	sim_expect(files >= user->files && files <= user->files + hangups,
		"a domain %s, and has left %d descriptors", what, (int)(files - user->files));
	sim_expect(blocks == user->blocks, "a domain %s, and has left %d blocks of memory", what,
		(int)(blocks - user->blocks));
}

static void
open_domain(struct user *user)
{
	struct trip_domain *domain;
	int error;

	sim_op("opens the domain");
	user->moving = true;
	user->files = sim_files_of(user->process);
	user->blocks = sim_blocks_of(user->process);
	processes_enter(user, "trip_domain_open", 0);
	error = trip_domain_open(&processes.attr, &domain, NULL);
	processes_leave(user);
	user->moving = false;
	processes.changes++;
	if (error != 0) {
		/* A child of the primary before has its lock until it knows itself. */
		sim_expect((error == -EEXIST && user->n_children > 0) || processes_lacks(user),
			"the domain cannot be opened: error %d", -error);
		check_left(user, "has not been opened");
		return;
	}
	processes_waits_begin(user);
	user->domain = domain;
	user->opening = domain->engine.base_tsc;
	user->attachment = ++processes.n_attachments;
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
	return processes_has_own(user) || processes_has_waits(user);
}

static void
close_domain(struct user *user)
{
	uint32_t changes;
	bool used;
	int error;

	processes_end_work(user);
	processes_end_flows(user);
	if (user->function != NULL || processes_has_flows(user))
		return;
	used = is_used();
	changes = processes.changes;
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
	check_left(user, "was closed");
}

static bool
somebody_attaches(void)
{
	for (uint32_t i = 0; i < CLIENTS; i++)
		if (processes.users[i].moving && processes.users[i].domain == NULL)
			return true;
	return false;
}

/* Until it is closed: whoever is let in at the same time is what there is to find. */
static void
close_beside_attaches(struct user *user, const struct act *act)
{
	for (unsigned int i = 0; i < CLOSES && user->domain != NULL; i++) {
		for (unsigned int n = 0; n < PAUSES && !somebody_attaches(); n++)
			sim_pause();
		for (uint32_t n = 0; n < act->value % 4; n++)
			sim_pause();
		close_domain(user);
	}
}

static void
do_act(struct user *user, const struct act *act)
{
	switch (act->kind) {
	case ACT_REST:
		sim_rest();
		break;
	case ACT_OPEN_DOMAIN:
		if (user->domain != NULL)
			break;
		open_domain(user);
		/* Those who have waited for it attach, and it is closed beside them. */
		if (processes.doors && act->value % 4 > 0)
			sim_rest();
		break;
	case ACT_CLOSE_DOMAIN:
		if (user->domain != NULL && processes.doors)
			close_beside_attaches(user, act);
		else if (user->domain != NULL)
			close_domain(user);
		break;
	case ACT_FORK:
		processes_fork(user);
		break;
	case ACT_LACK:
		processes_lack(user, act);
		break;
	default:
		if (user->domain != NULL && !processes_act_on_work(user, act) &&
			!processes_act_on_flow(user, act) && !processes_act_on_waits(user, act))
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

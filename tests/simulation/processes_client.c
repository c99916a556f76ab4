/* SPDX-License-Identifier: BSD-3-Clause */
/* A process that attaches. */
#include <errno.h>

#include <trip_counters.h>

#include "domain/domain.h"
#include "processes.h"

/* Whoever has forked stays with what it has. */
#define CHILDREN 2

static void
check_left(const struct user *user, const char *what)
{
	unsigned int files = sim_files_of(user->process), blocks = sim_blocks_of(user->process);

	sim_expect(files == user->files, "%s, and has left %d descriptors", what,
		(int)(files - user->files));
	sim_expect(blocks == user->blocks, "%s, and has left %d blocks of memory", what,
		(int)(blocks - user->blocks));
}

/* What it has been let into is there, and stays. */
static void
check_attached(struct user *user)
{
	const struct trip_engine *engine = &user->domain->engine;

	for (uint32_t i = 0; i < engine->n_homes; i++)
		sim_expect(sim_zone_is_there(engine->homes[i]->cells, sizeof(struct trip_cell)),
			"%s has attached to a domain that has been closed", user->name);
	/* That of a primary that has been killed stays for who has found it. */
	sim_expect(!processes.open || processes.opening == user->opening ||
			   user->generation != processes.generation,
		"%s has attached to a domain that was before this one", user->name);
}

/* Nothing else has happened: there is a domain, and a place. */
static bool
is_sure(const struct user *user, uint32_t changes)
{
	unsigned int n = 0;

	for (uint32_t i = 0; i < CLIENTS; i++)
		n += processes.users[i].attached || processes.users[i].moving ||
		     processes.users[i].executed;
	return changes == processes.changes && processes.open && !processes_primary()->moving &&
	       processes.files == 0 && n <= processes.attr.max_processes && !user->executed &&
	       user->generation == processes.generation && !processes_lacks(user);
}

static void
attach(struct user *user, const struct act *act)
{
	struct trip_domain *domain;
	uint32_t changes;
	int error;

	/* It is about what comes then. */
	if (!processes.open && (!processes.doors || act->value % 4 > 0))
		sim_rest();
	sim_op("attaches");
	user->files = sim_files_of(user->process);
	user->blocks = sim_blocks_of(user->process);
	changes = ++processes.changes;
	user->moving = true;
	processes_enter(user, "trip_domain_attach", 0);
	error = trip_domain_attach(NULL, &domain, NULL);
	processes_leave(user);
	user->moving = false;
	sim_tell("it is %s", error == 0 ? "attached" : "not let in");
	if (error != 0) {
		check_left(user, "an attach has failed");
		user->moving = true;
		sim_expect(!is_sure(user, changes),
			"there is a place, and %s is not let in: error %d", user->name, -error);
		user->moving = false;
		processes.changes++;
		return;
	}
	/* Its place in a domain before this one is none any more. */
	user->executed = processes_executed(user);
	user->attached = true;
	processes_waits_begin(user);
	user->domain = domain;
	user->opening = domain->engine.base_tsc;
	user->attachment = ++processes.n_attachments;
	processes_garbage_ends(user);
	check_attached(user);
}

_Noreturn static void
become_another(struct user *user)
{
	const struct sim_program program = {
		.name = user->name,
		.main = processes_run_client,
		.arg = user,
		.files = processes.files,
		.lcore = (user->number + 1) * 4,
		.n_lcores = 1,
	};

	sim_op("becomes another program");
	/* None of its threads runs between this and its end. */
	if (processes_has_waits(user)) {
		(void)sim_look(true);
		processes.may_be_half_rung = true;
	}
	processes.changes++;
	processes_items_leave(user);
	processes_flows_leave(user);
	user->executed = processes_executed(user) || user->attached;
	user->attached = user->moving = user->is_orphan = false;
	user->domain = NULL;
	user->has_channels = false;
	for (uint32_t i = 0; i < HANDLES; i++)
		user->handles[i].cntr = NULL;
	sim_exec(&program);
}

/* Others have found them. */
static bool
has_cntrs(const struct user *user)
{
	for (uint32_t i = 0; i < HANDLES; i++)
		if (user->handles[i].cntr != NULL)
			return true;
	return false;
}

static void
detach(struct user *user)
{
	int error;

	processes_close_cntrs(user);
	if (processes_has_flows(user) && user->is_orphan)
		become_another(user);
	if (has_cntrs(user) || processes_has_flows(user) || processes_has_waits(user))
		return;
	sim_op("detaches");
	user->attached = false;
	user->moving = true;
	processes.changes++;
	processes_enter(user, "trip_domain_close", 0);
	error = trip_domain_close(user->domain);
	processes_leave(user);
	user->moving = false;
	processes.changes++;
	if (error == 0) {
		user->domain = NULL;
		check_left(user, "a process has detached");
		return;
	}
	sim_expect(error == -ESHUTDOWN || (error == -EBUSY && user->is_orphan),
		"%s cannot detach: error %d", user->name, -error);
	become_another(user);
}

static void
use_counters(struct user *user)
{
	struct trip_counters *counters;
	int error;

	sim_op("creates a counters object, and closes it");
	processes_enter(user, "trip_counters_create", 0);
	error = trip_counters_create(user->domain, NULL, &counters);
	if (error == 0)
		error = trip_counters_destroy(counters);
	processes_leave(user);
	user->is_orphan |= error == -ESHUTDOWN;
	sim_expect(error == 0 || error == -ESHUTDOWN || processes.files != 0 ||
			   processes_lacks(user) ||
			   (error == -ENOSPC && processes_find_flow(user, 0) != NULL),
		"a counters object is not to be had: error %d", -error);
}

static void
run_child(void *arg)
{
	sim_rest();
	sim_rest();
}

void
processes_fork(struct user *user)
{
	char name[40];

	if (user->n_children == CHILDREN)
		return;
	sim_op("forks");
	snprintf(name, sizeof(name), "child %u of %s", user->n_children++, user->name);
	(void)sim_fork(name, run_child, NULL);
}

static void
do_act(struct user *user, const struct act *act)
{
	struct sim_process *before;

	switch (act->kind) {
	case ACT_REST:
		sim_rest();
		break;
	case ACT_FORK:
		processes_fork(user);
		break;
	case ACT_LACK:
		processes_lack(user, act);
		break;
	case ACT_ATTACH:
		if (processes.doors && user->domain != NULL)
			detach(user);
		if (user->domain == NULL)
			attach(user, act);
		/* So that there are many who come. */
		if (processes.doors && user->domain != NULL && act->value % 4 > 1)
			detach(user);
		break;
	case ACT_HOSTILE:
		if (user->domain == NULL)
			processes_be_hostile(user, act);
		break;
	case ACT_SCRIBBLE:
		if (user->domain != NULL)
			processes_scribble(user, act);
		break;
	case ACT_EXIT:
		sim_op("ends, and another one comes");
		before = user->process;
		if (processes_replace(user))
			sim_kill(before);
		break;
	case ACT_EXEC:
		become_another(user);
		break;
	default:
		if (user->domain == NULL)
			break;
		if (act->kind == ACT_DETACH)
			detach(user);
		else if (act->kind == ACT_COUNTERS)
			use_counters(user);
		else if (!processes_act_on_work(user, act) && !processes_act_on_flow(user, act) &&
			 !processes_act_on_waits(user, act))
			processes_act_on_cntr(user, act);
	}
}

void
processes_run_client(void *arg)
{
	struct user *user = arg;
	const struct act *act;

	while ((act = processes_next(&user->plan)) != NULL)
		do_act(user, act);
	sim_act(1 + ACTS);
	if (user->domain != NULL)
		detach(user);
	sim_op("has done all");
	processes.changes++;
}

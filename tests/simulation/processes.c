/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the world, and is the operator. */
#include <string.h>

#include "processes_rules.h"

/* Enough for those that are started again; then nobody is. */
#define STARTED 8
#define LCORES 4
/* So often the operator gives up its turn for somebody to attach. */
#define PAUSES 3
/* A call with a time ends so much later. */
#define LATE 100000

struct processes processes;

const struct act *
processes_next(struct plan *plan)
{
	const struct act *act = plan->next < plan->n ? &plan->acts[plan->next++] : NULL;

	if (act != NULL)
		sim_act(1 + act->number);
	return act;
}

void
processes_enter(struct user *user, const char *call, uint32_t ms)
{
	user->call = call;
	user->timed = ms > 0;
	user->faults = sim_faults();
	if (ms > 0)
		sim_polls_until(sim_now() + ms * UINT64_C(1000000) + LATE);
}

void
processes_leave(struct user *user)
{
	user->call = NULL;
	sim_polls_until(0);
}

bool
processes_lacks(const struct user *user)
{
	return sim_faults() != user->faults;
}

void
processes_lack(struct user *user, const struct act *act)
{
	static const char *const things[] = {"memory", "descriptors",
		"room for descriptors on their way", "the kernel's memory for messages"};
	/* A domain is opened by much memory; what is asked for later takes little. */
	bool opens = user->number == PRIMARY && user->domain == NULL;
	enum sim_fault fault =
		opens && act->value % 4 > 0 ? SIM_FAULT_MEMORY : act->seed % SIM_FAULTS;
	unsigned int after = act->seed / SIM_FAULTS % (opens ? 48 : 6);

	sim_op("will lack %s", things[fault]);
	sim_fault(user->process, fault, after);
}

void
processes_start(struct user *user)
{
	const struct sim_program program = {
		.name = user->name,
		.main = user->number == PRIMARY ? processes_run_primary : processes_run_client,
		.arg = user,
		.files = user->number == PRIMARY ? 0 : processes.files,
		.primary = user->number == PRIMARY,
		.lcore = user->number == PRIMARY ? 0 : (user->number + 1) * LCORES,
		.n_lcores = user->number == PRIMARY ? 3 : 1,
	};

	user->domain = NULL;
	user->moving = user->attached = user->executed = user->is_orphan = false;
	if (user->number == PRIMARY)
		processes.generation++;
	user->generation = processes.generation;
	user->hostile = user->scribbles = user->has_channels = false;
	user->function = NULL;
	user->port = NULL;
	memset(user->flows, 0, sizeof(user->flows));
	memset(user->claims, 0, sizeof(user->claims));
	user->changes_flows = user->closes = false;
	user->call = NULL;
	memset(user->handles, 0, sizeof(user->handles));
	processes_waits_begin(user);
	user->process = sim_start(&program);
	sim_interrupt(user->process, user->interrupts_every);
	processes.changes++;
}

bool
processes_replace(struct user *user)
{
	if (processes.n_started == STARTED)
		return false;
	processes.n_started++;
	processes_start(user);
	return true;
}

/* --- the operator --- */

/* In the middle of an attach, if there is one soon. */
static void
await_attach(const struct user *user, const struct act *act)
{
	for (unsigned int n = 0; n < PAUSES && !(user->moving && user->domain == NULL); n++)
		sim_pause();
	for (uint32_t n = 0; n < act->value % 4; n++)
		sim_pause();
}

static void
kill_user(struct user *user, const struct act *act)
{
	if (act->value > 2)
		await_attach(user, act);
	if (!sim_process_lives(user->process))
		return;
	sim_op("kills %s", user->name);
	processes.changes++;
	processes.killed = processes.may_be_half_rung = true;
	if (user->number == PRIMARY)
		processes.open = false;
	sim_kill(user->process);
	processes_replace(user);
}

static void
stop_user(struct user *user)
{
	sim_op("stops %s", user->name);
	sim_stop(user->process, true);
	sim_rest();
	sim_op("lets %s go on", user->name);
	sim_stop(user->process, false);
}

static void
run_operator(void *arg)
{
	const struct act *act;

	while ((act = processes_next(&processes.operator)) != NULL) {
		struct user *user = &processes.users[act->who];

		sim_sleep_through(sim_now() + act->delay);
		if (act->kind == ACT_REST)
			sim_rest();
		else if (user->process == NULL || !sim_process_lives(user->process))
			continue;
		else if (act->kind == ACT_KILL)
			kill_user(user, act);
		else
			stop_user(user);
	}
}

/* --- all of it --- */

static void
begin(void)
{
	memset(&processes, 0, sizeof(processes));
	sim_machine_begin(sim_draw(2) == 0);
	if (sim_draw(2) == 0)
		sim_machine_lack_peer_pidfd();
	processes_items_begin();
	processes_rules_begin();
	processes_plan();
	for (uint32_t i = 0; i <= CLIENTS; i++) {
		struct user *user = &processes.users[i];

		user->number = i;
		snprintf(
			user->name, sizeof(user->name), i == PRIMARY ? "primary" : "process %u", i);
	}
	processes_start(processes_primary());
	for (uint32_t i = 0; i < CLIENTS; i++)
		if (processes.users[i].plan.n > 0)
			processes_start(&processes.users[i]);
	if (processes.operator.n> 0)
		(void)sim_spawn("operator", false, run_operator, NULL);
}

int
main(int argc, char **argv)
{
	static const struct sim_world world = {.name = "processes",
		.length = 8192,
		.begin = begin,
		.judge = processes_judge,
		.forget = sim_machine_end};

	return sim_main(argc, argv, &world);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Everything rests: nobody is kept waiting, and the primary has what attached processes have. */
#include <string.h>

#include "cntr/registry.h"
#include "domain/domain.h"
#include "primary/process.h"
#include "primary/server.h"
#include "processes.h"

static bool
is_served(void)
{
	return !sim_process_is_stopped(processes_primary()->process);
}

/* A call that asks the primary waits for it; one that has a time does not. */
static void
judge_call(const struct user *user)
{
	if (user->process == NULL || user->call == NULL || !sim_process_lives(user->process) ||
		sim_process_is_stopped(user->process))
		return;
	sim_expect(!user->timed, "%s() of %s has outlasted its time", user->call, user->name);
	sim_expect(!is_served(), "%s() of %s waits for what never comes", user->call, user->name);
}

static struct user *
user_of(pid_t pid)
{
	for (uint32_t i = 0; i < CLIENTS; i++) {
		struct user *user = &processes.users[i];

		if (user->process != NULL && sim_process_lives(user->process) &&
			sim_process_pid(user->process) == pid)
			return user;
	}
	return NULL;
}

struct user *
processes_user_of(const struct sim_process *process)
{
	for (uint32_t i = 0; i < CLIENTS; i++)
		if (processes.users[i].process == process && process != NULL &&
			sim_process_lives(process))
			return &processes.users[i];
	return NULL;
}

static unsigned int
count_handles(const struct user *user, bool found)
{
	unsigned int n = 0;

	for (uint32_t i = 0; i < HANDLES; i++)
		n += user->handles[i].cntr != NULL && user->handles[i].found == found;
	return n;
}

/* Whether it is one of a process that is attached. One that has become another program keeps its
 * place as long as it lives. */
static bool
judge_process(const struct trip_process *process)
{
	const struct user *user;

	if (!process->used) {
		sim_expect(process->pidfd < 0 && process->common < 0,
			"the place of a process is free, and has descriptors");
		return false;
	}
	sim_expect(process->state != TRIP_CLIENT_DROPPING,
		"process %u is being cleared away for ever", process->number);
	user = processes_user_of(
		sim_process_of_pidfd(processes_primary()->process, process->pidfd));
	sim_expect(user != NULL, "process %u has ended, and keeps its place", process->number);
	if (processes_executed(user))
		return false;
	sim_expect(process->state == TRIP_CLIENT_ATTACHED, "%s lives, and its connection has ended",
		user->name);
	sim_expect(user->moving || (user->attached && user->opening == processes.opening),
		"%s has a place, and is not attached", user->name);
	/* Whoever was stopped in a call has yet to read the answer. */
	sim_expect(user->call != NULL || (process->n_cntrs == count_handles(user, false) &&
						 process->n_found == count_handles(user, true)),
		"%s has %u counters and has found %u, and the primary counts %u and %u", user->name,
		count_handles(user, false), count_handles(user, true), process->n_cntrs,
		process->n_found);
	return user->attached;
}

static void
judge_attached(const struct trip_server *server)
{
	unsigned int n_places = 0, n_attached = 0;

	for (uint32_t i = 0; i < trip_process_count(server); i++)
		n_places += judge_process(&server->processes[i]);
	for (uint32_t i = 0; i < CLIENTS; i++)
		n_attached += processes.users[i].attached &&
			      processes.users[i].opening == processes.opening &&
			      sim_process_lives(processes.users[i].process);
	sim_expect(n_places == n_attached, "%u processes are attached, and %u have a place",
		n_attached, n_places);
}

static void
judge_connections(const struct trip_server *server)
{
	for (uint32_t i = 0; i < TRIP_SERVER_CONNECTIONS; i++) {
		const struct trip_connection *connection = server->connections[i];
		const struct user *user;

		if (connection == NULL)
			continue;
		user = user_of(connection->credentials.pid);
		sim_expect(
			user != NULL, "a connection of a process that has ended is there for ever");
		sim_expect(user->attached || processes_executed(user) || user->hostile ||
				   sim_process_is_stopped(user->process),
			"%s is not attached, and a connection of it is there for ever", user->name);
	}
}

bool
processes_is_anybody_stopped(void)
{
	for (uint32_t i = 0; i <= CLIENTS; i++)
		if (processes.users[i].process != NULL &&
			sim_process_is_stopped(processes.users[i].process))
			return true;
	return false;
}

/* Somebody may have been stopped in the middle of a ring, or killed there, or become another
 * program while a thread of it was there: no scrub repairs it here. */
static const char half_rung[] = "a leaf bit is set without its summary bit";
/* Somebody has written it: homes pass it by, and nobody takes it away. */
static const char made_up[] = "a leaf bit stands for no index";

static void
tell_broken(void *arg, const char *sentence)
{
	if ((processes.may_be_half_rung || processes_is_anybody_stopped()) &&
		strstr(sentence, half_rung) != NULL)
		return;
	if (processes_garbage_is_in(processes.opening) && strstr(sentence, made_up) != NULL)
		return;
	sim_fail("everything rests: %s", sentence);
}

/* --- waiter slots: each is free, a process's that is there, or a counter's of the primary --- */

static uint32_t
count_free_slots(const struct trip_slots *slots)
{
	uint32_t n = 0;

	for (uint32_t at = (uint32_t)atomic_load(&slots->head); at != TRIP_SLOTS_NONE; n++)
		at = atomic_load(&slots->next[at - slots->first]);
	return n;
}

static void
judge_slots(const struct user *primary, const struct trip_home *home)
{
	const struct trip_server *server = primary->domain->server;
	uint32_t held[TRIP_CLIENTS_MAX] = {0}, n_held = 0, count = home->shape.n_waiters;
	uint32_t n_free = count_free_slots(&primary->domain->waiters[home->index]);
	unsigned int unsure, n_own = processes_waits_slots(home, &unsure);

	for (uint32_t slot = 0; slot < count; slot++) {
		uint8_t owner = atomic_load(&home->waiter_owners[slot]);

		if (owner == 0)
			continue;
		n_held++;
		held[owner - 1]++;
	}
	for (uint32_t i = 0; i < trip_process_count(server); i++) {
		const struct trip_process *process = &server->processes[i];
		uint32_t given = process->used ? process->n_waiters[home->index] : 0;

		sim_expect(held[i] == given,
			"process %u has %u waiter slots of home %u, and was given %u", i, held[i],
			home->index, given);
	}
	sim_expect(n_free + n_held + n_own <= count && n_free + n_held + n_own + unsure >= count,
		"of %u waiter slots of home %u %u are free, processes have %u, and the primary %u",
		count, home->index, n_free, n_held, n_own);
}

/* Whoever has found a counter is told when its owner ends (WORK-07). */
static void
judge_orphans(const struct trip_domain *domain)
{
	for (uint32_t h = 0; h < domain->engine.n_homes; h++)
		for (uint32_t i = 0; i < domain->engine.cntrs_per_home; i++) {
			const struct trip_entry *entry =
				&domain->entries[h * domain->engine.cntrs_per_home + i];

			sim_expect(entry->id == 0 || entry->owner != TRIP_REGISTRY_GONE ||
					   trip_cell_error(&domain->engine.homes[h]->cells[i]) > 0,
				"the owner of counter %u has ended, and nobody is told",
				entry->global);
		}
}

static bool
somebody_scribbles(void)
{
	for (uint32_t i = 0; i < CLIENTS; i++)
		if (processes.users[i].scribbles && sim_process_lives(processes.users[i].process))
			return true;
	return false;
}

static void
judge_domain(struct user *primary)
{
	const struct trip_server *server = primary->domain->server;
	const char *wrong = sim_epoll_is_wrong(primary->process);

	sim_expect(wrong == NULL, "%s", wrong);
	judge_attached(server);
	judge_connections(server);
	/* Channels are as they should be when those who have filled them with garbage have gone. */
	for (uint32_t i = 0; i < primary->domain->engine.n_homes && !somebody_scribbles(); i++)
		(void)trip_home_check(primary->domain->engine.homes[i], tell_broken, NULL);
	for (uint32_t i = 0; i < primary->domain->engine.n_homes; i++)
		judge_slots(primary, primary->domain->engine.homes[i]);
	judge_orphans(primary->domain);
	processes_judge_work(primary);
}

void
processes_judge(void)
{
	struct user *primary = processes_primary();

	/* While the primary is stopped nobody is cleared away. */
	if (is_served())
		processes.rested = processes.changes;
	for (uint32_t i = 0; i <= CLIENTS; i++)
		judge_call(&processes.users[i]);
	processes_judge_waits();
	if (!processes.open || primary->call != NULL || !is_served() ||
		!sim_process_lives(primary->process))
		return;
	sim_process_enter(primary->process);
	judge_domain(primary);
	sim_process_enter(sim_process_self());
}

void
processes_judge_closed(void)
{
	for (uint32_t i = 0; i < CLIENTS; i++) {
		const struct user *user = &processes.users[i];

		sim_expect(!user->attached || user->opening != processes_primary()->opening ||
				   !sim_process_lives(user->process),
			"the domain is closed, and %s is attached to it", user->name);
	}
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A small world of the whole library: a primary and processes that attach queue ALL and ANY, add to
 * counters, cancel, and are killed (COND-07). What fires adds to one counter of all, to each its
 * own digit.
 */
#include <errno.h>
#include <string.h>

#include <trip_work.h>

#include <rte_common.h>

#include "domain/domain.h"
#include "node.h"
#include "sim_machine.h"

#define CNTRS 3
#define USERS 3
#define PRIMARY 0
#define ACTS 12
#define PAIRS 3
/* Of each a digit, in which nothing carries. */
#define GROUPS 12
#define DIGIT 5
#define PAUSES 64

/* A counter, and how much above what it shows. */
struct pair {
	uint32_t cntr;
	uint64_t threshold;
};

struct act {
	enum { ACT_QUEUE, ACT_ADD, ACT_CANCEL, ACT_REST, ACT_KINDS } kind;
	enum trip_condition_kind condition;
	unsigned int number, n;
	struct pair pairs[PAIRS];
};

struct user {
	char name[16];
	struct sim_process *process;
	struct trip_domain *domain;
	struct trip_cntr *cntrs[CNTRS], *fired;
	struct act acts[ACTS];
	unsigned int n_acts;
	/* It is in the middle of that. */
	bool adds;
};

struct group {
	const struct user *user;
	const struct act *act;
	uint64_t thresholds[PAIRS], id;
	/* It is in; it was taken out, or came too late for that. */
	bool queued, canceled, late;
};

static struct {
	struct user users[USERS];
	struct group groups[GROUPS];
	unsigned int n_groups;
	/* How the operator kills one. */
	unsigned int victim, pauses;
	/* Somebody has added, and is killed before it rings: the scrub's, which is off here. */
	bool unrung;
	struct trip_domain_attr attr;
	unsigned int lcores[2];
} pairs;

/* --- what processes do --- */

static const struct trip_cntr_attr *
attr_of(unsigned int cntr)
{
	static const char *const names[] = {"a", "b", "c", "fired"};
	static struct trip_cntr_attr attr = {.size = sizeof(attr)};

	attr.name = names[cntr];
	return &attr;
}

static void
queue(struct user *user, const struct act *act)
{
	unsigned int number = pairs.n_groups;
	struct group *group = &pairs.groups[number];
	struct trip_pair of[PAIRS];
	struct trip_condition condition = {.size = sizeof(condition), .kind = act->condition};
	struct trip_work work = {
		.size = sizeof(work), .op_type = TRIP_OP_CNTR_ADD, .condition = &condition};
	int error;

	if (number == GROUPS)
		return;
	pairs.n_groups++;
	sim_op("queues group %u: %s", number, act->condition == TRIP_CONDITION_ALL ? "all" : "any");
	*group = (struct group){.user = user, .act = act};
	for (unsigned int i = 0; i < act->n; i++) {
		struct trip_cntr *cntr = user->cntrs[act->pairs[i].cntr];

		group->thresholds[i] = trip_cntr_read(cntr) + act->pairs[i].threshold;
		of[i] = (struct trip_pair){
			.size = sizeof(of[i]), .cntr = cntr, .threshold = group->thresholds[i]};
		sim_tell("counter %u at %llu", act->pairs[i].cntr,
			(unsigned long long)group->thresholds[i]);
	}
	condition.when.pairs.of = of;
	condition.when.pairs.count = act->n;
	work.op.cntr.cntr = user->fired;
	work.op.cntr.value = UINT64_C(1) << number * DIGIT;
	error = trip_work_queue(user->domain, &work, &group->id);
	sim_expect(error == 0 || error == -EAGAIN || error == -ENOSPC,
		"a group is refused: error %d", -error);
	sim_tell("it is %s", error == 0 ? "in" : "refused");
	group->queued = error == 0;
}

static void
cancel(const struct user *user, unsigned int back)
{
	struct group *group = NULL;

	for (unsigned int i = 0; i < pairs.n_groups; i++)
		if (pairs.groups[i].user == user && pairs.groups[i].queued &&
			!pairs.groups[i].canceled && (group == NULL || back-- > 0))
			group = &pairs.groups[i];
	if (group == NULL)
		return;
	sim_op("cancels group %u", (unsigned int)(group - pairs.groups));
	if (trip_work_cancel(user->domain, group->id) == 0)
		group->canceled = true;
	else
		group->late = true;
	sim_tell("it is %s", group->canceled ? "taken out" : "too late");
}

static void
act_all(struct user *user)
{
	for (unsigned int i = 0; i < user->n_acts; i++) {
		const struct act *act = &user->acts[i];

		sim_act(1 + act->number);
		if (act->kind == ACT_QUEUE)
			queue(user, act);
		else if (act->kind == ACT_CANCEL)
			cancel(user, act->n);
		else if (act->kind == ACT_REST)
			sim_rest();
		else {
			sim_op("adds %llu to counter %u",
				(unsigned long long)act->pairs[0].threshold, act->pairs[0].cntr);
			user->adds = true;
			trip_cntr_add(user->cntrs[act->pairs[0].cntr], act->pairs[0].threshold);
			user->adds = false;
		}
	}
}

/* One after the other comes in, and then all begin. */
static void
rest_until(unsigned int place)
{
	while (sim_rests() < place)
		sim_rest();
}

static void
run_primary(void *arg)
{
	struct user *user = arg;
	int error;

	sim_op("opens the domain");
	error = trip_domain_open(&pairs.attr, &user->domain, NULL);
	sim_expect(error == 0, "the domain cannot be opened: error %d", -error);
	for (unsigned int i = 0; i <= CNTRS; i++)
		sim_expect(trip_cntr_open(user->domain, attr_of(i),
				   i < CNTRS ? &user->cntrs[i] : &user->fired, NULL) == 0,
			"there is no counter");
	rest_until(USERS);
	act_all(user);
	/* Until the others have ended. */
	for (unsigned int i = 0; i < ACTS; i++)
		sim_rest();
}

static void
run_client(void *arg)
{
	struct user *user = arg;
	int error;

	if (user->n_acts == 0)
		return;
	rest_until((unsigned int)(user - pairs.users));
	sim_op("attaches");
	error = trip_domain_attach(NULL, &user->domain, NULL);
	for (unsigned int i = 0; error == 0 && i <= CNTRS; i++)
		error = trip_cntr_find(
			user->domain, attr_of(i), i < CNTRS ? &user->cntrs[i] : &user->fired, NULL);
	sim_expect(error == 0, "%s is not let in: error %d", user->name, -error);
	rest_until(USERS);
	act_all(user);
	sim_rest();
	sim_op("ends");
}

static void
run_operator(void *arg)
{
	struct user *user = &pairs.users[pairs.victim];

	rest_until(USERS);
	for (unsigned int i = 0; i < pairs.pauses; i++)
		sim_pause();
	if (!sim_process_lives(user->process))
		return;
	sim_op("kills %s", user->name);
	pairs.unrung = user->adds;
	sim_kill(user->process);
}

/* --- what is right --- */

static uint64_t
digit_of(const struct group *group)
{
	uint64_t fired = trip_cntr_read(pairs.users[PRIMARY].fired);

	return fired >> (group - pairs.groups) * DIGIT & ((1u << DIGIT) - 1);
}

static unsigned int
reached(const struct group *group)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < group->act->n; i++)
		n += trip_cntr_read(pairs.users[PRIMARY].cntrs[group->act->pairs[i].cntr]) >=
		     group->thresholds[i];
	return n;
}

/* Returns how many of its items wait. */
static unsigned int
judge_group(const struct group *group)
{
	unsigned int number = (unsigned int)(group - pairs.groups), n = reached(group);
	bool is_all = group->act->condition == TRIP_CONDITION_ALL;
	bool is_due = is_all ? n == group->act->n : n > 0;
	bool lives = sim_process_lives(group->user->process);
	uint64_t fired = digit_of(group);

	sim_expect(fired <= 1, "group %u fires %llu times", number, (unsigned long long)fired);
	sim_expect(fired == 0 || is_due, "group %u has fired, and %u of its %u pairs were reached",
		number, n, group->act->n);
	sim_expect(fired == 0 || !group->canceled, "group %u was canceled, and has fired", number);
	sim_expect(fired == 0 || group->queued || !lives, "group %u was refused, and has fired",
		number);
	sim_expect(fired == 1 || !group->late,
		"group %u is too late to be canceled, and has not fired", number);
	if (!lives || !group->queued || group->canceled)
		return 0;
	sim_expect(fired == 1 || !is_due || pairs.unrung,
		"group %u waits, and %u of its %u pairs were reached", number, n, group->act->n);
	return is_due ? 0 : 1 + group->act->n - n;
}

static void
judge(void)
{
	struct user *primary = &pairs.users[PRIMARY];
	unsigned int waiting = 0, pending = 0;

	if (!sim_process_lives(primary->process))
		return;
	sim_process_enter(primary->process);
	for (unsigned int i = 0; i < pairs.n_groups; i++)
		waiting += judge_group(&pairs.groups[i]);
	for (uint32_t h = 0; h < primary->domain->engine.n_homes; h++) {
		const struct trip_home *home = primary->domain->engine.homes[h];

		for (uint32_t n = 0; n < home->n_nodes; n++)
			pending += home->nodes[n].queued || home->nodes[n].deferred;
	}
	sim_expect(waiting == pending || pairs.unrung, "%u items wait, and %u are pending", waiting,
		pending);
	sim_process_enter(sim_process_self());
}

/* --- the plan --- */

static void
draw_act(struct act *act)
{
	static const uint8_t kinds[] = {
		ACT_QUEUE, ACT_QUEUE, ACT_QUEUE, ACT_ADD, ACT_ADD, ACT_ADD, ACT_CANCEL, ACT_REST};

	act->kind = kinds[sim_draw(RTE_DIM(kinds))];
	act->condition = sim_draw(2) == 0 ? TRIP_CONDITION_ALL : TRIP_CONDITION_ANY;
	act->n = 1 + (unsigned int)sim_draw(PAIRS);
	for (unsigned int i = 0; i < PAIRS; i++) {
		act->pairs[i].cntr = (uint32_t)sim_draw(CNTRS);
		act->pairs[i].threshold = 1 + sim_draw(4);
	}
}

static void
plan(void)
{
	pairs.lcores[0] = 1;
	pairs.lcores[1] = 2;
	pairs.attr = (struct trip_domain_attr){.size = sizeof(pairs.attr),
		.progress = TRIP_PROGRESS_LCORE,
		.lcores = pairs.lcores,
		.max_cntrs = 8,
		.max_waiters = 4,
		.max_works = 256,
		.max_flows = 1,
		.max_queues = 1,
		.max_functions = 1,
		.max_events = 1,
		.max_processes = USERS,
		.scrub_us = UINT32_MAX,
		.refresh_us = UINT32_MAX};
	pairs.attr.n_lcores = 1 + (unsigned int)sim_draw(2);
	/* Now and then there is room for less than one of the largest. */
	pairs.attr.max_process_works = 16u << sim_draw(2);
	for (unsigned int u = 0; u < USERS; u++)
		for (uint64_t n = sim_draw(ACTS + 1); n > 0; n--) {
			struct act act = {.number = (unsigned int)n};

			draw_act(&act);
			if (sim_wants())
				pairs.users[u].acts[pairs.users[u].n_acts++] = act;
		}
	pairs.victim = (unsigned int)sim_draw(2 * USERS);
	pairs.pauses = (unsigned int)sim_draw(PAUSES);
}

static void
begin(void)
{
	memset(&pairs, 0, sizeof(pairs));
	sim_machine_begin(false);
	plan();
	for (unsigned int i = 0; i < USERS; i++) {
		struct user *user = &pairs.users[i];
		const struct sim_program program = {.name = user->name,
			.main = i == PRIMARY ? run_primary : run_client,
			.arg = user,
			.primary = i == PRIMARY,
			.lcore = i * 4,
			.n_lcores = i == PRIMARY ? 3 : 1};

		snprintf(
			user->name, sizeof(user->name), i == PRIMARY ? "primary" : "process %u", i);
		user->process = sim_start(&program);
	}
	if (pairs.victim != PRIMARY && pairs.victim < USERS)
		(void)sim_spawn("operator", false, run_operator, NULL);
}

int
main(int argc, char **argv)
{
	static const struct sim_world world = {.name = "pairs",
		.length = 8192,
		.begin = begin,
		.judge = judge,
		.forget = sim_machine_end};

	return sim_main(argc, argv, &world);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* How users wait: as trip_cntr_wait() does, or their requests are taken back. */
#include <rte_common.h>

#include "homes.h"
#include "waiter.h"

bool
homes_wait_is_over(const struct user *user)
{
	struct trip_cell_sample now;

	trip_cell_sample(homes_cell(user, user->cntr), &now);
	if (now.error != user->seen.error || now.errgen != user->seen.errgen)
		return true;
	if (user->threshold != TRIP_WAITER_ANY)
		return now.success >= user->threshold;
	return now.success != user->seen.success || now.setgen != user->seen.setgen;
}

static uint32_t
number_of(const struct user *user)
{
	return user->cntr / CNTRS * homes.engine.waiters_per_home + user->number;
}

static void
quiesce(struct user *user)
{
	while (!trip_waiter_try_quiesce(homes_view(user, user->cntr), user->number))
		sim_pause();
}

static void
arm(struct user *user)
{
	trip_waiter_arm(homes_view(user, user->cntr), user->number, number_of(user),
		user->cntr % CNTRS, user->threshold, &user->seen);
	homes_rung(user->cntr / CNTRS, TRIP_BELL_WAITER, user->number);
}

/* As trip_cntr_wait() waits; its timeout is longer than anybody has anything to do. */
static void
sleep_until_over(struct user *user)
{
	struct trip_waiter *waiter = &homes_view(user, user->cntr)->waiters[user->number];
	uint32_t sequence, rests = sim_rests();

	while (!homes_wait_is_over(user)) {
		quiesce(user);
		sequence = atomic_load(&waiter->sequence);
		arm(user);
		while (!homes_wait_is_over(user) && atomic_load(&waiter->sequence) == sequence) {
			user->sleeps = true;
			trip_waiter_sleep(waiter, sequence, 1, homes_cell(user, user->cntr));
			user->sleeps = false;
			if (sim_rests() != rests)
				return;
		}
	}
}

static void
begin_wait(struct user *user, const struct act *act, uint64_t threshold)
{
	user->cntr = act->cntr;
	user->threshold = threshold;
	trip_cell_sample(homes_cell(user, act->cntr), &user->seen);
}

static void
wait_once(struct user *user, const struct act *act)
{
	uint64_t threshold =
		act->kind == ACT_WATCH ? TRIP_WAITER_ANY : homes_sum(act->cntr) + act->threshold;

	if (act->kind == ACT_WATCH)
		sim_op("waits for any change of counter %u", act->cntr);
	else
		sim_op("waits until counter %u has %llu", act->cntr, (unsigned long long)threshold);
	begin_wait(user, act, threshold);
	user->waits = true;
	sleep_until_over(user);
	user->waits = false;
	trip_waiter_disarm(homes_view(user, user->cntr), user->number);
}

void
homes_wait(struct user *user, const struct act *act)
{
	uint32_t rests = sim_rests();

	for (uint32_t i = 0; i < act->n && sim_rests() == rests; i++)
		wait_once(user, act);
}

static uint32_t
sequence_of(const struct user *user)
{
	bool looks = sim_look(true);
	uint32_t sequence =
		atomic_load(&homes_view(user, user->cntr)->waiters[user->number].sequence);

	(void)sim_look(looks);
	return sequence;
}

/* Armed for what does not come: nor does the signal of what it was armed for before. */
static void
arm_in_vain(struct user *user, const struct act *act)
{
	uint32_t sequence;

	begin_wait(user, act, TRIP_CNTR_MAX);
	arm(user);
	sequence = sequence_of(user);
	sim_pause();
	trip_waiter_disarm(homes_view(user, user->cntr), user->number);
	quiesce(user);
	sim_expect(homes.errs[act->cntr] || sequence_of(user) == sequence,
		"%s is signalled for what it has taken back", user->name);
}

void
homes_give_up(struct user *user, const struct act *act)
{
	for (uint32_t i = 0; i < act->n; i++) {
		sim_op("waits for counter %u, and gives up", act->cntr);
		begin_wait(user, act, homes_sum(act->cntr) + (i % 2 == 0 ? act->threshold : 0));
		arm(user);
		/* Its home may be in the middle of the signal. */
		if (act->value % 2 == 0)
			sim_pause();
		trip_waiter_disarm(homes_view(user, act->cntr), user->number);
		if (i + 1 < act->n) {
			sim_op("waits for what does not come, and gives up");
			arm_in_vain(user, act);
		}
	}
}

/* --- in some histories nearly all that users do --- */

/* Further than anybody comes. */
#define FAR (UINT64_C(1) << 40)

/* All wait for what does not come, until there is an error; none for any change. */
static bool by_error;

static bool
plan(void)
{
	by_error = false;
	if (!homes.in_rounds || sim_draw(4) > 0)
		return false;
	/* Not all who are to wake do so in one iteration. A scrub needs more than that. */
	for (uint32_t h = 0; h < homes.engine.n_homes && !homes.kills; h++)
		homes.budgets[h] = 1 + (unsigned int)sim_draw(3);
	/* Where one of them fits. */
	by_error = !homes.kills && homes.budgets[0] == 1;
	for (uint32_t i = 0; i < homes.engine.n_homes * CNTRS && by_error; i++)
		homes.errs[i] = i % CNTRS < CALLED;
	return true;
}

/* What is added is waited for, one by one. */
static void
plan_act(struct act *act)
{
	static const enum act_kind kinds[] = {ACT_WAIT, ACT_WATCH, ACT_GIVE_UP};

	if (by_error && homes.errs[act->cntr]) {
		act->kind = act->kind == ACT_ADD ? ACT_ADDERR : ACT_WAIT;
		act->threshold = FAR;
		/* Who waits anew has all of them looked at. */
		act->n = 1;
		act->is_last = true;
	} else if (act->kind == ACT_ADD) {
		act->meets = true;
		act->n += 2;
	} else if (!homes_is_clock(act->cntr)) {
		act->kind = kinds[act->number / ROUNDS % RTE_DIM(kinds)];
		act->threshold = 1;
		act->n = 4;
	}
}

const struct homes_part homes_sleepers = {.plan = plan, .plan_act = plan_act};

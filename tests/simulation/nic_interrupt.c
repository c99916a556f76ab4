/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * EAL's interrupt thread, as Linux has it: alarms run one after the other, in the order in which
 * they are due, and each that is wanted again is set anew as it runs. One of them is the driver's:
 * it asks the device what its counters have, and takes the answer in a handler here, as mlx5 DV
 * does, or at once, as bnxt does. As in mlx5 DV, one alarm asks for one pool of counters, and all
 * have been asked within the lag, if the thread is not late. It may be, as any other, and somebody
 * else's callback may take long in it: what was due meanwhile comes behind that.
 */
#include <errno.h>
#include <string.h>

#include <rte_alarm.h>

#include "nic_inside.h"

#define ALARMS 4
#define TICKS_A_US 1000
/* What the device takes to answer is beside the lag: a part of it. */
#define ANSWERS_A_LAG 8
/* A reading that takes long takes 1 to so many of such parts of the lag. */
#define SLOWEST 8
#define LONG 2

struct alarm {
	uint64_t due;
	rte_eal_alarm_callback run;
	void *arg;
};

static struct {
	struct nic_lateness lateness;
	/* The first that is due is the first; it stays there while it runs. */
	_Atomic uint32_t lock;
	bool is_wanted;
	struct alarm alarms[ALARMS];
	unsigned int n_alarms;
	bool runs;
	/* Somebody waits until the one that runs has ended. */
	bool is_awaited;
	/* The pool that is to be asked next. */
	unsigned int pool;
	struct {
		/* When the device answers; 0: it was not asked. Of each flow, packets that are in
		 * that. */
		uint64_t answers;
		unsigned int n_arrivals[NIC_FLOWS];
	} pools[NIC_POOLS];
	/* Refreshes, those that bring anything, and alarms that the library has set. */
	uint32_t n_refreshes, n_new, n_set;
	/* Readings of what is not in the cache. */
	uint32_t n_readings, slow_readings;
} eal;

/* --- alarms --- */

static void
lock(void)
{
	while (atomic_exchange(&eal.lock, 1) != 0) {
		eal.is_wanted = true;
		sim_pause();
	}
}

static void
unlock(void)
{
	atomic_store(&eal.lock, 0);
	if (eal.is_wanted)
		sim_progress();
	eal.is_wanted = false;
}

static void
set_alarm(uint64_t due, rte_eal_alarm_callback run, void *arg)
{
	unsigned int at = eal.n_alarms++;

	sim_expect(at < ALARMS, "more alarms than there is room for");
	/* Behind those that are due at the same moment. */
	for (; at > 0 && eal.alarms[at - 1].due > due; at--)
		eal.alarms[at] = eal.alarms[at - 1];
	eal.alarms[at] = (struct alarm){.due = due, .run = run, .arg = arg};
}

static void
forget_alarm(unsigned int at)
{
	eal.n_alarms--;
	memmove(&eal.alarms[at], &eal.alarms[at + 1], (eal.n_alarms - at) * sizeof(eal.alarms[0]));
}

int
rte_eal_alarm_set(uint64_t us, rte_eal_alarm_callback callback, void *arg)
{
	uint32_t one_of = eal.lateness.bad_alarms;

	if (one_of != 0 && ++eal.n_set % one_of == 0) {
		sim_tell("there is no memory for an alarm");
		return -ENOMEM;
	}
	lock();
	set_alarm(sim_now() + us * TICKS_A_US, callback, arg);
	unlock();
	return 0;
}

/* One that runs is waited for, with what it sets. */
int
rte_eal_alarm_cancel(rte_eal_alarm_callback callback, void *arg)
{
	int canceled = 0;
	bool waits;

	/* The history is over, or nobody has set any. */
	if (sim_self() == SIM_ACTORS || eal.n_alarms == 0)
		return 0;
	for (;;) {
		lock();
		for (unsigned int i = eal.n_alarms; i-- > eal.runs;)
			if (eal.alarms[i].run == callback && eal.alarms[i].arg == arg) {
				forget_alarm(i);
				canceled++;
			}
		waits = eal.runs && eal.alarms[0].run == callback;
		eal.is_awaited |= waits;
		unlock();
		if (!waits)
			return canceled;
		sim_pause();
	}
}

static void
run_alarms(void)
{
	lock();
	while (eal.n_alarms > 0 && eal.alarms[0].due <= sim_now()) {
		struct alarm alarm = eal.alarms[0];

		eal.runs = true;
		unlock();
		alarm.run(alarm.arg);
		lock();
		eal.runs = false;
		forget_alarm(0);
		if (eal.is_awaited)
			sim_progress();
		eal.is_awaited = false;
	}
	unlock();
}

/* --- the cache --- */

static uint32_t
hash_of(uint32_t n)
{
	return n * UINT32_C(0x9e3779b1) >> 8;
}

static unsigned int
pool_of(const struct nic_counter *counter)
{
	return (unsigned int)(counter - nic.counters) % nic.shape.pools;
}

/* The device answers, and not what the cache has. */
static bool
is_new(void)
{
	if (nic.removed || nic.away)
		return false;
	for (unsigned int i = eal.pool; i < nic.n_counters; i += nic.shape.pools)
		if (!nic.counters[i].dead && nic.counters[i].cached != nic.counters[i].packets)
			return true;
	return false;
}

/* Somebody else's callback: where that makes a difference, or it would do so for ever. */
static void
hold_up(void)
{
	uint32_t one_of = eal.lateness.held_every;
	uint64_t until;

	if (one_of == 0 || !is_new() || ++eal.n_new % one_of != 0)
		return;
	until = sim_now() + hash_of(eal.n_new) % (eal.lateness.held_lags * nic.shape.lag);
	sim_tell("somebody's callback takes until %llu", (unsigned long long)until);
	/* And what comes behind it. */
	sim_until(until + 4 * nic.shape.lag);
	while (sim_now() < until)
		sim_pause();
}

void
nic_hold_readings(uint32_t one_of)
{
	eal.slow_readings = one_of;
}

void
nic_hold_reading(const struct nic_counter *counter)
{
	uint32_t one_of = eal.slow_readings;
	uint64_t until;

	if (one_of == 0 || counter->cached == counter->packets || ++eal.n_readings % one_of != 0)
		return;
	until = sim_now() + nic.shape.lag * (1 + eal.n_readings / one_of % SLOWEST) / LONG;
	sim_tell("and takes until %llu", (unsigned long long)until);
	sim_until(until);
	while (sim_now() < until)
		sim_pause();
}

/* Packets are in the cache that came before the device was asked. */
static void
note_shown(unsigned int pool)
{
	for (uint32_t f = 0; f < NIC_FLOWS; f++)
		for (unsigned int i = eal.pools[pool].n_arrivals[f]; i-- > 0;) {
			struct nic_arrival *arrival = &nic.arrivals[f][i];

			if (arrival->shown == UINT64_MAX && pool_of(arrival->counter) == pool)
				arrival->shown = sim_now();
		}
}

static void
take_answer(unsigned int pool)
{
	bool brings = false;

	if (eal.pools[pool].answers == 0 || sim_now() < eal.pools[pool].answers)
		return;
	eal.pools[pool].answers = 0;
	for (unsigned int i = pool; i < nic.n_counters; i += nic.shape.pools) {
		struct nic_counter *counter = &nic.counters[i];

		if (counter->dead || counter->cached == counter->answer)
			continue;
		brings = true;
		nic_note_late(counter);
		counter->cached = counter->answer;
	}
	note_shown(pool);
	if (!brings)
		return;
	sim_tell("the cache is refreshed");
	sim_progress();
}

/* Unless an answer is still to be taken; then the same pool is next. One that is gone, or away,
 * gives none. */
static void
ask_device(void)
{
	unsigned int pool = eal.pool;
	uint64_t takes = eal.lateness.asks ? nic.shape.lag / ANSWERS_A_LAG : 0;

	if (eal.pools[pool].answers != 0 || nic.removed || nic.away)
		return;
	for (unsigned int i = pool; i < nic.n_counters; i += nic.shape.pools)
		nic.counters[i].answer = nic.counters[i].packets;
	memcpy(eal.pools[pool].n_arrivals, nic.n_arrivals, sizeof(nic.n_arrivals));
	eal.pools[pool].answers = sim_now() + takes;
	eal.pool = (pool + 1) % nic.shape.pools;
	if (!eal.lateness.asks)
		take_answer(pool);
}

bool
nic_is_asked_last(uint32_t flow)
{
	const struct nic_rule *rule = nic_rule_of_flow(flow);

	return rule != NULL && (pool_of(rule->counter) + 1) % nic.shape.pools == eal.pool;
}

static void
refresh(void *arg)
{
	uint64_t interval = nic.shape.lag / nic.shape.pools;
	uint32_t hash = hash_of(++eal.n_refreshes);

	if (hash % 2 == 0)
		hold_up();
	ask_device();
	if (hash % 2 != 0)
		hold_up();
	if (nic.shape.lag_changes)
		interval = 1 + hash / 2 % interval;
	lock();
	set_alarm(sim_now() + interval, refresh, arg);
	unlock();
}

/* --- the thread --- */

/* Whether it has to wait for one of the library's alarms, as that is when it has a turn. */
static bool
is_kept(void)
{
	uint64_t first = UINT64_MAX;

	if (!eal.lateness.seldom)
		return false;
	lock();
	for (unsigned int i = 0; i < eal.n_alarms && first == UINT64_MAX; i++)
		if (eal.alarms[i].run != refresh)
			first = eal.alarms[i].due;
	unlock();
	return first != UINT64_MAX && first > sim_now();
}

static void
run_interrupt(void *arg)
{
	for (;;) {
		sim_op("looks at what is due");
		if (!is_kept()) {
			/* What was ready first is first. */
			for (unsigned int pool = 0; pool < nic.shape.pools; pool++)
				take_answer(pool);
			run_alarms();
		}
		sim_pause();
	}
}

void
nic_begin_interrupt(const struct nic_lateness *lateness)
{
	memset(&eal, 0, sizeof(eal));
	eal.lateness = *lateness;
	if (nic.shape.lag == 0)
		return;
	set_alarm(sim_now() + nic.shape.lag / 2, refresh, NULL);
	(void)sim_spawn("interrupt", false, run_interrupt, NULL);
}

unsigned int
nic_alarms(void)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < eal.n_alarms; i++)
		n += eal.alarms[i].run != refresh;
	return n;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads of the processes, what they wait for each other by, and their time. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sim_code_memory.h"
#include "sim_machine_inside.h"

#define SPINS 32

int __real_pthread_create(
	pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg);
int __wrap_pthread_create(
	pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg);
int __real_pthread_join(pthread_t thread, void **result);
int __wrap_pthread_join(pthread_t thread, void **result);
int __real_pthread_detach(pthread_t thread);
int __wrap_pthread_detach(pthread_t thread);
int __real_pthread_setname_np(pthread_t thread, const char *name);
int __wrap_pthread_setname_np(pthread_t thread, const char *name);
int __real_pthread_sigmask(int how, const sigset_t *set, sigset_t *before);
int __wrap_pthread_sigmask(int how, const sigset_t *set, sigset_t *before);
int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __real_pthread_mutex_trylock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_trylock(pthread_mutex_t *mutex);
int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __real_pthread_mutex_destroy(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_destroy(pthread_mutex_t *mutex);
int __real_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
int __real_pthread_cond_signal(pthread_cond_t *cond);
int __wrap_pthread_cond_signal(pthread_cond_t *cond);
int __real_pthread_cond_broadcast(pthread_cond_t *cond);
int __wrap_pthread_cond_broadcast(pthread_cond_t *cond);
int __real_pthread_once(pthread_once_t *once, void (*run)(void));
int __wrap_pthread_once(pthread_once_t *once, void (*run)(void));
int __real_pthread_atfork(void (*before)(void), void (*parent)(void), void (*child)(void));
int __wrap_pthread_atfork(void (*before)(void), void (*parent)(void), void (*child)(void));
int __real_nanosleep(const struct timespec *time, struct timespec *left);
int __wrap_nanosleep(const struct timespec *time, struct timespec *left);
int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
pid_t __real_getpid(void);
pid_t __wrap_getpid(void);
uid_t __real_getuid(void);
uid_t __wrap_getuid(void);
uid_t __real_geteuid(void);
uid_t __wrap_geteuid(void);

/* --- threads --- */

static struct {
	void *(*run)(void *arg);
	void *arg;
} threads[SIM_ACTORS];

static void
run_thread(void *arg)
{
	unsigned int self = sim_self();

	(void)threads[self].run(threads[self].arg);
}

int
__wrap_pthread_create(
	pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	unsigned int actor;

	if (sim_process_self() == NULL)
		return __real_pthread_create(thread, attr, run, arg);
	sim_call(&machine.word, "pthread_create", 0);
	actor = sim_fault_comes(SIM_FAULT_MEMORY)
			? SIM_ACTORS
			: sim_thread_spawn(sim_process_self(), "'s thread", run_thread, NULL);
	if (actor == SIM_ACTORS)
		return EAGAIN;
	threads[actor].run = run;
	threads[actor].arg = arg;
	*thread = actor;
	return 0;
}

int
__wrap_pthread_join(pthread_t thread, void **result)
{
	if (sim_process_self() == NULL)
		return __real_pthread_join(thread, result);
	sim_call(&machine.word, "pthread_join", (int)thread);
	sim_thread_join((unsigned int)thread);
	return 0;
}

int
__wrap_pthread_detach(pthread_t thread)
{
	if (sim_process_self() == NULL)
		return __real_pthread_detach(thread);
	machine.detached[thread] = true;
	if (machine.ended[thread])
		sim_leave_place((unsigned int)thread);
	return 0;
}

int
__wrap_pthread_setname_np(pthread_t thread, const char *name)
{
	struct sim_process *self = sim_process_self();

	if (self == NULL)
		return __real_pthread_setname_np(thread, name);
	snprintf(sim.actors[thread].name, sizeof(sim.actors[thread].name), "%s's %s", self->name,
		name);
	return 0;
}

/* Others than the one that ends it come to all threads (sim_interrupt()): a debugger ends the waits
 * also of those that block them all. */
int
__wrap_pthread_sigmask(int how, const sigset_t *set, sigset_t *before)
{
	return sim_process_self() != NULL ? 0 : __real_pthread_sigmask(how, set, before);
}

/* --- mutexes: a word that is 0 or 1 --- */

/* By an exchange: a compare-exchange may find what is over. */
static bool
take(pthread_mutex_t *mutex)
{
	int taken = 1, before;

	trip_atomics_modify(&mutex->__data.__lock, TRIP_ATOMICS_EXCHANGE, &taken, &before,
		sizeof(taken), memory_order_acquire,
		(struct trip_atomics_here){"pthread_mutex_lock", 0});
	return before == 0;
}

int
__wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
	if (sim_process_self() == NULL)
		return __real_pthread_mutex_lock(mutex);
	while (!take(mutex))
		(void)sim_sleep_until(&mutex->__data.__lock, 0);
	return 0;
}

int
__wrap_pthread_mutex_trylock(pthread_mutex_t *mutex)
{
	if (sim_process_self() == NULL)
		return __real_pthread_mutex_trylock(mutex);
	return take(mutex) ? 0 : EBUSY;
}

int
__wrap_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	int none = 0, before;

	if (sim_process_self() == NULL)
		return __real_pthread_mutex_unlock(mutex);
	trip_atomics_modify(&mutex->__data.__lock, TRIP_ATOMICS_EXCHANGE, &none, &before,
		sizeof(none), memory_order_release,
		(struct trip_atomics_here){"pthread_mutex_unlock", 0});
	sim_expect(before != 0, "%s unlocks a mutex that nobody has", sim_process_self()->name);
	/* All: another process may have one at that place, too. */
	(void)sim_wake(&mutex->__data.__lock, UINT_MAX);
	return 0;
}

int
__wrap_pthread_mutex_destroy(pthread_mutex_t *mutex)
{
	if (sim_process_self() == NULL)
		return __real_pthread_mutex_destroy(mutex);
	sim_expect(mutex->__data.__lock == 0, "%s destroys a mutex that somebody has",
		sim_process_self()->name);
	return 0;
}

/* --- condition variables: a word that counts --- */

static uint32_t *
word_of(pthread_cond_t *cond)
{
	return (uint32_t *)cond;
}

int
__wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	uint32_t seen;

	if (sim_process_self() == NULL)
		return __real_pthread_cond_wait(cond, mutex);
	seen = *word_of(cond);
	__wrap_pthread_mutex_unlock(mutex);
	if (*word_of(cond) == seen && !sim_turn_wakes())
		(void)sim_sleep_until(cond, 0);
	return __wrap_pthread_mutex_lock(mutex);
}

static void
count_up(pthread_cond_t *cond)
{
	sim_call(word_of(cond), "pthread_cond_signal", 0);
	(void)sim_wake(cond, UINT_MAX);
}

int
__wrap_pthread_cond_signal(pthread_cond_t *cond)
{
	if (sim_process_self() == NULL)
		return __real_pthread_cond_signal(cond);
	count_up(cond);
	return 0;
}

int
__wrap_pthread_cond_broadcast(pthread_cond_t *cond)
{
	if (sim_process_self() == NULL)
		return __real_pthread_cond_broadcast(cond);
	count_up(cond);
	return 0;
}

/* --- once, and by fork() --- */

int
__wrap_pthread_once(pthread_once_t *once, void (*run)(void))
{
	if (sim_process_self() == NULL)
		return __real_pthread_once(once, run);
	if (*once == 0) {
		*once = 1;
		run();
	}
	return 0;
}

int
__wrap_pthread_atfork(void (*before)(void), void (*parent)(void), void (*child)(void))
{
	struct sim_process *self = sim_process_self();

	if (self == NULL)
		return __real_pthread_atfork(before, parent, child);
	self->at_fork[0] = before;
	self->at_fork[1] = parent;
	self->at_fork[2] = child;
	return 0;
}

/* --- time --- */

uint64_t
sim_tsc(void)
{
	return sim_now();
}

/* An lcore that has nothing to do; then it begins anew. Others soon find what they spin for, or
 * sleep. */
void
sim_spin(void)
{
	unsigned int self = sim_self();
	bool is_lcore = sim.self != NULL && machine.is_lcore[self];

	if (sim.self != NULL && (is_lcore || ++machine.spins[self] % SPINS == 0))
		sim_pause();
	if (is_lcore)
		sim_op("iterates");
}

static bool
never(void *arg)
{
	return false;
}

int
__wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
	if (sim_process_self() == NULL)
		return __real_nanosleep(time, left);
	if (!sim_wait_ends(never, NULL,
		    sim_now() + (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_nsec + 1))
		return 0;
	if (left != NULL)
		*left = *time;
	return sim_refuse(EINTR);
}

int
__wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	if (sim_process_self() == NULL)
		return __real_clock_gettime(clock, now);
	now->tv_sec = (time_t)(sim_now() / 1000000000);
	now->tv_nsec = (long)(sim_now() % 1000000000);
	return 0;
}

/* --- who it is --- */

pid_t
__wrap_getpid(void)
{
	return sim_process_self() != NULL ? sim_process_self()->pid : __real_getpid();
}

uid_t
__wrap_getuid(void)
{
	return sim_process_self() != NULL ? sim_process_self()->uid : __real_getuid();
}

uid_t
__wrap_geteuid(void)
{
	return sim_process_self() != NULL ? sim_process_self()->uid : __real_geteuid();
}

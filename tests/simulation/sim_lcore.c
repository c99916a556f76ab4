/* SPDX-License-Identifier: BSD-3-Clause */
/* What the library asks of EAL beside memory: lcores, which are threads here, and who it is. */
#include <string.h>

#include <rte_eal.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_log.h>

#include "sim_code_memory.h"
#include "sim_machine_inside.h"

#define WRAP(type, name, args)   \
	type __real_##name args; \
	type __wrap_##name args
WRAP(enum rte_proc_type_t, rte_eal_process_type, (void));
WRAP(unsigned int, rte_get_main_lcore, (void));
WRAP(enum rte_lcore_role_t, rte_eal_lcore_role, (unsigned int lcore));
WRAP(unsigned int, rte_lcore_to_socket_id, (unsigned int lcore));
WRAP(int, rte_lcore_is_enabled, (unsigned int lcore));
WRAP(enum rte_lcore_state_t, rte_eal_get_lcore_state, (unsigned int lcore));
WRAP(rte_cpuset_t, rte_lcore_cpuset, (unsigned int lcore));
WRAP(uint64_t, rte_get_tsc_hz, (void));
WRAP(int, rte_eal_has_hugepages, (void));
WRAP(const char *, rte_eal_get_runtime_dir, (void));
WRAP(int, rte_mp_action_register, (const char *name, rte_mp_t action));
WRAP(void, rte_mp_action_unregister, (const char *name));
WRAP(int, rte_eal_remote_launch, (lcore_function_t * run, void *arg, unsigned int lcore));
WRAP(int, rte_eal_wait_lcore, (unsigned int lcore));
#undef WRAP
int __wrap_rte_log(uint32_t level, uint32_t type, const char *format, ...);
struct trip_home;
unsigned int __real_trip_home_iterate(struct trip_home *home, uint64_t now);
unsigned int __wrap_trip_home_iterate(struct trip_home *home, uint64_t now);

static bool
is_ours(const struct sim_process *process, unsigned int lcore)
{
	return lcore >= process->lcore && lcore < process->lcore + process->n_lcores;
}

enum rte_proc_type_t
__wrap_rte_eal_process_type(void)
{
	const struct sim_process *self = sim_process_self();

	if (self == NULL)
		return __real_rte_eal_process_type();
	return self->primary ? RTE_PROC_PRIMARY : RTE_PROC_SECONDARY;
}

unsigned int
__wrap_rte_get_main_lcore(void)
{
	const struct sim_process *self = sim_process_self();

	return self != NULL ? self->lcore : __real_rte_get_main_lcore();
}

enum rte_lcore_role_t
__wrap_rte_eal_lcore_role(unsigned int lcore)
{
	const struct sim_process *self = sim_process_self();

	if (self == NULL)
		return __real_rte_eal_lcore_role(lcore);
	return is_ours(self, lcore) ? ROLE_RTE : ROLE_OFF;
}

unsigned int
__wrap_rte_lcore_to_socket_id(unsigned int lcore)
{
	return sim_process_self() != NULL ? 0 : __real_rte_lcore_to_socket_id(lcore);
}

int
__wrap_rte_lcore_is_enabled(unsigned int lcore)
{
	const struct sim_process *self = sim_process_self();

	return self != NULL ? is_ours(self, lcore) : __real_rte_lcore_is_enabled(lcore);
}

enum rte_lcore_state_t
__wrap_rte_eal_get_lcore_state(unsigned int lcore)
{
	return sim_process_self() != NULL ? WAIT : __real_rte_eal_get_lcore_state(lcore);
}

/* A CPU each. */
rte_cpuset_t
__wrap_rte_lcore_cpuset(unsigned int lcore)
{
	rte_cpuset_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(lcore, &cpus);
	return cpus;
}

uint64_t
__wrap_rte_get_tsc_hz(void)
{
	return sim_process_self() != NULL ? 1000000000 : __real_rte_get_tsc_hz();
}

int
__wrap_rte_eal_has_hugepages(void)
{
	return sim_process_self() != NULL ? 1 : __real_rte_eal_has_hugepages();
}

const char *
__wrap_rte_eal_get_runtime_dir(void)
{
	return sim_process_self() != NULL ? "/run/dpdk/rte" : __real_rte_eal_get_runtime_dir();
}

int
__wrap_rte_mp_action_register(const char *name, rte_mp_t action)
{
	return sim_process_self() != NULL ? 0 : __real_rte_mp_action_register(name, action);
}

void
__wrap_rte_mp_action_unregister(const char *name)
{
	if (sim_process_self() == NULL)
		__real_rte_mp_action_unregister(name);
}

/* What the library logs, nobody reads. */
int
__wrap_rte_log(uint32_t level, uint32_t type, const char *format, ...)
{
	return 0;
}

/* --- lcores --- */

static struct {
	lcore_function_t *run;
	void *arg;
} launched[SIM_ACTORS];

static void
run_lcore(void *arg)
{
	unsigned int self = sim_self();

	sim_op("iterates");
	(void)launched[self].run(launched[self].arg);
}

int
__wrap_rte_eal_remote_launch(lcore_function_t *run, void *arg, unsigned int lcore)
{
	struct sim_process *self = sim_process_self();
	unsigned int actor;
	char name[16];

	if (self == NULL)
		return __real_rte_eal_remote_launch(run, arg, lcore);
	snprintf(name, sizeof(name), "'s lcore %u", lcore);
	actor = sim_thread_spawn(self, name, run_lcore, NULL);
	if (actor == SIM_ACTORS)
		return -EBUSY;
	machine.is_lcore[actor] = true;
	launched[actor].run = run;
	launched[actor].arg = arg;
	self->launched[lcore] = actor;
	return 0;
}

int
__wrap_rte_eal_wait_lcore(unsigned int lcore)
{
	struct sim_process *self = sim_process_self();

	if (self == NULL)
		return __real_rte_eal_wait_lcore(lcore);
	sim_thread_join(self->launched[lcore]);
	return 0;
}

/* Whoever waits for what a home does looks again. */
unsigned int
__wrap_trip_home_iterate(struct trip_home *home, uint64_t now)
{
	unsigned int done;

	done = __real_trip_home_iterate(home, now);
	if (sim.self != NULL && done > 0) {
		sim_progress();
		sim_op("iterates");
	}
	return done;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs homes on lcores or as services. */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>

#include <rte_cycles.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_service.h>
#include <rte_service_component.h>

#include "domain/error.h"
#include "domain/idle.h"
#include "domain/launch.h"

/* How long a home goes on polling a counter that has fired, at least: longer than a round trip by
 * way of another thread or the network takes, and too short to keep an idle lcore from its sleep.
 */
#define HOT_US 25

static bool
is_service_lcore(unsigned int lcore)
{
	uint32_t lcores[RTE_MAX_LCORE];
	int32_t n = rte_service_lcore_list(lcores, RTE_MAX_LCORE);

	for (int32_t i = 0; i < n; i++)
		if (lcores[i] == lcore)
			return true;
	return false;
}

static int
check_lcore(const struct trip_domain_attr *attr, unsigned int at)
{
	unsigned int lcore = attr->lcores[at];

	for (unsigned int i = 0; i < at; i++)
		if (attr->lcores[i] == lcore)
			return trip_error_set(EINVAL, "domain: lcore %u is given twice", lcore);
	if (attr->progress == TRIP_PROGRESS_SERVICE)
		return is_service_lcore(lcore)
			       ? 0
			       : trip_error_set(
					 EINVAL, "domain: lcore %u is no service lcore", lcore);
	if (lcore >= RTE_MAX_LCORE || !rte_lcore_is_enabled(lcore))
		return trip_error_set(EINVAL, "domain: lcore %u is not enabled", lcore);
	if (lcore == rte_get_main_lcore())
		return trip_error_set(
			EINVAL, "domain: lcore %u is the main lcore and cannot be launched", lcore);
	if (rte_eal_get_lcore_state(lcore) != WAIT)
		return trip_error_set(EBUSY, "domain: lcore %u is running something else", lcore);
	return 0;
}

int
trip_launch_check(const struct trip_domain_attr *attr)
{
	int error = 0;

	for (unsigned int i = 0; attr->lcores != NULL && i < attr->n_lcores && error == 0; i++)
		error = check_lcore(attr, i);
	return error;
}

/* Whether another lcore may run on a CPU of this one: then it must not spin through its time. */
static bool
shares_cpu(unsigned int lcore)
{
	rte_cpuset_t own, both;
	unsigned int other;

	if (lcore == LCORE_ID_ANY)
		return true;
	own = rte_lcore_cpuset(lcore);
	if (CPU_COUNT(&own) != 1)
		return true;
	for (other = 0; other < RTE_MAX_LCORE; other++) {
		rte_cpuset_t cpus;

		if (other == lcore || rte_eal_lcore_role(other) == ROLE_OFF)
			continue;
		cpus = rte_lcore_cpuset(other);
		CPU_AND(&both, &own, &cpus);
		if (CPU_COUNT(&both) > 0)
			return true;
	}
	return false;
}

void
trip_launch_configure(struct trip_domain *domain, struct trip_home *home)
{
	const struct trip_domain_attr *attr = &domain->attr;
	uint64_t hz = domain->engine.tsc_hz;

	home->lcore_id = domain->lcores[home->index];
	home->shares_cpu = shares_cpu(home->lcore_id);
	home->budget = 1u << attr->budget_log2;
	home->bound_tsc = hz * trip_launch_bound_ns(attr) / NS_PER_S;
	home->fed.period_tsc = hz * attr->refresh_us / US_PER_S;
	home->scrub.period_tsc = hz * attr->scrub_us / US_PER_S;
	/* To poll is to keep the CPU: a home that would yield it leaves counters to ring. By the
	 * clock of packets, in which order things fire is not for the time that they take. */
	if (attr->clock == TRIP_CLOCK_MONOTONIC &&
		(!home->shares_cpu || attr->progress == TRIP_PROGRESS_MANUAL))
		home->hot.log2 = (uint8_t)rte_log2_u64(hz * HOT_US / US_PER_S);
	if (attr->scrub_us == UINT32_MAX)
		home->scrub.next_tsc = UINT64_MAX;
	home->idle = attr->idle != NULL ? (uint8_t)attr->idle[home->index] : TRIP_IDLE_PAUSE;
	if (home->idle == TRIP_IDLE_MONITOR || home->idle == TRIP_IDLE_SLEEP)
		home->idle_tsc = hz * attr->idle_us / US_PER_S;
}

static unsigned int
iterate_idling(struct trip_home *home)
{
	unsigned int done = trip_home_iterate(home, rte_rdtsc());

	if (done == 0) {
		trip_idle_wait(home);
	} else {
		home->busy_tsc = home->now;
		trip_idle_share(home);
	}
	return done;
}

static int
lcore_main(void *arg)
{
	struct trip_home *home = arg;

	while (!atomic_load_explicit(&home->stop, memory_order_acquire))
		iterate_idling(home);
	/* Pairs with trip_launch_stop(): rte_eal_wait_lcore() orders the same, inside EAL, where
	 * ThreadSanitizer does not see it. */
	atomic_flag_clear_explicit(&home->progressing, memory_order_release);
	return 0;
}

/* With services and by hand, whoever comes second while one iterates goes away. */
static unsigned int
iterate_exclusive(struct trip_home *home, unsigned int (*iterate)(struct trip_home *home))
{
	unsigned int done;

	if (atomic_flag_test_and_set_explicit(&home->progressing, memory_order_acquire))
		return 0;
	done = iterate(home);
	atomic_flag_clear_explicit(&home->progressing, memory_order_release);
	return done;
}

static unsigned int
iterate_now(struct trip_home *home)
{
	return trip_home_iterate(home, rte_rdtsc());
}

unsigned int
trip_launch_iterate(struct trip_home *home)
{
	return iterate_exclusive(home, iterate_now);
}

/*
 * Pairs start_service() with service_main(): a service core that runs already takes a home up
 * inside EAL, which orders the same, where ThreadSanitizer does not see it.
 */
static atomic_bool services_started;

/* Service lcores that some domain has started: the last domain on one stops it. */
static atomic_bool started[RTE_MAX_LCORE];

static int32_t
service_main(void *arg)
{
	(void)atomic_load_explicit(&services_started, memory_order_acquire);
	return iterate_exclusive(arg, iterate_idling) > 0 ? 0 : -EAGAIN;
}

static int
start_service(struct trip_domain *domain, struct trip_home *home)
{
	struct rte_service_spec spec = {
		.callback = service_main,
		.callback_userdata = home,
		.socket_id = SOCKET_ID_ANY,
	};
	uint32_t *id = &domain->services[home->index];
	unsigned int lcore = home->lcore_id;
	int error;

	atomic_store_explicit(&services_started, true, memory_order_release);
	snprintf(spec.name, sizeof(spec.name), "trip_%s_%" PRIu32, domain->name, home->index);
	error = rte_service_component_register(&spec, id);
	if (error != 0)
		return trip_error_set(-error, "domain: service %s is not to be had", spec.name);
	home->service = true;
	rte_service_component_runstate_set(*id, 1);
	rte_service_runstate_set(*id, 1);
	if (lcore == LCORE_ID_ANY)
		return 0;
	error = rte_service_map_lcore_set(*id, lcore, 1);
	if (error == 0)
		error = rte_service_lcore_start(lcore);
	/* Otherwise it is running other services already. */
	if (error == 0)
		atomic_store(&started[lcore], true);
	return error == 0 || error == -EALREADY
		       ? 0
		       : trip_error_set(-error, "domain: service lcore %u does not start", lcore);
}

/*
 * Returns when no service core runs the service any more, nor will. rte_service_may_be_active()
 * alone does not tell: it misses a core that has found the service running and has not noted yet
 * that it runs it. A core that has ended a round of its services which began after the stop has
 * not.
 */
static void
quiesce_service(uint32_t id)
{
	uint32_t lcores[RTE_MAX_LCORE];
	int32_t n = rte_service_lcore_list(lcores, RTE_MAX_LCORE);

	for (int32_t i = 0; i < n; i++) {
		uint64_t first = 0, loops = 0;

		if (rte_service_map_lcore_get(id, lcores[i]) != 1)
			continue;
		rte_service_lcore_attr_get(lcores[i], RTE_SERVICE_LCORE_ATTR_LOOPS, &first);
		while (rte_service_lcore_may_be_active(lcores[i]) == 1 && loops < first + 2) {
			sched_yield();
			rte_service_lcore_attr_get(lcores[i], RTE_SERVICE_LCORE_ATTR_LOOPS, &loops);
		}
	}
}

/* As it was given to us; -EBUSY where other domains are on it, or services of the application. */
static void
stop_lcore(unsigned int lcore)
{
	if (lcore == LCORE_ID_ANY || !atomic_load(&started[lcore]) ||
		rte_service_lcore_stop(lcore) != 0)
		return;
	atomic_store(&started[lcore], false);
	rte_eal_wait_lcore(lcore);
}

static void
stop_service(struct trip_domain *domain, struct trip_home *home)
{
	uint32_t id = domain->services[home->index];

	if (!home->service)
		return;
	rte_service_runstate_set(id, 0);
	rte_service_component_runstate_set(id, 0);
	quiesce_service(id);
	/* Pairs with iterate_exclusive(), as for services_started. */
	while (atomic_flag_test_and_set_explicit(&home->progressing, memory_order_acquire))
		sched_yield();
	if (home->lcore_id != LCORE_ID_ANY)
		rte_service_map_lcore_set(id, home->lcore_id, 0);
	rte_service_component_unregister(id);
	home->service = false;
	stop_lcore(home->lcore_id);
}

int
trip_launch_start(struct trip_domain *domain)
{
	int error = 0;

	for (uint32_t i = 0; i < domain->engine.n_homes && error == 0; i++) {
		struct trip_home *home = domain->engine.homes[i];

		if (domain->attr.progress == TRIP_PROGRESS_SERVICE) {
			error = start_service(domain, home);
		} else if (domain->attr.progress == TRIP_PROGRESS_LCORE) {
			error = rte_eal_remote_launch(lcore_main, home, home->lcore_id);
			home->launched = error == 0;
			if (error != 0)
				error = trip_error_set(
					EBUSY, "domain: lcore %u does not start", home->lcore_id);
		}
	}
	return error;
}

void
trip_launch_stop(struct trip_domain *domain)
{
	for (uint32_t i = 0; i < domain->engine.n_homes; i++) {
		struct trip_home *home = domain->engine.homes[i];

		atomic_store_explicit(&home->stop, true, memory_order_release);
		if (home->launched) {
			rte_eal_wait_lcore(home->lcore_id);
			/* Pairs with lcore_main(). */
			atomic_flag_test_and_set_explicit(&home->progressing, memory_order_acquire);
		}
		home->launched = false;
		stop_service(domain, home);
	}
}

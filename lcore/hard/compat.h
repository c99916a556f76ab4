/* SPDX-License-Identifier: BSD-3-Clause */
/* What differs between the DPDK versions that we build on. Nothing else asks for a version. */
#ifndef TRIP_COMPAT_H
#define TRIP_COMPAT_H

#include <pthread.h>
#include <stdint.h>

#include <rte_lcore.h>
#include <rte_thread.h>
#include <rte_version.h>

/* A control thread: it runs on the CPUs that EAL leaves to such. */
#if RTE_VERSION >= RTE_VERSION_NUM(23, 11, 0, 0)
typedef rte_thread_t trip_compat_thread;
#define TRIP_COMPAT_THREAD_RESULT uint32_t

static inline int
trip_compat_thread_start(
	trip_compat_thread *thread, const char *name, uint32_t (*run)(void *arg), void *arg)
{
	return rte_thread_create_control(thread, name, run, arg);
}

static inline void
trip_compat_thread_join(trip_compat_thread thread)
{
	rte_thread_join(thread, NULL);
}
#else
typedef pthread_t trip_compat_thread;
#define TRIP_COMPAT_THREAD_RESULT void *

static inline int
trip_compat_thread_start(
	trip_compat_thread *thread, const char *name, void *(*run)(void *arg), void *arg)
{
	return rte_ctrl_thread_create(thread, name, NULL, run, arg);
}

static inline void
trip_compat_thread_join(trip_compat_thread thread)
{
	pthread_join(thread, NULL);
}
#endif

#endif

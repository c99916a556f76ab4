/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads: the library's own, and those of the application that have channels of their own. */
#ifndef TRIP_RUNTIME_THREAD_H
#define TRIP_RUNTIME_THREAD_H

#include <pthread.h>

#include "domain/domain.h"

/* Starts a thread of the library's own, to which no signal of the application is delivered: 0 or
 * the error. name: at most 15 letters. */
int trip_thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *arg);

/* Makes an eventfd ready, which a thread waits on. */
void trip_thread_tell(int fd);

/* For as long, however many signals the application has meanwhile. */
void trip_thread_pause(uint64_t ns);

/* CLOCK_MONOTONIC. */
uint64_t trip_thread_now_ns(void);

/* Prepares a domain, whose channels are known, for threads that attach: 0 or the error. */
int trip_thread_init(struct trip_domain *domain);
void trip_thread_fini(struct trip_domain *domain);

/* How many have them. */
uint32_t trip_thread_count(struct trip_domain *domain);

/* The channel that the calling thread, which is no home's, queues by. */
static inline uint32_t
trip_thread_channel(const struct trip_domain *domain)
{
	const struct trip_thread *thread =
		domain->threads != NULL ? pthread_getspecific(domain->thread_key) : NULL;

	return thread != NULL ? thread->channel : 0;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Gives threads their channels; starts the library's own threads. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "domain/detach.h"
#include "domain/error.h"
#include "domain/progress.h"
#include "domain/thread.h"

int
trip_thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *arg)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error != 0)
		return trip_error_system(error, "thread %s does not start", name);
	pthread_setname_np(*thread, name);
	return 0;
}

void
trip_thread_tell(int fd)
{
	uint64_t one = 1;

	while (write(fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

void
trip_thread_pause(uint64_t ns)
{
	struct timespec left = {
		.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};

	while (nanosleep(&left, &left) != 0 && errno == EINTR)
		;
}

uint64_t
trip_thread_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* ---- channels of the application's threads ---- */

static struct trip_thread *
take(struct trip_domain *domain)
{
	struct trip_thread *thread = NULL;

	pthread_mutex_lock(&domain->lock);
	for (uint32_t i = 0; i < domain->attr.max_process_threads && thread == NULL; i++)
		if (!domain->threads[i].used)
			thread = &domain->threads[i];
	if (thread != NULL) {
		thread->used = true;
		domain->n_threads++;
	}
	pthread_mutex_unlock(&domain->lock);
	return thread;
}

/* Also at the end of the thread, which has not detached. Closing the domain waits for the lock. */
static void
give(void *arg)
{
	struct trip_thread *thread = arg;
	struct trip_domain *domain = thread->domain;

	pthread_mutex_lock(&domain->lock);
	thread->used = false;
	domain->n_threads--;
	pthread_mutex_unlock(&domain->lock);
}

int
trip_thread_init(struct trip_domain *domain)
{
	uint32_t n = domain->attr.max_process_threads;
	int error;

	if (n == 0)
		return 0;
	error = pthread_key_create(&domain->thread_key, give);
	if (error != 0)
		return trip_error_system(
			error, "domain \"%s\": no key for what threads have", domain->name);
	domain->threads = calloc(n, sizeof(*domain->threads));
	if (domain->threads == NULL) {
		pthread_key_delete(domain->thread_key);
		return trip_error_set(ENOMEM, "domain: no memory for %" PRIu32 " threads", n);
	}
	for (uint32_t i = 0; i < n; i++)
		domain->threads[i] = (struct trip_thread){
			.domain = domain, .channel = domain->n_channels - n + i};
	return 0;
}

void
trip_thread_fini(struct trip_domain *domain)
{
	if (domain->threads != NULL)
		pthread_key_delete(domain->thread_key);
	free(domain->threads);
	domain->threads = NULL;
}

uint32_t
trip_thread_count(struct trip_domain *domain)
{
	uint32_t n;

	pthread_mutex_lock(&domain->lock);
	n = domain->n_threads;
	pthread_mutex_unlock(&domain->lock);
	return n;
}

static bool
accepted(struct trip_domain *domain, struct trip_submitter *submitter)
{
	uint32_t up_to;

	trip_domain_lock(&submitter->lock);
	up_to = trip_channel_submitted(submitter->channel);
	trip_domain_unlock(&submitter->lock);
	while (!trip_channel_accepted(submitter->channel, up_to)) {
		if (trip_detach_check(domain) != 0)
			return false;
		trip_progress_wait(domain);
	}
	return true;
}

/*
 * A home accepts what it finds in several channels in any order. What a thread queues by one, it
 * queues after all that it has queued by another was accepted: WORK-03.
 */
static int
change_channel(struct trip_domain *domain, uint32_t from)
{
	for (uint32_t h = 0; h < domain->engine.n_homes; h++)
		if (!accepted(domain, &domain->submitters[h][from]))
			return -ESHUTDOWN;
	return 0;
}

int
trip_thread_attach(struct trip_domain *domain)
{
	struct trip_thread *thread;
	int error = trip_detach_check(domain);

	if (error != 0)
		return error;
	if (trip_domain_on_home(domain))
		return trip_error_set(
			EINVAL, "domain \"%s\": a home has channels of its own", domain->name);
	if (trip_thread_channel(domain) != 0)
		return trip_error_set(EALREADY,
			"domain \"%s\": this thread has channels of its own already", domain->name);
	thread = take(domain);
	if (thread == NULL)
		return trip_error_set(ENOSPC,
			"domain \"%s\": all %" PRIu32
			" threads of this process that may have channels of their own do",
			domain->name, domain->attr.max_process_threads);
	error = change_channel(domain, 0);
	if (error == 0 && pthread_setspecific(domain->thread_key, thread) != 0)
		error = trip_error_set(
			ENOMEM, "domain \"%s\": no memory for what this thread has", domain->name);
	if (error != 0)
		give(thread);
	return error;
}

int
trip_thread_detach(struct trip_domain *domain)
{
	uint32_t channel = trip_thread_channel(domain);
	int error = trip_detach_check(domain);

	if (error != 0)
		return error;
	if (channel == 0)
		return trip_error_set(ENOENT,
			"domain \"%s\": this thread has no channels of its own", domain->name);
	error = change_channel(domain, channel);
	if (error != 0)
		return error;
	give(pthread_getspecific(domain->thread_key));
	pthread_setspecific(domain->thread_key, NULL);
	return 0;
}

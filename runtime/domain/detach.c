/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fork() takes the locks that guard the lists which the child walks, so that it finds them whole.
 * Any other lock of a domain may have been held by a thread that the child does not have: there it
 * is held for ever. No call of the child gets that far.
 *
 * An add must stay one atomic add, so the child's handles have no cell to add to. A read looks at
 * nothing either: its cell has become another one.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <rte_common.h>

#include "domain/backend.h"
#include "domain/detach.h"
#include "domain/error.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static LIST_HEAD(, trip_domain) domains = LIST_HEAD_INITIALIZER(domains);
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int once_error;
static bool forked;

static void
before_fork(void)
{
	struct trip_domain *domain;

	pthread_mutex_lock(&lock);
	LIST_FOREACH (domain, &domains, watched)
		pthread_mutex_lock(&domain->lock);
}

static void
after_fork(void)
{
	struct trip_domain *domain;

	LIST_FOREACH (domain, &domains, watched)
		pthread_mutex_unlock(&domain->lock);
	pthread_mutex_unlock(&lock);
}

/*
 * Copies a cell for a child, whose memory may lack the original: drivers keep from children what
 * devices write to, by whole pages. A system call says so where a load would end the process. What
 * cannot be copied is what the handle last read.
 */
static void
copy_cell(struct trip_cell *copy, const struct trip_cntr *cntr)
{
	struct trip_cell cell;
	struct iovec here = {&cell, sizeof(cell)}, there = {cntr->cell, sizeof(cell)};

	if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) != sizeof(cell)) {
		memset(&cell, 0, sizeof(cell));
		atomic_init(&cell.success,
			atomic_load_explicit(&cntr->read_success, memory_order_relaxed));
		atomic_init(
			&cell.error, atomic_load_explicit(&cntr->read_error, memory_order_relaxed));
	}
	memcpy(copy, &cell, sizeof(cell));
}

/* Without memory for copies, handles go on to read what the parent makes of theirs. */
static void
detach(struct trip_domain *domain)
{
	struct trip_cell *copies;
	struct trip_cntr *cntr;
	size_t n = 0;

	atomic_store_explicit(&domain->detached, true, memory_order_relaxed);
	LIST_FOREACH (cntr, &domain->handles, watched)
		n++;
	copies = mmap(NULL, RTE_MAX(n, 1u) * sizeof(*copies), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	LIST_FOREACH (cntr, &domain->handles, watched) {
		trip_cntr_detach(cntr);
		if (copies == MAP_FAILED)
			continue;
		copy_cell(copies, cntr);
		cntr->cell = copies++;
	}
}

static void
after_fork_in_child(void)
{
	struct trip_domain *domain;

	LIST_FOREACH (domain, &domains, watched) {
		forked = true;
		detach(domain);
		domain->backend->forget(domain);
	}
	after_fork();
}

static void
watch_forks(void)
{
	once_error = pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

int
trip_detach_watch(struct trip_domain *domain)
{
	pthread_once(&once, watch_forks);
	if (once_error != 0)
		return trip_error_set(
			once_error, "domain \"%s\": forks cannot be watched", domain->name);
	pthread_mutex_lock(&lock);
	LIST_INSERT_HEAD(&domains, domain, watched);
	pthread_mutex_unlock(&lock);
	return 0;
}

int
trip_detach_any(void (*copy)(const struct trip_domain *domain, void *arg), void *arg)
{
	const struct trip_domain *domain;
	int error = trip_error_set(ENOTSUP, "this process is attached to no domain");

	pthread_mutex_lock(&lock);
	LIST_FOREACH (domain, &domains, watched) {
		error = trip_detach_check(domain);
		if (error != 0)
			continue;
		copy(domain, arg);
		break;
	}
	pthread_mutex_unlock(&lock);
	return error;
}

static void
copy_backend(const struct trip_domain *domain, void *arg)
{
	*(const struct trip_backend **)arg = domain->backend;
}

const struct trip_backend *
trip_detach_backend(void)
{
	const struct trip_backend *backend = NULL;

	(void)trip_detach_any(copy_backend, &backend);
	return backend;
}

void
trip_detach_unwatch(struct trip_domain *domain)
{
	if (once_error != 0)
		return;
	pthread_mutex_lock(&lock);
	LIST_REMOVE(domain, watched);
	pthread_mutex_unlock(&lock);
}

void
trip_detach_watch_cntr(struct trip_cntr *cntr)
{
	pthread_mutex_lock(&cntr->fid.domain->lock);
	if (atomic_load(&cntr->fid.domain->detached))
		trip_cntr_detach(cntr);
	LIST_INSERT_HEAD(&cntr->fid.domain->handles, cntr, watched);
	pthread_mutex_unlock(&cntr->fid.domain->lock);
}

void
trip_detach_unwatch_cntr(struct trip_cntr *cntr)
{
	pthread_mutex_lock(&cntr->fid.domain->lock);
	LIST_REMOVE(cntr, watched);
	pthread_mutex_unlock(&cntr->fid.domain->lock);
}

void
trip_detach_end(struct trip_domain *domain)
{
	struct trip_cntr *cntr;

	pthread_mutex_lock(&domain->lock);
	/* Before the signals: who is woken by those sees it. */
	atomic_store(&domain->detached, true);
	LIST_FOREACH (cntr, &domain->handles, watched)
		trip_cntr_detach(cntr);
	pthread_mutex_unlock(&domain->lock);
}

bool
trip_detach_forked(void)
{
	return forked;
}

int
trip_detach_refuse(const struct trip_domain *domain)
{
	if (!forked)
		return trip_error_set(ESHUTDOWN,
			"domain \"%s\": its primary has ended; execute this program anew to attach "
			"to another",
			domain->name);
	return trip_error_set(ESHUTDOWN,
		"domain \"%s\": this process is not attached to it: it was forked by one that is",
		domain->name);
}

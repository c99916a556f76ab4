/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts and ends the thread, and has it look. */
#include "domain/domain.h"
#include "domain/teller.h"
#include "domain/thread.h"

static void *
tell(void *arg)
{
	struct trip_domain *domain = arg;
	struct trip_teller *teller = &domain->teller;

	/* What it looks at may end with the primary: then there is nothing more to tell. */
	while (!atomic_load_explicit(&teller->stop, memory_order_acquire) &&
		!atomic_load_explicit(&domain->detached, memory_order_relaxed)) {
		teller->look(domain);
		trip_thread_pause(TRIP_TELLER_PERIOD_NS);
	}
	return NULL;
}

int
trip_teller_join(struct trip_domain *domain, void (*look)(struct trip_domain *domain))
{
	struct trip_teller *teller = &domain->teller;
	int error = 0;

	pthread_mutex_lock(&teller->life);
	if (teller->n == 0) {
		teller->look = look;
		atomic_store(&teller->stop, false);
		error = trip_thread_start(&teller->thread, "trip-teller", tell, domain);
	}
	if (error == 0)
		teller->n++;
	pthread_mutex_unlock(&teller->life);
	return error;
}

void
trip_teller_leave(struct trip_domain *domain)
{
	struct trip_teller *teller = &domain->teller;

	pthread_mutex_lock(&teller->life);
	if (--teller->n == 0) {
		atomic_store_explicit(&teller->stop, true, memory_order_release);
		pthread_join(teller->thread, NULL);
	}
	pthread_mutex_unlock(&teller->life);
}

void
trip_teller_rest(struct trip_domain *domain)
{
	struct trip_teller *teller = &domain->teller;

	pthread_mutex_lock(&teller->life);
	if (teller->n > 0)
		pthread_join(teller->thread, NULL);
	teller->n = 0;
	pthread_mutex_unlock(&teller->life);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls of deferred work: queue, cancel, flush. plan.c checks, submitter.c has the channels. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <rte_branch_prediction.h>

#include "domain/backend.h"
#include "domain/detach.h"
#include "domain/error.h"
#include "domain/progress.h"
#include "domain/sized.h"
#include "work/pairs.h"
#include "work/plan.h"
#include "work/submitter.h"

static inline int
queue_item(struct trip_domain *domain, const struct trip_work *work, uint64_t *id)
{
	struct trip_submission request;
	int error;

	/* The rest is written where it is asked for: to clear it takes longer than to plan. */
	request.condition_row = NULL;
	request.pairs = NULL;
	error = trip_plan_work(&request, domain, work);
	return error == 0 ? trip_submitter_submit(domain, &request, id) : error;
}

/* Out of line: of programs that know another version. */
static __attribute__((noinline)) int
queue_sized(struct trip_domain *domain, const struct trip_work *work, uint64_t *id)
{
	struct trip_work own;
	int error = TRIP_SIZED_TAKE(trip_work, &own, work);

	return error == 0 ? trip_work_queue(domain, &own, id) : error;
}

int
trip_work_queue(struct trip_domain *domain, const struct trip_work *work, uint64_t *id)
{
	int error = trip_detach_check(domain);
	uint64_t own;

	if (error != 0)
		return error;
	if (unlikely(work->size != sizeof(*work)))
		return queue_sized(domain, work, id);
	if (unlikely(work->condition != NULL) && trip_pairs_is(work->condition))
		error = trip_pairs_queue(domain, work, &own);
	else
		error = queue_item(domain, work, &own);
	if (error == 0 && id != NULL)
		*id = own;
	return error;
}

int
trip_work_cancel(struct trip_domain *domain, uint64_t id)
{
	if (trip_detach_check(domain) != 0)
		return -ESHUTDOWN;
	if (trip_submitter_cancel(domain, id) != 0)
		return trip_error_set(
			ENOENT, "work 0x%" PRIx64 ": it has fired, was canceled, or never was", id);
	return 0;
}

/* Cancels one by one, so that each lets go of its credit and of its objects; of a pair, what it is
 * of. */
static void
flush_channel(struct trip_domain *domain, struct trip_submitter *submitter, uint32_t trigger)
{
	const struct trip_channel_map *map = &submitter->channel->map;

	for (uint32_t slot = 0; slot < map->slots; slot++) {
		uint32_t fed = TRIP_NONE;
		uint64_t id;

		trip_domain_lock(&submitter->lock);
		id = trip_channel_queued_id(submitter->channel, slot);
		if (trigger != TRIP_CHANNEL_ANY && map->desc[slot].trigger != trigger)
			id = TRIP_WORK_NONE;
		if (id != TRIP_WORK_NONE && map->desc[slot].is_pair != 0)
			fed = map->desc[slot].target;
		trip_domain_unlock(&submitter->lock);
		if (fed != TRIP_NONE)
			id = trip_pairs_id(domain, submitter, fed, id);
		if (id != TRIP_WORK_NONE)
			(void)trip_work_cancel(domain, id);
	}
}

int
trip_work_flush(struct trip_domain *domain, struct trip_cntr *cntr)
{
	uint32_t trigger = cntr != NULL ? cntr->global : TRIP_CHANNEL_ANY;
	int error;

	if (trip_detach_check(domain) != 0)
		return -ESHUTDOWN;
	if (cntr != NULL && cntr->fid.domain != domain)
		return trip_error_set(EXDEV, "work: the counter is of another domain");
	for (uint32_t h = 0; h < domain->engine.n_homes; h++)
		for (uint32_t c = 0;
			(cntr == NULL || cntr->home->index == h) && c < domain->n_channels; c++)
			flush_channel(domain, &domain->submitters[h][c], trigger);
	if (trip_progress_on_worker(domain))
		return -EINPROGRESS;
	trip_progress_quiesce(domain);
	/* What has started on hardware finishes there. */
	error = domain->backend->quiesce(domain);
	return error == 0 ? trip_detach_check(domain) : error;
}

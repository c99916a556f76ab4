/* SPDX-License-Identifier: BSD-3-Clause */
/* How many work items in flight refer to each object: what is in use is not closed. */
#include <errno.h>
#include <stdlib.h>

#include "domain/domain.h"
#include "domain/error.h"
#include "work/work_refs.h"

int
trip_work_refs_init(struct trip_domain *domain)
{
	struct trip_work_refs *refs = &domain->work_refs;
	bool has_all;

	refs->handles =
		calloc(trip_op_targets(&domain->engine, TRIP_OP_ON_CNTR), sizeof(*refs->handles));
	has_all = refs->handles != NULL;
	for (unsigned int kind = 1; kind < TRIP_OP_TARGETS_END; kind++) {
		refs->count[kind] =
			calloc(trip_op_targets(&domain->engine, kind), sizeof(*refs->count[kind]));
		has_all &= refs->count[kind] != NULL;
	}
	return has_all ? 0 : trip_error_set(ENOMEM, "domain: no memory for work references");
}

void
trip_work_refs_fini(struct trip_domain *domain)
{
	for (unsigned int kind = 1; kind < TRIP_OP_TARGETS_END; kind++)
		free(domain->work_refs.count[kind]);
	free(domain->work_refs.handles);
}

/* NULL: none. The descriptor is in shared memory: another process may have written there. */
static _Atomic uint32_t *
refs_of(const struct trip_domain *domain, enum trip_op_target kind, uint32_t index)
{
	return index < trip_op_targets(&domain->engine, kind)
		       ? &domain->work_refs.count[kind][index]
		       : NULL;
}

/* Of an object that this process has a handle of. */
static void
take(const struct trip_domain *domain, enum trip_op_target kind, uint32_t index)
{
	atomic_fetch_add_explicit(&domain->work_refs.count[kind][index], 1, memory_order_relaxed);
}

/* Likewise a counter, if it is one: none is above all of them, and so are those of pairs. */
static void
take_cntr(const struct trip_domain *domain, uint32_t n_cntrs, uint32_t index)
{
	if (index < n_cntrs)
		take(domain, TRIP_OP_ON_CNTR, index);
}

/* Release: whoever closes the object sees the item gone from it. */
static void
drop(_Atomic uint32_t *count)
{
	if (count != NULL)
		atomic_fetch_sub_explicit(count, 1, memory_order_release);
}

void
trip_work_refs_take(struct trip_domain *domain, const struct trip_work_desc *desc)
{
	uint32_t n_cntrs = trip_op_targets(&domain->engine, TRIP_OP_ON_CNTR);

	take_cntr(domain, n_cntrs, desc->trigger);
	take_cntr(domain, n_cntrs, desc->completion);
	take(domain, trip_op_of(desc->op)->target, desc->target);
}

void
trip_work_refs_drop(struct trip_domain *domain, const struct trip_work_desc *desc)
{
	drop(refs_of(domain, TRIP_OP_ON_CNTR, desc->trigger));
	drop(refs_of(domain, TRIP_OP_ON_CNTR, desc->completion));
	drop(refs_of(domain, trip_op_of(desc->op)->target, desc->target));
}

void
trip_work_refs_take_cntr(struct trip_domain *domain, uint32_t cntr)
{
	take_cntr(domain, trip_op_targets(&domain->engine, TRIP_OP_ON_CNTR), cntr);
}

void
trip_work_refs_drop_cntr(struct trip_domain *domain, uint32_t cntr)
{
	drop(refs_of(domain, TRIP_OP_ON_CNTR, cntr));
}

void
trip_work_refs_open(struct trip_cntr *cntr)
{
	struct trip_domain *domain = cntr->fid.domain;

	pthread_mutex_lock(&domain->lock);
	domain->work_refs.handles[cntr->global]++;
	pthread_mutex_unlock(&domain->lock);
}

uint32_t
trip_work_refs_close(struct trip_cntr *cntr)
{
	struct trip_domain *domain = cntr->fid.domain;
	uint32_t *handles = &domain->work_refs.handles[cntr->global],
		 refs = trip_fid_refs(&cntr->fid);

	pthread_mutex_lock(&domain->lock);
	if (!cntr->found || *handles == 1)
		refs += trip_work_refs_count(domain, TRIP_OP_ON_CNTR, cntr->global);
	*handles -= refs == 0;
	pthread_mutex_unlock(&domain->lock);
	return refs;
}

/* Acquire: whoever closes the object sees the items gone from it. */
uint32_t
trip_work_refs_count(const struct trip_domain *domain, enum trip_op_target target, uint32_t index)
{
	return atomic_load_explicit(&domain->work_refs.count[target][index], memory_order_acquire);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "domain/domain.h"
#include "domain/error.h"
#include "work/hold.h"

int
trip_hold_init(struct trip_domain *domain)
{
	struct trip_holds *holds = &domain->holds;
	bool has_all;

	holds->handles =
		calloc(trip_op_targets(&domain->engine, TRIP_OP_ON_CNTR), sizeof(*holds->handles));
	has_all = holds->handles != NULL;
	for (unsigned int kind = 1; kind < TRIP_OP_TARGETS_END; kind++) {
		holds->refs[kind] =
			calloc(trip_op_targets(&domain->engine, kind), sizeof(*holds->refs[kind]));
		has_all &= holds->refs[kind] != NULL;
	}
	return has_all ? 0 : trip_error_set(ENOMEM, "domain: no memory for work references");
}

void
trip_hold_fini(struct trip_domain *domain)
{
	for (unsigned int kind = 1; kind < TRIP_OP_TARGETS_END; kind++)
		free(domain->holds.refs[kind]);
	free(domain->holds.handles);
}

/* NULL: there is none. The descriptor lies in shared memory: another process may have written there
 * since. */
static _Atomic uint32_t *
refs_of(const struct trip_domain *domain, enum trip_op_target kind, uint32_t index)
{
	return index < trip_op_targets(&domain->engine, kind) ? &domain->holds.refs[kind][index]
							      : NULL;
}

static void
hold(_Atomic uint32_t *count)
{
	if (count != NULL)
		atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
}

/* Release: whoever closes the object sees the item gone from it. */
static void
let_go(_Atomic uint32_t *count)
{
	if (count != NULL)
		atomic_fetch_sub_explicit(count, 1, memory_order_release);
}

void
trip_hold(struct trip_domain *domain, const struct trip_work_desc *desc)
{
	hold(refs_of(domain, TRIP_OP_ON_CNTR, desc->trigger));
	hold(refs_of(domain, TRIP_OP_ON_CNTR, desc->completion));
	hold(refs_of(domain, trip_op_of(desc->op)->target, desc->target));
}

void
trip_hold_let_go(struct trip_domain *domain, const struct trip_work_desc *desc)
{
	let_go(refs_of(domain, TRIP_OP_ON_CNTR, desc->trigger));
	let_go(refs_of(domain, TRIP_OP_ON_CNTR, desc->completion));
	let_go(refs_of(domain, trip_op_of(desc->op)->target, desc->target));
}

void
trip_hold_open(struct trip_cntr *cntr)
{
	struct trip_domain *domain = cntr->fid.domain;

	pthread_mutex_lock(&domain->lock);
	domain->holds.handles[cntr->global]++;
	pthread_mutex_unlock(&domain->lock);
}

uint32_t
trip_hold_close(struct trip_cntr *cntr, uint32_t refs)
{
	struct trip_domain *domain = cntr->fid.domain;
	uint32_t *handles = &domain->holds.handles[cntr->global];

	pthread_mutex_lock(&domain->lock);
	if (!cntr->found || *handles == 1)
		refs += trip_hold_count(domain, TRIP_OP_ON_CNTR, cntr->global);
	*handles -= refs == 0;
	pthread_mutex_unlock(&domain->lock);
	return refs;
}

/* Acquire: whoever closes the object sees the items gone from it. */
uint32_t
trip_hold_count(const struct trip_domain *domain, enum trip_op_target target, uint32_t index)
{
	return atomic_load_explicit(&domain->holds.refs[target][index], memory_order_acquire);
}

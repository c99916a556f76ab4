/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "domain.h"
#include "error.h"
#include "hold.h"

static uint32_t
n_cntrs(const struct trip_domain *domain)
{
	return domain->attr.n_lcores * domain->engine.cntrs_per_home;
}

int
trip_hold_init(struct trip_domain *domain)
{
	struct trip_holds *holds = &domain->holds;

	holds->cntrs = calloc(n_cntrs(domain), sizeof(*holds->cntrs));
	holds->flows = calloc(domain->engine.n_flows, sizeof(*holds->flows));
	holds->functions = calloc(domain->engine.n_functions, sizeof(*holds->functions));
	holds->handles = calloc(n_cntrs(domain), sizeof(*holds->handles));
	return holds->cntrs != NULL && holds->flows != NULL && holds->functions != NULL &&
			       holds->handles != NULL
		       ? 0
		       : trip_error_set(ENOMEM, "domain: no memory for work references");
}

void
trip_hold_fini(struct trip_domain *domain)
{
	free(domain->holds.cntrs);
	free(domain->holds.flows);
	free(domain->holds.functions);
	free(domain->holds.handles);
}

/* The descriptor lies in shared memory: another process may have written there since. */
static _Atomic uint32_t *
of_cntr(const struct trip_domain *domain, uint32_t cntr)
{
	return cntr < n_cntrs(domain) ? &domain->holds.cntrs[cntr] : NULL;
}

static _Atomic uint32_t *
of_target(const struct trip_domain *domain, const struct trip_work_desc *desc)
{
	switch (desc->op) {
	case TRIP_OP_CNTR_ADD:
	case TRIP_OP_CNTR_SET:
		return of_cntr(domain, desc->target);
	case TRIP_OP_FLOW_DROP:
	case TRIP_OP_FLOW_PASS:
	case TRIP_OP_FLOW_DELETE:
		return desc->target < domain->engine.n_flows ? &domain->holds.flows[desc->target]
							     : NULL;
	case TRIP_OP_CALL:
		return desc->target < domain->engine.n_functions
			       ? &domain->holds.functions[desc->target]
			       : NULL;
	default:
		return NULL;
	}
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
	hold(of_cntr(domain, desc->trigger));
	hold(of_cntr(domain, desc->completion));
	hold(of_target(domain, desc));
}

void
trip_hold_let_go(struct trip_domain *domain, const struct trip_work_desc *desc)
{
	let_go(of_cntr(domain, desc->trigger));
	let_go(of_cntr(domain, desc->completion));
	let_go(of_target(domain, desc));
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
		refs += atomic_load_explicit(
			&domain->holds.cntrs[cntr->global], memory_order_acquire);
	*handles -= refs == 0;
	pthread_mutex_unlock(&domain->lock);
	return refs;
}

uint32_t
trip_hold_flow(const struct trip_domain *domain, uint32_t flow)
{
	return atomic_load_explicit(&domain->holds.flows[flow], memory_order_acquire);
}

uint32_t
trip_hold_function(const struct trip_domain *domain, uint32_t function)
{
	return atomic_load_explicit(&domain->holds.functions[function], memory_order_acquire);
}

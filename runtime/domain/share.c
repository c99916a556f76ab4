/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the header by which a domain is found, and its fingerprint of the layout. */
#include <stdio.h>
#include <sys/random.h>

#include <rte_common.h>

#include <trip_version.h>

#include "domain/domain.h"
#include "domain/share.h"
#include "each_queue.h"
#include "node.h"
#include "rulebook.h"
#include "waiter.h"

uint32_t
trip_share_layout(void)
{
	static const size_t sizes[] = {
		sizeof(struct trip_share),
		sizeof(struct trip_domain_attr),
		sizeof(struct trip_cell),
		sizeof(struct trip_published),
		sizeof(struct trip_home_cntr),
		sizeof(struct trip_node),
		sizeof(struct trip_waiter),
		sizeof(struct trip_waiter_node),
		sizeof(struct trip_work_desc),
		sizeof(struct trip_event),
		sizeof(struct trip_flow_feed),
		sizeof(struct trip_count),
		sizeof(struct trip_count_moments),
		sizeof(struct trip_claim),
		sizeof(struct trip_police),
		sizeof(struct trip_rulebook_head),
		sizeof(struct trip_rulebook_rule),
		sizeof(struct trip_each_statement),
		sizeof(struct trip_each_queue),
		TRIP_BELLS,
	};
	uint32_t hash = 2166136261u;

	for (unsigned int i = 0; i < RTE_DIM(sizes); i++)
		hash = (hash ^ (uint32_t)sizes[i]) * 16777619u;
	for (const char *c = TRIP_VERSION_STRING; *c != 0; c++)
		hash = (hash ^ (unsigned char)*c) * 16777619u;
	return hash;
}

void
trip_share_write(struct trip_domain *domain, struct trip_share *share)
{
	if (getrandom(&domain->nonce, sizeof(domain->nonce), 0) != sizeof(domain->nonce))
		domain->nonce = domain->engine.tsc_hz ^ (uintptr_t)domain;
	*share = (struct trip_share){
		.layout = trip_share_layout(),
		.version = TRIP_VERSION_STRING,
		.has_each = domain->attr.each_bytes != 0,
		.nonce = domain->nonce,
	};
}

void
trip_share_show(struct trip_share *share, bool shown)
{
	/* Release: who sees it sees the rest. It has no partner: who does not, is not let in. */
	atomic_store_explicit(&share->magic, shown ? TRIP_SHARE_MAGIC : 0, memory_order_release);
}

void
trip_share_zone_name(const char *domain, const char *what, char *name, size_t size)
{
	snprintf(name, size, "trip_%s_%s", domain, what);
}

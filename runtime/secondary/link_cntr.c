/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters of an attached process: the primary has their registry. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include <rte_cycles.h>

#include "client/protocol.h"
#include "cntr/cntr.h"
#include "cntr/registry.h"
#include "domain/domain.h"
#include "domain/error.h"
#include "secondary/link.h"

/* Before the primary is asked again for what its homes have yet to give back. */
#define AGAIN_NS 1000000

/* Which index of which home an id is of, the primary says and we check. */
static int
take_opened(struct trip_cntr *cntr, const struct trip_protocol_opened *opened)
{
	struct trip_domain *domain = cntr->fid.domain;
	struct trip_entry entry = {
		.id = opened->cntr,
		.global =
			(uint32_t)(opened->cntr & ((UINT64_C(1) << TRIP_REGISTRY_INDEX_BITS) - 1)),
		.events = (enum trip_cntr_events)opened->events,
	};

	memcpy(entry.name, opened->name, sizeof(entry.name) - 1);
	if (!trip_engine_has_cntr(&domain->engine, entry.global))
		return trip_error_set(EPROTO, "domain \"%s\": the primary gives counter %u",
			domain->name, entry.global);
	trip_cntr_bind(cntr, &entry, NULL);
	trip_domain_count(domain, &domain->n_cntrs, 1);
	return 0;
}

/* Waits as trip_registry_enter() does; the primary would keep everybody waiting. */
static int
ask_until_given(struct trip_domain *domain, const struct trip_protocol_open *open,
	union trip_protocol_answer *answer)
{
	const struct timespec pause = {.tv_nsec = AGAIN_NS};
	uint64_t until = rte_rdtsc() + rte_get_tsc_hz() / 1000 * TRIP_REGISTRY_GRACE_MS;
	int error;

	while ((error = trip_link_call(domain, TRIP_PROTOCOL_OPEN, open, sizeof(*open), answer,
			NULL)) == -EAGAIN &&
		rte_rdtsc() < until)
		nanosleep(&pause, NULL);
	return error == -EAGAIN ? -ENOSPC : error;
}

static int
open_cntr(struct trip_cntr *cntr, const struct trip_cntr_attr *attr)
{
	struct trip_protocol_open asked = {.events = attr->events};
	struct trip_protocol_find wanted = {0};
	union trip_protocol_answer answer;
	int error;

	if (attr->name != NULL) {
		strcpy(asked.name, attr->name);
		strcpy(wanted.name, attr->name);
	}
	error = cntr->found ? trip_link_call(cntr->fid.domain, TRIP_PROTOCOL_FOUND, &wanted,
				      sizeof(wanted), &answer, NULL)
			    : ask_until_given(cntr->fid.domain, &asked, &answer);
	return error == 0 ? take_opened(cntr, &answer.opened) : error;
}

/* The primary's end has taken it back, too. */
static int
ask_close(struct trip_cntr *cntr, bool abandoned)
{
	const struct trip_protocol_close asked = {
		.cntr = cntr->id, .found = cntr->found, .abandoned = abandoned};
	int error = trip_link_call(
		cntr->fid.domain, TRIP_PROTOCOL_CLOSE, &asked, sizeof(asked), NULL, NULL);

	return error != -ESHUTDOWN ? error : 0;
}

static int
retire(struct trip_cntr *cntr)
{
	return ask_close(cntr, false);
}

static void
let_go(struct trip_cntr *cntr, bool abandoned)
{
	if (abandoned)
		(void)ask_close(cntr, true);
	trip_domain_count(cntr->fid.domain, &cntr->fid.domain->n_cntrs, -1);
}

const struct trip_cntr_backend trip_link_cntr = {
	.open = open_cntr,
	.retire = retire,
	.let_go = let_go,
};

/* SPDX-License-Identifier: BSD-3-Clause */
/* Lets go of items of pairs. pairs.h tells how. */
#include "work/pairs.h"
#include "work/submitter.h"
#include "work/work_refs.h"

void
trip_pairs_free(
	struct trip_domain *domain, struct trip_submitter *submitter, struct trip_group *group)
{
	for (uint32_t i = 0; i < group->n_pairs; i++) {
		uint32_t home, slot;
		struct trip_submitter *of =
			trip_submitter_of(domain, group->pairs[i], &home, &slot);

		if (of != NULL && trip_channel_cancel(of->channel, group->pairs[i]) == 0)
			trip_doorbell_ring(&domain->engine.homes[home]->doorbell, TRIP_BELL_CHANNEL,
				of->number);
	}
	group->id = TRIP_WORK_NONE;
	group->next = submitter->free_group;
	submitter->free_group = (uint32_t)(group - submitter->groups) + 1;
}

/* Under the lock. What its pairs wait for is let go; and so on with what is nested. */
static void
end_group(struct trip_domain *domain, struct trip_submitter *submitter, struct trip_group *group)
{
	for (uint32_t i = 0; i < group->n_pairs; i++) {
		struct trip_group *nested = trip_pairs_group(submitter, group->triggers[i]);

		if (nested != NULL)
			end_group(domain, submitter, nested);
		else
			trip_work_refs_drop_cntr(domain, group->triggers[i]);
	}
	trip_pairs_free(domain, submitter, group);
}

void
trip_pairs_let_go(struct trip_domain *domain, struct trip_submitter *submitter, uint32_t slot)
{
	const struct trip_channel_client *channel = submitter->channel;
	const struct trip_work_desc *desc = trip_channel_desc(channel, slot);
	struct trip_group *group = trip_pairs_group(submitter, desc->trigger);

	if (group == NULL || group->id == TRIP_WORK_NONE ||
		trip_channel_id_number(group->id) - channel->map.first != slot)
		return;
	trip_work_refs_drop(domain, desc);
	end_group(domain, submitter, group);
}

uint64_t
trip_pairs_id(struct trip_domain *domain, const struct trip_submitter *submitter, uint32_t fed,
	uint64_t pair)
{
	uint32_t home = fed / domain->engine.cntrs_per_home;
	uint32_t channel = submitter->number - domain->submitters[0]->number;
	struct trip_submitter *at = &domain->submitters[home % domain->engine.n_homes][channel];
	const struct trip_group *group = trip_pairs_group(at, fed);
	uint64_t id = TRIP_WORK_NONE;

	trip_domain_lock(&at->lock);
	/* Ids are never used again, groups are. */
	for (uint32_t i = 0; group != NULL && i < group->n_pairs; i++)
		if (group->pairs[i] == pair)
			id = group->id;
	trip_domain_unlock(&at->lock);
	return id;
}

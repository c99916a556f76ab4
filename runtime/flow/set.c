/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets of a domain, and what flows have of them. Members are made without any lock held, published
 * under the control lock to each table that asks for them, and the old ones freed when all bursts
 * that were under way have ended: nobody reads them any more then (within.h).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <trip_flow_item.h>

#include "domain/error.h"
#include "domain/progress.h"
#include "domain/sized.h"
#include "flow/flow.h"
#include "flow/set.h"
#include "pattern_back.h"
#include "pattern_item.h"

#define TESTS_WORD (TRIP_PLACE_TESTS / 8)

/* Whoever changes a set waits for bursts. */
static int
check(const struct trip_domain *domain, const char *name)
{
	return trip_progress_check_named(domain, "set", name, "change it");
}

/* Under the control lock. */
static struct trip_set *
find(const struct trip_domain *domain, const char *name)
{
	struct trip_set *set;

	LIST_FOREACH (set, &domain->sets, other)
		if (strcmp(set->name, name) == 0)
			break;
	return set;
}

static int
add(struct trip_domain *domain, struct trip_set *set)
{
	bool known;

	trip_progress_lock(domain);
	known = find(domain, set->name) != NULL;
	if (!known)
		LIST_INSERT_HEAD(&domain->sets, set, other);
	pthread_mutex_unlock(&domain->control);
	return known ? trip_error_set(EEXIST, "set \"%s\": the domain has one", set->name) : 0;
}

int
trip_set_open(struct trip_domain *domain, const struct trip_set_attr *given, struct trip_set **out)
{
	struct trip_set_attr attr;
	struct trip_set *set;
	int error;

	if (TRIP_SIZED_TAKE(trip_set_attr, &attr, given) != 0)
		return -EINVAL;
	error = trip_error_check_name("set", attr.name, TRIP_NAME_MAX);
	if (error == 0)
		error = check(domain, attr.name);
	if (error == 0 && domain->link != NULL)
		error = trip_error_set(ENOTSUP, "set \"%s\": only the primary has sets", attr.name);
	if (error != 0)
		return error;
	set = calloc(1, sizeof(*set));
	if (set == NULL || trip_members_open(NULL, 0, &set->members) != 0) {
		free(set);
		return trip_error_set(ENOMEM, "set \"%s\": no memory for it", attr.name);
	}
	set->domain = domain;
	strcpy(set->name, attr.name);
	error = add(domain, set);
	if (error != 0) {
		trip_members_close(set->members);
		free(set);
		return error;
	}
	*out = set;
	return 0;
}

/* No burst is under way any more that was when it began. Under the control lock. */
static void
outlive_bursts(const struct trip_domain *domain)
{
	uint64_t began = rte_rdtsc();

	for (unsigned int p = 0; p < RTE_DIM(domain->ports); p++)
		for (unsigned int s = 0; domain->ports[p] != NULL && s < TRIP_PORT_SIDES; s++) {
			struct trip_table *table = domain->ports[p]->sides[s].table;
			uint64_t stamp;

			if (table == NULL)
				continue;
			stamp = trip_era_retire(&table->era);
			while (!trip_era_safe(&table->era, stamp))
				trip_progress_wait_burst(began);
		}
}

/* Leaves those that each had in the place of its new ones: nobody reads them any more. */
static void
swap(const struct trip_set_change *changes, struct trip_members **members, unsigned int n)
{
	struct trip_domain *domain = changes[0].set->domain;

	trip_progress_lock(domain);
	for (unsigned int i = 0; i < n; i++) {
		struct trip_set *set = changes[i].set;
		struct trip_members *next = members[i];

		members[i] = set->members;
		set->members = next;
		for (unsigned int p = 0; p < RTE_DIM(domain->ports); p++)
			for (unsigned int s = 0; domain->ports[p] != NULL && s < TRIP_PORT_SIDES;
				s++)
				if (domain->ports[p]->sides[s].table != NULL)
					(void)trip_within_replace(
						&domain->ports[p]->sides[s].table->within, set,
						next);
	}
	outlive_bursts(domain);
	pthread_mutex_unlock(&domain->control);
}

static int
open_members(const struct trip_set_change *change, struct trip_members **members)
{
	const char *name = change->set->name;
	int error = trip_members_open(change->entries, change->n_entries, members);

	if (error == -EINVAL)
		return trip_error_set(EINVAL,
			"set \"%s\": an entry has a kind or a length that is unknown", name);
	if (error == -E2BIG)
		return trip_error_set(E2BIG, "set \"%s\": %zu entries are above the limit %" PRIu32,
			name, change->n_entries, TRIP_SET_ENTRIES_MAX);
	return error == 0 ? 0
			  : trip_error_set(ENOMEM, "set \"%s\": no memory for %zu entries", name,
				    change->n_entries);
}

static int
open_change(const struct trip_set_change *changes, unsigned int i, struct trip_members **members)
{
	const struct trip_set *set = changes[i].set;
	int error = check(set->domain, set->name);

	if (error == 0 && set->domain != changes[0].set->domain)
		error = trip_error_set(EXDEV, "set \"%s\" is of another domain than \"%s\"",
			set->name, changes[0].set->name);
	return error == 0 ? open_members(&changes[i], members) : error;
}

int
trip_set_replace_all(const struct trip_set_change *changes, unsigned int n_changes)
{
	struct trip_members **members;
	unsigned int n = 0;
	int error = 0;

	if (n_changes == 0)
		return 0;
	members = calloc(n_changes, sizeof(struct trip_members *));
	if (members == NULL)
		return trip_error_set(ENOMEM, "set \"%s\": no memory to change %u sets",
			changes[0].set->name, n_changes);
	while (n < n_changes && (error = open_change(changes, n, &members[n])) == 0)
		n++;
	if (error == 0)
		swap(changes, members, n);
	/* What was made, or what was there before. */
	for (unsigned int i = 0; i < n; i++)
		trip_members_close(members[i]);
	free(members);
	return error;
}

int
trip_set_replace(struct trip_set *set, const struct trip_set_entry *entries, size_t n_entries)
{
	const struct trip_set_change change = {set, entries, n_entries};

	return trip_set_replace_all(&change, 1);
}

int
trip_set_query(struct trip_set *set, struct trip_set_info *info)
{
	struct trip_set_info own = {0};
	int error = check(set->domain, set->name);

	if (error != 0)
		return error;
	trip_progress_lock(set->domain);
	own.entries = set->members->n_entries;
	own.bytes = set->members->bytes;
	own.flows = set->n_flows;
	pthread_mutex_unlock(&set->domain->control);
	return TRIP_SIZED_GIVE(trip_set_info, info, &own);
}

int
trip_set_close(struct trip_set *set)
{
	struct trip_domain *domain = set->domain;
	int error = check(domain, set->name);
	uint64_t n_flows;

	if (error != 0)
		return error;
	trip_progress_lock(domain);
	n_flows = set->n_flows;
	if (n_flows == 0) {
		LIST_REMOVE(set, other);
		outlive_bursts(domain);
	}
	pthread_mutex_unlock(&domain->control);
	if (n_flows > 0)
		return trip_error_set(
			EBUSY, "set \"%s\": %" PRIu64 " flows ask for it", set->name, n_flows);
	trip_members_close(set->members);
	free(set);
	return 0;
}

/* ---- what flows have of them ---- */

static int
attach(struct trip_port_side *side, struct trip_set *set, const struct trip_pattern_test *test,
	struct trip_pattern *pattern)
{
	int bit =
		trip_within_take(&side->table->within, set, set->members, test->place, test->kind);

	if (bit < 0)
		return bit;
	/* The same test twice: the flow has it once. */
	if ((pattern->mask[TESTS_WORD] >> bit & 1) != 0) {
		trip_within_give(&side->table->within, (uint32_t)bit);
		return 0;
	}
	pattern->mask[TESTS_WORD] |= UINT64_C(1) << bit;
	pattern->value[TESTS_WORD] |= UINT64_C(1) << bit;
	set->n_flows++;
	return 0;
}

int
trip_set_attach(const struct trip_flow *flow, const struct trip_pattern_tests *tests,
	struct trip_pattern *pattern, struct rte_flow_error *error)
{
	struct trip_port_side *side = trip_flow_side(flow);
	int result = 0;

	if (tests->n > 0 && side->rules != NULL)
		return trip_flow_refuse(error, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM, NULL,
			"set: other processes have found the port, and sets are the primary's "
			"alone");
	for (uint32_t i = 0; i < tests->n && result == 0; i++) {
		struct trip_set *set = find(flow->port->domain, tests->at[i].set);

		result = set != NULL ? attach(side, set, &tests->at[i], pattern) : -ENOENT;
		if (result == -ENOENT)
			trip_flow_refuse(error, ENOENT, RTE_FLOW_ERROR_TYPE_ITEM_SPEC, NULL,
				"no set is named \"%s\"", tests->at[i].set);
		else if (result != 0)
			trip_flow_refuse(error, -result, RTE_FLOW_ERROR_TYPE_ITEM, NULL,
				"the port has the most different tests of sets that it can have, "
				"%d",
				TRIP_SET_TESTS_MAX);
	}
	if (result != 0)
		trip_set_detach(side, pattern);
	return result;
}

/* The set of a test that some rule has. */
static struct trip_set *
set_of(const struct trip_port_side *side, uint32_t test, uint32_t *place)
{
	return (struct trip_set *)(uintptr_t)trip_within_set(&side->table->within, test, place);
}

void
trip_set_detach(struct trip_port_side *side, const struct trip_pattern *pattern)
{
	uint64_t tests = pattern->mask[TESTS_WORD];
	uint32_t place;

	for (; tests != 0; tests &= tests - 1) {
		uint32_t test = (uint32_t)__builtin_ctzll(tests);

		set_of(side, test, &place)->n_flows--;
		trip_within_give(&side->table->within, test);
	}
}

static void
describe(const struct trip_set *set, uint32_t place, struct trip_pattern_items *items)
{
	uint32_t base = place >= TRIP_PLACE_INNER ? TRIP_PLACE_INNER : 0;
	bool inner = false;

	for (uint32_t i = 0; i < items->n; i++) {
		const struct trip_flow_item *known = trip_flow_item_of((int)items->items[i].type);

		inner |= known != NULL && known->layer == TRIP_FLOW_TUNNEL;
		if (known == NULL || inner != (base != 0) ||
			(known->layer != TRIP_FLOW_IP && known->layer != TRIP_FLOW_L4))
			continue;
		for (unsigned int k = 0; k < known->n_fields; k++) {
			const struct trip_flow_field *field = trip_flow_item_field(known, k);

			if (field->unread || trip_pattern_item_flag(known, field) ||
				base + trip_pattern_item_place(known, 0, field).at != place)
				continue;
			trip_pattern_back_set(items, i, set->name, field->offset);
			return;
		}
	}
}

void
trip_set_describe(const struct trip_port_side *side, const struct trip_pattern *pattern,
	struct trip_pattern_items *items)
{
	uint64_t tests = pattern->mask[TESTS_WORD];
	uint32_t place;

	for (; tests != 0; tests &= tests - 1) {
		const struct trip_set *set = set_of(side, (uint32_t)__builtin_ctzll(tests), &place);

		describe(set, place, items);
	}
}

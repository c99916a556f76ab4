/* SPDX-License-Identifier: BSD-3-Clause */
/* Work items and counters, and what homes do with them, as it happens. */
#include <string.h>

#include "domain/domain.h"
#include "node.h"
#include "processes_rules.h"

struct items items;

bool __real_trip_channel_claim(
	struct trip_channel_home *channel, uint32_t slot, uint64_t generation);
bool __wrap_trip_channel_claim(
	struct trip_channel_home *channel, uint32_t slot, uint64_t generation);
bool __real_trip_channel_queued(
	const struct trip_channel_home *channel, uint32_t slot, uint64_t generation);
bool __wrap_trip_channel_queued(
	const struct trip_channel_home *channel, uint32_t slot, uint64_t generation);
void __real_trip_fire(struct trip_home *home, const uint32_t *nodes, unsigned int n);
void __wrap_trip_fire(struct trip_home *home, const uint32_t *nodes, unsigned int n);

void
processes_items_begin(void)
{
	memset(&items, 0, sizeof(items));
	processes_garbage_begin();
}

/* --- items --- */

bool
processes_op_counts(enum trip_op op)
{
	struct trip_op_info info = {.size = sizeof(info)};

	return trip_op_describe(op, &info) == 0 && info.target == TRIP_OP_ON_CNTR;
}

struct item *
processes_item_new(struct user *user, const struct trip_work *work)
{
	struct item *item = &items.all[items.n];
	bool counts = processes_op_counts(work->op_type);

	if (items.n == ITEMS)
		return NULL;
	items.n++;
	*item = (struct item){
		.user = user,
		.process = user->process,
		.attachment = user->attachment,
		.opening = user->opening,
		.actor = sim_self(),
		.trigger = work->triggering_cntr->id,
		.trigger_index = work->triggering_cntr->global,
		.target = counts ? work->op.cntr.cntr->id : 0,
		.completion = work->completion_cntr != NULL ? work->completion_cntr->id : 0,
		.threshold = work->threshold,
		.interval = work->interval,
		.value = counts ? work->op.cntr.value : 0,
		.op = work->op_type,
		.flags = work->flags,
		.rests = work->condition != NULL,
		.began = sim_steps(),
	};
	return item;
}

void
processes_item_asked(struct item *item, const struct trip_cntr *trigger, int error)
{
	bool looks = sim_look(true);

	item->sum = trigger->is_clock ? 0 : trip_cell_sum(trigger->cell);
	(void)sim_look(looks);
	item->ended = sim_steps();
	/* A function may have canceled it meanwhile. */
	if (item->state == ITEM_ASKED)
		item->state = error == 0 ? ITEM_QUEUED : ITEM_REFUSED;
}

bool
processes_item_is_held(const struct item *item)
{
	return processes_item_is_of(item, item->user) && sim_process_lives(item->process) &&
	       item->opening == processes.opening && item->user->domain != NULL;
}

unsigned int
processes_item_slots(const struct item *item)
{
	return 1u + (item->op == TRIP_OP_CNTR_FILL) + item->rests;
}

bool
processes_item_waits(const struct item *item)
{
	return item->state <= ITEM_QUEUED && (item->interval != 0 || item->fired == 0);
}

void
processes_items_leave(const struct user *user)
{
	for (unsigned int i = 0; i < items.n; i++)
		if (processes_item_is_of(&items.all[i], user))
			items.all[i].left = true;
}

bool
processes_items_refer(const struct user *user, const struct trip_cntr *cntr)
{
	for (unsigned int i = 0; i < items.n; i++) {
		const struct item *item = &items.all[i];

		if (processes_item_is_of(item, user) && item->state <= ITEM_QUEUED &&
			!item->settled &&
			(item->trigger == cntr->id || item->target == cntr->id ||
				item->completion == cntr->id))
			return true;
	}
	return false;
}

/* It waits, and no call is under way that takes it back. */
static bool
waits_for_sure(const struct item *item)
{
	return item->state == ITEM_QUEUED && processes_item_waits(item) && !item->canceling &&
	       !item->contested && !item->doubtful;
}

/* The first such item, of a counter's id, not 0, or of a rule. */
static const struct item *
find_need(const struct user *user, uint64_t cntr, const struct rule *rule)
{
	for (unsigned int i = 0; i < items.n && !user->scribbles; i++) {
		const struct item *item = &items.all[i];

		if (!processes_item_is_of(item, user) || !waits_for_sure(item))
			continue;
		if (rule != NULL ? item->rule == rule
				 : item->trigger == cntr || item->target == cntr ||
					   item->completion == cntr)
			return item;
	}
	return NULL;
}

void
processes_items_let_go(const struct user *user, uint64_t cntr, const struct rule *rule)
{
	const struct item *item = find_need(user, cntr, rule);

	sim_expect(item == NULL, "a %s is closed, and item %u waits, which refers to it",
		rule != NULL ? "flow" : "counter", processes_item_number(item));
}

bool
processes_items_refer_to_flow(const struct user *user, const struct rule *rule)
{
	for (unsigned int i = 0; i < items.n; i++) {
		const struct item *item = &items.all[i];

		if (processes_item_is_of(item, user) && item->state <= ITEM_QUEUED &&
			!item->settled && item->rule == rule && rule != NULL)
			return true;
	}
	return false;
}

/* --- what counters come to --- */

static struct ledger *
find_ledger(uint64_t opening, uint64_t id)
{
	for (unsigned int i = 0; i < items.n_ledgers; i++)
		if (items.ledgers[i].id == id && items.ledgers[i].opening == opening)
			return &items.ledgers[i];
	return NULL;
}

struct ledger *
processes_ledger_of(uint64_t opening, uint64_t id)
{
	struct ledger *ledger = find_ledger(opening, id);

	sim_expect(ledger != NULL, "a home changes a counter that nobody has opened");
	return ledger;
}

struct ledger *
processes_ledger(const struct trip_cntr *cntr)
{
	uint64_t opening = cntr->fid.domain->engine.base_tsc;
	struct ledger *ledger = find_ledger(opening, cntr->id);

	if (ledger != NULL)
		return ledger;
	if (items.n_ledgers == LEDGERS)
		sim_fail("more counters than there is room for");
	ledger = &items.ledgers[items.n_ledgers++];
	*ledger = (struct ledger){.opening = opening, .id = cntr->id, .index = cntr->global};
	return ledger;
}

static void
count_firing(const struct item *item, uint64_t count)
{
	uint64_t changed = item->target != 0 ? item->target : item->completion;
	uint64_t value = item->target != 0 ? item->value * count : 1;
	struct ledger *ledger;

	if (changed == 0)
		return;
	ledger = processes_ledger_of(item->opening, changed);
	/* One that is about a flow fails where that has ended before it is through. */
	ledger->low += item->rule == NULL ? value : 0;
	ledger->high += value;
	ledger->vague |= item->target != 0 && item->op != TRIP_OP_CNTR_ADD;
}

/* --- what homes claim --- */

/*
 * It should fire first: of one threshold, it was queued before by the same thread (WORK-03); or it
 * is lower, and both were queued before the counter was there (WORK-02). What is due when it is
 * accepted comes behind all that the sample makes due.
 */
static bool
overtakes(const struct item *item, const struct item *other)
{
	if (other->state != ITEM_QUEUED || other->canceling || other->fired > 0 || other->rests ||
		other->opening != item->opening || other->trigger_index != item->trigger_index ||
		other->trigger != item->trigger || other->contested ||
		!sim_process_lives(other->process) || other->user->scribbles)
		return false;
	if (other->threshold == item->threshold)
		return other->attachment == item->attachment && other->actor == item->actor &&
		       other->ended < item->began;
	return other->threshold < item->threshold && sim_memory_kind() == SIM_MEMORY_STRONG &&
	       item->state == ITEM_QUEUED && item->trigger != 0 &&
	       !processes_ledger_is_vague(processes_ledger_of(item->opening, item->trigger)) &&
	       !processes_ledger_of(item->opening, item->trigger)->fed &&
	       item->sum < other->threshold && other->sum < other->threshold;
}

static void
check_order(const struct item *item)
{
	if (item->rests || item->fired > 0)
		return;
	for (unsigned int i = 0; i < items.n; i++)
		sim_expect(!overtakes(item, &items.all[i]),
			"item %u, at %llu, fires before item %u, at %llu",
			processes_item_number(item), (unsigned long long)item->threshold, i,
			(unsigned long long)items.all[i].threshold);
}

static void
check_firing(const struct item *item, const struct trip_home *home, bool last)
{
	unsigned int number = processes_item_number(item);

	sim_expect(item->opening == home->engine->base_tsc,
		"item %u fires in a domain that it was not queued in", number);
	sim_expect(item->state != ITEM_REFUSED, "item %u was refused, and fires", number);
	sim_expect(item->state != ITEM_CANCELED || (item->interval != 0 && !last),
		"item %u was canceled, and fires", number);
	sim_expect(!item->gone, "item %u fires, and its process has been cleared away", number);
	sim_expect(item->interval != 0 || item->fired == 0, "item %u fires twice", number);
	check_order(item);
}

static void
note_rule(const struct item *item)
{
	unsigned int self = sim_self(), n = items.firing[self].n_rules++;

	sim_expect(n < FIRED_RULES, "a home does more to flows at a time than there is room for");
	items.firing[self].rules[n].rule = item->rule;
	items.firing[self].rules[n].op = item->op;
	items.firing[self].rules[n].ledger =
		item->completion != 0 && processes_rule_is_sure(item->rule)
			? processes_ledger_of(item->opening, item->completion)
			: NULL;
	processes_rule_claimed(item->rule);
}

static void
claimed(const struct trip_channel_home *channel, uint32_t slot, bool last)
{
	struct trip_home *home = items.firing[sim_self()].home;
	const struct trip_node *node = &home->nodes[trip_node_first(home, channel) + slot];
	uint64_t sum = home->cntrs[node->cntr].pending.sample, count = 1;
	struct item *item;

	items.firing[sim_self()].garbage =
		processes_garbage_writer(home, (uint32_t)(channel - home->channels)) != NULL;
	if (items.firing[sim_self()].garbage) {
		processes_garbage_fires(channel, slot);
		return;
	}
	sim_expect(node->context < items.n, "an item fires that nobody has queued");
	item = &items.all[node->context];
	check_firing(item, home, last);
	if ((item->flags & TRIP_WORK_COALESCE) != 0 && sum > node->threshold)
		count = (sum - node->threshold) / node->interval + 1;
	sim_tell("item %u fires: at %llu, the sum is %llu", processes_item_number(item),
		(unsigned long long)node->threshold, (unsigned long long)sum);
	item->fired++;
	item->count += count;
	count_firing(item, count);
	if (item->rule != NULL)
		note_rule(item);
}

/* Otherwise it drops what nobody waits for. One that was killed may have been firing. */
static bool
is_firing(void)
{
	return items.firing[sim_self()].process == sim_process_self();
}

bool
__wrap_trip_channel_claim(struct trip_channel_home *channel, uint32_t slot, uint64_t generation)
{
	bool is_ours = __real_trip_channel_claim(channel, slot, generation);

	if (is_ours && is_firing())
		claimed(channel, slot, true);
	return is_ours;
}

bool
__wrap_trip_channel_queued(
	const struct trip_channel_home *channel, uint32_t slot, uint64_t generation)
{
	bool is_queued = __real_trip_channel_queued(channel, slot, generation);

	if (is_queued)
		claimed(channel, slot, false);
	return is_queued;
}

void
__wrap_trip_fire(struct trip_home *home, const uint32_t *nodes, unsigned int n)
{
	unsigned int self = sim_self();

	items.firing[self].home = home;
	items.firing[self].process = sim_process_self();
	items.firing[self].n_rules = 0;
	__real_trip_fire(home, nodes, n);
	items.firing[self].process = NULL;
	for (unsigned int i = 0; i < items.firing[self].n_rules; i++) {
		struct ledger *ledger = items.firing[self].rules[i].ledger;

		if (processes_rule_fired(home->engine, items.firing[self].rules[i].rule,
			    items.firing[self].rules[i].op) &&
			ledger != NULL)
			ledger->low++;
	}
}

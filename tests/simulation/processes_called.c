/* SPDX-License-Identifier: BSD-3-Clause */
/* What work does that calls the primary's function, on a home; and counters that are closed and
 * opened again there, while operations that know their indices may be under way. */
#include <errno.h>

#include "domain/domain.h"
#include "processes_items.h"

/* Of a process, at a time. */
#define OWN 2
/* Whoever opens a counter at the same time: homes, the primary for itself and for others. */
#define OPENERS 4

int
processes_cancel_item(struct trip_domain *domain, struct item *item)
{
	int error;

	/* Another one, a flush, or a function may have canceled it, and not have said so yet. */
	item->contested |= item->canceling;
	item->canceling = true;
	error = trip_work_cancel(domain, item->id);
	if (error == 0) {
		sim_expect(item->state != ITEM_CANCELED, "item %u is canceled twice",
			processes_item_number(item));
		sim_expect(item->interval != 0 || item->fired == 0,
			"item %u is canceled, and has fired", processes_item_number(item));
		item->state = ITEM_CANCELED;
	}
	sim_expect(error != -ENOENT || item->state == ITEM_CANCELED || item->contested ||
			   (item->interval == 0 && item->fired > 0),
		"item %u has not fired, and is not canceled", processes_item_number(item));
	item->canceling = false;
	return error;
}

static void
chain(struct user *user)
{
	struct trip_work work = {.size = sizeof(work), .op_type = TRIP_OP_CALL};
	struct item *item;
	int error;

	work.triggering_cntr = trip_clock_cntr(user->domain);
	work.threshold = trip_cntr_read(work.triggering_cntr) + ITEM_CALL_NS;
	work.op.call.function = user->function;
	item = processes_item_new(user, &work);
	if (item == NULL)
		return;
	work.context = processes_item_number(item);
	error = trip_work_queue(user->domain, &work, &item->id);
	sim_expect(error == 0 || error == -EAGAIN, "a function cannot queue: error %d", -error);
	processes_item_asked(item, work.triggering_cntr, error);
}

/* --- counters of their own --- */

static unsigned int
count_own(const struct user *user)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < items.n; i++)
		n += processes_item_is_of(&items.all[i], user) && items.all[i].own != NULL;
	return n;
}

bool
processes_has_own(const struct user *user)
{
	return count_own(user) > 0;
}

/* One that is over, and has its counter still. */
static struct item *
find_own(const struct user *user)
{
	for (unsigned int i = 0; i < items.n; i++) {
		struct item *item = &items.all[i];

		if (processes_item_is_of(item, user) && item->own != NULL &&
			(item->fired > 0 || item->state > ITEM_QUEUED))
			return item;
	}
	return NULL;
}

static struct trip_cntr *
open_own(struct user *user)
{
	const struct trip_cntr_attr attr = {.size = sizeof(attr), .wait_obj = TRIP_WAIT_NONE};
	struct trip_cntr *cntr;

	if (items.n_ledgers > LEDGERS / 2 || trip_cntr_open(user->domain, &attr, &cntr, NULL) != 0)
		return NULL;
	(void)processes_ledger(cntr);
	return cntr;
}

struct trip_cntr *
processes_own_open(struct user *user)
{
	struct item *item = find_own(user);
	struct trip_cntr *cntr;

	if (user->number != PRIMARY || !processes.reopens || items.n > ITEMS / 2)
		return NULL;
	if (item == NULL)
		return count_own(user) < OWN ? open_own(user) : NULL;
	cntr = item->own;
	item->own = NULL;
	return cntr;
}

/* A function may have an index that another home's iteration still refers to where no other is left
 * (indices.h). */
static bool
has_room(const struct trip_domain *domain)
{
	uint32_t n = 0;

	if (domain->engine.n_homes == 1)
		return true;
	for (uint32_t i = 0; i < domain->engine.n_homes; i++) {
		const struct trip_indices *indices = &domain->cntrs[i];

		n += indices->n_ready + indices->limit - indices->fresh;
	}
	return n >= OPENERS;
}

/* False: it is referred to. */
static bool
close_own(struct item *item)
{
	struct trip_cntr *cntr = item->own;
	const struct ledger *ledger = processes_ledger(cntr);
	uint64_t value;
	int error;

	/* Nobody else takes it from here on, also while it is read. */
	item->own = NULL;
	value = trip_cntr_read(cntr);
	sim_expect(value <= ledger->high || processes_ledger_is_vague(ledger),
		"counter %u has %llu, and was added %llu at most", ledger->index,
		(unsigned long long)value, (unsigned long long)ledger->high);
	error = trip_cntr_close(cntr);
	sim_expect(error == 0 || error == -EBUSY, "a counter is not closed: error %d", -error);
	if (error != 0)
		item->own = cntr;
	return error == 0;
}

void
processes_own_reopen(struct user *user, bool on_home)
{
	struct item *item = find_own(user);

	if (item == NULL || (on_home && !has_room(user->domain)))
		return;
	if (close_own(item))
		item->own = open_own(user);
}

void
processes_own_close(struct user *user)
{
	for (unsigned int i = 0; i < items.n; i++)
		if (processes_item_is_of(&items.all[i], user) && items.all[i].own != NULL)
			(void)close_own(&items.all[i]);
}

/* --- called --- */

static void
check_called(const struct item *item, const struct trip_work_event *event)
{
	uint64_t next = item->threshold + item->count * item->interval;
	sim_expect(event->value >= event->threshold,
		"item %u is called at %llu, and the sum is %llu", processes_item_number(item),
		(unsigned long long)event->threshold, (unsigned long long)event->value);
	sim_expect(item->rests || event->threshold + item->interval == next ||
			   (item->interval == 0 && event->threshold == next),
		"item %u is called at %llu, and it is the turn of %llu",
		processes_item_number(item), (unsigned long long)event->threshold,
		(unsigned long long)next);
}

static int
called(const struct trip_work_event *event, void *arg)
{
	struct user *user = arg;
	struct item *item = &items.all[event->context];

	if (items.firing[sim_self()].garbage)
		return 0;
	check_called(item, event);
	item->calls = true;
	/* It takes a while: others go on. */
	sim_progress();
	sim_pause();
	processes_own_reopen(user, true);
	if (item->chains && item->fired == 1)
		chain(user);
	/* Its user may not know the id yet. */
	if (item->interval != 0 && item->fired >= ITEM_CALLS) {
		item->id = event->id;
		if (item->state == ITEM_ASKED)
			item->state = ITEM_QUEUED;
		(void)processes_cancel_item(user->domain, item);
	}
	item->calls = false;
	return 0;
}

bool
processes_has_function(struct user *user)
{
	int error;

	if (user->function != NULL || user->number != PRIMARY)
		return user->function != NULL;
	sim_op("registers a function");
	processes_enter(user, "trip_function_register", 0);
	error = trip_function_register(user->domain, called, user, &user->function);
	processes_leave(user);
	sim_expect(error == 0 || processes_lacks(user), "a function cannot be registered: error %d",
		-error);
	if (error != 0)
		user->function = NULL;
	return error == 0;
}

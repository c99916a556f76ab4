/* SPDX-License-Identifier: BSD-3-Clause */
/* What work does that calls the primary's function, on a home. */
#include <errno.h>

#include "processes_items.h"

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

static int
called(const struct trip_work_event *event, void *arg)
{
	struct user *user = arg;
	struct item *item = &items.all[event->context];
	uint64_t next;

	if (items.firing[sim_self()].garbage)
		return 0;
	next = item->threshold + item->count * item->interval;
	sim_expect(event->value >= event->threshold,
		"item %u is called at %llu, and the sum is %llu", processes_item_number(item),
		(unsigned long long)event->threshold, (unsigned long long)event->value);
	sim_expect(item->rests || event->threshold + item->interval == next ||
			   (item->interval == 0 && event->threshold == next),
		"item %u is called at %llu, and it is the turn of %llu",
		processes_item_number(item), (unsigned long long)event->threshold,
		(unsigned long long)next);
	if (item->chains && item->fired == 1)
		chain(user);
	/* Its user may not know the id yet. */
	if (item->interval != 0 && item->fired >= ITEM_CALLS) {
		item->id = event->id;
		if (item->state == ITEM_ASKED)
			item->state = ITEM_QUEUED;
		(void)processes_cancel_item(user->domain, item);
	}
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

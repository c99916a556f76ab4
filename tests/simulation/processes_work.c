/* SPDX-License-Identifier: BSD-3-Clause */
/* What a process does with deferred work, attached or the primary; processes_called.c is what work
 * does that calls. */
#include <errno.h>

#include <rte_common.h>

#include "domain/domain.h"
#include "processes_rules.h"

/* Looks for a counter of its work that may be closed. */
#define REOPENS 4

static void
note_error(struct user *user, const char *call, int error, int other)
{
	user->is_orphan |= error == -ESHUTDOWN;
	sim_expect(error == 0 || error == other ||
			   (error == -ESHUTDOWN && user->number != PRIMARY) ||
			   processes_lacks(user),
		"%s says error %d to %s", call, -error, user->name);
}

/* --- canceled --- */

static struct item *
find_item(const struct user *user, uint32_t back)
{
	struct item *found = NULL;

	for (unsigned int i = items.n; i > 0 && back > 0; i--) {
		struct item *item = &items.all[i - 1];

		if (!processes_item_is_of(item, user) || item->id == 0)
			continue;
		found = item;
		back--;
	}
	return found;
}

static void
cancel(struct user *user, uint32_t back)
{
	struct item *item = find_item(user, back);
	int error;

	if (item == NULL)
		return;
	sim_op("cancels item %u", processes_item_number(item));
	processes_enter(user, "trip_work_cancel", 0);
	error = processes_cancel_item(user->domain, item);
	processes_leave(user);
	note_error(user, "a cancel", error, -ENOENT);
}

static bool
is_flushed(const struct item *item, const struct user *user, const struct trip_cntr *cntr)
{
	return processes_item_is_of(item, user) && processes_item_waits(item) &&
	       (cntr == NULL || item->trigger_index == cntr->global);
}

/* No function of what was queued before runs any more, also of what had fired by then. */
static void
expect_quiet(const struct user *user, const struct trip_cntr *cntr, uint32_t since)
{
	for (unsigned int i = 0; i < items.n; i++) {
		const struct item *item = &items.all[i];

		sim_expect(!processes_item_is_of(item, user) || !item->calls || item->ended == 0 ||
				   item->ended > since ||
				   (cntr != NULL && item->trigger_index != cntr->global),
			"item %u calls, and a flush has taken it back", i);
	}
}

/* Of what was queued before, nothing fires any more. */
static void
flush(struct user *user, struct trip_cntr *cntr)
{
	uint32_t since = sim_steps();
	int error;

	sim_op("flushes %s", cntr != NULL ? "what a counter triggers" : "all work");
	for (unsigned int i = 0; i < items.n; i++) {
		if (!is_flushed(&items.all[i], user, cntr))
			continue;
		items.all[i].contested = true;
		items.all[i].canceling |= items.all[i].state == ITEM_QUEUED;
	}
	processes_enter(user, "trip_work_flush", 0);
	error = trip_work_flush(user->domain, cntr);
	processes_leave(user);
	note_error(user, "a flush", error, 0);
	if (error == 0)
		expect_quiet(user, cntr, since);
	for (unsigned int i = 0; i < items.n && error == 0; i++) {
		if (!is_flushed(&items.all[i], user, cntr))
			continue;
		if (items.all[i].canceling)
			items.all[i].state = ITEM_CANCELED;
		items.all[i].contested = true;
		items.all[i].doubtful = !items.all[i].canceling;
	}
}

/* --- queued --- */

static bool
is_about_flows(enum trip_op op)
{
	return op == TRIP_OP_FLOW_DROP || op == TRIP_OP_FLOW_PASS || op == TRIP_OP_FLOW_DELETE;
}

/* What adds again and again adds to none that comes before its own, and nothing sets again and
 * again, which a condition may wait for: there would be no end. The flow that it is about, or
 * NULL. */
static struct rule *
choose_op(struct user *user, const struct act_work *act, struct trip_work *work)
{
	struct handle *target = processes_find_handle(user, act->target, true);
	struct handle *completion = processes_find_handle(user, act->completion, true);
	const struct flow *flow = processes_find_flow(user, act->target);

	if (act->op == TRIP_OP_CALL && processes_has_function(user)) {
		work->op_type = TRIP_OP_CALL;
		work->op.call.function = user->function;
		if (act->completes && completion != NULL) {
			work->completion_cntr = completion->cntr;
			completion->worked = true;
		}
		return NULL;
	}
	if (flow != NULL && is_about_flows(act->op)) {
		work->op_type = act->op;
		work->op.flow = flow->flow;
		/* As above: it would go on for ever. */
		if (act->completes && completion != NULL && work->interval == 0) {
			work->completion_cntr = completion->cntr;
			completion->worked = true;
		}
		return flow->rule;
	}
	work->op_type = processes_op_counts(act->op) ? act->op : TRIP_OP_CNTR_ADD;
	if (work->op_type == TRIP_OP_CNTR_SET && act->value % 2 == 0)
		work->op_type = TRIP_OP_CNTR_RESET;
	work->op.cntr.cntr = target->cntr;
	work->op.cntr.value = act->value;
	target->worked = true;
	if (work->op_type == TRIP_OP_CNTR_FILL)
		work->op.fill.limit = 40;
	if (work->interval != 0 &&
		(work->op_type == TRIP_OP_CNTR_SET || work->op_type == TRIP_OP_CNTR_RESET ||
			(work->op_type == TRIP_OP_CNTR_ADD &&
				target->cntr->id <= work->triggering_cntr->id)))
		work->op_type = TRIP_OP_CNTR_RAISE;
	return NULL;
}

/* What it changes, or is completed on, where that is a counter of its own. */
static struct trip_cntr *
choose_own(struct user *user, struct trip_work *work)
{
	bool adds = work->op_type == TRIP_OP_CNTR_ADD;
	struct trip_cntr *own;

	if (work->interval != 0 || !(adds || work->op_type == TRIP_OP_CALL))
		return NULL;
	processes_enter(user, "trip_cntr_open", 0);
	own = processes_own_open(user);
	processes_leave(user);
	if (own != NULL && adds)
		work->op.cntr.cntr = own;
	else if (own != NULL)
		work->completion_cntr = own;
	return own;
}

/* What is read is not due any more to who waits by the handle. */
static uint64_t
sum_of(const struct handle *handle)
{
	bool looks = sim_look(processes.waits);
	uint64_t sum;

	if (processes.waits)
		sum = trip_cell_sum(handle->cntr->cell);
	else
		sum = trip_cntr_read(handle->cntr) + trip_cntr_readerr(handle->cntr);
	(void)sim_look(looks);
	return sum;
}

static void
choose_trigger(struct user *user, const struct act *act, struct trip_work *work)
{
	struct handle *trigger = processes_find_handle(user, act->handle, true);
	bool ends = act->work.op == TRIP_OP_CALL && processes_has_function(user);

	work->flags = act->work.flags;
	work->interval = act->work.interval;
	if (act->work.by_clock) {
		work->triggering_cntr = trip_clock_cntr(user->domain);
		work->threshold = trip_cntr_read(work->triggering_cntr) + act->work.threshold * 256;
		work->interval = ends && work->interval != 0 ? ITEM_CALL_NS : 0;
		sim_until(sim_now() + act->work.threshold * 256 + ITEM_CALLS * ITEM_CALL_NS);
	} else {
		work->triggering_cntr = trigger->cntr;
		work->threshold = sum_of(trigger) + act->work.threshold;
	}
	if (work->interval == 0 || (act->work.by_clock && ends))
		work->flags &= ~TRIP_WORK_COALESCE;
}

/* The slots of channels that it may have none left of; and events that it has yet to read. */
static bool
may_be_full(const struct user *user, const struct item *asked)
{
	unsigned int slots = processes_item_slots(asked), events = 1;

	for (unsigned int i = 0; i < items.n; i++) {
		const struct item *item = &items.all[i];

		if (!processes_item_is_of(item, user) || item == asked ||
			item->state == ITEM_REFUSED)
			continue;
		slots += item->settled ? 0 : processes_item_slots(item);
		events += (item->flags & TRIP_WORK_COMPLETION) != 0 && item->interval == 0 &&
			  item->events == 0 && item->state != ITEM_CANCELED;
	}
	return slots > (user->has_channels ? processes.attr.max_thread_works
					   : processes.attr.max_process_works) ||
	       events > processes.attr.max_events ||
	       (user->number != PRIMARY && events > processes.attr.max_process_works);
}

static bool
queue_once(struct user *user, const struct act *act)
{
	struct trip_condition rests = {.size = sizeof(rests), .kind = TRIP_CONDITION_IDLE};
	struct trip_work work = {.size = sizeof(work)};
	struct trip_cntr *own;
	struct rule *rule;
	struct item *item;
	int error;

	choose_trigger(user, act, &work);
	rule = choose_op(user, &act->work, &work);
	own = choose_own(user, &work);
	rests.when.idle.time = act->work.rests;
	if (act->work.rests != 0 && !act->work.by_clock && (work.flags & TRIP_WORK_COALESCE) == 0)
		work.condition = &rests;
	item = processes_item_new(user, &work);
	if (item == NULL)
		return false;
	item->chains = act->work.chains;
	item->rule = rule;
	item->own = own;
	work.context = processes_item_number(item);
	sim_op("queues item %u: at %llu, every %llu", processes_item_number(item),
		(unsigned long long)work.threshold, (unsigned long long)work.interval);
	processes_enter(user, "trip_work_queue", 0);
	error = trip_work_queue(user->domain, &work, &item->id);
	processes_leave(user);
	processes_item_asked(item, work.triggering_cntr, error);
	note_error(user, "a queue", error, -EAGAIN);
	if (error != 0)
		sim_tell("it is refused: error %d", -error);
	sim_expect(error != -EAGAIN || may_be_full(user, item),
		"there is room, and item %u is refused", processes_item_number(item));
	return error == 0;
}

/* A counter of what it has just queued. */
static void
close_used(struct user *user, const struct act *act)
{
	const struct item *item = find_item(user, 1);

	if (item == NULL)
		return;
	if (item->completion != 0)
		processes_close_of(user, item->completion);
	else
		processes_close_of(user, act->seed % 2 == 0 ? item->target : item->trigger);
}

static void
queue(struct user *user, const struct act *act)
{
	if (processes_find_handle(user, 0, true) == NULL)
		return;
	for (uint32_t i = 0; i < act->work.n; i++)
		if (!queue_once(user, act))
			break;
	/* It may be called just now. */
	if (act->work.op == TRIP_OP_CALL && user->function != NULL && act->value % 2 == 0)
		flush(user, NULL);
	if (processes.closes && !processes.waits)
		close_used(user, act);
	if (!processes.reopens)
		return;
	sim_op("opens counters of its work anew");
	processes_enter(user, "trip_cntr_close", 0);
	for (uint32_t i = 0; i < REOPENS; i++)
		processes_own_reopen(user, false);
	processes_leave(user);
}

/* --- told --- */

static void
take_event(struct user *user, const struct trip_work_event *event)
{
	struct item *item;

	sim_expect(event->context < items.n, "an event of an item that nobody has queued");
	item = &items.all[event->context];
	sim_expect(processes_item_is_of(item, user), "the event of item %u is told to another",
		processes_item_number(item));
	item->events++;
	sim_expect(item->events <= item->fired, "item %u is told of more often than it has fired",
		processes_item_number(item));
	sim_expect((event->result == 0 || (event->result == -ENOENT && item->rule != NULL &&
						  !processes_rule_is_sure(item->rule))) &&
			   event->value >= event->threshold && event->op_type == item->op,
		"the event of item %u is another's", processes_item_number(item));
}

static void
read_events(struct user *user)
{
	struct trip_work_event events[4];
	int n;

	sim_op("reads completion events");
	processes_enter(user, "trip_work_read", 0);
	n = trip_work_read(user->domain, events, sizeof(events[0]), RTE_DIM(events));
	processes_leave(user);
	note_error(user, "a read of events", n < 0 ? n : 0, 0);
	for (int i = 0; i < n; i++)
		take_event(user, &events[i]);
}

/* --- channels of its own --- */

static void
change_channels(struct user *user)
{
	int error;

	sim_op(user->has_channels ? "gives its thread's channels back"
				  : "asks for channels of its thread's own");
	processes_enter(user, "trip_thread_attach", 0);
	error = user->has_channels ? trip_thread_detach(user->domain)
				   : trip_thread_attach(user->domain);
	processes_leave(user);
	note_error(user, "a change of channels", error,
		processes.attr.max_process_threads == 0 ? -ENOSPC : 0);
	if (error == 0)
		user->has_channels = !user->has_channels;
}

/* What it queues before it and behind it keeps its order. */
static void
change_between(struct user *user, const struct act *act)
{
	struct act plain = *act;

	plain.work.n = 1;
	plain.work.by_clock = false;
	plain.work.interval = plain.work.rests = 0;
	queue(user, &plain);
	change_channels(user);
	queue(user, &plain);
}

bool
processes_act_on_work(struct user *user, const struct act *act)
{
	struct handle *handle = processes_find_handle(user, act->handle, true);

	if (act->kind == ACT_QUEUE)
		queue(user, act);
	else if (act->kind == ACT_CANCEL)
		cancel(user, act->value);
	else if (act->kind == ACT_FLUSH)
		flush(user, act->value % 2 == 0 && handle != NULL ? handle->cntr : NULL);
	else if (act->kind == ACT_READ)
		read_events(user);
	else if (act->kind == ACT_THREAD)
		change_between(user, act);
	else
		return false;
	return true;
}

static bool
has_pending(const struct user *user)
{
	for (unsigned int i = 0; i < items.n; i++)
		if (processes_item_is_of(&items.all[i], user) &&
			processes_item_waits(&items.all[i]))
			return true;
	return false;
}

void
processes_end_work(struct user *user)
{
	int error;

	if (has_pending(user))
		flush(user, NULL);
	if (user->has_channels)
		change_channels(user);
	processes_own_close(user);
	if (user->function == NULL)
		return;
	sim_op("unregisters its function");
	processes_enter(user, "trip_function_unregister", 0);
	error = trip_function_unregister(user->function);
	processes_leave(user);
	/* It may have queued another item, or have ended one whose slot is on its way. */
	sim_expect(
		error == 0 || error == -EBUSY, "a function is not unregistered: error %d", -error);
	if (error == 0)
		user->function = NULL;
}

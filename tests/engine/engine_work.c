/* SPDX-License-Identifier: BSD-3-Clause */
/* The deferred work of stress-engine: every item has exactly one outcome, and all is counted. */
#include "engine_threads.h"

static struct worker *
worker_of(uint64_t context)
{
	return &world.workers[context >> CONTEXT_BITS];
}

/* Notes an outcome; of those in `never` none may have come before. */
static uint8_t
note(uint64_t context, uint8_t outcome, uint8_t never)
{
	uint8_t old = atomic_fetch_or(
		&worker_of(context)->items[context & ((UINT64_C(1) << CONTEXT_BITS) - 1)], outcome);

	if ((old & never) != 0)
		atomic_fetch_add(&world.twice, 1);
	return old;
}

static bool
fails(uint64_t context)
{
	return context % 8 == 0;
}

static int
call(const struct trip_work_event *event, void *arg)
{
	note(event->context, ITEM_FIRED, ITEM_FIRED | ITEM_CANCELED);
	if (!fails(event->context))
		return 0;
	atomic_fetch_add(&world.failed_calls, 1);
	return -EIO;
}

/* Of interval items: those of a worker's own counter, and others. */
static int
count(const struct trip_work_event *event, void *arg)
{
	if (event->context < WORKERS)
		atomic_fetch_add(&world.workers[event->context].firings, event->count);
	return 0;
}

void
engine_work_open(void)
{
	world.sink = harness_cntr(TRIP_WAIT_NONE);
	world.flushed_sink = harness_cntr(TRIP_WAIT_NONE);
	world.completion = harness_cntr(TRIP_WAIT_NONE);
	for (unsigned int i = 0; i < CHAIN; i++)
		world.chain[i] = harness_cntr(TRIP_WAIT_NONE);
	assert_int_equal(trip_function_register(harness_domain, call, NULL, &world.call), 0);
	assert_int_equal(trip_function_register(harness_domain, count, NULL, &world.count), 0);
}

void
engine_work_close(void)
{
	assert_int_equal(trip_function_unregister(world.call), 0);
	assert_int_equal(trip_function_unregister(world.count), 0);
	for (unsigned int i = 0; i < CHAIN; i++)
		harness_cntr_close(world.chain[i]);
	harness_cntr_close(world.sink);
	harness_cntr_close(world.flushed_sink);
	harness_cntr_close(world.completion);
}

void
engine_work_begin(struct worker *worker)
{
	struct trip_work work;

	worker->n_items = 0;
	for (unsigned int i = 0; i < IDS; i++)
		worker->ids[i].id = TRIP_WORK_NONE;
	atomic_store(&worker->firings, 0);
	worker->threshold = worker->own_value + below(worker, 100);
	worker->interval = 1 + below(worker, 9);
	work = harness_work(worker->own, worker->threshold, TRIP_OP_CALL);
	work.interval = worker->interval;
	work.flags = below(worker, 2) == 0 ? TRIP_WORK_COALESCE : 0;
	work.context = worker->index;
	work.op.call.function = world.count;
	worker->own_id = harness_queue(&work);
}

/* Each interval that was passed has fired, once. */
static void
check_own(struct worker *worker)
{
	uint64_t passed = 0;

	if (worker->own_value >= worker->threshold)
		passed = (worker->own_value - worker->threshold) / worker->interval + 1;
	assert_int_equal(atomic_load(&worker->firings), passed);
	assert_int_equal(trip_work_cancel(harness_domain, worker->own_id), 0);
	harness_expect(worker->own, worker->own_value, 0);
}

static void
check_item(const struct worker *worker, uint32_t item)
{
	uint8_t state = atomic_load(&worker->items[item]);
	bool canceled = (state & ITEM_CANCELED) != 0, may_be_gone = (state & ITEM_FLUSHED) != 0;

	if (((state & ITEM_CALL) != 0 && !may_be_gone && canceled == ((state & ITEM_FIRED) != 0)) ||
		((state & ITEM_COMPLETES) != 0 && !may_be_gone &&
			canceled == ((state & ITEM_READ) != 0)))
		fail_msg("worker %u, item %u: its outcomes are 0x%x", worker->index, item, state);
}

void
engine_work_end(struct worker *worker)
{
	for (uint32_t i = 0; i < worker->n_items; i++)
		check_item(worker, i);
	check_own(worker);
}

/* The events of all that has fired have been read. */
void
engine_work_check(void)
{
	uint64_t adds = 0, flushed_adds = 0, fired = 0;

	for (unsigned int i = 0; i < WORKERS; i++) {
		struct worker *worker = &world.workers[i];

		adds += worker->adds - worker->adds_canceled;
		flushed_adds += worker->flushed_adds;
		for (uint32_t item = 0; item < worker->n_items; item++)
			fired += (atomic_load(&worker->items[item]) & ITEM_FIRED) != 0;
	}
	world.fired += fired;
	assert_int_equal(atomic_load(&world.twice), 0);
	harness_expect(world.sink, adds, 0);
	assert_true(trip_cntr_read(world.flushed_sink) <= flushed_adds);
	harness_expect(world.completion, world.fired - atomic_load(&world.failed_calls),
		atomic_load(&world.failed_calls));
}

/* --- a cycle of counters: each firing adds to the next one, for ever --- */

void
engine_chain_begin(void)
{
	atomic_store(&world.tokens, 0);
	for (unsigned int i = 0; i < CHAIN; i++) {
		struct trip_work work;

		world.chain_began[i] = trip_cntr_read(world.chain[i]);
		work = harness_work(world.chain[i], world.chain_began[i] + 1, TRIP_OP_CNTR_ADD);
		work.interval = 1;
		work.op.cntr.cntr = world.chain[(i + 1) % CHAIN];
		work.op.cntr.value = 1;
		world.chain_ids[i] = harness_queue(&work);
	}
}

void
engine_chain_end(void)
{
	for (unsigned int i = 0; i < CHAIN; i++)
		assert_int_equal(trip_work_cancel(harness_domain, world.chain_ids[i]), 0);
	harness_settle();
	/* No item fires more often than its counter was raised; the first one was by all tokens. */
	for (unsigned int i = 0; i < CHAIN; i++) {
		unsigned int next = (i + 1) % CHAIN;
		uint64_t raised = trip_cntr_read(world.chain[i]) - world.chain_began[i];
		uint64_t fired = trip_cntr_read(world.chain[next]) - world.chain_began[next];

		if (next == 0)
			fired -= atomic_load(&world.tokens);
		assert_true(fired <= raised);
		world.laps += fired;
	}
}

void
engine_token(struct worker *worker)
{
	if (atomic_load(&world.tokens) >= TOKENS)
		return;
	atomic_fetch_add(&world.tokens, 1);
	trip_cntr_add(world.chain[0], 1);
}

/* --- what workers do --- */

static void
plan_op(struct worker *worker, struct trip_work *work, uint32_t item, bool flushed)
{
	uint8_t state = flushed ? ITEM_FLUSHED : 0;

	work->context = (uint64_t)worker->index << CONTEXT_BITS | item;
	if (below(worker, 4) == 0) {
		work->flags = TRIP_WORK_COMPLETION;
		state |= ITEM_COMPLETES;
	}
	if (below(worker, 2) == 0) {
		work->op_type = TRIP_OP_CALL;
		work->op.call.function = world.call;
		work->completion_cntr = world.completion;
		state |= ITEM_CALL;
	} else {
		work->op.cntr.cntr = flushed ? world.flushed_sink : world.sink;
		work->op.cntr.value = 1;
	}
	atomic_store(&worker->items[item], state);
}

/* Only what is canceled by its id counts; an id that is forgotten stays queued. */
static void
queue_at(struct worker *worker, unsigned int at, unsigned int slot)
{
	struct trip_cntr *cntr = world.cntrs[at];
	uint32_t item = worker->n_items;
	bool flushed = at >= CNTRS - FLUSHED;
	struct trip_work work =
		harness_work(cntr, trip_cntr_read(cntr) + below(worker, 200), TRIP_OP_CNTR_ADD);
	bool add;
	int error;

	if (item == worker->max_items)
		return;
	plan_op(worker, &work, item, flushed);
	add = work.op_type == TRIP_OP_CNTR_ADD;
	error = trip_work_queue(harness_domain, &work, &worker->ids[slot].id);
	if (error != 0) {
		expect(worker, error == -EAGAIN);
		return;
	}
	worker->n_items++;
	worker->ids[slot].item = item;
	worker->ids[slot].add = add && !flushed;
	worker->adds += add && !flushed;
	worker->flushed_adds += add && flushed;
}

static void
cancel_at(struct worker *worker, unsigned int slot)
{
	uint64_t id = worker->ids[slot].id;

	worker->ids[slot].id = TRIP_WORK_NONE;
	if (id == TRIP_WORK_NONE || trip_work_cancel(harness_domain, id) != 0)
		return;
	worker->adds_canceled += worker->ids[slot].add;
	note((uint64_t)worker->index << CONTEXT_BITS | worker->ids[slot].item, ITEM_CANCELED,
		ITEM_FIRED | ITEM_READ | ITEM_CANCELED);
}

void
engine_queue(struct worker *worker)
{
	queue_at(worker, (unsigned int)below(worker, CNTRS), (unsigned int)below(worker, IDS));
}

void
engine_cancel(struct worker *worker)
{
	cancel_at(worker, (unsigned int)below(worker, IDS));
}

/* All ids, made due and canceled while they fire. */
void
engine_race(struct worker *worker)
{
	unsigned int at = (unsigned int)below(worker, CNTRS);
	uint64_t delay = below(worker, 20000);

	for (unsigned int slot = 0; slot < IDS; slot++)
		queue_at(worker, at, slot);
	trip_cntr_add(world.cntrs[at], 250);
	for (uint64_t i = 0; i < delay; i++)
		__asm__ volatile("");
	if (below(worker, 2) == 0)
		harness_step();
	for (unsigned int slot = 0; slot < IDS; slot++)
		cancel_at(worker, slot);
}

/* An item that fires again and again, for a while, wherever its counter is set meanwhile. */
void
engine_repeat(struct worker *worker)
{
	struct trip_cntr *cntr = world.cntrs[below(worker, CNTRS - FLUSHED)];
	struct trip_work work = harness_work(cntr, trip_cntr_read(cntr), TRIP_OP_CALL);
	uint64_t id;
	int error;

	work.interval = 1 + below(worker, 50);
	work.context = WORKERS;
	work.flags = below(worker, 2) == 0 ? TRIP_WORK_COALESCE : 0;
	work.op.call.function = world.count;
	error = trip_work_queue(harness_domain, &work, &id);
	if (error != 0) {
		expect(worker, error == -EAGAIN);
		return;
	}
	for (unsigned int i = 0; i < 4; i++)
		trip_cntr_add(cntr, below(worker, 100));
	expect(worker, trip_work_cancel(harness_domain, id) == 0);
	expect(worker, trip_work_cancel(harness_domain, id) == -ENOENT);
}

void
engine_raise(struct worker *worker)
{
	uint64_t value = below(worker, 30);

	trip_cntr_add(worker->own, value);
	worker->own_value += value;
}

void
engine_flush(struct worker *worker)
{
	unsigned int at = CNTRS - 1 - (unsigned int)below(worker, FLUSHED);

	expect(worker, trip_work_flush(harness_domain, world.cntrs[at]) == 0);
}

void
engine_events(struct worker *worker)
{
	struct trip_work_event events[32];
	int n = trip_work_read(harness_domain, events, sizeof(struct trip_work_event), 32);

	expect(worker, n >= 0);
	for (int i = 0; i < n; i++) {
		bool called = events[i].op_type == TRIP_OP_CALL;
		uint8_t old = note(events[i].context, ITEM_READ, ITEM_READ | ITEM_CANCELED);

		expect(worker, (old & ITEM_COMPLETES) != 0);
		expect(worker, !called || (old & ITEM_FIRED) != 0);
		expect(worker, events[i].result == (called && fails(events[i].context) ? -EIO : 0));
	}
}

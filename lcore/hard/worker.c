/* SPDX-License-Identifier: BSD-3-Clause */
/* The worker's thread: tickets, calls, errands, and sleep (errand.h). */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include "fire.h"
#include "hard.h"
#include "home.h"
#include "life.h"
#include "notice.h"
#include "op.h"
#include "refresher.h"
#include "sweep.h"
#include "template.h"

/* A port with flows is looked at as often: trip_life_look(). To stop and start one that has rules
 * takes a device longer. */
#define LOOK_NS 10000000

_Thread_local struct trip_hard *trip_hard_current;

int
trip_hard_call(struct trip_hard *hard, struct trip_hard_call *call)
{
	pthread_mutex_lock(&hard->turn);
	call->done = false;
	call->ticket = atomic_fetch_add(&hard->desk.tickets, 1);
	atomic_store_explicit(&hard->call, call, memory_order_release);
	trip_errand_wake(&hard->desk);
	pthread_mutex_lock(&hard->lock);
	while (!call->done)
		pthread_cond_wait(&hard->answered, &hard->lock);
	pthread_mutex_unlock(&hard->lock);
	pthread_mutex_unlock(&hard->turn);
	return call->result;
}

static void
answer(struct trip_hard *hard, struct trip_hard_call *call)
{
	int result = call->run(hard, call);

	atomic_store_explicit(&hard->call, NULL, memory_order_relaxed);
	pthread_mutex_lock(&hard->lock);
	call->result = result;
	call->done = true;
	pthread_cond_signal(&hard->answered);
	pthread_mutex_unlock(&hard->lock);
}

/* Errands of one batch, in the order of their tickets, and the homes that have sent them. */
struct errands {
	struct trip_hard_operation ops[TRIP_BATCH_MAX];
	struct trip_errand *errand[TRIP_BATCH_MAX];
	uint32_t home[TRIP_BATCH_MAX];
	uint32_t n;
	/* By home. */
	uint32_t taken[TRIP_HOMES_MAX];
};

/* Takes the errand of this ticket; false: a call's, not sent yet, or its flow is in the batch. */
static bool
take_errand(struct trip_hard *hard, struct errands *batch, uint64_t ticket)
{
	struct trip_errand *errand = NULL;
	uint32_t home = 0;

	for (; home < hard->engine->n_homes; home++) {
		errand = trip_errand_peek(&hard->desk.rings[home], batch->taken[home]);
		if (errand != NULL && errand->ticket == ticket)
			break;
	}
	if (home == hard->engine->n_homes)
		return false;
	for (uint32_t i = 0; i < batch->n; i++)
		if (batch->ops[i].flow == errand->flow)
			return false;
	batch->taken[home]++;
	batch->errand[batch->n] = errand;
	batch->home[batch->n] = home;
	batch->ops[batch->n++] = (struct trip_hard_operation){
		.flow = errand->flow, .op = trip_op_flow_now(hard->engine, errand)};
	return true;
}

/* Completions are counted here, over all homes in the order of firing; the home tells of them. */
static void
settle_errand(struct trip_hard *hard, uint32_t index, struct trip_errand *errand, int result)
{
	struct trip_home *home = hard->engine->homes[index];

	errand->event.result = result;
	/* What has failed leaves the flow as it was; what ends does not. */
	if (result == 0)
		trip_op_flow_done(hard->engine, errand);
	else if (trip_errand_is_end(errand))
		trip_engine_owe(hard->engine, errand->flow, hard->port_id);
	trip_fire_complete(hard->engine, errand->completion, result);
	trip_errand_done(&hard->desk.rings[index]);
	trip_doorbell_ring(&home->doorbell, TRIP_BELL_HARD, hard->port_id);
}

/* Runs errands from this ticket on and returns how many: one where the driver has no batches. */
static uint32_t
run_errands(struct trip_hard *hard, uint64_t ticket)
{
	struct errands batch = {.n = 0};
	uint32_t most = hard->rules.templates != NULL ? hard->batch : 1;

	while (batch.n < most && take_errand(hard, &batch, ticket + batch.n))
		;
	trip_hard_operate(hard, batch.ops, batch.n);
	for (uint32_t i = 0; i < batch.n; i++)
		settle_errand(hard, batch.home[i], batch.errand[i], batch.ops[i].result);
	return batch.n;
}

/* Returns how many tickets have been served. */
static uint32_t
serve_from(struct trip_hard *hard, uint64_t ticket)
{
	struct trip_hard_call *call = atomic_load_explicit(&hard->call, memory_order_acquire);

	if (call == NULL || call->ticket != ticket)
		return run_errands(hard, ticket);
	answer(hard, call);
	return 1;
}

static bool
serve(struct trip_hard *hard)
{
	uint64_t ticket = atomic_load_explicit(&hard->desk.served, memory_order_relaxed);
	uint32_t n;

	if (ticket == atomic_load(&hard->desk.tickets))
		return false;
	n = serve_from(hard, ticket);
	atomic_store_explicit(&hard->desk.served, ticket + n, memory_order_release);
	/* Drawn, and about to be sent: its sender may need this CPU. */
	if (n == 0)
		sched_yield();
	return true;
}

static void
sleep_until(struct trip_hard *hard, uint64_t until)
{
	struct pollfd wake = {.fd = hard->desk.wake_fd, .events = POLLIN};
	uint64_t now = rte_rdtsc(), drained;
	struct timespec time, *limit = NULL;

	if (until != UINT64_MAX) {
		uint64_t ns = until > now ? trip_engine_ns(hard->engine, until - now) : 0;

		ns = RTE_MIN(ns, (uint64_t)LOOK_NS);
		time = (struct timespec){
			.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};
		limit = &time;
	}
	atomic_store(&hard->desk.asleep, true);
	if (atomic_load(&hard->desk.tickets) == atomic_load(&hard->desk.served) &&
		atomic_load(&hard->notices) == 0 && !atomic_load(&hard->stop))
		(void)ppoll(&wake, 1, limit, NULL);
	/* Whoever woke us has written, or is about to: then the next sleep is short. */
	atomic_store(&hard->desk.asleep, false);
	(void)!read(hard->desk.wake_fd, &drained, sizeof(drained));
}

static TRIP_COMPAT_THREAD_RESULT
worker_main(void *arg)
{
	struct trip_hard *hard = arg;

	trip_hard_current = hard;
	for (;;) {
		/* Before the look: whoever stops us has ended what could be told. */
		bool stops = atomic_load_explicit(&hard->stop, memory_order_acquire), busy;

		trip_notice_enter(hard);
		trip_life_look(hard);
		busy = serve(hard);
		if (!busy)
			trip_hard_obey(hard);
		busy |= trip_sweep(hard, rte_rdtsc());
		trip_notice_leave(hard);
		if (busy)
			continue;
		if (stops)
			break;
		sleep_until(hard, trip_sweep_next(hard));
	}
	if (hard->rules.templates != NULL)
		trip_template_close(hard->rules.templates, hard->paused);
	return 0;
}

static int
open_tables(struct trip_hard *hard)
{
	const struct trip_engine *engine = hard->engine;
	uint32_t n = engine->n_homes;

	hard->desk.rings =
		aligned_alloc(alignof(struct trip_errand_ring), n * sizeof(*hard->desk.rings));
	hard->errands = calloc((size_t)n * TRIP_HARD_ERRANDS, sizeof(*hard->errands));
	hard->flows = calloc(engine->n_flows, sizeof(struct trip_hard_flow *));
	hard->horizon_memory = malloc(trip_horizon_size(engine->n_flows));
	if (hard->desk.rings == NULL || hard->errands == NULL || hard->flows == NULL ||
		hard->horizon_memory == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		trip_errand_init(&hard->desk.rings[i], &hard->errands[i * TRIP_HARD_ERRANDS],
			TRIP_HARD_ERRANDS);
	trip_horizon_init(&hard->horizon, hard->horizon_memory, engine->n_flows);
	return 0;
}

static int
start(struct trip_hard *hard)
{
	char name[16]; /* as long as the system has them */
	int error;

	hard->desk.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (hard->desk.wake_fd < 0)
		return -errno;
	error = trip_notice_watch(hard);
	if (error != 0)
		return error;
	snprintf(name, sizeof(name), "trip-flow-%u", (unsigned int)hard->port_id);
	error = trip_compat_thread_start(&hard->thread, name, worker_main, hard);
	hard->started = error == 0;
	return error > 0 ? -error : error;
}

int
trip_hard_open(struct trip_hard **out, struct trip_engine *engine, uint16_t port_id,
	uint32_t flow_queue, uint32_t period_us,
	void (*notify)(void *arg, enum trip_port_event event), void *notify_arg)
{
	struct trip_hard *hard = aligned_alloc(alignof(struct trip_hard), sizeof(*hard));
	int error;

	if (hard == NULL)
		return -ENOMEM;
	memset(hard, 0, sizeof(*hard));
	hard->engine = engine;
	/* Another one of this port has ended: it begins anew. */
	hard->stats = engine->done != NULL ? &engine->done[port_id] : &hard->own;
	memset(hard->stats, 0, sizeof(*hard->stats));
	hard->port_id = hard->rules.port_id = port_id;
	hard->flow_queue = flow_queue;
	hard->batch = TRIP_BATCH_MAX;
	hard->notify = notify;
	hard->notify_arg = notify_arg;
	hard->desk.wake_fd = -1;
	pthread_mutex_init(&hard->turn, NULL);
	pthread_mutex_init(&hard->lock, NULL);
	pthread_cond_init(&hard->answered, NULL);
	error = trip_facts_read(port_id, &hard->facts);
	if (error == 0)
		error = open_tables(hard);
	if (error == 0) {
		trip_sweep_configure(hard, engine->tsc_hz * period_us / US_PER_S);
		error = start(hard);
	}
	if (error != 0) {
		trip_hard_close(hard);
		return error;
	}
	*out = hard;
	return 0;
}

void
trip_hard_close(struct trip_hard *hard)
{
	trip_notice_unwatch(hard);
	if (hard->started) {
		atomic_store(&hard->stop, true);
		trip_errand_wake(&hard->desk);
		trip_compat_thread_join(hard->thread);
	}
	trip_refresher_close(hard);
	if (hard->desk.wake_fd >= 0)
		close(hard->desk.wake_fd);
	pthread_cond_destroy(&hard->answered);
	pthread_mutex_destroy(&hard->lock);
	pthread_mutex_destroy(&hard->turn);
	free(hard->desk.rings);
	free(hard->errands);
	free(hard->flows);
	free(hard->horizon_memory);
	free(hard);
}

void
trip_hard_facts(struct trip_hard *hard, struct trip_port_facts *facts)
{
	pthread_mutex_lock(&hard->lock);
	*facts = hard->facts.port;
	pthread_mutex_unlock(&hard->lock);
}

void
trip_hard_marks(struct trip_hard *hard, uint32_t marks[TRIP_HOMES_MAX])
{
	for (uint32_t i = 0; i < hard->engine->n_homes; i++)
		marks[i] = trip_errand_mark(&hard->desk.rings[i]);
}

bool
trip_hard_settled(struct trip_hard *hard, const uint32_t marks[TRIP_HOMES_MAX])
{
	for (uint32_t i = 0; i < hard->engine->n_homes; i++)
		if (!trip_errand_settled(&hard->desk.rings[i], marks[i]))
			return false;
	return true;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects of stress-engine that come and go: their whole life, with all that may refer to them. */
#include <string.h>

#include "engine_threads.h"
#include "waits.h"

static const enum trip_wait_obj wait_objs[] = {
	TRIP_WAIT_NONE, TRIP_WAIT_UNSPEC, TRIP_WAIT_FD, TRIP_WAIT_MUTEX_COND, TRIP_WAIT_YIELD};

static bool
is_native(enum trip_wait_obj wait_obj)
{
	return wait_obj == TRIP_WAIT_FD || wait_obj == TRIP_WAIT_MUTEX_COND;
}

static enum trip_wait_obj
any_wait_obj(struct worker *worker, bool none)
{
	return wait_objs[none ? below(worker, 5) : 1 + below(worker, 4)];
}

void
engine_live_cntr(struct worker *worker)
{
	struct trip_cntr_attr attr = {.size = sizeof(attr), .wait_obj = any_wait_obj(worker, true)};
	struct trip_work work;
	struct trip_cntr *own;
	struct trip_fid *fid;

	if (trip_cntr_open(harness_domain, &attr, &own, NULL) != 0) {
		expect(worker, false);
		return;
	}
	fid = trip_cntr_fid(own);
	/* A successor of one that was closed has nothing of it. */
	expect(worker, trip_cntr_read(own) == 0 && trip_cntr_readerr(own) == 0);
	work = harness_work(own, 1 + below(worker, 3), TRIP_OP_CNTR_ADD);
	work.op.cntr.cntr = world.flushed_sink;
	work.op.cntr.value = 1;
	if (trip_work_queue(harness_domain, &work, NULL) == 0) {
		worker->flushed_adds++;
		if (below(worker, 2) == 0)
			expect(worker, trip_cntr_close(own) == -EBUSY);
	}
	if (is_native(attr.wait_obj)) {
		expect(worker, trip_cntr_arm(own, 2) == 0);
		trip_cntr_add(own, below(worker, 4));
		trip_trywait(harness_domain, &fid, 1);
	}
	trip_cntr_add(own, below(worker, 4));
	expect(worker, trip_work_flush(harness_domain, own) == 0);
	expect(worker, trip_cntr_close(own) == 0);
}

static void
close_found(struct worker *worker, struct trip_cntr *cntr)
{
	trip_cntr_read(cntr);
	trip_cntr_add(cntr, 1);
	expect(worker, trip_cntr_close(cntr) == 0);
}

/* Whoever comes first opens it, the others find it; it is closed once they have let go. */
void
engine_live_name(struct worker *worker)
{
	struct trip_cntr_attr attr = {.size = sizeof(attr), .wait_obj = any_wait_obj(worker, true)};
	char name[] = "n0";
	struct trip_cntr *cntr;
	int error;

	name[1] += (char)below(worker, NAMES);
	attr.name = name;
	if (below(worker, 2) == 0) {
		error = trip_cntr_find(harness_domain, &attr, &cntr, NULL);
		expect(worker, error == 0 || error == -ENOENT);
		if (error == 0)
			close_found(worker, cntr);
		return;
	}
	error = trip_cntr_open(harness_domain, &attr, &cntr, NULL);
	expect(worker, error == 0 || error == -EEXIST);
	if (error != 0)
		return;
	expect(worker, strcmp(trip_cntr_name(cntr), name) == 0);
	trip_cntr_add(cntr, 1);
	for (uint64_t i = below(worker, 4); i > 0; i--)
		harness_step();
	while ((error = trip_cntr_close(cntr)) == -EBUSY)
		harness_step();
	expect(worker, error == 0);
}

static struct trip_cntr *
open_member(struct worker *worker, struct trip_wait_set *set)
{
	struct trip_cntr_attr attr = {
		.size = sizeof(attr), .wait_obj = TRIP_WAIT_SET, .wait_set = set};
	struct trip_cntr *member = NULL;

	expect(worker, trip_cntr_open(harness_domain, &attr, &member, NULL) == 0);
	return member;
}

void
engine_live_set(struct worker *worker)
{
	struct trip_wait_attr attr = {
		.size = sizeof(attr), .wait_obj = any_wait_obj(worker, false)};
	struct trip_wait_set *set;
	struct trip_cntr *member;
	struct trip_fid *fid;

	if (trip_wait_open(harness_domain, &attr, &set) != 0) {
		expect(worker, false);
		return;
	}
	fid = trip_wait_fid(set);
	member = open_member(worker, set);
	if (member != NULL) {
		expect(worker, trip_wait_close(set) == -EBUSY);
		expect(worker, trip_wait(set, 0) == -ETIMEDOUT);
		expect(worker, trip_trywait(harness_domain, &fid, 1) == 0);
		trip_cntr_add(member, 1);
		expect(worker, trip_wait(set, -1) == 0);
		expect(worker, trip_trywait(harness_domain, &fid, 1) == -EAGAIN);
		expect(worker, trip_cntr_close(member) == 0);
	}
	expect(worker, trip_wait_close(set) == 0);
}

/* In a set on which somebody sleeps. */
void
engine_live_member(struct worker *worker)
{
	struct trip_cntr *member = open_member(worker, engine_waiters_set(worker));

	if (member == NULL)
		return;
	if (below(worker, 2) == 0)
		trip_cntr_adderr(member, 1);
	for (uint64_t i = below(worker, 4); i > 0; i--)
		harness_step();
	expect(worker, trip_cntr_close(member) == 0);
}

void
engine_live_poll_set(struct worker *worker)
{
	struct trip_fid *fid = trip_cntr_fid(world.cntrs[below(worker, CNTRS)]);
	struct trip_poll_set *set;

	if (trip_poll_open(harness_domain, NULL, &set) != 0) {
		expect(worker, false);
		return;
	}
	expect(worker, trip_poll_add(set, fid, 0) == 0);
	expect(worker, trip_poll_add(set, fid, 0) == -EEXIST);
	expect(worker, trip_poll_close(set) == -EBUSY);
	expect(worker, trip_poll_del(set, fid, 0) == 0);
	expect(worker, trip_poll_del(set, fid, 0) == -ENOENT);
	expect(worker, trip_poll_close(set) == 0);
}

static int
poll_some(struct worker *worker, int count)
{
	void *contexts[CNTRS];
	int n = trip_poll(worker->poll_set, contexts, count);

	expect(worker, n >= 0 && n <= count);
	for (int i = 0; i < n; i++)
		expect(worker, worker->polled[(struct trip_cntr **)contexts[i] - world.cntrs]);
	return n;
}

void
engine_poll(struct worker *worker)
{
	unsigned int at = (unsigned int)below(worker, CNTRS);
	struct trip_fid *fid = trip_cntr_fid(world.cntrs[at]);
	bool member = worker->polled[at];

	switch (below(worker, 4)) {
	case 0:
		expect(worker, trip_poll_add(worker->poll_set, fid, 0) == (member ? -EEXIST : 0));
		worker->polled[at] = true;
		break;
	case 1:
		expect(worker, trip_poll_del(worker->poll_set, fid, 0) == (member ? 0 : -ENOENT));
		worker->polled[at] = false;
		break;
	default:
		poll_some(worker, (int)below(worker, CNTRS));
	}
}

/* All of them have changed, and then nothing did any more. */
void
engine_poll_end(struct worker *worker)
{
	int members = 0;

	for (unsigned int i = 0; i < CNTRS; i++)
		members += worker->polled[i];
	expect(worker, poll_some(worker, CNTRS) == members);
	expect(worker, poll_some(worker, CNTRS) == 0);
}

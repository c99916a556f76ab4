/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of a counter, and its values. wait.c waits on it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_cycles.h>

#include "cntr/clock_cntr.h"
#include "cntr/cntr.h"
#include "cntr/native.h"
#include "cntr/registry.h"
#include "cntr/wait_set.h"
#include "domain/backend.h"
#include "domain/detach.h"
#include "domain/error.h"
#include "domain/sized.h"
#include "work/submitter.h"
#include "work/work_refs.h"

const char *
trip_cntr_label(const struct trip_cntr *cntr, char *text, size_t size)
{
	if (cntr->is_clock)
		snprintf(text, size, "clock of home %" PRIu32, cntr->home->index);
	else
		snprintf(text, size,
			cntr->name[0] != 0 ? "cntr %" PRIu32 " \"%s\"" : "cntr %" PRIu32,
			cntr->global, cntr->name);
	return text;
}

static int
check_attr(const struct trip_domain *domain, const struct trip_cntr_attr *attr)
{
	if (attr->flags != 0)
		return trip_error_set(EINVAL, "cntr: flags 0x%" PRIx64 " are not 0", attr->flags);
	if ((unsigned int)attr->events > TRIP_CNTR_EVENTS_BYTES)
		return trip_error_set(EINVAL, "cntr: events %d are unknown", (int)attr->events);
	if ((unsigned int)attr->wait_obj > TRIP_WAIT_YIELD)
		return trip_error_set(
			EINVAL, "cntr: wait object %d is unknown", (int)attr->wait_obj);
	if (attr->wait_obj == TRIP_WAIT_SET &&
		(attr->wait_set == NULL || trip_wait_fid(attr->wait_set)->domain != domain))
		return trip_error_set(
			EINVAL, "cntr: its wait set is none of the domain \"%s\"", domain->name);
	return attr->name != NULL ? trip_error_check_name("cntr", attr->name, TRIP_NAME_MAX) : 0;
}

void
trip_cntr_bind(struct trip_cntr *cntr, const struct trip_entry *entry, _Atomic uint32_t *flows)
{
	cntr->id = entry->id;
	cntr->global = entry->global;
	cntr->home = trip_engine_home(&cntr->fid.domain->engine, cntr->global, &cntr->local);
	cntr->cell = &cntr->home->cells[cntr->local];
	cntr->head.cell = (struct trip_cntr_cell *)cntr->cell;
	cntr->flows = flows != NULL ? flows : &cntr->cell->flows;
	cntr->events = entry->events;
	strcpy(cntr->name, entry->name);
}

static int
open_wait(struct trip_cntr *cntr, struct trip_wait_set *set)
{
	if (trip_native_is_kind(cntr->fid.wait_obj))
		return trip_native_open(
			&cntr->native, cntr->fid.domain, cntr->home, cntr->fid.wait_obj);
	return cntr->fid.wait_obj == TRIP_WAIT_SET ? trip_wait_set_join(set, cntr) : 0;
}

static void
close_wait(struct trip_cntr *cntr)
{
	if (cntr->fid.wait_obj == TRIP_WAIT_SET)
		trip_wait_set_leave(cntr);
	else if (trip_native_is_kind(cntr->fid.wait_obj))
		trip_native_close(&cntr->native);
}

static int
open_local(struct trip_cntr *cntr, const struct trip_cntr_attr *attr)
{
	struct trip_domain *domain = cntr->fid.domain;
	struct trip_entry *entry;
	int error = cntr->found ? trip_registry_find(domain, attr->name, &entry)
				: trip_registry_enter(domain, attr->name, attr->events, &entry);

	if (error == 0)
		trip_cntr_bind(cntr, entry, &entry->flows);
	return error;
}

static struct trip_entry *
entry_of(const struct trip_cntr *cntr)
{
	return &cntr->fid.domain->entries[cntr->global];
}

static int
retire_local(struct trip_cntr *cntr)
{
	return cntr->found ? 0 : trip_registry_retire(cntr->fid.domain, entry_of(cntr));
}

static void
let_go_local(struct trip_cntr *cntr, bool abandoned)
{
	if (cntr->found)
		trip_registry_drop(cntr->fid.domain, entry_of(cntr));
	else if (abandoned)
		trip_registry_orphan(cntr->fid.domain, entry_of(cntr));
	else
		trip_registry_free(cntr->fid.domain, entry_of(cntr));
}

const struct trip_cntr_backend trip_cntr_local = {
	.open = open_local,
	.retire = retire_local,
	.let_go = let_go_local,
};

static int
open_handle(struct trip_domain *domain, const struct trip_cntr_attr *attr, bool found,
	struct trip_cntr **out, void *context)
{
	const struct trip_cntr_backend *backend = domain->backend->cntr;
	struct trip_cntr *cntr;
	int error = trip_detach_check(domain);

	if (error == 0)
		error = check_attr(domain, attr);
	if (error != 0)
		return error;
	cntr = calloc(1, sizeof(*cntr));
	if (cntr == NULL)
		return trip_error_set(ENOMEM, "cntr: no memory for its handle");
	cntr->fid.domain = domain;
	cntr->fid.wait_obj = attr->wait_obj;
	cntr->context = context;
	cntr->found = found;
	error = backend->open(cntr, attr);
	if (error != 0) {
		free(cntr);
		return error;
	}
	error = open_wait(cntr, attr->wait_set);
	if (error != 0) {
		backend->let_go(cntr, true);
		free(cntr);
		return error;
	}
	trip_work_refs_open(cntr);
	trip_detach_watch_cntr(cntr);
	*out = cntr;
	return 0;
}

int
trip_cntr_open(struct trip_domain *domain, const struct trip_cntr_attr *given,
	struct trip_cntr **out, void *context)
{
	struct trip_cntr_attr attr;
	int error = TRIP_SIZED_TAKE(trip_cntr_attr, &attr, given);

	return error == 0 ? open_handle(domain, &attr, false, out, context) : error;
}

int
trip_cntr_find(struct trip_domain *domain, const struct trip_cntr_attr *given,
	struct trip_cntr **out, void *context)
{
	struct trip_cntr_attr attr;
	int error = TRIP_SIZED_TAKE(trip_cntr_attr, &attr, given);

	if (error == 0 && attr.name == NULL)
		error = trip_error_set(EINVAL, "cntr: no name is given to find it by");
	return error == 0 ? open_handle(domain, &attr, true, out, context) : error;
}

int
trip_cntr_close(struct trip_cntr *cntr)
{
	struct trip_domain *domain = cntr->fid.domain;
	char label[TRIP_CNTR_LABEL_SIZE];
	uint32_t refs;
	int error;

	if (trip_detach_check(domain) != 0)
		return -ESHUTDOWN;
	if (cntr->is_clock)
		return trip_error_set(EINVAL, "%s: it is the domain's to close",
			trip_cntr_label(cntr, label, sizeof(label)));
	/* Items that are gone may still be waiting to be counted off. */
	trip_submitter_reap(domain);
	refs = trip_work_refs_close(cntr);
	if (refs > 0)
		return trip_error_set(EBUSY,
			"%s: %" PRIu32
			" flows, pending work items, poll sets, profiles or waiters refer to it",
			trip_cntr_label(cntr, label, sizeof(label)), refs);
	/* Its end changes the error value, which is nothing to tell its set. */
	if (cntr->fid.wait_obj == TRIP_WAIT_SET)
		trip_wait_set_suspend(cntr);
	error = domain->backend->cntr->retire(cntr);
	if (error != 0) {
		trip_work_refs_open(cntr);
		if (cntr->fid.wait_obj == TRIP_WAIT_SET)
			trip_wait_set_resume(cntr);
		return error;
	}
	close_wait(cntr);
	domain->backend->cntr->let_go(cntr, false);
	trip_detach_unwatch_cntr(cntr);
	free(cntr);
	return 0;
}

uint64_t
trip_cntr_read(struct trip_cntr *cntr)
{
	uint64_t value = unlikely(cntr->is_clock) ? trip_clock_cntr_read(cntr)
						  : trip_cell_success(cntr->cell);

	/* A read that finds nothing new leaves the handle's line to other readers. */
	if (atomic_load_explicit(&cntr->read_success, memory_order_relaxed) != value)
		atomic_store_explicit(&cntr->read_success, value, memory_order_relaxed);
	return value;
}

uint64_t
trip_cntr_readerr(struct trip_cntr *cntr)
{
	uint64_t value = trip_cell_error(cntr->cell);

	if (atomic_load_explicit(&cntr->read_error, memory_order_relaxed) != value)
		atomic_store_explicit(&cntr->read_error, value, memory_order_relaxed);
	return value;
}

void
trip_cntr_sample(const struct trip_cntr *cntr, struct trip_cell_sample *sample)
{
	trip_cell_sample(cntr->cell, sample);
	if (cntr->is_clock)
		sample->success = trip_clock_cntr_read(cntr);
}

bool
trip_cntr_is_due(struct trip_cntr *cntr, struct trip_cell_sample *sample)
{
	trip_cntr_sample(cntr, sample);
	return sample->success != atomic_load_explicit(&cntr->read_success, memory_order_relaxed) ||
	       sample->error != atomic_load_explicit(&cntr->read_error, memory_order_relaxed);
}

static int
ring_if(struct trip_cntr *cntr, bool ring)
{
	if (ring)
		trip_doorbell_ring(&cntr->home->doorbell, TRIP_BELL_CNTR, cntr->local);
	return 0;
}

int
trip_cntr_add_reached(struct trip_cntr *cntr, uint64_t reached)
{
	return ring_if(cntr, trip_cell_add_reached(cntr->cell, reached));
}

/* 0, or why the caller may not change it. */
static int
check_change(struct trip_cntr *cntr)
{
	char label[TRIP_CNTR_LABEL_SIZE];
	int error = trip_detach_check(cntr->fid.domain);

	if (error != 0 || !cntr->is_clock)
		return error;
	return trip_error_set(EINVAL, "%s: nothing but time changes it",
		trip_cntr_label(cntr, label, sizeof(label)));
}

int
trip_cntr_add_slowly(struct trip_cntr *cntr, uint64_t value)
{
	if (__atomic_load_n(&cntr->head.cell, __ATOMIC_RELAXED) == NULL)
		return cntr->is_clock ? check_change(cntr) : trip_detach_refuse(cntr->fid.domain);
	return ring_if(cntr, trip_cell_add(cntr->cell, value));
}

/* For whoever does not compile the header's. */
int
trip_cntr_add(struct trip_cntr *cntr, uint64_t value)
{
	uint64_t reached;

	if (__atomic_load_n(&cntr->head.cell, __ATOMIC_RELAXED) == NULL || (value >> 32) != 0)
		return trip_cntr_add_slowly(cntr, value);
	if (!trip_cell_add_quickly(cntr->cell, value, &reached))
		return 0;
	return trip_cntr_add_reached(cntr, reached);
}

int
trip_cntr_adderr(struct trip_cntr *cntr, uint64_t value)
{
	int error = check_change(cntr);

	return error != 0 ? error : ring_if(cntr, trip_cell_adderr(cntr->cell, value));
}

static int
check_value(struct trip_cntr *cntr, const char *what, uint64_t value)
{
	char label[TRIP_CNTR_LABEL_SIZE];
	int error = check_change(cntr);

	return error != 0 || value <= TRIP_CNTR_MAX
		       ? error
		       : trip_error_set(EINVAL, "%s: %s %" PRIu64 " is above the limit %" PRIu64,
				 trip_cntr_label(cntr, label, sizeof(label)), what, value,
				 (uint64_t)TRIP_CNTR_MAX);
}

int
trip_cntr_set(struct trip_cntr *cntr, uint64_t value)
{
	int error = check_value(cntr, "value", value);

	return error != 0 ? error : ring_if(cntr, trip_cell_set(cntr->cell, value));
}

int
trip_cntr_reset(struct trip_cntr *cntr, uint64_t *was)
{
	int error = check_change(cntr);
	uint64_t ignored;

	return error != 0
		       ? error
		       : ring_if(cntr, trip_cell_reset(cntr->cell, was != NULL ? was : &ignored));
}

int
trip_cntr_seterr(struct trip_cntr *cntr, uint64_t value)
{
	int error = check_value(cntr, "error value", value);

	return error != 0 ? error : ring_if(cntr, trip_cell_seterr(cntr->cell, value));
}

uint64_t
trip_cntr_errgen(struct trip_cntr *cntr)
{
	struct trip_cell_sample sample;

	trip_cell_sample(cntr->cell, &sample);
	return trip_cell_error_mark(&sample);
}

uint64_t
trip_cntr_age(struct trip_cntr *cntr)
{
	uint64_t refreshed, now;

	if (atomic_load_explicit(cntr->flows, memory_order_relaxed) == 0)
		return 0;
	if (trip_detach_check(cntr->fid.domain) != 0)
		return UINT64_MAX;
	/* Acquire: what is read next has all up to then. Partner: trip_source_fold(). */
	refreshed = atomic_load_explicit(&cntr->cell->refreshed_tsc, memory_order_acquire);
	now = rte_rdtsc();
	return now > refreshed ? trip_engine_ns(cntr->home->engine, now - refreshed) : 0;
}

void *
trip_cntr_context(const struct trip_cntr *cntr)
{
	return cntr->context;
}

const char *
trip_cntr_name(const struct trip_cntr *cntr)
{
	return cntr->name;
}

struct trip_fid *
trip_cntr_fid(struct trip_cntr *cntr)
{
	return &cntr->fid;
}

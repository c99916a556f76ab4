/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that deferred work can call: pointers of this process, known to work by index. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "domain/backend.h"
#include "domain/detach.h"
#include "domain/error.h"
#include "domain/progress.h"
#include "work/submitter.h"
#include "work/work_refs.h"

static bool
try_index(struct trip_domain *domain, uint32_t *index)
{
	bool is_all;

	pthread_mutex_lock(&domain->lock);
	is_all = trip_indices_try(domain, &domain->functions, index, 1);
	pthread_mutex_unlock(&domain->lock);
	return is_all;
}

/* Where all that are left have been unregistered in a handler, it waits for what runs. TRIP_NONE:
 * all are registered. */
static int
take_index(struct trip_domain *domain, uint32_t *index)
{
	int error = 0;

	while (error == 0 && !try_index(domain, index)) {
		error = trip_progress_check_named(
			domain, "domain", domain->name, "register functions just now");
		if (error == 0)
			trip_progress_wait(domain);
	}
	return error;
}

/* Another home may be about to call what is unregistered on this one, which cannot wait for that:
 * the index does. */
static void
give_index(struct trip_domain *domain, uint32_t index)
{
	pthread_mutex_lock(&domain->lock);
	domain->function_names[index][0] = 0;
	if (trip_domain_on_home(domain))
		trip_indices_retire(domain, &domain->functions, index);
	else
		trip_indices_give(&domain->functions, index);
	pthread_mutex_unlock(&domain->lock);
}

int
trip_function_register(
	struct trip_domain *domain, trip_function_t function, void *arg, struct trip_function **out)
{
	struct trip_function *handle;
	int error;

	if (trip_detach_check(domain) != 0)
		return -ESHUTDOWN;
	if (function == NULL)
		return trip_error_set(EINVAL, "function: it is NULL");
	error = domain->backend->check_functions(domain);
	if (error != 0)
		return error;
	handle = calloc(1, sizeof(*handle));
	if (handle == NULL)
		return trip_error_set(ENOMEM, "function: no memory for its handle");
	handle->domain = domain;
	error = take_index(domain, &handle->index);
	if (error == 0 && handle->index == TRIP_NONE)
		error = trip_error_set(ENOSPC,
			"domain \"%s\": all %" PRIu32 " functions are registered", domain->name,
			domain->attr.max_functions);
	if (error != 0) {
		free(handle);
		return error;
	}
	domain->engine.functions[handle->index].arg = arg;
	/* Partner: the acquire load in fire.c's op_call(). */
	atomic_store_explicit(
		&domain->engine.functions[handle->index].function, function, memory_order_release);
	*out = handle;
	return 0;
}

int
trip_function_name(struct trip_function *handle, const char *name)
{
	struct trip_domain *domain = handle->domain;
	int error;

	if (trip_detach_check(domain) != 0)
		return -ESHUTDOWN;
	error = trip_error_check_name("function", name, TRIP_NAME_MAX);
	if (error != 0)
		return error;
	pthread_mutex_lock(&domain->lock);
	strcpy(domain->function_names[handle->index], name);
	pthread_mutex_unlock(&domain->lock);
	return 0;
}

int
trip_function_unregister(struct trip_function *handle)
{
	struct trip_domain *domain = handle->domain;
	uint32_t refs;

	if (trip_detach_check(domain) != 0)
		return -ESHUTDOWN;
	trip_submitter_reap(domain);
	refs = trip_work_refs_count(domain, TRIP_OP_ON_FUNCTION, handle->index);
	if (refs > 0)
		return trip_error_set(EBUSY,
			"function %" PRIu32 ": %" PRIu32 " pending work items would call it",
			handle->index, refs);
	/* It may be running. */
	if (!trip_domain_on_home(domain))
		trip_progress_quiesce(domain);
	atomic_store_explicit(
		&domain->engine.functions[handle->index].function, NULL, memory_order_release);
	give_index(domain, handle->index);
	free(handle);
	return 0;
}

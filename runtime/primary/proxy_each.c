/* SPDX-License-Identifier: BSD-3-Clause */
/* What the proxy does about statements that count by keys: processes find them, and let go. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "domain/error.h"
#include "domain/progress.h"
#include "flow/each.h"
#include "primary/proxy_held.h"

/* Under the control lock. */
static int
find(struct trip_proxy_job *job, const struct trip_protocol_each *asked)
{
	uint32_t *number = &job->connection->reply.answer.each;
	char name[sizeof(asked->name)];
	int error;

	snprintf(name, sizeof(name), "%.*s", (int)sizeof(name) - 1, asked->name);
	error = trip_error_check_name("each", name, TRIP_NAME_MAX);
	if (error == 0)
		error = trip_each_keep(trip_proxy_domain(job->process), name, number);
	if (error != 0)
		return error;
	job->size = sizeof(*number);
	job->process->held.eaches[*number]++;
	return 0;
}

/* Under the control lock. */
static int
check_found(const struct trip_process *process, uint32_t number)
{
	return number < TRIP_EACH_MAX && process->held.eaches[number] != 0
		       ? 0
		       : trip_error_set(EINVAL, "each %" PRIu32 ": process %d has not found it",
				 number, (int)process->credentials.pid);
}

static int
let_go(struct trip_proxy_job *job, uint32_t number)
{
	struct trip_process *process = job->process;
	int error = check_found(process, number);

	if (error != 0)
		return error;
	process->held.eaches[number]--;
	trip_each_let_go(trip_proxy_domain(process), number, 1);
	return 0;
}

int
trip_proxy_each_run(struct trip_proxy_job *job)
{
	const struct trip_protocol_each *asked = &job->request.each;
	struct trip_domain *domain = trip_proxy_domain(job->process);
	int error;

	trip_progress_lock(domain);
	error = asked->close != 0 ? let_go(job, asked->number) : find(job, asked);
	pthread_mutex_unlock(&domain->control);
	return error;
}

int
trip_proxy_each_by_hand(struct trip_proxy_job *job)
{
	const struct trip_protocol_by_hand *wanted = &job->request.by_hand;
	struct trip_domain *domain = trip_proxy_domain(job->process);
	struct trip_each_asked asked = {.time_us = wanted->time_us,
		.op = wanted->op,
		.pid = (uint32_t)job->process->credentials.pid};
	const struct trip_each *each;
	int error;

	trip_progress_lock(domain);
	error = check_found(job->process, wanted->number);
	if (error == 0) {
		each = domain->eaches[wanted->number];
		/* What is behind a key is 0 in all tables. */
		memcpy(asked.key, wanted->key, each->statement.key.bytes);
		error = trip_each_by_hand(each, &asked);
	}
	pthread_mutex_unlock(&domain->control);
	return error;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* What the proxy does about ports. */
#include <errno.h>
#include <inttypes.h>

#include <rte_common.h>

#include "domain/error.h"
#include "domain/progress.h"
#include "flow/port.h"
#include "primary/proxy_held.h"

/* Under the control lock. */
static int
give_port(struct trip_proxy_job *job, struct trip_port *port)
{
	struct trip_protocol_found *found = &job->connection->reply.answer.port;
	int fd = trip_port_share(port);

	if (fd < 0)
		return fd;
	*found = (struct trip_protocol_found){.mode = port->mode};
	for (unsigned int s = 0; s < TRIP_PORT_SIDES; s++) {
		found->first_queue[s] = port->sides[s].first_queue;
		found->n_queues[s] = port->sides[s].n_queues;
	}
	job->size = sizeof(*found);
	job->connection->reply_fd = fd;
	job->process->held.ports[port->port_id]++;
	port->n_found++;
	return 0;
}

int
trip_proxy_port_run(struct trip_proxy_job *job)
{
	const struct trip_protocol_port *asked = &job->request.port;
	struct trip_domain *domain = trip_proxy_domain(job->process);
	uint32_t *handles;
	struct trip_port *port;
	int error = 0;

	if (asked->port >= TRIP_PORTS_MAX)
		return trip_error_set(ENOENT,
			"port %" PRIu16 ": the domain \"%s\" does not have it", asked->port,
			domain->name);
	handles = &job->process->held.ports[asked->port];
	trip_progress_lock(domain);
	port = domain->ports[asked->port];
	if (asked->close != 0 ? *handles == 0
			      : port == NULL || port->closing || *handles == UINT16_MAX) {
		error = trip_error_set(ENOENT,
			"port %" PRIu16 ": the domain \"%s\" does not have it%s", asked->port,
			domain->name, asked->close != 0 ? " open for this process" : "");
	} else if (asked->close != 0) {
		--*handles;
		port->n_found--;
	} else {
		error = give_port(job, port);
	}
	pthread_mutex_unlock(&domain->control);
	return error;
}

/* A port that the process has found, so that it stays; NULL: it has not. */
static struct trip_port *
find_port(const struct trip_process *process, uint32_t port_id)
{
	if (port_id < TRIP_PORTS_MAX && process->held.ports[port_id] > 0)
		return trip_proxy_domain(process)->ports[port_id];
	(void)trip_error_set(EINVAL, "port %" PRIu32 ": process %d has not found it", port_id,
		(int)process->credentials.pid);
	return NULL;
}

int
trip_proxy_port_facts(struct trip_proxy_job *job)
{
	const struct trip_protocol_port_ask *asked = &job->request.port_ask;
	struct trip_port_facts *facts = &job->connection->reply.answer.facts;
	struct trip_port *port = NULL;
	uint16_t port_id = (uint16_t)RTE_MIN(asked->port, UINT16_MAX);

	if (asked->open != 0 && (port = find_port(job->process, asked->port)) == NULL)
		return -EINVAL;
	*facts = (struct trip_port_facts){.size = sizeof(*facts)};
	job->size = sizeof(*facts);
	return port != NULL ? trip_port_facts_read(port, facts) : trip_port_facts(port_id, facts);
}

int
trip_proxy_port_stats(struct trip_proxy_job *job)
{
	struct trip_port *port = find_port(job->process, job->request.port_ask.port);
	struct trip_port_stats *stats;

	if (port == NULL)
		return -EINVAL;
	stats = &job->connection->reply.answer.port_stats;
	*stats = (struct trip_port_stats){.size = sizeof(*stats)};
	job->size = sizeof(*stats);
	return trip_port_stats_read(port, stats);
}

int
trip_proxy_port_quiesce(struct trip_proxy_job *job)
{
	return trip_port_hard_quiesce(trip_proxy_domain(job->process));
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Ports of an attached process: the primary opens them, and tells where their rules are. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "client/protocol.h"
#include "domain/domain.h"
#include "domain/error.h"
#include "flow/port.h"
#include "secondary/link.h"
#include "memory.h"

int
trip_link_quiesce(struct trip_domain *domain)
{
	uint32_t n_ports;

	pthread_mutex_lock(&domain->lock);
	n_ports = domain->n_ports;
	pthread_mutex_unlock(&domain->lock);
	/* A port is closed after its flows, and a flow is destroyed after what was done to it. */
	return n_ports > 0 ? trip_link_call(domain, TRIP_PROTOCOL_QUIESCE, NULL, 0, NULL, NULL) : 0;
}

static int
refuse_open(struct trip_domain *domain, uint16_t port_id, const struct trip_port_attr *attr,
	struct trip_port **out)
{
	return trip_error_set(ENOTSUP,
		"port %" PRIu16 ": ports are opened in the primary of domain \"%s\"; "
		"others find them",
		port_id, domain->name);
}

static void
lose(struct trip_port *port)
{
	trip_port_let_go(port);
	for (unsigned int s = 0; s < TRIP_PORT_SIDES; s++) {
		struct trip_port_side *side = &port->sides[s];

		if (side->table != NULL)
			trip_follow_close(&side->follow);
		trip_memory_give(side->queues);
	}
	if (port->rules_memory != NULL)
		munmap(port->rules_memory,
			TRIP_PORT_SIDES * trip_rulebook_size(port->domain->attr.max_flows));
}

static int
found_side(struct trip_port *port, unsigned int which, const struct trip_protocol_found *found,
	char *memory)
{
	struct trip_port_side *side = &port->sides[which];
	uint32_t max_flows = port->domain->attr.max_flows;

	if (found->n_queues[which] == 0)
		return 0;
	if (found->first_queue[which] + (uint64_t)found->n_queues[which] >
		port->domain->engine.n_queues)
		return trip_error_set(EPROTO,
			"port %" PRIu16 ": the primary gives queues that the domain does not have",
			port->port_id);
	side->queues = trip_memory_reserve(sizeof(*side->queues) * found->n_queues[which]);
	if (side->queues == NULL ||
		trip_follow_open(&side->follow, memory + which * trip_rulebook_size(max_flows),
			max_flows) != 0)
		return trip_error_set(
			ENOMEM, "port %" PRIu16 ": no memory for its rules", port->port_id);
	side->table = side->follow.table;
	side->first_queue = found->first_queue[which];
	side->n_queues = found->n_queues[which];
	return 0;
}

static int
map_found(struct trip_port *port, const struct trip_protocol_found *found, int fd)
{
	size_t size = TRIP_PORT_SIDES * trip_rulebook_size(port->domain->attr.max_flows);
	int error = 0;

	port->mode = (enum trip_port_mode)found->mode;
	port->rules_memory = mmap(NULL, size, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0);
	close(fd);
	if (port->rules_memory == MAP_FAILED) {
		port->rules_memory = NULL;
		return trip_error_set(
			errno, "port %" PRIu16 ": its rules cannot be mapped", port->port_id);
	}
	for (unsigned int s = 0; s < TRIP_PORT_SIDES && error == 0; s++)
		error = found_side(port, s, found, port->rules_memory);
	if (error != 0)
		lose(port);
	return error;
}

static int
give_back(struct trip_domain *domain, uint16_t port_id)
{
	const struct trip_protocol_port asked = {.port = port_id, .close = 1};

	return trip_link_call(domain, TRIP_PROTOCOL_PORT, &asked, sizeof(asked), NULL, NULL);
}

static int
ask_for(struct trip_port *port)
{
	const struct trip_protocol_port asked = {.port = port->port_id};
	union trip_protocol_answer answer;
	int fd, error = trip_link_call(
			port->domain, TRIP_PROTOCOL_PORT, &asked, sizeof(asked), &answer, &fd);

	if (error != 0)
		return error;
	error = fd >= 0 ? map_found(port, &answer.port, fd)
			: trip_error_set(EMFILE,
				  "port %" PRIu16
				  ": the process has no descriptor left to find its rules by",
				  port->port_id);
	if (error != 0)
		(void)give_back(port->domain, port->port_id);
	return error;
}

static int
find(struct trip_domain *domain, uint16_t port_id, struct trip_port **out)
{
	struct trip_port *port = calloc(1, sizeof(*port));
	int error;

	if (port == NULL)
		return trip_error_set(
			ENOMEM, "port %" PRIu16 ": no memory for its handle", port_id);
	port->domain = domain;
	port->port_id = port_id;
	error = ask_for(port);
	if (error != 0) {
		free(port);
		return error;
	}
	trip_port_fids(port);
	trip_domain_count(domain, &domain->n_ports, 1);
	*out = port;
	return 0;
}

static int
close_found(struct trip_port *port)
{
	struct trip_domain *domain = port->domain;
	int error;

	pthread_mutex_lock(&domain->lock);
	error = port->n_flows == 0 ? 0
				   : trip_error_set(EBUSY,
					     "port %" PRIu16 ": %" PRIu32 " flows are open on it",
					     port->port_id, port->n_flows);
	pthread_mutex_unlock(&domain->lock);
	if (error != 0)
		return error;
	trip_port_let_go(port);
	error = give_back(domain, port->port_id);
	if (error != 0)
		return error;
	lose(port);
	trip_domain_count(domain, &domain->n_ports, -1);
	free(port);
	return 0;
}

/* Those of an answer, where there is one. */
static int
take_facts(int error, struct trip_port_facts *facts, const struct trip_port_facts *told)
{
	if (error != 0)
		return error;
	*facts = *told;
	facts->driver[sizeof(facts->driver) - 1] = 0;
	facts->engine[sizeof(facts->engine) - 1] = 0;
	return 0;
}

static int
facts_any(uint16_t port_id, struct trip_port_facts *facts)
{
	const struct trip_protocol_port_ask asked = {.port = port_id};
	union trip_protocol_answer answer;
	int error = trip_link_call_once(TRIP_PROTOCOL_PORT_FACTS, &asked, sizeof(asked), &answer);

	return take_facts(error, facts, &answer.facts);
}

static int
facts_read(struct trip_port *port, struct trip_port_facts *facts)
{
	const struct trip_protocol_port_ask asked = {.port = port->port_id, .open = 1};
	union trip_protocol_answer answer;
	int error = trip_link_call(
		port->domain, TRIP_PROTOCOL_PORT_FACTS, &asked, sizeof(asked), &answer, NULL);

	return take_facts(error, facts, &answer.facts);
}

static int
stats_read(struct trip_port *port, struct trip_port_stats *stats)
{
	const struct trip_protocol_port_ask asked = {.port = port->port_id};
	union trip_protocol_answer answer;
	int error = trip_link_call(
		port->domain, TRIP_PROTOCOL_PORT_STATS, &asked, sizeof(asked), &answer, NULL);

	if (error == 0)
		*stats = answer.port_stats;
	return error;
}

static int
refuse_run(struct trip_port *port, int (*run)(struct trip_hard *hard, struct trip_hard_call *call))
{
	return trip_error_set(
		ENOTSUP, "port %" PRIu16 ": its hardware engine is the primary's", port->port_id);
}

const struct trip_port_backend trip_link_port = {
	.open = refuse_open,
	.find = find,
	.close = close_found,
	.facts = facts_any,
	.facts_read = facts_read,
	.stats_read = stats_read,
	.run = refuse_run,
};

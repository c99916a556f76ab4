/* SPDX-License-Identifier: BSD-3-Clause */
/* Statements that count by keys: handles. What is asked for is each_plan.c's, their lives
 * each_local.c's. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "domain/backend.h"
#include "domain/detach.h"
#include "domain/error.h"
#include "domain/progress.h"
#include "domain/sized.h"
#include "flow/each.h"

int
trip_each_footprint(const struct trip_each_attr *given, uint32_t n_queues, uint64_t *bytes)
{
	struct trip_each_statement statement = {0};
	struct trip_each_attr attr;
	int error = TRIP_SIZED_TAKE(trip_each_attr, &attr, given);

	if (error == 0)
		error = trip_each_plan(&attr, &statement);
	if (error != 0)
		return error;
	trip_each_plan_tables(&statement, n_queues);
	*bytes = trip_each_statement_lines(&statement) * TRIP_EACH_LINE;
	return 0;
}

static int
check_port(const struct trip_domain *domain, const struct trip_each_attr *attr, uint32_t at)
{
	const struct trip_port *port = attr->ports[at];

	if (port->domain != domain)
		return trip_error_set(EXDEV,
			"each \"%s\": port %" PRIu16 " is of domain \"%s\", not of \"%s\"",
			attr->name, port->port_id, port->domain->name, domain->name);
	for (uint32_t i = 0; i < at; i++)
		if (attr->ports[i] == port)
			return trip_error_set(EINVAL,
				"each \"%s\": port %" PRIu16 " is among its ports twice",
				attr->name, port->port_id);
	if (port->sides[attr->direction].n_queues == 0)
		return trip_error_set(ENOTSUP,
			"each \"%s\": port %" PRIu16 " was opened with n_tx_queues 0", attr->name,
			port->port_id);
	return 0;
}

static int
check_trips(const struct trip_domain *domain, const struct trip_each_attr *attr)
{
	const struct trip_cntr *cntr = attr->trips;

	if (cntr == NULL)
		return 0;
	if (cntr->fid.domain != domain)
		return trip_error_set(EXDEV,
			"each \"%s\": the counter of its trips is of domain \"%s\", not of \"%s\"",
			attr->name, cntr->fid.domain->name, domain->name);
	if (cntr->is_clock)
		return trip_error_set(EINVAL,
			"each \"%s\": the counter of its trips is a clock, which only time changes",
			attr->name);
	return attr->n_whens > 0
		       ? 0
		       : trip_error_set(EINVAL,
				 "each \"%s\": it has a counter of trips, and no condition",
				 attr->name);
}

static int
check_attr(const struct trip_domain *domain, const struct trip_each_attr *attr)
{
	int error = trip_error_check_name("each", attr->name, TRIP_NAME_MAX);

	if (error == 0 && (unsigned int)attr->direction >= TRIP_PORT_SIDES)
		error = trip_error_set(EINVAL, "each \"%s\": direction %d is unknown", attr->name,
			(int)attr->direction);
	if (error == 0 && (attr->n_ports == 0 || attr->ports == NULL))
		error = trip_error_set(EINVAL, "each \"%s\": it has no port", attr->name);
	for (uint32_t i = 0; i < attr->n_ports && error == 0; i++)
		error = check_port(domain, attr, i);
	return error == 0 ? check_trips(domain, attr) : error;
}

/* Neither a home nor a port's worker opens or closes one, which waits for bursts. */
static int
check_caller(const struct trip_domain *domain, const char *name)
{
	return trip_progress_check_named(domain, "each", name, "open or close it");
}

static struct trip_each *
take_handle(struct trip_domain *domain, const char *name, uint32_t n_ports)
{
	struct trip_each *each = calloc(1, sizeof(*each) + n_ports * sizeof(each->ports[0]));

	if (each == NULL) {
		(void)trip_error_set(ENOMEM, "each \"%s\": no memory for its handle", name);
		return NULL;
	}
	each->domain = domain;
	each->fid = (struct trip_fid){.domain = domain, .kind = TRIP_FID_EACH};
	each->n_ports = n_ports;
	strcpy(each->statement.name, name);
	return each;
}

/* What the domain does about a handle, which is given out, or freed. */
static int
settle(struct trip_each *each, int (*does)(struct trip_each *each), struct trip_each **out)
{
	struct trip_domain *domain = each->domain;
	int error = does(each);

	if (error != 0) {
		free(each);
		return error;
	}
	trip_domain_count(domain, &domain->n_eaches, 1);
	*out = each;
	return 0;
}

int
trip_each_open(
	struct trip_domain *domain, const struct trip_each_attr *given, struct trip_each **out)
{
	struct trip_each_attr attr;
	struct trip_each *each;
	int error = TRIP_SIZED_TAKE(trip_each_attr, &attr, given);

	if (error == 0)
		error = check_attr(domain, &attr);
	if (error == 0)
		error = check_caller(domain, attr.name);
	if (error != 0)
		return error;
	each = take_handle(domain, attr.name, attr.n_ports);
	if (each == NULL)
		return -ENOMEM;
	each->direction = attr.direction;
	each->trips = attr.trips;
	if (attr.trips != NULL)
		each->statement.cntr = attr.trips->global + 1;
	for (uint32_t i = 0; i < attr.n_ports; i++)
		each->ports[i].port = attr.ports[i];
	error = trip_each_plan(&attr, &each->statement);
	if (error != 0) {
		free(each);
		return error;
	}
	return settle(each, domain->backend->each->open, out);
}

int
trip_each_find(struct trip_domain *domain, const char *name, struct trip_each **out)
{
	struct trip_each *each;
	int error = trip_error_check_name("each", name, TRIP_NAME_MAX);

	if (error == 0)
		error = check_caller(domain, name);
	if (error != 0)
		return error;
	each = take_handle(domain, name, 0);
	if (each == NULL)
		return -ENOMEM;
	each->found = true;
	return settle(each, domain->backend->each->find, out);
}

struct trip_fid *
trip_each_fid(struct trip_each *each)
{
	return &each->fid;
}

int
trip_each_close(struct trip_each *each)
{
	struct trip_domain *domain = each->domain;
	int error = check_caller(domain, each->statement.name);

	if (error == 0 && trip_fid_refs(&each->fid) > 0)
		error = trip_error_set(EBUSY, "each \"%s\": %" PRIu32 " profiles are open",
			each->statement.name, trip_fid_refs(&each->fid));
	if (error == 0)
		error = domain->backend->each->close(each);
	if (error == 0)
		trip_domain_count(domain, &domain->n_eaches, -1);
	return error;
}

int
trip_each_text(const struct trip_each *each, const void *key, char *text, size_t size)
{
	const struct trip_each_statement *statement = &each->statement;
	int error = trip_detach_check(each->domain);

	if (error != 0)
		return error;
	if (trip_each_key_text(statement->parts, statement->n_parts, key, text, size) < size)
		return 0;
	return trip_error_set(ENOSPC, "each \"%s\": the text of its key has more than %zu bytes",
		statement->name, size);
}

int
trip_each_project(const struct trip_each *each, const void *key, const struct trip_each *onto,
	void *projected)
{
	const struct trip_each_statement *from = &each->statement, *to = &onto->statement;
	int error = trip_detach_check(each->domain);
	const struct trip_each_part *lacks;
	uint32_t part;

	if (error != 0)
		return error;
	part = trip_each_key_project(
		from->parts, from->n_parts, key, to->parts, to->n_parts, projected);
	if (part == UINT32_MAX)
		return 0;
	lacks = &to->parts[part];
	return trip_error_set(EINVAL,
		"each \"%s\": its keys have no %s of %" PRIu32 " bits, as each \"%s\" has",
		from->name, trip_each_key_word(lacks->field),
		lacks->length != 0 ? lacks->length : trip_each_key_bits(lacks->field), to->name);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Statements that count by keys: what is asked for, and handles; each_local.c has their lives. */
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

#define KEPT_DEFAULT 1024u

static const char *
name_of(const struct trip_each_attr *attr)
{
	return attr->name != NULL ? attr->name : "";
}

static int
plan_key(const struct trip_each_attr *attr, struct trip_each_statement *statement)
{
	const char *message = "key: it has no field";
	int error = attr->parts == NULL ? -EINVAL
					: trip_each_key_compile(attr->parts, attr->n_parts,
						  &statement->key, &message);

	if (error != 0)
		return trip_error_set(-error, "each \"%s\": %s", name_of(attr), message);
	memcpy(statement->parts, attr->parts, attr->n_parts * sizeof(*attr->parts));
	statement->n_parts = attr->n_parts;
	return 0;
}

static int
plan_pattern(const struct trip_each_attr *attr, struct trip_each_statement *statement)
{
	struct rte_flow_error error = {0};
	struct trip_pattern pattern = {0};
	int result =
		attr->pattern != NULL ? trip_pattern_compile(attr->pattern, &pattern, &error) : 0;

	if (result != 0)
		return trip_error_set(-result, "each \"%s\": %s", name_of(attr),
			error.message != NULL ? error.message : "its pattern is refused");
	trip_each_queue_filter(&pattern, statement);
	return 0;
}

struct trip_keyed_attr
trip_each_keyed(const struct trip_each_statement *statement)
{
	struct trip_keyed_attr attr = {.max = statement->max,
		.words = statement->key.words,
		.by_bytes = statement->rank == TRIP_EACH_BYTES,
		.idle = statement->idle};

	for (uint32_t i = 0; i < statement->n_whens; i++) {
		const struct trip_each_when *when = &statement->whens[i];

		if (when->rate != 0) {
			attr.rate_limit = i;
			attr.rate_of_bytes = when->of == TRIP_EACH_BYTES;
			attr.rate = when->rate;
			attr.burst = when->burst;
			attr.until = when->until;
			continue;
		}
		/* Its part of it. */
		*(when->of == TRIP_EACH_BYTES ? &attr.limits[i].bytes : &attr.limits[i].packets) =
			trip_count_share(when->count, RTE_MAX(statement->n_tables, 1u));
	}
	return attr;
}

static int
plan_table(const struct trip_each_attr *attr, struct trip_each_statement *statement)
{
	struct trip_keyed_attr keyed;
	size_t size;

	if ((unsigned int)attr->rank > TRIP_EACH_BYTES)
		return trip_error_set(
			EINVAL, "each \"%s\": rank %d is unknown", name_of(attr), (int)attr->rank);
	if (attr->max < 1 || attr->max > TRIP_KEYED_MAX)
		return trip_error_set(EINVAL,
			"each \"%s\": max %" PRIu32 " is not in 1 to %" PRIu32, name_of(attr),
			attr->max, TRIP_KEYED_MAX);
	if (attr->idle_us < TRIP_KEYED_IDLE_MIN || attr->idle_us > TRIP_KEYED_IDLE_MAX)
		return trip_error_set(EINVAL,
			"each \"%s\": idle_us %" PRIu64 " is not in %" PRIu32 " to %" PRIu64,
			name_of(attr), attr->idle_us, TRIP_KEYED_IDLE_MIN, TRIP_KEYED_IDLE_MAX);
	statement->max = attr->max;
	statement->rank = attr->rank;
	statement->idle = attr->idle_us;
	keyed = trip_each_keyed(statement);
	size = trip_keyed_size(&keyed);
	if (size == 0)
		return trip_error_set(EINVAL,
			"each \"%s\": of a rate of %" PRIu64
			" more than 2^61 come in its idle_us %" PRIu64,
			name_of(attr), keyed.rate, attr->idle_us);
	statement->table_lines = (uint32_t)((size + TRIP_EACH_LINE - 1) / TRIP_EACH_LINE);
	return 0;
}

/* ---- conditions -------------------------------------------------------------------------------
 */

static int
check_rate(const struct trip_each_attr *attr, uint32_t at)
{
	const struct trip_each_when *when = &attr->whens[at];

	if (when->count != 0)
		return trip_error_set(EINVAL,
			"each \"%s\": condition %" PRIu32 " has a count and a rate", name_of(attr),
			at);
	if (when->rate > TRIP_KEYED_RATE_MAX || when->burst > TRIP_KEYED_BURST_MAX)
		return trip_error_set(EINVAL,
			"each \"%s\": condition %" PRIu32 ": rate %" PRIu64 " or burst %" PRIu64
			" is above 2^40",
			name_of(attr), at, when->rate, when->burst);
	if (when->until > when->burst)
		return trip_error_set(EINVAL,
			"each \"%s\": condition %" PRIu32 ": until %" PRIu64
			" is above its burst %" PRIu64,
			name_of(attr), at, when->until, when->burst);
	for (uint32_t i = 0; i < at; i++)
		if (attr->whens[i].rate != 0)
			return trip_error_set(ENOTSUP,
				"each \"%s\": conditions %" PRIu32 " and %" PRIu32
				" are rates, and a key has one bucket",
				name_of(attr), i, at);
	return 0;
}

static int
check_when(const struct trip_each_attr *attr, uint32_t at)
{
	const struct trip_each_when *when = &attr->whens[at];

	if ((unsigned int)when->of > TRIP_EACH_BYTES)
		return trip_error_set(EINVAL,
			"each \"%s\": condition %" PRIu32 " is of %d, which is unknown",
			name_of(attr), at, (int)when->of);
	if (when->rate != 0)
		return check_rate(attr, at);
	if (when->burst != 0 || when->until != 0)
		return trip_error_set(EINVAL,
			"each \"%s\": condition %" PRIu32 " has a burst, and no rate",
			name_of(attr), at);
	return when->count >= 1 && when->count <= TRIP_KEYED_PACKETS_MAX
		       ? 0
		       : trip_error_set(EINVAL,
				 "each \"%s\": condition %" PRIu32 ": count %" PRIu64
				 " is not in 1 to 2^48 - 1",
				 name_of(attr), at, when->count);
}

static int
check_kept(const struct trip_each_attr *attr)
{
	uint32_t kept = attr->trips_kept;

	if (kept == 0)
		return 0;
	if (attr->n_whens == 0)
		return trip_error_set(EINVAL,
			"each \"%s\": trips_kept %" PRIu32 " without a condition", name_of(attr),
			kept);
	return kept >= TRIP_EACH_RING_MIN && kept <= TRIP_EACH_RING_MAX && (kept & (kept - 1)) == 0
		       ? 0
		       : trip_error_set(EINVAL,
				 "each \"%s\": trips_kept %" PRIu32
				 " is no power of two in %" PRIu32 " to %" PRIu32,
				 name_of(attr), kept, TRIP_EACH_RING_MIN, TRIP_EACH_RING_MAX);
}

/* Before the table, which has its limits. */
static int
plan_whens(const struct trip_each_attr *attr, struct trip_each_statement *statement)
{
	int error = check_kept(attr);

	if (error == 0 &&
		(attr->n_whens > TRIP_EACH_WHENS_MAX || (attr->n_whens > 0 && attr->whens == NULL)))
		error = trip_error_set(EINVAL,
			"each \"%s\": %" PRIu32 " conditions are none, or more than %d",
			name_of(attr), attr->n_whens, TRIP_EACH_WHENS_MAX);
	for (uint32_t i = 0; i < attr->n_whens && error == 0; i++) {
		bool rate = attr->whens[i].rate != 0;

		error = check_when(attr, i);
		statement->whens[i] = attr->whens[i];
		statement->rates |= (uint8_t)((unsigned int)rate << i);
		statement->counts |= !rate;
	}
	if (error != 0 || attr->n_whens == 0)
		return error;
	statement->n_whens = attr->n_whens;
	statement->kept = attr->trips_kept != 0 ? attr->trips_kept : KEPT_DEFAULT;
	return 0;
}

static int
plan(const struct trip_each_attr *attr, struct trip_each_statement *statement)
{
	int error = plan_key(attr, statement);

	if (error == 0)
		error = plan_pattern(attr, statement);
	if (error == 0)
		error = plan_whens(attr, statement);
	return error == 0 ? plan_table(attr, statement) : error;
}

/* Once it is known how many. */
void
trip_each_plan_tables(struct trip_each_statement *statement, uint32_t n_tables)
{
	statement->n_tables = n_tables;
	if (statement->n_whens > 0)
		statement->ring_lines =
			(uint32_t)(trip_each_ring_size(statement->kept, n_tables) / TRIP_EACH_LINE);
}

int
trip_each_footprint(const struct trip_each_attr *given, uint32_t n_queues, uint64_t *bytes)
{
	struct trip_each_statement statement = {0};
	struct trip_each_attr attr;
	int error = TRIP_SIZED_TAKE(trip_each_attr, &attr, given);

	if (error == 0)
		error = plan(&attr, &statement);
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
	error = plan(&attr, &each->statement);
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

int
trip_each_close(struct trip_each *each)
{
	struct trip_domain *domain = each->domain;
	int error = check_caller(domain, each->statement.name);

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

/* SPDX-License-Identifier: BSD-3-Clause */
/* Gathers what is told of a domain. Ports and statements stay while the control lock is held, under
 * which they are read; nothing is waited for then. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "domain/domain.h"
#include "domain/error.h"
#include "domain/progress.h"
#include "domain/sized.h"
#include "flow/each.h"
#include "flow/port.h"
#include "metrics/text.h"

#define CNTRS_DEFAULT 1000u
#define CNTRS_MAX 100000u
#define TOP_DEFAULT 10u
#define TOP_MAX 1000u
/* Records that are asked for together; and how long, where the primary's own server is held up. */
#define PAGE 64u
#define LIMIT_MS 1000

static int
check_number(const char *name, uint32_t *number, uint32_t by_default, uint32_t max)
{
	if (*number == 0)
		*number = by_default;
	return *number <= max ? 0
			      : trip_error_set(EINVAL, "metrics: %s %" PRIu32 " is above %" PRIu32,
					name, *number, max);
}

int
trip_text_attr(const struct trip_metrics_attr *attr, struct trip_metrics_attr *out)
{
	int error = 0;

	*out = (struct trip_metrics_attr){.size = sizeof(*out)};
	if (attr != NULL)
		error = TRIP_SIZED_TAKE(trip_metrics_attr, out, attr);
	if (error == 0)
		error = check_number("max_cntrs", &out->max_cntrs, CNTRS_DEFAULT, CNTRS_MAX);
	if (error == 0)
		error = check_number("top", &out->top, TOP_DEFAULT, TOP_MAX);
	return error;
}

void *
trip_text_grow(void **array, size_t *n, size_t *room, size_t size)
{
	if (*n == *room) {
		size_t more = *room == 0 ? 16 : 2 * *room;
		void *grown = realloc(*array, more * size);

		if (grown == NULL)
			return NULL;
		*array = grown;
		*room = more;
	}
	return memset((char *)*array + (*n)++ * size, 0, size);
}

void
trip_text_escape(const char *value, char *out, size_t size)
{
	size_t at = 0;

	for (; *value != 0 && at + 3 < size; value++) {
		if (*value == '\\' || *value == '"' || *value == '\n')
			out[at++] = '\\';
		out[at++] = *value == '\n' ? 'n' : *value;
	}
	out[at] = 0;
}

static struct trip_text_object *
add_object(struct trip_text *text, struct trip_domain *domain, struct trip_fid *fid, uint32_t scope)
{
	struct trip_profile profile = {.domain = domain, .fid = fid, .scope = scope};
	struct trip_snapshot snapshot;
	struct trip_text_object *object = trip_text_grow(
		(void **)&text->objects, &text->n_objects, &text->room_objects, sizeof(*object));

	if (object == NULL)
		return NULL;
	object->scope = scope;
	trip_profile_sample(&profile, &snapshot);
	memcpy(object->values, snapshot.values, sizeof(object->values));
	if (scope != TRIP_CATALOGUE_LCORE)
		return object;
	object->spreads = malloc(sizeof(*object->spreads));
	if (object->spreads == NULL)
		return NULL;
	trip_profile_sample_spreads(&profile, object->spreads);
	return object;
}

static int
gather_lcores(struct trip_domain *domain, struct trip_text *text)
{
	struct trip_text_object *object =
		add_object(text, domain, &domain->fid, TRIP_CATALOGUE_DOMAIN);

	for (uint32_t i = 0; i < domain->engine.n_homes && object != NULL; i++) {
		object = add_object(text, domain, &domain->lcore_fids[i], TRIP_CATALOGUE_LCORE);
		if (object != NULL)
			snprintf(
				object->labels, sizeof(object->labels), "lcore=\"%" PRIu32 "\"", i);
	}
	return object != NULL ? 0 : -ENOMEM;
}

static int
gather_port(struct trip_domain *domain, struct trip_port *port, struct trip_text *text)
{
	static const char *const directions[] = {"ingress", "egress"};
	struct trip_text_object *object = add_object(text, domain, &port->fid, TRIP_CATALOGUE_PORT);

	if (object == NULL)
		return -ENOMEM;
	snprintf(object->labels, sizeof(object->labels), "port=\"%" PRIu16 "\"", port->port_id);
	for (unsigned int s = 0; s < TRIP_PORT_SIDES; s++)
		for (uint32_t q = 0; q < port->sides[s].n_queues; q++) {
			object = add_object(
				text, domain, &port->sides[s].queues[q].fid, TRIP_CATALOGUE_QUEUE);
			if (object == NULL)
				return -ENOMEM;
			snprintf(object->labels, sizeof(object->labels),
				"port=\"%" PRIu16 "\",direction=\"%s\",queue=\"%" PRIu32 "\"",
				port->port_id, directions[s], q);
		}
	return 0;
}

/* Unless it is there already, as one with most of the other measure. */
static int
add_key(struct trip_text *text, const struct trip_each *each, size_t first,
	const struct trip_each_entry *entry)
{
	char plain[TRIP_CLIENT_KEY_MAX], key[4 * TRIP_CLIENT_KEY_MAX], name[80];
	char labels[sizeof(text->keys->labels)];
	struct trip_text_key *added;

	if (trip_each_text(each, entry->key, plain, sizeof(plain)) != 0)
		return 0;
	trip_text_escape(plain, key, sizeof(key));
	trip_text_escape(each->statement.name, name, sizeof(name));
	snprintf(labels, sizeof(labels), "each=\"%s\",key=\"%s\"", name, key);
	for (size_t i = first; i < text->n_keys; i++)
		if (strcmp(text->keys[i].labels, labels) == 0)
			return 0;
	added = trip_text_grow(
		(void **)&text->keys, &text->n_keys, &text->room_keys, sizeof(*added));
	if (added == NULL)
		return -ENOMEM;
	strcpy(added->labels, labels);
	added->packets = entry->packets;
	added->bytes = entry->bytes;
	return 0;
}

static int
gather_top(struct trip_text *text, const struct trip_each *each, uint64_t keys)
{
	struct trip_each_entry *entries = calloc(text->attr.top, sizeof(*entries));
	size_t first = text->n_keys;
	int error = entries != NULL ? 0 : -ENOMEM;

	for (unsigned int rank = 0; rank < 2 && error == 0; rank++) {
		int n = trip_each_top(each, rank == 0 ? TRIP_EACH_PACKETS : TRIP_EACH_BYTES,
			entries, sizeof(*entries), text->attr.top);

		for (int i = 0; i < n && error == 0; i++)
			error = add_key(text, each, first, &entries[i]);
	}
	free(entries);
	text->keys_left += keys > text->n_keys - first ? keys - (text->n_keys - first) : 0;
	return error;
}

static int
gather_each(struct trip_domain *domain, struct trip_each *each, struct trip_text *text)
{
	struct trip_text_object *object = add_object(text, domain, &each->fid, TRIP_CATALOGUE_EACH);
	char name[80];

	if (object == NULL)
		return -ENOMEM;
	trip_text_escape(each->statement.name, name, sizeof(name));
	snprintf(object->labels, sizeof(object->labels), "each=\"%s\"", name);
	return gather_top(text, each,
		object->values[trip_catalogue_var_of(TRIP_VAR_EACH_KEYS_NOW, TRIP_CATALOGUE_EACH)]);
}

/* Those of this process's own. */
static int
gather_flows(struct trip_domain *domain, struct trip_text *text)
{
	int error = 0;

	trip_progress_lock(domain);
	for (unsigned int i = 0; i < RTE_DIM(domain->ports) && error == 0; i++)
		if (domain->ports[i] != NULL && !domain->ports[i]->closing)
			error = gather_port(domain, domain->ports[i], text);
	for (unsigned int i = 0; i < TRIP_EACH_MAX && error == 0; i++)
		if (domain->eaches[i] != NULL && domain->eaches[i]->shown)
			error = gather_each(domain, domain->eaches[i], text);
	pthread_mutex_unlock(&domain->control);
	return error;
}

static int
add_cntr(struct trip_text *text, const struct trip_client_cntr *cntr)
{
	struct trip_client_cntr *added;

	if (cntr->name[0] == 0)
		return 0;
	if (text->n_cntrs == text->attr.max_cntrs) {
		text->cntrs_left++;
		return 0;
	}
	added = trip_text_grow(
		(void **)&text->cntrs, &text->n_cntrs, &text->room_cntrs, sizeof(*added));
	if (added == NULL)
		return -ENOMEM;
	*added = *cntr;
	return 0;
}

/* As whoever lists them over the socket is told. What it cannot tell is left out. */
static int
gather_cntrs(struct trip_domain *domain, struct trip_text *text)
{
	struct trip_client_cntr page[PAGE];
	struct trip_client *client;
	uint64_t cursor = 0;
	int got, error = 0;

	if (domain->shown_socket[0] == 0 ||
		trip_client_open_within(domain->shown_socket, LIMIT_MS, &client) != 0)
		return 0;
	do {
		got = trip_client_list(
			client, TRIP_CLIENT_CNTR, &cursor, page, sizeof(page[0]), PAGE);
		for (int i = 0; i < got && error == 0; i++)
			error = add_cntr(text, &page[i]);
	} while (got > 0 && error == 0);
	trip_client_close(client);
	return error;
}

int
trip_text_gather(struct trip_domain *domain, struct trip_text *text)
{
	int error = gather_lcores(domain, text);

	text->domain = domain;
	if (error == 0)
		error = gather_flows(domain, text);
	return error == 0 ? gather_cntrs(domain, text) : error;
}

void
trip_text_free(struct trip_text *text)
{
	for (size_t i = 0; i < text->n_objects; i++)
		free(text->objects[i].spreads);
	free(text->objects);
	free(text->keys);
	free(text->cntrs);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The ports of a rule: as they are written, and compared. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rules_priv.h"

int
trip_rules_port_compare(const struct trip_rules_port *a, const struct trip_rules_port *b)
{
	if (a->by != b->by)
		return a->by < b->by ? -1 : 1;
	switch (a->by) {
	case TRIP_RULES_PORT_ID:
		return (a->id > b->id) - (a->id < b->id);
	case TRIP_RULES_PORT_MAC:
		return memcmp(a->mac, b->mac, sizeof(a->mac));
	case TRIP_RULES_PORT_ANY:
		return 0;
	default:
		return strcmp(a->name, b->name);
	}
}

struct trip_rules_count *
trip_rules_placed(const struct trip_rules *rules, unsigned int i)
{
	if (i < rules->n_counts)
		return &rules->counts[i];
	i -= rules->n_counts;
	return i < rules->n_eaches ? &rules->eaches[i].count : NULL;
}

bool
trip_rules_has_port(const struct trip_rules_count *count, uint16_t id)
{
	const struct trip_rules_port port = {.by = TRIP_RULES_PORT_ID, .id = id};
	unsigned int i = 0;

	while (i < count->n_ports && trip_rules_port_compare(&count->ports[i], &port) != 0)
		i++;
	return i < count->n_ports;
}

void
trip_rules_free_ports(struct trip_rules_count *count)
{
	for (unsigned int i = 0; i < count->n_ports; i++)
		free(count->ports[i].name);
	free(count->ports);
}

int
trip_rules_set_ports(struct trip_rules_count *count, const uint16_t *ids, unsigned int n)
{
	struct trip_rules_count next = {0};

	next.ports = calloc(n + 1, sizeof(*next.ports));
	if (next.ports == NULL)
		return -ENOMEM;
	for (unsigned int i = 0; i < n; i++)
		if (!trip_rules_has_port(&next, ids[i]))
			next.ports[next.n_ports++] = (struct trip_rules_port){.id = ids[i]};
	trip_rules_free_ports(count);
	count->ports = next.ports;
	count->n_ports = next.n_ports;
	return 0;
}

/* Takes the name. What is wrong of it has been said. */
static void
add(struct trip_rules_ctx *ctx, const struct trip_rules_span *span,
	const struct trip_rules_port *port)
{
	struct trip_rules_count *count = &ctx->count;
	char quote[TRIP_RULES_QUOTE_SIZE];
	unsigned int same = 0;

	while (same < count->n_ports && trip_rules_port_compare(&count->ports[same], port) != 0)
		same++;
	if (same < count->n_ports)
		trip_rules_error(ctx, span, "the rule has the port %s already",
			trip_rules_error_quote(quote, span));
	else if (count->n_ports == TRIP_RULES_PORTS_MAX)
		trip_rules_error(
			ctx, span, "the rule has more ports than %u", TRIP_RULES_PORTS_MAX);
	else if (!trip_rules_grow(&count->ports, count->n_ports, sizeof(*port)))
		ctx->nomem = true;
	else {
		count->ports[count->n_ports++] = *port;
		return;
	}
	free(port->name);
}

void
trip_rules_build_port(struct trip_rules_ctx *ctx, const struct trip_rules_span *number)
{
	struct trip_rules_port port = {.by = TRIP_RULES_PORT_ID};

	/* UINT16_MAX is no port: ethdev keeps it for "none" and "all". */
	port.id = (uint16_t)trip_rules_value_plain(ctx, number, "port", UINT16_MAX - 1);
	add(ctx, number, &port);
}

void
trip_rules_build_port_any(struct trip_rules_ctx *ctx, const struct trip_rules_span *word)
{
	add(ctx, word, &(struct trip_rules_port){.by = TRIP_RULES_PORT_ANY});
}

/* As the kernel names it. Which port takes it is for the tool to find out. */
void
trip_rules_build_port_interface(struct trip_rules_ctx *ctx, const struct trip_rules_span *word)
{
	struct trip_rules_port port = {.by = TRIP_RULES_PORT_INTERFACE};

	if (word->length > TRIP_RULES_INTERFACE_MAX) {
		trip_rules_error(ctx, word,
			"the interface name has %zu characters: the limit is %u", word->length,
			TRIP_RULES_INTERFACE_MAX);
		return;
	}
	port.name = strndup(word->text, word->length);
	ctx->nomem |= port.name == NULL;
	if (port.name != NULL)
		add(ctx, word, &port);
}

/* As ethdev names a device. Whether there is such a port is for the tool to find out. */
void
trip_rules_build_port_name(struct trip_rules_ctx *ctx, const struct trip_rules_span *string)
{
	struct trip_rules_port port = {
		.by = TRIP_RULES_PORT_NAME, .name = trip_rules_value_string(ctx, string)};

	if (port.name == NULL)
		return;
	if (port.name[0] == '\0')
		trip_rules_error(ctx, string, "port name: expected a name, found nothing in it");
	else if (strlen(port.name) > TRIP_RULES_PORT_NAME_MAX)
		trip_rules_error(ctx, string, "the port name has %zu characters: the limit is %u",
			strlen(port.name), TRIP_RULES_PORT_NAME_MAX);
	add(ctx, string, &port);
}

void
trip_rules_build_port_mac(struct trip_rules_ctx *ctx, const struct trip_rules_span *address)
{
	struct trip_rules_port port = {.by = TRIP_RULES_PORT_MAC};
	char quote[TRIP_RULES_QUOTE_SIZE];
	trip_rules_u128 mac;

	if (!trip_rules_field_mac(address, &mac)) {
		trip_rules_error(ctx, address,
			"port mac: expected a MAC address such as 02:00:00:00:00:01, found %s",
			trip_rules_error_quote(quote, address));
		return;
	}
	for (unsigned int i = 6; i > 0; i--, mac >>= 8)
		port.mac[i - 1] = (uint8_t)mac;
	if ((port.mac[0] & 1) != 0)
		trip_rules_error(ctx, address, "port mac: %s is a group's, and no port's",
			trip_rules_error_quote(quote, address));
	add(ctx, address, &port);
}

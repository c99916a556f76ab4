/* SPDX-License-Identifier: BSD-3-Clause */
/* --ports and --pair: lists and pairs of port numbers. */
#include <errno.h>
#include <stdlib.h>

#include "option_ports.h"
#include "options.h"

static uint16_t
parse_port(struct argp_state *state, const char *option, const char *text, const char **end)
{
	char *stop;
	unsigned long port;

	errno = 0;
	port = strtoul(text, &stop, 10);
	if (stop == text || *text == '-' || *text == '+' || *text == ' ')
		argp_error(state, "--%s: \"%s\" is not a port number", option, text);
	if (errno != 0 || port >= UINT16_MAX)
		argp_error(state, "--%s: port %.*s is above the limit %u", option,
			(int)(stop - text), text, UINT16_MAX - 1);
	*end = stop;
	return (uint16_t)port;
}

static void
add_port(struct argp_state *state, struct tripd_options *options, uint16_t port)
{
	for (unsigned int i = 0; i < options->n_ports; i++)
		if (options->ports[i] == port)
			return;
	if (options->n_ports == TRIPD_PORTS_MAX)
		argp_error(state, "--ports: more than %u ports", TRIPD_PORTS_MAX);
	options->ports[options->n_ports++] = port;
}

void
tripd_option_ports_list(struct argp_state *state, struct tripd_options *options, const char *text)
{
	const char *at = text;

	for (;;) {
		uint16_t first = parse_port(state, "ports", at, &at);
		uint16_t last = first;

		if (*at == '-')
			last = parse_port(state, "ports", at + 1, &at);
		if (last < first)
			argp_error(state, "--ports: %u-%u runs backwards", first, last);
		for (unsigned int port = first; port <= last; port++)
			add_port(state, options, (uint16_t)port);
		if (*at == '\0')
			return;
		if (*at != ',')
			argp_error(state, "--ports: \"%s\" is not a list of ports such as 0,2-3",
				text);
		at++;
	}
}

void
tripd_option_ports_pair(struct argp_state *state, struct tripd_options *options, const char *text)
{
	struct tripd_pair pair = {0};
	const char *at;
	bool two;

	pair.a = parse_port(state, "pair", text, &at);
	two = *at == ',';
	if (two)
		pair.b = parse_port(state, "pair", at + 1, &at);
	if (!two || *at != '\0')
		argp_error(state, "--pair: \"%s\" is not a pair of ports such as 0,1", text);
	if (pair.a == pair.b)
		argp_error(state, "--pair: %s: a port is no partner of itself", text);
	for (unsigned int i = 0; i < options->n_pairs; i++) {
		const struct tripd_pair *other = &options->pairs[i];

		if (other->a == pair.a || other->b == pair.a || other->a == pair.b ||
			other->b == pair.b)
			argp_error(state, "--pair: %s has a port of --pair %u,%u", text, other->a,
				other->b);
	}
	if (options->n_pairs == TRIPD_PORTS_MAX / 2)
		argp_error(state, "--pair: more than %u pairs", TRIPD_PORTS_MAX / 2);
	options->pairs[options->n_pairs++] = pair;
}

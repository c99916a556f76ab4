/* SPDX-License-Identifier: BSD-3-Clause */
/* The words about IPFIX. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "option_ipfix.h"
#include "options.h"

#define INTERVAL_MIN_NS UINT64_C(100000000)
#define INTERVAL_MAX_NS UINT64_C(86400000000000)

/* "HOST:PORT", with an address of IPv6 in brackets. */
static void
parse_host(struct argp_state *state, struct tripd_ipfix_options *ipfix, const char *text)
{
	const char *colon = strrchr(text, ':'), *host = text, *end;
	size_t length;
	unsigned long port;
	char *rest;

	if (colon == NULL)
		argp_error(state, "--ipfix: \"%s\" has no port: :4739 behind the host is IPFIX's",
			ipfix->text);
	port = strtoul(colon + 1, &rest, 10);
	if (colon[1] < '0' || colon[1] > '9' || *rest != 0 || port < 1 || port > 65535)
		argp_error(state,
			"--ipfix: \"%s\": the port \"%s\" is not a number from 1 to 65535",
			ipfix->text, colon + 1);
	end = colon;
	if (*host == '[') {
		end = colon - 1;
		host++;
		if (end < host || *end != ']')
			argp_error(state, "--ipfix: \"%s\": the address in [ ] has no end",
				ipfix->text);
	} else if (memchr(host, ':', (size_t)(end - host)) != NULL) {
		argp_error(state,
			"--ipfix: \"%s\": an address with colons stands in brackets, as in "
			"udp:[::1]:4739",
			ipfix->text);
	}
	length = (size_t)(end - host);
	if (length == 0 || length > TRIPD_IPFIX_HOST_MAX)
		argp_error(state, "--ipfix: the host has %zu characters, and not 1 to %d", length,
			TRIPD_IPFIX_HOST_MAX);
	memcpy(ipfix->host, host, length);
	ipfix->host[length] = 0;
	snprintf(ipfix->port, sizeof(ipfix->port), "%lu", port);
}

void
tripd_option_ipfix(struct argp_state *state, struct tripd_options *options, const char *text)
{
	static const char *const kinds[] = {[TRIPD_IPFIX_TCP] = "tcp:",
		[TRIPD_IPFIX_UDP] = "udp:",
		[TRIPD_IPFIX_FILE] = "file:"};
	struct tripd_ipfix_options *ipfix = &options->ipfix;

#ifndef TRIPD_HAS_IPFIX
	argp_error(state, "--ipfix: this tripd was built without libfixbuf, and exports nothing");
#endif
	ipfix->text = text;
	ipfix->kind = TRIPD_IPFIX_FILE;
	while (ipfix->kind > TRIPD_IPFIX_NONE &&
		strncmp(text, kinds[ipfix->kind], strlen(kinds[ipfix->kind])) != 0)
		ipfix->kind--;
	if (ipfix->kind == TRIPD_IPFIX_NONE)
		argp_error(state,
			"--ipfix: \"%s\" is none of tcp:HOST:PORT, udp:HOST:PORT, file:PATH", text);
	text += strlen(kinds[ipfix->kind]);
	if (ipfix->kind != TRIPD_IPFIX_FILE) {
		parse_host(state, ipfix, text);
		return;
	}
	ipfix->path = text;
	if (*text == 0 || strlen(text) >= PATH_MAX)
		argp_error(state, "--ipfix: the path has %zu characters, and not 1 to %d",
			strlen(text), PATH_MAX - 1);
}

void
tripd_option_ipfix_interval(
	struct argp_state *state, struct tripd_options *options, const char *text)
{
	static const struct {
		const char *unit;
		uint64_t ns;
	} units[] = {{"ms", 1000000}, {"s", 1000000000}, {"m", UINT64_C(60000000000)},
		{"h", UINT64_C(3600000000000)}};
	uint64_t *ns = &options->ipfix.interval_ns;
	unsigned long long number;
	char *end;

	errno = 0;
	number = strtoull(text, &end, 10);
	*ns = 0;
	for (unsigned int i = 0; i < RTE_DIM(units); i++)
		if (text[0] >= '0' && text[0] <= '9' && errno == 0 &&
			strcmp(end, units[i].unit) == 0 && number <= INTERVAL_MAX_NS / units[i].ns)
			*ns = number * units[i].ns;
	if (*ns < INTERVAL_MIN_NS)
		argp_error(state,
			"--ipfix-interval: \"%s\" is no time from 100ms to 24h, such as 30s", text);
}

void
tripd_option_ipfix_check(struct argp_state *state, struct tripd_options *options)
{
	struct tripd_ipfix_options *ipfix = &options->ipfix;
	const char *vain = ipfix->interval_ns != 0  ? "interval"
			   : ipfix->domain != 0     ? "domain"
			   : ipfix->enterprise != 0 ? "enterprise"
						    : NULL;

	if (ipfix->kind == TRIPD_IPFIX_NONE && vain != NULL)
		argp_error(state, "--ipfix-%s is in vain without --ipfix", vain);
	if (ipfix->interval_ns == 0)
		ipfix->interval_ns = TRIPD_IPFIX_INTERVAL_NS;
	if (ipfix->domain == 0)
		ipfix->domain = TRIPD_IPFIX_DOMAIN;
	if (ipfix->enterprise == 0)
		ipfix->enterprise = TRIPD_IPFIX_ENTERPRISE;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tripd's own words. They stand behind `--` where EAL's stand before it; a command line without
 * `--` is tripd's alone, and the words for EAL are chosen to fit the machine (words.c).
 */
#include <argp.h>
#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "options.h"
#include "words.h"

enum {
	KEY_RULES = 0x100,
	KEY_REPORT,
	KEY_UNTIL_IDLE,
	KEY_FORWARD,
	KEY_PAIR,
	KEY_PORTS,
	KEY_IFACE,
	KEY_ISOLATE,
	KEY_MBUFS,
	KEY_FORCE,
	KEY_DEMO,
	KEY_VERBOSE,
	KEY_DOMAIN,
	KEY_SOCKET,
	KEY_SOCKET_GROUP,
	KEY_SOCKET_MODE,
	KEY_LIVE_FLOWS,
	KEY_LIVE_CNTRS,
	KEY_LIVE_WORKS,
	KEY_LIVE_PROCESSES,
	KEY_CHECK,
	KEY_DRY_RUN,
};

static const struct argp_option argp_options[] = {
	{NULL, 0, NULL, 0, "What to count, and what to do about it:", 1},
	{"rules", KEY_RULES, "FILE", 0, "counts, counters and thresholds, in the rules language",
		1},
	{"report", KEY_REPORT, "FILE", 0,
		"write final counts and all trips there as JSON; - is stdout", 1},
	{"until-idle", KEY_UNTIL_IDLE, "SECONDS", 0, "end when no packet has arrived for that long",
		1},
	{"check", KEY_CHECK, "FILE", 0,
		"only read this rules file and say what is wrong with it; needs no port and no "
		"memory",
		1},
	{"dry-run", KEY_DRY_RUN, NULL, 0,
		"say what the rules would take: memory by NUMA node, and the engine of each rule; "
		"take "
		"and start nothing",
		1},
	{NULL, 0, NULL, 0, "Ports:", 2},
	{"forward", KEY_FORWARD, "io|mac|none", 0,
		"io (default): send what arrives on a port out of its partner, 0 and 1, 2 and "
		"3 ...; mac: and rewrite the addresses; none: free it",
		2},
	{"pair", KEY_PAIR, "A,B", 0, "ports A and B are partners; may be repeated", 2},
	{"ports", KEY_PORTS, "LIST", 0, "use these ports too (0,2-3), beside those that rules name",
		2},
	{"iface", KEY_IFACE, "NAME", 0,
		"use this network interface, by af_packet, as port 0 (1 ... when repeated); needs "
		"no words for EAL",
		2},
	{"isolate", KEY_ISOLATE, NULL, 0,
		"restrict each port to the traffic of its own flow rules (rte_flow_isolate)", 2},
	{"mbufs", KEY_MBUFS, "N", 0,
		"packet buffers; default: what the queues of all ports can hold", 2},
	{"force", KEY_FORCE, NULL, 0, "take a port even if it carries this host's default route",
		2},
	{NULL, 0, NULL, 0, "The domain, for tripctl and other processes:", 3},
	{"domain", KEY_DOMAIN, "NAME", 0, "its name; default tripd", 3},
	{"socket", KEY_SOCKET, "PATH", 0,
		"where its socket is; default /run/tripline/PREFIX.NAME.sock for root; empty: it "
		"has none",
		3},
	{"socket-group", KEY_SOCKET_GROUP, "GROUP", 0, "give the socket to this group", 3},
	{"socket-mode", KEY_SOCKET_MODE, "MODE", 0,
		"mode of the socket, such as 0660: who may list, read and wait; default 0600", 3},
	{"live-flows", KEY_LIVE_FLOWS, "N", 0,
		"room for so many flows of other processes, beside those of the rules; default "
		"1024",
		3},
	{"live-counters", KEY_LIVE_CNTRS, "N", 0,
		"room for so many counters of other processes; default 4096", 3},
	{"live-works", KEY_LIVE_WORKS, "N", 0,
		"room for so much pending work of each other process; default 1024", 3},
	{"live-processes", KEY_LIVE_PROCESSES, "N", 0, "so many may be attached; default 8", 3},
	{NULL, 0, NULL, 0, "Other:", 4},
	{"demo", KEY_DEMO, NULL, 0,
		"show three quotas trip on live traffic, in a network of its own", 4},
	{"verbose", KEY_VERBOSE, NULL, 0, "show what EAL and the drivers say", 4},
	{NULL, 0, NULL, 0, NULL, 0},
};

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
	unsigned int i;

	for (i = 0; i < options->n_ports; i++)
		if (options->ports[i] == port)
			return;
	if (options->n_ports == TRIPD_PORTS_MAX)
		argp_error(state, "--ports: more than %u ports", TRIPD_PORTS_MAX);
	options->ports[options->n_ports++] = port;
}

static void
parse_ports(struct argp_state *state, struct tripd_options *options, const char *text)
{
	const char *at = text;

	for (;;) {
		uint16_t first = parse_port(state, "ports", at, &at);
		uint16_t last = first;
		unsigned int port;

		if (*at == '-')
			last = parse_port(state, "ports", at + 1, &at);
		if (last < first)
			argp_error(state, "--ports: %u-%u runs backwards", first, last);
		for (port = first; port <= last; port++)
			add_port(state, options, (uint16_t)port);
		if (*at == '\0')
			return;
		if (*at != ',')
			argp_error(state, "--ports: \"%s\" is not a list of ports such as 0,2-3",
				text);
		at++;
	}
}

static void
parse_pair(struct argp_state *state, struct tripd_options *options, const char *text)
{
	struct tripd_pair pair;
	const char *at;
	unsigned int i;

	pair.a = parse_port(state, "pair", text, &at);
	if (*at != ',')
		argp_error(state, "--pair: \"%s\" is not a pair of ports such as 0,1", text);
	pair.b = parse_port(state, "pair", at + 1, &at);
	if (*at != '\0')
		argp_error(state, "--pair: \"%s\" is not a pair of ports such as 0,1", text);
	if (pair.a == pair.b)
		argp_error(state, "--pair: %s: a port is no partner of itself", text);
	for (i = 0; i < options->n_pairs; i++) {
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

static void
parse_seconds(struct argp_state *state, struct tripd_options *options, const char *text)
{
	char *end;
	double seconds = strtod(text, &end);

	if (end == text || *end != '\0' || !isfinite(seconds) || seconds < 0.001 || seconds > 1e9)
		argp_error(state,
			"--until-idle: \"%s\" is not a number of seconds from 0.001 to 1e9", text);
	options->until_idle_ns = (uint64_t)(seconds * 1e9);
}

static void
parse_mbufs(struct argp_state *state, struct tripd_options *options, const char *text)
{
	char *end;
	unsigned long long n = strtoull(text, &end, 10);

	if (end == text || *end != '\0' || *text == '-' || n < 512 || n > 1u << 30)
		argp_error(state, "--mbufs: \"%s\" is not a number from 512 to %u", text, 1u << 30);
	options->mbufs = (uint32_t)n;
}

static void
parse_forward(struct argp_state *state, struct tripd_options *options, const char *text)
{
	unsigned int i;

	for (i = 0; i <= TRIPD_FORWARD_NONE; i++)
		if (strcmp(text, tripd_options_forward_name((enum tripd_forward)i)) == 0) {
			options->forward = (enum tripd_forward)i;
			return;
		}
	argp_error(state, "--forward: \"%s\" is none of io, mac, none", text);
}

static void
take_domain(struct argp_state *state, struct tripd_options *options, const char *text)
{
	/* A domain's name becomes part of those of its memory. */
	if (strlen(text) > 20 || strspn(text, "0123456789.-") > 0 ||
		strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") !=
			strlen(text) ||
		text[0] == 0)
		argp_error(state,
			"--domain: \"%s\" is no name of up to 20 letters, digits, _, . and -",
			text);
	options->domain = text;
}

static void
take_group(struct argp_state *state, struct tripd_options *options, const char *text)
{
	if (getgrnam(text) == NULL)
		argp_error(state, "--socket-group: there is no group \"%s\"", text);
	options->socket_group = text;
}

static void
take_mode(struct argp_state *state, struct tripd_options *options, const char *text)
{
	char *end;
	unsigned long mode = strtoul(text, &end, 8);

	/* Without the owner's own the domain could not be looked at by anybody but root. */
	if (end == text || *end != 0 || text[0] == '-' || mode > 0777 || (mode & 0600) != 0600)
		argp_error(state,
			"--socket-mode: \"%s\" is no mode from 0600 to 0777 that has the owner's",
			text);
	options->socket_mode = (uint32_t)mode;
}

static uint32_t
take_live(
	struct argp_state *state, const char *option, const char *text, uint32_t min, uint32_t max)
{
	char *end;
	unsigned long number;

	errno = 0;
	number = strtoul(text, &end, 10);
	if (end == text || *end != 0 || text[0] == '-' || errno != 0 || number < min ||
		number > max)
		argp_error(state, "--live-%s: \"%s\" is no number from %" PRIu32 " to %" PRIu32,
			option, text, min, max);
	return (uint32_t)number;
}

static void
check(struct argp_state *state, const struct tripd_options *options)
{
	if (options->demo) {
		if (options->rules != NULL || options->n_ifaces != 0 || options->n_ports != 0 ||
			options->n_pairs != 0 || options->eal_words != NULL)
			argp_error(state, "--demo brings its own rules, ports and words for EAL");
		return;
	}
	if (options->check)
		return;
	if (options->rules == NULL)
		argp_error(state, "--rules FILE is missing (tripd --demo needs none)");
}

static error_t
parse_word(int key, char *arg, struct argp_state *state)
{
	struct tripd_options *options = state->input;

	switch (key) {
	case KEY_RULES:
		options->rules = arg;
		return 0;
	case KEY_CHECK:
		options->rules = arg;
		options->check = true;
		return 0;
	case KEY_DRY_RUN:
		options->dry_run = true;
		return 0;
	case KEY_REPORT:
		options->report = arg;
		return 0;
	case KEY_UNTIL_IDLE:
		parse_seconds(state, options, arg);
		return 0;
	case KEY_FORWARD:
		parse_forward(state, options, arg);
		return 0;
	case KEY_PAIR:
		parse_pair(state, options, arg);
		return 0;
	case KEY_PORTS:
		parse_ports(state, options, arg);
		return 0;
	case KEY_IFACE:
		if (options->n_ifaces == TRIPD_IFACES_MAX)
			argp_error(state, "--iface: more than %u interfaces", TRIPD_IFACES_MAX);
		options->ifaces[options->n_ifaces++] = arg;
		return 0;
	case KEY_ISOLATE:
		options->isolate = true;
		return 0;
	case KEY_MBUFS:
		parse_mbufs(state, options, arg);
		return 0;
	case KEY_FORCE:
		options->force = true;
		return 0;
	case KEY_DEMO:
		options->demo = true;
		return 0;
	case KEY_DOMAIN:
		take_domain(state, options, arg);
		return 0;
	case KEY_SOCKET:
		options->socket = arg;
		return 0;
	case KEY_SOCKET_GROUP:
		take_group(state, options, arg);
		return 0;
	case KEY_SOCKET_MODE:
		take_mode(state, options, arg);
		return 0;
	case KEY_LIVE_FLOWS:
		options->live.flows = take_live(state, "flows", arg, 0, 1u << 20);
		return 0;
	case KEY_LIVE_CNTRS:
		options->live.cntrs = take_live(state, "counters", arg, 0, 1u << 20);
		return 0;
	case KEY_LIVE_WORKS:
		options->live.works = take_live(state, "works", arg, 16, 65536);
		return 0;
	case KEY_LIVE_PROCESSES:
		options->live.processes = take_live(state, "processes", arg, 1, 127);
		return 0;
	case KEY_VERBOSE:
		options->verbose = true;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(
			state, "\"%s\" is no option of tripd; words for EAL stand before --", arg);
		return 0;
	case ARGP_KEY_END:
		check(state, options);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* How many words at argv[i] are an option of tripd: 0, 1, or 2 with a value. */
static int
own_words(char **argv, int i)
{
	const struct argp_option *option;
	size_t length;

	for (option = argp_options; option->group != 0; option++) {
		length = option->name != NULL ? strlen(option->name) : 0;
		if (length == 0 || strncmp(argv[i], "--", 2) != 0 ||
			strncmp(argv[i] + 2, option->name, length) != 0)
			continue;
		if (argv[i][2 + length] == '=')
			return 1;
		if (argv[i][2 + length] == '\0')
			return option->arg == NULL ? 1 : 2;
	}
	return 0;
}

/*
 * Divides the words in front of `--` into EAL's, which stay there, and tripd's, which join those
 * behind it: no name is both, and who writes `tripd --iface eth0 -- --rules FILE` means it well.
 * Returns argv itself, or an array to free.
 */
static char **
split(int *argc, char **argv, struct tripd_options *options)
{
	static char name[] = "tripd";
	char **own;
	int end = 1, n = 1, n_eal = 0, i, k;

	while (end < *argc && strcmp(argv[end], "--") != 0)
		end++;
	if (end == *argc)
		return argv;
	own = calloc((size_t)*argc + 1, sizeof(*own));
	if (own == NULL)
		return NULL;
	/* argp takes its name in messages from here. */
	own[0] = name;
	options->eal_words = &argv[1];
	for (i = 1; i < end;) {
		k = own_words(argv, i);
		if (k == 0)
			options->eal_words[n_eal++] = argv[i++];
		for (; k > 0 && i < end; k--)
			own[n++] = argv[i++];
	}
	for (i = end + 1; i < *argc; i++)
		own[n++] = argv[i];
	options->n_eal_words = n_eal;
	if (n_eal == 0)
		options->eal_words = NULL;
	*argc = n;
	return own;
}

/* Of tripd's words: who has forgotten `--` is told of it, and not that there is no such option. */
static void
refuse_eal_words(int argc, char **argv)
{
	int taken;

	for (int i = 1; i<argc; i += taken> 0 ? taken : 1) {
		taken = own_words(argv, i);
		if (taken > 0 || !tripd_words_is_eal(argv[i]))
			continue;
		exit(tripd_fail(TRIPD_EXIT_USAGE,
			"%s is a word for EAL; all of these stand in front of a --, as in: tripd "
			"-l 0-2 --vdev net_tap0 -- --rules FILE",
			argv[i]));
	}
}

const char *
tripd_options_forward_name(enum tripd_forward forward)
{
	static const char *const names[] = {"io", "mac", "none"};

	return names[forward];
}

void
tripd_options_parse(int argc, char **argv, struct tripd_options *options)
{
	static const struct argp argp = {
		.options = argp_options,
		.parser = parse_word,
		.args_doc = "EAL-WORDS -- --rules FILE\n--iface NAME --rules FILE\n--demo",
		.doc = "Counts flows on DPDK ports, and acts when a count crosses a threshold.\v"
		       "Ends cleanly on SIGINT, SIGTERM and SIGHUP, with the report written. Exit "
		       "code: 0; 1 when something failed at run time; 2 when the command line or "
		       "the rules are wrong, and nothing was started. See tripd(8).",
	};
	char **own;

	*options = (struct tripd_options){
		.live = {TRIPD_LIVE_FLOWS, TRIPD_LIVE_CNTRS, TRIPD_LIVE_WORKS,
			TRIPD_LIVE_PROCESSES},
	};
	argp_program_version = "tripd " TRIPD_VERSION;
	argp_err_exit_status = TRIPD_EXIT_USAGE;
	own = split(&argc, argv, options);
	if (own == NULL)
		exit(tripd_fail(TRIPD_EXIT_RUN, "no memory for %d words", argc));
	refuse_eal_words(argc, own);
	argp_parse(&argp, argc, own, ARGP_IN_ORDER, NULL, options);
	if (own != argv)
		free(own);
}

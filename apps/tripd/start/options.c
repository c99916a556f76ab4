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
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "fail.h"
#include "option_ports.h"
#include "options.h"
#include "rules.h"
#include "words.h"

/* Half of what a domain may have. */
#define EACH_BYTES_MAX (UINT64_C(1) << 36)

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
parse_forward(struct argp_state *state, struct tripd_options *options, const char *text)
{
	static const char *const names[] = {"io", "mac", "none"};

	for (unsigned int i = 0; i <= TRIPD_FORWARD_NONE; i++)
		if (strcmp(text, names[i]) == 0) {
			options->forward = (enum tripd_forward)i;
			return;
		}
	argp_error(state, "--forward: \"%s\" is none of io, mac, none", text);
}

static void
parse_clock(struct argp_state *state, struct tripd_options *options, const char *text)
{
	options->by_packets = strcmp(text, "packet") == 0;
	if (!options->by_packets && strcmp(text, "machine") != 0)
		argp_error(state, "--clock: \"%s\" is none of machine, packet", text);
}

static void
parse_each_memory(struct argp_state *state, struct tripd_options *options, const char *text)
{
	uint64_t *bytes = &options->live.each_bytes;

	if (trip_rules_parse_value(text, bytes) != 0 || *bytes > EACH_BYTES_MAX)
		argp_error(state, "--each-memory: \"%s\" is no size from 0 to 64GiB, such as 16MiB",
			text);
}

static void
take_iface(struct argp_state *state, struct tripd_options *options, const char *text)
{
	if (options->n_ifaces == TRIPD_IFACES_MAX)
		argp_error(state, "--iface: more than %u interfaces", TRIPD_IFACES_MAX);
	/* Behind one EAL would read a word for the driver. */
	if (strchr(text, ',') != NULL)
		argp_error(state,
			"--iface: \"%s\" has a comma: each interface has an --iface of its own",
			text);
	if (text[0] == '\0')
		argp_error(state, "--iface: an interface has a name");
	options->ifaces[options->n_ifaces++] = text;
}

static void
take_check(struct argp_state *state, struct tripd_options *options, const char *text)
{
	options->rules = text;
	options->check = true;
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

static const char *
check_group(struct argp_state *state, const char *option, const char *text)
{
	if (getgrnam(text) == NULL)
		argp_error(state, "--%s: there is no group \"%s\"", option, text);
	return text;
}

static void
take_group(struct argp_state *state, struct tripd_options *options, const char *text)
{
	options->socket_group = check_group(state, "socket-group", text);
}

static void
take_control_group(struct argp_state *state, struct tripd_options *options, const char *text)
{
	options->control_group = check_group(state, "control-group", text);
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

/* An option, and where its value goes: a number from min to max where there is a max, else a text;
 * a flag where the option has no value. Without a name, the title of those that follow. */
struct own_option {
	const char *name;
	/* What its value is called. */
	const char *arg;
	const char *doc;
	size_t offset;
	uint32_t min, max;
	/* NULL, or what reads any other value, and says what is wrong with it. */
	void (*take)(struct argp_state *state, struct tripd_options *options, const char *text);
};

#define AT(member) offsetof(struct tripd_options, member)

static const struct own_option all[] = {
	{.doc = "What to count, and what to do about it:"},
	{"rules", "FILE", "counts, counters and thresholds, in the rules language", AT(rules)},
	{"report", "FILE", "write final counts and all trips there as JSON; - is stdout",
		AT(report)},
	{"events", "FILE", "write each trip there as it happens, as a line of JSON; - is stdout",
		AT(events)},
	{"event-keys", NULL,
		"events and IPFIX tell which keys of `each` statements come and go, too",
		AT(event_keys)},
	{"ipfix", "WHERE",
		"export counts, keys and trips by IPFIX to tcp:HOST:PORT, udp:HOST:PORT or "
		"file:PATH",
		.take = tripd_option_ipfix},
	{"ipfix-interval", "TIME", "how often counts and keys are exported; default 60s",
		.take = tripd_option_ipfix_interval},
	{"ipfix-domain", "N", "observation domain of what is exported; default 1", AT(ipfix.domain),
		1, UINT32_MAX},
	{"ipfix-enterprise", "N",
		"enterprise whose information elements those of tripd are; default 32473",
		AT(ipfix.enterprise), 1, UINT32_MAX},
	{"samples", "DIR",
		"write packets of each key that trips there, as a file of capture (pcap) that the "
		"events name",
		AT(samples.folder)},
	{"sample-packets", "N", "so many packets of it; default 100", AT(samples.packets), 1,
		1u << 20},
	{"sample-bytes", "N", "so many bytes of each packet at most; default 256",
		AT(samples.bytes), 14, 65535},
	{"samples-max", "N", "so many files: the oldest go for new ones; default 1000",
		AT(samples.files), 1, 1u << 16},
	{"samples-disk", "SIZE", "so many bytes in all files, likewise; default 64MiB",
		.take = tripd_option_samples_disk},
	{"until-idle", "SECONDS", "end when no packet has arrived for that long",
		.take = parse_seconds},
	{"clock", "machine|packet",
		"machine (default): time is that of this machine; packet: of the packets of a "
		"capture, by net_pcap",
		.take = parse_clock},
	{"check", "FILE",
		"only read this rules file and say what is wrong with it; needs no port and no "
		"memory",
		.take = take_check},
	{"dry-run", NULL,
		"say what the rules would take: memory by NUMA node, and the engine of each rule; "
		"take and start nothing",
		AT(dry_run)},
	{.doc = "Ports:"},
	{"forward", "io|mac|none",
		"io (default): send what arrives on a port out of its partner, 0 and 1, 2 and 3 "
		"...; mac: and rewrite the addresses; none: free it",
		.take = parse_forward},
	{"pair", "A,B", "ports A and B are partners; may be repeated",
		.take = tripd_option_ports_pair},
	{"ports", "LIST", "use these ports too (0,2-3), beside those that rules name",
		.take = tripd_option_ports_list},
	{"iface", "NAME",
		"use this network interface, by af_packet, as port 0 (1 ... when repeated); needs "
		"no words for EAL",
		.take = take_iface},
	{"isolate", NULL,
		"restrict each port to the traffic of its own flow rules (rte_flow_isolate)",
		AT(isolate)},
	{"mbufs", "N", "packet buffers; default: what the queues of all ports can hold", AT(mbufs),
		512, 1u << 30},
	{"force", NULL, "take a port even if it carries this host's default route", AT(force)},
	{.doc = "The domain, for tripctl and other processes:"},
	{"domain", "NAME", "its name; default tripd", .take = take_domain},
	{"socket", "PATH",
		"where its socket is; default /run/tripline/PREFIX.NAME.sock for root; empty: it "
		"has none",
		AT(socket)},
	{"socket-group", "GROUP", "give the socket to this group", .take = take_group},
	{"socket-mode", "MODE",
		"mode of the socket, such as 0660: who may list, read and wait; default 0600",
		.take = take_mode},
	{"control-group", "GROUP",
		"this group may change the rules by tripctl, too, beside root and the user of "
		"tripd; unless --socket-group and --socket-mode say otherwise it gets the socket",
		.take = take_control_group},
	{"metrics", "WHERE",
		"answer GET /metrics there, as OpenMetrics: ADDRESS:PORT, such as 127.0.0.1:9464, "
		"or unix:PATH",
		AT(metrics)},
	{"live-flows", "N",
		"room for so many flows of other processes, and of rules that come later; default "
		"1024",
		AT(live.flows), 0, 1u << 20},
	{"live-counters", "N",
		"room for so many counters of other processes, and of rules that come later; "
		"default 4096",
		AT(live.cntrs), 0, 1u << 20},
	{"live-works", "N",
		"room for so much pending work of each other process, and of rules that come "
		"later; default 1024",
		AT(live.works), 16, 65536},
	{"each-memory", "SIZE",
		"memory for the tables of `each` statements that come later; default: as much as "
		"those of the rules take",
		.take = parse_each_memory},
	{"live-processes", "N", "so many may be attached; default 8", AT(live.processes), 1, 127},
	{.doc = "Other:"},
	{"demo", NULL, "show three quotas trip on live traffic, in a network of its own", AT(demo)},
	{"verbose", NULL, "show what EAL and the drivers say", AT(verbose)},
};

/* Of the option all[i], which has no short name. */
#define KEY(i) (0x100 + (int)(i))

static uint32_t
parse_number(struct argp_state *state, const struct own_option *option, const char *text)
{
	char *end;
	unsigned long number;

	errno = 0;
	number = strtoul(text, &end, 10);
	if (end == text || *end != 0 || text[0] == '-' || errno != 0 || number < option->min ||
		number > option->max)
		argp_error(state, "--%s: \"%s\" is not a number from %" PRIu32 " to %" PRIu32,
			option->name, text, option->min, option->max);
	return (uint32_t)number;
}

/* How many words at argv[i] are an option of tripd: 0, 1, or 2 with a value. */
static int
own_words(char **argv, int i)
{
	for (const struct own_option *option = all; option < all + RTE_DIM(all); option++) {
		size_t length = option->name != NULL ? strlen(option->name) : 0;

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

static void
put(struct argp_state *state, struct tripd_options *options, const struct own_option *option,
	char *text)
{
	void *at = (char *)options + option->offset;

	/* Whoever forgets a value does not mean the next option to be it. */
	if (text != NULL && own_words(&text, 0) > 0)
		argp_error(state, "--%s: \"%s\" is an option, and no %s", option->name, text,
			option->arg);
	if (option->take != NULL)
		option->take(state, options, text);
	else if (option->max != 0)
		*(uint32_t *)at = parse_number(state, option, text);
	else if (text != NULL)
		*(const char **)at = text;
	else
		*(bool *)at = true;
}

static void
check(struct argp_state *state, struct tripd_options *options)
{
	tripd_option_ipfix_check(state, options);
	tripd_option_samples_check(state, options);
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
	if (options->event_keys && options->events == NULL &&
		options->ipfix.kind == TRIPD_IPFIX_NONE)
		argp_error(state, "--event-keys without --events FILE or --ipfix TARGET");
	if (options->report != NULL && options->events != NULL &&
		strcmp(options->report, "-") == 0 && strcmp(options->events, "-") == 0)
		argp_error(state, "--report and --events cannot both be stdout");
}

static error_t
parse_word(int key, char *arg, struct argp_state *state)
{
	struct tripd_options *options = state->input;

	switch (key) {
	case KEY(0)... KEY(RTE_DIM(all) - 1):
		put(state, options, &all[key - KEY(0)], arg);
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

void
tripd_options_parse(int argc, char **argv, struct tripd_options *options)
{
	struct argp_option argp_options[RTE_DIM(all) + 1] = {0};
	const struct argp argp = {
		.options = argp_options,
		.parser = parse_word,
		.args_doc = "EAL-WORDS -- --rules FILE\n--iface NAME --rules FILE\n--demo",
		.doc = "Counts flows on DPDK ports, and acts when a count crosses a threshold.\v"
		       "Ends cleanly on SIGINT and SIGTERM, with the report written; SIGHUP "
		       "reads the rules again. Exit "
		       "code: 0; 1 when something failed at run time; 2 when the command line or "
		       "the rules are wrong, and nothing was started. See tripd(8).",
	};
	char **own;

	*options = (struct tripd_options){
		.live = {TRIPD_LIVE_FLOWS, TRIPD_LIVE_CNTRS, TRIPD_LIVE_WORKS, TRIPD_LIVE_PROCESSES,
			TRIPD_LIVE_EACH_BYTES},
	};
	for (unsigned int i = 0; i < RTE_DIM(all); i++)
		argp_options[i] = (struct argp_option){all[i].name,
			all[i].name != NULL ? KEY(i) : 0, all[i].arg, 0, all[i].doc, 0};
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

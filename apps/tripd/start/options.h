/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPD_OPTIONS_H
#define TRIPD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "option_ipfix.h"
#include "option_samples.h"

#define TRIPD_PORTS_MAX 64
#define TRIPD_IFACES_MAX 16

/* Exit codes. */
#define TRIPD_EXIT_RUN 1
#define TRIPD_EXIT_USAGE 2

/* What tripctl and other processes may add while the rules are at work. */
struct tripd_live {
	uint32_t flows, cntrs;
	/* Of each process. */
	uint32_t works;
	uint32_t processes;
	/* For tables of `each` statements that come. */
	uint64_t each_bytes;
};

#define TRIPD_LIVE_FLOWS 1024
#define TRIPD_LIVE_CNTRS 4096
#define TRIPD_LIVE_WORKS 1024
#define TRIPD_LIVE_PROCESSES 8
/* As much as those at the start take. */
#define TRIPD_LIVE_EACH_BYTES UINT64_MAX

enum tripd_forward {
	TRIPD_FORWARD_IO,
	TRIPD_FORWARD_MAC,
	TRIPD_FORWARD_NONE,
};

struct tripd_pair {
	uint16_t a, b;
};

struct tripd_options {
	const char *rules;
	const char *report;
	const char *events;
	/* They tell which keys of an `each` come and go. */
	bool event_keys;
	struct tripd_ipfix_options ipfix;
	struct tripd_sample_options samples;
	/* 0: for ever. */
	uint64_t until_idle_ns;
	enum tripd_forward forward;
	/* The clock is that of the packets. */
	bool by_packets;
	bool isolate;
	bool force;
	bool demo;
	/* Only read the rules; only say what they would take. */
	bool check;
	bool dry_run;
	bool verbose;
	/* The domain: NULL and 0 are the library's defaults, but the name is "tripd" then. */
	const char *domain;
	const char *socket;
	/* Where metrics are asked for, or NULL. */
	const char *metrics;
	const char *socket_group;
	/* Who may change the rules, too, or NULL. */
	const char *control_group;
	uint32_t socket_mode;
	struct tripd_live live;
	/* Packet buffers; 0: as many as the ports take. */
	uint32_t mbufs;
	struct tripd_pair pairs[TRIPD_PORTS_MAX / 2];
	unsigned int n_pairs;
	/* Ports of --ports, without those of the pairs. */
	uint16_t ports[TRIPD_PORTS_MAX];
	unsigned int n_ports;
	const char *ifaces[TRIPD_IFACES_MAX];
	unsigned int n_ifaces;
	/* The words before `--`; NULL where there is no `--`, and tripd chooses them. */
	char **eal_words;
	int n_eal_words;
};

/*
 * Splits the command line at `--` and parses tripd's own words. What is wrong with them it says
 * itself, and ends the process with TRIPD_EXIT_USAGE; --help and --version end it with 0.
 */
void tripd_options_parse(int argc, char **argv, struct tripd_options *options);

#endif

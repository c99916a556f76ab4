/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPD_OPTION_IPFIX_H
#define TRIPD_OPTION_IPFIX_H

#include <argp.h>
#include <stdint.h>

struct tripd_options;

enum tripd_ipfix_kind {
	TRIPD_IPFIX_NONE,
	TRIPD_IPFIX_TCP,
	TRIPD_IPFIX_UDP,
	TRIPD_IPFIX_FILE,
};

/* A host's name, as DNS has it. */
#define TRIPD_IPFIX_HOST_MAX 253

/* Of examples (RFC 5612): Tripline has none of its own. */
#define TRIPD_IPFIX_ENTERPRISE 32473
#define TRIPD_IPFIX_DOMAIN 1
#define TRIPD_IPFIX_INTERVAL_NS UINT64_C(60000000000)

/* Where counts are exported, and how. */
struct tripd_ipfix_options {
	enum tripd_ipfix_kind kind;
	/* As it was given. */
	const char *text;
	/* Of tcp and udp. */
	char host[TRIPD_IPFIX_HOST_MAX + 1], port[6];
	/* Of a file. */
	const char *path;
	/* 0 until it was given. */
	uint64_t interval_ns;
	uint32_t domain, enterprise;
};

/* Read the value of --ipfix, and of --ipfix-interval. What is wrong with it ends the process. */
void tripd_option_ipfix(struct argp_state *state, struct tripd_options *options, const char *text);
void tripd_option_ipfix_interval(
	struct argp_state *state, struct tripd_options *options, const char *text);

/* Once all words are read: gives those that are missing their defaults; ends the process where some
 * are there in vain. */
void tripd_option_ipfix_check(struct argp_state *state, struct tripd_options *options);

#endif

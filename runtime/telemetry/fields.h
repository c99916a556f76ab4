/* SPDX-License-Identifier: BSD-3-Clause */
/* What there is of each kind of record, and the words that are said of it. */
#ifndef TRIP_TELEMETRY_FIELDS_H
#define TRIP_TELEMETRY_FIELDS_H

#include <stddef.h>
#include <stdint.h>

#include <trip_client.h>

struct rte_tel_data;

struct trip_telemetry_kind {
	/* "/tripline/cntr"; and what it is for, below 64 characters. */
	const char *command, *help;
	/* Under which its records stand: "counters". */
	const char *name;
	enum trip_client_kind kind;
	size_t size;
	/* Records of an answer, which has 16 KiB. */
	uint32_t page;
	/* Adds one as a dictionary of what is known of it. */
	int (*say)(struct rte_tel_data *dict, const void *record);
};

#define TRIP_TELEMETRY_KINDS 7
extern const struct trip_telemetry_kind trip_telemetry_kinds[TRIP_TELEMETRY_KINDS];

/* Bytes of the largest record. */
#define TRIP_TELEMETRY_RECORD_MAX 1024

/* A number, by whatever name this DPDK calls it. */
int trip_telemetry_u64(struct rte_tel_data *dict, const char *name, uint64_t value);

/* A text of any length and of any bytes: what a dictionary has no room for is cut, with "..." at
 * its end, and what is not printed is '?'. */
int trip_telemetry_text(struct rte_tel_data *dict, const char *name, const char *text);

#endif

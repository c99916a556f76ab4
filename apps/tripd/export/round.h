/* SPDX-License-Identifier: BSD-3-Clause */
/* What is exported each time: of a look, records of what has been counted since the one before. */
#ifndef TRIPD_ROUND_H
#define TRIPD_ROUND_H

#include <stdbool.h>
#include <stdint.h>

#include "exporter.h"
#include "message.h"
#include "tally.h"

enum tripd_point_kind {
	TRIPD_POINT_COUNT,
	TRIPD_POINT_COUNTER,
	TRIPD_POINT_EACH,
	TRIPD_POINT_KINDS,
};

/* A statement. */
struct tripd_point {
	/* From 1, in the order in which they came. */
	uint64_t number;
	char name[TRIP_RULES_NAME_MAX + 1];
	/* The connection knows its name. */
	bool named;
	/* Of an `each`, its remainder. */
	struct tripd_tally tally;
	uint64_t policed_packets, policed_bytes;
	/* Of a counter, and what was exported of it. */
	uint64_t value, sent;
	bool is_sent;
};

struct tripd_round_each {
	/* Which opening it was of at the last look; and NULL: it had gone. */
	uint64_t opening;
	const struct trip_each *each;
	struct trip_each_info info;
	struct tripd_tally_keys keys;
	/* Templates of its keys, of IPv4 and of IPv6; 0: the connection has none. */
	uint16_t templates[2];
	bool egress;
	/* There is something new of it. */
	bool fresh;
};

struct tripd_round {
	struct tripd_point *points[TRIPD_POINT_KINDS];
	/* Of `points`; and statements that have a point. */
	unsigned int room[TRIPD_POINT_KINDS], n[TRIPD_POINT_KINDS];
	struct tripd_round_each *eaches;
	unsigned int n_eaches;
	uint64_t n_points;
	/* Of the next template of keys. */
	uint16_t next_template;
	/* When the last one ended, and what is from then on. */
	uint64_t since_ms, now_ms, now_ns;
	bool last;
	/* Keys for which there was no memory. */
	uint64_t left_out;
};

void tripd_round_free(struct tripd_round *round);

/* A connection has begun, and knows nothing. Returns 0, or as tripd_message_flush(). */
int tripd_round_begin(struct tripd_round *round, struct tripd_message *message);

/* Tells again what a collector has to know which has come since, or has begun anew: for datagrams.
 * Likewise. */
int tripd_round_refresh(struct tripd_round *round, struct tripd_message *message);

/* Reads a look, which may change from then on. Returns 0 or -ENOMEM: this round is left out. */
int tripd_round_read(struct tripd_round *round, const struct tripd_look *look);

/* Exports what was read. Returns 0, or as tripd_message_flush(). */
int tripd_round_export(struct tripd_round *round, struct tripd_message *message);

#endif

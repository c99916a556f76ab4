/* SPDX-License-Identifier: BSD-3-Clause */
/* What is exported: the information elements that are tripd's own, templates, and their records. */
#ifndef TRIPD_MODEL_H
#define TRIPD_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include <fixbuf/public.h>

#include <trip.h>

/* Templates. Those of keys come behind these. */
enum {
	TRIPD_MODEL_TYPES = 256,
	TRIPD_MODEL_NAME,
	TRIPD_MODEL_COUNT,
	TRIPD_MODEL_VALUE,
	TRIPD_MODEL_REMAINDER,
	TRIPD_MODEL_EACH,
	TRIPD_MODEL_TRIP,
	TRIPD_MODEL_LOST,
	TRIPD_MODEL_CHANGE,
	TRIPD_MODEL_KEYS = 300,
};

/* Elements of its own, numbered from 1. */
#define TRIPD_MODEL_OWN 34

void tripd_model_add(fbInfoModel_t *model, uint32_t enterprise);

/* Of a template that does not depend on rules, TRIPD_MODEL_NAME to _CHANGE: what it has. Returns
 * how much of that is its scope. */
#define TRIPD_MODEL_SPECS 16
uint16_t tripd_model_specs(uint16_t id, fbInfoElementSpec_t specs[TRIPD_MODEL_SPECS]);

/* Statements have numbers as observation points. */

struct tripd_model_name {
	uint64_t point;
	fbVarfield_t kind, name;
};

/* What has been counted since the last time, from when to when; then all of it. */
struct tripd_model_flow {
	uint64_t start_ms, end_ms, packets, bytes;
	uint64_t all_packets, all_bytes;
};

struct tripd_model_count {
	struct tripd_model_flow flow;
	uint64_t policed_packets, policed_bytes;
	uint64_t point;
};

struct tripd_model_value {
	uint64_t time;
	uint64_t value;
	uint64_t point;
};

struct tripd_model_remainder {
	struct tripd_model_flow flow;
	uint64_t refused_packets, refused_bytes;
	uint64_t point;
};

struct tripd_model_each {
	uint64_t point;
	uint64_t packets, bytes, keys, max, admitted, evicted, expired, floor, held;
	uint64_t dropped_packets, dropped_bytes;
};

struct tripd_model_trip {
	fbVarfield_t counter, condition, operation, key;
	uint64_t time;
	uint64_t threshold, value, count, latency_ns;
	uint32_t line;
	int32_t result;
	uint8_t ends;
} __attribute__((packed));

/* A key that came or went. */
struct tripd_model_change {
	fbVarfield_t event, each, key;
	uint64_t time;
	uint64_t packets, bytes, error;
	uint32_t queue;
} __attribute__((packed));

struct tripd_model_lost {
	uint32_t process;
	uint64_t flows;
} __attribute__((packed));

struct tripd_model_key {
	struct tripd_model_flow flow;
	uint64_t error;
	uint64_t point;
	/* 0: ingress, 1: egress. */
	uint8_t direction;
	/* Its packets are being dropped: TRIPD_MODEL_TRUE or _FALSE. */
	uint8_t dropped;
	/* Its fields. */
	uint8_t rest[4 * TRIP_EACH_KEY_MAX];
};

/* Fields that a template of keys has beside those of every one, at most. */
#define TRIPD_MODEL_KEY_SPECS (10 + 2 * TRIP_EACH_PARTS_MAX + 1)

/* The template of keys that have these parts; those of either version of IP have one for each. */
void tripd_model_key_specs(const struct trip_each_part *parts, uint32_t n_parts, bool v6,
	fbInfoElementSpec_t specs[TRIPD_MODEL_KEY_SPECS]);

/* Whether the key has an address of IPv6 where its parts may have one of either version. */
bool tripd_model_key_is_v6(
	const struct trip_each_part *parts, uint32_t n_parts, const uint8_t *key);

/* Writes the fields of a key behind those of the record. Returns the size of the record. */
size_t tripd_model_key_fill(const struct trip_each_part *parts, uint32_t n_parts,
	const uint8_t *key, struct tripd_model_key *record);

/* As boolean has it. */
#define TRIPD_MODEL_TRUE 1
#define TRIPD_MODEL_FALSE 2

/* As dateTimeNanoseconds has it. */
uint64_t tripd_model_time(uint64_t ns);

#endif

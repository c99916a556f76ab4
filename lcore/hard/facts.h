/* SPDX-License-Identifier: BSD-3-Clause */
/* What is known of a port's hardware engine before it is asked, by driver and device arguments. */
#ifndef TRIP_FACTS_H
#define TRIP_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include <trip_port.h>

struct rte_flow_item;

/* Engines that match or count each in a way of their own. */
enum trip_facts_kind {
	TRIP_FACTS_NONE,
	TRIP_FACTS_OTHER,
	TRIP_FACTS_MLX5_VERBS,
	TRIP_FACTS_MLX5_DV,
	TRIP_FACTS_MLX5_HWS,
	TRIP_FACTS_KINDS,
};

struct trip_facts {
	enum trip_facts_kind kind;
	struct trip_port_facts port;
};

/* -ENODEV: no such port. */
int trip_facts_read(uint16_t port_id, struct trip_facts *facts);

/* The engine turned out to be this. */
void trip_facts_set_kind(struct trip_facts *facts, enum trip_facts_kind kind);

/*
 * How packets that an item matches in an engine compare with those that it matches in software.
 * README.md has the table.
 */
enum trip_facts_match {
	/* The same ones. */
	TRIP_FACTS_ALIKE,
	/* Nobody has shown that they are, or software does not have the item. */
	TRIP_FACTS_UNKNOWN,
	/* Others. */
	TRIP_FACTS_OTHERS,
};

/* Of a whole pattern: the worst of its items, and that item. */
enum trip_facts_match trip_facts_pattern(enum trip_facts_kind kind,
	const struct rte_flow_item *pattern, const struct rte_flow_item **worst);

#endif

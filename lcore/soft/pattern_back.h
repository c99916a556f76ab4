/* SPDX-License-Identifier: BSD-3-Clause */
/* A compiled pattern back as rte_flow items, for whoever wants to read it. */
#ifndef TRIP_PATTERN_BACK_H
#define TRIP_PATTERN_BACK_H

#include "pattern.h"

/* Two stacks of Ethernet, two tags, IP and L4, a tunnel between them, sets, and the end. */
#define TRIP_PATTERN_ITEMS 20
#define TRIP_PATTERN_ITEM_SIZE 64

struct trip_pattern_items {
	struct rte_flow_item items[TRIP_PATTERN_ITEMS];
	uint32_t n;
	_Alignas(8) uint8_t spec[TRIP_PATTERN_ITEMS][TRIP_PATTERN_ITEM_SIZE];
	_Alignas(8) uint8_t mask[TRIP_PATTERN_ITEMS][TRIP_PATTERN_ITEM_SIZE];
};

/*
 * Items that compile to this very pattern, the shortest that do; not always those that it was made
 * of, as what says nothing is not in the pattern: `eth` before an IP item is put there in any case.
 */
void trip_pattern_back(const struct trip_pattern *pattern, struct trip_pattern_items *back);

/* Puts an item of a set (trip_set.h) behind item `at`. */
void trip_pattern_back_set(
	struct trip_pattern_items *back, uint32_t at, const char *set, uint8_t offset);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which pattern matches which frame, as slowly and plainly as it can be said: items are walked
 * through the frame's own bytes. It shares nothing with the software engine but what pattern.h
 * promises.
 */
#ifndef PACKET_REFERENCE_H
#define PACKET_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_flow.h>

/* The frame as it is on the wire: tags that are beside an mbuf's data are in it. */
bool reference_matches(const struct rte_flow_item *items, const uint8_t *frame, uint32_t length);

/* Writes to the specs of items (which are writable) what the frame has there, as far as it goes. */
void reference_fill(const struct rte_flow_item *items, const uint8_t *frame, uint32_t length);

/* The number of what IPv6 carries behind its extension headers, or -1. */
int reference_carries(const uint8_t *frame, uint32_t length);

/* Size of an item's structure, and the members that are matched as wholes: pairs of offset and
 * size, ended by a size of 0. */
size_t reference_item_size(enum rte_flow_item_type type);
const uint8_t (*reference_members(enum rte_flow_item_type type))[2];

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The catalogue of packet items: what a pattern of a counted flow may be made of, in testpmd's
 * words. One row an item; whatever knows items (the engines, what goes between processes, text, the
 * rules language) reads it here.
 */
#ifndef TRIP_FLOW_ITEM_H
#define TRIP_FLOW_ITEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** No item has more fields. */
#define TRIP_FLOW_FIELDS_MAX 24

/** How the value of a field is written. */
enum trip_flow_notation {
	TRIP_FLOW_NUMBER,
	TRIP_FLOW_MAC,
	TRIP_FLOW_IPV4,
	TRIP_FLOW_IPV6,
};

/**
 * A field: a number of `bits` bits. The structures of rte_flow begin with the header as it is on
 * the wire. In the `bytes` bytes at `offset` there, read in network order, the number's last bit is
 * `shift` bits from the right. Fields that share bytes stand together: the whole first, then its
 * parts.
 */
struct trip_flow_field {
	/** Bytes of it that the library has. */
	size_t size;
	const char *word;
	uint8_t offset;
	uint8_t bytes;
	uint8_t bits;
	uint8_t shift;
	uint8_t notation; /**< enum trip_flow_notation */
	bool unread;      /**< The software engine does not match it; hardware may. */
	bool unsaid;      /**< It is no word of the rules language. */
	uint8_t reserved; /**< 0. */
};

/** Where an item stands in a packet, from the outside inwards. */
enum trip_flow_layer {
	TRIP_FLOW_ETH,
	TRIP_FLOW_VLAN,
	TRIP_FLOW_IP,
	TRIP_FLOW_L4,
	/** Behind one of the others; what it carries is the inner packet. */
	TRIP_FLOW_TUNNEL,
};

/** What says that an item's header comes next: a number in the header before it. */
enum trip_flow_announcer {
	TRIP_FLOW_BY_NOTHING,
	TRIP_FLOW_BY_ETHERTYPE,
	/** Protocol of IPv4, or next header of IPv6. */
	TRIP_FLOW_BY_PROTOCOL,
	/** Destination port. */
	TRIP_FLOW_BY_UDP_PORT,
	/** Type of an extension header of GTP-U. */
	TRIP_FLOW_BY_EXTENSION,
};

/** What is behind a tunnel's header. */
enum trip_flow_carries {
	TRIP_FLOW_CARRIES_NOTHING, /**< No tunnel. */
	TRIP_FLOW_CARRIES_ETHERNET,
	TRIP_FLOW_CARRIES_IP, /**< IPv4 or IPv6, without Ethernet. */
	/** What the EtherType in bytes 2 and 3 of its header says: 0x6558 is Ethernet. */
	TRIP_FLOW_CARRIES_TYPED,
};

/** An item. */
struct trip_flow_item {
	/** Bytes of it that the library has. */
	size_t size;
	const char *word;
	int type; /**< enum rte_flow_item_type */
	enum trip_flow_layer layer;
	enum trip_flow_carries carries;
	enum trip_flow_announcer announcer;
	uint16_t number;  /**< that announces it */
	uint8_t bytes;    /**< of its structure */
	uint8_t header;   /**< Bytes of it that are on the wire. Fields further back say what is. */
	uint8_t repeats;  /**< How many may stand one behind another; 0: it stands alone. */
	const void *mask; /**< rte_flow's default one. */
	/** How many trip_flow_item_field() tells. */
	uint32_t n_fields;
	/** Which of the catalogue, by their index as bits, may stand before it. */
	uint32_t behind;
};

/** The item at an index of the catalogue; NULL past its end. Any thread, any process. */
const struct trip_flow_item *trip_flow_item_at(uint32_t index);

/** The item of an enum rte_flow_item_type; NULL where the catalogue has none. Any thread, any
 * process. */
const struct trip_flow_item *trip_flow_item_of(int type);

/** A field of an item; NULL past the last. Any thread, any process. */
const struct trip_flow_field *trip_flow_item_field(
	const struct trip_flow_item *item, uint32_t index);

/** Which of its item's fields it is. */
uint32_t trip_flow_item_field_index(
	const struct trip_flow_item *item, const struct trip_flow_field *field);

/**
 * Whether an item may stand behind `before`, of which there are `run` in a row; NULL is the start
 * of a pattern. There, and behind a tunnel, any layers may be left out; elsewhere none. That a
 * tunnel within a tunnel is not looked for is not said here, but where it follows directly.
 */
bool trip_flow_item_follows(
	const struct trip_flow_item *item, const struct trip_flow_item *before, uint32_t run);

#ifdef __cplusplus
}
#endif

#endif

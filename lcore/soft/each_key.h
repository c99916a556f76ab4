/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys of packets: what a statement counts by, as words for a table of keys (../data/keyed.h).
 *
 * A key is a list of fields, of addresses perhaps only the front. It is made once; taking it out
 * of a packet is AND, rotate and OR of words that the parser has filled, so keys of several
 * statements share one parse, and nothing of the packet itself is read here.
 *
 * A packet has a key where it has all of its fields, each as patterns have them (pattern.h):
 * present where its own bytes are in the packet. What has no key is not counted by that key.
 *
 * - `ip` is IPv4 or IPv6. An IPv4 address has its IPv6 form there, ::ffff:10.1.2.3 (RFC 4291), as
 *   many bits of it as the length says, all 32 where it says more: /64 is hosts of IPv4 beside
 *   networks of IPv6. So an address is one key, in whichever of its two forms a packet has it.
 * - `proto` is what IP carries, behind extension headers; a later fragment has it, too.
 * - l4.src and l4.dst are ports of TCP, UDP and SCTP.
 * - vlan.vid is of the outermost tag, mpls.label the top of the stack, vni and teid what the parser
 *   takes for VXLAN and GTP-U. All else is of the outer packet.
 *
 * In a key fields stand as on the wire, one behind the other in the order of the list, without a
 * gap; bits that are not asked for, and the rest of the last word, are 0.
 */
#ifndef TRIP_EACH_KEY_H
#define TRIP_EACH_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <trip_each.h>

#include "packet.h"

#define TRIP_EACH_KEY_WORDS 5u
#define TRIP_EACH_KEY_BYTES (TRIP_EACH_KEY_WORDS * 8)
_Static_assert(TRIP_EACH_KEY_BYTES == TRIP_EACH_KEY_MAX, "the longest key");
/* Packets at once. */
#define TRIP_EACH_KEY_CHUNK 32u
#define TRIP_EACH_FIELDS (TRIP_EACH_GTPU_TEID + 1)

/* A word of a packet is so under a mask. */
struct trip_each_test {
	uint64_t mask, value;
	uint32_t word;
};

/* What of a packet's word goes to one of a key. */
struct trip_each_term {
	uint64_t mask; /* behind the turn */
	uint8_t from, turn;
};

#define TRIP_EACH_TESTS 4u /* presence bits: two words of each stack */
#define TRIP_EACH_FORMS 2u /* by version of IP */

struct trip_each_form {
	uint32_t l4; /* which of TRIP_HAS_L4 may be there, a bit each */
	uint32_t n_tests;
	struct trip_each_test tests[TRIP_EACH_TESTS];     /* the first is of word 0 */
	struct trip_each_term terms[TRIP_EACH_KEY_BYTES]; /* in the order of where they go */
	uint32_t ends[TRIP_EACH_KEY_WORDS];               /* of a word's terms */
	uint64_t fixed[TRIP_EACH_KEY_WORDS];
};

struct trip_each_key {
	uint32_t bytes, words;
	uint32_t wants; /* TRIP_WANT_*: a parser is to be asked for that */
	uint32_t n_forms;
	struct trip_each_form forms[TRIP_EACH_FORMS]; /* no packet is of two */
};

/* The word of RULES for a field, and how many bits it has. */
const char *trip_each_key_word(enum trip_each_field field);
uint32_t trip_each_key_bits(enum trip_each_field field);

/* How it stands in a key: in so many bytes, as a number with so many bits behind it. */
struct trip_each_shape {
	uint8_t bytes, shift;
	bool address;
};

struct trip_each_shape trip_each_key_shape(enum trip_each_field field);

/* Whether an address of so many bytes is one of IPv4 in its IPv6 form: the length is of that. */
static inline bool
trip_each_key_is_mapped(const uint8_t *bytes, uint32_t size)
{
	static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};

	return size == 16 && memcmp(bytes, prefix, sizeof(prefix)) == 0;
}

/* 0, or -EINVAL with a message that is good until the calling thread's next one. */
int trip_each_key_compile(const struct trip_each_part *parts, uint32_t n, struct trip_each_key *key,
	const char **message);

/* The text of a key of so many parts, whose bytes stand as in a table: how many characters it has,
 * which is below TRIP_EACH_TEXT_MAX; cut where there is no room, as by snprintf(). */
size_t trip_each_key_text(const struct trip_each_part *parts, uint32_t n, const uint8_t *key,
	char *text, size_t size);

/* A key from that: 0; else why it is none is in `wrong`, for which TRIP_EACH_WRONG_MAX is enough.
 * It takes TRIP_EACH_KEY_BYTES, of which those behind its parts are 0. */
#define TRIP_EACH_WRONG_MAX 192u
int trip_each_key_parse(const struct trip_each_part *parts, uint32_t n, const char *text,
	uint8_t *key, char *wrong, size_t size);

/* A key of so many parts as one of others: without fields and ends of addresses that these have
 * not; it may be the same memory. UINT32_MAX, or the first part that is asked for and not in it. */
uint32_t trip_each_key_project(const struct trip_each_part *parts, uint32_t n, const uint8_t *key,
	const struct trip_each_part *onto, uint32_t n_onto, uint8_t *projected);

/* Of up to TRIP_EACH_KEY_CHUNK packets, parsed with what the key wants: how many have one. Their
 * keys go to `keys`, one behind the other, and to `packets` whose they are; packets of one key are
 * in their order. */
uint32_t trip_each_key_take(const struct trip_each_key *key,
	const struct trip_packet_fields *fields, uint32_t count, uint64_t *keys, uint8_t *packets);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* A packet against one pattern, word by word. The engine compares keys of many (tuple.h). */
#ifndef PATTERN_MATCH_H
#define PATTERN_MATCH_H

#include <string.h>

#include "pattern.h"

/* Which of TRIP_WANT_* a packet must have been parsed with to be compared with the pattern. */
static inline uint32_t
pattern_wants(const struct trip_pattern *pattern)
{
	uint32_t bits;

	memcpy(&bits, (const uint8_t *)pattern->mask + TRIP_PLACE_BITS, sizeof(bits));
	return bits & (TRIP_WANT_MORE | TRIP_WANT_TUNNEL);
}

static inline int
pattern_matches(const struct trip_pattern *pattern, const struct trip_packet_fields *fields)
{
	uint64_t differ = 0;
	unsigned int word;

	for (word = 0; word < TRIP_PACKET_WORDS; word++)
		differ |= (fields->words[word] & pattern->mask[word]) ^ pattern->value[word];
	return differ == 0;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets, patterns about them and keys of them, against the plain references. The front of
 * the input is either the frame itself or what draws one; its end draws segments, tags beside the
 * frame, lengths that lie, and patterns.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "each_key_reference.h"
#include "packet_draw.h"
#include "packet_reference.h"
#include "pattern_match.h"

#define PATTERNS 3

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct source {
	const uint8_t *data;
	size_t size;
};

/* From the end, so that a frame in front stays where it is when choices change. */
static uint32_t
take(void *arg, uint32_t n)
{
	struct source *source = arg;
	uint32_t value = 0, bytes = n > 256 ? 2 : 1;

	for (; bytes > 0 && source->size > 0; bytes--)
		value = value << 8 | source->data[--source->size];
	return value % n;
}

static void
compare(const struct rte_mbuf *mbuf, uint32_t sent, const struct draw_frame *frame,
	const struct draw_pattern *drawn)
{
	/* Kept from input to input: what earlier packets left must make no difference. */
	static struct trip_packet_fields fields;
	int expected = reference_matches(drawn->items, frame->bytes, frame->length);
	struct trip_pattern pattern;
	uint32_t wants;

	if (trip_pattern_compile(drawn->items, &pattern, NULL) != 0)
		abort();
	wants = pattern_wants(&pattern);
	trip_packet_parse(mbuf, sent | wants, &fields);
	if (pattern_matches(&pattern, &fields) != expected)
		abort();
	trip_packet_parse(mbuf, sent | TRIP_WANT_MORE | TRIP_WANT_TUNNEL, &fields);
	if (pattern_matches(&pattern, &fields) != expected)
		abort();
}

/* A key of it, or none. */
static void
compare_key(struct draw *draw, const struct rte_mbuf *mbuf, uint32_t sent,
	const struct draw_frame *frame)
{
	static struct trip_packet_fields fields;
	uint64_t words[TRIP_EACH_KEY_WORDS];
	struct trip_each_part parts[TRIP_EACH_FIELDS];
	uint32_t n = draw_key(draw, parts), taken;
	uint8_t expected[TRIP_EACH_KEY_BYTES], packet;
	struct trip_each_key key;
	const char *message;

	if (n == 0 || trip_each_key_compile(parts, n, &key, &message) != 0)
		return;
	trip_packet_parse(mbuf, sent | key.wants, &fields);
	taken = trip_each_key_take(&key, &fields, 1, words, &packet);
	if (taken != reference_key(parts, n, frame->bytes, frame->length, expected) ||
		(taken != 0 && memcmp(words, expected, key.words * sizeof(words[0])) != 0))
		abort();
}

static void
release(struct rte_mbuf *mbuf)
{
	while (mbuf != NULL) {
		struct rte_mbuf *next = mbuf->next;

		free(mbuf->buf_addr);
		free(mbuf);
		mbuf = next;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct source source = {data, size};
	struct draw draw = {take, &source};
	struct draw_pattern patterns[PATTERNS];
	struct draw_frame frame;
	struct rte_mbuf *mbuf;
	uint32_t sent, i;

	if (take(&source, 2) == 0) {
		frame.length = (uint32_t)(source.size / 2);
		if (frame.length > DRAW_FRAME_MAX)
			frame.length = DRAW_FRAME_MAX;
		memcpy(frame.bytes, data, frame.length);
	} else {
		draw_frame(&draw, &frame);
	}
	for (i = 0; i < PATTERNS; i++)
		draw_pattern(&draw, &frame, &patterns[i]);
	mbuf = draw_mbuf(&draw, &frame, &sent);
	for (i = 0; i < PATTERNS; i++)
		compare(mbuf, sent, &frame, &patterns[i]);
	compare_key(&draw, mbuf, sent, &frame);
	release(mbuf);
	return 0;
}

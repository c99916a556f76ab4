/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parser and the pattern compiler against a plain reference (packet_reference.h): random frames
 * of all kinds, cut into segments and lying about their lengths, and random patterns about them.
 */
#include "packet_draw.h"
#include "pattern_back.h"
#include "packet_reference.h"
#include "pattern_match.h"
#include "soft_test.h"

static uint32_t
random_below(void *arg, uint32_t n)
{
	return (uint32_t)trip_random_below(arg, n);
}

static void
dump(const struct draw_frame *frame, const struct draw_pattern *pattern)
{
	const struct rte_flow_item *item;
	const char *name;
	uint32_t i;

	for (i = 0; i < frame->length; i++)
		fprintf(stderr, "%02x%s", frame->bytes[i], i % 16 == 15 ? "\n" : " ");
	fprintf(stderr, "\n%u bytes; items", frame->length);
	for (item = pattern->items; item->type != RTE_FLOW_ITEM_TYPE_END; item++) {
		rte_flow_conv(RTE_FLOW_CONV_OP_ITEM_NAME_PTR, &name, sizeof(name),
			(const void *)(uintptr_t)item->type, NULL);
		fprintf(stderr, " %s%s%s", name, item->spec != NULL ? " spec" : "",
			item->mask != NULL ? " mask" : "");
	}
	fprintf(stderr, "\n");
}

/* Returns whether it matched. The mbuf is parsed for this pattern alone, and for all. */
static bool
compare(const struct rte_mbuf *mbuf, uint32_t sent, const struct draw_frame *frame,
	const struct draw_pattern *drawn, struct trip_packet_fields *fields)
{
	struct trip_pattern_items back;
	struct trip_pattern again;
	bool expected = reference_matches(drawn->items, frame->bytes, frame->length), found, all;
	struct trip_pattern pattern;
	struct rte_flow_error error;

	if (trip_pattern_compile(drawn->items, &pattern, &error) != 0)
		fail_msg("%s", error.message);
	/* Items made of it are the same pattern. */
	trip_pattern_back(&pattern, &back);
	assert_int_equal(trip_pattern_compile(back.items, &again, NULL), 0);
	assert_memory_equal(&again, &pattern, sizeof(pattern));
	trip_packet_parse(mbuf, sent | pattern_wants(&pattern), fields);
	found = pattern_matches(&pattern, fields);
	trip_packet_parse(mbuf, sent | WANTS, fields);
	all = pattern_matches(&pattern, fields);
	if (found != expected || all != expected) {
		dump(frame, drawn);
		fail_msg("the reference says %d, the engine %d, and %d where it reads all",
			expected, found, all);
	}
	return found;
}

static void
packet_matches_as_the_reference_does(void **state)
{
	struct trip_random random = {trip_test_seed("packet_matches_as_the_reference_does")};
	uint64_t round, rounds = trip_test_rounds(60000), matches = 0, asked = 0, inner = 0;
	struct draw draw = {random_below, &random};
	/* What earlier packets left must make no difference. */
	struct trip_packet_fields fields;
	struct draw_pattern pattern;
	struct draw_frame frame;

	memset(&fields, 0xa5, sizeof(fields));
	for (round = 0; round < rounds; round++) {
		struct rte_mbuf *mbuf;
		uint32_t sent, i;

		draw_frame(&draw, &frame);
		mbuf = draw_mbuf(&draw, &frame, &sent);
		for (i = 0; i < 4; i++, asked++) {
			bool matched;

			draw_pattern(&draw, &frame, &pattern);
			matched = compare(mbuf, sent, &frame, &pattern, &fields);
			matches += matched;
			inner += matched && (fields.halves[0] & TRIP_HAS_TUNNEL) != 0;
		}
		mbuf_release(mbuf);
	}
	printf("%llu of %llu matched, %llu of them tunnels\n", (unsigned long long)matches,
		(unsigned long long)asked, (unsigned long long)inner);
	/* Both answers, and often enough to mean something. */
	trip_assert_range(matches, asked / 50, asked * 49 / 50);
	assert_true(inner > asked / 500);
}

/* Every length of the frame, in one segment and cut in two at every place. */
static void
packet_cut_everywhere_matches_as_the_reference_does(void **state)
{
	struct trip_random random = {trip_test_seed("packet_cut_everywhere")};
	uint64_t round, rounds = trip_test_rounds(60);
	struct draw draw = {random_below, &random};
	struct trip_packet_fields fields;
	struct draw_pattern patterns[4];
	struct draw_frame frame, prefix;
	uint32_t i, length, at;

	memset(&fields, 0x5a, sizeof(fields));
	for (round = 0; round < rounds; round++) {
		draw_frame(&draw, &frame);
		if (frame.length > 300)
			continue;
		for (i = 0; i < 4; i++)
			draw_pattern(&draw, &frame, &patterns[i]);
		prefix = frame;
		for (length = 0; length <= frame.length; length++) {
			struct rte_mbuf *mbuf = mbuf_segment(frame.bytes, length);

			prefix.length = length;
			for (i = 0; i < 4; i++)
				compare(mbuf, 0, &prefix, &patterns[i], &fields);
			mbuf_release(mbuf);
		}
		for (at = 0; at <= frame.length; at++) {
			struct rte_mbuf *mbuf = mbuf_segment(frame.bytes, at);

			mbuf->next = mbuf_segment(frame.bytes + at, frame.length - at);
			mbuf->nb_segs = 2;
			mbuf->pkt_len = frame.length;
			for (i = 0; i < 4; i++)
				compare(mbuf, 0, &frame, &patterns[i], &fields);
			mbuf_release(mbuf);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packet_matches_as_the_reference_does),
		cmocka_unit_test(packet_cut_everywhere_matches_as_the_reference_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Checksums that were left are finished, by DPDK's own notion of what is right; no others are. */
#include <arpa/inet.h>
#include <string.h>

#include <rte_mbuf.h>

#include "link/checksum.h"
#include "drawn_frame.h"
#include "trip_test.h"

#define ROUNDS 3000
/* BIG TCP. */
#define BIG_MAX (1 << 20)

static struct trip_random rng;

static void
what_a_sender_left_is_finished(void **state)
{
	static struct drawn drawn;
	static uint8_t right[FRAME_MAX], left[FRAME_MAX];

	for (uint64_t round = trip_test_rounds(ROUNDS); round > 0; round--) {
		size_t length = frame_draw_right(&rng, &drawn, right);
		size_t offset = drawn.tcp ? 16 : 6;
		uint16_t pseudo = frame_pseudo(&drawn, right, length);

		memcpy(left, right, length);
		memcpy(left + drawn.l4 + offset, &pseudo, sizeof(pseudo));
		tripd_checksum_finish(left, length, drawn.l4, offset);
		assert_memory_equal(left, right, length);
		tripd_checksum_finish(left, length, length - 1, offset);
		assert_memory_equal(left, right, length);
	}
}

/* As long as the kernel joins them, and with the largest sums. */
static void
a_checksum_is_finished_over_any_length(void **state)
{
	static const size_t lengths[] = {
		65535, 65536, 65537, 131070, 131072, 131074, 131075, 524288, BIG_MAX};
	static uint8_t frame[BIG_MAX];
	uint16_t field;

	for (unsigned int i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		uint64_t sum = 0;

		memset(frame, 0xff, sizeof(frame));
		frame[lengths[i] / 2] = (uint8_t)trip_random_u64(&rng);
		frame[16] = 0x12;
		frame[17] = 0x34;
		for (size_t k = 0; k < lengths[i]; k++)
			sum += (uint64_t)frame[k] << (k % 2 == 0 ? 8 : 0);
		while (sum > 0xffff)
			sum = (sum & 0xffff) + (sum >> 16);
		sum = ~sum & 0xffff;
		tripd_checksum_finish(frame, lengths[i], 0, 16);
		memcpy(&field, frame + 16, sizeof(field));
		assert_int_equal(ntohs(field), sum == 0 ? 0xffff : sum);
	}
}

/* Bit by bit, as RFC 9260 describes it. */
static uint32_t
crc32c(const uint8_t *bytes, size_t n)
{
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < n; i++) {
		crc ^= bytes[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ ((crc & 1) != 0 ? 0x82f63b78 : 0);
	}
	return ~crc;
}

static void
sctp_is_finished_by_its_crc(void **state)
{
	uint8_t frame[300] = {0}, sum[4];
	uint32_t crc;

	assert_int_equal(crc32c((const uint8_t *)"123456789", 9), 0xe3069283);
	for (size_t length = 34 + 12; length < sizeof(frame); length++) {
		for (size_t i = 34; i < length; i++)
			frame[i] = (uint8_t)trip_random_u64(&rng);
		memset(frame + 34 + 8, 0, sizeof(sum));
		crc = crc32c(frame + 34, length - 34);
		for (unsigned int i = 0; i < sizeof(sum); i++)
			sum[i] = (uint8_t)(crc >> 8 * i);
		/* Whatever stands there. */
		frame[34 + 9] = 0x55;
		tripd_checksum_finish(frame, length, 34, 8);
		assert_memory_equal(frame + 34 + 8, sum, sizeof(sum));
	}
}

/* A checksum is finished where it was left, and otherwise never touched, right or wrong. */
static void
only_what_was_left_is_finished(void **state)
{
	static struct drawn drawn;
	static uint8_t right[FRAME_MAX], frame[FRAME_MAX];
	struct rte_mbuf mbuf = {.buf_addr = frame, .nb_segs = 1};

	for (uint64_t round = trip_test_rounds(ROUNDS); round > 0; round--) {
		size_t length = frame_draw_right(&rng, &drawn, right);
		size_t offset = drawn.l4 + (drawn.tcp ? 16 : 6);
		uint16_t pseudo = frame_pseudo(&drawn, right, length);

		mbuf.data_len = (uint16_t)length;
		mbuf.pkt_len = (uint32_t)length;
		memcpy(frame, right, length);
		tripd_checksum_finish_if_left(&mbuf);
		assert_memory_equal(frame, right, length);
		memcpy(frame + offset, &pseudo, sizeof(pseudo));
		tripd_checksum_finish_if_left(&mbuf);
		assert_memory_equal(frame, right, length);
		/* Damaged on its way. */
		right[offset] ^= 1;
		memcpy(frame, right, length);
		if (memcmp(right + offset, &pseudo, sizeof(pseudo)) != 0) {
			tripd_checksum_finish_if_left(&mbuf);
			assert_memory_equal(frame, right, length);
		}
		/* Cut short. */
		mbuf.data_len = (uint16_t)trip_random_below(&rng, length);
		mbuf.pkt_len = mbuf.data_len;
		memcpy(frame + offset, &pseudo, sizeof(pseudo));
		memcpy(right + offset, &pseudo, sizeof(pseudo));
		tripd_checksum_finish_if_left(&mbuf);
		assert_memory_equal(frame, right, length);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_sender_left_is_finished),
		cmocka_unit_test(a_checksum_is_finished_over_any_length),
		cmocka_unit_test(only_what_was_left_is_finished),
		cmocka_unit_test(sctp_is_finished_by_its_crc),
	};

	rng.state = trip_test_seed("checksum");
	return cmocka_run_group_tests(tests, NULL, NULL);
}

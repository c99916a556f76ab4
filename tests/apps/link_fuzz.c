/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libFuzzer on what tripd's links do to frames. A frame is drawn, in a tunnel or not, then some of
 * its bytes and of what is said of it are others. No byte outside of it may be touched, and what
 * comes of it holds together: a joined one is divided into parts whose checksums are right, or
 * stays as it is; a checksum is finished once.
 */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

#include "drawn_frame.h"
#include "link/checksum.h"
#include "link/layers.h"
#include "link/segment.h"

/* Parts of one frame that are looked at. */
#define PARTS_MAX 100

struct input {
	uint64_t seed;
	uint16_t cut;
	uint8_t flags;
	/* What the header's bytes are changed by. */
	uint8_t header[sizeof(struct virtio_net_hdr)];
};

enum {
	TUNNELLED = 1,
	CUT = 2,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool holds)
{
	if (!holds)
		abort();
}

/* Of 16-bit words in ones' complement, byte by byte. */
static uint64_t
sum(const uint8_t *bytes, size_t length, uint64_t so_far)
{
	for (size_t i = 0; i < length; i++)
		so_far += i % 2 == 0 ? (uint64_t)bytes[i] << 8 : bytes[i];
	while (so_far >> 16 != 0)
		so_far = (so_far & 0xffff) + (so_far >> 16);
	return so_far;
}

static void
check_part(const struct tripd_headers *headers, const struct tripd_segment *part)
{
	static uint8_t frame[2 * FRAME_MAX];
	size_t length = part->n_headers + part->n_payload, l4_length = length - headers->l4;
	const uint8_t *ip = frame + headers->l3;
	uint64_t pseudo = l4_length + headers->protocol;

	must(length <= sizeof(frame));
	memcpy(frame, part->headers, part->n_headers);
	memcpy(frame + part->n_headers, part->payload, part->n_payload);
	pseudo = headers->ipv6 ? sum(ip + 8, 32, pseudo) : sum(ip + 12, 8, pseudo);
	must(sum(frame + headers->l4, l4_length, pseudo) == 0xffff);
	must(headers->ipv6 || sum(ip, headers->l4 - headers->l3, 0) == 0xffff);
}

static void
divide(uint8_t *frame, const uint8_t *before, size_t length, const struct virtio_net_hdr *header)
{
	static struct tripd_segment part;
	struct tripd_joined joined;
	size_t done = 0;

	if (!tripd_joined_begin(&joined, frame, length, header)) {
		must(memcmp(frame, before, length) == 0);
		return;
	}
	for (unsigned int n = 0; n < PARTS_MAX && tripd_joined_next(&joined, &part); n++) {
		must(part.n_headers <= TRIPD_SEGMENT_HEADERS_MAX);
		check_part(&joined.headers, &part);
		done += part.n_payload;
	}
	must(done <= length);
}

static void
check_layers(const uint8_t *frame, size_t length)
{
	struct tripd_headers layers[TRIPD_LAYERS_MAX];
	unsigned int n = tripd_layers_find(frame, length, layers);

	for (unsigned int i = 0; i < n; i++) {
		must(layers[i].l4 <= layers[i].end && layers[i].end <= length);
		must(i == 0 ||
			(layers[i].l3 >= layers[i - 1].l4 && layers[i].end <= layers[i - 1].end));
	}
}

/* A checksum of SCTP has four bytes, others two. */
static void
finish(uint8_t *frame, const uint8_t *before, size_t length)
{
	struct rte_mbuf mbuf = {.buf_addr = frame, .nb_segs = 1};
	unsigned int changed = 0;
	uint8_t *once;

	if (length > UINT16_MAX)
		return;
	mbuf.data_len = (uint16_t)length;
	mbuf.pkt_len = (uint32_t)length;
	(void)tripd_checksum_finish_if_left(&mbuf);
	for (size_t i = 0; i < length; i++)
		changed += frame[i] != before[i];
	must(changed <= 4);
	once = malloc(length + 1);
	must(once != NULL);
	memcpy(once, frame, length);
	(void)tripd_checksum_finish_if_left(&mbuf);
	must(memcmp(frame, once, length) == 0);
	free(once);
}

/* The frame that the input says: its length, with what is said of it in `header`. */
static size_t
draw(const struct input *input, const uint8_t **bytes, struct virtio_net_hdr *header)
{
	static struct tunnelled tunnelled;
	struct trip_random rng = {.state = input->seed};
	const struct drawn *drawn = &tunnelled.inner;
	uint8_t *said = (uint8_t *)header;

	if ((input->flags & TUNNELLED) != 0) {
		frame_draw_tunnelled(&rng, &tunnelled);
		drawn = &tunnelled.outer;
		*header = tunnelled.header;
	} else {
		frame_draw(&rng, &tunnelled.inner);
		*header = drawn->header;
	}
	for (size_t i = 0; i < sizeof(*header); i++)
		said[i] ^= input->header[i];
	*bytes = drawn->bytes;
	return (input->flags & CUT) != 0 ? input->cut % (drawn->length + 1) : drawn->length;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct virtio_net_hdr header;
	const uint8_t *bytes;
	struct input input;
	uint8_t *frame, *before;
	size_t length;

	if (size < sizeof(input))
		return 0;
	memcpy(&input, data, sizeof(input));
	length = draw(&input, &bytes, &header);
	/* Of just that length, so that a sanitizer sees where it ends. */
	frame = malloc(length != 0 ? length : 1);
	before = malloc(length != 0 ? length : 1);
	must(frame != NULL && before != NULL);
	memcpy(frame, bytes, length);
	/* Where, and by what. */
	for (size_t i = sizeof(input); length > 0 && i + 3 <= size; i += 3)
		frame[(data[i] << 8 | data[i + 1]) % length] ^= data[i + 2];
	memcpy(before, frame, length);
	check_layers(frame, length);
	finish(frame, before, length);
	memcpy(frame, before, length);
	divide(frame, before, length, &header);
	memcpy(frame, before, length);
	tripd_checksum_finish(frame, length, header.csum_start, header.csum_offset);
	free(frame);
	free(before);
	return 0;
}

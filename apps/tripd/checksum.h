/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPD_CHECKSUM_H
#define TRIPD_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

struct rte_mbuf;

/*
 * Finishes a checksum that a sender has left to its device, in place. `start` is where the bytes
 * begin that it sums, `offset` where it stands behind that, and it holds the sum of the pseudo
 * header; in SCTP (known by the offset, 8) it is a CRC32c. Nothing is changed where that lies
 * outside of the frame.
 */
void tripd_checksum_finish(uint8_t *frame, size_t length, size_t start, size_t offset);

/*
 * The same for a frame of which nobody says whether that was left. Done only if its checksum is
 * wrong and its field holds just what such a sender leaves there, so that no right one is ever
 * changed.
 */
void tripd_checksum_finish_if_left(struct rte_mbuf *frame);

#endif

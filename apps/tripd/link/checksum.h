/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPD_CHECKSUM_H
#define TRIPD_CHECKSUM_H

#include <stdbool.h>
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
 * The same for a frame of which nobody says whether and where that was left, be it in a tunnel
 * (layers.h). A checksum is finished only if it is wrong, its field holds just what such a sender
 * leaves there, and those of the tunnels around it are right then; so no right one is ever changed.
 *
 * @return
 *   False: a checksum around others stays wrong, since what it covers was left where it is not
 *   found, or is damaged; whoever receives the packet will drop it. Where an unknown tunnel has no
 *   checksum of its own, nothing shows what was left in there.
 */
bool tripd_checksum_finish_if_left(struct rte_mbuf *frame);

#endif

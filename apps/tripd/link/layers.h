/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPD_LAYERS_H
#define TRIPD_LAYERS_H

#include <stddef.h>
#include <stdint.h>

#include "headers.h"

/* Nobody stacks more tunnels than two or three. */
#define TRIPD_LAYERS_MAX 4

/*
 * Finds the IP packets of a frame, each in the one before: that of the frame, and what tunnels
 * carry (VXLAN, Geneve, MPLS and IP over UDP, GRE, MPLS, IP in IP). Every one ends within the one
 * before, and its L4 begins there; one of UDP ends where UDP does, and has nothing of L4 if that is
 * impossible. Returns how many: 0 if there is none, or only a fragment.
 */
unsigned int tripd_layers_find(
	const uint8_t *frame, size_t length, struct tripd_headers layers[TRIPD_LAYERS_MAX]);

#endif

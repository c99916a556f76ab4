/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How another process makes sense of a domain's memory: a memzone with the attributes, from which
 * it reckons where everything is, as the primary did. It holds no pointer.
 */
#ifndef TRIP_RUNTIME_SHARE_H
#define TRIP_RUNTIME_SHARE_H

#include <stddef.h>
#include <stdint.h>

#include <trip_domain.h>

struct trip_domain;

#define TRIP_SHARE_MAGIC UINT64_C(0x656e696c70697274) /* "tripline" */

struct trip_share {
	uint64_t magic;
	/* Of what both sides compile in. */
	uint32_t layout;
	/* TRIP_VERSION, for the message. */
	char version[16];
	/* Of this domain alone. */
	uint64_t nonce;
	uint64_t tsc_hz;
	/* Without its pointers. */
	struct trip_domain_attr attr;
	/* "": none. */
	char socket[108];
};

/* A number that differs where the layout of the shared memory does. */
uint32_t trip_share_layout(void);

/* Writes it for a domain that is being opened, in memory of its own. */
void trip_share_publish(struct trip_domain *domain, struct trip_share *share);

/* The name of a memzone of a domain. */
void trip_share_zone_name(const char *domain, const char *what, char *name, size_t size);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a domain shows to processes that look for it, in a memzone: its identity, and the socket at
 * which to ask to be let in. Until a process is let in, the domain may end at any moment, and this
 * memory may become anything: so it is read once. All else comes with the answer. No pointers.
 */
#ifndef TRIP_RUNTIME_SHARE_H
#define TRIP_RUNTIME_SHARE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trip_domain;

#define TRIP_SHARE_MAGIC UINT64_C(0x656e696c70697274) /* "tripline" */

struct trip_share {
	/* TRIP_SHARE_MAGIC; 0: the domain is being opened or closed. */
	_Atomic uint64_t magic;
	/* Of what both sides compile in. */
	uint32_t layout;
	/* TRIP_VERSION_STRING, for the message. */
	char version[16];
	/* Not 0: there is a memzone of what is counted by keys. */
	uint32_t has_each;
	/* Of this domain alone. */
	uint64_t nonce;
	/* "": none. */
	char socket[108];
};

/* A number that differs where the layout of the shared memory does. */
uint32_t trip_share_layout(void);

/* Writes it for a domain that is being opened, in memory of its own; it is not shown yet. */
void trip_share_write(struct trip_domain *domain, struct trip_share *share);

void trip_share_show(struct trip_share *share, bool shown);

/* The name of a memzone of a domain. */
void trip_share_zone_name(const char *domain, const char *what, char *name, size_t size);

#endif

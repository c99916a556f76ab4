/* SPDX-License-Identifier: BSD-3-Clause */
/* What has been counted, and how much of that is exported: of a statement, and of each of its keys,
 * so that what is exported of something adds up to its count, whatever gets lost. */
#ifndef TRIPD_TALLY_H
#define TRIPD_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tripd_tally {
	uint64_t packets, bytes;
	/* Of these, what is exported. */
	uint64_t sent_packets, sent_bytes;
};

/* Takes what it has come to. Where that is less than what is exported it has begun anew. Returns
 * whether it has. */
bool tripd_tally_set(struct tripd_tally *tally, uint64_t packets, uint64_t bytes);

bool tripd_tally_is_sent(const struct tripd_tally *tally);

/* All of it is exported. */
void tripd_tally_sent(struct tripd_tally *tally);

struct tripd_tally_key {
	struct tripd_tally tally;
	uint64_t error;
	/* The look in which it was seen last; 0: the place is free. */
	uint32_t look;
	/* Its packets are being dropped. */
	uint32_t dropped;
	uint8_t key[];
};

/* The keys of a statement. */
struct tripd_tally_keys {
	uint8_t *places;
	/* Bytes of a key, and of a place; places, a power of two. */
	uint32_t key_size, size;
	uint64_t n_places, n;
	uint32_t seed, look;
	/* What was exported of keys that have gone since. */
	uint64_t gone_packets, gone_bytes;
	/* Keys for which there was no memory, in this look. */
	uint64_t left_out;
};

/* Without any keys, and memory for them. */
void tripd_tally_keys_init(struct tripd_tally_keys *keys, uint32_t key_size);

void tripd_tally_keys_free(struct tripd_tally_keys *keys);

/* A look at all keys: begins, takes each of them once at most, and ends: those that were not there
 * have gone. */
void tripd_tally_look_begin(struct tripd_tally_keys *keys);
/* Of the key words of 4 bytes are read, as many as it takes. Returns its place; NULL: there is no
 * memory. */
struct tripd_tally_key *tripd_tally_look(struct tripd_tally_keys *keys, const void *key,
	uint64_t packets, uint64_t bytes, uint64_t error);
void tripd_tally_look_end(struct tripd_tally_keys *keys);

/* The next one from a place on, which goes on behind it; NULL: there is none. */
struct tripd_tally_key *tripd_tally_keys_next(const struct tripd_tally_keys *keys, uint64_t *place);

#endif

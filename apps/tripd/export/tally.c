/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys are in a table with open addressing, which is at most three quarters full; whoever picks
 * keys does not know its seed. */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <rte_common.h>
#include <rte_jhash.h>

#include "tally.h"

#define PLACES_MIN 64

bool
tripd_tally_set(struct tripd_tally *tally, uint64_t packets, uint64_t bytes)
{
	bool anew = packets < tally->sent_packets || bytes < tally->sent_bytes;

	if (anew)
		tally->sent_packets = tally->sent_bytes = 0;
	tally->packets = packets;
	tally->bytes = bytes;
	return anew;
}

bool
tripd_tally_is_sent(const struct tripd_tally *tally)
{
	return tally->packets == tally->sent_packets && tally->bytes == tally->sent_bytes;
}

void
tripd_tally_sent(struct tripd_tally *tally)
{
	tally->sent_packets = tally->packets;
	tally->sent_bytes = tally->bytes;
}

void
tripd_tally_keys_init(struct tripd_tally_keys *keys, uint32_t key_size)
{
	*keys = (struct tripd_tally_keys){.key_size = key_size,
		.size = RTE_ALIGN_CEIL(sizeof(struct tripd_tally_key) + key_size, 8)};
	/* Without any, it is 0. */
	if (getrandom(&keys->seed, sizeof(keys->seed), GRND_NONBLOCK) < 0)
		keys->seed = 0;
}

void
tripd_tally_keys_free(struct tripd_tally_keys *keys)
{
	free(keys->places);
	keys->places = NULL;
	keys->n_places = keys->n = 0;
}

static struct tripd_tally_key *
place_at(const struct tripd_tally_keys *keys, uint64_t place)
{
	return (struct tripd_tally_key *)(keys->places + place * keys->size);
}

static uint64_t
home(const struct tripd_tally_keys *keys, const void *key)
{
	return rte_jhash(key, keys->key_size, keys->seed) & (keys->n_places - 1);
}

/* Where the key is, or the free place for it. */
static struct tripd_tally_key *
find(const struct tripd_tally_keys *keys, const void *key)
{
	uint64_t place = home(keys, key);

	while (place_at(keys, place)->look != 0 &&
		memcmp(place_at(keys, place)->key, key, keys->key_size) != 0)
		place = (place + 1) & (keys->n_places - 1);
	return place_at(keys, place);
}

/* Room for one more. */
static bool
grow(struct tripd_tally_keys *keys)
{
	struct tripd_tally_keys next = *keys;
	struct tripd_tally_key *from;
	uint64_t place = 0;

	if (4 * (keys->n + 1) <= 3 * keys->n_places)
		return true;
	next.n_places = RTE_MAX(2 * keys->n_places, (uint64_t)PLACES_MIN);
	next.places = calloc(next.n_places, next.size);
	if (next.places == NULL)
		return false;
	while ((from = tripd_tally_keys_next(keys, &place)) != NULL)
		memcpy(find(&next, from->key), from, next.size);
	free(keys->places);
	*keys = next;
	return true;
}

void
tripd_tally_look_begin(struct tripd_tally_keys *keys)
{
	/* 0 is none. */
	keys->look = keys->look == UINT32_MAX ? 1 : keys->look + 1;
	keys->left_out = 0;
}

static void
note_gone(struct tripd_tally_keys *keys, const struct tripd_tally *tally)
{
	keys->gone_packets += tally->sent_packets;
	keys->gone_bytes += tally->sent_bytes;
}

struct tripd_tally_key *
tripd_tally_look(struct tripd_tally_keys *keys, const void *key, uint64_t packets, uint64_t bytes,
	uint64_t error)
{
	struct tripd_tally before;
	struct tripd_tally_key *place;

	if (!grow(keys)) {
		keys->left_out++;
		return NULL;
	}
	place = find(keys, key);
	if (place->look == 0) {
		memcpy(place->key, key, keys->key_size);
		keys->n++;
	}
	place->look = keys->look;
	place->error = error;
	before = place->tally;
	/* It has gone and come again meanwhile. */
	if (tripd_tally_set(&place->tally, packets, bytes))
		note_gone(keys, &before);
	return place;
}

/* Those behind it move up, up to a free place, where that is nearer to their homes. */
static void
free_place(struct tripd_tally_keys *keys, uint64_t place)
{
	uint64_t mask = keys->n_places - 1, next = place;

	keys->n--;
	for (;;) {
		struct tripd_tally_key *other;

		next = (next + 1) & mask;
		other = place_at(keys, next);
		if (other->look == 0)
			break;
		if (((next - home(keys, other->key)) & mask) < ((next - place) & mask))
			continue;
		memcpy(place_at(keys, place), other, keys->size);
		place = next;
	}
	memset(place_at(keys, place), 0, keys->size);
}

void
tripd_tally_look_end(struct tripd_tally_keys *keys)
{
	uint64_t place = 0;

	/* One that moves up from the front to the end is looked at again. */
	while (place < keys->n_places) {
		struct tripd_tally_key *key = place_at(keys, place);

		if (key->look == 0 || key->look == keys->look) {
			place++;
			continue;
		}
		note_gone(keys, &key->tally);
		free_place(keys, place);
	}
}

struct tripd_tally_key *
tripd_tally_keys_next(const struct tripd_tally_keys *keys, uint64_t *place)
{
	while (*place < keys->n_places) {
		struct tripd_tally_key *key = place_at(keys, (*place)++);

		if (key->look != 0)
			return key;
	}
	return NULL;
}

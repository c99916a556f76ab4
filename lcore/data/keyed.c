/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of a table of keys, and who looks into it. */
#include <string.h>

#include "keyed_priv.h"

#define SPARE_PART 7u /* of max */
/* So that a round is longer than a chunk. */
#define SPARE_MIN 1024u
#define KEYS_OF_A_LINE 8u
/* In parts, at most: what leaks while a key is idle, a burst, and a byte, of which one packet may
 * have 2^32. */
#define LEAK_MAX (UINT64_C(1) << 61)
#define BURST_MAX (UINT64_C(1) << 60)
#define BYTE_MAX (UINT64_C(1) << 30)
#define SECOND_US UINT64_C(1000000)

static uint32_t
spare_for(uint32_t max)
{
	return max / SPARE_PART > SPARE_MIN ? max / SPARE_PART : SPARE_MIN;
}

static uint32_t
lines_for(uint32_t max)
{
	uint32_t keys = max >= SPARE_PART * SPARE_MIN ? max : max + SPARE_MIN;

	return (keys - 1) / KEYS_OF_A_LINE + 1;
}

static uint32_t
blocks_for(uint32_t max)
{
	return (max + spare_for(max) - 1) / KEYED_BLOCK + 1;
}

/* Whole cache lines. */
static size_t
entries_at(uint32_t max)
{
	size_t blocks = blocks_for(max) * sizeof(struct keyed_block);
	size_t line = sizeof(struct keyed_line);

	return (lines_for(max) + (blocks - 1) / line + 1) * line;
}

/* What a bucket is in: parts of a packet or byte, and how many leak in a microsecond. */
struct scale {
	uint64_t parts, rate;
};

static bool
is_in_range(const struct trip_keyed_attr *attr, const struct scale *scale)
{
	return scale->rate <= LEAK_MAX / attr->idle && attr->burst <= BURST_MAX / scale->parts &&
	       (!attr->rate_of_bytes || scale->parts <= BYTE_MAX);
}

/* The finest there may be; no parts: there is none. */
static struct scale
scale_of(const struct trip_keyed_attr *attr)
{
	const uint64_t exact = SECOND_US * (attr->seconds != 0 ? attr->seconds : 1);
	struct scale scale = {.parts = exact};

	for (; attr->rate != 0 && scale.parts != 0; scale.parts /= 2) {
		keyed_u128 leaks = (keyed_u128)attr->rate * scale.parts;

		scale.rate = (uint64_t)(leaks / exact + (leaks % exact != 0));
		if (is_in_range(attr, &scale))
			break;
	}
	return scale;
}

/* In half a line it is not in two. */
static uint32_t
words_of_entry(const struct trip_keyed_attr *attr)
{
	return attr->words < KEYED_HALF_LINE - KEYED_KEY ? KEYED_HALF_LINE
							 : KEYED_KEY + attr->words;
}

/* Where an entry has no room for the time until which it is held. */
static uint32_t
words_of_hold(const struct trip_keyed_attr *attr)
{
	return attr->holds && attr->rate != 0 && words_of_entry(attr) == KEYED_KEY + attr->words;
}

static uint64_t
words_of_entries(const struct trip_keyed_attr *attr)
{
	return ((uint64_t)attr->max + spare_for(attr->max)) *
	       (words_of_entry(attr) + KEYED_REST_WORDS + words_of_hold(attr));
}

static uint64_t
words_of_all(const struct trip_keyed_attr *attr)
{
	return words_of_entries(attr) + ((uint64_t)attr->max + spare_for(attr->max)) * attr->memos;
}

static bool
has_memos(const struct trip_keyed_attr *attr)
{
	uint32_t needed = attr->anew != 0 ? attr->anew - 1u + TRIP_KEYED_ANEW_WORDS : 0;

	if (attr->bucket != 0 && attr->bucket + 1u > needed)
		needed = attr->bucket + 1u;
	needed = attr->window > needed ? attr->window : needed;
	for (unsigned int i = 0; i < TRIP_KEYED_LIMITS; i++)
		needed = attr->next[i] > needed ? attr->next[i] : needed;
	return needed <= attr->memos && attr->memos <= TRIP_KEYED_MEMOS_MAX;
}

static bool
keeps_notes(uint32_t notes)
{
	return notes == 0 || (notes >= TRIP_KEYED_NOTES_MIN && notes <= TRIP_KEYED_NOTES_MAX &&
				     (notes & (notes - 1)) == 0);
}

size_t
trip_keyed_size(const struct trip_keyed_attr *attr)
{
	if (attr->max < 1 || attr->max > TRIP_KEYED_MAX || attr->words < 1 ||
		attr->words > TRIP_KEYED_WORDS_MAX || attr->idle < TRIP_KEYED_IDLE_MIN ||
		attr->idle > TRIP_KEYED_IDLE_MAX || attr->burst > TRIP_KEYED_BURST_MAX ||
		attr->until > attr->burst || attr->rate > TRIP_KEYED_RATE_MAX ||
		attr->rate_limit >= TRIP_KEYED_LIMITS || scale_of(attr).parts == 0 ||
		!keeps_notes(attr->notes) || !has_memos(attr))
		return 0;
	return sizeof(struct trip_keyed) + entries_at(attr->max) +
	       (words_of_all(attr) + (uint64_t)attr->notes * (KEYED_NOTE_KEY + attr->words)) * 8;
}

static void
init_clock(struct trip_keyed *table, const struct trip_keyed_attr *attr)
{
	table->unit = attr->idle / KEYED_IDLE_UNITS;
	table->idle_units = (uint16_t)((attr->idle - 1) / table->unit + 1);
	table->pace = ((uint64_t)table->blocks << 32) / table->unit + 1;
}

static void
init_rate(struct trip_keyed *table, const struct trip_keyed_attr *attr)
{
	const struct scale scale = scale_of(attr);

	table->rate = scale.rate;
	table->burst = attr->rate > 0 ? attr->burst * scale.parts : UINT64_MAX;
	table->until = attr->until * scale.parts;
	table->cost_byte = attr->rate_of_bytes ? scale.parts : 0;
	table->cost_packet = attr->rate_of_bytes ? 0 : scale.parts;
}

static uint64_t
limit_of(uint64_t given, uint64_t *lowest)
{
	uint64_t limit = given != 0 ? given : UINT64_MAX;

	*lowest = limit < *lowest ? limit : *lowest;
	return limit;
}

static bool
tells_again(const struct trip_keyed_attr *attr)
{
	uint8_t again = attr->anew;

	for (unsigned int i = 0; i < TRIP_KEYED_LIMITS; i++)
		again |= attr->next[i];
	return again != 0;
}

static void
init_limits(struct trip_keyed *table, const struct trip_keyed_attr *attr)
{
	table->limit_packets = UINT64_MAX;
	/* So who is held is always above. */
	table->limit_bytes = KEYED_HELD;
	for (unsigned int i = 0; i < TRIP_KEYED_LIMITS; i++) {
		table->limits[i].packets = limit_of(attr->limits[i].packets, &table->limit_packets);
		table->limits[i].bytes = limit_of(attr->limits[i].bytes, &table->limit_bytes);
		if (attr->limits[i].packets != 0 || attr->limits[i].bytes != 0)
			table->told_all |= (uint8_t)(1u << i);
	}
	table->told_rate = attr->rate != 0 ? UINT64_C(1) << attr->rate_limit : 0;
	table->told_all |= (uint8_t)table->told_rate;
	/* Never all is told of a key that may begin anew, or has a limit that grows. */
	if (tells_again(attr))
		table->told_all |= 1u << TRIP_KEYED_LIMITS;
}

static void
lay_out(struct trip_keyed *table, const struct trip_keyed_attr *attr)
{
	uint32_t words = words_of_entry(attr);

	table->words = attr->words;
	if (attr->rate != 0) {
		table->stride = words + KEYED_REST_WORDS + words_of_hold(attr);
		table->rest_stride = table->stride;
		table->rest_at = words;
	} else {
		table->stride = words;
		table->rest_stride = KEYED_REST_WORDS;
		table->rest_at = (uint64_t)table->capacity * words;
	}
	table->memos = attr->memos;
	table->memos_at = words_of_entries(attr);
	memcpy(table->next, attr->next, sizeof(table->next));
	table->anew = attr->anew;
	table->window = attr->window;
	table->bucket = attr->bucket;
	table->notes = attr->notes;
	table->notes_at = words_of_all(attr);
}

/* Behind lay_out(). */
static void
init_holds(struct trip_keyed *table, const struct trip_keyed_attr *attr)
{
	bool has_spare = words_of_entry(attr) > KEYED_KEY + attr->words;

	table->holds = attr->holds;
	table->closed = attr->closed;
	table->hold_at =
		has_spare ? KEYED_KEY + attr->words
			  : table->rest_at + (attr->rate != 0 ? KEYED_REST_WORDS : KEYED_BUCKET);
	table->hold_stride = has_spare ? table->stride : table->rest_stride;
	table->hold_max = attr->hold_max;
	table->hold_of_rate = attr->hold_of_rate;
	table->hold_count = attr->hold_count;
	table->police = attr->police;
	table->own = attr->own;
	table->n_tables = attr->n_tables;
	table->pitch = attr->pitch;
	table->hold_round = attr->hold_round < TRIP_KEYED_HOLD_ROUND_MAX
				    ? attr->hold_round
				    : TRIP_KEYED_HOLD_ROUND_MAX;
}

/* Words that nobody can tell from random ones who does not know the two. */
static void
spread_secret(struct trip_keyed *table, const uint64_t *secret)
{
	for (uint64_t i = 0; i < KEYED_SECRETS; i++)
		table->secret[i] = keyed_sip(secret, &i, 1);
}

static void
free_all(struct trip_keyed *table)
{
	for (uint32_t entry = table->capacity; entry > 0; entry--)
		trip_keyed_room_free(table, entry - 1);
}

struct trip_keyed *
trip_keyed_init(void *memory, const struct trip_keyed_attr *attr)
{
	struct trip_keyed *table = memory;
	uint32_t spare = spare_for(attr->max);

	memset(memory, 0, trip_keyed_size(attr));
	spread_secret(table, attr->secret);
	init_limits(table, attr);
	table->max = attr->max;
	table->capacity = attr->max + spare;
	table->lines = lines_for(attr->max);
	table->blocks = blocks_for(attr->max);
	table->entries_at = entries_at(attr->max);
	lay_out(table, attr);
	init_holds(table, attr);
	table->id_mask = UINT32_MAX >> __builtin_clz(table->capacity);
	table->by_bytes = attr->by_bytes;
	table->free_least = spare / 4;
	init_clock(table, attr);
	init_rate(table, attr);
	free_all(table);
	return table;
}

/* What the writer stores to where that says, or compares: within its range. */
static void
confine(struct trip_keyed *table, uint64_t now)
{
	if (keyed_load(&table->moving) > table->capacity)
		keyed_store(&table->moving, 0);
	if (table->idle_hand >= table->blocks)
		table->idle_hand = 0;
	if (table->hold_hand >= table->capacity)
		table->hold_hand = 0;
	table->hold_due = 0;
	table->hold_now = now;
	if (keyed_load(&table->floor) > TRIP_KEYED_FLOOR_MAX)
		keyed_store(&table->floor, TRIP_KEYED_FLOOR_MAX);
	/* Else no time would pass until it is as late as that. */
	if (table->now > now)
		__atomic_store_n(&table->now, now, __ATOMIC_RELAXED);
	table->free = 0;
	table->free_head = 0;
	table->top_bin = KEYED_BINS - 1;
}

/* All lines and the free entries, from those that are alive; who is held, who came, and what was
 * seen. */
static void
rebuild(struct trip_keyed *table, uint64_t now)
{
	uint64_t packets = keyed_load(&table->remainder_packets);
	uint64_t bytes = keyed_load(&table->remainder_bytes), key[TRIP_KEYED_WORDS_MAX];
	uint64_t admitted = keyed_load(&table->evicted) + keyed_load(&table->expired);

	keyed_store(&table->held, 0);
	for (uint32_t entry = 0; entry < table->capacity; entry += KEYED_BLOCK)
		*keyed_block(table, entry) = (struct keyed_block){.seen = keyed_idle_since(table)};
	for (uint32_t entry = table->capacity; entry-- > 0;) {
		const _Atomic uint64_t *at = keyed_entry(table, entry);

		if (keyed_packets(keyed_load(&at[KEYED_PACKETS])) == 0) {
			trip_keyed_room_free(table, entry);
			continue;
		}
		admitted++;
		packets += keyed_packets(keyed_load(&at[KEYED_PACKETS]));
		bytes += keyed_bytes(keyed_load(&at[KEYED_BYTES]));
		trip_keyed_hold_recover(table, entry, now);
		keyed_key(table, entry, key);
		trip_keyed_line_insert(table, keyed_hash(table->secret, key, table->words), entry);
	}
	keyed_store(&table->admitted, admitted);
	keyed_store(&table->seen_packets, packets);
	keyed_store(&table->seen_bytes, bytes);
}

void
trip_keyed_recover(struct trip_keyed *table, uint64_t now)
{
	uint64_t rebuilt = keyed_load(&table->rebuilt) | 1;

	confine(table, now);
	trip_keyed_room_finish(table);
	trip_keyed_room_restart(table);
	/* Before any store to a line. Partner: the fence in trip_keyed_seek(). */
	keyed_store(&table->rebuilt, rebuilt);
	atomic_thread_fence(memory_order_release);
	trip_keyed_line_clear(table);
	rebuild(table, now);
	trip_keyed_note_recover(table);
	/* Release: the lines. Partner: the acquire in trip_keyed_seek(). */
	keyed_publish(&table->rebuilt, rebuilt + 1);
}

/* ---- looking ----------------------------------------------------------------------------------
 */

uint32_t
trip_keyed_find(const struct trip_keyed *table, const uint64_t *key)
{
	return trip_keyed_line_find(table, key, keyed_hash(table->secret, key, table->words));
}

void
trip_keyed_mark(struct trip_keyed *table, uint32_t entry, uint8_t mark)
{
	_Atomic uint64_t *error = &keyed_rest(table, entry)[KEYED_ERROR];
	const uint64_t mask = (uint64_t)(uint8_t)~TRIP_KEYED_STAYS << KEYED_MARK_SHIFT;

	keyed_store(error, (keyed_load(error) & ~mask) | (uint64_t)mark << KEYED_MARK_SHIFT);
	/* It may be idle by then. */
	if (mark == 0)
		keyed_block(table, entry)->seen = keyed_idle_since(table);
}

void
trip_keyed_tell(struct trip_keyed *table, uint32_t entry, uint8_t told, uint8_t telling)
{
	_Atomic uint64_t *error = &keyed_rest(table, entry)[KEYED_ERROR];
	uint8_t state = keyed_told(told) | (uint8_t)(keyed_told(telling) << KEYED_TELLING_SHIFT);

	keyed_store(error, (keyed_load(error) & ~UINT64_C(0xff)) | state);
	if ((told & table->told_rate) != 0)
		keyed_spill(table, entry);
}

void
trip_keyed_write(struct trip_keyed *table, uint32_t entry, uint32_t memo, uint64_t value)
{
	keyed_publish(&keyed_memos(table, entry)[memo], value);
}

void
trip_keyed_forget(struct trip_keyed *table, uint32_t entry)
{
	_Atomic uint64_t *rest = keyed_rest(table, entry);
	const uint64_t told = (1u << TRIP_KEYED_LIMITS) - 1;

	trip_keyed_empty(table, entry);
	keyed_publish(&rest[KEYED_ERROR], keyed_load(&rest[KEYED_ERROR]) & ~told);
}

void
trip_keyed_empty(struct trip_keyed *table, uint32_t entry)
{
	keyed_store(&keyed_rest(table, entry)[KEYED_BUCKET], table->now * table->rate);
}

void
trip_keyed_stay(struct trip_keyed *table, uint32_t entry)
{
	_Atomic uint64_t *error = &keyed_rest(table, entry)[KEYED_ERROR];

	keyed_store(error, keyed_load(error) | (uint64_t)TRIP_KEYED_STAYS << KEYED_MARK_SHIFT);
}

bool
trip_keyed_is_near(const struct trip_keyed *table, uint32_t entry)
{
	const _Atomic uint64_t *at = keyed_entry(table, entry);
	const uint64_t stays = (uint64_t)TRIP_KEYED_STAYS << KEYED_MARK_SHIFT;

	/* Who is held is above any limit of bytes. */
	return keyed_packets(keyed_load(&at[KEYED_PACKETS])) >= table->limit_packets ||
	       keyed_load(&at[KEYED_BYTES]) >= table->limit_bytes ||
	       (table->memos != 0 &&
		       (keyed_load(&keyed_rest(table, entry)[KEYED_ERROR]) & stays) != 0);
}

uint32_t
trip_keyed_near(
	const struct trip_keyed *table, uint32_t entry, uint32_t count, _Atomic uint64_t *close)
{
	uint32_t end = entry < table->capacity ? entry + count : entry;
	uint64_t key[TRIP_KEYED_WORDS_MAX];

	for (end = end < table->capacity ? end : table->capacity; entry < end; entry++) {
		uint64_t packets = keyed_load(&keyed_entry(table, entry)[KEYED_PACKETS]);

		if (keyed_packets(packets) == 0 || !trip_keyed_is_near(table, entry))
			continue;
		keyed_key(table, entry, key);
		(void)trip_keyed_come_close(close, keyed_hash(table->secret, key, table->words));
	}
	return entry;
}

static int64_t
holds_above(const struct trip_keyed *table, uint64_t bucket, uint64_t level)
{
	int64_t holds = (int64_t)(bucket - table->now * table->rate);

	return table->rate != 0 ? (holds > 0 ? holds : 0) - (int64_t)level : 0;
}

int64_t
trip_keyed_exceeds(const struct trip_keyed *table, uint64_t bucket)
{
	return holds_above(table, bucket, table->burst);
}

/* Where the other table's time has stood still for so long, its bucket may have gone round. */
int64_t
trip_keyed_lasts(const struct trip_keyed *table, const struct trip_keyed_entry *other)
{
	const uint64_t idle = table->unit * table->idle_units;
	bool is_idle = table->now > other->now && table->now - other->now > idle;
	uint64_t empty = table->now * table->rate;

	return holds_above(table, is_idle ? empty : other->bucket, table->until);
}

int64_t
trip_keyed_cost(const struct trip_keyed *table, uint32_t bytes)
{
	return (int64_t)(table->cost_packet + bytes * table->cost_byte);
}

uint32_t
trip_keyed_entries(const struct trip_keyed *table)
{
	return table->capacity;
}

/* Readings of an entry whose key begins anew beside each of them. */
#define TORN_MAX 64

/* How often it has begun anew: what else it says is of that life, or of one before, until this has
 * been seen to stay. */
static uint64_t
life_of(const struct trip_keyed *table, uint32_t entry)
{
	return atomic_load_explicit(&keyed_memos(table, entry)[table->anew - 1 + TRIP_KEYED_LIFE],
		memory_order_acquire);
}

static bool
read_once(const struct trip_keyed *table, uint32_t entry, struct trip_keyed_entry *reading)
{
	const _Atomic uint64_t *at = keyed_entry(table, entry);
	/* Acquire: what was there before it lived. Partner: the release in add(). */
	uint64_t packets = atomic_load_explicit(&at[KEYED_PACKETS], memory_order_acquire);
	const _Atomic uint64_t *rest = keyed_rest(table, entry);
	/* Acquire: what was written by then of memos. Partner: the release of whoever tells. */
	uint64_t error = atomic_load_explicit(&rest[KEYED_ERROR], memory_order_acquire);
	uint64_t again[TRIP_KEYED_WORDS_MAX];

	keyed_key(table, entry, reading->key);
	reading->bytes = keyed_bytes(keyed_load(&at[KEYED_BYTES]));
	reading->packets = keyed_packets(packets);
	reading->bucket = keyed_load(&rest[KEYED_BUCKET]);
	reading->now = __atomic_load_n(&table->now, __ATOMIC_RELAXED);
	reading->hold = table->holds ? keyed_load(keyed_hold(table, entry)) : 0;
	reading->mark = (uint8_t)(error >> KEYED_MARK_SHIFT) & (uint8_t)~TRIP_KEYED_STAYS;
	reading->told = keyed_told(error);
	reading->telling = keyed_told(error >> KEYED_TELLING_SHIFT);
	reading->error = error >> KEYED_STATE_BITS;
	reading->at = entry;
	for (uint32_t i = 0; i < table->memos; i++)
		reading->memos[i] =
			atomic_load_explicit(&keyed_memos(table, entry)[i], memory_order_acquire);
	/* One key's counts only grow; what was written to it after its death began is seen behind
	 * the fence, if anything of it was before. */
	atomic_thread_fence(memory_order_acquire);
	keyed_key(table, entry, again);
	return reading->packets != 0 &&
	       keyed_packets(keyed_load(&at[KEYED_PACKETS])) >= reading->packets &&
	       keyed_error(table, entry) == reading->error &&
	       memcmp(again, reading->key, table->words * sizeof(again[0])) == 0;
}

/* Whether its key begins anew meanwhile: then some of it is of one life, and some of the next. */
static bool
is_torn(const struct trip_keyed *table, uint32_t entry, const struct trip_keyed_entry *reading,
	uint64_t life)
{
	uint64_t error = keyed_load(&keyed_rest(table, entry)[KEYED_ERROR]);

	return life != life_of(table, entry) || keyed_told(error) != reading->told ||
	       keyed_told(error >> KEYED_TELLING_SHIFT) != reading->telling;
}

bool
trip_keyed_read(const struct trip_keyed *table, uint32_t entry, struct trip_keyed_entry *reading)
{
	bool is_there = false;

	if (table->anew == 0)
		return read_once(table, entry, reading);
	/* Each time round somebody has told something: nobody goes on doing so. */
	for (unsigned int i = 0; i < TORN_MAX; i++) {
		uint64_t life = life_of(table, entry);

		is_there = read_once(table, entry, reading);
		if (!is_torn(table, entry, reading, life))
			break;
	}
	return is_there;
}

uint64_t
trip_keyed_floor(const struct trip_keyed *table)
{
	return keyed_load(&table->floor);
}

uint64_t
trip_keyed_number(const struct trip_keyed *table, const uint64_t *key)
{
	return keyed_hash(table->secret, key, table->words);
}

void
trip_keyed_totals(const struct trip_keyed *table, struct trip_keyed_totals *totals)
{
	*totals = (struct trip_keyed_totals){
		.packets = keyed_load(&table->seen_packets),
		.bytes = keyed_load(&table->seen_bytes),
		.remainder_packets = keyed_load(&table->remainder_packets),
		.remainder_bytes = keyed_load(&table->remainder_bytes),
		.refused_packets = keyed_load(&table->refused_packets),
		.refused_bytes = keyed_load(&table->refused_bytes),
		.dropped_packets = keyed_load(&table->dropped_packets),
		.dropped_bytes = keyed_load(&table->dropped_bytes),
		.floor = keyed_load(&table->floor),
		.admitted = keyed_load(&table->admitted),
		.evicted = keyed_load(&table->evicted),
		.expired = keyed_load(&table->expired),
		.held = (uint32_t)keyed_load(&table->held),
	};
	totals->keys = (uint32_t)(totals->admitted - totals->evicted - totals->expired);
}

/* Both only grow: who has gone by now is all that had come by then. */
bool
trip_keyed_is_empty(const struct trip_keyed *table)
{
	uint64_t gone = atomic_load_explicit(&table->evicted, memory_order_acquire) +
			atomic_load_explicit(&table->expired, memory_order_acquire);

	return keyed_load(&table->admitted) == gone;
}

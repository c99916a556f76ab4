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
words_of_memos(const struct trip_keyed_attr *attr)
{
	return words_of_entries(attr) + ((uint64_t)attr->max + spare_for(attr->max)) * attr->memos;
}

static uint64_t
words_of_all(const struct trip_keyed_attr *attr)
{
	return words_of_memos(attr) + (attr->seen != 0 ? blocks_for(attr->max) : 0);
}

static bool
has_memos(const struct trip_keyed_attr *attr)
{
	uint32_t needed = attr->anew != 0 ? attr->anew - 1u + TRIP_KEYED_ANEW_WORDS : 0;

	if (attr->bucket != 0 && attr->bucket + 1u > needed)
		needed = attr->bucket + 1u;
	needed = attr->window > needed ? attr->window : needed;
	needed = attr->seen > needed ? attr->seen : needed;
	needed = attr->members_told > needed ? attr->members_told : needed;
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

static bool
are_members(const struct trip_keyed_attr *attr)
{
	return attr->n_members <= TRIP_KEYED_MEMBERS && attr->rate_member <= attr->n_members &&
	       (attr->n_members == 0 || attr->members_told != 0);
}

/* They are over before it is idle. */
static bool
are_quiets(const struct trip_keyed_attr *attr)
{
	for (unsigned int i = 0; i < TRIP_KEYED_QUIETS; i++)
		if (attr->quiets[i] >= attr->idle || (attr->quiets[i] != 0 && attr->seen == 0))
			return false;
	return true;
}

size_t
trip_keyed_size(const struct trip_keyed_attr *attr)
{
	if (attr->max < 1 || attr->max > TRIP_KEYED_MAX || attr->words < 1 ||
		attr->words > TRIP_KEYED_WORDS_MAX || attr->idle < TRIP_KEYED_IDLE_MIN ||
		attr->idle > TRIP_KEYED_IDLE_MAX || attr->burst > TRIP_KEYED_BURST_MAX ||
		attr->until > attr->burst || attr->rate > TRIP_KEYED_RATE_MAX ||
		attr->rate_limit >= TRIP_KEYED_LIMITS || scale_of(attr).parts == 0 ||
		!keeps_notes(attr->notes) || !has_memos(attr) || !are_members(attr) ||
		!are_quiets(attr))
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
	uint8_t again = attr->anew | attr->members_told;

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
	for (unsigned int i = 0; i < attr->n_members; i++) {
		table->members[i].packets =
			limit_of(attr->members[i].packets, &table->limit_packets);
		table->members[i].bytes = limit_of(attr->members[i].bytes, &table->limit_bytes);
	}
	table->n_members = attr->n_members;
	if (attr->rate_member != 0)
		table->rate_member = UINT64_C(1) << (attr->rate_member - 1);
	else if (attr->rate != 0)
		table->told_rate = UINT64_C(1) << attr->rate_limit;
	table->spill_rate = attr->rate_again ? 0 : table->told_rate;
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
	table->members_told = attr->members_told;
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
	table->hold_pace.round = attr->hold_round < TRIP_KEYED_HOLD_ROUND_MAX
					 ? attr->hold_round
					 : TRIP_KEYED_HOLD_ROUND_MAX;
}

static void
init_quiets(struct trip_keyed *table, const struct trip_keyed_attr *attr)
{
	table->seen = attr->seen;
	table->path = attr->seen != 0 ? 0 : attr->words;
	table->quiets_at = words_of_memos(attr);
	for (unsigned int i = 0; i < TRIP_KEYED_QUIETS; i++) {
		uint64_t time = attr->quiets[i];

		table->quiets[i] = time != 0 ? time : UINT64_MAX;
		table->quiet_all |= (uint64_t)(time != 0) << i;
		if (time != 0 && (table->quiet_least == 0 || time < table->quiet_least))
			table->quiet_least = time;
	}
	table->quiet_pace.round = table->quiet_least / KEYED_IDLE_UNITS + 1;
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
	init_quiets(table, attr);
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
	table->hold_pace.due = 0;
	table->hold_pace.now = now;
	trip_keyed_quiet_restart(table, now);
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

		if (!keyed_lives(keyed_load(&at[KEYED_PACKETS]))) {
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
	trip_keyed_add_finish(table);
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

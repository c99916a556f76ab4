/* SPDX-License-Identifier: BSD-3-Clause */
/* The trips of a statement, in their order. */
#include <string.h>

#include "each_ring.h"

#define LINE 64u

/* A place: how often the ring has gone round, above a queue and the end of its serial number there,
 * which says more than where in its log that is: one that is written over it has another end. */
#define TURN_SHIFT 32u
#define TABLE_SHIFT 16u
#define LIFE_SHIFT 32u
#define NTH_SHIFT 32u

_Static_assert(TRIP_EACH_RING_MAX < 1u << TABLE_SHIFT, "a serial ends with one bit more");

static size_t
close_size(uint32_t n_tables)
{
	return n_tables > 1 ? TRIP_KEYED_CLOSE_WORDS * sizeof(uint64_t) : 0;
}

/* The tables, and who holds keys by hand. */
static uint32_t
writers_of(const struct trip_each_ring_at *at)
{
	return at->n_tables + at->hands;
}

static _Atomic uint64_t *
places_of(const struct trip_each_ring_at *at)
{
	return (_Atomic uint64_t *)((uintptr_t)trip_each_ring_head(at, writers_of(at)) +
				    close_size(at->n_tables));
}

static struct trip_each_log *
log_of(const struct trip_each_ring_at *at, uint32_t table, uint64_t serial)
{
	return (struct trip_each_log *)(uintptr_t)(places_of(at) + at->kept) +
	       (size_t)table * at->kept + (serial & (at->kept - 1));
}

/* Where there are lives. */
static struct trip_each_log_life *
life_of(const struct trip_each_ring_at *at, uint32_t table, uint64_t serial)
{
	return (struct trip_each_log_life *)(uintptr_t)log_of(at, writers_of(at), 0) +
	       (size_t)table * at->kept + (serial & (at->kept - 1));
}

size_t
trip_each_ring_size(const struct trip_each_ring_at *at)
{
	size_t of_log =
		sizeof(struct trip_each_log) + (at->lives ? sizeof(struct trip_each_log_life) : 0);
	size_t size = sizeof(struct trip_each_ring) +
		      (size_t)writers_of(at) * sizeof(struct trip_each_head) +
		      close_size(at->n_tables) + at->kept * sizeof(uint64_t) +
		      (size_t)writers_of(at) * at->kept * of_log;

	return (size + LINE - 1) / LINE * LINE;
}

void
trip_each_ring_init(const struct trip_each_ring_at *at)
{
	memset(at->ring, 0, trip_each_ring_size(at));
}

_Atomic uint64_t *
trip_each_ring_close(const struct trip_each_ring_at *at)
{
	return at->n_tables > 1
		       ? (_Atomic uint64_t *)(uintptr_t)trip_each_ring_head(at, writers_of(at))
		       : NULL;
}

/* ---- places -----------------------------------------------------------------------------------
 */

static _Atomic uint64_t *
place_of(const struct trip_each_ring_at *at, uint64_t number)
{
	return &places_of(at)[number & (at->kept - 1)];
}

static uint32_t
turn_of(const struct trip_each_ring_at *at, uint64_t number)
{
	return (uint32_t)(number / at->kept) + 1;
}

/* 0: nobody has taken it yet; below: it is of that turn; above: of a later one. */
static int32_t
compare_turn(const struct trip_each_ring_at *at, uint64_t number, uint64_t word)
{
	return (int32_t)((uint32_t)(word >> TURN_SHIFT) - turn_of(at, number));
}

static uint64_t
word_of(const struct trip_each_ring_at *at, uint64_t number, uint32_t table, uint64_t serial)
{
	return (uint64_t)turn_of(at, number) << TURN_SHIFT | (uint64_t)table << TABLE_SHIFT |
	       (uint16_t)serial;
}

/* From one that there may be: the first that nobody has taken, or one before that. What another
 * process has written there may be of any turn: so no further than round the ring. */
static uint64_t
find_end(const struct trip_each_ring_at *at, uint64_t number)
{
	const uint64_t limit = number + at->kept;

	/* Acquire: what was told, and who was telling it. Partner: the exchange that took it. */
	while (number < limit &&
		compare_turn(at, number,
			atomic_load_explicit(place_of(at, number), memory_order_acquire)) >= 0)
		number++;
	return number;
}

uint64_t
trip_each_ring_trips(const struct trip_each_ring_at *at)
{
	return find_end(at, atomic_load_explicit(&at->ring->trips, memory_order_acquire));
}

/* ---- reading ----------------------------------------------------------------------------------
 */

static void
read_life(const struct trip_each_ring_at *at, uint64_t word, struct trip_each_told *told)
{
	const struct trip_each_log_life *of;
	uint64_t life;

	told->life = 0;
	told->times = 1;
	told->anew_packets = told->anew_bytes = 0;
	if (!at->lives)
		return;
	of = life_of(at, (uint32_t)(word >> TABLE_SHIFT) & (TRIP_EACH_RING_TABLES_MAX - 1), word);
	life = atomic_load_explicit(&of->life, memory_order_relaxed);
	told->life = (uint32_t)(life >> LIFE_SHIFT);
	told->times = (uint32_t)life;
	told->anew_packets = atomic_load_explicit(&of->anew_packets, memory_order_relaxed);
	told->anew_bytes = atomic_load_explicit(&of->anew_bytes, memory_order_relaxed);
}

/* What a place says, as long as it is there. */
static bool
read_log(const struct trip_each_ring_at *at, uint64_t word, struct trip_each_told *told)
{
	const uint32_t table = (uint32_t)(word >> TABLE_SHIFT) & (TRIP_EACH_RING_TABLES_MAX - 1);
	const struct trip_each_log *log;
	uint64_t serial, when;

	/* Another process may have written there. */
	if (table >= writers_of(at))
		return false;
	log = log_of(at, table, word);
	serial = atomic_load_explicit(&log->serial, memory_order_acquire);
	told->packets = atomic_load_explicit(&log->packets, memory_order_relaxed);
	told->bytes = atomic_load_explicit(&log->bytes, memory_order_relaxed);
	told->ns = atomic_load_explicit(&log->ns, memory_order_relaxed);
	when = atomic_load_explicit(&log->when, memory_order_relaxed);
	told->when = (uint32_t)when;
	told->nth = (uint32_t)(when >> NTH_SHIFT);
	read_life(at, word, told);
	told->table = table;
	for (uint32_t i = 0; i < TRIP_KEYED_WORDS_MAX; i++)
		told->key[i] = atomic_load_explicit(&log->key[i], memory_order_relaxed);
	/* What is written over it comes behind a serial of 0. Partner: the fence in
	 * trip_each_ring_write(). */
	atomic_thread_fence(memory_order_acquire);
	return serial != 0 && (uint16_t)(serial - 1) == (uint16_t)word &&
	       atomic_load_explicit(&log->serial, memory_order_relaxed) == serial;
}

bool
trip_each_ring_read(
	const struct trip_each_ring_at *at, uint64_t number, struct trip_each_told *told)
{
	uint64_t word = atomic_load_explicit(place_of(at, number), memory_order_acquire);

	return compare_turn(at, number, word) == 0 && read_log(at, word, told) &&
	       atomic_load_explicit(place_of(at, number), memory_order_relaxed) == word;
}

static bool
is_same(const struct trip_each_told *a, const struct trip_each_told *b)
{
	return a->when == b->when && a->life == b->life &&
	       memcmp(a->key, b->key, sizeof(a->key)) == 0;
}

static bool
is_anew(const struct trip_each_ring_at *at, const struct trip_each_told *told)
{
	return told->when < TRIP_KEYED_LIMITS && (at->anew >> told->when & 1) != 0;
}

/* Or it has ended the life of the key, in which nothing is told any more but an end; or is of more
 * than there was as that was to end, which would be in two lives. */
static bool
is_in_way(const struct trip_each_ring_at *at, const struct trip_each_told *other,
	const struct trip_each_told *told)
{
	bool is_more = is_anew(at, told) && (other->when & TRIP_EACH_TOLD_END) == 0 &&
		       other->packets > told->packets;

	if ((told->when & TRIP_EACH_TOLD_END) == 0 && (is_anew(at, other) || is_more))
		return told->life == other->life &&
		       memcmp(other->key, told->key, sizeof(told->key)) == 0;
	return is_same(other, told);
}

/* ---- writing ----------------------------------------------------------------------------------
 */

static void
write_life(const struct trip_each_ring_at *at, const struct trip_each_told *told, uint64_t serial)
{
	struct trip_each_log_life *of;

	if (!at->lives)
		return;
	of = life_of(at, told->table, serial);
	atomic_store_explicit(
		&of->life, (uint64_t)told->life << LIFE_SHIFT | told->times, memory_order_relaxed);
	atomic_store_explicit(&of->anew_packets, told->anew_packets, memory_order_relaxed);
	atomic_store_explicit(&of->anew_bytes, told->anew_bytes, memory_order_relaxed);
}

void
trip_each_ring_write(const struct trip_each_ring_at *at, const struct trip_each_told *told)
{
	uint64_t serial = atomic_load_explicit(
		&trip_each_ring_head(at, told->table)->serial, memory_order_relaxed);
	struct trip_each_log *log = log_of(at, told->table, serial);

	atomic_store_explicit(&log->serial, 0, memory_order_relaxed);
	/* Partner: the fence in read_log(). */
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&log->packets, told->packets, memory_order_relaxed);
	atomic_store_explicit(&log->bytes, told->bytes, memory_order_relaxed);
	atomic_store_explicit(&log->ns, told->ns, memory_order_relaxed);
	atomic_store_explicit(
		&log->when, (uint64_t)told->nth << NTH_SHIFT | told->when, memory_order_relaxed);
	write_life(at, told, serial);
	for (uint32_t i = 0; i < TRIP_KEYED_WORDS_MAX; i++)
		atomic_store_explicit(&log->key[i], told->key[i], memory_order_relaxed);
	atomic_store_explicit(&log->serial, serial + 1, memory_order_release);
}

/* There are at least so many. */
static void
note_trips(const struct trip_each_ring_at *at, uint64_t trips)
{
	uint64_t known = atomic_load_explicit(&at->ring->trips, memory_order_relaxed);

	while (known < trips && !atomic_compare_exchange_weak_explicit(&at->ring->trips, &known,
					trips, memory_order_release, memory_order_relaxed))
		;
}

/* Before a place is taken for another trip: the one that it has is told, whether its writer knows
 * or not. He is no more than `kept` trips further while the place has it, so the end of the serial
 * number says which it is. */
static void
move_on(const struct trip_each_ring_at *at, const _Atomic uint64_t *place, uint64_t word)
{
	const uint32_t table = (uint32_t)(word >> TABLE_SHIFT) & (TRIP_EACH_RING_TABLES_MAX - 1);
	struct trip_each_head *head;
	uint64_t serial;

	if (word >> TURN_SHIFT == 0 || table >= writers_of(at))
		return;
	head = trip_each_ring_head(at, table);
	serial = atomic_load_explicit(&head->serial, memory_order_acquire);
	if ((uint16_t)serial == (uint16_t)word &&
		atomic_load_explicit(place, memory_order_relaxed) == word)
		(void)atomic_compare_exchange_strong_explicit(&head->serial, &serial, serial + 1,
			memory_order_release, memory_order_relaxed);
}

/* Takes the next place, unless one before it, from `number` on, is of the same. */
static enum trip_each_tells
take_place(const struct trip_each_ring_at *at, const struct trip_each_told *told, uint64_t serial,
	uint64_t number, struct trip_each_told *found)
{
	for (;;) {
		_Atomic uint64_t *place = place_of(at, number);
		uint64_t word = atomic_load_explicit(place, memory_order_acquire);
		int32_t turn = compare_turn(at, number, word);

		/* Release: what was told, and that it is being told. */
		if (turn < 0) {
			move_on(at, place, word);
			if (!atomic_compare_exchange_strong_explicit(place, &word,
				    word_of(at, number, told->table, serial), memory_order_acq_rel,
				    memory_order_acquire))
				continue;
			note_trips(at, number + 1);
			return TRIP_EACH_TELLS;
		}
		if (turn > 0 || !read_log(at, word, found))
			return TRIP_EACH_MISSED;
		note_trips(at, ++number);
		if (is_in_way(at, found, told))
			return TRIP_EACH_KNOWN;
	}
}

enum trip_each_tells
trip_each_ring_tell(const struct trip_each_ring_at *at, const struct trip_each_told *told,
	uint64_t from, struct trip_each_told *found)
{
	struct trip_each_head *head = trip_each_ring_head(at, told->table);
	uint64_t serial = atomic_load_explicit(&head->serial, memory_order_relaxed);
	enum trip_each_tells tells = take_place(at, told, serial, from, found);

	if (tells == TRIP_EACH_TELLS)
		atomic_store_explicit(&head->serial, serial + 1, memory_order_release);
	return tells;
}

/* Whether a place has a queue's next trip. */
static bool
is_placed(const struct trip_each_ring_at *at, uint32_t table, uint64_t serial)
{
	uint64_t end = trip_each_ring_trips(at), number = end >= at->kept ? end - at->kept : 0;

	for (; number < end; number++)
		/* Acquire: the serial number of what was there. Partner: the exchange that took
		 * it. */
		if (atomic_load_explicit(place_of(at, number), memory_order_acquire) ==
			word_of(at, number, table, serial))
			return true;
	return false;
}

/* What was told before that serial number. */
static bool
read_last(const struct trip_each_ring_at *at, uint32_t table, uint64_t serial,
	struct trip_each_told *told)
{
	return serial > 0 && read_log(at, word_of(at, 0, table, serial - 1), told);
}

bool
trip_each_ring_last(const struct trip_each_ring_at *at, uint32_t table, struct trip_each_told *told)
{
	return read_last(at, table,
		atomic_load_explicit(&trip_each_ring_head(at, table)->serial, memory_order_acquire),
		told);
}

enum trip_each_tells
trip_each_ring_ask(const struct trip_each_ring_at *at, const struct trip_each_told *told,
	uint32_t table, struct trip_each_told *found)
{
	const struct trip_each_head *head = trip_each_ring_head(at, table);
	uint64_t serial = atomic_load_explicit(&head->serial, memory_order_acquire);

	/* Acquire: what it tells. Partner: the release in trip_each_ring_write(). */
	if (atomic_load_explicit(&log_of(at, table, serial)->serial, memory_order_acquire) !=
		serial + 1)
		return read_last(at, table, serial, found) && is_same(found, told)
			       ? TRIP_EACH_KNOWN
			       : TRIP_EACH_MISSED;
	if (!read_log(at, word_of(at, 0, table, serial), found) || !is_same(found, told))
		return TRIP_EACH_MISSED;
	if (is_placed(at, table, serial))
		return TRIP_EACH_KNOWN;
	/* Where its place has been taken since, the look at that came behind move_on(). */
	return atomic_load_explicit(&head->serial, memory_order_relaxed) == serial
		       ? TRIP_EACH_TELLS
		       : TRIP_EACH_KNOWN;
}

bool
trip_each_ring_settle(const struct trip_each_ring_at *at, uint32_t table)
{
	struct trip_each_head *head = trip_each_ring_head(at, table);
	uint64_t serial = atomic_load_explicit(&head->serial, memory_order_relaxed);

	if (is_placed(at, table, serial)) {
		serial++;
		atomic_store_explicit(&head->serial, serial, memory_order_release);
	}
	/* Written, and not told: else the writer was behind that. */
	return atomic_load_explicit(&log_of(at, table, serial)->serial, memory_order_relaxed) !=
	       serial + 1;
}

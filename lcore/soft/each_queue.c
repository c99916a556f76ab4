/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts the packets of a queue by the keys of its statements. */
#include "each_hand.h"
#include "each_help.h"
#include "each_judge.h"
#include "each_queue.h"

_Static_assert(TRIP_EACH_KEY_CHUNK == TRIP_KEYED_CHUNK, "a chunk of packets is one of keys");
_Static_assert(TRIP_EACH_KEY_WORDS == TRIP_KEYED_WORDS_MAX, "any key fits");

/* Entries that are looked at for the bits of close keys, behind a chunk, and where none came. */
#define LOOKS_OF_CHUNK 64u
#define LOOKS_OF_SWEEP 256u

/* The hand of idle keys goes round in a 320th of the time, by a 100th at each call. */
#define SWEEPS_IN_IDLE 32768u
#define SWEEPS_IN_ROUND 102u
/* What hardware has counted of keys is taken as often as their helper reads it. */
#define HELPED_US 10000u

void
trip_each_queue_filter(const struct trip_pattern *pattern, struct trip_each_statement *statement)
{
	uint32_t bits;

	statement->n_filter = 0;
	for (uint32_t word = 0; word < TRIP_PACKET_WORDS; word++)
		if (pattern->mask[word] != 0)
			statement->filter[statement->n_filter++] = (struct trip_each_test){
				.mask = pattern->mask[word],
				.value = pattern->value[word],
				.word = word,
			};
	memcpy(&bits, (const uint8_t *)pattern->mask + TRIP_PLACE_BITS, sizeof(bits));
	statement->wants = statement->key.wants | (bits & (TRIP_WANT_MORE | TRIP_WANT_TUNNEL));
}

/* Which packets it lets through, a bit each. */
static uint32_t
filter(const struct trip_each_statement *statement, const struct trip_each_chunk *chunk)
{
	uint32_t passed = 0;

	for (uint32_t i = 0; i < chunk->count; i++) {
		uint64_t differ = 0;

		for (uint32_t k = 0; k < statement->n_filter; k++) {
			const struct trip_each_test *test = &statement->filter[k];

			differ |= (chunk->fields[i].words[test->word] & test->mask) ^ test->value;
		}
		passed |= (uint32_t)(differ == 0) << i;
	}
	return passed;
}

bool
trip_each_queue_key(const struct trip_each_statement *statement, const struct rte_mbuf *pkt,
	uint32_t sent, uint64_t key[TRIP_EACH_KEY_WORDS])
{
	struct trip_packet_fields fields = {.words = {0}};
	uint32_t bytes = trip_packet_parse(pkt, statement->wants | sent, &fields);
	const struct trip_each_chunk chunk = {.fields = &fields, .bytes = &bytes, .count = 1};
	uint8_t packet;

	return trip_each_key_take(&statement->key, &fields, 1, key, &packet) == 1 &&
	       filter(statement, &chunk) == 1;
}

/* What was taken, without the packets that are not among these. */
static uint32_t
sift(uint64_t *keys, uint32_t words, uint8_t *packets, uint32_t count, uint32_t seen)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < count; i++) {
		memmove(&keys[kept * words], &keys[i * words], words * sizeof(*keys));
		packets[kept] = packets[i];
		kept += seen >> packets[i] & 1;
	}
	return kept;
}

/* What all tables of a statement have in common for that (keyed.h). */
static const _Atomic uint64_t *
close_of(const struct trip_each_poll *poll, const struct trip_each_statement *statement)
{
	struct trip_each_ring_at at;

	if (!statement->shares)
		return NULL;
	at = trip_each_statement_ring(poll->zone, statement);
	return trip_each_ring_close(&at);
}

static struct trip_keyed *
table_of(const struct trip_each_poll *poll, uint32_t which)
{
	return trip_each_table(poll->zone, poll->queue->lines[which]);
}

/* Which packets those of the keys are that are dropped. */
static __attribute__((noinline)) uint32_t
drop(struct trip_keyed *table, const struct trip_keyed_chunk *taken, const uint8_t *packets)
{
	uint32_t of_chunk = 0, n = 0;
	uint64_t bytes = 0;

	for (uint32_t left = *taken->dropped; left != 0; left &= left - 1, n++) {
		uint32_t at = (uint32_t)__builtin_ctz(left);

		of_chunk |= 1u << packets[at];
		bytes += taken->bytes[at];
	}
	trip_keyed_dropped(table, n, bytes);
	return of_chunk;
}

/* What becomes of keys beside their packets; true: there is more of it. */
static bool
behind(const struct trip_each_poll *poll, uint32_t which)
{
	bool more = trip_each_judge_behind(poll, which);

	return (poll->zone->statements[which].in_hardware != 0 &&
		       trip_each_help_take(poll, which)) ||
	       more;
}

static uint32_t
count(const struct trip_each_poll *poll, uint32_t which, const struct trip_each_chunk *chunk)
{
	const struct trip_each_statement *statement = &poll->zone->statements[which];
	uint64_t keys[TRIP_EACH_KEY_CHUNK * TRIP_EACH_KEY_WORDS];
	uint32_t bytes[TRIP_EACH_KEY_CHUNK], seen = ~poll->skipped, over, dropped, more = 0;
	uint8_t packets[TRIP_EACH_KEY_CHUNK];
	struct trip_keyed_chunk taken = {.keys = keys,
		.bytes = bytes,
		.close = close_of(poll, statement),
		.dropped = &dropped};

	taken.count =
		trip_each_key_take(&statement->key, chunk->fields, chunk->count, keys, packets);
	if (statement->n_filter > 0)
		seen &= filter(statement, chunk);
	if (seen != UINT32_MAX)
		taken.count = sift(keys, statement->key.words, packets, taken.count, seen);
	for (uint32_t i = 0; i < taken.count; i++)
		bytes[i] = chunk->bytes[packets[i]];
	over = trip_keyed_count(table_of(poll, which), &taken, poll->now);
	if (__builtin_expect(over != 0, 0))
		more = trip_each_judge(poll, which, &taken, over);
	dropped |= more;
	if (__builtin_expect(dropped != 0, 0))
		dropped = drop(table_of(poll, which), &taken, packets);
	if (statement->behind)
		(void)behind(poll, which);
	if (taken.close != NULL)
		(void)trip_each_close_step(poll, which, LOOKS_OF_CHUNK);
	return dropped;
}

uint32_t
trip_each_queue_begin(struct trip_each_poll *poll, uint64_t now)
{
	struct trip_each_queue *queue = poll->queue;
	uint64_t open = trip_each_queue_open(poll);

	poll->now = now;
	poll->counts = open;
	poll->skipped = 0;
	/* Whoever follows us finds tables of which we may have left a half. No order: he takes the
	 * queue when we have given it, or are dead. */
	if ((open & ~atomic_load_explicit(&queue->used, memory_order_relaxed)) != 0)
		atomic_fetch_or_explicit(&queue->used, open, memory_order_relaxed);
	/* No order: who takes the bits away looks again, behind that. */
	open &= atomic_load_explicit(&queue->ordered, memory_order_relaxed);
	if (__builtin_expect(open != 0, 0))
		trip_each_hand_take(poll, open);
	return atomic_load_explicit(&queue->wants, memory_order_relaxed);
}

uint32_t
trip_each_queue_count(struct trip_each_poll *poll, const struct trip_each_chunk *chunk)
{
	uint32_t dropped = 0;

	for (uint64_t left = poll->counts; left != 0; left &= left - 1)
		dropped |= count(poll, (uint32_t)__builtin_ctzll(left), chunk);
	poll->skipped = 0;
	poll->sweep_at = 0;
	return dropped;
}

/* Idle keys of a statement, quiet ones, and those that have been held: when that is due next. */
static uint64_t
sweep(const struct trip_each_poll *poll, uint32_t which)
{
	const struct trip_each_statement *statement = &poll->zone->statements[which];
	uint64_t pause = statement->idle / SWEEPS_IN_IDLE, round = statement->hold_round;

	if (trip_keyed_sweep(table_of(poll, which), poll->now))
		pause = 0;
	if (round != 0 && round / SWEEPS_IN_ROUND < pause)
		pause = round / SWEEPS_IN_ROUND;
	if (statement->quiet != 0 && statement->quiet / SWEEPS_IN_IDLE < pause)
		pause = statement->quiet / SWEEPS_IN_IDLE;
	if (statement->in_hardware != 0 && pause > HELPED_US)
		pause = HELPED_US;
	if (statement->behind && behind(poll, which))
		pause = 0;
	if (close_of(poll, statement) != NULL && trip_each_close_step(poll, which, LOOKS_OF_SWEEP))
		pause = 0;
	return pause;
}

void
trip_each_queue_sweep(struct trip_each_poll *poll, uint64_t now)
{
	uint64_t next = UINT64_MAX;

	if (now < poll->sweep_at)
		return;
	(void)trip_each_queue_begin(poll, now);
	for (uint64_t left = poll->counts; left != 0; left &= left - 1) {
		uint64_t pause = sweep(poll, (uint32_t)__builtin_ctzll(left));

		next = pause < next ? pause : next;
	}
	poll->sweep_at = next == UINT64_MAX ? 0 : now + next;
}

void
trip_each_queue_recover(struct trip_each_poll *poll, uint64_t now)
{
	uint64_t left = trip_each_queue_open(poll);

	if (poll->queue != NULL)
		left &= atomic_load_explicit(&poll->queue->used, memory_order_relaxed);
	poll->now = now;
	/* Whoever had it may have taken a bit away, and not done what it says. */
	if (left != 0)
		atomic_fetch_or_explicit(&poll->queue->ordered, left, memory_order_relaxed);
	for (; left != 0; left &= left - 1) {
		uint32_t which = (uint32_t)__builtin_ctzll(left);

		trip_keyed_recover(table_of(poll, which), now);
		if (trip_each_tells_trips(&poll->zone->statements[which]))
			trip_each_judge_recover(poll, which);
	}
}

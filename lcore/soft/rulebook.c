/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the rules of a port as data, and reads them in another process. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_common.h>

#include "rulebook.h"

/* A word: the sequence, below it eight bits of the mask's number and one for PASSTHRU. */
#define MASK_SHIFT 1
#define SEQUENCE_SHIFT 9

_Static_assert(TRIP_TABLE_MASKS_MAX <= 256 && TRIP_TABLE_SEQUENCE_MAX >> (64 - SEQUENCE_SHIFT) == 0,
	"a word has room for them");

/* Where the parts of a side begin. */
static size_t
masks_at(void)
{
	return RTE_ALIGN_CEIL(sizeof(struct trip_rulebook_head), 4096);
}

static size_t
rules_at(void)
{
	return RTE_ALIGN_CEIL(
		masks_at() + sizeof(struct trip_rulebook_mask) * TRIP_TABLE_MASKS_MAX, 4096);
}

static size_t
tails_at(uint32_t max_rules)
{
	return RTE_ALIGN_CEIL(
		rules_at() + sizeof(struct trip_rulebook_rule) * (size_t)max_rules, 4096);
}

size_t
trip_rulebook_size(uint32_t max_rules)
{
	return RTE_ALIGN_CEIL(
		tails_at(max_rules) + sizeof(struct trip_rulebook_tail) * (size_t)max_rules, 4096);
}

int
trip_rulebook_create(size_t size, void **memory)
{
	int fd = memfd_create("tripline-rules", MFD_CLOEXEC | MFD_ALLOW_SEALING), error;

	if (fd < 0)
		return -errno;
	*memory = MAP_FAILED;
	if (ftruncate(fd, (off_t)size) == 0)
		*memory =
			mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	/* This mapping goes on being written; no other ever is. */
	if (*memory != MAP_FAILED &&
		fcntl(fd, F_ADD_SEALS,
			F_SEAL_FUTURE_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
		return fd;
	error = errno;
	if (*memory != MAP_FAILED)
		munmap(*memory, size);
	close(fd);
	return -error;
}

void
trip_rulebook_view(struct trip_rulebook *rules, void *memory, uint32_t max_rules)
{
	uint8_t *base = memory;

	memset(rules, 0, sizeof(*rules));
	rules->head = memory;
	rules->masks = (void *)(base + masks_at());
	rules->rules = (void *)(base + rules_at());
	rules->tails = (void *)(base + tails_at(max_rules));
	rules->max_rules = max_rules;
}

static uint64_t
load(const _Atomic uint64_t *word)
{
	return atomic_load_explicit(word, memory_order_relaxed);
}

static void
store(_Atomic uint64_t *word, uint64_t value)
{
	/* Relaxed: read for good only between two loads of the rule's word. */
	atomic_store_explicit(word, value, memory_order_relaxed);
}

static uint64_t
note_change(struct trip_rulebook *rules, uint32_t index)
{
	uint64_t at = load(&rules->head->changes);

	/* A word that was taken away goes before anything of its rule is written again, and what
	 * changes says before a place of the log is. Partners: the fences in trip_rulebook_get()
	 * and trip_rulebook_change(). */
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(
		&rules->head->log[at % TRIP_RULEBOOK_LOG], index, memory_order_relaxed);
	/* Release: the rule, and the log. Partner: the acquire in trip_rulebook_changes(). */
	atomic_store_explicit(&rules->head->changes, at + 1, memory_order_release);
	return at;
}

static uint32_t
bits_of(const uint64_t *words)
{
	uint32_t bits;

	memcpy(&bits, (const uint8_t *)words + TRIP_PLACE_BITS, sizeof(bits));
	return bits;
}

static bool
is_mask(const struct trip_rulebook_mask *mask, const struct trip_pattern *pattern)
{
	bool same = load(&mask->bits) == bits_of(pattern->value);

	for (unsigned int i = 0; i < TRIP_PACKET_WORDS && same; i++)
		same = load(&mask->words[i]) == pattern->mask[i];
	return same;
}

/* The number of the pattern's mask, which may be new; TRIP_TABLE_MASKS_MAX: no room. */
static uint32_t
find_mask(struct trip_rulebook *rules, const struct trip_pattern *pattern)
{
	uint32_t free = TRIP_TABLE_MASKS_MAX;

	for (uint32_t i = 0; i < TRIP_TABLE_MASKS_MAX; i++) {
		if (rules->users[i] == 0)
			free = RTE_MIN(free, i);
		else if (is_mask(&rules->masks[i], pattern))
			return i;
	}
	if (free == TRIP_TABLE_MASKS_MAX)
		return free;
	for (unsigned int i = 0; i < TRIP_PACKET_WORDS; i++)
		store(&rules->masks[free].words[i], pattern->mask[i]);
	store(&rules->masks[free].bits, bits_of(pattern->value));
	return free;
}

/* A tuple is made to say what of the pattern is its key; it has no array. */
static void
write_key(struct trip_rulebook *rules, const struct trip_table_rule *rule,
	const struct trip_pattern *pattern)
{
	struct trip_rulebook_rule *to = &rules->rules[rule->rule];
	struct trip_tuple tuple = {0};
	struct trip_tuple_key key;

	trip_tuple_lay_out(&tuple, pattern);
	trip_tuple_make_key(&tuple, pattern, &key);
	store(&to->rank, (uint64_t)rule->group << 32 | rule->priority);
	store(&to->mark_half, (uint64_t)rule->mark << 32 | key.half);
	if (tuple.words > 0)
		store(&to->first, key.words[0]);
	for (uint32_t i = 1; i < tuple.words; i++)
		store(&rules->tails[rule->rule].words[i - 1], key.words[i]);
}

int
trip_rulebook_put(struct trip_rulebook *rules, const struct trip_table_rule *rule,
	const struct trip_pattern *pattern)
{
	uint32_t mask = find_mask(rules, pattern);

	if (mask == TRIP_TABLE_MASKS_MAX)
		return -ENOSPC;
	rules->users[mask]++;
	write_key(rules, rule, pattern);
	if (rule->rule >= atomic_load_explicit(&rules->head->high, memory_order_relaxed))
		atomic_store_explicit(&rules->head->high, rule->rule + 1, memory_order_relaxed);
	/* Release: all of it was written before. Partner: the acquire in trip_rulebook_get(). */
	atomic_store_explicit(&rules->rules[rule->rule].word,
		rule->sequence << SEQUENCE_SHIFT | (uint64_t)mask << MASK_SHIFT | rule->also,
		memory_order_release);
	(void)note_change(rules, rule->rule);
	return 0;
}

uint64_t
trip_rulebook_take(struct trip_rulebook *rules, uint32_t index)
{
	_Atomic uint64_t *word = &rules->rules[index].word;

	rules->users[load(word) >> MASK_SHIFT & 0xff]--;
	store(word, 0);
	return note_change(rules, index);
}

/* Whoever applies it finds that nothing has changed there. */
uint64_t
trip_rulebook_touch(struct trip_rulebook *rules)
{
	return note_change(rules, 0);
}

static void
read_pattern(const struct trip_rulebook *rules, uint32_t index, uint32_t mask,
	struct trip_table_rule *rule, struct trip_pattern *pattern)
{
	const struct trip_rulebook_rule *from = &rules->rules[index];
	uint64_t mark_half = load(&from->mark_half), rank = load(&from->rank);
	struct trip_tuple tuple = {0};
	struct trip_tuple_key key = {.half = (uint32_t)mark_half};

	rule->group = (uint32_t)(rank >> 32);
	rule->priority = (uint32_t)rank;
	rule->mark = (uint32_t)(mark_half >> 32);
	memset(pattern, 0, sizeof(*pattern));
	for (unsigned int i = 0; i < TRIP_PACKET_WORDS; i++)
		pattern->mask[i] = load(&rules->masks[mask].words[i]);
	pattern->value[0] = load(&rules->masks[mask].bits);
	/* As many words as the mask says, which are never more than there are. */
	trip_tuple_lay_out(&tuple, pattern);
	if (tuple.words > 0)
		key.words[0] = load(&from->first);
	for (uint32_t i = 1; i < tuple.words; i++)
		key.words[i] = load(&rules->tails[index].words[i - 1]);
	trip_tuple_unpack(&tuple, &key, pattern);
}

bool
trip_rulebook_get(const struct trip_rulebook *rules, uint32_t index, struct trip_table_rule *rule,
	struct trip_pattern *pattern)
{
	const _Atomic uint64_t *at = &rules->rules[index].word;
	/* Partner: the release in trip_rulebook_put(). */
	uint64_t word = atomic_load_explicit(at, memory_order_acquire);

	if (word == 0)
		return false;
	*rule = (struct trip_table_rule){
		.rule = index, .sequence = word >> SEQUENCE_SHIFT, .also = (word & 1) != 0};
	read_pattern(rules, index, word >> MASK_SHIFT & 0xff, rule, pattern);
	atomic_thread_fence(memory_order_acquire);
	return load(at) == word;
}

bool
trip_rulebook_change(const struct trip_rulebook *rules, uint64_t at, uint32_t *index)
{
	*index = atomic_load_explicit(
		&rules->head->log[at % TRIP_RULEBOOK_LOG], memory_order_relaxed);
	atomic_thread_fence(memory_order_acquire);
	/* The next change may be being written over it already. */
	return load(&rules->head->changes) - at < TRIP_RULEBOOK_LOG && *index < rules->max_rules;
}

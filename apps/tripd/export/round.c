/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading a look: what belongs to the rules is copied, keys are looked through. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "model.h"
#include "round.h"

void
tripd_round_free(struct tripd_round *round)
{
	for (unsigned int i = 0; i < round->n_eaches; i++)
		tripd_tally_keys_free(&round->eaches[i].keys);
	for (unsigned int kind = 0; kind < TRIPD_POINT_KINDS; kind++)
		free(round->points[kind]);
	free(round->eaches);
	*round = (struct tripd_round){0};
}

/* Room for n statements. */
static int
grow(struct tripd_round *round, enum tripd_point_kind kind, unsigned int n)
{
	unsigned int room = RTE_MAX(2 * round->room[kind], n);
	struct tripd_point *points;

	if (n <= round->room[kind])
		return 0;
	points = reallocarray(round->points[kind], room, sizeof(*points));
	if (points == NULL)
		return -ENOMEM;
	round->points[kind] = points;
	round->room[kind] = room;
	return 0;
}

static int
grow_eaches(struct tripd_round *round, unsigned int n)
{
	struct tripd_round_each *eaches;

	if (n <= round->n_eaches)
		return 0;
	eaches = reallocarray(round->eaches, n, sizeof(*eaches));
	if (eaches == NULL)
		return -ENOMEM;
	round->eaches = eaches;
	memset(eaches + round->n_eaches, 0, (n - round->n_eaches) * sizeof(*eaches));
	round->n_eaches = n;
	return 0;
}

/* A statement that has come gets a number. */
static struct tripd_point *
point_of(struct tripd_round *round, enum tripd_point_kind kind, unsigned int i, const char *name)
{
	struct tripd_point *point = &round->points[kind][i];

	if (i >= round->n[kind]) {
		*point = (struct tripd_point){.number = ++round->n_points};
		strcpy(point->name, name);
		round->n[kind] = i + 1;
	}
	return point;
}

static int
visit(const struct trip_each_entry *entry, void *arg)
{
	struct tripd_tally_key *key =
		tripd_tally_look(arg, entry->key, entry->packets + entry->anew_packets,
			entry->bytes + entry->anew_bytes, entry->error);

	if (key != NULL)
		key->dropped = entry->op == TRIP_EACH_OP_DROP;
	return 0;
}

/* It is another one from now on, and begins at 0. */
static void
replace(struct tripd_round_each *each, struct tripd_point *point,
	const struct tripd_look_each *look)
{
	tripd_tally_keys_free(&each->keys);
	tripd_tally_keys_init(&each->keys, look->info.key_size);
	each->templates[0] = each->templates[1] = 0;
	point->tally = (struct tripd_tally){0};
}

/* What the remainder was is read before the keys are: so what goes meanwhile is in it the next
 * time, and in neither for now. What was exported of a key that has gone is not exported again. */
static int
read_each(struct tripd_round *round, unsigned int i, const struct tripd_look *look)
{
	const struct trip_rules_each *rule = &look->rules->eaches[i];
	struct tripd_point *point = point_of(round, TRIPD_POINT_EACH, i, rule->count.name);
	const struct tripd_look_each *from = &look->eaches[i];
	struct tripd_round_each *each = &round->eaches[i];
	struct tripd_tally *tally = &point->tally;
	int ret;

	each->fresh = from->each != NULL || each->each != NULL;
	if (from->each != NULL && from->opening != each->opening)
		replace(each, point, from);
	each->opening = from->opening;
	each->each = from->each;
	each->info = from->info;
	each->egress = rule->count.direction == TRIP_RULES_EGRESS;
	if (from->each == NULL)
		return 0;
	tripd_tally_look_begin(&each->keys);
	ret = trip_each_walk(from->each, visit, &each->keys);
	round->left_out += each->keys.left_out;
	if (ret == 0 && each->keys.left_out == 0)
		tripd_tally_look_end(&each->keys);
	tally->packets = RTE_MAX(tally->sent_packets,
		each->info.remainder_packets -
			RTE_MIN(each->keys.gone_packets, each->info.remainder_packets));
	tally->bytes = RTE_MAX(tally->sent_bytes,
		each->info.remainder_bytes -
			RTE_MIN(each->keys.gone_bytes, each->info.remainder_bytes));
	return ret;
}

static void
read_counts(struct tripd_round *round, const struct tripd_look *look)
{
	for (unsigned int i = 0; i < look->n_counts; i++) {
		const struct tripd_look_count *count = &look->counts[i];
		struct tripd_point *point =
			point_of(round, TRIPD_POINT_COUNT, i, look->rules->counts[i].name);

		(void)tripd_tally_set(&point->tally, count->packets, count->bytes);
		point->policed_packets = count->policed_packets;
		point->policed_bytes = count->policed_bytes;
	}
	for (unsigned int i = 0; i < look->n_counters; i++)
		point_of(round, TRIPD_POINT_COUNTER, i, look->rules->counters[i].name)->value =
			look->counters[i];
}

int
tripd_round_read(struct tripd_round *round, const struct tripd_look *look)
{
	int ret = grow(round, TRIPD_POINT_COUNT, look->n_counts), error;

	if (ret == 0)
		ret = grow(round, TRIPD_POINT_COUNTER, look->n_counters);
	if (ret == 0)
		ret = grow(round, TRIPD_POINT_EACH, look->n_eaches);
	if (ret == 0)
		ret = grow_eaches(round, look->n_eaches);
	if (ret != 0)
		return ret;
	if (round->since_ms == 0)
		round->since_ms = look->began_ns / 1000000;
	round->now_ns = look->now_ns;
	round->now_ms = look->now_ns / 1000000;
	round->last = look->last;
	read_counts(round, look);
	for (unsigned int i = 0; i < look->n_eaches; i++) {
		error = read_each(round, i, look);
		ret = ret == 0 ? error : ret;
	}
	return ret;
}

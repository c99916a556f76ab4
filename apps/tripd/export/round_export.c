/* SPDX-License-Identifier: BSD-3-Clause */
/* Exporting what was read: records of what is new, in the last round of all. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <rte_common.h>

#include "model.h"
#include "round.h"

/* Behind the last template there is room for two. */
#define TEMPLATE_MAX (UINT16_MAX - 2)

static const char *const kinds[] = {
	[TRIPD_POINT_COUNT] = "count",
	[TRIPD_POINT_COUNTER] = "counter",
	[TRIPD_POINT_EACH] = "each",
};

static fbVarfield_t
string_of(const char *text)
{
	return (fbVarfield_t){.len = strlen(text), .buf = (uint8_t *)(uintptr_t)text};
}

/* What will not go again is lost. One that is too long for any message is, too. */
static int
put(const struct tripd_round *round, struct tripd_message *message, uint16_t id, void *record,
	size_t size, struct tripd_tally *tally)
{
	int ret = tripd_message_put(message, id, record, size, tally);

	message->lost += ret == -EMSGSIZE || (ret != 0 && round->last);
	return ret == -EMSGSIZE ? 0 : ret;
}

/* The rest of a round that nobody gets is lost where it is the last: each record is counted. */
static bool
goes_on(const struct tripd_round *round, int ret)
{
	return ret == 0 || round->last;
}

static struct tripd_model_flow
flow_of(const struct tripd_round *round, const struct tripd_tally *tally)
{
	return (struct tripd_model_flow){
		.start_ms = round->since_ms,
		.end_ms = round->now_ms,
		.packets = tally->packets - tally->sent_packets,
		.bytes = tally->bytes - tally->sent_bytes,
		.all_packets = tally->packets,
		.all_bytes = tally->bytes,
	};
}

static int
put_name(const struct tripd_round *round, struct tripd_message *message, enum tripd_point_kind kind,
	struct tripd_point *point)
{
	struct tripd_model_name record = {.point = point->number,
		.kind = string_of(kinds[kind]),
		.name = string_of(point->name)};
	int ret;

	if (point->named)
		return 0;
	ret = put(round, message, TRIPD_MODEL_NAME, &record, sizeof(record), NULL);
	point->named = ret == 0;
	return ret;
}

static int
put_count(const struct tripd_round *round, struct tripd_message *message, struct tripd_point *point)
{
	struct tripd_model_count record = {.flow = flow_of(round, &point->tally),
		.policed_packets = point->policed_packets,
		.policed_bytes = point->policed_bytes,
		.point = point->number};

	if (tripd_tally_is_sent(&point->tally) && !round->last)
		return 0;
	return put(round, message, TRIPD_MODEL_COUNT, &record, sizeof(record), &point->tally);
}

static int
put_value(const struct tripd_round *round, struct tripd_message *message, struct tripd_point *point)
{
	struct tripd_model_value record = {.time = tripd_model_time(round->now_ns),
		.value = point->value,
		.point = point->number};
	int ret;

	if (point->is_sent && point->sent == point->value && !round->last)
		return 0;
	ret = put(round, message, TRIPD_MODEL_VALUE, &record, sizeof(record), NULL);
	point->is_sent = ret == 0;
	point->sent = point->value;
	return ret;
}

static int
put_remainder(const struct tripd_round *round, struct tripd_message *message,
	struct tripd_point *point, const struct trip_each_info *info)
{
	struct tripd_model_remainder record = {.flow = flow_of(round, &point->tally),
		.refused_packets = info->refused_packets,
		.refused_bytes = info->refused_bytes,
		.point = point->number};

	if (tripd_tally_is_sent(&point->tally) && !round->last)
		return 0;
	record.flow.all_packets = info->remainder_packets;
	record.flow.all_bytes = info->remainder_bytes;
	return put(round, message, TRIPD_MODEL_REMAINDER, &record, sizeof(record), &point->tally);
}

static int
put_keys(const struct tripd_round *round, struct tripd_message *message, struct tripd_point *point,
	struct tripd_round_each *each)
{
	const struct trip_each_info *info = &each->info;
	struct tripd_tally_key *key;
	uint64_t place = 0;
	int ret = 0;

	while (goes_on(round, ret) && (key = tripd_tally_keys_next(&each->keys, &place)) != NULL) {
		struct tripd_model_key record = {.flow = flow_of(round, &key->tally),
			.error = key->error,
			.point = point->number,
			.direction = each->egress,
			.dropped = key->dropped ? TRIPD_MODEL_TRUE : TRIPD_MODEL_FALSE};
		bool v6 = tripd_model_key_is_v6(info->parts, info->n_parts, key->key);
		size_t size;

		if (tripd_tally_is_sent(&key->tally) && !round->last)
			continue;
		size = tripd_model_key_fill(info->parts, info->n_parts, key->key, &record);
		ret = put(round, message, each->templates[v6], &record, size, &key->tally);
	}
	return ret;
}

static int
put_each(const struct tripd_round *round, struct tripd_message *message, struct tripd_point *point,
	struct tripd_round_each *each)
{
	const struct trip_each_info *info = &each->info;
	struct tripd_model_each record = {.point = point->number,
		.packets = info->packets,
		.bytes = info->bytes,
		.keys = info->keys,
		.max = info->max,
		.admitted = info->admitted,
		.evicted = info->evicted,
		.expired = info->expired,
		.floor = info->floor,
		.held = info->held,
		.dropped_packets = info->dropped_packets,
		.dropped_bytes = info->dropped_bytes};
	int ret;

	if (!each->fresh)
		return 0;
	ret = put(round, message, TRIPD_MODEL_EACH, &record, sizeof(record), NULL);
	if (each->each != NULL && goes_on(round, ret))
		ret = put_keys(round, message, point, each);
	if (each->each != NULL && goes_on(round, ret))
		ret = put_remainder(round, message, point, info);
	return ret;
}

/* Of keys that are of IPv4 and of IPv6, where there are both. */
static int
tell_templates(
	struct tripd_round *round, struct tripd_message *message, struct tripd_round_each *each)
{
	const struct trip_each_info *info = &each->info;
	fbInfoElementSpec_t specs[TRIPD_MODEL_KEY_SPECS];
	int ret = 0;

	if (each->each == NULL || each->templates[0] != 0)
		return 0;
	if (round->next_template >= TEMPLATE_MAX)
		return -ENOSPC;
	each->templates[0] = round->next_template;
	each->templates[1] = (uint16_t)(round->next_template + 1);
	round->next_template = (uint16_t)(round->next_template + 2);
	for (unsigned int v6 = 0; v6 < 2 && ret == 0; v6++) {
		tripd_model_key_specs(info->parts, info->n_parts, v6 == 1, specs);
		ret = tripd_message_template(message, each->templates[v6], specs, 0);
	}
	return ret;
}

static int
put_lost(struct tripd_message *message)
{
	struct tripd_model_lost record = {.process = (uint32_t)getpid(), .flows = message->lost};

	return tripd_message_put(message, TRIPD_MODEL_LOST, &record, sizeof(record), NULL);
}

/* Names and values go again. */
static void
forget(struct tripd_round *round)
{
	for (unsigned int kind = 0; kind < TRIPD_POINT_KINDS; kind++)
		for (unsigned int i = 0; i < round->n[kind]; i++)
			round->points[kind][i].named = round->points[kind][i].is_sent = false;
}

int
tripd_round_refresh(struct tripd_round *round, struct tripd_message *message)
{
	forget(round);
	return tripd_message_refresh(message);
}

int
tripd_round_begin(struct tripd_round *round, struct tripd_message *message)
{
	int ret = 0;

	round->next_template = TRIPD_MODEL_KEYS;
	forget(round);
	for (unsigned int i = 0; i < round->n_eaches; i++)
		round->eaches[i].templates[0] = round->eaches[i].templates[1] = 0;
	for (uint16_t id = TRIPD_MODEL_NAME; ret == 0 && id <= TRIPD_MODEL_CHANGE; id++) {
		fbInfoElementSpec_t specs[TRIPD_MODEL_SPECS];
		uint16_t n_scope = tripd_model_specs(id, specs);

		ret = tripd_message_template(message, id, specs, n_scope);
	}
	if (ret == 0)
		ret = tripd_message_types(message);
	return ret == 0 ? tripd_message_flush(message) : ret;
}

static int
put_points(struct tripd_round *round, struct tripd_message *message)
{
	int ret = 0;

	for (unsigned int kind = 0; kind < TRIPD_POINT_KINDS; kind++)
		for (unsigned int i = 0; i < round->n[kind] && goes_on(round, ret); i++)
			ret = put_name(round, message, kind, &round->points[kind][i]);
	for (unsigned int i = 0; i < round->n[TRIPD_POINT_COUNT] && goes_on(round, ret); i++)
		ret = put_count(round, message, &round->points[TRIPD_POINT_COUNT][i]);
	for (unsigned int i = 0; i < round->n[TRIPD_POINT_COUNTER] && goes_on(round, ret); i++)
		ret = put_value(round, message, &round->points[TRIPD_POINT_COUNTER][i]);
	for (unsigned int i = 0; i < round->n[TRIPD_POINT_EACH] && goes_on(round, ret); i++)
		ret = put_each(
			round, message, &round->points[TRIPD_POINT_EACH][i], &round->eaches[i]);
	return ret;
}

int
tripd_round_export(struct tripd_round *round, struct tripd_message *message)
{
	int ret = 0;

	message->last = round->last;
	for (unsigned int i = 0; i < round->n_eaches && ret == 0; i++) {
		ret = tell_templates(round, message, &round->eaches[i]);
		/* Its keys are lost, and counted. */
		if (ret == -ENOSPC)
			ret = 0;
	}
	if (goes_on(round, ret))
		ret = put_points(round, message);
	if (ret == 0)
		ret = put_lost(message);
	if (ret == 0)
		ret = tripd_message_flush(message);
	if (ret == 0)
		round->since_ms = round->now_ms;
	return ret;
}

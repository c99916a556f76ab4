/* SPDX-License-Identifier: BSD-3-Clause */
/* The keys of an `each`, reading by reading. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <trip_each.h>

#include "base/record.h"
#include "base/text.h"
#include "hitters.h"
#include "now.h"

const char *const tripctl_hitters_sorts[] = {
	[TRIPCTL_HITTERS_PACKETS] = "packets",
	[TRIPCTL_HITTERS_BYTES] = "bytes",
	[TRIPCTL_HITTERS_RATE] = "rate",
	[TRIPCTL_HITTERS_KEY] = "key",
};

const struct tripctl_hitters_sample *
tripctl_hitters_now(const struct tripctl_hitters *hitters)
{
	return &hitters->samples[hitters->latest];
}

static const struct tripctl_hitters_sample *
before_of(const struct tripctl_hitters *hitters)
{
	return &hitters->samples[!hitters->latest];
}

static double
seconds_of(const struct tripctl_hitters *hitters)
{
	uint64_t before = before_of(hitters)->at_ns;

	return before != 0 ? (double)(tripctl_hitters_now(hitters)->at_ns - before) / 1e9 : 0;
}

/* ---- reading ------------------------------------------------------------------------------- */

/* It may have gone since its keys were read. */
static int
read_each(struct tripctl_hitters_sample *sample, const char *name, struct trip_client *client)
{
	uint64_t cursor = 0;
	int got;

	while ((got = trip_client_list(client, TRIP_CLIENT_EACH, &cursor, &sample->each,
			sizeof(sample->each), 1)) == 1)
		if (strcmp(sample->each.name, name) == 0)
			return 0;
	return got < 0 ? got : -ENOENT;
}

static int
read_sample(struct tripctl_hitters *hitters, struct tripctl_hitters_sample *sample,
	struct trip_client *client)
{
	uint32_t rank =
		hitters->sort == TRIPCTL_HITTERS_BYTES ? TRIP_EACH_BYTES : TRIP_EACH_PACKETS;
	uint64_t cursor = 0;
	int got = trip_client_list(
		client, TRIP_CLIENT_DOMAIN, &cursor, &sample->domain, sizeof(sample->domain), 1);

	if (got >= 0)
		got = trip_client_top(client, hitters->name, rank, sample->keys,
			sizeof(sample->keys[0]), TRIP_CLIENT_TOP_MAX);
	if (got < 0)
		return got;
	sample->n = (size_t)got;
	sample->at_ns = now_ns(CLOCK_MONOTONIC);
	/* Behind the keys, so that none has more than all. */
	return read_each(sample, hitters->name, client);
}

int
tripctl_hitters_read(struct tripctl_hitters *hitters, struct trip_client *client)
{
	int error;

	if (tripctl_hitters_now(hitters)->at_ns != 0)
		hitters->latest = !hitters->latest;
	error = read_sample(hitters, &hitters->samples[hitters->latest], client);
	if (error == 0)
		tripctl_hitters_choose(hitters);
	return error;
}

/* ---- which, in which order ----------------------------------------------------------------- */

/* A key that has less than before has gone meanwhile, and come again. */
static void
compare(const struct tripctl_hitters *hitters, struct tripctl_hitter *row)
{
	const struct tripctl_hitters_sample *before = before_of(hitters);
	double seconds = seconds_of(hitters);
	size_t i = 0;

	while (seconds > 0 && i < before->n && strcmp(before->keys[i].key, row->key->key) != 0)
		i++;
	if (seconds <= 0 || i == before->n || before->keys[i].packets > row->key->packets ||
		before->keys[i].bytes > row->key->bytes)
		return;
	row->known = true;
	row->rate = (double)(row->key->packets - before->keys[i].packets) / seconds;
	row->byte_rate = (double)(row->key->bytes - before->keys[i].bytes) / seconds;
}

static int
by_key(const void *a, const void *b)
{
	return strcmp(((const struct tripctl_hitter *)a)->key->key,
		((const struct tripctl_hitter *)b)->key->key);
}

static int
by_packets(const void *a, const void *b)
{
	uint64_t one = ((const struct tripctl_hitter *)a)->key->packets;
	uint64_t other = ((const struct tripctl_hitter *)b)->key->packets;

	return one != other ? (one < other) - (one > other) : by_key(a, b);
}

static int
by_bytes(const void *a, const void *b)
{
	uint64_t one = ((const struct tripctl_hitter *)a)->key->bytes;
	uint64_t other = ((const struct tripctl_hitter *)b)->key->bytes;

	return one != other ? (one < other) - (one > other) : by_key(a, b);
}

static int
by_rate(const void *a, const void *b)
{
	double one = ((const struct tripctl_hitter *)a)->rate;
	double other = ((const struct tripctl_hitter *)b)->rate;

	return one != other ? (one < other) - (one > other) : by_packets(a, b);
}

void
tripctl_hitters_choose(struct tripctl_hitters *hitters)
{
	static int (*const orders[])(const void *a, const void *b) = {
		[TRIPCTL_HITTERS_PACKETS] = by_packets,
		[TRIPCTL_HITTERS_BYTES] = by_bytes,
		[TRIPCTL_HITTERS_RATE] = by_rate,
		[TRIPCTL_HITTERS_KEY] = by_key,
	};
	const struct tripctl_hitters_sample *now = tripctl_hitters_now(hitters);
	double all = now->each.packets > 0 ? (double)now->each.packets : 1;

	hitters->n_rows = 0;
	for (size_t i = 0; i < now->n; i++) {
		struct tripctl_hitter *row = &hitters->rows[hitters->n_rows];

		if (!tripctl_text_is_wanted(hitters->filter, now->keys[i].key))
			continue;
		*row = (struct tripctl_hitter){
			.key = &now->keys[i], .share = (double)now->keys[i].packets / all};
		compare(hitters, row);
		hitters->n_rows++;
	}
	if (hitters->n_rows > 1)
		qsort(hitters->rows, hitters->n_rows, sizeof(hitters->rows[0]),
			orders[hitters->sort]);
}

/* ---- lines --------------------------------------------------------------------------------- */

static void
cut(char *line, unsigned int width)
{
	if (width > 0 && width < TRIPCTL_HITTERS_LINE && strlen(line) > width) {
		line[width - 1] = '+';
		line[width] = 0;
	}
}

void
tripctl_hitters_head(const struct tripctl_hitters *hitters, unsigned int width, char *line)
{
	const struct tripctl_hitters_sample *sample = tripctl_hitters_now(hitters);
	const struct trip_client_each *now = &sample->each;
	const struct trip_client_each *before = &before_of(hitters)->each;
	char name[4 * sizeof(now->name)], fields[4 * sizeof(now->fields)];
	char packets[TRIPCTL_TEXT_NUMBER], keys[TRIPCTL_TEXT_NUMBER];
	char rate[TRIPCTL_TEXT_NUMBER] = "-", gone[TRIPCTL_TEXT_NUMBER];
	double seconds = seconds_of(hitters);
	/* One table may have what another one has. */
	bool all = sample->n<TRIP_CLIENT_TOP_MAX, several = now->tables> 1;

	if (seconds > 0 && now->packets >= before->packets)
		tripctl_text_short((double)(now->packets - before->packets) / seconds, rate);
	snprintf(line, TRIPCTL_HITTERS_LINE,
		"each %s of %s: %s%s keys, %s packets, %s/s, %s of keys that went",
		tripctl_text_escape(now->name, name, sizeof(name)),
		tripctl_text_escape(now->fields, fields, sizeof(fields)),
		several && !all ? "at most " : "",
		tripctl_text_short(several && all ? (double)sample->n : (double)now->keys, keys),
		tripctl_text_short((double)now->packets, packets), rate,
		tripctl_text_short((double)now->remainder_packets, gone));
	if (now->hardware != 0)
		snprintf(line + strlen(line), TRIPCTL_HITTERS_LINE - strlen(line),
			", %" PRIu64 " dropped in hardware", now->hardware_keys);
	cut(line, width);
}

#define ROW "%8s %8s %8s %8s %6s %8s %-6s  %s"

/* What is done to it, in a word; and by whom. */
static const char *
word_of(const struct trip_client_key *key)
{
	return key->op == TRIP_EACH_OP_DROP     ? "drop"
	       : key->op == TRIP_EACH_OP_PASS   ? "pass"
	       : key->op == TRIP_EACH_OP_POLICE ? "police"
						: "-";
}

static const char *
state_of(const struct trip_client_key *key)
{
	return key->op == TRIP_EACH_OP_DROP     ? key->by_hand != 0 ? "drop*" : "drop"
	       : key->op == TRIP_EACH_OP_PASS   ? "pass*"
	       : key->op == TRIP_EACH_OP_POLICE ? "police"
						: "-";
}

void
tripctl_hitters_titles(unsigned int width, char *line)
{
	snprintf(line, TRIPCTL_HITTERS_LINE, ROW, "PACKETS", "BYTES", "PACKET/S", "BIT/S", "SHARE",
		"ERROR", "STATE", "KEY");
	cut(line, width);
}

void
tripctl_hitters_row(
	const struct tripctl_hitters *hitters, size_t at, unsigned int width, char *line)
{
	const struct tripctl_hitter *row = &hitters->rows[at];
	char packets[TRIPCTL_TEXT_NUMBER], bytes[TRIPCTL_TEXT_NUMBER], share[16];
	char rate[TRIPCTL_TEXT_NUMBER] = "-", bits[TRIPCTL_TEXT_NUMBER] = "-";
	char error[TRIPCTL_TEXT_NUMBER], key[4 * TRIP_CLIENT_KEY_MAX];

	if (row->known) {
		tripctl_text_short(row->rate, rate);
		tripctl_text_short(8 * row->byte_rate, bits);
	}
	snprintf(share, sizeof(share), "%.1f%%", 100 * row->share);
	snprintf(line, TRIPCTL_HITTERS_LINE, ROW,
		tripctl_text_short((double)row->key->packets, packets),
		tripctl_text_short((double)row->key->bytes, bytes), rate, bits, share,
		tripctl_text_short((double)row->key->error, error),
		row->key->hardware_ns != 0 ? "hw" : state_of(row->key),
		tripctl_text_escape(row->key->key, key, sizeof(key)));
	cut(line, width);
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static json_t *
json_of(const struct tripctl_hitter *row)
{
	json_t *object = json_object();

	tripctl_record_put_text(object, "key", row->key->key);
	tripctl_record_put_number(object, "packets", row->key->packets);
	tripctl_record_put_number(object, "bytes", row->key->bytes);
	tripctl_record_put_number(object, "error", row->key->error);
	tripctl_record_put_number(object, "queues", row->key->tables);
	tripctl_record_put(object, "state",
		row->key->op != TRIP_EACH_OP_NONE ? json_string(word_of(row->key)) : json_null());
	tripctl_record_put(object, "by_hand", json_boolean(row->key->by_hand != 0));
	tripctl_record_put(object, "hardware", json_boolean(row->key->hardware_ns != 0));
	tripctl_record_put(object, "rate", row->known ? json_real(row->rate) : json_null());
	tripctl_record_put(
		object, "byte_rate", row->known ? json_real(row->byte_rate) : json_null());
	tripctl_record_put(object, "share", json_real(row->share));
	return object;
}

json_t *
tripctl_hitters_json(const struct tripctl_hitters *hitters, size_t rows)
{
	const struct tripctl_hitters_sample *now = tripctl_hitters_now(hitters);
	json_t *object = json_object(), *keys = json_array();

	tripctl_record_put(object, "seconds", json_real(seconds_of(hitters)));
	tripctl_record_put(
		object, "domain", tripctl_record_json(TRIP_CLIENT_DOMAIN, NULL, &now->domain));
	tripctl_record_put(object, "each", tripctl_record_json(TRIP_CLIENT_EACH, NULL, &now->each));
	for (size_t i = 0; i < hitters->n_rows && i < rows; i++)
		json_array_append_new(keys, json_of(&hitters->rows[i]));
	tripctl_record_put(object, "keys", keys);
	return object;
}

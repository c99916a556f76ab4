/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys and what is exported of them, against a model: what was exported is never lost, whatever
 * comes and goes, and in whatever order places move up. */
#include <stdlib.h>
#include <string.h>

#include "export/tally.h"
#include "trip_test.h"

/* Of a key; words of four are read of it. */
#define SIZE 5
#define ROOM 8
#define KEYS 1000
#define LOOKS 300

struct modelled {
	bool there;
	uint64_t packets, sent;
};

static void
make_key(uint8_t key[ROOM], unsigned int i)
{
	memset(key, 0, ROOM);
	memcpy(key, &i, sizeof(i));
}

/* What has come to a key since: more, nothing, or it went and came again with less. */
static void
change(struct modelled *one, uint64_t *gone)
{
	unsigned int what = (unsigned int)random() % 8;

	if (what == 0) {
		one->there = false;
	} else if (what == 1 && one->there) {
		one->packets = (uint64_t)random() % 100 + 1;
	} else if (what < 6) {
		one->packets = one->there ? one->packets + (uint64_t)random() % 50 : 1;
		one->there = true;
	}
	if (!one->there || one->packets < one->sent) {
		*gone += one->sent;
		one->sent = 0;
	}
}

/* Of those that are there, some are exported. */
static unsigned int
check(const struct tripd_tally_keys *keys, struct modelled model[KEYS])
{
	struct tripd_tally_key *key;
	uint64_t place = 0;
	unsigned int n = 0, i;

	while ((key = tripd_tally_keys_next(keys, &place)) != NULL) {
		memcpy(&i, key->key, sizeof(i));
		assert_true(i < KEYS);
		assert_true(model[i].there);
		assert_int_equal(key->tally.packets, model[i].packets);
		assert_int_equal(key->tally.bytes, 2 * model[i].packets);
		assert_int_equal(key->tally.sent_packets, model[i].sent);
		assert_int_equal(key->error, i);
		n++;
		if (random() % 2 == 0)
			continue;
		tripd_tally_sent(&key->tally);
		model[i].sent = model[i].packets;
		assert_true(tripd_tally_is_sent(&key->tally));
	}
	return n;
}

static void
keys_are_as_a_model_has_them(void **state)
{
	static struct modelled model[KEYS];
	struct tripd_tally_keys keys;
	uint64_t gone = 0;
	uint8_t key[ROOM];

	srandom(1);
	tripd_tally_keys_init(&keys, SIZE);
	for (unsigned int look = 0; look < LOOKS; look++) {
		/* At times nearly all of them, or few. */
		unsigned int range = look % 3 == 0 ? 40 : KEYS, n = 0;

		tripd_tally_look_begin(&keys);
		for (unsigned int i = 0; i < KEYS; i++) {
			if (i >= range && model[i].there && random() % 2 == 0) {
				model[i].there = false;
				gone += model[i].sent;
				model[i].sent = 0;
			} else if (i < range) {
				change(&model[i], &gone);
			}
			if (!model[i].there)
				continue;
			n++;
			make_key(key, i);
			tripd_tally_look(&keys, key, model[i].packets, 2 * model[i].packets, i);
		}
		tripd_tally_look_end(&keys);
		assert_int_equal(keys.n, n);
		assert_int_equal(keys.gone_packets, gone);
		assert_int_equal(keys.gone_bytes, 2 * gone);
		assert_int_equal(check(&keys, model), n);
		assert_true(4 * keys.n <= 3 * keys.n_places);
	}
	tripd_tally_keys_free(&keys);
}

static void
what_begins_anew_is_exported_again(void **state)
{
	struct tripd_tally tally = {0};

	assert_false(tripd_tally_set(&tally, 10, 1000));
	assert_false(tripd_tally_is_sent(&tally));
	tripd_tally_sent(&tally);
	assert_false(tripd_tally_set(&tally, 10, 1000));
	assert_true(tripd_tally_is_sent(&tally));
	/* Fewer bytes alone say so, too. */
	assert_true(tripd_tally_set(&tally, 11, 900));
	assert_int_equal(tally.sent_packets, 0);
	assert_int_equal(tally.sent_bytes, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_are_as_a_model_has_them),
		cmocka_unit_test(what_begins_anew_is_exported_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys of an `each` that are held by hand: what commands ask for, and what is told of it. */
#include <inttypes.h>
#include <time.h>

#include "now.h"
#include "quota.h"
#include "rules.h"

static void
say_done(const struct trip_rules_each *rule, const char *key, enum trip_each_op op,
	const struct trip_each_entry *entry, FILE *answer)
{
	fprintf(answer, "%s %s: %s; it had %" PRIu64 " packets, %" PRIu64 " bytes\n",
		rule->count.name, key,
		op == TRIP_EACH_OP_DROP   ? "dropped"
		: op == TRIP_EACH_OP_PASS ? "passes, whatever conditions say"
					  : "let go",
		entry->packets, entry->bytes);
}

int
tripd_quota_each_hold(struct tripd_quota *quota, unsigned int i, const char *text,
	enum trip_each_op op, uint64_t time_us, FILE *answer)
{
	struct trip_each *each = quota->eaches[i].each;
	struct trip_each_entry entry = {.size = sizeof(entry)};
	char name[TRIP_EACH_TEXT_MAX];
	uint8_t key[TRIP_EACH_KEY_MAX];
	int ret = trip_each_parse(each, text, key);

	if (ret == 0)
		(void)trip_each_read(each, key, &entry);
	if (ret == 0)
		ret = trip_each_hold(each, key, op, time_us);
	if (ret != 0) {
		fprintf(answer, "%s\n", trip_error_message());
		return ret;
	}
	(void)trip_each_text(each, key, name, sizeof(name));
	say_done(&quota->rules->eaches[i], name, op, &entry, answer);
	/* While it is known who has asked. */
	(void)tripd_quota_each_read(quota, now_ns(CLOCK_REALTIME));
	return 0;
}

void
tripd_quota_each_told(struct tripd_quota *quota, unsigned int i, const struct trip_each_trip *trip,
	const char *key)
{
	const struct tripd_by_hand own = {.each = i,
		.key = key,
		.op = (enum trip_each_op)trip->when,
		.ends = (trip->flags & TRIP_EACH_TRIP_END) != 0,
		.pid = trip->pid,
		.packets = trip->packets,
		.bytes = trip->bytes,
		.packet_ns = quota->packet_began + trip->ns};

	if (quota->hand_told != NULL)
		quota->hand_told(quota->told_arg, &own);
}

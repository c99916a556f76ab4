/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Statements that count by keys, on several queues, beside a naive model: random frames, keys and
 * patterns, which flows count, drop and allow meanwhile, as statements come and go. The model knows
 * of each key what it had on each queue, and which have tripped by what drops their packets.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <trip_eal.h>
#include <trip_flows.h>

#include "each_key_reference.h"
#include "packet_reference.h"

#define QUEUES 3
#define STATEMENTS 5
/* As drawn, and behind these plain ones, of which no two have the same addresses. */
#define DRAWN 2000
#define FRAMES 8000
#define KEYS_MAX FRAMES
#define PLACES 16384
#define BURST 70
#define ROUNDS 150
/* In fewer tables may have had no time to fill. */
#define ROUNDS_LEAST 80
#define LONG_US (UINT64_C(3600) * 1000000)

static struct trip_random random_state;

static uint32_t
random_below(void *arg, uint32_t n)
{
	return (uint32_t)trip_random_below(arg, n);
}

static uint32_t
below(uint32_t n)
{
	return random_below(&random_state, n);
}

static struct draw draw = {random_below, &random_state};

/* A frame again and again, so that keys have more than one packet; and who takes it. */
static struct packet {
	struct draw_frame frame;
	struct rte_mbuf *mbuf;
	bool allowed;
} packets[FRAMES];

struct key {
	uint8_t bytes[TRIP_EACH_KEY_MAX];
	uint64_t packets, bytes_most;
	bool told;
	/* How often, by each condition. */
	uint32_t trips[TRIP_EACH_WHENS_MAX];
	/* It has tripped by one that drops. */
	bool dropped;
};

static struct statement {
	struct trip_each *each;
	struct trip_each_part parts[TRIP_EACH_FIELDS];
	uint32_t n_parts;
	enum trip_each_rank rank;
	uint32_t max;
	bool filtered;
	struct draw_pattern pattern;
	struct trip_each_when whens[TRIP_EACH_WHENS_MAX];
	struct trip_each_act acts[TRIP_EACH_WHENS_MAX];
	uint32_t n_whens;
	uint64_t next_trip;
	struct key keys[KEYS_MAX];
	/* By hash, 1 more than a key's index. */
	uint32_t places[PLACES];
	uint32_t n_keys;
	uint64_t packets, bytes;
} statements[STATEMENTS];

static struct trip_domain *domain;
static struct trip_port *port;
static struct draw_pattern allowed;
static unsigned int opened;
static uint64_t evicted, told, filtered_out, skipped, tripped, dropped;
/* Flows drop as well. */
static bool flows_drop;

/* ---- the model --------------------------------------------------------------------------------
 */

static uint32_t
hash(const uint8_t *bytes)
{
	uint32_t hash = 2166136261u;

	for (unsigned int i = 0; i < TRIP_EACH_KEY_MAX; i++)
		hash = (hash ^ bytes[i]) * 16777619u;
	return hash;
}

static struct key *
key_of(struct statement *statement, const uint8_t *bytes)
{
	uint32_t *place = &statement->places[hash(bytes) % PLACES];

	while (*place != 0 &&
		memcmp(statement->keys[*place - 1].bytes, bytes, TRIP_EACH_KEY_MAX) != 0)
		place = place + 1 < statement->places + PLACES ? place + 1 : statement->places;
	if (*place != 0)
		return &statement->keys[*place - 1];
	assert_true(statement->n_keys < KEYS_MAX);
	*place = ++statement->n_keys;
	memcpy(statement->keys[*place - 1].bytes, bytes, TRIP_EACH_KEY_MAX);
	return &statement->keys[*place - 1];
}

/* Returns the key, or NULL: it is not counted. */
static struct key *
count_in_model(struct statement *statement, const struct packet *packet)
{
	const struct draw_frame *frame = &packet->frame;
	uint8_t bytes[TRIP_EACH_KEY_MAX] = {0};
	struct key *key;

	if (!reference_key(
		    statement->parts, statement->n_parts, frame->bytes, frame->length, bytes))
		return NULL;
	if (statement->filtered &&
		!reference_matches(statement->pattern.items, frame->bytes, frame->length)) {
		filtered_out++;
		return NULL;
	}
	if (packet->allowed) {
		skipped++;
		return NULL;
	}
	key = key_of(statement, bytes);
	key->packets++;
	/* Tags that were stripped count, too. */
	key->bytes_most += (uint64_t)packet->mbuf->pkt_len + 8;
	statement->packets++;
	return key;
}

/* ---- what is asked ----------------------------------------------------------------------------
 */

static uint64_t
counted(const struct trip_each_when *when, uint64_t packet_sum, uint64_t byte_sum)
{
	return when->of == TRIP_EACH_BYTES ? byte_sum : packet_sum;
}

/* Behind each burst: none is early, and what was counted then is no more than was sent. */
static void
check_trips(struct statement *statement)
{
	struct trip_each_trip trip[16];
	int n;

	while ((n = trip_each_trips(
			statement->each, statement->next_trip, trip, sizeof(trip[0]), 16)) > 0)
		for (int i = 0; i < n; i++) {
			const struct trip_each_when *when = &statement->whens[trip[i].when];
			uint8_t bytes[TRIP_EACH_KEY_MAX] = {0};
			struct key *key;

			assert_int_equal(trip[i].number, statement->next_trip++);
			assert_true(trip[i].when < statement->n_whens);
			memcpy(bytes, trip[i].key, trip[i].key_size);
			key = key_of(statement, bytes);
			key->trips[trip[i].when]++;
			key->dropped |= statement->acts[trip[i].when].op == TRIP_EACH_OP_DROP;
			assert_true(counted(when, trip[i].packets, trip[i].bytes) >= when->count);
			assert_true(trip[i].packets <= key->packets);
			assert_true(trip[i].bytes <= key->bytes_most);
			tripped++;
		}
}

/* None is missed, nor told twice. */
static void
check_tripped(struct statement *statement, const struct trip_each_info *info, const struct key *key,
	const struct trip_each_entry *entry)
{
	for (uint32_t i = 0; i < statement->n_whens; i++) {
		const struct trip_each_when *when = &statement->whens[i];

		if (counted(when, entry->packets, entry->bytes) >= when->count)
			assert_true((entry->tripped >> i & 1) != 0 && key->trips[i] > 0);
		if (info->evicted == 0)
			assert_int_equal(key->trips[i],
				counted(when, entry->packets, entry->bytes) >= when->count);
	}
}

struct sums {
	struct statement *statement;
	uint64_t packets, bytes, tables;
};

static void
check_entry(struct statement *statement, const struct trip_each_entry *entry)
{
	uint8_t bytes[TRIP_EACH_KEY_MAX] = {0};
	struct key *key;
	uint32_t known = statement->n_keys;

	memcpy(bytes, entry->key, entry->key_size);
	assert_memory_equal(bytes, entry->key, sizeof(bytes));
	key = key_of(statement, bytes);
	assert_int_equal(statement->n_keys, known);
	assert_true(entry->packets > 0 && entry->packets <= key->packets);
	assert_int_equal(entry->op, key->dropped ? TRIP_EACH_OP_DROP : TRIP_EACH_OP_NONE);
	if (statement->rank == TRIP_EACH_PACKETS)
		assert_true(key->packets <= entry->packets + entry->error);
	trip_assert_range(entry->tables, 1, QUEUES);
}

static int
visit(const struct trip_each_entry *entry, void *arg)
{
	struct sums *sums = arg;
	struct key *key;

	check_entry(sums->statement, entry);
	key = key_of(sums->statement, entry->key);
	assert_false(key->told);
	key->told = true;
	sums->packets += entry->packets;
	sums->bytes += entry->bytes;
	sums->tables += entry->tables;
	told++;
	return 0;
}

/* A key at a time, and what is so of those that are not there. */
static void
check_keys(struct statement *statement, const struct trip_each_info *info)
{
	for (uint32_t i = 0; i < statement->n_keys; i++) {
		const struct key *key = &statement->keys[i];
		struct trip_each_entry entry = {.size = sizeof(entry)};
		int result = trip_each_read(statement->each, key->bytes, &entry);

		assert_int_equal(result, key->told ? 0 : -ENOENT);
		/* EACH-06. */
		assert_true(key->told || !key->dropped);
		if (result == 0) {
			check_entry(statement, &entry);
			check_tripped(statement, info, key, &entry);
			continue;
		}
		if (statement->rank != TRIP_EACH_PACKETS)
			continue;
		assert_true(key->packets <= info->floor);
		if (info->refused_packets == 0)
			assert_true(key->packets <= statement->packets / statement->max);
	}
}

static void
check(struct statement *statement)
{
	struct sums sums = {.statement = statement};
	struct trip_each_info info = {.size = sizeof(info)};

	for (uint32_t i = 0; i < statement->n_keys; i++)
		statement->keys[i].told = false;
	assert_int_equal(trip_each_walk(statement->each, visit, &sums), 0);
	assert_int_equal(trip_each_query(statement->each, &info), 0);
	assert_int_equal(info.packets, statement->packets);
	assert_int_equal(sums.packets + info.remainder_packets, info.packets);
	assert_int_equal(sums.bytes + info.remainder_bytes, info.bytes);
	assert_int_equal(sums.tables, info.keys);
	check_keys(statement, &info);
	evicted += info.evicted;
	dropped += info.dropped_packets;
}

/* ---- what happens -----------------------------------------------------------------------------
 */

static void
draw_whens(struct statement *statement)
{
	statement->n_whens = below(TRIP_EACH_WHENS_MAX + 1);
	statement->next_trip = 0;
	for (uint32_t i = 0; i < statement->n_whens; i++) {
		struct trip_each_when *when = &statement->whens[i];

		when->of = below(2) == 0 ? TRIP_EACH_BYTES : TRIP_EACH_PACKETS;
		when->count = 1 + below(when->of == TRIP_EACH_BYTES ? 100000 : 1000);
		statement->acts[i].op = below(4) == 0 ? TRIP_EACH_OP_DROP : TRIP_EACH_OP_NONE;
	}
}

static void
open_statement(struct statement *statement)
{
	char name[TRIP_NAME_MAX];
	struct trip_each_attr attr = {.size = sizeof(attr),
		.name = name,
		.ports = &port,
		.n_ports = 1,
		.parts = statement->parts,
		.idle_us = LONG_US};
	int error;

	snprintf(name, sizeof(name), "each%u", opened++);
	statement->n_parts = draw_key(&draw, statement->parts);
	/* Else a key that most packets have is rare; of one all do, so that keys go. */
	if (below(3) == 0 || statement == statements) {
		statement->parts[0] = (struct trip_each_part){TRIP_EACH_IPV4_SRC, 0};
		statement->parts[1] = (struct trip_each_part){TRIP_EACH_L4_DST, 0};
		statement->n_parts = 1 + below(2);
	}
	statement->rank = below(3) == 0 ? TRIP_EACH_BYTES : TRIP_EACH_PACKETS;
	statement->max = 1 + below(20);
	statement->filtered = below(3) == 0 && statement != statements;
	statement->n_keys = 0;
	statement->packets = 0;
	draw_whens(statement);
	memset(statement->keys, 0, sizeof(statement->keys));
	memset(statement->places, 0, sizeof(statement->places));
	draw_pattern(&draw, &packets[below(DRAWN)].frame, &statement->pattern);
	attr.n_parts = statement->n_parts;
	attr.rank = statement->rank;
	attr.max = statement->max;
	attr.whens = statement->whens;
	attr.n_whens = statement->n_whens;
	attr.acts = statement->acts;
	attr.pattern = statement->filtered ? statement->pattern.items : NULL;
	error = trip_each_open(domain, &attr, &statement->each);
	if (error != 0)
		fail_msg("%s", trip_error_message());
}

static void
change_statement(struct statement *statement)
{
	if (statement->each == NULL) {
		open_statement(statement);
		return;
	}
	check(statement);
	assert_int_equal(trip_each_close(statement->each), 0);
	statement->each = NULL;
}

/* Whoever frees it gives it to no pool, however often it is in a burst. */
static void
hold(struct rte_mbuf *mbuf)
{
	for (; mbuf != NULL; mbuf = mbuf->next)
		rte_mbuf_refcnt_set(mbuf, BURST + 2);
}

/* What a burst was, and of each packet whether it has to be dropped, and whether it may be. */
struct sent {
	struct packet *packets[BURST];
	struct key *keys[BURST][STATEMENTS];
	bool has_to[BURST];
	uint16_t n, kept;
};

/* What a key that has tripped had before is dropped; what one had that has not yet passes. */
static void
check_passed(const struct sent *sent, struct rte_mbuf *const *pkts)
{
	for (uint16_t i = 0; i < sent->n; i++) {
		const struct rte_mbuf *mbuf = sent->packets[i]->mbuf;
		unsigned int passed = 0, least = 0, most = 0;

		for (uint16_t k = 0; k < sent->kept; k++)
			passed += pkts[k] == mbuf;
		for (uint16_t k = 0; k < sent->n; k++) {
			bool may_be = flows_drop;

			if (sent->packets[k]->mbuf != mbuf)
				continue;
			for (unsigned int s = 0; s < STATEMENTS; s++)
				may_be |= sent->keys[k][s] != NULL && sent->keys[k][s]->dropped;
			most += !sent->has_to[k];
			least += !may_be;
		}
		trip_assert_range(passed, least, most);
	}
}

/* Of few frames most, so that some keys have much. */
static void
send_burst(uint16_t queue)
{
	struct rte_mbuf *pkts[BURST];
	struct sent sent = {.n = (uint16_t)below(BURST + 1)};

	for (uint16_t i = 0; i < sent.n; i++) {
		struct packet *packet = &packets[below(below(2) == 0 ? 20 : FRAMES)];

		sent.packets[i] = packet;
		pkts[i] = packet->mbuf;
		hold(packet->mbuf);
		for (unsigned int s = 0; s < STATEMENTS; s++) {
			struct key *key = statements[s].each != NULL
						  ? count_in_model(&statements[s], packet)
						  : NULL;

			sent.keys[i][s] = key;
			sent.has_to[i] |= key != NULL && key->dropped;
		}
	}
	sent.kept = trip_port_burst(port, queue, pkts, sent.n);
	for (unsigned int s = 0; s < STATEMENTS; s++)
		if (statements[s].each != NULL)
			check_trips(&statements[s]);
	check_passed(&sent, pkts);
}

static struct trip_flow *
create_flow(const struct rte_flow_item *items, bool allow, enum rte_flow_action_type action)
{
	const struct trip_flow_attr attr = {
		.size = sizeof(attr), .engine = TRIP_FLOW_ENGINE_SW, .allow = allow};
	const struct rte_flow_action actions[] = {
		{.type = action}, {.type = RTE_FLOW_ACTION_TYPE_END}};
	struct trip_flow *flow;

	if (trip_flow_create(port, &attr, items, actions, &flow, NULL) != 0)
		fail_msg("%s", trip_error_message());
	return flow;
}

/* One is allowed, others are dropped: those are seen, these are not. */
static unsigned int
open_flows(struct trip_flow **flows)
{
	static struct draw_pattern others[4];
	unsigned int n = 0;

	draw_pattern(&draw, &packets[below(DRAWN)].frame, &allowed);
	flows[n++] = create_flow(allowed.items, true, RTE_FLOW_ACTION_TYPE_COUNT);
	for (; n <= below(5); n++) {
		bool drops = below(2) == 0;

		draw_pattern(&draw, &packets[below(DRAWN)].frame, &others[n - 1]);
		flows[n] = create_flow(others[n - 1].items, false,
			drops ? RTE_FLOW_ACTION_TYPE_DROP : RTE_FLOW_ACTION_TYPE_PASSTHRU);
		flows_drop |= drops;
	}
	for (unsigned int i = 0; i < FRAMES; i++)
		packets[i].allowed = reference_matches(
			allowed.items, packets[i].frame.bytes, packets[i].frame.length);
	return n;
}

static void
run_round(void)
{
	struct trip_flow *flows[6];
	unsigned int n = below(3) > 0 ? open_flows(flows) : 0;

	for (unsigned int i = 0; i < 40; i++) {
		/* The first stay longer: more keys come than there is room for. */
		if (below(6) == 0)
			change_statement(&statements[2 + below(STATEMENTS - 2)]);
		if (below(1000) == 0)
			change_statement(&statements[below(2)]);
		send_burst((uint16_t)below(QUEUES));
	}
	while (n > 0)
		flows_destroy(domain, flows[--n]);
	flows_drop = false;
	for (unsigned int i = 0; i < FRAMES; i++)
		packets[i].allowed = false;
}

/* Packets that are received. */
static void
draw_packet(struct packet *packet)
{
	uint32_t sent;

	do {
		draw_frame(&draw, &packet->frame);
		packet->mbuf = draw_mbuf(&draw, &packet->frame, &sent);
		if (sent != 0)
			mbuf_release(packet->mbuf);
	} while (sent != 0);
}

static void
make_plain(struct packet *packet, unsigned int i)
{
	struct frame frame;

	frame_eth(&frame);
	frame_ipv4(&frame, (struct frame_ip){.proto = 17, .ttl = 64});
	frame_l4(&frame, (uint16_t)below(UINT16_MAX), (uint16_t)i);
	frame.bytes[14 + 12 + 1] = frame.bytes[14 + 16 + 1] = (uint8_t)(i >> 8);
	frame.bytes[14 + 12 + 2] = frame.bytes[14 + 16 + 2] = (uint8_t)i;
	memcpy(packet->frame.bytes, frame.bytes, frame.length);
	packet->frame.length = frame.length;
	packet->mbuf = mbuf_of(&frame);
}

static void
keys_are_counted_as_in_the_model(void **state)
{
	uint64_t rounds = RTE_MAX(trip_test_rounds(ROUNDS), ROUNDS_LEAST);

	random_state.state = trip_test_seed("keys_are_counted_as_in_the_model");
	for (unsigned int i = 0; i < DRAWN; i++)
		draw_packet(&packets[i]);
	for (unsigned int i = DRAWN; i < FRAMES; i++)
		make_plain(&packets[i], i);
	for (uint64_t round = 0; round < rounds; round++) {
		run_round();
		for (unsigned int s = 0; s < STATEMENTS; s++)
			if (statements[s].each != NULL && round % 4 == 0)
				check(&statements[s]);
	}
	for (unsigned int s = 0; s < STATEMENTS; s++)
		if (statements[s].each != NULL)
			assert_int_equal(trip_each_close(statements[s].each), 0);
	for (unsigned int i = 0; i < FRAMES; i++)
		mbuf_release(packets[i].mbuf);
	printf("%u statements, %llu keys told, %llu evicted, %llu packets filtered out, %llu "
	       "allowed, %llu trips, %llu dropped\n",
		opened, (unsigned long long)told, (unsigned long long)evicted,
		(unsigned long long)filtered_out, (unsigned long long)skipped,
		(unsigned long long)tripped, (unsigned long long)dropped);
	assert_true(tripped > 0 && dropped > 0 && told > 0 && evicted > 0 && filtered_out > 0 &&
		    skipped > 0);
}

static int
open_all(void **state)
{
	const struct trip_domain_attr attr = {.size = sizeof(attr),
		.progress = TRIP_PROGRESS_MANUAL,
		.max_cntrs = 16,
		.max_flows = 16,
		.max_queues = QUEUES,
		.scrub_us = UINT32_MAX,
		.each_bytes = 8 << 20};
	const struct trip_port_attr port_attr = {
		.size = sizeof(port_attr), .mode = TRIP_PORT_BURST};

	flows_device_open(QUEUES);
	assert_int_equal(trip_domain_open(&attr, &domain, NULL), 0);
	assert_int_equal(trip_port_open(domain, FLOWS_PORT, &port_attr, &port), 0);
	return 0;
}

static int
close_all(void **state)
{
	assert_int_equal(trip_port_close(port), 0);
	assert_int_equal(trip_domain_close(domain), 0);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_are_counted_as_in_the_model),
	};

	int failed;

	if (trip_eal_init("net_null0") < 0) {
		printf("EAL does not start\n");
		return TRIP_TEST_SKIP;
	}
	failed = cmocka_run_group_tests(tests, open_all, close_all);
	rte_eal_cleanup();
	return failed;
}

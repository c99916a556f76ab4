/* SPDX-License-Identifier: BSD-3-Clause */
/* Garbage in requests for flows and counters objects, and rules as messages. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <rte_ethdev.h>

#include "domain/domain.h"
#include "flow/counters.h"
#include "flow/flow.h"
#include "flow/flow_wire.h"
#include "flows.h"
#include "secondary/link.h"

static const struct {
	enum trip_protocol_type type;
	size_t size;
} requests[] = {
	{TRIP_PROTOCOL_JOIN, sizeof(struct trip_protocol_join)},
	{TRIP_PROTOCOL_PORT, sizeof(struct trip_protocol_port)},
	{TRIP_PROTOCOL_FLOW, sizeof(struct trip_protocol_flow)},
	{TRIP_PROTOCOL_FLOW_DO, sizeof(struct trip_protocol_flow_do)},
	{TRIP_PROTOCOL_COUNTERS, sizeof(struct trip_protocol_counters)},
	{TRIP_PROTOCOL_POINT, sizeof(struct trip_protocol_point)},
	{TRIP_PROTOCOL_COUNTERS_READ, sizeof(struct trip_protocol_counters_read)},
	{TRIP_PROTOCOL_COUNTERS_CLOSE, sizeof(uint64_t)},
	{TRIP_PROTOCOL_QUIESCE, 0},
	{TRIP_PROTOCOL_VALIDATE, sizeof(struct trip_protocol_flow)},
	{TRIP_PROTOCOL_PORT_FACTS, sizeof(struct trip_protocol_port_ask)},
	{TRIP_PROTOCOL_PORT_STATS, sizeof(struct trip_protocol_port_ask)},
};

/* Small numbers are often what something has. */
static void
draw(struct trip_random *random, uint8_t *bytes, size_t size)
{
	memset(bytes, 0, size);
	for (size_t i = 0; i < size; i += 4)
		if (trip_random_below(random, 4) == 0)
			bytes[i] = (uint8_t)trip_random_below(random, 8);
		else if (trip_random_below(random, 16) == 0)
			bytes[i + trip_random_below(random, 4) % (size - i)] =
				(uint8_t)trip_random_u64(random);
}

/* Requests of the right size, with anything in them, some of which are good. */
static void
play_garbage(const char *arg)
{
	static union trip_protocol_request request;
	struct trip_random random = {.state = strtoull(arg, NULL, 0)};
	struct trip_flow_wire *wire = (void *)request.flow.rule;
	uint64_t rounds = trip_test_rounds(3000), good = 0;
	struct flows_pattern pattern;

	family_attach();
	(void)flows_find();
	flows_make_pattern(&pattern, FLOWS_DNS);
	for (uint64_t i = 0; i < rounds; i++) {
		unsigned int which = (unsigned int)trip_random_below(
			&random, sizeof(requests) / sizeof(*requests));

		draw(&random, (uint8_t *)&request, requests[which].size);
		if (requests[which].size == sizeof(struct trip_protocol_flow) &&
			trip_random_below(&random, 2) == 0) {
			assert_int_equal(trip_flow_wire_pack(wire, pattern.items, NULL, NULL), 0);
			wire->bytes[trip_random_below(&random, wire->used)] ^=
				(uint8_t)(1u << trip_random_below(&random, 16));
		}
		good += trip_link_call(family_domain, requests[which].type, &request,
				requests[which].size, NULL, NULL) == 0;
	}
	printf("%llu requests, %llu of them good\n", (unsigned long long)rounds,
		(unsigned long long)good);
	assert_true(good > 0);
	fflush(stdout);
	_exit(0);
}

static void
garbage_is_refused_and_leaves_nothing(void **state)
{
	struct family_child child;
	char seed[32];

	flows_open(TRIP_PROGRESS_LCORE);
	snprintf(seed, sizeof(seed), "%llu", (unsigned long long)trip_test_seed("garbage"));
	child = family_start("garbage", 8, seed);
	family_end(&child);
	flows_close();
}

/* A place is another's as soon as it is free, and what it was called before is nothing's; nor is an
 * object found as one of the other kind. */
static void
play_ids(const char *arg)
{
	struct trip_flow *first, *second;
	struct trip_protocol_flow_do asked = {.action = TRIP_PROTOCOL_FLOW_QUERY};
	struct trip_counters *counters;
	struct trip_port *port;
	uint64_t old, id;

	family_attach();
	port = flows_find();
	first = flows_create(port, NULL, FLOWS_DNS);
	old = trip_flow_more(first)->id;
	assert_int_equal(trip_flow_destroy(first), 0);
	second = flows_create(port, NULL, FLOWS_DNS);
	id = trip_flow_more(second)->id;
	assert_int_equal((uint32_t)id, (uint32_t)old);
	assert_int_equal(trip_counters_create(family_domain, NULL, &counters), 0);
	for (unsigned int i = 0; i < 4; i++) {
		asked.flow = (uint64_t[]){id, old, counters->far, UINT64_MAX}[i];
		assert_int_equal(trip_link_call(family_domain, TRIP_PROTOCOL_FLOW_DO, &asked,
					 sizeof(asked), &(union trip_protocol_answer){0}, NULL),
			i == 0 ? 0 : -EINVAL);
	}
	_exit(0);
}

static void
ids_of_what_is_gone_are_nothings(void **state)
{
	struct family_child child;

	flows_open(TRIP_PROGRESS_LCORE);
	child = family_start("ids", 8, "");
	family_end(&child);
	flows_close();
}

/* A rule comes out as it went in, and one that was cut or changed stays within its message. */
static void
rules_survive_the_wire(void **state)
{
	static const uint16_t queues[] = {3, 1, 2};
	static const uint8_t key[40] = {1, 2, 3};
	const struct rte_flow_action_rss rss = {.types = RTE_ETH_RSS_IP,
		.level = 1,
		.key = key,
		.key_len = sizeof(key),
		.queue = queues,
		.queue_num = 3};
	const struct rte_flow_action_mark mark = {.id = 77};
	const struct rte_flow_action actions[] = {
		{.type = RTE_FLOW_ACTION_TYPE_MARK, .conf = &mark},
		{.type = RTE_FLOW_ACTION_TYPE_RSS, .conf = &rss},
		{.type = RTE_FLOW_ACTION_TYPE_END}};
	struct trip_random random = {.state = trip_test_seed("wire")};
	const struct rte_flow_action_rss *got;
	struct trip_flow_unpacked rule;
	struct trip_flow_wire wire, bad;
	struct flows_pattern pattern;

	flows_make_pattern(&pattern, FLOWS_DNS);
	memset(&wire, 0, sizeof(wire));
	assert_int_equal(trip_flow_wire_pack(&wire, pattern.items, actions, NULL), 0);
	assert_int_equal(trip_flow_wire_unpack(&wire, &rule), 0);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(rule.items[i].type, pattern.items[i].type);
	assert_memory_equal(rule.items[2].spec, &pattern.spec, sizeof(pattern.spec));
	assert_memory_equal(rule.items[2].mask, &flows_udp_mask, sizeof(flows_udp_mask));
	assert_null(rule.items[2].last);
	assert_null(rule.items[0].spec);
	assert_int_equal(((const struct rte_flow_action_mark *)rule.actions[0].conf)->id, 77);
	got = rule.actions[1].conf;
	assert_int_equal(got->types, rss.types);
	assert_int_equal(got->level, rss.level);
	assert_int_equal(got->key_len, rss.key_len);
	assert_memory_equal(got->key, key, sizeof(key));
	assert_int_equal(got->queue_num, 3);
	assert_memory_equal(got->queue, queues, sizeof(queues));
	assert_int_equal(rule.actions[2].type, RTE_FLOW_ACTION_TYPE_END);
	for (uint32_t used = 0; used < wire.used; used++) {
		bad = wire;
		bad.used = used;
		assert_int_equal(trip_flow_wire_unpack(&bad, &rule), -EPROTO);
	}
	for (uint64_t i = 0; i < trip_test_rounds(100000); i++) {
		bad = wire;
		((uint8_t *)&bad)[trip_random_below(&random, 8 + wire.used)] ^=
			(uint8_t)(1u << trip_random_below(&random, 8));
		if (trip_flow_wire_unpack(&bad, &rule) != 0)
			continue;
		for (const struct rte_flow_item *item = rule.items;
			item->type != RTE_FLOW_ITEM_TYPE_END; item++)
			assert_true(item->spec == NULL ||
				    ((const uint8_t *)item->spec >= bad.bytes &&
					    (const uint8_t *)item->spec < bad.bytes + bad.used));
	}
}

static const struct family_part parts[] = {
	{"garbage", play_garbage},
	{"ids", play_ids},
	{NULL, NULL},
};

static int
run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_survive_the_wire),
		cmocka_unit_test(garbage_is_refused_and_leaves_nothing),
		cmocka_unit_test(ids_of_what_is_gone_are_nothings),
	};

	return family_run(tests);
}

int
main(int argc, char **argv)
{
	return flows_main(argc, argv, parts, run);
}

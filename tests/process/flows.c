/* SPDX-License-Identifier: BSD-3-Clause */
/* Flows of an attached process, which the primary makes: on a port of rings, by hand and by lcores.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <rte_byteorder.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_flow.h>
#include <rte_ip.h>
#include <rte_malloc.h>
#include <rte_udp.h>

#include <trip_flow.h>

#include "domain.h"
#include "family.h"
#include "flow_wire.h"
#include "link.h"

#define DEVICE "net_ring0"
#define PACKET 64
#define DNS 53
#define FLOWS_MAX 6

/* ---- the primary's port -----------------------------------------------------------------------
 */

static struct rte_mempool *pool;
static struct trip_port *port;
static uint16_t port_id;

static void
start_port(void)
{
	const struct rte_eth_conf conf = {0};
	const struct trip_port_attr attr = {.size = sizeof(attr), .mode = TRIP_PORT_BURST};

	if (pool == NULL)
		pool = rte_pktmbuf_pool_create(
			"flows", 255, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	assert_non_null(pool);
	assert_int_equal(rte_eth_dev_get_port_by_name(DEVICE, &port_id), 0);
	assert_int_equal(rte_eth_dev_configure(port_id, 1, 1, &conf), 0);
	assert_int_equal(rte_eth_rx_queue_setup(port_id, 0, 64, SOCKET_ID_ANY, NULL, pool), 0);
	assert_int_equal(rte_eth_tx_queue_setup(port_id, 0, 64, SOCKET_ID_ANY, NULL), 0);
	assert_int_equal(rte_eth_dev_start(port_id), 0);
	assert_int_equal(trip_port_open(family_domain, port_id, &attr, &port), 0);
}

static void
stop_port(void)
{
	assert_int_equal(trip_port_close(port), 0);
	assert_int_equal(rte_eth_dev_stop(port_id), 0);
}

/* Packets to this UDP port are received; returns how many the rules leave. */
static uint16_t
receive(uint16_t udp_port, uint16_t n)
{
	struct rte_mbuf *pkts[64];
	uint16_t left;

	assert_int_equal(rte_pktmbuf_alloc_bulk(pool, pkts, n), 0);
	for (uint16_t i = 0; i < n; i++) {
		char *data = rte_pktmbuf_append(pkts[i], PACKET);
		struct rte_ether_hdr *eth = (struct rte_ether_hdr *)data;
		struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(eth + 1);
		struct rte_udp_hdr *udp = (struct rte_udp_hdr *)(ip + 1);

		memset(data, 0, PACKET);
		eth->ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4);
		ip->version_ihl = 0x45;
		ip->total_length = rte_cpu_to_be_16(PACKET - sizeof(*eth));
		ip->next_proto_id = IPPROTO_UDP;
		udp->dst_port = rte_cpu_to_be_16(udp_port);
	}
	left = trip_port_burst(port, 0, pkts, n);
	rte_pktmbuf_free_bulk(pkts, left);
	return left;
}

/* ---- what a secondary does --------------------------------------------------------------------
 */

static const struct rte_flow_item_udp mask_of_udp = {.hdr.dst_port = RTE_BE16(0xffff)};

/* A pattern of packets to this UDP port. */
struct pattern {
	struct rte_flow_item_udp spec;
	struct rte_flow_item items[4];
};

static void
make_pattern(struct pattern *pattern, uint16_t udp_port)
{
	*pattern = (struct pattern){
		.spec.hdr.dst_port = rte_cpu_to_be_16(udp_port),
		.items = {{.type = RTE_FLOW_ITEM_TYPE_ETH}, {.type = RTE_FLOW_ITEM_TYPE_IPV4},
			{.type = RTE_FLOW_ITEM_TYPE_UDP, .mask = &mask_of_udp},
			{.type = RTE_FLOW_ITEM_TYPE_END}},
	};
	pattern->items[2].spec = &pattern->spec;
}

static struct trip_flow *
create(struct trip_port *found, const struct trip_flow_attr *attr, uint16_t udp_port)
{
	struct rte_flow_error error;
	struct trip_flow *flow;
	struct pattern pattern;

	make_pattern(&pattern, udp_port);
	if (trip_flow_create(found, attr, pattern.items, NULL, &flow, &error) != 0)
		fail_msg("%s", error.message);
	return flow;
}

static struct trip_port *
find_port(void)
{
	struct trip_port *found;

	if (trip_port_find(family_domain, 0, &found) != 0)
		fail_msg("%s", trip_error_message());
	return found;
}

static void
expect_count(struct trip_flow *flow, uint64_t packets, enum trip_fate fate)
{
	struct trip_flow_count count;

	assert_int_equal(trip_flow_query(flow, &count), 0);
	assert_int_equal(count.packets, packets);
	assert_int_equal(count.bytes, packets * PACKET);
	assert_int_equal(count.fate, fate);
	assert_int_equal(count.engine, TRIP_ENGINE_SW);
}

/* The primary receives so many packets, and has then told how many were left. */
static uint16_t
have_received(uint16_t n)
{
	family_say((char)n);
	return (uint16_t)(unsigned char)family_listen();
}

static struct trip_cntr *
bytes_cntr(const char *name)
{
	const struct trip_cntr_attr attr = {.size = sizeof(attr),
		.name = name,
		.wait_obj = TRIP_WAIT_UNSPEC,
		.events = TRIP_CNTR_EVENTS_BYTES};
	struct trip_cntr *cntr;

	assert_int_equal(trip_cntr_open(family_domain, &attr, &cntr, NULL), 0);
	return cntr;
}

static void
operate(struct trip_cntr *trigger, uint64_t threshold, enum trip_op op, struct trip_flow *flow,
	struct trip_cntr *completion)
{
	struct trip_work work = {.size = sizeof(work),
		.triggering_cntr = trigger,
		.threshold = threshold,
		.op_type = op,
		.op.flow = flow,
		.completion_cntr = completion};

	if (trip_work_queue(family_domain, &work, NULL) != 0)
		fail_msg("%s", trip_error_message());
}

/* Points of the flow, static and live, and their values. */
static void
expect_slots(struct trip_counters *counters, uint64_t packets, uint64_t bytes)
{
	uint64_t values[2];

	assert_int_equal(trip_counters_read(counters, values, 2, 0), 0);
	assert_int_equal(values[0], packets);
	assert_int_equal(values[1], bytes);
}

static void
play_flows(const char *arg)
{
	struct trip_counter_attach_attr point = {.size = sizeof(point)};
	struct trip_flow_attr attr = {.size = sizeof(attr), .n_cntrs = 2};
	struct trip_cntr *cntrs[2], *completion;
	struct trip_port_stats stats;
	struct trip_port *found, *none;
	struct trip_counters *counters;
	struct trip_flow *flow;

	family_attach();
	assert_int_equal(trip_port_open(family_domain, 0, NULL, &none), -ENOTSUP);
	assert_int_equal(trip_port_find(family_domain, 7, &none), -ENOENT);
	assert_non_null(strstr(trip_error_message(), "port 7: the domain \"trip\""));
	assert_int_equal(trip_port_find(family_domain, 999, &none), -ENOENT);
	found = find_port();
	assert_int_equal(trip_port_stats_read(found, &stats), -ENOTSUP);
	/* Packets that this process polls are none of the primary's queues. */
	assert_int_equal(trip_port_burst(found, 0, NULL, 32), 32);
	assert_int_equal(trip_port_burst_tx(found, 0, NULL, 32), 32);
	cntrs[0] = family_cntr("packets", TRIP_WAIT_UNSPEC);
	cntrs[1] = bytes_cntr("bytes");
	completion = family_cntr(NULL, TRIP_WAIT_UNSPEC);
	attr.cntrs = cntrs;
	assert_int_equal(trip_counters_create(family_domain, NULL, &attr.counters), 0);
	counters = attr.counters;
	assert_int_equal(trip_counters_attach_point_flow(counters, &point, NULL), 0);
	flow = create(found, &attr, DNS);
	assert_true(strlen(trip_flow_reason(flow)) > 0);
	point.index = 1;
	point.counter_desc = TRIP_COUNTER_BYTES;
	assert_int_equal(trip_counters_attach_point_flow(counters, &point, NULL), -EBUSY);
	assert_int_equal(trip_counters_attach_point_flow(counters, &point, flow), 0);
	/* Whatever it refers to stays. */
	assert_int_equal(trip_cntr_close(cntrs[0]), -EBUSY);
	assert_int_equal(trip_counters_destroy(counters), -EBUSY);
	assert_int_equal(trip_port_close(found), -EBUSY);
	assert_int_equal(trip_domain_close(family_domain), -EBUSY);
	/* It counts, and its counters with it. */
	assert_int_equal(have_received(10), 10);
	assert_int_equal(trip_cntr_wait(cntrs[0], 10, 60000), 0);
	assert_int_equal(trip_cntr_wait(cntrs[1], 10 * PACKET, 60000), 0);
	expect_count(flow, 10, TRIP_FATE_PASS);
	expect_slots(counters, 10, 10 * PACKET);
	/* Deferred work acts on it, and completes (WORK-05). */
	operate(cntrs[0], 12, TRIP_OP_FLOW_DROP, flow, completion);
	assert_int_equal(trip_flow_destroy(flow), -EBUSY);
	assert_int_equal(have_received(5), 5);
	assert_int_equal(trip_cntr_wait(completion, 1, 60000), 0);
	assert_int_equal(have_received(5), 0);
	expect_count(flow, 20, TRIP_FATE_DROP);
	operate(cntrs[0], 0, TRIP_OP_FLOW_DELETE, flow, completion);
	assert_int_equal(trip_cntr_wait(completion, 2, 60000), 0);
	assert_int_equal(have_received(5), 5);
	expect_count(flow, 20, TRIP_FATE_DELETED);
	/* One that fails changes the error value only (CNTR-03). */
	operate(cntrs[0], 0, TRIP_OP_FLOW_DROP, flow, completion);
	family_until(trip_cntr_readerr(completion) == 1);
	assert_int_equal(trip_cntr_read(completion), 2);
	assert_int_equal(trip_flow_retire(flow), 0);
	family_until(trip_flow_destroy(flow) == 0);
	/* Nothing that it has counted is lost. */
	assert_int_equal(trip_cntr_read(cntrs[0]), 20);
	assert_int_equal(trip_cntr_read(cntrs[1]), 20 * PACKET);
	expect_slots(counters, 20, 20 * PACKET);
	assert_int_equal(trip_counters_destroy(counters), 0);
	assert_int_equal(trip_port_close(found), 0);
	assert_int_equal(trip_cntr_close(cntrs[0]), 0);
	assert_int_equal(trip_cntr_close(cntrs[1]), 0);
	assert_int_equal(trip_cntr_close(completion), 0);
	assert_int_equal(trip_domain_close(family_domain), 0);
	family_say(0x7f);
}

static void
serve_packets(const struct family_child *child)
{
	char said;

	while ((said = family_hear(child)) != 0x7f) {
		assert_int_not_equal(said, 0);
		family_tell(child, (char)receive(DNS, (uint16_t)said));
	}
}

static void
open_all(enum trip_progress progress)
{
	const struct trip_domain_attr attr = {.max_process_flows = FLOWS_MAX};

	family_open(progress, &attr);
	start_port();
}

static void
close_all(void)
{
	stop_port();
	if (family_domain->attr.progress == TRIP_PROGRESS_MANUAL) {
		while (trip_progress(family_domain) > 0)
			;
		assert_int_equal(trip_domain_check(family_domain, stdout), 0);
	}
	family_close();
}

static void
work_05_flows(enum trip_progress progress)
{
	struct family_child child;

	open_all(progress);
	child = family_start("flows", 8, NULL);
	serve_packets(&child);
	family_end(&child);
	close_all();
}

static void
work_05_flows_of_a_secondary_by_hand(void **state)
{
	work_05_flows(TRIP_PROGRESS_MANUAL);
}

static void
work_05_flows_of_a_secondary(void **state)
{
	work_05_flows(TRIP_PROGRESS_LCORE);
}

/* ---- refusals ---------------------------------------------------------------------------------
 */

/* The rule is refused here as by the primary: errno, kind, place and words. */
static void
refuse(struct trip_port *found, const struct trip_flow_attr *attr,
	const struct rte_flow_item *items, const struct rte_flow_action *actions, int result,
	enum rte_flow_error_type type, const void *cause, const char *words)
{
	struct rte_flow_error error = {0};
	struct trip_flow *flow;

	assert_int_equal(trip_flow_create(found, attr, items, actions, &flow, &error), result);
	assert_non_null(strstr(error.message, words));
	assert_non_null(strstr(trip_error_message(), words));
	assert_int_equal(error.type, type);
	assert_ptr_equal(error.cause, cause);
}

static void
play_refused(const char *arg)
{
	const struct rte_flow_item_raw raw = {0};
	const struct rte_flow_action_mark mark = {.id = 7};
	struct rte_flow_action actions[] = {{.type = RTE_FLOW_ACTION_TYPE_COUNT},
		{.type = RTE_FLOW_ACTION_TYPE_MARK}, {.type = RTE_FLOW_ACTION_TYPE_END}};
	struct trip_flow_attr attr = {.size = sizeof(attr)};
	struct trip_port *found;
	struct trip_flow *flows[FLOWS_MAX + 1];
	struct pattern pattern;
	struct rte_flow_item items[TRIP_FLOW_WIRE_ITEMS + 2];

	family_attach();
	found = find_port();
	make_pattern(&pattern, DNS);
	pattern.items[2].spec = NULL;
	refuse(found, NULL, pattern.items, NULL, -EINVAL, RTE_FLOW_ERROR_TYPE_ITEM_SPEC,
		&pattern.items[2], "udp: mask or last without spec");
	make_pattern(&pattern, DNS);
	refuse(found, NULL, pattern.items, actions, -EINVAL, RTE_FLOW_ERROR_TYPE_ACTION_CONF,
		&actions[1], "action MARK says no id");
	actions[1].conf = &mark;
	attr.direction = TRIP_FLOW_EGRESS;
	refuse(found, &attr, pattern.items, actions, -EINVAL, RTE_FLOW_ERROR_TYPE_ACTION,
		&actions[1], "not for egress");
	attr.direction = TRIP_FLOW_INGRESS;
	attr.engine = TRIP_ENGINE_HW;
	{
		struct rte_flow_error error;
		struct trip_flow *flow;

		assert_true(trip_flow_create(found, &attr, pattern.items, NULL, &flow, &error) < 0);
		assert_true(strlen(error.message) > 0);
	}
	/* What cannot be asked for. */
	pattern.items[2] = (struct rte_flow_item){.type = RTE_FLOW_ITEM_TYPE_RAW, .spec = &raw};
	refuse(found, NULL, pattern.items, NULL, -ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM,
		&pattern.items[2], "item RAW");
	actions[1].type = RTE_FLOW_ACTION_TYPE_JUMP;
	make_pattern(&pattern, DNS);
	refuse(found, NULL, pattern.items, actions, -ENOTSUP, RTE_FLOW_ERROR_TYPE_ACTION,
		&actions[1], "action JUMP");
	memset(items, 0, sizeof(items));
	for (unsigned int i = 0; i <= TRIP_FLOW_WIRE_ITEMS; i++)
		items[i].type = RTE_FLOW_ITEM_TYPE_VOID;
	refuse(found, NULL, items, NULL, -E2BIG, RTE_FLOW_ERROR_TYPE_UNSPECIFIED,
		&items[TRIP_FLOW_WIRE_ITEMS], "too long");
	/* What a process may have. */
	for (unsigned int i = 0; i < FLOWS_MAX; i++)
		flows[i] = create(found, NULL, (uint16_t)(DNS + i));
	make_pattern(&pattern, 99);
	refuse(found, NULL, pattern.items, NULL, -ENOSPC, RTE_FLOW_ERROR_TYPE_NONE, NULL,
		"has all 6 flows and counters objects");
	assert_int_equal(trip_flow_destroy(flows[0]), 0);
	flows[0] = create(found, NULL, DNS);
	for (unsigned int i = 0; i < FLOWS_MAX; i++)
		assert_int_equal(trip_flow_destroy(flows[i]), 0);
	assert_int_equal(trip_port_close(found), 0);
	assert_int_equal(trip_domain_close(family_domain), 0);
}

static void
what_the_primary_refuses_is_told_in_full(void **state)
{
	struct family_child child;

	open_all(TRIP_PROGRESS_LCORE);
	child = family_start("refused", 8, NULL);
	family_end(&child);
	close_all();
}

/* ---- death ------------------------------------------------------------------------------------
 */

static void
play_holder(const char *arg)
{
	struct trip_flow_attr attr = {.size = sizeof(attr), .n_cntrs = 1};
	struct trip_cntr *theirs, *own;
	struct trip_port *found;
	struct trip_flow *flow;

	family_attach();
	found = find_port();
	(void)find_port();
	theirs = family_find("theirs", TRIP_WAIT_NONE);
	own = family_cntr("own", TRIP_WAIT_NONE);
	assert_int_equal(trip_counters_create(family_domain, NULL, &attr.counters), 0);
	attr.cntrs = &theirs;
	flow = create(found, &attr, DNS);
	operate(own, 1000, TRIP_OP_FLOW_DROP, flow, theirs);
	attr.cntrs = &own;
	(void)create(found, &attr, DNS + 1);
	(void)create(found, NULL, DNS + 2);
	family_say('h');
	for (;;)
		(void)trip_flow_query(flow, &(struct trip_flow_count){0});
}

/* Its flows end, and what they have counted stays where others use that. */
static void
work_07_flows(enum trip_progress progress)
{
	struct trip_cntr *theirs;
	struct family_child child;

	open_all(progress);
	theirs = family_cntr("theirs", TRIP_WAIT_NONE);
	for (unsigned int i = 1; i <= 5; i++) {
		child = family_start("holder", 8, NULL);
		assert_int_equal(family_hear(&child), 'h');
		assert_int_equal(trip_port_close(port), -EBUSY);
		assert_int_equal(trip_cntr_close(theirs), -EBUSY);
		assert_int_equal(receive(DNS, 10), 10);
		family_kill(&child);
		assert_int_equal(receive(DNS, 10), 10);
		assert_int_equal(trip_cntr_read(theirs), 10 * i);
		/* By the item that was never met. */
		assert_int_equal(trip_cntr_readerr(theirs), i);
	}
	assert_int_equal(trip_cntr_close(theirs), 0);
	close_all();
}

static void
work_07_flows_end_with_their_process_by_hand(void **state)
{
	work_07_flows(TRIP_PROGRESS_MANUAL);
}

static void
work_07_flows_end_with_their_process(void **state)
{
	work_07_flows(TRIP_PROGRESS_LCORE);
}

/* ---- garbage ----------------------------------------------------------------------------------
 */

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
	struct pattern pattern;

	family_attach();
	(void)find_port();
	make_pattern(&pattern, DNS);
	for (uint64_t i = 0; i < rounds; i++) {
		unsigned int which = (unsigned int)trip_random_below(
			&random, sizeof(requests) / sizeof(*requests));

		draw(&random, (uint8_t *)&request, requests[which].size);
		if (requests[which].type == TRIP_PROTOCOL_FLOW &&
			trip_random_below(&random, 2) == 0) {
			assert_int_equal(trip_flow_wire_pack(wire, pattern.items, NULL, NULL), 0);
			wire->bytes[trip_random_below(&random, wire->used)] ^=
				(uint8_t)(1u << trip_random_below(&random, 16));
		}
		good += trip_link_call_slow(family_domain, requests[which].type, &request,
				requests[which].size, NULL) == 0;
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

	open_all(TRIP_PROGRESS_LCORE);
	snprintf(seed, sizeof(seed), "%llu", (unsigned long long)trip_test_seed("garbage"));
	child = family_start("garbage", 8, seed);
	family_end(&child);
	close_all();
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
	struct pattern pattern;

	make_pattern(&pattern, DNS);
	memset(&wire, 0, sizeof(wire));
	assert_int_equal(trip_flow_wire_pack(&wire, pattern.items, actions, NULL), 0);
	assert_int_equal(trip_flow_wire_unpack(&wire, &rule), 0);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(rule.items[i].type, pattern.items[i].type);
	assert_memory_equal(rule.items[2].spec, &pattern.spec, sizeof(pattern.spec));
	assert_memory_equal(rule.items[2].mask, &mask_of_udp, sizeof(mask_of_udp));
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
	{"flows", play_flows},
	{"refused", play_refused},
	{"holder", play_holder},
	{"garbage", play_garbage},
	{NULL, NULL},
};

static int
run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_survive_the_wire),
		cmocka_unit_test(work_05_flows_of_a_secondary),
		cmocka_unit_test(work_05_flows_of_a_secondary_by_hand),
		cmocka_unit_test(what_the_primary_refuses_is_told_in_full),
		cmocka_unit_test(work_07_flows_end_with_their_process),
		cmocka_unit_test(work_07_flows_end_with_their_process_by_hand),
		cmocka_unit_test(garbage_is_refused_and_leaves_nothing),
	};

	return family_run(tests);
}

int
main(int argc, char **argv)
{
	family_device = DEVICE;
	return family_main(argc, argv, parts, run);
}

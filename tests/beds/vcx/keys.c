/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys of a statement in hardware, on the unmodified mlx5 driver: a key that is dropped costs no
 * packet of the host, and what its rule has counted is in its table, to the packet; it comes back
 * before its time ends, when it is quiet, and when the port stops; rules come at a rate, and none
 * stays. Run for each engine of the driver.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "harness.h"
#include "vcx_test.h"

#define PORT 0
#define QUEUES 2
#define LENGTH 100
#define LIMIT 20
#define FIRST 1000
#define KEYS 64
#define LONG_US (30 * UINT64_C(86400) * 1000000)

static enum vcx_engine engine;
static struct trip_port *port;
static struct trip_each *each;
static uint64_t sent[KEYS], sent_all, passed, no_rules;

static const struct trip_each_part by_flow[] = {
	{TRIP_EACH_IPV4_DST, 24}, {TRIP_EACH_PROTO, 0}, {TRIP_EACH_L4_DST, 0}};
static const struct trip_each_when limit = {.of = TRIP_EACH_PACKETS, .count = LIMIT};
static const struct trip_each_act for_ever = {.op = TRIP_EACH_OP_DROP};

/* In DV a cache may lag by a second, until it is known that there is none. */
static uint64_t
time_us(void)
{
	return engine == VCX_VERBS ? 1500000 : 8000000;
}

static struct trip_each_attr
attr_of(const struct trip_each_when *when, const struct trip_each_act *act)
{
	return (struct trip_each_attr){.size = sizeof(struct trip_each_attr),
		.name = "victims",
		.ports = &port,
		.n_ports = 1,
		.parts = by_flow,
		.n_parts = 3,
		.max = 1000,
		.idle_us = LONG_US,
		.whens = when,
		.n_whens = 1,
		.acts = act,
		.hardware = KEYS,
		.hardware_changes = 1000};
}

static uint64_t
rules(void)
{
	struct vcx_stats stats;

	assert_int_equal(vcx_stats(PORT, &stats), 0);
	return stats.rules;
}

static void
open_port(void)
{
	const struct trip_domain_attr tune = {
		.max_flows = 2 * KEYS, .each_bytes = 8 << 20, .max_queues = 4};
	const struct trip_port_attr attr = {.size = sizeof(attr), .mode = TRIP_PORT_CALLBACK};

	memset(sent, 0, sizeof(sent));
	sent_all = passed = 0;
	no_rules = rules();
	harness_open(1, &tune);
	if (trip_port_open(harness_domain, PORT, &attr, &port) != 0)
		fail_msg("%s", trip_error_message());
}

static void
open_each(const struct trip_each_attr *attr)
{
	if (trip_each_open(harness_domain, attr, &each) != 0)
		fail_msg("%s", trip_error_message());
}

static void
open_all(const struct trip_each_when *when, const struct trip_each_act *act)
{
	const struct trip_each_attr attr = attr_of(when, act);

	open_port();
	open_each(&attr);
}

/* Nothing is left in hardware, whatever was there. */
static void
close_all(void)
{
	if (trip_each_close(each) != 0 || trip_port_close(port) != 0)
		fail_msg("%s", trip_error_message());
	assert_int_equal(rules(), no_rules);
	harness_close();
}

static void
poll_all(void)
{
	for (uint16_t q = 0; q < QUEUES; q++)
		passed += vcx_test_receive(PORT, q, NULL);
	harness_step();
}

/* From as many sources, so that both queues have them; how many of them a rule has dropped. */
static uint64_t
send_packets(unsigned int key, uint64_t n)
{
	uint64_t dropped = 0;

	for (uint64_t i = 0; i < n; i++) {
		struct vcx_injected result;
		uint8_t packet[LENGTH];

		vcx_test_packet(
			packet, sizeof(packet), (uint16_t)(1 + i % 50), (uint16_t)(FIRST + key), 0);
		assert_int_equal(vcx_inject(PORT, packet, sizeof(packet), 1, true, &result), 0);
		assert_int_equal(result.delivered + result.dropped, 1);
		dropped += result.dropped;
		if (i % 32 == 31)
			poll_all();
	}
	poll_all();
	sent[key] += n;
	sent_all += n;
	return dropped;
}

static struct trip_each_info
info_of(void)
{
	struct trip_each_info info = {.size = sizeof(info)};

	assert_int_equal(trip_each_query(each, &info), 0);
	return info;
}

static struct trip_each_entry
entry_of(unsigned int key)
{
	struct trip_each_entry entry = {.size = sizeof(entry)};
	const uint16_t number = (uint16_t)(FIRST + key);
	const uint8_t bytes[] = {10, 0, 0, 0, 17, (uint8_t)(number >> 8), (uint8_t)number};

	if (trip_each_read(each, bytes, &entry) != 0)
		fail_msg("%s", trip_error_message());
	return entry;
}

static bool
is_in(unsigned int key)
{
	return entry_of(key).hardware_ns != 0;
}

/* Sends until it is. */
static bool
goes_in(unsigned int key)
{
	(void)send_packets(key, LIMIT);
	return is_in(key);
}

/* EACH-03: what tables have, and what has been read of rules, is what was sent. */
static bool
has_all(void)
{
	struct trip_each_info info = info_of();

	poll_all();
	return info.coming_packets == 0 && info.packets == sent_all &&
	       info.bytes == sent_all * LENGTH;
}

static void
check_all(void)
{
	struct trip_each_info info;

	harness_until(has_all());
	info = info_of();
	assert_int_equal(info.dropped_packets, sent_all - passed);
	assert_int_equal(info.remainder_packets, 0);
	for (unsigned int key = 0; key < KEYS; key++) {
		struct trip_each_entry entry;

		if (sent[key] == 0)
			continue;
		entry = entry_of(key);
		assert_int_equal(entry.packets, sent[key]);
		assert_int_equal(entry.bytes, sent[key] * LENGTH);
	}
}

/* ---- tests ------------------------------------------------------------------------------------
 */

static void
keys_in_hardware_cost_no_packet(void **state)
{
	struct trip_each_entry entry;

	open_all(&limit, &for_ever);
	(void)send_packets(1, LIMIT - 1);
	harness_until(goes_in(0));
	/* From here on software sees none of them. */
	assert_int_equal(send_packets(0, 500), 500);
	assert_int_equal(send_packets(1, 1), 0);
	check_all();
	assert_int_equal(passed, 2 * LIMIT);
	entry = entry_of(0);
	trip_assert_range(entry.hardware_packets, 500, sent[0] - LIMIT);
	assert_int_equal(entry.hardware_bytes, entry.hardware_packets * LENGTH);
	assert_int_equal(info_of().hardware_packets, entry.hardware_packets);
	assert_int_equal(info_of().hardware_keys, 1);
	assert_int_equal(entry_of(1).hardware_ns, 0);
	close_all();
}

/* A key goes in, and comes back, and no packet is counted twice. */
static void
keys_come_back_as_their_time_ends(void **state)
{
	const struct trip_each_act act = {.op = TRIP_EACH_OP_DROP, .time_us = time_us()};
	struct trip_each_trip trips[2];
	uint64_t was_in = 0;

	open_all(&limit, &act);
	do
		was_in += send_packets(0, 8);
	while (trip_each_trips(each, 0, trips, sizeof(trips[0]), 2) < 2);
	assert_true(was_in > 0);
	assert_int_equal(trips[1].flags, TRIP_EACH_TRIP_END);
	assert_true(trips[1].ns - trips[0].ns >= act.time_us * 1000);
	/* Once, whatever kept its rule. */
	harness_until(rules() == no_rules);
	assert_int_equal(info_of().hardware_keys, 0);
	assert_int_equal(info_of().rule_changes, engine == VCX_VERBS ? 4 : 2);
	assert_int_equal(send_packets(0, 1), 0);
	check_all();
	close_all();
}

/* What a rule drops while it ends is counted, however long the device takes over it. */
static void
keys_come_back_slowly(void **state)
{
	const struct trip_each_act act = {.op = TRIP_EACH_OP_DROP, .time_us = time_us()};
	struct trip_each_trip trips[2];

	open_all(&limit, &act);
	harness_until(goes_in(0));
	assert_int_equal(vcx_latency(PORT, VCX_RULE_DESTROY, 100000), 0);
	harness_until((send_packets(0, 8), rules() == no_rules));
	assert_int_equal(vcx_latency(PORT, VCX_RULE_DESTROY, 0), 0);
	while (trip_each_trips(each, 0, trips, sizeof(trips[0]), 2) < 2)
		(void)send_packets(0, 8);
	check_all();
	close_all();
}

/* What hardware counts prolongs a hold that ends with the rate. */
static void
keys_stay_as_long_as_hardware_counts_their_rate(void **state)
{
	const struct trip_each_when when = {.of = TRIP_EACH_PACKETS, .rate = 100, .burst = 10};
	const struct trip_each_act act = {.op = TRIP_EACH_OP_DROP, .time_us = time_us()};
	uint64_t until;

	open_all(&when, &act);
	harness_until(goes_in(0));
	until = entry_of(0).until_ns;
	while (entry_of(0).until_ns < until + act.time_us * 1000) {
		assert_int_equal(send_packets(0, 8), 8);
		assert_true(is_in(0));
	}
	/* And not when it counts no more. */
	harness_until((poll_all(), !is_in(0)));
	harness_until((poll_all(), entry_of(0).op == TRIP_EACH_OP_NONE));
	check_all();
	close_all();
}

/* So does an end that says how little is to come. */
static void
keys_stay_until_little_comes_in_hardware(void **state)
{
	const struct trip_each_when when = {.of = TRIP_EACH_PACKETS, .rate = 100, .burst = 10};
	const struct trip_each_act act = {
		.op = TRIP_EACH_OP_DROP, .until_count = 5, .until_us = time_us()};
	uint64_t until;

	open_all(&when, &act);
	harness_until(goes_in(0));
	until = entry_of(0).until_ns;
	while (entry_of(0).until_ns < until + act.until_us * 1000) {
		assert_int_equal(send_packets(0, 8), 8);
		assert_true(is_in(0));
	}
	harness_until((poll_all(), entry_of(0).op == TRIP_EACH_OP_NONE));
	assert_int_equal(info_of().hardware_keys, 0);
	check_all();
	close_all();
}

static void
keys_that_are_quiet_come_back(void **state)
{
	struct trip_each_attr attr = attr_of(&limit, &for_ever);
	uint64_t dropped;

	attr.idle_us = engine == VCX_BULK ? 3000000 : 300000;
	open_port();
	open_each(&attr);
	harness_until(goes_in(0));
	harness_until((poll_all(), !is_in(0)));
	harness_until((poll_all(), rules() == no_rules));
	/* It is held for ever, so it goes again once it comes. */
	dropped = info_of().dropped_packets;
	assert_int_equal(send_packets(0, 1), 0);
	assert_int_equal(info_of().dropped_packets, dropped + 1);
	harness_until(goes_in(0));
	check_all();
	close_all();
}

/* Sends without a pause, until its rule was read so many times with more, or has gone. Returns the
 * longest that it was itself not running, in microseconds. */
static uint64_t
flood(unsigned int readings)
{
	uint64_t last = rte_rdtsc(), longest = 0, packets = entry_of(0).hardware_packets;

	while (readings > 0 && is_in(0)) {
		uint64_t now = rte_rdtsc(), read;

		longest = RTE_MAX(longest, now - last);
		last = now;
		(void)send_packets(0, 8);
		read = entry_of(0).hardware_packets;
		readings -= read != packets;
		packets = read;
	}
	return longest * 1000000 / rte_get_tsc_hz();
}

/* Counters that lag by more than the statement's time are no reason to go. */
static void
keys_that_come_stay_in(void **state)
{
	struct trip_each_attr attr = attr_of(&limit, &for_ever);
	uint64_t paused_us;

	attr.idle_us = 800000;
	open_port();
	open_each(&attr);
	do {
		harness_until(goes_in(0));
		paused_us = flood(engine == VCX_VERBS ? 100 : 4);
	} while (!is_in(0) && paused_us > attr.idle_us / 4);
	assert_true(is_in(0));
	check_all();
	close_all();
}

static bool
all_go_in(unsigned int n)
{
	for (unsigned int key = 0; key < n; key++)
		(void)send_packets(key, 2);
	return info_of().hardware_keys == n;
}

/* The rules that come and go in a time are as many as that says, and one for each tick. */
static void
keys_go_in_at_a_rate(void **state)
{
	struct trip_each_attr attr = attr_of(&limit, &for_ever);
	uint64_t began, most, changes = 0;

	attr.hardware_changes = 25;
	open_port();
	began = rte_rdtsc();
	open_each(&attr);
	for (unsigned int key = 0; key < 40; key++)
		(void)send_packets(key, LIMIT + 1);
	while (!all_go_in(40)) {
		struct trip_each_info info = info_of();

		most = 1 + 25 * (rte_rdtsc() - began) / rte_get_tsc_hz();
		assert_true(info.rule_changes >= changes && info.rule_changes <= most);
		changes = info.rule_changes;
		assert_true(info.hardware_keys + info.hardware_waiting <= 40);
	}
	check_all();
	close_all();
}

/* No more than there is room for; then one of which something comes, and none of the others. */
static void
keys_that_still_come_go_in(void **state)
{
	struct trip_each_attr attr = attr_of(&limit, &for_ever);

	attr.hardware = 1;
	attr.idle_us = engine == VCX_VERBS ? 300000 : 3000000;
	open_port();
	open_each(&attr);
	harness_until(goes_in(0));
	for (unsigned int key = 1; key < 4; key++)
		(void)send_packets(key, LIMIT + 1);
	harness_until((send_packets(0, 2), send_packets(2, 2), info_of().hardware_waiting == 1));
	assert_true(is_in(0) && info_of().hardware_keys == 1);
	/* As nothing comes of the first. */
	harness_until((send_packets(2, 2), is_in(2)));
	assert_int_equal(info_of().hardware_keys, 1);
	/* In one table or the other, what is not held there has been idle. */
	harness_until(has_all());
	close_all();
}

/* What the driver refuses software drops, and it is asked again. */
static void
keys_that_are_refused_stay_in_software(void **state)
{
	open_all(&limit, &for_ever);
	assert_int_equal(vcx_fail(PORT, VCX_RULE_CREATE, 0, 1000000, ENOMEM), 0);
	harness_until((send_packets(0, 8), info_of().rules_failed > 0));
	assert_int_equal(send_packets(0, 100), 0);
	assert_int_equal(passed, LIMIT);
	assert_int_equal(info_of().hardware_keys, 0);
	assert_int_equal(vcx_fail(PORT, VCX_RULE_CREATE, 0, 0, 0), 0);
	harness_until(goes_in(0));
	check_all();
	close_all();
}

/* Rules that go with the stop have counted what they did; the keys are dropped all the time. */
static void
keys_outlive_a_stop_of_the_port(void **state)
{
	open_all(&limit, &for_ever);
	harness_until(goes_in(0));
	(void)send_packets(0, 100);
	harness_until(has_all());
	assert_int_equal(trip_port_stopping(port), 0);
	assert_int_equal(rte_eth_dev_stop(PORT), 0);
	assert_int_equal(rte_eth_dev_start(PORT), 0);
	assert_int_equal(trip_port_started(port), 0);
	harness_until((poll_all(), !is_in(0)));
	harness_until(goes_in(0));
	(void)send_packets(0, 100);
	check_all();
	assert_int_equal(passed, LIMIT);
	close_all();
}

/* After that the tables have all, and nothing goes in. */
static void
keys_settle(void **state)
{
	const struct trip_each_attr attr = attr_of(&limit, &for_ever);
	struct trip_each_info info;

	open_port();
	open_each(&attr);
	harness_until(goes_in(0));
	(void)send_packets(0, 300);
	/* Who polls is the test itself. */
	assert_int_equal(trip_each_settle(each), -ETIMEDOUT);
	poll_all();
	assert_int_equal(trip_each_settle(each), 0);
	info = info_of();
	assert_int_equal(info.packets, sent_all);
	assert_int_equal(info.coming_packets, 0);
	assert_int_equal(info.hardware_keys, 0);
	assert_int_equal(rules(), no_rules);
	assert_int_equal(send_packets(0, 8), 0);
	assert_int_equal(passed, LIMIT);
	close_all();
}

/* ---- what stands against it -------------------------------------------------------------------
 */

static void
expect_refusal(const struct trip_each_attr *attr, int error, const char *words)
{
	assert_int_equal(trip_each_open(harness_domain, attr, &each), error);
	if (strstr(trip_error_message(), words) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", trip_error_message(), words);
}

static int
create_flow(struct trip_flow **flow)
{
	static const struct rte_flow_item pattern[] = {
		{.type = RTE_FLOW_ITEM_TYPE_ETH}, {.type = RTE_FLOW_ITEM_TYPE_END}};
	const struct trip_flow_attr attr = {sizeof(attr), .engine = TRIP_FLOW_ENGINE_SW};

	return trip_flow_create(port, &attr, pattern, NULL, flow, NULL);
}

static void
keys_in_hardware_have_the_port_for_themselves(void **state)
{
	struct trip_each_attr attr = attr_of(&limit, &for_ever), other = attr;
	struct trip_each *beside;
	struct trip_flow *flow;

	other.name = "others";
	other.hardware = other.hardware_changes = 0;
	open_port();
	assert_int_equal(create_flow(&flow), 0);
	expect_refusal(&attr, -EBUSY, "1 flows and 0 statements on port 0");
	assert_int_equal(trip_flow_destroy(flow), 0);
	assert_int_equal(trip_each_open(harness_domain, &other, &beside), 0);
	expect_refusal(&attr, -EBUSY, "0 flows and 1 statements on port 0");
	assert_int_equal(trip_each_close(beside), 0);
	open_each(&attr);
	assert_int_equal(create_flow(&flow), -EBUSY);
	assert_non_null(strstr(trip_error_message(), "each \"victims\" has port 0 for itself"));
	assert_int_equal(trip_each_open(harness_domain, &other, &beside), -EBUSY);
	close_all();
}

static void
keys_that_no_rule_has_are_refused(void **state)
{
	static const struct trip_each_part ports[] = {
		{TRIP_EACH_IPV4_SRC, 0}, {TRIP_EACH_L4_DST, 0}};
	static const struct trip_each_part proto[] = {{TRIP_EACH_PROTO, 0}};
	static const struct trip_each_part vni[] = {{TRIP_EACH_VXLAN_VNI, 0}};
	const struct trip_each_act reset = {.op = TRIP_EACH_OP_RESET};
	const struct trip_each_attr good = attr_of(&limit, &for_ever);
	struct trip_each_attr attr = good;

	open_port();
	attr.parts = ports;
	attr.n_parts = 2;
	expect_refusal(&attr, -ENOTSUP, "ports without an address and proto");
	attr.parts = proto;
	attr.n_parts = 1;
	expect_refusal(&attr, -ENOTSUP, "proto without an address");
	attr.parts = vni;
	expect_refusal(&attr, -ENOTSUP, "tunnels");
	attr = good;
	attr.acts = NULL;
	expect_refusal(&attr, -ENOTSUP, "no condition that drops");
	attr.acts = &reset;
	expect_refusal(&attr, -ENOTSUP, "begins anew");
	attr = good;
	attr.hardware = TRIP_EACH_HARDWARE_MAX + 1;
	expect_refusal(&attr, -EINVAL, "hardware 4097 is not in 1 to 4096");
	attr.hardware = 0;
	expect_refusal(&attr, -EINVAL, "hardware 0");
	open_each(&good);
	close_all();
}

/* A device that goes takes its rules; what they had counted by the last reading is there. */
static void
keys_of_a_device_that_is_removed(void **state)
{
	open_all(&limit, &for_ever);
	harness_until(goes_in(0));
	(void)send_packets(0, 50);
	check_all();
	assert_int_equal(vcx_remove(PORT), 0);
	harness_until((poll_all(), !is_in(0)));
	assert_int_equal(info_of().packets, sent_all);
	if (trip_each_close(each) != 0 || trip_port_close(port) != 0)
		fail_msg("%s", trip_error_message());
	harness_close();
}

int
main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_in_hardware_cost_no_packet),
		cmocka_unit_test(keys_come_back_as_their_time_ends),
		cmocka_unit_test(keys_come_back_slowly),
		cmocka_unit_test(keys_stay_as_long_as_hardware_counts_their_rate),
		cmocka_unit_test(keys_stay_until_little_comes_in_hardware),
		cmocka_unit_test(keys_that_are_quiet_come_back),
		cmocka_unit_test(keys_that_come_stay_in),
		cmocka_unit_test(keys_go_in_at_a_rate),
		cmocka_unit_test(keys_that_still_come_go_in),
		cmocka_unit_test(keys_that_are_refused_stay_in_software),
		cmocka_unit_test(keys_outlive_a_stop_of_the_port),
		cmocka_unit_test(keys_settle),
		cmocka_unit_test(keys_in_hardware_have_the_port_for_themselves),
		cmocka_unit_test(keys_that_no_rule_has_are_refused),
		cmocka_unit_test(keys_of_a_device_that_is_removed),
	};
	int result;

	engine = vcx_test_engine(argv[1]);
	if (argc == 3)
		cmocka_set_test_filter(argv[2]);
	result = vcx_test_init(engine, 1);
	if (result != 0)
		return result;
	harness_mode = TRIP_PROGRESS_MANUAL;
	harness_seed = trip_test_seed(argv[1]);
	vcx_test_start(PORT, QUEUES, false);
	result = cmocka_run_group_tests(tests, NULL, NULL);
	if (result == 0)
		vcx_test_fini();
	return result;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* What is counted by keys, as whoever is let in by the socket sees it. */
#include <errno.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_udp.h>

#include "domain/domain.h"
#include "primary/list.h"
#include "socket_bed.h"

static struct trip_port *port;
static struct rte_mempool *pool;

struct frame {
	struct rte_ether_hdr ether;
	struct rte_ipv4_hdr ip;
	struct rte_udp_hdr udp;
	uint8_t more[18];
} __attribute__((packed, aligned(2)));

static void
send_to(uint16_t udp_port, unsigned int n)
{
	for (; n > 0; n--) {
		struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);
		struct frame *frame;

		assert_non_null(mbuf);
		frame = (void *)rte_pktmbuf_append(mbuf, sizeof(*frame));
		memset(frame, 0, sizeof(*frame));
		frame->ether.ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV4);
		frame->ip.version_ihl = 0x45;
		frame->ip.total_length = RTE_BE16(46);
		frame->ip.next_proto_id = IPPROTO_UDP;
		frame->ip.src_addr = RTE_BE32(0x0a010203);
		frame->udp.dst_port = rte_cpu_to_be_16(udp_port);
		assert_int_equal(trip_port_burst(port, 0, &mbuf, 1), 1);
		rte_pktmbuf_free(mbuf);
	}
}

static struct trip_each *
open_each(const char *name, const struct trip_each_part *parts, uint32_t n_parts)
{
	const struct trip_each_attr attr = {.size = sizeof(attr),
		.name = name,
		.ports = &port,
		.n_ports = 1,
		.parts = parts,
		.n_parts = n_parts,
		.max = 200,
		.idle_us = UINT64_C(3600) * 1000000};
	struct trip_each *each;

	if (trip_each_open(socket_domain, &attr, &each) != 0)
		fail_msg("%s", trip_error_message());
	return each;
}

static int
open_bed(void **state)
{
	socket_each_bytes = 1 << 20;
	socket_open(state);
	port = socket_open_port();
	pool = rte_mempool_lookup("socket");
	return 0;
}

static int
close_bed(void **state)
{
	assert_int_equal(trip_port_close(port), 0);
	rte_eth_dev_stop(0);
	rte_mempool_free(pool);
	return socket_close(state);
}

static int
top_of(const char *name, uint32_t rank, struct trip_client_key *keys, uint32_t count)
{
	return trip_client_top(socket_client, name, rank, keys, sizeof(*keys), count);
}

static void
statements_are_listed(void **state)
{
	static const struct trip_each_part parts[] = {
		{TRIP_EACH_IPV4_SRC, 24}, {TRIP_EACH_L4_DST, 0}};
	struct trip_each *one = open_each("one", parts, 2), *two = open_each("two", parts, 1);
	struct trip_client_each seen[3];
	uint64_t cursor = 0;

	send_to(53, 5);
	send_to(80, 2);
	assert_int_equal(
		trip_client_list(socket_client, TRIP_CLIENT_EACH, &cursor, seen, sizeof(*seen), 3),
		2);
	assert_string_equal(seen[0].name, "one");
	assert_string_equal(seen[0].fields, "ipv4.src/24,l4.dst");
	assert_string_equal(seen[1].fields, "ipv4.src/24");
	assert_int_equal(seen[0].packets, 7);
	assert_int_equal(seen[0].bytes, 7 * sizeof(struct frame));
	assert_int_equal(seen[0].keys, 2);
	assert_int_equal(seen[1].keys, 1);
	assert_int_equal(seen[0].max, 200);
	assert_int_equal(seen[0].tables, 1);
	assert_int_equal(
		trip_client_list(socket_client, TRIP_CLIENT_EACH, &cursor, seen, sizeof(*seen), 3),
		0);
	assert_int_equal(trip_each_close(one), 0);
	cursor = 0;
	assert_int_equal(
		trip_client_list(socket_client, TRIP_CLIENT_EACH, &cursor, seen, sizeof(*seen), 3),
		1);
	assert_string_equal(seen[0].name, "two");
	assert_int_equal(trip_each_close(two), 0);
}

static void
keys_with_most_are_found(void **state)
{
	static const struct trip_each_part part = {TRIP_EACH_L4_DST, 0};
	struct trip_each *each = open_each("ports", &part, 1);
	struct trip_client_key keys[TRIP_CLIENT_TOP_MAX + 1];
	_Alignas(uint64_t) unsigned char some[sizeof(keys[0]) + 16];

	assert_int_equal(top_of("ports", TRIP_EACH_PACKETS, keys, 3), 0);
	for (uint16_t i = 1; i <= 150; i++)
		send_to(i, i == 7 ? 90 : 1 + i % 3);
	/* However short the first look was, another may follow at once. */
	while (top_of("ports", TRIP_EACH_PACKETS, keys, 1) == 0)
		;
	assert_int_equal(
		top_of("ports", TRIP_EACH_BYTES, keys, RTE_DIM(keys)), TRIP_CLIENT_TOP_MAX);
	assert_string_equal(keys[0].key, "7");
	assert_int_equal(keys[0].packets, 90);
	assert_int_equal(keys[0].bytes, 90 * sizeof(struct frame));
	assert_int_equal(keys[0].error, 0);
	assert_int_equal(keys[0].tables, 1);
	assert_int_equal(keys[1].packets, 3);
	/* 50 have three, and 49 two. */
	assert_int_equal(keys[50].packets, 3);
	assert_int_equal(keys[51].packets, 2);
	for (size_t size = 0; size <= sizeof(some); size += 4) {
		int got = trip_client_top(socket_client, "ports", 0, (void *)some, size, 1);

		if (size < sizeof(size_t) || size > sizeof(keys[0]) || size % sizeof(size_t) != 0)
			assert_int_equal(got, -EINVAL);
		else
			assert_int_equal(got, 1);
	}
	assert_int_equal(trip_each_close(each), 0);
	assert_int_equal(top_of("ports", 0, keys, 1), -ENOENT);
	assert_non_null(strstr(trip_error_message(), "\"ports\""));
}

static void
what_is_no_question_is_refused(void **state)
{
	static const struct trip_each_part part = {TRIP_EACH_L4_DST, 0};
	struct trip_each *each = open_each("ports", &part, 1);
	struct trip_client_key key;
	char name[64];

	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	assert_int_equal(top_of("ports", 2, &key, 1), -EINVAL);
	assert_int_equal(top_of("ports", 0, &key, 0), -EINVAL);
	assert_int_equal(top_of(name, 0, &key, 1), -EINVAL);
	assert_int_equal(top_of("no name", 0, &key, 1), -EINVAL);
	assert_int_equal(top_of("port", 0, &key, 1), -ENOENT);
	/* Whatever changes them may take its time. */
	pthread_mutex_lock(&socket_domain->control);
	assert_int_equal(top_of("ports", 0, &key, 1), -EAGAIN);
	pthread_mutex_unlock(&socket_domain->control);
	assert_int_equal(top_of("ports", 0, &key, 1), 0);
	assert_int_equal(trip_each_close(each), 0);
}

/* One that took long is not made again at once, whoever asks. */
static void
a_long_look_is_rare(void **state)
{
	static const struct trip_each_part part = {TRIP_EACH_L4_DST, 0};
	struct trip_each *each = open_each("ports", &part, 1);
	struct trip_client_key key;
	struct trip_list_top *top;

	send_to(53, 1);
	assert_int_equal(top_of("ports", 0, &key, 1), 1);
	assert_int_equal(key.packets, 1);
	/* The control thread has answered, and looks at it with the next request. */
	top = socket_domain->server->tops[0][TRIP_EACH_PACKETS];
	top->took_ns = UINT64_MAX / 16;
	send_to(53, 1);
	assert_int_equal(top_of("ports", 0, &key, 1), 1);
	assert_int_equal(key.packets, 1);
	/* By bytes it has not been looked at. */
	assert_int_equal(top_of("ports", TRIP_EACH_BYTES, &key, 1), 1);
	assert_int_equal(key.packets, 2);
	top->took_ns = 0;
	assert_int_equal(top_of("ports", 0, &key, 1), 1);
	assert_int_equal(key.packets, 2);
	/* Nor is what was found of one the answer of another, be that as the first was. */
	top->took_ns = UINT64_MAX / 16;
	assert_int_equal(trip_each_close(each), 0);
	each = open_each("ports", &part, 1);
	assert_int_equal(top_of("ports", 0, &key, 1), 0);
	top->took_ns = UINT64_MAX / 16;
	assert_int_equal(trip_each_close(each), 0);
	each = open_each("other", &part, 1);
	assert_int_equal(top_of("other", 0, &key, 1), 0);
	assert_int_equal(trip_each_close(each), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_bed, close_bed)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(statements_are_listed),
		TEST(keys_with_most_are_found),
		TEST(what_is_no_question_is_refused),
		TEST(a_long_look_is_rare),
	};

	socket_device = "net_ring0";
	return socket_run(tests);
}

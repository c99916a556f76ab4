/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets for tests of counted flows: UDP over IPv4, told apart by their destination port. The same
 * tests run on each engine: traffic.c has the software engine on a port of rings, traffic_vcx.c
 * the mlx5 driver on a virtual ConnectX, with rules in its hardware; traffic_flow.c has what both
 * share.
 */
#ifndef TRIP_TRAFFIC_H
#define TRIP_TRAFFIC_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_flow.h>
#include <rte_mbuf.h>

#include <trip.h>
#include <trip_test.h>

/* A port whose Tx queue n is its own Rx queue n. */
#define TRAFFIC_VDEV "net_ring0"
#define TRAFFIC_BURST_MAX 1024

/* Configures the port with so many queues and starts it; returns its id. */
uint16_t traffic_start(uint16_t n_queues);
void traffic_stop(void);

/* Starts the port and gives it to the domain of the test; and the other way round. */
struct trip_port *traffic_open(uint16_t n_queues, const struct trip_port_attr *attr);
void traffic_close(struct trip_port *port);

/* Fills in n packets to this UDP port, of so many bytes each, 64 at least. Software only. */
void traffic_make(struct rte_mbuf **pkts, uint16_t n, uint16_t udp_port, uint16_t bytes);

/* Hands n of them to trip_port_burst(), or to the card; returns how many it left, which are freed.
 */
uint16_t traffic_burst(
	struct trip_port *port, uint16_t queue, uint16_t n, uint16_t udp_port, uint16_t bytes);

/* Sends n of them through the port, at most 512; returns how many come in, which are freed. */
uint16_t traffic_loop(uint16_t queue, uint16_t n, uint16_t udp_port, uint16_t bytes);

/* A pattern of packets to this UDP port; it stays valid until the next call. */
const struct rte_flow_item *traffic_pattern(uint16_t udp_port);

/* A flow of them in the engine of the program; `attr` may be NULL. Ends the test where it fails. */
struct trip_flow *traffic_flow(
	struct trip_port *port, const struct trip_flow_attr *attr, uint16_t udp_port);
void traffic_flow_destroy(struct trip_flow *flow);

/* A statement of these keys on that port, of packets to this UDP port, 0: of all; it is opened in
 * the primary. Ends the test where that fails. */
struct trip_each *traffic_each(
	struct trip_port *port, const struct trip_each_attr *attr, uint16_t udp_port);
void traffic_each_close(struct trip_each *each);
struct trip_each_info traffic_each_query(const struct trip_each *each);

/* What has been sent is counted in all flows of traffic_flow(), and what came of that is done. */
void traffic_settle(void);

/* --- the engine --- */

/* TRIP_FLOW_ENGINE_SW or TRIP_FLOW_ENGINE_HW. */
enum trip_flow_engine traffic_engine(void);
/* What has been sent shows a second later, or two. */
bool traffic_is_late(void);
/* Until it shows, if a flow is asked then; at once where it is not late. */
void traffic_wait(void);
/* So many rounds of a test in software; fewer where each takes longer. */
uint64_t traffic_rounds(uint64_t rounds);
/* Skips the test in hardware, and says why. */
void traffic_only_soft(const char *reason);

/* main() of a program whose tests run on each engine. */
int traffic_main(int argc, char **argv, const struct CMUnitTest *tests, size_t n);

#define TRAFFIC_MAIN(tests)                                                             \
	int main(int argc, char **argv)                                                 \
	{                                                                               \
		return traffic_main(argc, argv, tests, sizeof(tests) / sizeof(*tests)); \
	}

#endif

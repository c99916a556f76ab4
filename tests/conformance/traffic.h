/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets for tests of counted flows: UDP over IPv4, told apart by their destination port. */
#ifndef TRIP_TRAFFIC_H
#define TRIP_TRAFFIC_H

#include <stdint.h>

#include <rte_flow.h>
#include <rte_mbuf.h>

#include <trip.h>

/* What the EAL is started with: a port whose Tx queue n is its own Rx queue n. */
#define TRAFFIC_VDEV "net_ring0"
#define TRAFFIC_BURST_MAX 1024

/* Configures the port with so many queues and starts it; returns its id. */
uint16_t traffic_start(uint16_t n_queues);
void traffic_stop(void);

/* Fills in n packets to this UDP port, of so many bytes each, 64 at least. */
void traffic_make(struct rte_mbuf **pkts, uint16_t n, uint16_t udp_port, uint16_t bytes);

/* Hands n of them to trip_port_burst(); returns how many it left, which are freed. */
uint16_t traffic_burst(
	struct trip_port *port, uint16_t queue, uint16_t n, uint16_t udp_port, uint16_t bytes);

/* Sends n of them through the port, at most 512; returns how many come in, which are freed. */
uint16_t traffic_loop(uint16_t queue, uint16_t n, uint16_t udp_port, uint16_t bytes);

/* A pattern of packets to this UDP port; it stays valid until the next call. */
const struct rte_flow_item *traffic_pattern(uint16_t udp_port);

#endif

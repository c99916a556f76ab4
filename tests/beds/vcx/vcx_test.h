/* SPDX-License-Identifier: BSD-3-Clause */
/* What tests on the virtual ConnectX share: an EAL with its ports, rules that count, packets,
 * queries. A test that needs more of rte_flow or ethdev calls it directly. */
#ifndef VCX_TEST_H
#define VCX_TEST_H

#include <stdbool.h>
#include <stdint.h>
#include <rte_ethdev.h>
#include <rte_flow.h>
#include "vcx.h"

/* How the driver programs the device; its devargs follow from it. */
enum vcx_engine {
	VCX_VERBS,    /* dv_flow_en=0: a query asks the device */
	VCX_BULK,     /* dv_flow_en=1: a query reads what an alarm fetches in bulk */
	VCX_FALLBACK, /* dv_flow_en=1 on a device without bulks: a query asks the device */
	VCX_HWS,      /* dv_flow_en=2: no rule can be made */
};

/* From "verbs", "bulk", "fallback", "hws"; exits with a message where it is none of them. */
enum vcx_engine vcx_test_engine(const char *name);

/* Starts EAL without hugepages with `ports` ports of the device, on lcores that share CPUs. Returns
 * 0, or 77 after printing why it cannot run here: no right to make a tap, or a DPDK without the
 * driver. */
int vcx_test_init(enum vcx_engine engine, unsigned ports);

/* Configures and starts a port, isolated (no rule but the test's) or with the driver's default
 * rules. */
void vcx_test_start(uint16_t port, uint16_t queues, bool isolated);

/* Closes all ports and cleans EAL up; every mbuf must be back. */
void vcx_test_fini(void);

/* The queues of the fate: one, RSS over all, or none for DROP. */
enum vcx_fate {
	VCX_FATE_QUEUE,
	VCX_FATE_RSS,
	VCX_FATE_DROP,
};

/* The Toeplitz key of VCX_FATE_RSS, over addresses and ports. */
extern const uint8_t vcx_test_rss_key[40];

/* A rule for UDP over IPv4 to this destination port: COUNT and a fate. NULL and an error, as
 * rte_flow_create(). */
struct rte_flow *vcx_test_rule(uint16_t port, uint16_t udp_port, enum vcx_fate fate, uint16_t queue,
	struct rte_flow_error *error);

/* Packets and bytes of a rule; 0 or a negative errno. */
int vcx_test_query(uint16_t port, struct rte_flow *flow, uint64_t *packets, uint64_t *bytes);

/* Does the rule tell these packets and bytes? At once where a query asks the device; in bulk, after
 * as many answers of the device as two rounds of all bulks take. Prints what it told otherwise. */
bool vcx_test_told(uint16_t port, struct rte_flow *flow, uint64_t packets, uint64_t bytes);

/* Waits, without a limit, until the device has been asked for this many bulks more. */
void vcx_test_bulks(uint16_t port, uint64_t bulks);

/* An Ethernet/IPv4/UDP packet of `length` bytes (at least 42) with this source and destination
 * port, whose payload ends in `number`. */
void vcx_test_packet(uint8_t *packet, size_t length, uint16_t from, uint16_t to, uint32_t number);

/* Takes what the queue has now; frees it. Adds to the bytes where not NULL. */
uint64_t vcx_test_receive(uint16_t port, uint16_t queue, uint64_t *bytes);

#endif

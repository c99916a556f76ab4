/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A port's rte_flow, played by the test: the calls of rte_flow are defined here, ahead of DPDK's,
 * and the driver's name, its device arguments and its packet count are the test's to say. Nothing
 * happens by itself: packets arrive, caches are refreshed and calls return when the test says so.
 *
 * Rules match by the destination port of their UDP item, and its mask. Handles are never used
 * twice, and the use of one that is dead, or of a port's rules by two threads, ends the test.
 */
#ifndef TRIP_FAKE_NIC_H
#define TRIP_FAKE_NIC_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_ethdev.h>

/* What the test makes of it. All zero: counters are direct, and read from the device. */
struct fake_nic {
	/* NULL: as it is. */
	const char *driver;
	const char *devargs;
	/* COUNT can be shared; queries read a cache, which fake_nic_refresh() fills. */
	bool shared;
	bool cached;
	/* The device keeps shared counters when it stops. */
	bool keeps_shared;
	/* Rules go in by templates only: fake_hws.h. */
	bool templates;
};

enum fake_nic_call {
	FAKE_NIC_VALIDATE,
	FAKE_NIC_CREATE,
	FAKE_NIC_DESTROY,
	FAKE_NIC_QUERY,
	/* With templates: the creation and destruction of jumps, and both as they are enqueued. */
	FAKE_NIC_JUMP,
	FAKE_NIC_JUMP_DESTROY,
	FAKE_NIC_ENQUEUE,
	FAKE_NIC_ENQUEUE_DESTROY,
	FAKE_NIC_TABLE,
	/* The creation of a counter that can be shared; it does not hold. */
	FAKE_NIC_COUNTER,
	FAKE_NIC_CALLS,
};

/* A new device, without rules. */
void fake_nic_open(const struct fake_nic *nic);
/* No rule and no counter is left. */
void fake_nic_close(void);

/* Packets arrive. Returns how many of them a rule lets through, or none matches. */
uint64_t fake_nic_receive(uint16_t udp_port, uint64_t packets, uint64_t bytes);
/* The cache is what the counters are. */
void fake_nic_refresh(void);

/* The next `n` calls of this kind fail with this errno. */
void fake_nic_fail(enum fake_nic_call call, unsigned int n, int error);
/* Calls of this kind do not return until let go. */
void fake_nic_hold(enum fake_nic_call call, bool hold);
/* Whether a thread is held. */
bool fake_nic_is_held(void);
/* How many of this kind there have been, and rules there are. */
uint64_t fake_nic_called(enum fake_nic_call call);
unsigned int fake_nic_rules(void);
/* The UDP port of the rule that was created as the nth, from 0. */
uint16_t fake_nic_created(unsigned int n);
/* Runs in the middle of the next creation or destruction of a rule, before it takes effect, and of
 * no other. */
void fake_nic_at(enum fake_nic_call call, void (*function)(void));

/* The driver tells of an event, in this thread. */
void fake_nic_event(enum rte_eth_event_type event);

/* The driver throws away all rules, and counters where it does not keep them. */
void fake_nic_flush(void);

#endif

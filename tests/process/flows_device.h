/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Devices that the test plays in the primary (fake_nic.h, fake_hws.h), for flows in hardware of
 * attached processes. Those ask their own for nothing.
 */
#ifndef TRIP_PROCESS_FLOWS_DEVICE_H
#define TRIP_PROCESS_FLOWS_DEVICE_H

#include <stdatomic.h>

#include <fake_hws.h>

#include "flows.h"

struct flows_device {
	struct fake_nic nic;
	/* What the driver is asked to change what a rule does with its packets. */
	enum fake_nic_call change;
};

extern const struct flows_device flows_devices[], *flows_device;
/* Times that the port was found to be stopped. */
extern _Atomic unsigned int flows_stopped;

/* As flows_engine. */
extern const struct flows_engine flows_hardware;

void flows_each_device(void (*test)(enum trip_progress progress), enum trip_progress progress);
void flows_prepare_device(uint16_t port_id);
uint16_t flows_receive_hard(uint16_t udp_port, uint16_t n);
/* The driver throws all away, also what it keeps when a port stops. */
void flows_throw_away(void);

#endif

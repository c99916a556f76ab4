/* SPDX-License-Identifier: BSD-3-Clause */
#include <rte_common.h>

#include "flows_device.h"

#define HWS_RULES 64

const struct flows_device flows_devices[] = {
	{.nic = {.driver = "mlx5_pci", .devargs = "dv_flow_en=0"}, .change = FAKE_NIC_CREATE},
	{.nic = {.shared = true}, .change = FAKE_NIC_CREATE},
	{.nic = {.driver = "mlx5_pci",
		 .devargs = "0000:01:00.0,dv_flow_en=2,svc_cycle_time=20",
		 .shared = true,
		 .cached = true,
		 .keeps_shared = true,
		 .templates = true},
		.change = FAKE_NIC_ENQUEUE},
};

const struct flows_device *flows_device;
_Atomic unsigned int flows_stopped;

static void
note_event(struct trip_port *port, enum trip_port_event event, void *arg)
{
	if (event == TRIP_PORT_STOPPED)
		atomic_fetch_add(&flows_stopped, 1);
}

static void
open_device(void)
{
	fake_nic_open(&flows_device->nic);
	if (flows_device->nic.templates)
		fake_hws_open(trip_test_seed("completions"));
}

void
flows_prepare_device(uint16_t port_id)
{
	if (flows_device->nic.templates && trip_port_prepare(port_id, HWS_RULES) != 0)
		fail_msg("%s", trip_error_message());
}

static void
close_device(void)
{
	if (flows_device->nic.templates) {
		assert_int_equal(fake_hws_missed(), 0);
		fake_hws_close();
	}
	fake_nic_close();
}

uint16_t
flows_receive_hard(uint16_t udp_port, uint16_t n)
{
	uint64_t left = fake_nic_receive(udp_port, n, FLOWS_PACKET);

	fake_nic_refresh();
	return (uint16_t)left;
}

void
flows_each_device(void (*test)(enum trip_progress progress), enum trip_progress progress)
{
	for (flows_device = flows_devices; flows_device < flows_devices + RTE_DIM(flows_devices);
		flows_device++)
		test(progress);
}

void
flows_throw_away(void)
{
	if (flows_device->nic.templates)
		fake_hws_abandon();
	else
		fake_nic_flush();
}

const struct flows_engine flows_hardware = {.engine = TRIP_FLOW_ENGINE_HW,
	.deaths = 2,
	.open = open_device,
	.prepare = flows_prepare_device,
	.receive = flows_receive_hard,
	.notify = note_event,
	.close = close_device};

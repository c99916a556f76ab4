/* SPDX-License-Identifier: BSD-3-Clause */
/* In hardware, by a driver that the test plays: its rules match, count and drop, and packets come
 * one by one; what is done to rules, the library's worker does. */
#include <stdatomic.h>
#include <string.h>

#include "fake_nic.h"
#include "live_bed.h"
#include "live_random.h"

static bool
receive(unsigned int port)
{
	return fake_nic_receive((uint16_t)port, 1, LIVE_BYTES) == 1;
}

static unsigned int port_within;
/* As received() has it. */
static _Atomic int passed;

static void
come(void)
{
	passed = receive(port_within);
}

static void
receive_within(unsigned int port)
{
	port_within = port;
	passed = -1;
	fake_nic_at(FAKE_NIC_CREATE, come);
}

static int
received(void)
{
	fake_nic_at(FAKE_NIC_CREATE, NULL);
	return atomic_exchange(&passed, -1);
}

/* Its counters can be shared between rules, or, of `direct`, each is a rule's own. */
int
main(int argc, char **argv)
{
	static const struct live_device device = {receive, receive_within, received};
	bool direct = argc > 1 && strcmp(argv[1], "direct") == 0;
	int ret;

	/* One that is known to tell its counts at once. */
	fake_nic_open(&(const struct fake_nic){.driver = "mlx5_pci",
		.devargs = "0000:01:00.0,dv_flow_en=0",
		.shared = !direct,
		.keeps_shared = !direct});
	live_hard = &device;
	ret = live_random();
	if (ret == 0)
		fake_nic_close();
	return ret;
}

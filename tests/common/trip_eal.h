/* SPDX-License-Identifier: BSD-3-Clause */
/* A small EAL for tests: no hugepages, no devices but those named, lcores that share CPUs. */
#ifndef TRIP_EAL_H
#define TRIP_EAL_H

#include <stdio.h>

#include <rte_common.h>
#include <rte_eal.h>

/*
 * Lcore 0 is the main one, 1 and 2 are workers, which may share CPUs. `vdev` may be NULL. Needs
 * neither root nor hugepages. 0, or negative.
 */
static inline int
trip_eal_init(const char *vdev)
{
	static char words[][32] = {"test", "--lcores=0@0,1@0-1,2@0-1", "--no-huge", "-m", "512",
		"--no-shconf", "--no-pci", "--no-telemetry", "--log-level=error"};
	static char device[512]; /* a port of several pcap files names them all */
	char *args[RTE_DIM(words) + 2];
	int n = 0;

	for (; n < (int)RTE_DIM(words); n++)
		args[n] = words[n];
	if (vdev != NULL) {
		snprintf(device, sizeof(device), "--vdev=%s", vdev);
		args[n++] = device;
	}
	args[n] = NULL;
	return rte_eal_init(n, args);
}

#endif

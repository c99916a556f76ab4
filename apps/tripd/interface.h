/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPD_INTERFACE_H
#define TRIPD_INTERFACE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * How many queues a network interface of the kernel receives on; 1 where it does not say. `word`
 * becomes ethtool's for them: "combined" or "rx".
 */
unsigned int tripd_interface_queues(const char *ifname, const char **word);

/* Frames that the kernel was to send by it, and dropped. */
uint64_t tripd_interface_unsent(const char *ifname);

/* Is it one end of a veth? */
bool tripd_interface_is_veth(const char *ifname);

#endif

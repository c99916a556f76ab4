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

/* Reads how many frames the kernel was to send by it, and dropped. Returns whether it is in this
 * network; where it is not, `unsent` stays. */
bool tripd_interface_unsent(const char *ifname, uint64_t *unsent);

/* Is it one end of a veth? */
bool tripd_interface_is_veth(const char *ifname);

/* Has it been made promiscuous by its flag, as "ip link set IFNAME promisc on" does? */
bool tripd_interface_is_promiscuous(const char *ifname);

/* Sets that flag. What fails, is said on stderr. */
void tripd_interface_make_promiscuous(const char *ifname);

/* Has a packet socket take part in all that arrives at an interface: it is promiscuous as long as
 * the socket is open, which the kernel sees to, however this process ends. Its flag stays as it is.
 * Returns 0, or a negative errno. */
int tripd_interface_hold(int fd, const char *ifname);

#endif

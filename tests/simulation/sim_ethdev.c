/* SPDX-License-Identifier: BSD-3-Clause */
/* A port that is configured, and no more: packets come from whoever polls it. */
#include <string.h>

#include <rte_ethdev.h>

#include "sim_machine_inside.h"

int __real_rte_eth_dev_is_valid_port(uint16_t port);
int __wrap_rte_eth_dev_is_valid_port(uint16_t port);
int __real_rte_eth_dev_info_get(uint16_t port, struct rte_eth_dev_info *info);
int __wrap_rte_eth_dev_info_get(uint16_t port, struct rte_eth_dev_info *info);
int __real_rte_eth_dev_socket_id(uint16_t port);
int __wrap_rte_eth_dev_socket_id(uint16_t port);

int
__wrap_rte_eth_dev_is_valid_port(uint16_t port)
{
	return sim_process_self() != NULL ? port == 0 : __real_rte_eth_dev_is_valid_port(port);
}

int
__wrap_rte_eth_dev_info_get(uint16_t port, struct rte_eth_dev_info *info)
{
	if (sim_process_self() == NULL)
		return __real_rte_eth_dev_info_get(port, info);
	memset(info, 0, sizeof(*info));
	info->driver_name = "net_simulated";
	info->nb_rx_queues = 2;
	return 0;
}

int
__wrap_rte_eth_dev_socket_id(uint16_t port)
{
	return sim_process_self() != NULL ? 0 : __real_rte_eth_dev_socket_id(port);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Ports: which may be taken, and how they are set up. Only planned ones are ever touched. */
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_flow.h>

#include <trip.h>

#include "link.h"
#include "port.h"
#include "start/fail.h"
#include "start/options.h"
#include "start/plan.h"
#include "start/preflight.h"
#include "start/resolve.h"
#include "start/route.h"
#include "start/xdp_words.h"
#include "rules.h"

static int
check_route(const struct tripd_plan *plan, const struct tripd_plan_port *port)
{
	char ifname[IF_NAMESIZE], name[RTE_ETH_NAME_MAX_LEN];
	struct rte_eth_dev_info info;

	if (rte_eth_dev_info_get(port->id, &info) != 0 || info.if_index == 0 ||
		if_indextoname(info.if_index, ifname) == NULL ||
		!tripd_route_is_default("", ifname))
		return 0;
	fprintf(stderr, "tripd: port %u (%s, %s) carries this host's default route: ", port->id,
		tripd_resolve_device(port->id, name), ifname);
	if (!tripd_link_copies(port->id))
		fprintf(stderr, "the host may no longer receive what arrives there, and you would "
				"lose a connection over it");
	else if (port->partner < 0)
		fprintf(stderr, "the host goes on receiving there, and its own packets would be "
				"counted with the others");
	else
		fprintf(stderr,
			"the host goes on receiving there, and all that arrives for it would be "
			"sent out of port %u, too",
			plan->ports[port->partner].id);
	fprintf(stderr, "; --force takes it nevertheless\n");
	return TRIPD_EXIT_USAGE;
}

int
tripd_port_check(const struct tripd_plan *plan, const struct tripd_options *options,
	const struct trip_rules *rules)
{
	/* All of them first: what is asked below of one is asked beside the others. */
	for (unsigned int i = 0; i < plan->n_ports; i++)
		if (!rte_eth_dev_is_valid_port(plan->ports[i].id)) {
			tripd_resolve_missing(plan->ports[i].id, rules, options->n_ifaces > 0);
			return TRIPD_EXIT_USAGE;
		}
	for (unsigned int i = 0; i < plan->n_ports; i++) {
		if (!options->force && check_route(plan, &plan->ports[i]) != 0)
			return TRIPD_EXIT_USAGE;
		if (tripd_link_check(plan, plan->ports[i].id) != 0)
			return TRIPD_EXIT_USAGE;
	}
	return 0;
}

static int
fail(uint16_t port, const char *what, int error)
{
	char name[RTE_ETH_NAME_MAX_LEN];

	tripd_xdp_words_tell();
	return tripd_fail(TRIPD_EXIT_RUN, "port %u (%s): %s: %s", port,
		tripd_resolve_device(port, name), what, strerror(-error));
}

static int
set_up_queues(uint16_t port, uint16_t n_queues, struct rte_mempool *pool)
{
	uint16_t n_rx = tripd_link_descriptors(port), n_tx = TRIPD_DESCRIPTORS;
	unsigned int socket = (unsigned int)rte_eth_dev_socket_id(port);
	int ret = rte_eth_dev_adjust_nb_rx_tx_desc(port, &n_rx, &n_tx);

	if (ret != 0)
		return fail(port, "descriptors", ret);
	for (uint16_t queue = 0; queue < n_queues; queue++) {
		ret = rte_eth_rx_queue_setup(port, queue, n_rx, socket, NULL, pool);
		if (ret != 0)
			return fail(port, "an Rx queue", ret);
	}
	ret = rte_eth_tx_queue_setup(port, 0, n_tx, socket, NULL);
	return ret != 0 ? fail(port, "Tx queue 0", ret) : 0;
}

static int
configure(uint16_t port, uint16_t n_queues, uint32_t max_flows, struct rte_mempool *pool)
{
	struct rte_eth_dev_info info;
	struct rte_eth_conf conf;
	int ret;

	memset(&conf, 0, sizeof(conf));
	ret = rte_eth_dev_info_get(port, &info);
	if (ret != 0)
		return fail(port, "its capabilities", ret);
	/* A packet longer than a buffer arrives in several, and leaves in as many. */
	conf.rxmode.offloads = info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER;
	conf.txmode.offloads = info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
	/* So that a removal is told. */
	conf.intr_conf.rmv = (*info.dev_flags & RTE_ETH_DEV_INTR_RMV) != 0;
	ret = rte_eth_dev_configure(port, n_queues, 1, &conf);
	if (ret != 0)
		return fail(port, "configuring", ret);
	ret = set_up_queues(port, n_queues, pool);
	if (ret != 0)
		return ret;
	/* Without it rules go to software, or say so where they must not. */
	if (trip_port_prepare(port, max_flows) != 0)
		tripd_fail(0, "%s", trip_error_message());
	return 0;
}

void
tripd_port_plan_queues(struct tripd_plan *plan)
{
	for (unsigned int i = 0; i < plan->n_ports; i++)
		plan->ports[i].n_queues = tripd_link_queues(plan->ports[i].id);
}

int
tripd_port_configure(const struct tripd_plan *plan, struct tripd_link *links, bool isolate,
	uint32_t max_flows, struct rte_mempool *pool)
{
	struct rte_flow_error error;
	int ret;

	for (unsigned int i = 0; i < plan->n_ports; i++) {
		uint16_t port = plan->ports[i].id;

		/* Before anything else, so that no packet of anybody else ever arrives. */
		if (isolate && (ret = rte_flow_isolate(port, 1, &error)) != 0)
			return fail(port, "--isolate, which its driver must support", ret);
		ret = configure(port, plan->ports[i].n_queues, max_flows, pool);
		if (ret != 0)
			return ret;
		if (tripd_link_open(&links[i], port, plan->ports[i].n_queues, pool) != 0)
			return TRIPD_EXIT_RUN;
	}
	return 0;
}

int
tripd_port_start(const struct tripd_plan *plan, struct tripd_link *links)
{
	for (unsigned int i = 0; i < plan->n_ports; i++) {
		uint16_t port = plan->ports[i].id;
		int ret = rte_eth_dev_start(port);

		if (ret != 0)
			return fail(port, "starting", ret);
		ret = tripd_link_started(&links[i]);
		if (ret != 0)
			return fail(port, "promiscuous mode", ret);
	}
	return 0;
}

void
tripd_port_close(const struct tripd_plan *plan, struct tripd_link *links)
{
	for (unsigned int i = 0; i < plan->n_ports; i++) {
		tripd_link_close(&links[i]);
		rte_eth_dev_stop(plan->ports[i].id);
		rte_eth_dev_close(plan->ports[i].id);
	}
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of drivers: what each is known to count, match and cache. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_ethdev.h>
#include <rte_flow.h>

#include "facts.h"

#define MS UINT64_C(1000000)
/* The driver's, at compile time (mlx5_flow.c: MLX5_POOL_QUERY_FREQ_US). */
#define MLX5_DV_LAG (1000 * MS)
/* The default of svc_cycle_time. */
#define MLX5_HWS_LAG (500 * MS)
/* Of a driver that nobody has looked at: as slow as the slowest that is known, until measured. */
#define OTHER_LAG (1000 * MS)

static const struct {
	const char *name;
	uint64_t lag_ns;
	bool indirect;
	enum trip_port_fact lag_from, indirect_from;
} engines[TRIP_FACTS_KINDS] = {
	[TRIP_FACTS_NONE] = {"none", 0, false, TRIP_PORT_FACT_KNOWN, TRIP_PORT_FACT_KNOWN},
	[TRIP_FACTS_OTHER] = {"rte_flow", OTHER_LAG, false, TRIP_PORT_FACT_ASSUMED,
		TRIP_PORT_FACT_ASSUMED},
	[TRIP_FACTS_MLX5_VERBS] = {"mlx5 verbs", 0, false, TRIP_PORT_FACT_KNOWN,
		TRIP_PORT_FACT_KNOWN},
	/* Where the device lets it, it reads in bulk once a second, else at each query; the driver
	 * decides, and does not say. */
	[TRIP_FACTS_MLX5_DV] = {"mlx5 DV", MLX5_DV_LAG, true, TRIP_PORT_FACT_ASSUMED,
		TRIP_PORT_FACT_KNOWN},
	[TRIP_FACTS_MLX5_HWS] = {"mlx5 HWS", MLX5_HWS_LAG, true, TRIP_PORT_FACT_KNOWN,
		TRIP_PORT_FACT_KNOWN},
};

/* The number behind `key=` in device arguments. */
static bool
find_arg(const char *devargs, const char *key, unsigned long *value)
{
	size_t length = strlen(key);
	const char *at;

	for (at = devargs; at != NULL; at = strchr(at, ',')) {
		at += *at == ',';
		if (strncmp(at, key, length) != 0 || at[length] != '=')
			continue;
		*value = strtoul(at + length + 1, NULL, 0);
		return true;
	}
	return false;
}

/* The kind of engine that a driver of this name has, given its device arguments, which may be NULL;
 * for mlx5 HWS also its refresh lag. */
static enum trip_facts_kind
kind_of(const char *driver, const char *devargs, uint64_t *refresh_lag_ns)
{
	unsigned long dv_flow_en = 1, cycle;
	enum trip_facts_kind kind;

	if (driver == NULL || strncmp(driver, "mlx5", 4) != 0) {
		*refresh_lag_ns = OTHER_LAG;
		return TRIP_FACTS_OTHER;
	}
	find_arg(devargs, "dv_flow_en", &dv_flow_en);
	kind = dv_flow_en == 0   ? TRIP_FACTS_MLX5_VERBS
	       : dv_flow_en == 1 ? TRIP_FACTS_MLX5_DV
				 : TRIP_FACTS_MLX5_HWS;
	*refresh_lag_ns = engines[kind].lag_ns;
	if (kind == TRIP_FACTS_MLX5_HWS && find_arg(devargs, "svc_cycle_time", &cycle))
		*refresh_lag_ns = cycle * MS;
	return kind;
}

void
trip_facts_set_kind(struct trip_facts *facts, enum trip_facts_kind kind)
{
	facts->kind = kind;
	snprintf(facts->port.engine, sizeof(facts->port.engine), "%s", engines[kind].name);
	facts->port.refresh_lag_ns = engines[kind].lag_ns;
	facts->port.refresh_lag_from = engines[kind].lag_from;
	facts->port.indirect = engines[kind].indirect;
	facts->port.indirect_from = engines[kind].indirect_from;
	facts->port.templates = kind == TRIP_FACTS_MLX5_HWS;
	facts->port.templates_from =
		kind == TRIP_FACTS_OTHER ? TRIP_PORT_FACT_ASSUMED : TRIP_PORT_FACT_KNOWN;
}

/* A driver without rte_flow says -ENOSYS to whatever it is asked. */
static bool
has_rte_flow(uint16_t port_id)
{
	static const struct rte_flow_attr attr = {.ingress = 1};
	static const struct rte_flow_item pattern[] = {
		{.type = RTE_FLOW_ITEM_TYPE_ETH}, {.type = RTE_FLOW_ITEM_TYPE_END}};
	static const struct rte_flow_action actions[] = {
		{.type = RTE_FLOW_ACTION_TYPE_DROP}, {.type = RTE_FLOW_ACTION_TYPE_END}};
	struct rte_flow_error error;

	return rte_flow_validate(port_id, &attr, pattern, actions, &error) != -ENOSYS;
}

int
trip_facts_read(uint16_t port_id, struct trip_facts *facts)
{
	const struct rte_devargs *devargs;
	struct rte_eth_dev_info info;
	enum trip_facts_kind kind;
	uint64_t lag_ns;

	*facts = (struct trip_facts){0};
	if (!rte_eth_dev_is_valid_port(port_id) || rte_eth_dev_info_get(port_id, &info) != 0)
		return -ENODEV;
	devargs = info.device != NULL ? rte_dev_devargs(info.device) : NULL;
	kind = kind_of(info.driver_name, devargs != NULL ? devargs->args : NULL, &lag_ns);
	if (kind == TRIP_FACTS_OTHER && !has_rte_flow(port_id))
		trip_facts_set_kind(facts, TRIP_FACTS_NONE);
	else
		trip_facts_set_kind(facts, kind);
	if (kind == TRIP_FACTS_MLX5_HWS)
		facts->port.refresh_lag_ns = lag_ns;
	snprintf(facts->port.driver, sizeof(facts->port.driver), "%s",
		info.driver_name != NULL ? info.driver_name : "");
	facts->port.thread_safe =
		info.dev_flags != NULL && (*info.dev_flags & RTE_ETH_DEV_FLOW_OPS_THREAD_SAFE) != 0;
	facts->port.keeps_rules = (info.dev_capa & RTE_ETH_DEV_CAPA_FLOW_RULE_KEEP) != 0;
	facts->port.keeps_shared = (info.dev_capa & RTE_ETH_DEV_CAPA_FLOW_SHARED_OBJECT_KEEP) != 0;
	return 0;
}

/*
 * Items that match alike, with any fields, in all engines: where a packet has the header, and no
 * other item says otherwise. The rest stands in match_of().
 */
static bool
is_plain(enum rte_flow_item_type type)
{
	switch (type) {
	case RTE_FLOW_ITEM_TYPE_VOID:
	case RTE_FLOW_ITEM_TYPE_ETH:
	case RTE_FLOW_ITEM_TYPE_IPV4:
	case RTE_FLOW_ITEM_TYPE_IPV6:
	case RTE_FLOW_ITEM_TYPE_TCP:
	case RTE_FLOW_ITEM_TYPE_UDP:
		return true;
	default:
		return false;
	}
}

static enum trip_facts_match
match_of(enum trip_facts_kind kind, const struct rte_flow_item *item, unsigned int n_vlans)
{
	if (is_plain(item->type))
		return TRIP_FACTS_ALIKE;
	if (item->type != RTE_FLOW_ITEM_TYPE_VLAN || kind == TRIP_FACTS_OTHER)
		return TRIP_FACTS_UNKNOWN;
	/* mlx5 has no second VLAN item. Of packets with two tags, DV looks at none when it is asked
	 * for one, and verbs at the outer one. */
	if (n_vlans > 1 || kind == TRIP_FACTS_MLX5_VERBS)
		return TRIP_FACTS_OTHERS;
	return kind == TRIP_FACTS_MLX5_DV ? TRIP_FACTS_ALIKE : TRIP_FACTS_UNKNOWN;
}

enum trip_facts_match
trip_facts_pattern(enum trip_facts_kind kind, const struct rte_flow_item *pattern,
	const struct rte_flow_item **worst)
{
	enum trip_facts_match match, result = TRIP_FACTS_ALIKE;
	unsigned int n_vlans = 0;

	*worst = NULL;
	for (; pattern->type != RTE_FLOW_ITEM_TYPE_END; pattern++) {
		n_vlans += pattern->type == RTE_FLOW_ITEM_TYPE_VLAN;
		match = match_of(kind, pattern, n_vlans);
		if (match <= result)
			continue;
		result = match;
		*worst = pattern;
	}
	return result;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the values of ports, of their queues, and of what counts by keys come from. */
#include <stddef.h>

#include <rte_common.h>
#include <rte_ethdev.h>

#include <trip_each.h>

#include "domain/domain.h"
#include "flow/each.h"
#include "flow/port.h"
#include "profile/profile.h"

/* A variable is a word of what is read of its object. */
struct place {
	uint32_t id, offset;
};

static void
take(struct trip_snapshot *snapshot, uint32_t scope, const struct place *places, size_t n,
	const void *from)
{
	for (size_t i = 0; i < n; i++)
		*trip_profile_value(snapshot, places[i].id, scope) +=
			*(const uint64_t *)((const char *)from + places[i].offset);
}

/* ---- bursts -------------------------------------------------------------------------------- */

static void
add_traffic(struct trip_snapshot *snapshot, uint32_t scope, const struct trip_traffic *traffic)
{
	static const struct place places[] = {
		{TRIP_VAR_PORT_PACKETS_TOTAL, offsetof(struct trip_traffic, packets)},
		{TRIP_VAR_PORT_MATCHED_TOTAL, offsetof(struct trip_traffic, matched)},
		{TRIP_VAR_PORT_DROPPED_TOTAL, offsetof(struct trip_traffic, dropped)},
		{TRIP_VAR_PORT_MALFORMED_TOTAL, offsetof(struct trip_traffic, broken)},
	};

	for (unsigned int i = 0; i < RTE_DIM(places); i++)
		*trip_profile_value(snapshot, places[i].id, scope) += trip_engine_stat_read(
			(const _Atomic uint64_t *)((const char *)traffic + places[i].offset));
}

/* ---- the NIC ------------------------------------------------------------------------------- */

/* Nothing, where the driver does not tell this process. */
static void
add_nic(struct trip_snapshot *snapshot, uint16_t port_id)
{
	static const struct place places[] = {
		{TRIP_VAR_PORT_NIC_RX_TOTAL, offsetof(struct rte_eth_stats, ipackets)},
		{TRIP_VAR_PORT_NIC_RX_MISSED_TOTAL, offsetof(struct rte_eth_stats, imissed)},
		{TRIP_VAR_PORT_NIC_RX_NO_MBUF_TOTAL, offsetof(struct rte_eth_stats, rx_nombuf)},
		{TRIP_VAR_PORT_NIC_RX_ERRORS_TOTAL, offsetof(struct rte_eth_stats, ierrors)},
		{TRIP_VAR_PORT_NIC_TX_TOTAL, offsetof(struct rte_eth_stats, opackets)},
		{TRIP_VAR_PORT_NIC_TX_ERRORS_TOTAL, offsetof(struct rte_eth_stats, oerrors)},
	};
	struct rte_eth_stats stats = {0};

	if (rte_eth_stats_get(port_id, &stats) == 0)
		take(snapshot, TRIP_CATALOGUE_PORT, places, RTE_DIM(places), &stats);
}

#define DONE(var, word)                                                    \
	{                                                                  \
		TRIP_VAR_PORT_##var, offsetof(struct trip_port_done, word) \
	}

static void
add_done(struct trip_snapshot *snapshot, const struct trip_engine *engine, uint16_t port_id)
{
	static const struct place places[] = {
		DONE(RULES_NOW, rules),
		DONE(READINGS_TOTAL, readings),
		DONE(READINGS_FAILED_TOTAL, failed_readings),
		DONE(READINGS_LATE_TOTAL, late_readings),
		DONE(READINGS_PAST_TOTAL, missed),
		DONE(OPERATIONS_TOTAL, operations),
		DONE(OPERATIONS_FAILED_TOTAL, failed_operations),
		DONE(RULES_RECREATED_TOTAL, recreated),
		DONE(RULES_LOST_TOTAL, lost),
		DONE(STALE_TOTAL, stale),
	};
	const struct trip_port_done *done = &engine->done[port_id];
	const uint32_t scope = TRIP_CATALOGUE_PORT;

	for (unsigned int i = 0; i < RTE_DIM(places); i++)
		*trip_profile_value(snapshot, places[i].id, scope) = trip_engine_stat_read(
			(const _Atomic uint64_t *)((const char *)done + places[i].offset));
	*trip_profile_value(snapshot, TRIP_VAR_PORT_READING_GAP_NS_MOST, scope) =
		trip_engine_ns(engine, trip_engine_stat_read(&done->longest_gap_tsc));
	*trip_profile_value(snapshot, TRIP_VAR_PORT_STALE_NOW, scope) =
		atomic_load_explicit(&done->stale_now, memory_order_relaxed);
}

static void
add_port(struct trip_snapshot *snapshot, const struct trip_port *port)
{
	for (unsigned int s = 0; s < TRIP_PORT_SIDES; s++)
		for (uint32_t q = 0; q < port->sides[s].n_queues; q++)
			add_traffic(
				snapshot, TRIP_CATALOGUE_PORT, port->sides[s].queues[q].traffic);
	add_nic(snapshot, port->port_id);
	add_done(snapshot, &port->domain->engine, port->port_id);
}

/* ---- keys ---------------------------------------------------------------------------------- */

#define OF(var, member)                                                      \
	{                                                                    \
		TRIP_VAR_EACH_##var, offsetof(struct trip_each_info, member) \
	}

static void
add_each(struct trip_snapshot *snapshot, const struct trip_each *each)
{
	static const struct place places[] = {
		OF(PACKETS_TOTAL, packets),
		OF(BYTES_TOTAL, bytes),
		OF(REFUSED_PACKETS_TOTAL, refused_packets),
		OF(REFUSED_BYTES_TOTAL, refused_bytes),
		OF(REMAINDER_PACKETS_TOTAL, remainder_packets),
		OF(REMAINDER_BYTES_TOTAL, remainder_bytes),
		OF(DROPPED_PACKETS_TOTAL, dropped_packets),
		OF(DROPPED_BYTES_TOTAL, dropped_bytes),
		OF(ADMITTED_TOTAL, admitted),
		OF(EVICTED_TOTAL, evicted),
		OF(EXPIRED_TOTAL, expired),
		OF(TRIPS_TOTAL, trips),
		OF(KEYS_NOW, keys),
		OF(PINNED_NOW, held),
		OF(FLOOR_NOW, floor),
		OF(TABLE_BYTES_LIMIT, table_bytes),
		OF(RULE_CHANGES_TOTAL, rule_changes),
		OF(RULES_FAILED_TOTAL, rules_failed),
		OF(PASSED_OVER_TOTAL, passed_over),
	};
	struct trip_each_info info = {.size = sizeof(info)};

	if (trip_each_query(each, &info) != 0)
		return;
	take(snapshot, TRIP_CATALOGUE_EACH, places, RTE_DIM(places), &info);
	*trip_profile_value(snapshot, TRIP_VAR_EACH_KEYS_LIMIT, TRIP_CATALOGUE_EACH) = info.max;
}

void
trip_profile_sample_flows(const struct trip_profile *profile, struct trip_snapshot *snapshot)
{
	char *fid = (char *)profile->fid;

	if (profile->scope == TRIP_CATALOGUE_PORT)
		add_port(snapshot, (void *)(fid - offsetof(struct trip_port, fid)));
	else if (profile->scope == TRIP_CATALOGUE_QUEUE)
		add_traffic(snapshot, TRIP_CATALOGUE_QUEUE,
			((struct trip_port_queue *)(void *)(fid -
							    offsetof(struct trip_port_queue, fid)))
				->traffic);
	else
		add_each(snapshot, (void *)(fid - offsetof(struct trip_each, fid)));
}

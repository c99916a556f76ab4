/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of the catalogue. */
#include "profile/catalogue.h"

#define LCORES (TRIP_CATALOGUE_DOMAIN | TRIP_CATALOGUE_LCORE)
#define DOMAIN TRIP_CATALOGUE_DOMAIN
#define CNTR TRIP_CATALOGUE_CNTR
#define PORT TRIP_CATALOGUE_PORT
#define QUEUES (TRIP_CATALOGUE_PORT | TRIP_CATALOGUE_QUEUE)
#define EACH TRIP_CATALOGUE_EACH
#define NONE TRIP_CATALOGUE_NONE
#define FAULT TRIP_CATALOGUE_FAULT

#define VAR(var, text, kind, unit, scopes, faults, meaning)                                     \
	{                                                                                       \
		TRIP_VAR_##var, scopes, TRIP_PROFILE_##kind, TRIP_PROFILE_##unit, 0, 0, faults, \
			text, meaning                                                           \
	}
/* All of them are of lcores. */
#define OF_SPREAD(var, text, kind, unit, spread, permille, meaning)               \
	{                                                                         \
		TRIP_VAR_##var, LCORES, TRIP_PROFILE_##kind, TRIP_PROFILE_##unit, \
			TRIP_CATALOGUE_##spread, permille, NONE, text, meaning    \
	}
#define EVENT(event, text, var, meaning)                          \
	{                                                         \
		TRIP_EVENT_##event, TRIP_VAR_##var, text, meaning \
	}

/* clang-format off */
const struct trip_catalogue_var trip_catalogue_vars[TRIP_CATALOGUE_VARS] = {
	VAR(ITERATIONS_TOTAL, "iterations_total", TOTAL, COUNT, LCORES,
		TRIP_VAR_BEYOND_ITERATIONS_TOTAL, "Iterations of the loop, idle ones too"),
	VAR(BUSY_ITERATIONS_TOTAL, "busy_iterations_total", TOTAL, COUNT, LCORES,
		TRIP_VAR_BEYOND_ITERATIONS_TOTAL, "Iterations that did something"),
	VAR(BEYOND_ITERATIONS_TOTAL, "beyond_iterations_total", TOTAL, COUNT, LCORES, FAULT,
		"Iterations that took longer than iteration_ns_limit"),
	VAR(BUSY_NS_TOTAL, "busy_ns_total", TOTAL, NS, LCORES, TRIP_VAR_BEYOND_NS_TOTAL,
		"Time in iterations that were not idle"),
	VAR(IDLE_NS_TOTAL, "idle_ns_total", TOTAL, NS, LCORES, NONE,
		"Time between these"),
	VAR(BEYOND_NS_TOTAL, "beyond_ns_total", TOTAL, NS, LCORES, FAULT,
		"Time of iterations beyond iteration_ns_limit"),
	VAR(ITERATION_NS_MOST, "iteration_ns_most", MOST, NS, LCORES, NONE,
		"The longest iteration"),
	VAR(ITERATION_NS_LIMIT, "iteration_ns_limit", LIMIT, NS, LCORES, NONE,
		"How long an iteration should take at most, by its budget"),
	VAR(SNAPSHOT_AGE_NS_NOW, "snapshot_age_ns_now", NOW, NS, LCORES, NONE,
		"How long ago that was published; of a domain, the oldest of its lcores'"),

	VAR(WORKS_ACCEPTED_TOTAL, "works_accepted_total", TOTAL, COUNT, LCORES,
		TRIP_VAR_WORKS_REFUSED_TOTAL,
		"Firings that items were accepted for, each of an interval"),
	VAR(WORKS_REFUSED_TOTAL, "works_refused_total", TOTAL, COUNT, LCORES, FAULT,
		"What submission rings held that was no valid item"),
	VAR(WORKS_REARMED_TOTAL, "works_rearmed_total", TOTAL, COUNT, LCORES, NONE,
		"Of those accepted, further ones of an interval"),
	VAR(WORKS_FIRED_TOTAL, "works_fired_total", TOTAL, COUNT, LCORES,
		TRIP_VAR_WORKS_FAILED_TOTAL, "Firings"),
	VAR(WORKS_FAILED_TOTAL, "works_failed_total", TOTAL, COUNT, LCORES, FAULT,
		"Firings whose operation has failed"),
	VAR(WORKS_CANCELED_TOTAL, "works_canceled_total", TOTAL, COUNT, LCORES, NONE,
		"Items that were canceled, or whose process died, before they fired"),
	VAR(WORKS_CUT_TOTAL, "works_cut_total", TOTAL, COUNT, LCORES, NONE,
		"Items that were canceled, or whose process died, while what they had done lasted"),
	VAR(WORKS_PENDING_NOW, "works_pending_now", NOW, COUNT, LCORES, NONE,
		"Items that are still to fire"),
	VAR(WORKS_LASTING_NOW, "works_lasting_now", NOW, COUNT, LCORES, NONE,
		"Items that have fired for the last time, and what they have done lasts"),
	VAR(OVERSHOOT_MOST, "overshoot_most", MOST, COUNT, LCORES, NONE,
		"The farthest a counter was past the threshold of an item that fired"),
	VAR(SUBMIT_RING_MOST, "submit_ring_most", MOST, COUNT, LCORES, NONE,
		"The most items that a submission ring held when the lcore came to it"),
	OF_SPREAD(OVERSHOOT_P50, "overshoot_p50", QUANTILE, COUNT, OVERSHOOT, 500,
		"How far past their thresholds half of the counters were that fired"),
	OF_SPREAD(OVERSHOOT_P90, "overshoot_p90", QUANTILE, COUNT, OVERSHOOT, 900,
		"Likewise 90 % of them"),
	OF_SPREAD(OVERSHOOT_P99, "overshoot_p99", QUANTILE, COUNT, OVERSHOOT, 990,
		"Likewise 99 % of them"),
	OF_SPREAD(OVERSHOOT_P999, "overshoot_p999", QUANTILE, COUNT, OVERSHOOT, 999,
		"Likewise 99.9 % of them"),
	OF_SPREAD(FIRING_NS_P50, "firing_ns_p50", QUANTILE, NS, FIRING, 500,
		"From an update, as events have it, to the firing: half of them"),
	OF_SPREAD(FIRING_NS_P90, "firing_ns_p90", QUANTILE, NS, FIRING, 900,
		"Likewise 90 % of them"),
	OF_SPREAD(FIRING_NS_P99, "firing_ns_p99", QUANTILE, NS, FIRING, 990,
		"Likewise 99 % of them"),
	OF_SPREAD(FIRING_NS_P999, "firing_ns_p999", QUANTILE, NS, FIRING, 999,
		"Likewise 99.9 % of them"),
	OF_SPREAD(FIRING_NS_MOST, "firing_ns_most", MOST, NS, FIRING, 1000,
		"Likewise all of them, at most an eighth more"),

	VAR(DOORBELLS_TOTAL, "doorbells_total", TOTAL, COUNT, LCORES,
		TRIP_VAR_SCRUB_REPAIRS_TOTAL, "Counters that rang, and were looked at"),
	VAR(SCRUB_REPAIRS_TOTAL, "scrub_repairs_total", TOTAL, COUNT, LCORES, FAULT,
		"Lost rings that the scrub has found, and repaired"),
	VAR(CNTRS_HEATED_TOTAL, "cntrs_heated_total", TOTAL, COUNT, LCORES, NONE,
		"Times that a counter fired so often that the lcore began to poll it"),
	VAR(SIGNALS_SENT_TOTAL, "signals_sent_total", TOTAL, COUNT, LCORES,
		TRIP_VAR_SIGNALS_FAILED_TOTAL, "Waiters that were woken"),
	VAR(SIGNALS_FAILED_TOTAL, "signals_failed_total", TOTAL, COUNT, LCORES, FAULT,
		"Wakes for which the kernel had no memory, and which were tried again"),
	VAR(SIGNALS_SUPPRESSED_TOTAL, "signals_suppressed_total", TOTAL, COUNT, LCORES, NONE,
		"Waiters that were due, and had given up by then"),
	VAR(EVENTS_TOLD_TOTAL, "events_told_total", TOTAL, COUNT, LCORES,
		TRIP_VAR_EVENTS_LOST_TOTAL, "Completion events that were told"),
	VAR(EVENTS_LOST_TOTAL, "events_lost_total", TOTAL, COUNT, LCORES, FAULT,
		"Completion events that were dropped, for nobody read those before"),
	OF_SPREAD(DETECTION_NS_P50, "detection_ns_p50", QUANTILE, NS, DETECTION, 500,
		"From an update at the earliest to when the lcore found it: half of them"),
	OF_SPREAD(DETECTION_NS_P90, "detection_ns_p90", QUANTILE, NS, DETECTION, 900,
		"Likewise 90 % of them"),
	OF_SPREAD(DETECTION_NS_P99, "detection_ns_p99", QUANTILE, NS, DETECTION, 990,
		"Likewise 99 % of them"),
	OF_SPREAD(DETECTION_NS_P999, "detection_ns_p999", QUANTILE, NS, DETECTION, 999,
		"Likewise 99.9 % of them"),
	OF_SPREAD(DETECTION_NS_MOST, "detection_ns_most", MOST, NS, DETECTION, 1000,
		"Likewise all of them, at most an eighth more"),

	VAR(LCORES_LIMIT, "lcores_limit", LIMIT, COUNT, DOMAIN, NONE,
		"Polling lcores (homes)"),
	VAR(CNTRS_LIMIT, "cntrs_limit", LIMIT, COUNT, DOMAIN, NONE,
		"Counters that may be open"),
	VAR(WORKS_LIMIT, "works_limit", LIMIT, COUNT, DOMAIN, NONE,
		"Items of the primary that may be pending on each lcore"),
	VAR(WAITERS_LIMIT, "waiters_limit", LIMIT, COUNT, DOMAIN, NONE,
		"Waiters that each lcore may have"),
	VAR(FLOWS_LIMIT, "flows_limit", LIMIT, COUNT, DOMAIN, NONE,
		"Flows that may be there"),
	VAR(QUEUES_LIMIT, "queues_limit", LIMIT, COUNT, DOMAIN, NONE,
		"Queues that software may count on"),
	VAR(PROCESSES_LIMIT, "processes_limit", LIMIT, COUNT, DOMAIN, NONE,
		"Processes that may be attached"),

	VAR(CNTR_SUCCESS_TOTAL, "cntr_success_total", TOTAL, COUNT, CNTR,
		TRIP_VAR_CNTR_ERROR_TOTAL, "The success value"),
	VAR(CNTR_ERROR_TOTAL, "cntr_error_total", TOTAL, COUNT, CNTR, FAULT,
		"The error value"),
	VAR(CNTR_AGE_NS_NOW, "cntr_age_ns_now", NOW, NS, CNTR, NONE,
		"How old the value may be; 0 where no flow feeds it"),
	VAR(CNTR_THRESHOLD_NOW, "cntr_threshold_now", NOW, COUNT, CNTR, NONE,
		"The lowest threshold that something waits for; 2^64 - 1: nothing does"),
	VAR(CNTR_FLOWS_NOW, "cntr_flows_now", NOW, COUNT, CNTR, NONE,
		"Flows that feed it"),
	VAR(CNTR_VALUE_LIMIT, "cntr_value_limit", LIMIT, COUNT, CNTR, NONE,
		"Where both values stay"),

	VAR(PORT_PACKETS_TOTAL, "port_packets_total", TOTAL, COUNT, QUEUES,
		TRIP_VAR_PORT_MALFORMED_TOTAL,
		"Packets that bursts have shown to software"),
	VAR(PORT_MATCHED_TOTAL, "port_matched_total", TOTAL, COUNT, QUEUES, NONE,
		"Of these, those that a rule took"),
	VAR(PORT_DROPPED_TOTAL, "port_dropped_total", TOTAL, COUNT, QUEUES, NONE,
		"Of these, those that a rule, a rate or a key had dropped"),
	VAR(PORT_MALFORMED_TOTAL, "port_malformed_total", TOTAL, COUNT, QUEUES, FAULT,
		"Of these, those that end within a header that they begin, up to the ports"),

	VAR(PORT_NIC_RX_TOTAL, "port_nic_rx_total", TOTAL, COUNT, PORT,
		TRIP_VAR_PORT_NIC_RX_MISSED_TOTAL,
		"Packets that the NIC has received, as its driver tells"),
	VAR(PORT_NIC_RX_MISSED_TOTAL, "port_nic_rx_missed_total", TOTAL, COUNT, PORT, FAULT,
		"Packets that the NIC has lost, as no queue had room for them"),
	VAR(PORT_NIC_RX_NO_MBUF_TOTAL, "port_nic_rx_no_mbuf_total", TOTAL, COUNT, PORT, FAULT,
		"Packets that the driver has lost, as there was no mbuf"),
	VAR(PORT_NIC_RX_ERRORS_TOTAL, "port_nic_rx_errors_total", TOTAL, COUNT, PORT, FAULT,
		"Packets that came to the NIC broken"),
	VAR(PORT_NIC_TX_TOTAL, "port_nic_tx_total", TOTAL, COUNT, PORT,
		TRIP_VAR_PORT_NIC_TX_ERRORS_TOTAL,
		"Packets that the NIC has sent"),
	VAR(PORT_NIC_TX_ERRORS_TOTAL, "port_nic_tx_errors_total", TOTAL, COUNT, PORT, FAULT,
		"Packets that the NIC could not send"),

	VAR(PORT_RULES_NOW, "port_rules_now", NOW, COUNT, PORT, NONE,
		"Rules in hardware"),
	VAR(PORT_READINGS_TOTAL, "port_readings_total", TOTAL, COUNT, PORT,
		TRIP_VAR_PORT_READINGS_FAILED_TOTAL,
		"Readings of counters in hardware"),
	VAR(PORT_READINGS_FAILED_TOTAL, "port_readings_failed_total", TOTAL, COUNT, PORT, FAULT,
		"Of these, those that the driver has refused"),
	VAR(PORT_READINGS_LATE_TOTAL, "port_readings_late_total", TOTAL, COUNT, PORT, FAULT,
		"Of these, those that came more than a period late"),
	VAR(PORT_READINGS_PAST_TOTAL, "port_readings_past_total", TOTAL, COUNT, PORT, FAULT,
		"Of these, those that were past a threshold by more than its tolerance"),
	VAR(PORT_READING_GAP_NS_MOST, "port_reading_gap_ns_most", MOST, NS, PORT, NONE,
		"The longest time between two readings of a counter"),
	VAR(PORT_OPERATIONS_TOTAL, "port_operations_total", TOTAL, COUNT, PORT,
		TRIP_VAR_PORT_OPERATIONS_FAILED_TOTAL,
		"Operations of deferred work on rules in hardware"),
	VAR(PORT_OPERATIONS_FAILED_TOTAL, "port_operations_failed_total", TOTAL, COUNT, PORT, FAULT,
		"Of these, those that failed"),
	VAR(PORT_RULES_RECREATED_TOTAL, "port_rules_recreated_total", TOTAL, COUNT, PORT,
		TRIP_VAR_PORT_RULES_LOST_TOTAL,
		"Rules that were lost to a stop or a reset, and made again"),
	VAR(PORT_RULES_LOST_TOTAL, "port_rules_lost_total", TOTAL, COUNT, PORT, FAULT,
		"Rules that were lost, for good or not"),
	VAR(PORT_STALE_TOTAL, "port_stale_total", TOTAL, COUNT, PORT, FAULT,
		"Times that packets came and no counter in hardware moved"),
	VAR(PORT_STALE_NOW, "port_stale_now", NOW, COUNT, PORT, NONE,
		"Whether that is so now: 1, or 0"),

	VAR(EACH_PACKETS_TOTAL, "each_packets_total", TOTAL, COUNT, EACH,
		TRIP_VAR_EACH_REFUSED_PACKETS_TOTAL,
		"Packets that had a key"),
	VAR(EACH_BYTES_TOTAL, "each_bytes_total", TOTAL, BYTES, EACH,
		TRIP_VAR_EACH_REFUSED_BYTES_TOTAL,
		"Their bytes"),
	VAR(EACH_REFUSED_PACKETS_TOTAL, "each_refused_packets_total", TOTAL, COUNT, EACH, FAULT,
		"Packets of new keys for which there was no room in time"),
	VAR(EACH_REFUSED_BYTES_TOTAL, "each_refused_bytes_total", TOTAL, BYTES, EACH, FAULT,
		"Their bytes"),
	VAR(EACH_REMAINDER_PACKETS_TOTAL, "each_remainder_packets_total", TOTAL, COUNT, EACH, NONE,
		"Packets that no entry has: of keys that have gone"),
	VAR(EACH_REMAINDER_BYTES_TOTAL, "each_remainder_bytes_total", TOTAL, BYTES, EACH, NONE,
		"Their bytes"),
	VAR(EACH_DROPPED_PACKETS_TOTAL, "each_dropped_packets_total", TOTAL, COUNT, EACH, NONE,
		"Packets that were dropped, as trips say, or as refused"),
	VAR(EACH_DROPPED_BYTES_TOTAL, "each_dropped_bytes_total", TOTAL, BYTES, EACH, NONE,
		"Their bytes"),
	VAR(EACH_ADMITTED_TOTAL, "each_admitted_total", TOTAL, COUNT, EACH, NONE,
		"Keys that came, in each table"),
	VAR(EACH_EVICTED_TOTAL, "each_evicted_total", TOTAL, COUNT, EACH, NONE,
		"Keys that went, as others had more"),
	VAR(EACH_EXPIRED_TOTAL, "each_expired_total", TOTAL, COUNT, EACH, NONE,
		"Keys that went, as they were idle"),
	VAR(EACH_TRIPS_TOTAL, "each_trips_total", TOTAL, COUNT, EACH, NONE,
		"Trips of keys, and their ends"),
	VAR(EACH_KEYS_NOW, "each_keys_now", NOW, COUNT, EACH, NONE,
		"Entries of all tables"),
	VAR(EACH_PINNED_NOW, "each_pinned_now", NOW, COUNT, EACH, NONE,
		"Of these, those that something is being done to, and so stay"),
	VAR(EACH_FLOOR_NOW, "each_floor_now", NOW, COUNT, EACH, NONE,
		"What a key that no table has may have had, by the measure of its rank"),
	VAR(EACH_KEYS_LIMIT, "each_keys_limit", LIMIT, COUNT, EACH, NONE,
		"Keys that the table of each queue has for sure"),
	VAR(EACH_TABLE_BYTES_LIMIT, "each_table_bytes_limit", LIMIT, BYTES, EACH, NONE,
		"Memory of all tables"),
	VAR(EACH_RULE_CHANGES_TOTAL, "each_rule_changes_total", TOTAL, COUNT, EACH,
		TRIP_VAR_EACH_RULES_FAILED_TOTAL,
		"Rules in hardware that came and went for keys"),
	VAR(EACH_RULES_FAILED_TOTAL, "each_rules_failed_total", TOTAL, COUNT, EACH, FAULT,
		"Rules that the driver has refused"),
	VAR(EACH_PASSED_OVER_TOTAL, "each_passed_over_total", TOTAL, COUNT, EACH, FAULT,
		"Trips of keys for which no rule was asked for"),
};

const struct trip_catalogue_event trip_catalogue_events[TRIP_CATALOGUE_EVENTS] = {
	EVENT(ITERATION_BEYOND, "iteration_beyond", BEYOND_ITERATIONS_TOTAL,
		"An iteration took longer than it should"),
	EVENT(WORK_REFUSED, "work_refused", WORKS_REFUSED_TOTAL,
		"A submission ring held what was no item"),
	EVENT(WORK_FAILED, "work_failed", WORKS_FAILED_TOTAL,
		"An operation has failed"),
	EVENT(SCRUB_REPAIRED, "scrub_repaired", SCRUB_REPAIRS_TOTAL,
		"A ring was lost"),
	EVENT(SIGNAL_FAILED, "signal_failed", SIGNALS_FAILED_TOTAL,
		"A wake waits for memory"),
	EVENT(EVENT_LOST, "event_lost", EVENTS_LOST_TOTAL,
		"A completion event was dropped"),
	EVENT(CNTR_SUCCEEDED, "cntr_succeeded", CNTR_SUCCESS_TOTAL,
		"The success value has grown"),
	EVENT(CNTR_FAILED, "cntr_failed", CNTR_ERROR_TOTAL,
		"The error value has grown"),
	EVENT(PORT_MISSED, "port_missed", PORT_NIC_RX_MISSED_TOTAL,
		"The NIC has lost packets"),
	EVENT(EACH_TRIPPED, "each_tripped", EACH_TRIPS_TOTAL,
		"Keys have tripped, or that has ended"),
};
/* clang-format on */

int
trip_catalogue_var_of(uint32_t id, uint32_t scope)
{
	for (int i = 0; i < TRIP_CATALOGUE_VARS; i++)
		if (trip_catalogue_vars[i].id == id)
			return (trip_catalogue_vars[i].scopes & scope) != 0 ? i : -1;
	return -1;
}

int
trip_catalogue_event_of(uint32_t id, uint32_t scope)
{
	for (int i = 0; i < TRIP_CATALOGUE_EVENTS; i++)
		if (trip_catalogue_events[i].id == id)
			return trip_catalogue_var_of(trip_catalogue_events[i].var, scope) >= 0 ? i
											       : -1;
	return -1;
}

const char *
trip_catalogue_kind(enum trip_profile_kind kind)
{
	static const char *const ends[] = {
		[TRIP_PROFILE_TOTAL] = "_total",
		[TRIP_PROFILE_NOW] = "_now",
		[TRIP_PROFILE_MOST] = "_most",
		[TRIP_PROFILE_LIMIT] = "_limit",
		[TRIP_PROFILE_QUANTILE] = "_p",
	};

	return ends[kind];
}

const char *
trip_catalogue_unit(enum trip_profile_unit unit)
{
	static const char *const ends[] = {
		[TRIP_PROFILE_COUNT] = "",
		[TRIP_PROFILE_NS] = "_ns",
		[TRIP_PROFILE_BYTES] = "_bytes",
	};

	return ends[unit];
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_common.h>

#include "exporting.h"
#include "grow.h"
#include "now.h"
#include "quota.h"
#include "report.h"
#include "rules.h"
#include "start/fail.h"

#define BUFFER ((size_t)256 << 10)
/* Counts at a time: less than a millisecond. */
#define SAMPLES 8192
#define SAY_NS UINT64_C(60000000000)
#define END_MS 1000

int
tripd_exporting_open(struct tripd_exporting *exporting, const struct tripd_ipfix_options *options,
	const struct tripd_quota *quota)
{
	int ends[2], ret;

	*exporting = (struct tripd_exporting){
		.where = options->text, .began_ns = now_ns(CLOCK_REALTIME)};
	if (options->kind == TRIPD_IPFIX_NONE)
		return 0;
	ret = tripd_outlet_open(&exporting->outlet, BUFFER);
	if (ret == 0 && pipe2(ends, O_CLOEXEC) != 0)
		ret = -errno;
	if (ret == 0) {
		fcntl(ends[1], F_SETFL, O_NONBLOCK);
		tripd_outlet_connect(&exporting->outlet, ends[1]);
		ret = tripd_exporter_open(&exporting->exporter, options, ends[0], BUFFER);
	}
	if (ret == 0)
		return 0;
	tripd_outlet_close(&exporting->outlet);
	return tripd_fail(ret, "IPFIX to %s: %s", exporting->where, strerror(-ret));
}

static uint64_t
time_of(const struct tripd_quota *quota, uint64_t packet_ns, uint64_t time_ns)
{
	return quota->plan->by_packets ? packet_ns : time_ns;
}

void
tripd_exporting_put(struct tripd_exporting *exporting, const struct tripd_quota *quota,
	const struct tripd_trip *trip)
{
	json_t *object;

	if (exporting->exporter == NULL)
		return;
	object = tripd_report_event(quota, trip);
	json_object_del(object, "top");
	json_object_del(object, "sample");
	json_object_set_new(object, "time_ns",
		json_integer((json_int_t)time_of(quota, trip->packet_ns, trip->time_ns)));
	tripd_outlet_put(&exporting->outlet, object);
}

void
tripd_exporting_key(struct tripd_exporting *exporting, const struct tripd_quota *quota,
	unsigned int i, const struct trip_each_event *event)
{
	json_t *object = exporting->exporter != NULL ? tripd_report_key(quota, i, event) : NULL;

	if (object == NULL)
		return;
	json_object_set_new(object, "time_ns",
		json_integer((json_int_t)time_of(
			quota, quota->packet_began + event->ns, now_ns(CLOCK_REALTIME))));
	tripd_outlet_put(&exporting->outlet, object);
}

static int
make_room(
	struct tripd_exporting *exporting, struct tripd_look *look, const struct trip_rules *rules)
{
	/* One more: none of it is no NULL. */
	int ret = tripd_grow(&look->counts, &exporting->counts_room, rules->n_counts + 1, SIZE_MAX,
		sizeof(*look->counts));

	if (ret == 0)
		ret = tripd_grow(&look->counters, &exporting->counters_room, rules->n_counters + 1,
			SIZE_MAX, sizeof(*look->counters));
	if (ret == 0)
		ret = tripd_grow(&look->eaches, &exporting->eaches_room, rules->n_eaches + 1,
			SIZE_MAX, sizeof(*look->eaches));
	return ret;
}

static void
sample_counts(struct tripd_exporting *exporting, struct tripd_look *look,
	const struct tripd_quota *quota, unsigned int most)
{
	struct trip_flow_count count = {.size = sizeof(count)};
	unsigned int end = RTE_MIN(exporting->n_sampled + most, quota->rules->n_counts);

	for (unsigned int i = exporting->n_sampled; i < end; i++) {
		(void)trip_apply_count_query(&quota->counts[i], &count);
		look->counts[i] = (struct tripd_look_count){
			count.packets, count.bytes, count.policed_packets, count.policed_bytes};
	}
	exporting->n_sampled = end;
}

/* What is beside counts, once these are all there. */
static void
sample_rest(const struct tripd_exporting *exporting, struct tripd_look *look,
	const struct tripd_quota *quota)
{
	const struct trip_rules *rules = quota->rules;

	for (unsigned int i = 0; i < rules->n_counters; i++)
		look->counters[i] = rules->counters[i].gone ? rules->counters[i].last
							    : trip_cntr_read(quota->counters[i]);
	for (unsigned int i = 0; i < rules->n_eaches; i++) {
		look->eaches[i] = (struct tripd_look_each){
			.each = quota->eaches[i].each, .opening = quota->eaches[i].opening};
		tripd_quota_each_info(&quota->eaches[i], &look->eaches[i].info);
	}
	look->rules = rules;
	look->n_counts = rules->n_counts;
	look->n_counters = rules->n_counters;
	look->n_eaches = rules->n_eaches;
	look->began_ns = time_of(quota, quota->packet_began, exporting->began_ns);
	look->now_ns = time_of(quota, quota->packet_ns, now_ns(CLOCK_REALTIME));
}

/* Without memory for it, it is tried again. */
static void
sample(struct tripd_exporting *exporting, struct tripd_look *look, const struct tripd_quota *quota,
	unsigned int most)
{
	if (make_room(exporting, look, quota->rules) != 0)
		return;
	sample_counts(exporting, look, quota, most);
	if (exporting->n_sampled < quota->rules->n_counts)
		return;
	sample_rest(exporting, look, quota);
	exporting->n_sampled = 0;
	tripd_exporter_give(exporting->exporter);
}

static uint64_t
lost_of(const struct tripd_exporting *exporting, const struct tripd_exporter_state *state)
{
	return state->lost + state->left_out + exporting->outlet.left_out;
}

bool
tripd_exporting_update(struct tripd_exporting *exporting, const struct tripd_quota *quota)
{
	struct tripd_exporter_state state;
	struct tripd_look *look;

	if (exporting->exporter == NULL)
		return false;
	tripd_outlet_leave_out(&exporting->outlet, quota->n_overrun - exporting->overrun);
	exporting->overrun = quota->n_overrun;
	tripd_outlet_leave_out(&exporting->outlet, quota->n_keys_unread - exporting->unread);
	exporting->unread = quota->n_keys_unread;
	(void)tripd_outlet_flush(&exporting->outlet, 0);
	look = tripd_exporter_asks(exporting->exporter);
	if (look != NULL)
		sample(exporting, look, quota, SAMPLES);
	tripd_exporter_state(exporting->exporter, &state);
	if (exporting->said_ns != 0 && now_ns(CLOCK_MONOTONIC) - exporting->said_ns < SAY_NS)
		return false;
	return (state.error != 0 && state.error != exporting->said_error) ||
	       lost_of(exporting, &state) != exporting->said_lost;
}

void
tripd_exporting_say(struct tripd_exporting *exporting)
{
	struct tripd_exporter_state state;
	uint64_t lost;

	tripd_exporter_state(exporting->exporter, &state);
	lost = lost_of(exporting, &state);
	if (lost == exporting->said_lost)
		tripd_fail(0, "warning: IPFIX waits for %s: %s", exporting->where,
			tripd_exporter_reason(state.error));
	else
		tripd_fail(0, "warning: %" PRIu64 " records so far are not exported to %s: %s",
			lost, exporting->where, tripd_exporter_reason(state.error));
	exporting->said_error = state.error;
	exporting->said_lost = lost;
	exporting->said_ns = now_ns(CLOCK_MONOTONIC);
}

bool
tripd_exporting_reads(const struct tripd_exporting *exporting)
{
	return exporting->exporter != NULL && tripd_exporter_reads(exporting->exporter);
}

int
tripd_exporting_close(struct tripd_exporting *exporting, const struct tripd_quota *quota)
{
	struct tripd_exporter_state state;
	struct tripd_look *look, old = {0};
	uint64_t lost;

	if (exporting->exporter == NULL)
		return 0;
	look = tripd_exporter_last(exporting->exporter);
	if (look != NULL) {
		exporting->n_sampled = 0;
		look->last = true;
		sample(exporting, look, quota, UINT_MAX);
		old = *look;
	}
	(void)tripd_outlet_flush(&exporting->outlet, END_MS);
	tripd_outlet_close(&exporting->outlet);
	tripd_exporter_close(exporting->exporter, &state);
	exporting->exporter = NULL;
	free(old.counts);
	free(old.counters);
	free(old.eaches);
	lost = lost_of(exporting, &state);
	if (lost == 0)
		return 0;
	return tripd_fail(-EIO, "%" PRIu64 " records are not exported to %s: %s", lost,
		exporting->where, tripd_exporter_reason(state.error));
}

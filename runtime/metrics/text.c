/* SPDX-License-Identifier: BSD-3-Clause */
/* OpenMetrics 1.0: each family in one piece, of all objects that have it. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include <trip_version.h>

#include "domain/domain.h"
#include "domain/error.h"
#include "domain/progress.h"
#include "metrics/text.h"

#define NS_A_SECOND UINT64_C(1000000000)

static const char *const units[] = {
	[TRIP_PROFILE_COUNT] = "",
	[TRIP_PROFILE_NS] = "seconds",
	[TRIP_PROFILE_BYTES] = "bytes",
};

/* ---- families ------------------------------------------------------------------------------ */

static void
begin_family(FILE *out, const char *name, const char *type, enum trip_profile_unit unit,
	const char *help)
{
	fprintf(out, "# TYPE %s %s\n", name, type);
	if (unit != TRIP_PROFILE_COUNT)
		fprintf(out, "# UNIT %s %s\n", name, units[unit]);
	fprintf(out, "# HELP %s %s.\n", name, help);
}

static void
write_value(FILE *out, enum trip_profile_unit unit, uint64_t value)
{
	if (unit == TRIP_PROFILE_NS)
		fprintf(out, " %" PRIu64 ".%09" PRIu64 "\n", value / NS_A_SECOND,
			value % NS_A_SECOND);
	else
		fprintf(out, " %" PRIu64 "\n", value);
}

static void
write_sample(FILE *out, const char *name, const char *end, const char *labels,
	enum trip_profile_unit unit, uint64_t value)
{
	fprintf(out, "%s%s", name, end);
	if (labels[0] != 0)
		fprintf(out, "{%s}", labels);
	write_value(out, unit, value);
}

/* The name of a variable without its kind and unit; its kind, unless it is a total; its unit. */
static void
name_of(const struct trip_catalogue_var *var, char *name, size_t size)
{
	const char *unit = trip_catalogue_unit(var->unit), *kind = trip_catalogue_kind(var->kind);
	int base = (int)(strlen(var->name) - strlen(unit) - strlen(kind));

	snprintf(name, size, "tripline_%.*s%s%s%s", base, var->name,
		var->kind == TRIP_PROFILE_TOTAL ? "" : kind, units[var->unit][0] != 0 ? "_" : "",
		units[var->unit]);
}

/* Of parts and their whole the parts are told of, whose sum that is. */
static bool
is_told(const struct trip_catalogue_var *var, uint32_t scope)
{
	uint32_t parts = TRIP_CATALOGUE_LCORE | TRIP_CATALOGUE_QUEUE;

	return (var->scopes & scope) != 0 && ((var->scopes & parts) == 0 || (scope & parts) != 0);
}

static void
write_var(const struct trip_text *text, unsigned int row, FILE *out)
{
	const struct trip_catalogue_var *var = &trip_catalogue_vars[row];
	bool is_total = var->kind == TRIP_PROFILE_TOTAL, begun = false;
	char name[96];

	name_of(var, name, sizeof(name));
	for (size_t i = 0; i < text->n_objects; i++) {
		const struct trip_text_object *object = &text->objects[i];

		if (!is_told(var, object->scope))
			continue;
		if (!begun)
			begin_family(
				out, name, is_total ? "counter" : "gauge", var->unit, var->meaning);
		begun = true;
		write_sample(out, name, is_total ? "_total" : "", object->labels, var->unit,
			object->values[row]);
	}
}

/* ---- histograms ---------------------------------------------------------------------------- */

/* Where buckets end: counts, and nanoseconds. What one of the library's buckets holds is in the
 * first of these that is not below its largest value. */
static const uint64_t count_ends[] = {0, 1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144,
	1048576, 16777216, 268435456, UINT64_C(4294967296)};
static const uint64_t ns_ends[] = {50, 100, 250, 500, 1000, 2500, 5000, 10000, 25000, 50000, 100000,
	250000, 500000, 1000000, 2500000, 10000000, 100000000, 1000000000, UINT64_C(10000000000)};

static void
write_buckets(const struct trip_text *text, const char *name, const struct trip_text_object *object,
	enum trip_profile_unit unit, const struct trip_spread_copy *spread, FILE *out)
{
	const struct trip_engine *engine = &text->domain->engine;
	bool is_time = unit == TRIP_PROFILE_NS;
	const uint64_t *ends = is_time ? ns_ends : count_ends;
	size_t n = is_time ? RTE_DIM(ns_ends) : RTE_DIM(count_ends);
	uint64_t below = 0;
	unsigned int at = 0;

	for (size_t i = 0; i < n; i++) {
		for (; at < TRIP_SPREAD_BUCKETS; at++) {
			uint64_t top = trip_spread_top(at);

			if ((is_time ? trip_engine_ns(engine, top) : top) > ends[i])
				break;
			below += spread->buckets[at];
		}
		fprintf(out, "%s_bucket{%s,le=\"", name, object->labels);
		if (is_time)
			fprintf(out, "%.9g\"} %" PRIu64 "\n", (double)ends[i] / (double)NS_A_SECOND,
				below);
		else
			fprintf(out, "%" PRIu64 ".0\"} %" PRIu64 "\n", ends[i], below);
	}
	fprintf(out, "%s_bucket{%s,le=\"+Inf\"} %" PRIu64 "\n", name, object->labels,
		trip_spread_count(spread));
	write_sample(
		out, name, "_count", object->labels, TRIP_PROFILE_COUNT, trip_spread_count(spread));
	write_sample(out, name, "_sum", object->labels, unit,
		is_time ? trip_engine_ns(engine, spread->sum) : spread->sum);
}

static void
write_spread(const struct trip_text *text, enum trip_catalogue_spread which, FILE *out)
{
	static const struct {
		const char *name, *help;
		enum trip_profile_unit unit;
	} families[] = {
		[TRIP_CATALOGUE_OVERSHOOT] = {"tripline_overshoot",
			"How far past their thresholds the counters were of items that fired",
			TRIP_PROFILE_COUNT},
		[TRIP_CATALOGUE_FIRING] = {"tripline_firing_seconds",
			"From an update, as events have it, to the firing", TRIP_PROFILE_NS},
		[TRIP_CATALOGUE_DETECTION] = {"tripline_detection_seconds",
			"From an update at the earliest to when the lcore found it",
			TRIP_PROFILE_NS},
	};

	begin_family(
		out, families[which].name, "histogram", families[which].unit, families[which].help);
	for (size_t i = 0; i < text->n_objects; i++)
		if (text->objects[i].spreads != NULL)
			write_buckets(text, families[which].name, &text->objects[i],
				families[which].unit, &text->objects[i].spreads->of[which - 1],
				out);
}

/* ---- counters and keys --------------------------------------------------------------------- */

static void
write_cntrs(const struct trip_text *text, FILE *out)
{
	static const char *const names[] = {"tripline_cntr_success", "tripline_cntr_error"};
	static const char *const helps[] = {
		"The success value of a counter with a name; a set may lower it",
		"Likewise the error value"};

	for (unsigned int error = 0; error < 2; error++) {
		begin_family(out, names[error], "gauge", TRIP_PROFILE_COUNT, helps[error]);
		for (size_t i = 0; i < text->n_cntrs; i++) {
			const struct trip_client_cntr *cntr = &text->cntrs[i];
			char name[2 * sizeof(cntr->name)], labels[sizeof(name) + 16];

			trip_text_escape(cntr->name, name, sizeof(name));
			snprintf(labels, sizeof(labels), "cntr=\"%s\"", name);
			write_sample(out, names[error], "", labels, TRIP_PROFILE_COUNT,
				error ? cntr->error : cntr->success);
		}
	}
}

static void
write_keys(const struct trip_text *text, FILE *out)
{
	begin_family(out, "tripline_each_key_packets", "gauge", TRIP_PROFILE_COUNT,
		"Packets of the keys that have most packets or bytes");
	for (size_t i = 0; i < text->n_keys; i++)
		write_sample(out, "tripline_each_key_packets", "", text->keys[i].labels,
			TRIP_PROFILE_COUNT, text->keys[i].packets);
	begin_family(out, "tripline_each_key_bytes", "gauge", TRIP_PROFILE_BYTES, "Their bytes");
	for (size_t i = 0; i < text->n_keys; i++)
		write_sample(out, "tripline_each_key_bytes", "", text->keys[i].labels,
			TRIP_PROFILE_BYTES, text->keys[i].bytes);
	begin_family(out, "tripline_series_left_out", "gauge", TRIP_PROFILE_COUNT,
		"Keys and counters with names that are not told of, as others have more or come "
		"first");
	write_sample(out, "tripline_series_left_out", "", "of=\"keys\"", TRIP_PROFILE_COUNT,
		text->keys_left);
	write_sample(out, "tripline_series_left_out", "", "of=\"cntrs\"", TRIP_PROFILE_COUNT,
		text->cntrs_left);
}

void
trip_text_write(const struct trip_text *text, FILE *out)
{
	char name[80];

	trip_text_escape(text->domain->name, name, sizeof(name));
	begin_family(out, "tripline_domain", "info", TRIP_PROFILE_COUNT, "The domain");
	fprintf(out, "tripline_domain_info{domain=\"%s\",version=\"%s\"} 1\n", name,
		TRIP_VERSION_STRING);
	for (unsigned int row = 0; row < TRIP_CATALOGUE_VARS; row++)
		if (trip_catalogue_vars[row].spread == TRIP_CATALOGUE_NO_SPREAD)
			write_var(text, row, out);
	for (unsigned int i = 1; i <= TRIP_PROFILE_SPREADS; i++)
		write_spread(text, i, out);
	write_cntrs(text, out);
	write_keys(text, out);
	fprintf(out, "# EOF\n");
}

int
trip_metrics_text(struct trip_domain *domain, const struct trip_metrics_attr *attr, char **out,
	size_t *length)
{
	struct trip_text text = {0};
	/* Whoever holds the control lock may wait for such a caller. */
	int error = trip_progress_check_named(domain, "metrics", domain->name, "tell of it");
	FILE *file;

	if (error == 0)
		error = trip_text_attr(attr, &text.attr);
	if (error != 0)
		return error;
	error = trip_text_gather(domain, &text);
	file = error == 0 ? open_memstream(out, length) : NULL;
	if (file != NULL) {
		trip_text_write(&text, file);
		error = fclose(file);
	}
	trip_text_free(&text);
	return file != NULL && error == 0 ? 0 : trip_error_set(ENOMEM, "metrics: no memory");
}

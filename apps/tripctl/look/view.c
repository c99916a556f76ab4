/* SPDX-License-Identifier: BSD-3-Clause */
/* The lines of top. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "view.h"

/* A number with all its digits takes so much, and a short one so much. */
#define WIDE 19
#define NARROW 7
/* From this width on numbers have all their digits. */
#define EXACT_FROM 150

const char *const tripctl_view_sorts[] = {
	[TRIPCTL_SORT_NAME] = "name",
	[TRIPCTL_SORT_VALUE] = "value",
	[TRIPCTL_SORT_RATE] = "rate",
	[TRIPCTL_SORT_LEFT] = "left",
};

/* Columns beside the name; the narrower the terminal, the fewer. */
enum column {
	VALUE,
	RATE,
	ERRORS,
	NEXT,
	TO_GO,
	TIME_LEFT,
	COLUMNS,
};

static const struct {
	const char *title;
	unsigned int from_width;
} columns[] = {
	[VALUE] = {"VALUE", 0},
	[RATE] = {"RATE/S", 0},
	[ERRORS] = {"ERRORS", 80},
	[NEXT] = {"NEXT", 70},
	[TO_GO] = {"TO GO", 0},
	[TIME_LEFT] = {"LEFT", 60},
};

const struct tripctl_sample *
tripctl_view_now(const struct tripctl_view *view)
{
	return &view->samples[view->latest];
}

const struct tripctl_sample *
tripctl_view_before(const struct tripctl_view *view)
{
	return &view->samples[!view->latest];
}

/* ---- which counters ------------------------------------------------------------------------ */

static int
by_name(const void *a, const void *b)
{
	const struct trip_client_cntr *one = ((const struct tripctl_change *)a)->cntr;
	const struct trip_client_cntr *other = ((const struct tripctl_change *)b)->cntr;
	int order = (one->name[0] == 0) - (other->name[0] == 0);

	if (order == 0)
		order = strcmp(one->name, other->name);
	return order != 0 ? order : (one->id > other->id) - (one->id < other->id);
}

/* The largest first. */
static int
by_value(const void *a, const void *b)
{
	uint64_t one = ((const struct tripctl_change *)a)->cntr->success;
	uint64_t other = ((const struct tripctl_change *)b)->cntr->success;

	return one != other ? (one < other) - (one > other) : by_name(a, b);
}

static int
by_rate(const void *a, const void *b)
{
	double one = ((const struct tripctl_change *)a)->rate;
	double other = ((const struct tripctl_change *)b)->rate;

	return one != other ? (one < other) - (one > other) : by_name(a, b);
}

/* What trips first comes first; where that is not known, what has least to go. */
static int
by_left(const void *a, const void *b)
{
	const struct tripctl_change *one = a, *other = b;

	if (one->eta_ns != other->eta_ns)
		return (one->eta_ns > other->eta_ns) - (one->eta_ns < other->eta_ns);
	if (one->missing != other->missing)
		return (one->missing > other->missing) - (one->missing < other->missing);
	return by_name(a, b);
}

static void
choose_quotas(struct tripctl_view *view)
{
	struct tripctl_quota *all = view->quotas.all;

	view->n_quotas = 0;
	for (size_t i = 0; i < view->quotas.n; i++)
		if (tripctl_text_is_wanted(view->filter, all[i].name)) {
			struct tripctl_quota wanted = all[i];

			all[i] = all[view->n_quotas];
			all[view->n_quotas++] = wanted;
		}
}

int
tripctl_view_choose(struct tripctl_view *view)
{
	static int (*const orders[])(const void *a, const void *b) = {
		[TRIPCTL_SORT_NAME] = by_name,
		[TRIPCTL_SORT_VALUE] = by_value,
		[TRIPCTL_SORT_RATE] = by_rate,
		[TRIPCTL_SORT_LEFT] = by_left,
	};
	const struct tripctl_sample *now = tripctl_view_now(view);

	view->n_rows = 0;
	if (view->max_rows < now->cntrs.n) {
		void *grown = realloc(view->rows, now->cntrs.n * sizeof(*view->rows));

		if (grown == NULL)
			return -ENOMEM;
		view->rows = grown;
		view->max_rows = now->cntrs.n;
	}
	for (size_t i = 0; i < now->cntrs.n; i++)
		if (tripctl_text_is_wanted(view->filter, now->cntrs.cntrs[i].name))
			tripctl_sample_compare(tripctl_view_before(view), now, &now->cntrs.cntrs[i],
				&view->rows[view->n_rows++]);
	choose_quotas(view);
	if (view->n_rows > 0)
		qsort(view->rows, view->n_rows, sizeof(*view->rows), orders[view->sort]);
	return 0;
}

static int
read_quotas(struct tripctl_view *view, struct trip_client *client)
{
	int error = view->asks ? tripctl_quotas_read(&view->quotas, client) : 0;

	if (error != -EACCES && error != -ENOTSUP && error != -ENOENT && error != -ESHUTDOWN)
		return error;
	view->asks = false;
	tripctl_quotas_free(&view->quotas);
	return 0;
}

int
tripctl_view_read(struct tripctl_view *view, struct trip_client *client)
{
	int error;

	if (tripctl_view_now(view)->at_ns != 0)
		view->latest = !view->latest;
	error = tripctl_sample_read(&view->samples[view->latest], client);
	if (error == 0)
		error = read_quotas(view, client);
	return error == 0 ? tripctl_view_choose(view) : error;
}

void
tripctl_view_free(struct tripctl_view *view)
{
	tripctl_sample_free(&view->samples[0]);
	tripctl_sample_free(&view->samples[1]);
	tripctl_quotas_free(&view->quotas);
	free(view->rows);
}

/* ---- lines --------------------------------------------------------------------------------- */

/* Where there is no room for all of a line, it ends behind a comma's part: part of a number would
 * be another number, and "130 m" are minutes. */
static void
cut(char *line, unsigned int width)
{
	char *comma;

	if (width >= TRIPCTL_VIEW_LINE || strlen(line) <= width)
		return;
	/* The part may end just where the room does. */
	line[width + (line[width] == ',')] = 0;
	comma = strrchr(line, ',');
	if (comma != NULL)
		*comma = 0;
	else
		line[width] = 0;
}

void
tripctl_view_domain(const struct tripctl_view *view, unsigned int width, char *line)
{
	const struct trip_client_domain *domain = &tripctl_view_now(view)->domain;
	char name[256], prefix[256];

	snprintf(line, TRIPCTL_VIEW_LINE,
		"%s (%s), process %" PRIu32 ": %" PRIu32 " counters, %" PRIu32 " process%s",
		tripctl_text_escape(domain->name, name, sizeof(name)),
		tripctl_text_escape(domain->prefix, prefix, sizeof(prefix)), domain->pid,
		domain->cntrs, domain->processes, domain->processes == 1 ? "" : "es");
	cut(line, width);
}

static const struct trip_client_home *
home_before(const struct tripctl_view *view, uint32_t index)
{
	const struct tripctl_sample *before = tripctl_view_before(view);

	for (unsigned int i = 0; before->at_ns != 0 && i < before->n_homes; i++)
		if (before->homes[i].index == index)
			return &before->homes[i];
	return NULL;
}

void
tripctl_view_home(
	const struct tripctl_view *view, unsigned int index, unsigned int width, char *line)
{
	const struct trip_client_home *home = &tripctl_view_now(view)->homes[index];
	const struct trip_client_home *before = home_before(view, home->index);
	double seconds = tripctl_sample_seconds(tripctl_view_before(view), tripctl_view_now(view));
	char lcore[24] = "", pending[TRIPCTL_TEXT_NUMBER], fired[TRIPCTL_TEXT_NUMBER] = "-";
	/* Two readings tell it; after the first it is not known. */
	char longest[TRIPCTL_TEXT_NUMBER], polling[48] = "";

	if (home->lcore != UINT32_MAX)
		snprintf(lcore, sizeof(lcore), " lcore %" PRIu32, home->lcore);
	if (before != NULL && home->fired >= before->fired)
		tripctl_text_short((double)(home->fired - before->fired) / seconds, fired);
	if (before != NULL && home->iterations == before->iterations)
		strcpy(polling, "not polling, ");
	else if (before != NULL)
		snprintf(polling, sizeof(polling), "polling, %.1f%% with work, ",
			100 * (double)(home->busy_iterations - before->busy_iterations) /
				(double)(home->iterations - before->iterations));
	snprintf(line, TRIPCTL_VIEW_LINE,
		"home %" PRIu32 "%s: %s%s pending, %s fired/s, longest %s", home->index, lcore,
		polling, tripctl_text_short((double)home->pending, pending), fired,
		tripctl_text_time(home->longest_iteration_ns, longest));
	cut(line, width);
}

void
tripctl_view_quota(const struct tripctl_view *view, size_t index, unsigned int width, char *line)
{
	const struct tripctl_quota *quota = &view->quotas.all[index];
	char name[256], state[64], of[64], spent[TRIPCTL_TEXT_NUMBER], limit[TRIPCTL_TEXT_NUMBER];
	char ends[TRIPCTL_QUOTAS_DATE];

	snprintf(line, TRIPCTL_VIEW_LINE, "quota %s: %s, %.1f%%, %s of %s %s%s%s",
		tripctl_text_escape(quota->name, name, sizeof(name)),
		tripctl_text_escape(quota->state, state, sizeof(state)),
		100 * tripctl_quotas_share(quota), tripctl_text_short((double)quota->spent, spent),
		tripctl_text_short((double)quota->limit, limit),
		tripctl_text_escape(quota->of, of, sizeof(of)),
		quota->ends != TRIPCTL_QUOTA_NEVER ? ", until " : "",
		quota->ends != TRIPCTL_QUOTA_NEVER ? tripctl_quotas_date(quota->ends, ends) : "");
	cut(line, width);
}

static unsigned int
width_of(enum column column, unsigned int width)
{
	if (width < columns[column].from_width)
		return 0;
	return width >= EXACT_FROM && column != TIME_LEFT ? WIDE : NARROW;
}

/* What the numbers leave. */
static unsigned int
name_width(unsigned int width)
{
	unsigned int taken = 0;

	for (unsigned int i = 0; i < COLUMNS; i++)
		if (width_of(i, width) > 0)
			taken += width_of(i, width) + 2;
	return width > taken + 1 ? width - taken : 1;
}

/* A name, and what is in the columns beside it: as many as have room, for part of a number would be
 * another one. */
static void
write_line(unsigned int width, const char *name, const char *const *cells, char *line)
{
	unsigned int room = name_width(width), end = room;

	snprintf(line, TRIPCTL_VIEW_LINE, "%-*.*s", (int)room, (int)room, name);
	for (unsigned int i = 0; i < COLUMNS; i++) {
		unsigned int column = width_of(i, width);

		if (column == 0 || end + 2 + column > width)
			continue;
		snprintf(line + end, TRIPCTL_VIEW_LINE - end, "  %*s", (int)column, cells[i]);
		end += 2 + column;
	}
}

void
tripctl_view_titles(unsigned int width, char *line)
{
	const char *cells[COLUMNS];

	for (unsigned int i = 0; i < COLUMNS; i++)
		cells[i] = columns[i].title;
	write_line(width, "COUNTER", cells, line);
}

static const char *
number(unsigned int width, uint64_t value, char out[TRIPCTL_TEXT_NUMBER])
{
	if (value == TRIP_CLIENT_ANY)
		return strcpy(out, "-");
	return width == WIDE ? tripctl_text_exact(value, out)
			     : tripctl_text_short((double)value, out);
}

static const char *
rate_of(const struct tripctl_change *change, char out[TRIPCTL_TEXT_NUMBER])
{
	char size[TRIPCTL_TEXT_NUMBER];
	double rate = change->rate < 0 ? -change->rate : change->rate;

	if (!change->known)
		return strcpy(out, "-");
	if (rate > 0 && rate < 9.95)
		snprintf(size, sizeof(size), "%.2f", rate);
	else
		tripctl_text_short(rate, size);
	/* It has been set to less. */
	snprintf(out, TRIPCTL_TEXT_NUMBER, "%s%.20s", change->rate < 0 ? "-" : "", size);
	return out;
}

static const char *
time_left(const struct tripctl_change *change, char out[TRIPCTL_TEXT_NUMBER])
{
	if (change->missing == 0)
		return strcpy(out, "now");
	if (change->eta_ns == UINT64_MAX)
		return strcpy(out, "-");
	return tripctl_text_time(change->eta_ns, out);
}

void
tripctl_view_row(const struct tripctl_view *view, size_t row, unsigned int width, char *line)
{
	const struct tripctl_change *change = &view->rows[row];
	char texts[COLUMNS][TRIPCTL_TEXT_NUMBER], name[TRIPCTL_NAMES_MAX], escaped[256];
	const char *cells[COLUMNS] = {
		[VALUE] = number(width_of(VALUE, width), change->cntr->success, texts[VALUE]),
		[RATE] = rate_of(change, texts[RATE]),
		[ERRORS] = number(width_of(ERRORS, width), change->cntr->error, texts[ERRORS]),
		[NEXT] = number(width_of(NEXT, width), change->cntr->next, texts[NEXT]),
		[TO_GO] = number(width_of(TO_GO, width), change->missing, texts[TO_GO]),
		[TIME_LEFT] = time_left(change, texts[TIME_LEFT]),
	};

	tripctl_text_escape(tripctl_names_of(change->cntr, name), escaped, sizeof(escaped));
	write_line(width, escaped, cells, line);
}

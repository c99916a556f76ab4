/* SPDX-License-Identifier: BSD-3-Clause */
/* A domain at a moment, and what has changed since an earlier one. */
#include "base/record.h"
#include "now.h"
#include "sample.h"

#define FOREVER_NS (1e9 * 1e9)

static int
read_homes(struct tripctl_sample *sample, struct trip_client *client)
{
	uint64_t cursor = 0;
	int got = 1;

	sample->n_homes = 0;
	while (got > 0 && sample->n_homes < TRIPCTL_SAMPLE_HOMES) {
		got = trip_client_list(client, TRIP_CLIENT_HOME, &cursor,
			&sample->homes[sample->n_homes], sizeof(sample->homes[0]),
			TRIPCTL_SAMPLE_HOMES - sample->n_homes);
		if (got > 0)
			sample->n_homes += (unsigned int)got;
	}
	return got < 0 ? got : 0;
}

int
tripctl_sample_read(struct tripctl_sample *sample, struct trip_client *client)
{
	uint64_t cursor = 0;
	int error = trip_client_list(
		client, TRIP_CLIENT_DOMAIN, &cursor, &sample->domain, sizeof(sample->domain), 1);

	if (error >= 0)
		error = read_homes(sample, client);
	if (error == 0)
		error = tripctl_names_read(&sample->cntrs, client);
	sample->at_ns = now_ns(CLOCK_MONOTONIC);
	return error;
}

void
tripctl_sample_free(struct tripctl_sample *sample)
{
	tripctl_names_free(&sample->cntrs);
}

double
tripctl_sample_seconds(const struct tripctl_sample *before, const struct tripctl_sample *now)
{
	return before->at_ns == 0 ? 0 : (double)(now->at_ns - before->at_ns) / 1e9;
}

void
tripctl_sample_compare(const struct tripctl_sample *before, const struct tripctl_sample *now,
	const struct trip_client_cntr *cntr, struct tripctl_change *change)
{
	double seconds = tripctl_sample_seconds(before, now), grows;
	const struct trip_client_cntr *old =
		seconds > 0 ? tripctl_names_find(&before->cntrs, cntr->id) : NULL;

	*change = (struct tripctl_change){
		.cntr = cntr,
		.known = old != NULL,
		.missing = tripctl_record_missing(cntr),
		.eta_ns = UINT64_MAX,
	};
	if (old == NULL)
		return;
	change->rate = ((double)cntr->success - (double)old->success) / seconds;
	grows = change->rate + ((double)cntr->error - (double)old->error) / seconds;
	if (change->missing != TRIP_CLIENT_ANY && grows > 0 &&
		(double)change->missing / grows * 1e9 < FOREVER_NS)
		change->eta_ns = (uint64_t)((double)change->missing / grows * 1e9);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The words about samples. */
#include <inttypes.h>

#include "option_samples.h"
#include "options.h"
#include "rules.h"

void
tripd_option_samples_disk(struct argp_state *state, struct tripd_options *options, const char *text)
{
	if (trip_rules_parse_value(text, &options->samples.disk) != 0 || options->samples.disk == 0)
		argp_error(state, "--samples-disk: \"%s\" is no size, such as 64MiB", text);
}

void
tripd_option_samples_check(struct argp_state *state, struct tripd_options *options)
{
	struct tripd_sample_options *samples = &options->samples;
	const char *vain = samples->packets != 0 ? "sample-packets"
			   : samples->bytes != 0 ? "sample-bytes"
			   : samples->files != 0 ? "samples-max"
			   : samples->disk != 0  ? "samples-disk"
						 : NULL;
	uint64_t one;

	if (samples->folder == NULL && vain != NULL)
		argp_error(state, "--%s is in vain without --samples", vain);
	if (samples->packets == 0)
		samples->packets = TRIPD_SAMPLE_PACKETS;
	if (samples->bytes == 0)
		samples->bytes = TRIPD_SAMPLE_BYTES;
	if (samples->files == 0)
		samples->files = TRIPD_SAMPLE_FILES;
	if (samples->disk == 0)
		samples->disk = TRIPD_SAMPLE_DISK;
	one = tripd_sample_records_max(samples);
	if (one > TRIPD_SAMPLE_MAX)
		argp_error(state,
			"--sample-packets %" PRIu32 " of --sample-bytes %" PRIu32
			": a sample is %" PRIu64 " bytes, above %" PRIu64,
			samples->packets, samples->bytes, one, TRIPD_SAMPLE_MAX);
	if (one + TRIPD_SAMPLE_HEADER > samples->disk)
		argp_error(state, "--samples-disk: a sample of %" PRIu64 " bytes has no room there",
			one + TRIPD_SAMPLE_HEADER);
}

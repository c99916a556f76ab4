/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPD_OPTION_SAMPLES_H
#define TRIPD_OPTION_SAMPLES_H

#include <argp.h>
#include <stdint.h>

struct tripd_options;

#define TRIPD_SAMPLE_PACKETS 100
#define TRIPD_SAMPLE_BYTES 256
#define TRIPD_SAMPLE_FILES 1000
#define TRIPD_SAMPLE_DISK (UINT64_C(64) << 20)
/* What one takes in memory and on disk, at most. */
#define TRIPD_SAMPLE_MAX (UINT64_C(16) << 20)

/* Samples of the packets of keys that trip, and their bounds. */
struct tripd_sample_options {
	/* Where files go; NULL: there are none. */
	const char *folder;
	/* Of a file: packets, and bytes of each; how many files, and bytes of all. 0 until it was
	 * given. */
	uint32_t packets, bytes, files;
	uint64_t disk;
};

/* Bytes of a file of capture: in front of all, and of each packet. */
#define TRIPD_SAMPLE_HEADER 24
#define TRIPD_SAMPLE_RECORD 16

static inline uint64_t
tripd_sample_records_max(const struct tripd_sample_options *options)
{
	return (uint64_t)options->packets * (TRIPD_SAMPLE_RECORD + options->bytes);
}

/* Reads the value of --samples-disk. What is wrong with it ends the process. */
void tripd_option_samples_disk(
	struct argp_state *state, struct tripd_options *options, const char *text);

/* Once all words are read: as tripd_option_ipfix_check(). */
void tripd_option_samples_check(struct argp_state *state, struct tripd_options *options);

#endif

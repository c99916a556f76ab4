/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --samples: packets of a key that has tripped, as a file of capture. The control thread begins a
 * sample as it reads the trip; forwarders fill it (catch.h), until it has as many packets as it
 * may, or for a second; a thread of its own writes it (folder.h), so nobody who polls or reads
 * trips waits for a disk. There are as many samples at once as there are catches: where all are
 * being filled or written, a trip has none, which is counted and said.
 */
#ifndef TRIPD_SAMPLES_H
#define TRIPD_SAMPLES_H

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "catch.h"
#include "folder.h"

/* A sample, from its trip until it is told. */
struct tripd_sample {
	/* Index in the rules, whose it is. */
	unsigned int each;
	char each_name[TRIP_NAME_MAX + 1], key[TRIP_EACH_TEXT_MAX];
	/* Where the file is to be, and its name there. */
	char path[PATH_MAX + NAME_MAX + 2];
	const char *name;
	uint32_t packets;
	uint64_t bytes;
	/* 0, or a negative errno: it is not there. */
	int result;
	/* By the clock that it ends by. */
	uint64_t until_ns;
	/* In the order in which they are to be written. */
	uint64_t turn;
	enum tripd_sample_state {
		TRIPD_SAMPLE_NONE,
		TRIPD_SAMPLE_CATCHES,
		TRIPD_SAMPLE_WAITS,
		TRIPD_SAMPLE_WRITTEN,
	} state;
};

/* A key that has tripped. */
struct tripd_sample_trip {
	unsigned int each;
	const char *each_name, *key;
	struct tripd_catch_key of;
	/* Of the day. */
	uint64_t time_ns;
};

struct tripd_samples {
	/* NULL: there are none. */
	const struct tripd_sample_options *options;
	struct tripd_catches catches;
	struct tripd_folder folder;
	pthread_t thread;
	bool has_thread, hangs;
	/* Of states from WAITS on, and of what is to end. */
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	bool ends;
	/* One of each catch. */
	struct tripd_sample all[TRIPD_CATCHES];
	uint64_t turns;
	/* How often statements were closed; and the last time in a name. */
	uint64_t closings, named_ns;
	/* Where each goes that is written, or could not be. */
	void (*told)(void *arg, const struct tripd_sample *sample);
	void *told_arg;
	/* So many are files; found no packet; had no place; could not be written, and why at last.
	 */
	uint64_t written, empty, refused, failed;
	int error;
	uint64_t said_refused, said_failed, said_ns;
};

/* Takes the folder. 0, or a negative errno, with the reason said; close in any case. */
int tripd_samples_open(struct tripd_samples *samples, const struct tripd_sample_options *options);

/* Starts the thread, behind EAL. `packet_ns`: what the packets' clock says, or NULL. As open. */
int tripd_samples_start(struct tripd_samples *samples, const uint64_t *packet_ns);

/* Begins one. Returns the path that it will have, also where one of that key is being taken; NULL:
 * there is none. */
const char *tripd_samples_begin(
	struct tripd_samples *samples, const struct tripd_sample_trip *trip);

/* Ends those of a statement that is about to be closed. */
void tripd_samples_forget(struct tripd_samples *samples, unsigned int each);

/* Ends those whose time is over, and tells those that are written. Returns whether there is
 * something to say, once a minute at most. */
bool tripd_samples_update(struct tripd_samples *samples);
void tripd_samples_say(struct tripd_samples *samples);

/* Once nobody forwards: ends all, and waits until they are written, for three seconds at most. */
void tripd_samples_finish(struct tripd_samples *samples);

/* 0, or -EIO: some could not be written, with that said. */
int tripd_samples_close(struct tripd_samples *samples);

#endif

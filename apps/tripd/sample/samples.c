/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <jansson.h>
#include <rte_common.h>

#include "now.h"
#include "samples.h"
#include "start/describe.h"
#include "start/fail.h"

#define LONGEST_NS UINT64_C(1000000000)
#define SAY_NS UINT64_C(60000000000)
#define END_NS UINT64_C(3000000000)
#define PAUSE_NS 100000

/* ---- the thread -------------------------------------------------------------------------------
 */

/* Under the mutex. */
static struct tripd_sample *
next(struct tripd_samples *samples)
{
	struct tripd_sample *first = NULL;

	for (unsigned int i = 0; i < TRIPD_CATCHES; i++) {
		struct tripd_sample *sample = &samples->all[i];

		if (sample->state == TRIPD_SAMPLE_WAITS &&
			(first == NULL || sample->turn < first->turn))
			first = sample;
	}
	return first;
}

static void *
write_samples(void *arg)
{
	struct tripd_samples *samples = arg;

	pthread_mutex_lock(&samples->mutex);
	for (;;) {
		struct tripd_sample *sample = next(samples);
		const struct tripd_catch *caught;
		int result;

		if (sample == NULL && samples->ends)
			break;
		if (sample == NULL) {
			pthread_cond_wait(&samples->cond, &samples->mutex);
			continue;
		}
		caught = &samples->catches.all[sample - samples->all];
		pthread_mutex_unlock(&samples->mutex);
		result = tripd_folder_write(
			&samples->folder, sample->name, caught->records, caught->used);
		pthread_mutex_lock(&samples->mutex);
		sample->result = result;
		sample->state = TRIPD_SAMPLE_WRITTEN;
	}
	pthread_mutex_unlock(&samples->mutex);
	return NULL;
}

/* ---- control ----------------------------------------------------------------------------------
 */

/* Events and the report tell it, which are JSON. */
static bool
can_be_told(const char *path)
{
	json_t *text = json_string(path);
	bool can = text != NULL;

	json_decref(text);
	return can;
}

int
tripd_samples_open(struct tripd_samples *samples, const struct tripd_sample_options *options)
{
	int ret;

	*samples = (struct tripd_samples){.folder.fd = -1};
	if (options->folder == NULL)
		return 0;
	ret = tripd_folder_open(&samples->folder, options->folder, options->files, options->disk);
	if (ret == 0 && !can_be_told(samples->folder.path))
		ret = -EILSEQ;
	if (ret == 0) {
		samples->options = options;
		return 0;
	}
	tripd_folder_close(&samples->folder);
	return tripd_fail(ret, "samples cannot go to %s: %s", options->folder,
		ret == -EBUSY    ? "another tripd has that folder"
		: ret == -EILSEQ ? "its path is no UTF-8, as events have it"
				 : strerror(-ret));
}

int
tripd_samples_start(struct tripd_samples *samples, const uint64_t *packet_ns)
{
	int ret;

	if (samples->options == NULL)
		return 0;
	ret = tripd_catch_init(&samples->catches, samples->options, packet_ns);
	pthread_mutex_init(&samples->mutex, NULL);
	pthread_cond_init(&samples->cond, NULL);
	if (ret == 0)
		ret = -pthread_create(&samples->thread, NULL, write_samples, samples);
	samples->has_thread = ret == 0;
	return ret == 0 ? 0 : tripd_fail(ret, "samples: %s", strerror(-ret));
}

static uint64_t
clock_of(const struct tripd_samples *samples)
{
	return samples->catches.packet_ns != NULL ? *samples->catches.packet_ns
						  : now_ns(CLOCK_MONOTONIC);
}

static enum tripd_sample_state
state_of(struct tripd_samples *samples, const struct tripd_sample *sample)
{
	enum tripd_sample_state state;

	pthread_mutex_lock(&samples->mutex);
	state = sample->state;
	pthread_mutex_unlock(&samples->mutex);
	return state;
}

static void
free_place(struct tripd_samples *samples, unsigned int i)
{
	pthread_mutex_lock(&samples->mutex);
	samples->all[i].state = TRIPD_SAMPLE_NONE;
	pthread_mutex_unlock(&samples->mutex);
	tripd_catch_free(&samples->catches, i);
}

/* What was caught goes to the thread; nothing is no file. */
static void
end(struct tripd_samples *samples, unsigned int i)
{
	struct tripd_sample *sample = &samples->all[i];
	const struct tripd_catch *caught = &samples->catches.all[i];

	tripd_catch_end(&samples->catches, i);
	sample->packets = caught->packets;
	sample->bytes = TRIPD_SAMPLE_HEADER + caught->used;
	if (sample->packets == 0) {
		samples->empty++;
		free_place(samples, i);
		return;
	}
	pthread_mutex_lock(&samples->mutex);
	sample->turn = samples->turns++;
	sample->state = TRIPD_SAMPLE_WAITS;
	pthread_cond_signal(&samples->cond);
	pthread_mutex_unlock(&samples->mutex);
}

static void
tell(struct tripd_samples *samples, unsigned int i)
{
	const struct tripd_sample *sample = &samples->all[i];

	if (sample->result == 0) {
		samples->written++;
	} else {
		samples->failed++;
		samples->error = sample->result;
	}
	if (samples->told != NULL)
		samples->told(samples->told_arg, sample);
	free_place(samples, i);
}

static void
go_on(struct tripd_samples *samples)
{
	uint64_t now = clock_of(samples);

	for (unsigned int i = 0; i < TRIPD_CATCHES; i++) {
		struct tripd_sample *sample = &samples->all[i];
		enum tripd_sample_state state = state_of(samples, sample);

		if (state == TRIPD_SAMPLE_CATCHES &&
			(now >= sample->until_ns ||
				tripd_catch_state(&samples->catches.all[i]) == TRIPD_CATCH_FULL))
			end(samples, i);
		else if (state == TRIPD_SAMPLE_WRITTEN)
			tell(samples, i);
	}
}

/* ---- one more ---------------------------------------------------------------------------------
 */

static struct tripd_sample *
find(struct tripd_samples *samples, const struct tripd_sample_trip *trip)
{
	for (unsigned int i = 0; i < TRIPD_CATCHES; i++)
		if (state_of(samples, &samples->all[i]) == TRIPD_SAMPLE_CATCHES &&
			samples->all[i].each == trip->each &&
			strcmp(samples->all[i].key, trip->key) == 0)
			return &samples->all[i];
	return NULL;
}

static unsigned int
count(struct tripd_samples *samples, enum tripd_sample_state state)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < TRIPD_CATCHES; i++)
		n += state_of(samples, &samples->all[i]) == state;
	return n;
}

static unsigned int
find_place(struct tripd_samples *samples)
{
	for (unsigned int i = 0; i < TRIPD_CATCHES; i++)
		if (state_of(samples, &samples->all[i]) == TRIPD_SAMPLE_NONE)
			return i;
	return TRIPD_CATCHES;
}

/* By the packets' clock the disk decides nothing: what is being written is waited for, as packets
 * are. */
static unsigned int
take_place(struct tripd_samples *samples)
{
	const uint64_t until = now_ns(CLOCK_MONOTONIC) + END_NS;
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	unsigned int place = find_place(samples);

	while (place == TRIPD_CATCHES && samples->catches.packet_ns != NULL &&
		count(samples, TRIPD_SAMPLE_CATCHES) < TRIPD_CATCHES &&
		now_ns(CLOCK_MONOTONIC) < until) {
		nanosleep(&pause, NULL);
		go_on(samples);
		place = find_place(samples);
	}
	return place;
}

/* Without what names of files have for other things; and no two are of one time. */
static void
name_file(struct tripd_samples *samples, struct tripd_sample *sample,
	const struct tripd_sample_trip *trip)
{
	char date[TRIPD_DESCRIBE_DATE],
		words[TRIP_NAME_MAX + TRIP_EACH_TEXT_MAX + TRIPD_DESCRIBE_DATE + 3];

	samples->named_ns = RTE_MAX(trip->time_ns, samples->named_ns + 1);
	tripd_describe_date(samples->named_ns, date);
	snprintf(words, sizeof(words), "%s-%s-%s", trip->each_name, trip->key, date);
	for (char *at = words; *at != 0; at++)
		if (strchr("/:,", *at) != NULL)
			*at = '_';
	snprintf(sample->path, sizeof(sample->path), "%s/" TRIPD_FOLDER_FRONT "%s" TRIPD_FOLDER_END,
		samples->folder.path, words);
	sample->name = sample->path + strlen(samples->folder.path) + 1;
}

const char *
tripd_samples_begin(struct tripd_samples *samples, const struct tripd_sample_trip *trip)
{
	struct tripd_catch_key of = trip->of;
	struct tripd_sample *sample;
	unsigned int place;

	if (samples == NULL || !samples->has_thread)
		return NULL;
	go_on(samples);
	sample = find(samples, trip);
	if (sample != NULL)
		return sample->path;
	place = take_place(samples);
	if (place == TRIPD_CATCHES) {
		samples->refused++;
		return NULL;
	}
	sample = &samples->all[place];
	/* The thread looks at all states. */
	pthread_mutex_lock(&samples->mutex);
	*sample = (struct tripd_sample){.each = trip->each,
		.until_ns = clock_of(samples) + LONGEST_NS,
		.state = TRIPD_SAMPLE_CATCHES};
	pthread_mutex_unlock(&samples->mutex);
	snprintf(sample->each_name, sizeof(sample->each_name), "%s", trip->each_name);
	snprintf(sample->key, sizeof(sample->key), "%s", trip->key);
	name_file(samples, sample, trip);
	of.closings = samples->closings;
	tripd_catch_begin(&samples->catches, place, &of, sample->until_ns);
	return sample->path;
}

void
tripd_samples_forget(struct tripd_samples *samples, unsigned int each)
{
	if (samples == NULL || !samples->has_thread)
		return;
	samples->closings++;
	for (unsigned int i = 0; i < TRIPD_CATCHES; i++)
		if (samples->all[i].each == each &&
			state_of(samples, &samples->all[i]) == TRIPD_SAMPLE_CATCHES)
			end(samples, i);
}

/* ---- what is said -----------------------------------------------------------------------------
 */

bool
tripd_samples_update(struct tripd_samples *samples)
{
	if (!samples->has_thread || samples->hangs)
		return false;
	go_on(samples);
	if (samples->said_ns != 0 && now_ns(CLOCK_MONOTONIC) - samples->said_ns < SAY_NS)
		return false;
	return samples->refused != samples->said_refused || samples->failed != samples->said_failed;
}

void
tripd_samples_say(struct tripd_samples *samples)
{
	if (samples->failed != samples->said_failed)
		tripd_fail(0, "warning: %" PRIu64 " samples so far could not be written to %s: %s",
			samples->failed, samples->folder.path, strerror(-samples->error));
	if (samples->refused != samples->said_refused)
		tripd_fail(0,
			"warning: %" PRIu64
			" trips so far have no sample: %u are taken or written at once",
			samples->refused, TRIPD_CATCHES);
	samples->said_failed = samples->failed;
	samples->said_refused = samples->refused;
	samples->said_ns = now_ns(CLOCK_MONOTONIC);
}

/* ---- the end ----------------------------------------------------------------------------------
 */

/* Whether all are written within a time. */
static bool
drain(struct tripd_samples *samples)
{
	const uint64_t until = now_ns(CLOCK_MONOTONIC) + END_NS;
	const struct timespec pause = {.tv_nsec = PAUSE_NS};

	for (;;) {
		go_on(samples);
		if (count(samples, TRIPD_SAMPLE_WAITS) + count(samples, TRIPD_SAMPLE_WRITTEN) == 0)
			return true;
		if (now_ns(CLOCK_MONOTONIC) > until)
			return false;
		nanosleep(&pause, NULL);
	}
}

void
tripd_samples_finish(struct tripd_samples *samples)
{
	if (!samples->has_thread || samples->hangs)
		return;
	for (unsigned int i = 0; i < TRIPD_CATCHES; i++)
		if (state_of(samples, &samples->all[i]) == TRIPD_SAMPLE_CATCHES)
			end(samples, i);
	if (drain(samples))
		return;
	/* It is left alone, with all that it may touch. */
	samples->hangs = true;
	samples->failed += count(samples, TRIPD_SAMPLE_WAITS);
	samples->error = -ETIMEDOUT;
}

int
tripd_samples_close(struct tripd_samples *samples)
{
	const char *folder = samples->options != NULL ? samples->options->folder : NULL;

	if (folder == NULL)
		return 0;
	tripd_samples_finish(samples);
	/* The end says itself how many have failed. */
	samples->said_failed = samples->failed;
	if (samples->refused != samples->said_refused)
		tripd_samples_say(samples);
	if (samples->hangs) {
		pthread_detach(samples->thread);
	} else {
		if (samples->has_thread) {
			pthread_mutex_lock(&samples->mutex);
			samples->ends = true;
			pthread_cond_signal(&samples->cond);
			pthread_mutex_unlock(&samples->mutex);
			pthread_join(samples->thread, NULL);
		}
		tripd_catch_fini(&samples->catches);
		tripd_folder_close(&samples->folder);
	}
	samples->options = NULL;
	samples->has_thread = false;
	if (samples->failed == 0)
		return 0;
	return tripd_fail(-EIO, "%" PRIu64 " samples could not be written to %s: %s",
		samples->failed, folder, strerror(-samples->error));
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* What tests of waiting need of every wait object, be it of a counter or of a set. */
#ifndef TRIP_WAITS_H
#define TRIP_WAITS_H

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "harness.h"

/* Milliseconds after which a wake that has not come is called lost. */
#define WAITS_LOST_MS 20000

static inline struct trip_wait_set *
waits_set(enum trip_wait_obj wait_obj)
{
	struct trip_wait_attr attr = {.size = sizeof(attr), .wait_obj = wait_obj};
	struct trip_wait_set *set;

	if (trip_wait_open(harness_domain, &attr, &set) != 0)
		fail_msg("%s", trip_error_message());
	return set;
}

static inline struct trip_cntr *
waits_member(struct trip_wait_set *set)
{
	struct trip_cntr_attr attr = {
		.size = sizeof(attr), .wait_obj = TRIP_WAIT_SET, .wait_set = set};
	struct trip_cntr *cntr;

	if (trip_cntr_open(harness_domain, &attr, &cntr, NULL) != 0)
		fail_msg("%s", trip_error_message());
	return cntr;
}

static inline int
waits_try(struct trip_fid *fid)
{
	return trip_trywait(harness_domain, &fid, 1);
}

static inline bool
waits_readable(int fd)
{
	struct pollfd entry = {.fd = fd, .events = POLLIN};

	return poll(&entry, 1, 0) == 1;
}

static inline unsigned int
waits_open_descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	unsigned int n = 0;

	assert_non_null(directory);
	while (readdir(directory) != NULL)
		n++;
	closedir(directory);
	return n;
}

/* Whether a thread of this process sleeps on a futex. */
static inline bool
waits_asleep(pid_t thread)
{
	char path[64], text[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", (int)thread);
	file = fopen(path, "r");
	if (file == NULL || fgets(text, sizeof(text), file) == NULL)
		fail_msg("%s: %s", path, strerror(errno));
	fclose(file);
	return strtol(text, NULL, 10) == SYS_futex;
}

/* Returns what the handle has not read yet, if anything, and reads it. */
static inline bool
waits_read(struct trip_cntr *cntr, uint64_t *success, uint64_t *error)
{
	uint64_t now = trip_cntr_read(cntr), now_error = trip_cntr_readerr(cntr);
	bool due = now != *success || now_error != *error;

	*success = now;
	*error = now_error;
	return due;
}

/* Waits on a condition variable whose mutex is held: 0, or ETIMEDOUT where the wake was lost. */
static inline int
waits_cond(const struct trip_mutex_cond *object)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += WAITS_LOST_MS / 1000;
	return pthread_cond_timedwait(object->cond, object->mutex, &until);
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rte_common.h>

#include "now.h"
#include "patient.h"
#include "signals.h"

#define PATIENT_MAX ((size_t)1 << 20)
#define LOOK_MS 20
#define STOPPED_NS UINT64_C(1000000000)

/* Returns how many bytes are taken at once. What fails is the stream's error, as without this. */
static size_t
write_some(const struct tripd_patient *patient, const char *text, size_t length)
{
	struct pollfd out = {.fd = fileno(patient->to), .events = POLLOUT};
	ssize_t n;

	if (patient->fd >= 0) {
		n = write(patient->fd, text, length);
		if (n >= 0 || errno == EAGAIN || errno == EINTR)
			return n > 0 ? (size_t)n : 0;
	}
	if (poll(&out, 1, 0) <= 0)
		return 0;
	/* So much a pipe that is writable takes without waiting. */
	length = RTE_MIN(length, (size_t)PIPE_BUF);
	(void)fwrite(text, 1, length, patient->to);
	(void)fflush(patient->to);
	return length;
}

static bool
has_room(struct tripd_patient *patient, size_t length)
{
	if (PATIENT_MAX - (patient->end - patient->first) < length)
		return false;
	if (PATIENT_MAX - patient->end < length) {
		patient->end -= patient->first;
		memmove(patient->buffer, patient->buffer + patient->first, patient->end);
		patient->first = 0;
	}
	return true;
}

static void
append(struct tripd_patient *patient, const char *text, size_t length)
{
	memcpy(patient->buffer + patient->end, text, length);
	patient->end += length;
}

/* The stream is locked. */
static void
empty(struct tripd_patient *patient)
{
	char told[64];
	size_t n;

	for (n = 1; n > 0 && patient->first < patient->end; patient->first += n)
		n = write_some(
			patient, patient->buffer + patient->first, patient->end - patient->first);
	if (patient->first < patient->end)
		return;
	patient->first = patient->end = 0;
	if (patient->untold == 0)
		return;
	append(patient, told,
		(size_t)snprintf(told, sizeof(told), "%" PRIu64 " lines were left out here\n",
			patient->untold));
	patient->untold = 0;
}

/* A reader that goes on is waited for, however slow it is; at the end until a signal says so.
 * One that has stopped is waited for once. */
static void
wait_for_room(struct tripd_patient *patient, size_t length)
{
	struct pollfd out = {.fd = fileno(patient->to), .events = POLLOUT};
	uint64_t went_on = now_ns(CLOCK_MONOTONIC);

	while (!has_room(patient, length) &&
		(patient->ends ? !tripd_signals_came() : patient->untold == 0)) {
		size_t before = patient->end - patient->first;
		uint64_t now;

		(void)poll(&out, 1, LOOK_MS);
		empty(patient);
		now = now_ns(CLOCK_MONOTONIC);
		if (patient->end - patient->first < before)
			went_on = now;
		else if (!patient->ends && now - went_on >= STOPPED_NS)
			break;
	}
}

static ssize_t
take(void *cookie, const char *text, size_t length)
{
	struct tripd_patient *patient = cookie;
	uint64_t lines = 0;

	empty(patient);
	wait_for_room(patient, length);
	if (patient->untold == 0 && has_room(patient, length)) {
		append(patient, text, length);
		empty(patient);
		return (ssize_t)length;
	}
	for (size_t i = 0; i < length; i++)
		lines += text[i] == '\n';
	patient->left_out += lines;
	patient->untold += lines;
	return (ssize_t)length;
}

int
tripd_patient_begin(struct tripd_patient *patient, FILE *to, int mode)
{
	const cookie_io_functions_t calls = {.write = take};
	char path[32];

	*patient = (struct tripd_patient){.to = to, .fd = -1, .buffer = malloc(PATIENT_MAX)};
	(void)fflush(to);
	if (patient->buffer != NULL)
		patient->stream = fopencookie(patient, "w", calls);
	if (patient->stream == NULL) {
		free(patient->buffer);
		return -ENOMEM;
	}
	setvbuf(patient->stream, NULL, mode, BUFSIZ);
	/* A terminal that is writable may take less than a line. */
	if (isatty(fileno(to))) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fileno(to));
		patient->fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	}
	return 0;
}

bool
tripd_patient_flush(struct tripd_patient *patient)
{
	bool waits;

	if (patient->stream == NULL)
		return false;
	flockfile(patient->stream);
	empty(patient);
	waits = patient->first < patient->end;
	funlockfile(patient->stream);
	return waits;
}

uint64_t
tripd_patient_end(struct tripd_patient *patient)
{
	struct pollfd out;

	if (patient->stream == NULL)
		return 0;
	patient->ends = true;
	out = (struct pollfd){.fd = fileno(patient->to), .events = POLLOUT};
	(void)fflush(patient->stream);
	while (tripd_patient_flush(patient) && !tripd_signals_came())
		(void)poll(&out, 1, LOOK_MS);
	for (; patient->first < patient->end; patient->first++)
		patient->left_out += patient->buffer[patient->first] == '\n';
	return patient->left_out;
}

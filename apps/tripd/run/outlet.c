/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines that wait for their reader. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_common.h>

#include "now.h"
#include "outlet.h"
#include "start/describe.h"

#define LEFT_OUT "{\"event\":\"left_out\",\"count\":%" SCNu64

int
tripd_outlet_open(struct tripd_outlet *outlet, size_t size)
{
	*outlet = (struct tripd_outlet){.fd = -1, .buffer = malloc(size), .size = size};
	return outlet->buffer != NULL ? 0 : -ENOMEM;
}

void
tripd_outlet_leave_out(struct tripd_outlet *outlet, uint64_t n)
{
	outlet->untold += n;
	outlet->left_out += n;
}

/* What a line would have told of being left out is to be told by another one. */
void
tripd_outlet_lose(struct tripd_outlet *outlet, const char *text, size_t length)
{
	const char *line = text, *end;
	char head[64];
	uint64_t n;

	for (; (end = memchr(line, '\n', length - (size_t)(line - text))) != NULL; line = end + 1) {
		snprintf(head, sizeof(head), "%.*s", (int)(end - line), line);
		if (sscanf(head, LEFT_OUT, &n) == 1)
			outlet->untold += n;
		else
			tripd_outlet_leave_out(outlet, 1);
	}
}

void
tripd_outlet_connect(struct tripd_outlet *outlet, int fd)
{
	const char *line = outlet->buffer + outlet->first, *end;

	if (outlet->fd >= 0)
		close(outlet->fd);
	outlet->fd = fd;
	if (outlet->first == outlet->begin)
		return;
	/* Lines are in the buffer whole. */
	end = (const char *)rawmemchr(line, '\n') + 1;
	tripd_outlet_lose(outlet, line, (size_t)(end - line));
	outlet->first = outlet->begin = (size_t)(end - outlet->buffer);
}

static bool
append(struct tripd_outlet *outlet, const char *text)
{
	size_t length = strlen(text);

	if (outlet->size - (outlet->end - outlet->first) < length + 1)
		return false;
	if (outlet->size - outlet->end < length + 1) {
		outlet->end -= outlet->first;
		outlet->begin -= outlet->first;
		memmove(outlet->buffer, outlet->buffer + outlet->first, outlet->end);
		outlet->first = 0;
	}
	memcpy(outlet->buffer + outlet->end, text, length);
	outlet->buffer[outlet->end + length] = '\n';
	outlet->end += length + 1;
	return true;
}

/* Whether the stream has been told of all that was left out so far. */
static bool
tell_left_out(struct tripd_outlet *outlet)
{
	char date[TRIPD_DESCRIBE_DATE], text[128];

	if (outlet->untold == 0)
		return true;
	tripd_describe_date(now_ns(CLOCK_REALTIME), date);
	snprintf(text, sizeof(text),
		"{\"event\":\"left_out\",\"count\":%" PRIu64 ",\"time\":\"%s\"}", outlet->untold,
		date);
	if (!append(outlet, text))
		return false;
	outlet->untold = 0;
	return true;
}

void
tripd_outlet_put(struct tripd_outlet *outlet, json_t *object)
{
	char *text = json_dumps(object, JSON_COMPACT);

	json_decref(object);
	if (text != NULL && tell_left_out(outlet) && append(outlet, text)) {
		free(text);
		return;
	}
	/* Much may have come since it was last emptied. */
	tripd_outlet_flush(outlet, 0);
	if (text == NULL || !tell_left_out(outlet) || !append(outlet, text))
		tripd_outlet_leave_out(outlet, 1);
	free(text);
}

/* Up to PIPE_BUF bytes, which a pipe that poll() has found writable takes without waiting, also one
 * that blocks. Returns 0 or a negative errno. */
static int
write_some(struct tripd_outlet *outlet, int ms)
{
	struct pollfd out = {.fd = outlet->fd, .events = POLLOUT};
	size_t length = RTE_MIN(outlet->end - outlet->begin, (size_t)PIPE_BUF);
	const char *line = outlet->buffer + outlet->first, *end;
	ssize_t n;
	int ready;

	if (outlet->fd < 0)
		return -ENOTCONN;
	ready = poll(&out, 1, ms);
	if (ready <= 0)
		return ready == 0 ? -EAGAIN : -errno;
	n = write(outlet->fd, outlet->buffer + outlet->begin, length);
	if (n < 0)
		return -errno;
	outlet->begin += (size_t)n;
	end = memrchr(line, '\n', outlet->begin - outlet->first);
	if (end != NULL)
		outlet->first = (size_t)(end - outlet->buffer) + 1;
	return 0;
}

int
tripd_outlet_flush(struct tripd_outlet *outlet, int ms)
{
	uint64_t until = now_ns(CLOCK_MONOTONIC) + (uint64_t)ms * 1000000;
	int error = 0;

	do {
		uint64_t now = now_ns(CLOCK_MONOTONIC);

		if (outlet->begin == outlet->end) {
			outlet->first = outlet->begin = outlet->end = 0;
			if (outlet->untold == 0)
				return 0;
			tell_left_out(outlet);
		}
		error = write_some(outlet, now < until ? (int)((until - now) / 1000000) : 0);
	} while (error == 0 || error == -EINTR);
	return error;
}

/* Of a file that nobody else has written behind it, the part of a line goes: a full disk is no
 * reason for one that no program can read. */
static void
take_back(const struct tripd_outlet *outlet)
{
	off_t part = (off_t)(outlet->begin - outlet->first), end;
	struct stat status;

	if (part == 0 || fstat(outlet->fd, &status) != 0 || !S_ISREG(status.st_mode))
		return;
	end = lseek(outlet->fd, 0, SEEK_CUR);
	/* What cannot be is as it was. */
	if (end == status.st_size && end >= part && ftruncate(outlet->fd, end - part) != 0)
		return;
}

void
tripd_outlet_close(struct tripd_outlet *outlet)
{
	tripd_outlet_lose(outlet, outlet->buffer + outlet->first, outlet->end - outlet->first);
	if (outlet->fd >= 0) {
		take_back(outlet);
		close(outlet->fd);
	}
	free(outlet->buffer);
	outlet->buffer = NULL;
	outlet->fd = -1;
}

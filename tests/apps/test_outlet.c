/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines for a reader who is slow, or another one by and by: whole ones, and the others counted. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "run/outlet.h"
#include "trip_test.h"

#define BUFFER 10000
#define PIPE 8192

struct bed {
	struct tripd_outlet outlet;
	int reader;
	/* Of all readers: lines, those that they were told of being left out, parts of lines. */
	uint64_t lines, left_out, parts;
	/* The part of a line that it has got so far. */
	char text[2 * PIPE];
	size_t rest;
};

static void
connect_reader(struct bed *bed)
{
	int ends[2];

	assert_int_equal(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
	assert_true(fcntl(ends[1], F_SETPIPE_SZ, PIPE) > 0);
	bed->reader = ends[0];
	tripd_outlet_connect(&bed->outlet, ends[1]);
}

static void
open_bed(struct bed *bed)
{
	signal(SIGPIPE, SIG_IGN);
	*bed = (struct bed){0};
	assert_int_equal(tripd_outlet_open(&bed->outlet, BUFFER), 0);
}

/* Reads what is in the pipe, in which each line is an object. */
static void
read_lines(struct bed *bed)
{
	ssize_t n = read(bed->reader, bed->text + bed->rest, sizeof(bed->text) - bed->rest);
	char *line = bed->text, *end, *stop = line + bed->rest + (n > 0 ? n : 0);

	for (; (end = memchr(line, '\n', (size_t)(stop - line))) != NULL; line = end + 1) {
		json_t *object = json_loadb(line, (size_t)(end - line), 0, NULL), *count;

		assert_non_null(object);
		count = json_object_get(object, "count");
		bed->left_out += (uint64_t)json_integer_value(count);
		bed->lines += count == NULL;
		json_decref(object);
	}
	bed->rest = (size_t)(stop - line);
	memmove(bed->text, line, bed->rest);
}

static void
close_reader(struct bed *bed)
{
	bed->parts += bed->rest != 0;
	bed->rest = 0;
	close(bed->reader);
}

static void
put(struct bed *bed, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		tripd_outlet_put(
			&bed->outlet, json_pack("{s:s, s:i}", "event", "trip", "number", (int)i));
}

static void
what_has_no_room_is_left_out_and_told(void **state)
{
	struct bed bed;

	open_bed(&bed);
	connect_reader(&bed);
	put(&bed, 1000);
	assert_true(bed.outlet.left_out > 0);
	assert_int_equal(tripd_outlet_flush(&bed.outlet, 0), -EAGAIN);
	read_lines(&bed);
	assert_int_equal(bed.left_out, 0);
	assert_true(bed.lines > 0);
	close_reader(&bed);
	tripd_outlet_close(&bed.outlet);
}

/* Each reader gets whole lines, but for the end of the last one. */
static void
another_reader_begins_with_a_line(void **state)
{
	struct bed bed;

	open_bed(&bed);
	connect_reader(&bed);
	for (unsigned int i = 0; i < 50; i++) {
		put(&bed, 300);
		tripd_outlet_flush(&bed.outlet, 0);
		read_lines(&bed);
		close_reader(&bed);
		connect_reader(&bed);
	}
	while (tripd_outlet_flush(&bed.outlet, 0) == -EAGAIN)
		read_lines(&bed);
	read_lines(&bed);
	assert_true(bed.parts > 0);
	assert_true(bed.left_out > 0);
	assert_int_equal(bed.left_out, bed.outlet.left_out);
	assert_int_equal(bed.lines + bed.left_out, 50 * 300);
	close_reader(&bed);
	tripd_outlet_close(&bed.outlet);
}

static void
nobody_gets_what_waits_when_it_ends(void **state)
{
	struct bed bed;

	open_bed(&bed);
	put(&bed, 1000);
	tripd_outlet_leave_out(&bed.outlet, 7);
	assert_int_equal(tripd_outlet_flush(&bed.outlet, 0), -ENOTCONN);
	connect_reader(&bed);
	close_reader(&bed);
	assert_int_equal(tripd_outlet_flush(&bed.outlet, 0), -EPIPE);
	tripd_outlet_close(&bed.outlet);
	assert_int_equal(bed.outlet.left_out, 1007);
}

/* A line that tells of others is none of them. */
static void
who_ends_before_it_was_told_lacks_no_more(void **state)
{
	struct bed bed;

	open_bed(&bed);
	tripd_outlet_leave_out(&bed.outlet, 3);
	put(&bed, 1);
	tripd_outlet_close(&bed.outlet);
	assert_int_equal(bed.outlet.left_out, 4);
}

/* The disk is full, and the run ends. */
static void
a_file_ends_with_a_line(void **state)
{
	const struct rlimit full = {500, RLIM_INFINITY};
	char path[] = "/tmp/test-outlet-XXXXXX", text[1000];
	int fd = mkostemp(path, O_APPEND | O_CLOEXEC);
	struct rlimit had;
	struct bed bed;
	ssize_t n;

	assert_true(fd >= 0);
	open_bed(&bed);
	tripd_outlet_connect(&bed.outlet, dup(fd));
	put(&bed, 20);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &had), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
	assert_int_equal(tripd_outlet_flush(&bed.outlet, 0), -EFBIG);
	assert_int_equal(lseek(fd, 0, SEEK_END), 500);
	assert_int_not_equal(bed.outlet.begin, bed.outlet.first);
	tripd_outlet_close(&bed.outlet);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &had), 0);
	n = pread(fd, text, sizeof(text), 0);
	assert_true(n > 0 && n < 500);
	assert_int_equal(text[n - 1], '\n');
	close(fd);
	unlink(path);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_has_no_room_is_left_out_and_told),
		cmocka_unit_test(another_reader_begins_with_a_line),
		cmocka_unit_test(nobody_gets_what_waits_when_it_ends),
		cmocka_unit_test(who_ends_before_it_was_told_lacks_no_more),
		cmocka_unit_test(a_file_ends_with_a_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

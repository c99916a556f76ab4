/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A primary and its secondaries, for tests: the test program is the primary, and runs itself again
 * as each secondary, which plays a part by name. The two talk by single bytes over pipes.
 */
#ifndef TRIP_FAMILY_H
#define TRIP_FAMILY_H

#include <stdbool.h>
#include <sys/types.h>

#include <trip.h>
#include <trip_test.h>

/* The domain of this process. */
extern struct trip_domain *family_domain;

/* The primary's domain, progressed by lcores or by hand. */
void family_open(enum trip_progress progress, const struct trip_domain_attr *tune);
void family_close(void);
/* One call of trip_domain_close(): once it says 0, family_domain is NULL and family_step() only
 * yields. */
int family_try_close(void);
/* Lets the homes go on. */
void family_step(void);

/* A device that the primary is to have, as EAL's --vdev names it; NULL: none. Before family_main().
 */
extern const char *family_device;

#define family_until(condition)                                                       \
	do {                                                                          \
		struct family_patience family_until_ = {0};                           \
		while (!(condition))                                                  \
			family_watch(#condition, __FILE__, __LINE__, &family_until_); \
	} while (0)

struct family_patience {
	uint64_t rests, deadline;
};

void family_watch(
	const char *condition, const char *file, int line, struct family_patience *patience);

/* --- the primary's side of a secondary --- */

struct family_child {
	pid_t pid;
	int to, from;
	unsigned int lcore;
};

/* Runs a part; `lcore` is its lcore id. `arg` is handed to the part. */
struct family_child family_start(const char *part, unsigned int lcore, const char *arg);
void family_tell(const struct family_child *child, char byte);
/* The next byte that it says; 0: it has ended. Progresses meanwhile. */
char family_hear(const struct family_child *child);
/* It plays to the end, and well. */
void family_join(struct family_child *child);
/* So it does, and is cleared away. */
void family_end(struct family_child *child);
/* SIGKILL, and it is cleared away. */
void family_kill(struct family_child *child);
/* How many are attached, or being cleared away; of a domain that family_open() has opened, or that
 * is looked at, from outside. */
unsigned int family_attached(void);
void family_look_on(void);
void family_look_away(void);
/* The path of the socket by which it is looked at; known after family_find_socket(). */
void family_find_socket(void);
const char *family_socket(void);

/* --- a part --- */

struct family_part {
	const char *name;
	/* The domain is not attached to before: family_attach() does. */
	void (*play)(const char *arg);
	/* It is played as a primary, of another generation; without EAL. */
	bool primary, bare;
};

/* Plays another part in place of this process, under that prefix of files. */
void family_become(const char *part, const char *file_prefix, unsigned int lcore);
/* The prefix of files that this process was started under. */
const char *family_prefix(void);

/* Where it hears the primary, and where that hears it. */
#define FAMILY_HEARD 3
#define FAMILY_SAID 4

void family_attach(void);
void family_say(char byte);
/* The next byte that the primary says; ends the process where that has ended. */
char family_listen(void);
/* Waits for the primary's end. */
void family_outlive(void);

/* Where a time has a limit, what the machine adds to it: this process goes before all others, where
 * it may, and how long the calling thread has been kept from a processor, where the kernel says. */
void family_hurry(void);
uint64_t family_kept_ns(void);

struct trip_cntr *family_cntr(const char *name, enum trip_wait_obj wait_obj);
struct trip_cntr *family_find(const char *name, enum trip_wait_obj wait_obj);

/* Messages of a known size, either way: whole, or false where the other end has ended. */
bool family_send(int fd, const void *message, size_t size);
bool family_receive(int fd, void *message, size_t size);

/* Runs them: EXIT_SUCCESS or EXIT_FAILURE; or prints their names, where that was asked for. */
#define family_run(tests) family_run_tests(tests, sizeof(tests) / sizeof(*(tests)))
int family_run_tests(const struct CMUnitTest *tests, size_t n);

/*
 * main(): the tests as the primary, or a part. A primary may kill itself: then it depends on how
 * the secondaries end that outlive it. `PROGRAM list` and `PROGRAM list secondary` print the names
 * of the tests.
 */
int family_main(int argc, char **argv, const struct family_part *parts, int (*tests)(void));

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What every conformance program shares: one domain for each test, progressed in the mode that the
 * program was told. The same tests run in all modes:
 *
 *	manual	the test calls trip_progress(), so it decides what one round of the home sees
 *	lcore	the homes run on dedicated lcores, at any moment
 *	service	the homes are services of service lcores
 *
 * and, where layout.h says so, in secondary processes, whose primary has homes on lcores, or
 * progresses them by hand all the time.
 *
 * A test says what must come with harness_until(), and what must not come with harness_settle()
 * followed by a look: neither depends on time. The scrub is off, so that it repairs no lost ring.
 */
#ifndef TRIP_HARNESS_H
#define TRIP_HARNESS_H

#include <stdatomic.h>
#include <stdbool.h>

#include <trip.h>
#include <trip_test.h>

#define HARNESS_HOMES_MAX 2

/* The domain of the running test, and the mode of the program. */
extern struct trip_domain *harness_domain;
extern enum trip_progress harness_mode;
extern uint64_t harness_seed;

/*
 * Opens the domain of a test with `homes` homes. `tune` may be NULL; its zero fields get sizes fit
 * for a test, and its mode, lcores and scrub are the harness's.
 */
void harness_open(unsigned int homes, const struct trip_domain_attr *tune);

/*
 * Closes it: nothing was lost, repaired or refused meanwhile, and in manual mode every invariant of
 * the domain holds.
 */
void harness_close(void);

/*
 * What is otherwise where the tests run in a secondary process, from opening a domain on: its
 * primary does that. Functions are the primary's alone, too, so a note is a completion event there.
 */
struct harness_away {
	void (*open)(unsigned int homes, const struct trip_domain_attr *attr);
	void (*close)(void);
	void (*settle)(void);
	void (*advance)(uint64_t ns);
	struct trip_domain *(*open_other)(void);
	void (*close_other)(struct trip_domain *domain);
	/* As traffic.h has them; packets are received, and counted, in the primary. Without
	 * `burst`, the process of the tests polls the queues itself. */
	struct trip_port *(*open_port)(uint16_t n_queues, const struct trip_port_attr *attr);
	void (*close_port)(struct trip_port *port);
	uint16_t (*burst)(uint16_t queue, uint16_t n, uint16_t udp_port, uint16_t bytes);
	uint16_t (*loop)(uint16_t queue, uint16_t n, uint16_t udp_port, uint16_t bytes);
	/* Of the port that is open there, which finds them here. */
	struct trip_each *(*open_each)(const struct trip_each_attr *attr, uint16_t udp_port);
	void (*close_each)(struct trip_each *each);
};
/* NULL: they run in the primary. */
extern const struct harness_away *harness_away;

/* How often a test repeats: trip_test_rounds(), and less often where it has been shown before. */
uint64_t harness_rounds(uint64_t rounds);

/* A further domain, of one home by hand, and small. */
struct trip_domain *harness_open_other(void);
void harness_close_other(struct trip_domain *domain);

/* Lets the homes go on for a moment. */
void harness_step(void);

/* Returns when the homes have done all that was due when it was called, and what came of that. */
void harness_settle(void);

/* Feeds the clock of a domain that goes by packets: all that is due by then is done. */
void harness_advance(uint64_t ns);

/* A condition that must come true; the program fails when it has not for a minute. */
#define harness_until(condition)                                                        \
	do {                                                                            \
		struct harness_watch harness_watch_ = {#condition, __FILE__, __LINE__}; \
		while (!(condition))                                                    \
			harness_watch_step(&harness_watch_);                            \
	} while (0)

struct harness_watch {
	const char *condition, *file;
	int line;
	uint64_t steps, rests, deadline;
};

void harness_watch_step(struct harness_watch *watch);

/* --- what tests need all the time --- */

struct trip_cntr *harness_cntr(enum trip_wait_obj wait_obj);
void harness_cntr_close(struct trip_cntr *cntr);

/* The values are these, or come to be: what feeds a counter changes one value after the other, and
 * one counter after the other. */
void harness_expect(struct trip_cntr *cntr, uint64_t success, uint64_t error);
#define harness_await(cntr, success, error) \
	harness_until(trip_cntr_read(cntr) == (success) && trip_cntr_readerr(cntr) == (error))

/* Items that are noted, in the order of their firing, by the function that they call or the event
 * that they complete with. */
#define HARNESS_NOTES 4096

struct harness_notes {
	struct trip_function *function;
	/* What they add to where they call none. */
	struct trip_cntr *sink;
	struct trip_work_event event[HARNESS_NOTES];
	/* Notes beyond the array are counted only. */
	_Atomic uint32_t n;
	int result;
};

void harness_notes_open(struct harness_notes *notes);
void harness_notes_close(struct harness_notes *notes);
uint32_t harness_notes_count(struct harness_notes *notes);

/* An item that is noted, to fill in further, but for its operation; `completion` may be NULL. */
struct trip_work harness_noted(struct harness_notes *notes, struct trip_cntr *cntr,
	uint64_t threshold, struct trip_cntr *completion);

/* Queues one, with `context`; returns the id. */
uint64_t harness_note(
	struct harness_notes *notes, struct trip_cntr *cntr, uint64_t threshold, uint64_t context);

/* An item of this operation to fill in further. */
struct trip_work harness_work(struct trip_cntr *cntr, uint64_t threshold, enum trip_op op);
uint64_t harness_queue(const struct trip_work *work);

/* The next event of this process, once there is one. */
struct trip_work_event harness_event(void);

/* --- main --- */

/* A test with a domain of one home; and one that opens its own, or none. */
#define HARNESS_TEST(f)                                      \
	{                                                    \
#f, f, harness_setup, harness_teardown, NULL \
	}
#define HARNESS_TEST_OWN(f)                         \
	{                                           \
#f, f, NULL, harness_teardown, NULL \
	}

int harness_setup(void **state);
int harness_teardown(void **state);

/* main() of a program: `PROGRAM manual|lcore|service [NAME]`, or where layout.h says, or `PROGRAM
 * list` for the tests' names. `start` starts EAL: 0, or TRIP_TEST_SKIP after saying why not. */
int harness_main(
	int argc, char **argv, int (*start)(void), const struct CMUnitTest *tests, size_t n);

/* Runs the tests of this name, which may be NULL: EXIT_SUCCESS or EXIT_FAILURE. */
int harness_run(const char *word, const char *name, const struct CMUnitTest *tests, size_t n);

/* EAL with this device, which may be NULL. */
int harness_start(const char *vdev);

#define HARNESS_MAIN(vdev, tests)                                                               \
	static int harness_start_vdev(void)                                                     \
	{                                                                                       \
		return harness_start(vdev);                                                     \
	}                                                                                       \
	int main(int argc, char **argv)                                                         \
	{                                                                                       \
		return harness_main(                                                            \
			argc, argv, harness_start_vdev, tests, sizeof(tests) / sizeof(*tests)); \
	}

#endif

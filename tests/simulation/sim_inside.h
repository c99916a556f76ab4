/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Between the files of the simulator: sim_actor.c and sim_fiber.c, who there is; sim_rest.c, who
 * has nothing to do; sim_turn.c, sim_rival.c, sim_fair.c and sim_decision.c, who is next;
 * sim_memory.c, sim_view.c and sim_place.c, what an access finds; sim_kernel.c, what it asks the
 * kernel for; sim_story.c, what is told of it; sim_watchdog.c, that it goes on; sim_shrink.c, what
 * of it is needed; sim_edge.c, sim_steer.c and sim_corpus.c, what it has reached, and which comes
 * next.
 * Processes are sim_machine.h's.
 */
#ifndef SIM_INSIDE_H
#define SIM_INSIDE_H

#include <setjmp.h>
#include <ucontext.h>

#include <trip_test.h>

#include "sim.h"
#include "trip_atomics.h"

/* Of a plan. */
#define SIM_OPS 4096
/* What of its numbers can be kept. */
#define SIM_DRAWS 16384
/* The longest history; one that goes on has lost its way. It is less than twice the longest that is
 * known to rest: README.md. */
#define SIM_STEPS 16000000
#define SIM_LOCALS 4

/* What a history does that it need not: otherwise whoever runs goes on, whoever pauses is followed
 * by the next actor, and each store is seen by all at once. */
enum sim_kind {
	SIM_SWITCH, /* to the actor `arg` */
	SIM_KILL,
	SIM_STOP, /* for `arg` steps */
	/* The load gives the `arg`th store before the newest; of a compare-exchange: it fails in
	 * the `arg`th way. */
	SIM_STALE,
	SIM_DELAY, /* the store is in the buffer for `arg` steps */
	SIM_WAKE,  /* whoever is about to sleep is awake at once, for nothing */
};

/* At which step of which operation of which actor: that stays the same when others do less. */
struct sim_decision {
	uint32_t op, step, arg;
	uint8_t actor, kind;
	/* It came to that, when it was repeated. */
	bool happened;
};

/* What a plan has drawn. */
struct sim_plan {
	unsigned int n;
	uint64_t draws[];
};

/* What is played, or has been. */
struct sim_history {
	const struct sim_world *world;
	/* Of its plan, and of its turns. */
	uint64_t seed, turns;
	/* SIM_MEMORIES: as the seed says. */
	enum sim_memory memory;
	/* Drawn again; what is not in there follows from the seed. NULL: all does. */
	const struct sim_plan *plan;
	/* What was decided is done; otherwise it is drawn and noted here. From this step on it is
	 * drawn after all; 0: from none. */
	bool replays;
	uint32_t drawn_from;
	struct sim_decision *decisions;
	unsigned int n_decisions, max_decisions;
	/* Operations of the plan, and which are left out. */
	unsigned int n_ops;
	bool left_out[SIM_OPS];
	/* Told step by step. */
	bool told;
	/* What has come of it. */
	bool failed;
	/* It went on without a step. */
	bool spun;
	char sentence[256];
	/* Who says so. */
	const char *file;
	int line;
	uint32_t steps;
	uint64_t digest;
};

enum sim_state {
	SIM_READY,
	SIM_ASLEEP,
	/* Until everything rests. */
	SIM_RESTING,
	SIM_ENDED,
	SIM_DEAD,
};

struct sim_actor {
	char name[32];
	void (*run)(void *arg);
	void *arg;
	enum sim_state state;
	bool mortal, looks;
	/* It is in a pause, in the middle of nothing. */
	bool pauses;
	uint32_t op, step;
	/* It does not run before this step of the history. */
	uint32_t stopped_until;
	/* The word that it sleeps on; not for ever. */
	const volatile void *futex;
	bool times_out;
	/* When it wakes by itself; 0: never. */
	uint64_t wakes;
	/* When what it looks for again and again is over in any case; 0: never. */
	uint64_t polls_until;
	/* It does not run before it is let; it is gone, and its place is the next one's. */
	bool frozen, is_free;
	uint64_t priority;
	/* Since the last look for those who have had no turn; and of how many looks it was one. */
	bool has_run;
	uint32_t passed_by;
	/* One of so many steps gives its turn away. */
	uint32_t gap;
	/* Where it goes next. */
	const volatile void *where;
	bool writes;
	/* It lets others go first until this step, as long as they have anything to do, or until
	 * one of them comes to where it goes. */
	uint32_t lurks_until;
	/* It is about to make a call of the system's, or to come back from one of a driver's; which
	 * lasts until then, though nobody else has anything to do. */
	bool calls;
	uint32_t lingers_until;
	/* Its last access. */
	struct trip_atomics_here here;
	/* Of the code, where it was last. */
	uint32_t block;
	/* It has written since it slept last. */
	bool wrote;
	/* Pauses since the `seen`th progress, and when the last one was. */
	uint32_t n_pauses, seen;
	uint64_t paused;
	/* Laps since then, of so many that it takes. */
	uint32_t n_laps, laps;
	/* The first decision about it that is not in the past. */
	unsigned int decision;
	void *locals[SIM_LOCALS];
	ucontext_t context;
	jmp_buf resume;
	bool has_begun;
};

struct sim {
	struct sim_history *history;
	struct trip_random plan, chance;
	/* By the plan. */
	uint64_t drawn[SIM_DRAWS];
	unsigned int n_drawn;
	enum sim_memory memory;
	struct sim_actor actors[SIM_ACTORS];
	unsigned int n_actors;
	/* NULL: nobody, the world is being made or judged. */
	struct sim_actor *self;
	uint64_t now, until;
	uint32_t patience;
	/* When all was last shown to everybody, as `progress` counts. */
	uint32_t steps, progress, rests, shown;
	/* Time has been skipped since everybody has looked. */
	bool skipped;
	/* No operation that is begun has a lower number. */
	uint32_t phase;
	/* Of all steps: who made them, of which operation, where. */
	uint64_t digest;
	void *locals[SIM_LOCALS];
	unsigned int n_locals;
	/* Where processes are simulated: it has come to an actor; what a system call does; and time
	 * goes by while all wait for it. */
	void (*arrive)(unsigned int actor);
	/* Whose memory is at a place, of several that have it at the same; 0: it is that of all.
	 * Stores do not wait in a buffer while it is exchanged. */
	unsigned int (*space)(const volatile void *where, bool *is_exchanged);
	long (*pidfd_open)(int pid);
	/* Whether a signal ends the wait that begins; NULL: there are none. */
	bool (*interrupted)(void);
	bool has_clock;
};

extern struct sim sim;

/* --- sim_actor.c --- */

void sim_run(struct sim_history *history);
unsigned int sim_number(const struct sim_actor *actor);
/* Whoever runs leaves; to nobody: the history is over. */
void sim_leave(bool must, bool matters);
void sim_kill_self(void);
void sim_count_step(void);
void sim_digest(uint64_t number);
/* It may have its turn. */
bool sim_is_runnable(const struct sim_actor *actor);
/* Before an access, or a fence, NULL: others may have their turn. */
void sim_step(const volatile void *where, bool writes);
/* An actor, if need be in the place of one whose end everybody has seen, and whose operations it
 * counts on; SIM_ACTORS: there is none. */
unsigned int sim_spawn_again(const char *name, void (*run)(void *arg), void *arg);
void sim_leave_place(unsigned int actor);
/* It ends, whatever it does; does not run meanwhile, whatever it waits for. */
void sim_end(unsigned int actor);
void sim_freeze(unsigned int actor, bool freezes);

/* --- sim_rest.c --- */

/* It had nothing to do so often that it is believed. */
bool sim_is_idle(const struct sim_actor *actor);
/* In the kernel: sleeps on a word, false: until its time was over; wakes those that do. */
bool sim_sleep(const volatile void *where, bool times_out);
unsigned int sim_wake(const volatile void *where, unsigned int max);
/* Likewise up to a moment of sim_now(), 0: for ever; false: until then. */
bool sim_sleep_until(const volatile void *where, uint64_t moment);
/* Those whose time has come wake. */
void sim_wake_timed(uint64_t now);
/* Nobody has anything to do: it is the time at which the first wakes; false: nobody does by
 * himself. Then everything rests: whether anybody has waited for that. */
bool sim_skip_time(void);
bool sim_begin_again(void);

/* --- sim_fiber.c --- */

void sim_fiber_make(struct sim_actor *actor, void (*run)(void));
/* NULL: to the outside. Whoever has gone for good does not come back. */
void sim_fiber_switch(struct sim_actor *to);
/* Whether it is on the stack of an actor. */
bool sim_fiber_has(const void *where);
/* The first that an actor does. */
void sim_fiber_begin(void);

/* --- sim_place.c --- */

#define SIM_PLACES 65536

struct sim_place {
	const volatile void *where;
	uint32_t number;
	/* A bit each. */
	uint32_t visitors, writers;
	/* Who was here last, from where. */
	uint32_t last, block;
	bool last_writes;
};

void sim_place_begin(void);
struct sim_place *sim_place_of(const volatile void *where);
/* Whether others come here, too, and somebody writes. */
bool sim_place_visit(const volatile void *where, bool writes);

/* --- sim_decision.c --- */

/* By actor, and of each in its order. */
void sim_decision_sort(struct sim_history *history);
/* Those that it did not come to are forgotten: without them it is the same history. */
void sim_decision_prune(struct sim_history *history);
/* Of the actor that runs, at its step. */
void sim_decision_note(enum sim_kind kind, uint32_t arg);
/* Whether something of this kind was decided here; its arg. Others may have been as well. */
bool sim_decision_was(enum sim_kind kind, uint32_t *arg);

/* --- sim_turn.c --- */

/* Uniform in [0, bound), of the turns; bound > 0. */
uint64_t sim_chance(uint64_t bound);
void sim_turn_begin(void);
void sim_turn_spawned(struct sim_actor *actor);
void sim_turn_paused(void);
/* What comes now is a history of its own, as far as its turns go. */
void sim_turn_rested(void);
/* Whether the actor that runs is killed here; for how many steps it is stopped. */
bool sim_turn_kills(void);
uint32_t sim_turn_stops(void);
/* Who goes on. must_leave: it is not to be whoever runs, if there is anybody else. matters: others
 * come where it is about to go. NULL: nobody. */
struct sim_actor *sim_turn_next(bool must_leave, bool matters);
/* One of so many ways, of which the first is nothing special. */
uint32_t sim_turn_stale(uint32_t of);
uint32_t sim_turn_delay(void);
/* Whether a sleep on a futex or a condition variable is none. */
bool sim_turn_wakes(void);

/* --- sim_rival.c --- */

/* As the seed says from here on. */
void sim_rival_begin(void);
/* Who is to have the turn, because of where it goes; NULL: nobody. */
struct sim_actor *sim_rival_next(void);
/* Whoever runs is about to go where others come: it may wait for one. */
void sim_rival_lurk(void);
/* Others go first, as long as they have anything to do; or though they have not. */
bool sim_rival_lurks(const struct sim_actor *actor);
bool sim_rival_lingers(const struct sim_actor *actor);

/* --- sim_fair.c --- */

void sim_fair_begin(void);
/* At each step: who has had no turn for too long; NULL: nobody. */
struct sim_actor *sim_fair_next(void);

/* --- sim_memory.c, and of views sim_view.c --- */

void sim_memory_begin(void);
/* The actor that runs sees, and has shown, everything: a system call does so. */
void sim_memory_drain(struct sim_actor *actor);
/* Stores whose time in a buffer is over. */
void sim_memory_settle(void);
void sim_memory_put(volatile void *where, uint64_t value, size_t size);
/* Whoever knows what `actor` knew. */
void sim_memory_learn(struct sim_actor *who, const struct sim_actor *actor);

void sim_view_begin(void);
void sim_view_spawned(const struct sim_actor *actor);
void sim_view_learn(const struct sim_actor *who, const struct sim_actor *of);
uint64_t sim_view_load(const volatile void *where, size_t size, memory_order order);
void sim_view_modify(
	volatile void *where, size_t size, uint64_t value, bool modifies, memory_order order);
/* Whether a compare-exchange fails, which is its load then; what it finds. */
bool sim_view_fails(const volatile void *where, size_t size, bool weak, uint64_t expected,
	memory_order otherwise, uint64_t *found);
void sim_view_fence(memory_order order);
/* How many accesses the actor has made; whether it comes behind the nth of another. */
uint32_t sim_view_count(void);
bool sim_view_knows(unsigned int actor, uint32_t count);

/* --- sim_plain.c --- */

void sim_plain_begin(void);

/* --- sim_story.c --- */

void sim_story_begin(void);
void sim_story_access(const char *what, const volatile void *where, uint64_t value,
	struct trip_atomics_here here);
/* NULL: it pauses. */
void sim_story_mark(const char *what);
/* Prints it; how many steps it has. */
unsigned int sim_story_print(bool whole);
unsigned int sim_story_length(void);
void sim_watch_begin(void);
void sim_watch_note(const volatile void *where, uint64_t value);

/* A file without its folders. */
const char *sim_story_base_of(const char *file);

/* --- sim_watchdog.c --- */

/* From here on whoever runs without a step for so long, 0: a second of CPU time, has failed. */
void sim_watchdog_begin(void);
void sim_watchdog_limit(unsigned int ms);
/* In a handler of a signal: prints what the actor was in, behind `what`. */
void sim_watchdog_frames(const char *what);
/* A crash of an actor is a failure of its history from here on. */
void sim_watchdog_catch_crashes(void);

/* --- sim_shrink.c --- */

/* To the shortest that fails for the same reason; to one whose story has so few steps. */
void sim_shrink(struct sim_history *history, unsigned int enough);

/* --- sim_edge.c --- */

/* As if there had been none. */
void sim_edge_forget(void);
/* Of this history; how much of it no other had. */
void sim_edge_begin(void);
unsigned int sim_edge_end(void);
/* The last step that brought something of the kind; 0: none. */
uint32_t sim_edge_step(void);
/* The actor that runs comes to a place. */
void sim_edge_meet(struct sim_place *place, bool writes);
/* Of all histories: edges of the code, and of actors' turns at one place. */
unsigned int sim_edge_count(void);
unsigned int sim_edge_meetings(void);

/* --- sim_steer.c --- */

/* Histories that reach what none has before are kept, and changed. All of it follows from the seed,
 * and from what is in the folder; NULL: none. */
void sim_steer_begin(const struct sim_history *like, uint64_t seed, const char *folder);
/* Makes it the next, and plays it. */
void sim_steer_play(struct sim_history *history);
unsigned int sim_steer_kept(void);
void sim_steer_end(void);

/* --- sim_corpus.c --- */

/* With room for so many draws: free(). */
struct sim_plan *sim_corpus_plan(unsigned int n);
/* With a plan and decisions of its own, of the history that was played last. */
void sim_corpus_copy(struct sim_history *to, const struct sim_history *from);
void sim_corpus_free(struct sim_history *history);
/* In a file; false: that cannot be, errno. */
bool sim_corpus_write(const struct sim_history *history, const char *folder, const char *prefix);
bool sim_corpus_read(struct sim_history *history, const char *path);

#endif

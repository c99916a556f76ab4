/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs the library's own code in one thread, in an order, on a memory, in a time and with deaths
 * that follow from one number, the seed. README.md tells how to write an actor and an invariant.
 *
 * Whoever acts in a history (a home, a process, a thread of one) is an actor: a coroutine that may
 * lose its turn at each atomic access and fence of a source that is compiled with trip_atomics.h,
 * and at each wait. Between two of these it is alone. Checks look at what there is quietly: their
 * accesses are no steps, and of what was stored they see the newest.
 */
#ifndef SIM_H
#define SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In one history, the dead included. */
#define SIM_ACTORS 32

/* What an access finds. */
enum sim_memory {
	/* What was stored last. */
	SIM_MEMORY_STRONG,
	/* The same, but for what is still in a store buffer of another actor: x86. */
	SIM_MEMORY_BUFFERS,
	/* Whatever release, acquire and fences allow: C11, as weak.h has it, and arm64. */
	SIM_MEMORY_VIEWS,
	SIM_MEMORIES,
};

/* What is played. Everything of it follows from sim_draw() and from whose turn it is. */
struct sim_world {
	const char *name;
	/* Steps of a typical history. */
	uint32_t length;
	/* Makes what there is in the beginning, and spawns the actors; no step. */
	void (*begin)(void);
	/* Everything rests: is it right? In the end, and whenever an actor has waited for that. */
	void (*judge)(void);
	/* Gives all memory back, wherever the history has ended. */
	void (*forget)(void);
};

/* --- the plan: in begin() --- */

/* Uniform in [0, bound); bound > 0. */
uint64_t sim_draw(uint64_t bound);

/* The next operation of the plan, and whether it is to be done: what a failure does not need is
 * left out when a history is shrunk. */
bool sim_wants(void);

/* What an address in there is called, of n parts of `size` bytes each; "%u" gives which one. */
void sim_name(const void *base, size_t size, unsigned int n, const char *name);

/* For so many ticks nobody has anything to do before that is believed. */
void sim_patience(uint32_t ticks);

/* A thread-local pointer of the product: each actor has its own. */
void sim_local(void *pointer);

enum sim_memory sim_memory_kind(void);

/* --- actors --- */

/* Its number. A mortal one may be killed at any step. */
unsigned int sim_spawn(const char *name, bool mortal, void (*run)(void *arg), void *arg);

/* The actor that runs. */
unsigned int sim_self(void);

/* It begins what is the nth of its plan, also where others before that are left out. */
void sim_act(unsigned int number);
/* The same, where all others go by what this one does: the operations that they begin from here on
 * are counted from here, whatever there was before. */
void sim_phase(unsigned int number);
/* It begins its next operation. */
void sim_op(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* For who reads the story: something has happened in it. */
void sim_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The actor comes back from a call of a driver's, which may have taken long. */
void sim_linger(void);
/* Something was done: whoever waits for something may find it now. */
void sim_progress(void);
/* How often that was so. */
uint32_t sim_progresses(void);
/* There is nothing to do until others have moved, or time has gone by. When nobody has anything to
 * do, and that stays so, everything rests; and nobody waited for that, the history is over. */
void sim_pause(void);
/* The actor comes by all there is again and again: nothing rests before it has ended so many laps
 * since anybody has done anything. It ends one. */
void sim_laps(uint32_t n);
void sim_lap(void);
/* Waits until everything rests, and has been judged. What sleeps with a timeout wakes then, too. */
void sim_rest(void);
/* How often it has. */
uint32_t sim_rests(void);
/* Nothing rests before this moment. */
void sim_until(uint64_t now);
/* Sleeps until then, where time goes by itself. */
void sim_sleep_through(uint64_t moment);
/* The actor looks for something until then; when nobody has anything to do, it is then. 0: no
 * more. */
void sim_polls_until(uint64_t moment);

/* In ticks. */
uint64_t sim_now(void);
/* Of all steps of the history, how many there were. */
uint32_t sim_steps(void);

bool sim_is_dead(unsigned int actor);
bool sim_has_ended(unsigned int actor);
/* Blocked in the kernel on a word. */
bool sim_is_asleep(unsigned int actor);
/* Has seen that it has ended, or that it sleeps: knows all that it has done. */
void sim_join(unsigned int actor);

/* --- invariants --- */

/* From here on the actor only looks; back to what it was. */
bool sim_look(bool looks);
/* It wrote there what others are to read, as the library's own code would. */
void sim_wrote(const void *where, size_t size);
/* Stores of this actor that others have yet to see. */
bool sim_has_buffered(void);

/* What is told beside the sentence is where it stands. */
#define sim_fail(...) sim_fail_at(__FILE__, __LINE__, __VA_ARGS__)
_Noreturn void sim_fail_at(const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
#define sim_expect(holds, ...)                 \
	do {                                   \
		if (!(holds))                  \
			sim_fail(__VA_ARGS__); \
	} while (0)

/* --- all that a place has held --- */

struct sim_value {
	uint64_t value;
	/* When. */
	uint64_t now;
	uint32_t step;
	/* Who stored it; SIM_ACTORS: it was there. */
	uint32_t actor;
};

/* Begins with what it holds now. */
struct sim_watch *sim_watch(const volatile void *where, size_t size);
const struct sim_value *sim_watched(const struct sim_watch *watch, unsigned int *n);

/* --- main --- */

int sim_main(int argc, char **argv, const struct sim_world *world);

/* One history of a seed, for tests of the simulator itself: NULL, or why it is wrong. */
const char *sim_play(const struct sim_world *world, uint64_t seed, enum sim_memory memory);
/* n of them, steered, with what is in a folder; NULL: without. */
void sim_play_steered(
	const struct sim_world *world, uint64_t seed, unsigned int n, const char *folder);

#endif

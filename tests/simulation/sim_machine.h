/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The machine on which processes of a history run: each has memory, descriptors and threads of its
 * own. They meet in files, sockets and the memory that EAL shares among them. What sim.h says of
 * actors holds for their threads: each may lose its turn at each call of the kernel, too.
 */
#ifndef SIM_MACHINE_H
#define SIM_MACHINE_H

#include <sys/types.h>

#include "sim.h"

#define SIM_PROCESSES 32
#define SIM_FILES 48

struct sim_process;

/* What a program begins with. */
struct sim_program {
	const char *name;
	void (*main)(void *arg);
	void *arg;
	uid_t uid;
	/* RLIMIT_NOFILE; 0: SIM_FILES. */
	unsigned int files;
	/* It has memory of its own for others to attach to; otherwise it finds that of the primary
	 * that was started last. */
	bool primary;
	/* The first of its lcores, and how many. */
	unsigned int lcore, n_lcores;
};

/* In begin() and forget() of a world. unmaps: shared memory that is given back is gone for all;
 * otherwise whoever reserves as much next has the same. */
void sim_machine_begin(bool unmaps);
void sim_machine_end(void);
/* Whoever begins has the pid of one that has ended, if there is any. */
void sim_machine_reuse_pids(void);
/* Whoever gets no memory for a message tries again after so many ticks: nothing rests before. */
void sim_machine_tries_again(uint64_t ticks);
/* The kernel is one before Linux 6.5. */
void sim_machine_lack_peer_pidfd(void);

/* --- processes --- */

struct sim_process *sim_start(const struct sim_program *program);
/* As fork(), in the process that runs: the child has but the thread that goes on in `run`. */
struct sim_process *sim_fork(const char *name, void (*run)(void *arg), void *arg);
/* The process that runs becomes another program, with the pid and the descriptors that it has. */
_Noreturn void sim_exec(const struct sim_program *program);
_Noreturn void sim_exit(void);
/* By a signal, whatever it does. */
void sim_kill(struct sim_process *process);
void sim_stop(struct sim_process *process, bool stops);

/* Of the actor that runs, or NULL. */
struct sim_process *sim_process_self(void);
/* Its variables and its heap are what is there, for who judges; NULL changes nothing, nor
 * does one that has ended. */
void sim_process_enter(struct sim_process *process);
bool sim_process_lives(const struct sim_process *process);
bool sim_process_is_stopped(const struct sim_process *process);
const char *sim_process_name(const struct sim_process *process);
pid_t sim_process_pid(const struct sim_process *process);
/* Whose pidfd that is, of a process. */
const struct sim_process *sim_process_of_pidfd(const struct sim_process *process, int fd);

/* --- what it lacks --- */

enum sim_fault {
	SIM_FAULT_MEMORY,
	SIM_FAULT_FILES,
	/* To send descriptors: there are as many on their way as may be. */
	SIM_FAULT_RIGHTS,
	/* The kernel's, for a message. */
	SIM_FAULT_MESSAGE,
	SIM_FAULTS,
};

/* It has so many more of these, then one is not to be had. */
void sim_fault(struct sim_process *process, enum sim_fault fault, unsigned int after);
/* How often one was not, of anybody. */
unsigned int sim_faults(void);
/* A signal comes in each `every`th of its calls that wait, and has a handler: EINTR. 0: none does.
 * No call of the library's fails by that. */
void sim_interrupt(struct sim_process *process, unsigned int every);

/* --- what one has --- */

/* Descriptors that are open; blocks of its heap. */
unsigned int sim_files_of(const struct sim_process *process);
unsigned int sim_blocks_of(const struct sim_process *process);
/* Zones of the primary's shared memory that are reserved. */
unsigned int sim_zones_of(const struct sim_process *process);
/* Whether all of it is shared memory that is still there. */
bool sim_zone_is_there(const void *memory, size_t size);

/* Why its epoll descriptors are not as they should be: one reports a file that its process has not
 * open by that number; NULL: they are. */
const char *sim_epoll_is_wrong(const struct sim_process *process);

#endif

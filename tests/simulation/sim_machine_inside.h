/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Between the files of the machine: sim_process.c, who there is; sim_variables.c, sim_heap.c,
 * sim_eal.c and sim_mapping.c, memory of one, of all, and of those who map it; sim_lcore.c, what
 * EAL says of lcores; sim_thread.c, threads and what they wait for each other by; sim_file.c,
 * descriptors; sim_folder.c, files by name; sim_socket.c and sim_message.c, sockets; sim_poll.c,
 * who waits for what of these; sim_fault.c, what of all that is not to be had.
 */
#ifndef SIM_MACHINE_INSIDE_H
#define SIM_MACHINE_INSIDE_H

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <sys/socket.h>

#include "sim_inside.h"
#include "sim_machine.h"

/* Files that a call under way keeps open. */
#define SIM_HELD 4
/* Files that one process has mapped. */
#define SIM_MAPPINGS 8
#define SIM_LCORES 16

struct sim_file;
struct sim_eal;

struct sim_fd {
	/* NULL: it is closed. */
	struct sim_file *file;
	bool cloexec;
};

struct sim_heap {
	/* Where it begins: that of a child of fork() is where its parent's is. */
	unsigned int slot;
	size_t used;
	unsigned int blocks;
	/* What is in it, while another process's is there. */
	char *image;
};

struct sim_process {
	char name[24];
	pid_t pid;
	uid_t uid;
	bool lives, stopped;
	/* Ticks. */
	uint64_t started;
	struct sim_fd fds[SIM_FILES];
	unsigned int files;
	struct sim_heap heap;
	/* NULL: none. */
	struct sim_file *mappings[SIM_MAPPINGS];
	/* Its variables, while another's are in their place. */
	char *variables;
	struct sim_eal *eal;
	bool primary;
	unsigned int lcore, n_lcores;
	/* Which thread runs an lcore. */
	unsigned int launched[SIM_LCORES];
	/* Before a fork; behind it in the parent, and in the child. */
	void (*at_fork[3])(void);
	/* 0: there is enough; 1: the next one is not to be had. */
	unsigned int faults[SIM_FAULTS];
	/* A signal comes in each of so many calls that wait, 0: in none; how many there were. */
	unsigned int interrupts_every, n_waits;
	/* Whoever looks for one by name, or by pid. */
	uint32_t word;
};

/* What a file is. */
struct sim_file_kind {
	const char *name;
	/* As poll() has it. */
	short (*ready)(const struct sim_file *file);
	/* Nobody has it open any more. */
	void (*end)(struct sim_file *file);
	ssize_t (*read)(struct sim_file *file, void *bytes, size_t size, bool waits);
	ssize_t (*write)(struct sim_file *file, const void *bytes, size_t size);
};

/* A file description: what descriptors are of. */
struct sim_file {
	const struct sim_file_kind *kind;
	struct sim_file *next;
	/* Each call on it, and on what is at its other end, is an access to this. */
	uint32_t *word, own_word;
	/* Descriptors, calls under way, messages that carry it. */
	unsigned int refs;
	bool nonblocking;
	/* An eventfd's; a pidfd's. */
	uint64_t count;
	const struct sim_process *process;
	struct sim_socket *socket;
	struct sim_epoll *epoll;
	struct sim_inode *inode;
	/* A memory file's; NULL: it is empty. */
	void *memory;
	size_t size;
};

struct sim_wait {
	bool (*ready)(void *arg);
	void *arg;
};

struct sim_machine {
	struct sim_process processes[SIM_PROCESSES];
	unsigned int n_processes;
	/* Whose thread an actor is. */
	struct sim_process *of[SIM_ACTORS];
	void (*runs[SIM_ACTORS])(void *arg);
	void *args[SIM_ACTORS];
	/* A thread of the number has run to its end. */
	bool ended[SIM_ACTORS], detached[SIM_ACTORS];
	/* It is an lcore; how often it has spun. */
	bool is_lcore[SIM_ACTORS];
	unsigned int spins[SIM_ACTORS];
	/* Thread-local variables of each that is not running. */
	char *locals[SIM_ACTORS];
	/* What it waits for, and the files of the call. */
	struct sim_wait waits[SIM_ACTORS];
	struct sim_file *held[SIM_ACTORS][SIM_HELD];
	/* Whose variables are in place, of processes and of threads. */
	struct sim_process *resident;
	unsigned int resident_thread;
	struct sim_file *files;
	struct sim_eal *eals, *last_eal;
	bool reuses_pids, lacks_peer_pidfd;
	/* Ticks. */
	uint64_t tries_again;
	uint32_t word;
	unsigned int n_slots, n_faults;
};

extern struct sim_machine machine;

/* --- sim_process.c --- */

/* Before a call: others may have their turn, and what they know that had this turn before is known
 * from here on. */
void sim_call(uint32_t *word, const char *call, int fd);
/* Waits in the kernel until it is so: false, the moment has come before; 0: it never does. */
bool sim_wait(bool (*ready)(void *arg), void *arg, uint64_t until);
/* Something has changed that others may wait for. */
void sim_changed(void);
/* Waits for the end of a thread, whose place is free then. */
void sim_thread_join(unsigned int actor);
/* A thread of the process: its actor, or SIM_ACTORS: there are too many. */
unsigned int sim_thread_spawn(
	struct sim_process *process, const char *name, void (*run)(void *arg), void *arg);

/* --- sim_variables.c --- */

void sim_variables_begin(void);
/* An actor comes, and with it its process. */
void sim_variables_arrive(unsigned int actor);
/* As sim_inside.h has it. */
unsigned int sim_variables_space(const volatile void *where, bool *is_exchanged);
/* As the program begins with them, or a copy of those that are in place. */
void sim_variables_make(struct sim_process *process, bool copies);
void sim_variables_drop(struct sim_process *process);
void sim_locals_make(unsigned int actor, bool copies);

/* --- sim_heap.c --- */

void sim_heap_begin(void);
void sim_heap_end(void);
void sim_heap_take(struct sim_process *process);
void sim_heap_copy(const struct sim_process *from, struct sim_process *to);
/* What is there is this process's. */
void sim_heap_enter(struct sim_process *process);
void sim_heap_give(struct sim_process *process);
/* Whether memory is of any; of one that is exchanged. */
bool sim_heap_has(const void *memory, bool *is_exchanged);

/* --- sim_eal.c --- */

void sim_eal_begin(bool unmaps);
void sim_eal_end(void);
void sim_eal_start(struct sim_process *process);
/* Memory that is shared, by whomever: never none. */
void *sim_piece_take(size_t size);
void sim_piece_give(const void *memory);

/* --- sim_mapping.c --- */

/* False: it is no memory file. */
bool sim_memory_resize(struct sim_file *file, size_t size);
unsigned int sim_mappings_of(const struct sim_process *process);
void sim_mappings_copy(const struct sim_process *from, struct sim_process *to);
void sim_mappings_end(struct sim_process *process);

/* --- sim_fault.c --- */

/* Whether it is not to be had just now, by the process that runs. */
bool sim_fault_comes(enum sim_fault fault);
/* Whether a signal comes while the process that runs waits. */
bool sim_interrupted(void);
/* As sim_wait(), in a call that a signal ends: true, one has. */
bool sim_wait_ends(bool (*ready)(void *arg), void *arg, uint64_t until);

/* --- sim_file.c --- */

struct sim_file *sim_file_make(const struct sim_file_kind *kind);
void sim_file_hold(struct sim_file *file);
void sim_file_drop(struct sim_file *file);
/* A descriptor of it, in the process that runs, or -1: EMFILE. */
int sim_fd_open(struct sim_file *file, bool cloexec);
bool sim_fd_is_free(void);
/* The file of one, behind the turn that others may have before the call. It must be open. */
struct sim_file *sim_fd_enter(int fd, const char *call);
struct sim_file *sim_fd_of(const struct sim_process *process, int fd);
void sim_fds_copy(const struct sim_process *from, struct sim_process *to);
void sim_fds_close(struct sim_process *process, bool on_exec);
/* While a call waits on it. */
void sim_file_keep(struct sim_file *file);
void sim_file_keep_none(unsigned int actor);
/* It is ready for other things than before. */
void sim_file_changed(struct sim_file *file);
void sim_files_end(void);

/* errno, and -1. */
int sim_refuse(int error);
long sim_pidfd_open(int pid);
int sim_pidfd_of(const struct sim_process *process);

/* --- sim_folder.c --- */

void sim_folder_begin(void);
void sim_folder_end(void);
struct sim_inode *sim_inode_of(const char *path);
struct sim_inode *sim_inode_make(const char *path, mode_t mode);
struct sim_file *sim_inode_listener(const struct sim_inode *inode);
void sim_inode_listen(struct sim_inode *inode, struct sim_file *listener);

/* --- sim_socket.c --- */

extern const struct sim_file_kind sim_socket_kind;

/* --- sim_poll.c --- */

extern const struct sim_file_kind sim_epoll_kind;
void sim_epoll_gone(struct sim_file *file);
void sim_epoll_changed(const struct sim_file *file);

#endif

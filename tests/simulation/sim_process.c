/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes: how they begin, fork, execute and end. */
#include <string.h>

#include "sim_machine_inside.h"

struct sim_machine machine;

/* --- calls --- */

void
sim_call(uint32_t *word, const char *call, int fd)
{
	uint32_t one = 1, before;
	bool wrote = sim.self->wrote;

	/* read() and recvmsg() take what comes meanwhile, too. */
	sim.self->calls = strncmp(call, "re", 2) == 0;
	trip_atomics_modify(word, TRIP_ATOMICS_ADD, &one, &before, sizeof(before),
		memory_order_acq_rel, (struct trip_atomics_here){call, fd});
	sim.self->calls = false;
	/* What it changes, it says itself. */
	sim.self->wrote = wrote;
}

bool
sim_wait(bool (*ready)(void *arg), void *arg, uint64_t until)
{
	struct sim_wait *wait = &machine.waits[sim_self()];

	sim_memory_drain(sim.self);
	while (!ready(arg)) {
		if (until != 0 && until <= sim_now())
			return false;
		*wait = (struct sim_wait){ready, arg};
		(void)sim_sleep_until(wait, until);
		wait->ready = NULL;
	}
	return true;
}

void
sim_changed(void)
{
	sim_progress();
	for (unsigned int i = 0; i < sim.n_actors; i++) {
		struct sim_wait *wait = &machine.waits[i];

		if (wait->ready != NULL && wait->ready(wait->arg))
			(void)sim_wake(wait, 1);
	}
}

/* --- threads --- */

static void
run_thread(void *arg)
{
	unsigned int self = sim_self();

	machine.runs[self](machine.args[self]);
	machine.ended[self] = true;
	if (machine.detached[self])
		sim_leave_place(self);
	sim_changed();
}

static bool
has_ended(void *arg)
{
	return *(const bool *)arg;
}

void
sim_thread_join(unsigned int actor)
{
	(void)sim_wait(has_ended, &machine.ended[actor], 0);
	sim_join(actor);
	sim_leave_place(actor);
}

unsigned int
sim_thread_spawn(struct sim_process *process, const char *name, void (*run)(void *arg), void *arg)
{
	char whole[32];
	unsigned int actor;

	snprintf(whole, sizeof(whole), "%s%s", process->name, name);
	actor = sim_spawn_again(whole, run_thread, NULL);
	if (actor == SIM_ACTORS)
		return actor;
	machine.of[actor] = process;
	machine.ended[actor] = machine.detached[actor] = machine.is_lcore[actor] = false;
	machine.runs[actor] = run;
	machine.args[actor] = arg;
	sim_locals_make(actor, false);
	return actor;
}

/* The process's main thread: it ends with that. */
struct begun {
	void (*main)(void *arg);
	void *arg;
	bool forked;
};

static struct begun begun[SIM_ACTORS];

static void
run_main(void *arg)
{
	const struct begun *own = &begun[sim_self()];
	struct sim_process *self = sim_process_self();

	if (own->forked && self->at_fork[2] != NULL)
		self->at_fork[2]();
	own->main(own->arg);
	sim_exit();
}

static unsigned int
spawn_main(struct sim_process *process, void (*run)(void *arg), void *arg, bool forked)
{
	unsigned int actor = sim_thread_spawn(process, "", run_main, NULL);

	if (actor == SIM_ACTORS)
		sim_fail("more threads than there is room for");
	begun[actor] = (struct begun){run, arg, forked};
	return actor;
}

/* --- processes --- */

static bool
is_taken(pid_t pid)
{
	for (unsigned int i = 0; i < machine.n_processes; i++)
		if (machine.processes[i].pid == pid && machine.processes[i].lives)
			return true;
	return false;
}

/* Of who has ended last, where it is nobody's by now. */
static pid_t
take_pid(void)
{
	for (unsigned int i = machine.n_processes; machine.reuses_pids && i > 0; i--) {
		const struct sim_process *before = &machine.processes[i - 1];

		if (is_taken(before->pid))
			continue;
		sim_tell("pid %d, that of %s, is used again", (int)before->pid, before->name);
		return before->pid;
	}
	return (pid_t)(100 + machine.n_processes);
}

static struct sim_process *
make(const char *name)
{
	struct sim_process *process = &machine.processes[machine.n_processes];

	if (machine.n_processes == SIM_PROCESSES)
		sim_fail("more processes than there is room for");
	memset(process, 0, sizeof(*process));
	snprintf(process->name, sizeof(process->name), "%s", name);
	process->pid = take_pid();
	machine.n_processes++;
	process->lives = true;
	process->started = sim_now();
	return process;
}

static void
load(struct sim_process *process, const struct sim_program *program)
{
	snprintf(process->name, sizeof(process->name), "%s", program->name);
	process->uid = program->uid;
	process->files = program->files != 0 ? program->files : SIM_FILES;
	process->primary = program->primary;
	process->lcore = program->lcore;
	process->n_lcores = program->n_lcores;
	sim_variables_make(process, false);
	memset(process->faults, 0, sizeof(process->faults));
	memset(process->at_fork, 0, sizeof(process->at_fork));
	sim_heap_take(process);
	sim_eal_start(process);
	(void)spawn_main(process, program->main, program->arg, false);
}

struct sim_process *
sim_start(const struct sim_program *program)
{
	struct sim_process *process = make(program->name);

	load(process, program);
	return process;
}

struct sim_process *
sim_fork(const char *name, void (*run)(void *arg), void *arg)
{
	struct sim_process *self = sim_process_self(), *child;
	unsigned int actor;

	if (self->at_fork[0] != NULL)
		self->at_fork[0]();
	sim_call(&machine.word, "fork", 0);
	for (unsigned int i = 0; i < sim.n_actors; i++)
		if (machine.of[i] == self)
			sim_memory_drain(&sim.actors[i]);
	child = make(name);
	child->uid = self->uid;
	child->files = self->files;
	child->eal = self->eal;
	child->lcore = self->lcore;
	child->n_lcores = self->n_lcores;
	sim_variables_make(child, true);
	memcpy(child->at_fork, self->at_fork, sizeof(child->at_fork));
	sim_heap_copy(self, child);
	sim_fds_copy(self, child);
	sim_mappings_copy(self, child);
	actor = spawn_main(child, run, arg, true);
	sim_locals_make(actor, true);
	sim_tell("forks %s", name);
	if (self->at_fork[1] != NULL)
		self->at_fork[1]();
	return child;
}

/* All threads but the one that runs. */
static void
end_threads(const struct sim_process *process)
{
	for (unsigned int i = 0; i < sim.n_actors; i++) {
		if (machine.of[i] != process || i == sim_self() || sim_is_dead(i) ||
			sim_has_ended(i))
			continue;
		machine.waits[i].ready = NULL;
		sim_end(i);
		sim_file_keep_none(i);
		sim_leave_place(i);
	}
}

static void
drop_image(struct sim_process *process)
{
	sim_variables_drop(process);
	sim_heap_give(process);
}

static void
tell_pidfds(const struct sim_process *process)
{
	for (struct sim_file *file = machine.files; file != NULL; file = file->next)
		if (file->process == process && file->refs > 0)
			sim_file_changed(file);
}

static void
end(struct sim_process *process)
{
	process->lives = false;
	process->stopped = false;
	end_threads(process);
	sim_fds_close(process, false);
	sim_mappings_end(process);
	drop_image(process);
	tell_pidfds(process);
	sim_changed();
}

void
sim_exit(void)
{
	struct sim_process *self = sim_process_self();

	sim_call(&machine.word, "exit", 0);
	sim_tell("exits");
	sim_kill(self);
	abort();
}

void
sim_exec(const struct sim_program *program)
{
	struct sim_process *self = sim_process_self();

	sim_call(&machine.word, "execve", 0);
	sim_tell("executes %s", program->name);
	end_threads(self);
	sim_fds_close(self, true);
	sim_mappings_end(self);
	drop_image(self);
	load(self, program);
	sim_changed();
	sim_leave_place(sim_self());
	sim_end(sim_self());
	abort();
}

void
sim_kill(struct sim_process *process)
{
	bool ours = process == sim_process_self();

	if (process->lives)
		end(process);
	if (!ours)
		return;
	sim_leave_place(sim_self());
	sim_end(sim_self());
}

void
sim_stop(struct sim_process *process, bool stops)
{
	if (!process->lives)
		return;
	process->stopped = stops;
	for (unsigned int i = 0; i < sim.n_actors; i++)
		if (machine.of[i] == process)
			sim_freeze(i, stops);
	sim_changed();
}

struct sim_process *
sim_process_self(void)
{
	return sim.self != NULL ? machine.of[sim_self()] : NULL;
}

bool
sim_process_lives(const struct sim_process *process)
{
	return process->lives;
}

bool
sim_process_is_stopped(const struct sim_process *process)
{
	return process->stopped;
}

const char *
sim_process_name(const struct sim_process *process)
{
	return process->name;
}

pid_t
sim_process_pid(const struct sim_process *process)
{
	return process->pid;
}

/* --- all of them --- */

void
sim_machine_begin(bool unmaps)
{
	memset(&machine, 0, sizeof(machine));
	sim_variables_begin();
	sim.arrive = sim_variables_arrive;
	sim.space = sim_variables_space;
	sim.pidfd_open = sim_pidfd_open;
	sim.interrupted = sim_interrupted;
	sim.has_clock = true;
	sim_heap_begin();
	sim_eal_begin(unmaps);
	sim_folder_begin();
}

void
sim_machine_reuse_pids(void)
{
	machine.reuses_pids = true;
}

void
sim_machine_tries_again(uint64_t ticks)
{
	machine.tries_again = ticks;
}

void
sim_machine_lack_peer_pidfd(void)
{
	machine.lacks_peer_pidfd = true;
}

void
sim_machine_end(void)
{
	for (unsigned int i = 0; i < machine.n_processes; i++)
		if (machine.processes[i].variables != NULL)
			drop_image(&machine.processes[i]);
	for (unsigned int i = 0; i < SIM_ACTORS; i++)
		free(machine.locals[i]);
	sim_files_end();
	sim_folder_end();
	sim_eal_end();
	sim_heap_end();
}

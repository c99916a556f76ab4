/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The variables of the library (its .data and .bss, which variables.ld puts in one place) are
 * exchanged when the process does, and those that are thread-local with the actor; so is the heap
 * of a child of fork(), which is where its parent's is.
 */
#include <string.h>

#include "sim_machine_inside.h"

/* By variables.ld, and by the linker. */
extern char sim_product_begin[], sim_product_end[];
extern char __start_sim_thread[], __stop_sim_thread[];

/* As the program begins with them. */
static char *first_variables, *first_locals;

static size_t
variables_size(void)
{
	return (size_t)(sim_product_end - sim_product_begin);
}

static size_t
locals_size(void)
{
	return (size_t)(__stop_sim_thread - __start_sim_thread);
}

static char *
copy_of(const char *bytes, size_t size)
{
	char *copy = malloc(size);

	if (copy == NULL)
		abort();
	return memcpy(copy, bytes, size);
}

/* --- whose variables are in place --- */

static void
enter_thread(unsigned int actor)
{
	if (machine.resident_thread == actor)
		return;
	if (machine.resident_thread < SIM_ACTORS)
		memcpy(machine.locals[machine.resident_thread], __start_sim_thread, locals_size());
	memcpy(__start_sim_thread, machine.locals[actor], locals_size());
	machine.resident_thread = actor;
}

void
sim_process_enter(struct sim_process *process)
{
	if (process == NULL || process->variables == NULL)
		return;
	if (machine.resident != process) {
		if (machine.resident != NULL)
			memcpy(machine.resident->variables, sim_product_begin, variables_size());
		memcpy(sim_product_begin, process->variables, variables_size());
		machine.resident = process;
	}
	sim_heap_enter(process);
}

void
sim_variables_arrive(unsigned int actor)
{
	if (actor >= SIM_ACTORS || machine.of[actor] == NULL)
		return;
	enter_thread(actor);
	sim_process_enter(machine.of[actor]);
}

/* Variables are at the same place in all processes, the heap in those of a family. */
unsigned int
sim_variables_space(const volatile void *where, bool *is_exchanged)
{
	const struct sim_process *self = sim_process_self();
	const char *address = (const char *)(uintptr_t)where;
	bool is_variable = address >= sim_product_begin && address < sim_product_end;

	if (self == NULL || !(is_variable || sim_heap_has(address, is_exchanged)))
		return 0;
	if (is_variable)
		*is_exchanged = true;
	return (unsigned int)(self - machine.processes) + 1;
}

/* --- what there is in the beginning, or of who forks --- */

void
sim_variables_begin(void)
{
	if (first_variables == NULL) {
		first_variables = copy_of(sim_product_begin, variables_size());
		first_locals = copy_of(__start_sim_thread, locals_size());
	}
	machine.resident_thread = SIM_ACTORS;
}

void
sim_variables_make(struct sim_process *process, bool copies)
{
	process->variables =
		copy_of(copies ? sim_product_begin : first_variables, variables_size());
}

void
sim_variables_drop(struct sim_process *process)
{
	if (machine.resident == process)
		machine.resident = NULL;
	free(process->variables);
	process->variables = NULL;
}

void
sim_locals_make(unsigned int actor, bool copies)
{
	if (machine.resident_thread == actor)
		machine.resident_thread = SIM_ACTORS;
	free(machine.locals[actor]);
	machine.locals[actor] = copy_of(copies ? __start_sim_thread : first_locals, locals_size());
}

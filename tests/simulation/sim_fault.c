/* SPDX-License-Identifier: BSD-3-Clause */
/* What a process asks the system for, and does not get; and signals. */
#include "sim_machine_inside.h"

void
sim_fault(struct sim_process *process, enum sim_fault fault, unsigned int after)
{
	process->faults[fault] = after + 1;
}

unsigned int
sim_faults(void)
{
	return machine.n_faults;
}

bool
sim_fault_comes(enum sim_fault fault)
{
	static const char *const sentences[] = {"memory", "descriptor",
		"room for descriptors on their way", "memory for a message"};
	struct sim_process *self = sim_process_self();

	if (self == NULL || sim.self->looks || self->faults[fault] == 0 ||
		--self->faults[fault] > 0)
		return false;
	machine.n_faults++;
	if (fault == SIM_FAULT_MESSAGE)
		sim_until(sim_now() + machine.tries_again);
	sim_tell("there is no %s for it", sentences[fault]);
	return true;
}

void
sim_interrupt(struct sim_process *process, unsigned int every)
{
	process->interrupts_every = every;
}

bool
sim_interrupted(void)
{
	struct sim_process *self = sim_process_self();

	if (self == NULL || sim.self->looks || self->interrupts_every == 0 ||
		++self->n_waits % self->interrupts_every != 0)
		return false;
	sim_tell("a signal comes");
	return true;
}

bool
sim_wait_ends(bool (*ready)(void *arg), void *arg, uint64_t until)
{
	sim_memory_drain(sim.self);
	if (!ready(arg) && sim_interrupted())
		return true;
	(void)sim_wait(ready, arg, until);
	return false;
}

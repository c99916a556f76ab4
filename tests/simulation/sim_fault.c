/* SPDX-License-Identifier: BSD-3-Clause */
/* What a process asks the system for, and does not get. */
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
	sim_tell("there is no %s for it", sentences[fault]);
	return true;
}

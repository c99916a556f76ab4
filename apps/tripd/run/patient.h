/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stdout and stderr while a run lasts. Whoever reads them may stop to: a terminal that is held
 * (Ctrl-S), a pager, a pipe. What is said waits for them in memory, up to 1 MiB; where that is full
 * and nothing of it has been read for a second, more is left out, and the control thread goes on.
 */
#ifndef TRIPD_PATIENT_H
#define TRIPD_PATIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct tripd_patient {
	/* Where it goes in the end; and a descriptor of a terminal's own that does not block, or
	 * -1. */
	FILE *to;
	int fd;
	/* What is in its place meanwhile; NULL: nothing is. */
	FILE *stream;
	char *buffer;
	size_t first, end;
	/* What is said now is the last. */
	bool ends;
	/* Lines that found it full; those that it has not been told of. */
	uint64_t left_out, untold;
};

/* In place of `to` there is `stream` from here on, for any thread. 0, or -ENOMEM. */
int tripd_patient_begin(struct tripd_patient *patient, FILE *to, int mode);

/* Writes what is taken without waiting. Returns whether something is left. */
bool tripd_patient_flush(struct tripd_patient *patient);

/* Writes all of it, for as long as that takes, unless a signal comes that ends a run. The stream
 * stays: a thread may be in the midst of saying something. Returns how many lines were left out. */
uint64_t tripd_patient_end(struct tripd_patient *patient);

#endif

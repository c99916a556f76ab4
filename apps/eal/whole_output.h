/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WHOLE_OUTPUT_H
#define WHOLE_OUTPUT_H

/*
 * However this program exits: where what it wrote to stdout has not all been written, says so on
 * stderr by its name, and makes 0 an exit code of 1. A reader that has left is no error. To be
 * called first: where stdin, stdout or stderr are closed, nothing else gets their numbers.
 */
void whole_output_watch(const char *program);

/* The same where the program ends by _exit(), which asks nobody. Returns the code to do so with. */
int whole_output_check(const char *program, int code);

#endif

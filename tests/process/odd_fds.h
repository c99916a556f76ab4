/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptors of every odd kind, to be sent along with messages: what the kernel does when they are
 * dropped is not the same of any two. */
#ifndef TRIP_PROCESS_ODD_FDS_H
#define TRIP_PROCESS_ODD_FDS_H

#include <stdint.h>

/* At most this many go along with a message (SCM_MAX_FD). */
#define ODD_FDS_MAX 253

/* Makes one of each kind, with `socket` in those that hold others. */
void odd_fds_open(int socket);
void odd_fds_close(void);
/* Any of them, by a random number. */
int odd_fds_draw(uint64_t random);

#endif

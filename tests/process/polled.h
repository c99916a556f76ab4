/* SPDX-License-Identifier: BSD-3-Clause */
/* What epoll waits for, as the kernel tells it. */
#ifndef TRIP_PROCESS_POLLED_H
#define TRIP_PROCESS_POLLED_H

/* Descriptors that the epoll instances of this process wait for, in sum: also those that it has
 * closed, and a child of it has not. Without EAL's instance, which waits for no socket. */
unsigned int polled_count(void);

#endif

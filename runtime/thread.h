/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIP_RUNTIME_THREAD_H
#define TRIP_RUNTIME_THREAD_H

#include <pthread.h>

/* Starts a thread of the library's own, to which no signal of the application is delivered: 0, or
 * an errno. name: at most 15 letters. */
int trip_thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *arg);

#endif

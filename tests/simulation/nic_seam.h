/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Included first by the sources of the hardware engine: what they ask the system for, threads,
 * locks, sleep and time, is nic.c's. So are the calls of ethdev and rte_flow, which are defined
 * there ahead of DPDK's.
 */
#ifndef SIM_NIC_SEAM_H
#define SIM_NIC_SEAM_H

#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "compat.h"

uint64_t nic_tsc(void);
int nic_lock(pthread_mutex_t *mutex);
int nic_unlock(pthread_mutex_t *mutex);
int nic_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
int nic_signal(pthread_cond_t *cond);
int nic_eventfd(unsigned int value, int flags);
ssize_t nic_write(int fd, const void *from, size_t size);
ssize_t nic_read(int fd, void *to, size_t size);
int nic_close(int fd);
int nic_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *limit, const sigset_t *mask);

int nic_thread(trip_compat_thread *thread, const char *name,
	TRIP_COMPAT_THREAD_RESULT (*run)(void *arg), void *arg);

void nic_join(trip_compat_thread thread);
int nic_nanosleep(const struct timespec *time, struct timespec *left);

#define trip_compat_thread_start nic_thread
#define trip_compat_thread_join nic_join
#define nanosleep nic_nanosleep
#define rte_rdtsc nic_tsc
#define pthread_mutex_lock nic_lock
#define pthread_mutex_unlock nic_unlock
#define pthread_cond_wait nic_wait
#define pthread_cond_signal nic_signal
#define eventfd nic_eventfd
#define write nic_write
#define read nic_read
#define close nic_close
#define ppoll nic_ppoll

#endif

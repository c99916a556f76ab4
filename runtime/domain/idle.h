/* SPDX-License-Identifier: BSD-3-Clause */
/* What a dedicated lcore does while its home has nothing to do: enum trip_idle. */
#ifndef TRIP_RUNTIME_IDLE_H
#define TRIP_RUNTIME_IDLE_H

#include <trip_domain.h>

#include "home.h"

/* 0, or a negative errno with its message: what is asked for is unknown, or not to be had. */
int trip_idle_check(const struct trip_domain_attr *attr);

/* After an iteration that did nothing. On the home's lcore. */
void trip_idle_wait(struct trip_home *home);

/*
 * After one that did something, or has something under way: a home that shares its CPU yields it
 * after each iteration. Otherwise others would wait until the scheduler takes the CPU away from it,
 * some milliseconds.
 */
void trip_idle_share(const struct trip_home *home);

#endif

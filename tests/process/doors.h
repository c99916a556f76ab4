/* SPDX-License-Identifier: BSD-3-Clause */
/* A domain that comes and goes, and a visitor that attaches to it meanwhile. */
#ifndef TRIP_PROCESS_DOORS_H
#define TRIP_PROCESS_DOORS_H

#include "family.h"

/* There is one, which is to be progressed while the visitor is waited for. */
extern bool doors_open;

/* Without anybody who looks on: a close depends on those that are attached alone. */
void doors_open_domain(void);
void doors_close_domain(void);
/* What trip_domain_close() says. */
int doors_try_close(void);

/* The memory of a domain that was closed belongs to another: who writes there is found out. */
void doors_fill_memory(const void *was_there);
void doors_expect_memory(void);

/* The visitor tells what a call has returned; and the primary hears it. */
void doors_report(int error);
int doors_hear(const struct family_child *child);

/* doors_step.c: a test. */
void closed_behind_each_step_of_an_attach(void **state);

#endif

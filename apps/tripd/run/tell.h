/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPD_TELL_H
#define TRIPD_TELL_H

#include <trip_domain.h>

struct tripd_run;

/* Before the domain is opened: its size, lcores, and partners of ports. */
void tripd_tell_plan(const struct tripd_run *run, const struct trip_domain_attr *attr);

/* Packets count from here on: how many flows in which engine. */
void tripd_tell_engines(const struct tripd_run *run);

/* At the end: what was not sent because a port was full. */
void tripd_tell_unsent(const struct tripd_run *run);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPCTL_ATTACH_H
#define TRIPCTL_ATTACH_H

struct trip_domain;
struct tripctl;

/* Attaches to the domain that ctl is connected to, as a secondary process of its primary. Signals
 * that end a program are blocked from here on, so that it ends only where nothing is half done.
 * Returns 0, or the exit code; what is wrong has been said. */
int tripctl_attach(struct tripctl *ctl, struct trip_domain **domain);

/* Detaches. Then the signals are let in, and those that came end the program. */
void tripctl_attach_end(struct trip_domain *domain);

/* Says what a call of the library has to say; returns the exit code. */
int tripctl_attach_fail(int error);

#endif

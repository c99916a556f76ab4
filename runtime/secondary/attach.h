/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIP_RUNTIME_ATTACH_H
#define TRIP_RUNTIME_ATTACH_H

struct trip_domain;

/* trip_domain_close() in an attached process; nothing is open any more. */
int trip_attach_close(struct trip_domain *domain);

#endif

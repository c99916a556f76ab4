/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a primary's domains tell over DPDK's telemetry, under /tripline: what there is, page by
 * page, as a client of the domain's socket is told it, and what its lcores have done, as profiles
 * have it. The commands are there from the first domain on; the README of runtime/profile says
 * what each takes and answers. EAL serves telemetry in primaries only: who attaches has none.
 *
 * Telemetry runs them in threads of its own, which ask as any client does and hold no lock of a
 * domain meanwhile: nothing of the library ever waits for them but the end of a domain, and that
 * for as long as a profile is copied.
 */
#ifndef TRIP_TELEMETRY_TELEMETRY_H
#define TRIP_TELEMETRY_TELEMETRY_H

struct trip_domain;

/* A domain is there to be asked about, by its socket; "": it has none. */
void trip_telemetry_show(struct trip_domain *domain, const char *socket);

/* It is not any more: nobody reads it behind this. */
void trip_telemetry_hide(struct trip_domain *domain);

#endif

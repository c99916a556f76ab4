/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a domain has done, as OpenMetrics: a text that Prometheus and its likes read, over HTTP or
 * by the application's own means. Families are those variables of profiles that are no quantiles
 * (trip_profile.h), by rule:
 *
 *	works_fired_total	tripline_works_fired_total
 *	busy_ns_total		tripline_busy_seconds_total
 *	iteration_ns_most	tripline_iteration_most_seconds
 *
 * each of its lcores, ports, queues and statements, by labels, and histograms in the place of
 * quantiles. Beside these stand the counters that have a name, and the keys of each statement that
 * have most; tripline_series_left_out says how many of each there are beside.
 */
#ifndef TRIP_METRICS_H
#define TRIP_METRICS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct trip_domain;
struct trip_metrics;

/** Attributes. A field that is zero has its default. */
struct trip_metrics_attr {
	/** sizeof(struct trip_metrics_attr). */
	size_t size;
	/** Of trip_metrics_open(): ADDRESS:PORT, [ADDRESS]:PORT, or unix:PATH. No names. */
	const char *listen;
	/** Counters with names that are told of; default 1000, at most 100000. */
	uint32_t max_cntrs;
	/** Keys of each statement, those with most packets and those with most bytes; default 10,
	 * at most 1000. */
	uint32_t top;
};

/**
 * Writes the text as it is now. Any thread that may wait; no lcore waits for it. Ports, statements
 * and counters are told of in the primary, these last where the domain has a socket; elsewhere
 * lcores alone.
 *
 * @param attr
 *   NULL: all defaults.
 * @param[out] text
 *   To be given to free(); ends with a zero that `length` does not count.
 * @return
 *   0, or -EINVAL: an unknown `size`, or a number above its limit; -ENOMEM;
 *   -EDEADLK: called from a registered function, a polling lcore of the domain, or a port's
 *   notification; -ESHUTDOWN (WAIT-12).
 */
int trip_metrics_text(struct trip_domain *domain, const struct trip_metrics_attr *attr, char **text,
	size_t *length);

/**
 * Answers GET /metrics over HTTP with that text, from a thread of its own, until
 * trip_metrics_close(). Nothing is encrypted, and whoever gets there is answered: listen on an
 * address of this machine, or on a Unix socket, which is made with mode 0600 by the umask at most.
 * Requests are of 16 KiB at most; 32 connections may be open, the oldest ends for another one, and
 * one that is silent for 10 seconds ends. While it is open, the domain is not closed (-EBUSY).
 *
 * @return
 *   0, or -EINVAL: as above, or no such address; -EADDRINUSE, -EACCES, and whatever else the kernel
 *   says of a socket; -ENOTSUP: the library was built without libmicrohttpd; -ENOMEM; -ESHUTDOWN
 *   (WAIT-12).
 */
int trip_metrics_open(struct trip_domain *domain, const struct trip_metrics_attr *attr,
	struct trip_metrics **metrics);

/** Ends it: no request is answered any more when it returns. Any thread but its own. */
void trip_metrics_close(struct trip_metrics *metrics);

#ifdef __cplusplus
}
#endif

#endif

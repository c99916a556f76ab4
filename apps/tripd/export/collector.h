/* SPDX-License-Identifier: BSD-3-Clause */
/* Who gets what is exported: a connection, a datagram socket or a file, which may be slow, absent
 * or gone. One thread uses it, and waits here; a bell ends its waiting. */
#ifndef TRIPD_COLLECTOR_H
#define TRIPD_COLLECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "start/option_ipfix.h"

/* What getaddrinfo() says against a name, as an error beside negative errnos: less than this. */
#define TRIPD_COLLECTOR_NAME (-10000)

struct tripd_collector {
	const struct tripd_ipfix_options *options;
	/* Readable once nobody is waited for any more. */
	int bell;
	/* -1: there is no connection. */
	int fd;
	/* Of a file, which it is. */
	dev_t device;
	ino_t inode;
};

void tripd_collector_init(
	struct tripd_collector *collector, const struct tripd_ipfix_options *options, int bell);

/* Connects, within some seconds; a resolver may take longer. Returns 0, or a negative error, of
 * names below TRIPD_COLLECTOR_NAME; -ECANCELED: the bell. */
int tripd_collector_connect(struct tripd_collector *collector);

/* Sends a message, whole. Returns 0; -ECONNREFUSED by datagrams: this one is sent, and the one
 * before it was not taken; or another negative errno, and the connection is closed: -ETIMEDOUT:
 * nothing was taken for some seconds. */
int tripd_collector_send(struct tripd_collector *collector, const void *message, size_t length);

/* Whether it has closed the connection, or the file has another name. */
bool tripd_collector_is_gone(const struct tripd_collector *collector);

void tripd_collector_close(struct tripd_collector *collector);

/* The error in words. */
const char *tripd_collector_reason(int error);

#endif

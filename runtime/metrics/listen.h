/* SPDX-License-Identifier: BSD-3-Clause */
/* Where requests come in. */
#ifndef TRIP_METRICS_LISTEN_H
#define TRIP_METRICS_LISTEN_H

#include <stdint.h>
#include <sys/un.h>

struct trip_listen {
	int fd;
	/* Of a Unix socket, which is taken away with it; "": it is none. */
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
};

/* A socket that listens on ADDRESS:PORT, [ADDRESS]:PORT or unix:PATH; 0, or the error. */
int trip_listen_open(const char *where, struct trip_listen *at);

/* Takes away what is left of it; whoever has listened on the socket has closed that. */
void trip_listen_close(struct trip_listen *at);

#endif

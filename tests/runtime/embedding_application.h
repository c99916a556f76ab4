/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An application with ports, lcores and service cores of its own, which knows nothing of Tripline:
 *
 *	lcore 0	the application's main lcore
 *	1	given as a polling lcore
 *	2	the application's, receiving on port 0 all the time
 *	3	the application's, idle
 *	4	a service core that runs the application's service, given as well
 *	5	a service core that the application has not started, given as well
 *
 * Ports 0 and 1 have STATE_QUEUES Rx queues; queue 0 of port 0 has a callback of the application's.
 */
#ifndef TRIP_EMBEDDING_APPLICATION_H
#define TRIP_EMBEDDING_APPLICATION_H

#include <stdbool.h>

#define POLLING 1
#define RECEIVING 2
#define SERVING 4
#define STOPPED 5

bool application_has_eal(void);

/* Of a group of tests. */
int application_start(void **state);
int application_stop(void **state);

/* It was not disturbed: it receives and serves, and its own callback is called. */
void application_check(void);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* A domain that is progressed by hand, its socket, and a client that looks on. */
#ifndef TRIP_PROCESS_SOCKET_BED_H
#define TRIP_PROCESS_SOCKET_BED_H

#include <trip.h>
#include <trip_test.h>

#include "client/protocol.h"
#include "primary/server.h"

extern char socket_folder[], socket_path[64], socket_lock[80];
extern struct trip_domain *socket_domain;
extern struct trip_client *socket_client;
/* A device that EAL is to have; NULL: none. */
extern const char *socket_device;
/* For statements that count by keys; 0: there are none. */
extern uint64_t socket_each_bytes;

/* With `socket` NULL it has none. */
int socket_domain_open(const char *socket, struct trip_domain **out);
/* Before and after a test. */
int socket_open(void **state);
int socket_close(void **state);

/* Runs them: EXIT_SUCCESS or another. */
#define SOCKET_TEST(f) cmocka_unit_test_setup_teardown(f, socket_open, socket_close)
#define socket_run(tests) socket_run_tests(tests, sizeof(tests) / sizeof(*(tests)))
int socket_run_tests(const struct CMUnitTest *tests, size_t n);

unsigned int socket_count_fds(void);
/* What the control thread closes, it closes in time of its own. */
void socket_wait_for_fds(unsigned int n);

struct trip_cntr *socket_cntr(const char *name);
/* Once: of port 0, which runs from then on. */
struct trip_port *socket_open_port(void);
/* As the client sees it. */
struct trip_client_cntr socket_find(const char *name);
/* When the homes have come to rest. */
bool socket_is_ready(int fd);
void socket_drain(int fd);

/* A connection without a client, and what goes over it. */
struct socket_message {
	struct trip_protocol_head head;
	union trip_protocol_request request;
};

int socket_connect(void);
struct trip_protocol_head socket_head(unsigned int type, size_t size);

#endif

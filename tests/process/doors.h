/* SPDX-License-Identifier: BSD-3-Clause */
/* A domain that comes and goes, and a visitor that attaches to it meanwhile. */
#ifndef TRIP_PROCESS_DOORS_H
#define TRIP_PROCESS_DOORS_H

#include "family.h"

/* There is one, which is to be progressed while the visitor is waited for. */
extern bool doors_open;

/* Without anybody who looks on: a close depends on those that are attached alone. */
void doors_open_domain(const struct trip_domain_attr *tune);
void doors_close_domain(void);
/* What trip_domain_close() says. */
int doors_try_close(void);

/* The memory of a domain that was closed belongs to another: who writes there is found out. */
void doors_fill_memory(const void *was_there);
void doors_expect_memory(void);

/* A visitor, who attaches on 'a', closes on 'c' and ends on 'q'. */
struct family_child doors_invite(unsigned int lcore);
void doors_say_goodbye(struct family_child *child);
/* Has it make a call: what that returns. */
int doors_tell(const struct family_child *child, char what);
/* The next byte that it says: 'w': it was told to come again, 'r': its call has returned. */
char doors_hear_byte(const struct family_child *child);
/* The visitor tells what a call has returned; and the primary hears it. */
void doors_report(int error);
int doors_hear(const struct family_child *child);

/* Other parts. */
void doors_play_leaver(const char *arg);
void doors_play_restless(const char *arg);

/* The tests of doors_points.c, doors_step.c and doors_again.c. */
void attached_behind_each_step_of_a_close(void **state);
void a_close_that_is_refused_keeps_nobody_out(void **state);
void attached_behind_each_step_of_an_open(void **state);
void closed_while_a_process_leaves(void **state);
void attached_again_at_once(void **state);
void attached_in_place_of_one_that_was_killed(void **state);
void many_attach_while_it_comes_and_goes(void **state);
void a_header_of_garbage_is_refused(void **state);
void closed_behind_each_step_of_an_attach(void **state);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Public structures. Each begins with its size, as the headers of the program have it, and grows at
 * its end only: so an earlier one is the beginning of a later one. What a program gives is taken as
 * far as it goes, and is zero behind that; what it wants filled is filled as far as it goes. A
 * structure that is longer than ours has members that we do not know, and is refused.
 */
#ifndef TRIP_RUNTIME_SIZED_H
#define TRIP_RUNTIME_SIZED_H

#include <stddef.h>

/* 0, or -EINVAL: `size` is none that a `struct tag` has, or has had. */
#define TRIP_SIZED_CHECK(tag, size) trip_sized_check("struct " #tag, size, sizeof(struct tag))

/* Copies what was given into `own`, whose size is ours then; NULL is all zero. 0, or -EINVAL. */
#define TRIP_SIZED_TAKE(tag, own, given)                                                      \
	trip_sized_take("struct " #tag, (1 ? (own) : (struct tag *)NULL), sizeof(struct tag), \
		(1 ? (given) : (const struct tag *)NULL))

/* Fills what was given from `own`, as far as its size goes: 0, or -EINVAL. */
#define TRIP_SIZED_GIVE(tag, given, own)                                                        \
	trip_sized_give("struct " #tag, (1 ? (given) : (struct tag *)NULL), sizeof(struct tag), \
		(1 ? (own) : (const struct tag *)NULL))

int trip_sized_check(const char *name, size_t size, size_t known);
int trip_sized_take(const char *name, void *own, size_t known, const void *given);
int trip_sized_give(const char *name, void *given, size_t known, const void *own);

#endif

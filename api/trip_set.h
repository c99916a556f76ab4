/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets of addresses, prefixes and ports. A rule asks whether a field of a packet is in a set; that
 * costs one look-up, however many entries the set has.
 */
#ifndef TRIP_SET_H
#define TRIP_SET_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include <trip_domain.h>

#ifdef __cplusplus
extern "C" {
#endif

struct trip_set;

/** A set has at most this many entries. */
#define TRIP_SET_ENTRIES_MAX (UINT32_C(1) << 20)

/** What an entry is of; a set may have all three. */
enum trip_set_kind {
	TRIP_SET_IPV4,
	TRIP_SET_IPV6,
	/** Of TCP, UDP or SCTP. */
	TRIP_SET_PORT,
};

/** One entry, a prefix: every value that begins with the first `length` bits of `value`. */
struct trip_set_entry {
	uint8_t kind;   /**< enum trip_set_kind */
	uint8_t length; /**< Bits of `value`, at most 32, 128 or 16; the rest is ignored. */
	/** 4, 16 or 2 bytes, in network order. */
	uint8_t value[16];
};

/** Attributes of a set. */
struct trip_set_attr {
	/** sizeof(struct trip_set_attr). */
	size_t size;
	/** 1 to TRIP_NAME_MAX characters, of those that names of counters have; unique among the
	 * domain's sets. */
	const char *name;
};

/** What a set has. */
struct trip_set_info {
	/** sizeof(struct trip_set_info), set by the caller. */
	size_t size;
	uint64_t entries; /**< As given to trip_set_replace(). */
	uint64_t bytes;   /**< Memory that it takes; not EAL's. */
	uint64_t flows;   /**< Flows that ask for it. */
};

/**
 * Opens an empty set. Only the primary has sets: an attached process cannot open one, nor create
 * flows that ask for one. Any thread.
 *
 * @return
 *   0, or -EINVAL: a malformed name or an unknown attribute `size`; -EEXIST: another set has the
 *   name; -ENOMEM; -ENOTSUP: called in an attached process; -EDEADLK: called by a home or a port's
 *   worker; -ESHUTDOWN (WAIT-12).
 */
int trip_set_open(
	struct trip_domain *domain, const struct trip_set_attr *attr, struct trip_set **set);

/**
 * Replaces all entries of a set. The packets of one burst are all judged by the old entries, or all
 * by the new ones; a burst that begins after the return is judged by the new ones. The entries are
 * copied; they may come in any order, overlap and repeat. `trip-bench --only set_load` tells what a
 * million of them cost; until this returns both old and new take memory. Any thread; waits for the
 * bursts under way.
 *
 * @return
 *   0, or, with the set as before, -EINVAL: an entry's kind or length; -E2BIG: more than
 *   TRIP_SET_ENTRIES_MAX entries; -ENOMEM; -EDEADLK as trip_set_open(); -ESHUTDOWN (WAIT-12).
 */
int trip_set_replace(struct trip_set *set, const struct trip_set_entry *entries, size_t n_entries);

/** A set, and the entries that replace all that it has. */
struct trip_set_change {
	struct trip_set *set;
	const struct trip_set_entry *entries;
	size_t n_entries;
};

/**
 * Replaces the entries of several sets of a domain, as trip_set_replace() does: of all of them, or
 * of none. A set that is named twice gets the later entries. Any thread; waits for the bursts under
 * way.
 *
 * @return
 *   0, or, with all sets as before, an error of trip_set_replace(), or -EXDEV: a set is of another
 *   domain than the first one.
 */
int trip_set_replace_all(const struct trip_set_change *changes, unsigned int n_changes);

/** 0, or -EINVAL: the `size` is unknown; -EDEADLK, -ESHUTDOWN. Any thread. */
int trip_set_query(struct trip_set *set, struct trip_set_info *info);

/** 0; -EBUSY: a flow asks for it; -EDEADLK (as above), -ESHUTDOWN. Any thread. */
int trip_set_close(struct trip_set *set);

/**
 * An item of a pattern that asks whether a field of the item before it is in a set. `spec` is a
 * struct trip_flow_item_set; mask and last are not read. Several may follow one item; all of them
 * must hold. The field is an address of IPv4 or IPv6, or a port of TCP, UDP or SCTP, and is looked
 * up among the set's entries of that kind. In software only: TRIP_FLOW_ENGINE_AUTO takes software,
 * TRIP_FLOW_ENGINE_HW is refused. Only the primary polls a port with such a flow: trip_port_find()
 * answers -ENOTSUP for it, and trip_flow_create() for such a flow on a port that has been found.
 *
 * trip_flow_create() answers -ENOENT where the domain has no such set, -ENOSPC where a direction of
 * the port has TRIP_SET_TESTS_MAX different pairs of a field and a set.
 */
#define TRIP_FLOW_ITEM_TYPE_SET (INT_MIN + 0x5e7)
#define TRIP_SET_TESTS_MAX 64

struct trip_flow_item_set {
	char name[TRIP_NAME_MAX + 1];
	/** Of the field, in the structure of the item before. */
	uint8_t offset;
};

#ifdef __cplusplus
}
#endif

#endif

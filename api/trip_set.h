/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets of addresses and ports: what a rule's field may be any of, however many there are.
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

/** One entry: what begins with the first `length` bits of `value`. */
struct trip_set_entry {
	uint8_t kind;   /**< enum trip_set_kind */
	uint8_t length; /**< Bits that count: at most 32, 128 or 16. Others count for nothing. */
	/** As it is in a packet: 4, 16 or 2 bytes of it, the first one first. */
	uint8_t value[16];
};

/** Attributes of a set. */
struct trip_set_attr {
	/** sizeof(struct trip_set_attr). */
	size_t size;
	/** 1 to TRIP_NAME_MAX characters as counters have them; no other set has the same. */
	const char *name;
};

/** What a set has. */
struct trip_set_info {
	/** sizeof(struct trip_set_info), set by the caller. */
	size_t size;
	uint64_t entries; /**< As they were given. */
	uint64_t bytes;   /**< Of memory, outside of hugepages of EAL. */
	uint64_t flows;   /**< Flows that ask for it. */
};

/**
 * Opens a set, which is empty. Sets are of the primary alone: an attached process neither opens
 * them nor creates flows that ask for one. Any thread.
 *
 * @return
 *   0 or a negative errno: -EINVAL (a name that is none, or an attribute `size` that is unknown),
 *   -EEXIST (another set has the name), -ENOMEM, -ENOTSUP (in an attached process), -EDEADLK
 *   (called by a home or a port's worker), -ESHUTDOWN.
 */
int trip_set_open(
	struct trip_domain *domain, const struct trip_set_attr *attr, struct trip_set **set);

/**
 * Gives a set other entries, in place of all that it has. Of each burst all packets are judged by
 * what it had before, or all by what it has now; bursts that begin after the return, by that. The
 * entries are copied, in any order, and may overlap or repeat. It costs about a second for a
 * million entries, and until it returns the memory of both. Any thread; waits for the bursts under
 * way.
 *
 * @return
 *   0 or a negative errno, and the set is as before: -EINVAL (an entry's kind or length),
 *   -E2BIG (more than TRIP_SET_ENTRIES_MAX), -ENOMEM, -EDEADLK (as above), -ESHUTDOWN.
 */
int trip_set_replace(struct trip_set *set, const struct trip_set_entry *entries, size_t n_entries);

/** What a set is to have in place of all that it has. */
struct trip_set_change {
	struct trip_set *set;
	const struct trip_set_entry *entries;
	size_t n_entries;
};

/**
 * Gives several sets of a domain other entries, as trip_set_replace() does: all of them, or none. A
 * set that is there twice has the later one's. Any thread; waits for the bursts under way.
 *
 * @return
 *   0 or a negative errno, and all are as before: as of trip_set_replace(), and -EXDEV (a set is of
 *   another domain than the first one).
 */
int trip_set_replace_all(const struct trip_set_change *changes, unsigned int n_changes);

/** 0, or -EINVAL: the `size` is unknown; -EDEADLK, -ESHUTDOWN. Any thread. */
int trip_set_query(struct trip_set *set, struct trip_set_info *info);

/** 0; -EBUSY: a flow asks for it; -EDEADLK (as above), -ESHUTDOWN. Any thread. */
int trip_set_close(struct trip_set *set);

/**
 * An item of a pattern: a field of the item before it is in a set. `spec` is a struct
 * trip_flow_item_set; mask and last are not read. Several may stand behind one item, and each
 * holds. The field is an address of IPv4 or IPv6, or a port of TCP, UDP or SCTP, each of what the
 * set has of that kind. In software only: TRIP_FLOW_ENGINE_AUTO takes that, TRIP_FLOW_ENGINE_HW is
 * refused. A direction of a port has at most TRIP_SET_TESTS_MAX different pairs of a field and a
 * set. A port with such a flow is polled by the primary alone: trip_port_find() is -ENOTSUP, and so
 * is such a flow of a port that has been found.
 *
 * trip_flow_create() says -ENOENT where the domain has no such set, -ENOSPC where there are that
 * many pairs.
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

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters objects: slots that sum what flows count, read together. Twins of libibverbs'
 * ibv_create_counters() and its family; see ibv_attach_counters_point_flow(3).
 *
 * A counter (trip_cntr.h) trips thresholds; a counters object only collects. It reads each of its
 * flows at one moment, so packets and bytes of many flows can be had in one call and without a
 * counter for each.
 */
#ifndef TRIP_COUNTERS_H
#define TRIP_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct trip_counters;
struct trip_domain;
struct trip_flow;

/** What a point collects (PNT-04). */
enum trip_counter_description {
	TRIP_COUNTER_PACKETS = 0,
	/** L2 bytes without FCS. */
	TRIP_COUNTER_BYTES,
};

/** Slots of an object that asks for none, and at most. */
#define TRIP_COUNTERS_SLOTS 16
#define TRIP_COUNTERS_SLOTS_MAX 4096

/** At most so many points of one description at one index, for each flow. */
#define TRIP_COUNTERS_POINTS_MAX 65535

/** Attributes of a counters object. A field that is zero has its default. */
struct trip_counters_init_attr {
	/** sizeof(struct trip_counters_init_attr). */
	size_t size;
	/** Must be 0. */
	uint32_t comp_mask;
	/** Default TRIP_COUNTERS_SLOTS. */
	uint32_t n_slots;
};

/** A point: what is collected, and in which slot. */
struct trip_counter_attach_attr {
	/** sizeof(struct trip_counter_attach_attr). */
	size_t size;
	enum trip_counter_description counter_desc;
	/** Slot, below the object's `n_slots`. */
	uint32_t index;
	/** Must be 0 (PNT-04). */
	uint32_t comp_mask;
	/** 0. */
	uint32_t reserved;
};

/** Flags of trip_counters_read(). */
enum trip_read_counters_flags {
	/** Take what was read last where a source keeps that, rather than ask it (PNT-08). */
	TRIP_READ_CACHED = 1u << 0,
};

/**
 * Creates a counters object, whose slots are all 0 (PNT-01). Any thread.
 *
 * @param attr
 *   Attributes, or NULL for the defaults.
 * @return
 *   0, or -EINVAL: an unknown attribute size, a nonzero `comp_mask`, `n_slots` above
 *   TRIP_COUNTERS_SLOTS_MAX; -ENOMEM.
 */
int trip_counters_create(struct trip_domain *domain, const struct trip_counters_init_attr *attr,
	struct trip_counters **counters);

/**
 * Attaches a point: from now on, what `flow` counts is added to a slot. Points of several flows at
 * one index sum, and so do several points of one flow there, with the same description or others
 * (PNT-05).
 *
 * With a NULL flow the point is static: each flow that is created with this object in its
 * `counters` attribute has it from its first packet on (PNT-02). A point that is attached to a live
 * flow collects what the flow counts after the call, as precisely as its engine can tell when that
 * was (PNT-06). Points cannot be detached; they go with their flow, and what they collected stays.
 *
 * @return
 *   0, or
 *   -EINVAL: an unknown attribute size, an index that the object does not have, a nonzero
 *     `comp_mask` (PNT-04);
 *   -ENOTSUP: an unknown description (PNT-04), or a flow whose engine cannot attach any more
 *     (PNT-06);
 *   -EBUSY: a static point, while the object is bound to a flow, by its creation or by a point
 *     (PNT-03);
 *   -EXDEV: a flow of another domain;
 *   -ENOSPC: TRIP_COUNTERS_POINTS_MAX such points are attached;
 *   -ENOMEM;
 *   -EDEADLK: with a flow, called from a registered function, a polling lcore of the domain or a
 *     port's notification.
 */
int trip_counters_attach_point_flow(struct trip_counters *counters,
	const struct trip_counter_attach_attr *attr, struct trip_flow *flow);

/**
 * Reads the first slots. Each only grows, also while flows are destroyed or changed by other
 * threads (PNT-01, PNT-07), up to TRIP_CNTR_MAX, where it stays. Any thread; flows may be created
 * and destroyed meanwhile. Asking flows in hardware takes firmware's time for each, during which
 * others can read the object. A registered function, a polling lcore of the domain and a port's
 * notification never wait for that: they read as with TRIP_READ_CACHED.
 *
 * @param[out] values
 *   Packets, or bytes, or what sum the points of a slot make.
 * @param n
 *   How many slots, at most the object's `n_slots`.
 * @param flags
 *   Of enum trip_read_counters_flags (PNT-08).
 * @return
 *   0, or -EINVAL: more slots than the object has, an unknown flag; `values` is untouched then.
 */
int trip_counters_read(
	struct trip_counters *counters, uint64_t *values, uint32_t n, uint32_t flags);

/**
 * Destroys an object. Any thread, while no other uses it.
 *
 * @return
 *   0, or -EBUSY while it is bound to a flow; nothing has changed then (PNT-07).
 */
int trip_counters_destroy(struct trip_counters *counters);

#ifdef __cplusplus
}
#endif

#endif

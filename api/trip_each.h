/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters that appear by themselves: one statement counts the packets of ports by keys that nobody
 * knew beforehand, such as each source address. Each queue of its ports has a table of its keys;
 * what is read of a statement is the sum of its tables.
 *
 * A table has room for `max` keys. Where more come, those that have had least go: what was counted
 * of them is in the remainder, and a key that comes then may have had what they had, which is its
 * error. So of each key there is what was counted since it came, and a bound of what it had before;
 * every key that has more than a `max`th of all that was seen is there (EACH-01, EACH-02). In what
 * measure, packets or bytes, `rank` says. Entries and the remainder are what was seen, to the
 * packet and byte (EACH-03). A key that has had nothing for `idle_us` goes as well; what was known
 * of it ends, and it begins anew when it comes again (EACH-05). Which keys are found beside each
 * other depends on a secret of each statement (EACH-07).
 *
 * Tables are in the domain's memory, reserved when that is opened (trip_domain_attr::each_bytes).
 * Attached processes find statements by name, read them, and count in the tables of the queues that
 * they poll. One that is killed leaves whole entries; whoever polls the queue next puts the rest in
 * order first, which takes a millisecond for some ten thousand keys.
 *
 * Counting is in software, and sees what reaches the host. A packet counts once in each statement
 * in which it has a key, whatever rules do with it; one that a flow with `allow` takes counts in
 * none. All statements of a queue and its flows share one look into the packet.
 *
 * Something happens where a key has reached what a condition of its statement says. It trips in the
 * burst that counts the packet, by what was counted of it since it came, never by its error: no
 * key trips before its own packets have reached that (EACH-04). The trips of a statement have
 * numbers, and it keeps the last of them, each with its key; a counter of the domain is raised to
 * how many there are. So whoever works or waits on that counter, in any process, is woken by a
 * trip, and reads by its number which key it was. A key may also trip as it has had no packet for a
 * time, or by several conditions together, which are members of one.
 *
 * A trip may also have the key's packets dropped, for a time or for ever, on all queues of the
 * statement: from the one behind that with which it trips, in the same burst. Whoever counts does
 * that itself, so nobody has to be told first. What is dropped is seen, and counts. A key whose
 * packets are dropped stays in its table (EACH-06). Where no room can be made for a new key, as all
 * there are have to stay, `full` says whether packets of such keys pass; they are counted as
 * refused. The end of what a trip has begun is told as a trip is.
 *
 * Where the port's hardware counts rules that drop, some of the keys that are dropped may be so
 * there (`hardware`): a rule for each of them, so that their packets cost no core. What a rule has
 * counted is brought to the key's table, and is there as if it had been seen and dropped: in all
 * sums, for all conditions, and to the packet, also where a key goes there and comes back. It comes
 * as late as the hardware's counters are refreshed, and where somebody polls the key's queue.
 * Rules match no more than software drops: what they leave software sees. The keys that have had
 * most of late go first. A key comes back when it is held no more, or had nothing for `idle_us`, or
 * its rule was lost as the port was stopped, reset or removed. A hold that ends with a time has its
 * rule taken out before, one and a half times the refresh lag and 0.2 s, so that no packet is
 * dropped behind the end: by then software has all counts, and prolongs it as they say. Shorter
 * holds than three times that, and the lag, stay in software.
 *
 * Somebody may hold a key by hand (`by_hand`, trip_each_hold()): drop it, or have it pass whatever
 * conditions say, for a time or until it is let go; and let go what a trip has begun. As long as a
 * key is held so, conditions that do something lasting wait: behind that its next packet trips
 * by those that it is above still. All of it is told among the trips.
 *
 * Which keys come and go is told where `events_kept` asks for it (EACH-05): each table numbers what
 * comes to it and goes from it, and keeps the last of these. Each of them is one event, once, also
 * where a process that counted was killed; the rest is what the numbers say is missing.
 */
#ifndef TRIP_EACH_H
#define TRIP_EACH_H

#include <stddef.h>
#include <stdint.h>

#include <trip_domain.h>
#include <trip_port.h>
#include <trip_work.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rte_flow_item;
struct rte_mbuf;
struct trip_cntr;
struct trip_each;
struct trip_fid;

/** What a key has of a packet; a packet that lacks any of its fields has no key, and is not seen.
 */
enum trip_each_field {
	/** Addresses, or their front, of the outer IP header. */
	TRIP_EACH_IPV4_SRC,
	TRIP_EACH_IPV4_DST,
	TRIP_EACH_IPV6_SRC,
	TRIP_EACH_IPV6_DST,
	/**
	 * Of either version, 16 bytes: an IPv4 address is ::ffff:10.1.2.3, with as many bits of it
	 * as the length says, all 32 where that says more.
	 */
	TRIP_EACH_IP_SRC,
	TRIP_EACH_IP_DST,
	/** What IP carries, 1 byte; behind extension headers. */
	TRIP_EACH_PROTO,
	/** Ports of TCP, UDP and SCTP, 2 bytes. */
	TRIP_EACH_L4_SRC,
	TRIP_EACH_L4_DST,
	/** Of the outermost tag, 12 bits in 2 bytes. */
	TRIP_EACH_VLAN_VID,
	/** 3 bytes. */
	TRIP_EACH_VXLAN_VNI,
	/** The top of the stack, the upper 20 bits of 3 bytes. */
	TRIP_EACH_MPLS_LABEL,
	/** 4 bytes. */
	TRIP_EACH_GTPU_TEID,
};

/** A field of a key. */
struct trip_each_part {
	/** enum trip_each_field */
	uint8_t field;
	/** Bits of an address, from its front; 0: all, as it is of other fields. */
	uint8_t length;
};

/** Bytes of a key, at most, and parts of one. */
#define TRIP_EACH_KEY_MAX 40
#define TRIP_EACH_PARTS_MAX 13
/** Statements of a domain, at most. */
#define TRIP_EACH_MAX 64
/** Characters of any key as text, and the zero behind them. */
#define TRIP_EACH_TEXT_MAX 128

/** By which measure keys stay, and come first. */
enum trip_each_rank {
	TRIP_EACH_PACKETS = 0,
	TRIP_EACH_BYTES,
};

/** Of a statement, at most: conditions, members of these, and times for which keys are quiet. */
#define TRIP_EACH_WHENS_MAX 4
#define TRIP_EACH_MEMBERS_MAX 16
#define TRIP_EACH_QUIETS_MAX 4

/** Whether a condition says something itself, or what its members say together. */
enum trip_each_group {
	TRIP_EACH_ITSELF = 0,
	/** Each of them has held, at whatever moments since the key came, or began anew. */
	TRIP_EACH_ALL,
	/** One of them has. */
	TRIP_EACH_ANY,
};

/**
 * When a key trips: where it has had `count`, summed over all queues; once, until it has gone from
 * the table that told it. Or, where `rate` is not 0: where it has had more than `rate` * t and
 * `burst` together in some interval of t * `seconds` that ends with its packet. That is a leaky
 * bucket of each key, in which its packets, or bytes, are exact; where `idle_us` and the rate are
 * large what leaks is up to 1 in 4,096 more. It trips again when what the bucket holds was at or
 * below `until` meanwhile, and in any case when it has gone and come again; until then the bucket
 * holds no more than `burst`, however much comes. Or, where `quiet_us` is not 0: where it has had
 * no packet for so long on any queue, never sooner (COND-06). That is found by the queue that had
 * the last one, which looks at a part of its keys in each burst, and where none comes: a 320th of
 * the shortest such time of the statement later at most, where the queue is polled 101 times in
 * that, and once for each 32 keys that are quiet then. Of a key that has gone before, as it had
 * least, nothing is told; one that goes as it is idle has been quiet before. Or, where `group` says
 * so, by its members (COND-07). By either it trips once, until it has gone, or begins anew.
 */
struct trip_each_when {
	/** What is counted. */
	enum trip_each_rank of;
	/** Of a rate: it is what may come in so many seconds; 0: in one. */
	uint32_t seconds;
	/** 1 to 2^48 - 1 packets, or bytes; 0 with a rate. */
	uint64_t count;
	/** In `seconds`, up to 2^40; 0 with a count. One condition of a statement may have a rate,
	 * and then the statement counts on one queue, or each of its queues judges what it has seen
	 * itself: that is never early, but a key that is spread over Q queues trips at up to Q
	 * times that. */
	uint64_t rate;
	union {
		/** With a rate: up to 2^40. */
		uint64_t burst;
		/** With a count: it trips again each time that so much more was counted, up to
		 * 2^48 - 1; 0: it does not. What one burst counts trips once, and says for how
		 * many times that stands. With a time for which it is quiet: it trips again where
		 * it is so after so much more was counted. Takes 8 bytes of each key. */
		uint64_t every;
	};
	/** With a rate: no more than `burst`. */
	uint64_t until;
	/** Microseconds, fewer than `idle_us` of the statement: then there is no count and no rate.
	 * Takes 8 bytes of each key, and each packet writes these. */
	uint64_t quiet_us;
	/** enum trip_each_group; with members there is nothing else. Takes 8 bytes of each key. */
	uint32_t group;
	/** With a rate, not 0: the bucket is empty again as it trips, on all queues. So it trips
	 * again as soon as so much more came in an interval that began behind that (COND-05). Takes
	 * 8 bytes of each key. */
	uint32_t again;
};

/** A member of a condition. As a condition, but that it is not told again. */
struct trip_each_member {
	struct trip_each_when when;
	/** Of which condition it is one. */
	uint32_t of;
	/** 0; or 1 more than the member, before this one, of which it is one: a group of the other
	 * kind, of a condition. */
	uint32_t within;
};

/** What is done to a key that trips. */
enum trip_each_op {
	/** Nothing: it is told of. */
	TRIP_EACH_OP_NONE = 0,
	/** Its packets are dropped. */
	TRIP_EACH_OP_DROP,
	/**
	 * It begins anew. What had been counted of it as it tripped is what the trip says; what
	 * comes behind is counted from 0, on all queues, and no packet is in both. All conditions
	 * may trip again, buckets are empty, and what was done to it ends, which is told by the
	 * queue that had begun it: with the key's next packet there, or as it would end by itself.
	 * Conditions that are due as well trip before. On several queues the key stays in its table
	 * until it is idle, as others have to know. Takes 24 bytes of each key.
	 */
	TRIP_EACH_OP_RESET,
	/**
	 * It passes up to a rate, on all queues together, and the rest of its packets is dropped.
	 * What the rate makes in 100 ms may come at once, and so may a packet that is larger than
	 * that. Takes 16 bytes of each key.
	 */
	TRIP_EACH_OP_POLICE,
	/** It passes, whatever conditions say: by hand alone. */
	TRIP_EACH_OP_PASS,
};

/**
 * What a condition does to a key that trips by it. A drop with a time ends when that is over: no
 * packet that comes then is dropped. With a condition that is a rate, each packet that is above it
 * has the time begin anew; and when it is over the key may trip again. Of two that drop a key, the
 * one that ends last prevails, and its end alone is told. All that lasts and a statement's
 * conditions do is the same: a drop, one rate, or nothing.
 */
struct trip_each_act {
	enum trip_each_op op;
	/** With TRIP_EACH_OP_POLICE: an enum trip_police_unit; else 0. */
	uint32_t unit;
	union {
		/** Of a drop: microseconds, up to 2^48; 0: for ever. */
		uint64_t time_us;
		/** Of a police: a second, 1 to TRIP_POLICE_MAX. */
		uint64_t rate;
	};
	/**
	 * With a condition that is a rate: what it begins, be that nothing but that it is told,
	 * ends when less than so much came in `until_us`, of what the rate is of: never sooner, and
	 * where less came in twice that time at the latest. Each queue judges what it has seen
	 * itself. That end is told, and what came before it is in no other trip. 1 to 2^48 - 1 of
	 * what the rate is of, and microseconds up to 2^48; 0, and 0: there is none. Takes 8 bytes
	 * of each key.
	 */
	uint64_t until_count, until_us;
};

/** What becomes of packets of new keys where there is no room for these. */
enum trip_each_full {
	/** They pass. */
	TRIP_EACH_OPEN = 0,
	/** They are dropped. */
	TRIP_EACH_CLOSED,
};

/** Attributes of a statement. */
struct trip_each_attr {
	/** sizeof(struct trip_each_attr). */
	size_t size;
	/** 1 to TRIP_NAME_MAX characters, of those that names of counters have; unique among the
	 * domain's statements. */
	const char *name;
	/** Ports of the domain, each once, all of whose queues are counted. */
	struct trip_port *const *ports;
	/** What its keys are, in this order. */
	const struct trip_each_part *parts;
	uint32_t n_ports, n_parts;
	/** Keys of each queue's table; 1 to 8 Mi. */
	uint32_t max;
	/** By which a table keeps its keys; default: packets. */
	enum trip_each_rank rank;
	/** Microseconds after which a key without packets goes; 320 to 2^48. */
	uint64_t idle_us;
	/** Only packets that match this are seen: items as trip_flow_create() has them in software,
	 * but none about a set, whose members are to be allowed. NULL: all. */
	const struct rte_flow_item *pattern;
	/** What the ports receive, or what they send. */
	enum trip_flow_direction direction;
	/** How many of the last trips are kept: a power of two up to 32768; default: 1024, where
	 * there are conditions. Each queue takes 80 bytes for each of them, and 104 where one
	 * has `every` or `again` or has its key begin anew. */
	uint32_t trips_kept;
	/** When keys trip; NULL: by no condition. */
	const struct trip_each_when *whens;
	uint32_t n_whens;
	/** Default: open. */
	enum trip_each_full full;
	/** What is raised to the number of trips: a counter of the domain that nothing else adds
	 * to, which cannot be closed before the statement. NULL: none. */
	struct trip_cntr *trips;
	/** What each condition does, as many as there are; NULL: nothing. With one that drops, keys
	 * longer than 8 bytes take 9 bytes more each where there is a rate as well. */
	const struct trip_each_act *acts;
	/** How many of the last events each table keeps: a power of two from 8 to 1 Mi, each of
	 * which takes 40 bytes and the key, rounded up to 8; 0: none. An event of a key takes
	 * whoever counts a write of that; other packets take no more than without any. */
	uint32_t events_kept;
	/** Members of conditions; the rate of a statement may be one. */
	uint32_t n_members;
	const struct trip_each_member *members;
	/**
	 * Keys that are dropped by rules of the port's hardware, at most; 0: none. Each is a flow
	 * of the domain's `max_flows`, without a name, and takes 64 bytes; each queue takes 4160.
	 * Where a counter ends with its rule (`trip_port_facts.indirect`), it is two while it comes
	 * back: another rule takes over before the last reading. A rule takes its packets from all
	 * else that counts: so the statement is alone on its port, which it has one of, and no flow
	 * is created there as long as it is open. It has no pattern, one of its conditions drops,
	 * none has members, a key begin anew, a time for which it is quiet, or a rate that is told
	 * `again`; and its keys are addresses, `proto` beside one, ports beside that, and
	 * `vlan.vid` where hardware takes a tag as software does.
	 */
	uint32_t hardware;
	/** Rules that may come and go in a second; 0: 100. They are spread over it. Those that go
	 * are not held up, and those that come wait for them. 1 to 1,000,000. */
	uint32_t hardware_changes;
	/** Not 0: keys may be held by hand. Takes what a condition that drops does (`acts`), trips
	 * (`trips_kept`, without conditions 64) of one queue more than there are, and 4224 bytes of
	 * each queue. */
	uint32_t by_hand;
	/** 0. */
	uint32_t reserved;
};

/** Keys of a statement in hardware, at most. */
#define TRIP_EACH_HARDWARE_MAX 4096

/** What has been counted of a key. */
struct trip_each_entry {
	/** sizeof(struct trip_each_entry), set by the caller of trip_each_read(), else by the
	 * library. */
	size_t size;
	/** Since the key came to a table, over all tables, and began anew; the truth is no less. */
	uint64_t packets, bytes;
	/** In the measure of `rank`, the truth is no more than what was counted and this together.
	 */
	uint64_t error;
	/** Tables that have it. */
	uint32_t tables;
	/** By which conditions it has tripped, a bit each; by a rate: and may not again yet. */
	uint32_t tripped;
	/** Bytes of `key`. */
	uint32_t key_size;
	/** Fields as they are on the wire, one behind the other without a gap; bits that are not
	 * asked for are 0. */
	uint8_t key[TRIP_EACH_KEY_MAX];
	/** What is done to it now: an enum trip_each_op. */
	uint32_t op;
	/** Until when, by the domain's clock in nanoseconds; UINT64_MAX: for ever. */
	uint64_t until_ns;
	/** How often it began anew by TRIP_EACH_OP_RESET, and what had been counted of it by then.
	 * So with this, and the remainder, all keys are what was seen (EACH-03). */
	uint64_t anew, anew_packets, anew_bytes;
	/** Since when a rule of hardware drops it, by the domain's clock in nanoseconds; 0: none
	 * does. And what that has counted by its last reading: what of this has come to a table is
	 * in `packets` and `bytes`. */
	uint64_t hardware_ns, hardware_packets, hardware_bytes;
	/** Not 0: what is done to it is so by hand. */
	uint32_t by_hand;
	/** 0. */
	uint32_t reserved;
};

/** What a statement is, and what it has seen: sums over its tables. */
struct trip_each_info {
	/** sizeof(struct trip_each_info), set by the caller. */
	size_t size;
	/** All that had a key. */
	uint64_t packets, bytes;
	/** Of these, what no entry has: of keys that have gone. */
	uint64_t remainder_packets, remainder_bytes;
	/** Of the remainder, packets of new keys for which there was no room in time. Where the
	 * measure of `rank` has any, so much more may be the error, and what EACH-02 misses. */
	uint64_t refused_packets, refused_bytes;
	/** Keys that came, that went since they had least, and since they were idle. One that is in
	 * several tables counts in each. */
	uint64_t admitted, evicted, expired;
	/** Entries now. */
	uint64_t keys;
	/** In the measure of `rank`: what a key that is in no table has had at most. */
	uint64_t floor;
	/** As given. */
	uint64_t idle_us;
	uint32_t max;
	enum trip_each_rank rank;
	/** How many tables there are, one of each queue; and bytes of all of them. */
	uint32_t tables;
	uint32_t n_parts;
	uint64_t table_bytes;
	struct trip_each_part parts[16];
	/** Bytes of a key. */
	uint32_t key_size;
	char name[TRIP_NAME_MAX + 1];
	/** 0. */
	uint8_t reserved[3];
	/** Trips so far, and how many of the last are kept at least. */
	uint64_t trips;
	uint32_t trips_kept;
	uint32_t n_whens;
	struct trip_each_when whens[TRIP_EACH_WHENS_MAX];
	struct trip_each_act acts[TRIP_EACH_WHENS_MAX];
	/** Of what was seen, dropped as trips say, or as refused. */
	uint64_t dropped_packets, dropped_bytes;
	/** Of `keys`, those that something is being done to, and so stay. */
	uint64_t held;
	/** As given. */
	enum trip_each_full full;
	/** As given. */
	uint32_t events_kept;
	/** Events so far, over all tables: all keys that came and went, where they are kept. */
	uint64_t events;
	/** As given. */
	struct trip_each_member members[TRIP_EACH_MEMBERS_MAX];
	uint32_t n_members;
	/** 0. */
	uint32_t reserved_members;
	/** As given. */
	uint32_t hardware, hardware_changes;
	/** Keys that are in hardware now, and such that would go there. */
	uint64_t hardware_keys, hardware_waiting;
	/** What rules have counted so far; and what of it has not come to a table yet, and so is in
	 * no other number here. */
	uint64_t hardware_packets, hardware_bytes, coming_packets, coming_bytes;
	/** Rules that came and went; that the driver has refused; and trips of keys that were
	 * passed over, as too many others were waiting, or no rule has such a key. */
	uint64_t rule_changes, rules_failed, passed_over;
	/** As given. */
	uint32_t by_hand;
	/** 0. */
	uint32_t reserved_hand;
};

/** What a key has begun by a trip before has ended. */
#define TRIP_EACH_TRIP_END (1u << 0)
/** It was done by trip_each_hold(), or, with TRIP_EACH_TRIP_END, what that had begun has ended; the
 * end of what a condition had begun is told as ever. */
#define TRIP_EACH_TRIP_HAND (1u << 1)

/** A key that has tripped, or for which that has ended. */
struct trip_each_trip {
	/** sizeof(struct trip_each_trip), set by the library. */
	size_t size;
	/** From 0: with trip n the counter is raised to n + 1. */
	uint64_t number;
	/** What had been counted of the key as it tripped, over all tables, since it began anew. */
	uint64_t packets, bytes;
	/** When, by the domain's clock, in nanoseconds; to the microsecond. */
	uint64_t ns;
	/** Which of the conditions; by hand, an enum trip_each_op, of which TRIP_EACH_OP_NONE says
	 * that it was let go. */
	uint32_t when;
	/** The table whose packet it was: queues of the ports, in the order of those. */
	uint32_t table;
	/** Bytes of `key`. */
	uint32_t key_size;
	/** As in an entry. */
	uint8_t key[TRIP_EACH_KEY_MAX];
	/** TRIP_EACH_TRIP_*. */
	uint32_t flags;
	/** How many times of an `every` it stands for, the last of which is what was reached; else
	 * 1. */
	uint32_t times;
	/** By hand: the process that asked for it; else, and of its end, 0. */
	uint32_t pid;
};

/** What became of a key. */
enum trip_each_change {
	/** It came. What it has by then is in none of the event's numbers, but for the error. */
	TRIP_EACH_ADMITTED = 0,
	/** It went, since it had least. */
	TRIP_EACH_EVICTED,
	/** It went, since it had had nothing for `idle_us`. */
	TRIP_EACH_EXPIRED,
};

/** A key that came to a table, or went from it. */
struct trip_each_event {
	/** sizeof(struct trip_each_event), set by the library. */
	size_t size;
	/** From 0, in the order of the table. */
	uint64_t number;
	/** What had been counted of the key in this table since it came there; as it comes, 0. */
	uint64_t packets, bytes;
	/** What it may have had there before, in the measure of `rank`. */
	uint64_t error;
	/** When, by the domain's clock, in nanoseconds: that of the burst which found it, to the
	 * microsecond. */
	uint64_t ns;
	/** enum trip_each_change */
	uint32_t change;
	/** As in a trip. */
	uint32_t table;
	/** Bytes of `key`. */
	uint32_t key_size;
	/** As in an entry. */
	uint8_t key[TRIP_EACH_KEY_MAX];
	/** 0. */
	uint32_t reserved;
};

/**
 * Computes what a statement would take of its domain's `each_bytes`, without reserving anything.
 * `ports` of the attributes is not looked at. Any thread of any process.
 *
 * @param n_queues
 *   Queues of its ports, in its direction.
 * @return
 *   0, or -EINVAL: the key, `reserved`, `max`, `rank`, `idle_us`, `trips_kept`, `events_kept`,
 *   `full`, `hardware`, `hardware_changes`, a condition or what that does is none, or an unknown
 *   attribute `size`; -ENOTSUP: a second condition with a rate, conditions that do different things
 *   that last, or with `hardware` a key, a pattern or conditions that it does not go with.
 */
int trip_each_footprint(const struct trip_each_attr *attr, uint32_t n_queues, uint64_t *bytes);

/**
 * Opens a statement, which counts from then on: in the primary and wherever else a queue is polled,
 * each burst that begins after the return. Only the primary opens statements. Any thread; makes the
 * tables, which takes a millisecond for each megabyte or so.
 *
 * @return
 *   0, or
 *   -EINVAL: a malformed name, no port or one of them twice, an unknown direction, a clock for a
 *     counter, or what trip_each_footprint() and trip_flow_create() find wrong with the rest;
 *   -ENOTSUP: an item or field of the pattern that the software engine does not have; egress on a
 *     port with `n_tx_queues` 0; called in an attached process; with `hardware` a port that takes
 *     no rules for its keys, or more than one port, or a domain that goes by packets' times;
 *   -EBUSY: with `hardware`, something else counts on its port; or such a statement has it;
 *   -EEXIST: another statement has the name;
 *   -EXDEV: a port, or the counter, of another domain;
 *   -ENOSPC: the domain has TRIP_EACH_MAX of them, or too little of its `each_bytes` is free in one
 *     piece; the message says how much it takes. What was closed is free again when the bursts of
 *     other processes that were under way then have ended;
 *   -ENOMEM;
 *   -EDEADLK: called from a registered function, a polling lcore of the domain or a port's worker;
 *   -ESHUTDOWN (WAIT-12).
 */
int trip_each_open(
	struct trip_domain *domain, const struct trip_each_attr *attr, struct trip_each **each);

/**
 * Finds a statement by its name, to be read; in the primary, and in processes that have attached.
 * Any thread.
 *
 * @param[out] each
 *   To be closed by trip_each_close(), which leaves the statement itself alone.
 * @return
 *   0, or -EINVAL: a malformed name; -ENOENT: the domain has none of that name; -ENOMEM; -EDEADLK
 *   as trip_each_open(); -ESHUTDOWN (WAIT-12).
 */
int trip_each_find(struct trip_domain *domain, const char *name, struct trip_each **each);

/**
 * Brings all keys back from hardware for good, and returns when the tables have what was counted
 * there: before what is read last of a statement. Its queues are to be polled meanwhile. Any
 * thread; at once where none is there.
 *
 * @return
 *   0, or -EINVAL: it was found, and whoever has opened it does that; -ETIMEDOUT: the tables did
 *   not take it in 10 s; -EDEADLK as trip_each_open(); -ESHUTDOWN (WAIT-12).
 */
int trip_each_settle(struct trip_each *each);

/**
 * Ends a statement, and what it has counted; or lets go of one that was found. No other call of
 * this handle may be under way. Any thread; waits for the bursts under way, as trip_flow_destroy()
 * does.
 *
 * @return
 *   0, or -EBUSY: others have found it, and nothing has changed; -EDEADLK as trip_each_open();
 *   -ESHUTDOWN (WAIT-12).
 */
int trip_each_close(struct trip_each *each);

/**
 * Tells what a statement is, and its sums. Any thread, lock-free; each number is exact, together
 * they are of one moment only where nothing is counted meanwhile.
 *
 * @return
 *   0, or -EINVAL: an unknown `size`; -ESHUTDOWN (WAIT-12).
 */
int trip_each_query(const struct trip_each *each, struct trip_each_info *info);

/** A statement as an object of which trip_profile_open() opens a profile; of a handle of whichever
 * process, which is not closed while there is one (-EBUSY). */
struct trip_fid *trip_each_fid(struct trip_each *each);

/**
 * Reads what has been counted of one key (EACH-01). Any thread, lock-free.
 *
 * @param key
 *   As many bytes as the keys of the statement have.
 * @return
 *   0, or -ENOENT: no table has it: it has had no more than `floor` of trip_each_query();
 *   -EINVAL: an unknown `size` of `entry`; -ESHUTDOWN (WAIT-12).
 */
int trip_each_read(const struct trip_each *each, const void *key, struct trip_each_entry *entry);

/** What trip_each_walk() calls for each key; `entry` is good until it returns. Not 0: it is enough.
 */
typedef int (*trip_each_visit_t)(const struct trip_each_entry *entry, void *arg);

/**
 * Goes over all keys, each with its sums over all tables, in no order that means anything. Counting
 * goes on meanwhile: a key that is in a table from beginning to end is told once, any other once
 * at most; but with one table, one that goes and comes again may be told as it was, and as it is.
 * Any thread, lock-free; with more than one table it takes memory for 64 Ki entries at a time
 * or so.
 *
 * @return
 *   0, what `visit` has returned where that is not 0, or -ENOMEM; -ESHUTDOWN (WAIT-12).
 */
int trip_each_walk(const struct trip_each *each, trip_each_visit_t visit, void *arg);

/**
 * Finds the keys with most packets, or bytes, by what was counted of them, the first first.
 * Counting goes on meanwhile. Any thread, lock-free; it goes over all entries once.
 *
 * @param size
 *   sizeof(struct trip_each_entry).
 * @param count
 *   Room in `entries`.
 * @return
 *   The number written to `entries`; or -EINVAL: an unknown size or rank; -ENOMEM; -ESHUTDOWN
 *   (WAIT-12).
 */
int trip_each_top(const struct trip_each *each, enum trip_each_rank rank,
	struct trip_each_entry *entries, size_t size, uint32_t count);

/**
 * Reads trips in the order of their numbers, from one on: those that are still kept. What is
 * overwritten is left out; that the first one's number is above `from`, or that one is missing
 * between two, says so, and how many. Any thread, lock-free.
 *
 * @param size
 *   sizeof(struct trip_each_trip).
 * @param count
 *   Room in `trips`.
 * @return
 *   The number written to `trips`, 0 where there is none from `from` on; or -EINVAL: an unknown
 *   size; -ESHUTDOWN (WAIT-12).
 */
int trip_each_trips(const struct trip_each *each, uint64_t from, struct trip_each_trip *trips,
	size_t size, uint32_t count);

/**
 * Reads events of one table in the order of their numbers, from one on: those that are still kept,
 * as trip_each_trips() reads trips. Any thread of any process that has the statement, lock-free;
 * nothing waits, and nothing is waited for.
 *
 * @param table
 *   0 to `tables` of trip_each_query() less 1: queues of the ports, in the order of those.
 * @param size
 *   sizeof(struct trip_each_event).
 * @param count
 *   Room in `events`.
 * @return
 *   The number written to `events`, 0 where there is none from `from` on, or none is kept; or
 *   -EINVAL: an unknown size, or no table of the statement; -ESHUTDOWN (WAIT-12).
 */
int trip_each_events(const struct trip_each *each, uint32_t table, uint64_t from,
	struct trip_each_event *events, size_t size, uint32_t count);

/**
 * Holds a key by hand, or lets it go, on all queues: each burst that begins after the return does
 * so, in whichever process, and nothing waits for one. What held it before ends, which is told. A
 * key that no table has is admitted, with nothing counted. One that is held stays (EACH-06), over
 * any idle time, and where its poller is killed. Where hardware drops keys, one that is dropped by
 * hand goes there as others do; one that is let go, or passes, leaves it within the refresh lag.
 * That it was done is a trip with TRIP_EACH_TRIP_HAND, and so is the end of what this began: once,
 * when its time is over, it is let go, or somebody holds the key anew; told by a table that has the
 * key, so as its queue is polled. Any thread of any process that has the statement; takes a lock of
 * the primary.
 *
 * @param key
 *   As many bytes as the keys of the statement have.
 * @param op
 *   TRIP_EACH_OP_DROP; TRIP_EACH_OP_PASS; or TRIP_EACH_OP_NONE: it is let go, by whomever it is
 *   held. Conditions judge it from then on by what it has: one that it is above, and has not
 *   tripped by, trips with its next packet; a rate may, again.
 * @param time_us
 *   Microseconds, up to 2^48, by the domain's clock; 0: until it is let go. To let go, 0.
 * @return
 *   0, or -EINVAL: another `op`, or `time_us` is none; -ENOTSUP: the statement was opened without
 *   `by_hand`; -ENOENT: to let go, and nothing is done to the key; -ENOSPC: a table has no entry
 *   for the key, and as many as `max` are held; -EAGAIN: nobody has polled one of the queues since
 *   64 calls; -EDEADLK as trip_each_open(); -ESHUTDOWN (WAIT-12). Then nothing has changed.
 */
int trip_each_hold(struct trip_each *each, const void *key, enum trip_each_op op, uint64_t time_us);

/**
 * Reads a key from its text, as trip_each_text() writes it. An address of which keys have the front
 * may have its length behind it, or not; what is behind that front is 0. Any thread.
 *
 * @param[out] key
 *   As many bytes as the keys of the statement have.
 * @return
 *   0, or -EINVAL: it is no key of the statement; the message says which field is none.
 *   -ESHUTDOWN (WAIT-12).
 */
int trip_each_parse(const struct trip_each *each, const char *text, void *key);

/**
 * Writes a key as text: its fields with commas between them, "10.1.2.3", "10.1.2.0/24",
 * "2001:db8::1", "10.1.2.3,443". Any thread.
 *
 * @param size
 *   Room in `text`, with the zero behind it; TRIP_EACH_TEXT_MAX is enough for every key.
 * @return
 *   0, or -ENOSPC: it was cut; -ESHUTDOWN (WAIT-12).
 */
int trip_each_text(const struct trip_each *each, const void *key, char *text, size_t size);

/**
 * Tells which key a packet has, where the statement would count it: whoever has packets in hand
 * finds those of a key by that. Nothing is counted, and what a flow with `allow` takes has its key
 * here, too. Any thread, lock-free; takes a look into the packet, and reads nothing past the mbuf.
 *
 * @param direction
 *   Whether it was received, or is to be sent: then a tag that the port is to put in counts.
 * @param[out] key
 *   As many bytes as the keys of the statement have.
 * @return
 *   0, or -ENOENT: it has none, or does not match the pattern; this has no message.
 *   -ESHUTDOWN (WAIT-12).
 */
int trip_each_key(const struct trip_each *each, const struct rte_mbuf *pkt,
	enum trip_flow_direction direction, void *key);

/**
 * Tells to which key of another statement a key belongs: which network a host is of, which
 * destination a pair of addresses. With trip_each_walk() of the finer statement, these are the
 * hosts, or sources, of what has tripped in the other. Any thread.
 *
 * @param key
 *   As many bytes as the keys of `each` have.
 * @param onto
 *   A statement whose fields `each` has all, of addresses as many bits at least.
 * @param[out] projected
 *   As many bytes as its keys have; may be `key`.
 * @return
 *   0, or -EINVAL: `each` lacks a field of `onto`, which the message names; -ESHUTDOWN (WAIT-12).
 */
int trip_each_project(const struct trip_each *each, const void *key, const struct trip_each *onto,
	void *projected);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What goes over a domain's socket: SOCK_SEQPACKET, one request and one reply at a time. Whoever
 * asks again before he has read the reply is served no more. A request has the exact size of its
 * type; a reply begins with the same head and carries an error, with its sentence, or what the
 * request asks for. Descriptors go along with replies, by SCM_RIGHTS; none is taken from a client,
 * for what it does when it is written or closed would be the client's to say.
 *
 * Records are those of trip_client.h. Both sides are on one machine, so fields are in host order.
 */
#ifndef TRIP_RUNTIME_PROTOCOL_H
#define TRIP_RUNTIME_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <trip_client.h>
#include <trip_domain.h>
#include <trip_port.h>

#define TRIP_PROTOCOL_MAGIC 0x50495254u /* "TRIP" */
/* Moves with every change of a request, a reply or a record. */
#define TRIP_PROTOCOL_VERSION 25

/* Bytes of the longest reply, and of the records in it. */
#define TRIP_PROTOCOL_REPLY_MAX 16384
#define TRIP_PROTOCOL_RECORDS (TRIP_PROTOCOL_REPLY_MAX - 32)

/* The cursor of a list that has come to its end. */
#define TRIP_PROTOCOL_END UINT64_MAX

enum trip_protocol_type {
	TRIP_PROTOCOL_LIST = 1,
	TRIP_PROTOCOL_FIND,
	TRIP_PROTOCOL_READ,
	TRIP_PROTOCOL_WATCH,
	TRIP_PROTOCOL_ARM,
	TRIP_PROTOCOL_UNWATCH,
	/* Of processes that attach. */
	TRIP_PROTOCOL_ATTACH,
	TRIP_PROTOCOL_DETACH,
	TRIP_PROTOCOL_OPEN,
	TRIP_PROTOCOL_FOUND,
	TRIP_PROTOCOL_CLOSE,
	TRIP_PROTOCOL_SLOTS,
	/* The answer has a descriptor that is ready once the slot has been signalled. */
	TRIP_PROTOCOL_SIGNAL,
	/* A further connection of an attached process, for what takes its time: all that follows,
	 * as proxy.h has it. */
	TRIP_PROTOCOL_JOIN,
	TRIP_PROTOCOL_PORT,
	TRIP_PROTOCOL_FLOW,
	TRIP_PROTOCOL_FLOW_DO,
	TRIP_PROTOCOL_COUNTERS,
	TRIP_PROTOCOL_POINT,
	TRIP_PROTOCOL_COUNTERS_READ,
	TRIP_PROTOCOL_COUNTERS_CLOSE,
	/* Answered when what homes have started on ports has finished. */
	TRIP_PROTOCOL_QUIESCE,
	/* A struct trip_protocol_flow again; the answer's result is the engine, its text why. */
	TRIP_PROTOCOL_VALIDATE,
	/* What is known of a port, and has been done on it. */
	TRIP_PROTOCOL_PORT_FACTS,
	TRIP_PROTOCOL_PORT_STATS,
	/* A piece of a command to the application, whose last piece is answered once that has done
	 * it; and more of its answer. */
	TRIP_PROTOCOL_COMMAND,
	TRIP_PROTOCOL_COMMAND_MORE,
	/* What is counted by keys, by name; or lets go of it. */
	TRIP_PROTOCOL_EACH,
	/* Keys of such a one that have most: records, all of them. */
	TRIP_PROTOCOL_TOP,
	/* A key of one that was found is held by hand, or let go. */
	TRIP_PROTOCOL_BY_HAND,
	TRIP_PROTOCOL_TYPES,
};

struct trip_protocol_head {
	uint32_t magic;
	uint16_t version;
	uint16_t type;
	/* Of the whole message, this head included. */
	uint32_t size;
	/* In a reply: 0, or a negative errno; a sentence follows, ended by a zero. */
	int32_t error;
};

/* Requests, behind the head. */
struct trip_protocol_list {
	uint64_t cursor;
	uint32_t kind;
	/* Bytes of a record, as the client knows it. */
	uint32_t size;
	uint32_t count;
	uint32_t reserved;
};

struct trip_protocol_find {
	char name[40];
};

struct trip_protocol_read {
	uint64_t cntr;
};

struct trip_protocol_arm {
	uint64_t threshold;
	/* What the client saw. */
	uint64_t success, error;
	uint32_t errgen, setgen;
	uint32_t watch;
	uint32_t reserved;
};

struct trip_protocol_unwatch {
	uint32_t watch;
};

#define TRIP_PROTOCOL_LCORES 1024

/* Of flows: counters, bytes of a rule, and of a sentence about it. */
#define TRIP_PROTOCOL_FLOW_CNTRS 8
#define TRIP_PROTOCOL_RULE 2056
#define TRIP_PROTOCOL_TEXT 256

struct trip_protocol_attach {
	/* What the domain's shared memory says of itself. */
	uint64_t nonce;
	uint32_t layout;
	uint32_t reserved;
	/* Ids of the process's lcores, a bit each. */
	uint64_t lcores[TRIP_PROTOCOL_LCORES / 64];
};

struct trip_protocol_open {
	char name[40];
	uint32_t events;
	uint32_t reserved;
};

/* A handle: of the counter's own, or a found one. */
struct trip_protocol_close {
	uint64_t cntr;
	uint32_t found;
	/* Not 0: also where others have found it, who keep it. */
	uint32_t abandoned;
};

/* Waiter slots of a home. */
#define TRIP_PROTOCOL_SLOTS_MAX 16

struct trip_protocol_slots {
	uint32_t home;
	uint32_t count;
};

enum trip_protocol_signal_by {
	TRIP_PROTOCOL_SIGNAL_OFF,
	/* A descriptor of its own. */
	TRIP_PROTOCOL_SIGNAL_OWN,
	/* One that the process's slots may have in common; and the last such one, which does not
	 * come along again. */
	TRIP_PROTOCOL_SIGNAL_COMMON,
	TRIP_PROTOCOL_SIGNAL_SAME,
};

struct trip_protocol_signal {
	uint32_t home;
	uint32_t slot;
	uint32_t by;
	uint32_t reserved;
};

struct trip_protocol_join {
	/* What the process was given when it attached. */
	uint32_t number;
	uint32_t reserved;
};

/* Finds a port, with a descriptor for its rules; or lets go of it. */
struct trip_protocol_port {
	uint16_t port;
	uint16_t close;
	uint32_t reserved;
};

struct trip_protocol_port_ask {
	uint32_t port;
	/* Facts: those of an open port. */
	uint32_t open;
};

struct trip_protocol_flow {
	/* Counters, and the counters object, which may be 0. */
	uint64_t cntrs[TRIP_PROTOCOL_FLOW_CNTRS];
	uint64_t counters;
	uint32_t n_cntrs;
	uint32_t priority, group;
	uint32_t engine, direction, recreate;
	uint32_t port;
	uint32_t reserved;
	/* Why it is that engine; "": no word of it. */
	char reason[TRIP_CLIENT_REASON_MAX];
	/* A struct trip_flow_wire. */
	_Alignas(8) uint8_t rule[TRIP_PROTOCOL_RULE];
};

enum trip_protocol_flow_action {
	TRIP_PROTOCOL_FLOW_QUERY = 1,
	TRIP_PROTOCOL_FLOW_RETIRE,
	TRIP_PROTOCOL_FLOW_DESTROY,
	/* It will be policed, or share its rate. */
	TRIP_PROTOCOL_FLOW_POLICE,
};

struct trip_protocol_flow_do {
	uint64_t flow;
	/* To be policed with it, or neither is; 0: none. */
	uint64_t with;
	uint32_t action;
	uint32_t reserved;
};

struct trip_protocol_counters {
	uint32_t slots;
	uint32_t reserved;
};

struct trip_protocol_point {
	uint64_t counters;
	/* 0: a static point. */
	uint64_t flow;
	uint32_t index;
	uint32_t desc;
};

/* Slots from `first` on. */
struct trip_protocol_counters_read {
	uint64_t counters;
	uint32_t first, count;
	uint32_t flags;
	uint32_t reserved;
};

struct trip_protocol_each {
	/* To find one; and the number of one to let go of. */
	char name[40];
	uint32_t number;
	uint32_t close;
};

struct trip_protocol_by_hand {
	uint64_t key[5];
	uint64_t time_us;
	uint32_t number;
	/* An enum trip_each_op. */
	uint32_t op;
};

struct trip_protocol_top {
	char name[40];
	uint32_t rank;
	/* Bytes of a record, as the client knows it. */
	uint32_t size;
	uint32_t count;
	uint32_t reserved;
};

#define TRIP_PROTOCOL_PIECE 8192

/* Pieces come in order, all but the last of TRIP_PROTOCOL_PIECE; with the first a command begins
 * anew. */
struct trip_protocol_command {
	/* Bytes of the whole command, and of it those before this piece. */
	uint32_t total, at;
	char text[TRIP_PROTOCOL_PIECE];
};

struct trip_protocol_command_more {
	uint32_t at;
	uint32_t reserved;
};

/* Replies, behind the head. */
struct trip_protocol_records {
	/* Where the next request goes on, or TRIP_PROTOCOL_END. */
	uint64_t cursor;
	uint32_t count;
	uint32_t reserved;
	uint8_t record[TRIP_PROTOCOL_RECORDS];
};

/* With a descriptor. */
struct trip_protocol_watching {
	uint32_t watch;
};

struct trip_protocol_attached {
	/* Of the process: it names its channels. */
	uint32_t number;
	uint32_t reserved;
	/* Of the clocks. */
	uint64_t tsc_hz, base_tsc;
	/* The domain's, without their pointers: they say where everything is. */
	struct trip_domain_attr attr;
};

/* A port that was found: its queues of the domain, by direction, and its mode. */
struct trip_protocol_found {
	uint32_t first_queue[2];
	uint16_t n_queues[2];
	uint32_t mode;
};

struct trip_protocol_opened {
	uint64_t cntr;
	uint32_t events;
	char name[40];
};

/* A rule that was refused is no error of the protocol: where it is wrong goes along. */
struct trip_protocol_made {
	uint64_t flow;
	int32_t result;
	uint32_t index;
	/* What rte_flow says: an enum rte_flow_error_type, and the number of the item or action
	 * that it is about, counted from 1, actions behind items. */
	uint32_t type, cause;
	char text[TRIP_PROTOCOL_TEXT];
};

struct trip_protocol_counted {
	uint64_t packets, bytes, policed_packets, policed_bytes, police_rate;
	uint32_t fate, engine, police_unit, police_burst_ms;
};

#define TRIP_PROTOCOL_VALUES 1024

struct trip_protocol_values {
	uint32_t count;
	uint32_t reserved;
	uint64_t value[TRIP_PROTOCOL_VALUES];
};

struct trip_protocol_slots_given {
	uint32_t count;
	uint32_t slot[TRIP_PROTOCOL_SLOTS_MAX];
};

/* What the application answers, from byte `at` of so many; nothing of a piece that is not the last.
 */
struct trip_protocol_told {
	int32_t status;
	uint32_t total, at;
	char text[TRIP_PROTOCOL_PIECE];
};

union trip_protocol_request {
	struct trip_protocol_list list;
	struct trip_protocol_find find;
	struct trip_protocol_read read;
	struct trip_protocol_arm arm;
	struct trip_protocol_unwatch unwatch;
	struct trip_protocol_attach attach;
	struct trip_protocol_open open;
	struct trip_protocol_find found;
	struct trip_protocol_close close;
	struct trip_protocol_slots slots;
	struct trip_protocol_signal signal;
	struct trip_protocol_join join;
	struct trip_protocol_port port;
	struct trip_protocol_port_ask port_ask;
	struct trip_protocol_flow flow;
	struct trip_protocol_flow_do flow_do;
	struct trip_protocol_counters counters;
	struct trip_protocol_point point;
	struct trip_protocol_counters_read counters_read;
	struct trip_protocol_command command;
	struct trip_protocol_command_more command_more;
	struct trip_protocol_each each;
	struct trip_protocol_top top;
	struct trip_protocol_by_hand by_hand;
	/* A counters object. */
	uint64_t closed;
};

union trip_protocol_answer {
	char sentence[256];
	struct trip_protocol_records records;
	struct trip_client_cntr cntr;
	struct trip_protocol_watching watching;
	struct trip_protocol_attached attached;
	struct trip_protocol_opened opened;
	struct trip_protocol_found port;
	struct trip_protocol_slots_given slots;
	struct trip_protocol_made made;
	struct trip_protocol_counted counted;
	struct trip_port_facts facts;
	struct trip_port_stats port_stats;
	struct trip_protocol_values values;
	struct trip_protocol_told told;
	/* Counters object that was created. */
	uint64_t counters;
	/* Number of what is counted by keys, among the domain's. */
	uint32_t each;
};

struct trip_protocol_reply {
	struct trip_protocol_head head;
	union trip_protocol_answer answer;
};

_Static_assert(
	sizeof(struct trip_protocol_reply) <= TRIP_PROTOCOL_REPLY_MAX, "a reply is too long");

/* wire.c: one request with its reply, for those who attach. A descriptor that comes along is in
 * *fd, -1: none came; with fd NULL it is closed. */
int trip_client_call(struct trip_client *client, enum trip_protocol_type type, const void *body,
	size_t size, union trip_protocol_answer *answer, int *fd);

/* The two halves of it, between which nothing else is asked. Without `wait`, TRIP_CLIENT_YET says
 * that the answer is yet to come. */
#define TRIP_CLIENT_YET 1
int trip_client_ask(
	struct trip_client *client, enum trip_protocol_type type, const void *body, size_t size);
int trip_client_answer(struct trip_client *client, enum trip_protocol_type type, bool wait,
	union trip_protocol_answer *answer, int *fd);

#endif

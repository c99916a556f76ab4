/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rules language as data: what every tool that takes rules starts from. README.md beside this
 * file says how the language reads; this header says what a caller gets.
 *
 * Parsing is all or nothing: either there are rules, fully resolved (every reference an index,
 * every pattern an rte_flow array), or there are errors, all of them, in the order of the file.
 */
#ifndef TRIP_RULES_H
#define TRIP_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <rte_flow.h>

#include <trip_cntr.h>
#include <trip_each.h>
#include <trip_flow.h>
#include <trip_set.h>
#include <trip_work.h>

#define TRIP_RULES_NAME_MAX 32 /* as a counter's name, without the NUL */
#define TRIP_RULES_TESTS_MAX 8 /* of sets, in one pattern */
/*
 * Items of one pattern, without END: eth, two vlan, ip, udp, vxlan, and up to the L4 item within;
 * and those of sets.
 */
#define TRIP_RULES_ITEMS_MAX (11 + TRIP_RULES_TESTS_MAX)
#define TRIP_RULES_PREFIXES_MAX 64         /* that the ranges of one rule may become */
#define TRIP_RULES_PATTERNS_MAX 256        /* of one rule */
#define TRIP_RULES_PATTERNS_ALL (1u << 20) /* of all rules of a file */
#define TRIP_RULES_PORT_NAME_MAX 63        /* as ethdev's RTE_ETH_NAME_MAX_LEN, without the NUL */
#define TRIP_RULES_INTERFACE_MAX 15        /* as the kernel's IFNAMSIZ, without the NUL */
#define TRIP_RULES_FILE_MAX (64u << 20)
#define TRIP_RULES_TIME_MAX (UINT64_C(10000) * 86400 * 1000000000) /* of a TIME: 10000 days */
#define TRIP_RULES_PERIOD_MIN UINT64_C(1000000)   /* of one that repeats: a millisecond */
#define TRIP_RULES_WINDOW_MIN UINT64_C(100000)    /* of a rate: 100 microseconds */
#define TRIP_RULES_LINES_MOST 10u                 /* lines of what says nothing of it ... */
#define TRIP_RULES_LINES_PER UINT64_C(1000000000) /* ... in a second */
#define TRIP_RULES_SHOWN_MAX 20u                  /* errors or warnings, of those that are found */
/* Quotas of one kind over a count: beside its own counter. */
#define TRIP_RULES_QUOTAS_MAX (TRIP_FLOW_CNTRS_MAX / 2 - 1)

/* How a rule names a port. */
enum trip_rules_port_by {
	TRIP_RULES_PORT_ID,   /* id */
	TRIP_RULES_PORT_NAME, /* name: as ethdev has it, such as "0000:03:00.0" or "net_tap0" */
	TRIP_RULES_PORT_MAC,  /* mac */
	TRIP_RULES_PORT_INTERFACE, /* name: of an interface of the kernel, such as "eth0" */
	TRIP_RULES_PORT_ANY,       /* all that the tool has */
};

/*
 * Only what `by` says is set. A tool that finds out which port a name or an address is sets id, and
 * by to TRIP_RULES_PORT_ID; of ANY, with trip_rules_set_ports().
 */
struct trip_rules_port {
	enum trip_rules_port_by by;
	uint16_t id;
	char *name;
	uint8_t mac[6];
};

/* Of one rule. */
#define TRIP_RULES_PORTS_MAX 64

enum trip_rules_direction {
	TRIP_RULES_INGRESS,
	TRIP_RULES_EGRESS,
	TRIP_RULES_EITHER, /* ingress, and its patterns mirrored too: both ways of a connection */
};

#define TRIP_RULES_ACTION_DROP (1u << 0)
#define TRIP_RULES_ACTION_PASSTHRU (1u << 1)
#define TRIP_RULES_ACTION_MARK (1u << 2)  /* with mark */
#define TRIP_RULES_ACTION_QUEUE (1u << 3) /* to queue */
#define TRIP_RULES_ACTION_RSS (1u << 4)   /* over the queues that the port is configured with */

/* "count": a flow rule with a counter of packets and one of bytes. */
struct trip_rules_count {
	char name[TRIP_RULES_NAME_MAX + 1];
	unsigned int line; /* where the statement begins */
	unsigned int name_line, name_column;
	size_t name_offset;
	char *source; /* the statement, on one line, without its comment */
	/* Each once, as far as is known; ANY stands alone. */
	struct trip_rules_port *ports;
	unsigned int n_ports;
	enum trip_rules_direction direction;
	uint32_t group;
	uint32_t priority;
	bool also;
	bool allow; /* "allow": before all else, and never dropped */
	enum trip_flow_engine engine;
	uint32_t actions; /* TRIP_RULES_ACTION_*; 0 where the rule has none */
	uint32_t mark;
	uint16_t queue;
	/*
	 * The rule's flow is what matches any of its patterns on any of its ports: a range takes
	 * several, and `either` doubles them. Each is END-terminated, all have the same items; spec
	 * and mask belong to the rules, are in network order, and hold no bit that the mask does
	 * not; both are NULL for an item without fields. No packet matches two patterns of a rule
	 * that counts in addition (`also`, or the action passthru): a flow for each, on the same
	 * counters, counts every packet once.
	 */
	struct rte_flow_item **patterns;
	unsigned int n_patterns;
	struct rte_flow_item *items; /* the first of the patterns */
	unsigned int n_items;        /* without END */
	/* Quotas that are of it: rules->counters. */
	unsigned int quotas[2 * TRIP_RULES_QUOTAS_MAX];
	unsigned int n_quotas;
	/* Of rules at work (apply/difference.h): it has been removed; the order of its flows. */
	bool gone;
	uint64_t born;
};

enum trip_rules_period {
	TRIP_RULES_PERIOD_NONE,
	TRIP_RULES_PERIOD_MINUTE,
	TRIP_RULES_PERIOD_HOUR,
	TRIP_RULES_PERIOD_DAY,
	TRIP_RULES_PERIOD_MONTH,
};

/* "quota": what counts may come to within a period. */
struct trip_rules_quota {
	uint64_t limit;
	enum trip_rules_period per;
	unsigned int day;    /* of the month at which a period begins: 1 to 28 */
	unsigned int second; /* and of that day, by local time */
	enum trip_cntr_events events;
	unsigned int *counts; /* of rules->counts */
	unsigned int n_counts;
};

/* "counter": a counter that only software adds to; "quota": one that flows feed. */
struct trip_rules_counter {
	char name[TRIP_RULES_NAME_MAX + 1];
	unsigned int line;
	struct trip_rules_quota *quota; /* or NULL */
	char *source;                   /* as of a count */
	bool gone;                      /* as of a count, and what it had come to */
	uint64_t last;
};

/* "set": what fields may be any of. */
struct trip_rules_set {
	char name[TRIP_RULES_NAME_MAX + 1];
	unsigned int line;
	char *source;
	char *path; /* or NULL: the entries are in the statement */
	/* Of a file, once trip_rules_set_load() has read it. */
	struct trip_set_entry *entries;
	size_t n_entries;
	uint64_t digest; /* of the file's text */
	bool gone;       /* as of a count */
};

/* "each": counters that appear by themselves, of the packets of ports by what their keys are. */
struct trip_rules_each {
	/*
	 * Where it counts, and of what, as a count has it, and what is of every statement: name,
	 * line, source and `gone`. No direction is EITHER; of patterns it has one, or none: all
	 * packets.
	 */
	struct trip_rules_count count;
	struct trip_each_part parts[TRIP_EACH_PARTS_MAX];
	unsigned int n_parts;
	uint32_t max;
	uint64_t idle_us;
	enum trip_each_full full;
	/* Keys that hardware drops at most, and rules that come and go in a second; 0: none, and as
	 * many as the library has it. */
	uint32_t hardware, hardware_changes;
	/* What keys trip by, and whose condition each is: rules->whens. */
	struct trip_each_when conditions[TRIP_EACH_WHENS_MAX];
	struct trip_each_act acts[TRIP_EACH_WHENS_MAX];
	unsigned int whens[TRIP_EACH_WHENS_MAX];
	unsigned int n_whens;
	struct trip_each_member members[TRIP_EACH_MEMBERS_MAX];
	unsigned int n_members;
};

enum trip_rules_ref {
	TRIP_RULES_REF_PACKETS, /* of counts[index] */
	TRIP_RULES_REF_BYTES,   /* of counts[index] */
	TRIP_RULES_REF_COUNTER, /* counters[index] */
	/* Nanoseconds since the rules were put to work; threshold is at most TRIP_RULES_TIME_MAX,
	 * and every at least TRIP_RULES_PERIOD_MIN. */
	TRIP_RULES_REF_CLOCK,
	TRIP_RULES_REF_PAIRS, /* what its pairs say */
	/* Of each key of eaches[index]: no work, but one of its conditions. Not in pairs. */
	TRIP_RULES_REF_KEY_PACKETS,
	TRIP_RULES_REF_KEY_BYTES,
	TRIP_RULES_REF_KEY_PAIRS, /* all() or any() of these; its pairs are in the each */
};

/* One of the conditions of an all() or any(). */
struct trip_rules_pair {
	enum trip_rules_ref ref;
	unsigned int index;
	uint64_t threshold;
	struct trip_condition condition; /* as of a `when` */
	struct trip_rules_pairs *nested; /* or NULL: it is these */
};

/* all() or any(). */
struct trip_rules_pairs {
	enum trip_condition_kind kind;
	struct trip_rules_pair pair[TRIP_CONDITION_PAIRS_MAX];
	unsigned int n;
};

/* Calls for each that says something of a counter or the time, those that are nested too. */
void trip_rules_pairs_walk(struct trip_rules_pairs *pairs,
	void (*call)(void *arg, struct trip_rules_pair *pair), void *arg);

enum trip_rules_op {
	TRIP_RULES_OP_DROP,   /* counts[target] */
	TRIP_RULES_OP_PASS,   /* counts[target] */
	TRIP_RULES_OP_DELETE, /* counts[target] */
	TRIP_RULES_OP_POLICE, /* counts[target], to value */
	TRIP_RULES_OP_ADD,    /* counters[target], by value */
	TRIP_RULES_OP_SET,    /* counters[target], to value */
	TRIP_RULES_OP_RESET,  /* counters[target], or with on_count the values of counts[target] */
	TRIP_RULES_OP_LOG,    /* text, or NULL */
	TRIP_RULES_OP_EXEC,   /* the program whose path is text */
	/* The key that tripped, of eaches[index]. */
	TRIP_RULES_OP_KEY_DROP,
	TRIP_RULES_OP_KEY_RESET,
	TRIP_RULES_OP_KEY_POLICE, /* to value */
	TRIP_RULES_OPS_END,
};

/* What the language calls an operation, and what the library does for it. */
struct trip_rules_op_row {
	const char *word;
	enum trip_op type;
	/* TRIP_OP_ON_FLOW: its target is a count, and each flow of it; TRIP_OP_ON_CNTR: a counter;
	 * TRIP_OP_ON_FUNCTION: it has none. */
	enum trip_op_target target;
};

const struct trip_rules_op_row *trip_rules_op_of(enum trip_rules_op op);

struct trip_rules_when {
	unsigned int line;
	char *source;
	enum trip_rules_ref ref;
	unsigned int index;
	uint64_t threshold;              /* at most 2^63-1, and so are every and value */
	struct trip_condition condition; /* TRIP_CONDITION_NONE: the threshold alone */
	/* "idle 5s", "rate >= 10kpps over 1s", "any(a >= 1, after 5s)", or NULL. */
	char *condition_text;
	/* Of TRIP_CONDITION_ALL and _ANY, else NULL; what `condition` has of pairs is unset. */
	struct trip_rules_pairs *pairs;
	uint64_t every; /* 0: once */
	enum trip_rules_op op;
	unsigned int target;
	bool on_count; /* target is a count */
	uint64_t value;
	/* Of a drop: nanoseconds, 0: for ever; and as it was written, or NULL. */
	uint64_t lasts;
	char *lasts_text;
	/* Of a police: of what its value is, of bytes in bits a second; and as it was written. */
	enum trip_police_unit unit;
	char *rate_text;
	char *text;
	/* At most so many lines tell of it in each so many nanoseconds. */
	uint64_t most, per;
	bool gone; /* as of a count */
};

/* It is of keys. */
static inline bool
trip_rules_is_of_keys(const struct trip_rules_when *when)
{
	return when->ref == TRIP_RULES_REF_KEY_PACKETS || when->ref == TRIP_RULES_REF_KEY_BYTES ||
	       when->ref == TRIP_RULES_REF_KEY_PAIRS;
}

/* It is an all() or any(): its condition's text is all that it says. */
static inline bool
trip_rules_is_of_several(const struct trip_rules_when *when)
{
	return when->ref == TRIP_RULES_REF_PAIRS || when->ref == TRIP_RULES_REF_KEY_PAIRS;
}

struct trip_rules_errors;
struct trip_rules_note;

struct trip_rules {
	struct trip_rules_count *counts;
	unsigned int n_counts;
	struct trip_rules_counter *counters;
	unsigned int n_counters;
	struct trip_rules_when *whens;
	unsigned int n_whens;
	struct trip_rules_set *sets;
	unsigned int n_sets;
	struct trip_rules_each *eaches;
	unsigned int n_eaches;
	/* What is no mistake, but hardly meant: for trip_rules_errors_print(). Never NULL. */
	struct trip_rules_errors *warnings;
	/* Those of them that say nothing of ports, in the order of the file. */
	struct trip_rules_note *notes;
	unsigned int n_notes;
};

struct trip_rules_error {
	unsigned int line;   /* from 1; 0 where the file itself is the mistake */
	unsigned int column; /* in bytes, from 1; a tab is one */
	char *message;
	size_t offset; /* of the place in the text, and how much of it is meant */
	size_t length;
};

struct trip_rules_errors {
	char *name;
	char *text;
	size_t length;
	struct trip_rules_error *list;
	unsigned int n_list;
	/* Of a text with mistakes, what was understood, for who looks for more that is wrong: what
	 * statements name may be missing, as a path that is none. */
	struct trip_rules *rules;
};

/*
 * Reads the rules in the file `path`. Returns 0 with *rules set (free it with trip_rules_free) and
 * *errors NULL; or a negative errno with *rules NULL and *errors set (trip_rules_errors_free):
 * -EINVAL for mistakes in the text, the errno of open or read (one error that names the path),
 * -EFBIG past TRIP_RULES_FILE_MAX, -EMEDIUMTYPE for what is no regular file, such as a pipe, where
 * `only_regular` says that it has to be one: it would keep whoever reads it waiting. Only with
 * -ENOMEM is *errors NULL too. Any thread.
 */
int trip_rules_parse_file(const char *path, bool only_regular, struct trip_rules **rules,
	struct trip_rules_errors **errors);

/* The same for text in memory, which may hold any bytes; `name` stands for the file in errors. */
int trip_rules_parse_text(const char *name, const char *text, size_t length,
	struct trip_rules **rules, struct trip_rules_errors **errors);

/*
 * The same for text that is added to other rules, `base`, in which there is no mistake. What it
 * names may be defined there; of what both define, the text's is meant. The rules have the
 * statements of both, those of the text first. A mistake or warning that shows in `base` has line
 * 0.
 */
int trip_rules_parse_onto(const char *name, const char *text, size_t length, const char *base,
	size_t base_length, struct trip_rules **rules, struct trip_rules_errors **errors);

void trip_rules_free(struct trip_rules *rules);

/* Whether both say the same port in the same words: 0, else an order. */
int trip_rules_port_compare(const struct trip_rules_port *a, const struct trip_rules_port *b);

/* What counts on ports, by index: the counts, then what each `each` has of one; NULL: no more. */
struct trip_rules_count *trip_rules_placed(const struct trip_rules *rules, unsigned int i);

/* Whether the rule counts on a port, where it is known by number. */
bool trip_rules_has_port(const struct trip_rules_count *count, uint16_t id);

/* The rule counts on these ports, each once. Returns 0 or -ENOMEM, and then it is as it was. */
int trip_rules_set_ports(struct trip_rules_count *count, const uint16_t *ids, unsigned int n);

/*
 * Reads the entries of a set that has a path anew: an address, prefix or port a line, `#` begins a
 * comment. 0; or a negative errno, with *errors set as by trip_rules_parse_file() and the set as it
 * was. At most TRIP_RULES_SET_ERRORS_MAX mistakes are looked for. A set whose entries are in the
 * statement has nothing to be read. Any thread.
 */
#define TRIP_RULES_SET_ERRORS_MAX 100u
int trip_rules_set_load(struct trip_rules_set *set, struct trip_rules_errors **errors);

/* The same of text in memory, which may hold any bytes; `name` stands for the file in errors. */
int trip_rules_set_parse(struct trip_rules_set *set, const char *name, const char *text,
	size_t length, struct trip_rules_errors **errors);

/* What the library asks for of an `each`, without its ports. It refers to the statement. */
void trip_rules_each_attr(const struct trip_rules_each *each, struct trip_each_attr *attr);

/* What its keys are, in the words of the language: "ipv4.src/24,proto". */
#define TRIP_RULES_EACH_KEY_MAX 192
void trip_rules_each_words(const struct trip_rules_each *each, char words[TRIP_RULES_EACH_KEY_MAX]);

/* Whether a rule asks for the set of this name. */
bool trip_rules_set_is_asked(const struct trip_rules_count *count, const char *name);

/*
 * Whether there is a packet that both match, which counts in the earlier one then: rules of one
 * port, direction, group and priority, neither of which counts in addition.
 */
bool trip_rules_overlap(const struct trip_rules_count *a, const struct trip_rules_count *b);

/* The first line that polices a count of theirs, which software does; or NULL. */
const struct trip_rules_when *trip_rules_policed(
	const struct trip_rules *rules, const struct trip_rules_count *count);

/* A VALUE of the language by itself, such as 500, 0x1f, 10k or 2GiB: 0, -EINVAL: it is none,
 * -ERANGE: above 2^63-1. */
int trip_rules_parse_value(const char *text, uint64_t *value);

/*
 * Looks for warnings anew; parsing has done so already, with ports that have different names for
 * different ones. For a tool that has found out which ports they are. Returns 0 or -ENOMEM.
 */
int trip_rules_warn(struct trip_rules *rules);

/* Each error as "name:line:column: message", then the line with a caret under the place; of more
 * than TRIP_RULES_SHOWN_MAX, how many more there are. */
void trip_rules_errors_print(const struct trip_rules_errors *errors, FILE *file);
void trip_rules_errors_free(struct trip_rules_errors *errors);

#endif

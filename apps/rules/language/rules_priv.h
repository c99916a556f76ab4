/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the lexer, the grammar and the checks of one parse share.
 *
 * Text goes through once: the lexer hands out spans of it, the grammar calls the builder with them,
 * the builder checks what a statement can know by itself, and the checks afterwards what needs the
 * whole file (names, since lines stand in any order). Nothing stops at the first mistake; errors
 * are sorted by place at the end.
 */
#ifndef TRIP_RULES_PRIV_H
#define TRIP_RULES_PRIV_H

#include <assert.h>

#include <rte_common.h>
#include <trip_flow_item.h>

#include "rules.h"

/* A piece of the text: what a token covers. */
struct trip_rules_span {
	const char *text;
	size_t length;
	unsigned int line;
	unsigned int column;
};

/* A warning that does not change with what ports turn out to be. */
struct trip_rules_note {
	struct trip_rules_span span;
	char *message;
};

enum trip_rules_kind {
	TRIP_RULES_KIND_COUNT,
	TRIP_RULES_KIND_COUNTER,
	TRIP_RULES_KIND_QUOTA, /* an index of a counter, too */
	TRIP_RULES_KIND_EACH,
	TRIP_RULES_KIND_SET,
};

/* A name that some statement defines, also where the rest of that statement is wrong. */
struct trip_rules_symbol {
	struct trip_rules_span span;
	enum trip_rules_kind kind;
	unsigned int index;
};

/* The names in a `when`, kept until all definitions are known; length 0 where there is none. */
struct trip_rules_names {
	struct trip_rules_span ref;
	struct trip_rules_span target;
	/* of the condition, where it has one, and of its until */
	struct trip_rules_span rates[2];
	unsigned int rates_of[2];    /* a bit for each trip_rules_ref that the unit is for */
	struct trip_rules_span part; /* of a quota, where the threshold is so much of it */
	uint64_t percent;
};

/* All and any may be nested once. */
#define TRIP_RULES_LEVELS 2

/* The names in one of the conditions of an all() or any(). */
struct trip_rules_pair_names {
	struct trip_rules_names names;
	struct trip_rules_pair *pair; /* NULL: its statement is wrong */
};

/* What a quota is of. */
struct trip_rules_quota_ref {
	struct trip_rules_span span;
	unsigned int counter; /* of the rules */
};

/* A test of a set: its name, and where the field lies in its item. */
struct trip_rules_set_test {
	struct trip_rules_span name;
	uint8_t offset;
};

/* Wide enough for any field, an IPv6 address included. */
__extension__ typedef unsigned __int128 trip_rules_u128;

/* The item being read: its fields' values until the item is complete. */
struct trip_rules_draft {
	const struct trip_flow_item *item; /* NULL: its fields are skipped */
	uint32_t specs;                    /* which fields have one */
	uint32_t masks;
	uint32_t ranges; /* which are one, from spec to high */
	struct trip_rules_span places[TRIP_FLOW_FIELDS_MAX];
	trip_rules_u128 spec[TRIP_FLOW_FIELDS_MAX];
	trip_rules_u128 mask[TRIP_FLOW_FIELDS_MAX];
	trip_rules_u128 high[TRIP_FLOW_FIELDS_MAX];
	struct trip_rules_set_test tests[TRIP_RULES_TESTS_MAX];
	unsigned int n_tests;
};

/* One pattern as a vector of bits, each 0, 1 or (masked out) either; see rules_pattern.c. */
#define TRIP_RULES_CUBE_BYTES 576
struct trip_rules_cube {
	_Alignas(8) uint8_t spec[TRIP_RULES_CUBE_BYTES]; /* items with bit-fields lie in it */
	_Alignas(8) uint8_t mask[TRIP_RULES_CUBE_BYTES];
};

/* The items of the pattern being read, and where in the cube each lies. */
struct trip_rules_shape {
	const struct trip_flow_item *items[TRIP_RULES_ITEMS_MAX];
	bool tested[TRIP_RULES_ITEMS_MAX]; /* has a test of a field */
	size_t offsets[TRIP_RULES_ITEMS_MAX];
	unsigned int n_items;
	unsigned int n_tests; /* items of sets, each behind the item that it is about */
	size_t n_bytes;
	struct trip_rules_cube cube; /* what all its patterns have in common */
};

/* A test that takes more than one cube. */
struct trip_rules_range {
	unsigned int item; /* of the shape */
	const struct trip_flow_field *field;
	trip_rules_u128 low;
	trip_rules_u128 high;
	struct trip_rules_span place;
};

struct trip_rules_ctx {
	/* the lexer's */
	const char *text;
	const char *end;
	const char *base; /* what the text is added to begins here */
	const unsigned char *cursor;
	const char *line_start;
	unsigned int line;
	int state;
	bool in_when;
	bool in_quota;
	bool in_set;
	bool in_items;
	bool in_each;
	bool in_keys;
	struct trip_rules_span first; /* of the statement: its first token */
	const char *last;             /* where its last token ends */

	bool broken; /* this statement had a syntax error: report no second one */
	bool nomem;

	/* the builder's: the statement being read */
	bool named;
	struct trip_rules_symbol symbol;
	struct trip_rules_count count;
	struct trip_rules_shape shape;
	struct trip_rules_range *ranges;
	unsigned int n_ranges;
	struct trip_rules_span either;       /* the word, where it is the direction */
	const struct trip_flow_item *before; /* NULL at the start */
	unsigned int run;                    /* how often it stands there in a row */
	bool tunnel;                         /* behind one */
	bool lost;    /* the item before is wrong: what may stand here is not known */
	bool partial; /* one of the items was */
	struct trip_rules_when when;
	struct trip_rules_names names;
	struct trip_rules_pairs *levels[TRIP_RULES_LEVELS]; /* all() and any() that are open */
	unsigned int n_levels;
	struct trip_rules_pairs *closed; /* the last one, until it is taken */
	unsigned int pair_first;         /* of its pair_names */
	struct trip_rules_quota quota;
	unsigned int quota_first; /* of its refs */
	struct trip_rules_set set;
	struct trip_rules_each each; /* without its count, which is `count` */
	struct trip_rules_draft draft;
	struct trip_rules_span field; /* of the draft: the last one */

	/* what has been read */
	struct trip_rules *rules;
	struct trip_rules_errors *errors;
	struct trip_rules_names *when_names; /* one for each of rules->whens */
	struct trip_rules_pair_names *pair_names;
	unsigned int n_pair_names;
	unsigned int pair_next; /* from here on those of keys are looked for */
	struct trip_rules_symbol *symbols;
	unsigned int n_symbols;
	struct trip_rules_quota_ref *quota_refs;
	unsigned int n_quota_refs;
	struct trip_rules_span *set_names; /* that tests name */
	unsigned int n_set_names;
	uint64_t n_patterns;
	unsigned int suggestions; /* names compared so far */
};

/* rules.c */
bool trip_rules_grow(void *array, unsigned int n, size_t size);
/* Errors in a copy of a text; NULL: no memory. */
struct trip_rules_errors *trip_rules_errors_new(
	const char *name, const char *text, size_t length, const char *base, size_t base_length);
/* A file's text, to be freed in any case: 0, or a negative errno; -EFBIG. */
int trip_rules_read(const char *path, bool only_regular, char **text, size_t *length);
/* The one error of a file that cannot be read; returns rc, or -ENOMEM. */
int trip_rules_refuse_file(
	const char *path, const char *what, int rc, struct trip_rules_errors **errors);

/* rules.re */
void trip_rules_lex_begin(struct trip_rules_ctx *ctx);

/* rules_error.c */
/* A warning; the text of its place must stay as long as the rules. */
void trip_rules_error_note(struct trip_rules_ctx *ctx, const struct trip_rules_span *span,
	const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Returns false. */
bool trip_rules_error(struct trip_rules_ctx *ctx, const struct trip_rules_span *span,
	const char *format, ...) __attribute__((format(printf, 3, 4)));
bool trip_rules_error_append(struct trip_rules_errors *errors, const struct trip_rules_span *span,
	char *message); /* takes the message; NULL is no memory for it */
void trip_rules_error_clear(struct trip_rules_errors *errors);
void trip_rules_error_notyet(struct trip_rules_ctx *ctx, const struct trip_rules_span *span);
void trip_rules_error_syntax(struct trip_rules_ctx *ctx, const struct trip_rules_span *found,
	const struct trip_rules_span *field, const char *const *expected, unsigned int n_expected,
	const char *hint);
void trip_rules_error_sort(struct trip_rules_errors *errors);
#define TRIP_RULES_QUOTE_SIZE 64
const char *trip_rules_error_quote(
	char quote[TRIP_RULES_QUOTE_SIZE], const struct trip_rules_span *span);
#define TRIP_RULES_LIST_SIZE 256
const char *trip_rules_error_list(
	char list[TRIP_RULES_LIST_SIZE], const char *const *names, unsigned int n_names);

/* Of a rate that has no 'rate' before it, or no time behind it. */
#define TRIP_RULES_RATE_HINT "a rate has a time: rate >= 5Mbit/s over 5s"

/* rules_value.c: each reports its own error and returns false with it */
bool trip_rules_value_number(struct trip_rules_ctx *ctx, const struct trip_rules_span *span,
	const char *what, uint64_t max, uint64_t *value);
/* A plain number; 0 where it is none. */
uint64_t trip_rules_value_plain(struct trip_rules_ctx *ctx, const struct trip_rules_span *span,
	const char *what, uint64_t max);
bool trip_rules_value_amount(
	struct trip_rules_ctx *ctx, const struct trip_rules_span *span, uint64_t *value);
bool trip_rules_value_time(
	struct trip_rules_ctx *ctx, const struct trip_rules_span *span, uint64_t *ns);
/* So many within so many nanoseconds, of what has a bit in `of`. */
struct trip_rules_rate {
	uint64_t amount, ns;
	unsigned int of;
};
/* `police`: what that takes is offered. */
bool trip_rules_value_rate(struct trip_rules_ctx *ctx, const struct trip_rules_span *span,
	bool police, struct trip_rules_rate *rate);
char *trip_rules_value_string(struct trip_rules_ctx *ctx, const struct trip_rules_span *span);
enum trip_rules_number {
	TRIP_RULES_NUMBER_OK,
	TRIP_RULES_NUMBER_BAD,
	TRIP_RULES_NUMBER_OVERFLOW,
};
enum trip_rules_number trip_rules_value_u64(const char *text, size_t length, uint64_t *value);

/* rules_table.c */
const struct trip_flow_item *trip_rules_table_item(
	struct trip_rules_ctx *ctx, const struct trip_rules_span *span);
const struct trip_flow_field *trip_rules_table_field(
	struct trip_rules_ctx *ctx, const struct trip_rules_span *span);

const struct trip_flow_field *trip_rules_table_end(
	const struct trip_flow_item *item, const char *name);

/* rules_field.c */
trip_rules_u128 trip_rules_field_ones(unsigned int bits);
bool trip_rules_field_mac(const struct trip_rules_span *span, trip_rules_u128 *value);
bool trip_rules_field_value(struct trip_rules_ctx *ctx, const struct trip_flow_field *field,
	const struct trip_rules_span *span, trip_rules_u128 *value);
void trip_rules_field_store(void *item, const struct trip_flow_field *field, trip_rules_u128 value);

/* rules_item.c */
void trip_rules_item_begin(struct trip_rules_ctx *ctx, const struct trip_rules_span *item);
void trip_rules_item_field(struct trip_rules_ctx *ctx, const struct trip_rules_span *field);
void trip_rules_item_range(struct trip_rules_ctx *ctx, const struct trip_rules_span *field,
	const struct trip_rules_span *low, const struct trip_rules_span *high);
enum trip_rules_test {
	TRIP_RULES_TEST_IS,
	TRIP_RULES_TEST_SPEC,
	TRIP_RULES_TEST_MASK,
};
void trip_rules_item_test(struct trip_rules_ctx *ctx, const struct trip_rules_span *field,
	enum trip_rules_test test, const struct trip_rules_span *value);
void trip_rules_item_network(struct trip_rules_ctx *ctx, const struct trip_rules_span *field,
	const struct trip_rules_span *value);
void trip_rules_item_prefix(struct trip_rules_ctx *ctx, const struct trip_rules_span *field,
	const struct trip_rules_span *value);
void trip_rules_item_end(struct trip_rules_ctx *ctx);

/*
 * All that a pattern says of a packet and of the one within it, bit by bit; see rules_match.c. A
 * value has no bit that its mask does not have.
 */
#define TRIP_RULES_MATCH_WORDS 32
struct trip_rules_match {
	uint64_t mask[TRIP_RULES_MATCH_WORDS];
	uint64_t value[TRIP_RULES_MATCH_WORDS];
};

/* rules_match.c */
bool trip_rules_match_compile(const struct rte_flow_item *items, struct trip_rules_match *match);
bool trip_rules_match_meets(const struct trip_rules_match *a, const struct trip_rules_match *b);

/* The earliest rules that a rule overlaps, in their order, by index. */
#define TRIP_RULES_HITS_MAX 4
struct trip_rules_hits {
	unsigned int rules[TRIP_RULES_HITS_MAX];
	unsigned int n;
};

/* rules_overlap.c */
#define TRIP_RULES_OVERLAP_WORK (UINT64_C(1) << 27) /* steps of some nanoseconds */
int trip_rules_overlap_find(const struct trip_rules *rules, const unsigned int *order,
	unsigned int n, struct trip_rules_hits *hits, uint64_t *work);

/* rules_pattern.c */
bool trip_rules_pattern_expand(struct trip_rules_ctx *ctx);

/* rules_build.c */
void trip_rules_build_name(
	struct trip_rules_ctx *ctx, enum trip_rules_kind kind, const struct trip_rules_span *name);
void trip_rules_build_port(struct trip_rules_ctx *ctx, const struct trip_rules_span *number);
void trip_rules_build_port_interface(
	struct trip_rules_ctx *ctx, const struct trip_rules_span *word);
void trip_rules_free_ports(struct trip_rules_count *count);
void trip_rules_build_port_any(struct trip_rules_ctx *ctx, const struct trip_rules_span *word);
void trip_rules_build_port_name(struct trip_rules_ctx *ctx, const struct trip_rules_span *string);
void trip_rules_build_port_mac(struct trip_rules_ctx *ctx, const struct trip_rules_span *address);
void trip_rules_build_action(
	struct trip_rules_ctx *ctx, const struct trip_rules_span *word, uint32_t action);
void trip_rules_build_either(struct trip_rules_ctx *ctx, const struct trip_rules_span *word);
void trip_rules_build_every(struct trip_rules_ctx *ctx, const struct trip_rules_span *value);
/* Of `when every TIME`. */
void trip_rules_build_period(struct trip_rules_ctx *ctx, const struct trip_rules_span *time);
void trip_rules_build_for(struct trip_rules_ctx *ctx, const struct trip_rules_span *time);
/* What is called so is a condition of the library. */
bool trip_rules_condition_known(const char *word);
void trip_rules_condition_time(struct trip_rules_ctx *ctx, const struct trip_rules_span *ref,
	const struct trip_rules_span *word, const struct trip_rules_span *time);
void trip_rules_condition_rate(struct trip_rules_ctx *ctx, const struct trip_rules_span *ref,
	const struct trip_rules_span *word, const struct trip_rules_span *rate,
	const struct trip_rules_span *time);
/* Behind that. */
void trip_rules_condition_until(struct trip_rules_ctx *ctx, const struct trip_rules_span *rate,
	const struct trip_rules_span *time);

/* rules_pairs.c */
void trip_rules_pairs_free(struct trip_rules_pairs *pairs);
/* False: none may be here. The rest of the line is skipped then: the parser's stack has an end. */
bool trip_rules_pairs_open(struct trip_rules_ctx *ctx, const struct trip_rules_span *word);
void trip_rules_pairs_add(struct trip_rules_ctx *ctx, const struct trip_rules_span *place);
void trip_rules_pairs_close(struct trip_rules_ctx *ctx, const struct trip_rules_span *word,
	const struct trip_rules_span *end);
void trip_rules_pairs_abandon(struct trip_rules_ctx *ctx);

/* Whether the rates of a condition, if any, have a unit of what is referred to. */
void trip_rules_condition_check_rate(
	struct trip_rules_ctx *ctx, const struct trip_rules_names *names, enum trip_rules_ref ref);
void trip_rules_build_op(
	struct trip_rules_ctx *ctx, enum trip_rules_op op, const struct trip_rules_span *target);
/* Takes the path; NULL is no memory for it, or an error that has been told. */
void trip_rules_build_police(struct trip_rules_ctx *ctx, const struct trip_rules_span *target,
	const struct trip_rules_span *rate);
void trip_rules_build_exec(
	struct trip_rules_ctx *ctx, const struct trip_rules_span *span, char *path);
void trip_rules_build_at_most(struct trip_rules_ctx *ctx, const struct trip_rules_span *most,
	const struct trip_rules_span *per);
/* A piece of the text as one line; NULL: no memory. */
char *trip_rules_build_source(struct trip_rules_ctx *ctx, const char *from, const char *end);
/* The name and place of what is a count, and its source. */
void trip_rules_build_place(struct trip_rules_ctx *ctx);
void trip_rules_build_commit(struct trip_rules_ctx *ctx);
void trip_rules_build_abandon(struct trip_rules_ctx *ctx);

bool trip_rules_build_is(const struct trip_rules_span *span, const char *word);

/* rules_quota.c */
void trip_rules_quota_begin(struct trip_rules_ctx *ctx, const struct trip_rules_span *limit);
void trip_rules_quota_per(struct trip_rules_ctx *ctx, const struct trip_rules_span *word);
/* `day` is NULL where none is given. */
void trip_rules_quota_at(struct trip_rules_ctx *ctx, const struct trip_rules_span *day,
	const struct trip_rules_span *time);
void trip_rules_quota_of(struct trip_rules_ctx *ctx, const struct trip_rules_span *ref);
/* What it says is that of the counter `counter`; NULL: no memory. */
struct trip_rules_quota *trip_rules_quota_commit(struct trip_rules_ctx *ctx, unsigned int counter);
void trip_rules_quota_abandon(struct trip_rules_ctx *ctx);
/* What they are of. */
void trip_rules_quota_check(struct trip_rules_ctx *ctx);

/* rules_set.c */
void trip_rules_set_path(
	struct trip_rules_ctx *ctx, const struct trip_rules_span *span, char *path);
void trip_rules_set_add(struct trip_rules_ctx *ctx, const struct trip_rules_span *entry);
void trip_rules_set_commit(struct trip_rules_ctx *ctx, char *source);
void trip_rules_set_free(struct trip_rules_set *set);
/* "FIELD in NAME", and what comes of it in the shape when its item ends. */
void trip_rules_set_test(struct trip_rules_ctx *ctx, const struct trip_rules_span *field,
	const struct trip_rules_span *name);
void trip_rules_set_put(struct trip_rules_ctx *ctx);
/* Ends of the connection, of what the item before says. */
void trip_rules_set_mirror(
	void *test, const struct trip_flow_field *src, const struct trip_flow_field *dst);
/* Whether there are sets of the names in tests. */
void trip_rules_set_check(struct trip_rules_ctx *ctx);

/* rules_each.c */
/* Says why it is none of its directions. */
void trip_rules_each_direction(struct trip_rules_ctx *ctx, const struct trip_rules_span *word);
/* `length` is NULL where none is given. */
void trip_rules_each_key(struct trip_rules_ctx *ctx, const struct trip_rules_span *word,
	const struct trip_rules_span *length);
void trip_rules_each_max(struct trip_rules_ctx *ctx, const struct trip_rules_span *number);
void trip_rules_each_full(struct trip_rules_ctx *ctx, const struct trip_rules_span *word);
void trip_rules_each_hardware(struct trip_rules_ctx *ctx, const struct trip_rules_span *number);
void trip_rules_each_changes(struct trip_rules_ctx *ctx, const struct trip_rules_span *number,
	const struct trip_rules_span *time);
void trip_rules_each_idle(struct trip_rules_ctx *ctx, const struct trip_rules_span *time);
void trip_rules_each_commit(struct trip_rules_ctx *ctx);
const char *trip_rules_each_word(enum trip_each_field field);

/* rules_each_meets.c: warns where no packet of its pattern has its key. */
void trip_rules_each_meets(struct trip_rules_ctx *ctx, const struct trip_rules_each *each);
/* How many there are. */
void trip_rules_each_check(struct trip_rules_ctx *ctx);
/* rules_keys.c */
/* Microseconds. */
#define TRIP_RULES_EACH_TIME_MAX (UINT64_C(1) << 48)
/* It is done to a key, or will be. */
bool trip_rules_each_does(enum trip_rules_op op);
/* The condition of the `when` of this index, which is of the keys of an `each`; its ref is that of
 * packets or bytes. */
/* rules_keys.c: a condition of an `each` as it was read, alone or in an all() or any(). */
struct trip_rules_keys_said {
	enum trip_rules_ref ref;
	const struct trip_condition *condition;
	uint64_t threshold, every;
};

/* Makes that of it, or false: it was wrong, which is said. */
bool trip_rules_keys_make(struct trip_rules_ctx *ctx, const struct trip_rules_names *names,
	const struct trip_rules_each *each, const struct trip_rules_keys_said *said,
	struct trip_each_when *made);

/* Before it, and behind it: what it does, and that it is one of the each. */
bool trip_rules_keys_begin(struct trip_rules_ctx *ctx, const struct trip_rules_names *names,
	const struct trip_rules_each *each, struct trip_rules_when *when,
	struct trip_each_act *act);
void trip_rules_keys_add(struct trip_rules_each *each, const struct trip_each_when *condition,
	const struct trip_each_act *act, unsigned int at);

/* rules_keys_pairs.c: those of a `when` that has pairs, where they are of keys: then it has none
 * any more. */
void trip_rules_keys_pairs(
	struct trip_rules_ctx *ctx, const struct trip_rules_names *names, unsigned int at);

void trip_rules_each_when(struct trip_rules_ctx *ctx, const struct trip_rules_names *names,
	struct trip_rules_each *each, unsigned int when);

/* rules_check.c */
void trip_rules_check_names(struct trip_rules_ctx *ctx);
/* NULL: nothing is named so. */
const struct trip_rules_symbol *trip_rules_check_find(
	const struct trip_rules_ctx *ctx, const struct trip_rules_span *name);
/* Cuts ".packets" or ".bytes" off a reference, whose last component decides what it is; false: it
 * is neither. */
bool trip_rules_check_split(
	const struct trip_rules_span *ref, struct trip_rules_span *name, enum trip_rules_ref *kind);
/* Says that there is no such name, and which one was probably meant. */
void trip_rules_check_unknown(struct trip_rules_ctx *ctx, const struct trip_rules_span *place,
	const struct trip_rules_span *name, bool count, bool counter, bool each);

#endif

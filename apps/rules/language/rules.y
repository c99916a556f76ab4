/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The grammar: only what stands where. A statement is one line, so a mistake is answered at its
 * place, the rest of its line is skipped, and the next line starts afresh. Every list is left
 * recursive: the stack stays a few deep however long a line is.
 *
 * Tokens carry no values; an action hands the spans of its tokens to the builder. What is in the
 * language but not yet built is parsed in full and answered where it begins.
 */
%require "3.8"
%define api.pure full
%define api.prefix {trip_rules_yy}
%define api.location.type {struct trip_rules_span}
%define api.value.type {int}
%define parse.error custom
%define parse.lac full
%locations
%param {struct trip_rules_ctx *ctx}
%initial-action { @$ = (struct trip_rules_span){.text = ctx->text, .line = 1, .column = 1}; }

%code requires {
#include "rules_priv.h"
}

%code {
#include <string.h>

/* Bison counts errors for actions that ask, and none does. */
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"

#define YYLLOC_DEFAULT(Current, Rhs, N) ((Current) = YYRHSLOC(Rhs, (N) > 0 ? 1 : 0))

int trip_rules_yylex(int *value, struct trip_rules_span *span, struct trip_rules_ctx *ctx);
static void trip_rules_yyerror(
	const struct trip_rules_span *span, struct trip_rules_ctx *ctx, const char *message);
}

%token YYEOF 0 "the end of the file"
%token NEWLINE "the end of the line"
%token NAME "a name" REF "a counter" ITEM "an item" FIELD "a field" WORD "a key"
%token NUMBER "a number" TIME "a time such as 250ms" RATE "a rate such as 10kpps" ADDRESS "an address" NETWORK "a network" STRING "a string" PATH "a path"
%token ALSO "also" ALLOW "allow" COUNT "count" COUNTER "counter" WHEN "when" EACH "each" QUOTA "quota"
%token PORT "port" INTERFACE "an interface" PORT_NAME "name" PORT_MAC "mac"
%token INGRESS "ingress" EGRESS "egress" TRANSFER "transfer" EITHER "either"
%token GROUP "group" PRIORITY "priority" ENGINE "engine" AUTO "auto" HW "hw" SW "sw"
%token PATTERN "pattern" ACTIONS "actions" END "end"
%token IS "is" SPEC "spec" MASK "mask" PREFIX "prefix" RANGE "range" IN "in" LAST "last"
%token DROP "drop" MARK "mark" ID "id" PASSTHRU "passthru" QUEUE "queue" INDEX "index" RSS "rss"
%token AFTER "after" OVER "over" UNTIL "until" FOR "for" RATE_WORD "rate" IDLE "idle" ALL "all" ANY "any"
%token EVERY "every" PASS "pass" DELETE "delete" ADD "add" SET "set" POLICE "police" LOG "log"
%token FILE_WORD "file" AT "at" MOST "most" PER "per" SPENT "spent" PERCENT "%" SHARED "shared" OF "of" RESET "reset"
%token EXEC "exec" MAX "max" FULL "full" HARDWARE "hardware" GE ">=" SLASH "/" COMMA ","

%%

file: %empty
	| file line
	;

line: NEWLINE
	| statement NEWLINE { trip_rules_build_commit(ctx); if (ctx->nomem) YYNOMEM; }
	| error NEWLINE { trip_rules_build_abandon(ctx); yyerrok; if (ctx->nomem) YYNOMEM; }
	;

statement: count | allow | counter | quota | when | each | set
	;

count: also COUNT NAME { trip_rules_build_name(ctx, TRIP_RULES_KIND_COUNT, &@3); }
		PORT ports direction group priority engine pattern actions
	;

allow: ALLOW NAME {
		trip_rules_build_name(ctx, TRIP_RULES_KIND_COUNT, &@2);
		ctx->count.allow = true;
	} PORT ports direction pattern
	;

also: %empty
	| ALSO { ctx->count.also = true; }
	;

ports: port_list
	| ANY { trip_rules_build_port_any(ctx, &@1); }
	;

port_list: port
	| port_list COMMA port
	;

port: NUMBER { trip_rules_build_port(ctx, &@1); }
	| INTERFACE { trip_rules_build_port_interface(ctx, &@1); }
	| PORT_NAME STRING { trip_rules_build_port_name(ctx, &@2); }
	| PORT_MAC ADDRESS { trip_rules_build_port_mac(ctx, &@2); }
	;

direction: %empty
	| INGRESS
	| EGRESS { ctx->count.direction = TRIP_RULES_EGRESS; }
	| TRANSFER { trip_rules_error_notyet(ctx, &@1); }
	| EITHER { trip_rules_build_either(ctx, &@1); }
	;

group: %empty
	| GROUP NUMBER { ctx->count.group = (uint32_t)trip_rules_value_plain(ctx, &@2, "group", UINT32_MAX); }
	;

priority: %empty
	| PRIORITY NUMBER { ctx->count.priority = (uint32_t)trip_rules_value_plain(ctx, &@2, "priority", UINT32_MAX); }
	;

engine: %empty
	| ENGINE AUTO { ctx->count.engine = TRIP_FLOW_ENGINE_AUTO; }
	| ENGINE HW { ctx->count.engine = TRIP_FLOW_ENGINE_HW; }
	| ENGINE SW { ctx->count.engine = TRIP_FLOW_ENGINE_SW; }
	;

pattern: PATTERN items END
	;

items: item SLASH
	| items item SLASH
	;

item: ITEM { trip_rules_item_begin(ctx, &@1); } tests { trip_rules_item_end(ctx); }
	;

tests: %empty
	| tests field IS value { trip_rules_item_test(ctx, &@2, TRIP_RULES_TEST_IS, &@4); }
	| tests field IS NETWORK { trip_rules_item_network(ctx, &@2, &@4); }
	| tests field SPEC value { trip_rules_item_test(ctx, &@2, TRIP_RULES_TEST_SPEC, &@4); }
	| tests field MASK value { trip_rules_item_test(ctx, &@2, TRIP_RULES_TEST_MASK, &@4); }
	| tests field PREFIX NUMBER { trip_rules_item_prefix(ctx, &@2, &@4); }
	| tests field IN NAME { trip_rules_set_test(ctx, &@2, &@4); }
	| tests field RANGE value '-' value { trip_rules_item_range(ctx, &@2, &@4, &@6); }
	| tests field LAST value {
		trip_rules_item_field(ctx, &@2);
		trip_rules_error(ctx, &@3, "'last' is not part of the language: expected 'is', "
			"'spec', 'mask', 'prefix', 'range' or 'in', found 'last'");
	}
	;

field: FIELD { ctx->field = @1; }
	;

value: NUMBER | ADDRESS
	;

actions: %empty
	| ACTIONS action_list END
	;

action_list: action SLASH
	| action_list action SLASH
	;

action: DROP { trip_rules_build_action(ctx, &@1, TRIP_RULES_ACTION_DROP); }
	| PASSTHRU { trip_rules_build_action(ctx, &@1, TRIP_RULES_ACTION_PASSTHRU); }
	| MARK ID NUMBER {
		trip_rules_build_action(ctx, &@1, TRIP_RULES_ACTION_MARK);
		ctx->count.mark = (uint32_t)trip_rules_value_plain(ctx, &@3, "mark id", UINT32_MAX);
	}
	| QUEUE INDEX NUMBER {
		trip_rules_build_action(ctx, &@1, TRIP_RULES_ACTION_QUEUE);
		ctx->count.queue = (uint16_t)trip_rules_value_plain(ctx, &@3, "queue index", UINT16_MAX);
	}
	| RSS { trip_rules_build_action(ctx, &@1, TRIP_RULES_ACTION_RSS); }
	;

counter: COUNTER NAME { trip_rules_build_name(ctx, TRIP_RULES_KIND_COUNTER, &@2); }
	;

set: SET NAME { trip_rules_build_name(ctx, TRIP_RULES_KIND_SET, &@2); } members
	;

members: FILE_WORD PATH { trip_rules_set_path(ctx, &@2, strndup(@2.text, @2.length)); }
	| FILE_WORD STRING { trip_rules_set_path(ctx, &@2, trip_rules_value_string(ctx, &@2)); }
	| '{' entries '}'
	;

entries: entry
	| entries COMMA entry
	;

entry: NUMBER { trip_rules_set_add(ctx, &@1); }
	| ADDRESS { trip_rules_set_add(ctx, &@1); }
	| NETWORK { trip_rules_set_add(ctx, &@1); }
	;

quota: QUOTA NAME NUMBER {
		trip_rules_build_name(ctx, TRIP_RULES_KIND_QUOTA, &@2);
		trip_rules_quota_begin(ctx, &@3);
	} per shared OF quota_refs
	;

per: %empty
	| PER WORD { trip_rules_quota_per(ctx, &@2); }
	| PER WORD { trip_rules_quota_per(ctx, &@2); } AT begins
	;

begins: ADDRESS { trip_rules_quota_at(ctx, NULL, &@1); }
	| NUMBER ADDRESS { trip_rules_quota_at(ctx, &@1, &@2); }
	;

shared: %empty
	| SHARED STRING { trip_rules_error_notyet(ctx, &@1); }
	;

quota_refs: REF { trip_rules_quota_of(ctx, &@1); }
	| quota_refs COMMA REF { trip_rules_quota_of(ctx, &@3); }
	;

when: WHEN condition every op
	| WHEN EVERY NUMBER { trip_rules_build_period(ctx, &@3); } op
	;

condition: single
	| pairs
	;

pairs: open conditions ')' { trip_rules_pairs_close(ctx, &@1, &@3); }
	;

open: ALL '(' { if (!trip_rules_pairs_open(ctx, &@1)) YYERROR; }
	| ANY '(' { if (!trip_rules_pairs_open(ctx, &@1)) YYERROR; }
	;

conditions: member
	| conditions COMMA member
	;

member: condition { trip_rules_pairs_add(ctx, &@1); }
	;

single: REF GE NUMBER {
		ctx->names.ref = @1;
		trip_rules_value_amount(ctx, &@3, &ctx->when.threshold);
	}
	| REF GE NUMBER PERCENT {
		ctx->names.ref = @1;
		ctx->names.part = @3;
		ctx->names.percent = trip_rules_value_plain(ctx, &@3, "part", 100);
	}
	| REF SPENT {
		ctx->names.ref = @1;
		ctx->names.part = @2;
		ctx->names.percent = 100;
	}
	| AFTER TIME {
		ctx->when.ref = TRIP_RULES_REF_CLOCK;
		trip_rules_value_time(ctx, &@2, &ctx->when.threshold);
	}
	| rate_over
	| rate_over UNTIL '<' rate FOR TIME { trip_rules_condition_until(ctx, &@4, &@6); }
	| REF with_time TIME { trip_rules_condition_time(ctx, &@1, &@2, &@3); }
	;

with_time: IDLE
	;

rate_over: REF RATE_WORD GE rate OVER TIME { trip_rules_condition_rate(ctx, &@1, &@2, &@4, &@6); }
	;

rate: NUMBER | RATE
	;

every: %empty
	| EVERY NUMBER { trip_rules_build_every(ctx, &@2); }
	;

op: DROP NAME for { trip_rules_build_op(ctx, TRIP_RULES_OP_DROP, &@2); }
	| PASS NAME { trip_rules_build_op(ctx, TRIP_RULES_OP_PASS, &@2); }
	| DELETE NAME { trip_rules_build_op(ctx, TRIP_RULES_OP_DELETE, &@2); }
	| ADD NAME NUMBER {
		trip_rules_build_op(ctx, TRIP_RULES_OP_ADD, &@2);
		ctx->when.value = trip_rules_value_plain(ctx, &@3, "value", INT64_MAX);
	}
	| SET NAME NUMBER {
		trip_rules_build_op(ctx, TRIP_RULES_OP_SET, &@2);
		ctx->when.value = trip_rules_value_plain(ctx, &@3, "value", INT64_MAX);
	}
	| RESET NAME { trip_rules_build_op(ctx, TRIP_RULES_OP_RESET, &@2); }
	| POLICE NAME rate { trip_rules_build_police(ctx, &@2, &@3); }
	| LOG string at_most { ctx->when.op = TRIP_RULES_OP_LOG; }
	| EXEC PATH { trip_rules_build_exec(ctx, &@2, strndup(@2.text, @2.length)); }
	| EXEC STRING { trip_rules_build_exec(ctx, &@2, trip_rules_value_string(ctx, &@2)); }
	;

string: %empty
	| STRING { ctx->when.text = trip_rules_value_string(ctx, &@1); }
	;

at_most: %empty
	| AT MOST NUMBER PER TIME { trip_rules_build_at_most(ctx, &@3, &@5); }
	;

for: %empty
	| FOR TIME { trip_rules_build_for(ctx, &@2); }
	;

each: EACH NAME { trip_rules_build_name(ctx, TRIP_RULES_KIND_EACH, &@2); }
		PORT ports each_direction keys
		MAX NUMBER { trip_rules_each_max(ctx, &@9); }
		IDLE TIME { trip_rules_each_idle(ctx, &@12); }
		full hardware each_pattern
	;

each_direction: %empty
	| INGRESS
	| EGRESS { ctx->count.direction = TRIP_RULES_EGRESS; }
	| TRANSFER { trip_rules_each_direction(ctx, &@1); }
	| EITHER { trip_rules_each_direction(ctx, &@1); }
	;

keys: key
	| keys COMMA key
	;

key: WORD { trip_rules_each_key(ctx, &@1, NULL); }
	| WORD SLASH NUMBER { trip_rules_each_key(ctx, &@1, &@3); }
	;

full: %empty
	| FULL WORD { trip_rules_each_full(ctx, &@2); }
	;

hardware: %empty
	| HARDWARE NUMBER { trip_rules_each_hardware(ctx, &@2); } changes
	;

changes: %empty
	| AT MOST NUMBER PER TIME { trip_rules_each_changes(ctx, &@3, &@5); }
	;

each_pattern: %empty
	| pattern
	;

%%

/* Is the token worth naming among what was expected? `fresh`: a statement may begin there. */
static bool
worth_naming(yysymbol_kind_t kind, bool fresh)
{
	switch (kind) {
	case YYSYMBOL_YYEOF:
	case YYSYMBOL_LAST:
	/* Answered with "not yet". */
	case YYSYMBOL_SHARED:
	case YYSYMBOL_TRANSFER:
	/* Of quotas only. */
	case YYSYMBOL_PERCENT:
	case YYSYMBOL_SPENT:
		return false;
	case YYSYMBOL_IDLE:
	case YYSYMBOL_RATE_WORD:
		return trip_rules_condition_known(yysymbol_name(kind));
	/* Between statements, an empty line is possible, but nobody's intention. */
	case YYSYMBOL_NEWLINE:
		return !fresh;
	default:
		return true;
	}
}

/* What helps where this was found, or NULL. */
static const char *
hint_of(const struct trip_rules_ctx *ctx, yysymbol_kind_t found, const bool *wanted)
{
	switch (found) {
	case YYSYMBOL_NEWLINE:
	case YYSYMBOL_ACTIONS:
	case YYSYMBOL_END:
		return wanted[YYSYMBOL_END] || (wanted[YYSYMBOL_SLASH] && !wanted[YYSYMBOL_COMMA])
			       ? "a pattern or list of actions ends with '/ end'"
			       : NULL;
	case YYSYMBOL_INGRESS:
	case YYSYMBOL_EGRESS:
	case YYSYMBOL_EITHER:
	case YYSYMBOL_GROUP:
	case YYSYMBOL_PRIORITY:
	case YYSYMBOL_ENGINE:
		return wanted[YYSYMBOL_PATTERN] && !ctx->in_each
			       ? "their order is the direction, 'group', "
						  "'priority', 'engine', each once, 'pattern'"
						: NULL;
	case YYSYMBOL_RATE:
		return wanted[YYSYMBOL_NUMBER] ? TRIP_RULES_RATE_HINT : NULL;
	case YYSYMBOL_OVER:
		return TRIP_RULES_RATE_HINT;
	default:
		return wanted[YYSYMBOL_OVER] ? TRIP_RULES_RATE_HINT : NULL;
	}
}

/* One message for one place: what stands there, and all that could have stood there. */
static int
yyreport_syntax_error(const yypcontext_t *place, struct trip_rules_ctx *ctx)
{
	yysymbol_kind_t expected[YYNTOKENS];
	const char *names[YYNTOKENS];
	bool wanted[YYNTOKENS] = {false};
	int n = yypcontext_expected_tokens(place, expected, YYNTOKENS);
	unsigned int n_names = 0;

	for (int i = 0; i < n; i++)
		wanted[expected[i]] = true;
	for (int i = 0; i < n; i++) {
		/* To the lexer both are numbers with colons. */
		if (expected[i] == YYSYMBOL_ADDRESS && ctx->in_quota)
			names[n_names++] = "a time of the day such as 04:00";
		else if (worth_naming(expected[i], wanted[YYSYMBOL_YYEOF]) &&
			 !(ctx->in_each && expected[i] == YYSYMBOL_EITHER))
			names[n_names++] = yysymbol_name(expected[i]);
	}
	/* Of what has no quota, only a field has either. */
	trip_rules_error_syntax(ctx, yypcontext_location(place),
		wanted[YYSYMBOL_NUMBER] && wanted[YYSYMBOL_ADDRESS] && !ctx->in_quota &&
				!ctx->in_set
			? &ctx->field
			: NULL,
		names, n_names, hint_of(ctx, yypcontext_token(place), wanted));
	return 0;
}

/* Only for what the parser itself says: that memory or its stack has run out. */
static void
trip_rules_yyerror(
	const struct trip_rules_span *span, struct trip_rules_ctx *ctx, const char *message)
{
	(void)span;
	(void)message;
	ctx->nomem = true;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lexer. What a word is depends on where it stands, so that `count drop port 0 ...` may name a
 * rule "drop" and a later version may bring words without breaking files: the state says whether
 * the next word is one of the language, a name, a reference, an item or a field. States follow
 * from the tokens alone, never from the parser.
 *
 * Time is linear in the text: no token is scanned twice for more than a constant. The text ends in
 * a NUL that is not part of it; any other NUL is a stray byte.
 */
#include <string.h>

#include "rules_priv.h"
#include "rules_y.h"

int trip_rules_yylex(int *value, struct trip_rules_span *span, struct trip_rules_ctx *ctx);

/*!conditions:re2c*/

static const char *
to_text(const unsigned char *cursor)
{
	return (const char *)cursor;
}

/* Some editors begin a file of UTF-8 with the byte order mark, which is no part of its first line. */
void
trip_rules_lex_begin(struct trip_rules_ctx *ctx)
{
	static const char mark[] = {'\xef', '\xbb', '\xbf'};
	bool marked = (size_t)(ctx->end - ctx->text) >= sizeof(mark) &&
		      memcmp(ctx->text, mark, sizeof(mark)) == 0;

	ctx->line_start = ctx->text + (marked ? sizeof(mark) : 0);
	ctx->cursor = (const unsigned char *)ctx->line_start;
	ctx->line = 1;
	ctx->state = yycword;
}

/* Bytes up to the end of the line, for what swallows the rest of it. */
static const unsigned char *
line_end(const struct trip_rules_ctx *ctx, const unsigned char *cursor)
{
	const char *from = to_text(cursor);
	const char *newline = memchr(from, '\n', (size_t)(ctx->end - from));

	return (const unsigned char *)(newline != NULL ? newline : ctx->end);
}

static void
begin_line(struct trip_rules_ctx *ctx)
{
	ctx->line++;
	ctx->line_start = to_text(ctx->cursor);
}

static int
complain(struct trip_rules_ctx *ctx, const struct trip_rules_span *span, const char *message)
{
	if (!ctx->broken)
		trip_rules_error(ctx, span, "%s", message);
	ctx->broken = true;
	return TRIP_RULES_YYerror;
}

static void
place(const struct trip_rules_ctx *ctx, const unsigned char *token, struct trip_rules_span *span)
{
	*span = (struct trip_rules_span){
		.text = to_text(token),
		.length = (size_t)(ctx->cursor - token),
		.line = ctx->line,
		.column = (unsigned int)(to_text(token) - ctx->line_start) + 1,
	};
}

/* The next token; one statement of rules a line of the language, hence longer than a screen. */
static int
scan(struct trip_rules_ctx *ctx, struct trip_rules_span *span)
{
	const unsigned char *marker, *ctxmarker, *token;

#define TOKEN(kind) \
	do { \
		place(ctx, token, span); \
		return (kind); \
	} while (0)

	for (;;) {
		token = ctx->cursor;
/*!re2c
	re2c:define:YYCTYPE = "unsigned char";
	re2c:define:YYCURSOR = "ctx->cursor";
	re2c:define:YYMARKER = marker;
	re2c:define:YYCTXMARKER = ctxmarker;
	re2c:define:YYGETCONDITION = "ctx->state";
	re2c:define:YYGETCONDITION:naked = 1;
	re2c:yyfill:enable = 0;

	blank = [ \t];
	eol = "\r"? "\n";
	word = [A-Za-z_][A-Za-z0-9_.-]*;
	number = [0-9][0-9A-Za-z_.]*;
	rate = number ("B" | "bit") "/s";
	often = number "/" [smhd];
	address = [0-9A-Za-z_.]* ":" [0-9A-Za-z_.:]*;
	network = (number | address) "/" [0-9]+;
	string = ["] ([^"\\\n\x00] | "\\" [^\n\x00])* ["];

	<*> blank+		{ continue; }
	<*> "\\" eol		{ begin_line(ctx); continue; }
	<*> "#"			{ ctx->cursor = line_end(ctx, ctx->cursor); continue; }
	<*> eol			{ TOKEN(NEWLINE); }
	<*> [\x00] {
		if (to_text(token) >= ctx->end) {
			ctx->cursor = token;
			TOKEN(TRIP_RULES_YYEOF);
		}
		TOKEN(TRIP_RULES_YYUNDEF);
	}

	<word> "also"		{ TOKEN(ALSO); }
	<word> "allow"		{ TOKEN(ALLOW); }
	<word> "count"		{ TOKEN(COUNT); }
	<word> "counter"	{ TOKEN(COUNTER); }
	<word> "when"		{ TOKEN(WHEN); }
	<word> "each"		{ TOKEN(EACH); }
	<word> "quota"		{ TOKEN(QUOTA); }
	<word> "spent"		{ TOKEN(SPENT); }
	<word> "shared"		{ TOKEN(SHARED); }
	<word> "of"		{ TOKEN(OF); }
	<word, name> "port"	{ TOKEN(PORT); }
	<port> "name"		{ TOKEN(PORT_NAME); }
	<port> "mac"		{ TOKEN(PORT_MAC); }
	<port> "any"		{ TOKEN(ANY); }
	<word, port> "ingress"	{ TOKEN(INGRESS); }
	<word, port> "egress"	{ TOKEN(EGRESS); }
	<word, port> "transfer"	{ TOKEN(TRANSFER); }
	<word, port> "either"	{ TOKEN(EITHER); }
	<word, port> "group"	{ TOKEN(GROUP); }
	<word, port> "priority"	{ TOKEN(PRIORITY); }
	<word, port> "engine"	{ TOKEN(ENGINE); }
	<word> "auto"		{ TOKEN(AUTO); }
	<word> "hw"		{ TOKEN(HW); }
	<word> "sw"		{ TOKEN(SW); }
	<word, port> "pattern"	{ TOKEN(PATTERN); }
	<word, item, field> "actions"	{ TOKEN(ACTIONS); }
	<word, item, field> "end"	{ TOKEN(END); }
	<field> "is"		{ TOKEN(IS); }
	<field> "spec"		{ TOKEN(SPEC); }
	<field> "mask"		{ TOKEN(MASK); }
	<field> "prefix"	{ TOKEN(PREFIX); }
	<field> "range"		{ TOKEN(RANGE); }
	<field> "in"		{ TOKEN(IN); }
	<field> "last"		{ TOKEN(LAST); }
	<word> "drop"		{ TOKEN(DROP); }
	<word> "mark"		{ TOKEN(MARK); }
	<word> "id"		{ TOKEN(ID); }
	<word> "passthru"	{ TOKEN(PASSTHRU); }
	<word> "queue"		{ TOKEN(QUEUE); }
	<word> "index"		{ TOKEN(INDEX); }
	<word> "rss"		{ TOKEN(RSS); }
	<word> "rate"		{ TOKEN(RATE_WORD); }
	<word> "over"		{ TOKEN(OVER); }
	<word> "until"		{ TOKEN(UNTIL); }
	<word> "for"		{ TOKEN(FOR); }
	<word> "idle"		{ TOKEN(IDLE); }
	<ref> "after"		{ TOKEN(AFTER); }
	<ref> "every"		{ TOKEN(EVERY); }
	<ref> ("after" | "every") / blank* ">="	{ TOKEN(REF); }
	<ref> ("after" | "every") / blank+ ("rate" | "idle" | "spent") blank	{ TOKEN(REF); }
	<ref> "all" / blank* "("	{ TOKEN(ALL); }
	<ref> "any" / blank* "("	{ TOKEN(ANY); }
	<word> "every"		{ TOKEN(EVERY); }
	<word> "pass"		{ TOKEN(PASS); }
	<word> "delete"		{ TOKEN(DELETE); }
	<word> "add"		{ TOKEN(ADD); }
	<word> "set"		{ TOKEN(SET); }
	<word> "reset"		{ TOKEN(RESET); }
	<word> "police"		{ TOKEN(POLICE); }
	<word> "log"		{ TOKEN(LOG); }
	<word> "file"		{ TOKEN(FILE_WORD); }
	<word> "at"		{ TOKEN(AT); }
	<word> "most"		{ TOKEN(MOST); }
	<word> "per"		{ TOKEN(PER); }
	<word> "exec"		{ TOKEN(EXEC); }
	<word> "max"		{ TOKEN(MAX); }
	<word> "full"		{ TOKEN(FULL); }
	<word> "hardware"	{ TOKEN(HARDWARE); }

	<word> "%"		{ TOKEN(PERCENT); }
	<word> rate		{ TOKEN(RATE); }
	<word> often / [^0-9A-Za-z_.-]	{ TOKEN(RATE); }
	<name> word		{ TOKEN(NAME); }
	<ref> word		{ TOKEN(REF); }
	<port> word		{ TOKEN(INTERFACE); }
	<item> word		{ TOKEN(ITEM); }
	<field> word		{ TOKEN(FIELD); }
	<word, time> word	{ TOKEN(WORD); }
	<path> [^ \t\r\n#"\\\x00] [^ \t\r\n#"\x00]* { TOKEN(PATH); }

	<time> number		{ TOKEN(TIME); }
	<word, name, port, ref, item, field, entry> number	{ TOKEN(NUMBER); }
	<field, entry> network	{ TOKEN(NETWORK); }
	<word, name, port, ref, time, item, field, entry> address	{ TOKEN(ADDRESS); }
	<word, name, port, ref, time, item, field, path> string	{ TOKEN(STRING); }
	<word, name, port, ref, time, item, field, path> ["] {
		place(ctx, token, span);
		ctx->cursor = line_end(ctx, token);
		return complain(ctx, span, "expected '\"' at the end of the string, "
			"found the end of the line");
	}
	<word, name, port, ref, time, item, field, path, entry> "\\" {
		place(ctx, token, span);
		if (to_text(ctx->cursor) >= ctx->end)
			continue;
		return complain(ctx, span, "expected the end of the line after '\\', "
			"which continues it");
	}
	<word, name, port, ref, time, item, field> ">="	{ TOKEN(GE); }
	<word, name, port, ref, time, item, field> "/"	{ TOKEN(SLASH); }
	<word, name, port, ref, time, item, field, entry> ","	{ TOKEN(COMMA); }
	<word, name, entry> [{}]	{ TOKEN(*token); }
	<entry> word	{ TOKEN(WORD); }
	<word, name, port, ref, time, item, field> [()<-]	{ TOKEN(*token); }
	<word, name, port, ref, time, item, field> [\x80-\xff]+	{ TOKEN(TRIP_RULES_YYUNDEF); }
	<*> *			{ TOKEN(TRIP_RULES_YYUNDEF); }
*/
	}
#undef TOKEN
}

/* What the next word will be, after this token. */
static int
next_state(const struct trip_rules_ctx *ctx, int token)
{
	switch (token) {
	case ALLOW:
	case COUNT:
	case COUNTER:
	case EACH:
	case QUOTA:
		return yycname;
	case WHEN:
	case OF:
		return yycref;
	case SET:
	case IN:
		return yycname;
	case FILE_WORD:
		return yycpath;
	case '{':
		return yycentry;
	case DROP:
	case PASS:
	case DELETE:
	case ADD:
	case RESET:
	case POLICE:
		return ctx->in_when ? yycname : yycword;
	case '(':
	case COMMA:
		return ctx->in_set                     ? yycentry
		       : ctx->in_when || ctx->in_quota ? yycref
		       : ctx->in_keys                  ? yycword
						       : yycport;
	case NAME:
		return ctx->in_items ? yycfield : yycword;
	case AFTER:
	case FOR:
	case IDLE:
	case OVER:
	case PER:
		return yyctime;
	case EXEC:
		return yycpath;
	case PORT:
		return yycport;
	case PATTERN:
		return yycitem;
	case SLASH:
		return ctx->state == yycfield ? yycitem : ctx->state;
	case END:
	case ACTIONS:
	case NEWLINE:
		return yycword;
	default:
		return ctx->state == yycitem || ctx->state == yycfield ? yycfield : yycword;
	}
}

/* A last line without its newline gets one, so that the grammar knows only whole lines. */
int
trip_rules_yylex(int *value, struct trip_rules_span *span, struct trip_rules_ctx *ctx)
{
	int token = scan(ctx, span);
	bool first = ctx->first.length == 0;

	*value = 0;
	if (token == TRIP_RULES_YYEOF && !first)
		token = NEWLINE;
	ctx->state = next_state(ctx, token);
	if (token == NEWLINE) {
		if (to_text(ctx->cursor) < ctx->end || span->length > 0)
			begin_line(ctx);
		return token;
	}
	if (first)
		ctx->first = *span;
	ctx->in_when |= token == WHEN;
	ctx->in_quota |= token == QUOTA;
	ctx->in_set |= token == SET && first;
	ctx->in_items |= token == PATTERN;
	ctx->in_each |= token == EACH && first;
	ctx->in_keys |= token == WORD && ctx->in_each;
	ctx->last = to_text(ctx->cursor);
	return token;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Errors: collected as they are met, sorted by place, printed with the line they are about.
 *
 * The text is hostile until shown otherwise: what is quoted from it reaches a terminal only as
 * printable ASCII or well-formed UTF-8, and at most WINDOW bytes of a line, so that neither one
 * long line nor many errors in it cost more than their number.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "rules_priv.h"

#define WINDOW 100 /* bytes of a line that are shown */
#define QUOTED 40  /* bytes of a token that are quoted */

bool
trip_rules_error_append(
	struct trip_rules_errors *errors, const struct trip_rules_span *span, char *message)
{
	if (message == NULL ||
		!trip_rules_grow(&errors->list, errors->n_list, sizeof(*errors->list))) {
		free(message);
		return false;
	}
	errors->list[errors->n_list++] = (struct trip_rules_error){
		.line = span->line,
		.column = span->column,
		.message = message,
		.offset = (size_t)(span->text - errors->text),
		.length = span->length,
	};
	return true;
}

static void
append(struct trip_rules_ctx *ctx, const struct trip_rules_span *span, char *message)
{
	ctx->nomem |= !trip_rules_error_append(ctx->errors, span, message);
}

void
trip_rules_error_clear(struct trip_rules_errors *errors)
{
	for (unsigned int i = 0; i < errors->n_list; i++)
		free(errors->list[i].message);
	free(errors->list);
	errors->list = NULL;
	errors->n_list = 0;
}

/* NULL without memory. */
static char *
message_of(const char *format, va_list args)
{
	char *message;

	return vasprintf(&message, format, args) < 0 ? NULL : message;
}

bool
trip_rules_error(
	struct trip_rules_ctx *ctx, const struct trip_rules_span *span, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	append(ctx, span, message_of(format, args));
	va_end(args);
	return false;
}

void
trip_rules_error_note(
	struct trip_rules_ctx *ctx, const struct trip_rules_span *span, const char *format, ...)
{
	struct trip_rules *rules = ctx->rules;
	char *message;
	va_list args;

	va_start(args, format);
	message = message_of(format, args);
	va_end(args);
	if (message == NULL ||
		!trip_rules_grow(&rules->notes, rules->n_notes, sizeof(*rules->notes))) {
		free(message);
		ctx->nomem = true;
		return;
	}
	rules->notes[rules->n_notes++] = (struct trip_rules_note){*span, message};
}

void
trip_rules_error_notyet(struct trip_rules_ctx *ctx, const struct trip_rules_span *span)
{
	trip_rules_error(
		ctx, span, "not yet: this version cannot do '%.*s'", (int)span->length, span->text);
}

/* How a token is named in a message. Bytes that no terminal should get are given as numbers. */
const char *
trip_rules_error_quote(char quote[TRIP_RULES_QUOTE_SIZE], const struct trip_rules_span *span)
{
	const unsigned char *text = (const unsigned char *)span->text;
	size_t n = span->length < QUOTED ? span->length : QUOTED;

	if (n == 0 || text[n - 1] == '\n')
		return "the end of the line";
	for (size_t i = 0; i < n; i++) {
		if (text[i] >= 0x20 && text[i] < 0x7f)
			continue;
		snprintf(quote, TRIP_RULES_QUOTE_SIZE, "the byte 0x%02x", text[i]);
		return quote;
	}
	snprintf(quote, TRIP_RULES_QUOTE_SIZE, "'%.*s%s'", (int)n, span->text,
		n < span->length ? "..." : "");
	return quote;
}

/* "'a', 'b' or 'c'", cut where the room ends. */
const char *
trip_rules_error_list(
	char list[TRIP_RULES_LIST_SIZE], const char *const *names, unsigned int n_names)
{
	size_t n = 0;

	list[0] = '\0';
	for (unsigned int i = 0; i < n_names && n < TRIP_RULES_LIST_SIZE; i++)
		n += (size_t)snprintf(list + n, TRIP_RULES_LIST_SIZE - n, "%s'%s'",
			i == 0             ? ""
			: i + 1 == n_names ? " or "
					   : ", ",
			names[i]);
	return list;
}

/* Words of the language are quoted; kinds of token ("a name") read as they are. */
static void
list_expected(FILE *file, const char *const *expected, unsigned int n_expected)
{
	for (unsigned int i = 0; i < n_expected; i++) {
		bool kind = strncmp(expected[i], "a ", 2) == 0 ||
			    strncmp(expected[i], "an ", 3) == 0 ||
			    strncmp(expected[i], "the ", 4) == 0;
		const char *quote = kind || expected[i][0] == '\'' ? "" : "'";

		if (i > 0)
			fputs(i + 1 == n_expected ? " or " : ", ", file);
		fprintf(file, "%s%s%s", quote, expected[i], quote);
	}
}

void
trip_rules_error_syntax(struct trip_rules_ctx *ctx, const struct trip_rules_span *found,
	const struct trip_rules_span *field, const char *const *expected, unsigned int n_expected,
	const char *hint)
{
	char quote[TRIP_RULES_QUOTE_SIZE];
	char *message = NULL;
	size_t length;
	FILE *file;

	if (ctx->broken)
		return;
	ctx->broken = true;
	file = open_memstream(&message, &length);
	if (file == NULL) {
		ctx->nomem = true;
		return;
	}
	if (field != NULL && ctx->draft.item != NULL)
		fprintf(file, "%s %.*s: ", ctx->draft.item->word, (int)field->length, field->text);
	fputs("expected ", file);
	list_expected(file, expected, n_expected);
	fprintf(file, ", found %s", trip_rules_error_quote(quote, found));
	if (hint != NULL)
		fprintf(file, " (%s)", hint);
	if (fclose(file) != 0) {
		free(message);
		message = NULL;
	}
	append(ctx, found, message);
}

static int
by_place(const void *left, const void *right)
{
	const struct trip_rules_error *a = left, *b = right;

	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return strcmp(a->message, b->message);
}

void
trip_rules_error_sort(struct trip_rules_errors *errors)
{
	qsort(errors->list, errors->n_list, sizeof(*errors->list), by_place);
}

/* The length of the well-formed, printable UTF-8 character at `text`, or 0. */
static size_t
utf8_length(const unsigned char *text, size_t room)
{
	size_t n = text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : 2;
	uint32_t code = text[0] & (0xffu >> (n + 1));
	static const uint32_t least[] = {0, 0, 0xa0, 0x800, 0x10000};

	if (text[0] < 0xc2 || text[0] > 0xf4 || n > room)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (text[i] & 0x3f);
	}
	if (code < least[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return 0;
	return n;
}

/* One character of the line, or with `blank` the blank that is as wide; returns its bytes. */
static size_t
print_char(FILE *file, const unsigned char *text, size_t room, bool blank)
{
	size_t n;

	if (*text == '\t' || (*text >= 0x20 && *text < 0x7f)) {
		fputc(blank && *text != '\t' ? ' ' : *text, file);
		return 1;
	}
	n = utf8_length(text, room);
	if (blank)
		fputc(' ', file);
	else if (n == 0)
		fputc('?', file);
	else
		fwrite(text, 1, n, file);
	return n > 0 ? n : 1;
}

static void
print_place(
	FILE *file, const struct trip_rules_errors *errors, const struct trip_rules_error *error)
{
	const unsigned char *text = (const unsigned char *)errors->text;
	size_t at = error->offset;
	size_t start = at - (error->column - 1), from = start, to, end;
	const unsigned char *newline;

	if (at - start > WINDOW / 2)
		from = at - WINDOW / 2;
	end = errors->length < from + WINDOW ? errors->length : from + WINDOW;
	newline = memchr(text + from, '\n', end - from);
	if (newline != NULL)
		end = (size_t)(newline - text);
	if (newline != NULL && end > from && text[end - 1] == '\r')
		end--;
	to = error->length > 0 ? at + error->length : at + 1;

	fprintf(file, "%5u | %s", error->line, from > start ? "..." : "");
	for (size_t i = from; i < end;)
		i += print_char(file, text + i, end - i, false);
	fprintf(file, "%s\n      | %s", newline == NULL && end < errors->length ? "..." : "",
		from > start ? "   " : "");
	for (size_t i = from; i < at;)
		i += print_char(file, text + i, at - i, true);
	fputc('^', file);
	for (size_t i = at + 1; i < to && i < end; i++) {
		if ((text[i] & 0xc0) != 0x80)
			fputc('~', file);
	}
	fputc('\n', file);
}

void
trip_rules_errors_print(const struct trip_rules_errors *errors, FILE *file)
{
	unsigned int n = errors != NULL ? RTE_MIN(errors->n_list, TRIP_RULES_SHOWN_MAX) : 0;

	for (unsigned int i = 0; i < n; i++) {
		const struct trip_rules_error *error = &errors->list[i];

		if (error->line == 0) {
			fprintf(file, "%s: %s\n", errors->name, error->message);
			continue;
		}
		fprintf(file, "%s:%u:%u: %s\n", errors->name, error->line, error->column,
			error->message);
		print_place(file, errors, error);
	}
	if (n > 0 && errors->n_list > n)
		fprintf(file, "%s: %u more are not shown\n", errors->name, errors->n_list - n);
}

void
trip_rules_errors_free(struct trip_rules_errors *errors)
{
	if (errors == NULL)
		return;
	trip_rules_error_clear(errors);
	trip_rules_free(errors->rules);
	free(errors->name);
	free(errors->text);
	free(errors);
}

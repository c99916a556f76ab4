/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets: their entries, in a statement or in a file of their own, and the tests that name them.
 *
 * A file may have a million lines, so its values are read by hand, without a token for each. It is
 * as hostile as rules are.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rules_priv.h"

#define EXPECTED "expected an address, a prefix such as 10.0.0.0/8, or a port"
/* Of numbers beyond a limit, which are told so. */
#define NUMBER_MAX 99999999u

/* What stands in a pattern for a test: no word of the language, and no field. */
static const struct trip_flow_item test_item = {
	.size = sizeof(test_item),
	.word = "set",
	.type = TRIP_FLOW_ITEM_TYPE_SET,
	.bytes = sizeof(struct trip_flow_item_set),
};

/* A plain number up to `max`, which is all of the text. */
static bool
read_number(const char *text, size_t length, unsigned int max, unsigned int *number)
{
	*number = 0;
	for (size_t i = 0; i < length; i++) {
		if (text[i] < '0' || text[i] > '9' || (i == 1 && text[0] == '0'))
			return false;
		*number = 10 * *number + (unsigned int)(text[i] - '0');
		if (*number > max)
			return false;
	}
	return length > 0;
}

/* "10.0.0.0/8", "2001:db8::1", "443"; false: it is none of that. */
static bool
read_entry(const char *text, size_t length, struct trip_set_entry *entry)
{
	const char *slash = memchr(text, '/', length);
	size_t n = slash != NULL ? (size_t)(slash - text) : length;
	char address[INET6_ADDRSTRLEN];
	unsigned int number;

	memset(entry, 0, sizeof(*entry));
	if (read_number(text, length, UINT16_MAX, &number)) {
		*entry = (struct trip_set_entry){.kind = TRIP_SET_PORT,
			.length = 16,
			.value = {(uint8_t)(number >> 8), (uint8_t)number}};
		return true;
	}
	if (n >= sizeof(address))
		return false;
	memcpy(address, text, n);
	address[n] = '\0';
	entry->kind = memchr(text, ':', n) != NULL ? TRIP_SET_IPV6 : TRIP_SET_IPV4;
	entry->length = entry->kind == TRIP_SET_IPV6 ? 128 : 32;
	if (strlen(address) != n || inet_pton(entry->kind == TRIP_SET_IPV6 ? AF_INET6 : AF_INET,
					    address, entry->value) != 1)
		return false;
	if (slash == NULL)
		return true;
	if (!read_number(slash + 1, length - n - 1, entry->length, &number))
		return false;
	entry->length = (uint8_t)number;
	return true;
}

/* Of what is no entry for a limit alone: which. */
static const char *
limit_of(const char *text, size_t length)
{
	const char *slash = memchr(text, '/', length);
	struct trip_set_entry entry;
	unsigned int number;

	if (slash == NULL)
		return read_number(text, length, NUMBER_MAX, &number) ? ": a port is at most 65535"
								      : "";
	if (!read_number(slash + 1, length - (size_t)(slash - text) - 1, NUMBER_MAX, &number) ||
		!read_entry(text, (size_t)(slash - text), &entry) || entry.kind == TRIP_SET_PORT)
		return "";
	return entry.kind == TRIP_SET_IPV6 ? ": a prefix of IPv6 has at most 128 bits"
					   : ": a prefix of IPv4 has at most 32 bits";
}

/* Room for one more. */
static bool
add_entry(struct trip_set_entry **entries, size_t n, const struct trip_set_entry *entry)
{
	if (!trip_rules_grow(entries, (unsigned int)n, sizeof(*entry)))
		return false;
	(*entries)[n] = *entry;
	return true;
}

/* ---- a statement ------------------------------------------------------------------------------
 */

void
trip_rules_set_path(struct trip_rules_ctx *ctx, const struct trip_rules_span *span, char *path)
{
	char quote[TRIP_RULES_QUOTE_SIZE];

	if (path != NULL && path[0] != '/') {
		trip_rules_error(ctx, span, "expected the whole path of a file, from /, found %s",
			trip_rules_error_quote(quote, span));
		free(path);
		return;
	}
	ctx->nomem |= path == NULL && span->text[0] != '"';
	ctx->set.path = path;
}

void
trip_rules_set_add(struct trip_rules_ctx *ctx, const struct trip_rules_span *span)
{
	char quote[TRIP_RULES_QUOTE_SIZE];
	struct trip_set_entry entry;

	if (!read_entry(span->text, span->length, &entry))
		trip_rules_error(ctx, span, EXPECTED ", found %s%s",
			trip_rules_error_quote(quote, span), limit_of(span->text, span->length));
	else if (ctx->set.n_entries == TRIP_SET_ENTRIES_MAX)
		trip_rules_error(ctx, span, "a set has at most %u entries", TRIP_SET_ENTRIES_MAX);
	else if (add_entry(&ctx->set.entries, ctx->set.n_entries, &entry))
		ctx->set.n_entries++;
	else
		ctx->nomem = true;
}

void
trip_rules_set_commit(struct trip_rules_ctx *ctx, char *source)
{
	struct trip_rules *rules = ctx->rules;

	if (!trip_rules_grow(&rules->sets, rules->n_sets, sizeof(*rules->sets))) {
		ctx->nomem = true;
		free(source);
		return;
	}
	ctx->set.line = ctx->first.line;
	ctx->set.source = source;
	memcpy(ctx->set.name, ctx->symbol.span.text,
		RTE_MIN(ctx->symbol.span.length, (size_t)TRIP_RULES_NAME_MAX));
	ctx->symbol.index = rules->n_sets;
	rules->sets[rules->n_sets++] = ctx->set;
	ctx->set = (struct trip_rules_set){0};
}

void
trip_rules_set_free(struct trip_rules_set *set)
{
	free(set->source);
	free(set->path);
	free(set->entries);
}

/* ---- tests ------------------------------------------------------------------------------------
 */

void
trip_rules_set_test(struct trip_rules_ctx *ctx, const struct trip_rules_span *field,
	const struct trip_rules_span *name)
{
	const struct trip_flow_field *f = trip_rules_table_field(ctx, field);
	struct trip_rules_draft *draft = &ctx->draft;
	const struct trip_flow_item *item = draft->item;

	if (!trip_rules_grow(&ctx->set_names, ctx->n_set_names, sizeof(*ctx->set_names)))
		ctx->nomem = true;
	else
		ctx->set_names[ctx->n_set_names++] = *name;
	if (f == NULL)
		return;
	if (ctx->in_each) {
		trip_rules_error(ctx, name,
			"an 'each' asks for no set: 'allow' keeps what one has out of its keys");
		return;
	}
	if (item->layer != TRIP_FLOW_IP && item->layer != TRIP_FLOW_L4)
		f = NULL;
	else if (f != trip_rules_table_end(item, "src") && f != trip_rules_table_end(item, "dst"))
		f = NULL;
	if (f == NULL)
		trip_rules_error(ctx, field,
			"%s %.*s cannot be in a set: expected 'src' or 'dst' of IP, or of ports",
			item->word, (int)field->length, field->text);
	else if (draft->n_tests + ctx->shape.n_tests == TRIP_RULES_TESTS_MAX)
		trip_rules_error(
			ctx, field, "a pattern asks for at most %u sets", TRIP_RULES_TESTS_MAX);
	else
		draft->tests[draft->n_tests++] = (struct trip_rules_set_test){*name, f->offset};
}

void
trip_rules_set_put(struct trip_rules_ctx *ctx)
{
	struct trip_rules_shape *shape = &ctx->shape;
	size_t size = RTE_ALIGN(sizeof(struct trip_flow_item_set), 8);

	for (unsigned int i = 0; i < ctx->draft.n_tests; i++) {
		const struct trip_rules_set_test *test = &ctx->draft.tests[i];
		struct trip_flow_item_set *set = (void *)(shape->cube.spec + shape->n_bytes);

		memset(set, 0, size);
		memset(shape->cube.mask + shape->n_bytes, 0xff, size);
		memcpy(set->name, test->name.text,
			RTE_MIN(test->name.length, (size_t)TRIP_NAME_MAX));
		set->offset = test->offset;
		shape->items[shape->n_items] = &test_item;
		shape->tested[shape->n_items] = true;
		shape->offsets[shape->n_items++] = shape->n_bytes;
		shape->n_bytes += size;
		shape->n_tests++;
	}
}

void
trip_rules_set_mirror(
	void *test, const struct trip_flow_field *src, const struct trip_flow_field *dst)
{
	struct trip_flow_item_set *set = test;

	set->offset = set->offset == src->offset ? dst->offset : src->offset;
}

void
trip_rules_set_check(struct trip_rules_ctx *ctx)
{
	char quote[TRIP_RULES_QUOTE_SIZE];

	for (unsigned int i = 0; i < ctx->n_set_names; i++) {
		const struct trip_rules_span *name = &ctx->set_names[i];
		const struct trip_rules_symbol *symbol = trip_rules_check_find(ctx, name);

		trip_rules_error_quote(quote, name);
		if (symbol == NULL)
			trip_rules_error(ctx, name, "no 'set' is named %s", quote);
		else if (symbol->kind != TRIP_RULES_KIND_SET)
			trip_rules_error(ctx, name, "'in' needs a 'set', and %s is none", quote);
	}
}

bool
trip_rules_set_is_asked(const struct trip_rules_count *count, const char *name)
{
	for (unsigned int i = 0; i < count->n_items; i++) {
		const struct trip_flow_item_set *set = count->items[i].spec;

		if ((int)count->items[i].type == TRIP_FLOW_ITEM_TYPE_SET &&
			strcmp(set->name, name) == 0)
			return true;
	}
	return false;
}

/* ---- a file -----------------------------------------------------------------------------------
 */

struct reading {
	struct trip_rules_errors *errors;
	struct trip_set_entry *entries;
	size_t n_entries;
	bool nomem;
};

static void
refuse_line(struct reading *reading, const struct trip_rules_span *span)
{
	char quote[TRIP_RULES_QUOTE_SIZE], *message = NULL;
	int n = reading->n_entries < TRIP_SET_ENTRIES_MAX
			? asprintf(&message, EXPECTED ", found %s%s",
				  trip_rules_error_quote(quote, span),
				  limit_of(span->text, span->length))
			: asprintf(&message, "a set has at most %u entries", TRIP_SET_ENTRIES_MAX);

	reading->nomem |= !trip_rules_error_append(reading->errors, span, n >= 0 ? message : NULL);
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static void
read_line(struct reading *reading, const char *line, const char *end, unsigned int number)
{
	const char *comment = memchr(line, '#', (size_t)(end - line));
	const char *from = line, *to = comment != NULL ? comment : end;
	struct trip_set_entry entry;
	struct trip_rules_span span;

	while (from < to && is_blank(*from))
		from++;
	while (from < to && is_blank(to[-1]))
		to--;
	if (from == to)
		return;
	span = (struct trip_rules_span){
		from, (size_t)(to - from), number, (unsigned int)(from - line) + 1};
	if (reading->n_entries == TRIP_SET_ENTRIES_MAX || !read_entry(from, span.length, &entry))
		refuse_line(reading, &span);
	else if (add_entry(&reading->entries, reading->n_entries, &entry))
		reading->n_entries++;
	else
		reading->nomem = true;
}

/* A byte order mark is skipped, as before rules. */
static int
read_lines(struct reading *reading)
{
	const char *line = reading->errors->text, *end = line + reading->errors->length;

	if (end - line >= 3 && memcmp(line, "\xef\xbb\xbf", 3) == 0)
		line += 3;
	for (unsigned int number = 1; line < end && !reading->nomem &&
				      reading->errors->n_list < TRIP_RULES_SET_ERRORS_MAX;
		number++) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));
		const char *stop = newline != NULL ? newline : end;

		read_line(reading, line, stop, number);
		/* One more than there may be is enough to say so. */
		if (reading->n_entries == TRIP_SET_ENTRIES_MAX && reading->errors->n_list > 0)
			break;
		line = stop + 1;
	}
	return reading->nomem ? -ENOMEM : reading->errors->n_list > 0 ? -EINVAL : 0;
}

/* FNV-1a, of eight bytes a step: whether a file has changed, not who has made it. */
static uint64_t
digest_of(const char *text, size_t length)
{
	uint64_t digest = UINT64_C(0xcbf29ce484222325) ^ length, word;

	for (size_t i = 0; i < length; i += sizeof(word)) {
		word = 0;
		memcpy(&word, text + i, RTE_MIN(sizeof(word), length - i));
		digest = (digest ^ word) * UINT64_C(0x100000001b3);
		digest ^= digest >> 32;
	}
	return digest;
}

int
trip_rules_set_parse(struct trip_rules_set *set, const char *name, const char *text, size_t length,
	struct trip_rules_errors **errors)
{
	struct reading reading = {.errors = trip_rules_errors_new(name, text, length, "", 0)};
	int rc = reading.errors != NULL ? read_lines(&reading) : -ENOMEM;

	*errors = NULL;
	if (rc == 0) {
		free(set->entries);
		set->entries = reading.entries;
		set->n_entries = reading.n_entries;
		set->digest = digest_of(text, length);
	} else {
		free(reading.entries);
	}
	if (rc == -EINVAL)
		*errors = reading.errors;
	else
		trip_rules_errors_free(reading.errors);
	return rc;
}

int
trip_rules_set_load(struct trip_rules_set *set, struct trip_rules_errors **errors)
{
	char *text, what[64] = "the set";
	size_t length = 0;
	int rc;

	*errors = NULL;
	if (set->path == NULL)
		return 0;
	/* One that is read again by its name has none. */
	if (set->line != 0)
		snprintf(what, sizeof(what), "the set of line %u of the rules", set->line);
	rc = trip_rules_read(set->path, true, &text, &length);
	rc = rc == 0 ? trip_rules_set_parse(set, set->path, text, length, errors)
		     : trip_rules_refuse_file(set->path, what, rc, errors);
	free(text);
	return rc;
}

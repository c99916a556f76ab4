/* SPDX-License-Identifier: BSD-3-Clause */
/* A pattern in the words of testpmd, for whoever looks on. */
#include <arpa/inet.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <rte_flow.h>
#include <trip_flow_item.h>
#include <trip_set.h>

#include "flow/flow.h"

__extension__ typedef unsigned __int128 u128;

struct text {
	char *at;
	size_t left;
	bool cut;
};

__attribute__((format(printf, 2, 3))) static void
say(struct text *text, const char *format, ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(text->at, text->left, format, args);
	va_end(args);
	if (length < 0 || (size_t)length >= text->left) {
		text->cut = true;
		length = (int)(text->left - 1);
	}
	text->at += length;
	text->left -= (size_t)length;
}

static u128
ones(unsigned int bits)
{
	return bits == 0 ? 0 : ~(u128)0 >> (128 - bits);
}

static u128
value_of(const struct trip_flow_field *field, const uint8_t *item)
{
	u128 value = 0;

	for (unsigned int i = 0; i < field->bytes; i++)
		value = value << 8 | item[field->offset + i];
	return value >> field->shift & ones(field->bits);
}

static void
say_value(struct text *text, const struct trip_flow_field *field, u128 value)
{
	char address[INET6_ADDRSTRLEN];
	uint8_t bytes[16];

	if (field->notation == TRIP_FLOW_NUMBER) {
		say(text, "%" PRIu64, (uint64_t)value);
		return;
	}
	for (unsigned int i = field->bytes; i > 0; i--, value >>= 8)
		bytes[i - 1] = (uint8_t)value;
	if (field->notation == TRIP_FLOW_MAC)
		say(text, "%02x:%02x:%02x:%02x:%02x:%02x", bytes[0], bytes[1], bytes[2], bytes[3],
			bytes[4], bytes[5]);
	else
		say(text, "%s",
			inet_ntop(field->notation == TRIP_FLOW_IPV4 ? AF_INET : AF_INET6, bytes,
				address, sizeof(address)));
}

static void
say_field(struct text *text, const struct trip_flow_field *field, const uint8_t *spec,
	const uint8_t *masks)
{
	u128 mask = value_of(field, masks), value = value_of(field, spec) & mask;
	unsigned int prefix = 0;

	if (mask == 0)
		return;
	while (prefix < field->bits && (mask >> (field->bits - 1 - prefix) & 1) != 0)
		prefix++;
	say(text, " %s %s ", field->word, prefix == field->bits ? "is" : "spec");
	say_value(text, field, value);
	if (prefix == field->bits)
		return;
	if (prefix > 0 && (mask & ones(field->bits - prefix)) == 0) {
		say(text, " %s prefix %u", field->word, prefix);
		return;
	}
	say(text, " %s mask ", field->word);
	say_value(text, field, mask);
}

/* How many parts stand behind a field; *whole: they would leave something out, or say more. */
static unsigned int
parts_of(const struct trip_flow_item *item, unsigned int at, const uint8_t *masks, bool *whole)
{
	const struct trip_flow_field *field = trip_flow_item_field(item, at);
	u128 mask = value_of(field, masks), left = mask;
	unsigned int n = 0;

	while (field->bits == 8 * field->bytes && at + 1 + n < item->n_fields &&
		field[1 + n].offset == field->offset) {
		n++;
		left &= ~(ones(field[n].bits) << field[n].shift);
	}
	*whole = n == 0 || left != 0 || mask == ones(field->bits);
	return n;
}

static void
say_fields(struct text *text, const struct trip_flow_item *item, const uint8_t *spec,
	const uint8_t *masks)
{
	for (unsigned int i = 0; i < item->n_fields; i++) {
		bool whole;
		unsigned int n = parts_of(item, i, masks, &whole);

		if (whole)
			say_field(text, trip_flow_item_field(item, i), spec, masks);
		for (unsigned int k = 1; k <= n && !whole; k++)
			say_field(text, trip_flow_item_field(item, i + k), spec, masks);
		i += n;
	}
}

static void
say_unknown(struct text *text, const struct rte_flow_item *item)
{
	const char *name = trip_flow_name(RTE_FLOW_CONV_OP_ITEM_NAME_PTR, (unsigned int)item->type);

	for (; *name != 0; name++)
		say(text, "%c", tolower((unsigned char)*name));
	if (item->spec != NULL)
		say(text, " ...");
}

static void
say_item(struct text *text, const struct rte_flow_item *item)
{
	const struct trip_flow_item *known = trip_flow_item_of((int)item->type);

	if (known == NULL) {
		say_unknown(text, item);
		return;
	}
	say(text, "%s", known->word);
	if (item->spec != NULL)
		say_fields(text, known, item->spec, item->mask != NULL ? item->mask : known->mask);
}

/* What stands behind an item and says more of it. */
static void
say_set(struct text *text, const struct trip_flow_item *known, const struct rte_flow_item *item)
{
	const struct trip_flow_item_set *set = item->spec;

	for (unsigned int i = 0; known != NULL && i < known->n_fields; i++)
		if (trip_flow_item_field(known, i)->offset == set->offset) {
			say(text, " %s in %s", trip_flow_item_field(known, i)->word, set->name);
			return;
		}
}

void
trip_flow_text(const struct rte_flow_item *pattern, char *out, size_t size)
{
	struct text text = {.at = out, .left = size};
	const struct trip_flow_item *known;

	out[0] = 0;
	for (; pattern != NULL && pattern->type != RTE_FLOW_ITEM_TYPE_END; pattern++) {
		if (pattern->type == RTE_FLOW_ITEM_TYPE_VOID)
			continue;
		say_item(&text, pattern);
		known = trip_flow_item_of((int)pattern->type);
		while ((int)pattern[1].type == TRIP_FLOW_ITEM_TYPE_SET)
			say_set(&text, known, ++pattern);
		say(&text, " / ");
	}
	say(&text, "end");
	if (text.cut)
		strcpy(out + size - 4, "...");
}

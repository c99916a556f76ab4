/* SPDX-License-Identifier: BSD-3-Clause */
/* Compiles a key, and takes it out of packets. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include <rte_ether.h>
#include <rte_gtp.h>
#include <rte_vxlan.h>

#include "each_key.h"

#define L4_ANY 0xffffu
#define L4_NONE 1u
/* Those with ports. */
#define L4_OF(has) (1u << ((has) >> 20))
#define L4_PORTS (L4_OF(TRIP_HAS_TCP) | L4_OF(TRIP_HAS_UDP) | L4_OF(TRIP_HAS_SCTP))
#define IPV6_BYTES 16u
#define MAPPED_BYTES 10u /* zeros, then two of 0xff, then the IPv4 address */

/* Where a field is in packets of a version, and what says so; without bits it is in none. */
struct source {
	uint8_t at;
	uint16_t l4;     /* 0: any */
	uint16_t tunnel; /* EtherType that leads to it */
	uint16_t port;   /* or UDP port */
	uint32_t bits, more;
	uint32_t absent; /* TRIP_HAS_* that it excludes */
	uint32_t inner;  /* TRIP_MORE_* of the inner stack */
};

#define INNER(place) (TRIP_PLACE_INNER + (place))
#define IN_BOTH(...)                \
	{                           \
		{__VA_ARGS__},      \
		{                   \
			__VA_ARGS__ \
		}                   \
	}
#define IPV4_AT(place, has)                                  \
	{                                                    \
		.at = (place), .bits = TRIP_HAS_IPV4 | (has) \
	}
#define IPV6_AT(place, has)                                  \
	{                                                    \
		.at = (place), .bits = TRIP_HAS_IPV6 | (has) \
	}

static const struct row {
	const char *word;
	uint8_t bytes;
	uint8_t lead; /* bits in front that are another field's */
	uint8_t bits;
	bool address;                      /* of which a part may be a key */
	struct source in[TRIP_EACH_FORMS]; /* IPv4, IPv6 */
} rows[TRIP_EACH_FIELDS] = {
	[TRIP_EACH_IPV4_SRC] = {"ipv4.src", 4, 0, 32, true,
		{IPV4_AT(TRIP_PLACE_IPV4_SRC, TRIP_HAS_IP_SRC)}},
	[TRIP_EACH_IPV4_DST] = {"ipv4.dst", 4, 0, 32, true,
		{IPV4_AT(TRIP_PLACE_IPV4_DST, TRIP_HAS_IP_DST)}},
	[TRIP_EACH_IPV6_SRC] = {"ipv6.src", 16, 0, 128, true,
		{{0}, IPV6_AT(TRIP_PLACE_IPV6_SRC, TRIP_HAS_IP_SRC)}},
	[TRIP_EACH_IPV6_DST] = {"ipv6.dst", 16, 0, 128, true,
		{{0}, IPV6_AT(TRIP_PLACE_IPV6_DST, TRIP_HAS_IP_DST)}},
	[TRIP_EACH_IP_SRC] = {"ip.src", 16, 0, 128, true,
		{IPV4_AT(TRIP_PLACE_IPV4_SRC, TRIP_HAS_IP_SRC),
			IPV6_AT(TRIP_PLACE_IPV6_SRC, TRIP_HAS_IP_SRC)}},
	[TRIP_EACH_IP_DST] = {"ip.dst", 16, 0, 128, true,
		{IPV4_AT(TRIP_PLACE_IPV4_DST, TRIP_HAS_IP_DST),
			IPV6_AT(TRIP_PLACE_IPV6_DST, TRIP_HAS_IP_DST)}},
	[TRIP_EACH_PROTO] = {"proto", 1, 0, 8, false,
		{IPV4_AT(TRIP_PLACE_IP_PROTO, TRIP_HAS_IP_PROTO),
			{.at = TRIP_PLACE_IP_CARRIES,
				.bits = TRIP_HAS_IPV6 | TRIP_HAS_MORE,
				.more = TRIP_MORE_EXT_ALL}}},
	[TRIP_EACH_L4_SRC] = {"l4.src", 2, 0, 16, false,
		IN_BOTH(.at = TRIP_PLACE_L4, .bits = TRIP_HAS_L4_SRC, .l4 = L4_PORTS)},
	[TRIP_EACH_L4_DST] = {"l4.dst", 2, 0, 16, false,
		IN_BOTH(.at = TRIP_PLACE_L4 + 2, .bits = TRIP_HAS_L4_DST, .l4 = L4_PORTS)},
	[TRIP_EACH_VLAN_VID] = {"vlan.vid", 2, 4, 12, false,
		IN_BOTH(.at = TRIP_PLACE_VLAN1_TCI, .bits = TRIP_HAS_VLAN1_TCI)},
	[TRIP_EACH_VXLAN_VNI] = {"vxlan.vni", 3, 0, 24, false,
		IN_BOTH(.at = INNER(TRIP_PLACE_TUNNEL) + 4,
			.bits = TRIP_HAS_TUNNEL | TRIP_HAS_L4_DST, .l4 = L4_OF(TRIP_HAS_UDP),
			.port = RTE_VXLAN_DEFAULT_PORT, .inner = TRIP_MORE_HEADER(6))},
	[TRIP_EACH_MPLS_LABEL] = {"mpls.label", 3, 0, 20, false,
		IN_BOTH(.at = INNER(TRIP_PLACE_TUNNEL), .bits = TRIP_HAS_TUNNEL,
			.absent = TRIP_HAS_IPV4 | TRIP_HAS_IPV6, .l4 = L4_NONE,
			.tunnel = RTE_ETHER_TYPE_MPLS,
			.inner = TRIP_MORE_TUNNEL_TYPE | TRIP_MORE_HEADER(2))},
	[TRIP_EACH_GTPU_TEID] = {"gtpu.teid", 4, 0, 32, false,
		IN_BOTH(.at = INNER(TRIP_PLACE_TUNNEL) + 4,
			.bits = TRIP_HAS_TUNNEL | TRIP_HAS_L4_DST, .l4 = L4_OF(TRIP_HAS_UDP),
			.port = RTE_GTPU_UDP_PORT, .inner = TRIP_MORE_HEADER(7))},
};

/* A form as it is being made, in bytes. */
struct making {
	struct trip_each_form *form;
	uint8_t mask[TRIP_PACKET_WORDS * 8], value[TRIP_PACKET_WORDS * 8];
};

__attribute__((format(printf, 2, 3))) static int
refuse(const char **message, const char *format, ...)
{
	static _Thread_local char text[160];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	*message = text;
	return -EINVAL;
}

const char *
trip_each_key_word(enum trip_each_field field)
{
	return rows[field].word;
}

uint32_t
trip_each_key_bits(enum trip_each_field field)
{
	return rows[field].bits;
}

struct trip_each_shape
trip_each_key_shape(enum trip_each_field field)
{
	const struct row *row = &rows[field];

	return (struct trip_each_shape){.bytes = row->bytes,
		.shift = (uint8_t)(8 * row->bytes - row->lead - row->bits),
		.address = row->address};
}

/* ---- what a packet must have ------------------------------------------------------------------
 */

/* False where something else was asked of these bytes. */
static bool
require(struct making *making, uint32_t place, const void *mask, const void *value, uint32_t size)
{
	const uint8_t *masks = mask, *values = value;
	bool agrees = true;

	for (uint32_t i = 0; i < size; i++) {
		uint8_t *had = &making->value[place + i], *under = &making->mask[place + i];

		agrees &= ((*had ^ values[i]) & *under & masks[i]) == 0;
		*under |= masks[i];
		*had |= values[i];
	}
	return agrees;
}

static bool
demand(struct making *making, const struct source *source)
{
	const uint16_t all = 0xffff, port = rte_cpu_to_be_16(source->port);
	const uint32_t none = 0;
	bool agrees = require(making, TRIP_PLACE_BITS, &source->bits, &source->bits, 4);

	agrees &= require(making, TRIP_PLACE_BITS, &source->absent, &none, 4);
	agrees &= require(making, TRIP_PLACE_MORE, &source->more, &source->more, 4);
	agrees &= require(making, INNER(TRIP_PLACE_MORE), &source->inner, &source->inner, 4);
	if (source->port != 0)
		agrees &= require(making, TRIP_PLACE_L4 + 2, &all, &port, sizeof(all));
	if (source->tunnel != 0)
		agrees &= require(
			making, INNER(TRIP_PLACE_TUNNEL_TYPE), &all, &source->tunnel, sizeof(all));
	if (source->l4 != 0)
		making->form->l4 &= source->l4;
	return agrees;
}

static void
finish_tests(struct making *making)
{
	struct trip_each_form *form = making->form;

	for (uint32_t word = 0; word < TRIP_PACKET_WORDS; word++) {
		struct trip_each_test test = {.word = word};

		memcpy(&test.mask, making->mask + 8 * word, 8);
		memcpy(&test.value, making->value + 8 * word, 8);
		if (test.mask != 0)
			form->tests[form->n_tests++] = test;
	}
}

/* ---- where its bytes go -----------------------------------------------------------------------
 */

/* To the left by so many bits, as numbers have it. */
static uint8_t
turn_of(uint32_t from, uint32_t to)
{
	uint32_t bytes = RTE_BYTE_ORDER == RTE_LITTLE_ENDIAN ? to - from : from - to;

	return (uint8_t)(8 * (bytes & 7));
}

/* Fields come in the order of their places: so a new term is behind all others. */
static void
put_byte(struct trip_each_form *form, uint32_t from, uint32_t to, uint8_t mask)
{
	uint32_t at = to / 8 > 0 ? form->ends[to / 8 - 1] : 0, *end = &form->ends[to / 8];
	const uint8_t turn = turn_of(from, to);

	while (at < *end && (form->terms[at].from != from / 8 || form->terms[at].turn != turn))
		at++;
	if (at == *end) {
		form->terms[at] =
			(struct trip_each_term){.from = (uint8_t)(from / 8), .turn = turn};
		for (uint32_t word = to / 8; word < TRIP_EACH_KEY_WORDS; word++)
			form->ends[word] = at + 1;
	}
	((uint8_t *)&form->terms[at].mask)[to % 8] |= mask;
}

/* Of byte i of a field: those bits that are between two of its own. */
static uint8_t
byte_mask(uint32_t i, uint32_t begin, uint32_t end)
{
	uint8_t mask = 0;

	for (uint32_t bit = 0; bit < 8; bit++)
		if (8 * i + bit >= begin && 8 * i + bit < end)
			mask |= (uint8_t)(0x80u >> bit);
	return mask;
}

static void
put_field(struct trip_each_form *form, const struct row *row, uint32_t version, uint32_t to,
	uint32_t length)
{
	bool mapped = version == 0 && row->bytes == IPV6_BYTES;
	uint32_t bytes = mapped ? 4 : row->bytes, begin = row->lead, end;

	if (mapped) {
		memset((uint8_t *)form->fixed + to + MAPPED_BYTES, 0xff, 2);
		to += MAPPED_BYTES + 2;
	}
	end = begin + (length < 8 * bytes ? length : 8 * bytes);
	for (uint32_t i = 0; i < bytes; i++) {
		uint8_t mask = byte_mask(i, begin, end);

		if (mask != 0)
			put_byte(form, row->in[version].at + i, to + i, mask);
	}
}

/* ---- compiling --------------------------------------------------------------------------------
 */

static int
check_part(const struct trip_each_part *parts, uint32_t i, const char **message)
{
	const struct trip_each_part *part = &parts[i];
	const struct row *row = &rows[part->field];

	for (uint32_t k = 0; k < i; k++)
		if (parts[k].field == part->field)
			return refuse(message, "key: %s stands in it twice", row->word);
	if (part->length > row->bits)
		return refuse(message, "key: %s/%u is longer than its %u bits", row->word,
			part->length, row->bits);
	if (part->length != 0 && part->length != row->bits && !row->address)
		return refuse(message, "key: %s/%u: only addresses have a length", row->word,
			part->length);
	return 0;
}

static int
check_parts(const struct trip_each_part *parts, uint32_t n, const char **message)
{
	uint32_t bytes = 0;

	if (n == 0)
		return refuse(message, "key: it has no field");
	for (uint32_t i = 0; i < n; i++) {
		int status;

		if ((unsigned int)parts[i].field >= TRIP_EACH_FIELDS)
			return refuse(message, "key: there is no field %d", (int)parts[i].field);
		status = check_part(parts, i, message);
		if (status != 0)
			return status;
		bytes += rows[parts[i].field].bytes;
	}
	if (bytes > TRIP_EACH_KEY_BYTES)
		return refuse(message, "key: its %u fields have %u bytes, above %u", n, bytes,
			TRIP_EACH_KEY_BYTES);
	return 0;
}

/* False: no packet of that version has all of its fields. */
static bool
compile_form(const struct trip_each_part *parts, uint32_t n, uint32_t version,
	struct trip_each_form *form)
{
	struct making making = {.form = form};
	uint32_t to = 0;

	memset(form, 0, sizeof(*form));
	form->l4 = L4_ANY;
	for (uint32_t i = 0; i < n; i++) {
		const struct row *row = &rows[parts[i].field];

		if (row->in[version].bits == 0 || !demand(&making, &row->in[version]))
			return false;
		put_field(
			form, row, version, to, parts[i].length != 0 ? parts[i].length : row->bits);
		to += row->bytes;
	}
	finish_tests(&making);
	return form->l4 != 0;
}

int
trip_each_key_compile(const struct trip_each_part *parts, uint32_t n, struct trip_each_key *key,
	const char **message)
{
	uint32_t bytes = 0;
	int status = check_parts(parts, n, message);

	if (status != 0)
		return status;
	memset(key, 0, sizeof(*key));
	for (uint32_t i = 0; i < n; i++) {
		bytes += rows[parts[i].field].bytes;
		key->wants |= rows[parts[i].field].in[1].bits & TRIP_WANT_TUNNEL;
	}
	key->bytes = bytes;
	key->words = (bytes + 7) / 8;
	for (uint32_t version = 0; version < TRIP_EACH_FORMS; version++)
		key->n_forms += compile_form(parts, n, version, &key->forms[key->n_forms]) ? 1 : 0;
	/* Fields that both versions have in one place make one. */
	if (key->n_forms == 2 && memcmp(&key->forms[0], &key->forms[1], sizeof(key->forms[0])) == 0)
		key->n_forms = 1;
	return key->n_forms > 0 ? 0 : refuse(message, "key: no packet has all of its %u fields", n);
}

/* ---- taking -----------------------------------------------------------------------------------
 */

/* Which packets are of a form. Bytes that an earlier packet left may be compared, but only where
 * this one's bits say so do they count. */
static inline uint32_t
choose(const struct trip_each_form *form, const struct trip_packet_fields *fields, uint32_t count,
	uint8_t *packets)
{
	const struct trip_each_test first = form->tests[0];
	const uint32_t n_tests = form->n_tests, l4 = form->l4;
	uint32_t chosen = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t word = fields[i].words[0], differ = (word & first.mask) ^ first.value;

		for (uint32_t k = 1; k < n_tests; k++)
			differ |= (fields[i].words[form->tests[k].word] & form->tests[k].mask) ^
				  form->tests[k].value;
		packets[chosen] = (uint8_t)i;
		chosen += (differ == 0) & l4 >> ((fields[i].halves[0] & TRIP_HAS_L4) >> 20);
	}
	return chosen;
}

static inline uint64_t
take_term(const struct trip_each_term term, const struct trip_packet_fields *fields)
{
	uint64_t word = fields->words[term.from];

	return (word << term.turn | word >> (-term.turn & 63)) & term.mask;
}

/* Packets whose keys are being taken. */
struct taking {
	const struct trip_packet_fields *fields;
	const uint8_t *packets;
	uint32_t count, words;
};

/* One word of all their keys: mostly it has one term, or two. */
static inline void
take_word(const struct taking taking, const struct trip_each_form *form, uint32_t word,
	uint64_t *keys)
{
	static const struct trip_each_term none;
	uint32_t at = word > 0 ? form->ends[word - 1] : 0, end = form->ends[word];
	const struct trip_each_term first = at < end ? form->terms[at] : none;
	const uint64_t fixed = form->fixed[word];

	for (uint32_t i = 0; i < taking.count; i++)
		keys[i * taking.words] =
			fixed | take_term(first, &taking.fields[taking.packets[i]]);
	for (at++; at < end; at++) {
		const struct trip_each_term term = form->terms[at];

		for (uint32_t i = 0; i < taking.count; i++)
			keys[i * taking.words] |=
				take_term(term, &taking.fields[taking.packets[i]]);
	}
}

uint32_t
trip_each_key_take(const struct trip_each_key *key, const struct trip_packet_fields *fields,
	uint32_t count, uint64_t *keys, uint8_t *packets)
{
	const uint32_t words = key->words;
	uint32_t taken = 0;

	for (uint32_t k = 0; k < key->n_forms; k++) {
		const struct trip_each_form *form = &key->forms[k];
		uint8_t of_form[TRIP_EACH_KEY_CHUNK];
		uint32_t chosen = choose(form, fields, count, of_form);

		for (uint32_t word = 0; word < words; word++)
			take_word((struct taking){fields, of_form, chosen, words}, form, word,
				&keys[taken * words + word]);
		memcpy(packets + taken, of_form, chosen);
		taken += chosen;
	}
	return taken;
}

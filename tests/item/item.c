/* SPDX-License-Identifier: BSD-3-Clause */
/* The catalogue of packet items, beside what rte_flow's own structures say. */
#include <errno.h>
#include <string.h>

#include <rte_flow.h>
#include <trip_flow_item.h>

#include "pattern.h"
#include "pattern_back.h"
#include "trip_test.h"

#define FIELD_SIZE_MAX 16

static bool
is_part(const struct trip_flow_field *field)
{
	return field->bits < 8 * field->bytes;
}

static void
rows_are_sound(void **state)
{
	const struct trip_flow_item *item;
	unsigned int i, k;

	for (i = 0; (item = trip_flow_item_at(i)) != NULL; i++) {
		assert_ptr_equal(trip_flow_item_of(item->type), item);
		assert_true(item->header <= item->bytes && item->bytes <= TRIP_PATTERN_ITEM_SIZE);
		assert_true(item->n_fields > 0 && item->n_fields <= TRIP_FLOW_FIELDS_MAX);
		assert_int_equal(item->carries == TRIP_FLOW_CARRIES_NOTHING,
			item->layer != TRIP_FLOW_TUNNEL);
		assert_true(i < 32 && item->behind >> i == 0);
		for (k = 0; k < item->n_fields; k++) {
			const struct trip_flow_field *field = trip_flow_item_field(item, k);

			assert_true(field->bits > 0 && field->bytes <= FIELD_SIZE_MAX);
			assert_true(field->shift + field->bits <= 8 * field->bytes);
			assert_true(field->offset + field->bytes <= item->bytes);
			assert_true(field->unsaid || !field->unread);
			/* A flag is one bit, and what is on the wire is not cut in two. */
			if (field->offset >= item->header)
				assert_true(field->unread || field->bits == 1);
			else
				assert_true(field->offset + field->bytes <= item->header);
			if (k > 0 && field->offset < field[-1].offset + field[-1].bytes)
				assert_true(field->offset == field[-1].offset &&
					    field->bytes == field[-1].bytes && is_part(field));
		}
	}
	assert_null(trip_flow_item_at(i));
	assert_null(trip_flow_item_of(RTE_FLOW_ITEM_TYPE_VOID));
}

/* The flags have no address in C: the compiler says where they are. */
#define CHECK_FLAG(name, flag)                                                           \
	do {                                                                             \
		struct rte_flow_item_##name set = {.flag = 1};                           \
		check_flag(item_of_word(#name), #flag, (const void *)&set, sizeof(set)); \
	} while (0)

static const struct trip_flow_item *
item_of_word(const char *word)
{
	const struct trip_flow_item *item;
	unsigned int i = 0;

	while ((item = trip_flow_item_at(i)) != NULL && strcmp(item->word, word) != 0)
		i++;
	assert_non_null(item);
	return item;
}

static void
check_flag(const struct trip_flow_item *item, const char *word, const uint8_t *set, size_t size)
{
	uint8_t ours[64] = {0};

	for (unsigned int i = 0; i < item->n_fields; i++)
		if (strcmp(trip_flow_item_field(item, i)->word, word) == 0)
			ours[trip_flow_item_field(item, i)->offset] |=
				(uint8_t)(1u << trip_flow_item_field(item, i)->shift);
	assert_memory_equal(ours, set, size);
}

static void
flags_are_where_the_compiler_puts_them(void **state)
{
	CHECK_FLAG(eth, has_vlan);
	CHECK_FLAG(vlan, has_more_vlan);
	CHECK_FLAG(ipv6, has_hop_ext);
	CHECK_FLAG(ipv6, has_route_ext);
	CHECK_FLAG(ipv6, has_frag_ext);
	CHECK_FLAG(ipv6, has_auth_ext);
	CHECK_FLAG(ipv6, has_esp_ext);
	CHECK_FLAG(ipv6, has_dest_ext);
	CHECK_FLAG(ipv6, has_mobil_ext);
	CHECK_FLAG(ipv6, has_hip_ext);
	CHECK_FLAG(ipv6, has_shim6_ext);
}

/* Every bit of an item's header is in a field: what is asked of it is matched or refused. */
static void
headers_are_covered(void **state)
{
	const struct trip_flow_item *item;

	for (unsigned int i = 0; (item = trip_flow_item_at(i)) != NULL; i++) {
		uint8_t left[64];

		memset(left, 0xff, sizeof(left));
		for (unsigned int k = 0; k < item->n_fields; k++)
			for (unsigned int bit = 0; bit < trip_flow_item_field(item, k)->bits;
				bit++) {
				const struct trip_flow_field *field = trip_flow_item_field(item, k);
				unsigned int at = field->shift + bit;

				left[field->offset + field->bytes - 1 - at / 8] &=
					(uint8_t) ~(1u << at % 8);
			}
		for (unsigned int k = 0; k < item->header; k++)
			if (left[k] != 0)
				fail_msg("%s: byte %u has bits 0x%02x in no field", item->word, k,
					left[k]);
	}
}

/* Every field that is read is matched by itself, and stands in the same place of the pattern's
 * items when they are made of the pattern again. */
static void
fields_are_matched(void **state)
{
	const struct trip_flow_item *item;

	for (unsigned int i = 0; (item = trip_flow_item_at(i)) != NULL; i++) {
		for (unsigned int k = 0; k < item->n_fields; k++) {
			const struct trip_flow_field *field = trip_flow_item_field(item, k);
			uint8_t bits[64] = {0};
			struct rte_flow_item items[] = {
				{.type = (enum rte_flow_item_type)item->type,
					.spec = bits,
					.mask = bits},
				{.type = RTE_FLOW_ITEM_TYPE_END}};
			struct trip_pattern pattern, again, none;
			struct trip_pattern_items back;
			struct rte_flow_error error;
			int status;

			bits[field->offset + field->bytes - 1 - field->shift / 8] |=
				(uint8_t)(1u << field->shift % 8);
			status = trip_pattern_compile(items, &pattern, &error);
			if (field->unread) {
				assert_int_equal(status, -ENOTSUP);
				continue;
			}
			if (status != 0)
				fail_msg("%s", error.message);
			trip_pattern_back(&pattern, &back);
			assert_int_equal(trip_pattern_compile(back.items, &again, NULL), 0);
			assert_memory_equal(&again, &pattern, sizeof(pattern));
			items[0].spec = NULL;
			items[0].mask = NULL;
			assert_int_equal(trip_pattern_compile(items, &none, NULL), 0);
			if (memcmp(&none, &pattern, sizeof(none)) == 0)
				fail_msg("%s %s says nothing", item->word, field->word);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_sound),
		cmocka_unit_test(flags_are_where_the_compiler_puts_them),
		cmocka_unit_test(headers_are_covered),
		cmocka_unit_test(fields_are_matched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

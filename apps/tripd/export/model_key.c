/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys as the standard's information elements: each field is one, and a prefix has its length. */
#include <stddef.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_common.h>

#include "model.h"

/* An address of either version, of IPv4 as ::ffff:10.1.2.3. */
#define EITHER_SIZE 16
#define EITHER_V4 12
#define SEGMENT_OF_VXLAN (UINT64_C(1) << 56)

enum form {
	FORM_NUMBER,
	/* Of IPv4, of IPv6, and of either. */
	FORM_V4,
	FORM_V6,
	FORM_EITHER,
	/* As it is on the wire. */
	FORM_BYTES,
	/* With what it is of in the most significant byte. */
	FORM_VNI,
};

/* What a field of a key is: its bytes there and exported, and the names of its elements, the second
 * that of the length of a prefix. */
static const struct field {
	enum form form;
	uint8_t size, exported;
	const char *v4, *v4_length, *v6, *v6_length;
} fields[] = {
#define SRC4 "sourceIPv4Address", "sourceIPv4PrefixLength"
#define DST4 "destinationIPv4Address", "destinationIPv4PrefixLength"
#define SRC6 "sourceIPv6Address", "sourceIPv6PrefixLength"
#define DST6 "destinationIPv6Address", "destinationIPv6PrefixLength"
	[TRIP_EACH_IPV4_SRC] = {FORM_V4, 4, 4, SRC4},
	[TRIP_EACH_IPV4_DST] = {FORM_V4, 4, 4, DST4},
	[TRIP_EACH_IPV6_SRC] = {FORM_V6, 16, 16, NULL, NULL, SRC6},
	[TRIP_EACH_IPV6_DST] = {FORM_V6, 16, 16, NULL, NULL, DST6},
	[TRIP_EACH_IP_SRC] = {FORM_EITHER, EITHER_SIZE, 0, SRC4, SRC6},
	[TRIP_EACH_IP_DST] = {FORM_EITHER, EITHER_SIZE, 0, DST4, DST6},
	[TRIP_EACH_PROTO] = {FORM_NUMBER, 1, 1, "protocolIdentifier"},
	[TRIP_EACH_L4_SRC] = {FORM_NUMBER, 2, 2, "sourceTransportPort"},
	[TRIP_EACH_L4_DST] = {FORM_NUMBER, 2, 2, "destinationTransportPort"},
	[TRIP_EACH_VLAN_VID] = {FORM_NUMBER, 2, 2, "vlanId"},
	[TRIP_EACH_VXLAN_VNI] = {FORM_VNI, 3, 8, "layer2SegmentId"},
	[TRIP_EACH_MPLS_LABEL] = {FORM_BYTES, 3, 3, "mplsTopLabelStackSection"},
	[TRIP_EACH_GTPU_TEID] = {FORM_NUMBER, 4, 4, "triplineTeid"},
};

static bool
is_v6(const struct field *field, bool v6)
{
	return field->form == FORM_V6 || (field->form == FORM_EITHER && v6);
}

static bool
is_address(const struct field *field)
{
	return field->form == FORM_V4 || field->form == FORM_V6 || field->form == FORM_EITHER;
}

static uint8_t
prefix_length(const struct trip_each_part *part, bool v6)
{
	uint8_t most = v6 ? 128 : 32;

	return part->length == 0 ? most : RTE_MIN(part->length, most);
}

void
tripd_model_key_specs(const struct trip_each_part *parts, uint32_t n_parts, bool v6,
	fbInfoElementSpec_t specs[TRIPD_MODEL_KEY_SPECS])
{
	static const char *const head[] = {"flowStartMilliseconds", "flowEndMilliseconds",
		"packetDeltaCount", "octetDeltaCount", "triplinePackets", "triplineBytes",
		"triplineError", "observationPointId"};
	fbInfoElementSpec_t *spec = specs;

	for (unsigned int i = 0; i < RTE_DIM(head); i++)
		*spec++ = (fbInfoElementSpec_t){(char *)(uintptr_t)head[i], 8, 0};
	*spec++ = (fbInfoElementSpec_t){(char *)(uintptr_t) "flowDirection", 1, 0};
	*spec++ = (fbInfoElementSpec_t){(char *)(uintptr_t) "triplineDropped", 1, 0};
	for (uint32_t i = 0; i < n_parts; i++) {
		const struct field *field = &fields[parts[i].field];
		bool six = is_v6(field, v6);

		*spec++ = (fbInfoElementSpec_t){(char *)(uintptr_t)(six ? field->v6 : field->v4),
			is_address(field) ? (six ? 16 : 4) : field->exported, 0};
		if (is_address(field))
			*spec++ = (fbInfoElementSpec_t){
				(char *)(uintptr_t)(six ? field->v6_length : field->v4_length), 1,
				0};
	}
	*spec = (fbInfoElementSpec_t)FB_IESPEC_NULL;
}

bool
tripd_model_key_is_v6(const struct trip_each_part *parts, uint32_t n_parts, const uint8_t *key)
{
	static const uint8_t mapped[EITHER_V4] = {[10] = 0xff, 0xff};

	for (uint32_t i = 0; i < n_parts; key += fields[parts[i++].field].size)
		if (fields[parts[i].field].form == FORM_EITHER)
			return memcmp(key, mapped, sizeof(mapped)) != 0;
	return false;
}

/* A number of the wire, as the machine has it. */
static uint8_t *
put_number(uint8_t *to, const uint8_t *from, const struct field *field)
{
	uint64_t vni;
	uint32_t number = 0;
	uint16_t half;

	for (unsigned int i = 0; i < field->size; i++)
		number = number << 8 | from[i];
	half = (uint16_t)number;
	vni = SEGMENT_OF_VXLAN | number;
	if (field->exported == 1)
		*to = (uint8_t)number;
	else if (field->exported == 2)
		memcpy(to, &half, sizeof(half));
	else if (field->exported == 4)
		memcpy(to, &number, sizeof(number));
	else
		memcpy(to, &vni, sizeof(vni));
	return to + field->exported;
}

static uint8_t *
put_address(uint8_t *to, const uint8_t *from, const struct trip_each_part *part, bool six)
{
	const struct field *field = &fields[part->field];
	uint32_t four;

	if (six) {
		memcpy(to, from, 16);
		to += 16;
	} else {
		memcpy(&four, from + (field->form == FORM_EITHER ? EITHER_V4 : 0), sizeof(four));
		four = rte_be_to_cpu_32(four);
		memcpy(to, &four, sizeof(four));
		to += sizeof(four);
	}
	*to = prefix_length(part, six);
	return to + 1;
}

size_t
tripd_model_key_fill(const struct trip_each_part *parts, uint32_t n_parts, const uint8_t *key,
	struct tripd_model_key *record)
{
	bool v6 = tripd_model_key_is_v6(parts, n_parts, key);
	uint8_t *to = record->rest;

	for (uint32_t i = 0; i < n_parts; i++) {
		const struct field *field = &fields[parts[i].field];

		if (is_address(field)) {
			to = put_address(to, key, &parts[i], is_v6(field, v6));
		} else if (field->form == FORM_BYTES) {
			memcpy(to, key, field->size);
			to += field->exported;
		} else {
			to = put_number(to, key, field);
		}
		key += field->size;
	}
	return (size_t)(to - (uint8_t *)record);
}

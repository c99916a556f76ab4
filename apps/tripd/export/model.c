/* SPDX-License-Identifier: BSD-3-Clause */
/* Information elements and templates. README.md says what each is. */
#include <stddef.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_common.h>

#include "model.h"

#define COUNT_F (FB_IE_F_ENDIAN | FB_IE_TOTALCOUNTER)
#define GAUGE_F (FB_IE_F_ENDIAN | FB_IE_QUANTITY)
#define ID_F (FB_IE_F_ENDIAN | FB_IE_IDENTIFIER)

#define U64(name, number, flags, what) \
	FB_IE_INIT_FULL(name, 0, number, 8, flags, 0, 0, FB_UINT_64, what)
#define STRING(name, number, what) \
	FB_IE_INIT_FULL(name, 0, number, FB_IE_VARLEN, FB_IE_DEFAULT, 0, 0, FB_STRING, what)

/* What their names begin with keeps them apart from those of IANA. */
static const fbInfoElement_t own[TRIPD_MODEL_OWN + 1] = {
	U64("triplinePackets", 1, COUNT_F | FB_UNITS_PACKETS,
		"packets of a count; of a key, since it came to the table"),
	U64("triplineBytes", 2, COUNT_F | FB_UNITS_OCTETS,
		"bytes of these packets: frames without FCS"),
	U64("triplineError", 3, GAUGE_F,
		"so much the key may have had beside what was counted, before it came"),
	U64("triplinePolicedPackets", 4, COUNT_F | FB_UNITS_PACKETS,
		"packets of a count that were above a rate, and dropped"),
	U64("triplinePolicedBytes", 5, COUNT_F | FB_UNITS_OCTETS, "bytes of these packets"),
	U64("triplineRemainderPackets", 6, COUNT_F | FB_UNITS_PACKETS,
		"packets of keys that have gone from the table"),
	U64("triplineRemainderBytes", 7, COUNT_F | FB_UNITS_OCTETS, "bytes of these packets"),
	U64("triplineRefusedPackets", 8, COUNT_F | FB_UNITS_PACKETS,
		"of the remainder: packets of new keys for which there was no room in time"),
	U64("triplineRefusedBytes", 9, COUNT_F | FB_UNITS_OCTETS, "bytes of these packets"),
	U64("triplineKeys", 10, GAUGE_F | FB_UNITS_ENTRIES, "keys in the table now"),
	U64("triplineMax", 11, GAUGE_F | FB_UNITS_ENTRIES, "room for keys, of one queue"),
	U64("triplineAdmitted", 12, COUNT_F | FB_UNITS_ENTRIES, "keys that came"),
	U64("triplineEvicted", 13, COUNT_F | FB_UNITS_ENTRIES, "keys that went as they had least"),
	U64("triplineExpired", 14, COUNT_F | FB_UNITS_ENTRIES, "keys that went as they were idle"),
	U64("triplineFloor", 15, GAUGE_F,
		"what a key that is not in the table has had at most, packets or bytes"),
	U64("triplineValue", 16, GAUGE_F, "a counter; in a trip, the one that reached a threshold"),
	U64("triplineThreshold", 17, GAUGE_F, "what a counter has reached"),
	U64("triplineFirings", 18, GAUGE_F, "how often it was due by then"),
	U64("triplineLatency", 19, GAUGE_F | FB_UNITS_NANOSECONDS,
		"from the burst that reached it to the firing"),
	FB_IE_INIT_FULL("triplineLine", 0, 20, 4, ID_F, 0, 0, FB_UINT_32, "line of the rules"),
	FB_IE_INIT_FULL("triplineResult", 0, 21, 4, FB_IE_F_ENDIAN, 0, 0, FB_INT_32,
		"of the operation: 0, or a negative errno"),
	FB_IE_INIT_FULL("triplineEnds", 0, 22, 1, FB_IE_DEFAULT, 0, 0, FB_BOOL,
		"what had begun with the trip before has ended"),
	STRING("triplineCounter", 23, "whose value has reached the threshold"),
	STRING("triplineCondition", 24, "the condition, where it is more than a threshold"),
	STRING("triplineOperation", 25, "what was done"),
	STRING("triplineKey", 26, "a key that tripped, came or went, as text"),
	STRING("triplineKind", 27, "what the statement is: count, counter, each"),
	FB_IE_INIT_FULL("triplineTeid", 0, 28, 4, ID_F, 0, 0, FB_UINT_32, "TEID of GTP-U"),
	U64("triplineDroppedPackets", 29, COUNT_F | FB_UNITS_PACKETS,
		"packets that were dropped, of keys that had tripped, or for which there was no "
		"room"),
	U64("triplineDroppedBytes", 30, COUNT_F | FB_UNITS_OCTETS, "bytes of these packets"),
	U64("triplineHeld", 31, GAUGE_F | FB_UNITS_ENTRIES,
		"keys that stay, since something is being done to them"),
	FB_IE_INIT_FULL("triplineDropped", 0, 32, 1, FB_IE_DEFAULT, 0, 0, FB_BOOL,
		"packets of the key are being dropped"),
	STRING("triplineEvent", 33, "what became of a key: admission, eviction, expiry"),
	FB_IE_INIT_FULL("triplineQueue", 0, 34, 4, ID_F, 0, 0, FB_UINT_32,
		"which of the queues of its ports, from 0 on in their order"),
	FB_IE_NULL,
};

void
tripd_model_add(fbInfoModel_t *model, uint32_t enterprise)
{
	for (unsigned int i = 0; i < TRIPD_MODEL_OWN; i++) {
		fbInfoElement_t element = own[i];

		element.ent = enterprise;
		fbInfoModelAddElement(model, &element);
	}
}

struct spec {
	const char *name;
	uint16_t size;
};

/* From when to when, and what was counted in that time. */
#define FLOW                                                                               \
	{"flowStartMilliseconds", 8}, {"flowEndMilliseconds", 8}, {"packetDeltaCount", 8}, \
	{                                                                                  \
		"octetDeltaCount", 8                                                       \
	}

static const struct spec of_name[] = {
	{"observationPointId", 8}, {"triplineKind", 0}, {"selectorName", 0}, {0}};
static const struct spec of_count[] = {FLOW, {"triplinePackets", 8}, {"triplineBytes", 8},
	{"triplinePolicedPackets", 8}, {"triplinePolicedBytes", 8}, {"observationPointId", 8}, {0}};
static const struct spec of_value[] = {
	{"observationTimeNanoseconds", 8}, {"triplineValue", 8}, {"observationPointId", 8}, {0}};
static const struct spec of_remainder[] = {FLOW, {"triplineRemainderPackets", 8},
	{"triplineRemainderBytes", 8}, {"triplineRefusedPackets", 8}, {"triplineRefusedBytes", 8},
	{"observationPointId", 8}, {0}};
static const struct spec of_each[] = {{"observationPointId", 8}, {"triplinePackets", 8},
	{"triplineBytes", 8}, {"triplineKeys", 8}, {"triplineMax", 8}, {"triplineAdmitted", 8},
	{"triplineEvicted", 8}, {"triplineExpired", 8}, {"triplineFloor", 8}, {"triplineHeld", 8},
	{"triplineDroppedPackets", 8}, {"triplineDroppedBytes", 8}, {0}};
static const struct spec of_trip[] = {{"triplineCounter", 0}, {"triplineCondition", 0},
	{"triplineOperation", 0}, {"triplineKey", 0}, {"observationTimeNanoseconds", 8},
	{"triplineThreshold", 8}, {"triplineValue", 8}, {"triplineFirings", 8},
	{"triplineLatency", 8}, {"triplineLine", 4}, {"triplineResult", 4}, {"triplineEnds", 1},
	{0}};
static const struct spec of_change[] = {{"triplineEvent", 0}, {"selectorName", 0},
	{"triplineKey", 0}, {"observationTimeNanoseconds", 8}, {"triplinePackets", 8},
	{"triplineBytes", 8}, {"triplineError", 8}, {"triplineQueue", 4}, {0}};
static const struct spec of_lost[] = {{"exportingProcessId", 4}, {"notSentFlowTotalCount", 8}, {0}};

static const struct {
	const struct spec *specs;
	uint16_t n_scope;
} templates[] = {
	[TRIPD_MODEL_NAME - TRIPD_MODEL_TYPES] = {of_name, 1},
	[TRIPD_MODEL_COUNT - TRIPD_MODEL_TYPES] = {of_count, 0},
	[TRIPD_MODEL_VALUE - TRIPD_MODEL_TYPES] = {of_value, 0},
	[TRIPD_MODEL_REMAINDER - TRIPD_MODEL_TYPES] = {of_remainder, 0},
	[TRIPD_MODEL_EACH - TRIPD_MODEL_TYPES] = {of_each, 1},
	[TRIPD_MODEL_TRIP - TRIPD_MODEL_TYPES] = {of_trip, 0},
	[TRIPD_MODEL_LOST - TRIPD_MODEL_TYPES] = {of_lost, 1},
	[TRIPD_MODEL_CHANGE - TRIPD_MODEL_TYPES] = {of_change, 0},
};

uint16_t
tripd_model_specs(uint16_t id, fbInfoElementSpec_t specs[TRIPD_MODEL_SPECS])
{
	const struct spec *from = templates[id - TRIPD_MODEL_TYPES].specs;

	for (; from->name != NULL; from++)
		*specs++ = (fbInfoElementSpec_t){(char *)(uintptr_t)from->name, from->size, 0};
	*specs = (fbInfoElementSpec_t)FB_IESPEC_NULL;
	return templates[id - TRIPD_MODEL_TYPES].n_scope;
}

uint64_t
tripd_model_time(uint64_t ns)
{
	const uint64_t second = UINT64_C(1000000000), since_1900 = UINT64_C(2208988800);

	return ((ns / second + since_1900) << 32) | ((ns % second << 32) / second);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The text of a pattern is the rules language's: read again, it is the same pattern. */
#include <stdio.h>
#include <string.h>

#include <rte_common.h>
#include <rules.h>
#include <trip_client.h>
#include <trip_test.h>

#include "flow/flow.h"

static void
describe(const char *pattern, char *out, size_t size)
{
	struct trip_rules_errors *errors;
	struct trip_rules *rules;
	char text[512];

	snprintf(text, sizeof(text), "count x port 0 pattern %s\n", pattern);
	if (trip_rules_parse_text("text", text, strlen(text), &rules, &errors) != 0) {
		trip_rules_errors_print(errors, stdout);
		fail();
	}
	trip_flow_text(rules->counts[0].items, out, size);
	trip_rules_free(rules);
}

static void
texts_are_patterns(void **state)
{
	static const char *const patterns[] = {
		"eth / ipv4 / udp dst is 53 / end",
		"end",
		"eth dst is 02:00:00:00:00:01 type is 2048 has_vlan is 1 / end",
		"eth src spec 02:00:00:00:00:00 src mask 02:00:00:00:00:0f / end",
		"vlan vid is 5 inner_type is 2048 has_more_vlan is 0 / end",
		"ipv4 tos is 16 ttl is 64 src spec 10.1.0.0 src prefix 16 dst is 10.0.0.1 / end",
		"ipv4 src spec 10.0.0.1 src mask 255.0.0.255 / tcp src is 1 flags spec 2 flags "
		"mask 18 / end",
		"ipv6 proto is 17 src spec 2001:db8:: src prefix 32 dst is ::1 has_frag_ext is 1 / "
		"end",
		"sctp src is 1 dst is 2 tag is 3 cksum is 4 / end",
		"ipv4 / icmp type is 8 code is 0 ident is 1 seq is 2 / end",
		"ipv6 / icmp6 type is 128 code is 0 / end",
		"udp / vxlan vni is 77 last_rsvd is 1 / eth / ipv4 / tcp / end",
		"gre c_rsvd0_ver is 8192 protocol is 2048 / ipv4 / end",
		"vlan tci is 5 / end",
		"eth / vlan vid is 7 / mpls label is 16 / mpls label spec 1 label mask 5 tc is 1 s "
		"is 1 ttl "
		"is 64 / ipv4 src is 10.0.0.1 / end",
		"udp / geneve optlen is 2 protocol is 25944 vni is 5 / eth / ipv4 / end",
		"gtpu teid is 7 / gtp_psc pdu_t is 1 qfi is 9 / ipv6 dst is ::1 / tcp / end",
		"gtpu msg_type is 1 teid spec 256 teid prefix 24 / end",
		"ipv4 / esp spi is 4096 seq is 1 / end",
		"ipv6 / ah spi is 7 / end",
		"eth / pppoes seid is 5 / ipv4 dst is 10.0.0.1 / end",
		"vlan pcp spec 0 pcp mask 1 dei is 1 vid spec 1 vid mask 1 / end",
		"ipv6 tc is 46 flow spec 4096 flow prefix 8 / end",
		"gre c_rsvd0_ver spec 8193 c_rsvd0_ver mask 8199 / end",
		"ipv6 vtc_flow is 1610612736 / tcp seq is 1 ack is 2 / end",
	};

	for (unsigned int i = 0; i < RTE_DIM(patterns); i++) {
		char text[TRIP_CLIENT_PATTERN_MAX];

		/* The rules language wants an item. */
		if (strcmp(patterns[i], "end") == 0)
			trip_flow_text(NULL, text, sizeof(text));
		else
			describe(patterns[i], text, sizeof(text));
		assert_string_equal(text, patterns[i]);
	}
}

static void
what_has_no_words_is_named(void **state)
{
	static const struct rte_flow_item items[] = {
		{.type = RTE_FLOW_ITEM_TYPE_VOID},
		{.type = RTE_FLOW_ITEM_TYPE_NVGRE},
		{.type = RTE_FLOW_ITEM_TYPE_PORT_ID, .spec = "....."},
		{.type = RTE_FLOW_ITEM_TYPE_END},
	};
	char text[64];

	trip_flow_text(items, text, sizeof(text));
	assert_string_equal(text, "nvgre / port_id ... / end");
}

static void
what_has_no_room_is_cut(void **state)
{
	char text[24];

	describe("eth / ipv4 src is 10.0.0.1 / udp dst is 53 / end", text, sizeof(text));
	assert_string_equal(text, "eth / ipv4 src is 10...");
	assert_int_equal(strlen(text), sizeof(text) - 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_patterns),
		cmocka_unit_test(what_has_no_words_is_named),
		cmocka_unit_test(what_has_no_room_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

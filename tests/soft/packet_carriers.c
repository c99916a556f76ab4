/* SPDX-License-Identifier: BSD-3-Clause */
/* What carries other packets, or hides them: labels, GENEVE, GTP-U, PPPoE, ESP, AH. Frames are
 * written in hexadecimal digits; each is also cut and damaged at the places that matter. */
#include "pattern_match.h"
#include "soft_test.h"

#define ITEM(kind, ...)                                        \
	{                                                      \
		.type = RTE_FLOW_ITEM_TYPE_##kind, __VA_ARGS__ \
	}
#define END ITEM(END)
/* One byte of an item's structure. */
#define BYTE(at, value)                                                          \
	.spec = (const uint8_t[48]){[at] = (value)}, .mask = (const uint8_t[48]) \
	{                                                                        \
		[at] = 0xff                                                      \
	}
#define FROM_1 BYTE(15, 1)

static const struct {
	char letter;
	struct rte_flow_item items[6];
} patterns[] = {
	{'m', {ITEM(ETH), ITEM(MPLS), END}},
	{'l', {ITEM(MPLS, BYTE(1, 1)), END}},
	{'t', {ITEM(MPLS, BYTE(3, 64)), END}},
	{'M', {ITEM(MPLS), ITEM(MPLS), END}},
	{'T', {ITEM(MPLS), ITEM(MPLS, BYTE(3, 7)), END}},
	{'4', {ITEM(MPLS), ITEM(IPV4, FROM_1), END}},
	{'n', {ITEM(IPV4), ITEM(UDP), ITEM(GENEVE), END}},
	{'v', {ITEM(GENEVE, BYTE(6, 5)), END}},
	{'r', {ITEM(GENEVE, BYTE(7, 0)), END}},
	{'E', {ITEM(GENEVE), ITEM(ETH), ITEM(IPV4, FROM_1), END}},
	{'N', {ITEM(GENEVE), ITEM(IPV4, FROM_1), END}},
	{'g', {ITEM(ETH), ITEM(IPV4), ITEM(UDP), ITEM(GTPU), END}},
	{'d', {ITEM(GTPU, BYTE(7, 7)), END}},
	{'p', {ITEM(GTPU), ITEM(GTP_PSC), END}},
	{'q', {ITEM(GTPU), ITEM(GTP_PSC, BYTE(2, 9)), END}},
	{'i', {ITEM(UDP), ITEM(GTPU), ITEM(IPV4, FROM_1), END}},
	{'e', {ITEM(ESP), END}},
	{'s', {ITEM(IPV4), ITEM(ESP, BYTE(3, 7)), END}},
	{'S', {ITEM(ESP, BYTE(7, 1)), END}},
	{'a', {ITEM(AH), END}},
	{'h', {ITEM(AH, BYTE(7, 7)), END}},
	{'H', {ITEM(IPV6), ITEM(AH, BYTE(11, 1)), END}},
	{'o', {ITEM(PPPOES), END}},
	{'O', {ITEM(ETH), ITEM(PPPOES, BYTE(3, 5)), END}},
	{'P', {ITEM(PPPOES), ITEM(IPV4, FROM_1), END}},
	{'6', {ITEM(PPPOES), ITEM(IPV6), END}},
	{'c', {ITEM(TCP, BYTE(3, 80)), END}},
};

#define ETHERNET "020000000001 020000000002 "
#define IP_FROM_1 "45000014 00000000 40ff0000 0a000001 0a000002 "
#define UDP_TO(port) \
	ETHERNET "0800 45000000 00000000 40110000 0a000009 0a000002 1000" port "0000 0000 "

static uint32_t
digit(char c)
{
	return (uint32_t)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static struct frame
frame_of(const char *digits)
{
	struct frame frame = {.length = 0};

	while (*digits != 0) {
		uint8_t byte;

		if (*digits == ' ') {
			digits++;
			continue;
		}
		byte = (uint8_t)(digit(digits[0]) << 4 | digit(digits[1]));
		frame_put(&frame, &byte, 1);
		digits += 2;
	}
	return frame;
}

/* Of the first bytes of a frame; `cut` is how many are not there. */
static void
expect_cut(const char *digits, uint32_t cut, const char *expected)
{
	struct frame frame = frame_of(digits);
	char letters[RTE_DIM(patterns) + 1];
	struct trip_packet_fields fields;
	struct trip_pattern pattern;
	struct rte_mbuf *mbuf;
	size_t i, count = 0;

	frame.length -= cut;
	mbuf = mbuf_of(&frame);
	memset(&fields, 0xa5, sizeof(fields));
	for (i = 0; i < RTE_DIM(patterns); i++) {
		assert_int_equal(trip_pattern_compile(patterns[i].items, &pattern, NULL), 0);
		trip_packet_parse(mbuf, pattern_wants(&pattern), &fields);
		if (pattern_matches(&pattern, &fields))
			letters[count++] = patterns[i].letter;
	}
	letters[count] = 0;
	if (strcmp(letters, expected) != 0)
		fail_msg("%s without %u: found \"%s\", expected \"%s\"", digits, cut, letters,
			expected);
	mbuf_release(mbuf);
}

static void
expect(const char *digits, const char *expected)
{
	expect_cut(digits, 0, expected);
}

static void
labels_lead_to_ip_at_the_bottom(void **state)
{
	char deep[512] = ETHERNET "8847 ";

	expect(ETHERNET "8847 00010140 " IP_FROM_1, "mlt4");
	expect(ETHERNET "8100 0007 8847 00010140 " IP_FROM_1, "mlt4");
	expect(ETHERNET "8847 00010040 00020107 " IP_FROM_1, "mltMT4");
	/* Behind the bottom is something else than IP; what looks like a label there is none. */
	expect(ETHERNET "8847 00010140 00020107 ", "mlt");
	/* Multicast labels are given out by others, and are none of these. */
	expect(ETHERNET "8848 00010140 " IP_FROM_1, "");
	expect_cut(ETHERNET "8847 00010040 00020107 ", 1, "mltM");
	expect_cut(ETHERNET "8847 00010040 00020107 ", 5, "mlM");
	expect_cut(ETHERNET "8847 00010040 00020107 ", 6, "m");
	expect_cut(ETHERNET "8847 00010040 00020107 ", 9, "");
	for (unsigned int i = 0; i < 15; i++)
		strcat(deep, "00010040 ");
	strcat(deep, "00010140 " IP_FROM_1);
	expect(deep, "mltM4");
	memmove(strstr(deep, "00010140"), "00010040 00010140 " IP_FROM_1,
		sizeof("00010040 00010140 " IP_FROM_1));
	expect(deep, "mltM");
}

static void
geneve_leads_behind_its_options(void **state)
{
	static const char *const inner = "00000000 " IP_FROM_1;
	char all[1024] = UDP_TO("17c1") "3f000800 00000500 ";

	expect(UDP_TO("17c1") "00006558 00000500 " ETHERNET "0800 " IP_FROM_1, "nvrEN");
	expect(UDP_TO("17c1") "00000800 00000500 " IP_FROM_1, "nvrN");
	expect(UDP_TO("17c1") "01000800 00000500 00000000 " IP_FROM_1, "nvrN");
	/* Another version's header is not known. */
	expect(UDP_TO("17c1") "40000800 00000500 " IP_FROM_1, "nvr");
	expect(UDP_TO("17c2") "00000800 00000500 " IP_FROM_1, "");
	expect_cut(UDP_TO("17c1") "00000800 00000500 ", 1, "nv");
	expect_cut(UDP_TO("17c1") "00000800 00000500 ", 2, "n");
	for (unsigned int i = 0; i < 62; i++)
		strcat(all, "00000000 ");
	strcat(all, inner);
	expect(all, "nvrN");
	/* Options that end behind the packet. */
	expect(UDP_TO("17c1") "3f000800 00000500 " IP_FROM_1, "nvr");
}

#define EXTENSION(next) "01 0000 " next " "
#define FOUR EXTENSION("c0") EXTENSION("c0") EXTENSION("c0") EXTENSION("c0")

static void
gtpu_leads_behind_its_extensions(void **state)
{
	expect(UDP_TO("0868") "30ff0014 00000007 " IP_FROM_1, "gdi");
	expect(UDP_TO("0868") "32ff0014 00000007 00010000 " IP_FROM_1, "gdi");
	expect(UDP_TO("0868") "31ff0014 00000007 00000100 " IP_FROM_1, "gdi");
	/* Without the flag, the byte that would be a type says nothing. */
	expect(UDP_TO("0868") "32ff0014 00000007 00010085 " IP_FROM_1, "gdi");
	expect(UDP_TO("0868") "34ff0014 00000007 00000085 01000900 " IP_FROM_1, "gdpqi");
	expect(UDP_TO("0868") "34ff0014 00000007 000000c0 01000085 01000900 " IP_FROM_1, "gdpqi");
	/* Of two, the first. */
	expect(UDP_TO("0868") "34ff0014 00000007 00000085 01000885 01000900 " IP_FROM_1, "gdpi");
	/* Not a packet, not version 1, GTP'. */
	expect(UDP_TO("0868") "30010000 00000007 " IP_FROM_1, "gd");
	expect(UDP_TO("0868") "50ff0014 00000007 " IP_FROM_1, "gd");
	expect(UDP_TO("0868") "20ff0014 00000007 " IP_FROM_1, "gd");
	expect(UDP_TO("084b") "30ff0014 00000007 " IP_FROM_1, "");
	/* An extension of no length, one that ends behind the packet, and too many. */
	expect(UDP_TO("0868") "34ff0014 00000007 00000085 00000900 " IP_FROM_1, "gdpq");
	expect(UDP_TO("0868") "34ff0014 00000007 000000c0 ff000000 " IP_FROM_1, "gd");
	expect(UDP_TO("0868") "34ff0014 00000007 000000c0 " FOUR "010000c0 010000c0 010000c0 "
			      "01000000 " IP_FROM_1,
		"gdi");
	expect(UDP_TO("0868") "34ff0014 00000007 000000c0 " FOUR FOUR "01000000 " IP_FROM_1, "gd");
	expect_cut(UDP_TO("0868") "34ff0014 00000007 00000085 01000900 ", 1, "gdpq");
	expect_cut(UDP_TO("0868") "34ff0014 00000007 00000085 01000900 ", 2, "gdp");
	expect_cut(UDP_TO("0868") "34ff0014 00000007 00000085 01000900 ", 5, "gd");
	expect_cut(UDP_TO("0868") "34ff0014 00000007 ", 1, "g");
}

static void
sessions_carry_ip(void **state)
{
	expect(ETHERNET "8864 11000005 0016 0021 " IP_FROM_1, "oOP");
	expect(ETHERNET "8100 0007 8864 11000005 0016 0021 " IP_FROM_1, "oOP");
	expect(ETHERNET "8864 11000005 0016 0057 60000000 ", "oO6");
	/* Its own control, discovery in a session's number, and another version. */
	expect(ETHERNET "8864 11000005 0016 c021 " IP_FROM_1, "oO");
	expect(ETHERNET "8864 11a70005 0016 0021 " IP_FROM_1, "oO");
	expect(ETHERNET "8864 21000005 0016 0021 " IP_FROM_1, "oO");
	expect(ETHERNET "8863 11000005 0016 0021 " IP_FROM_1, "");
	expect_cut(ETHERNET "8864 11000005 0016 0021 ", 1, "oO");
	expect_cut(ETHERNET "8864 11000005 0016 0021 ", 4, "oO");
	expect_cut(ETHERNET "8864 11000005 0016 0021 ", 5, "o");
}

#define IP4(fragment, proto) \
	ETHERNET "0800 45000000 0000" fragment " 40" proto "0000 0a000009 0a000002 "
#define IP6(next)                                                            \
	ETHERNET "86dd 60000000 0000" next                                   \
		 "40 20010db8000000000000000000000001 20010db80000000000000" \
		 "00000000002 "

static void
security_headers_have_an_spi(void **state)
{
	expect(IP4("0000", "32") "00000007 00000001 ", "esS");
	/* Enough of it for the short way. */
	expect(IP4("0000", "32") "00000007 00000001 00000000 00000000 00000000 ", "esS");
	expect(IP4("0001", "32") "00000007 00000001 ", "e");
	expect(IP6("32") "00000007 00000001 ", "eS");
	expect(IP6("00") "3200000000000000 00000007 00000001 ", "eS");
	expect_cut(IP4("0000", "32") "00000007 00000001 ", 1, "es");
	expect_cut(IP4("0000", "32") "00000007 00000001 ", 5, "e");

	expect(IP4("0000", "33") "06040000 00000007 00000001 00000000 10000050 00000000 ", "ah");
	expect(IP4("0001", "33") "06040000 00000007 00000001 ", "a");
	/* Of IPv6 it is an extension: what it stands before is found. */
	expect(IP6("33") "06020000 00000007 00000001 00000000 10000050 00000000 ", "ahHc");
	expect(IP6("2c") "33000001 00000000 06010000 00000007 00000001 10000050 00000000 ", "ahHc");
	expect(IP6("2c") "33000010 00000000 06010000 00000007 00000001 10000050 00000000 ", "a");
	/* Of two, the first. */
	expect(IP6("33") "33010000 00000008 00000001 06010000 00000007 00000002 10000050 ", "aHc");
	expect_cut(IP6("33") "06010000 00000007 00000001 ", 1, "ah");
	expect_cut(IP6("33") "06010000 00000007 00000001 ", 5, "a");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(labels_lead_to_ip_at_the_bottom),
		cmocka_unit_test(geneve_leads_behind_its_options),
		cmocka_unit_test(gtpu_leads_behind_its_extensions),
		cmocka_unit_test(sessions_carry_ip),
		cmocka_unit_test(security_headers_have_an_spi),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which patterns have a packet in common, for random pairs of them: a small world of packets holds
 * one for everything that these patterns can ask for, so those overlap that some packet of it
 * matches both of.
 */
#include <string.h>

#include "rules_good.h"
#include "rules_priv.h"

/* A packet, and the one within it. */
struct packet {
	unsigned int n_tags, l3, upper, tunnel;
	bool fragment, l4_there;
	uint8_t eth[14], vlan[3][4], ip[40], l4[20], head[8];
	const struct packet *inner;
};

static bool
same(const struct rte_flow_item *item, const uint8_t *bytes, size_t n)
{
	const uint8_t *spec = item->spec, *mask = item->mask;

	for (size_t i = 0; spec != NULL && i < n; i++) {
		if (((spec[i] ^ bytes[i]) & mask[i]) != 0)
			return false;
	}
	return true;
}

static bool
looks(const struct rte_flow_item *item, size_t n)
{
	const uint8_t *mask = item->mask;

	for (size_t i = 0; mask != NULL && i < n; i++) {
		if (mask[i] != 0)
			return true;
	}
	return false;
}

static bool
matches_l4(const struct rte_flow_item *item, const struct packet *packet, unsigned int upper,
	size_t size)
{
	return packet->l3 != 0 && packet->upper == upper &&
	       (!looks(item, size) || (packet->l4_there && same(item, packet->l4, size)));
}

static bool matches(const struct rte_flow_item *item, const struct packet *packet);

static bool
matches_tunnel(const struct rte_flow_item *item, const struct packet *packet, unsigned int upper,
	size_t size)
{
	bool behind = item[1].type != RTE_FLOW_ITEM_TYPE_END;

	if (packet->upper != upper || (upper == 17 && packet->tunnel != 17))
		return false;
	if ((looks(item, size) || behind) &&
		(packet->tunnel != upper || !packet->l4_there || !same(item, packet->head, size)))
		return false;
	return !behind || matches(item + 1, packet->inner);
}

/* One way of reading a pattern, a header at a time. */
static bool
matches(const struct rte_flow_item *item, const struct packet *packet)
{
	const struct rte_flow_item_eth *eth = item->spec, *eth_mask = item->mask;
	const struct rte_flow_item_ipv6 *ipv6 = item->spec, *ipv6_mask = item->mask;
	unsigned int n_tags = 0;

	if (item->type == RTE_FLOW_ITEM_TYPE_ETH) {
		/* Only in Ethernet, of which GRE may have none. */
		if (packet->eth[0] == 0xff || !same(item, packet->eth, 14) ||
			(eth != NULL && eth_mask->has_vlan &&
				eth->has_vlan != (packet->n_tags > 0)))
			return false;
		item++;
	}
	for (; item->type == RTE_FLOW_ITEM_TYPE_VLAN; item++, n_tags++) {
		if (n_tags == packet->n_tags || !same(item, packet->vlan[n_tags], 4))
			return false;
	}
	if (n_tags > 0 && n_tags != packet->n_tags)
		return false;
	if (item->type == RTE_FLOW_ITEM_TYPE_IPV4) {
		if (packet->l3 != 4 || !same(item, packet->ip, 20))
			return false;
		item++;
	} else if (item->type == RTE_FLOW_ITEM_TYPE_IPV6) {
		ipv6 = item->spec;
		ipv6_mask = item->mask;
		if (packet->l3 != 6 || !same(item, packet->ip, 40) ||
			(ipv6 != NULL && ipv6_mask->has_frag_ext &&
				ipv6->has_frag_ext != packet->fragment))
			return false;
		item++;
	}
	switch (item->type) {
	case RTE_FLOW_ITEM_TYPE_TCP:
		return matches_l4(item, packet, 6, 20);
	case RTE_FLOW_ITEM_TYPE_UDP:
		if (!matches_l4(item, packet, 17, 8))
			return false;
		return item[1].type == RTE_FLOW_ITEM_TYPE_END || matches(item + 1, packet);
	case RTE_FLOW_ITEM_TYPE_ICMP:
		return packet->l3 == 4 && matches_l4(item, packet, 1, 8);
	case RTE_FLOW_ITEM_TYPE_ICMP6:
		return packet->l3 == 6 && matches_l4(item, packet, 58, 4);
	case RTE_FLOW_ITEM_TYPE_VXLAN:
		return matches_tunnel(item, packet, 17, 8);
	case RTE_FLOW_ITEM_TYPE_GRE:
		return packet->l3 != 0 && matches_tunnel(item, packet, 47, 4);
	default:
		assert_int_equal(item->type, RTE_FLOW_ITEM_TYPE_END);
		return true;
	}
}

#define WORLD_MAX (1 << 17)

struct world {
	struct packet list[WORLD_MAX];
	unsigned int n;
};

static void
put16(uint8_t *to, unsigned int value)
{
	to[0] = (uint8_t)(value >> 8);
	to[1] = (uint8_t)value;
}

static void
add(struct world *world, const struct packet *packet)
{
	assert_true(world->n < WORLD_MAX);
	world->list[world->n++] = *packet;
}

/* Behind as many tags as a packet may have. */
static void
add_tagged(struct world *world, struct packet packet, unsigned int type)
{
	for (unsigned int tags = 0; tags <= 3; tags++) {
		unsigned int variants = tags == 0 || tags == 3 ? 1 : 4;

		for (unsigned int v = 0; v < variants; v++) {
			packet.n_tags = tags;
			put16(packet.eth + 12, tags == 0 ? type : v < 2 ? 0x8100 : 0x88a8);
			for (unsigned int i = 0; i < tags; i++) {
				put16(packet.vlan[i], (v & 1) + i);
				put16(packet.vlan[i] + 2, i + 1 == tags ? type : 0x8100);
			}
			add(world, &packet);
		}
	}
}

/* With the L4 contents that matter, and with tunnels where `inners` has packets for them. */
static void
add_l4(struct world *world, struct packet packet, const struct world *inners, bool tags)
{
	unsigned int type = packet.l3 == 4 ? 0x800 : 0x86dd;

	for (unsigned int dst = 0; dst < 2; dst++) {
		put16(packet.l4 + 2, dst);
		packet.l4[0] = (uint8_t)dst;
		if (tags)
			add_tagged(world, packet, type);
		else
			add(world, &packet);
	}
	for (unsigned int i = 0; i < 2 * inners->n && packet.l4_there; i++) {
		const struct packet *inner = &inners->list[i / 2];
		bool bare = inner->eth[0] == 0xff;

		if (packet.upper == 47 ? i & 1 : packet.upper != 17 || bare)
			continue;
		packet.tunnel = packet.upper;
		packet.inner = inner;
		if (packet.upper == 17) {
			put16(packet.l4 + 2, 4789);
			packet.head[6] = (uint8_t)(i & 1);
		} else {
			put16(packet.head + 2, !bare ? 0x6558 : inner->l3 == 4 ? 0x800 : 0x86dd);
		}
		if (tags)
			add_tagged(world, packet, type);
		else
			add(world, &packet);
	}
}

static void
add_ip(struct world *world, struct packet packet, const struct world *inners, bool tags)
{
	static const uint8_t protos[] = {1, 6, 17, 44, 47, 58};
	static const uint8_t chains[] = {0, 44, 60, 61};

	for (unsigned int i = 0; i < 2 * RTE_DIM(protos); i++) {
		packet.l3 = 4;
		packet.upper = protos[i / 2];
		packet.l4_there = (i & 1) == 0;
		packet.fragment = false;
		memset(packet.ip, 0, sizeof(packet.ip));
		packet.ip[7] = (uint8_t)(i & 1);
		packet.ip[9] = protos[i / 2];
		add_l4(world, packet, inners, tags);
	}
	for (unsigned int i = 0; i < RTE_DIM(protos) * RTE_DIM(chains); i++) {
		uint8_t chain = chains[i % RTE_DIM(chains)];

		packet.l3 = 6;
		packet.upper = protos[i / RTE_DIM(chains)];
		packet.l4_there = true;
		if (packet.upper == 44)
			continue;
		memset(packet.ip, 0, sizeof(packet.ip));
		packet.fragment = chain == 44 || chain == 61;
		packet.ip[6] = chain == 0 ? (uint8_t)packet.upper : chain == 61 ? 60 : chain;
		add_l4(world, packet, inners, tags);
	}
}

static void
make_world(struct world *world, struct world *inners, const struct world *nothing)
{
	struct packet packet;

	inners->n = 0;
	memset(&packet, 0, sizeof(packet));
	add_tagged(inners, packet, 0x806);
	add_ip(inners, packet, nothing, true);
	/* Without Ethernet: IP in GRE. */
	packet.eth[0] = 0xff;
	add_ip(inners, packet, nothing, false);
	world->n = 0;
	memset(&packet, 0, sizeof(packet));
	add_tagged(world, packet, 0x806);
	add_ip(world, packet, inners, true);
}

static const char *
pick(struct trip_random *random, const char *const *list, size_t n)
{
	return list[trip_random_below(random, n)];
}
#define PICK(random, ...)                                \
	pick(random, (const char *const[]){__VA_ARGS__}, \
		sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* One level of a pattern, the last item of which may be a tunnel. */
static size_t
random_level(struct trip_random *random, char *to, bool inner)
{
	const char *eth = PICK(random, "", "eth / ", "eth / ", "eth type is 0x800 / ",
		"eth type is 0x806 / ", "eth type is 0x8100 / ", "eth has_vlan is 0 / ",
		"eth has_vlan is 1 / ", "eth type spec 0x800 type mask 0x7ff / ");
	const char *vlan = PICK(random, "", "", "", "vlan / ", "vlan vid is 1 / ",
		"vlan inner_type is 0x800 / ", "vlan / vlan / ", "vlan / vlan vid is 1 / ");
	unsigned int l3 = (unsigned int)trip_random_below(random, 3);
	const char *ip = l3 == 0 ? ""
			 : l3 == 1
				 ? PICK(random, "ipv4 / ", "ipv4 proto is 17 / ",
					   "ipv4 proto spec 1 proto mask 1 / ",
					   "ipv4 fragment_offset is 1 / ",
					   "ipv4 fragment_offset spec 0 fragment_offset mask 1 / ")
				 : PICK(random, "ipv6 / ", "ipv6 proto is 17 / ",
					   "ipv6 proto is 44 / ", "ipv6 proto is 60 / ",
					   "ipv6 has_frag_ext is 1 / ", "ipv6 has_frag_ext is 0 / ",
					   "ipv6 proto spec 32 proto mask 32 / ",
					   "ipv6 proto spec 44 proto mask 60 has_frag_ext is 0 / ");
	const char *l4 = PICK(random, "", "", "tcp / ", "udp / ", "tcp dst is 1 / ",
		"udp dst is 0 / ", "udp dst is 1 / ", "udp dst range 0-1 / ", "gre / ",
		"gre protocol is 0x800 / ", "udp / vxlan / ", "vxlan / ", "vxlan vni is 1 / ");

	/* L4 and vxlan stand behind IP and udp, or behind nothing. */
	if (l3 == 0 && (eth[0] != '\0' || vlan[0] != '\0'))
		l4 = "";
	if (l3 != 0 && strncmp(l4, "vxlan", 5) == 0)
		l4 = "";
	if (inner && (strstr(l4, "vxlan") != NULL || strstr(l4, "gre") != NULL))
		l4 = "";
	if (l4[0] == '\0' && l3 == 1 && trip_random_below(random, 4) == 0)
		l4 = "icmp type is 1 / ";
	if (l4[0] == '\0' && l3 == 2 && trip_random_below(random, 4) == 0)
		l4 = "icmp6 / ";
	return (size_t)sprintf(to, "%s%s%s%s", eth, vlan, ip, l4);
}

static struct trip_rules *
random_rule(struct trip_random *random)
{
	char text[512] = "count a port 0 pattern ";
	size_t from = strlen(text), n = from;

	while (n == from)
		n += random_level(random, text + n, false);
	if ((strstr(text, "vxlan") != NULL || strstr(text, "gre") != NULL) &&
		trip_random_below(random, 3) > 0)
		n += random_level(random, text + n, true);
	sprintf(text + n, "end");
	return good(text);
}

#define RULES 150

static bool
any_matches(const struct trip_rules_count *count, const struct packet *packet)
{
	for (unsigned int i = 0; i < count->n_patterns; i++) {
		if (matches(count->patterns[i], packet))
			return true;
	}
	return false;
}

/* The text of a rule, from its pattern to its end without "/ end". */
static void
pattern_of(const struct trip_rules *rules, char to[512])
{
	const char *from = strstr(rules->counts[0].source, "pattern ") + 8;

	snprintf(to, 512, "%.*s", (int)(strlen(from) - 6), from);
}

static void
test_random(void **state)
{
	static struct world world, inners;
	static const struct world nothing;
	static uint64_t in[RULES][WORLD_MAX / 64]; /* which packets each rule matches */
	struct trip_random random = {.state = trip_test_seed("overlap")};
	struct trip_rules *rules[RULES];
	char a[512], b[512];

	make_world(&world, &inners, &nothing);
	for (unsigned int i = 0; i < RULES; i++) {
		rules[i] = random_rule(&random);
		for (unsigned int k = 0; k < world.n; k++)
			in[i][k / 64] |= (uint64_t)any_matches(&rules[i]->counts[0], &world.list[k])
					 << k % 64;
	}
	for (unsigned int i = 0; i < RULES; i++) {
		for (unsigned int j = 0; j < i; j++) {
			unsigned int k = 0;

			while (k < RTE_DIM(in[i]) && (in[i][k] & in[j][k]) == 0)
				k++;
			pattern_of(rules[i], a);
			pattern_of(rules[j], b);
			if (overlap(a, b) != (k < RTE_DIM(in[i])))
				fail_msg("%s and %s: %d expected", a, b, k < RTE_DIM(in[i]));
		}
	}
	for (unsigned int i = 0; i < RULES; i++)
		trip_rules_free(rules[i]);
}

/* Of packets that the world above does not have: whether two patterns have one in common. */
static const struct {
	const char *a, *b;
	bool meet;
} pairs[] = {
	{"mpls label is 16", "eth / mpls label is 16 / ipv4", true},
	{"mpls label is 16", "mpls label is 17", false},
	{"mpls s is 1", "mpls / mpls", false},
	{"mpls label is 16 / mpls label is 18", "mpls / mpls label is 17", false},
	{"mpls label is 16", "mpls / mpls label is 17", true},
	{"eth / vlan / mpls", "eth / vlan / ipv4", false},
	{"eth type is 0x8847", "mpls ttl is 1", true},
	{"eth type is 0x0800", "mpls", false},
	{"mpls / ipv4", "mpls / ipv6", false},
	{"geneve vni is 5", "udp / geneve vni is 5 / eth / ipv4", true},
	{"geneve protocol is 0x0800", "geneve / eth / ipv4", false},
	{"geneve protocol is 0x0800", "geneve / ipv4", true},
	{"geneve protocol is 0x0800", "geneve / ipv6", false},
	{"geneve", "vxlan", false},
	{"geneve", "udp dst is 6081", true},
	{"gtpu teid is 7", "gtpu teid is 7 / ipv4 src is 10.0.0.1", true},
	{"gtpu msg_type is 1", "gtpu / ipv4", false},
	{"gtpu / ipv4", "gtpu / ipv6", false},
	{"gtpu / gtp_psc qfi is 9", "gtpu / ipv4", true},
	{"gtp_psc qfi is 9", "gtpu / gtp_psc qfi is 8", false},
	{"gtp_psc", "udp dst is 53", false},
	{"gtpu", "tcp", false},
	{"pppoes seid is 1", "eth / pppoes / ipv4", true},
	{"pppoes seid is 1", "pppoes seid is 2 / ipv6", false},
	{"pppoes", "mpls", false},
	{"pppoes / ipv4", "ipv4", false},
	{"esp spi is 1", "ipv6 / esp spi is 2", false},
	{"esp spi is 1", "ipv4 proto is 50", true},
	{"esp", "ah", true},
	{"ipv4 / esp", "ah", false},
	{"ipv4 / tcp", "ah", false},
	{"ipv4 proto is 51", "ah spi is 5", true},
	{"tcp", "ah spi is 5", true},
	{"ipv6 / tcp", "ipv6 / ah spi is 5", true},
	{"ipv6 proto is 6", "ah", false},
	{"ipv6 proto is 51", "ah", true},
	{"ipv6 proto is 43", "ah", true},
	{"ipv4 / ah", "ipv6 / ah", false},
	{"ah spi is 1", "ah spi is 2", false},
	{"ipv4 fragment_offset is 100", "ipv4 / ah", true},
	{"ipv4 fragment_offset is 100", "ipv4 / ah spi is 1", false},
};

static struct trip_rules_match
match_of(const char *pattern)
{
	struct trip_rules_errors *errors;
	struct trip_rules_match match;
	struct trip_rules *rules;
	char text[128];

	snprintf(text, sizeof(text), "count x port 0 pattern %s / end\n", pattern);
	if (trip_rules_parse_text("text", text, strlen(text), &rules, &errors) != 0) {
		trip_rules_errors_print(errors, stdout);
		fail();
	}
	assert_true(trip_rules_match_compile(rules->counts[0].items, &match));
	trip_rules_free(rules);
	return match;
}

static void
test_pairs(void **state)
{
	for (size_t i = 0; i < RTE_DIM(pairs); i++) {
		struct trip_rules_match a = match_of(pairs[i].a), b = match_of(pairs[i].b);

		if (trip_rules_match_meets(&a, &b) != pairs[i].meet ||
			trip_rules_match_meets(&b, &a) != pairs[i].meet)
			fail_msg("%s, %s: expected %d", pairs[i].a, pairs[i].b, pairs[i].meet);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_pairs),
	};

	return cmocka_run_group_tests_name("rules_match", tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules of the verbs engine: a list of specifications becomes a mask and a value (packet.h), and
 * what the actions say. Rules with one mask and priority share a matcher. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "device.h"

struct verbs_flow {
	struct ibv_flow ibv;
	struct vcx_device *device;
	struct ibv_qp *qp;
	struct vcx_rule *rule;
};

/* Both sides of a match while it is put together. */
struct match {
	union vcx_key mask, value;
};

static void
both(struct match *match, unsigned section, unsigned bit, unsigned width, uint32_t mask,
	uint32_t value)
{
	vcx_packet_set(&match->mask, section, bit, width, mask);
	vcx_packet_set(&match->value, section, bit, width, value & mask);
}

static void
both_bytes(struct match *match, unsigned bit, const void *mask, const void *value, size_t bytes)
{
	memcpy(match->mask.bytes + bit / 8, mask, bytes);
	memcpy(match->value.bytes + bit / 8, value, bytes);
}

static void
add_eth(struct match *match, unsigned section, const struct ibv_flow_spec_eth *eth)
{
	both_bytes(match, section + 0x40, eth->mask.dst_mac, eth->val.dst_mac, 6);
	both_bytes(match, section, eth->mask.src_mac, eth->val.src_mac, 6);
	both(match, section, VCX_ETHERTYPE, be16toh(eth->mask.ether_type),
		be16toh(eth->val.ether_type));
	if (eth->mask.vlan_tag != 0) {
		both(match, section, VCX_VLAN_TCI, be16toh(eth->mask.vlan_tag),
			be16toh(eth->val.vlan_tag));
		both(match, section, VCX_CVLAN, 1, 1);
	}
}

static void
add_ipv4(struct match *match, unsigned section, const struct ibv_flow_spec_ipv4_ext *ip)
{
	both(match, section, VCX_IP_VERSION, 0xf, 4);
	both_bytes(match, section + VCX_IP_SRC + 96, &ip->mask.src_ip, &ip->val.src_ip, 4);
	both_bytes(match, section + VCX_IP_DST + 96, &ip->mask.dst_ip, &ip->val.dst_ip, 4);
	both(match, section, VCX_IP_PROTOCOL, ip->mask.proto, ip->val.proto);
	both(match, section, VCX_IP_TOS, ip->mask.tos, ip->val.tos);
	both(match, section, VCX_IP_TTL, ip->mask.ttl, ip->val.ttl);
}

static void
add_ipv6(struct match *match, unsigned section, const struct ibv_flow_spec_ipv6 *ip)
{
	uint32_t mask = be32toh(ip->mask.flow_label), value = be32toh(ip->val.flow_label);

	both(match, section, VCX_IP_VERSION, 0xf, 6);
	both_bytes(match, section + VCX_IP_SRC, ip->mask.src_ip, ip->val.src_ip, 16);
	both_bytes(match, section + VCX_IP_DST, ip->mask.dst_ip, ip->val.dst_ip, 16);
	if (section == VCX_OUTER)
		both(match, VCX_MISC, VCX_FLOW_LABEL, mask, value);
	else
		both(match, VCX_MISC, VCX_INNER_FLOW_LABEL, mask, value);
	both(match, section, VCX_IP_PROTOCOL, ip->mask.next_hdr, ip->val.next_hdr);
	both(match, section, VCX_IP_TOS, ip->mask.traffic_class, ip->val.traffic_class);
	both(match, section, VCX_IP_TTL, ip->mask.hop_limit, ip->val.hop_limit);
}

static void
add_ports(struct match *match, unsigned section, const struct ibv_flow_spec_tcp_udp *l4, bool tcp)
{
	uint32_t src_mask = be16toh(l4->mask.src_port), src = be16toh(l4->val.src_port);
	uint32_t dst_mask = be16toh(l4->mask.dst_port), dst = be16toh(l4->val.dst_port);

	if (tcp) {
		both(match, section, VCX_IP_PROTOCOL, 0xff, 6);
		both(match, section, VCX_TCP_SPORT, src_mask, src);
		both(match, section, VCX_TCP_DPORT, dst_mask, dst);
	} else {
		both(match, section, VCX_IP_PROTOCOL, 0xff, 17);
		both(match, section, VCX_UDP_SPORT, src_mask, src);
		both(match, section, VCX_UDP_DPORT, dst_mask, dst);
	}
}

static void
add_gre(struct match *match, const struct ibv_flow_spec_gre *gre)
{
	both(match, VCX_OUTER, VCX_IP_PROTOCOL, 0xff, 47);
	both(match, VCX_MISC, VCX_GRE_FLAGS, be16toh(gre->mask.c_ks_res0_ver) >> 12,
		be16toh(gre->val.c_ks_res0_ver) >> 12);
	both(match, VCX_MISC, VCX_GRE_PROTOCOL, be16toh(gre->mask.protocol),
		be16toh(gre->val.protocol));
	both(match, VCX_MISC, VCX_GRE_KEY, be32toh(gre->mask.key), be32toh(gre->val.key));
}

/* Adds one specification; false where the device has no such thing. */
static bool
add_spec(struct match *match, struct vcx_actions *actions, const struct ibv_flow_spec *spec)
{
	unsigned section = spec->hdr.type & IBV_FLOW_SPEC_INNER ? VCX_INNER : VCX_OUTER;

	switch ((unsigned)spec->hdr.type & ~(unsigned)IBV_FLOW_SPEC_INNER) {
	case IBV_FLOW_SPEC_ETH:
		add_eth(match, section, &spec->eth);
		return true;
	case IBV_FLOW_SPEC_IPV4_EXT:
		add_ipv4(match, section, &spec->ipv4_ext);
		return true;
	case IBV_FLOW_SPEC_IPV6:
		add_ipv6(match, section, &spec->ipv6);
		return true;
	case IBV_FLOW_SPEC_TCP:
	case IBV_FLOW_SPEC_UDP:
		add_ports(match, section, &spec->tcp_udp,
			((unsigned)spec->hdr.type & ~(unsigned)IBV_FLOW_SPEC_INNER) ==
				IBV_FLOW_SPEC_TCP);
		return true;
	case IBV_FLOW_SPEC_VXLAN_TUNNEL:
		both(match, VCX_MISC, VCX_VXLAN_VNI, be32toh(spec->tunnel.mask.tunnel_id),
			be32toh(spec->tunnel.val.tunnel_id));
		return true;
	case IBV_FLOW_SPEC_GRE:
		add_gre(match, &spec->gre);
		return true;
	case IBV_FLOW_SPEC_ACTION_TAG:
		actions->tag = spec->flow_tag.tag_id;
		actions->tagged = true;
		return true;
	case IBV_FLOW_SPEC_ACTION_DROP:
		actions->drop = true;
		return true;
	case IBV_FLOW_SPEC_ACTION_COUNT:
		actions->counter = &vcx_counter_of(spec->flow_count.counters)->counter[0];
		return true;
	default:
		return false;
	}
}

static bool
translate(const struct ibv_flow_attr *attr, struct match *match, struct vcx_actions *actions)
{
	const char *at = (const char *)(attr + 1);

	if (attr->type != IBV_FLOW_ATTR_NORMAL)
		return false;
	for (unsigned i = 0; i < attr->num_of_specs; i++) {
		const struct ibv_flow_spec *spec = (const void *)at;

		if (!add_spec(match, actions, spec))
			return false;
		at += spec->hdr.size;
	}
	return true;
}

static struct vcx_rule *
add_rule(struct vcx_device *device, struct match *match, uint16_t priority,
	const struct vcx_actions *actions)
{
	struct vcx_matcher *matcher =
		vcx_match_matcher(&device->root, &match->mask, priority, true);
	struct vcx_rule *rule =
		matcher == NULL ? NULL : vcx_match_add(matcher, &match->value, actions);

	if (rule != NULL)
		device->rule_count++;
	else if (matcher != NULL && matcher->rules == 0)
		vcx_match_matcher_free(matcher);
	return rule;
}

struct ibv_flow *
vcx_flow_create(struct ibv_qp *qp, struct ibv_flow_attr *attr)
{
	struct vcx_device *device = vcx_device_context(qp->context)->device;
	struct vcx_actions actions = {.rss = vcx_objects_rss(qp)};
	struct match match = {.mask = {.words = {0}}};
	struct verbs_flow *flow = NULL;
	int error = vcx_device_command(device, VCX_RULE_CREATE);

	if (error == 0 && !translate(attr, &match, &actions))
		error = EOPNOTSUPP;
	if (error == 0 && (flow = calloc(1, sizeof(*flow))) == NULL)
		error = ENOMEM;
	if (error == 0) {
		pthread_mutex_lock(&device->lock);
		flow->rule = add_rule(device, &match, attr->priority, &actions);
		pthread_mutex_unlock(&device->lock);
		error = flow->rule == NULL ? ENOMEM : 0;
	}
	if (error != 0) {
		free(flow);
		errno = error;
		return NULL;
	}
	flow->ibv.context = qp->context;
	flow->device = device;
	flow->qp = qp;
	vcx_objects_use(qp, 1);
	return &flow->ibv;
}

int
vcx_flow_destroy(struct ibv_flow *ibv)
{
	struct verbs_flow *flow = (struct verbs_flow *)ibv;
	struct vcx_device *device = flow->device;
	struct vcx_matcher *matcher = flow->rule->matcher;

	vcx_device_ended(device, VCX_RULE_DESTROY);
	pthread_mutex_lock(&device->lock);
	vcx_match_remove(flow->rule);
	if (matcher->rules == 0)
		vcx_match_matcher_free(matcher);
	device->rule_count--;
	pthread_mutex_unlock(&device->lock);
	vcx_objects_use(flow->qp, -1);
	free(flow);
	return 0;
}

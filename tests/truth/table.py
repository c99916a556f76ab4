# SPDX-License-Identifier: BSD-3-Clause
"""Rules, each with what tcpdump and tshark are asked instead (filters.py says how and why)."""
from collections import namedtuple

from filters import *

# `tcpdump` is a filter, or several of which a frame is to match one. `words` ask tshark about well-behaved
# frames, `bytes` about all others (None: tcpdump alone is asked).
Rule = namedtuple('Rule', 'name pattern tcpdump words bytes direction', defaults=('',))

# 802.1ad has another name than 802.1Q in tshark, and where there are two, a third for both together.
OUTER_TAG = 'frame.protocols matches "^eth:ethertype:{0}(?!:ethertype:(vlan|ieee8021ad))(:|$)"'


FRAME = ':eth:ethertype' + TAGGED
CARRIED = f'gre({FRAME}|:)'
OUTER = '(ip|ipv6):'


def one_tag(vid=None):
    """Exactly one, with this VID where one is given. Tags in tunnels are further behind."""
    test = '' if vid is None else f' == {vid}'
    return f'(({OUTER_TAG.format("vlan")} and vlan.id#1{test}) or' \
        f' ({OUTER_TAG.format("ieee8021ad")} and ieee8021ad.id#1{test}))'


def behind_tags(count, kind):
    """tshark by bytes: exactly so many tags, then this EtherType."""
    return f'{tags_at(count)} and {eq(12 + 4 * count, kind)}'


FIRST_TAG = 'frame.protocols matches "^eth:ethertype:(vlan|ieee8021ad):"'

ETH = (
    Rule('all', 'eth', 'len >= 0', 'frame', 'frame'),
    Rule('eth_dst', 'eth dst is 02:00:00:00:77:01', 'ether dst 02:00:00:00:77:01',
         'eth.dst#1 == 02:00:00:00:77:01', eq(0, '020000007701')),
    Rule('eth_src', 'eth src is 02:00:00:00:00:01', 'ether src 02:00:00:00:00:01',
         'eth.src#1 == 02:00:00:00:00:01', eq(6, '020000000001')),
    Rule('eth_group', 'eth dst spec 01:00:00:00:00:00 dst mask 01:00:00:00:00:00',
         f'ether[0] & 1 = 1 and {present("ether[5]")}', 'eth.dst.ig#1 == 1',
         eq(0, '010000000000', '010000000000')),
    Rule('eth_arp', 'eth type is 0x0806', 'ether[12:2] = 0x0806', 'eth.type#1 == 0x0806', eq(12, '0806')),
    Rule('eth_untagged4', 'eth type is 0x0800', 'ether[12:2] = 0x0800', 'eth.type#1 == 0x0800', eq(12, '0800')),
    Rule('eth_tag', 'eth type is 0x8100', 'ether[12:2] = 0x8100', 'eth.type#1 == 0x8100', eq(12, '8100')),
    Rule('eth_local', 'eth dst is 02:00:00:00:77:01 type is 0x88b5',
         'ether dst 02:00:00:00:77:01 and ether[12:2] = 0x88b5',
         'eth.dst#1 == 02:00:00:00:77:01 and eth.type#1 == 0x88b5', f'{eq(0, "020000007701")} and {eq(12, "88b5")}'),
    Rule('eth_tagged', 'eth has_vlan is 1', 'vlan', FIRST_TAG, tag_at(12)),
    # A frame that ends before its EtherType has no tag.
    Rule('eth_plain', 'eth has_vlan is 0', '(len < 14) or not vlan', f'not {FIRST_TAG}', f'not {tag_at(12)}'),
)

VLAN = (
    Rule('vlan_one', 'eth / vlan', tags_are('vlan'), one_tag(), tags_at(1)),
    Rule('vlan_vid', 'eth / vlan vid is 7', tags_are('vlan 7'), one_tag(7),
         f'{tags_at(1)} and {eq(14, "0007", "0fff")}'),
    Rule('vlan_pcp', 'eth / vlan pcp is 5', tags_are('vlan') + ' and ether[14:2] & 0xe000 = 0xa000',
         f'{one_tag()} and {eq(14, "a000", "e000")}', f'{tags_at(1)} and {eq(14, "a000", "e000")}'),
    Rule('vlan_dei', 'eth / vlan vid is 9 dei is 1', tags_are('vlan 9') + ' and ether[14:2] & 0x1000 = 0x1000',
         f'{one_tag(9)} and {eq(14, "1000", "1000")}', f'{tags_at(1)} and {eq(14, "1009", "1fff")}'),
    Rule('vlan_inner', 'eth / vlan inner_type is 0x86dd', tags_are('vlan') + ' and ether[16:2] = 0x86dd',
         f'{one_tag()} and {eq(16, "86dd")}', behind_tags(1, '86dd')),
    Rule('vlan_two', 'eth / vlan / vlan', tags_are('vlan', 'vlan'), tags_at(2), tags_at(2)),
    # tshark has a name of its own for each order of 802.1Q and 802.1ad, so it is asked by bytes.
    Rule('vlan_qinq', 'eth / vlan vid is 8 / vlan vid is 9', tags_are('vlan 8', 'vlan 9'),
         f'{tags_at(2)} and {eq(14, "0008", "0fff")} and {eq(18, "0009", "0fff")}',
         f'{tags_at(2)} and {eq(14, "0008", "0fff")} and {eq(18, "0009", "0fff")}'),
    Rule('vlan_stacked', 'eth / vlan inner_type is 0x8100 / vlan vid is 100',
         tags_are('vlan', 'vlan 100') + ' and ether[16:2] = 0x8100',
         f'{tags_at(2)} and {eq(16, "8100")} and {eq(18, "0064", "0fff")}',
         f'{tags_at(2)} and {eq(16, "8100")} and {eq(18, "0064", "0fff")}'),
    Rule('vlan_ip', 'eth / vlan / ipv4', 'vlan and ip', f'{one_tag()} and {first("ip")}', behind_tags(1, '0800')),
    Rule('vlan_qinq6', 'eth / vlan / vlan / ipv6', 'vlan and vlan and ip6',
         f'{tags_at(2)} and {first("ipv6")}', behind_tags(2, '86dd')),
    Rule('vlan_dns', 'eth / vlan vid is 7 / ipv4 / udp dst is 53',
         'vlan 7 and ip and ip[0] & 15 >= 5 and udp dst port 53',
         f'{one_tag(7)} and {first("ip:udp")} and udp.dstport#1 == 53',
         f'{tags_at(1)} and {eq(14, "0007", "0fff")} and {bytes4(protocol=17, l4=[(2, "0035")])}'),
    # Without eth, and without what follows the tag.
    Rule('vlan_bare', 'vlan vid is 100', tags_are('vlan 100'), one_tag(100),
         f'{tags_at(1)} and {eq(14, "0064", "0fff")}'),
)

IP4 = (
    Rule('ip', 'eth / ipv4', at_any_depth('ip'), first('ip'), bytes4()),
    Rule('ip_bare', 'ipv4 dst is 192.0.2.9', ip('dst host 192.0.2.9'), f'{first("ip")} and ip.dst#1 == 192.0.2.9',
         bytes4((16, 'c0000209'))),
    Rule('ip_src', 'eth / ipv4 src spec 172.16.0.0 src mask 255.240.0.0', ip('src net 172.16.0.0/12'),
         f'{first("ip")} and ip.src#1 == 172.16.0.0/12', bytes4((12, 'ac100000', 'fff00000'))),
    Rule('ip_dst', 'eth / ipv4 dst spec 10.1.0.0 dst prefix 16', ip('dst net 10.1.0.0/16'),
         f'{first("ip")} and ip.dst#1 == 10.1.0.0/16', bytes4((16, '0a010000', 'ffff0000'))),
    Rule('ip_odd', 'eth / ipv4 dst spec 0.0.0.1 dst mask 0.0.0.1', ip('ip[16:4] & 1 = 1'),
         bytes4((16, '00000001', '00000001')), bytes4((16, '00000001', '00000001'))),
    Rule('ip_pair', 'eth / ipv4 src is 10.1.0.1 dst is 10.1.2.3', ip('src host 10.1.0.1 and dst host 10.1.2.3'),
         f'{first("ip")} and ip.src#1 == 10.1.0.1 and ip.dst#1 == 10.1.2.3',
         bytes4((12, '0a010001'), (16, '0a010203'))),
    Rule('ip_sctp', 'eth / ipv4 proto is 132', ip('ip proto 132'), f'{first("ip")} and ip.proto#1 == 132',
         bytes4((9, '84'))),
    Rule('ip_ttl', 'eth / ipv4 ttl is 1', ip('ip[8] = 1'), f'{first("ip")} and ip.ttl#1 == 1', bytes4((8, '01'))),
    Rule('ip_tos', 'eth / ipv4 tos spec 0xb8 tos mask 0xfc', ip('ip[1] & 0xfc = 0xb8'),
         f'{first("ip")} and ip.dsfield.dscp#1 == 46', bytes4((1, 'b8', 'fc'))),
    Rule('ip_length', 'eth / ipv4 length is 28', ip('ip[2:2] = 28'), f'{first("ip")} and ip.len#1 == 28',
         bytes4((2, '001c'))),
    Rule('ip_options', 'eth / ipv4 version_ihl is 0x46', ip('ip[0] = 0x46'),
         f'{first("ip")} and ip.version#1 == 4 and ip.hdr_len#1 == 24', bytes4((0, '46'))),
    Rule('ip_first', 'eth / ipv4 fragment_offset spec 0x2000 fragment_offset mask 0x3fff',
         ip('ip[6:2] & 0x3fff = 0x2000'), f'{first("ip")} and ip.flags.mf#1 == 1 and ip.frag_offset#1 == 0',
         bytes4((6, '2000', '3fff'))),
    Rule('ip_last', 'eth / ipv4 fragment_offset is 370 / udp', ip('ip[6:2] = 370 and ip proto 17'),
         f'{first("ip")} and ip.flags#1 == 0 and ip.frag_offset#1 == 370 and ip.proto#1 == 17',
         bytes4((6, '0172'), protocol=17)),
    Rule('ip_udp', 'eth / ipv4 / udp', ip('ip proto 17'), f'{first("ip")} and ip.proto#1 == 17', bytes4(protocol=17)),
    Rule('ip_tcp', 'eth / ipv4 / tcp', ip('ip proto 6'), f'{first("ip")} and ip.proto#1 == 6', bytes4(protocol=6)),
    Rule('ip_icmp', 'eth / ipv4 / icmp', ip('ip proto 1'), f'{first("ip")} and ip.proto#1 == 1', bytes4(protocol=1)),
    Rule('ip_dns', 'eth / ipv4 / udp dst is 53', ip_l4('udp dst port 53'), f'{first("ip:udp")} and udp.dstport#1 == 53',
         bytes4(protocol=17, l4=[(2, '0035')])),
    Rule('ip_from_ntp', 'eth / ipv4 / udp src is 123', ip_l4('udp src port 123'),
         f'{first("ip:udp")} and udp.srcport#1 == 123', bytes4(protocol=17, l4=[(0, '007b')])),
    Rule('ip_web', 'eth / ipv4 / tcp dst is 443', ip_l4('tcp dst port 443'),
         f'{first("ip:tcp")} and tcp.dstport#1 == 443', bytes4(protocol=6, l4=[(2, '01bb')])),
    # A prefix of a port.
    Rule('ip_low', 'eth / ipv4 / tcp dst spec 0 dst prefix 6', ip_l4('tcp[2:2] & 0xfc00 = 0'),
         f'{first("ip:tcp")} and tcp.dstport#1 < 1024', bytes4(protocol=6, l4=[(2, '0000', 'fc00')])),
    Rule('ip_syn', 'eth / ipv4 / tcp flags spec 0x02 flags mask 0x12', ip_l4('tcp[13] & 0x12 = 0x02'),
         f'{first("ip:tcp")} and tcp.flags.syn#1 == 1 and tcp.flags.ack#1 == 0',
         bytes4(protocol=6, l4=[(13, '02', '12')])),
    Rule('ip_ping', 'eth / ipv4 / icmp type is 8', ip_l4('icmp[0] = 8'), f'{first("ip:icmp")} and icmp.type#1 == 8',
         bytes4(protocol=1, l4=[(0, '08')])),
    Rule('ip_refused', 'eth / ipv4 / icmp type is 3 code is 3', ip_l4('icmp[0] = 3 and icmp[1] = 3'),
         f'{first("ip:icmp")} and icmp.type#1 == 3 and icmp.code#1 == 3',
         bytes4(protocol=1, l4=[(0, '03'), (1, '03')])),
    Rule('ip_flow', 'eth / ipv4 src spec 10.0.0.0 src prefix 8 / udp src is 53 dst is 53',
         ip_l4('src net 10.0.0.0/8 and udp src port 53 and udp dst port 53'),
         f'{first("ip:udp")} and ip.src#1 == 10.0.0.0/8 and udp.srcport#1 == 53 and udp.dstport#1 == 53',
         bytes4((12, '0a000000', 'ff000000'), protocol=17, l4=[(0, '0035'), (2, '0035')])),
)

def later_or(protocol, name):
    """Whole ones, first fragments and the later ones, which have the number only."""
    return f'({first(BEHIND_EXTENSIONS + name)} or' \
        f' ({first("ipv6")} and ipv6.fraghdr.nxt == {protocol} and ipv6.fraghdr.offset > 0))'


IP6 = (
    Rule('ip6', 'eth / ipv6', at_any_depth('ip6'), first('ipv6'), bytes6()),
    Rule('ip6_src', 'eth / ipv6 src is 2001:db8::2', ip6('src host 2001:db8::2'),
         f'{first("ipv6")} and ipv6.src#1 == 2001:db8::2', bytes6((8, '20010db8000000000000000000000002'))),
    Rule('ip6_dst', 'eth / ipv6 dst spec 2001:db8:ffff:: dst prefix 48',
         ip6(f'dst net 2001:db8:ffff::/48 and {present("ip6[39]")}'),
         f'{first("ipv6")} and ipv6.dst#1 == 2001:db8:ffff::/48',
         bytes6((24, '20010db8ffff' + 20 * '0', 12 * 'f' + 20 * '0'))),
    # The number in the IPv6 header itself: of what follows directly.
    Rule('ip6_proto', 'eth / ipv6 proto is 44', ip6('ip6[6] = 44'),
         f'{first("ipv6")} and ipv6.nxt#1 == 44', bytes6((6, '2c'))),
    Rule('ip6_hop', 'eth / ipv6 hop is 255', ip6('ip6[7] = 255'),
         f'{first("ipv6")} and ipv6.hlim#1 == 255', bytes6((7, 'ff'))),
    Rule('ip6_tc', 'eth / ipv6 tc is 0xb8', ip6('ip6[0:4] & 0x0ff00000 = 0x0b800000'),
         f'{first("ipv6")} and ipv6.tclass#1 == 0xb8', bytes6((0, '0b800000', '0ff00000'))),
    Rule('ip6_flow', 'eth / ipv6 flow is 0x12345', ip6('ip6[0:4] & 0xfffff = 0x12345'),
         f'{first("ipv6")} and ipv6.flow#1 == 0x12345', bytes6((0, '00012345', '000fffff'))),
    Rule('ip6_udp', 'eth / ipv6 / udp', ip6_l4(17),
         later_or(17, 'udp'), None),
    Rule('ip6_tcp', 'eth / ipv6 / tcp', ip6_l4(6),
         later_or(6, 'tcp'), None),
    Rule('ip6_dns', 'eth / ipv6 / udp dst is 53', ip6_l4(17, load(2, 2, 53)),
         f'{first(BEHIND_EXTENSIONS + "udp")} and udp.dstport#1 == 53', None),
    Rule('ip6_web', 'eth / ipv6 / tcp src is 443', ip6_l4(6, load(0, 2, 443)),
         f'{first(BEHIND_EXTENSIONS + "tcp")} and tcp.srcport#1 == 443', None),
    Rule('ip6_syn', 'eth / ipv6 / tcp flags spec 0x02 flags mask 0x12', ip6_l4(6, load(13, 1, 2, '0x12')),
         f'{first(BEHIND_EXTENSIONS + "tcp")} and tcp.flags.syn#1 == 1 and tcp.flags.ack#1 == 0', None),
    Rule('ip6_host_dns', 'eth / ipv6 src is 2001:db8::1 / udp dst is 53',
         ip6_l4(17, load(2, 2, 53), and_='ip6 and src host 2001:db8::1'),
         f'{first(BEHIND_EXTENSIONS + "udp")} and ipv6.src#1 == 2001:db8::1 and udp.dstport#1 == 53', None),
)

# A layer left out at the outside is any: either IP.
EITHER = (
    Rule('dns', 'udp dst is 53', (ip_l4('udp dst port 53'), ip6_l4(17, load(2, 2, 53))),
         f'({first("ip:udp")} or {first(BEHIND_EXTENSIONS + "udp")}) and udp.dstport#1 == 53', None),
    Rule('tcp', 'tcp', (ip('ip proto 6'), ip6_l4(6)),
         f'({first("ip")} and ip.proto#1 == 6) or {later_or(6, "tcp")}', None),
)

# What is behind the IP header by other protocols; and other fields of it.
OTHERS = (
    Rule('ip_id', 'eth / ipv4 packet_id spec 0 packet_id mask 0x0001', ip('ip[4:2] & 1 = 0'),
         bytes4((4, '0000', '0001')), bytes4((4, '0000', '0001'))),
    Rule('ip_seq', 'eth / ipv4 / icmp ident is 1 seq is 1', ip_l4('icmp[4:2] = 1 and icmp[6:2] = 1'),
         bytes4(protocol=1, l4=[(4, '00010001')]), bytes4(protocol=1, l4=[(4, '0001'), (6, '0001')])),
    Rule('ip_streams', 'eth / ipv4 / sctp', ip('ip proto 132'),
         f'{first("ip")} and ip.proto#1 == 132', bytes4(protocol=132)),
    Rule('ip_stream', 'eth / ipv4 / sctp dst is 443', ip_l4('sctp dst port 443'),
         f'{first("ip:sctp")} and sctp.dstport#1 == 443', bytes4(protocol=132, l4=[(2, '01bb')])),
    Rule('ip_stream_tag', 'eth / ipv4 / sctp src is 53 tag is 7', ip_l4('sctp[0:2] = 53 and sctp[4:4] = 7'),
         f'{first("ip:sctp")} and sctp.srcport#1 == 53 and sctp.verification_tag#1 == 7',
         bytes4(protocol=132, l4=[(0, '0035'), (4, '00000007')])),
    Rule('ip6_stream', 'eth / ipv6 / sctp src is 123', ip6_l4(132, load(0, 2, 123)),
         f'{first(BEHIND_EXTENSIONS + "sctp")} and sctp.srcport#1 == 123', None),
    Rule('ip6_icmp', 'eth / ipv6 / icmp6', ip6_l4(58),
         later_or(58, 'icmpv6'), None),
    Rule('ip6_ping', 'eth / ipv6 / icmp6 type is 128', ip6_l4(58, load(0, 1, 128)),
         f'{first(BEHIND_EXTENSIONS + "icmpv6")} and icmpv6.type#1 == 128', None),
    Rule('ip6_refused', 'eth / ipv6 / icmp6 type is 1 code is 4', ip6_l4(58, load(0, 2, 0x0104)),
         f'{first(BEHIND_EXTENSIONS + "icmpv6")} and icmpv6.type#1 == 1 and icmpv6.code#1 == 4', None),
    # Its number is there, behind whichever others.
    Rule('ip6_fragment', 'eth / ipv6 has_frag_ext is 1', ip6_l4(44), f'{first("ipv6")} and ipv6.fraghdr', None),
)

# Fields that are cut off, and would match if what is not there were zeros.
ZEROS = (
    Rule('zero_src', 'eth / ipv4 src is 10.1.0.0', ip('src host 10.1.0.0'), f'{first("ip")} and ip.src#1 == 10.1.0.0',
         bytes4((12, '0a010000'))),
    Rule('zero_dst', 'eth / ipv4 dst is 10.1.0.0', ip('dst host 10.1.0.0'), f'{first("ip")} and ip.dst#1 == 10.1.0.0',
         bytes4((16, '0a010000'))),
    Rule('zero_length', 'eth / ipv4 length spec 0 length mask 0xff00', ip('ip[2:2] & 0xff00 = 0'),
         f'{first("ip")} and ip.len#1 < 256', bytes4((2, '0000', 'ff00'))),
    Rule('zero_udp_src', 'eth / ipv4 / udp src is 0x3500', ip_l4('udp src port 13568'),
         f'{first("ip:udp")} and udp.srcport#1 == 13568', bytes4(protocol=17, l4=[(0, '3500')])),
    Rule('zero_udp_dst', 'eth / ipv4 / udp dst is 0x3500', ip_l4('udp dst port 13568'),
         f'{first("ip:udp")} and udp.dstport#1 == 13568', bytes4(protocol=17, l4=[(2, '3500')])),
    Rule('zero_tcp6', 'eth / ipv6 / tcp src is 0x3500', ip6_l4(6, load(0, 2, 0x3500)),
         f'{first(BEHIND_EXTENSIONS + "tcp")} and tcp.srcport#1 == 13568', None),
    Rule('zero_udp6', 'eth / ipv6 / udp dst is 0x3500', ip6_l4(17, load(2, 2, 0x3500)),
         f'{first(BEHIND_EXTENSIONS + "udp")} and udp.dstport#1 == 13568', None),
    Rule('zero_flags', 'eth / ipv4 / tcp flags spec 0 flags mask 0x12', ip_l4('tcp[13] & 0x12 = 0'),
         f'{first("ip:tcp")} and tcp.flags.syn#1 == 0 and tcp.flags.ack#1 == 0',
         bytes4(protocol=6, l4=[(13, '00', '12')])),
    Rule('zero_tag', 'eth / ipv4 / sctp tag spec 0 tag mask 0xffff0000', ip_l4('sctp[4:4] & 0xffff0000 = 0'),
         bytes4(protocol=132, l4=[(4, '00000000', 'ffff0000')]), bytes4(protocol=132, l4=[(4, '00000000', 'ffff0000')])),
    Rule('zero_vni', 'vxlan vni spec 0 vni mask 0xffff00', vxlan((4, 2, 0), (6, 1, 0, 0)),
         f'{first(OUTER + "udp:vxlan")} and vxlan.vni#1 < 256', None),
)

# A range is several patterns; so is `either`, and a packet that matches two of them counts once.
PATTERNS = (
    Rule('range_port', 'eth / ipv4 / tcp dst range 81-1000', ip_l4('tcp[2:2] >= 81 and tcp[2:2] <= 1000'),
         f'{first("ip:tcp")} and tcp.dstport#1 >= 81 and tcp.dstport#1 <= 1000', None),
    Rule('range_ttl', 'eth / ipv4 ttl range 2-200 / udp', ip('ip proto 17 and ip[8] >= 2 and ip[8] <= 200'),
         f'{first("ip")} and ip.proto#1 == 17 and ip.ttl#1 >= 2 and ip.ttl#1 <= 200', None),
    Rule('either_pair', 'eth / ipv4 src is 10.1.0.1 dst is 10.1.2.3',
         ip('((src host 10.1.0.1 and dst host 10.1.2.3) or (src host 10.1.2.3 and dst host 10.1.0.1))'),
         f'{first("ip")} and ((ip.src#1 == 10.1.0.1 and ip.dst#1 == 10.1.2.3) or'
         f' (ip.src#1 == 10.1.2.3 and ip.dst#1 == 10.1.0.1))', None, 'either'),
    Rule('either_flow', 'eth / ipv4 / udp src is 53 dst is 123',
         ip_l4('((udp src port 53 and udp dst port 123) or (udp src port 123 and udp dst port 53))'),
         f'{first("ip:udp")} and ((udp.srcport#1 == 53 and udp.dstport#1 == 123) or'
         f' (udp.srcport#1 == 123 and udp.dstport#1 == 53))', None, 'either'),
    # Where both ends are 53 it is the same packet both ways.
    Rule('either_dns', 'eth / ipv4 / udp dst is 53', ip_l4('udp port 53'),
         f'{first("ip:udp")} and (udp.srcport#1 == 53 or udp.dstport#1 == 53)', None, 'either'),
)




def inner_tag_words(vid):
    """Which tag of its name the inner one is for tshark depends on those outside."""
    ways = []
    for outside in ([], ['vlan'], ['ieee8021ad'], ['vlan', 'vlan'], ['vlan', 'ieee8021ad'], ['ieee8021ad', 'vlan']):
        for name in 'vlan', 'ieee8021ad':
            tags = ''.join(tag + ':ethertype:' for tag in outside)
            ways.append(f'(frame.protocols matches "^eth:ethertype:{tags}{OUTER}udp:vxlan'
                        f':eth:ethertype:{name}:ethertype:ip(:|$)" and {name}.id#{outside.count(name) + 1} == {vid})')
    return ' or '.join(ways)


VXLANS = (
    Rule('vxlan', 'eth / ipv4 / udp / vxlan', vxlan(versions=(4,)), first('ip:udp:vxlan'),
         bytes4(protocol=17, l4=[(2, '12b5')])),
    Rule('vxlan_bare', 'vxlan vni is 77', vxlan((4, 2, 0), (6, 1, 77)),
         f'{first(OUTER + "udp:vxlan")} and vxlan.vni#1 == 77', None),
    Rule('vxlan_vni', 'eth / ipv4 / udp dst is 4789 / vxlan vni is 0xfedcba',
         vxlan((4, 2, 0xfedc), (6, 1, 0xba), versions=(4,)), f'{first("ip:udp:vxlan")} and vxlan.vni#1 == 0xfedcba',
         bytes4(protocol=17, l4=[(2, '12b5'), (12, 'fedcba')])),
    Rule('vxlan_station', 'eth / ipv6 / udp / vxlan / eth dst is 02:00:00:00:77:01',
         vxlan(inside=in_ethernet((0, 2, 0x0200), (2, 4, 0x00007701)), versions=(6,)),
         f'{first("ipv6:udp:vxlan")} and eth.dst#2 == 02:00:00:00:77:01', None),
    Rule('vxlan_web', 'eth / ipv4 / udp / vxlan vni is 77 / eth / ipv4 / tcp dst is 443',
         vxlan((4, 2, 0), (6, 1, 77), inside=in_ethernet(ip=in_ipv4(protocol=6, l4=[(2, 2, 443)])), versions=(4,)),
         f'{first("ip:udp:vxlan" + FRAME + "ip:tcp")} and vxlan.vni#1 == 77 and tcp.dstport#1 == 443', None),
    Rule('vxlan_dns', 'udp / vxlan / eth / ipv4 dst spec 10.0.0.0 dst prefix 8 / udp dst is 53',
         vxlan(inside=in_ethernet(ip=in_ipv4((16, 1, 10), protocol=17, l4=[(2, 2, 53)]))),
         f'{first(OUTER + "udp:vxlan" + FRAME + "ip:udp")} and'
         f' (ip.dst#2 == 10.0.0.0/8 or (not ip.dst#2 and ip.dst#1 == 10.0.0.0/8)) and udp.dstport#2 == 53', None),
    Rule('vxlan_ip6', 'vxlan / eth / ipv6 / udp',
         vxlan(inside=in_ethernet(ip=in_ipv6(protocol=17))), first(OUTER + 'udp:vxlan' + FRAME + 'ipv6:udp'), None),
    Rule('vxlan_ip', 'vxlan / ipv4', vxlan(inside=in_ethernet(ip=in_ipv4())),
         first(OUTER + 'udp:vxlan' + FRAME + 'ip'), None),
    Rule('vxlan_vlan', 'vxlan / eth / vlan vid is 7 / ipv4', vxlan(inside=in_tagged(7, in_ipv4())),
         inner_tag_words(7), None),
)

GRES = (
    Rule('gre', 'eth / ipv4 / gre', ip('ip proto 47'), first('ip:gre'), bytes4(protocol=47)),
    Rule('gre6', 'eth / ipv6 / gre', ip6_l4(47), first('ipv6:gre'), None),
    Rule('gre_ip', 'gre protocol is 0x0800', gre((2, 2, 0x0800)),
         f'{first(OUTER + "gre")} and gre.proto#1 == 0x0800', None),
    Rule('gre_key', 'eth / ipv4 / gre k_bit is 1', gre((0, 2, 0x2000, 0x2000), versions=(4,)),
         f'{first("ip:gre")} and gre.flags.key#1 == 1', bytes4(protocol=47, l4=[(0, '2000', '2000')])),
    Rule('gre_none', 'gre c_rsvd0_ver is 0', gre((0, 2, 0)),
         f'{first(OUTER + "gre")} and gre.flags_and_version#1 == 0', None),
    Rule('gre_dns', 'eth / ipv4 / gre / ipv4 / udp dst is 53',
         gre(ip=in_ipv4(protocol=17, l4=[(2, 2, 53)]), versions=(4,)),
         f'{first("ip:" + CARRIED + "ip:udp")} and udp.dstport#1 == 53', None),
    Rule('gre_web6', 'gre / ipv6 / tcp src is 443', gre(ip=in_ipv6(protocol=6, l4=[(0, 2, 443)])),
         f'{first(OUTER + CARRIED + "ipv6:tcp")} and tcp.srcport#1 == 443', None),
    Rule('gre_bridged', 'gre / eth src is 02:00:00:00:00:01', gre(ethernet=in_ethernet((6, 2, 0x0200), (8, 4, 1))),
         f'{first(OUTER + "gre:eth")} and eth.src#2 == 02:00:00:00:00:01', None),
    Rule('gre_bridged_ip', 'eth / ipv4 / gre / eth / ipv4', gre(ethernet=in_ethernet(ip=in_ipv4()), versions=(4,)),
         first('ip:gre' + FRAME + 'ip'), None),
)

RULES = ETH + VLAN + IP4 + IP6 + EITHER + OTHERS + ZEROS + PATTERNS + VXLANS + GRES

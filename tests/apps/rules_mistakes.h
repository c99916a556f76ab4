/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a rules file can get wrong, each with all that is said about it ("line:column: message").
 * Data alone, hence longer than other files; rules_test.c runs it.
 */
#ifndef RULES_MISTAKES_H
#define RULES_MISTAKES_H

#include <stddef.h>

struct mistake {
	const char *text;
	size_t length;
	const char *errors;
};

/* Texts hold NUL bytes, so their length is that of the literal. */
#define MISTAKE(text, errors)                  \
	{                                      \
		text, sizeof(text) - 1, errors \
	}

#define RATE_HINT " (a rate has a time: rate >= 5Mbit/s over 5s)"

/* A rate that is not one of the language, and what is said behind it. */
#define FOREIGN_RATE(found, said)                                                               \
	MISTAKE("count g port 0 pattern eth / end\nwhen g.bytes rate >= " found " over 5s log", \
		"2:22: expected a rate such as 10kpps, 1Gbit/s, 100MB/s or 5/m (units pps "     \
		"bit/s B/s /s /m /h /d), found '" found "'" said "\n")

static const struct mistake mistakes[] = {
	MISTAKE("conut x", "1:1: expected 'also', 'allow', 'count', 'counter', 'when', 'each', "
			   "'quota' or 'set', "
			   "found 'conut'\n"),
	MISTAKE("count", "1:6: expected a name, found the end of the line\n"),
	MISTAKE("count port 0 pattern eth / end", "1:7: expected a name, found 'port'\n"),
	MISTAKE("count 5 port 0 pattern eth / end", "1:7: expected a name, found '5'\n"),
	MISTAKE("count a prt 0 pattern eth / end", "1:9: expected 'port', found 'prt'\n"),
	MISTAKE("count a port \"x\" pattern eth / end",
		"1:14: expected a number, an interface, 'name', 'mac' or 'any', found '\"x\"'\n"),
	MISTAKE("count a port pattern eth / end",
		"1:14: expected a number, an interface, 'name', 'mac' or 'any', found "
		"'pattern'\n"),
	MISTAKE("count a port either pattern eth / end",
		"1:14: expected a number, an interface, 'name', 'mac' or 'any', found 'either'\n"),
	MISTAKE("count a port 0 priority 1 either pattern eth / end",
		"1:27: expected 'engine' or 'pattern', found 'either' (their order is the "
		"direction, "
		"'group', 'priority', 'engine', each once, 'pattern')\n"),
	MISTAKE("count a port 0 priority 1 group 2 pattern eth / end",
		"1:27: expected 'engine' or 'pattern', found 'group' (their order is the "
		"direction, "
		"'group', 'priority', 'engine', each once, 'pattern')\n"),
	MISTAKE("count a port eth0 pattrn eth / end",
		"1:19: expected 'ingress', 'egress', 'either', 'group', 'priority', "
		"'engine', 'pattern' or ',', found 'pattrn'\n"),
	MISTAKE("count a port eth0123456789012 pattern eth / end",
		"1:14: the interface name has 16 characters: the limit is 15\n"),
	MISTAKE("count a port any,0 pattern eth / end",
		"1:17: expected 'ingress', 'egress', 'either', 'group', 'priority', 'engine' or "
		"'pattern', found ','\n"),
	MISTAKE("count a port 0,any pattern eth / end",
		"1:16: expected a number, an interface, 'name' or 'mac', found 'any'\n"),
	MISTAKE("count a port 0, 1,0x0 pattern eth / end",
		"1:19: the rule has the port '0x0' already\n"),
	MISTAKE("count a port eth0, pattern eth / end",
		"1:20: expected a number, an interface, 'name' or 'mac', found 'pattern'\n"),
	MISTAKE("count a port 0x pattern eth / end",
		"1:14: port: expected a plain number, found '0x'\n"),
	MISTAKE("count a port 65535 pattern eth / end", "1:14: port 65535 is above 65534\n"),
	MISTAKE("count a port -1 pattern eth / end",
		"1:14: expected a number, an interface, 'name', 'mac' or 'any', found '-'\n"),
	MISTAKE("count a port name net_tap0 pattern eth / end",
		"1:19: expected a string, found 'net_tap0'\n"),
	MISTAKE("count a port name \"\" pattern eth / end",
		"1:19: port name: expected a name, found nothing in it\n"),
	MISTAKE("count a port name "
		"\"net_0123456789012345678901234567890123456789012345678901234567890\" pattern "
		"eth / end",
		"1:19: the port name has 65 characters: the limit is 63\n"),
	MISTAKE("count a port mac 02:00:00:00:00 pattern eth / end",
		"1:18: port mac: expected a MAC address such as 02:00:00:00:00:01, found "
		"'02:00:00:00:00'\n"),
	MISTAKE("count a port mac 01:00:5e:00:00:01 pattern eth / end",
		"1:18: port mac: '01:00:5e:00:00:01' is a group's, and no port's\n"),
	MISTAKE("count a port mac 5 pattern eth / end", "1:18: expected an address, found '5'\n"),
	MISTAKE("count a port 0 egress ingress pattern eth / end",
		"1:23: expected 'group', 'priority', 'engine' or 'pattern', found 'ingress' (their "
		"order is the direction, 'group', 'priority', 'engine', each once, 'pattern')\n"),
	MISTAKE("count a port 0 group 4294967296 pattern eth / end",
		"1:22: group 4294967296 is above 4294967295\n"),
	MISTAKE("count a port 0 ingres pattern eth / end",
		"1:16: expected 'ingress', 'egress', 'either', 'group', 'priority', "
		"'engine', 'pattern' or ',', found 'ingres'\n"),
	MISTAKE("count a port 0 group x pattern eth / end", "1:22: expected a number, "
							    "found 'x'\n"),
	MISTAKE("count a port 0 priority 4294967296 pattern eth / end",
		"1:25: priority 4294967296 is above 4294967295\n"),
	MISTAKE("count a port 0 priority 010 pattern eth / end",
		"1:25: priority: expected a plain number, found '010' (octal is not meant)\n"),
	MISTAKE("count a port 0 engine fpga pattern eth / end",
		"1:23: expected 'auto', 'hw' or 'sw', found 'fpga'\n"),
	MISTAKE("count a port 0 engine sw priority 1 pattern eth / end",
		"1:26: expected 'pattern', found 'priority' (their order is the direction, "
		"'group', 'priority', 'engine', each once, 'pattern')\n"),
	MISTAKE("count a port 0",
		"1:15: expected 'ingress', 'egress', 'either', 'group', 'priority', "
		"'engine', 'pattern' or ',', found the end of the line\n"),
	MISTAKE("count a port 0 pattern", "1:23: expected an item, found the end of the line\n"),
	MISTAKE("count a port 0 pattern end", "1:24: expected an item, found 'end'\n"),
	MISTAKE("count a port 0 pattern eth",
		"1:27: expected a field or '/', found the end of the line (a pattern or list of "
		"actions ends with '/ end')\n"),
	MISTAKE("count a port 0 pattern eth /",
		"1:29: expected an item or 'end', found the end of the line (a pattern or list of "
		"actions ends with '/ end')\n"),
	MISTAKE("count a port 0 pattern eth / ipv4 src is 10.0.0.1",
		"1:50: expected a field or '/', found the end of the line (a pattern or list of "
		"actions ends with '/ end')\n"),
	MISTAKE("count a port 0 pattern eth / ipv4 actions drop / end",
		"1:35: expected a field or '/', found 'actions' (a pattern or list of actions ends "
		"with '/ end')\n"),
	MISTAKE("count a port 0 pattern eth end",
		"1:28: expected a field or '/', found 'end' (a pattern or list of actions ends "
		"with '/ end')\n"),
	MISTAKE("count a port 0 pattern eth / ipv5 / end",
		"1:30: expected 'vlan', 'ipv4', 'ipv6', 'mpls', 'pppoes' or 'end' behind 'eth', "
		"found "
		"'ipv5'\n"),
	MISTAKE("count a port 0 pattern ethernet / end",
		"1:24: expected 'eth', 'vlan', 'ipv4', 'ipv6', 'tcp', 'udp', 'sctp', 'icmp', "
		"'icmp6', 'vxlan', 'gre', 'mpls', 'geneve', 'gtpu', 'gtp_psc', 'esp', 'ah' or "
		"'pppoes', found 'ethernet'\n"),
	MISTAKE("count a port 0 pattern eth / udp dst is 53 / end",
		"1:30: expected 'vlan', 'ipv4', 'ipv6', 'mpls', 'pppoes' or 'end' behind 'eth', "
		"found "
		"'udp'\n"),
	MISTAKE("count a port 0 pattern eth / vlan / vlan / vlan / end",
		"1:44: expected 'ipv4', 'ipv6', 'mpls', 'pppoes' or 'end' behind 'vlan', found "
		"'vlan'\n"),
	MISTAKE("count a port 0 pattern eth / ipv4 / icmp6 / end",
		"1:37: expected 'tcp', 'udp', 'sctp', 'icmp', 'gre', 'esp', 'ah' or 'end' behind "
		"'ipv4', found "
		"'icmp6'\n"),
	MISTAKE("count a port 0 pattern eth / ipv6 / icmp / end",
		"1:37: expected 'tcp', 'udp', 'sctp', 'icmp6', 'gre', 'esp', 'ah' or 'end' behind "
		"'ipv6', found "
		"'icmp'\n"),
	MISTAKE("count a port 0 pattern eth / ipv4 / tcp / vxlan / end",
		"1:43: expected 'end' behind 'tcp', found 'vxlan'\n"),
	MISTAKE("count a port 0 pattern udp / eth / end",
		"1:30: expected 'vxlan', 'geneve', 'gtpu' or 'end' behind 'udp', found 'eth'\n"),
	/* Behind an item that is wrong, any may stand: one mistake, one message. */
	MISTAKE("count a port 0 pattern eth / ipv5 src is 1 / tcp / ipv4 bogus is 1 / udp / end",
		"1:30: expected 'vlan', 'ipv4', 'ipv6', 'mpls', 'pppoes' or 'end' behind 'eth', "
		"found "
		"'ipv5'\n"
		"1:52: expected 'end' behind 'tcp', found 'ipv4'\n"),
	MISTAKE("count a port 0 pattern gre / ipv4 / ipv7 / ipv7 / end",
		"1:37: expected 'tcp', 'udp', 'sctp', 'icmp', 'esp', 'ah' or 'end' behind 'ipv4', "
		"found 'ipv7'\n"
		"1:44: expected 'eth', 'vlan', 'ipv4', 'ipv6', 'tcp', 'udp', 'sctp', 'icmp', "
		"'icmp6', 'gtp_psc', 'esp', 'ah' or 'end', found 'ipv7'\n"),
	MISTAKE("count a port 0 pattern mpls label is 0x100000 / end",
		"1:38: mpls label 0x100000 is above 1048575\n"),
	MISTAKE("count a port 0 pattern mpls / mpls / mpls / end",
		"1:38: expected 'ipv4', 'ipv6', 'tcp', 'udp', 'sctp', 'icmp', 'icmp6', 'esp', 'ah' "
		"or 'end', found 'mpls'\n"),
	MISTAKE("count a port 0 pattern gtpu / eth / end",
		"1:31: expected 'ipv4', 'ipv6', 'tcp', 'udp', 'sctp', 'icmp', 'icmp6', 'gtp_psc', "
		"'esp', 'ah' or 'end', found 'eth'\n"),
	MISTAKE("count a port 0 pattern vxlan vni is 0x1000000 / end",
		"1:37: vxlan vni 0x1000000 is above 16777215\n"),
	MISTAKE("count a port 0 pattern ipv4 / gre protocol is 65536 / end",
		"1:47: gre protocol 65536 is above 65535\n"),
	MISTAKE("count a port 0 pattern gre k_bit is 1 c_rsvd0_ver is 0 / end",
		"1:28: gre k_bit: 'c_rsvd0_ver' of the same item has these bits already\n"),
	MISTAKE("count a port 0 pattern sctp port is 5 / end",
		"1:29: expected a field of sctp ('src', 'dst', 'tag' or 'cksum'), found 'port'\n"),
	MISTAKE("count a port 0 pattern eth / ipv4 srcc is 10.0.0.1 / end",
		"1:35: expected a field of ipv4 ('version_ihl', 'tos', 'length', 'packet_id', "
		"'fragment_offset', 'ttl', 'proto', 'src' or 'dst'), found 'srcc'\n"),
	MISTAKE("count a port 0 pattern eth / ipv4 src is 10.0.0.256 / end",
		"1:42: ipv4 src: expected an IPv4 address such as 10.0.0.1, found '10.0.0.256'\n"),
	MISTAKE("count a port 0 pattern eth / ipv4 src is 4294967296 / end",
		"1:42: ipv4 src: expected an IPv4 address such as 10.0.0.1, found '4294967296'\n"),
	MISTAKE("count a port 0 pattern ipv4 src is ::1 / end",
		"1:36: ipv4 src: expected an IPv4 address such as 10.0.0.1, found '::1'\n"),
	MISTAKE("count a port 0 pattern ipv6 src is 10.0.0.1 / end",
		"1:36: ipv6 src: expected an IPv6 address such as 2001:db8::1, found "
		"'10.0.0.1'\n"),
	MISTAKE("count a port 0 pattern ipv6 src is 1::2::3 / end",
		"1:36: ipv6 src: expected an IPv6 address such as 2001:db8::1, found '1::2::3'\n"),
	MISTAKE("count a port 0 pattern eth dst is 02:00:00:00:00 / end",
		"1:35: eth dst: expected a MAC address such as 02:00:00:00:00:01, found "
		"'02:00:00:00:00'\n"),
	MISTAKE("count a port 0 pattern eth dst is 02:00:00:00:00:100 / end",
		"1:35: eth dst: expected a MAC address such as 02:00:00:00:00:01, found "
		"'02:00:00:00:00:100'\n"),
	MISTAKE("count a port 0 pattern udp dst is 65536 / end",
		"1:35: udp dst 65536 is above 65535\n"),
	MISTAKE("count a port 0 pattern udp dst is 99999999999999999999999 / end",
		"1:35: udp dst 99999999999999999999999 is above 65535\n"),
	MISTAKE("count a port 0 pattern vlan vid is 4096 / end",
		"1:36: vlan vid 4096 is above 4095\n"),
	MISTAKE("count a port 0 pattern vlan pcp is 8 / end", "1:36: vlan pcp 8 is above 7\n"),
	MISTAKE("count a port 0 pattern eth has_vlan is 2 / end",
		"1:40: eth has_vlan 2 is above 1\n"),
	MISTAKE("count a port 0 pattern ipv6 flow is 0x100000 / end",
		"1:37: ipv6 flow 0x100000 is above 1048575\n"),
	MISTAKE("count a port 0 pattern tcp flags is 256 / end",
		"1:37: tcp flags 256 is above 255\n"),
	MISTAKE("count a port 0 pattern udp dst is http / end",
		"1:35: udp dst: expected a number, an address or a network, found 'http'\n"),
	MISTAKE("count a port 0 pattern udp dst 53 / end",
		"1:32: expected 'is', 'spec', 'mask', 'prefix', 'range' or 'in', found '53'\n"),
	MISTAKE("count a port 0 pattern udp dst is / end",
		"1:35: udp dst: expected a number, an address or a network, found '/'\n"),
	MISTAKE("count a port 0 pattern udp dst is 53/8 / end",
		"1:35: udp dst: expected a number, found the network '53/8'\n"),
	MISTAKE("count a port 0 pattern ipv4 src is 10.0.0.0/33 / end",
		"1:45: ipv4 src prefix 33 is above 32\n"),
	MISTAKE("count a port 0 pattern ipv4 src is 10.0.0/8 / end",
		"1:36: ipv4 src: expected an IPv4 address such as 10.0.0.1, found '10.0.0'\n"),
	MISTAKE("count a port 0 pattern ipv6 src is 2001:db8::/129 / end",
		"1:47: ipv6 src prefix 129 is above 128\n"),
	MISTAKE("count a port 0 pattern ipv4 src is 10.0.0.0/08 / end",
		"1:45: ipv4 src prefix: expected a plain number, found '08' (octal is not "
		"meant)\n"),
	MISTAKE("count a port 0 pattern ipv4 src is 10.0.0.0/8 src prefix 8 / end",
		"1:47: ipv4 src: this item has its mask already\n"),
	MISTAKE("count a port 0 pattern ipv4 src spec 10.0.0.0/8 / end",
		"1:38: ipv4 src: expected a number or an address, found '10.0.0.0/8'\n"),
	MISTAKE("count a port 0 pattern udp dst is 0x / end",
		"1:35: udp dst: expected a plain number, found '0x'\n"),
	MISTAKE("count a port 0 pattern udp dst is 053 / end",
		"1:35: udp dst: expected a plain number, found '053' (octal is not meant)\n"),
	MISTAKE("count a port 0 pattern udp is 53 / end",
		"1:28: expected a field or '/', found 'is'\n"),
	MISTAKE("count a port 0 pattern ipv4 src spec 10.0.0.0 src prefix 33 / end",
		"1:58: ipv4 src prefix 33 is above 32\n"),
	MISTAKE("count a port 0 pattern vlan vid spec 1 vid prefix 13 / end",
		"1:51: vlan vid prefix 13 is above 12\n"),
	MISTAKE("count a port 0 pattern ipv4 src prefix 8 / end",
		"1:29: ipv4 src: expected 'src spec' in the same item, found only a mask\n"),
	MISTAKE("count a port 0 pattern ipv4 src mask 255.0.0.0 / end",
		"1:29: ipv4 src: expected 'src spec' in the same item, found only a mask\n"),
	MISTAKE("count a port 0 pattern ipv4 src spec 10.0.0.0 src mask 255.0.0.256 / end",
		"1:56: ipv4 src: expected an IPv4 address such as 10.0.0.1, found "
		"'255.0.0.256'\n"),
	MISTAKE("count a port 0 pattern udp dst spec 1 dst last 5 / end",
		"1:43: 'last' is not part of the language: expected 'is', 'spec', 'mask', "
		"'prefix', 'range' or 'in', found 'last'\n"),
	MISTAKE("count a port 0 pattern udp dst is 1 dst is 2 / end",
		"1:37: udp dst: this item has its value already\n"),
	MISTAKE("count a port 0 pattern udp dst spec 1 dst mask 3 dst prefix 4 / end",
		"1:50: udp dst: this item has its mask already\n"),
	MISTAKE("count a port 0 pattern udp dst range 5 - 2 / end",
		"1:38: udp dst: this range is empty: expected its lower end first\n"),
	MISTAKE("count a port 0 pattern ipv4 src range 10.0.0.9 - 10.0.0.8 / end",
		"1:39: ipv4 src: this range is empty: expected its lower end first\n"),
	MISTAKE("count a port 0 pattern udp dst range 0 - 65536 / end",
		"1:42: udp dst 65536 is above 65535\n"),
	MISTAKE("count a port 0 pattern ipv6 dst range 1 - fe80::1 / end",
		"1:39: ipv6 dst: expected an IPv6 address such as 2001:db8::1, found '1'\n"),
	MISTAKE("count a port 0 pattern udp dst range 5 / end", "1:40: expected '-', found '/'\n"),
	MISTAKE("count a port 0 pattern udp dst range 5 -7 dst range 8- 9 / end",
		"1:43: udp dst: this item has its value already\n"),
	MISTAKE("count a port 0 pattern udp dst range 5-7 dst mask 3 / end",
		"1:42: udp dst: this item has its mask already\n"),
	MISTAKE("count a port 0 pattern vlan vid range 5-7 tci spec 1 tci mask 0x1000 tci is 1 / "
		"end",
		"1:70: vlan tci: this item has its value already\n"),
	MISTAKE("count a port 0 pattern vlan vid range 5-7 tci spec 1 tci mask 0x1001 / end",
		"1:29: vlan vid: 'tci' of the same item has these bits already\n"),
	MISTAKE("count a port 0 pattern ipv6 src range ::1 - "
		"ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe / end",
		"1:29: this range becomes 254 prefixes: the limit is 64\n"),
	MISTAKE("count a port 0 pattern udp src range 1-65534 dst range 1-65534 / end",
		"1:46: the ranges of this pattern become 900 prefixes: the limit is 64\n"),
	MISTAKE("count a port 0 pattern ipv4 ttl range 1-254 src range 1 - 4294967294 dst range 1 "
		"- 4294967294 packet_id range 1-65534 fragment_offset range 1-65534 length range "
		"1-65534 tos range 1-254 / ipv4 / end",
		"1:170: the ranges of this pattern become 20342448000 prefixes: the limit is 64\n"
		"1:188: expected 'tcp', 'udp', 'sctp', 'icmp', 'gre', 'esp', 'ah' or 'end' behind "
		"'ipv4', found "
		"'ipv4'\n"),
	MISTAKE("also count a port 0 either pattern ipv6 src is 2001:db8::1 dst spec :: dst "
		"prefix 1 / tcp src range 1-255 / end",
		"1:21: 'either' becomes more than 256 patterns where a rule counts in addition: "
		"expected a pattern that says both from where and to where\n"),
	MISTAKE("count a port 0 pattern vlan tci is 5 vid is 5 / end",
		"1:38: vlan vid: 'tci' of the same item has these bits already\n"),
	MISTAKE("count a port 0 pattern eth / end actions",
		"1:41: expected 'drop', 'mark', 'passthru', 'queue' or 'rss', found the end of the "
		"line\n"),
	MISTAKE("count a port 0 pattern eth / end actions drop",
		"1:46: expected '/', found the end of the line (a pattern or list of actions ends "
		"with '/ end')\n"),
	MISTAKE("count a port 0 pattern eth / end actions count / end",
		"1:42: expected 'drop', 'mark', 'passthru', 'queue' or 'rss', found 'count'\n"),
	MISTAKE("count a port 0 pattern eth / end actions drop / drop / end",
		"1:49: the rule has the action 'drop' already\n"),
	MISTAKE("count a port 0 pattern eth / end actions passthru / drop / end",
		"1:53: 'passthru' and 'drop' exclude each other\n"),
	MISTAKE("also count a port 0 pattern eth / end actions drop / end",
		"1:47: an 'also' rule counts and lets the packet go on: it cannot have the action "
		"'drop'\n"),
	MISTAKE("also count a port 0 pattern eth / end actions mark id 1 / queue index 2 / end",
		"1:59: an 'also' rule counts and lets the packet go on: it cannot have the action "
		"'queue'\n"),
	MISTAKE("also count a port 0 pattern eth / end actions rss / end",
		"1:47: an 'also' rule counts and lets the packet go on: it cannot have the action "
		"'rss'\n"),
	MISTAKE("count a port 0 pattern eth / end actions queue index 1 / rss / end",
		"1:58: 'queue' and 'rss' exclude each other\n"),
	MISTAKE("count a port 0 pattern eth / end actions mark id 1 / mark id 2 / end",
		"1:54: the rule has the action 'mark' already\n"),
	MISTAKE("count a port 0 pattern eth / end actions mark 5 / end",
		"1:47: expected 'id', found '5'\n"),
	MISTAKE("count a port 0 pattern eth / end actions mark id 4294967296 / end",
		"1:50: mark id 4294967296 is above 4294967295\n"),
	MISTAKE("count a port 0 pattern eth / end actions queue index 65536 / end",
		"1:54: queue index 65536 is above 65535\n"),
	MISTAKE("count a port 0 pattern eth / end actions queue 3 / end",
		"1:48: expected 'index', found '3'\n"),
	MISTAKE("also counter c", "1:6: expected 'count', found 'counter'\n"),
	MISTAKE("counter", "1:8: expected a name, found the end of the line\n"),
	MISTAKE("counter c d", "1:11: expected the end of the line, found 'd'\n"),
	MISTAKE("counter c; counter d", "1:10: expected the end of the line, found ';'\n"),
	MISTAKE("counter 9lives", "1:9: expected a name, found '9lives'\n"),
	MISTAKE("counter port", "1:9: expected a name, found 'port'\n"),
	MISTAKE("counter each", "1:9: expected a name, found 'each', which stands for the flow of "
				"an 'each' statement\n"),
	MISTAKE("counter a.bytes", "1:9: expected a name that does not end in '.packets' or "
				   "'.bytes', found 'a.bytes'\n"),
	MISTAKE("counter a.packets", "1:9: expected a name that does not end in '.packets' or "
				     "'.bytes', found 'a.packets'\n"),
	MISTAKE("counter abcdefghijklmnopqrstuvwxyz_012345",
		"1:9: the name 'abcdefghijklmnopqrstuvwxyz_012345' has 33 characters: the limit is "
		"32\n"),
	MISTAKE("counter twice\n\n# between\ncounter twice",
		"4:9: the name 'twice' is defined twice: on line 1 and on line 4\n"),
	MISTAKE("count twice port 0 pattern eth / end\ncounter once\ncounter twice\ncounter twice",
		"3:9: the name 'twice' is defined twice: on line 1 and on line 3\n"
		"4:9: the name 'twice' is defined twice: on line 1 and on line 4\n"),
	MISTAKE("counter c\nwhen all(c >= 1, all(c >= 2)) log",
		"2:18: 'all' within 'all' says no more than its conditions do by themselves\n"),
	MISTAKE("counter c\nwhen any(c >= 1, all(c >= 2, any(c >= 3))) log",
		"2:30: 'any' is nested twice: expected what has a counter or a time\n"),
	MISTAKE("when all() log", "1:10: expected a counter, 'after', 'all' or 'any', "
				  "found ')'\n"),
	MISTAKE("counter c\nwhen all(c >= 1, d >= 1, e idle 5s) log",
		"2:18: no 'count' rule, 'counter' or 'quota' is named 'd'\n"
		"2:26: no 'count' rule, 'counter' or 'quota' is named 'e'\n"),
	MISTAKE("counter c\nwhen all(c >= 1) every 5 log",
		"2:24: every '5': 'all' and 'any' hold once\n"),
	MISTAKE("counter c\nwhen any(c >= 1, every 5s) log",
		"2:18: expected a counter, 'after', 'all' or 'any', found 'every'\n"),
	MISTAKE("counter c\nwhen any(c>=1,c>=2,c>=3,c>=4,c>=5,c>=6,c>=7,c>=8,all(c>=9,d>=1)) log",
		"2:50: more than 8 conditions: the limit is 8\n"
		"2:59: no 'count' rule, 'counter' or 'quota' is named 'd'\n"),
	MISTAKE("counter c\nwhen all(c rate >= 10/s over 5s until < 1/s for 5s, c rate >= 1pps "
		"over 1s) log",
		"2:41: 'until' is of what begins again: 'all' and 'any' hold once\n"
		"2:63: a rate of a counter is in /s, /m, /h or /d, found '1pps'\n"),
	MISTAKE("counter c\nwhen any(c >= 1 log", "2:17: expected ',' or ')', found 'log'\n"),
	MISTAKE("counter c\nwhen any(c >= 1, all(d >= 1) log",
		"2:22: no 'count' rule, 'counter' or 'quota' is named 'd'\n"
		"2:30: expected ',' or ')', found 'log'\n"),
	MISTAKE("when", "1:5: expected a counter, 'after', 'all', 'any' or 'every', found the end "
			"of the line\n"),
	MISTAKE("count g port 0 pattern eth / end\nwhen g.packets",
		"2:15: expected 'rate', 'idle' or '>=', found the end of the line\n"),
	MISTAKE("count g port 0 pattern eth / end\nwhen g.packets > 5 log",
		"2:16: expected 'rate', 'idle' or '>=', found '>'\n"),
	MISTAKE("count g port 0 pattern eth / end\nwhen g.packets == 5 log",
		"2:16: expected 'rate', 'idle' or '>=', found '='\n"),
	MISTAKE("count g port 0 pattern eth / end\nwhen g.packets >= log",
		"2:19: expected a number, found 'log'\n"),
	MISTAKE("count g port 0 pattern eth / end\nwhen g.packets >= 5",
		"2:20: expected 'drop', 'every', 'pass', 'delete', 'add', 'set', 'police', 'log', "
		"'reset' or "
		"'exec', "
		"found the end of the line\n"),
	MISTAKE("count g port 0 pattern eth / end\nwhen g.packets >= 5 shout",
		"2:21: expected 'drop', 'every', 'pass', 'delete', 'add', 'set', 'police', 'log', "
		"'reset' or "
		"'exec', "
		"found 'shout'\n"),
	MISTAKE("count g port 0 pattern eth / end\nwhen g.packets >= 5 drop",
		"2:25: expected a name, found the end of the line\n"),
	MISTAKE("count g port 0 pattern eth / end\nwhen g.packets >= -5 log",
		"2:19: expected a number, found '-'\n"),
	MISTAKE("count g port 0 pattern eth / end\nwhen g.packets >= 5 GB log",
		"2:21: expected 'drop', 'every', 'pass', 'delete', 'add', 'set', 'police', 'log', "
		"'reset' or "
		"'exec', "
		"found 'GB'\n"),
	MISTAKE("count g port 0 pattern eth / end\nwhen g.packets >= 9223372036854775808 log",
		"2:19: value 9223372036854775808 is above 9223372036854775807 (2^63-1)\n"),
	MISTAKE("count g port 0 pattern eth / end\nwhen g.packets >= 9223372036854775807k log",
		"2:19: value 9223372036854775807k is above 9223372036854775807 (2^63-1)\n"),
	MISTAKE("count g port 0 pattern eth / end\nwhen g.packets >= 8388608Ti log",
		"2:19: value 8388608Ti is above 9223372036854775807 (2^63-1)\n"),
	MISTAKE("count g port 0 pattern eth / end\nwhen g.packets >= 99999999999999999999 log",
		"2:19: value 99999999999999999999 is above 9223372036854775807 (2^63-1)\n"),
	MISTAKE("count g port 0 pattern eth / end\nwhen g.packets >= 5q log",
		"2:19: expected a value such as 500, 10k or 2GiB (suffixes k M G T Ki Mi Gi Ti, "
		"then B), found '5q'\n"),
	MISTAKE("count g port 0 pattern eth / end\nwhen g.packets >= 5K log",
		"2:19: expected a value such as 500, 10k or 2GiB (suffixes k M G T Ki Mi Gi Ti, "
		"then B), found '5K'\n"),
	MISTAKE("count g port 0 pattern eth / end\nwhen g.packets >= 5ki log",
		"2:19: expected a value such as 500, 10k or 2GiB (suffixes k M G T Ki Mi Gi Ti, "
		"then B), found '5ki'\n"),
	MISTAKE("count g port 0 pattern eth / end\nwhen g.packets >= 1.5G log",
		"2:19: expected a value such as 500, 10k or 2GiB (suffixes k M G T Ki Mi Gi Ti, "
		"then B), found '1.5G'\n"),
	MISTAKE("count g port 0 pattern eth / end\nwhen g.packets >= 0x10k log",
		"2:19: expected a value such as 500, 10k or 2GiB (suffixes k M G T Ki Mi Gi Ti, "
		"then B), found '0x10k'\n"),
	MISTAKE("count g port 0 pattern eth / end\nwhen g.packets >= 5 every 0 log",
		"2:27: every 0 would fire without end: expected 1 or more\n"),
	MISTAKE("count g port 0 pattern eth / end\nwhen g.packets >= 5 every 0kB log",
		"2:27: every 0 would fire without end: expected 1 or more\n"),
	MISTAKE("when after log", "1:12: expected a time such as 250ms, found 'log'\n"),
	MISTAKE("when after 250 log", "1:12: expected a time such as 250ms, 10s or 5m (units ns us "
				      "ms s m h d), found '250'\n"),
	MISTAKE("when after 0.5s log", "1:12: expected a time such as 250ms, 10s or 5m (units ns "
				       "us ms s m h d), found '0.5s'\n"),
	MISTAKE("when after 010s log", "1:12: expected a time such as 250ms, 10s or 5m (units ns "
				       "us ms s m h d), found '010s'\n"),
	MISTAKE("when after 5M log", "1:12: expected a time such as 250ms, 10s or 5m (units ns us "
				     "ms s m h d), found '5M'\n"),
	MISTAKE("when after 1s exec",
		"1:19: expected a string or a path, found the end of the line\n"),
	MISTAKE("when after 1s exec notify",
		"1:20: expected the whole path of a program, from /, found 'notify'\n"),
	MISTAKE("when after 1s exec \"../x\"",
		"1:20: expected the whole path of a program, from /, found '\"../x\"'\n"),
	MISTAKE("when after 1s exec \"/x\\y\"", "1:23: expected '\\\"' or '\\\\' in a string, "
						"found another character behind '\\'\n"),
	MISTAKE("when after 1s exec /x y", "1:23: expected the end of the line, found 'y'\n"),
	MISTAKE("when after 1s log at 5 per 1s", "1:22: expected 'most', found '5'\n"),
	MISTAKE("when after 1s log at most per 1s", "1:27: expected a number, found 'per'\n"),
	MISTAKE("when after 1s log at most 5", "1:28: expected 'per', found the end of "
					       "the line\n"),
	MISTAKE("when after 1s log at most 0 per 1s",
		"1:27: at most 0 would log nothing: expected 1 or more\n"),
	MISTAKE("when after 1s log at most 1k per 1s",
		"1:27: lines: expected a plain number, found '1k'\n"),
	MISTAKE("when after 1s log at most 5 per 1us",
		"1:33: per '1us' would leave out nothing: expected 1ms or more\n"),
	MISTAKE("when after 1s log at most 5 per second",
		"1:33: expected a time such as 250ms, found 'second'\n"),
	MISTAKE("when after 10001d log", "1:12: time 10001d is above 10000d\n"),
	MISTAKE("when after 99999999999999999999s log",
		"1:12: time 99999999999999999999s is above 10000d\n"),
	MISTAKE("when after 1s every 5 log", "1:21: expected a time such as 250ms, 10s or 5m "
					     "(units ns us ms s m h d), found '5'\n"),
	MISTAKE("when after 1s every 999us log",
		"1:21: every '999us' would do little else: expected 1ms or more\n"),
	MISTAKE("when after 1s every 0s log",
		"1:21: every '0s' would do little else: expected 1ms or more\n"),
	MISTAKE("when after 1s drop g", "1:20: no 'count' rule is named 'g'\n"),
	MISTAKE("when every 5 log", "1:12: expected a time such as 250ms, 10s or 5m "
				    "(units ns us ms s m h d), found '5'\n"),
	MISTAKE("when every 999us log",
		"1:12: every '999us' would do little else: expected 1ms or more\n"),
	MISTAKE("when every >= 5 log",
		"1:6: no 'count' rule, 'counter' or 'quota' is named 'every'\n"),
	MISTAKE("when after >= 5 log",
		"1:6: no 'count' rule, 'counter' or 'quota' is named 'after'\n"),
	MISTAKE("count g port 0 pattern eth / end\nwhen g.packets >= 5 every log",
		"2:27: expected a number, found 'log'\n"),
	MISTAKE("count g port 0 pattern eth / end\nwhen g >= 5 log",
		"2:6: 'g' counts packets and bytes: expected '.packets' or '.bytes' behind it\n"),
	MISTAKE("counter c\nwhen c.packets >= 5 log",
		"2:6: 'c' is a 'counter': expected its bare name\n"),
	MISTAKE("count g port 0 pattern eth / end\ncounter c\nwhen g.octets >= 5 log",
		"3:6: expected '.packets' or '.bytes' behind the name of a 'count' rule, found "
		"'g.octets'\n"),
	MISTAKE("count g port 0 pattern eth / end\nwhen h.packets >= 5 log",
		"2:6: no 'count' rule or 'each' is named 'h'\n"),
	MISTAKE("when nothing.bytes >= 1 log",
		"1:6: no 'count' rule or 'each' is named 'nothing'\n"),
	MISTAKE("count dns port 0 pattern udp dst is 53 / end\nwhen dsn.packets >= 1 drop "
		"dns\nwhen dns.bytes >= 1 drop dnss",
		"2:6: no 'count' rule or 'each' is named 'dsn': did you mean 'dns'?\n"
		"3:26: no 'count' rule is named 'dnss': did you mean 'dns'?\n"),
	MISTAKE("counter c\nwhen total >= 1 log",
		"2:6: no 'count' rule, 'counter' or 'quota' is named 'total'\n"),
	MISTAKE("counter c\nwhen cc >= 1 log",
		"2:6: no 'count' rule, 'counter' or 'quota' is named 'cc': did you mean 'c'?\n"),
	MISTAKE("counter total\nwhen totla >= 1 add toal 5",
		"2:6: no 'count' rule, 'counter' or 'quota' is named 'totla': did you mean "
		"'total'?\n"
		"2:21: no 'counter' or 'quota' is named 'toal': did you mean 'total'?\n"),
	MISTAKE("count g port 0 pattern eth / end\ncounter c\nwhen g.packets >= 1 drop c\nwhen "
		"g.packets >= 1 pass c\nwhen g.packets >= 1 delete c",
		"3:26: 'drop' needs a 'count' rule: 'c' is a 'counter'\n"
		"4:26: 'pass' needs a 'count' rule: 'c' is a 'counter'\n"
		"5:28: 'delete' needs a 'count' rule: 'c' is a 'counter'\n"),
	MISTAKE("count g port 0 pattern eth / end\nwhen g.packets >= 1 add g 5\nwhen g.packets >= "
		"1 set g 5",
		"2:25: 'add' needs a 'counter' or 'quota': 'g' is a 'count' rule\n"
		"3:25: 'set' needs a 'counter' or 'quota': 'g' is a 'count' rule\n"),
	MISTAKE("count g port 0 pattern eth / end\nquota q 0 per week of g.packets\n"
		"quota r 5 per hour at 04:00 of g\nquota s 5 per day at 15 24:00 of nope.bytes\n"
		"quota t 1 per month at 29 04:00 of g.bytes, g.bytes, g.packets, t\nquota u 2 of "
		"c\ncounter c",
		"2:9: a quota of 0 is spent at once: expected 1 or more\n"
		"2:15: expected 'minute', 'hour', 'day' or 'month', found 'week'\n"
		"3:23: 'at' is of days and months: a shorter period begins with its minute or "
		"hour\n"
		"3:32: 'g' counts packets and bytes: expected '.packets' or '.bytes' behind it\n"
		"4:22: a day of the month is for 'per month'\n"
		"4:25: expected a time of the day such as 04:00, found '24:00'\n"
		"4:34: no 'count' rule is named 'nope'\n"
		"5:24: day 29: expected 1 to 28, which every month has\n"
		"5:45: the quota is of that already\n"
		"5:54: a quota is of packets or of bytes, not of both\n"
		"5:65: a quota is of what 'count' rules count: 't' is none\n"
		"6:14: a quota is of what 'count' rules count: 'c' is none\n"),
	MISTAKE("count g port 0 pattern eth / end\nquota q 5 per month at 15 of g.bytes\n"
		"quota r 5 per day at noon of g.bytes",
		"2:27: expected a time of the day such as 04:00, found 'of'\n"
		"3:22: expected a number or a time of the day such as 04:00, found 'noon'\n"),
	MISTAKE("count g port 0 pattern eth / end\nquota a 1 of g.bytes\nquota b 1 of g.bytes\n"
		"quota c 1 of g.bytes\nquota d 1 of g.bytes\nquota e 1 of g.packets",
		"5:14: more than 3 quotas of that: the limit is 3\n"),
	MISTAKE("count g port 0 pattern eth / end\nquota q 5 of g.bytes\ncounter c\n"
		"when g.bytes spent log\nwhen c >= 5 % log\nwhen q >= 101 % log\n"
		"when q.bytes >= 1 reset nope\nquota q2 5 shared \"x\" of g.bytes",
		"4:14: 'g.bytes' is no 'quota', of which that could be\n"
		"5:11: 'c' is no 'quota', of which that could be\n"
		"6:11: part 101 is above 100\n"
		"7:6: 'q' is a 'quota': expected its bare name\n"
		"7:25: no 'count' rule, 'counter' or 'quota' is named 'nope'\n"
		"8:12: not yet: this version cannot do 'shared'\n"),
	MISTAKE("counter c\nwhen c >= 1 add c 10k",
		"2:19: value: expected a plain number, found '10k'\n"),
	/* sets */
	MISTAKE("set", "1:4: expected a name, found the end of the line\n"),
	MISTAKE("set s", "1:6: expected 'file' or '{', found the end of the line\n"),
	MISTAKE("set s file list",
		"1:12: expected the whole path of a file, from /, found 'list'\n"),
	MISTAKE("set s file", "1:11: expected a string or a path, found the end of the line\n"),
	MISTAKE("set s { }", "1:9: expected a number, an address or a network, found '}'\n"),
	MISTAKE("set s { 80 443 }", "1:12: expected ',' or '}', found '443'\n"),
	MISTAKE("set s { 65536, 1.2.3.4/33, 1.2.3, ::1/129, 02:00:00:00:00:01, 01 }",
		"1:9: expected an address, a prefix such as 10.0.0.0/8, or a port, found '65536': "
		"a "
		"port is at most 65535\n"
		"1:16: expected an address, a prefix such as 10.0.0.0/8, or a port, found "
		"'1.2.3.4/33': a prefix of IPv4 has at most 32 bits\n"
		"1:28: expected an address, a prefix such as 10.0.0.0/8, or a port, found "
		"'1.2.3'\n"
		"1:35: expected an address, a prefix such as 10.0.0.0/8, or a port, found "
		"'::1/129': a prefix of IPv6 has at most 128 bits\n"
		"1:44: expected an address, a prefix such as 10.0.0.0/8, or a port, found "
		"'02:00:00:00:00:01'\n"
		"1:63: expected an address, a prefix such as 10.0.0.0/8, or a port, found '01'\n"),
	MISTAKE("set s { 80 }\nset s { 81 }",
		"2:5: the name 's' is defined twice: on line 1 and on line 2\n"),
	MISTAKE("count a port 0 pattern ipv4 src in / end", "1:36: expected a name, found '/'\n"),
	MISTAKE("count a port 0 pattern ipv4 src in who dst in a / end",
		"1:36: no 'set' is named 'who'\n1:47: 'in' needs a 'set', and 'a' is none\n"),
	MISTAKE("set s { 80 }\ncount a port 0 pattern eth type in s / ipv4 ttl in s / udp length "
		"in "
		"s / end",
		"2:28: eth type cannot be in a set: expected 'src' or 'dst' of IP, or of ports\n"
		"2:45: ipv4 ttl cannot be in a set: expected 'src' or 'dst' of IP, or of ports\n"
		"2:60: udp length cannot be in a set: expected 'src' or 'dst' of IP, or of "
		"ports\n"),
	MISTAKE("set s { 80 }\ncount a port 0 pattern tcp src in s src in s src in s src in s src "
		"in "
		"s src in s src in s src in s dst in s / end",
		"2:100: a pattern asks for at most 8 sets\n"),
	MISTAKE("set s { 80 }\nalso count a port 0 either pattern tcp dst in s / end",
		"2:21: 'either' and 'in' exclude each other where a rule counts in addition: what "
		"both directions have in common changes with the set\n"),
	MISTAKE("set s { 80 }\nwhen s >= 1 log\nwhen after 1s set s 1\nwhen after 1s drop s\n"
		"quota q 5 of s\nwhen s.bytes >= 1 log",
		"2:6: 's' is a 'set', which counts nothing\n"
		"3:19: 'set' needs a 'counter' or 'quota': 's' is a 'set'\n"
		"4:20: 'drop' needs a 'count' rule: 's' is a 'set'\n"
		"5:14: a quota is of what 'count' rules count: 's' is none\n"
		"6:6: 's' is a 'set', which counts nothing\n"),
	/* allow */
	MISTAKE("allow a port 0 priority 1 pattern eth / end",
		"1:16: expected 'ingress', 'egress', 'either', 'pattern' or ',', found 'priority' "
		"(their "
		"order is the direction, 'group', 'priority', 'engine', each once, 'pattern')\n"),
	MISTAKE("allow a port 0 pattern eth / end actions drop / end",
		"1:34: expected the end of the line, found 'actions'\n"),
	MISTAKE("allow a port 0 pattern eth / end\nwhen a.bytes >= 1 drop a",
		"2:24: 'a' is an 'allow', which nothing drops\n"),
	MISTAKE("counter c\nwhen c >= 1 set c 9223372036854775808",
		"2:19: value 9223372036854775808 is above 9223372036854775807\n"),
	MISTAKE("counter c\nwhen c >= 1 add c",
		"2:18: expected a number, found the end of the line\n"),
	MISTAKE("counter c\nwhen c >= 1 log hello",
		"2:17: expected the end of the line, a string or 'at', found 'hello'\n"),
	MISTAKE("counter c\nwhen c >= 1 log \"hello",
		"2:17: expected '\"' at the end of the string, found the end of the line\n"),
	MISTAKE("counter c\nwhen c >= 1 log \"a\\nb\"",
		"2:19: expected '\\\"' or '\\\\' in a string, found another character behind "
		"'\\'\n"),
	MISTAKE("counter c\nwhen c >= 1 log \"a\033b\"",
		"2:19: expected printable text in a string, found the byte 0x1b\n"),
	MISTAKE("counter c\nwhen c >= 1 log \"a\" \"b\"",
		"2:21: expected the end of the line or 'at', found '\"b\"'\n"),
	MISTAKE("counter a \\ # comment\ncounter b\\",
		"1:11: expected the end of the line after '\\', which continues it\n"),
	MISTAKE("counter a\000b", "1:10: expected the end of the line, found the byte 0x00\n"),
	MISTAKE("\000",
		"1:1: expected 'also', 'allow', 'count', 'counter', 'when', 'each', 'quota' or "
		"'set', found "
		"the byte 0x00\n"),
	MISTAKE("\377\376", "1:1: expected 'also', 'allow', 'count', 'counter', 'when', 'each', "
			    "'quota' or 'set', "
			    "found the byte 0xff\n"),
	MISTAKE("counter c\r", "1:10: expected the end of the line, found the byte 0x0d\n"),
	MISTAKE("count a \\\n port \\\n\t>= pattern eth / end",
		"3:2: expected a number, an interface, 'name', 'mac' or 'any', found '>='\n"),
	MISTAKE("\tcounter\ta\tb", "1:12: expected the end of the line, found 'b'\n"),
	MISTAKE("counter 1\r\ncounter 2\r\n", "1:9: expected a name, found '1'\n"
					      "2:9: expected a name, found '2'\n"),
	MISTAKE("conut a port 0\ncount dns port 0 pattern ipv5 / udp dst is 70000 / end\nwhen "
		"dns.packets >= 1q drop dns extra\ncounter ok\nwhen ok.bytes >= 1 log",
		"1:1: expected 'also', 'allow', 'count', 'counter', 'when', 'each', 'quota' or "
		"'set', "
		"found 'conut'\n"
		"2:26: expected 'eth', 'vlan', 'ipv4', 'ipv6', 'tcp', 'udp', 'sctp', 'icmp', "
		"'icmp6', 'vxlan', 'gre', 'mpls', 'geneve', 'gtpu', 'gtp_psc', 'esp', 'ah' or "
		"'pppoes', found 'ipv5'\n"
		"2:44: udp dst 70000 is above 65535\n"
		"3:21: expected a value such as 500, 10k or 2GiB (suffixes k M G T Ki Mi Gi Ti, "
		"then B), found '1q'\n"
		"3:33: expected the end of the line or 'for', found 'extra'\n"
		"5:6: 'ok' is a 'counter': expected its bare name\n"),
	MISTAKE("counter c\nwhen c rate log\nwhen c rate 5/s log\nwhen c rate >= log\nwhen c rate "
		">= "
		"5/s log\nwhen c rate >= 5/s over log\nwhen c rate >= 5 /s over 1s log",
		"2:13: expected '>=', found 'log'\n"
		"3:13: expected '>=', found '5/s'\n"
		"4:16: expected a number or a rate such as 10kpps, found 'log'\n"
		"5:20: expected 'over', found 'log'" RATE_HINT "\n"
		"6:25: expected a time such as 250ms, found 'log'\n"
		"7:18: expected 'over', found '/'" RATE_HINT "\n"),
	MISTAKE("counter c\nwhen c rate >= 5 over 1s log\nwhen c rate >= 5/ms over 1s log\nwhen c "
		"rate >= "
		"/s over 1s log\nwhen c rate >= 10kBpps over 1s log",
		"2:16: expected a rate such as 10kpps, 1Gbit/s, 100MB/s or 5/m (units pps bit/s "
		"B/s /s /m "
		"/h /d), found '5'\n"
		"3:17: expected 'over', found '/'" RATE_HINT "\n"
		"4:16: expected a number or a rate such as 10kpps, found '/'\n"
		"5:16: expected a rate such as 10kpps, 1Gbit/s, 100MB/s or 5/m (units pps bit/s "
		"B/s /s /m "
		"/h /d), found '10kBpps'\n"),
	MISTAKE("count g port 0 pattern eth / end\nwhen g.bytes >= 5Mbit/s drop g\n"
		"when g.bytes >= 5Mbps over 5s log\nwhen g.packets >= 10kpps log\n"
		"when g.bytes rate >= 5 Mbit/s over 5s log",
		"2:17: expected a number, found '5Mbit/s'" RATE_HINT "\n"
		"3:23: expected 'drop', 'every', 'pass', 'delete', 'add', 'set', 'police', 'log', "
		"'reset' or 'exec', found 'over'" RATE_HINT "\n"
		"4:19: expected a value such as 500, 10k or 2GiB (suffixes k M G T Ki Mi Gi Ti, "
		"then B), found '10kpps'" RATE_HINT "\n"
		"5:24: expected 'over', found 'Mbit'" RATE_HINT "\n"),
	FOREIGN_RATE("5Mbps", ": write 5Mbit/s"),
	FOREIGN_RATE("5mbit/s", ": write 5Mbit/s"),
	FOREIGN_RATE("5MBps", ": write 5MB/s"),
	FOREIGN_RATE("5KB/s", ": write 5kB/s"),
	FOREIGN_RATE("5bits/s", ": write 5bit/s"),
	FOREIGN_RATE("10kbit", ": write 10kbit/s"),
	FOREIGN_RATE("7p/s", ": write 7pps"),
	FOREIGN_RATE("5Mb", ""),
	FOREIGN_RATE("5M", ""),
	FOREIGN_RATE("123456789012345678901bps", ""),
	MISTAKE("count g port 0 pattern eth / end\ncounter c\nwhen g.packets rate >= 1Mbit/s over "
		"1s log\n"
		"when g.bytes rate >= 10kpps over 1s log\nwhen g.bytes rate >= 10k/m over 1s log\n"
		"when c rate >= 1pps over 1s log\nwhen c rate >= 1B/s over 1s log",
		"3:24: a rate of packets is in pps, /s, /m, /h or /d, found '1Mbit/s'\n"
		"4:22: a rate of bytes is in bit/s or B/s, found '10kpps'\n"
		"5:22: a rate of bytes is in bit/s or B/s, found '10k/m'\n"
		"6:16: a rate of a counter is in /s, /m, /h or /d, found '1pps'\n"
		"7:16: a rate of a counter is in /s, /m, /h or /d, found '1B/s'\n"),
	MISTAKE("count g port 0 pattern eth / end\nwhen g.packets rate >= 1pps over 999ms log\n"
		"when g.bytes rate >= 1bit/s over 7s log\nwhen g.bytes rate >= 0B/s over 1d log\n"
		"when g.packets rate >= 20Tpps over 10000d log\n"
		"when g.packets rate >= 9223372036854775808pps over 1s log\n"
		"when g.packets rate >= 1Gpps over 99999ns log\n"
		"when g.packets rate >= 1Gpps over 5 log",
		"2:24: '1pps' over '999ms' is less than 1: expected a higher rate, or a longer "
		"time\n"
		"3:22: '1bit/s' over '7s' is less than 1: expected a higher rate, or a longer "
		"time\n"
		"4:22: '0B/s' over '1d' is less than 1: expected a higher rate, or a longer time\n"
		"5:24: '20Tpps' over '10000d' is above 9223372036854775807 (2^63-1)\n"
		"6:24: rate 9223372036854775808pps is above 9223372036854775807 (2^63-1)\n"
		"7:35: over '99999ns' is too short: expected 100us or more\n"
		"8:35: expected a time such as 250ms, 10s or 5m (units ns us ms s m h d), found "
		"'5'\n"),
	MISTAKE("count g port 0 pattern eth / end\nwhen g.bytes rate >= 1GB/s over 1h every 5 log\n"
		"when g.bytes rate >= 1GB/s over 1h every 0 log",
		"2:42: every '5': a rate that repeats needs no more than it is: expected 1\n"
		"3:42: every 0 would fire without end: expected 1 or more\n"),
	MISTAKE("count g port 0 pattern eth / end\n"
		"when g.packets rate >= 1Gpps over 1s until 5kpps for 1m log\n"
		"when g.packets rate >= 1Gpps over 1s until < 1pps for 999ms log\n"
		"when g.packets rate >= 1Gpps over 1s until < 1Gpps for 99us log\n"
		"when g.packets rate >= 1Gpps over 1s until < 5MB/s for 1s log\n"
		"when g.packets rate >= 1MB/s over 1s until < 5MB/s for 1s log\n"
		"when g.packets rate >= 1Gpps over 1s until < 5pps for 1s every 2 log",
		"2:44: expected '<', found '5kpps'\n"
		"3:46: '1pps' for '999ms' is less than 1: expected a higher rate, or a longer "
		"time\n"
		"4:56: for '99us' is too short: expected 100us or more\n"
		"5:46: a rate of packets is in pps, /s, /m, /h or /d, found '5MB/s'\n"
		"6:24: a rate of packets is in pps, /s, /m, /h or /d, found '1MB/s'\n"
		"6:46: a rate of packets is in pps, /s, /m, /h or /d, found '5MB/s'\n"
		"7:64: every '2': a rate that repeats needs no more than it is: expected 1\n"),
	MISTAKE("each e port 0 ipv4.src max 10 idle 1s\nwhen e >= 5 log\nwhen e.packets "
		">= 0 log\nwhen e.packets >= 300T log\nwhen e.bytes >= 5% log\nwhen "
		"e.bytes rate >= 5pps over 1s log",
		"2:6: 'e' counts packets and bytes: expected '.packets' or '.bytes' "
		"behind it\n3:6: 'e.packets' >= 0: of a key, expected 1 to 281474976710655\n"
		"4:6: 'e.packets' >= 300000000000000: of a key, expected 1 to 281474976710655\n"
		"5:17: 'e.bytes' is no "
		"'quota', of which that could be\n6:22: a rate of bytes is in bit/s or "
		"B/s, found '5pps'\n"),
	MISTAKE("each victims port 0 ipv4.dst max 10 idle 1s\nwhen victim.packets >= 1 log\n"
		"when victims.keys >= 1 log\nwhen victim.bytes rate >= 1B/s over 5s log",
		"2:6: no 'count' rule or 'each' is named 'victim': did you mean 'victims'?\n"
		"3:6: expected '.packets' or '.bytes' behind the name of an 'each', found "
		"'victims.keys'\n"
		"4:6: no 'count' rule or 'each' is named 'victim': did you mean 'victims'?\n"),
	MISTAKE("each e port 0 ipv4.src max 10 idle 1s\nwhen e.bytes rate >= 100Tbit/s "
		"over 1s log",
		"2:22: '100Tbit/s' is too much of a key: a second, and in the time, at "
		"most 1099511627776\n"),
	MISTAKE("each e port 0 ipv4.src max 10 idle 1s\nwhen e.packets rate >= 1pps over 999ms "
		"log\n"
		"when e.bytes rate >= 1B/s over 99us log\n"
		"when e.packets rate >= 20Tpps over 10000d log",
		"2:24: '1pps' over '999ms' is less than 1: expected a higher rate, or a longer "
		"time\n"
		"3:32: over '99us' is too short: expected 100us or more\n"
		"4:24: '20Tpps' over '10000d' is above 9223372036854775807 (2^63-1)\n"),
	MISTAKE("each e port 0 ipv4.src max 10 idle 1s\nwhen e.packets >= 1 log\nwhen "
		"e.packets >= 2 log\nwhen e.packets rate >= 1/s over 5s log\nwhen "
		"e.bytes >= 5 exec /bin/true\nwhen e.bytes >= 6 log",
		"6:6: 'e' has more conditions than 4: that is the limit of an 'each'\n"),
	MISTAKE("each e port 0 ipv4.src max 10 idle 1s\nwhen e.packets rate >= 1/s over "
		"5s log\nwhen e.bytes rate >= 1B/s over 5s log",
		"3:6: 'e' has a 'rate' already: an 'each' has one\n"),
	MISTAKE("each e port 0 ipv4.src max 10 idle 1s\nwhen e.bytes >= 10 drop\nwhen e.bytes "
		"rate >= 1B/s over 5s until < 1B/s for 5s police e\nwhen e.packets >= 1 drop e",
		"2:24: expected a name, found the end of the line\n3:63: expected a number or a "
		"rate "
		"such as 10kpps, found the end of the line\n"),
	MISTAKE("each e port 0 ipv4.src max 10 idle 1s\nwhen e.pakets >= 5 drop e\nwhen e >= 5 "
		"police e 5pps\nwhen ee.packets >= 5 reset e",
		"2:6: expected '.packets' or '.bytes' behind the name of an 'each', found "
		"'e.pakets'\n3:6: 'e' counts packets and bytes: expected '.packets' or '.bytes' "
		"behind "
		"it\n4:6: no 'count' rule or 'each' is named 'ee': did you mean 'e'?\n4:28: 'e' is "
		"an 'each': 'reset' is "
		"done to the key that trips, by a condition of its own; to all of its keys by "
		"tripctl "
		"reset e\n"),
	MISTAKE("each", "1:5: expected a name, found the end of the line\n"),
	MISTAKE("each e ipv4.src max 10 idle 1s", "1:8: expected 'port', found 'ipv4.src'\n"),
	MISTAKE("each e port 0",
		"1:14: expected a key, 'ingress', 'egress' or ',', found the end of the line\n"),
	MISTAKE("each e port 0, ipv4.src max 10 idle 1s",
		"1:25: expected a key, 'ingress', 'egress' or ',', found 'max'\n"),
	MISTAKE("each e port 0 ipv4.src", "1:23: expected 'max', '/' or ',', found the end of the "
					  "line\n"),
	MISTAKE("each e port 0 ipv4.src, 5 max 1 idle 1s", "1:25: expected a key, found '5'\n"),
	MISTAKE("each e port 0 ipv4.src max 10", "1:30: expected 'idle', found the end of the "
						 "line\n"),
	MISTAKE("each e port 0 ipv4.src max 10 idle 1s ingress pattern eth / end",
		"1:39: expected the end of the line, 'pattern', 'full' or 'hardware', found "
		"'ingress'\n"),
	MISTAKE("each e port 0 either ipv4.src max 10 idle 1s",
		"1:15: an 'each' counts what its ports receive, or what they send: expected "
		"'ingress' or 'egress', and a statement for either\n"),
	MISTAKE("each e port 0 transfer ipv4.src max 10 idle 1s",
		"1:15: 'transfer' is hardware only, and an 'each' counts in software: expected "
		"'ingress' or 'egress'\n"),
	MISTAKE("each e port 0,0 ipv4.srk max 0 idle 1us",
		"1:15: the rule has the port '0' already\n"
		"1:17: expected 'ipv4.src', 'ipv4.dst', 'ipv6.src', 'ipv6.dst', 'ip.src', "
		"'ip.dst', 'proto', 'l4.src', 'l4.dst', 'vlan.vid', 'vxlan.vni', 'mpls.label' or "
		"'gtpu.teid', found 'ipv4.srk'\n"
		"1:30: max 0: expected 1 to 8388608 (8Mi)\n"
		"1:37: idle '1us': expected 320us to 281474976s\n"),
	MISTAKE("each e port 0 ipv4.src/0, ipv4.dst/33 max 8388609 idle 319us",
		"1:24: length 0 of ipv4.src: expected 1 to 32\n"
		"1:36: length 33 of ipv4.dst: expected 1 to 32\n"
		"1:43: max 8388609: expected 1 to 8388608 (8Mi)\n"
		"1:56: idle '319us': expected 320us to 281474976s\n"),
	MISTAKE("each e port 0 ip.src/129, proto/8, ip.src/4, ipv6.dst/x max 10 idle 281474977s",
		"1:22: length 129 of ip.src: expected 1 to 128\n"
		"1:33: proto is no address, which alone has a length\n"
		"1:36: the key has ip.src already\n"
		"1:55: expected a number, found 'x'\n"),
	MISTAKE("each e port 0 ipv6.src max 10 idle 281474977s",
		"1:36: idle '281474977s': expected 320us to 281474976s\n"),
	MISTAKE("each e port 0 ip.src, ip.dst, proto, l4.src, l4.dst, vlan.vid, vxlan.vni max 1 "
		"idle 1s",
		"1:64: with vxlan.vni the key has 42 bytes: the limit is 40\n"),
	MISTAKE("each e port 0 ipv4.src, ipv6.dst, vlan.vid max 1 idle 1s\n"
		"each f port 0 mpls.label, l4.src max 1 idle 1s\n"
		"each g port 0 gtpu.teid, vxlan.vni, mpls.label max 1 idle 1s",
		"1:25: no packet has both ipv4.src and ipv6.dst\n"
		"2:27: no packet has both mpls.label and l4.src\n"
		"3:26: no packet has both gtpu.teid and vxlan.vni\n"
		"3:37: no packet has both gtpu.teid and mpls.label\n"),
	MISTAKE("set s { 1 }\neach e port 0 ipv4.src max 1 idle 1s pattern tcp dst in s / end",
		"2:57: an 'each' asks for no set: 'allow' keeps what one has out of its keys\n"),
	MISTAKE("each e port 0 ipv4.src max 1 idle 1s pattern tcp dst range 1-1000 / udp / end",
		"1:50: an 'each' has one pattern, and this makes 15: expected a prefix, or one "
		"value\n"
		"1:69: expected 'end' behind 'tcp', found 'udp'\n"),
	MISTAKE("each e port 0 ipv4.src max 1 idle 1s pattern tcp dst range 1-3 / end",
		"1:50: an 'each' has one pattern, and this makes 2: expected a prefix, or one "
		"value\n"),
	MISTAKE("each e port 0 ipv4.src max 1 idle 1s actions drop / end",
		"1:38: expected the end of the line, 'pattern', 'full' or 'hardware', found "
		"'actions'\n"),
	MISTAKE("count e port 0 pattern eth / end\neach e port 0 ipv4.src max 1 idle 1s",
		"2:6: the name 'e' is defined twice: on line 1 and on line 2\n"),
};

/* All of RULES.md that this version parses without being able to do it. */
static const struct mistake not_yet[] = {
	MISTAKE("count a port 0 transfer pattern eth / end",
		"1:16: not yet: this version cannot do 'transfer'\n"),
	MISTAKE("count a port 0 pattern eth / ipv4 / udp / vxlan / ipv4 / gre / end",
		"1:58: not yet: this version cannot do a tunnel within a tunnel\n"),
	MISTAKE("count a port 0 pattern eth / ipv6 / ipv6_frag_ext / end",
		"1:37: not yet: this version cannot do 'ipv6_frag_ext'\n"),
	MISTAKE("count a port 0 pattern eth / mark id is 5 / end",
		"1:30: not yet: this version cannot do 'mark'\n"),
	MISTAKE("count a port 0 pattern any num is 1 / end",
		"1:24: not yet: this version cannot do 'any'\n"),
	MISTAKE("count g port 0 pattern eth / end\nwhen g.packets idle 30 delete g",
		"2:21: expected a time such as 250ms, 10s or 5m (units ns us ms s m h d), found "
		"'30'\n"),
	MISTAKE("counter c\nwhen c idle log\nwhen c idle -5s log\nwhen c idle >= 5s log\nwhen c "
		"idle\n"
		"when after log",
		"2:13: expected a time such as 250ms, found 'log'\n"
		"3:13: expected a time such as 250ms, found '-'\n"
		"4:13: expected a time such as 250ms, found '>='\n"
		"5:12: expected a time such as 250ms, found the end of the line\n"
		"6:12: expected a time such as 250ms, found 'log'\n"),
	MISTAKE("counter c\nwhen c idle 5 s log\nwhen after 5 s log",
		"2:13: expected a time such as 250ms, 10s or 5m (units ns us ms s m h d), found "
		"'5'\n"
		"3:12: expected a time such as 250ms, 10s or 5m (units ns us ms s m h d), found "
		"'5'\n"),
	MISTAKE("count g port 0 pattern eth / end\nwhen g.packets >= 5 drop g for\n"
		"when g.packets >= 5 drop g for 0s\nwhen g.packets >= 5 pass g for 1s",
		"2:31: expected a time such as 250ms, found the end of the line\n"
		"3:32: for '0s' would change nothing: expected 1ns or more\n"
		"4:28: expected the end of the line, found 'for'\n"),
	MISTAKE("counter c\nwhen c idle 0s log\nwhen c idle 0ns every 1 log",
		"2:13: idle 0s would hold at once: expected 1ns or more\n"
		"3:13: idle 0ns would hold at once: expected 1ns or more\n"),
	MISTAKE("counter c\nwhen c idle 30s every 1s log",
		"2:23: expected a value such as 500, 10k or 2GiB (suffixes k M G T Ki Mi Gi Ti, "
		"then B), found '1s'\n"),
	MISTAKE("count g port 0 pattern eth / end\n"
		"when g.bytes rate >= 1Mbit/s over 1s until < 126kB/s for 1s drop g",
		"2:46: until < '126kB/s' would end at once what begins at '1Mbit/s': expected at "
		"most that\n"),
	MISTAKE("count g port 0 pattern eth / end\nwhen g.packets >= 5 police g 5/m",
		"2:30: a rate to police is in pps, bit/s, B/s or /s, found '5/m'\n"),
	MISTAKE("count g port 0 pattern eth / end\nwhen g.packets >= 5 police g 0pps",
		"2:30: police '0pps' would drop all: 'drop' does that\n"),
	MISTAKE("count g port 0 pattern eth / end\nwhen g.packets >= 5 police g 200GB/s",
		"2:30: rate '200GB/s' is above 1099511627775 bit/s\n"),
	MISTAKE("count g port 0 pattern eth / end\nwhen g.packets >= 5 police g 2Tpps",
		"2:30: rate '2Tpps' is above 1099511627775 pps\n"),
	MISTAKE("count g port 0 pattern eth / end\nwhen g.packets >= 5 police g 5k",
		"2:30: expected a rate such as 10kpps, 1Gbit/s or 100MB/s (units pps bit/s B/s "
		"/s), "
		"found '5k'\n"),
	MISTAKE("counter c\nwhen c >= 5 police c 5pps",
		"2:20: 'police' needs a 'count' rule: 'c' is a 'counter'\n"),
	MISTAKE("count g port 0 engine hw pattern eth / end\nwhen g.packets >= 5 police g 5pps",
		"2:28: 'police' is done in software: 'g' has 'engine hw' on line 1\n"),
	MISTAKE("when each.packets >= 10k log",
		"1:6: not yet: this version cannot do 'each.packets'\n"),
	MISTAKE("when each.bytes >= 1G drop each",
		"1:6: not yet: this version cannot do 'each.bytes'\n"
		"1:28: not yet: this version cannot do 'each'\n"),
	MISTAKE("each e port 0 ipv4.src max 10 idle 1s full ajar\neach f port 0 proto max 10 idle "
		"1s pattern udp / end full open",
		"1:44: expected 'open' or 'closed', found 'ajar'\n"
		"2:54: expected the end of the line, found 'full'\n"),
	MISTAKE("each e port 0 ipv4.src max 10 idle 1s\neach f port 0 ipv4.dst max 10 idle 1s\n"
		"when e.packets >= 5 drop f\nwhen e.packets >= 6 drop g\nwhen after 1s drop e\n"
		"when e.packets >= 7 drop e for 281474977s",
		"3:26: a condition of keys does that to the key that trips: expected 'e', found "
		"'f'\n"
		"4:26: a condition of keys does that to the key that trips: expected 'e', found "
		"'g'\n"
		"5:20: 'e' is an 'each': 'drop' is done to the key that trips, by a condition of "
		"its "
		"own\n"
		"6:26: a key is dropped for 281474976s at most, or without a time for ever\n"),
	MISTAKE("each e port 0 ipv4.src max 10 idle 1s\neach f port 0 ipv4.src max 10 idle 1s\n"
		"when e.bytes >= 5 police f 5pps\nwhen all(e.bytes >= 1, after 1s) log\n"
		"when e.bytes >= 5 reset f\nwhen after 1s reset e\n"
		"when e.bytes >= 5 every 281474976710656 log",
		"3:26: a condition of keys does that to the key that trips: expected 'e', found "
		"'f'\n4:10: 'e.bytes' is of the keys of 'e': in an 'all' or 'any' of these, "
		"expected 'e.packets' and 'e.bytes' alone, with '>=', 'rate' or 'idle'\n"
		"5:25: a condition of keys does that to the key that trips: expected 'e', found "
		"'f'\n"
		"6:21: 'e' is an 'each': 'reset' is done to the key that trips, by a condition of "
		"its own; to all of its keys by tripctl reset e\n"
		"7:6: every 281474976710656: of a key, at most 281474976710655\n"),
	MISTAKE("each e port 0 ipv4.src max 10 idle 1s\nwhen e.packets rate >= 5pps over 1s "
		"every 1 log\nwhen e.packets idle 1s log\nwhen e.bytes rate >= 5B/s over 1s "
		"until < 1B/s for 1s reset e",
		"3:6: 'e.packets' idle 1s: a key of 'e' goes when it has been idle for 1s: "
		"expected a shorter time\n"
		"4:61: 'reset' does nothing that 'until' would end\n"),
	MISTAKE("each e port 0 ipv4.src max 10 idle 1m\neach f port 0 ipv4.src max 10 idle 1m\n"
		"count c port 0 pattern eth / end\n"
		"when any(e.packets >= 1, all(e.bytes >= 5, f.bytes >= 5)) log\n"
		"when all(c.packets >= 1, e.packets >= 1) log\n"
		"when all(e.packets rate >= 5pps over 1s, e.bytes rate >= 5B/s over 1s) log\n"
		"when any(e.packets >= 0, e.bytes idle 1500ms) log\n"
		"when any(e.packets >= 1, e.bytes idle 60500ms) drop f\n"
		"when any(e.bytes idle 60500ms) add c 5\n"
		"when any(e.packets spent, f.packets rate >= 5B/s over 1s) log",
		"4:10: 'e.packets' is of the keys of 'e': in an 'all' or 'any' of these, expected "
		"'e.packets' and 'e.bytes' alone, with '>=', 'rate' or 'idle'\n"
		"5:26: 'e.packets' is of the keys of 'e': in an 'all' or 'any' of these, expected "
		"'e.packets' and 'e.bytes' alone, with '>=', 'rate' or 'idle'\n"
		"6:42: 'e' has a 'rate' already: an 'each' has one\n"
		"7:10: 'e.packets' >= 0: of a key, expected 1 to 281474976710655\n"
		"8:53: a condition of keys does that to the key that trips: expected 'e', found "
		"'f'\n"
		"9:10: a condition of keys has 'log', 'exec', 'drop', 'police' or 'reset', and no "
		"'add'\n"
		"9:36: 'add' needs a 'counter' or 'quota': 'c' is a 'count' rule\n"
		"10:20: 'e.packets' is no 'quota', of which that could be\n"
		"10:27: 'f.packets' is of the keys of 'f': in an 'all' or 'any' of these, expected "
		"'f.packets' and 'f.bytes' alone, with '>=', 'rate' or 'idle'\n"
		"10:45: a rate of packets is in pps, /s, /m, /h or /d, found '5B/s'\n"),
	MISTAKE("each e port 0 ipv4.src max 10 idle 1m\n"
		"when any(e.packets >= 1, e.packets >= 2, e.packets >= 3, e.packets >= 4, "
		"e.packets >= 5, e.packets >= 6, e.packets >= 7, e.packets >= 8) log\n"
		"when any(e.packets >= 1, e.packets >= 2, e.packets >= 3, e.packets >= 4, "
		"e.packets >= 5, e.packets >= 6, e.packets >= 7, e.packets >= 9) log\n"
		"when any(e.packets >= 1, e.packets >= 2) log\n"
		"each f port 0 ipv4.src max 10 idle 1m\n"
		"when any(f.packets idle 1s, f.bytes idle 2s, f.bytes idle 3s, f.bytes idle 2s, "
		"f.bytes idle 4s) log\nwhen f.packets idle 5s log",
		"4:10: 'e' has more conditions in 'all' and 'any' than 16: that is the limit of an "
		"'each'\n"
		"7:6: 'f' has 'idle' with more times than 4: that is the limit of an 'each'\n"),
	MISTAKE("each e port 0 ipv4.src max 10 idle 1s\nwhen e.packets >= 5 drop e\n"
		"when e.packets >= 9 drop e for 5s\nwhen e.packets >= 10 police e 5pps",
		"4:6: 'e' has a condition on line 2 that does something else that lasts: to a "
		"key, one 'drop', one 'police', or what 'until' ends\n"),
	MISTAKE("each e port 0 ipv4.src max 10 idle 1s\nquota q 5 of e.bytes\ncounter c\n"
		"when c >= 1 add e 1",
		"2:14: not yet: 'e.bytes' is of an 'each': a quota is of what 'count' rules "
		"count\n"
		"4:17: 'add' needs a 'counter' or 'quota': 'e' is an 'each'\n"),
	MISTAKE("count a port name \"x\" transfer group 2 pattern raw src range 1-2 / udp dst "
		"last 5 / end actions mark id 1 / end",
		"1:23: not yet: this version cannot do 'transfer'\n"
		"1:48: not yet: this version cannot do 'raw'\n"
		"1:76: 'last' is not part of the language: expected 'is', 'spec', 'mask', "
		"'prefix', 'range' or 'in', found 'last'\n"),
};

#endif

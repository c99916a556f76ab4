# SPDX-License-Identifier: BSD-3-Clause
"""What carries other packets, or hides them (MPLS, GENEVE, GTP-U, PPPoE, ESP, AH): what each rule counts of
generated captures, beside what tshark takes for it, and tcpdump where it knows the words."""
import os
import random
import struct
import sys
from collections import namedtuple

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'apps'))
from filters import TAGGED, deep_bytes, eq, first
from frames import *
from tools import need_tools, replay, tcpdump, tshark, write_capture
from tripd_test import main

REPLAY = os.path.abspath(sys.argv[2])
SEED = int(os.environ.get('TRIP_SEED', 20110716))
FRAMES = 3000
LABELS, TEIDS, QFIS, SESSIONS, SPIS = (16, 17, 0xfffff), (7, 8), (9, 1), (5, 0x500), (7, 4096)
MPLS, PPPOE, GENEVE, GTPU = 0x8847, 0x8864, 6081, 2152
PPP4, PPP6, LCP = 0x0021, 0x0057, 0xc021


def any_ip(rng):
    """An IP packet, and which version it is."""
    six = rng.random() < 0.4
    return (ipv6(rng, *l4(rng, six=True)), 6) if six else (ipv4(rng, *l4(rng)), 4)


def over_ip(rng, protocol, data, tags):
    if rng.random() < 0.6:
        return ethernet(rng, IPV4, ipv4(rng, protocol, data, options=rng.choice((0, 0, 1))), tags)
    return ethernet(rng, IPV6, ipv6(rng, protocol, data), tags)


def over_port(rng, port, data, tags):
    return over_ip(rng, UDP, struct.pack('!HHHH', rng.randrange(49152, 65536), port, 8 + len(data), 0) + data, tags)


def mpls(rng, tags):
    depth = rng.choice((1, 1, 2, 3))
    stack = b''.join(struct.pack('!I', rng.choice(LABELS) << 12 | rng.randrange(8) << 9 | (i == depth - 1) << 8 |
                                 rng.choice((1, 64))) for i in range(depth))
    return ethernet(rng, MPLS, stack + any_ip(rng)[0], tags)


def geneve(rng, tags):
    packet, version = any_ip(rng)
    kind = rng.choice((BRIDGED, BRIDGED, IPV4 if version == 4 else IPV6))
    inside = ethernet(rng, IPV4 if version == 4 else IPV6, packet) if kind == BRIDGED else packet
    options = rng.choice((b'', b'', struct.pack('!HBBI', 0x0102, 3, 1, 7)))
    return over_port(rng, GENEVE, struct.pack('!BBHI', len(options) // 4, 0, kind, rng.choice(VNIS) << 8) + options +
                     inside, tags)


def gtpu(rng, tags):
    teid = rng.choice(TEIDS)
    if rng.random() < 0.1:
        return over_port(rng, GTPU, struct.pack('!BBHIHBB', 0x32, 1, 4, teid, 1, 0, 0), tags)
    flags, more = rng.choice((
        (0x30, b''), (0x32, bytes((0, 1, 0, 0))), (0x34, bytes((0, 0, 0, 0x85, 1, 0x10, rng.choice(QFIS), 0)))))
    packet = more + any_ip(rng)[0]
    return over_port(rng, GTPU, struct.pack('!BBHI', flags, 255, len(packet), teid) + packet, tags)


def pppoe(rng, tags):
    packet, version = any_ip(rng)
    kind = PPP4 if version == 4 else PPP6
    if rng.random() < 0.1:
        kind, packet = LCP, struct.pack('!BBHI', 9, 1, 8, 0)
    return ethernet(rng, PPPOE, struct.pack('!BBHHH', 0x11, 0, rng.choice(SESSIONS), 2 + len(packet), kind) + packet,
                    tags)


def security(rng, tags):
    spi, sequence = rng.choice(SPIS), rng.randrange(1, 9)
    if rng.random() < 0.5:
        return over_ip(rng, ESP, struct.pack('!II', spi, sequence) + rng.randbytes(40), tags)
    return over_ip(rng, AH, struct.pack('!BBHII', TCP, 4, 0, spi, sequence) + bytes(12) + tcp(rng, b''), tags)


def bare(rng, tags):
    packet, version = any_ip(rng)
    return ethernet(rng, IPV4 if version == 4 else IPV6, packet, tags)


KINDS = mpls, geneve, gtpu, pppoe, security, bare


def labels(*tests):
    """Of the labels of a stack tshark's words mean any, so it is asked by bytes."""
    return deep_bytes(lambda depth: ' and '.join([eq(12 + 4 * depth, '8847')] + [
        eq(14 + 4 * depth + at, *test) for at, *test in tests]))


Rule = namedtuple('Rule', 'name pattern words tcpdump', defaults=(None,))
OUTER = '(ip|ipv6):'
INNER = ':eth:ethertype' + TAGGED
RULES = (
    Rule('mpls', 'eth / mpls', first('mpls'), 'mpls'),
    Rule('mpls_16', 'mpls label is 16', labels((0, '000100', 'fffff0')), 'mpls 16'),
    Rule('mpls_tc', 'mpls tc is 5 ttl is 64', labels((2, '0a', '0e'), (3, '40'))),
    Rule('mpls_one', 'mpls s is 1', labels((2, '01', '01')), 'mpls and ether[16] & 1 = 1'),
    Rule('mpls_two', 'eth / mpls / mpls', labels((2, '00', '01')), 'mpls and ether[16] & 1 = 0'),
    Rule('mpls_17', 'mpls label is 16 / mpls label is 17',
         labels((0, '000100', 'fffff1'), (4, '000110', 'fffff0')), 'mpls 16 and mpls 17'),
    Rule('mpls_dns', 'mpls label is 16 / ipv4 / udp dst is 53',
         f'{first("mpls(:ip)?:udp")} and ip and udp.dstport#1 == 53 and {labels((0, "000100", "fffff0"))}'),
    # Newer ones do not name IP behind a label, nor its version in a tunnel.
    Rule('mpls_ip6', 'eth / mpls / ipv6',
         f'({first("mpls:ipv6")} or ({first("mpls(?!:(mpls|ip|ipv6|eth))")} and ipv6 and not ip))'),
    Rule('geneve', 'udp / geneve', first(OUTER + 'udp:geneve'), 'geneve or (ip6 and udp dst port 6081)'),
    Rule('geneve_77', 'ipv4 / udp / geneve vni is 77', f'{first("ip:udp:geneve")} and geneve.vni#1 == 77', 'ip and udp and geneve 77'),
    Rule('geneve_options', 'geneve optlen is 2', f'{first(OUTER + "udp:geneve")} and geneve[0:1] & 0x3f == 0x02'),
    Rule('geneve_web', 'geneve / eth / ipv4 / tcp dst is 443',
         f'{first(OUTER + "udp:geneve" + INNER + "ip:tcp")} and tcp.dstport#1 == 443'),
    Rule('geneve_ip', 'geneve protocol is 0x0800 / ipv4', first(OUTER + 'udp:geneve:ip')),
    Rule('geneve_any', 'geneve / ipv6', first(OUTER + f'udp:geneve({INNER}|:)ipv6')),
    Rule('gtpu', 'udp / gtpu', first(OUTER + 'udp:gtp'), 'udp dst port 2152'),
    Rule('gtpu_7', 'gtpu teid is 7', f'{first(OUTER + "udp:gtp")} and gtp.teid == 7',
         '(ip and udp dst port 2152 and udp[12:4] = 7) or (ip6 and ip6[6] = 17 and ip6[42:2] = 2152 and ip6[52:4] = 7)'),
    Rule('gtpu_echo', 'gtpu msg_type is 1', f'{first(OUTER + "udp:gtp")} and gtp.message == 1'),
    Rule('gtpu_9', 'gtpu / gtp_psc qfi is 9',
         f'{first(OUTER + "udp:gtp")} and gtp.ext_hdr.pdu_ses_con.qos_flow_id == 9'),
    Rule('gtpu_src', 'ipv4 / udp / gtpu teid is 7 / ipv4 src is 10.1.0.1',
         f'{first("ip:udp:gtp:ip")} and gtp.teid == 7 and ip.src#2 == 10.1.0.1'),
    Rule('gtpu_web', 'gtpu / ipv6 / tcp dst is 443',
         f'(({first("ip:udp:gtp:ip(v6)?:tcp")} and ipv6) or ({first("ipv6:udp:gtp:ip(v6)?:tcp")} and not ip)) '
         'and tcp.dstport#1 == 443'),
    Rule('pppoes', 'eth / pppoes', first('pppoes'), 'pppoes'),
    Rule('pppoes_5', 'pppoes seid is 5', f'{first("pppoes")} and pppoe.session_id == 5', 'pppoes 5'),
    Rule('pppoes_dns', 'pppoes / ipv4 / udp dst is 53', f'{first("pppoes:ppp:ip:udp")} and udp.dstport#1 == 53'),
    Rule('pppoes_ip6', 'pppoes seid is 0x500 / ipv6', f'{first("pppoes:ppp:ipv6")} and pppoe.session_id == 0x500',
         'pppoes 0x500 and ip6'),
    Rule('esp', 'esp', first(OUTER + 'esp'), 'ip proto 50 or ip6 proto 50'),
    Rule('esp_4096', 'ipv4 / esp spi is 4096', f'{first("ip:esp")} and esp.spi == 4096'),
    Rule('esp6', 'ipv6 / esp spi is 7 seq is 1', f'{first("ipv6:esp")} and esp.spi == 7 and esp.sequence == 1',
         'ip6 proto 50 and ip6[40:4] = 7 and ip6[44:4] = 1'),
    Rule('ah', 'ah', first(OUTER + 'ah'), 'ip proto 51 or ip6 proto 51'),
    Rule('ah_7', 'ah spi is 7', f'{first(OUTER + "ah")} and ah.spi == 7'),
    Rule('ah6', 'ipv6 / ah spi is 4096 seq is 2', f'{first("ipv6:ah")} and ah.spi == 4096 and ah.sequence == 2',
         'ip6 proto 51 and ip6[44:4] = 4096 and ip6[48:4] = 2'),
    # Of what stands in carriers these take nothing.
    Rule('ip', 'eth / ipv4', first('ip')),
    Rule('dns', 'eth / ipv4 / udp dst is 53', f'{first("ip:udp")} and udp.dstport#1 == 53'),
)
LAYOUTS = ((), ('--segment', '7', '--queues', '2'), ('--segment', '40', '--random', '--queues', '4', '--burst', '5'))


def compare(bench, name, frames, tool, truth):
    bench.file('rules', ''.join(f'also count {rule.name} port 0 pattern {rule.pattern} / end\n' for rule in RULES))
    for words in LAYOUTS:
        counted, received, _ = replay(REPLAY, bench.file('rules'), '--pcap', bench.file(name), '--seed', str(SEED), *words)
        assert received == len(frames), f'{received} of {len(frames)} frames received'
        wrong = [f'{rule} {" ".join(words)}: {counted[rule][:2]} packets and bytes; {tool}: {len(taken)}, '
                 f'{sum(taken.values())}' for rule, taken in truth.items()
                 if counted[rule][:2] != (len(taken), sum(taken.values()))]
        assert not wrong, '\n'.join(wrong)
    empty = [rule for rule, taken in truth.items() if not taken]
    assert not empty, f'the capture has nothing for {empty}'


def generated(bench, name, tags):
    rng = random.Random(f'{name} {SEED}')
    frames = [rng.choice(KINDS)(rng, tags(rng)) for _ in range(FRAMES)]
    write_capture(bench.file(name), frames)
    return frames


def tagged(bench):
    need_tools()
    frames = generated(bench, 'tagged', lambda rng: random_tags(rng)[:2])
    compare(bench, 'tagged', frames, 'tshark',
            tshark(bench.file('tagged'), {rule.name: rule.words for rule in RULES}))


def untagged(bench):
    need_tools()
    frames = generated(bench, 'untagged', lambda rng: ())
    compare(bench, 'untagged', frames, 'tcpdump',
            tcpdump(bench.path, bench.file('untagged'), {rule.name: rule.tcpdump for rule in RULES if rule.tcpdump}))


print(f'carriers: TRIP_SEED={SEED}')
main(tagged, untagged)

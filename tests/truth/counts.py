# SPDX-License-Identifier: BSD-3-Clause
"""Counts of disjoint rules on a generated capture, beside tcpdump's of the same file: packets and
bytes, rule by rule. The seed of the capture is printed; TRIP_SEED repeats it.

A rule for eth / ipv4 matches at any VLAN depth, and tcpdump's words match at the depth that they say,
so such a rule has one filter for each depth, whose counts are summed.
"""
import os
import random
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'apps'))
from tripd_test import *

FRAMES = 20000
DEPTHS = '', 'vlan and ', 'vlan and vlan and '


def at_any_depth(words):
    return [depth + words for depth in DEPTHS]


# name, pattern, tcpdump's filters. Disjoint: no frame matches two.
RULES = (
    ('dns', 'eth / ipv4 / udp dst is 53', at_any_depth('ip and udp dst port 53')),
    ('dns6', 'eth / ipv6 / udp dst is 53', at_any_depth('ip6 and udp dst port 53')),
    ('web', 'eth / ipv4 / tcp dst is 443', at_any_depth('ip and tcp dst port 443')),
    ('web6', 'eth / ipv6 / tcp dst is 443', at_any_depth('ip6 and tcp dst port 443')),
    ('syn', 'eth / ipv4 / tcp dst is 22 flags spec 0x02 flags mask 0x12',
     at_any_depth('ip and tcp dst port 22 and tcp[13] & 0x12 = 0x02')),
    ('ping', 'eth / ipv4 / icmp type is 8', at_any_depth('ip and icmp[0] = 8')),
    ('unreachable', 'eth / ipv4 / icmp type is 3 code is 3',
     at_any_depth('ip and icmp[0] = 3 and icmp[1] = 3')),
    ('net', 'eth / ipv4 dst spec 10.9.0.0 dst prefix 16 / udp',
     at_any_depth('ip and dst net 10.9.0.0/16 and ip proto 17')),
    ('ntp', 'eth / ipv4 src spec 172.16.0.0 src mask 255.240.0.0 / udp dst is 123',
     at_any_depth('ip and src net 172.16.0.0/12 and udp dst port 123')),
    ('tagged', 'eth / vlan vid is 7 / ipv4 / udp dst is 5000', ['vlan 7 and ip and udp dst port 5000']),
    ('twice', 'eth / vlan vid is 8 / vlan vid is 9 / ipv4 / udp dst is 5001',
     ['vlan 8 and vlan 9 and ip and udp dst port 5001']),
    ('arp', 'eth type is 0x0806', ['arp']),
    ('station', 'eth dst is 02:00:00:00:77:01 type is 0x88b5',
     ['ether proto 0x88b5 and ether dst 02:00:00:00:77:01']),
)
DROPPED = 'net'


def address(rng, *nets):
    return rng.choice(nets) + f'.{rng.randrange(256)}.{rng.randrange(1, 255)}'


def make_ipv4(rng):
    src, dst = address(rng, '10.1', '172.16', '172.31', '172.32'), address(rng, '10.8', '10.10')
    payload = bytes(rng.randrange(64))
    # Later fragments: their first bytes look like ports, and are not.
    fragment = rng.choice((0, 0, 0, 0, 0x2000, 0x00b9))
    options = rng.choice((b'', b'', b'', bytes([1, 1, 1, 0]), bytes([1] * 7 + [0])))
    kind = rng.randrange(10)
    if kind == 0:
        return ipv4(udp(rng.choice((53, 123, 9)), payload), 17, src, address(rng, '10.9'), fragment,
                    options) if rng.random() < 0.3 else \
            ipv4(icmp(rng.choice((0, 3, 8)), payload, rng.choice((0, 3))), 1, src, dst, fragment,
                 options)
    if kind < 6:
        return ipv4(udp(rng.choice((53, 123, 443, 5000, 5001)), payload), 17, src, dst, fragment, options)
    return ipv4(tcp(rng.choice((22, 53, 443)), payload, flags=rng.choice((2, 0x12, 0x10))), 6, src,
                dst, fragment, options)


def make_frame(rng):
    kind = rng.randrange(20)
    vlans = rng.choice(((), (), ((0x8100, 7),), ((0x8100, 3),), ((0x88a8, 8), (0x8100, 9)),
                        ((0x8100, 9), (0x8100, 8))))
    if kind == 0:
        return ethernet(bytes(28), rng.choice((0x0806, 0x88cc)), dst=rng.choice((2, 0x7701)))
    if kind == 1:
        return ethernet(bytes(rng.randrange(100)), 0x88b5, dst=rng.choice((2, 0x7701)))
    if kind < 5:
        l4 = udp(rng.choice((53, 54)), bytes(9)) if kind == 2 else tcp(rng.choice((443, 80)))
        return ethernet(ipv6(l4, 17 if kind == 2 else 6), 0x86dd, vlans)
    frame = ethernet(make_ipv4(rng), 0x0800, vlans)
    # Short ones are padded, as a NIC does; the padding counts, and matches nothing.
    return frame + bytes(max(0, 60 - len(frame))) if rng.random() < 0.7 else frame


def make_distinct(rng):
    """A frame that at most one rule matches; `net` overlaps others by address only."""
    while True:
        frame = make_frame(rng)
        ip = 14 + 4 * sum(frame[at:at + 2] in (b'\x81\x00', b'\x88\xa8') for at in (12, 16))
        if frame[ip - 2:ip] != b'\x08\x00' or frame[ip + 16:ip + 18] != b'\x0a\x09':
            return frame
        # To 10.9/16 goes only what no other rule wants: udp to a port that none names.
        words = 4 * (frame[ip] & 15)
        if frame[ip + 9] == 17:
            return frame[:ip + words + 2] + b'\x00\x09' + frame[ip + words + 4:]


def tcpdump(bench, capture, filters):
    packets = size = 0
    for words in filters:
        out = bench.file('filtered.pcap')
        # -Z root: what it opens lies in a directory of this user alone.
        subprocess.run(['tcpdump', '-r', capture, '-w', out, *(['-Z', 'root'] if os.getuid() == 0 else []),
                        words], check=True, capture_output=True)
        frames = read_pcap(out)
        packets += len(frames)
        size += sum(len(frame) for frame in frames)
    return packets, size


def compare(bench, drop):
    if shutil.which('tcpdump') is None:
        raise Skip('tcpdump is not installed')
    seed = int(os.environ.get('TRIP_SEED', 20110716))
    print(f'counts: TRIP_SEED={seed}')
    rng = random.Random(seed)
    frames = [make_distinct(rng) for _ in range(FRAMES)]
    lines = [f'count {name} port 0 pattern {pattern} / end'
             + (' actions drop / end' if drop and name == DROPPED else '') for name, pattern, _ in RULES]
    # Of `net`, and of three that it overlaps, tripd warns: it does not know these frames.
    report, _ = bench.play(frames, '\n'.join(lines) + '\n', warnings=4)
    counted = {c['name']: (c['packets'], c['bytes']) for c in report['counters']}
    wrong = []
    for name, pattern, filters in RULES:
        truth = tcpdump(bench, bench.file('in.pcap'), filters)
        print(f'{name:12} {truth[0]:6} packets {truth[1]:8} bytes')
        assert truth[0] > 0, f'{name}: the capture has none, so nothing is compared'
        if counted[name] != truth:
            wrong.append(f'{name}: tripd counts {counted[name]} with "{pattern}", tcpdump {truth} '
                         f'with {filters}')
    assert not wrong, '\n'.join(wrong)


def counts_are_tcpdumps(bench):
    compare(bench, drop=False)


def drops_count_too(bench):
    compare(bench, drop=True)


main(counts_are_tcpdumps, drops_count_too)

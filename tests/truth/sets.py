# SPDX-License-Identifier: BSD-3-Clause
"""Packets whose addresses and ports are in sets, beside what tshark and tcpdump take by the same prefixes. Prefixes of any
length lie within, beside and far from each other; addresses are at their edges, and just behind these."""
import ipaddress
import os
import random
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'apps'))
from tools import need_tools, tcpdump, tshark
from tripd_test import *

SEED = int(os.environ.get('TRIP_SEED', 20261127))
FRAMES = 6000
PREFIXES = 150
# How many bits, and what networks are of: so few of them that prefixes meet.
FAMILIES = {4: (32, ipaddress.IPv4Network, '10.0.0.0/7'), 6: (128, ipaddress.IPv6Network, '2001:db8::/29')}
FIRST_PORTS = 30000


def draw_prefix(rng, version, near):
    """Anywhere, or just behind, around or within one that is there."""
    bits, network, all_of = FAMILIES[version]
    within = network(all_of)
    widest = within.prefixlen + 5
    length = rng.randint(widest, bits)
    start = int(within.network_address) + rng.randrange(1 << (bits - within.prefixlen))
    if near and rng.random() < 0.6:
        other = rng.choice(near)
        start = rng.choice((int(other.broadcast_address) + 1, int(other.network_address)))
        length = min(bits, max(widest, other.prefixlen + rng.randint(-3, 6)))
    return network((start % (1 << bits) >> (bits - length) << (bits - length), length))


def draw_set(rng, version):
    prefixes = []
    while len(prefixes) < PREFIXES:
        prefixes.append(draw_prefix(rng, version, prefixes))
    return prefixes


def draw_address(rng, version, prefixes):
    """At an edge of a prefix or just outside, in it, or anywhere."""
    bits, network, all_of = FAMILIES[version]
    one = rng.choice(prefixes) if rng.random() < 0.8 else network(all_of)
    first, last = int(one.network_address), int(one.broadcast_address)
    return rng.choice((first, last, first - 1, last + 1, rng.randint(first, last))) % (1 << bits)


def draw_frame(rng, version, prefixes):
    bits = FAMILIES[version][0]
    l4 = udp(FIRST_PORTS + rng.randrange(200), bytes(rng.randrange(100)), FIRST_PORTS + rng.randrange(200))
    ends = b''.join(draw_address(rng, version, prefixes).to_bytes(bits // 8, 'big') for _ in range(2))
    vlans = rng.choice(((), (), ((0x8100, 7),)))
    if version == 4:
        return ethernet(ipv4(l4, 17)[:12] + ends + l4, 0x0800, vlans)
    return ethernet(struct.pack('!IHBB', 6 << 28, len(l4), 17, 64) + ends + l4, 0x86dd, vlans)


def any_of(words, values):
    return '(' + ' or '.join(words.format(value) for value in values) + ')'


def filters(version, prefixes, ports):
    """{count: (pattern, tshark's filter, tcpdump's filters)}."""
    ip, words, bpf = {4: ('ipv4', 'ip', 'ip'), 6: ('ipv6', 'ipv6', 'ip6')}[version]
    found = {}
    for end in 'src', 'dst':
        for name, more in ('alone', ''), ('ports', ' / udp src in ports'):
            shark = any_of(f'{words}.{end} == {{}}', prefixes) + (
                ' and ' + any_of('udp.srcport == {}', ports) if more else '')
            dump = f'{bpf} and ' + any_of(f'{end} net {{}}', prefixes) + (
                ' and ' + any_of('udp src port {}', ports) if more else '')
            found[f'{name}_{end}'] = f'{ip} {end} in these{more}', shark, [dump, f'vlan and {dump}']
    return found


def rules_of(bench, wanted, prefixes, ports, inline):
    entries = [str(prefix) for prefix in prefixes]
    if inline:
        these = 'set these { ' + ', '.join(entries) + ' }\n'
    else:
        these = f'set these file {bench.file("these", "".join(f"{entry}" + chr(10) for entry in entries))}\n'
    return these + 'set ports { ' + ', '.join(map(str, ports)) + ' }\n' + ''.join(
        f'also count {name} port 0 pattern {pattern} / end\n' for name, (pattern, _, _) in wanted.items())


def compare(bench, version):
    need_tools()
    print(f'sets: TRIP_SEED={SEED}')
    rng = random.Random(f'{version} {SEED}')
    for inline in False, True:
        prefixes = draw_set(rng, version)
        ports = sorted({FIRST_PORTS + rng.randrange(200) for _ in range(40)})
        frames = [draw_frame(rng, version, prefixes) for _ in range(FRAMES)]
        wanted = filters(version, prefixes, ports)
        report, _ = bench.play(frames, rules_of(bench, wanted, prefixes, ports, inline))
        counted = {c['name']: (c['packets'], c['bytes']) for c in report['counters']}
        capture = bench.file('in.pcap')
        by_tool = {'tshark': tshark(capture, {name: shark for name, (_, shark, _) in wanted.items()}),
                   'tcpdump': tcpdump(bench.path, capture, {name: dump for name, (_, _, dump) in wanted.items()})}
        for tool, taken in by_tool.items():
            for name, found in taken.items():
                print(f'IPv{version}, {tool}: {name} {len(found)} of {FRAMES} frames')
                assert FRAMES // 50 < len(found) < FRAMES - FRAMES // 50, 'nearly all or none shows nothing'
                equal(counted[name], (len(found), sum(found.values())), f'packets and bytes of {name}, beside {tool}')


def sets_of_ipv4(bench):
    compare(bench, 4)


def sets_of_ipv6(bench):
    compare(bench, 6)


main(sets_of_ipv4, sets_of_ipv6)

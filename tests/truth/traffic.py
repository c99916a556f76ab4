# SPDX-License-Identifier: BSD-3-Clause
"""Live traffic of the kernel's own stacks through tripd: TCP, UDP and SCTP, IPv4 and IPv6, each way, on
interfaces whose offloads are as they come. What tripd counts is what the senders put on the wire, to the
packet and byte, and what they sent arrives; between two ports as the kernel at the other end counts it, too.

  traffic.py TRIPD iface|pair|xdp|tap|pair-vxlan|xdp-vxlan

TRIP_SCALE multiplies what is sent, 5 MB each way by each protocol and family; 20 is 100 MB. By each of the
tunnels it is a fifth of that.
"""
import ctypes
import os
import shutil
import socket
import subprocess
import sys
from collections import namedtuple

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'apps'))
from traffic_host import ETHERNET, IP, MTU, Host, kernel_describes_joined_udp
from tripd_test import Skip, json, main, signal, wait_until

KIND = sys.argv[2]
TOTAL = int(5000000 * float(os.environ.get('TRIP_SCALE', '1')))
CLONE_NEWNS, CLONE_NEWNET = 0x00020000, 0x40000000
V4, V6 = socket.AF_INET, socket.AF_INET6
# SCTP's packets are made here, with or without a kernel that has it; one that has would answer them, too.
PROTOCOLS = ('tcp', 'udp') if os.path.exists('/proc/sys/net/sctp') else ('tcp', 'udp', 'sctp')
FAMILIES = (V4, '4', 'ipv4'), (V6, '6', 'ipv6')
ADDRESSES = {'near': {V4: '10.9.0.1', V6: 'fd00:9::1'}, 'far': {V4: '10.9.0.2', V6: 'fd00:9::2'}}
# By which hosts reach each other: what the names of its counts begin with, the hosts' addresses, what its rules'
# patterns begin with and its frames have before the inner one, and its share of the traffic.
Way = namedtuple('Way', 'name addresses pattern outer share')
PLAIN = Way('', ADDRESSES, '', 0, 1)
MACS = {'near': '02:00:00:00:00:0a', 'far': '02:00:00:00:00:0b'}
PORT, MARKER = 5001, 9


def ip(*words):
    done = subprocess.run(['ip', *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f'ip {" ".join(words)}: {done.stderr}'


def make_network():
    """tripd's own; everybody else's is made by them."""
    if os.getuid() != 0 or ctypes.CDLL(None).unshare(CLONE_NEWNS | CLONE_NEWNET) != 0:
        raise Skip('a network of its own takes root')
    if shutil.which('ip') is None:
        raise Skip('ip is not installed')
    for words in ('--make-rprivate', '/'), ('-t', 'sysfs', 'sysfs', '/sys'):
        if subprocess.run(['mount', *words], check=False, capture_output=True).returncode != 0:
            raise Skip('no sysfs can be mounted')


def dress(host, name, interface, addresses):
    """An address of each family, and nothing that the kernel would say by itself. Segments have no
    options but time stamps, so that what a connection sent can be told in bytes; and its end is not sent
    again for mere slowness, when nobody is left who counts what that makes the other end say."""
    for setting, value in (('ipv4/tcp_sack', '0'), ('ipv4/tcp_dsack', '0'), ('ipv4/tcp_early_retrans', '0'),
                           ('ipv4/tcp_rto_min_us', '2000000'),
                           (f'ipv6/conf/{interface}/accept_dad', '0'),
                           (f'ipv6/conf/{interface}/accept_ra', '0'),
                           (f'ipv6/conf/{interface}/addr_gen_mode', '1')):
        host.tell('set', setting, value)
    other = 'far' if name == 'near' else 'near'
    host.tell('ip', 'link', 'set', interface, 'address', MACS[name])
    host.tell('ip', 'link', 'set', interface, 'up')
    host.tell('ip', 'address', 'add', addresses[name][V4] + '/24', 'dev', interface)
    host.tell('ip', 'address', 'add', addresses[name][V6] + '/64', 'dev', interface, 'nodad')
    for family in V4, V6:
        host.tell('ip', 'neigh', 'replace', addresses[other][family], 'lladdr', MACS[other], 'dev', interface,
             'nud', 'permanent')


def rules(ports, ways):
    lines = []
    for port in ports:
        for family, digit, item in FAMILIES:
            lines.append(f'count p{port}_mark{digit} port {port} priority 1 pattern eth / {item} / udp dst is '
                         f'{MARKER} / end\nwhen p{port}_mark{digit}.packets >= 1 log "marked"')
            for way in ways:
                for protocol in PROTOCOLS:
                    lines.append(f'count p{port}_{way.name}{protocol}{digit} port {port} priority 2 pattern '
                                 f'{way.pattern}eth / {item} / {protocol} / end')
        lines.append(f'count p{port}_rest port {port} priority 3 pattern eth / end')
    return '\n'.join(lines) + '\n'


class Bed:
    """tripd between hosts. `ports` says at which port arrives what each host sends."""

    def __init__(self, bench, make):
        make_network()
        self.bench = bench
        self.hosts = {}
        self.ports = {}
        self.interfaces = {}
        self.ways = [PLAIN]
        self.process = None
        make(self)

    def host(self, name, own_network=True):
        self.hosts[name] = Host(own_network)
        return self.hosts[name]

    def veth(self, ours, theirs, name, mtu=MTU):
        """A wire from tripd to a host, of which nothing else is set but the addresses."""
        ip('link', 'add', ours, 'mtu', str(mtu), 'type', 'veth', 'peer', 'name', theirs, 'mtu', str(mtu))
        host = self.host(name)
        ip('link', 'set', theirs, 'netns', str(host.pid))
        with open(f'/proc/sys/net/ipv6/conf/{ours}/disable_ipv6', 'w', encoding='ascii') as file:
            file.write('1')
        ip('link', 'set', ours, 'up')
        self.dress(name, theirs)

    def dress(self, name, interface):
        self.interfaces[name] = interface
        dress(self.hosts[name], name, interface, ADDRESSES)

    def start(self, *words):
        given = self.bench.file('rules', rules(self.ports.values(), self.ways))
        self.process = self.bench.start(*words, '--rules', given, '--report', self.bench.file('report.json'))
        self.bench.wait_for_line(self.process, '0 flows are counted in hardware')

    def play(self, way, kind, family, sender, receiver):
        """Returns what each of the two sent."""
        to = way.addresses[receiver][family]
        total = int(TOTAL * way.share)
        extra = ()
        if kind == 'tcp':
            self.hosts[receiver].tell('serve', kind, family, to, PORT, total)
        else:
            self.hosts[receiver].tell('serve', kind, family, to, PORT)
        if kind == 'udp':
            extra = (kernel_describes_joined_udp(),)
        sent = self.hosts[sender].tell(kind, family, to, PORT, total, *extra)
        return {sender: sent, receiver: self.hosts[receiver].tell('served_by', kind)}

    def play_all(self):
        """{name of a count: (packets, bytes)}"""
        expected = {}
        for way in self.ways:
            for family, digit, _ in FAMILIES:
                for kind in PROTOCOLS:
                    directions = [('near', 'far')] if kind == 'tcp' else [('near', 'far'), ('far', 'near')]
                    for direction in directions:
                        for name, (packets, size) in self.play(way, kind, family, *direction).items():
                            if name in self.ports:
                                key = f'p{self.ports[name]}_{way.name}{kind}{digit}'
                                had = expected.get(key, (0, 0))
                                expected[key] = had[0] + packets, had[1] + size + packets * way.outer
        return expected

    def mark(self):
        """What was sent before is counted once the marks are: order is kept."""
        for name in self.ports:
            for family, _, _ in FAMILIES:
                self.hosts[name].tell('mark', family, ADDRESSES['far' if name == 'near' else 'near'][family],
                                      MARKER)
        for _ in range(2 * len(self.ports)):
            line = self.bench.wait_for_line(self.process, 'p')
            # What a port has lost is told as soon as it is: compare() knows of it.
            while line.startswith('port '):
                line = self.bench.wait_for_line(self.process, 'p')
            assert '_mark' in line, line

    def dropped(self):
        """{port: what was to be sent to it, and was dropped by the sender's own interface}"""
        return {port: self.hosts[name].tell('dropped', self.interfaces[name]) for name, port in self.ports.items()}

    def received(self):
        """{port: packets and bytes that the host behind the other one has received}, by its kernel. With one port
        nothing is forwarded."""
        others = {'near': 'far', 'far': 'near'}
        return {port: self.hosts[others[name]].tell('received', self.interfaces[others[name]])
                for name, port in self.ports.items() if len(self.ports) > 1}

    def await_arrival(self, expected, dropped, before):
        """The marks are counted; they are behind all else, but may still be on their way to the other end."""
        marks = len(FAMILIES)
        need = {port: sum(sent[0] for name, sent in expected.items() if name.startswith(f'p{port}_')) + marks - lost
                for port, lost in dropped.items()}
        wait_until('what is forwarded', lambda: all(
            packets - before[port][0] >= need[port] for port, (packets, _) in self.received().items()))

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        code, _, err = self.bench.finish(self.process)
        assert (code, err) == (0, ''), f'exit code {code}: {err}'
        for host in self.hosts.values():
            host.close()
        with open(self.bench.file('report.json'), encoding='utf-8') as file:
            return json.load(file)


def compare(report, expected, dropped):
    """Where a sender's own interface dropped some, TCP has sent them again, and is as many short."""
    counted = {c['name']: (c['packets'], c['bytes']) for c in report['counters']}
    missing = {f'p{port}_': n for port, n in dropped.items()}
    wrong = []
    for name, sent in sorted(expected.items()):
        port = name[:3]
        if '_tcp' in name and dropped[int(port[1])] > 0:
            missing[port] -= sent[0] - counted[name][0]
        elif counted[name] != sent:
            wrong.append(f'{name}: {counted[name]} counted, {sent} sent')
    wrong += [f'{port}: {n} packets of TCP are neither counted nor dropped' for port, n in missing.items() if n]
    # What was dropped before it was read, is above; what was counted and then not sent, compare_forwarded() has.
    told = {f'p{port["port"]}': {what: n for what, n in port['uncounted'].items()
                                 if what not in ('frames', 'missed', 'refused', 'unsent') and n}
            for port in report['ports']}
    wrong += [f'{port}: {what}' for port, what in told.items() if what]
    assert not wrong, f'packets and bytes, {dropped} dropped before:\n' + '\n'.join(wrong)
    for name in sorted(expected):
        print(f'  {name}: {expected[name][0]} packets, {expected[name][1]} bytes sent; {counted[name][0]}, '
              f'{counted[name][1]} counted')


def compare_forwarded(report, before, after):
    """All that has been counted at a port, has left by the other one: as the kernel behind that says. What hosts
    say of their own accord (MLD), they may have said before, and while the other interface was still down."""
    for port, (packets, size) in after.items():
        counts = {c['name']: (c['packets'], c['bytes']) for c in report['counters']
                  if c['name'].startswith(f'p{port}_')}
        rest = counts.pop(f'p{port}_rest')
        counted = tuple(map(sum, zip(*counts.values())))
        came = packets - before[port][0], size - before[port][1]
        more = came[0] - counted[0], came[1] - counted[1]
        assert more in ((0, 0), rest) or (0 < more[0] < rest[0] and 0 < more[1] < rest[1]), \
            f'port {port}: {counted} packets and bytes counted, and others {rest}; {came} came through'
        print(f'  port {port}: {counted[0]} packets, {counted[1]} bytes counted; {came[0]}, {came[1]} by the kernel '
              f'behind the other port, {more[0]} of them others')


def run(bench, make):
    if 'sctp' not in PROTOCOLS:
        print('  SCTP is left out: the kernel has its own here, which would answer that of the test')
    bed = Bed(bench, make)
    before, dropped_before = bed.received(), bed.dropped()
    expected = bed.play_all()
    bed.mark()
    # What a host says of its own accord while its interface comes up, is nothing that was to be counted.
    dropped = {port: n - dropped_before[port] for port, n in bed.dropped().items()}
    bed.await_arrival(expected, dropped, before)
    after = bed.received()
    report = bed.end()
    compare(report, expected, dropped)
    compare_forwarded(report, before, after)


def no_huge(bed):
    return '--no-huge', '-m', '128', '--file-prefix', bed.bench.prefix, '--'


def one_iface(bed):
    """tripd beside the kernel's own stack, which is the far host."""
    bed.veth('in0', 'out0', 'near')
    bed.host('far', own_network=False)
    with open('/proc/sys/net/ipv6/conf/in0/disable_ipv6', 'w', encoding='ascii') as file:
        file.write('0')
    bed.dress('far', 'in0')
    bed.ports = {'near': 0}
    bed.start(*no_huge(bed), '--iface', 'in0')


def wires(bed, mtu=MTU):
    bed.veth('in0', 'out0', 'near', mtu)
    bed.veth('in1', 'out1', 'far', mtu)
    bed.ports = {'near': 0, 'far': 1}


def packet_sockets(bed):
    bed.start(*no_huge(bed), '--iface', 'in0', '--iface', 'in1')


def xdp_sockets(bed):
    bed.start(*bed.bench.eal('net_af_xdp0,iface=in0', 'net_af_xdp1,iface=in1'))


def pair(bed):
    wires(bed)
    packet_sockets(bed)


def xdp(bed):
    wires(bed)
    xdp_sockets(bed)


def dig(bed, vni, family, checksum):
    """A tunnel between the hosts. Packets within are as long as others."""
    addresses = {'near': {V4: f'10.10.{vni}.1', V6: f'fd00:10:{vni}::1'},
                 'far': {V4: f'10.10.{vni}.2', V6: f'fd00:10:{vni}::2'}}
    no = '' if checksum else 'no'
    words = [f'{no}udpcsum'] if family == V4 else ['noudp6zerocsumtx' if checksum else 'udp6zerocsumtx',
                                                   'udp6zerocsumrx']
    for name, other in ('near', 'far'), ('far', 'near'):
        bed.hosts[name].tell('ip', 'link', 'add', 'dev', f'vx{vni}', 'mtu', str(MTU), 'type', 'vxlan', 'id', str(vni),
                             'dstport', '4789', 'local', ADDRESSES[name][family], 'remote', ADDRESSES[other][family],
                             'dev', bed.interfaces[name], *words)
        dress(bed.hosts[name], name, f'vx{vni}', addresses)
    item = 'ipv4' if family == V4 else 'ipv6'
    return Way(f'vx{vni}_', addresses, f'eth / {item} / udp / vxlan vni is {vni} / ',
               ETHERNET + IP[family] + 16, 0.2)


def tunnels(bed, start):
    """With a checksum of their own and without, which is the default over IPv6 and IPv4."""
    if subprocess.run(['ip', 'link', 'add', 'type', 'vxlan', 'id', '7', 'dstport', '0'], capture_output=True,
                      check=False).returncode != 0:
        raise Skip('the kernel makes no VXLAN')
    wires(bed, MTU + 100)
    bed.ways = [dig(bed, 1, V4, False), dig(bed, 2, V4, True), dig(bed, 3, V6, True), dig(bed, 4, V6, False)]
    start(bed)


def taps(bed):
    """The taps themselves are the hosts' interfaces."""
    if not os.access('/dev/net/tun', os.R_OK | os.W_OK):
        raise Skip('a tap takes /dev/net/tun')
    bed.ports = {'near': 0, 'far': 1}
    bed.start(*bed.bench.eal('net_tap0,iface=tap0', 'net_tap1,iface=tap1'))
    for i, name in enumerate(('near', 'far')):
        host = bed.host(name)
        ip('link', 'set', f'tap{i}', 'netns', str(host.pid))
        bed.dress(name, f'tap{i}')


def traffic(bench):
    run(bench, {'iface': one_iface, 'pair': pair, 'xdp': xdp, 'tap': taps,
                'pair-vxlan': lambda bed: tunnels(bed, packet_sockets),
                'xdp-vxlan': lambda bed: tunnels(bed, xdp_sockets)}[KIND])


main(traffic)

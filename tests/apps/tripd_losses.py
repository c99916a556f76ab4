# SPDX-License-Identifier: BSD-3-Clause
"""What was lost before it could be counted is told, to the frame: tripd is stopped while more is sent than
its port can hold; what it then counts, and what it says is missing, are together what was sent.
"""
import contextlib
import ctypes
import fcntl
import socket

from tripd_iface import CLONE_NEWNET, ip, make_network, opened
from tripd_test import *

TRIPCTL = os.path.abspath(sys.argv[2])
RULES = ('count mark port 0 priority 1 pattern eth / ipv4 / udp dst is 9 / end\nwhen mark.packets >= 1 log "marked"\n'
         'count all port 0 priority 2 pattern eth / ipv4 / udp dst is 7 / end\n')
FRAME = ethernet(ipv4(udp(7, bytes(1400)), 17))
SMALL = ethernet(ipv4(udp(7, bytes(18)), 17))
MARK = ethernet(ipv4(udp(9, bytes(18)), 17))


def values(bench, path):
    out = subprocess.run([TRIPCTL, '--socket', path, '--json', 'list', 'counters'], check=True, text=True,
                         capture_output=True, env=bench.environment).stdout
    return {cntr['name']: cntr['success'] for cntr in json.loads(out)['counters']}


def accounted_for(bench, path):
    told = values(bench, path)
    return told['all.packets'] + told['port0.uncounted']


def lose(bench, link, n, *words):
    """Overruns port 0, of which `link` is the other end."""
    path = bench.file('sock')
    process = bench.start(*words, '--rules', bench.file('rules', RULES), '--report', bench.file('report'),
                          '--socket', path)
    bench.wait_for_line(process, '0 flows are counted in hardware')
    with link() as sender:
        equal(values(bench, path)['port0.uncounted'], 0, 'uncounted before')
        process.send_signal(signal.SIGSTOP)
        for _ in range(n):
            sender.send(FRAME)
        process.send_signal(signal.SIGCONT)
        wait_until('telling it', lambda: accounted_for(bench, path) >= n)
        sender.send(MARK)
        bench.wait_for_line(process, 'mark.packets')
        missing = values(bench, path)['port0.uncounted']
        assert missing > 0
    process.send_signal(signal.SIGTERM)
    code, out, err = bench.finish(process)
    equal((code, err), (0, ''), 'exit code and stderr')
    with open(bench.file('report'), encoding='utf-8') as file:
        report = json.load(file)
    counts = {c['name']: c['packets'] for c in report['counters']}
    told = report['ports'][0]['uncounted']
    equal((counts['mark'], counts['all'] + told['missed']), (1, n), 'counted and missed')
    equal(told, {'frames': missing, 'missed': missing, 'no_buffer': 0, 'errors': 0, 'cut': 0, 'undivided': 0,
                 'refused': 0, 'unsent': 0, 'unfinished': 0}, 'the report')
    equal(out.splitlines()[-1],
          f'port 0: the counts are short of frames: {missing} dropped before they were read', 'the last line')


def by_a_packet_socket(bench):
    make_network()
    lose(bench, lambda: opened('out0'), 60000, '--no-huge', '-m', '96', '--', '--iface', 'in0')


def by_an_xdp_socket(bench):
    make_network()
    lose(bench, lambda: opened('out0'), 5000, *bench.eal('net_af_xdp0,iface=in0'))


def by_a_tap(bench):
    make_network()
    if not os.access('/dev/net/tun', os.R_OK | os.W_OK):
        raise Skip('a tap takes /dev/net/tun')
    lose(bench, lambda: opened('tap0'), 5000, *bench.eal('net_tap0,iface=tap0'))


def a_tap_that_is_moved_has_lost_what_it_had(bench):
    """Its interface is gone from tripd's network, and with it the kernel's count, which was none of 0 before."""
    make_network()
    if not os.access('/dev/net/tun', os.R_OK | os.W_OK):
        raise Skip('a tap takes /dev/net/tun')
    ip('tuntap add dev tap0 mode tap multi_queue')
    ip('link set tap0 arp off up')
    with opened('tap0') as sender:
        for _ in range(5):
            sender.send(FRAME)
    path = bench.file('sock')
    process = bench.start(*bench.eal('net_tap0,iface=tap0'), '--rules', bench.file('rules', RULES), '--report',
                          bench.file('report'), '--socket', path)
    bench.wait_for_line(process, '0 flows are counted in hardware')
    process.send_signal(signal.SIGSTOP)
    with opened('tap0') as sender:
        for _ in range(5000):
            sender.send(FRAME)
    process.send_signal(signal.SIGCONT)
    wait_until('telling it', lambda: accounted_for(bench, path) >= 5000)
    missing = values(bench, path)['port0.uncounted']
    other = bench.track(subprocess.Popen(['sleep', 'infinity'],
                                         preexec_fn=lambda: ctypes.CDLL(None).unshare(CLONE_NEWNET)))
    ip(f'link set tap0 netns {other.pid}')
    process.send_signal(signal.SIGTERM)
    code, out, err = bench.finish(process)
    equal((code, err), (0, ''), 'exit code and stderr')
    with open(bench.file('report'), encoding='utf-8') as file:
        equal(json.load(file)['ports'][0]['uncounted']['missed'], missing, 'missed')
    equal(out.splitlines()[-1],
          f'port 0: the counts are short of frames: {missing} dropped before they were read', 'the last line')


def what_is_not_sent_is_told(bench):
    """Frames that are longer than the other interface takes are counted, and said not to be sent."""
    make_network()
    for name in 'in0', 'out0':
        ip(f'link set {name} mtu 3000')
    process = bench.start('--no-huge', '-m', '96', '--', '--iface', 'in0', '--iface', 'in1', '--rules',
                          bench.file('rules', RULES), '--report', bench.file('report'), '--socket', bench.file('socket'))
    bench.wait_for_line(process, '0 flows are counted in hardware')
    with opened('out0') as near, opened('out1') as far:
        for _ in range(3):
            near.send(ethernet(ipv4(udp(7, bytes(2000)), 17)))
        # A tag is no part of the MTU, a second one is; and the first one counts as such by 802.1Q only.
        for vlans in ((0x8100, 5), ), ((0x88a8, 5), (0x8100, 6)):
            near.send(ethernet(ipv4(udp(7, bytes(1472)), 17), vlans=vlans))
        near.send(MARK)
        equal([len(far.recv(4096)) for _ in range(2)], [1514, len(MARK)], 'what comes through')
    process.send_signal(signal.SIGTERM)
    code, out, err = bench.finish(process)
    equal((code, err), (0, ''), 'exit code and stderr')
    with open(bench.file('report'), encoding='utf-8') as file:
        report = json.load(file)
    equal([port['uncounted']['refused'] for port in report['ports']], [0, 4], 'refused')
    equal([c['packets'] for c in report['counters']], [1, 5], 'counted')
    assert 'port 1: 4 frames were counted and not sent' in out, out


def what_finds_a_queue_full_is_told(bench):
    """Of a port that is down, whose driver keeps as many as its queue holds until it is up again: those come then."""
    make_network()
    n, path = 4000, bench.file('sock')
    process = bench.start(*bench.eal('net_af_xdp0,iface=in0', 'net_af_xdp1,iface=in1'), '--rules', bench.file('rules', RULES),
                          '--ports', '0,1', '--report', bench.file('report'), '--socket', path)
    bench.wait_for_line(process, '0 flows are counted in hardware')
    ip('link set in1 down')
    with opened('out0') as near, opened('out1') as far:
        # SO_RCVBUFFORCE: all that waits comes at once.
        far.setsockopt(socket.SOL_SOCKET, 33, 32 << 20)
        for done in range(100, n + 1, 100):
            for _ in range(100):
                near.send(SMALL)
            wait_until('counting', lambda done=done: values(bench, path)['all.packets'] == done)
        ip('link set in1 up')
        came, frame = 0, None
        while frame != MARK:
            # The first ones may find the port not up yet.
            near.send(MARK)
            far.settimeout(0.2)
            with contextlib.suppress(TimeoutError):
                frame = far.recv(4096)
                came += frame == SMALL
    process.send_signal(signal.SIGTERM)
    code, out, err = bench.finish(process)
    equal(code, 0, f'exit code, with stderr {err!r}')
    with open(bench.file('report'), encoding='utf-8') as file:
        told = [port['uncounted'] for port in json.load(file)['ports']]
    unsent = told[1]['unsent']
    assert came > 0 and unsent > 0, (came, told)
    equal((told[0]['unsent'], [one['frames'] for one in told]), (0, [0, 0]), 'of the other port, and in no count')
    equal(came + unsent, n, 'frames that came, and that did not')
    assert re.search(rf'^port 1: {unsent} frames were counted and not sent: its queue was full, as it was slower than what '
                     'came, or down$', out, re.M), out


def what_cannot_be_received_costs_nothing_that_is_sent(bench):
    """A joined frame that the kernel has no word for is gone, and counted; none that is sent goes with it. It
    comes behind another one, in whose burst the kernel keeps the error for the next call."""
    make_network()
    if not os.access('/dev/net/tun', os.R_OK | os.W_OK):
        raise Skip('a tap takes /dev/net/tun')
    rounds = 30
    with open('/dev/net/tun', 'r+b', buffering=0) as tap:
        # TUNSETIFF: IFF_TAP | IFF_NO_PI | IFF_VNET_HDR.
        fcntl.ioctl(tap, 0x400454ca, struct.pack('16sH22x', b'tap0', 0x0002 | 0x1000 | 0x4000))
        ip('link set tap0 arp off up')
        process = bench.start('--no-huge', '-m', '96', '--', '--iface', 'tap0', '--iface', 'in0', '--rules',
                              bench.file('rules', RULES), '--report', bench.file('report'), '--socket',
                              bench.file('sock'))
        bench.wait_for_line(process, '0 flows are counted in hardware')
        fragments = ethernet(ipv4(udp(7, bytes(4000)), 17))
        with opened('out0') as far:
            for done in range(1, rounds + 1):
                process.send_signal(signal.SIGSTOP)
                tap.write(bytes(10) + FRAME)
                # VIRTIO_NET_HDR_F_NEEDS_CSUM, VIRTIO_NET_HDR_GSO_UDP.
                tap.write(struct.pack('<BBHHHH', 1, 3, 34, 1000, 34, 6) + fragments)
                far.send(FRAME)
                process.send_signal(signal.SIGCONT)
                equal(far.recv(4096), FRAME, 'what the tap has sent')
                wait_until('both', lambda done=done: accounted_for(bench, bench.file('sock')) == 2 * done)
        process.send_signal(signal.SIGTERM)
        code, _, err = bench.finish(process)
    equal((code, err), (0, ''), 'exit code and stderr')
    with open(bench.file('report'), encoding='utf-8') as file:
        told = [port['uncounted'] for port in json.load(file)['ports']]
    equal([(one['errors'], one['refused']) for one in told], [(rounds, 0), (0, 0)], 'errors and refused')


if __name__ == '__main__':
    main(by_a_packet_socket, by_an_xdp_socket, by_a_tap, a_tap_that_is_moved_has_lost_what_it_had,
         what_is_not_sent_is_told, what_finds_a_queue_full_is_told, what_cannot_be_received_costs_nothing_that_is_sent)

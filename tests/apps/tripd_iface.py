# SPDX-License-Identifier: BSD-3-Clause
"""tripd --iface: network interfaces of the kernel, in a network of the test's own, without words for
EAL."""
import ctypes
import fcntl
import select
import socket

from tripd_test import *

CLONE_NEWNS, CLONE_NEWNET = 0x00020000, 0x40000000
RULES = ('count dns port 0 pattern eth / ipv4 / udp dst is 53 / end\n'
         'when dns.packets >= 100 log "done"\nwhen dns.packets >= 60 drop dns\n')


def ip(words):
    subprocess.run(['ip', *words.split()], check=True, capture_output=True)


def make_network():
    """tripd's interfaces are in0 and in1; out0 and out1 are the other ends of their wires."""
    if os.getuid() != 0 or ctypes.CDLL(None).unshare(CLONE_NEWNS | CLONE_NEWNET) != 0:
        raise Skip('a network of its own takes root')
    # The sysfs of the host would show the host's devices.
    for words in ('--make-rprivate', '/'), ('-t', 'sysfs', 'sysfs', '/sys'):
        if subprocess.run(['mount', *words], check=False, capture_output=True).returncode != 0:
            raise Skip('no sysfs can be mounted')
    if shutil.which('ip') is None:
        raise Skip('ip is not installed')
    # The kernel would solicit routers on every link, on a slow machine in the middle of a test.
    with open('/proc/sys/net/ipv6/conf/default/disable_ipv6', 'w', encoding='ascii') as file:
        file.write('1')
    try:
        for i in range(2):
            ip(f'link add in{i} type veth peer name out{i}')
            for end in 'in', 'out':
                ip(f'link set {end}{i} arp off up')
    except subprocess.CalledProcessError as error:
        raise Skip(f'no veth can be made: {error.stderr.decode()}') from error


def opened(name, kind=0x0800):
    link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(kind))
    link.bind((name, 0))
    link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    link.settimeout(HANG)
    return link


def start(bench, *words, rules=RULES, **options):
    # These words choose the file prefix themselves: the runtime directory is the test's own, and so is the socket.
    words = *words, '--rules', bench.file('rules', rules), '--socket', bench.file('socket')
    if '--' not in words:
        words = '--no-huge', '-m', '96', '--', *words
    return bench.start(*words, **options)


def interfaces_are_ports(bench):
    make_network()
    path = bench.file('report')
    process = start(bench, '--iface', 'in0', '--iface', 'in1', '--ports', '0,1', '--report', path)
    bench.wait_for_line(process, 'port 1')
    with opened('out0') as near, opened('out1') as far:
        marker = ethernet(ipv4(udp(9, bytes(18)), 17))
        # Once a marker comes through, the ports are up, and nothing is lost.
        near.settimeout(0.05)
        far.settimeout(0.05)
        arrived = None
        while arrived is None:
            near.send(marker)
            try:
                arrived = far.recv(2048)
            except TimeoutError:
                pass
        equal(arrived, marker, 'what comes through')
        far.settimeout(HANG)
        for i in range(100):
            near.send(ethernet(ipv4(udp(53, bytes([i] * 18)), 17)))
        near.send(ethernet(ipv4(udp(10, bytes(18)), 17)))
        frames = []
        while not frames or frames[-1][36:38] != struct.pack('!H', 10):
            frames.append(far.recv(2048))
    bench.wait_for_line(process, 'dns.packets        >= 100 ')
    process.send_signal(signal.SIGTERM)
    code, _, err = bench.finish(process)
    equal((code, err), (0, ''), 'exit code and stderr')
    with open(path, encoding='utf-8') as file:
        report = json.load(file)
    equal(report['counters'], [{'name': 'dns', 'packets': 100, 'bytes': 6000, 'policed_packets': 0,
                                'policed_bytes': 0, 'engine': 'sw',
                                'reason': 'the driver net_af_packet has no rte_flow'}],
          'counters')
    passed = [frame[42] for frame in frames if frame[36:38] == struct.pack('!H', 53)]
    equal(passed, list(range(len(passed))), 'dns packets that came through')
    assert 60 <= len(passed) <= 100, passed
    equal([trip['threshold'] for trip in report['trips']], [60, 100], 'thresholds')


def start_counting(bench, rules, *words):
    process = start(bench, *words, '--report', bench.file('report'), rules=rules)
    bench.wait_for_line(process, '0 flows are counted in hardware')
    return process


def end(bench, process):
    process.send_signal(signal.SIGTERM)
    code, out, err = bench.finish(process)
    equal((code, err), (0, ''), 'exit code and stderr')
    with open(bench.file('report'), encoding='utf-8') as file:
        report = json.load(file)
    return {c['name']: (c['packets'], c['bytes']) for c in report['counters']}, out


ALL = ''.join(f'count mark{port} port {port} pattern eth / ipv4 / udp dst is 9 / end\n'
              f'when mark{port}.packets >= 1 log "marked"\n'
              f'count all{port} port {port} priority 1 pattern eth / ipv4 / udp / end\n' for port in (0, 1))


def what_is_sent_is_not_received(bench):
    """Neither what this host sends by an interface, nor what tripd forwards to it."""
    make_network()
    process = start_counting(bench, ALL, '--iface', 'in0', '--iface', 'in1')
    sent = ethernet(ipv4(udp(7, bytes(18)), 17))
    with opened('in0') as host, opened('out0') as near, opened('out1') as far:
        for _ in range(10):
            host.send(sent)
            near.send(sent)
        for _ in range(10):
            equal(far.recv(2048), sent, 'what comes through')
        for link, port in (near, 0), (far, 1):
            link.send(ethernet(ipv4(udp(9, bytes(18)), 17)))
            bench.wait_for_line(process, f'mark{port}.packets')
    counts, _ = end(bench, process)
    equal((counts['all0'], counts['all1']), ((10, 600), (0, 0)), 'counted')


def frames_arrive_as_they_are(bench):
    """Of any length, with their tags, whose bytes count."""
    make_network()
    for end_of in 'in0', 'in1', 'out0', 'out1':
        ip(f'link set {end_of} mtu 9000')
    frames = [ethernet(ipv4(udp(7, bytes(length)), 17), vlans=vlans) for length in (0, 1, 1472, 1473, 8000, 8900)
              for vlans in ((), ((0x8100, 5),), ((0x88a8, 5), (0x8100, 6)))]
    frames.append(ethernet(bytes(46), 0x88b5))
    process = start_counting(
        bench, ALL + 'count rest port 0 priority 2 pattern eth / end\n', '--iface', 'in0', '--iface', 'in1')
    with opened('out0') as near, opened('out1', 0x0003) as far:
        # A tag that is 802.1Q's the kernel would keep beside the frame.
        far.setsockopt(263, 8, 1)
        for frame in frames:
            near.send(frame)
            equal(receive(far), frame, f'a frame of {len(frame)} bytes')
        near.send(ethernet(ipv4(udp(9, bytes(18)), 17)))
        bench.wait_for_line(process, 'mark0.packets')
    counts, _ = end(bench, process)
    equal(counts['all0'], (18, sum(map(len, frames[:18]))), 'counted')
    equal(counts['rest'], (1, 60), 'the rest')


UDP_SEGMENT = 103


def joined_frames_are_divided(bench):
    """What its sender leaves to its device to divide, and what it sends so by a tunnel."""
    make_network()
    try:
        ip('link add tunnel0 type vxlan id 5 local 10.1.0.1 remote 10.1.0.2 dstport 4789 udpcsum dev out0')
    except subprocess.CalledProcessError as error:
        raise Skip(f'no VXLAN can be made: {error.stderr.decode()}') from error
    for words in 'addr add 10.1.0.1/24 dev out0', 'link set tunnel0 arp off up', \
            'addr add 10.2.0.1/24 dev tunnel0':
        ip(words)
    rules = ''.join(f'count {name} port 0 pattern eth / ipv4 / udp dst is {port} / end\n'
                    for name, port in (('plain', 7), ('tunnel', 4789)))
    process = start_counting(bench, rules, '--iface', 'in0', '--iface', 'in1')
    sent, size = bytes(i * 7 & 255 for i in range(10 * 1400 - 9)), 1400
    for target, around in ('10.1.0.2', 42), ('10.2.0.2', 42 + 50):
        with opened('out1') as far, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as near:
            near.setsockopt(socket.SOL_UDP, UDP_SEGMENT, size)
            near.sendto(sent, (target, 7))
            frames = [receive(far) for _ in range(10)]
        equal([len(frame) - around for frame in frames], [size] * 9 + [size - 9], f'lengths, to {target}')
        equal(b''.join(frame[around:] for frame in frames), sent, f'what comes through, to {target}')
        for at in {14, around - 28}:
            ids = [struct.unpack_from('!H', frame, at + 4)[0] for frame in frames]
            equal(ids, [ids[0] + i & 0xffff for i in range(10)], f'IPv4 ids at {at}')
            for frame in frames:
                equal(checksum(frame[at:at + 20]), 0, f'the checksum of IPv4 at {at}')
                equal(checksum(frame[at + 12:at + 20] + bytes([0, 17]) + frame[at + 24:at + 26] + frame[at + 20:]), 0,
                      f'the checksum of UDP at {at}')
    counts, out = end(bench, process)
    equal(counts, {'plain': (10, 10 * 42 + len(sent)), 'tunnel': (10, 10 * 92 + len(sent))}, 'counted')
    assert 'counted' not in out[out.index('fate'):], out


def receive(link):
    """A frame with the tag that the kernel took out of it."""
    data, control, _, _ = link.recvmsg(65536, 256)
    for _, kind, told in control:
        status, _, _, _, _, tci, tpid = struct.unpack_from('=IIIHHHH', told)
        if kind == 8 and status & 0x10:
            data = data[:12] + struct.pack('!HH', tpid, tci) + data[12:]
    return data


def rules_call_ports_by_their_interfaces(bench):
    make_network()
    path = bench.file('report')
    rules = bench.file('by-name', 'count far port in1 pattern eth / ipv4 src is 10.1.0.0/16 / end\n'
                       'count near port in0 pattern eth / ipv4 src is 10.1.0.0/16 / end\n'
                       'when far.packets >= 7 log "seven"\n')
    process = bench.start('--no-huge', '-m', '96', '--', '--rules', rules, '--iface', 'in0', '--iface', 'in1',
                          '--report', path, '--socket', bench.file('socket'))
    bench.wait_for_line(process, '0 flows are counted in hardware')
    with opened('out1') as far:
        for source in '10.1.0.9', '10.2.0.1', '10.1.255.1', '10.0.255.255', *['10.1.7.7'] * 5:
            far.send(ethernet(ipv4(udp(53, bytes(18)), 17, src=source)))
    bench.wait_for_line(process, 'far.packets        >= 7 ')
    process.send_signal(signal.SIGTERM)
    equal(bench.finish(process)[::2], (0, ''), 'exit code and stderr')
    with open(path, encoding='utf-8') as file:
        equal([(one['name'], one['packets']) for one in json.load(file)['counters']], [('far', 7), ('near', 0)], 'counts')


def an_interface_that_is_given_is_used(bench):
    """Forwarded both ways, whether rules name it or not."""
    make_network()
    rules = ALL[:ALL.index('count mark1')]
    frame = ethernet(ipv4(udp(7, bytes(18)), 17))
    for words in (), ('--no-huge', '-m', '96', '--'):
        process = start_counting(bench, rules, *words, '--iface', 'in0', '--iface', 'in1')
        with opened('out0') as near, opened('out1') as far:
            near.send(frame)
            equal(far.recv(2048), frame, 'what comes through')
            far.send(frame)
            equal(near.recv(2048), frame, 'what comes back')
        end(bench, process)


def ports_that_are_missing_are_told(bench):
    """In one line, with the interfaces that the others are on."""
    make_network()
    for words, rules, said in (
            (('--iface', 'in0', '--ports', '1'), RULES,
             'port 1 does not exist; the ports are 0 (net_af_packet0, in0): correct --ports or --pair, or add an --iface'),
            (('--iface', 'in0', '--iface', 'in1'), RULES.replace('port 0', 'port out0'),
             'no port is on the interface out0; --iface out0 makes one (line 1 of the rules); the ports are '
             '0 (net_af_packet0, in0), 1 (net_af_packet1, in1): correct the rules')):
        code, _, err = bench.finish(start(bench, *words, rules=rules))
        equal((code, err), (2, f'tripd: {said}\n'), f'exit code and stderr of {words}')


def the_default_route_is_not_taken(bench):
    make_network()
    ip('link add bridge0 type bridge')
    ip('link set in0 master bridge0')
    ip('link set bridge0 up')
    ip('route add default dev bridge0')
    for words, device, stake in (
            (['--iface', 'in0'], 'net_af_packet0', 'the host goes on receiving there, and its own packets would be '
             'counted with the others'),
            (['--iface', 'in0', '--iface', 'in1'], 'net_af_packet0', 'the host goes on receiving there, and all that '
             'arrives for it would be sent out of port 1, too'),
            (bench.eal('net_af_xdp0,iface=in0'), 'net_af_xdp0', 'the host may no longer receive what arrives there, and '
             'you would lose a connection over it')):
        code, _, err = bench.finish(start(bench, *words))
        equal(code, 2, 'exit code')
        equal(err.splitlines()[-1], f'tripd: port 0 ({device}, in0) carries this host\'s default route: {stake}; --force '
              'takes it nevertheless', 'stderr')
    process = start(bench, '--iface', 'in0', '--force')
    bench.wait_for_line(process, '0 flows are counted in hardware')
    process.send_signal(signal.SIGINT)
    equal(bench.finish(process)[0], 0, 'exit code with --force')


def an_interface_is_one_port(bench):
    """By whatever name, and whoever makes the ports."""
    make_network()
    ip('link property add dev in0 altname other-in0')
    for words, first, second in (
            (('--iface', 'in0', '--iface', 'in0'), 'net_af_packet0', 'net_af_packet1'),
            (('--iface', 'in0', '--iface', 'other-in0'), 'net_af_packet0', 'net_af_packet1'),
            (('--vdev', 'net_af_packet7,iface=in0', '--no-huge', '-m', '96', '--', '--iface', 'in0', '--ports', '0,1'),
             'net_af_packet7', 'net_af_packet0'),
            (('--vdev', 'net_pcap3,iface=in0', '--no-huge', '-m', '96', '--', '--iface', 'in0', '--ports', '0,1'),
             'net_pcap3', 'net_af_packet0')):
        # Should it start, it is to end.
        code, _, err = bench.finish(start(bench, *words, '--until-idle', '0.1'))
        equal((code, err), (2, f'tripd: port 0 ({first}) and port 1 ({second}) are both on in0, and its packets would '
                            'not count once: leave out one of them\n'), f'exit code and stderr of {words}')


def an_interface_that_is_removed_is_told(bench):
    make_network()
    path = bench.file('report')
    process = start(bench, '--iface', 'in0', '--iface', 'in1', '--ports', '0,1', '--report', path)
    bench.wait_for_line(process, '0 flows are counted in hardware')
    ip('link del in0')
    # What is left goes on, until it goes, too: then there is nothing to wait for.
    assert select.select([process.stderr], [], [], HANG)[0], 'nothing is said of the first removal'
    said = process.stderr.readline()
    equal(said, 'tripd: port 0 (net_af_packet0, in0) has been removed: nothing is received there any more; the others '
          'go on\n', 'the first removal')
    ip('link del in1')
    code, _, err = bench.finish(process)
    equal((code, err), (1, 'tripd: port 1 (net_af_packet1, in1) has been removed: nothing is received there any more, '
                        'and no port is left\n'), 'exit code and stderr')
    with open(path, encoding='utf-8') as file:
        equal([(port['port'], port['removed']) for port in json.load(file)['ports']], [(0, True), (1, True)],
              'the report')


def an_interface_that_is_down_is_told(bench):
    """At the start, when it becomes so, and when it is up again."""
    make_network()
    ip('link set in0 down')
    said = bench.file('said')

    def lines():
        with open(said, encoding='utf-8') as file:
            return [re.sub(r'^tripd: port (\d) \(net_af_packet\d, in\d\) ', r'\1 ', line) for line in file.read().splitlines()]

    down = 'is down, as by ip link set down: nothing arrives there, and nothing is sent'
    no_carrier = 'has no carrier: nothing arrives there before its other end is up'
    expected = [f'0 {down}']
    with open(said, 'w', encoding='utf-8') as err:
        process = start(bench, '--iface', 'in0', '--iface', 'in1', '--ports', '0,1', stderr=err)
    bench.wait_for_line(process, '0 flows are counted in hardware')
    equal(lines(), expected, 'at the start')
    for words, news in (('in0 up', ['0 is up']), ('out1 down', [f'1 {no_carrier}']), ('in1 down', [f'1 {down}']),
                        ('out1 up', []), ('in1 up', ['1 is up'])):
        ip(f'link set {words}')
        expected += news
        wait_until(f'what is said of {words}', lambda: lines() == expected)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=HANG)
    equal((process.returncode, lines()), (0, expected), 'exit code and stderr')


def a_removal_does_not_end_well(bench):
    """However the run ends then; a new interface of the name is another one."""
    make_network()
    path = bench.file('report')
    process = start(bench, '--iface', 'in0', '--iface', 'in1', '--ports', '0,1', '--report', path)
    bench.wait_for_line(process, '0 flows are counted in hardware')
    ip('link del in1')
    ip('link add in1 type veth peer name out1')
    process.send_signal(signal.SIGTERM)
    code, _, err = bench.finish(process)
    equal(code, 1, 'exit code')
    assert 'port 1 (net_af_packet1, in1) has been removed' in err, err
    with open(path, encoding='utf-8') as file:
        equal([port['removed'] for port in json.load(file)['ports']], [False, True], 'the report')


def tripctl(bench, *words, **options):
    process = bench.track(subprocess.Popen([os.path.abspath(sys.argv[2]), '--socket', bench.file('socket'), *words],
                                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options))
    return bench.finish(process)


def rules_change_beside_an_interface_that_is_gone(bench):
    """What was a port at the start stays that port for the statements that stay; what is new is told by its own line."""
    make_network()
    one = 'count one port in0 pattern eth / ipv4 / udp dst is 1 / end\n'
    two = 'count two port in1 pattern eth / ipv4 / udp dst is 2 / end\n'
    each = 'each src port in0 ipv4.src max 10 idle 9s\n'
    process = start(bench, '--iface', 'in0', '--iface', 'in1', '--ports', '0,1', rules=one + two + each)
    bench.wait_for_line(process, '0 flows are counted in hardware')
    # Another one of the same name is none of its ports.
    ip('link del in0')
    ip('link add in0 type veth peer name out0')
    equal(tripctl(bench, 'diff'), (0, '', ''), 'the same rules')
    three, k = two.replace('two', 'three'), 'counter k\n'
    bench.file('more', k + three)
    equal(tripctl(bench, 'apply', bench.file('more')), (0, f'+ {k}+ {three}', ''), 'what does not speak of it')
    equal(tripctl(bench, 'remove', 'two'), (0, f'- {two}', ''), 'another one')
    # One that stays where it is is made anew behind what comes before it.
    wide = 'count wide port 0 pattern eth / ipv4 / udp / end\n'
    bench.file('rules', wide + one + three + k + each)
    equal(tripctl(bench, 'reload'), (0, f'~ {one}+ {wide}', ''), 'its place in the order')
    four = one.replace('one', 'four')
    bench.file('more', '# A comment.\n' + four)
    gone = 'no port is on the interface in0'
    equal(tripctl(bench, 'apply', bench.file('more')), (2, '', f'count four: {gone} (line 2)\n'), 'a new one')
    bench.file('rules', wide + one.replace('is 1', 'is 4') + three + k + each)
    equal(tripctl(bench, 'reload'), (2, '', f'count one: {gone} (line 2)\n'), 'one in other words')
    bench.file('rules', wide + one + three + k + each.replace('9s', '8s'))
    equal(tripctl(bench, 'reload'), (2, '', f'each src: {gone} (line 5)\n'), 'an each in other words')
    equal(tripctl(bench, 'remove', 'one'), (0, f'- {one}', ''), 'itself')
    process.send_signal(signal.SIGTERM)
    equal(bench.finish(process)[0], 1, 'exit code')


def no_words_are_needed(bench):
    make_network()
    # The prefix is tripd's own here: one test at a time on a machine.
    with open('/tmp/tripd-test.lock', 'w', encoding='utf-8') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        del bench.environment['RUNTIME_DIRECTORY']
        code, out, err = bench.run('--iface', 'in1', '--rules', bench.file('rules', RULES),
                                 '--until-idle', '0.1')
    if 'hugepages' in err or 'with the file prefix tripd already' in err:
        raise Skip(err.strip())
    equal((code, beside_vain(err)), (0, ''), 'exit code and stderr')
    assert 'port 0: packets are counted and freed; they are forwarded with one more --iface\n' in out, out


def a_victim_of_a_flood_is_dropped(bench):
    """From its 101st packet on, for two seconds, and nobody else; what comes through and what is counted agree."""
    make_network()
    process = start(bench, '--iface', 'in0', '--iface', 'in1', '--ports', '0,1', '--report', bench.file('report'),
                    rules='each victims port 0 ipv4.dst max 1k idle 1m\nwhen victims.packets >= 100 drop victims for 2s\n'
                    'count mark port 0 pattern eth / ipv4 / udp dst is 9 / end\nwhen mark.packets >= 1 log "up"\n')
    victim = ethernet(ipv4(udp(53, bytes(18)), 17, dst='10.9.0.1'))
    others = [ethernet(ipv4(udp(53, bytes(18)), 17, dst=f'10.8.0.{i + 1}')) for i in range(90)]
    last = ethernet(ipv4(udp(10, bytes(18)), 17, dst='10.7.0.1'))

    def play(far):
        """Of 300 packets of the victim, with one of each other among them: how many of each come through."""
        for i in range(300):
            near.send(victim)
            if i % 3 == 0 and i // 3 < 90:
                near.send(others[i // 3])
        near.send(last)
        frames = []
        while not frames or frames[-1] != last:
            frames.append(far.recv(2048))
        return frames.count(victim), sum(frame in others for frame in frames)

    with opened('out0') as near, opened('out1') as far:
        wait_until('packets', lambda: near.send(ethernet(ipv4(udp(9, bytes(18)), 17))) and select.select([far], [], [], 0.05)[0])
        bench.wait_for_line(process, 'mark.packets')
        equal(play(far), (100, 90), 'what comes through')
        equal(play(far), (0, 90), 'while it is dropped')
        while 'end of drop victims' not in bench.wait_for_line(process, 'victims.packets'):
            pass
        equal(play(far), (300, 90), 'behind that')
    process.send_signal(signal.SIGTERM)
    code, _, err = bench.finish(process)
    equal((code, err), (0, ''), 'exit code and stderr')
    with open(bench.file('report'), encoding='utf-8') as file:
        report = json.load(file)
    victims = report['each'][0]
    first = victims['top'][0]
    equal((first['key'], first['packets'], first['bytes'], first['state']), ('10.9.0.1', 900, 900 * 60, None), 'the victim')
    equal((victims['dropped_packets'], victims['dropped_bytes'], victims['held']), (500, 500 * 60, 0), 'what was dropped')
    equal([(trip['key'], trip['ends']) for trip in report['trips'] if trip['op'] == 'drop'],
          [('10.9.0.1', False), ('10.9.0.1', True)], 'what was told')


if __name__ == '__main__':
    main(a_victim_of_a_flood_is_dropped, interfaces_are_ports, what_is_sent_is_not_received, frames_arrive_as_they_are, joined_frames_are_divided,
         rules_call_ports_by_their_interfaces, an_interface_that_is_given_is_used,
         an_interface_that_is_down_is_told,
         a_removal_does_not_end_well, an_interface_that_is_removed_is_told, rules_change_beside_an_interface_that_is_gone,
         ports_that_are_missing_are_told, the_default_route_is_not_taken, an_interface_is_one_port, no_words_are_needed)

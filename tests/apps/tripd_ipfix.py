# SPDX-License-Identifier: BSD-3-Clause
"""--ipfix: what a file, a decoder of our own and nfdump's nfcapd get agrees with the report to the packet and byte; a
collector that is absent, slow or gone holds nothing up, and what it did not get is counted and told."""
import contextlib
import socket
import threading

from ipfix import Stream, sets
from tripd_test import *

# The template of what was lost.
LOST = 263
TRIPCTL = os.path.abspath(sys.argv[2])


def frame(src, dst='10.0.0.2', port=53, size=22, **more):
    return ethernet(ipv4(udp(port, bytes(size)), 17, src=src, dst=dst), **more)


def mixed():
    frames = [frame('10.1.0.1')] * 60 + [frame('10.1.0.2', port=80)] * 30 + [frame('10.2.0.1', size=122)] * 10
    return frames + [ethernet(ipv6(udp(53), 17), kind=0x86dd)] * 5 + [frame('10.3.0.1', vlans=[(0x8100, 7)])] * 3


RULES = ('count all port 0 priority 1 pattern eth / end\ncount web port 0 pattern ipv4 / udp dst is 80 / end\n'
         'counter seen\nwhen all.packets >= 70 add seen 5\n'
         'each sources port 0 ipv4.src max 1k idle 1h\nwhen sources.packets >= 30 log "thirty"\n'
         'each nets port 0 ipv4.src/16,proto max 10 idle 1h\n'
         'each pairs port 0 ip.src,ip.dst/64,l4.dst max 10 idle 1h\n'
         'each vlans port 0 vlan.vid max 10 idle 1h\n')


def read(path, **options):
    stream = Stream(**options)
    with open(path, 'rb') as file:
        equal(stream.feed(file.read()), b'', 'the last message')
    return stream


def deltas(records):
    return sum(record['packetDeltaCount'] for record in records), sum(record['octetDeltaCount'] for record in records)


def key_of(record):
    """As tripd writes keys."""
    texts = []
    for name, value in record.items():
        if name.endswith('Address'):
            length = record[name.replace('Address', 'PrefixLength')]
            texts.append(value if length == (128 if ':' in value else 32) else f'{value}/{length}')
        elif name in ('protocolIdentifier', 'sourceTransportPort', 'destinationTransportPort', 'vlanId'):
            texts.append(str(value))
    return ','.join(texts)


def agree(report, stream):
    """All that was exported adds up to the report, and the last totals are its."""
    for counter in report['counters']:
        if counter['engine'] == 'none':
            equal(stream.of(counter['name'], 'triplineValue')[-1]['triplineValue'], counter['packets'], counter['name'])
            continue
        records = stream.of(counter['name'], 'triplinePolicedPackets')
        equal(deltas(records), (counter['packets'], counter['bytes']), f'what was exported of {counter["name"]}')
        equal((records[-1]['triplinePackets'], records[-1]['triplineBytes']), (counter['packets'], counter['bytes']), 'its total')
    for each in report['each']:
        keys, rest = stream.of(each['name'], 'triplineError'), stream.of(each['name'], 'triplineRemainderPackets')
        equal(tuple(map(sum, zip(deltas(keys), deltas(rest)))), (each['packets'], each['bytes']), f'keys of {each["name"]}')
        equal(rest[-1]['triplineRemainderPackets'], each['remainder_packets'], 'the remainder')
        last = {key_of(record): (record['triplinePackets'], record['triplineBytes'], record['triplineError']) for record in keys}
        for entry in each['top']:
            equal(last[entry['key']], (entry['packets'], entry['bytes'], entry['error']), entry['key'])
        told = stream.of(each['name'], 'triplineMax')[-1]
        equal({name: told['tripline' + name.capitalize()] for name in ('keys', 'admitted', 'evicted', 'expired', 'floor')},
              {name: each[name] for name in ('keys', 'admitted', 'evicted', 'expired', 'floor')}, each['name'])


def a_file_has_all(bench):
    path = bench.file('out.ipfix')
    report, _ = bench.play(mixed(), RULES, '--ipfix', f'file:{path}', '--ipfix-domain', '77')
    stream = read(path)
    agree(report, stream)
    equal(stream.domain, 77, 'the domain')
    keys = {name: {key_of(record): record['packetDeltaCount'] for record in stream.of(name, 'triplineError')}
            for name in ('sources', 'nets', 'pairs', 'vlans')}
    equal(keys, {'sources': {'10.1.0.1': 60, '10.1.0.2': 30, '10.2.0.1': 10, '10.3.0.1': 3},
                 'nets': {'10.1.0.0/16,17': 90, '10.2.0.0/16,17': 10, '10.3.0.0/16,17': 3},
                 'pairs': {'10.1.0.1,10.0.0.2,53': 60, '10.1.0.2,10.0.0.2,80': 30, '10.2.0.1,10.0.0.2,53': 10,
                           '10.3.0.1,10.0.0.2,53': 3, '2001:db8::1,2001:db8::/64,53': 5}, 'vlans': {'7': 3}}, 'keys')
    trips = [record for record in stream.records if 'triplineOperation' in record]
    equal(sorted((trip['triplineCounter'], trip['triplineOperation'], trip['triplineKey'], trip['triplineLine'],
                  trip['triplineThreshold'], trip['triplineValue'], trip['triplineResult'], trip['triplineEnds'])
                 for trip in trips),
          sorted((trip['counter'], trip['op'], trip.get('key', ''), trip['line'], trip['threshold'], trip['value'],
                  trip['result'], trip['ends']) for trip in report['trips']), 'trips')
    second = trips[0]['observationTimeNanoseconds'] >> 32
    assert abs(second - 2208988800 - time.time()) < HANG, second
    equal([record['notSentFlowTotalCount'] for record in stream.records if 'exportingProcessId' in record], [0], 'lost')
    # Another run goes on behind it, with templates of its own.
    size = os.path.getsize(path)
    bench.play(mixed()[:10], RULES.replace('>= 70', '>= 5'), '--ipfix', f'file:{path}', '--ipfix-enterprise', '4711')
    with open(path, 'rb') as file:
        data = file.read()
    read(bench.file('first', '')).feed(data[:size])
    own = Stream(enterprise=4711)
    equal(own.feed(data[size:]), b'', 'the second run')
    equal(deltas(own.of('all', 'triplinePolicedPackets'))[0], 10, 'of the second run')


def keys_that_come_and_go_are_records(bench):
    """Those that have least go where there is no room; each line of --events has its record, with or without that option."""
    path, events = bench.file('out.ipfix'), bench.file('events')
    frames = [frame(f'10.9.{i // 200}.{i % 200 + 1}') for i in range(300)]
    rules = 'each few port 0 ipv4.src max 100 idle 1h\n'
    report, _ = bench.play(frames, rules, '--ipfix', f'file:{path}', '--events', events, '--event-keys')
    changes = [record for record in read(path).records if 'triplineEvent' in record]
    with open(events, encoding='utf-8') as file:
        lines = [json.loads(line) for line in file]
    equal([(change['triplineEvent'], change['selectorName'], change['triplineKey'], change['triplineQueue'],
            change['triplinePackets'], change['triplineBytes'], change['triplineError']) for change in changes],
          [(line['event'], line['each'], line['key'], line['queue'], line['packets'], line['bytes'], line['error'])
           for line in lines], 'records, and lines')
    each = report['each'][0]
    equal((sum(change['triplineEvent'] == 'admission' for change in changes), each['admitted'] - each['evicted']),
          (300, each['keys']), 'those that came, and those that are left')
    second = changes[0]['observationTimeNanoseconds'] >> 32
    assert abs(second - 2208988800 - time.time()) < HANG, second
    # By the time of packets, one that goes as it is idle.
    quiet = bench.file('quiet.ipfix')
    capture = bench.pcap('times.pcap', [frame('10.0.0.1'), frame('10.0.0.2'), *[frame('10.0.0.3')] * 200],
                         seconds=[1, 2, *[14] * 200])
    equal(bench.run(*bench.eal(f'net_pcap0,rx_pcap={capture}'), '--clock', 'packet', '--rules', bench.file(
        'rules', 'each e port 0 ipv4.src max 10 idle 10s\n'), '--ipfix', f'file:{quiet}', '--event-keys', '--until-idle',
        '0.3')[0], 0, 'exit code')
    changes = [record for record in read(quiet).records if 'triplineEvent' in record]
    equal(sorted((change['triplineEvent'], change['triplineKey']) for change in changes),
          [('admission', f'10.0.0.{n}') for n in (1, 2, 3)] + [('expiry', '10.0.0.1'), ('expiry', '10.0.0.2')], 'by the clock')
    # And nothing of it without the option.
    plain = bench.file('plain.ipfix')
    bench.play(frames, rules, '--ipfix', f'file:{plain}')
    equal([record for record in read(plain).records if 'triplineEvent' in record], [], 'without --event-keys')


def each_field_has_its_element(bench):
    path = bench.file('out.ipfix')
    inner = ethernet(ipv4(udp(9), 17))
    frames = [frame('10.0.0.1', port=4789)[:42] + struct.pack('!II', 0x08000000, 0x123456 << 8) + inner] * 2 + \
        [ethernet(struct.pack('!I', 0xabcde << 12 | 0x1ff) + ipv4(udp(9), 17), kind=0x8847)] * 3 + \
        [frame('10.0.0.1', port=2152, size=0)[:42] + struct.pack('!BBHI', 0x30, 255, 28, 0xcafe0001) + ipv4(udp(9), 17)] * 4 + \
        [ethernet(ipv6(udp(53, src=77), 17), kind=0x86dd)] * 5
    report, _ = bench.play(frames, ''.join(f'each {name} port 0 {key} max 10 idle 1h\n' for name, key in (
        ('vni', 'vxlan.vni'), ('mpls', 'mpls.label'), ('teid', 'gtpu.teid'), ('six', 'ipv6.src/48,l4.src'), ('net', 'ip.dst/8'))),
        '--ipfix', f'file:{path}')
    stream = read(path)
    elements = {name: {tuple(value for key, value in record.items() if key in (
        'layer2SegmentId', 'mplsTopLabelStackSection', 'triplineTeid', 'sourceIPv6Address', 'sourceIPv6PrefixLength',
        'sourceTransportPort', 'destinationIPv4Address', 'destinationIPv4PrefixLength', 'destinationIPv6Address',
        'destinationIPv6PrefixLength')): record['packetDeltaCount'] for record in stream.of(name, 'triplineError')}
        for name in ('vni', 'mpls', 'teid', 'six', 'net')}
    equal(elements, {'vni': {(1 << 56 | 0x123456,): 2}, 'mpls': {(0xabcde0,): 3}, 'teid': {(0xcafe0001,): 4},
                     'six': {('2001:db8::', 48, 77): 5}, 'net': {('10.0.0.0', 8): 6, ('2000::', 8): 5}}, 'keys')
    for record in stream.records:
        assert record.get('flowDirection', 0) == 0 and record.get('triplineDropped', False) is False, record
    equal([sum(each['dropped_packets'] for each in report['each'] if 'dropped_packets' in each)],
          [sum(record['triplineDroppedPackets'] for record in stream.records if 'triplineHeld' in record)], 'dropped')


def start(bench, rules, target, *words, frames=None, vdev='net_pcap0,infinite_rx=1,rx_pcap='):
    report, words = bench.file('live.json'), (*words, '--mbufs', '8192')
    process = bench.start(*bench.eal(vdev + bench.pcap('in.pcap', frames or mixed())), '--rules', bench.file('rules', rules),
                          '--socket', bench.file('sock'), '--report', report, '--ipfix', target, '--ipfix-interval', '100ms',
                          *words)
    wait_until('a socket', lambda: control(bench, 'list', 'domain')[0] == 0 or process.poll() is not None)
    assert process.poll() is None, process.communicate()
    return process


def control(bench, *words):
    return bench.finish(bench.track(subprocess.Popen(
        [TRIPCTL, '--socket', bench.file('sock'), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=bench.environment)))


def end(bench, process, expect=0):
    process.send_signal(signal.SIGTERM)
    code, _, err = bench.finish(process)
    equal(code, expect, f'exit code with {err}')
    with open(bench.file('live.json'), encoding='utf-8') as file:
        return json.load(file), err


def rounds(path):
    """How many there were in a file that grows: each ends with a record about what was lost, by itself in its set."""
    with contextlib.suppress(FileNotFoundError), open(path, 'rb') as file:
        return sum(kind == LOST for kind in sets(file.read()))
    return 0


def rounds_add_up(bench):
    """While packets come without end, more keys than there is room for, and rules that come and go."""
    path = bench.file('out.ipfix')
    many = mixed() + [frame(f'10.9.{i // 200}.{i % 200 + 1}') for i in range(3000)]
    process = start(bench, RULES + 'each few port 0 ipv4.src max 100 idle 1h\n', f'file:{path}', frames=many)
    wait_until('rounds', lambda: rounds(path) >= 3)
    equal(control(bench, 'apply', bench.file('more', 'each late port 0 l4.dst max 10 idle 1h\ncount dns port 0 pattern '
                                                     'ipv4 / udp dst is 53 / end\n'))[0], 0, 'apply')
    before = rounds(path)
    wait_until('more rounds', lambda: rounds(path) >= before + 3)
    equal(control(bench, 'remove', 'nets')[0], 0, 'remove')
    before = rounds(path)
    wait_until('the last rounds', lambda: rounds(path) >= before + 2)
    report, err = end(bench, process)
    assert 'record' not in err, err
    stream = read(path)
    nets = next(each for each in report['each'] if each['name'] == 'nets')
    report['each'].remove(nets)
    agree(report, stream)
    few = next(each for each in report['each'] if each['name'] == 'few')
    assert few['evicted'] > 0 and few['remainder_packets'] > 0, few
    # What was removed is known up to its last round.
    assert 0 < deltas(stream.of('nets', 'triplineError'))[0] <= nets['packets'], nets
    for record in stream.of('all', 'triplinePolicedPackets'):
        assert record['flowStartMilliseconds'] <= record['flowEndMilliseconds'], record


def read_whole(path):
    """Of a file that grows, its whole messages."""
    stream = Stream()
    with open(path, 'rb') as file:
        stream.feed(file.read())
    return stream


def an_each_in_other_words_is_another(bench):
    """Also where the library's handle of the new one lies where that of the old one was."""
    path = bench.file('out.ipfix')
    frames = [frame(f'10.9.{i // 200}.{i % 200 + 1}', f'10.8.0.{i % 50 + 1}') for i in range(300)]
    process = start(bench, 'each few port 0 ipv4.src max 1000 idle 1h\n', f'file:{path}', frames=frames)
    wait_until('rounds', lambda: rounds(path) >= 3)
    bench.file('rules', 'each few port 0 ip.src,ip.dst max 1000 idle 1h\n')
    equal(control(bench, 'reload')[0], 0, 'reload')
    before = rounds(path)
    wait_until('more rounds', lambda: rounds(path) >= before + 3)
    report, _ = end(bench, process)
    stream, each = read(path), report['each'][0]
    pairs = [record for record in stream.of('few', 'triplineError') if 'destinationIPv4Address' in record]
    equal(len({key_of(record) for record in pairs}), each['keys'], 'keys')
    equal(deltas(pairs), (each['packets'], each['bytes']), 'what was exported of them')


def a_reset_each_begins_at_0(bench):
    """What was exported of it before, and what is of it since, are what it has seen before and since."""
    path = bench.file('out.ipfix')
    frames = [frame(f'10.9.{i // 200}.{i % 200 + 1}') for i in range(3000)]
    process = start(bench, 'each few port 0 ipv4.src max 100 idle 1h\n', f'file:{path}', frames=frames)

    def exported(stream):
        return deltas(stream.of('few', 'triplineError'))[0] + deltas(stream.of('few', 'triplineRemainderPackets'))[0]

    wait_until('rounds', lambda: rounds(path) >= 5)
    before = exported(read_whole(path))
    equal(control(bench, 'reset', 'few')[0], 0, 'reset')
    old = rounds(path)
    wait_until('more rounds', lambda: rounds(path) >= old + 60)
    report, _ = end(bench, process)
    since, both = report['each'][0]['packets'], exported(read(path))
    assert both >= before + since, f'{before} and {since} were counted, {both} exported'


def a_moved_file_is_begun_anew(bench):
    path, old = bench.file('out.ipfix'), bench.file('old.ipfix')
    process = start(bench, RULES, f'file:{path}')
    wait_until('rounds', lambda: rounds(path) >= 2)
    os.rename(path, old)
    wait_until('a new file', lambda: rounds(path) >= 2)
    report, _ = end(bench, process)
    streams = read(old), read(path)
    for name in 'all', 'web':
        sums = [deltas(stream.of(name, 'triplinePolicedPackets')) for stream in streams]
        counter = next(counter for counter in report['counters'] if counter['name'] == name)
        equal(tuple(map(sum, zip(*sums))), (counter['packets'], counter['bytes']), name)


class Collector(threading.Thread):
    """Takes connections, one after the other, and what comes by them; or datagrams. Reads nothing unless it is told to."""

    def __init__(self, port=0, kind=socket.SOCK_STREAM, reads=True):
        super().__init__(daemon=True)
        self.socket = socket.socket(socket.AF_INET, kind)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096 if not reads else 1 << 22)
        self.socket.bind(('127.0.0.1', port))
        self.port = self.socket.getsockname()[1]
        self.stream = Stream(lossy=kind == socket.SOCK_DGRAM)
        self.kind, self.connection, self.rest, self.reads = kind, None, b'', reads
        if kind == socket.SOCK_STREAM:
            self.socket.listen(1)
        self.start()

    def run(self):
        with contextlib.suppress(OSError):
            if self.kind == socket.SOCK_DGRAM:
                while True:
                    self.stream.feed(self.socket.recv(65535))
            self.connection = self.socket.accept()[0]
            while self.reads and (data := self.connection.recv(65536)):
                self.rest = self.stream.feed(self.rest + data)

    def has(self, n):
        return sum('exportingProcessId' in record for record in self.stream.records) >= n

    def kill(self):
        """As the kernel does for a process that is killed."""
        for one in self.connection, self.socket:
            if one is not None:
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
                one.close()


def free_port(kind=socket.SOCK_STREAM):
    with socket.socket(socket.AF_INET, kind) as one:
        one.bind(('127.0.0.1', 0))
        return one.getsockname()[1]


def a_connection_breaks_and_comes_back(bench):
    """At first nobody is there; then somebody who is killed; then another one. Trips of before wait for the first."""
    port = free_port()
    process = start(bench, RULES, f'tcp:127.0.0.1:{port}')
    equal(control(bench, 'wait', 'all.packets', '1000')[0], 0, 'packets')
    first = Collector(port)
    wait_until('rounds', lambda: first.has(3))
    first.kill()
    second = Collector(port)
    wait_until('rounds of the second', lambda: second.has(3))
    report, err = end_any(bench, process)
    second.join(HANG)
    assert f'warning: IPFIX waits for tcp:127.0.0.1:{port}: Connection refused' in err, err
    trips = [record for record in first.stream.records if 'triplineOperation' in record]
    equal(sorted((trip['triplineLine'], trip['triplineKey']) for trip in trips),
          sorted((trip['line'], trip.get('key', '')) for trip in report['trips']), 'trips')
    equal(second.rest, b'', 'the last message')
    # What the first one did not read is nobody's; what it has read, and the second one, is no more than there was; the
    # last totals are the report's.
    for counter in report['counters']:
        if counter['engine'] == 'none':
            continue
        records = second.stream.of(counter['name'], 'triplinePolicedPackets')
        equal((records[-1]['triplinePackets'], records[-1]['triplineBytes']), (counter['packets'], counter['bytes']), 'total')
        before = first.stream.of(counter['name'], 'triplinePolicedPackets')
        gap = counter['packets'] - deltas(before)[0] - deltas(records)[0]
        assert 0 <= gap <= records[0]['triplinePackets'] - before[-1]['triplinePackets'], (counter, gap)


def end_any(bench, process):
    process.send_signal(signal.SIGTERM)
    code, _, err = bench.finish(process)
    assert code in (0, 1) and (code == 1) == ('records are not exported' in err), (code, err)
    with open(bench.file('live.json'), encoding='utf-8') as file:
        return json.load(file), err


def who_reads_nothing_holds_nothing_up(bench):
    """More than a socket holds: the exporter waits, and rules change, packets count, and the end comes meanwhile."""
    stuck = Collector(reads=False)
    many = [frame(f'10.9.{i // 200}.{i % 200 + 1}') for i in range(5000)]
    process = start(bench, 'each sources port 0 ipv4.src max 8k idle 1h\neach more port 0 proto max 8 idle 1h\n'
                    'count all port 0 pattern eth / end\n', f'tcp:127.0.0.1:{stuck.port}', frames=many)
    wait_until('a full socket', lambda: waits_for_room(process.pid))
    stuck.socket.close()
    for i in range(20):
        equal(control(bench, 'apply', bench.file('more', f'count c{i} port 0 pattern ipv4 / end\n'))[0], 0, 'apply')
    equal(control(bench, 'remove', 'more')[0], 0, 'remove')
    was = packets_of_all(bench)
    wait_until('packets', lambda: packets_of_all(bench) > was)
    _, err = end(bench, process, expect=1)
    assert re.search(rf'^tripd: \d+ records are not exported to tcp:127\.0\.0\.1:{stuck.port}: '
                     r'(there was no time left for it|it takes nothing|Connection refused)$', err, re.M), err
    stuck.kill()


def packets_of_all(bench):
    counters = json.loads(control(bench, '--json', 'list', 'counters')[1])['counters']
    return next(counter['success'] for counter in counters if counter['name'] == 'all.packets')


def waits_for_room(pid):
    """Its exporter polls two descriptors, of which one is a socket that takes nothing; else it polls three."""
    for task in os.listdir(f'/proc/{pid}/task'):
        with contextlib.suppress(FileNotFoundError):
            with open(f'/proc/{pid}/task/{task}/comm', encoding='utf-8') as file:
                if file.read() != 'tripd-ipfix\n':
                    continue
            with open(f'/proc/{pid}/task/{task}/syscall', encoding='utf-8') as file:
                return file.read().split()[2:3] == ['0x2']
    return False


def nobody_at_the_end(bench):
    """The last counts are lost, and counted; so are trips."""
    for kind, reason in (socket.SOCK_STREAM, 'Connection refused'), (socket.SOCK_DGRAM, '.*'):
        name = 'tcp' if kind == socket.SOCK_STREAM else 'udp'
        port = free_port(kind)
        code, _, err = bench.run(*bench.eal('net_pcap0,rx_pcap=' + bench.pcap('in.pcap', mixed())), '--rules',
                                 bench.file('rules', RULES), '--until-idle', '0.3', '--ipfix', f'{name}:127.0.0.1:{port}')
        equal(code, 1, err)
        assert re.search(rf'^tripd: [1-9]\d* records are not exported to {name}:127\.0\.0\.1:{port}: {reason}$', err, re.M), err


def a_late_collector_learns_templates(bench):
    """By datagrams, one that comes when all has begun understands what comes next."""
    port = free_port(socket.SOCK_DGRAM)
    process = start(bench, RULES, f'udp:127.0.0.1:{port}')
    wait_until('packets', lambda: control(bench, 'wait', 'all.packets', '1000')[0] == 0)
    late = Collector(port, socket.SOCK_DGRAM)
    wait_until('three rounds', lambda: late.has(3))
    assert min(late.stream.told.values()) >= 2, late.stream.told
    report, _ = end_any(bench, process)
    wait_until('the last totals', lambda: late.stream.of('all', 'triplinePackets')[-1]['triplinePackets'] ==
               report['counters'][0]['packets'])
    late.kill()


def nfcapd_agrees(bench):
    """An independent collector: each key's packets and bytes, of each statement; and no key that is not there."""
    if shutil.which('nfcapd') is None or shutil.which('nfdump') is None:
        raise Skip('nfdump is not installed')
    port, folder = free_port(socket.SOCK_DGRAM), bench.file('flows')
    os.mkdir(folder)
    collector = bench.track(subprocess.Popen(['nfcapd', '-b', '127.0.0.1', '-p', str(port), '-w',
                                              folder, '-B', '4000000'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT))
    wait_until('nfcapd', lambda: is_bound(port))
    many = mixed() + [frame(f'10.9.{i // 200}.{i % 200 + 1}', size=22 + i % 50) for i in range(2000)] * 2
    process = start(bench, RULES.replace('max 1k', 'max 8k').replace('max 10 ', 'max 8k '), f'udp:127.0.0.1:{port}',
                    frames=many, vdev='net_pcap0,rx_pcap=')
    equal(control(bench, 'wait', 'all.packets', str(len(many) - 30))[0], 0, 'packets')
    report, err = end(bench, process)
    collector.terminate()
    collector.communicate(timeout=HANG)
    told = subprocess.run(['nfdump', '-R', folder, '-o', 'json', '-N'], capture_output=True, text=True, check=True).stdout
    flows = json.loads(told)
    numbers = {'sources': 4, 'nets': 5, 'pairs': 6, 'vlans': 7}
    for each in report['each']:
        of = [flow for flow in flows if flow.get('observationPointID') == numbers[each['name']]]
        equal((sum(flow['in_packets'] for flow in of), sum(flow['in_bytes'] for flow in of)),
              (each['packets'], each['bytes']), f'flows of {each["name"]}')
        summed = {}
        for flow in of:
            if flow['in_packets']:
                name = nf_key(each['name'], flow)
                was = summed.get(name, (0, 0))
                summed[name] = was[0] + flow['in_packets'], was[1] + flow['in_bytes']
        equal(len(summed), each['keys'], f'keys of {each["name"]}')
        for entry in each['top']:
            equal(summed[entry['key']], (entry['packets'], entry['bytes']), entry['key'])
    for i, counter in enumerate(report['counters'][:2]):
        of = [flow for flow in flows if flow.get('observationPointID') == i + 1]
        equal((sum(flow['in_packets'] for flow in of), sum(flow['in_bytes'] for flow in of)),
              (counter['packets'], counter['bytes']), counter['name'])
    # As people ask it: the sums of a statement.
    told = subprocess.run(['nfdump', '-R', folder, '-o', 'csv', '-N', '-A', 'srcip', 'observation point id 4'],
                          capture_output=True, text=True, check=True).stdout
    assert 'No matching flows' not in told, told


def nf_key(each, flow):
    if each == 'sources':
        return flow['src4_addr']
    if each == 'nets':
        return f'{flow["src4_addr"]}/{flow["src_mask"]},{flow["proto"]}'
    if each == 'vlans':
        return str(flow['src_vlan'])
    if 'src4_addr' in flow:
        return f'{flow["src4_addr"]},{flow["dst4_addr"]},{flow["dst_port"]}'
    return f'{flow["src6_addr"]},{flow["dst6_addr"]}/{flow["dst_mask"]},{flow["dst_port"]}'


def is_bound(port):
    with open('/proc/net/udp', encoding='utf-8') as file:
        return any(line.split()[1].endswith(f':{port:04X}') for line in file.read().splitlines()[1:])


def what_is_long_or_strange(bench):
    """Names as long as they may be, conditions that are longer than a message, texts with what is no letter."""
    long = 'n' * 32
    rules = f'count {long} port 0 pattern eth / end\neach k{long[1:]} port 0 ipv4.src max 10 idle 1h\n'
    rules += f'when all({", ".join(f"{long}.packets >= {i + 1}" for i in range(8))}) log "{"ü" * 40}"\n'
    rules += f'when k{long[1:]}.bytes >= 1 log "%s%n\\\\"\n'
    for target, collector in (f'file:{bench.file("x" * 200)}', None), (None, Collector(kind=socket.SOCK_DGRAM)):
        report, _ = bench.play(mixed(), rules, '--ipfix', target or f'udp:127.0.0.1:{collector.port}')
        n = len(report['trips'])
        stream = collector.stream if collector else read(target[5:])
        wait_until('trips', lambda: sum('triplineOperation' in record for record in stream.records) == n)
        trips = [record for record in stream.records if 'triplineOperation' in record]
        condition = next(trip['condition'] for trip in report['trips'] if trip['condition'])
        cut = next(trip['triplineCondition'] for trip in trips if trip['triplineCondition'])
        assert len(condition) > 300 and condition.startswith(cut) and len(cut) == 250, (condition, cut)
        agree(report, stream)


def mistakes_are_told(bench):
    rules = bench.file('rules', RULES)
    for words, said in (
            (('--ipfix', 'sctp:a:1'), '"sctp:a:1" is none of tcp:HOST:PORT, udp:HOST:PORT, file:PATH'),
            (('--ipfix', 'tcp:localhost'), '"tcp:localhost" has no port: :4739 behind the host is IPFIX\'s'),
            (('--ipfix', 'tcp:a:70000'), '"tcp:a:70000": the port "70000" is not a number from 1 to 65535'),
            (('--ipfix', 'udp:a:0'), 'the port "0" is not a number from 1 to 65535'),
            (('--ipfix', 'udp:a:x'), 'the port "x" is not a number from 1 to 65535'),
            (('--ipfix', 'udp::4739'), 'the host has 0 characters, and not 1 to 253'),
            (('--ipfix', f'udp:{"h" * 254}:4739'), 'the host has 254 characters, and not 1 to 253'),
            (('--ipfix', 'udp:::1:4739'), 'stands in brackets, as in udp:[::1]:4739'),
            (('--ipfix', 'udp:[::1:4739'), 'the address in [ ] has no end'),
            (('--ipfix', 'file:'), 'the path has 0 characters, and not 1 to 4095'),
            (('--ipfix', 'file:/nowhere/x'), 'IPFIX cannot be written to /nowhere/x: No such file or directory'),
            (('--ipfix', 'file:/'), 'IPFIX cannot be written to /: Is a directory'),
            (('--ipfix', 'file:x', '--ipfix-interval', '5'), '--ipfix-interval: "5" is no time from 100ms to 24h'),
            (('--ipfix', 'file:x', '--ipfix-interval', '99ms'), '"99ms" is no time from 100ms to 24h'),
            (('--ipfix', 'file:x', '--ipfix-interval', '25h'), '"25h" is no time from 100ms to 24h'),
            (('--ipfix', 'file:x', '--ipfix-domain', '4294967296'), '"4294967296" is not a number from 1 to 4294967295'),
            (('--ipfix-interval', '1s'), '--ipfix-interval is in vain without --ipfix')):
        code, _, err = bench.run('--rules', rules, *words)
        equal((code, said in err), (2, True), f'{words}: {err}')
    code, _, err = bench.run(*bench.eal('net_pcap0,rx_pcap=' + bench.pcap('in.pcap', mixed())), '--rules', rules,
                             '--until-idle', '0.3', '--ipfix', 'tcp:no.such.host.invalid:4739')
    equal((code, 'records are not exported to tcp:no.such.host.invalid:4739: ' in err), (1, True), err)


def one_without_says_so(bench):
    """Built without libfixbuf."""
    code, out, err = bench.run('--rules', bench.file('rules', RULES), '--ipfix', f'file:{bench.file("out")}')
    equal((code, out, '--ipfix: this tripd was built without libfixbuf, and exports nothing' in err), (2, '', True), err)
    assert not os.path.exists(bench.file('out')), 'a file'


if 'without' in sys.argv[3:]:
    main(one_without_says_so)
main(a_file_has_all, keys_that_come_and_go_are_records, each_field_has_its_element, rounds_add_up, an_each_in_other_words_is_another, a_reset_each_begins_at_0,
     a_moved_file_is_begun_anew, a_connection_breaks_and_comes_back,
     who_reads_nothing_holds_nothing_up, nobody_at_the_end, a_late_collector_learns_templates, nfcapd_agrees,
     what_is_long_or_strange, mistakes_are_told)

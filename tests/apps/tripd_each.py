# SPDX-License-Identifier: BSD-3-Clause
"""What is counted by keys that nobody named: known captures have known answers, and rules that change keep what stays."""
import fcntl
import pty
import termios

from tripd_test import *

TRIPCTL = os.path.abspath(sys.argv[2])
SOURCES = 'each sources port 0 ipv4.src max 1k idle 1h\n'
HUNDRED = 'each hundred port 0 ipv4.dst max 100 idle 1h\n'


def frame(src, dst='10.0.0.2', port=53, size=22):
    return ethernet(ipv4(udp(port, bytes(size)), 17, src=src, dst=dst))


def mixed():
    """60 packets of one source, 30 and 10 of others, 5 that are no IPv4; the rarest are larger."""
    frames = [frame('10.1.0.1')] * 60 + [frame('10.1.0.2', port=80)] * 30 + [frame('10.2.0.1', size=122)] * 10
    return frames[::2] + [ethernet(ipv6(udp(53), 17), kind=0x86dd)] * 5 + frames[1::2]


def of(report, name):
    return next(each for each in report['each'] if each['name'] == name)


def top(each):
    return {entry['key']: (entry['packets'], entry['bytes'], entry['error']) for entry in each['top']}


def keys_have_what_is_theirs(bench):
    report, out = bench.play(mixed(), SOURCES +
                             'each nets port 0 ipv4.src/16 max 10 idle 1m\n'
                             'each pairs port any ip.src,l4.dst max 10 idle 1m pattern udp dst is 53 / end\n'
                             'count all port 0 pattern eth / end actions drop / end\n')
    equal([each['name'] for each in report['each']], ['sources', 'nets', 'pairs'], 'in the order of the rules')
    sources = of(report, 'sources')
    equal(top(sources), {'10.1.0.1': (60, 60 * 64, 0), '10.1.0.2': (30, 30 * 64, 0), '10.2.0.1': (10, 1640, 0)}, 'sources')
    equal([entry['key'] for entry in sources['top']], ['10.1.0.1', '10.1.0.2', '10.2.0.1'], 'the first first')
    equal({name: sources[name] for name in sources if name not in ('name', 'top')},
          {'fields': 'ipv4.src', 'packets': 100, 'bytes': 90 * 64 + 1640, 'keys': 3, 'max': 1000, 'queues': 1,
           'remainder_packets': 0, 'remainder_bytes': 0, 'refused_packets': 0, 'refused_bytes': 0, 'admitted': 3,
           'evicted': 0, 'expired': 0, 'floor': 0, 'dropped_packets': 0, 'dropped_bytes': 0, 'held': 0, 'full': 'open',
           'hardware': None, 'removed': False}, 'the statement')
    equal(top(of(report, 'nets')), {'10.1.0.0/16': (90, 90 * 64, 0), '10.2.0.0/16': (10, 1640, 0)}, 'networks')
    equal(of(report, 'nets')['fields'], 'ipv4.src/16', 'fields')
    pairs = {key: counted[0] for key, counted in top(of(report, 'pairs')).items()}
    equal(pairs, {'10.1.0.1,53': 60, '10.2.0.1,53': 10, '2001:db8::1,53': 5}, 'pairs')
    assert re.search(r'^sources +100 +7,400$\n^  10\.1\.0\.1 +60 +3,840$', out, re.M), out


def keys_that_go_are_in_the_remainder(bench):
    """6000 addresses come one after the other, and between them one that has half of all packets."""
    frames = []
    for i in range(12000):
        frames += [frame('10.0.0.1', f'10.9.{i % 6000 // 200}.{i % 200 + 1}'), frame('10.0.0.1', '10.8.0.1')]
    each = of(bench.play(frames, HUNDRED)[0], 'hundred')
    equal((each['packets'], each['bytes']), (24000, 24000 * 64), 'all that was seen')
    equal(each['admitted'] - each['evicted'], each['keys'], 'keys that came and went')
    # Of each that is there and that went, so much.
    assert each['evicted'] > 0 and each['keys'] < 6000 and each['remainder_packets'] >= each['evicted'], each
    entry = each['top'][0]
    equal((entry['key'], entry['packets'], entry['error']), ('10.8.0.1', 12000, 0), 'what has most')
    for entry in each['top'][1:]:
        assert entry['packets'] <= 2 <= entry['packets'] + entry['error'], entry


def what_is_allowed_has_no_key(bench):
    report, _ = bench.play(mixed(), SOURCES + 'set own { 10.1.0.0/24 }\n'
                           'allow ours port 0 pattern ipv4 src in own / end\n')
    equal(top(of(report, 'sources')), {'10.2.0.1': (10, 1640, 0)}, 'others alone')
    equal([count['packets'] for count in report['counters']], [90], 'what was allowed')


def what_is_sent_counts_apart(bench):
    """From port 0 to port 1, but for what a rule drops."""
    sent = bench.file('out.pcap')
    words = bench.eal('net_pcap0,rx_pcap=' + bench.pcap('in.pcap', mixed()) + ',tx_pcap=' + bench.file('back.pcap'),
                      'net_pcap1,rx_pcap=' + bench.pcap('none.pcap', []) + f',tx_pcap={sent}')
    report = bench.file('report.json')
    code, _, err = bench.run(*words, '--rules', bench.file(
        'rules', SOURCES + 'each out port 1 egress ipv4.src max 10 idle 1m\n'
        'count web port 0 pattern udp dst is 80 / end actions drop / end\n'), '--report', report, '--until-idle', '0.3')
    equal((code, err), (0, ''), 'exit code and stderr')
    with open(report, encoding='utf-8') as file:
        told = json.load(file)
    equal(set(top(of(told, 'sources'))), {'10.1.0.1', '10.1.0.2', '10.2.0.1'}, 'received')
    equal({key: counted[0] for key, counted in top(of(told, 'out')).items()}, {'10.1.0.1': 60, '10.2.0.1': 10}, 'sent')


def times(bench, name, packets):
    """A capture of (second, source)."""
    return bench.pcap(name, [frame(src) for _, src in packets], [second for second, _ in packets])


def a_key_goes_by_the_time_of_packets(bench):
    """The first source is silent from the first second on, the second for ten. Which have gone is found within some
    hundred bursts, each of a packet."""
    path = times(bench, 'times.pcap', [(1, '10.0.0.1'), (2, '10.0.0.2')] + [(s, '10.0.0.3') for s in range(3, 13)] +
                 [(12, '10.0.0.2')] + [(13, '10.0.0.3')] * 150)
    report = bench.file('report.json')
    equal(bench.run(*bench.eal(f'net_pcap0,rx_pcap={path}'), '--clock', 'packet', '--rules', bench.file(
        'rules', 'each e port 0 ipv4.src max 10 idle 10500ms\n'), '--report', report, '--until-idle', '0.3')[0], 0, 'code')
    with open(report, encoding='utf-8') as file:
        each = of(json.load(file), 'e')
    equal({key: counted[0] for key, counted in top(each).items()}, {'10.0.0.2': 2, '10.0.0.3': 160}, 'keys')
    equal((each['expired'], each['packets'], each['remainder_packets']), (1, 163, 1), 'what has gone')


def a_key_that_was_idle_begins_anew_by_the_time_of_packets(bench):
    """What comes next is its own packet, and then one of another port."""
    first = times(bench, 'first.pcap', [(1, '10.0.0.1')] * 5 + [(5, '10.0.0.1')] * 4 + [(20, '10.0.0.1')] * 6)
    second = times(bench, 'second.pcap', [(40, '10.0.0.2')])
    report = bench.file('report.json')
    equal(bench.run(*bench.eal(f'net_pcap0,rx_pcap={first}', f'net_pcap1,rx_pcap={second}'), '--clock', 'packet', '--rules',
                    bench.file('rules', 'each e port 0,1 ipv4.src max 1k idle 10s\nwhen e.packets >= 5 log\n'
                               'each slow port 0 ipv4.src max 1k idle 1h\n'),
                    '--report', report, '--until-idle', '0.3')[0], 0, 'code')
    with open(report, encoding='utf-8') as file:
        told = json.load(file)
    each = of(told, 'e')
    equal([(trip['key'], trip['value'], trip['packet_time'][17:19]) for trip in told['trips']],
          [('10.0.0.1', 5, '01'), ('10.0.0.1', 5, '20')], 'trips')
    equal((top(each), each['expired'], each['remainder_packets']), ({'10.0.0.2': (1, 64, 0)}, 2, 15), 'keys')
    equal(of(told, 'slow')['top'][0]['packets'], 15, 'what was not idle as long')


def start(bench, rules, *words):
    report = bench.file('live.json')
    process = bench.start(*bench.eal('net_pcap0,rx_pcap=' + bench.pcap('in.pcap', mixed())), '--rules', bench.file(
        'rules', rules + 'count all port 0 pattern eth / end\n'), '--socket', bench.file('sock'), '--report', report, *words)
    wait_until('a socket', lambda: control(bench, 'list', 'domain')[0] == 0)
    equal(control(bench, 'wait', 'all.packets', '105')[0], 0, 'packets')
    return process


def control(bench, *words):
    return bench.finish(bench.track(subprocess.Popen(
        [TRIPCTL, '--socket', bench.file('sock'), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=bench.environment)))


def end(bench, process):
    process.send_signal(signal.SIGTERM)
    equal(bench.finish(process)[0], 0, 'exit code')
    with open(bench.file('live.json'), encoding='utf-8') as file:
        return json.load(file)


def whens_of_keys_come_by_a_file(bench):
    """tripctl when has counters of its own, of which keys have none."""
    process = start(bench, SOURCES)
    for name in 'sources', 'sources.packets':
        code, out, err = control(bench, 'when', f'{name} >= 10', 'log')
        equal((code, out), (2, ''), f'exit code and stdout, which said {err}')
        assert "\"sources\" is an `each', whose keys trip in tripd" in err, err
    end(bench, process)


def apply(bench, text):
    return control(bench, 'apply', bench.file('more', text))


def a_change_keeps_what_stays(bench):
    process = start(bench, SOURCES + HUNDRED)
    bench.file('rules', SOURCES.replace(' port', '  port') + HUNDRED.replace('100', '50') +
               'count all port 0 pattern eth / end\n')
    told = '~ ' + HUNDRED.replace('100', '50')
    equal(control(bench, 'diff'), (0, told, ''), 'what would change')
    equal(control(bench, 'reload'), (0, told, ''), 'what has changed')
    equal(apply(bench, 'each late port 0 proto max 5 idle 1s\n'),
          (0, '+ each late port 0 proto max 5 idle 1s\n', ''), 'apply')
    equal(control(bench, 'remove', 'late'), (0, '- each late port 0 proto max 5 idle 1s\n', ''), 'remove')
    equal(control(bench, 'remove', 'later'),
          (2, '', "no 'count' rule, 'counter', 'quota', 'set' or 'each' is named 'later'\n"), 'what is not there')
    report = end(bench, process)
    equal([(each['name'], each['packets'], each['max'], each['removed']) for each in report['each']],
          [('sources', 100, 1000, False), ('hundred', 0, 50, False), ('late', 0, 5, True)], 'in the report')
    equal(len(top(of(report, 'sources'))), 3, 'keys that stay')


def keys_go_where_nothing_comes_any_more(bench):
    """Of a port that is silent, and of one that sends nothing any more."""
    process = bench.start(*bench.eal(
        'net_pcap0,rx_pcap=' + bench.pcap('in.pcap', mixed()) + ',tx_pcap=' + bench.file('back.pcap'),
        'net_pcap1,rx_pcap=' + bench.pcap('none.pcap', []) + ',tx_pcap=' + bench.file('out.pcap')),
        '--rules', bench.file('rules', SOURCES + 'each short port 0 ipv4.src max 1k idle 100ms\n'
                              'each out port 1 egress ipv4.src max 1k idle 100ms\n'),
        '--socket', bench.file('sock'), '--report', bench.file('live.json'))

    def gone():
        code, out, _ = control(bench, '--json', 'list', 'each')
        return code == 0 and [each['expired'] for each in json.loads(out)['each']] == [0, 3, 3]

    wait_until('keys that go', gone)
    report = end(bench, process)
    equal([(each['keys'], each['packets'], each['remainder_packets']) for each in report['each']],
          [(3, 100, 0), (0, 100, 100), (0, 100, 100)], 'in the report')


def events_of_keys(path):
    with open(path, encoding='utf-8') as file:
        lines = [json.loads(line) for line in file]
    return [(line['event'], line['each'], line['key'], line['packets'], line['idle']) for line in lines if 'each' in line], lines


def who_asks_is_told_which_keys_come_and_go(bench):
    """By the time of packets: each comes once, goes once where it is idle, and what has least goes where there is no room."""
    path, report = bench.file('events'), bench.file('report.json')
    capture = times(bench, 'times.pcap', [(1, '10.0.0.1'), (2, '10.0.0.2'), (2, '10.0.0.1')] + [(14, '10.0.0.3')] * 200)
    equal(bench.run(*bench.eal(f'net_pcap0,rx_pcap={capture}'), '--clock', 'packet', '--rules', bench.file(
        'rules', 'each e port 0 ipv4.src max 10 idle 10s\n'), '--events', path, '--event-keys', '--until-idle', '0.3')[0], 0, 'code')
    told, lines = events_of_keys(path)
    equal(sorted(told), [('admission', 'e', f'10.0.0.{n}', 0, False) for n in (1, 2, 3)] +
          [('eviction', 'e', '10.0.0.1', 2, True), ('eviction', 'e', '10.0.0.2', 1, True)], 'keys that come and go')
    equal([told.index(line) < told.index(('eviction', *line[1:3], n, True)) for line, n in
           ((('admission', 'e', '10.0.0.1', 0, False), 2), (('admission', 'e', '10.0.0.2', 0, False), 1))], [True, True], 'order')
    equal((lines[0]['packet_time'][17:19], lines[0]['queue'], lines[0]['error']), ('01', 0, 0), 'the first')
    # More keys than there is room for: each that came has gone, or is there.
    frames = [frame(f'10.{i >> 16}.{i >> 8 & 255}.{i & 255}') for i in range(3000)]
    code, _, err = bench.run(*bench.eal('net_pcap0,rx_pcap=' + bench.pcap('in.pcap', frames)), '--rules', bench.file(
        'rules', 'each few port 0 ipv4.src max 100 idle 1h\n'), '--events', path, '--event-keys', '--report', report,
        '--until-idle', '0.3')
    with open(report, encoding='utf-8') as file:
        each = of(json.load(file), 'few')
    told, lines = events_of_keys(path)
    came, went = ([line[2] for line in told if line[0] == event] for event in ('admission', 'eviction'))
    left_out = sum(line['count'] for line in lines if line['event'] == 'left_out')
    equal(len(came) + len(went) + left_out - 5, each['admitted'] + each['evicted'], 'told, or said to be left out')
    equal((code, err == ''), (1, False) if left_out else (0, True), f'exit code: {err}')
    equal(bench.run('--rules', bench.file('rules', HUNDRED), '--event-keys')[0], 2, 'without events')


def what_cannot_be_changes_nothing(bench):
    """Of one that is too large the other stays as it was, with its counts; and a changed one of two stays at its own."""
    process = start(bench, SOURCES, '--each-memory', '128Ki')
    code, out, err = apply(bench, 'each big port 0 ipv4.src max 1M idle 1s\n')
    equal((code, out), (2, ''), 'exit code and stdout')
    assert re.search(r'^each "big": .*\d+ .*\(line 1\): --each-memory from the start makes room$', err, re.M), err
    code, out, err = apply(bench, 'each far port 7 ipv4.src max 10 idle 1s\n')
    equal((code, out, err), (2, '', 'each far: there is no such port (line 1)\n' if 'no such' in err else
                             'each far: port 7 is not in use: a rule, --ports or --iface has to name it from the start (line 1)\n'),
          'a port')
    code, out, err = apply(bench, 'each out port 0 egress ipv4.src max 10 idle 1s\n')
    equal((code, out), (2, ''), 'egress')
    assert 'n_tx_queues 0' in err, err
    equal(apply(bench, 'each small port 0 ipv4.dst max 10 idle 1s\n')[0], 0, 'what has room')
    code, out, err = apply(bench, SOURCES.replace('1k', '1M'))
    equal((code, out), (2, ''), 'a change without room')
    assert 'each sources stays as it was, and begins anew\n' in err, err
    code, out, err = apply(bench, 'when small.packets idle 5s log\nquota q 5 of small.bytes\n')
    equal((code, err.count('not yet: '), err.count('expected a shorter time')), (2, 1, 1), err)
    report = end(bench, process)
    equal([(each['name'], each['max']) for each in report['each']], [('sources', 1000), ('small', 10)], 'in the report')


def rows(out):
    """Of a table: each row by the titles of its columns."""
    lines = out.splitlines()
    at = next(i for i, line in enumerate(lines) if 'PACKETS' in line)
    titles = lines[at].split()
    return [dict(zip(titles, line.split())) for line in lines[at + 1:]]


def anybody_may_look_at_keys(bench):
    process = start(bench, SOURCES + 'each pairs port 0 ip.src/64,l4.dst max 10 idle 1m pattern udp / end\n')
    told = json.loads(control(bench, '--json', 'list', 'each')[1])['each']
    equal([(each['name'], each['fields'], each['keys'], each['packets'], each['bytes'], each['direction'], each['rank'],
            each['idle_us']) for each in told],
          [('sources', 'ipv4.src', 3, 100, 90 * 64 + 1640, 'ingress', 'packets', 3600 * 10**6),
           ('pairs', 'ip.src/64,l4.dst', 4, 105, 90 * 64 + 1640 + 5 * 62, 'ingress', 'packets', 60 * 10**6)], 'list each')
    equal([(row['NAME'], row['KEYS']) for row in rows(control(bench, 'list', 'each', '--match', 'p*')[1])], [('pairs', '4')],
          'one of them')
    code, out, err = control(bench, 'top', 'sources', '--rounds', '2', '--interval', '20ms')
    equal((code, err), (0, ''), 'top')
    equal([(row['KEY'], row['PACKETS'], row['BYTES'], row['PACKET/S'], row['SHARE'], row['ERROR']) for row in rows(out)[:3]],
          [('10.1.0.1', '60', '3840', '0', '60.0%', '0'), ('10.1.0.2', '30', '1920', '0', '30.0%', '0'),
           ('10.2.0.1', '10', '1640', '0', '10.0%', '0')], 'keys')
    equal([row['KEY'] for row in rows(control(
        bench, 'top', 'pairs', '--rounds', '1', '--interval', '10ms', '--sort', 'key', '--rows', '2')[1])],
          ['10.1.0.1,53', '10.1.0.2,80'], 'the first by key')
    told = json.loads(control(bench, '--json', 'top', 'sources', '--rounds', '1', '--interval', '20ms', '--sort', 'bytes',
                              '--match', '10.1.*')[1])
    equal([(key['key'], key['packets'], key['rate'], key['share']) for key in told['keys']],
          [('10.1.0.1', 60, 0.0, 0.6), ('10.1.0.2', 30, 0.0, 0.3)], 'keys that match')
    equal(told['each']['name'], 'sources', 'the statement')
    code, out, err = control(bench, 'top', 'source', '--rounds', '1')
    equal((code, out, 'it has no each "source"' in err), (3, '', True), f'what there is not: {err}')
    code, out, err = control(bench, 'top', 'sources', '--sort', 'value')
    equal((code, '--sort: "value" is none of packets, bytes, rate, key' in err), (2, True), err)
    end(bench, process)


def a_key_of_two_ports_is_one(bench):
    """Each port has a table, and each has all of the keys: three, and eight of another statement."""
    path = bench.pcap('in.pcap', mixed() + [frame('10.1.0.1', f'10.0.0.{i}') for i in range(3, 10)])
    out = bench.file('out')
    with open(out, 'w', encoding='utf-8') as file:
        process = bench.start(*bench.eal(f'net_pcap0,rx_pcap={path}', f'net_pcap1,rx_pcap={path}'), '--rules', bench.file(
            'rules', 'each three port 0,1 ipv4.src max 1k idle 1h\neach eight port 0,1 ipv4.dst max 1k idle 1h\n'
            'each one port 0 ipv4.dst max 1k idle 1h\ncount all port 0,1 pattern eth / end\n'),
            '--socket', bench.file('sock'), '--report', bench.file('live.json'), stdout=file)
        wait_until('a socket', lambda: control(bench, 'list', 'domain')[0] == 0)
        equal(control(bench, 'wait', 'all.packets', str(2 * 112))[0], 0, 'packets')
        for name, told in ('three', '3 keys, 214 packets'), ('eight', '8 keys, 214 packets'), ('one', '8 keys, 107 packets'):
            head = control(bench, 'top', name, '--rounds', '1', '--interval', '10ms')[1].splitlines()[0]
            assert f' {told}, ' in head, head
        report = end(bench, process)
    equal([(each['keys'], each['queues'], len(each['top'])) for each in report['each']], [(6, 2, 3), (16, 2, 8), (8, 1, 8)],
          'in the report')
    with open(out, encoding='utf-8') as file:
        equal(re.findall(r'^(\w+) +\d+ +[\d,]+$|^  (.*more keys)$', file.read(), re.M),
              [('three', ''), ('eight', ''), ('', 'at most 6 more keys'), ('one', ''), ('', '3 more keys')], 'the end')


def screen(bench, keys, *words):
    """What top draws on a terminal of 100 columns until it has taken these keys, the last of which ends it."""
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 100, 0, 0))
    process = bench.track(subprocess.Popen([TRIPCTL, '--socket', bench.file('sock'), 'top', *words], stdin=side, stdout=side,
                                           stderr=side, env={**bench.environment, 'TERM': 'vt100'}))
    os.close(side)
    seen = b''
    while b'space pause' not in seen:
        seen += os.read(main, 4096)
    os.write(main, keys.encode())
    equal(process.wait(HANG), 0, 'exit code')
    os.close(main)
    return seen.decode()


def a_terminal_shows_keys(bench):
    process = start(bench, SOURCES)
    seen = screen(bench, 'q', 'sources')
    for text in ('each sources of ipv4.src: 3 keys, 100 packets', '3 first keys by packets', '10.1.0.1', '10.2.0.1', '60.0%'):
        assert text in seen, (text, seen)
    assert seen.index('10.1.0.1') < seen.index('10.2.0.1'), seen
    # Each of its keys is taken; 'l', '/' and 'x' are none, and what is typed is no filter.
    seen = screen(bench, 'bprksl/x  q', 'sources', '--sort', 'key', '--match', '10.2')
    assert '1 first keys by key' in seen and '10.1.0.1' not in seen, seen
    end(bench, process)


def keys_are_seen_as_they_grow(bench):
    """A capture without end: what top tells of rates is what was counted between its readings."""
    process = bench.start(*bench.eal('net_pcap0,infinite_rx=1,rx_pcap=' + bench.pcap('in.pcap', mixed())), '--rules',
                          bench.file('rules', SOURCES), '--socket', bench.file('sock'))
    wait_until('a socket', lambda: control(bench, 'list', 'domain')[0] == 0)
    wait_until('keys', lambda: json.loads(control(bench, '--json', 'list', 'each')[1])['each'][0]['keys'] == 3)
    code, out, _ = control(bench, '--json', 'top', 'sources', '--rounds', '3', '--interval', '50ms', '--sort', 'rate')
    equal(code, 0, 'exit code')
    rounds = [json.loads(line) for line in out.splitlines()]
    equal([[key['key'] for key in told['keys']] for told in rounds], [['10.1.0.1', '10.1.0.2', '10.2.0.1']] * 3, 'by rate')
    for before, now in zip(rounds, rounds[1:]):
        for was, key in zip(before['keys'], now['keys']):
            grown = key['rate'] * now['seconds']
            assert abs(grown - (key['packets'] - was['packets'])) <= 1e-6 * grown + 1 and grown > 0, (was, key)
            assert 0 < key['share'] < 1, key
    process.send_signal(signal.SIGTERM)
    equal(bench.finish(process)[0], 0, 'exit code of tripd')


def trips_of(report):
    return [(trip['line'], trip['key']) for trip in report['trips']]


def keys_trip_once_each(bench):
    """Known answers: who has had so many packets, or bytes, of a capture."""
    events, program, read = bench.file('events'), bench.file('program'), bench.file('read')
    bench.file('program', f'#!/bin/sh\nexec cat > {read}\n')
    os.chmod(program, 0o755)
    report, out = bench.play(mixed(), SOURCES + 'when sources.packets >= 30 log "thirty"\nwhen sources.bytes >= 1600 log\n'
                             'when sources.packets >= 61 log "never"\n'
                             'each nets port 0 ipv4.src/16 max 10 idle 1h\nwhen nets.packets >= 90 exec ' + program + '\n',
                             '--events', events)
    equal(sorted(trips_of(report)), [(2, '10.1.0.1'), (2, '10.1.0.2'), (3, '10.1.0.1'), (3, '10.1.0.2'), (3, '10.2.0.1'),
                                     (6, '10.1.0.0/16')], 'trips')
    for trip in report['trips']:
        threshold, counter = {2: (30, 'sources.packets'), 3: (1600, 'sources.bytes'), 6: (90, 'nets.packets')}[trip['line']]
        equal((trip['threshold'], trip['counter'], trip['condition'], trip['result'], trip['count'], trip['ends'],
               trip['op']), (threshold, counter, None, 0, 1, False, 'exec' if trip['line'] == 6 else 'log'), 'a trip')
        assert threshold <= trip['value'] == threshold + trip['overshoot'], trip
    assert re.search(r'^sources\.packets +>= 30 .*  log thirty: 10\.1\.0\.1$', out, re.M), out
    assert 'never' not in out, out
    with open(events, encoding='utf-8') as file:
        told = [json.loads(line) for line in file]
    equal(sorted((trip['line'], trip['key']) for trip in told if trip['event'] == 'trip'), sorted(trips_of(report)), 'events')
    with open(read, encoding='utf-8') as file:
        equal([json.loads(line)['key'] for line in file], ['10.1.0.0/16'], 'what the program read')


def a_trip_tells_what_is_behind_it(bench):
    """Thresholds are all that comes: so what is finer is known, too."""
    events, program, read = bench.file('events'), bench.file('program'), bench.file('read')
    bench.file('program', f'#!/bin/sh\nexec cat > {read}\n')
    os.chmod(program, 0o755)
    frames = [frame(f'10.1.0.{n}', '10.0.0.9', size=22 if n != 3 else 1000) for n in range(1, 8) for _ in range(2 * n)]
    frames += [frame('10.1.0.1', '10.0.0.8', port=80)] * 4
    bench.play(frames[::2] + frames[1::2],
               'each pairs port 0 ipv4.src,ipv4.dst max 1k idle 1h\n'
               'each services port 0 l4.dst,ipv4.dst/31 max 1k idle 1h\n'
               'each victims port 0 ipv4.dst max 1k idle 1h\nwhen victims.packets >= 56 log\n'
               f'when victims.bytes >= {50 * 64 + 6 * 1042} exec {program}\n'
               'each nets port 0 ipv4.dst/24 max 10 idle 1h\nwhen nets.packets >= 60 drop nets\n'
               'each sent port 0 egress ipv4.src,ipv4.dst max 1k idle 1h\n', '--events', events)
    with open(events, encoding='utf-8') as file:
        told = {(trip['line'], trip['ends']): trip for trip in map(json.loads, file) if trip['event'] == 'trip'}
    behind = {at: {name: [(entry['key'], entry['packets']) for entry in keys] for name, keys in trip.get('top', {}).items()}
              for at, trip in told.items()}
    by_packets = [(f'10.1.0.{n},10.0.0.9', 2 * n) for n in range(7, 2, -1)]
    equal(behind, {
        (4, False): {'pairs': by_packets},
        (5, False): {'pairs': [('10.1.0.3,10.0.0.9', 6)] + by_packets[:4]},
        (7, False): {'pairs': by_packets, 'services': [('53,10.0.0.8/31', 56), ('80,10.0.0.8/31', 4)],
                     'victims': [('10.0.0.9', 56), ('10.0.0.8', 4)]}}, 'what is behind each trip')
    equal(told[7, False]['top']['victims'][1],
          {'key': '10.0.0.8', 'packets': 4, 'bytes': 256, 'error': 0, 'state': None, 'hardware': False, 'anew': 0,
           'anew_packets': 0, 'anew_bytes': 0}, 'one of these')
    with open(read, encoding='utf-8') as file:
        equal([json.loads(line)['top'] for line in file], [told[5, False]['top']], 'what the program read')


def keys_that_trip_at_once_are_told_or_counted(bench):
    """As many as a table is for are kept until they are read; of a small one, those that were not are accounted for."""
    events, report = bench.file('events'), bench.file('report.json')
    path = bench.pcap('in.pcap', [frame(f'10.{i >> 16}.{i >> 8 & 255}.{i & 255}') for i in range(30000)])
    code, _, err = bench.run(*bench.eal(f'net_pcap0,rx_pcap={path}'), '--rules', bench.file(
        'rules', 'each all port 0 ipv4.src max 64k idle 1h\nwhen all.packets >= 1 log\n'
        'each few port 0 ipv4.src max 10 idle 1h\nwhen few.packets >= 1 log\n'), '--report', report, '--events', events,
        '--until-idle', '0.3')
    with open(report, encoding='utf-8') as file:
        told = json.load(file)
    trips, lost = trips_of(told), told['trips_omitted']
    equal(len(set(trips)), len(trips), 'each key once')
    equal(len([key for line, key in trips if line == 2]), 30000, 'all of the large one')
    equal(len(trips) - 30000 + lost, 30000 - of(told, 'few')['refused_packets'], 'those of the small one')
    said = f'tripd: {lost} trips of keys came faster than they could be read: no log, program or event has them\n'
    equal((code, err), (1, said) if lost else (0, ''), 'what is said')
    with open(events, encoding='utf-8') as file:
        equal(len(file.readlines()), len(trips), 'events')


def a_key_that_trips_is_dropped(bench):
    """From the packet behind the one it trips with, and no other; it counts all the same. What is sent is the rest."""
    words = bench.eal('net_pcap0,rx_pcap=' + bench.pcap('in.pcap', mixed()) + ',tx_pcap=' + bench.file('back.pcap'),
                      'net_pcap1,rx_pcap=' + bench.pcap('none.pcap', []) + ',tx_pcap=' + bench.file('out.pcap'))
    report = bench.file('report.json')
    code, out, err = bench.run(*words, '--rules', bench.file(
        'rules', SOURCES + 'when sources.packets >= 20 drop sources\nwhen sources.packets >= 40 log "forty"\n'
        'count all port 0 pattern eth / end\neach out port 1 egress ipv4.src max 10 idle 1m\n'), '--report', report,
                               '--until-idle', '0.3')
    equal((code, err), (0, ''), 'exit code and stderr')
    with open(report, encoding='utf-8') as file:
        told = json.load(file)
    sources = of(told, 'sources')
    equal([(entry['key'], entry['packets'], entry['state']) for entry in sources['top']],
          [('10.1.0.1', 60, 'drop'), ('10.1.0.2', 30, 'drop'), ('10.2.0.1', 10, None)], 'keys')
    equal((sources['dropped_packets'], sources['dropped_bytes'], sources['held'], sources['refused_packets']),
          (50, 50 * 64, 2, 0), 'what was dropped')
    equal({key: counted[0] for key, counted in top(of(told, 'out')).items()},
          {'10.1.0.1': 20, '10.1.0.2': 20, '10.2.0.1': 10}, 'what was sent')
    equal(told['counters'][0]['packets'], 105, 'what a rule counts')
    equal({(trip['op'], trip['ends']) for trip in told['trips'] if trip['line'] == 2}, {('drop', False)}, 'what tripped')
    equal(sorted(trips_of(told)), [(2, '10.1.0.1'), (2, '10.1.0.2'), (3, '10.1.0.1')], 'trips')
    assert re.search(r'^sources\.packets +>= 20 .*  drop sources: 10\.1\.0\.[12]$', out, re.M), out
    assert re.search(r'^  dropped +50 +3,200$', out, re.M), out
    equal(re.findall(r'^  (10[.\d]+) +(\d+) +[\d,]+(.*)$', out, re.M)[:3],
          [('10.1.0.1', '60', '  drop'), ('10.1.0.2', '30', '  drop'), ('10.2.0.1', '10', '')], 'what is said of them')


def a_dropped_key_passes_after_its_time(bench):
    """A packet each 100 ms: the tenth trips, at 900 ms; what comes before 2,900 ms is dropped, and what comes then passes.
    The end is told."""
    path = bench.file('drops.pcap')
    with open(path, 'wb') as file:
        file.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for i in range(100):
            for src in ['10.0.0.1'] + ['10.0.0.2'] * (i < 9):
                data = frame(src)
                file.write(struct.pack('<IIII', 1000 + i // 10, i % 10 * 100000, len(data), len(data)) + data)
    words = bench.eal(f'net_pcap0,rx_pcap={path},tx_pcap=' + bench.file('back.pcap'),
                      'net_pcap1,rx_pcap=' + bench.pcap('none.pcap', []) + ',tx_pcap=' + bench.file('out.pcap'))
    report = bench.file('report.json')
    code, out, err = bench.run(*words, '--clock', 'packet', '--rules', bench.file(
        'rules', SOURCES + 'when sources.packets >= 10 drop sources for 2s\n'
        'each out port 1 egress ipv4.src max 10 idle 1m\n'), '--report', report, '--until-idle', '0.3')
    equal((code, err), (0, ''), 'exit code and stderr')
    with open(report, encoding='utf-8') as file:
        told = json.load(file)
    equal(of(told, 'sources')['dropped_packets'], 19, 'dropped')
    equal({key: counted[0] for key, counted in top(of(told, 'out')).items()}, {'10.0.0.1': 81, '10.0.0.2': 9}, 'sent')
    equal([(trip['key'], trip['ends'], trip['packet_time'][14:]) for trip in told['trips']],
          [('10.0.0.1', False, '16:40.900000000Z'), ('10.0.0.1', True, '16:42.900000000Z')], 'when')
    assert re.search(r'  end of drop sources for 2s: 10\.0\.0\.1$', out, re.M), out


def what_finds_no_room_is_told(bench):
    """A table for one key has room for 1025: where all of these stay, the statement's word decides about others."""
    frames = [frame(f'10.9.{i // 200}.{i % 200 + 1}') for i in range(1100)]
    for word, dropped in ('open', 0), ('closed', 75):
        _, _, err = bench.run(*bench.eal('net_pcap0,rx_pcap=' + bench.pcap('in.pcap', frames)), '--rules', bench.file(
            'rules', f'each e port 0 ipv4.src max 1 idle 1h full {word}\nwhen e.packets >= 1 drop e\n'),
                                 '--report', bench.file('report.json'), '--until-idle', '1.5')
        with open(bench.file('report.json'), encoding='utf-8') as file:
            each = of(json.load(file), 'e')
        # That is one trip more than are kept: at once it may be left out.
        equal((each['held'], each['refused_packets'], each['dropped_packets'], each['full'], each['admitted']),
              (1025, 75, dropped, word, 1025), 'new keys')
        assert re.search(r'warning: each e is full: \d+ packets of new keys so far ' +
                         ('pass uncounted' if word == 'open' else 'are dropped'), err), err


def a_fast_key_trips_and_no_slow_one(bench):
    """20 a second over 2 s: who has 19 a second never trips, in a minute; who has 40 does within that time."""
    path = bench.file('rates.pcap')
    frames = sorted([(i / 19, '10.0.0.19') for i in range(19 * 60)] + [(30 + i / 40, '10.0.0.40') for i in range(40 * 10)])
    with open(path, 'wb') as file:
        file.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for at, src in frames:
            data = frame(src)
            file.write(struct.pack('<IIII', 1000 + int(at), int(at % 1 * 10**6), len(data), len(data)) + data)
    report = bench.file('report.json')
    equal(bench.run(*bench.eal(f'net_pcap0,rx_pcap={path}'), '--clock', 'packet', '--rules', bench.file(
        'rules', SOURCES + 'when sources.packets rate >= 20/s over 2s log "fast"\n'), '--report', report, '--until-idle',
        '0.3')[0], 0, 'code')
    with open(report, encoding='utf-8') as file:
        trips = json.load(file)['trips']
    equal([(trip['key'], trip['condition']) for trip in trips], [('10.0.0.40', 'rate >= 20/s over 2s')], 'who trips')
    equal(trips[0]['packet_time'][:17], '1970-01-01T00:17:', 'when')
    assert 1030 - 1020 <= float(trips[0]['packet_time'][17:-1]) <= 1032 - 1020, trips


def a_key_trips_again_and_again(bench):
    """Packet by packet: each crossing is told; and what begins anew counts from 0, and trips by all of its conditions."""
    path = times(bench, 'again.pcap', [(100 + i, '10.0.0.1') for i in range(60)])
    report = bench.file('report.json')
    equal(bench.run(*bench.eal(f'net_pcap0,rx_pcap={path}'), '--clock', 'packet', '--rules', bench.file(
        'rules', SOURCES + 'when sources.packets >= 20 every 15 log "again"\n'
        'each lives port 0 ipv4.src max 1k idle 1h\nwhen lives.packets >= 25 reset lives\nwhen lives.packets >= 10 log\n'),
                    '--report', report, '--until-idle', '0.3')[0], 0, 'code')
    with open(report, encoding='utf-8') as file:
        told = json.load(file)
    trips = [[(trip['threshold'], trip['value'], trip['count'], trip['packet_time'][17:19]) for trip in told['trips']
              if trip['line'] == line] for line in (2, 4, 5)]
    equal(trips, [[(20, 20, 1, '59'), (35, 35, 1, '14'), (50, 50, 1, '29')],
                  [(25, 25, 1, '04'), (25, 25, 1, '29')],
                  [(10, 10, 1, '49'), (10, 10, 1, '14'), (10, 10, 1, '39')]], 'trips')
    equal({trip['op'] for trip in told['trips'] if trip['line'] == 4}, {'reset'}, 'what it does')
    lives = of(told, 'lives')
    last = lives['top'][0]
    equal((last['packets'], last['bytes'], lives['packets'], lives['remainder_packets']), (10, 640, 60, 0), 'the last life')
    equal((last['anew'], last['anew_packets'], last['anew_bytes']), (2, 50, 3200), 'those before')
    # In one burst several crossings are one trip; what it stands for says how many.
    told = bench.play([frame('10.0.0.1')] * 32, SOURCES + 'when sources.packets >= 5 every 5 log\n')[0]['trips']
    equal(sum(trip['count'] for trip in told), 6, 'crossings')
    equal(told[-1]['threshold'], 30, 'the last of them')


def at_times(bench, name, packets):
    """A capture of (milliseconds, source), in their order."""
    path = bench.file(name)
    with open(path, 'wb') as file:
        file.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for ms, src in packets:
            data = frame(src)
            file.write(struct.pack('<IIII', 1000 + ms // 1000, ms % 1000 * 1000, len(data), len(data)) + data)
    return path


def what_a_rate_began_ends_with_it(bench):
    """100 a second for two seconds, then 5 a second, and 100 a second again: the drop ends by itself, and begins anew."""
    path = at_times(bench, 'until.pcap', [(i * 10, '10.0.0.1') for i in range(200)] +
                    [(2000 + i * 200, '10.0.0.1') for i in range(30)] + [(8000 + i * 10, '10.0.0.1') for i in range(200)])
    report = bench.file('report.json')
    code, out, err = bench.run(*bench.eal(f'net_pcap0,rx_pcap={path}'), '--clock', 'packet', '--rules', bench.file(
        'rules', SOURCES + 'when sources.packets rate >= 50pps over 1s until < 10pps for 1s drop sources\n'), '--report', report,
                               '--until-idle', '0.3')
    equal((code, beside_vain(err)), (0, ''), 'exit code and stderr')
    with open(report, encoding='utf-8') as file:
        trips = json.load(file)['trips']
    equal([(trip['ends'], trip['op']) for trip in trips], [(False, 'drop'), (True, 'drop'), (False, 'drop')], 'trips')
    seconds = [float(trip['packet_time'][17:-1]) - 40 for trip in trips]
    assert 0.9 <= seconds[0] <= 1 and 2.5 <= seconds[1] <= 4.2 and 8.9 <= seconds[2] <= 9, seconds
    assert re.search(r'  end of drop sources: 10\.0\.0\.1$', out, re.M), out


def a_key_that_trips_is_policed(bench):
    """200 a second for ten seconds: from the tenth on 20 a second pass, and the burst of 100 ms; another key is as it was."""
    path = at_times(bench, 'police.pcap', sorted([(i * 5, '10.0.0.1') for i in range(2000)] + [(i * 1500, '10.0.0.2')
                                                                                              for i in range(6)]))
    report = bench.file('report.json')
    code, out, err = bench.run(*bench.eal(f'net_pcap0,rx_pcap={path}'), '--clock', 'packet', '--rules', bench.file(
        'rules', SOURCES + 'when sources.packets >= 10 police sources 20pps\n'), '--report', report, '--until-idle', '0.3')
    equal((code, beside_vain(err)), (0, ''), 'exit code and stderr')
    with open(report, encoding='utf-8') as file:
        told = json.load(file)
    sources = of(told, 'sources')
    equal([(entry['key'], entry['packets'], entry['state']) for entry in sources['top']],
          [('10.0.0.1', 2000, 'police'), ('10.0.0.2', 6, None)], 'keys')
    passed = 2000 - sources['dropped_packets']
    assert 10 + 195 <= passed <= 10 + 199 + 2 + 1, passed
    equal([(trip['key'], trip['op']) for trip in told['trips']], [('10.0.0.1', 'police')], 'trips')
    assert re.search(r'^  10\.0\.0\.1 +2,000 +[\d,]+  police$', out, re.M), out


def a_terminal_shows_what_is_done_to_keys(bench):
    """In the row of their statement: what it does, or that all of them pass."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 120, 0, 0))
    tables = 'each passed port 0 ipv4.src max 9 idle 1h\neach policed port 0 ipv4.src max 9 idle 1h\n' \
        'each dropped port 0 ipv4.src max 9 idle 1h\neach told port 0 ipv4.src max 9 idle 1h\n'
    bench.environment['TERM'] = 'vt100'
    process = bench.start(*bench.eal('net_pcap0,infinite_rx=1,rx_pcap=' + bench.pcap('in.pcap', mixed())), '--rules', bench.file(
        'rules', tables + 'when policed.packets >= 1 police policed 5pps\nwhen dropped.packets >= 1 drop dropped\n'
        'when told.packets rate >= 1/s over 1s until < 1/m for 1h log\n'), stdout=theirs)
    os.close(theirs)
    seen, row = b'', re.compile(rb'(\w+): 3 keys [^\r\n]*?  (pass|police|drop)\b')
    until = time.monotonic() + HANG
    while dict(row.findall(seen)) != {b'passed': b'pass', b'policed': b'police', b'dropped': b'drop', b'told': b'pass'}:
        assert time.monotonic() < until, row.findall(seen)
        seen += os.read(ours, 65536)
    process.send_signal(signal.SIGTERM)
    try:
        while os.read(ours, 65536):
            pass
    except OSError:
        pass
    os.close(ours)
    equal(process.wait(HANG), 0, 'exit code')


def conditions_of_keys_come_and_go(bench):
    """With them the statement begins anew."""
    process = start(bench, SOURCES + HUNDRED, '--each-memory', '2Mi')
    for line in ('when sources.packets >= 5 log "five"\n', 'when all(sources.packets >= 5, any(sources.bytes idle 5s, '
                 'sources.packets rate >= 1kpps over 1s)) drop sources for 5s\n'):
        told = '~ ' + SOURCES + '+ ' + line
        equal(apply(bench, line), (0, told, ''), 'a condition comes')
        equal(apply(bench, line), (0, '', ''), 'it is there')
        equal(control(bench, 'diff')[:2], (0, '- ' + line + '~ ' + SOURCES), 'what a reload would change')
        equal(control(bench, 'reload')[:2], (0, '- ' + line + '~ ' + SOURCES), 'it goes')
    equal(apply(bench, line), (0, told, ''), 'it comes again')
    equal(control(bench, 'remove', 'sources'), (0, '- ' + line + '- ' + SOURCES, ''), 'all of it goes')
    report = end(bench, process)
    equal([(each['name'], each['packets'], each['removed']) for each in report['each']],
          [('sources', 0, True), ('hundred', 100, False)], 'in the report')


def what_drops_keys_ends_with_their_statement(bench):
    """Where it goes, or has other conditions, they pass, which is told of each."""
    line = 'when sources.packets >= 20 drop sources for 1h\n'
    process = start(bench, SOURCES + line + 'each nets port 0 ipv4.src/16 max 10 idle 1h\nwhen nets.packets >= 5 drop nets\n')
    told = 'when sources.packets >= 1k log\n'
    equal(apply(bench, told), (0, '~ ' + SOURCES + '+ ' + told, ''), 'another condition')
    equal(control(bench, 'remove', 'nets')[0], 0, 'remove')
    report = end(bench, process)
    equal(sorted((trip['key'], trip['ends']) for trip in report['trips']),
          [(key, ends) for key in ('10.1.0.0/16', '10.1.0.1', '10.1.0.2', '10.2.0.0/16') for ends in (False, True)], 'trips')


def keys_that_are_reset_begin_anew(bench):
    """What they had is told; what dropped them ends, which is told, too; nothing else changes."""
    process = start(bench, SOURCES + 'when sources.packets >= 20 drop sources\nwhen sources.packets >= 25 drop sources for 1h\n' +
                    HUNDRED)

    def eaches():
        return [(each['name'], each['packets'], each['keys'], each['held'], each['admitted'])
                for each in json.loads(control(bench, '--json', 'list', 'each')[1])['each']]

    equal(eaches(), [('sources', 100, 3, 2, 3), ('hundred', 100, 1, 0, 1)], 'before')
    equal(control(bench, 'reset', 'sources'), (0, 'sources.packets 100\nsources.bytes 7400\n', ''), 'reset')
    equal(eaches(), [('sources', 0, 0, 0, 0), ('hundred', 100, 1, 0, 1)], 'behind it')
    equal([json.loads(line) for line in control(bench, '--json', 'reset', 'hundred')[1].splitlines()],
          [{'name': 'hundred.packets', 'was': 100}, {'name': 'hundred.bytes', 'was': 7400}], 'as JSON')
    code, out, err = control(bench, 'reset', 'sourcez')
    equal((code, out, 'sourcez' in err), (3, '', True), f'what there is not: {err}')
    report = end(bench, process)
    equal(sorted((trip['key'], trip['line'], trip['ends']) for trip in report['trips']),
          [(key, line, ends) for key in ('10.1.0.1', '10.1.0.2') for line, ends in ((2, False), (2, True), (3, False))],
          'trips')


def keys_that_are_reset_trip_again(bench):
    """A capture without end: who has been dropped passes, and is dropped again when it has had as many."""
    process = bench.start(*bench.eal('net_pcap0,infinite_rx=1,rx_pcap=' + bench.pcap('in.pcap', mixed())), '--rules',
                          bench.file('rules', SOURCES + 'when sources.packets >= 20 drop sources\n'),
                          '--socket', bench.file('sock'), '--report', bench.file('live.json'))
    wait_until('a socket', lambda: control(bench, 'list', 'domain')[0] == 0)

    def held():
        return json.loads(control(bench, '--json', 'list', 'each')[1])['each'][0]['held'] == 3

    wait_until('keys that are dropped', held)
    for _ in range(3):
        equal(control(bench, 'reset', 'sources')[0], 0, 'reset')
        wait_until('keys that are dropped again', held)
    process.send_signal(signal.SIGTERM)
    equal(bench.finish(process)[0], 0, 'exit code')
    with open(bench.file('live.json'), encoding='utf-8') as file:
        trips = json.load(file)['trips']
    for key in '10.1.0.1', '10.1.0.2', '10.2.0.1':
        equal([trip['ends'] for trip in trips if trip['key'] == key], [False, True] * 3 + [False], key)


def what_it_takes_is_told_before(bench):
    rules = bench.file('rules', SOURCES + HUNDRED)
    equal(bench.run('--check', rules)[:2],
          (0, f'{rules}: 0 counts, 0 counters, 0 quotas, 2 each statements, 0 whens: nothing is wrong with them\n'), 'check')
    code, out, err = bench.run(*bench.eal('net_pcap0,rx_pcap=' + bench.pcap('in.pcap', mixed())), '--rules', rules, '--dry-run')
    equal((code, err), (0, ''), 'exit code and stderr')
    assert re.search(r'^line 1: each sources: 1000 keys on 1 queue: 0\.[1-9] MiB$', out, re.M), out
    for size in 'x', '-1', '65GiB', '':
        code, _, err = bench.run('--each-memory=' + size, '--rules', rules)
        equal((code, '--each-memory' in err), (2, True), f'--each-memory {size}: {err}')


main(keys_have_what_is_theirs, keys_that_go_are_in_the_remainder, what_is_allowed_has_no_key, what_is_sent_counts_apart,
     a_key_goes_by_the_time_of_packets, a_key_that_was_idle_begins_anew_by_the_time_of_packets, keys_go_where_nothing_comes_any_more,
     who_asks_is_told_which_keys_come_and_go,
     anybody_may_look_at_keys,
     a_key_of_two_ports_is_one, a_terminal_shows_keys, keys_are_seen_as_they_grow, a_change_keeps_what_stays, what_cannot_be_changes_nothing, keys_trip_once_each,
     a_trip_tells_what_is_behind_it, a_key_that_trips_is_dropped, a_dropped_key_passes_after_its_time, what_finds_no_room_is_told,
     keys_that_trip_at_once_are_told_or_counted, a_fast_key_trips_and_no_slow_one, a_key_trips_again_and_again,
     what_a_rate_began_ends_with_it, a_key_that_trips_is_policed, a_terminal_shows_what_is_done_to_keys,
     conditions_of_keys_come_and_go, whens_of_keys_come_by_a_file, what_drops_keys_ends_with_their_statement,
     keys_that_are_reset_begin_anew, keys_that_are_reset_trip_again, what_it_takes_is_told_before)

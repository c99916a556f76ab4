# SPDX-License-Identifier: BSD-3-Clause
"""What tripd reports of a capture: exact counts, trips in threshold order."""
import fcntl
import pty
import random
import re
import termios
from datetime import datetime, timezone

from tripd_test import *

DNS = 'count dns port 0 pattern eth / ipv4 / udp dst is 53 / end\n'
WEB = 'count web port 0 pattern eth / ipv4 / tcp dst is 443 / end\n'


def dns(n, size=22):
    return [ethernet(ipv4(udp(53, bytes(size)), 17))] * n


def web(n, size=100):
    return [ethernet(ipv4(tcp(443, bytes(size)), 6))] * n


def report_has_counts_and_trips(bench):
    began = datetime.now(timezone.utc)
    report, out = bench.play(
        dns(100) + web(7), DNS + WEB + 'counter n\nwhen dns.packets >= 40 add n 5\n'
        'when n >= 5 log "five"\nwhen web.bytes >= 1000000 drop web\n')
    equal(sorted(report), ['counters', 'each', 'ports', 'quotas', 'trips', 'trips_omitted'], 'keys')
    equal(report['trips_omitted'], 0, 'trips_omitted')
    reason = 'the driver net_pcap has no rte_flow'
    unpoliced = {'policed_packets': 0, 'policed_bytes': 0}
    equal(report['counters'], [
        {'name': 'dns', 'packets': 100, 'bytes': 100 * 64, **unpoliced, 'engine': 'sw', 'reason': reason},
        {'name': 'web', 'packets': 7, 'bytes': 7 * 154, **unpoliced, 'engine': 'sw', 'reason': reason},
        {'name': 'n', 'packets': 5, 'bytes': 0, 'engine': 'none'}], 'counters')
    equal([(port['port'], port['driver'], port['engine'], port['readings']) for port in report['ports']],
          [(0, 'net_pcap', 'none', 0)], 'ports')
    add, log = report['trips']
    for trip in add, log:
        equal(sorted(trip), ['condition', 'count', 'counter', 'ends', 'latency_ns', 'line', 'op', 'overshoot', 'result',
                             'threshold', 'time', 'value'], 'keys of a trip')
        equal((trip['result'], trip['condition'], trip['count']), (0, None, 1), 'result, condition and count')
        equal(trip['overshoot'], trip['value'] - trip['threshold'], 'overshoot')
        assert 0 <= trip['latency_ns'] < 10**10, trip
    times = [datetime.fromisoformat(trip['time'][:26] + '+00:00') for trip in report['trips']]
    assert all(re.fullmatch(r'.{19}\.\d{9}Z', trip['time']) for trip in report['trips']), report['trips']
    assert began <= times[0] <= times[1] <= datetime.now(timezone.utc), (began, times)
    equal([trip['line'] for trip in report['trips']], [4, 5], 'lines of the rules')
    equal((add['counter'], add['threshold'], add['op']), ('dns.packets', 40, 'add'), 'first')
    assert 40 <= add['value'] <= 100, add
    equal((log['counter'], log['threshold'], log['value'], log['op']), ('n', 5, 5, 'log'), 'second')
    assert 'log five' in out, out


def trips_come_in_threshold_order(bench):
    """The lines of the rules in random order, equal thresholds among them, the burst far past all."""
    seed = int(os.environ.get('TRIP_SEED', time.time_ns()))
    print(f'trips_come_in_threshold_order: TRIP_SEED={seed}')
    rng = random.Random(seed)
    thresholds = [rng.randrange(1, 40) for _ in range(120)]
    lines = [f'when dns.packets >= {threshold} log "{i}"' for i, threshold in enumerate(thresholds)]
    report, out = bench.play(dns(64), DNS + '\n'.join(lines) + '\n')
    # Stable: among equals the earlier line comes first.
    expected = sorted(range(len(thresholds)), key=lambda i: thresholds[i])
    equal([trip['threshold'] for trip in report['trips']], sorted(thresholds), 'thresholds')
    said = [int(line.rsplit(None, 1)[1]) for line in out.splitlines()
            if line.startswith('dns.packets')]
    equal(said, expected, f'lines in firing order, TRIP_SEED={seed}')


def every_fires_as_often_as_due(bench):
    report, _ = bench.play(dns(100), DNS + 'counter n\nwhen dns.packets >= 10 every 20 add n 1\n'
                           'when dns.bytes >= 640 every 640 log\n')
    packets = [t['threshold'] for t in report['trips'] if t['counter'] == 'dns.packets']
    equal(packets, [10, 30, 50, 70, 90], 'thresholds of packets')
    sizes = [t['threshold'] for t in report['trips'] if t['counter'] == 'dns.bytes']
    equal(sizes, [640 * k for k in range(1, 11)], 'thresholds of bytes')
    equal(report['counters'][1]['packets'], 5, 'counter n')


def times_are_told(bench):
    """What comes after the end of the packets does not fire; a clock that goes on keeps nobody."""
    report, out = bench.play(
        dns(10), DNS + 'counter n\nwhen after 2ms every 1ms add n 1\nwhen after 1ms log "first"\n'
        'when after 1d drop dns\n')
    assert {trip['counter'] for trip in report['trips']} == {None}, report['trips']
    equal([trip['threshold'] for trip in report['trips']],
          [10**6 * (i + 1) for i in range(len(report['trips']))], 'thresholds')
    for trip in report['trips']:
        assert trip['value'] >= trip['threshold'], trip
    equal(report['counters'][1]['packets'], len(report['trips']) - 1, 'additions')
    equal([trip['op'] for trip in report['trips'][:2]], ['log', 'add'], 'operations')
    assert re.search(r'^time +>= 1.* ms .*log first$', out, re.M), out


def a_counter_that_stands_still_is_told(bench):
    """It may have done so before the packets came, and has for good behind them."""
    report = bench.file('still.json')
    process = bench.start(*bench.eal('net_pcap0,rx_pcap=' + bench.pcap('in.pcap', dns(10))), '--rules',
                          bench.file('rules', DNS + 'when dns.packets idle 20ms every 1 log "still"\n'),
                          '--report', report)
    line = bench.wait_for_line(process, 'dns.packets')
    if ' at 0 ' in line:
        line = bench.wait_for_line(process, 'dns.packets')
    equal(line.rstrip('\n'), f'{"dns.packets":18} {"idle 20ms at 10":34}  log still', 'the line')
    process.send_signal(signal.SIGINT)
    equal(bench.finish(process)[0], 0, 'exit code')
    with open(report, encoding='utf-8') as file:
        trip = json.load(file)['trips'][-1]
    equal((trip['counter'], trip['condition'], trip['threshold'], trip['value'], trip['op']),
          ('dns.packets', 'idle 20ms', 10, 10, 'log'), 'the trip')


def a_drop_for_a_time_is_told_twice(bench):
    """When it begins, and when it ends, which comes long behind the packets."""
    report = bench.file('ends.json')
    process = bench.start(*bench.eal('net_pcap0,rx_pcap=' + bench.pcap('in.pcap', dns(10))), '--rules',
                          bench.file('rules', DNS + 'when dns.packets >= 10 drop dns for 20ms\n'), '--report', report)
    assert bench.wait_for_line(process, 'dns.packets').endswith('  drop dns for 20ms\n'), 'the beginning'
    assert bench.wait_for_line(process, 'dns.packets').endswith('  end of drop dns for 20ms\n'), 'the end'
    process.send_signal(signal.SIGINT)
    equal(bench.finish(process)[0], 0, 'exit code')
    with open(report, encoding='utf-8') as file:
        begun, ended = json.load(file)['trips']
    equal((begun['threshold'], begun['value'], begun['op'], begun['ends']), (10, 10, 'drop', False), 'the first')
    equal((ended['threshold'], ended['value'], ended['op'], ended['ends']), (10, 10, 'drop', True), 'the second')


def a_rate_is_told(bench):
    """Windows of an hour: however the packets come, ten of them are within one. One worker does both: it receives as
    soon as rules are there, whenever their conditions are accepted."""
    for lcores in 2, 3:
        report, out = bench.play(dns(25), DNS + 'counter n\n'
                                 'when dns.packets rate >= 10/h over 1h log "many"\n'
                                 'when dns.packets rate >= 26/h over 1h log "too many"\n'
                                 'when dns.bytes rate >= 1B/s over 1m every 1 add n 1\n'
                                 'when n rate >= 1/h over 1h log\n', lcores=lcores)
        first, *others = [trip for trip in report['trips'] if trip['counter'] == 'dns.packets']
        equal(others, [], 'other trips')
        assert 10 <= first['value'] == first['threshold'] <= 25, first
        equal((first['condition'], first['op'], first['result']), ('rate >= 10/h over 1h', 'log', 0), 'the trip')
        text = f'rate >= 10/h over 1h at {first["value"]}'
        assert f'{"dns.packets":18} {text:34}  log many' in out.splitlines(), out
        bytes_trips = [trip['value'] for trip in report['trips'] if trip['counter'] == 'dns.bytes']
        assert all(b - a >= 60 for a, b in zip([0] + bytes_trips, bytes_trips)) and bytes_trips, bytes_trips
        equal(report['counters'][1]['packets'], len(bytes_trips), 'additions')
        equal(len([trip for trip in report['trips'] if trip['counter'] == 'n']), 1, 'trips of what was added')


def what_a_rate_began_is_told_to_end(bench):
    """A capture is over at once, and then nothing comes for longer than the until."""
    report, out = bench.play(dns(25), DNS + 'when dns.packets rate >= 20pps over 1s until < 20pps for 50ms log "many"\n'
                             'when dns.packets rate >= 20pps over 1s until < 20pps for 60ms drop dns\n'
                             'when dns.packets rate >= 20pps over 1s until < 1/h for 1h drop dns\n')
    told = [(trip['op'], trip['line'] - report['trips'][0]['line'], trip['ends']) for trip in report['trips']]
    assert sorted(told) == [('drop', 1, False), ('drop', 1, True), ('drop', 2, False), ('log', 0, False), ('log', 0, True)], told
    for op in 'log many', 'drop dns':
        assert sum(line.endswith('  end of ' + op) for line in out.splitlines()) == 1, out
    first, *others = [trip for trip in report['trips'] if trip['op'] == 'log']
    equal([trip['threshold'] for trip in others], [first['threshold']], 'what it ends')


def there_is_room_for_conditions(bench):
    report, _ = bench.play(dns(10), DNS + 'counter n\n' +
                           ''.join(f'when dns.packets idle {i}h add n {i}\n'
                                   f'when dns.packets rate >= 11/h over {i}h add n {i}\n' for i in range(1, 301)))
    equal(report['trips'], [], 'trips')


def operations_do_what_they_say(bench):
    report, out = bench.play(
        dns(50) + web(50), DNS + WEB + 'counter a\ncounter b\n'
        'when dns.packets >= 1 set a 7\nwhen a >= 7 add a 3\nwhen a >= 10 set b 1\n'
        'when b >= 1 delete web\nwhen dns.packets >= 2 drop dns\nwhen dns.packets >= 3 pass dns\n')
    values = {c['name']: c['packets'] for c in report['counters']}
    equal((values['dns'], values['a'], values['b']), (50, 10, 1), 'dns, a, b')
    equal([t['op'] for t in report['trips'] if t['counter'] in 'ab'], ['add', 'set', 'delete'],
          'operations of the software counters')
    state = {line.split()[0]: line.split()[-1] for line in out.splitlines() if line.strip()}
    equal((state['dns'], state['web']), ('pass', 'deleted'), 'fates')


def a_quota_that_is_reset_loses_nothing(bench):
    report, out = bench.play(dns(10), DNS + 'quota q 8 per month of dns.packets\nwhen q spent reset q\n')
    spent = [int(n) for n in re.findall(r'^quota q begins anew: it was (\d+) of 8 packets$', out, re.M)]
    equal((len(spent), sum(spent) + report['quotas'][0]['spent']), (1, 10), 'periods that ended, and packets of all')


def a_quota_of_bytes_is_in_the_column_of_bytes(bench):
    _, out = bench.play(dns(10), DNS + 'quota b 1G of dns.bytes\nquota p 1G of dns.packets\n')
    end = {line.split()[0]: len(line) for line in out.splitlines() if line.startswith(('b ', 'p '))}
    titles = next(line for line in out.splitlines() if line.startswith('count '))
    equal(end, {'b': titles.index('bytes') + 5, 'p': titles.index('packets') + 7}, 'where the values of quotas end')


def one_worker_does_both(bench):
    report, out = bench.play(dns(1000), DNS + 'when dns.packets >= 500 log\n', lcores=2)
    assert 'forwards and counts' in out, out
    equal(report['counters'][0]['packets'], 1000, 'packets')
    equal([t['threshold'] for t in report['trips']], [500], 'thresholds')


def report_goes_to_stdout(bench):
    pcap = bench.pcap('in.pcap', dns(3))
    code, out, _ = bench.run(*bench.eal('net_pcap0,rx_pcap=' + pcap), '--rules',
                             bench.file('rules', DNS), '--report', '-', '--until-idle', '0.2')
    equal(code, 0, 'exit code')
    equal(json.loads(out)['counters'][0]['packets'], 3, 'packets')


def report_replaces_the_one_before(bench):
    path = bench.file('report.json', 'old')
    os.chmod(path, 0o644)
    bench.play(dns(3), DNS)
    left = [name for name in os.listdir(bench.path) if name.startswith('report')]
    equal(left, ['report.json'], 'files')


def report_goes_to_a_pipe(bench):
    """Which has a reader, or none; nobody waits for one."""
    path = bench.file('pipe')
    words = (*bench.eal('net_pcap0,rx_pcap=' + bench.pcap('in.pcap', dns(10))), '--rules',
             bench.file('rules', DNS), '--report', path)
    os.mkfifo(path)
    code, _, err = bench.run(*words, '--until-idle', '0.2')
    equal((code, err), (1, f'tripd: the report cannot be written to {path}: nobody reads from it\n'),
          'exit code and stderr without a reader')
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), encoding='utf-8') as reader:
        code, _, err = bench.run(*words, '--until-idle', '0.2')
        equal((code, err), (0, ''), 'exit code and stderr')
        equal(json.load(reader)['counters'][0]['packets'], 10, 'what the reader gets')


def a_trip_for_each_packet(bench):
    rules = DNS + 'counter n\nwhen dns.packets >= 1 every 1 add n 1\n'
    report, _ = bench.play(dns(50000), rules)
    equal(report['counters'][1]['packets'], 50000, 'additions')
    equal([t['threshold'] for t in report['trips']], list(range(1, 50001)), 'thresholds')
    # More than the ring of events holds: whether the control thread keeps up depends on who else
    # runs here. Each trip is in the report or among those that are said not to be.
    code, _, err = bench.run(
        *bench.eal('net_pcap0,rx_pcap=' + bench.pcap('in.pcap', dns(200000))), '--rules',
        bench.file('rules', rules), '--report', bench.file('report.json'), '--until-idle', '0.3')
    lost = re.match('tripd: (\\d+) trips came faster than they could be written down', err)
    lost = int(lost.group(1)) if lost else 0
    equal(code, 1 if lost else 0, f'exit code, with {err!r}')
    with open(bench.file('report.json'), encoding='utf-8') as file:
        report = json.load(file)
    equal(report['counters'][1]['packets'], 200000, 'additions')
    equal(len(report['trips']) + lost, 200000, 'trips in the report and lost ones')


def trips_are_said_without_a_report(bench):
    pcap = bench.pcap('in.pcap', dns(3000))
    code, out, err = bench.run(
        *bench.eal('net_pcap0,rx_pcap=' + pcap), '--rules',
        bench.file('rules', DNS + 'when dns.packets >= 10 every 10 log at most 1000 per 1s\n'), '--until-idle', '0.2')
    equal((code, err), (0, ''), 'exit code and stderr')
    said = [line.split()[2] for line in out.splitlines() if line.startswith('dns.packets')]
    equal(said, [f'{10 * i:,}' for i in range(1, 301)], 'thresholds')


def no_more_lines_than_there_may_be(bench):
    """Of a log, and of any operation; the others are in the report, and how many they are is said."""
    report, out = bench.play(dns(64), DNS + 'counter n\nwhen dns.packets >= 2 every 2 log "x" at most 3 per 1h\n'
                             'when dns.packets >= 1 every 1 add n 1\n')
    lines = [line.split() for line in out.splitlines() if line.endswith(' log x')]
    equal([words[2] for words in lines[:-1]], ['2', '4', '6'], 'thresholds')
    equal(lines[-1], ['dns.packets', '29', 'more', 'left', 'out', 'log', 'x'], 'the last line')
    equal(len([trip for trip in report['trips'] if trip['op'] == 'log']), 32, 'trips in the report')
    equal(len([trip for trip in report['trips'] if trip['op'] == 'add']), 64, 'trips of the other one in the report')
    lines = [line.split() for line in out.splitlines() if line.endswith(' add n 1')]
    said = [words for words in lines if words[-6:-3] != ['more', 'left', 'out']]
    left_out = [int(words[-7]) for words in lines if words[-6:-3] == ['more', 'left', 'out']]
    # A second may have begun in between.
    assert len(said) in (10, 20, 30) and len(said) + sum(left_out) == 64, lines


def a_long_text_is_cut_between_characters(bench):
    for text, left in ('x' + 'ä' * 90, 'x' + 'ä' * 59), ('ä' * 90, 'ä' * 60):
        _, out = bench.play(dns(1), DNS + f'when dns.packets >= 1 log "{text}"\n')
        assert f'log {left}...\n' in out, out


def nothing_arrives(bench):
    report, _ = bench.play([], DNS + 'when dns.packets >= 1 drop dns\n')
    equal((report['counters'][0]['packets'], report['trips']), (0, []), 'packets and trips')


def on_a_terminal(bench, columns, lines, frames, rules):
    """What tripd writes to a terminal of this size, by lines, without colours."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack('HHHH', lines, columns, 0, 0))
    bench.environment['TERM'] = 'vt100'
    process = bench.start(*bench.eal('net_pcap0,rx_pcap=' + bench.pcap('in.pcap', frames)),
                          '--rules', bench.file('rules', rules), '--until-idle', '0.3', stdout=theirs)
    os.close(theirs)
    text = b''
    try:
        while chunk := os.read(ours, 65536):
            text += chunk
    except OSError:  # its other end is closed
        pass
    os.close(ours)
    equal(bench.finish(process)[0], 0, 'exit code')
    return re.sub(r'\033\[[0-9;]*[A-Zm]', '', text.decode()).replace('\r', '').splitlines()


def a_small_terminal_shows_whole_numbers(bench):
    """What is drawn in place has fewer columns and says how many lines it lacks; what stays is whole."""
    long_name = 'n' * 32
    rules = DNS + WEB + f'counter {long_name}\n' + ''.join(f'counter c{i}\n' for i in range(20)) + \
        'when dns.packets >= 40 log "a text that is longer than the terminal is wide, by far"\n'
    for columns, lines, cells in (40, 10, ' +[0-9,]+  pass *'), (80, 24, ' +[0-9,]+ +[0-9,]+ +[0-9,]+ +[0-9,]+  pass *'):
        said = on_a_terminal(bench, columns, lines, dns(12345) + web(7), rules)
        assert any(line.endswith('log a text that is longer than the terminal is wide, by far') for line in said), said
        final = [re.split(' +', line) for line in said if line.startswith('dns ')][-1]
        equal(final, ['dns', '12,345', f'{12345 * 64:,}', 'pass'], f'the last counts on {columns} columns')
        live = said[:max(i for i, line in enumerate(said) if line.endswith('tripctl top'))]
        titles = max(i for i, line in enumerate(live) if line.startswith('count '))
        assert re.fullmatch('dns' + cells, live[titles + 1]), live[titles:]
        equal(len(live) - titles + 2, lines - 1, 'lines of the block')
        equal(said[len(live)], f'{2 + 21 - (len(live) - titles - 1)} more: tripctl top', 'what has no room')
        assert all(len(line) <= columns for line in live[titles:]), live[titles:]
        if columns == 80:
            name, value = live[titles + 3].split()
            assert long_name.startswith(name) and value == '0', live[titles + 3]


def what_is_counted_by_keys_is_drawn_in_place(bench):
    rules = DNS + 'each clients port 0 ipv4.src max 1k idle 1h\nwhen clients.packets >= 30 drop clients\n'
    said = on_a_terminal(bench, 80, 24, dns(40) + web(7), rules)
    rows = [line for line in said if line.startswith('clients:')]
    assert rows, said
    keys, packets, size = re.fullmatch(r'clients: (\d) keys? +(\d+) +([0-9,]+) +[0-9,]+ +[0-9,]+  drop *', rows[-1]).groups()
    equal((keys, packets, size), ('1', '47', f'{sum(len(frame) for frame in dns(40) + web(7)):,}'), 'the last row')
    assert all(len(line) <= 80 for line in rows), rows


main(report_has_counts_and_trips, trips_come_in_threshold_order, every_fires_as_often_as_due,
     times_are_told, a_counter_that_stands_still_is_told, a_drop_for_a_time_is_told_twice, a_rate_is_told,
     what_a_rate_began_is_told_to_end, there_is_room_for_conditions, operations_do_what_they_say,
     a_quota_that_is_reset_loses_nothing, a_quota_of_bytes_is_in_the_column_of_bytes, one_worker_does_both, report_goes_to_stdout, report_replaces_the_one_before, report_goes_to_a_pipe,
     a_trip_for_each_packet, trips_are_said_without_a_report, no_more_lines_than_there_may_be, a_long_text_is_cut_between_characters, nothing_arrives,
     a_small_terminal_shows_whole_numbers, what_is_counted_by_keys_is_drawn_in_place)

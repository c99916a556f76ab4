# SPDX-License-Identifier: BSD-3-Clause
"""Conditions of keys that are no counts: what is told again by a rate, who is quiet, and several together; of captures,
by the time of their packets."""
from tripd_test import *

SOURCES = 'each sources port 0 ipv4.src max 1k idle 1h\n'


def at_times(bench, packets):
    """A capture of (milliseconds, source), in their order."""
    path = bench.file('in.pcap')
    with open(path, 'wb') as file:
        file.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for ms, src in packets:
            data = ethernet(ipv4(udp(53, bytes(22)), 17, src=src, dst='10.0.0.2'))
            file.write(struct.pack('<IIII', 1000 + ms // 1000, ms % 1000 * 1000, len(data), len(data)) + data)
    return path


def play(bench, rules, packets):
    """The trips, each with seconds since the first packet, and what was told."""
    report = bench.file('report.json')
    code, out, err = bench.run(*bench.eal(f'net_pcap0,rx_pcap={at_times(bench, packets)}'), '--clock', 'packet', '--rules',
                               bench.file('rules', SOURCES + rules), '--report', report, '--until-idle', '0.3')
    # Nothing is forwarded that could be dropped: what is told is looked at.
    equal((code, [line for line in err.splitlines() if 'has no partner and forwards nothing' not in line]), (0, []),
          'exit code and stderr')
    with open(report, encoding='utf-8') as file:
        trips = json.load(file)['trips']
    for trip in trips:
        minutes, seconds = trip['packet_time'][14:-1].split(':')
        trip['at'] = int(minutes) * 60 + float(seconds) - 1000 % 3600
    return trips, out


def a_rate_is_told_again_of_a_key(bench):
    """100 a second of one key for five seconds, which is over 50 a second again and again; 40 of another never is."""
    packets = sorted([(i * 10, '10.0.0.1') for i in range(500)] + [(i * 25, '10.0.0.2') for i in range(200)])
    trips, _ = play(bench, 'when sources.packets rate >= 50pps over 1s every 1 log\n', packets)
    equal({trip['key'] for trip in trips}, {'10.0.0.1'}, 'keys')
    equal([round(trip['at']) for trip in trips], [1, 2, 3, 4, 5], 'when')


def a_quiet_key_is_told_once_or_again(bench):
    """One is never quiet, in whose bursts it is found that another is, for seven seconds, twice."""
    packets = [(i * 2, '10.0.0.1') for i in range(10000)] + [(ms, '10.0.0.2') for ms in (0, 1000, 8000, 8500, 9000, 16000)]
    trips, out = play(bench, 'when sources.packets idle 5s log "quiet"\nwhen sources.packets idle 4s every 2 log\n'
                      'when sources.bytes idle 4500ms drop sources for 1s\n', sorted(packets))
    equal({trip['key'] for trip in trips}, {'10.0.0.2'}, 'keys')
    equal([(trip['line'], trip['value'], trip['ends']) for trip in trips],
          [(3, 2, False), (4, 128, False), (2, 2, False), (4, 128, True), (3, 5, False)], 'trips')
    for trip, at in zip(trips, (5, 5.5, 6, 6.5, 13)):
        assert at <= trip['at'] <= at + 0.3, (trip, at)
    equal([trip['condition'] for trip in trips[:3]], ['idle 4s', 'idle 4500ms', 'idle 5s'], 'conditions')
    assert re.search(r'idle 5s at .* log quiet: 10\.0\.0\.2$', out, re.M), out


def several_conditions_of_a_key_are_one(bench):
    """Each of two has one of them, and a third both; time passes by another."""
    packets = sorted([(i * 2, '10.0.0.9') for i in range(5000)] +
                     [(i * 100, '10.0.0.1') for i in range(100)] + [(i, '10.0.0.2') for i in range(20)] +
                     [(5000 + i, '10.0.0.3') for i in range(20)] + [(6000 + i * 100, '10.0.0.3') for i in range(40)])
    trips, out = play(bench, 'when all(sources.packets >= 50, sources.packets rate >= 20pps over 500ms) drop sources\n'
                      'when any(sources.packets >= 95, sources.packets idle 5s) log "any"\n', packets)
    trips = [trip for trip in trips if trip['key'] != '10.0.0.9']
    equal([(trip['line'], trip['key'], trip['op'], trip['value']) for trip in trips],
          [(3, '10.0.0.2', 'log', 20), (2, '10.0.0.3', 'drop', 50), (3, '10.0.0.1', 'log', 95)], 'trips')
    equal((trips[1]['condition'], trips[1]['counter']),
          ('all(sources.packets >= 50, sources.packets rate >= 20pps over 500ms)', None), 'what it says')
    assert re.search(r'any\(sources\.packets >= 95, sources\.packets idle 5s\).* log any: 10\.0\.0\.1$', out, re.M), out


main(a_rate_is_told_again_of_a_key, a_quiet_key_is_told_once_or_again, several_conditions_of_a_key_are_one)

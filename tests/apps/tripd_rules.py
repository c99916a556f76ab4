# SPDX-License-Identifier: BSD-3-Clause
"""Rules that are more than one flow, and ports that are not numbers, as tripd puts them to work."""
from tripd_test import *


def conversation(n):
    """n packets there and n back, to as many ports."""
    for i in range(n):
        yield ethernet(ipv4(udp(1000 + i, bytes(20), src=53), 17, src='10.0.0.1', dst='10.0.0.2'))
        yield ethernet(ipv4(udp(53, bytes(30), src=1000 + i), 17, src='10.0.0.2', dst='10.0.0.1'),
                       src=2, dst=1)


def counts_of(report):
    return {c['name']: (c['packets'], c['bytes']) for c in report['counters']}


def a_range_is_one_count(bench):
    report, _ = bench.play(
        list(conversation(200)), 'count a port 0 pattern eth / ipv4 / udp dst range 1000-1099 / end\n'
        'count b port 0 pattern ipv4 / udp src range 1100 - 1149 / end\n'
        'when a.packets >= 60 log\nwhen a.bytes >= 6199 log\n', warnings=1)
    equal(counts_of(report), {'a': (100, 6200), 'b': (50, 50 * 72)}, 'counts')
    equal([(t['counter'], t['threshold']) for t in report['trips']],
          [('a.packets', 60), ('a.bytes', 6199)], 'trips')


def either_counts_both_directions_once(bench):
    server = [ethernet(ipv4(udp(53, src=53), 17, src='10.0.0.1', dst='10.0.0.3'))] * 5
    report, _ = bench.play(
        list(conversation(40)) + server,
        'count one port 0 either pattern ipv4 src is 10.0.0.1 dst is 10.0.0.2 / udp / end\n'
        'also count dns port 0 either pattern eth / ipv4 / udp dst is 53 / end\n'
        'also count net port 0 either pattern ipv4 src spec 10.0.0.0 src prefix 29 / end\n')
    both = (80, 40 * 62 + 40 * 72)
    all_of_it = (85, both[1] + 5 * 42)
    equal(counts_of(report), {'one': both, 'dns': all_of_it, 'net': all_of_it}, 'counts')


def an_operation_is_on_all_flows(bench):
    """One worker forwards and fires in turn, so the drop comes a few bursts behind packet 100."""
    out = bench.file('out.pcap')
    frames = list(conversation(2000))
    code, _, err = bench.run(
        *bench.eal('net_pcap0,rx_pcap=' + bench.pcap('in.pcap', frames),
                   f'net_pcap1,rx_pcap={bench.pcap("none.pcap", [])},tx_pcap={out}', lcores=2),
        '--rules', bench.file('rules', 'count c port 0 either pattern ipv4 / udp dst is 53 / end\n'
                              'when c.packets >= 100 drop c\n'),
        '--report', bench.file('report.json'), '--ports', '0,1', '--until-idle', '0.3')
    equal((code, err), (0, ''), 'exit code and stderr')
    with open(bench.file('report.json'), encoding='utf-8') as file:
        report = json.load(file)
    equal(counts_of(report)['c'], (4000, 2000 * 62 + 2000 * 72), 'counted')
    equal([t['op'] for t in report['trips']], ['drop'], 'trips')
    arrived = read_pcap(out)
    for name, size in ('there', 62), ('back', 72):
        n = sum(len(frame) == size for frame in arrived)
        assert 0 < n < 1000, f'{n} of 2000 packets {name} were forwarded'


def ports_by_name_and_mac(bench):
    pcap = bench.pcap('in.pcap', list(conversation(5)))
    code, out, _ = bench.run(
        *bench.eal('net_pcap0,rx_pcap=' + pcap), '--rules',
        bench.file('rules', 'count a port name "net_pcap0" pattern ipv4 / udp dst is 53 / end\n'
                   'also count b port mac 02:70:63:61:70:00 pattern eth / end\n'
                   'also count c port 0 pattern ipv4 / end\n'), '--report', '-', '--until-idle', '0.2')
    equal(code, 0, 'exit code')
    equal([c['packets'] for c in json.loads(out)['counters']], [5, 10, 10], 'packets')


def ports_are_one_count(bench):
    """Of both directions of a subscriber: counted in one, tripped by the sum, dropped and policed on both."""
    there = [frame for frame in conversation(300) if len(frame) == 62]
    back = [frame for frame in conversation(200) if len(frame) == 72]
    outs = [bench.file(f'out{port}.pcap') for port in range(2)]
    for ports, op, report in (('0,1', 'drop c', 'drop'), ('any', 'police c 8bit/s', 'police')):
        code, out, _ = bench.run(
            *bench.eal(f'net_pcap0,rx_pcap={bench.pcap("there.pcap", there)},tx_pcap={outs[0]}',
                       f'net_pcap1,rx_pcap={bench.pcap("back.pcap", back)},tx_pcap={outs[1]}', lcores=2),
            '--rules', bench.file('rules', f'count c port {ports} pattern ipv4 / udp / end\n'
                                  f'also count all port 0,name "net_pcap0",1 pattern eth / end\n'
                                  f'when c.packets >= 500 log "the sum"\nwhen after 1ns {op}\n'),
            '--report', '-', '--until-idle', '0.3')
        equal(code, 0, 'exit code')
        found = json.loads(out)
        equal(counts_of(found), {name: (500, 300 * 62 + 200 * 72) for name in ('c', 'all')}, 'counted')
        equal(sorted(t['op'] for t in found['trips']), sorted(['log', report]), 'trips')
        for path, n in zip(outs, (200, 300)):
            arrived = len(list(read_pcap(path)))
            assert arrived < n, f'{arrived} of {n} packets were forwarded'


def what_fails_on_one_port_changes_none(bench):
    code, _, err = bench.run(
        *bench.eal('net_pcap0,rx_pcap=' + bench.pcap('in.pcap', [])), '--rules',
        bench.file('rules', 'count c port 0,1 pattern eth / end\n'), '--until-idle', '0.2')
    equal(code, 2, 'exit code')
    assert 'port 1 does not exist (line 1 of the rules names it)' in err, err


main(ports_are_one_count, what_fails_on_one_port_changes_none, a_range_is_one_count, either_counts_both_directions_once, an_operation_is_on_all_flows,
     ports_by_name_and_mac)

# SPDX-License-Identifier: BSD-3-Clause
"""Where tripd sends what arrives."""
from tripd_test import *

RULES = ('count dns port 0 pattern eth / ipv4 / udp dst is 53 / end\n'
         'count web port 0 pattern eth / ipv4 / udp dst is 443 / end actions drop / end\n')


def frames():
    return [ethernet(ipv4(udp(port, bytes([i])), 17)) for i in range(200) for port in (53, 443, 9)]


def play(bench, *words, rules=RULES):
    out = bench.file('out.pcap')
    code, said, err = bench.run(
        *bench.eal('net_pcap0,rx_pcap=' + bench.pcap('in.pcap', frames()),
                   'net_pcap1,tx_pcap=' + out), '--rules', bench.file('rules', rules),
        '--until-idle', '0.3', *words)
    equal((code, beside_vain(err)), (0, ''), 'exit code and stderr')
    return read_pcap(out), said


def io_sends_what_no_rule_drops(bench):
    left = [frame for frame in frames() if frame[36:38] != struct.pack('!H', 443)]
    equal(play(bench, '--ports', '1')[0], left, 'frames that left')
    equal(play(bench, '--pair', '1,0')[0], left, 'frames that left with --pair')


def mac_rewrites_addresses(bench):
    sent, _ = play(bench, '--ports', '1', '--forward', 'mac')
    equal(len(sent), 400, 'frames')
    equal({frame[:6] for frame in sent}, {bytes([2, 0, 0, 0, 0, 1])}, 'destinations')
    equal(len({frame[6:12] for frame in sent}), 1, 'number of sources')
    assert sent[0][6:12] != mac(1), 'the source is not rewritten'
    equal(sent[0][12:], frames()[0][12:], 'the rest of the frame')


def none_frees(bench):
    sent, said = play(bench, '--ports', '1', '--forward', 'none')
    equal(sent, [], 'frames that left')
    assert 'port 0: packets are counted and freed; they are forwarded without --forward none\n' in said, said


def a_port_that_nobody_named_is_not_used(bench):
    sent, said = play(bench)
    equal(sent, [], 'frames that left')
    assert 'port 0: packets are counted and freed; they are forwarded with --ports 0,1\n' in said, said


def drop_holds_from_its_trip_on(bench):
    """Whatever the burst: what leaves of a dropped flow are its first packets, and no gap."""
    sent, _ = play(bench, '--ports', '1', rules=RULES + 'when dns.packets >= 20 drop dns\n')
    numbers = [frame[42] for frame in sent if frame[36:38] == struct.pack('!H', 53)]
    assert 20 <= len(numbers) <= 200, numbers
    equal(numbers, list(range(len(numbers))), 'dns packets that left')
    equal(sum(frame[36:38] == struct.pack('!H', 9) for frame in sent), 200, 'other packets')


def egress_counts_and_drops_what_is_sent(bench):
    report = bench.file('report.json')
    sent, _ = play(bench, '--ports', '1', '--report', report, rules=RULES +
                   'count out port 1 egress pattern eth / ipv4 / udp dst is 9 / end actions drop / end\n'
                   'count all port 1 egress priority 1 pattern eth / end\n')
    with open(report, encoding='utf-8') as file:
        counts = {c['name']: c['packets'] for c in json.load(file)['counters']}
    equal(counts, {'dns': 200, 'web': 200, 'out': 200, 'all': 200}, 'counts')
    equal({frame[36:38] for frame in sent}, {struct.pack('!H', 53)}, 'ports that left')
    equal(len(sent), 200, 'frames that left')


main(io_sends_what_no_rule_drops, mac_rewrites_addresses, none_frees,
     a_port_that_nobody_named_is_not_used, drop_holds_from_its_trip_on,
     egress_counts_and_drops_what_is_sent)

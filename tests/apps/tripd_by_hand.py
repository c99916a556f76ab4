# SPDX-License-Identifier: BSD-3-Clause
"""Keys of an each that are held by hand: by tripctl, over several queues, told as events, beside conditions."""
from tripd_test import *

TRIPCTL = os.path.abspath(sys.argv[2])
SOURCES = 'each sources port 0 ipv4.src max 8 idle 1h\n'
PAIRS = 'each pairs port 0 ip.src,l4.dst max 100 idle 1h\n'
NETS = 'each nets port 0 ipv4.src/24 max 100 idle 1h\n'


def frame(src, port=53):
    return ethernet(ipv4(udp(port, bytes(22)), 17, src=src, dst='10.0.0.2'))


def control(bench, *words):
    """What tripctl says."""
    process = subprocess.Popen([TRIPCTL, '--socket', bench.file('sock'), *words], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=bench.environment)
    return bench.finish(bench.track(process))


def start(bench, rules, *words, vdev='', frames=10):
    pcap = bench.pcap('in.pcap', [frame('10.1.0.1')] * frames)
    process = bench.start(*bench.eal(f'net_pcap0,rx_pcap={pcap}{vdev}'), '--rules', bench.file('rules', rules), '--socket',
                          bench.file('sock'), '--events', bench.file('events'), *words)
    wait_until('a socket', lambda: control(bench, 'list', 'domain')[0] == 0)
    return process


def end(bench, process):
    process.send_signal(signal.SIGTERM)
    equal(bench.finish(process)[0], 0, 'exit code')


def top(bench, name):
    code, out, err = control(bench, '--json', 'top', name, '--rounds', '1')
    assert code == 0, err
    return {key['key']: key for key in json.loads(out)['keys']}


def events(bench, kind='by_hand'):
    with open(bench.file('events'), encoding='utf-8') as file:
        return [event for event in map(json.loads, file) if event['event'] == kind]


def told(bench):
    return [(event['each'], event['key'], event['op'], event['ends']) for event in events(bench)]


def a_key_is_dropped_for_a_time(bench):
    process = start(bench, SOURCES)
    wait_until('packets', lambda: top(bench, 'sources').get('10.1.0.1', {}).get('packets') == 10)
    equal(control(bench, 'drop', 'sources', '10.1.0.1', 'for', '300ms'),
          (0, 'sources 10.1.0.1: dropped; it had 10 packets, 640 bytes\n', ''), 'drop')
    equal(control(bench, 'drop', 'sources', '192.0.2.7')[:2],
          (0, 'sources 192.0.2.7: dropped; it had 0 packets, 0 bytes\n'), 'one that nobody has seen')
    wait_until('it is there', lambda: '192.0.2.7' in top(bench, 'sources'))
    equal((top(bench, 'sources')['192.0.2.7']['state'], top(bench, 'sources')['192.0.2.7']['packets']), ('drop', 0), 'state')
    first = ('sources', '10.1.0.1', 'drop', True)
    wait_until('its end', lambda: first in told(bench))
    equal(top(bench, 'sources')['10.1.0.1']['state'], None, 'state behind that')
    equal(control(bench, 'pass', 'sources', '192.0.2.7')[0], 0, 'pass')
    wait_until('the end of the drop', lambda: ('sources', '192.0.2.7', 'drop', True) in told(bench))
    equal(top(bench, 'sources')['192.0.2.7']['state'], 'pass', 'state')
    equal(control(bench, 'release', 'sources', '192.0.2.7')[:2],
          (0, 'sources 192.0.2.7: let go; it had 0 packets, 0 bytes\n'), 'release')
    wait_until('the end of the pass', lambda: ('sources', '192.0.2.7', 'pass', True) in told(bench))
    end(bench, process)
    equal(sorted(told(bench)), sorted([first, ('sources', '10.1.0.1', 'drop', False), ('sources', '192.0.2.7', 'drop', False),
                                       ('sources', '192.0.2.7', 'pass', False), ('sources', '192.0.2.7', 'drop', True),
                                       ('sources', '192.0.2.7', 'release', False), ('sources', '192.0.2.7', 'pass', True)]),
          'each is told once')
    for event in events(bench):
        equal((event.get('uid'), event.get('name')), (None, None) if event['ends'] else (os.getuid(), 'tripctl'), 'who did it')


def packets_of_it_are_dropped(bench):
    """A capture that never ends."""
    process = start(bench, SOURCES + 'when sources.packets >= 5 drop sources\n', vdev=',infinite_rx=1')

    def dropped():
        return json.loads(control(bench, '--json', 'list', 'each')[1])['each'][0]['dropped_packets']

    def passes():
        before = dropped()
        time.sleep(0.05)
        return dropped() == before
    wait_until('a trip', lambda: dropped() > 0)
    equal(control(bench, 'pass', 'sources', '10.1.0.1')[0], 0, 'pass')
    wait_until('it passes', passes)
    equal(control(bench, 'release', 'sources', '10.1.0.1')[0], 0, 'release')
    before = dropped()
    equal(control(bench, 'drop', 'sources', '10.1.0.1')[0], 0, 'drop')
    wait_until('it is dropped', lambda: dropped() > before)
    end(bench, process)


def what_is_no_key_is_refused(bench):
    process = start(bench, SOURCES + PAIRS + NETS + 'count all port 0 pattern eth / end\n')
    for words, code, said in (
            (('drop', 'sources'), 2, "'sources' is an 'each': a key of it is missing, as NAME KEY [for TIME]"),
            (('drop', 'sources', '10.1'), 2, 'each "sources": \'10.1\' is no key of it: ipv4.src is an address of IPv4, '
                                             "and not '10.1'"),
            (('drop', 'sources', '10.1.0.1', 'for', 'ever'), 2, "expected a TIME of 1us at least behind 'for', and nothing "
                                                                "behind that, found 'ever'"),
            (('drop', 'sources', '10.1.0.1', '60s'), 2, "expected 'for' TIME behind the key, found '60s'"),
            (('drop', 'pairs', '10.1.0.1'), 2, 'each "pairs": \'10.1.0.1\' is no key of it: it has 2 fields, with commas '
                                               'between them'),
            (('pass', 'nets', '10.1.0.1'), 2, 'each "nets": \'10.1.0.1\' is no key of it: ipv4.src is the front of an address, '
                                              "of 24 bits, behind which '10.1.0.1' has some"),
            (('delete', 'sources'), 2, "expected drop, pass or release of a key of an 'each', found 'delete'"),
            (('release', 'all', 'x'), 2, "no 'each' is named 'all'; of a count, 'pass' ends what is done to it"),
            (('release', 'sources', '10.9.9.9'), 2, 'each "sources": nothing is done to the key 10.9.9.9')):
        equal(control(bench, *words), (code, '', said + '\n'), words)
    equal(control(bench, 'release', 'sources')[0], 2, 'a key is missing')
    equal(control(bench, 'drop', 'pairs', '2001:db8::1,443', 'for', '60s')[0], 0, 'a pair')
    equal(control(bench, 'pass', 'nets', '10.1.0.0/24')[0], 0, 'a network')
    equal(control(bench, 'drop', 'all')[0], 0, 'a count')
    wait_until('they are there', lambda: top(bench, 'pairs').get('2001:db8::1,443', {}).get('state') == 'drop' and
               top(bench, 'nets').get('10.1.0.0/24', {}).get('state') == 'pass')
    for i in range(8):
        equal(control(bench, 'drop', 'sources', f'10.2.0.{i}')[0], 0, 'one of all that there may be')
    wait_until('all are held', lambda: len(top(bench, 'sources')) >= 8)
    equal(control(bench, 'drop', 'sources', '10.3.0.1'),
          (2, '', 'each "sources": all of its max 8 keys are held in table 0, and this is none of them: let one go before\n'),
          'one more')
    end(bench, process)


def a_reset_ends_what_is_held(bench):
    process = start(bench, SOURCES)
    equal(control(bench, 'drop', 'sources', '10.1.0.9')[0], 0, 'drop')
    equal(control(bench, 'reset', 'sources')[0], 0, 'reset')
    wait_until('it is told', lambda: ('sources', '10.1.0.9', 'drop', True) in told(bench))
    equal(top(bench, 'sources'), {}, 'keys')
    end(bench, process)
    equal(len(told(bench)), 2, 'events')


main(a_key_is_dropped_for_a_time, packets_of_it_are_dropped, what_is_no_key_is_refused, a_reset_ends_what_is_held)

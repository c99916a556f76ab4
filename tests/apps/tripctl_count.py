# SPDX-License-Identifier: BSD-3-Clause
"""tripctl count: flows of a command's own on a port of the primary."""
from tripctl_test import *

DNS = 'dns port 0 pattern eth / ipv4 / udp dst is 53 / end'


def flows(bed):
    return bed.json('list', 'flows')['flows']


def start(bed, *words, n=1):
    """A run whose n flows and work are there: an item for each flow that a statement is about, or one and one
    behind."""
    process = bed.start(*words)
    whens = [statement.split() for statement in ' '.join(words).split(';') if 'when' in statement.split()]
    works = sum(n if {'drop', 'delete'} & set(statement) else 2 for statement in whens)
    wait_until('the flows and the work',
               lambda: len(flows(bed)) == n and len(bed.json('list', 'works')['works']) == works)
    return process


def alone(bed):
    wait_until('the end of all attachments', lambda: len(bed.json('list', 'processes')['processes']) == 1)
    equal((flows(bed), bed.json('list', 'works')['works'], bed.json('list')['counters']), ([], [], []), 'what is left')


def it_counts_until_it_is_told_to_end(bed):
    bed.open(huge=True).tell('receive 53 1')
    process = start(bed, 'count', DNS)
    flow, = flows(bed)
    equal((flow['pattern'], flow['packets_counter'], flow['engine'], flow['pid']),
          ('eth / ipv4 / udp dst is 53 / end', 'dns.packets', 'sw', process.pid), 'the flow')
    bed.tell('receive 53 20', 'receive 54 5')
    process.send_signal(signal.SIGINT)
    equal(bed.finish(process), (-signal.SIGINT, 'dns: 20 packets, 840 bytes\n', ''), 'the end')
    alone(bed)
    code, out, _ = bed.run('--json', 'count', '--timeout', '100ms', *DNS.split())
    equal((code, json.loads(out)), (0, {'count': 'dns', 'packets': 0, 'bytes': 0, 'engine': 'sw'}), 'JSON')
    alone(bed)


def ports_have_names(bed):
    bed.open(huge=True).tell('receive 53 1')
    words = 'pattern', 'eth', '/', 'end', '--timeout', '1ms'
    equal(bed.run('count', 'x', 'port', 'name', '"net_null0"', *words), (0, 'x: 0 packets, 0 bytes\n', ''), 'by its device')
    alone(bed)
    equal(bed.run('count', 'x', 'port', 'lo', *words)[::2],
          (USAGE, 'tripctl: count x: which port that is, is not known here: it may be called by its number\n'),
          'by an interface that no port is on')
    equal(bed.run('count', 'x', 'port', 'nosuch0', *words)[::2],
          (USAGE, 'tripctl: count x: there is no network interface nosuch0\n'), 'by an interface that does not exist')


def it_drops_at_a_threshold(bed):
    bed.open(huge=True).tell('receive 53 1')
    process = start(bed, 'count', DNS, ';', 'when dns.packets >= 10 drop dns', ';', 'when dns.packets >= 15 log')
    bed.tell('receive 53 10')
    equal(process.stdout.readline(), 'dns.packets reached 10, now 10: drop dns\n', 'what fired')
    equal(flows(bed)[0]['fate'], 'drop', 'the fate')
    bed.tell('receive 53 5')
    code, out, err = bed.finish(process)
    equal((code, out, err), (0, 'dns.packets reached 15, now 15: log\ndns: 15 packets, 630 bytes\n', ''), 'the end')
    alone(bed)


def the_end_of_a_timed_drop_is_told_as_such(bed):
    bed.open(huge=True).tell('receive 53 1')
    process = start(bed, 'count', DNS, ';', 'when dns.packets >= 10 drop dns for 50ms', ';', 'when dns.packets >= 15 log')
    bed.tell('receive 53 10')
    equal([process.stdout.readline() for _ in range(2)],
          ['dns.packets reached 10, now 10: drop dns for 50ms\n', 'dns.packets reached 10, now 10: end of drop dns for 50ms\n'],
          'what fired')
    bed.tell('receive 53 5')
    equal(bed.finish(process), (0, 'dns.packets reached 15, now 15: log\ndns: 15 packets, 630 bytes\n', ''), 'the end')
    alone(bed)


def it_sleeps_until_something_fires(bed):
    bed.open(huge=True).tell('receive 53 1')
    process = start(bed, 'count', DNS, ';', 'when dns.packets >= 10 every 10 drop dns')

    def wakes():
        with open(f'/proc/{process.pid}/status', encoding='utf-8') as file:
            return int(re.search(r'^voluntary_ctxt_switches:\s*(\d+)', file.read(), re.M).group(1))

    bed.tell('receive 53 10')
    equal(process.stdout.readline(), 'dns.packets reached 10, now 10: drop dns\n', 'what fired')

    def rests():
        before = wakes()
        time.sleep(1)
        return wakes() == before

    wait_until('a second of sleep', rests)
    bed.tell('receive 53 10')
    equal(process.stdout.readline(), 'dns.packets reached 20, now 20: drop dns\n', 'what fired')
    process.send_signal(signal.SIGINT)
    equal(bed.finish(process)[0], -signal.SIGINT, 'exit status')
    alone(bed)


def it_counts_what_others_count(bed):
    """With `also`, and takes nothing from them; without it, what they match first is theirs."""
    bed.open(huge=True).tell('receive 53 1')
    equal(bed.run('also', 'count', 'x port 0 pattern eth / end', '--timeout', '1ms'), (0, 'x: 0 packets, 0 bytes\n', ''), 'also')
    others = start(bed, 'count', DNS)
    late = start(bed, 'count', 'late port 0 pattern udp dst is 53 / end', n=2)
    extra = start(bed, 'also', 'count extra port 0 pattern udp / end', ';', 'when extra.packets >= 30 log', n=3)
    bed.tell('receive 53 20', 'receive 54 10')
    equal(bed.finish(extra), (0, 'extra.packets reached 30, now 30: log\nextra: 30 packets, 1260 bytes\n', ''), 'the extra one')
    for process, text in (late, 'late: 0 packets, 0 bytes\n'), (others, 'dns: 20 packets, 840 bytes\n'):
        process.send_signal(signal.SIGINT)
        equal(bed.finish(process), (-signal.SIGINT, text, ''), 'the end')
    alone(bed)


def several_patterns_are_one_count(bed):
    bed.open(huge=True).tell('receive 53 1')
    process = start(bed, 'count', 'x port 0 pattern udp dst range 1000 - 1002 / end', ';',
                    'when x.packets >= 3 delete x', n=2)
    bed.tell('receive 1000 1', 'receive 1001 1', 'receive 1002 1')
    equal(bed.finish(process), (0, 'x.packets reached 3, now 3: delete x\nx: 3 packets, 126 bytes\n', ''), 'the end')
    alone(bed)


def killed_it_leaves_nothing(bed):
    bed.open(huge=True).tell('receive 53 1')
    process = start(bed, 'count', DNS, ';', 'when dns.packets >= 10 drop dns')
    process.kill()
    bed.finish(process)
    alone(bed)


def the_end_of_the_primary_ends_it(bed):
    bed.open(huge=True).tell('receive 53 1')
    process = start(bed, 'count', DNS)
    bed.primary.kill()
    code, out, err = bed.finish(process)
    equal((code, out), (ENDED, ''), 'exit code and stdout')
    assert f'the primary, process {bed.primary.pid}, has ended' in err, err


def what_is_refused_is_said(bed):
    bed.open(huge=True).tell('receive 53 1', 'cntr dns.packets')
    for expected, said, *words in (
            (NONE, 'port 7', 'x port 7 pattern eth / end'),
            (RUN, 'dns.packets', DNS),
            (RUN, 'the driver net_null has no rte_flow', 'x port 0 engine hw pattern eth / end'),
            (RUN, 'egress', 'x port 0 egress pattern eth / end'),
            (USAGE, 'statement:1:', 'x port 0 pattern eth / ipv4')):
        code, out, err = bed.run('count', *words)
        equal(code, expected, f'exit code of {words}, which said {err}')
        assert said in err and out == '', (words, out, err)
    wait_until('the end of all attachments', lambda: len(bed.json('list', 'processes')['processes']) == 1)
    equal((flows(bed), len(bed.json('list')['counters'])), ([], 1), 'what is left')


main(it_counts_until_it_is_told_to_end, ports_have_names, it_drops_at_a_threshold,
     the_end_of_a_timed_drop_is_told_as_such, it_sleeps_until_something_fires, several_patterns_are_one_count,
     it_counts_what_others_count, killed_it_leaves_nothing, the_end_of_the_primary_ends_it, what_is_refused_is_said)

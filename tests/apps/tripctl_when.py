# SPDX-License-Identifier: BSD-3-Clause
"""tripctl when: the rules language on a command line, on counters of the domain."""
from tripctl_test import *

TOP = 2**63 - 1


def pending(bed):
    return bed.json('list', 'works')['works']


def start(bed, *words, items=2, **options):
    """A run that has queued all of its work: two items for each statement, of pairs three."""
    process = bed.start(*words, **options)
    wait_until('the work', lambda: len(pending(bed)) == items)
    return process


def alone(bed):
    """Nothing of it is left in the primary."""
    wait_until('the end of all attachments', lambda: len(bed.json('list', 'processes')['processes']) == 1)
    equal(pending(bed), [], 'work that is left')
    equal([cntr for cntr in bed.json('list')['counters'] if cntr['name'] is None], [], 'counters that are left')


def it_tells_what_fires(bed):
    bed.open(huge=True).tell('cntr one', 'add one 5')
    process = start(bed, 'when', 'one', '>=', '100', 'log', 'a "hundred" is #1')
    work, tick = pending(bed)
    equal((tick['threshold'], tick['event']), (100, False), 'the item behind it')
    equal((work['counter'], work['threshold'], work['pid'], work['event']), ('one', 100, process.pid, True), 'the work')
    bed.tell('add one 99')
    equal(bed.finish(process), (0, 'one reached 100, now 104: log a "hundred" is #1\n', ''), 'the end')
    alone(bed)
    # At once, where it is there already; and in one word.
    equal(bed.good('when', 'one >= 0x64 log'), 'one reached 100, now 104: log\n', 'what has been reached')
    told = bed.json('when', 'one >= 100', 'log', 'x')
    equal({key: told[key] for key in ('counter', 'threshold', 'value', 'overshoot', 'does', 'result')},
          {'counter': 'one', 'threshold': 100, 'value': 104, 'overshoot': 4, 'does': 'log x', 'result': 0}, 'JSON')
    alone(bed)


def it_logs_no_more_than_it_may(bed):
    bed.open(huge=True).tell('cntr one')
    process = start(bed, 'when', 'one', '>=', '10', 'every', '10', 'log', 'at', 'most', '2', 'per', '1h', ';', 'when',
                    'one', '>=', '115', 'log', items=4)
    bed.tell('add one 15', 'add one 100')
    for threshold, now in (10, 15), (20, 115), (115, 115):
        equal(process.stdout.readline(), f'one reached {threshold}, now {now}: log\n', 'a firing')
    process.send_signal(signal.SIGINT)
    equal(bed.finish(process)[1:], ('one: 9 more left out\n', ''), 'the end')
    alone(bed)


def it_changes_counters(bed):
    bed.open(huge=True).tell('cntr one', 'cntr two', 'cntr dns.packets')
    process = start(bed, 'when', 'dns.packets >= 10 add one 7', ';', 'when', 'one >= 7', 'set', 'two', '3', items=4)
    bed.tell('add dns.packets 10')
    code, out, err = bed.finish(process)
    equal((code, err), (0, ''), 'exit code and stderr')
    equal(sorted(out.splitlines()), ['dns.packets reached 10, now 10: add one 7', 'one reached 7, now 7: set two 3'],
          'what fired')
    equal((bed.value('one'), bed.value('two')), (7, 3), 'the counters')
    alone(bed)


def it_fires_again_and_again(bed):
    bed.open(huge=True).tell('cntr one')
    process = start(bed, 'when', 'one >= 10 every 5', 'log')
    bed.tell('add one 21')
    for threshold in 10, 15, 20:
        equal(process.stdout.readline(), f'one reached {threshold}, now 21: log\n', 'a firing')
    assert process.poll() is None, 'it ended'
    equal(pending(bed)[0]['threshold'], 25, 'the next threshold')
    process.send_signal(signal.SIGINT)
    equal(bed.finish(process), (-signal.SIGINT, '', ''), 'the end')
    alone(bed)
    equal(bed.run('when', 'one >= 100 every 5', 'log', '--timeout', '0'), (0, '', ''), 'an option behind a statement')
    equal(bed.run('when', '--timeout', '100ms', 'one >= 100 every 5', 'log'), (0, '', ''), 'the end of its time')


def it_fires_at_a_time(bed):
    bed.open(huge=True).tell('cntr one')
    # What comes is in the order of the times, and nothing is early, however long the machine takes.
    code, out, err = bed.run('when', 'after 30ms', 'log', 'late', ';', 'when after 1us add one 5', ';',
                             'when', 'after', '0s', 'set', 'one', '2')
    equal((code, err), (0, ''), 'exit code and stderr')
    found = [re.fullmatch(r'time reached ([0-9.]+ \w+), now ([0-9.]+ \w+): (.*)', line) for line in out.splitlines()]
    equal([(match.group(1), match.group(3)) for match in found],
          [('0 ns', 'set one 2'), ('1.0 us', 'add one 5'), ('30.0 ms', 'log late')], 'what fired')
    equal(bed.value('one'), 7, 'the counter')
    alone(bed)
    told = bed.json('when', 'after 20ms', 'log', 'x')
    equal({key: told[key] for key in ('counter', 'threshold', 'does', 'result')},
          {'counter': None, 'threshold': 20000000, 'does': 'log x', 'result': 0}, 'JSON')
    equal(told['overshoot'], told['value'] - told['threshold'], 'overshoot')
    assert told['overshoot'] >= 0, told
    process = start(bed, 'when', 'after 100d every 100d', 'log')
    work, _ = pending(bed)
    equal((work['counter'], work['every'], work['pid']), (None, 100 * 86400 * 10**9, process.pid), 'the work')
    assert '(clock)' in bed.good('list', 'works'), 'what list says'
    process.send_signal(signal.SIGINT)
    equal(bed.finish(process), (-signal.SIGINT, '', ''), 'the end')
    alone(bed)


def it_fires_each_period(bed):
    bed.open(huge=True).tell('cntr one')
    process = start(bed, 'when', 'after 2ms every 1ms', 'add', 'one', '1')
    for ms in range(2, 10):
        line = process.stdout.readline()
        assert line.startswith(f'time reached {ms}.0 ms, now ') and line.endswith(': add one 1\n'), line
    process.send_signal(signal.SIGINT)
    equal(bed.finish(process)[0], -signal.SIGINT, 'exit status')
    assert bed.value('one') >= 8, bed.value('one')
    alone(bed)


def it_fires_when_all_have_been_reached(bed):
    bed.open(huge=True).tell('cntr one', 'cntr two')
    process = start(bed, 'when', 'all(one >= 3, any(two >= 5, after 1h))', 'add', 'two', '100', items=3)
    work = pending(bed)[0]
    equal((work['counter'], work['condition'], work['condition_count'], work['threshold'], work['to_go'], work['pid']),
          (None, 'all', 2, 2, 2, process.pid), 'the work')
    bed.tell('add one 3')
    bed.tell('set one 0')
    bed.tell('add two 5')
    equal(bed.finish(process), (0, 'all(one >= 3, any(two >= 5, after 1h)): add two 100\n', ''), 'what fired')
    equal(bed.value('two'), 105, 'the counter')
    told = bed.json('when', 'any(one >= 1, after 1ms)', 'log')
    equal({key: told[key] for key in ('counter', 'condition', 'threshold', 'value', 'overshoot')},
          {'counter': None, 'condition': 'any(one >= 1, after 1ms)', 'threshold': 1, 'value': 1, 'overshoot': 0}, 'JSON')
    alone(bed)


def it_fires_when_a_counter_stands_still(bed):
    bed.open(huge=True).tell('cntr one', 'cntr two')
    process = start(bed, 'when', 'one idle 20ms every 1', 'add', 'two', '3')
    equal(process.stdout.readline(), 'one idle 20ms at 0: add two 3\n', 'the first time')
    bed.tell('add one 4')
    equal(process.stdout.readline(), 'one idle 20ms at 4: add two 3\n', 'the second time')
    bed.tell('set one 1')
    equal(process.stdout.readline(), 'one idle 20ms at 1: add two 3\n', 'the third time')
    equal(bed.value('two'), 9, 'the counter')
    for work in pending(bed):
        equal((work['counter'], work['condition'], work['every'], work['pid']), ('one', 'idle', 1, process.pid), 'the work')
    assert ' one idle ' in bed.good('list', 'works'), 'what list says'
    process.send_signal(signal.SIGINT)
    equal(bed.finish(process), (-signal.SIGINT, '', ''), 'the end')
    alone(bed)
    told = bed.json('when', 'one idle 1ms', 'log', 'x')
    equal({key: told[key] for key in ('counter', 'condition', 'threshold', 'value', 'does', 'result')},
          {'counter': 'one', 'condition': 'idle 1ms', 'threshold': 1, 'value': 1, 'does': 'log x', 'result': 0}, 'JSON')
    equal(bed.json('when', 'one >= 1', 'log', 'x')['condition'], None, 'that of a value')


def it_fires_when_so_much_came_within_a_time(bed):
    """Of an hour, in which this test is over: with the last of them, and again with as many more."""
    bed.open(huge=True).tell('cntr one', 'cntr two')
    process = start(bed, 'when', 'one rate >= 3/h over 1h every 1', 'add', 'two', '1')
    for value in 3, 6, 9:
        for _ in range(3):
            wait_until('nothing more to happen', lambda: bed.value('two') == value // 3 - 1)
            bed.tell('add one 1')
        equal(process.stdout.readline(), f'one rate >= 3/h over 1h at {value}: add two 1\n', 'what is told')
    assert ' one rate 3 in 1h ' in bed.good('list', 'works'), 'what list says'
    process.send_signal(signal.SIGINT)
    equal(bed.finish(process), (-signal.SIGINT, '', ''), 'the end')
    alone(bed)


def the_end_of_a_rate_is_told_as_such(bed):
    """To people and to programs; no more is counted by it, and what comes then begins anew."""
    bed.open(huge=True).tell('cntr one')
    words = 'one rate >= 100/s over 100ms until < 10/s for 100ms'
    process = start(bed, 'when', words, 'log', 'x')
    for value in 10, 20:
        bed.tell('add one 10')
        equal([process.stdout.readline() for _ in range(2)],
              [f'{words} at {value}: log x\n', f'{words} at {value}: end of log x\n'], 'what is told')
    process.send_signal(signal.SIGINT)
    equal(bed.finish(process), (-signal.SIGINT, '', ''), 'the end')
    alone(bed)
    process = start(bed, '--json', 'when', words, 'log')
    bed.tell('add one 10')
    told = [json.loads(process.stdout.readline()) for _ in range(2)]
    equal([(one['ends'], one['value'], one['result']) for one in told], [(False, 30, 0), (True, 30, 0)], 'JSON')
    process.send_signal(signal.SIGINT)
    equal(bed.finish(process), (-signal.SIGINT, '', ''), 'the end')
    alone(bed)


def all_of_64_bits(bed):
    bed.open(huge=True).tell('cntr one', f'set one {TOP - 1}')
    process = start(bed, 'when', f'one >= {TOP}', 'log')
    bed.tell('add one 1')
    equal(bed.finish(process), (0, f'one reached {TOP}, now {TOP}: log\n', ''), 'the end')


def the_time_is_kept(bed):
    bed.open(huge=True).tell('cntr one')
    code, out, err = bed.run('when', '--timeout', '200ms', 'one >= 1', 'log')
    equal((code, out), (TIMEOUT, ''), 'exit code and stdout')
    assert '1 of the statements has not fired' in err, err
    alone(bed)


def signals_end_it(bed):
    bed.open(huge=True).tell('cntr one')
    for number in signal.SIGINT, signal.SIGTERM, signal.SIGKILL:
        process = start(bed, 'when', 'one >= 5', 'log')
        process.send_signal(number)
        equal(bed.finish(process)[0], -number, 'exit status')
        alone(bed)
    bed.tell('add one 5')


def the_end_of_the_primary_ends_it(bed):
    bed.open(huge=True).tell('cntr one')
    process = start(bed, 'when', 'one >= 5', 'log')
    bed.primary.kill()
    code, out, err = bed.finish(process)
    equal((code, out), (ENDED, ''), 'exit code and stdout')
    assert f'the primary, process {bed.primary.pid}, has ended' in err, err


def what_is_wrong_is_said(bed):
    bed.open().tell('cntr one', 'cntr dns.packets', 'cntr port')
    for words, said in (
            (['two >= 1 log'], "'two'"),
            (['one >= 9223372036854775808 log'], 'is above 9223372036854775807'),
            (['one >= -5 log'], 'statement:1:'),
            (['one >= 5x log'], 'expected a value'),
            (['one >= 5 explode'], 'statement:1:'),
            (['one >= 5 log', ';', 'when one >= 5 log 7'], 'statement:2:'),
            (['port >= 5 log'], 'statement:1:'),
            (['one >= 5 log # x'], 'no comment'),
            (['one >= 5 log\nwhen one >= 6 log'], 'one line'),
            (['dns.packets >= 5 drop dns'], "drop dns: its flows are another process's"),
            (['dns >= 5 log'], "'dns' counts packets and bytes: expected '.packets' or '.bytes' behind it"),
            (['one >= 5 log', '--timeout', '100000000d'], '--timeout: 100000000d is above 10000d'),
            (['one >= 5 log', '--timeout', 'soon'], '--timeout: "soon" is no time such as'),
            (['after 5 log'], 'expected a time'),
            (['one >= 5 exec /bin/true'], 'it is tripd that starts programs'),
            (['after 1s every 10us log'], 'expected 1ms or more'),
            (['one >= 5 log', ';', 'count x port any pattern eth / end'], 'which ports the primary has'),
            (['one >= 5 log', ';', 'count x port 0 pattern eth / end actions rss / end'], 'the action rss'),
            (['one >= 5 log', ';', 'count x port 0 pattern foo / end'], 'statement:2:'),
            (['one >= 5 log', ';', 'counter x'], 'ends with this command'),
            ([], 'a statement is wanted')):
        code, out, err = bed.run('when', *words)
        equal((code, out), (USAGE, ''), f'exit code and stdout of {words}, which said {err}')
        assert said in err, (words, err)


main(it_tells_what_fires, it_logs_no_more_than_it_may, it_changes_counters, it_fires_again_and_again, it_fires_at_a_time, it_fires_each_period,
     it_fires_when_all_have_been_reached, it_fires_when_a_counter_stands_still, it_fires_when_so_much_came_within_a_time,
     the_end_of_a_rate_is_told_as_such, all_of_64_bits, the_time_is_kept, signals_end_it,
     the_end_of_the_primary_ends_it, what_is_wrong_is_said)

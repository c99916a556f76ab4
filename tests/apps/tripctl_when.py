# SPDX-License-Identifier: BSD-3-Clause
"""tripctl when: the rules language on a command line, on counters of the domain."""
from tripctl_test import *

TOP = 2**63 - 1


def pending(bed):
    return bed.json('list', 'works')['works']


def start(bed, *words, n=1, **options):
    """A run that has queued all of its work: n statements, of two items each."""
    process = bed.start(*words, **options)
    wait_until('the work', lambda: len(pending(bed)) == 2 * n)
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


def it_changes_counters(bed):
    bed.open(huge=True).tell('cntr one', 'cntr two', 'cntr dns.packets')
    process = start(bed, 'when', 'dns.packets >= 10 add one 7', ';', 'when', 'one >= 7', 'set', 'two', '3', n=2)
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
            (['one >= 5 log', ';', 'count x port any pattern eth / end'], 'not yet'),
            (['one >= 5 log', ';', 'count x port 0 pattern eth / end actions rss / end'], 'the action rss'),
            (['one >= 5 log', ';', 'count x port 0 pattern foo / end'], 'statement:2:'),
            (['one >= 5 log', ';', 'counter x'], 'ends with this command'),
            ([], 'a statement is wanted')):
        code, out, err = bed.run('when', *words)
        equal((code, out), (USAGE, ''), f'exit code and stdout of {words}, which said {err}')
        assert said in err, (words, err)


main(it_tells_what_fires, it_changes_counters, it_fires_again_and_again, all_of_64_bits, the_time_is_kept,
     signals_end_it, the_end_of_the_primary_ends_it, what_is_wrong_is_said)

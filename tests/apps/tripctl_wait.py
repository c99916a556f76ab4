# SPDX-License-Identifier: BSD-3-Clause
"""tripctl wait: it comes back when, and only when, what it waits for has happened."""
from tripctl_test import *

TOP = 2**63 - 1


def waiting(bed, *words):
    """A run that has armed its watch: the counter's next threshold shows it."""
    name, value = words[0], int(words[1], 0)
    process = bed.start('wait', *words)
    wait_until('the watch', lambda: next(cntr['next'] for cntr in bed.json('list')['counters']
                                         if cntr['name'] == name) == value)
    return process


def a_value_that_is_there_does_not_block(bed):
    bed.open().tell('cntr one', 'add one 40')
    for value in '0', '40', '0x28', '39':
        equal(bed.good('wait', 'one', value), 'one 40\n', f'what is said of {value}')
    equal(bed.run('wait', 'one', '41', '--timeout', '0')[0], TIMEOUT, 'exit code of 41')


def it_waits_until_the_value_is_there(bed):
    bed.open().tell('cntr one', 'add one 40')
    process = waiting(bed, 'one', '100')
    bed.tell('add one 59')
    assert process.poll() is None, 'it ended at 99'
    bed.tell('add one 1')
    equal(bed.finish(process), (0, 'one 100\n', ''), 'the end')
    process = bed.start('--json', 'wait', 'one', '1k')
    bed.tell('add one 900')
    code, out, _ = bed.finish(process)
    told = json.loads(out)
    equal((code, told['name'], told['success'], told['threshold'], told['reached']), (0, 'one', 1000, 1000, True),
          'JSON')


def all_of_64_bits(bed):
    bed.open().tell('cntr one', f'set one {TOP - 1}')
    for text in str(TOP), hex(TOP):
        process = bed.start('wait', 'one', text, '--timeout', '100ms')
        code, out, err = bed.finish(process)
        equal((code, out), (TIMEOUT, ''), f'exit code and stdout of {text}')
        assert f'is at {TOP - 1}, not {TOP}' in err, err
    process = waiting(bed, 'one', str(TOP))
    bed.tell('add one 1')
    equal(bed.finish(process), (0, f'one {TOP}\n', ''), 'the end')
    bed.tell('add one 5')
    equal(bed.good('wait', 'one', str(TOP)), f'one {TOP}\n', 'a counter that is full')


def values_that_are_none(bed):
    bed.open().tell('cntr one')
    for text in str(2**63), '0x8000000000000000', str(2**64 + 5), '10T' * 3, '9223372036854775807k', '0123', 'x', '', \
            '1 ', '1.5', '0x', '10K':
        code, out, err = bed.run('wait', 'one', text)
        equal((code, out), (USAGE, ''), f'exit code and stdout of {text!r}')
        assert 'is above 9223372036854775807' in err or 'is no value' in err, (text, err)
    for words in ['wait', 'one', '-5'], ['wait', 'one'], ['wait'], ['wait', 'one', '1', '2'], \
            ['wait', 'one', '1', '--timeout', 'soon'], ['wait', 'one', '1', '--timeout', '-1'], \
            ['wait', 'one', '1', '--timeout', '1e400'], ['wait', 'one', '1', '--timeout', 'inf']:
        equal(bed.run(*words)[0], USAGE, f'exit code of {words}')


def what_is_missing_is_said(bed):
    """One line, and where to read on; of all commands that take a counter and a value."""
    bed.open().tell('cntr one')
    for command in 'wait', 'add', 'set':
        for words, said in (([], f"a counter's name and a value are wanted, as in: tripctl {command} dns.packets 500"),
                            (['one'], 'a value is wanted behind one, such as 500, 0x1f4, 10k or 2GiB'),
                            (['one', '>=', '5'], f'">=" is no value such as 500, 0x1f4, 10k or 2GiB, as in: tripctl '
                             f'{command} dns.packets 500'),
                            (['one', '5', '6'], 'unexpected word "6" behind a name and a value'),
                            (['one', '-5'], 'values are from 0 to 9223372036854775807 (2^63-1)')):
            code, out, err = bed.run(command, *words)
            equal((code, out, err), (USAGE, '', f'tripctl {command}: {said}\nTry `tripctl {command} --help\' or `tripctl '
                                     f'{command} --usage\' for more information.\n'), f'{command} {words}')


def the_time_is_kept(bed):
    bed.open().tell('cntr one', 'add one 7')
    before = time.monotonic()
    code, out, err = bed.run('--json', 'wait', 'one', '8', '--timeout', '300ms')
    assert time.monotonic() - before >= 0.3, 'it ended early'
    told = json.loads(out)
    equal((code, told['success'], told['reached']), (TIMEOUT, 7, False), 'the end')
    assert 'the time is over: cntr "one" is at 7, not 8' in err, err


def its_own_watch_is_not_told(bed):
    bed.open().tell('cntr one', 'adderr one 3')

    def told_next():
        code, out, _ = bed.run('--json', 'wait', 'one', '8', '--timeout', '100ms')
        equal(code, TIMEOUT, 'the end')
        return json.loads(out)['next']

    equal(told_next(), None, 'the next threshold, without others')
    # By the sum of both values, which is what waits.
    for value in 20, 8:
        other = bed.start('wait', 'one', str(value))
        wait_until('the other', lambda: bed.json('list')['counters'][0]['next'] == value + 3)
        equal(told_next(), value + 3, 'the next threshold, beside another')
        other.kill()
        other.wait()
        wait_until('the end of the other', lambda: bed.json('list')['counters'][0]['next'] is None)


def no_such_counter(bed):
    bed.open().tell('cntr one')
    code, out, err = bed.run('wait', 'two', '1')
    equal((code, out), (NONE, ''), 'exit code and stdout')
    assert 'cntr "two": no counter of domain "bed"' in err, err
    code, _, err = bed.run('wait', '\x1b[2J', '1')
    assert code == RUN and r'\x1b[2J' in err and '\x1b' not in err, (code, err)


def a_counter_that_closes_ends_it(bed):
    bed.open().tell('cntr one')
    process = waiting(bed, 'one', '5')
    bed.tell('close one')
    code, out, err = bed.finish(process)
    equal((code, out), (NONE, ''), 'exit code and stdout')
    assert 'it is closed' in err, err


def an_error_ends_it(bed):
    bed.open().tell('cntr one', 'adderr one 3')
    process = bed.start('wait', 'one', '5')
    wait_until('the watch', lambda: bed.json('list')['counters'][0]['next'] == 8)
    bed.tell('adderr one 2')
    code, _, err = bed.finish(process)
    equal(code, ERROR, 'exit code')
    assert 'changed from 3 to 5' in err, err


def the_end_of_the_primary_ends_it(bed):
    bed.open().tell('cntr one')
    process = waiting(bed, 'one', '5')
    bed.primary.kill()
    code, out, err = bed.finish(process)
    equal((code, out), (ENDED, ''), 'exit code and stdout')
    assert f'the primary, process {bed.primary.pid}, has ended' in err, err


def a_stopped_primary_does_not_keep_it(bed):
    bed.open().tell('cntr one')
    running = [waiting(bed, 'one', '5', '--timeout', '2s')]
    bed.stop()
    running += [bed.start('wait', 'one', '5', '--timeout', '0'), bed.start('--json', 'wait', 'one', '5', '--timeout', '1s')]
    for process in running:
        equal(bed.finish(process), (SILENT, '', f'tripctl: socket {bed.socket}: process {bed.primary.pid} '
                                    'has not answered for 1 s\n'), 'the end')
    bed.primary.send_signal(signal.SIGCONT)
    equal(bed.run('wait', 'one', '5', '--timeout', '0')[0], TIMEOUT, 'exit code when it goes on')


def signals_end_it(bed):
    bed.open().tell('cntr one')
    for number in signal.SIGINT, signal.SIGTERM:
        process = waiting(bed, 'one', '5')
        process.send_signal(number)
        equal(bed.finish(process), (-number, '', ''), f'the end by {number}')
        # Nothing of it is left in the primary.
        wait_until('the end of the watch', lambda: bed.json('list')['counters'][0]['next'] is None)


def a_stop_is_no_end(bed):
    bed.open().tell('cntr one')
    process = waiting(bed, 'one', '5')
    process.send_signal(signal.SIGSTOP)
    bed.tell('add one 5')
    process.send_signal(signal.SIGCONT)
    equal(bed.finish(process), (0, 'one 5\n', ''), 'the end')


main(a_value_that_is_there_does_not_block, it_waits_until_the_value_is_there, all_of_64_bits, values_that_are_none,
     what_is_missing_is_said, the_time_is_kept, its_own_watch_is_not_told, no_such_counter,
     a_counter_that_closes_ends_it, an_error_ends_it, the_end_of_the_primary_ends_it,
     a_stopped_primary_does_not_keep_it, signals_end_it, a_stop_is_no_end)

# SPDX-License-Identifier: BSD-3-Clause
"""tripctl add, set and reset: they attach, change, and leave nothing behind."""
from tripctl_test import *

TOP = 2**63 - 1


def alone(bed):
    wait_until('the end of all attachments', lambda: len(bed.json('list', 'processes')['processes']) == 1)


def counters_are_changed(bed):
    bed.open(huge=True).tell('cntr one', 'cntr two')
    equal(bed.good('add', 'one', '40'), 'one 40\n', 'add')
    equal(bed.good('add', 'one', '0x2'), 'one 42\n', 'add in hexadecimal')
    equal(bed.value('one'), 42, 'the value')
    equal(bed.good('set', 'one', '1k'), 'one 1000\n', 'set')
    told = bed.json('add', 'two', '5', '--error')
    equal((told['name'], told['success'], told['error']), ('two', 0, 5), 'an error in JSON')
    equal(bed.good('set', 'two', '4', '--error'), 'two 4\n', 'set an error')
    equal(bed.good('reset', 'one'), 'one 1000\n', 'reset')
    equal(bed.value('one'), 0, 'the value')
    bed.good('set', 'two', '7')
    told = bed.json('reset', 'two')
    equal((told['name'], told['was'], told['success'], told['error']), ('two', 7, 0, 4), 'a reset in JSON')
    alone(bed)


def all_of_64_bits(bed):
    bed.open(huge=True).tell('cntr one')
    equal(bed.good('set', 'one', str(TOP - 1)), f'one {TOP - 1}\n', 'set')
    equal(bed.good('add', 'one', hex(TOP)), f'one {TOP}\n', 'add beyond the end')
    equal(bed.value('one'), TOP, 'the value')


def what_is_due_fires(bed):
    bed.open(huge=True).tell('cntr one', 'cntr two', 'work one 100 0 two 7')
    waiting = bed.start('wait', 'two', '7')
    bed.good('add', 'one', '100')
    equal(bed.finish(waiting), (0, 'two 7\n', ''), 'the wait')


def what_is_wrong_is_said(bed):
    bed.open(huge=True).tell('cntr one')
    for words in ['add', 'one', str(2**63)], ['set', 'one', str(2**64)], ['add', 'one', '-5'], ['add', 'one', '5x'], \
            ['add', 'one'], ['set', 'one', '1', '2'], ['reset'], ['reset', 'one', '1'], ['reset', 'one', '--error']:
        code, out, _ = bed.run(*words)
        equal((code, out), (USAGE, ''), f'exit code and stdout of {words}')
    code, out, err = bed.run('add', 'two', '1')
    equal((code, out), (NONE, ''), 'exit code and stdout')
    assert 'cntr "two": no counter of domain "bed"' in err, err
    equal(bed.value('one'), 0, 'the value')


def attaching_may_fail(bed):
    """Where the primary shares no memory, and where it is not ours."""
    bed.open().tell('cntr one')
    code, out, err = bed.run('add', 'one', '1')
    equal((code, out), (RUN, ''), 'exit code and stdout')
    assert 'tripctl: EAL did not start: ' in err and f'process {bed.primary.pid}' in err, err
    equal(bed.value('one'), 0, 'the value')


def strangers_do_not_attach(bed):
    bed.open(huge=True).tell('cntr one')
    if os.getuid() != 0:
        raise Skip('it takes root to be somebody else')
    code, out, _ = bed.run('add', 'one', '1', user=NOBODY, group=NOBODY, extra_groups=[], cwd='/')
    equal((code, out), (RUN, ''), 'exit code and stdout')
    equal(bed.value('one'), 0, 'the value')
    alone(bed)


def two_at_a_time(bed):
    bed.open(huge=True).tell('cntr one')
    for process in [bed.start('add', 'one', '1') for _ in range(2)]:
        equal(bed.finish(process)[::2], (0, ''), 'exit code and stderr')
    equal(bed.value('one'), 2, 'the value')
    alone(bed)


main(counters_are_changed, all_of_64_bits, what_is_due_fires, what_is_wrong_is_said, attaching_may_fail,
     strangers_do_not_attach, two_at_a_time)

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""README.md's table of what flows do in which engine: engines.py README BUILD ENGINE

Checks that README.md has the table below, and runs the test of each cell in ENGINE's column, which must
pass there, and not be skipped. `engines.py README --write` puts the table into README.md.
"""
import os
import re
import subprocess
import sys

COLUMNS = {'software': 'software', 'verbs': 'mlx5 verbs', 'bulk': 'mlx5 DV, counters in bulk',
           'fallback': 'mlx5 DV, asking'}
NOTHING = '–'
HW = ('verbs', 'bulk', 'fallback')
BEGIN, END = '<!-- by tests/docs/engines.py -->\n', '<!-- to here -->\n'

# Operation; what each column says; the test that shows it in software and in hardware. Conformance tests
# are programs of both kinds, `flows` is tests/beds/vcx/flows.c.
ROWS = (
    ('packets and bytes', ('exact', 'exact', 'exact', 'exact'),
     ('flow', 'cntr_21_packets_and_bytes_of_four_queues'), ('flow', 'cntr_21_packets_and_bytes_of_four_queues')),
    ('a threshold trips', ('within the burst', 'with the next reading', 'within the refresh lag', 'with the next reading'),
     ('flow', 'work_01_trips_within_the_burst_of_four_queues'),
     ('flow', 'work_01_trips_within_the_burst_of_four_queues')),
    ('drop, pass, delete by deferred work', ('yes', 'yes', 'yes', 'yes'),
     ('flow', 'work_01_fates_of_bursts'), ('flow', 'work_01_fates_of_bursts')),
    ('drop under traffic, every packet counted', ('yes', 'yes', 'yes', 'yes'),
     ('drops', None), ('flows', 'flows_drop_misses_no_packet')),
    ('destroy keeps the last counts', ('at once', 'at once', 'after the lag', 'after the lag, until it is measured'),
     ('flow', 'pnt_07_destroy_folds_the_last_counts'), ('flow', 'pnt_07_destroy_folds_the_last_counts')),
    ('counters object, static points', ('yes', 'yes', 'yes', 'yes'),
     ('counters', 'pnt_02_static_points_collect_from_the_first_packet_on'),
     ('counters', 'pnt_02_static_points_collect_from_the_first_packet_on')),
    ('counters object, points of live flows', ('yes', 'yes', 'from the last refresh on', 'yes'),
     ('counters', 'pnt_06_a_live_flow_is_collected_from_then_on'),
     ('counters', 'pnt_06_a_live_flow_is_collected_from_then_on')),
    ('port stop and start', ('no change', 'with `recreate`', 'with `recreate`', 'with `recreate`'),
     ('flow_engines', 'flow_stop_and_start'), ('flow_engines', 'flow_stop_and_start')),
    ('removal of the device', (NOTHING, 'an error', 'an error', 'an error'),
     None, ('flows', 'flows_removal_under_load')),
    ('a slow device keeps no lcore waiting', (NOTHING, 'yes', 'yes', 'yes'),
     None, ('flows', 'flows_home_goes_on_while_the_device_is_slow')),
    ('a device that hangs is noticed', (NOTHING, 'yes', 'yes', 'yes'),
     None, ('flows', 'flows_hung_device_is_noticed')),
    ('PASSTHRU', ('yes', 'refused', 'refused', 'refused'),
     ('flow', 'flow_priorities_and_passthru'), ('flow_engines', 'flow_passthru_is_software')),
    ('egress', ('yes', 'refused', 'refused', 'refused'),
     ('flow_actions', 'flow_egress_by_call'), ('flow_engines', 'flow_egress_is_software')),
)


def table():
    lines = ['| | ' + ' | '.join(COLUMNS.values()) + ' |', '|---' * (len(COLUMNS) + 1) + '|']
    lines += [f'| {operation} | ' + ' | '.join(cells) + ' |' for operation, cells, _, _ in ROWS]
    return '\n'.join(lines) + '\n'


def parts(readme):
    with open(readme, encoding='utf-8') as file:
        text = file.read()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        sys.exit(f'{readme} has no place for the table: {BEGIN.strip()} ... {END.strip()}')
    return re.split(f'{BEGIN}|{END}', text)


def command(build, engine, test):
    program, case = test
    tests = os.path.join(build, 'tests')
    if program == 'drops':
        return [os.path.join(tests, 'soft', 'drops')]
    if program == 'flows':
        return [os.path.join(tests, 'beds', 'vcx', 'vcx-flows'), engine, case]
    if engine == 'software':
        return [os.path.join(tests, 'runtime', program), 'manual', case]
    return [os.path.join(tests, 'beds', 'vcx', f'{program}-vcx'), engine, 'manual', case]


def run(build, engine, operation, test):
    """0, 1 or 77, as the test."""
    words = command(build, engine, test)
    if not os.path.exists(words[0]):
        print(f'{operation}: {words[0]} is not built here')
        return 77
    result = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True, errors='replace', check=False)
    passed = re.findall(r'\[ +OK \] (\w+)', result.stdout)
    if result.returncode == 77:
        print(f'{operation}: {result.stdout.strip().splitlines()[-1]}')
        return 77
    if result.returncode == 0 and (passed == [test[1]] or (test[1] is None and passed)):
        print(f'{operation}: {", ".join(passed)}')
        return 0
    print(f'{operation}: in {engine}, README.md is not shown by {" ".join(words)}\n{result.stdout[-4000:]}')
    return 1


def main():
    if len(sys.argv) == 3 and sys.argv[2] == '--write':
        before, _, after = parts(sys.argv[1])
        with open(sys.argv[1], 'w', encoding='utf-8') as file:
            file.write(before + BEGIN + table() + END + after)
        return 0
    readme, build, engine = sys.argv[1:]
    if parts(readme)[1] != table():
        sys.exit(f'{readme} has another table: tests/docs/engines.py README.md --write')
    column = list(COLUMNS).index(engine)
    results = []
    for operation, cells, soft, hard in ROWS:
        test = soft if engine == 'software' else hard
        assert (test is None) == (cells[column] == NOTHING), operation
        if test is not None:
            results.append(run(build, engine, operation, test))
    return 1 if 1 in results else 77 if 77 in results else 0


if __name__ == '__main__':
    sys.exit(main())

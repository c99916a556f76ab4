# SPDX-License-Identifier: BSD-3-Clause
"""trip-bench as a program: what it lists, writes and compares. No figure is judged here."""
import json
import os
import subprocess
import sys
import tempfile

BENCH = os.path.abspath(sys.argv[1])


def bench(*words):
    return subprocess.run([BENCH, *words], capture_output=True, text=True, timeout=600)


def main():
    listed = bench('--list')
    names = [line.split()[0] for line in listed.stdout.splitlines()]
    assert listed.returncode == 0 and len(names) == len(set(names)), listed
    wanted = '''queue_1k queue_100k queue_1m fire_1k fire_1m fire_1m_sparse fire_1m_64k cancel_1m add trip_rtt
        wake_fd wake_futex idle_1 idle_1m idle_64ch soft_1 soft_1k soft_64k soft_1m soft_8masks forward
        memory_cntr memory_work memory_rule'''.split()
    assert set(wanted) <= set(names), set(wanted) - set(names)

    unknown = bench('--only', 'nosuch')
    assert unknown.returncode == 2 and 'nosuch' in unknown.stderr, unknown

    with tempfile.TemporaryDirectory() as folder:
        path, other = os.path.join(folder, 'a.json'), os.path.join(folder, 'b.json')
        # It takes two threads and ends in bounded time, however busy the machine is.
        woken = ['wake_fd'] if len(os.sched_getaffinity(0)) > 1 else []
        for only in ['memory_work', *woken, 'fire_1k']:
            ran = bench('--no-huge', '--only', only, f'--json={path}')
            assert ran.returncode == 0, ran
            assert max(map(len, ran.stdout.splitlines())) <= 100, ran.stdout
            with open(path, encoding='utf-8') as file:
                result = json.load(file)
            assert {'machine', 'commit', 'bench'} <= result.keys(), result
            assert [row['name'] for row in result['bench']] == [only], result
            row = result['bench'][0]
            assert {'name', 'value', 'unit', 'limit', 'peer', 'vs_limit', 'vs_peer'} <= row.keys(), row
            assert row['min'] <= row['value'] <= row['max'], row
        printed = bench('--no-huge', '--json', '--only', 'memory_work')
        assert json.loads(printed.stdout)['bench'][0]['name'] == 'memory_work' in printed.stderr, printed
        # fire_1k has a peer and no limit.
        assert row['limit'] is None and row['peer'] > 0 and row['vs_peer'] > 0, row

        row['value'] *= 2
        with open(other, 'w', encoding='utf-8') as file:
            json.dump(result, file)
        compared = bench('--compare', path, other)
        assert compared.returncode == 0 and '+100.0%' in compared.stdout, compared
        with open(other, 'w', encoding='utf-8') as file:
            file.write('{}')
        broken = bench('--compare', path, other)
        assert broken.returncode == 1 and other in broken.stderr, broken
        assert bench('--compare', path).returncode != 0


main()

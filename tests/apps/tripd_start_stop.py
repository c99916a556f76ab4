# SPDX-License-Identifier: BSD-3-Clause
"""How long tripd takes to start and to stop: python3 tripd_start_stop.py TRIPD [RULES...]

Each run is on one processor, and on two where there are as many, with the lcores laid on them as tripd
does by itself. Up is from its execution until packets count, down from SIGINT to its end; in brackets is
what processor time that took, which other programs on the machine change least: of polling lcores it is
all they get. Read is what of up it takes to read the rules and to look for overlaps (--check). What is to
be reached: 64 thousand rules up in 5 s and down in 2 s.

It runs as anybody, on memory that is not hugepages: what one rule takes of it, a run without enough says.
"""
import re
import resource

from tripd_test import *

RULES = [1, 1000, 64000, 1000000]


def write_rules(bench, n):
    path = bench.file(f'rules-{n}')
    with open(path, 'w', encoding='utf-8') as file:
        for i in range(n):
            file.write(f'count c{i} port 0 pattern eth / ipv4 src is '
                       f'10.{i >> 16 & 255}.{i >> 8 & 255}.{i & 255} / end\n')
    return path


def words(bench, on, rules, mib):
    return ['--lcores', f'0@{on[0]},1@{on[0]},2@{on[-1]}', '--no-pci', '--file-prefix', bench.prefix, '--no-huge',
            '-m', str(mib), '--vdev', 'net_ring0', '--', '--rules', rules]


def needed(bench, on, rules):
    """As it says itself: MiB of EAL's memory."""
    _, _, err = bench.run(*words(bench, on, rules, 8))
    return int(re.search(r'add -m (\d+)', err).group(1))


def timed(run):
    began = time.monotonic()
    result = run()
    return time.monotonic() - began, result


def spent(process):
    """Its processor time so far, and the most memory that it has had in MiB."""
    with open(f'/proc/{process.pid}/stat', encoding='utf-8') as stat:
        ticks = sum(int(field) for field in stat.read().rsplit(')', 1)[1].split()[11:13])
    with open(f'/proc/{process.pid}/status', encoding='utf-8') as status:
        peak = int(re.search(r'VmHWM:\s*(\d+)', status.read()).group(1)) / 1024
    return ticks / os.sysconf('SC_CLK_TCK'), peak


def of_children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measure(bench, on, rules):
    """Seconds, and those on processors, to read, to be up and to be down; MiB at most."""
    def settle():
        os.sched_setaffinity(0, on)

    mib = needed(bench, on, rules)
    idle = of_children()
    read, (code, _, err) = timed(lambda: bench.run('--check', rules, preexec_fn=settle))
    equal(code, 0, f'exit code of --check, with {err}')
    before = of_children()
    began = time.monotonic()
    process = bench.start(*words(bench, on, rules, mib), preexec_fn=settle)
    bench.wait_for_line(process, '0 flows are counted in hardware')
    up = time.monotonic() - began
    cpu, peak = spent(process)
    process.send_signal(signal.SIGINT)
    down, (code, _, err) = timed(lambda: bench.finish(process))
    equal(code, 0, f'exit code, with {err}')
    return (read, before - idle), (up, cpu), (down, of_children() - before - cpu), peak


def table(bench):
    have = sorted(os.sched_getaffinity(0))
    print('| rules | processors | up | of that, read | down | memory |')
    print('|---|---|---|---|---|---|')
    for n in [int(word) for word in sys.argv[2:]] or RULES:
        rules = write_rules(bench, n)
        for on in [have[:1], have[:2]][:len(have)]:
            *times, peak = measure(bench, on, rules)
            cells = [f'{wall:.2f} s ({cpu:.2f})' for wall, cpu in times]
            print(f'| {n:,} | {len(on)} | {cells[1]} | {cells[0]} | {cells[2]} | {peak:,.0f} MiB |', flush=True)


if __name__ == '__main__':
    at = Bench()
    try:
        table(at)
    finally:
        at.close()

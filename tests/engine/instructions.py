# SPDX-License-Identifier: BSD-3-Clause
"""Instructions that queueing, firing, adding, idling, looks at rates, a burst's packets and the calls of the data
path take, beside those kept in instructions.json.

They are exact, where times are not: the test fails when one has grown by more than 2 %, or when an idle
iteration touches another cache line but for those of its stack. A commit that
means it updates the kept figures: instructions.py --update PROGRAM... COMPILER. They hold for one version of
one compiler; for others they are printed, and the test does not run (77).
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

KEPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'instructions.json')
GROWTH = 1.02
# Where valgrind has the stack of a program's first thread.
STACK = 0x1ff0000000
# That of the home, and the summary of its doorbell.
IDLE_LINES = 2


def measure(program):
    """{name: instructions each time}, by callgrind's inclusive counts of the functions count_<name>()."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, 'callgrind')
        ran = subprocess.run(['valgrind', '--tool=callgrind', f'--callgrind-out-file={out}', program],
                             capture_output=True, text=True, check=False)
        if 'Possibly corrupted debuginfo' in ran.stderr:
            # DWARF of a compiler that is newer than it.
            print(f'this valgrind cannot read the debug information of {program}')
            sys.exit(77)
        if ran.returncode != 0:
            sys.exit(f'valgrind {program}: exit status {ran.returncode}\n{ran.stderr}')
        listing = subprocess.run(['callgrind_annotate', '--inclusive=yes', '--threshold=100', out],
                                 capture_output=True, text=True, check=True).stdout
    times = dict(line.split() for line in ran.stdout.splitlines())
    counts = {}
    for name in times:
        found = re.search(rf'^\s*([\d,]+).*:count_{name}\b', listing, re.M)
        if not found:
            sys.exit(f'count_{name} is not in what callgrind_annotate says:\n{listing}')
        counts[name] = round(int(found.group(1).replace(',', '')) / int(times[name]), 1)
    return counts


def idle_lines(program):
    """Cache lines that idle iterations read or write, without those of the stack, by lackey's trace."""
    ran = subprocess.run(['valgrind', '--tool=lackey', '--trace-mem=yes', program, 'lines'],
                         capture_output=True, text=True, check=False)
    found = re.search(r'mark 0x(\w+)', ran.stdout)
    if ran.returncode != 0 or not found:
        sys.exit(f'valgrind {program}: exit status {ran.returncode}\n{ran.stderr[-1000:]}')
    accesses = re.findall(r'^ ([LSM]) (\w+),\d+$', ran.stderr, re.M)
    mark = int(found.group(1), 16)
    begin, end = [at for at, (how, where) in enumerate(accesses) if how == 'S' and int(where, 16) == mark]
    return len({int(where, 16) // 64 for _, where in accesses[begin + 1:end]
                if int(where, 16) < STACK})


def main():
    update = sys.argv[1] == '--update'
    programs, compiler = sys.argv[2 if update else 1:-1], sys.argv[-1]
    for tool in 'valgrind', 'callgrind_annotate':
        if not shutil.which(tool):
            print(f'{tool} is not installed')
            return 77
    with open(KEPT, encoding='utf-8') as file:
        kept = json.load(file)
    counts = {}
    for program in programs:
        counts |= measure(program)
    if update:
        kept[compiler] = counts
        with open(KEPT, 'w', encoding='utf-8') as file:
            json.dump(kept, file, indent=1, sort_keys=True)
            file.write('\n')
        return 0
    if compiler not in kept:
        print(f'no figures are kept for {compiler}; here they are {counts}')
        return 77
    lines = idle_lines(programs[0])
    print(f'idle: {lines} cache lines')
    grown = lines > IDLE_LINES
    for name, count in counts.items():
        was = kept[compiler][name]
        print(f'{name}: {count} instructions, kept {was}')
        if count > was * GROWTH:
            grown = True
            print(f'{name} has grown by {count / was - 1:.1%}, more than {GROWTH - 1:.0%}')
        elif count < was / GROWTH:
            print(f'{name} has shrunk; --update keeps it so')
    return 1 if grown else 0


sys.exit(main())

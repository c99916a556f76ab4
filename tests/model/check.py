#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks one configuration of a model with spin, exhaustively.

  check.py MODEL.pml proof [-DNAME[=N] ...]     verifies, and its judge was reached
  check.py MODEL.pml whole [-DNAME[=N] ...]     the same, and every line of it was reached
  check.py MODEL.pml mutant -DNO_NAME [-D ...]  is caught: does not verify
  check.py FOLDER names                         each mutant in a model is in README.md and meson.build

--large: the search takes longer than an optimising compiler. What follows --long counts where TRIP_SCALE is
above 1, in place of what it was before; there, -UNAME takes a -DNAME back. The last line tells what was found; exit status 77
where spin or a C compiler is missing.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

DEPTH = {'proof': 4000000, 'whole': 4000000, 'mutant': 500000}  # of the search, in steps
# Of states, 2^18 entries, where few are seen: it grows, and the 128 MB that are usual take as long as the search.
TABLE = {'proof': [], 'whole': [], 'mutant': ['-w18']}
MEMORY = 4096  # MB
TAIL = 200  # lines of the way to an error that are shown
# What pan says when it has not seen everything, whatever it says of errors.
CUT_SHORT = ('max search depth too small', 'Search not completed', 'out of memory', 'MEMLIM')


def is_long():
    return float(os.environ.get('TRIP_SCALE') or 1) > 1


def arguments(words):
    """-DNAME=N once each, the last one holds; what is behind --long only in long runs."""
    defines = {}
    for word in words:
        if word == '--long':
            if not is_long():
                break
        elif word == '--large':
            continue
        elif word.startswith('-U'):
            defines.pop('-D' + word[2:], None)
        elif not word.startswith('-D'):
            sys.exit(f'check.py: "{word}" is no -DNAME')
        else:
            defines[word.split('=')[0]] = word
    return list(defines.values())


def run(command, folder, check=True):
    done = subprocess.run(command, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if check and done.returncode != 0:
        sys.exit(f'check.py: {" ".join(command)}: exit {done.returncode}\n{done.stdout}')
    return done.stdout


def unreached(folder, said):
    """Lines, of processes that ran, of which no state was reached. Bodies of inlines are there once for
    each use."""
    numbered = {}  # (process, state) -> line
    process = None
    for line in run(['./pan', '-d'], folder, check=False).splitlines():
        if begin := re.match(r'(?:proctype|init|claim) ?(\w*)', line):
            process = begin[1] or 'init'
        elif state := re.search(r'^\s*state\s+(\d+) .*\] [^ ]*?:(\d+) => (.*)', line):
            if state[3] != '-end-':
                numbered[process, int(state[1])] = int(state[2])
    lines, missed = {}, set()
    for line in said.splitlines():
        if begin := re.match(r'unreached in (?:proctype )?(\w+)', line):
            process = begin[1]
        elif state := re.match(r'\s+(.*?):(\d+), state (\d+), "(.*)"', line):
            missed.add((process, int(state[3])))
            # An endless process has no end; a judge must have come to its own.
            if state[4] != '-end-' or process == 'judge':
                lines[int(state[2])] = f'{process}: {state[1]}:{state[2]}: {state[4]}'
    reached = {line for state, line in numbered.items() if state not in missed}
    ran = {process for process, state in numbered if (process, state) not in missed} | {'judge'}
    return {text for line, text in lines.items() if line not in reached and text.split(':')[0] in ran}


def show_way(folder, spin_args):
    """The end of the way to the error, which pan has left in a trail."""
    steps = run(['spin', '-t', '-p', '-g', '-l', *spin_args], folder, check=False).splitlines()
    print('\n'.join(steps[-TAIL:]))


def judge(verdict, folder, spin_args, said):
    """Why this is not what it should be, or None."""
    errors = re.search(r'errors: (\d+)', said)
    if errors is None:
        return f'the search did not end:\n{said[-2000:]}'
    what = re.search(r'^pan:\d+: (.*?)(?: \(at depth.*)?$', said, re.MULTILINE)
    what = what[1] if what else ''
    # The model's own limits are no finding.
    if 'buffer[' in what and 'DEPTH' not in what and '.n<' in what:
        return f'a store buffer is too small for this model: {what}'
    if verdict == 'mutant':
        if errors[1] == '0':
            return 'the mutant was not caught'
        print(f'caught: {what}')
        return None
    if errors[1] != '0':
        show_way(folder, spin_args)
        return f'does not hold: {what}'
    for words in CUT_SHORT:
        if words in said:
            return f'the search saw not everything: "{words}"'
    missed = unreached(folder, said)
    if verdict == 'proof':
        missed = {text for text in missed if text.startswith('judge:')}
    if missed:
        return 'never reached:\n  ' + '\n  '.join(sorted(missed))
    states = re.search(r'([\d.e+]+) states, stored', said)
    print(f'holds in all of {float(states[1]):.0f} states')
    return None


def names(folder):
    """A mutant that nobody runs shows nothing."""
    def words_of(name):
        with open(os.path.join(folder, name), encoding='utf-8') as text:
            return set(re.findall(r'\bNO_[A-Z_]*[A-Z]\b', text.read()))
    known = set().union(*(words_of(name) for name in os.listdir(folder) if name.endswith('.pml')))
    wrong = [f'{name}: {word} is {"missing" if word in known else "in no model"}'
             for name in ('README.md', 'meson.build') for word in sorted(known ^ words_of(name))]
    print('\n'.join(wrong) or f'{len(known)} mutants')
    return 1 if wrong else 0


def main():
    if len(sys.argv) < 3 or sys.argv[2] not in ('proof', 'whole', 'mutant', 'names'):
        sys.exit(__doc__)
    if sys.argv[2] == 'names':
        return names(sys.argv[1])
    verdict, defines = sys.argv[2], arguments(sys.argv[3:])
    models, model = os.path.split(os.path.abspath(sys.argv[1]))
    compiler = os.environ.get('CC', 'cc').split()
    for program in ('spin', compiler[0]):
        if shutil.which(program) is None:
            print(f'skipped: {program} is not installed here')
            return 77
    with tempfile.TemporaryDirectory(prefix='trip-model-') as folder:
        # The trail of an error lands beside the model.
        for name in os.listdir(models):
            if name.endswith('.pml'):
                shutil.copy(os.path.join(models, name), folder)
        run(['spin', '-a', *defines, model], folder)
        # Mutants are caught early, and most proofs are short: there the compiler takes longer than the search, and
        # clang half as long. What is large is rather kept small than searched fast.
        large = '--large' in sys.argv[3:] or is_long()
        if not large and shutil.which('clang'):
            compiler = ['clang']
        flags = ['-O1' if large else '-O0'] + ['-DCOLLAPSE'] * is_long()
        run([*compiler, *flags, '-w', '-DSAFETY', f'-DMEMLIM={MEMORY}', '-o', 'pan', 'pan.c'], folder)
        said = run(['./pan', f'-m{DEPTH[verdict]}', *TABLE[verdict]], folder, check=False)
        wrong = judge(verdict, folder, [*defines, model], said)
    print(wrong or f'{model} {" ".join(defines)}')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())

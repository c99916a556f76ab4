# SPDX-License-Identifier: BSD-3-Clause
"""Every tripctl line of the README.md and the manual page of tripctl does what stands there.

tripctl_examples.py TRIPCTL BED TRIPD README.md tripctl.1
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'apps'))
from tripctl_test import *  # pylint: disable=wrong-import-position

TRIPD, README, MANUAL = os.path.abspath(sys.argv[3]), *sys.argv[4:6]


def blocks():
    """Of the README: what any domain does, and commands to tripd."""
    with open(README, encoding='utf-8') as file:
        return re.findall(r'^```sh\n(.*?)^```', file.read(), re.M | re.S)


def examples():
    block = blocks()[0]
    with open(MANUAL, encoding='utf-8') as file:
        manual = re.search(r'^\.EX\n(.*?)^\.EE', file.read(), re.M | re.S).group(1).replace('\\-', '-')
    lines = [line for line in (block + manual).splitlines() if line.startswith('tripctl ')]
    equal(len(lines), (block + manual).count('\n'), 'lines that are examples')
    return lines


def each_does_what_it_says(bed):
    bed.open(huge=True).tell('count dns port 0 pattern eth / ipv4 / udp dst is 53 / end', 'cntr web.bytes',
                             'cntr warnings', 'work dns.packets 1000000000 0 warnings 1')
    program = os.path.join(bed.path, 'tripctl')
    with open(program, 'w', encoding='utf-8') as file:
        file.write(f'#!/bin/sh\nexec {TRIPCTL} --socket {bed.socket} "$@"\n')
    os.chmod(program, 0o755)
    bed.environment['PATH'] = bed.path + ':' + os.environ['PATH']
    for line in examples():
        process = bed.track(subprocess.Popen(['sh', '-c', 'exec ' + line if '&&' not in line and '||' not in line else line],
                                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                             text=True, env=bed.environment))
        expected = 4 if 'exit code 4' in line else 0
        said = ''
        if line.split('#')[0].split() == ['tripctl', 'top']:
            said = process.stdout.readline()
            process.send_signal(signal.SIGTERM)
            expected = -signal.SIGTERM
        # What they wait for comes by and by, once they have shown that it is not there.
        deadline = time.monotonic() + HANG
        while process.poll() is None:
            assert time.monotonic() < deadline, f'{line} does not end'
            time.sleep(0.05)
            bed.tell('add dns.packets 100000')
        code, out, err = bed.finish(process)
        print(f'{line}: exit code {code}')
        equal(code, expected, f'exit code of {line!r}, which said {err!r}')
        assert said + out + err, f'{line} says nothing'


def each_command_does_what_it_says(bed):
    """tripd has the names that they speak of."""
    folder, path = bed.path, os.path.join(bed.path, 'tripd.sock')
    for name, text in (('rules', f'set customers file {folder}/customers\ncount web port 0 pattern eth / ipv4 src in customers / end\n'
                        'each victims port 0 ipv4.dst max 10 idle 1m\neach sources port 0 ipv4.src max 10 idle 1m\nquota month 1T per month of web.bytes\n'), ('customers', '10.0.0.0/8\n'),
                       ('more.rules', 'counter more\n')):
        with open(os.path.join(folder, name), 'w', encoding='utf-8') as file:
            file.write(text)
    process = bed.track(subprocess.Popen(
        [TRIPD, '--lcores=0@0-1,1@0-1', '--no-huge', '-m', '96', '--no-shconf', '--no-pci', '--file-prefix', bed.prefix,
         '--vdev=net_null0', '--', '--rules', 'rules', '--socket', path],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=bed.environment, cwd=folder))
    for line in process.stdout:
        if 'flows are counted' in line:
            break
    lines = blocks()[1].splitlines()
    assert all(line.startswith('tripctl ') for line in lines), lines
    # A reload brings back what was removed, and takes what came in.
    for line in lines:
        words = line.split('#')[0].split()[1:]
        done = subprocess.run([TRIPCTL, '--socket', path, *words], cwd=folder, capture_output=True, text=True, check=False,
                              timeout=HANG, env=bed.environment)
        print(f'{line}: exit code {done.returncode}')
        equal((done.returncode, done.stderr), (0, ''), f'exit code and stderr of {line!r}')
        assert done.stdout or words == ['reload', 'customers'], f'{line} says nothing'
    assert done.stdout.endswith(' month\n'), done.stdout
    process.send_signal(signal.SIGTERM)
    process.wait()


main(each_does_what_it_says, each_command_does_what_it_says)

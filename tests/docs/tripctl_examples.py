# SPDX-License-Identifier: BSD-3-Clause
"""Every tripctl line of the README.md and the manual page of tripctl does what stands there.

tripctl_examples.py TRIPCTL BED README.md tripctl.1
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'apps'))
from tripctl_test import *  # pylint: disable=wrong-import-position

README, MANUAL = sys.argv[3:5]


def examples():
    with open(README, encoding='utf-8') as file:
        block = re.search(r'^```sh\n(.*?)^```', file.read(), re.M | re.S).group(1)
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


main(each_does_what_it_says)

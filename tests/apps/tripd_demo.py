# SPDX-License-Identifier: BSD-3-Clause
"""tripd --demo: its claims hold, and a person can read it."""
import pty
import re

from tripd_test import *


def demo(bench, *words, **options):
    if not os.access('/dev/net/tun', os.R_OK | os.W_OK):
        raise Skip('there is no /dev/net/tun that can be opened')
    if os.getuid() != 0:
        raise Skip('a network of its own takes root')
    return bench.start('--demo', *words, **options)


def claims_hold_and_lines_are_plain(bench):
    report = bench.file('report')
    code, out, err = bench.finish(demo(bench, '--report', report))
    equal((code, err), (0, ''), f'exit code and stderr, with {out}')
    assert '\033' not in out and '\r' not in out, 'escapes where there is no terminal'
    equal(len(re.findall('^ok ', out, re.M)), 8, 'claims that hold')
    assert 'NOT' not in out, out
    equal([line for line in out.splitlines() if len(line) > 80], [], 'lines of more than 80 columns')
    with open(report, encoding='utf-8') as file:
        trips = json.load(file)['trips']
    for counter in 'dns.packets', 'web.bytes', 'ping.packets', 'warnings':
        thresholds = [trip['threshold'] for trip in trips if trip['counter'] == counter]
        equal(thresholds, sorted(thresholds), f'thresholds of {counter}')
        assert thresholds, f'no trip of {counter}'


def show(data, width=80):
    """What a terminal shows of these bytes: enough of one for what tripd writes."""
    lines, row, column = [''], 0, 0
    for piece in re.findall(r'\033\[\d*[A-Za-z]|[^\033]', data):
        if re.fullmatch(r'\033\[\d+A', piece):
            row = max(row - int(piece[2:-1]), 0)
        elif piece == '\033[J':
            lines[row:] = [lines[row][:column]]
        elif piece == '\n':
            row, column = row + 1, 0
            if row == len(lines):
                lines.append('')
        elif piece == '\r':
            column = 0
        elif not piece.startswith('\033'):
            lines[row] = lines[row][:column] + piece + lines[row][column + 1:]
            column += 1
            assert column <= width, f'a line wraps: {lines[row]!r}'
    return lines


def on_a_terminal(bench, **environment):
    # The width of a new terminal is 0, which means that it is not known: 80.
    master, slave = pty.openpty()
    process = demo(bench, stdout=slave, env=dict(bench.environment, TERM='xterm', **environment))
    os.close(slave)
    data = b''
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:  # what Linux says when the other end has closed
            break
        if not piece:
            break
        data += piece
    os.close(master)
    code, _, err = bench.finish(process)
    equal((code, err), (0, ''), 'exit code and stderr')
    return data.decode()


def terminal_is_tidy(bench):
    data = on_a_terminal(bench)
    assert len(re.findall('\033\\[\\d+A', data)) > 20, 'nothing is drawn in place'
    lines = show(data)
    equal(sum(line.startswith('flow ') for line in lines), 1, 'tables left on the screen')
    equal(sum(line.startswith('ok ') for line in lines), 8, 'claims that hold')
    assert '\033[32m' in data, 'no colours'


def no_color_is_honoured(bench):
    assert not re.search('\033\\[\\d*m', on_a_terminal(bench, NO_COLOR='1')), 'colours with NO_COLOR'


def signals_end_its_start(bench):
    """As they do with any rules."""
    for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
        def send(number=number):
            signal.pthread_sigmask(signal.SIG_BLOCK, [number])
            os.kill(os.getpid(), number)

        code, _, err = bench.finish(demo(bench, preexec_fn=send))
        equal(code, -number, f'exit code by {number}, with {err!r}')
        assert re.fullmatch('tripd: ended while it started .*: nothing was counted\n', err), err


main(claims_hold_and_lines_are_plain, terminal_is_tidy, no_color_is_honoured, signals_end_its_start)

# SPDX-License-Identifier: BSD-3-Clause
"""tripctl top: as text, as JSON, and on a terminal of any size."""
import fcntl
import pty
import select
import struct
import termios

from tripctl_test import *


class Terminal:
    """What stands on the screen of a vt100, as far as ncurses uses one."""

    def __init__(self, bed, columns, lines, *words):
        self.sequence = b''
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ['TERM'] = 'vt100'
            # The size is there before the program is.
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', lines, columns, 0, 0))
            os.execv(TRIPCTL, ['tripctl', '--socket', bed.socket, 'top', *words])
        self.clear(columns, lines)

    def clear(self, columns, lines):
        self.columns, self.height = columns, lines
        self.cells = [[' '] * columns for _ in range(lines)]
        self.x = self.y = self.top = 0
        self.bottom = lines - 1

    def resize(self, columns, lines):
        self.clear(columns, lines)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack('HHHH', lines, columns, 0, 0))

    def type(self, keys):
        os.write(self.fd, keys.encode())

    def text(self):
        return [''.join(line).rstrip() for line in self.cells]

    def put(self, char):
        # The last column keeps the cursor until there is more.
        if self.x == self.columns:
            self.x, self.y = 0, self.y + 1
        if self.y < self.height:
            self.cells[self.y][self.x] = char
        self.x += 1

    def erase(self, first, last):
        for at in range(max(first, 0), min(last, self.columns * self.height)):
            self.cells[at // self.columns][at % self.columns] = ' '

    def obey(self, final, numbers):
        n = numbers[0] if numbers else 0
        here, line = self.y * self.columns + min(self.x, self.columns - 1), self.y * self.columns
        if final in 'Hf':
            self.y, self.x = max(n, 1) - 1, max(numbers[1] if len(numbers) > 1 else 1, 1) - 1
            # Of what was written before a resize, the end of it may come after.
            self.y, self.x = min(self.y, self.height - 1), min(self.x, self.columns - 1)
        elif final in 'ABCD':
            step = max(n, 1)
            self.y = min(max(self.y + {'A': -step, 'B': step}.get(final, 0), 0), self.height - 1)
            self.x = min(self.x, self.columns - 1) + {'C': step, 'D': -step}.get(final, 0)
            self.x = min(max(self.x, 0), self.columns - 1)
        elif final == 'r':
            self.top, self.bottom = max(n, 1) - 1, min(numbers[1] if len(numbers) > 1 else self.height, self.height) - 1
            self.x = self.y = 0
        elif final == 'J':
            self.erase(here if n == 0 else 0, self.columns * self.height if n != 1 else here + 1)
        elif final == 'K':
            self.erase(here if n == 0 else line, line + self.columns if n != 1 else here + 1)
        else:
            assert final in 'mhl', f'CSI {final} is not known'

    def index(self, step):
        """A line further; at the margin the lines between the margins move."""
        if step > 0 and self.y == self.bottom:
            del self.cells[self.top]
            self.cells.insert(self.bottom, [' '] * self.columns)
        elif step < 0 and self.y == self.top:
            del self.cells[self.bottom]
            self.cells.insert(self.top, [' '] * self.columns)
        else:
            self.y = min(max(self.y + step, 0), self.height - 1)

    def take(self, byte):
        char = chr(byte)
        if self.sequence:
            self.sequence += bytes([byte])
            text = self.sequence.decode('latin-1')
            if re.fullmatch(r'\x1b\[[?0-9;]*[@-~]', text) and text[-1] != '[':
                self.obey(text[-1], [int(part or 0) for part in text[2:-1].strip('?').split(';')])
                self.sequence = b''
            elif re.fullmatch(r'\x1b([()].|[^()\[])', text):
                assert text[-1] not in 'Ec', f'{text!r} is not known'
                if text[-1] in 'DM':
                    self.index(1 if text[-1] == 'D' else -1)
                self.sequence = b''
        elif char == '\x1b':
            self.sequence = b'\x1b'
        elif char == '\r':
            self.x = 0
        elif char == '\n':
            self.index(1)
        elif char == '\b':
            self.x = max(min(self.x, self.columns - 1) - 1, 0)
        elif char == '\t':
            self.x = min((self.x // 8 + 1) * 8, self.columns - 1)
        elif byte >= 0x20:
            self.put(char)

    def until(self, what, condition):
        """Reads on until the screen is so."""
        deadline = time.monotonic() + HANG
        while not condition(self.text()):
            assert time.monotonic() < deadline, f'{what}: the screen is still\n' + '\n'.join(self.text())
            if select.select([self.fd], [], [], 0.1)[0]:
                for byte in os.read(self.fd, 65536):
                    self.take(byte)

    def end(self):
        """Its exit status, once it has said everything."""
        said = b''
        try:
            while data := os.read(self.fd, 65536):
                said += data
        except OSError:
            pass
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1]), said.decode('latin-1')


def fill(bed):
    bed.open().tell('cntr alpha', 'cntr beta', 'cntr gamma.long.name.of.thirty.bytes', 'add alpha 1234567', 'add beta 40',
                    'adderr beta 3', 'work alpha 2000000 0 beta 1', 'work beta 100 0 alpha 1')
    return bed


def row(lines, name):
    return next((line for line in lines if line.startswith(name)), '').split()


def text_for_scripts(bed):
    out = fill(bed).good('top', '--rounds', '2', '--interval', '20ms')
    rounds = out.split('\n\n')
    equal(len(rounds), 2, 'rounds')
    for text in rounds:
        lines = text.splitlines()
        assert all(len(line) <= 80 for line in lines), max(lines, key=len)
        equal(lines[0], f'bed (rte), process {bed.primary.pid}: 3 counters, 1 process', 'the first line')
        # That it has nothing to do does not read as if it did nothing.
        assert re.fullmatch(r'home 0: (not polling|polling, \d+\.\d% with work), 1 pending, 0 fired/s, longest '
                            r'[\d.]+ [num]?s', lines[1]), lines[1]
        equal(lines[3].split(), 'COUNTER VALUE RATE/S ERRORS NEXT TO GO LEFT'.split(), 'titles')
        equal([row(lines, name) for name in ('alpha', 'beta')],
              [['alpha', '1.235M', '0', '0', '2.000M', '765433', '-'],
               ['beta', '40', '0', '3', '100', '57', '-']], 'rows')
        equal([line.split()[0] for line in lines[4:]],
              ['alpha', 'beta', 'gamma.long.name.of.thirty.bytes'[:26]], 'the order')


def json_for_programs(bed):
    """Rates are the difference of two readings by the time between them."""
    fill(bed)
    process = bed.start('--json', 'top', '--interval', '50ms', '--rounds', '40')
    values = []
    for i, line in enumerate(process.stdout):
        told = json.loads(line)
        alpha = next(cntr for cntr in told['counters'] if cntr['name'] == 'alpha')
        if values:
            equal(round(alpha['rate'] * told['seconds']), alpha['success'] - values[-1], f'the growth of round {i}')
            if alpha['rate'] > 0:
                left = (alpha['next'] - alpha['success']) / alpha['rate']
                assert abs(alpha['left_s'] - left) < 1e-3 * left, (alpha, left)
        values.append(alpha['success'])
        bed.tell(f'add alpha {1000 + i}')
    equal(bed.finish(process)[0], 0, 'exit code')
    equal(len(values), 40, 'rounds')
    assert values[-1] > values[0] >= 1234567, values


def orders_and_filters(bed):
    fill(bed).tell('set gamma.long.name.of.thirty.bytes 50')

    def names(*words):
        told = bed.json('top', '--rounds', '1', '--interval', '20ms', *words)
        return [cntr['name'].split('.')[0] for cntr in told['counters']]

    equal(names('--sort', 'name'), ['alpha', 'beta', 'gamma'], 'by name')
    equal(names('--sort', 'value'), ['alpha', 'gamma', 'beta'], 'by value')
    equal(names('--sort', 'left'), ['beta', 'alpha', 'gamma'], 'by what is missing')
    equal(names('--match', 'a'), ['alpha', 'beta', 'gamma'], 'that contain an a')
    equal(names('--match', 'a*'), ['alpha'], 'that begin with an a')
    for words in ['--sort', 'x'], ['--rounds', '0'], ['--rounds', '-1'], ['--interval', '1ns'], ['--interval', '2h'], \
            ['x', 'y'], ['x' * 40], ['--match', 'x' * 64]:
        equal(bed.run('top', *words)[0], USAGE, f'exit code of {words}')


def rows_are_as_many_as_asked_for(bed):
    fill(bed)
    words = 'top', '--rounds', '1', '--interval', '10ms', '--sort', 'value'
    every = bed.json(*words)['counters']
    assert len(every) > 2, every
    equal([row['id'] for row in bed.json(*words, '--rows', '2')['counters']], [row['id'] for row in every[:2]], 'rows')
    head = bed.good(*words, '--rows', '1').splitlines()
    equal(len(head), len(bed.good(*words).splitlines()) - len(every) + 1, 'lines')
    for wrong in '0', '-1', 'x', '':
        code, _, err = bed.run('top', '--rows', wrong)
        equal(code, USAGE, 'exit code')
        assert 'is no number of rows' in err, err


def a_terminal_shows_it(bed):
    fill(bed)
    terminal = Terminal(bed, 80, 24, '--interval', '50ms')
    terminal.until('rows', lambda lines: row(lines, 'beta') == ['beta', '40', '0', '3', '100', '57', '-'])
    lines = terminal.text()
    equal(lines[0], f'bed (rte), process {bed.primary.pid}: 3 counters, 1 process', 'the first line')
    equal(lines[3], '3 of 3 by name', 'the status')
    assert lines[23].startswith('q quit'), lines[23]
    bed.tell('add beta 60')
    terminal.until('the new value', lambda lines: row(lines, 'beta')[1:2] == ['100'])
    # What has no threshold any more, has nothing to go.
    terminal.until('the firing', lambda lines: row(lines, 'beta')[4:6] == ['-', '-'])
    terminal.type('q')
    code, said = terminal.end()
    equal(code, 0, 'exit code')
    assert '\x1b[?1l' in said, f'the keys stay as they were set: {said!r}'


def a_terminal_has_any_size(bed):
    fill(bed)
    terminal = Terminal(bed, 80, 24, '--interval', '50ms')
    terminal.until('80 columns', lambda lines: 'ERRORS' in lines[4])
    terminal.resize(40, 10)
    terminal.until('40 columns', lambda lines: any(re.fullmatch(r'COUNTER +VALUE +RATE/S +TO GO', line) for line in lines))
    terminal.until('rows of 40', lambda lines: row(lines, 'alpha')[:2] == ['alpha', '1.235M'] and row(lines, 'alpha')[3:] == ['765433'])
    terminal.resize(200, 50)
    terminal.until('200 columns', lambda lines: row(lines, 'alpha') == ['alpha', '1234567', '0', '0', '2000000', '765433', '-'])
    assert any(line.startswith('gamma.long.name.of.thirty.bytes ') for line in terminal.text()), 'a name is cut'
    for columns, lines in (1, 1), (20, 3), (300, 5), (2, 60), (80, 24):
        terminal.resize(columns, lines)
        terminal.type('s')
    terminal.until('80 columns again', lambda lines: len(lines) == 24 and row(lines, 'beta')[1:2] == ['40'])
    terminal.type('q')
    equal(terminal.end()[0], 0, 'exit code')


def keys_do_as_they_say(bed):
    fill(bed).tell(*(f'cntr x{i:02}' for i in range(40)), *(f'add x{i:02} {i}' for i in range(40)))
    terminal = Terminal(bed, 80, 24, '--interval', '50ms')

    def first():
        lines = terminal.text()
        return lines[5].split()[0] if len(lines) > 5 and lines[5] else ''

    terminal.until('rows', lambda lines: first() == 'alpha' and lines[3] == '43 of 43 by name')
    terminal.type('v')
    terminal.until('by value', lambda lines: lines[3].endswith('by value') and row(lines[6:], 'beta') != [])
    terminal.type('s')
    terminal.until('by rate', lambda lines: lines[3].endswith('by rate'))
    terminal.type('l')
    terminal.until('by time left', lambda lines: lines[3].endswith('by left') and first() == 'beta')
    terminal.type('n\x1bOB\x1bOB')
    terminal.until('two rows further', lambda lines: first().startswith('gamma'))
    terminal.type('/x1')
    terminal.until('the filter', lambda lines: lines[3] == 'filter: x1_')
    terminal.type('2\x7f9\r')
    terminal.until('one row', lambda lines: lines[3] == '1 of 43 by name, filter x19' and first() == 'x19')
    terminal.type(' ')
    terminal.until('the pause', lambda lines: lines[3].endswith(', paused'))
    bed.tell('add x19 1000')
    terminal.type('/\x7f\x7f\x7f\r')
    terminal.until('all rows', lambda lines: lines[3] == '43 of 43 by name, paused')
    terminal.until('a row', lambda lines: row(lines, 'x11')[:2] == ['x11', '11'])
    terminal.type('/x19\r')
    terminal.until('the filter and the value of before the pause',
                   lambda lines: first() == 'x19' and row(lines, 'x19')[:2] == ['x19', '19'])
    terminal.type(' ')
    terminal.until('the value', lambda lines: row(lines, 'x19')[1:2] == ['1019'])
    terminal.type('q')
    equal(terminal.end()[0], 0, 'exit code')


def it_ends_in_every_way(bed):
    fill(bed)
    for number in signal.SIGINT, signal.SIGTERM:
        for keys in '', ' ':
            terminal = Terminal(bed, 80, 24, '--interval', '50ms')
            terminal.until('rows', lambda lines: row(lines, 'beta') != [])
            terminal.type(keys)
            terminal.until('the pause', lambda lines: lines[3].endswith('paused') == (keys == ' '))
            os.kill(terminal.pid, number)
            equal(terminal.end()[0], -number, 'exit status')
    terminal = Terminal(bed, 80, 24, '--rounds', '3', '--interval', '20ms')
    equal(terminal.end()[0], 0, 'exit code after three rounds')
    terminal = Terminal(bed, 80, 24, '--interval', '1h')
    terminal.until('rows', lambda lines: row(lines, 'beta') != [])
    text = bed.start('top', '--interval', '1h')
    wait_until('the text', lambda: len(bed.json('list', 'processes')['processes']) == 1)
    bed.primary.kill()
    code, said = terminal.end()
    equal(code, ENDED, 'exit code')
    assert f'tripctl: the primary, process {bed.primary.pid}, has ended' in said, said
    code, _, err = bed.finish(text)
    assert code in (ENDED, NONE), (code, err)


main(text_for_scripts, json_for_programs, orders_and_filters, rows_are_as_many_as_asked_for, a_terminal_shows_it, a_terminal_has_any_size,
     keys_do_as_they_say, it_ends_in_every_way)

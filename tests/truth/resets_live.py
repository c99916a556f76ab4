# SPDX-License-Identifier: BSD-3-Clause
"""Counts that are reset over live traffic, by rules and by tripctl at the same time, judged by tripd's events and by what
tcpdump has recorded where packets came and where they left. No verdict depends on how long anything takes.

A statement trips at each packet: so what a count was is how often that has tripped since it began anew. Of each time of a
count: its packets trip one by one, from the first on, and those of all times are all that was recorded; a reset by tripctl
told just as many; each other statement on it has tripped as often as that many make it due, not once more and not once
less; it began anew only where something had reset it. A packet that has not left came when its count had been at the
limit, in its time or in the one before.
"""
import os
import random
import signal
import struct
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'apps'))
from taps import Sender, await_tap, enter_namespace, listen
from tools import read_records
from tripd_test import Skip, equal, ethernet, ipv4, json, main, re, shutil, udp, wait_until

TRIPCTL = sys.argv[2]
SEED = int(os.environ.get('TRIP_SEED', 20261128))
RESETS = int(60 * float(os.environ.get('TRIP_SCALE', 1)))
IN, OUT = 'truth0', 'truth1'
PORTS = {'a': 5001, 'b': 5002}
EACH, ONCE, DROP, BYTES, OTHER = range(5)


class Rules:
    def __init__(self, rng):
        self.size = 60
        self.at = {'a': rng.randint(50, 800), 'b': rng.randint(20, 300)}
        self.once = rng.randint(1, self.at['a'])
        self.others = rng.randint(1, 5)
        # By line: of which count, what for, the threshold and the interval.
        self.lines = {
            5: ('a', EACH, 1, 1), 6: ('b', EACH, 1, 1), 7: ('a', OTHER, self.at['a'], self.at['a']),
            8: ('a', ONCE, self.once, 0), 9: ('b', DROP, self.at['b'], 0),
            10: ('b', BYTES, self.size * self.at['b'], self.size * self.at['b'])}
        self.text = ''.join(f'count {name} port 0 pattern eth / ipv4 / udp dst is {port} / end\n' for name, port in PORTS.items())
        self.text += f'''counter n
counter m
when a.packets >= 1 every 1 log
when b.packets >= 1 every 1 log
when a.packets >= {self.at['a']} every {self.at['a']} reset a
when a.packets >= {self.once} add n 1
when b.packets >= {self.at['b']} drop b
when b.bytes >= {self.size * self.at['b']} every {self.size * self.at['b']} add m 1
when n >= {self.others} every {self.others} reset b
'''


class Bed:
    def __init__(self, bench, rules):
        if shutil.which('tcpdump') is None:
            raise Skip('tcpdump is not installed')
        self.bench, self.rules, self.number = bench, rules, 0
        self.process = bench.start(
            *bench.eal(f'net_tap0,iface={IN}', f'net_tap1,iface={OUT}'), '--rules', bench.file('rules', rules.text), '--socket',
            bench.file('socket'), '--events', bench.file('events'), '--report', bench.file('report'), '--pair', '0,1')
        for tap in IN, OUT:
            await_tap(self.process, tap, 1500)
        bench.wait_for_line(self.process, '0 flows are counted in hardware')
        self.listeners = {tap: listen(bench, tap, bench.file(tap), '-B', '16384', '-s', '128') for tap in (IN, OUT)}
        self.sender = Sender(IN)

    def send(self, name):
        data = struct.pack('!I', self.number).ljust(self.rules.size - 42, b'\0')
        self.sender.send([ethernet(ipv4(udp(PORTS[name], data), 17))])
        self.number += 1

    def ask(self, *words):
        done = subprocess.run([TRIPCTL, '--socket', self.bench.file('socket'), *words], capture_output=True, text=True,
                              check=False, env=self.bench.environment)
        equal(done.returncode, 0, f'tripctl {words}: {done.stderr}')
        return done.stdout

    def recorded(self, tap):
        """The name and the number of each, in their order."""
        names, found = {port: name for name, port in PORTS.items()}, []
        for _, _, _, frame in read_records(self.bench.file(tap)):
            port, number = struct.unpack_from('!2xH4xI', frame, 34)
            found.append((names[port], number))
        return found

    def tripped(self):
        with open(self.bench.file('events'), encoding='utf-8') as file:
            text = file.read()
        return text.count('"line":5,') + text.count('"line":6,')

    def close(self):
        self.sender.close()
        wait_until('trips of all packets', lambda: self.tripped() == self.number)
        values = {cntr['name']: cntr['success'] for cntr in json.loads(self.ask('--json', 'list'))['counters']}
        wait_until('listening', lambda: len(self.recorded(IN)) == self.number)
        self.process.send_signal(signal.SIGTERM)
        code, _, err = self.bench.finish(self.process)
        equal((code, err), (0, ''), 'exit code and stderr')
        for listener in self.listeners.values():
            # With tripd its interface has gone.
            said = listener.communicate()[1]
            assert '\n0 packets dropped by kernel' in said, said
        with open(self.bench.file('report'), encoding='utf-8') as file:
            report = {cntr['name']: cntr['packets'] for cntr in json.load(file)['counters']}
        with open(self.bench.file('events'), encoding='utf-8') as file:
            return values, report, [json.loads(line) for line in file]


def due(value, threshold, every):
    return 0 if value < threshold else 1 if every == 0 else 1 + (value - threshold) // every


class Judge:
    """Times of the counts, from events in their order."""

    def __init__(self, rules):
        self.rules = rules
        self.now, self.times = {'a': 0, 'b': 0}, {'a': [], 'b': []}
        # Resets by rules. One may have done what several asked for, and one that tripctl asked for, too: but what has
        # been asked for behind the exchange is another, and that is not told.
        self.asked, self.fired = {'a': 0, 'b': 0}, {}

    def end(self, name, by_rule):
        n = self.now[name]
        assert self.asked[name] > 0 or not by_rule, f'{name} began anew after {n}, and nothing has reset it'
        for line, (of, kind, threshold, every) in self.rules.lines.items():
            fired = self.fired.pop(line, 0) if of == name and kind != EACH else None
            # Bytes are taken a moment later, so more of them may be there than of packets.
            if fired is not None and kind != BYTES:
                equal(fired, due(n, threshold, every), f'line {line}: trips of {n} packets, time {len(self.times[name])}')
            elif fired is not None:
                assert fired >= due(n * self.rules.size, threshold, every), (line, n, fired)
        self.times[name].append(n)
        self.now[name] = 0
        self.asked[name] -= by_rule

    def take_trip(self, trip):
        line = trip['line']
        equal((trip['result'], trip['count'], trip['ends']), (0, 1, False), f'trip of line {line}')
        if line == 11:
            self.asked['b'] += 1
            return
        name, kind, threshold, every = self.rules.lines[line]
        if kind == EACH:
            if trip['threshold'] == 1 and self.now[name] > 0:
                self.end(name, True)
            self.now[name] += 1
            equal(trip['threshold'], self.now[name], f'the next packet of {name}')
            return
        before = self.fired.get(line, 0)
        if kind != BYTES:
            equal(trip['threshold'], threshold + before * every, f'the next trip of line {line}')
        self.fired[line] = before + 1
        self.asked['a'] += kind == OTHER

    def take_reset(self, name, answer):
        told = int(re.match(rf'{name}\.packets (\d+)\n', answer).group(1))
        if told == 0 and self.now[name] > 0:
            self.end(name, True)
        equal(told, self.now[name], f'what reset {name} told')
        self.end(name, False)


def judge(rules, events, answers):
    judged, answers = Judge(rules), list(answers)
    for event in events:
        if event['event'] == 'trip':
            judged.take_trip(event)
        elif event['event'] == 'command' and event['command'].startswith('reset '):
            name, answer = answers.pop(0)
            equal((event['command'], event['result']), (f'reset {name}', 0), 'a command')
            if name in PORTS:
                judged.take_reset(name, answer)
        else:
            assert event['event'] == 'command', event
    return judged


def check_passing(rules, came, left, times):
    """Of b, by the order in which they came."""
    left, at, limit, dropped_before = set(left), 0, rules.at['b'], False
    came = [number for name, number in came if name == 'b']
    for n in times:
        for i, number in enumerate(came[at:at + n]):
            assert ('b', number) in left or i >= limit or dropped_before, f'packet {i} of {n} was dropped, before {limit}'
        at, dropped_before = at + n, n >= limit or (n == 0 and dropped_before)
    equal(at, len(came), 'packets of b')


def each_packet_is_of_one_time(bench):
    rng = random.Random(SEED)
    rules = Rules(rng)
    bed, answers, going = Bed(bench, rules), [], True

    def go_on():
        draw = random.Random(SEED + 1)
        while going:
            for _ in range(draw.randint(1, 100)):
                bed.send('b' if draw.random() < 0.4 else 'a')
            # Each has a trip, which is to be written down.
            time.sleep(0.005)

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        for _ in range(RESETS):
            name = rng.choice('aabbn')
            answers.append((name, bed.ask('reset', name)))
    finally:
        going = False
        thread.join()
    values, report, events = bed.close()
    judged = judge(rules, events, answers)
    came = bed.recorded(IN)
    for name in PORTS:
        if values[f'{name}.packets'] == 0 and judged.asked[name] > 0 and judged.now[name] > 0:
            judged.end(name, True)
        all_times = [*judged.times[name], judged.now[name]]
        equal(values[f'{name}.packets'], judged.now[name], f'{name} in the end')
        equal(sum(all_times), report[name], f'packets of all times of {name}')
        equal(report[name], sum(of == name for of, _ in came), f'packets of {name}')
        print(f'{name}: {report[name]} packets, {len(all_times)} times, the longest of {max(all_times)}')
        assert len(all_times) > RESETS // 5, 'too few show nothing'
    check_passing(rules, came, bed.recorded(OUT), [*judged.times['b'], judged.now['b']])


if sys.argv[-1] != 'inside':
    print(f'resets_live: TRIP_SEED={SEED}', flush=True)
enter_namespace('resets_live', TRIP_SEED=str(SEED))
main(each_packet_is_of_one_time)

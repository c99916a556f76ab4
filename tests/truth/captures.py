# SPDX-License-Identifier: BSD-3-Clause
"""Generated captures: what each rule counts of them, beside what tcpdump and tshark take for it.

Each capture is counted again and again: on one queue and on four, whole and in segments, with tags as
they are and stripped, with rules that count side by side (`also`) and with rules of which a packet
counts in the first one only. Packets and bytes are those of the tools every time.
"""
import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'apps'))
from frames import PLAIN, WILD, generate
from table import RULES
from tools import need_tools, replay, tcpdump, tshark, write_capture
from tripd_test import main

REPLAY = os.path.abspath(sys.argv[2])
SHOWN = 5

LAYOUTS = {
    'on one queue': (),
    'on 4 queues': ('--queues', '4', '--burst', '7'),
    'in segments of 16 bytes': ('--segment', '16', '--queues', '4', '--burst', '32'),
    'in random segments, also empty ones': ('--segment', '40', '--random', '--queues', '4', '--burst', '5'),
    'with stripped tags': ('--strip', '--queues', '4', '--burst', '64'),
    'with stripped tags, in segments': ('--strip', '--segment', '7', '--queues', '2'),
}


class Capture:
    """Frames in a file, and what the tools take of it for each rule."""

    def __init__(self, bench, name, kinds, seed, words):
        self.bench, self.seed = bench, seed
        self.frames = generate(random.Random(f'{seed} {name}'), kinds)
        self.path = bench.file(f'{name}.pcap')
        write_capture(self.path, [frame for _, frame in self.frames])
        self.tools = {'tcpdump': tcpdump(bench.path, self.path, {rule.name: rule.tcpdump for rule in RULES}),
                      'tshark, by bytes': tshark(bench.path, self.path, {rule.name: rule.bytes for rule in RULES
                                                                        if rule.bytes}, dissect=False)}
        if words:
            self.tools['tshark, by words'] = tshark(bench.path, self.path, {rule.name: rule.words for rule in RULES})
        empty = [rule.name for rule in RULES if not self.tools['tcpdump'][rule.name]]
        assert len(empty) * 10 < len(RULES), f'{name}: the capture has nothing for {empty}'

    def differences(self, rule, taken, words):
        """The first frames that only one side takes."""
        ours, _, _ = replay(REPLAY, self.bench.file('rules'), '--pcap', self.path, '--by-frame', *words)
        ours = set(ours[rule][2])
        differ = sorted(ours ^ taken.keys())
        return ''.join(f'\n    frame {i}, {self.frames[i - 1][0]}, {"here" if i in ours else "there"} only: '
                       f'{self.frames[i - 1][1].hex()}' for i in differ[:SHOWN])

    def check(self, how, rules, expected, words=()):
        """`expected` makes of a tool's {rule: {frame: bytes}} what the rules' counts have to be."""
        self.bench.file('rules', rules)
        counted, received, left = replay(REPLAY, self.bench.file('rules'), '--pcap', self.path, '--seed',
                                         str(self.seed), *words)
        assert received == len(self.frames), f'{how}: {received} of {len(self.frames)} frames received'
        wrong = []
        for tool, taken in self.tools.items():
            for rule, frames in expected(taken).items():
                packets, size, _ = counted[rule]
                truth = len(frames), sum(frames.values())
                if (packets, size) != truth:
                    wrong.append(f'{rule} {how}: {packets} packets and {size} bytes; {tool}: {truth[0]} packets and '
                                 f'{truth[1]} bytes{self.differences(rule, frames, words)}')
        assert not wrong, '\n'.join(wrong)
        return counted, left


def count_line(rule, front='', back='', drop=False):
    return f'{front}count {rule.name} port 0 {back}pattern {rule.pattern} / end' + \
        (' actions drop / end' if drop else '') + '\n'


def side_by_side(capture):
    rules = ''.join(count_line(rule, front='also ') for rule in RULES)
    for how, words in LAYOUTS.items():
        capture.check(how, rules, lambda taken: taken, words)


def one_each(capture, rng):
    """Rules by priorities, some at the same one: there, the earlier line goes first. Some drop."""
    order = rng.sample(RULES, len(RULES))
    drops = {rule.name for rule in order if rng.random() < 0.3}
    # From the lowest priority to the highest, so that the place in the file decides among equals alone.
    ranks = sorted((rng.randrange(12) for _ in order), reverse=True)
    lines = [count_line(rule, back=f'priority {rank} ', drop=rule.name in drops)
             for rule, rank in zip(order, ranks)]

    def expected(taken):
        """Needs a tool that answers for all rules."""
        if len(taken) < len(order):
            return {}
        first, seen = {}, set()
        for i in sorted(range(len(order)), key=lambda i: (ranks[i], i)):
            frames = taken[order[i].name]
            first[order[i].name] = {n: frames[n] for n in frames.keys() - seen}
            seen |= frames.keys()
        return first

    for how in ('on one queue', 'in random segments, also empty ones'):
        counted, left = capture.check(f'{how}, first match', ''.join(lines), expected, LAYOUTS[how])
        dropped = sum(counted[name][0] for name in drops)
        assert left == len(capture.frames) - dropped, f'{how}: {left} left of {len(capture.frames)}, dropped {dropped}'


SEED = int(os.environ.get('TRIP_SEED', time.time_ns()))


def plain(bench):
    need_tools()
    capture = Capture(bench, 'plain', PLAIN, SEED, words=True)
    side_by_side(capture)
    one_each(capture, random.Random(SEED))


def wild(bench):
    need_tools()
    capture = Capture(bench, 'wild', WILD, SEED, words=False)
    side_by_side(capture)
    one_each(capture, random.Random(SEED))


print(f'captures: TRIP_SEED={SEED}')
main(plain, wild)

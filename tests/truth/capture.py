# SPDX-License-Identifier: BSD-3-Clause
"""A capture, what the tools take of it for each rule, and what was counted, side by side."""
import os
import sys

from table import RULES
from tools import replay, tcpdump, tshark, write_capture

REPLAY = os.path.abspath(sys.argv[2])
SEED = int(os.environ.get('TRIP_SEED', 20110716))
SHOWN = 4
SHOWN_RULES = 12


class Capture:
    """[(kind, frame)] in a file. `words`: the frames are well-behaved, so that tshark is asked by words too.
    `snap`: no more than so many bytes of each were captured, and no more counts."""

    def __init__(self, bench, name, frames, words, snap=65535):
        self.bench, self.frames = bench, [(kind, frame[:snap]) for kind, frame in frames]
        self.path = bench.file(f'{name}.pcap')
        write_capture(self.path, [frame for _, frame in frames], snap)
        self.tools = {'tcpdump': tcpdump(bench.path, self.path, {rule.name: rule.tcpdump for rule in RULES}),
                      'tshark, by bytes': tshark(self.path, {rule.name: rule.bytes for rule in RULES
                                                             if rule.bytes}, dissect=False)}
        if words:
            self.tools['tshark, by words'] = tshark(self.path, {rule.name: rule.words for rule in RULES})
        empty = [rule.name for rule in RULES if not self.tools['tcpdump'][rule.name]]
        assert len(empty) * (10 if words else 4) < len(RULES), f'{name}: the capture has nothing for {empty}'

    def differences(self, rule, taken):
        """The first frames that only one side takes, where that can be seen frame by frame."""
        ours, _, _ = replay(REPLAY, self.bench.file('rules'), '--pcap', self.path, '--by-frame')
        ours = set(ours[rule][2])
        differ = sorted(ours ^ taken.keys())
        return ''.join(f'\n    frame {i}, {self.frames[i - 1][0]}, {"here" if i in ours else "there"} only: '
                       f'{self.frames[i - 1][1].hex()}' for i in differ[:SHOWN])

    def compare(self, how, counted, expected=lambda taken: taken):
        """`counted` is {rule: (packets, bytes, ...)} by what stands in the file `rules`; `expected` makes of
        a tool's {rule: {frame: bytes}} what it has to be."""
        wrong = []
        for tool, taken in self.tools.items():
            for rule, frames in expected(taken).items():
                packets, size = counted[rule][:2]
                truth = len(frames), sum(frames.values())
                if (packets, size) != truth:
                    shown = self.differences(rule, frames) if len(wrong) < SHOWN_RULES else ''
                    wrong.append(f'{rule} {how}: {packets} packets and {size} bytes; {tool}: {truth[0]} packets and '
                                 f'{truth[1]} bytes{shown}')
        further = f'\nand {len(wrong) - SHOWN_RULES} more' if len(wrong) > SHOWN_RULES else ''
        assert not wrong, '\n'.join(wrong[:SHOWN_RULES]) + further

    def check(self, how, rules, expected=lambda taken: taken, words=()):
        """Counts the file by these rules; returns what was counted, and how many packets were left."""
        self.bench.file('rules', rules)
        counted, received, left = replay(REPLAY, self.bench.file('rules'), '--pcap', self.path, '--seed',
                                         str(SEED), *words)
        assert received == len(self.frames), f'{how}: {received} of {len(self.frames)} frames received'
        self.compare(how, counted, expected)
        return counted, left


def count_line(rule, front='', back='', drop=False):
    return f'{front}count {rule.name} port 0 {rule.direction} {back}pattern {rule.pattern} / end' + \
        (' actions drop / end' if drop else '') + '\n'


def side_by_side():
    """Every rule, each counting whatever the others do."""
    return ''.join(count_line(rule, front='also ') for rule in RULES)

# SPDX-License-Identifier: BSD-3-Clause
"""Generated captures: what each rule counts of them, beside what tcpdump and tshark take for it.

Each capture is counted again and again: on one queue and on four, whole and in segments, with tags as
they are and stripped, with rules that count side by side (`also`) and with rules of which a packet
counts in the first one only. Packets and bytes are those of the tools every time.
"""
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'apps'))
from capture import SEED, Capture, count_line, side_by_side
from frames import PLAIN, WILD, generate
from table import RULES
from tools import need_tools
from tripd_test import main

LAYOUTS = {
    'on one queue': (),
    'on 4 queues': ('--queues', '4', '--burst', '7'),
    'in segments of 16 bytes': ('--segment', '16', '--queues', '4', '--burst', '32'),
    'in random segments, also empty ones': ('--segment', '40', '--random', '--queues', '4', '--burst', '5'),
    'with stripped tags': ('--strip', '--queues', '4', '--burst', '64'),
    'with stripped tags, in segments': ('--strip', '--segment', '7', '--queues', '2'),
}


def any_layout(capture):
    for how, words in LAYOUTS.items():
        capture.check(how, side_by_side(), words=words)


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


def plain(bench):
    need_tools()
    capture = Capture(bench, 'plain', generate(random.Random(f'plain {SEED}'), PLAIN), words=True)
    any_layout(capture)
    one_each(capture, random.Random(SEED))


def wild(bench):
    need_tools()
    capture = Capture(bench, 'wild', generate(random.Random(f'wild {SEED}'), WILD), words=False)
    any_layout(capture)
    one_each(capture, random.Random(SEED))


def snapped(bench):
    """Frames of which a part was captured: what is not there does not count, and matches nothing."""
    need_tools()
    frames = generate(random.Random(f'snapped {SEED}'), PLAIN)
    for snap in 64, 96:
        capture = Capture(bench, f'snap{snap}', frames, words=False, snap=snap)
        for how in 'on one queue', 'in random segments, also empty ones':
            capture.check(f'{how}, of {snap} bytes', side_by_side(), words=LAYOUTS[how])


print(f'captures: TRIP_SEED={SEED}')
main(plain, wild, snapped)

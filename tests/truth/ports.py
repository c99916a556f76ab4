# SPDX-License-Identifier: BSD-3-Clause
"""The generated captures through ports: net_pcap, in tripd and on four Rx queues; jumbo frames arrive in
as many mbufs as they need. Each rule's packets and bytes are what tcpdump and tshark take of the file.
"""
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'apps'))
from capture import REPLAY, SEED, Capture, side_by_side
from frames import PLAIN, WILD, generate
from tools import need_tools, replay, write_capture
from tripd_test import main

QUEUES = 4


def through_tripd(bench, capture):
    report, _ = bench.play([frame for _, frame in capture.frames], side_by_side())
    capture.compare('by tripd', {c['name']: (c['packets'], c['bytes']) for c in report['counters']})


def on_queues(bench, capture):
    """By bursts that are handed over, in mbufs of a usual size; and by Rx callbacks, in tiny ones."""
    device = 'net_pcap0'
    for queue in range(QUEUES):
        path = bench.file(f'q{queue}.pcap')
        write_capture(path, [frame for _, frame in capture.frames[queue::QUEUES]])
        device += f',rx_pcap={path}'
    for how, words in (('by bursts', ()), ('by callbacks', ('--callback', '--room', '64'))):
        counted, received, _ = replay(REPLAY, bench.file('rules', side_by_side()), '--vdev', device, '--queues',
                                      str(QUEUES), '--frames', str(len(capture.frames)), *words)
        assert received == len(capture.frames), f'{how}: {received} of {len(capture.frames)} frames received'
        capture.compare(f'on {QUEUES} queues, {how}', counted)


def plain(bench):
    need_tools()
    capture = Capture(bench, 'plain', generate(random.Random(f'plain ports {SEED}'), PLAIN), words=True)
    through_tripd(bench, capture)
    on_queues(bench, capture)


def wild(bench):
    need_tools()
    capture = Capture(bench, 'wild', generate(random.Random(f'wild ports {SEED}'), WILD), words=False)
    through_tripd(bench, capture)
    on_queues(bench, capture)


print(f'ports: TRIP_SEED={SEED}')
main(plain, wild)

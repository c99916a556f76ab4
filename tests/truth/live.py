# SPDX-License-Identifier: BSD-3-Clause
"""The generated captures live: sent into a tap, from which tripd takes them on one Rx queue and replay on
four, while tcpdump listens on it. What tcpdump has heard is what was sent, and each rule's packets and
bytes are what tcpdump and tshark take of that.

Runs in a network namespace of its own, where nobody else sends.
"""
import os
import random
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'apps'))
from capture import REPLAY, SEED, Capture, side_by_side
from frames import PLAIN, WILD, generate
from taps import Sender, await_tap, enter_namespace, listen
from tools import HANG, need_tools, parse_replay, read_frames
from tripd_test import json, main, wait_until

TAP = 'truth0'
QUEUES = 4
# More than the largest frame has behind its Ethernet header.
MTU = 9200
# tcpdump's buffer has room for every frame of a run, as KiB and bytes of each.
BUFFER, SNAP = '65536', '9300'
# The least that the kernel sends.
ETHERNET_HEADER = 14


def listen_and_send(bench, frames):
    """tcpdump hears these, in their order, while they are sent."""
    path = bench.file('live.pcap')
    listener = listen(bench, TAP, path, '-B', BUFFER, '-s', SNAP)
    sender = Sender(TAP)
    sender.send(frames)
    sender.close()
    wait_until('listening', lambda: listener.poll() is not None or len(read_frames(path)) >= len(frames))
    listener.send_signal(signal.SIGINT)
    said = listener.communicate(timeout=HANG)[1]
    heard = read_frames(path)
    assert heard == frames, f'{len(frames)} frames were sent, tcpdump has heard {len(heard)}, or others: {said}'
    assert re.search(r'^0 packets dropped by kernel', said, re.M), said


def into_tripd(bench, capture):
    process = bench.start(*bench.eal(f'net_tap0,iface={TAP}'), '--rules', bench.file('rules', side_by_side()),
                          '--report', bench.file('report.json'))
    await_tap(process, TAP, MTU)
    # Until the port runs the tap has no queue, and the kernel drops what is sent.
    bench.wait_for_line(process, '0 flows are counted in hardware')
    listen_and_send(bench, [frame for _, frame in capture.frames])
    process.terminate()
    code, _, err = bench.finish(process)
    assert code == 0, f'tripd: exit code {code}: {err}'
    with open(bench.file('report.json'), encoding='utf-8') as file:
        counters = json.load(file)['counters']
    capture.compare('live, by tripd', {c['name']: (c['packets'], c['bytes']) for c in counters})


def into_queues(bench, capture):
    process = bench.track(subprocess.Popen(
        [REPLAY, '--rules', bench.file('rules', side_by_side()), '--vdev', f'net_tap0,iface={TAP}', '--queues',
         str(QUEUES), '--frames', str(len(capture.frames)), '--room', '512', '--callback'],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    await_tap(process, TAP, MTU)
    assert process.stdout.readline() == 'receiving\n', process.stderr.read()
    listen_and_send(bench, [frame for _, frame in capture.frames])
    out, err = process.communicate(timeout=HANG)
    assert process.returncode == 0, f'replay: {err}'
    counted, received, _ = parse_replay(out)
    assert received == len(capture.frames), f'{received} of {len(capture.frames)} frames received'
    capture.compare(f'live, on {QUEUES} queues', counted)


def plain(bench):
    need_tools()
    capture = Capture(bench, 'plain', generate(random.Random(f'plain live {SEED}'), PLAIN), words=True)
    into_tripd(bench, capture)
    into_queues(bench, capture)


def wild(bench):
    """Without those that are too short to be sent at all."""
    need_tools()
    frames = generate(random.Random(f'wild live {SEED}'), WILD)
    capture = Capture(bench, 'wild', [(kind, frame) for kind, frame in frames if len(frame) >= ETHERNET_HEADER],
                      words=False)
    into_tripd(bench, capture)
    into_queues(bench, capture)


if sys.argv[-1] != 'inside':
    print(f'live: TRIP_SEED={SEED}', flush=True)
enter_namespace('live', TRIP_SEED=str(SEED))
main(plain, wild)

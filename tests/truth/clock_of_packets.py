# SPDX-License-Identifier: BSD-3-Clause
"""Captures, runs of tripd by the clock of packets, and what they tell."""
import datetime
import gzip
import json
import os
import struct

from program_test import equal

EPOCH = datetime.datetime(1970, 1, 1)
SECOND = 10**9
CAPTURES = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'captures')


def read_recorded(name):
    """[(time, frame)] of a recorded capture, from its first one on: frames have as many bytes as they had."""
    with gzip.open(os.path.join(CAPTURES, f'{name}.pcap.gz')) as file:
        data = file.read()
    assert struct.unpack_from('<I', data) == (0xa1b23c4d,), name
    at, frames = 24, []
    while at < len(data):
        seconds, ns, captured, length = struct.unpack_from('<IIII', data, at)
        frames.append((seconds * SECOND + ns, data[at + 16:at + 16 + captured].ljust(length, b'\0')))
        at += 16 + captured
    return [(ns - frames[0][0] + 1000, frame) for ns, frame in frames]


def ns_of(text):
    """Of RFC 3339, since the epoch."""
    when, fraction = text[:-1].split('.')
    return int((datetime.datetime.strptime(when, '%Y-%m-%dT%H:%M:%S') - EPOCH).total_seconds()) * SECOND + int(fraction)


def run_by_clock(bench, files, rules, *words, vdevs=()):
    """Plays files, one for each queue. What happened, but for the times at which that was noted."""
    events = bench.file('events')
    if os.path.exists(events):
        os.unlink(events)
    code, _, err = bench.run(
        *bench.eal('net_pcap0' + ''.join(f',rx_pcap={file}' for file in files), *vdevs), '--rules', bench.file('rules', rules),
        '--clock', 'packet', '--until-idle', '0.2', '--events', events, *words, env={**bench.environment, 'TZ': 'UTC'})
    # A warning has its line of the rules and a caret.
    equal((code, err.count('\n')), (0, 3 * err.count(': warning: ')), f'exit code and stderr: {err}')
    with open(events, encoding='utf-8') as file:
        lines = [json.loads(line) for line in file]
    for line in lines:
        line.pop('latency_ns', None)
        line.pop('time', None)
        if 'packet_time' in line:
            line['packet_time'] = ns_of(line['packet_time'])
    return lines


def trips_by_clock(bench, files, rules):
    return [(trip['line'], trip['packet_time'], trip['value'], trip['ends']) for trip in run_by_clock(bench, files, rules)]

# SPDX-License-Identifier: BSD-3-Clause
"""The generated captures live: sent into a tap, from which tripd takes them on one Rx queue and replay on
four, while tcpdump listens on it. What tcpdump has heard is what was sent, and each rule's packets and
bytes are what tcpdump and tshark take of that.

Runs in a network namespace of its own, where nobody else sends.
"""
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'apps'))
from capture import REPLAY, SEED, Capture, side_by_side
from frames import PLAIN, WILD, generate
from tools import HANG, need_tools, parse_replay, read_frames
from tripd_test import SKIP, json, main, wait_until

TAP = 'truth0'
QUEUES = 4
# More than the largest frame has behind its Ethernet header.
MTU = 9200
# tcpdump's buffer has room for every frame of a run, as KiB and bytes of each.
BUFFER, SNAP = '65536', '9300'
# How far the sender may be ahead of the reader; the kernel queues 1000.
AHEAD = 200
# The least that the kernel sends.
ETHERNET_HEADER = 14


def ip(*words):
    subprocess.run(['ip', *words], check=True, capture_output=True)


def sent_by_kernel():
    """Packets that a reader has taken out of the tap, and those that were dropped before."""
    with open('/proc/self/net/dev', encoding='ascii') as file:
        for line in file:
            if line.strip().startswith(TAP + ':'):
                numbers = [int(word) for word in line.split(':')[1].split()]
                return numbers[9], numbers[11]
    raise AssertionError(f'{TAP} is gone')


def await_tap(process):
    def there():
        assert process.poll() is None, f'ended before there was a tap: {process.stderr.read()}'
        return os.path.exists(f'/proc/sys/net/ipv6/conf/{TAP}')

    wait_until('the tap', there)
    # Or the kernel would send packets of its own.
    with open(f'/proc/sys/net/ipv6/conf/{TAP}/disable_ipv6', 'w', encoding='ascii') as file:
        file.write('1')
    ip('link', 'set', TAP, 'mtu', str(MTU), 'arp', 'off', 'up')


def send(frames):
    """All frames, none dropped: waits whenever the reader lags behind."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as raw:
        raw.bind((TAP, 0))
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 24)
        for i, frame in enumerate(frames):
            raw.send(frame)
            if i % 32 == 31:
                wait_until('reading', lambda: sum(sent_by_kernel()) >= i - AHEAD)
    wait_until('reading', lambda: sum(sent_by_kernel()) >= len(frames))
    read, dropped = sent_by_kernel()
    assert (read, dropped) == (len(frames), 0), f'{len(frames)} sent, {read} read, {dropped} dropped by the kernel'


def listen_and_send(bench, frames):
    """tcpdump hears these, in their order, while they are sent."""
    path = bench.file('live.pcap')
    stay = ['-Z', 'root'] if os.getuid() == 0 else []
    listener = bench.track(subprocess.Popen(
        ['tcpdump', '-i', TAP, '-w', path, '-U', '-B', BUFFER, '-s', SNAP, '--immediate-mode', *stay],
        stderr=subprocess.PIPE, text=True))
    for line in listener.stderr:
        if 'listening on' in line:
            break
    send(frames)
    wait_until('listening', lambda: listener.poll() is not None or len(read_frames(path)) >= len(frames))
    listener.send_signal(signal.SIGINT)
    said = listener.communicate(timeout=HANG)[1]
    heard = read_frames(path)
    assert heard == frames, f'{len(frames)} frames were sent, tcpdump has heard {len(heard)}, or others: {said}'
    assert re.search(r'^0 packets dropped by kernel', said, re.M), said


def into_tripd(bench, capture):
    process = bench.start(*bench.eal(f'net_tap0,iface={TAP}'), '--rules', bench.file('rules', side_by_side()),
                          '--report', bench.file('report.json'))
    await_tap(process)
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
    await_tap(process)
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


def enter_namespace():
    """Once more in a network namespace, as root of a user namespace where this is not root."""
    if not os.access('/dev/net/tun', os.R_OK | os.W_OK):
        print('live: a tap takes /dev/net/tun')
        sys.exit(SKIP)
    words = ['unshare', '--net'] + ([] if os.getuid() == 0 else ['--map-root-user'])
    if shutil.which('unshare') is None or subprocess.run([*words, 'true'], capture_output=True, check=False).returncode:
        print('live: a tap takes a network namespace, and "' + ' '.join(words) + '" is not permitted')
        sys.exit(SKIP)
    os.environ['TRIP_SEED'] = str(SEED)
    os.execvp(words[0], [*words, sys.executable, os.path.abspath(__file__), *sys.argv[1:], 'inside'])


if sys.argv[-1] != 'inside':
    print(f'live: TRIP_SEED={SEED}', flush=True)
    enter_namespace()
main(plain, wild)

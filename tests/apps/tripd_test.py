# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of tripd share: captures, rules files, runs of tripd on a port that reads a capture.

Every run has a file prefix, a runtime directory and memory of its own (--no-huge), so that tests run
beside each other and without privilege.
"""
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

from program_test import HANG, SKIP, Skip, environment, equal, pages_of, remove_pages, run_tests, wait_until

TRIPD = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else 'tripd'


def cpus():
    """Three processors for control, forwarding and polling lcore; the same one again where there are
    fewer."""
    have = sorted(os.sched_getaffinity(0))
    return {1: have * 3, 2: [have[0], have[0], have[-1]]}.get(len(have), have[:3])


def mac(number):
    return bytes([2, 0, 0, 0, number >> 8, number & 255])


def checksum(data):
    data += b'\0' * (len(data) % 2)
    total = sum(struct.unpack(f'!{len(data) // 2}H', data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def ethernet(payload, kind=0x0800, vlans=(), src=1, dst=2):
    tags = b''.join(struct.pack('!HH', tpid, vid) for tpid, vid in vlans)
    return mac(dst) + mac(src) + tags + struct.pack('!H', kind) + payload


def ipv4(payload, protocol, src='10.0.0.1', dst='10.0.0.2', fragment=0, options=b''):
    def address(text):
        return bytes(int(part) for part in text.split('.'))

    words = 5 + len(options) // 4
    head = struct.pack('!BBHHHBBH', 0x40 | words, 0, words * 4 + len(payload), 1, fragment, 64,
                       protocol, 0) + address(src) + address(dst) + options
    return head[:10] + struct.pack('!H', checksum(head)) + head[12:] + payload


def ipv6(payload, protocol, src=1, dst=2):
    return struct.pack('!IHBB', 6 << 28, len(payload), protocol, 64) + \
        b'\x20\x01\x0d\xb8' + bytes(10) + struct.pack('!H', src) + \
        b'\x20\x01\x0d\xb8' + bytes(10) + struct.pack('!H', dst) + payload


def udp(dst, payload=b'', src=40000):
    return struct.pack('!HHHH', src, dst, 8 + len(payload), 0) + payload


def tcp(dst, payload=b'', src=40000, flags=0x10):
    return struct.pack('!HHIIBBHHH', src, dst, 1, 1, 0x50, flags, 1000, 0, 0) + payload


def icmp(kind, payload=b'', code=0):
    head = struct.pack('!BBHHH', kind, code, 0, 1, 1) + payload
    return head[:2] + struct.pack('!H', checksum(head)) + head[4:]


def write_pcap(path, frames, seconds=None):
    """A microsecond apart, or at these seconds."""
    with open(path, 'wb') as file:
        file.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for i, frame in enumerate(frames):
            at = (seconds[i], 0) if seconds else (1 + i // 1000000, i % 1000000)
            file.write(struct.pack('<IIII', *at, len(frame), len(frame)))
            file.write(frame)


def read_pcap(path):
    with open(path, 'rb') as file:
        data = file.read()
    # With microseconds or, as net_pcap writes it, nanoseconds.
    assert data[:4] in (b'\xd4\xc3\xb2\xa1', b'\x4d\x3c\xb2\xa1'), f'{path}: not a pcap of this byte order'
    frames, at = [], 24
    while at < len(data):
        length = struct.unpack_from('<I', data, at + 8)[0]
        frames.append(data[at + 16:at + 16 + length])
        at += 16 + length
    return frames


def beside_vain(err):
    """What is said on stderr beside warnings of rules that need a partner: a port that reads a capture has none."""
    return re.sub(r'^tripd: warning: line \d+ of the rules: .* since port \d+ has no partner and .*\n', '', err, flags=re.M)


class Bench:
    """A directory for a test's files, and runs of tripd in it."""

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix='tripd-test-')
        self.environment = environment(RUNTIME_DIRECTORY=self.path)
        self.environment.pop('NO_COLOR', None)
        self.prefix = f'tripd-test-{os.getpid()}'
        self.running = []

    def close(self):
        for process in self.running:
            if process.poll() is None:
                process.kill()
                process.wait()
        shutil.rmtree(self.path, ignore_errors=True)

    def file(self, name, text=None):
        path = os.path.join(self.path, name)
        if text is not None:
            with open(path, 'w', encoding='utf-8') as file:
                file.write(text)
        return path

    def pcap(self, name, frames, seconds=None):
        path = self.file(name)
        write_pcap(path, frames, seconds)
        return path

    def eal(self, *vdevs, lcores=3, memory=('--no-huge', '-m', '96')):
        on = cpus()
        words = ['--lcores', ','.join(f'{i}@{on[i]}' for i in range(lcores)), '--no-pci',
                 '--file-prefix', self.prefix, *memory]
        for vdev in vdevs:
            words += ['--vdev', vdev]
        return words + ['--']

    def start(self, *words, front=(), **options):
        """Starts tripd, behind the words of another command where some are given."""
        options = {'stdin': subprocess.DEVNULL, 'stdout': subprocess.PIPE,
                   'stderr': subprocess.PIPE, 'text': True, 'env': self.environment, **options}
        return self.track(subprocess.Popen([*front, TRIPD, *words], **options))

    def track(self, process):
        """A process that does not outlive the test."""
        self.running.append(process)
        return process

    def finish(self, process):
        out, err = process.communicate(timeout=HANG)
        return process.returncode, out, err

    def run(self, *words, **options):
        return self.finish(self.start(*words, **options))

    def play(self, frames, rules, *words, lcores=3, expect=0, warnings=0, said=None):
        """Plays frames on port 0 until they are through; returns the report and stdout. On stderr
        is just that, or only so many warnings."""
        report = self.file('report.json')
        if os.path.exists(report):
            os.unlink(report)
        code, out, err = self.run(
            *self.eal('net_pcap0,rx_pcap=' + self.pcap('in.pcap', frames), lcores=lcores),
            '--rules', self.file('rules', rules), '--report', report, '--until-idle', '0.3', *words)
        assert code == expect, f'exit code {code}, not {expect}: {err}'
        err = beside_vain(err)
        # Each has its line of the rules and a caret.
        assert err == said or (said is None and (err.count(': warning: '), err.count('\n')) == (warnings, 3 * warnings)), \
            f'said on stderr, with {warnings} warnings expected: {err}'
        with open(report, encoding='utf-8') as file:
            return json.load(file), out

    def wait_for_line(self, process, start):
        """Reads stdout until a line starts so: the sign, not the time, that a run has come this
        far."""
        for line in process.stdout:
            if line.startswith(start):
                return line
        raise AssertionError(f'stdout ended before a line "{start}": {process.stderr.read()}')


def main(*tests):
    run_tests(Bench, *tests)


__all__ = [name for name in dir() if not name.startswith('_')] + ['signal']

# SPDX-License-Identifier: BSD-3-Clause
"""A tap in a network namespace of its own, where nobody else sends: frames go into it by a packet socket, and
tcpdump hears them."""
import os
import shutil
import socket
import subprocess
import sys

from program_test import SKIP, wait_until

# How far the sender may be ahead of the reader; the kernel queues 1000.
AHEAD = 200


def ip(*words):
    subprocess.run(['ip', *words], check=True, capture_output=True)


def sent_by_kernel(tap):
    """Packets that a reader has taken out of the tap, and those that were dropped before."""
    with open('/proc/self/net/dev', encoding='ascii') as file:
        for line in file:
            if line.strip().startswith(tap + ':'):
                numbers = [int(word) for word in line.split(':')[1].split()]
                return numbers[9], numbers[11]
    raise AssertionError(f'{tap} is gone')


def await_tap(process, tap, mtu):
    def there():
        assert process.poll() is None, f'ended before there was a tap: {process.stderr.read()}'
        return os.path.exists(f'/proc/sys/net/ipv6/conf/{tap}')

    wait_until('the tap', there)
    # Or the kernel would send packets of its own.
    with open(f'/proc/sys/net/ipv6/conf/{tap}/disable_ipv6', 'w', encoding='ascii') as file:
        file.write('1')
    ip('link', 'set', tap, 'mtu', str(mtu), 'arp', 'off', 'up')


class Sender:
    """Sends frames into a tap, and waits whenever the reader lags behind, so that none is dropped."""

    def __init__(self, tap):
        self.tap, self.sent = tap, 0
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        self.socket.bind((tap, 0))
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 24)

    def send(self, frames):
        for frame in frames:
            self.socket.send(frame)
            self.sent += 1
            if self.sent % 32 == 0:
                wait_until('reading', lambda: sum(sent_by_kernel(self.tap)) >= self.sent - AHEAD)

    def close(self):
        """All of it has been read."""
        wait_until('reading', lambda: sum(sent_by_kernel(self.tap)) >= self.sent)
        read, dropped = sent_by_kernel(self.tap)
        assert (read, dropped) == (self.sent, 0), f'{self.sent} sent, {read} read, {dropped} dropped by the kernel'
        self.socket.close()


def listen(bench, tap, path, *words):
    """tcpdump, which is listening."""
    stay = ['-Z', 'root'] if os.getuid() == 0 else []
    listener = bench.track(subprocess.Popen(['tcpdump', '-i', tap, '-w', path, '-U', '--immediate-mode', *words, *stay],
                                            stderr=subprocess.PIPE, text=True))
    for line in listener.stderr:
        if 'listening on' in line:
            break
    return listener


def enter_namespace(name, **environment):
    """Once more in a network namespace, as root of a user namespace where this is not root: returns there."""
    if sys.argv[-1] == 'inside':
        return
    if not os.access('/dev/net/tun', os.R_OK | os.W_OK):
        print(f'{name}: a tap takes /dev/net/tun')
        sys.exit(SKIP)
    words = ['unshare', '--net'] + ([] if os.getuid() == 0 else ['--map-root-user'])
    if shutil.which('unshare') is None or subprocess.run([*words, 'true'], capture_output=True, check=False).returncode:
        print(f'{name}: a tap takes a network namespace, and "' + ' '.join(words) + '" is not permitted')
        sys.exit(SKIP)
    os.environ.update(environment)
    os.execvp(words[0], [*words, sys.executable, os.path.abspath(sys.argv[0]), *sys.argv[1:], 'inside'])

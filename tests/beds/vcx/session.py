#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""dpdk-testpmd under vcx-run: rules are made and read at its prompt, the device is driven by vcx-ctl from
another process, and both tell the same numbers. Then two of them share a port."""
import os
import pathlib
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import time

SKIP = 77
ENGINES = {'verbs': ('dv_flow_en=0', ''), 'bulk': ('dv_flow_en=1', ''), 'fallback': ('dv_flow_en=1', 'bulk=0')}
TESTPMD = ['dpdk-testpmd', '--no-telemetry', '--lcores=0@0,1@0-1', '--log-level=error']


def skip(reason):
    print(f'skipped: {reason}')
    sys.exit(SKIP)


class Testpmd:
    """A testpmd at its prompt. It is read until a pattern comes, and has 60 seconds for it."""

    def __init__(self, command, **environment):
        self.said = ''
        self.ours, theirs = pty.openpty()  # to a terminal it writes line by line
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=theirs, stderr=subprocess.STDOUT,
                                        env=dict(os.environ, **environment))
        os.close(theirs)

    def expect(self, pattern):
        while True:
            found = re.search(pattern, self.said)
            if found:
                self.said = self.said[found.end():]
                return found
            ready, _, _ = select.select([self.ours], [], [], 60)
            try:
                text = os.read(self.ours, 65536).decode(errors='replace') if ready else ''
            except OSError:  # it has ended
                text = ''
            if not text:
                raise AssertionError(f'testpmd did not say {pattern!r}, but {self.said!r}')
            self.said += text

    def tell(self, line):
        self.process.stdin.write(line.encode() + b'\n')
        self.process.stdin.flush()

    def quit(self):
        self.tell('quit')
        self.expect(r'Bye\.\.\.')
        assert self.process.wait(60) == 0

    def stop(self):
        """In any state; vcx-run hands the signal on to its program."""
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()

    def query(self, port, rule):
        self.tell(f'flow query {port} {rule} count')
        found = self.expect(r'hits: (\d+)\s+bytes: (\d+)')
        return int(found.group(1)), int(found.group(2))


class Device:
    def __init__(self, ctl, directory):
        self.command = [ctl, '--dir', directory]

    def run(self, port, *words):
        return subprocess.run([*self.command, '--port', str(port), *map(str, words)], text=True,
                              capture_output=True, check=False)

    def good(self, port, *words):
        ran = self.run(port, *words)
        assert ran.returncode == 0, f'vcx-ctl {words}: {ran.stderr}'
        return ran.stdout

    def fates(self, port, *words):
        pairs = re.findall(r'(\w+) (\d+)', self.good(port, *words).splitlines()[0])
        return {name: int(value) for name, value in pairs}

    def stat(self, port, name):
        return int(re.search(rf'\b{name} (\d+)', self.good(port, 'stats')).group(1))


def write_pcap(path, packets):
    with open(path, 'wb') as file:
        file.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for packet in packets:
            file.write(struct.pack('<IIII', 0, 0, len(packet), len(packet)) + packet)


def told(testpmd, device, port, rule, packets, length, bulk):
    """In bulk the answer may be that of a bulk before; otherwise the first is right."""
    first = device.stat(port, 'query-bulk')
    while (got := testpmd.query(port, rule)) != (packets, packets * length):
        asked = device.stat(port, 'query-bulk')
        assert bulk and asked < first + 4, f'told {got} of {packets} packets after {asked - first} bulks'
        time.sleep(0.05)


def sent(device, port, packets):
    """The device looks for packets to send each millisecond."""
    for _ in range(1500):
        if device.stat(port, 'sent') == packets:
            return
        time.sleep(0.01)
    raise AssertionError(f'sent {device.stat(port, "sent")} of {packets} packets')


def session(testpmd, device, directory, bulk):
    testpmd.expect('testpmd> ')
    for port in range(2):
        rule = f'flow create {port} ingress pattern eth / ipv4 / udp dst is 53 / end actions count / '
        testpmd.tell(rule + ('queue index 1 / end' if port == 0 else 'drop / end'))
        testpmd.expect('Flow rule #0 created')

    # A count of the rule's own packets; other traffic takes the default rules.
    assert device.fates(1, 'udp', 53, 1000, 10, 100)['dropped'] == 1000
    assert device.fates(1, 'udp', 54, 10)['delivered'] == 10
    told(testpmd, device, 1, 0, 1000, 100, bulk)

    # Forwarded packets leave by the other port, as they came.
    device.good(1, 'tx', 'capture')
    testpmd.tell('start')
    testpmd.expect('testpmd> ')
    write_pcap(f'{directory}/three.pcap', [bytes([2, 0, 0, 0, 0, 1] + [2, 0, 0, 0, 0, i, 8, 0] + [0] * 50) for i in range(3)])
    assert device.fates(0, 'pcap', f'{directory}/three.pcap')['delivered'] == 3
    sent(device, 1, 3)
    for i in range(3):
        assert device.good(1, 'read').startswith(f'02000000000102000000{i:04x}0800')
    assert device.fates(0, 'udp', 53, 200, 20, 200)['delivered'] == 200
    told(testpmd, device, 0, 0, 200, 200, bulk)
    sent(device, 1, 203)
    testpmd.tell('stop')
    testpmd.expect(r'Done\.')

    # Failures reach the prompt.
    device.good(1, 'fail', 'rule-create', 0, 1, 28)
    testpmd.tell('flow create 1 ingress pattern eth / ipv4 / udp dst is 99 / end actions count / drop / end')
    testpmd.expect('No space left on device')
    assert device.run(2, 'stats').returncode == 1
    testpmd.quit()


def shared(primary, secondary, device):
    """The primary process makes a rule, the secondary one forwards what it lets through."""
    primary.expect('testpmd> ')
    primary.tell('flow create 0 ingress pattern eth / ipv4 / udp dst is 53 / end actions count / queue index 1 / end')
    primary.expect('Flow rule #0 created')
    secondary.expect('testpmd> ')
    secondary.tell('start')
    secondary.expect('testpmd> ')
    assert device.fates(0, 'udp', 53, 100, 20, 200)['delivered'] == 100
    sent(device, 0, 100)
    secondary.tell('stop')
    assert secondary.expect(r'RX-packets: (\d+)').group(1) == '100'
    secondary.expect(r'Done\.')
    assert primary.query(0, 0) == (100, 20000)
    secondary.quit()
    primary.quit()


def hugepages_free():
    with open('/proc/meminfo', encoding='ascii') as file:
        numbers = {line.split()[0]: int(line.split()[1]) for line in file}
    return numbers['HugePages_Free:'] * numbers['Hugepagesize:'] // 1024


def run_session(vcx_run, ctl, directory, engine):
    devargs, options = ENGINES[engine]
    ports = [word for port in range(2) for word in ('-a', f'0000:7f:{port:02x}.0,{devargs}')]
    testpmd = Testpmd(vcx_run + ['--ports', '2', *TESTPMD, '--no-huge', '-m', '512', '--no-shconf', *ports,
                                 '--', '-i', '--total-num-mbufs=4096', '--rxq=2', '--txq=2', '--no-flush-rx'],
                      VCX_OPTIONS=options)
    try:
        session(testpmd, Device(ctl, f'{directory}/device'), directory, engine == 'bulk')
    finally:
        testpmd.stop()


def run_shared(vcx_run, ctl, directory, library):
    """In verbs; queues of the DV engine are in the same memory."""
    if hugepages_free() < 128:
        skip('processes share memory by hugepages, and there are not 128 MB free')
    both = [f'--file-prefix=vcx{os.getpid()}', '-a', '0000:7f:00.0,dv_flow_en=0']
    words = ['--', '-i', '--total-num-mbufs=2048', '--rxq=2', '--txq=2', '--no-flush-rx', '--num-procs=2']
    started = [Testpmd(vcx_run + TESTPMD + both + ['-m', '128', '--proc-type=primary'] + words + ['--proc-id=0'])]
    try:
        started[0].expect('testpmd> ')
        started[0].said = 'testpmd> '
        started.append(Testpmd(TESTPMD + both + ['--proc-type=secondary'] + words + ['--proc-id=1'],
                               VCX_DIR=f'{directory}/device', LD_PRELOAD=library))
        shared(*started, Device(ctl, f'{directory}/device'))
    finally:
        for testpmd in reversed(started):
            testpmd.stop()


def main():
    runner, ctl, library = map(os.path.abspath, sys.argv[1:4])
    engine = sys.argv[4]
    if os.geteuid() != 0 or not os.path.exists('/dev/net/tun'):
        skip('a tap needs root and /dev/net/tun')
    if subprocess.run(['which', 'dpdk-testpmd'], stdout=subprocess.DEVNULL, check=False).returncode != 0:
        skip('there is no dpdk-testpmd')
    if b'__asan' in subprocess.run(['nm', '-D', library], capture_output=True, check=True).stdout:
        skip('a library with AddressSanitizer cannot be preloaded into a program without')
    build = str(pathlib.Path(library).parents[3])
    with tempfile.TemporaryDirectory(prefix='vcx-session.') as directory:
        device = f'{directory}/device'
        vcx_run = [runner, '--build', build, '--dir', device]
        if engine == 'shared':
            run_shared(vcx_run, ctl, directory, library)
        else:
            run_session(vcx_run, ctl, directory, engine)
        assert not os.path.exists(device), 'the directory of the device is still there'
    print('both tell the same')


if __name__ == '__main__':
    main()

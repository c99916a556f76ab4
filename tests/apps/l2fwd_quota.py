# SPDX-License-Identifier: BSD-3-Clause
"""DPDK's l2fwd with a quota: usage: l2fwd_quota.py BUILD PATCH [COMPILER FLAG ...]

apps/examples/l2fwd_quota.patch, at most 20 changed lines, is applied to the l2fwd that is packaged with
the installed DPDK, which is built against an installed Tripline as a stranger would do it. Beside the
l2fwd that DPDK ships it forwards the same capture: the quota of UDP packets trips, what follows of them
is dropped, and nothing else is different.
"""
import os
import shlex
import shutil
import signal
import subprocess
import sys

from tripd_test import *

BUILD, PATCH, FLAGS = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3:]
CHANGED_MOST = 20
QUOTA, BURST = 1000, 32
FRAMES = 4000


def run(*words, **options):
    done = subprocess.run(words, capture_output=True, text=True, **options)
    assert done.returncode == 0, f'{shlex.join(words)}: exit code {done.returncode}\n{done.stdout}{done.stderr}'
    return done.stdout


def packaged_source():
    prefix = run('pkg-config', '--variable=prefix', 'libdpdk').strip()
    source = os.path.join(prefix, 'share/dpdk/examples/l2fwd/main.c')
    if not os.path.exists(source):
        raise Skip(f'the installed DPDK comes without {source}: apt-get install dpdk-doc')
    if shutil.which('patch') is None:
        raise Skip('patch is not installed: apt-get install patch')
    return source


def install(bench):
    """Installs the built Tripline below the bench; returns an environment that finds it."""
    root = bench.file('root')
    run('meson', 'install', '-C', BUILD, '--no-rebuild', '--destdir', root)
    found = [os.path.join(folder, 'tripline.pc') for folder, _, names in os.walk(root) if 'tripline.pc' in names]
    equal(len(found), 1, 'installed tripline.pc')
    with open(found[0], encoding='utf-8') as file:
        lines = [f'prefix={root}{line[len("prefix="):]}' if line.startswith('prefix=') else line for line in file]
    with open(found[0], 'w', encoding='utf-8') as file:
        file.writelines(lines)
    environment = dict(bench.environment, PKG_CONFIG_PATH=os.path.dirname(found[0]))
    environment['LD_LIBRARY_PATH'] = run('pkg-config', '--variable=libdir', 'tripline', env=environment).strip()
    # l2fwd ends without giving back what it has.
    environment['ASAN_OPTIONS'] = 'detect_leaks=0'
    return environment


def compile_l2fwd(bench, source, library, environment):
    program = os.path.splitext(source)[0]
    flags = run('pkg-config', '--cflags', '--libs', *library, 'libdpdk', env=environment).split()
    run(*shlex.split(os.environ.get('CC', 'cc')), '-O2', '-Wall', '-Werror', '-DALLOW_EXPERIMENTAL_API', *FLAGS, '-o', program,
        source, *flags, env=environment)
    return program


def forward(bench, program, environment, frames):
    """Forwards frames from port 0 to port 1 until the last one, which none drops, is through."""
    out = program + '.pcap'
    eal = bench.eal('net_pcap0,rx_pcap=' + bench.pcap('in.pcap', frames), f'net_pcap1,tx_pcap={out}', lcores=1)
    process = subprocess.Popen([program, *eal, '-p', '3', '-q', '2', '-T', '0', '--no-mac-updating'], env=environment,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    bench.running.append(process)

    def is_through():
        assert process.poll() is None, f'{program} ended: {process.communicate()}'
        if not os.path.exists(out):
            return False
        with open(out, 'rb') as file:
            return file.read().endswith(frames[-1])

    wait_until('the last frame', is_through)
    process.send_signal(signal.SIGINT)
    said, err = process.communicate(timeout=HANG)
    equal(process.returncode, 0, f'exit code; stderr: {err}')
    return read_pcap(out), said


def make_frames():
    """UDP and other packets by turns, each different; many more UDP ones than the quota."""
    def number(i):
        return i.to_bytes(4, 'big') + bytes(18)

    kinds = (lambda i: ipv4(udp(53, number(i)), 17), lambda i: ipv4(tcp(53, number(i)), 6),
             lambda i: ipv4(icmp(8, number(i)), 1), lambda i: ipv4(udp(i % 65536, number(i)), 17))
    return [ethernet(kinds[i % 4](i)) for i in range(FRAMES)] + [ethernet(bytes(46), 0x88b5)]


def test_quota(bench):
    source, environment = packaged_source(), install(bench)
    with open(PATCH, encoding='utf-8') as file:
        changed = sum(line[0] in '+-' and line[:3] not in ('+++', '---') for line in file)
    assert 0 < changed <= CHANGED_MOST, f'{changed} changed lines, more than {CHANGED_MOST}'
    plain, patched = (shutil.copy(source, bench.file(name)) for name in ('l2fwd.c', 'l2fwd_quota.c'))
    run('patch', '--fuzz=0', patched, PATCH)
    frames = make_frames()
    was, said_was = forward(bench, compile_l2fwd(bench, plain, [], environment), environment, frames)
    equal(was, frames, 'frames that l2fwd forwards')
    got, said = forward(bench, compile_l2fwd(bench, patched, ['tripline'], environment), environment, frames)

    def is_udp(frame):
        return frame[12:14] == b'\x08\x00' and frame[23] == 17

    passed = sum(map(is_udp, got))
    print(f'{changed} changed lines; of {sum(map(is_udp, frames))} UDP packets {passed} passed the quota of {QUOTA}')
    assert QUOTA <= passed < QUOTA + BURST, f'{passed} UDP packets passed, the quota is {QUOTA}'
    left = iter(range(passed))
    equal(got, [frame for frame in frames if not is_udp(frame) or next(left, None) is not None], 'frames forwarded')
    equal(said, said_was, 'what l2fwd says')


main(test_quota)

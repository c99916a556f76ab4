# SPDX-License-Identifier: BSD-3-Clause
"""How runs end, and what they leave."""
import fcntl
import pty
import re
import termios

from tripd_test import *

RULES = 'count dns port 0 pattern eth / ipv4 / udp dst is 53 / end\nwhen dns.packets >= 5 log "x"\n'


def start(bench, *words, eal=None, **options):
    """A run that has counted ten packets and waits for more."""
    pcap = bench.pcap('in.pcap', [ethernet(ipv4(udp(53), 17))] * 10)
    process = bench.start(*(eal or bench.eal)('net_pcap0,rx_pcap=' + pcap), '--rules',
                          bench.file('rules', RULES), *words, **options)
    bench.wait_for_line(process, 'dns.packets')
    return process


def signals_end_it_with_the_report(bench):
    for number in signal.SIGINT, signal.SIGTERM:
        path = bench.file(f'report-{number}')
        process = start(bench, '--report', path)
        assert not os.path.exists(path), 'the report is there before the end'
        process.send_signal(number)
        code, _, err = bench.finish(process)
        equal((code, err), (0, ''), f'end by {number}')
        with open(path, encoding='utf-8') as file:
            equal(json.load(file)['counters'][0]['packets'], 10, 'packets')


def the_end_of_its_terminal_ends_it_with_the_report(bench):
    ours, theirs = pty.openpty()

    def control():
        fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)

    pcap = bench.pcap('in.pcap', [ethernet(ipv4(udp(53), 17))] * 10)
    path = bench.file('report')
    process = bench.start(*bench.eal('net_pcap0,rx_pcap=' + pcap), '--rules', bench.file('rules', RULES), '--report',
                          path, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
                          preexec_fn=control)
    os.close(theirs)
    said = b''
    while b'dns.packets' not in said:
        said += os.read(ours, 4096)
    os.close(ours)
    equal(process.wait(timeout=HANG), 0, 'exit code')
    with open(path, encoding='utf-8') as file:
        equal(json.load(file)['counters'][0]['packets'], 10, 'packets')


def it_outlives_its_terminal_where_it_is_told_to(bench):
    """As by nohup: what is ignored and not blocked never arrives."""
    process = start(bench, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    with open(f'/proc/{process.pid}/status', encoding='utf-8') as file:
        sets = {name: int(bits, 16) for name, bits in re.findall(r'(Sig\w+):\t(\w{16})', file.read())}
    bit = 1 << signal.SIGHUP - 1
    equal((sets['SigIgn'] & bit, sets['SigBlk'] & bit), (bit, 0), 'SIGHUP is ignored, and blocked')
    process.send_signal(signal.SIGTERM)
    equal(bench.finish(process)[0], 0, 'exit code')


def signals_end_a_start(bench):
    """One that is there before the first rule is made: it has been sent while all were blocked."""
    rules = ''.join(f'count c{i} port 0 pattern eth / ipv4 src is 10.0.{i}.1 / end\n' for i in range(100))
    words = [*bench.eal('net_pcap0,rx_pcap=' + bench.pcap('in.pcap', [])), '--rules', bench.file('rules', rules)]
    for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
        def send(number=number):
            signal.pthread_sigmask(signal.SIG_BLOCK, [number])
            os.kill(os.getpid(), number)

        for more in [], ['--dry-run']:
            code, out, err = bench.run(*words, *more, preexec_fn=send)
            equal(code, -number, f'exit code by {number}, with {out} and {err}')
            equal(len(err.splitlines()), 1, f'lines of {err!r}')
            assert re.search('ended while it started .*nothing was counted', err), err
            assert 'flows are counted' not in out and 'line 1' not in out, out
    # Nothing is left that keeps the next one from the same prefix.
    process = bench.start(*words)
    bench.wait_for_line(process, '0 flows are counted')
    process.send_signal(signal.SIGINT)
    equal(bench.finish(process)[0], 0, 'exit code of the run after them')


def a_reader_that_leaves_costs_no_report(bench):
    path = bench.file('report')
    process = start(bench, '--report', path)
    process.stdout.close()
    process.send_signal(signal.SIGTERM)
    process.stdout = None
    code, _, _ = bench.finish(process)
    equal(code, 0, 'exit code')
    with open(path, encoding='utf-8') as file:
        equal(json.load(file)['counters'][0]['packets'], 10, 'packets')


def what_is_closed_is_no_other_file(bench):
    """Or what it says would be written there."""
    path = bench.file('socket')
    process = bench.start(*bench.eal('net_pcap0,rx_pcap=' + bench.pcap('in.pcap', [])), '--rules',
                          bench.file('rules', RULES), '--socket', path,
                          preexec_fn=lambda: [os.close(number) for number in range(3)])
    wait_until('its socket', lambda: os.path.exists(path) or process.poll() is not None)
    equal([os.readlink(f'/proc/{process.pid}/fd/{number}') for number in range(3)], ['/dev/null'] * 3, 'its files')
    process.send_signal(signal.SIGTERM)
    equal(bench.finish(process)[1:], ('', ''), 'what it says')
    code, _, err = bench.run('--check', bench.file('rules'), preexec_fn=lambda: os.close(1))
    equal((code, err), (1, 'tripd: what it says cannot be written\n'), 'exit code and stderr')


def a_second_one_is_refused(bench):
    first = start(bench)
    pcap = bench.file('in.pcap')
    code, out, err = bench.run(*bench.eal('net_pcap0,rx_pcap=' + pcap), '--rules',
                               bench.file('rules'))
    equal((code, out), (1, ''), 'exit code and stdout')
    equal(len(err.splitlines()), 1, f'lines of {err!r}')
    assert re.search(rf'process {first.pid} \(tripd\) runs with the file prefix {bench.prefix} already'
                     rf'.*kill {first.pid}.*--file-prefix NAME', err), err
    # The one that runs is not disturbed, and with another prefix there is room for both.
    bench.prefix += '-b'
    start(bench).send_signal(signal.SIGTERM)
    first.send_signal(signal.SIGTERM)
    for process in list(bench.running):
        if process.returncode is None:
            equal(bench.finish(process)[0], 0, 'exit code')


def kill_and_start_again(bench, eal=None, rounds=3):
    for _ in range(rounds):
        process = start(bench, eal=eal)
        process.send_signal(signal.SIGKILL)
        process.wait()
    process = start(bench, eal=eal)
    process.send_signal(signal.SIGTERM)
    code, _, err = bench.finish(process)
    equal((code, err), (0, ''), 'the run after the killed ones')


def killed_runs_leave_nothing_that_stops_the_next(bench):
    kill_and_start_again(bench)


def killed_runs_give_hugepages_back(bench):
    """The pages of killed runs are files; a run after many has as many of them as the first had."""
    directory = '/dev/hugepages'
    with open('/proc/meminfo', encoding='utf-8') as file:
        free = next(int(line.split()[1]) for line in file if line.startswith('HugePages_Free'))
    if os.getuid() != 0 or not os.path.ismount(directory) or free < 32:
        raise Skip(f'{free} hugepages are free, and 32 are needed (scripts/setup --hugepages 32)')

    def pages():
        return sum(name.startswith(bench.prefix + 'map_') for name in os.listdir(directory))

    def eal(*vdevs):
        return bench.eal(*vdevs, memory=('--huge-dir', directory))

    counts = []
    try:
        for _ in range(4):
            process = start(bench, eal=eal)
            counts.append(pages())
            process.send_signal(signal.SIGKILL)
            process.wait()
        print(f'hugepages of each run: {counts}')
        assert counts[0] > 0 and max(counts) == counts[0], counts
    finally:
        for name in os.listdir(directory):
            if name.startswith(bench.prefix + 'map_'):
                os.unlink(os.path.join(directory, name))


def killed_taps_are_gone(bench):
    if os.getuid() != 0 or not os.access('/dev/net/tun', os.R_OK | os.W_OK):
        raise Skip('a tap takes root and /dev/net/tun')
    name = f'tt{os.getpid()}'
    for last in False, True:
        process = bench.start(*bench.eal(f'net_tap0,iface={name}'), '--rules',
                              bench.file('rules', RULES))
        bench.wait_for_line(process, '0 flows are counted in hardware')
        wait_until('the tap', lambda: os.path.exists(f'/sys/class/net/{name}'))
        process.send_signal(signal.SIGTERM if last else signal.SIGKILL)
        process.wait()
        wait_until('the end of the tap', lambda: not os.path.exists(f'/sys/class/net/{name}'))
    equal(process.returncode, 0, 'exit code of the last run')


main(signals_end_it_with_the_report, signals_end_a_start, the_end_of_its_terminal_ends_it_with_the_report,
     it_outlives_its_terminal_where_it_is_told_to, a_reader_that_leaves_costs_no_report,
     what_is_closed_is_no_other_file, a_second_one_is_refused,
     killed_runs_leave_nothing_that_stops_the_next, killed_runs_give_hugepages_back,
     killed_taps_are_gone)

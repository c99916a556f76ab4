# SPDX-License-Identifier: BSD-3-Clause
"""exec: programs get trips as they come, whatever they do; and none of them outlives tripd."""
from tripd_test import *

DNS = 'count dns port 0 pattern eth / ipv4 / udp dst is 53 / end\ncounter n\n'
# More than the buffer and a pipe hold, and fewer than the ring of events.
MANY = 4000


def dns(n):
    return [ethernet(ipv4(udp(53), 17))] * n


def program(bench, name, text):
    """A shell script that first writes its process id down."""
    path = bench.file(name, f'#!/bin/sh\necho $$ >> {bench.path}/pids\n{text}\n')
    os.chmod(path, 0o755)
    return path


def lives(pid):
    try:
        with open(f'/proc/{pid}/stat', encoding='utf-8') as file:
            return file.read().rsplit(')', 1)[1].split()[0] != 'Z'
    except FileNotFoundError:
        return False


def pids(bench):
    if not os.path.exists(bench.file('pids')):
        return []
    with open(bench.file('pids'), encoding='utf-8') as file:
        return [int(line) for line in file]


def read(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding='utf-8') as file:
        return [json.loads(line) for line in file.read().split('\n')[:-1]]


def start(bench, rules, frames, *words, **options):
    return bench.start(*bench.eal('net_pcap0,rx_pcap=' + bench.pcap('in.pcap', frames)), '--rules', bench.file('rules', rules),
                       *words, **options)


def helper_of(process):
    with open(f'/proc/{process.pid}/task/{process.pid}/children', encoding='utf-8') as file:
        child, = map(int, file.read().split())
    with open(f'/proc/{child}/comm', encoding='utf-8') as file:
        equal(file.read(), 'tripd-exec\n', 'the name of the helper')
    return child


def each_gets_its_trips(bench):
    one, two = (program(bench, name, f'exec cat > {bench.file(name)}.out') for name in ('one', 'two'))
    report, out = bench.play(dns(100), DNS + f'when dns.packets >= 10 every 10 exec {one}\nwhen dns.bytes >= 2000 exec "{two}"\n')
    for name, line, n in ('one', 3, 10), ('two', 4, 1):
        trips = [{**trip, 'event': 'trip'} for trip in report['trips'] if trip['line'] == line]
        equal((len(trips), {trip['op'] for trip in trips}), (n, {'exec'}), f'trips of {name}')
        equal(read(bench.file(name) + '.out'), trips, f'what {name} got')
    equal(out.count(f'exec {one}'), 10, 'lines')
    assert len(pids(bench)) == 2 and not any(map(lives, pids(bench))), 'a program is left'


def one_that_ends_is_started_again(bench):
    out = bench.file('out')
    path = program(bench, 'one', f'head -n 1 >> {out}; exit 3')
    process = start(bench, DNS + f'when after 20ms every 20ms exec {path}\n', [])
    wait_until('three lives', lambda: len(read(out)) >= 3)
    process.send_signal(signal.SIGTERM)
    code, _, err = bench.finish(process)
    said = re.findall(rf'^tripd: warning: line 3 of the rules: exec {path} has ended with the exit code 3: '
                      r'it is started again in (\S+) s$', err, re.M)
    assert code in (0, 1) and len(said) >= 2, (code, err)
    assert 0 < float(said[0]) <= 0.1 < float(said[1]) <= 0.2, said
    assert not any(map(lives, pids(bench))), 'a program is left'


def what_cannot_be_started_is_said(bench):
    """It could when tripd looked."""
    path = program(bench, 'gone', 'exit 1')
    bench.file('gone', '#!/no/such/interpreter\n')
    process = start(bench, DNS + f'when after 1ms exec {path}\n', [])
    said = process.stderr.readline()
    bench.wait_for_line(process, 'time')
    process.send_signal(signal.SIGTERM)
    code, _, _ = bench.finish(process)
    equal(code, 1, 'exit code')
    assert f'exec {path} could not be started, errno 2: it is started again in 0.' in said, said


def none_of_them_stops_anything(bench):
    """One that never reads, one that closes its stdin, one that ends at once, one that no SIGTERM ends."""
    programs = [program(bench, 'idle', 'sleep 1000'), program(bench, 'deaf', 'exec 0<&-\nsleep 1000'),
                program(bench, 'short', 'exit'),
                program(bench, 'stubborn', 'trap "" TERM HUP INT\nwhile :; do sleep 1000; done'),
                program(bench, 'good', f'exec cat > {bench.file("out")}')]
    rules = ''.join(f'when dns.packets >= 1 every 1 exec {path}\n' for path in programs)
    report = bench.file('report.json')
    process = start(bench, DNS + rules, dns(MANY), '--report', report, stdout=subprocess.DEVNULL)
    bench.track(process)
    wait_until('the programs', lambda: len(pids(bench)) >= 5)
    # It is told what it was too slow for.
    wait_until('all trips', lambda: sum(line.get('count', 1) for line in read(bench.file('out'))) == MANY)
    process.send_signal(signal.SIGTERM)
    code, _, err = bench.finish(process)
    equal(code, 1, f'exit code with {err}')
    with open(report, encoding='utf-8') as file:
        equal(len(json.load(file)['trips']), MANY * len(programs), 'trips in the report')
    for i, path in enumerate(programs[:4]):
        last = re.findall(rf'^tripd: line {3 + i} of the rules: exec {path}: (\d+) trips were left out$', err, re.M)
        equal(last, [str(MANY)], f'trips that {path} has not got')
    assert not any(map(lives, pids(bench))), 'a program is left'


def none_outlives_a_killed_tripd(bench):
    quiet, stubborn = program(bench, 'quiet', 'cat > /dev/null'), program(
        bench, 'stubborn', 'trap "" TERM HUP INT\nwhile :; do sleep 1000; done')
    rules = DNS + f'when after 1ms every 1ms exec {quiet}\nwhen after 1ms every 1ms exec {stubborn}\n'
    process = start(bench, rules, [], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until('the programs', lambda: len(pids(bench)) == 2)
    helper = helper_of(process)
    process.kill()
    process.wait()
    wait_until('their end', lambda: not any(map(lives, [helper, *pids(bench)])))


def nothing_that_they_leave_behind_outlives_tripd(bench):
    """In sessions of their own: one of a program that has ended, one of one that runs, whose parent has ended or not."""
    left = 'setsid -f ' + program(bench, 'left', f'trap "" TERM HUP INT\n: > {bench.path}/$1\nwhile :; do sleep 100; done')
    path = program(bench, 'one', f'{left} a\nsetsid sh -c "{left} b; exec sleep 100" &\nexec cat > /dev/null')
    # It leaves one each time.
    ends = program(bench, 'two', f'{left} $$\nwhile [ ! -e {bench.path}/$$ ]; do sleep 0.01; done')
    try:
        for end in signal.SIGTERM, signal.SIGKILL:
            process = start(bench, DNS + f'when after 1ms exec {path}\nwhen after 1ms exec {ends}\n', [], stderr=subprocess.DEVNULL)
            wait_until('what they leave behind', lambda: len(pids(bench)) >= 8 and all(map(os.path.exists, map(bench.file, 'ab'))))
            helper = helper_of(process)
            process.send_signal(end)
            bench.finish(process)
            # It waits for all of them.
            wait_until('their end', lambda: not any(map(lives, [helper, *pids(bench)])))
            for name in 'pids', 'a', 'b':
                os.unlink(bench.file(name))
    finally:
        for pid in filter(lives, pids(bench)):
            os.kill(pid, signal.SIGKILL)


def none_outlives_a_killed_helper(bench):
    stubborn = program(bench, 'stubborn', 'trap "" TERM HUP INT\nexec sleep 1000')
    process = start(bench, DNS + f'when after 1ms every 1ms exec {stubborn}\n', [], stdout=subprocess.DEVNULL)
    wait_until('the program', lambda: len(pids(bench)) == 1)
    os.kill(helper_of(process), signal.SIGKILL)
    equal(process.stderr.readline(), 'tripd: warning: the process that starts programs for exec is gone: there are none any more\n',
          'what is said')
    wait_until('its end', lambda: not any(map(lives, pids(bench))))
    process.send_signal(signal.SIGTERM)
    equal(bench.finish(process)[0], 1, 'exit code')


def the_keyboard_of_a_terminal_is_not_for_them(bench):
    """It is tripd that ends by it, and they have what came before."""
    path = program(bench, 'one', f'cat > {bench.file("out")}')
    process = start(bench, DNS + f'when dns.packets >= 10 exec {path}\n', dns(10), start_new_session=True)
    bench.wait_for_line(process, 'dns.packets')
    os.killpg(process.pid, signal.SIGINT)
    equal(bench.finish(process)[::2], (0, ''), 'exit code and stderr')
    equal(len(read(bench.file('out'))), 1, 'lines')


def what_is_no_program_is_said_before_anything_starts(bench):
    plain = bench.file('plain', 'x')
    for path, why in (plain, 'Permission denied'), (bench.path, 'Permission denied'), ('/no/such', 'No such file or directory'):
        rules = bench.file('rules', DNS + f'when after 1s exec {path}\n')
        for words in ['--check', rules], [*bench.eal('net_null0'), '--rules', rules]:
            equal(bench.run(*words), (2, '', f'tripd: line 3 of the rules: exec {path}: {why}\n'), f'{path} by {words}')


main(each_gets_its_trips, one_that_ends_is_started_again, what_cannot_be_started_is_said, none_of_them_stops_anything,
     none_outlives_a_killed_tripd, nothing_that_they_leave_behind_outlives_tripd, none_outlives_a_killed_helper, the_keyboard_of_a_terminal_is_not_for_them,
     what_is_no_program_is_said_before_anything_starts)

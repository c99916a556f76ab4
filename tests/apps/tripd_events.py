# SPDX-License-Identifier: BSD-3-Clause
"""--events: each trip as it happens, and nothing waits for who reads them."""
from tripd_test import *

DNS = 'count dns port 0 pattern eth / ipv4 / udp dst is 53 / end\n'
EACH = DNS + 'counter n\nwhen dns.packets >= 1 every 1 add n 1\n'
TIMES = DNS + 'counter n\nwhen after 5ms every 5ms add n 1\n'
# More than the buffer and a pipe hold, and fewer than the ring of events.
MANY = 20000


def dns(n):
    return [ethernet(ipv4(udp(53), 17))] * n


def start(bench, rules, frames, *words, **options):
    return bench.start(*bench.eal('net_pcap0,rx_pcap=' + bench.pcap('in.pcap', frames)), '--rules', bench.file('rules', rules),
                       *words, **options)


def read(path):
    with open(path, encoding='utf-8') as file:
        return [json.loads(line) for line in file.read().split('\n')[:-1]]


def left_out(lines):
    return sum(line['count'] for line in lines if line['event'] == 'left_out')


def trips(lines):
    return [line['threshold'] for line in lines if line['event'] == 'trip']


def each_trip_is_a_line(bench):
    path = bench.file('events', '{"event":"before"}\n')
    report, _ = bench.play(dns(50), DNS + 'counter n\nwhen dns.packets >= 5 every 5 add n 1\nwhen n >= 2 log "two"\n',
                           '--events', path)
    before, *events = read(path)
    equal(before, {'event': 'before'}, 'what was there')
    equal(events, [{**trip, 'event': 'trip'} for trip in report['trips']], 'events')
    equal(len(events), 11, 'number of events')


def stdout_is_for_them_alone(bench):
    process = start(bench, EACH, dns(10), '--events', '-', '--until-idle', '0.2')
    code, out, err = bench.finish(process)
    equal((code, trips(map(json.loads, out.splitlines()))), (0, list(range(1, 11))), 'exit code and events')
    assert 'flows are counted' in err, err
    code, _, err = bench.run(*bench.eal('net_null0'), '--rules', bench.file('rules'), '--events', '-', '--report', '-')
    equal(code, 2, 'exit code for both')
    assert '--report and --events cannot both be stdout' in err, err


def what_cannot_be_opened_is_said_before_anything_starts(bench):
    for path, why in (bench.path, 'Is a directory'), (bench.file('no/events'), 'No such file or directory'):
        code, out, err = bench.finish(start(bench, EACH, [], '--events', path))
        equal((code, out, err), (2, '', f'tripd: the events cannot be written to {path}: {why}\n'), 'the end')


def a_pipe_that_nobody_reads_stops_nothing(bench):
    path = bench.file('pipe')
    os.mkfifo(path)
    report, _ = bench.play(dns(10), EACH, '--events', path, expect=1, said=(
        f'tripd: warning: events wait, as {path} takes none: nobody reads from it\n'
        f'tripd: 10 events are left out of {path}: nobody reads from it\n'))
    equal(len(report['trips']), 10, 'trips in the report')


def a_slow_reader_is_told_what_it_lacks(bench):
    path = bench.file('pipe')
    os.mkfifo(path)
    # It is no reader that waits for a writer.
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), encoding='utf-8') as pipe:
        process = start(bench, EACH, dns(MANY), '--events', path, stdout=subprocess.DEVNULL)
        warning = process.stderr.readline().rstrip('\n')
        assert re.fullmatch(rf'tripd: warning: \d+ events so far are left out of {path}: it is read too slowly', warning), warning
        os.set_blocking(pipe.fileno(), True)
        lines = []
        while not lines or lines[-1]['event'] != 'left_out':
            lines.append(json.loads(pipe.readline()))
        process.send_signal(signal.SIGTERM)
        lines += [json.loads(line) for line in pipe.read().splitlines()]
    code, _, err = bench.finish(process)
    equal(code, 1, f'exit code with {err}')
    equal(len(trips(lines)) + left_out(lines), MANY, 'events and those that were left out')
    assert f'tripd: {left_out(lines)} events are left out of {path}: ' in err, (left_out(lines), err)


def a_full_disk_is_told_and_stops_nothing(bench):
    small, report = bench.file('small'), bench.file('report.json')
    os.mkdir(small)
    if subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=16k', 'tmpfs', small], check=False, capture_output=True).returncode:
        raise Skip('nothing can be mounted here')
    try:
        path = f'{small}/events'
        process = start(bench, EACH, dns(MANY), '--events', path, '--report', report, stdout=subprocess.DEVNULL)
        warning = process.stderr.readline().rstrip('\n')
        assert re.fullmatch(rf'tripd: warning: .* {path}.*: No space left on device', warning), warning
        subprocess.run(['mount', '-o', 'remount,size=16m', small], check=True)
        wait_until('the room that is told', lambda: left_out(read(path)) > 0)
        process.send_signal(signal.SIGTERM)
        code, _, err = bench.finish(process)
        lines = read(path)
        equal(code, 1, f'exit code with {err}')
        equal(len(trips(lines)) + left_out(lines), MANY, 'events and those that were left out')
        with open(report, encoding='utf-8') as file:
            equal(len(json.load(file)['trips']), MANY, 'trips in the report')
    finally:
        subprocess.run(['umount', small], check=True)


def a_file_that_is_moved_away_is_begun_anew(bench):
    path, old = bench.file('events'), bench.file('events.1')
    process = start(bench, TIMES, [], '--events', path)
    wait_until('events', lambda: os.path.exists(path) and len(read(path)) > 2)
    os.rename(path, old)
    wait_until('events in a new file', lambda: os.path.exists(path) and len(read(path)) > 2)
    # As logrotate does it by copytruncate.
    with open(path, 'r+', encoding='utf-8') as file:
        found = trips(read(old)) + trips(read(path))
        file.truncate(0)
    wait_until('events in a file that was cut', lambda: len(read(path)) > 2)
    process.send_signal(signal.SIGTERM)
    equal(bench.finish(process)[0], 0, 'exit code')
    equal(found, [5000000 * (i + 1) for i in range(len(found))], 'thresholds until it was cut')
    # What came between the last reading and the cut is gone.
    rest = trips(read(path))
    assert rest[0] > found[-1] and rest == list(range(rest[0], rest[-1] + 1, 5000000)), (found, rest)


main(each_trip_is_a_line, stdout_is_for_them_alone, what_cannot_be_opened_is_said_before_anything_starts,
     a_pipe_that_nobody_reads_stops_nothing, a_slow_reader_is_told_what_it_lacks, a_full_disk_is_told_and_stops_nothing,
     a_file_that_is_moved_away_is_begun_anew)

# SPDX-License-Identifier: BSD-3-Clause
"""Samples of keys that trip: files of capture with packets of that key alone, as other programs read them; and what
bounds them."""
import fcntl

from tripd_test import *

TRIPCTL = os.path.abspath(sys.argv[2])
RULES = 'each victims port 0 ipv4.dst max 1k idle 1h\nwhen victims.packets >= 10 drop victims\n'


def frame(dst, n, size=80):
    return ethernet(ipv4(udp(53, n.to_bytes(4, 'big') + bytes(size)), 17, src='10.9.0.1', dst=dst))


def mixed(n=300):
    """Of three victims and some others in turn: all of a victim's packets but its number are one."""
    return [frame(dst, i) for i in range(n) for dst in ('10.0.0.1', '10.0.0.2', '10.0.0.3', f'10.1.{i // 200}.{i % 200}')]


def replay(bench, frames, rules, *words, expect=0, name='in.pcap'):
    """By the clock of packets: which packets are in a sample is known."""
    folder = bench.file('samples')
    os.makedirs(folder, exist_ok=True)
    events, report = bench.file('events'), bench.file('report.json')
    if os.path.exists(events):
        os.unlink(events)
    code, out, err = bench.run(*bench.eal('net_pcap0,rx_pcap=' + bench.pcap(name, frames)), '--clock', 'packet', '--rules',
                               bench.file('rules', rules), '--samples', folder, '--events', events, '--report', report,
                               '--until-idle', '0.3', *words)
    equal(code, expect, f'exit code, with {beside_vain(err)}')
    with open(events, encoding='utf-8') as file:
        lines = [json.loads(line) for line in file]
    with open(report, encoding='utf-8') as file:
        return json.load(file), lines, beside_vain(err)


def told(lines, event):
    return [line for line in lines if line['event'] == event]


def numbers(path):
    """Which packets are in a file, by their numbers."""
    return [struct.unpack_from('!I', data, 42)[0] for data in read_pcap(path)]


def files(bench):
    return sorted(os.listdir(bench.file('samples')))


def counts(report):
    return {name: report['samples'][name] for name in ('written', 'deleted', 'empty', 'refused', 'failed')}


def a_sample_has_packets_of_its_key_alone(bench):
    """Dropped ones as well, from the one behind that with which it trips."""
    report, lines, err = replay(bench, mixed(), RULES + 'each hosts port 0 ipv4.dst max 1k idle 1h\n'
                                'when hosts.packets >= 250 log\n', '--sample-packets', '20')
    equal(err, '', 'stderr')
    trips, samples = told(lines, 'trip'), told(lines, 'sample')
    equal([(trip['counter'], trip['key']) for trip in trips],
          [(f'{each}.packets', f'10.0.0.{i}') for each in ('victims', 'hosts') for i in (1, 2, 3)], 'trips')
    equal(counts(report), {'written': 6, 'deleted': 0, 'empty': 0, 'refused': 0, 'failed': 0}, 'in the report')
    equal(sorted(trip['sample'] for trip in trips), sorted(sample['file'] for sample in samples), 'files that are told')
    equal(files(bench), sorted(os.path.basename(sample['file']) for sample in samples), 'files that are there')
    for sample in samples:
        first = {'victims': 10, 'hosts': 250}[sample['each']]
        equal(numbers(sample['file']), list(range(first, first + 20)), f"packets of {sample['key']}")
        equal((sample['packets'], sample['bytes'], sample['result']),
              (20, os.path.getsize(sample['file']), 0), 'what is told of it')
        equal(os.stat(sample['file']).st_mode & 0o007, 0, 'what others may do to it')
        for reader, words in (('tcpdump', ['-n', '-r', sample['file'], 'dst', 'host', sample['key']]),
                              ('tshark', ['-n', '-r', sample['file'], '-Y', 'ip.dst == ' + sample['key']])):
            # tshark takes seconds to start.
            if shutil.which(reader) is None or (reader == 'tshark' and sample != samples[0]):
                continue
            read = subprocess.run([reader, *words], capture_output=True, text=True, check=True)
            equal(len(read.stdout.splitlines()), 20, f'packets of {sample["key"]} by {reader}')
    again, lines, _ = replay(bench, mixed(), RULES, '--sample-packets', '20')
    equal(again['samples']['written'], 3, 'samples of another run')
    for sample in told(lines, 'sample'):
        equal(numbers(sample['file']), list(range(10, 30)), 'packets of another run')


def packets_are_cut_and_times_are_theirs(bench):
    _, lines, _ = replay(bench, mixed(), RULES, '--sample-bytes', '60', '--sample-packets', '5')
    path = told(lines, 'sample')[0]['file']
    with open(path, 'rb') as file:
        data = file.read()
    equal(len(data), 24 + 5 * (16 + 60), 'bytes')
    for i in range(5):
        second, ns, have, was = struct.unpack_from('<IIII', data, 24 + i * 76)
        equal((second, ns, have, was), (1, 4 * (10 + i) * 1000, 60, 14 + 20 + 8 + 84), f'record {i}')


def a_key_that_falls_silent_ends_its_sample(bench):
    """Within a second: what comes later is not in it; and one without any packet is no file."""
    path = bench.file('times.pcap')
    seconds = [1] * 13 + [3] * 30
    with open(path, 'wb') as file:
        file.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for n, second in enumerate(seconds):
            data = frame('10.0.0.1', n)
            file.write(struct.pack('<IIII', second, 0, len(data), len(data)) + data)
        data = frame('10.0.0.2', 0)
        for _ in range(10):
            file.write(struct.pack('<IIII', 3, 0, len(data), len(data)) + data)
    folder, report = bench.file('samples'), bench.file('report.json')
    os.mkdir(folder)
    code, _, err = bench.run(*bench.eal(f'net_pcap0,rx_pcap={path}'), '--clock', 'packet', '--rules', bench.file('rules', RULES),
                             '--samples', folder, '--report', report, '--until-idle', '0.3')
    equal((code, beside_vain(err)), (0, ''), 'exit code and stderr')
    name, = files(bench)
    equal(numbers(os.path.join(folder, name)), [10, 11, 12], 'packets of the first second')
    with open(report, encoding='utf-8') as file:
        equal(counts(json.load(file)), {'written': 1, 'deleted': 0, 'empty': 1, 'refused': 0, 'failed': 0}, 'in the report')


def the_oldest_go_for_new_ones(bench):
    """By number, or by bytes; what others have there stays."""
    folder = bench.file('samples')
    os.mkdir(folder)
    kept = ['tripd-notes.txt', 'other.pcap', 'tripd-link.pcap']
    for name in kept[:2]:
        bench.file(os.path.join('samples', name), 'kept')
    os.symlink('other.pcap', os.path.join(folder, kept[2]))
    old = [f'tripd-old-{i}.pcap' for i in range(3)]
    for i, name in enumerate(old):
        os.utime(bench.file(os.path.join('samples', name), 'x' * 1000), (1000 + i, 1000 + i))
    # What a run was writing when it was killed.
    bench.file('samples/.tripd-part.pcap', 'part')
    report, lines, err = replay(bench, mixed(), RULES, '--samples-max', '4')
    equal(err, '', 'stderr')
    equal(counts(report)['deleted'], 2, 'files that went')
    ours = [os.path.basename(sample['file']) for sample in told(lines, 'sample')]
    equal(files(bench), sorted(kept + old[2:] + ours), 'files by number')
    size = os.path.getsize(os.path.join(folder, ours[0]))
    report, lines, _ = replay(bench, mixed(), RULES, '--samples-disk', str(2 * size + 10))
    last = [os.path.basename(sample['file']) for sample in told(lines, 'sample')][1:]
    equal(files(bench), sorted(kept + last), 'files by bytes')


def one_run_has_a_folder(bench):
    folder = bench.file('samples')
    os.mkdir(folder)
    held = os.open(folder, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    words = [*bench.eal('net_null0'), '--rules', bench.file('rules', RULES), '--samples']
    code, _, err = bench.run(*words, folder)
    equal((code, err), (2, f'tripd: samples cannot go to {folder}: another tripd has that folder\n'), 'a folder that is held')
    os.close(held)
    code, _, err = bench.run(*words, bench.file('none'))
    equal((code, 'No such file' in err), (2, True), f'no folder: {err}')
    odd = os.fsdecode(os.fsencode(folder) + b'/\xff')
    os.mkdir(odd)
    code, _, err = bench.run(*words, odd, errors='replace')
    equal((code, 'its path is no UTF-8' in err), (2, True), f'a folder that no event can name: {err}')
    for more, why in ((['--sample-packets', '1000000'], 'above 16777216'), (['--samples-disk', '1k'], 'has no room there')):
        code, _, err = bench.run(*words, folder, *more)
        equal((code, why in err), (2, True), f'{more}: {err}')
    code, _, err = bench.run(*words[:-1], '--sample-bytes', '100')
    equal((code, 'in vain without --samples' in err), (2, True), err)


def a_full_disk_is_told_and_holds_up_nothing(bench):
    folder = bench.file('samples')
    os.mkdir(folder)
    if subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=16k', 'tmpfs', folder], check=False,
                      capture_output=True).returncode:
        raise Skip('nothing can be mounted here')
    try:
        report, lines, err = replay(bench, mixed(), RULES + 'count all port 0 pattern eth / end\n', expect=1)
        samples = told(lines, 'sample')
        equal([sample['result'] for sample in samples], [0, -28, -28], 'results')
        equal(files(bench), [os.path.basename(samples[0]['file'])], 'what is there')
        equal(len(numbers(samples[0]['file'])), 100, 'packets of the one that had room')
        equal(counts(report), {'written': 1, 'deleted': 0, 'empty': 0, 'refused': 0, 'failed': 2}, 'in the report')
        assert f'tripd: 2 samples could not be written to {folder}: No space left on device\n' in err, err
        equal([trip['result'] for trip in report['trips']], [0] * 3, 'trips')
        equal(report['counters'][0]['packets'], 1200, 'packets that counted')
        equal(report['each'][0]['dropped_packets'], 3 * 290, 'packets that were dropped')
    finally:
        subprocess.run(['umount', folder], check=True)


def more_keys_than_places_are_told(bench):
    """Of 40 that trip at once, 8 have a sample by the clock of packets."""
    frames = [frame(f'10.0.1.{key}', n) for n in range(60) for key in range(40)]
    report, lines, err = replay(bench, frames, RULES, '--sample-packets', '60')
    trips = told(lines, 'trip')
    equal((len(trips), sum('sample' in trip for trip in trips)), (40, 8), 'trips, and those with a sample')
    equal((report['samples']['written'], report['samples']['refused']), (8, 32), 'in the report')
    assert '32 trips so far have no sample: 8 are taken or written at once' in err, err
    for sample in told(lines, 'sample'):
        equal(numbers(sample['file']), list(range(10, 60)), 'packets')


def start_live(bench, *words):
    """A capture that goes round."""
    os.mkdir(bench.file('samples'))
    frames = [frame(f'10.0.0.{key}', n) for n in range(20) for key in (1, 2, 3)]
    return bench.start(*bench.eal('net_pcap0,rx_pcap=' + bench.pcap('in.pcap', frames) + ',infinite_rx=1',
                                  memory=('--no-huge', '-m', '128')), '--rules', bench.file('rules', RULES), '--samples',
                       bench.file('samples'), '--events', bench.file('events'), '--socket', bench.file('sock'), *words)


def samples_of(bench):
    with open(bench.file('events'), encoding='utf-8') as file:
        lines = file.read().split('\n')[:-1]
    return told(map(json.loads, lines), 'sample')


def only_its_key_is_in(sample):
    data = read_pcap(sample['file'])
    equal(len(data), sample['packets'], 'packets')
    equal({frame[30:34] for frame in data}, {bytes(int(part) for part in sample['key'].split('.'))}, 'destinations')


def a_live_port_is_sampled(bench):
    """By the clock of the machine, the file is there while the run goes on."""
    process = start_live(bench)
    wait_until('three events', lambda: os.path.exists(bench.file('events')) and len(samples_of(bench)) == 3)
    for sample in samples_of(bench):
        equal(sample['packets'], 100, 'packets')
        only_its_key_is_in(sample)
    process.send_signal(signal.SIGTERM)
    code, _, err = bench.finish(process)
    equal((code, beside_vain(err)), (0, ''), 'exit code and stderr')


def keys_begin_anew_while_they_are_sampled(bench):
    """The statement is closed while forwarders take packets by it."""
    process = start_live(bench, '--sample-packets', '20000', '--sample-bytes', '64', '--samples-disk', '1GiB')
    wait_until('an event', lambda: os.path.exists(bench.file('events')) and len(samples_of(bench)) > 0)
    for _ in range(20):
        subprocess.run([TRIPCTL, '--socket', bench.file('sock'), 'reset', 'victims'], check=True, capture_output=True,
                       env=bench.environment)
    n = len(samples_of(bench))
    wait_until('samples behind the last reset', lambda: len(samples_of(bench)) >= n + 3)
    process.send_signal(signal.SIGTERM)
    code, _, err = bench.finish(process)
    # Up to three a reset may be written at once.
    err = re.sub('^tripd: warning: .* have no sample: 8 .*\n', '', beside_vain(err), flags=re.M)
    equal((code, err), (0, ''), 'exit code and stderr')
    samples = samples_of(bench)
    equal(files(bench), sorted(os.path.basename(sample['file']) for sample in samples), 'files')
    for sample in samples:
        only_its_key_is_in(sample)


main(a_sample_has_packets_of_its_key_alone, packets_are_cut_and_times_are_theirs, a_key_that_falls_silent_ends_its_sample,
     the_oldest_go_for_new_ones, one_run_has_a_folder, a_full_disk_is_told_and_holds_up_nothing,
     more_keys_than_places_are_told, a_live_port_is_sampled,
     keys_begin_anew_while_they_are_sampled)

# SPDX-License-Identifier: BSD-3-Clause
"""RATE and IDLE on captures, by the times of their packets alone (conditions.py): each firing is explained, none is
missed, early or late, on one queue, on two and on four; where the counters are set in between, and where the times step;
and by tripd with the clock of packets.
Captures are generated, or of real programs: captures/ has what record.sh has recorded."""
import json
import os
import random
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'apps'))
from tripd_test import *
from clock_of_packets import read_recorded, trips_by_clock
from conditions import SECOND, Idle, Rate, most_within

RATES = os.path.abspath(sys.argv[2])
SEED = int(os.environ.get('TRIP_SEED', 20261123))
BY_CLOCK = 1500
PORTS = {'dns': 53, 'web': 80}
GENERATED = {name: ('udp', 'dst', port) for name, port in PORTS.items()}
# Of each capture: by which header, at which end and by which port a frame is of which count.
REAL = {
    'curl': {'asked': ('tcp', 'dst', 80), 'answered': ('tcp', 'src', 80)},
    'iperf3': {'datagrams': ('udp', 'dst', 5201), 'stream': ('tcp', 'dst', 5201), 'acknowledged': ('tcp', 'src', 5201)},
}


def rules_of(counts, wanted):
    return ''.join(f'count {name} port 0 pattern eth / ipv4 / {header} {end} is {port} / end\n'
                   for name, (header, end, port) in counts.items()) + ''.join(f'{one}\n' for one in wanted)


def wanted_of_generated():
    for name in PORTS:
        for again in False, True:
            for unit, n, ns in (('packets', 1, 10**6), ('packets', 20, SECOND), ('packets', 300, 5 * SECOND),
                                ('packets', 64, 10**7), ('packets', 1000, SECOND // 3), ('bytes', 20000, SECOND),
                                ('bytes', 5000, 10**8), ('bytes', 300000, 5 * SECOND), ('bytes', 64, 10**5)):
                yield Rate(name, unit, n, ns, again)
            for ns in 10**5, 10**8, 2 * SECOND:
                yield Idle(name, 'bytes' if again else 'packets', ns, again)
        for unit, n, ns, until in (('packets', 20, SECOND, (15, 2 * SECOND)), ('packets', 64, 10**7, (64, 10**8)),
                                   ('bytes', 20000, SECOND, (9000, SECOND)), ('bytes', 5000, 10**8, (5000, 5 * SECOND))):
            yield Rate(name, unit, n, ns, True, until)


def wanted_of_real(counts, bursts):
    """Half of what came within some window at most, just that, and one more, which never came."""
    for name in counts:
        for unit in 'packets', 'bytes':
            for ns in 10**6, 10**8, SECOND:
                most = most_within(bursts, name, unit, ns)
                yield from (Rate(name, unit, n, ns, True) for n in (most // 2 + 1, most, most + 1))
                yield Rate(name, unit, most // 2 + 1, ns, True, (most // 4 + 1, max(ns, 10**8)))
        yield from (Idle(name, 'packets', ns, True) for ns in (10**6, 10**7, 10**8, SECOND))


def draw(rng):
    """Bursts of frames by their times: steady for a while, sparse, in clumps, at rest."""
    now, bursts = 1000, []
    while now < 40 * SECOND:
        pace = 10**rng.uniform(3, 8.7)
        end = now + int(rng.choice((0.01, 0.3, 2)) * SECOND)
        exact, size = rng.random() < 0.5, rng.choice((1, 1, 3, 32))
        for _ in range(400):
            now += max(int(pace if exact else rng.expovariate(1 / pace)), 1)
            if now > end:
                break
            bursts.append((now, [ethernet(ipv4(udp(PORTS[rng.choice(list(PORTS))], bytes(rng.randrange(0, 1200))), 17))
                                 for _ in range(rng.randint(1, size))]))
        now = max(now, end) + (rng.randrange(7 * SECOND) if rng.random() < 0.2 else 1)
    return bursts


def stepped(rng, bursts):
    """The clock that they were recorded by steps, by some seconds back or an hour ahead."""
    steps = {rng.randrange(len(bursts) // 4, len(bursts)): step for step in
             (3600 * SECOND, -SECOND // 100, -3 * SECOND, -SECOND, 3600 * SECOND, -2 * SECOND)}
    shift, moved = 0, []
    for i, (ns, frames) in enumerate(bursts):
        shift += steps.get(i, 0)
        moved.append((ns + shift, frames))
    return moved


def write(path, bursts):
    with open(path, 'wb') as file:
        file.write(struct.pack('<IHHiIII', 0xa1b23c4d, 2, 4, 0, 0, 65535, 1))
        for ns, frames in bursts:
            for frame in frames:
                file.write(struct.pack('<IIII', ns // SECOND, ns % SECOND, len(frame), len(frame)) + frame)


def counted(counts, bursts):
    """What conditions.py judges by. A frame that is older than one before it comes at the time of that."""
    now, came = 0, []
    for ns, frames in bursts:
        now, amounts = max(now, ns), {}
        for frame in frames:
            header, ports = {17: 'udp', 6: 'tcp'}.get(frame[23]), struct.unpack('!HH', frame[34:38])
            for name, (wanted, end, port) in counts.items():
                if header == wanted and ports[end == 'dst'] == port:
                    packets, size = amounts.get(name, (0, 0))
                    amounts[name] = packets + 1, size + len(frame)
        came.append((now, amounts))
    return came


def play(bench, counts, bursts, wanted, sets):
    """How often each fired, and how often in all by a window that only the whole one explains."""
    capture, rules = bench.file('in.pcap'), bench.file('rules', rules_of(counts, wanted))
    write(capture, bursts)
    told = []
    for queues in 1, 2, 4:
        ran = subprocess.run([RATES, rules, capture, str(queues), *map(str, sets)], capture_output=True, text=True,
                             timeout=HANG, env=bench.environment)
        assert ran.returncode == 0, ran
        told.append(ran.stdout)
        assert told[0] == ran.stdout, 'runs over one capture fire the same'
    fired = [[] for _ in wanted]
    for line in told[0].splitlines():
        event = json.loads(line)
        fired[event['when']].append((event['ns'], event['value']))
    return judge(counts, bursts, wanted, sets, fired)


def judge(counts, bursts, wanted, sets, fired):
    for one, firings in zip(wanted, fired):
        assert len(set(firings)) == len(firings), f'{one}: it fired twice for one burst: {firings}'
    came = counted(counts, bursts)
    seen = [one.judge(came, sets, firings) for one, firings in zip(wanted, fired)]
    return [n for n, _ in seen], sum(sharp for _, sharp in seen)


def singly(bursts):
    """Each frame by itself, in microseconds, which no two share."""
    now, frames = 0, []
    for ns, burst in bursts:
        for frame in burst:
            now = max(now + 1000, ns // 1000 * 1000)
            frames.append((now, [frame]))
    return frames


def play_by_clock(bench, rng, counts, bursts, wanted):
    """Likewise, by tripd and its clock of packets, however they are spread over files."""
    # Each is judged beside all of its window.
    bursts, told = singly(bursts)[:BY_CLOCK], []
    # When its clock is 0.
    began = bursts[0][0]
    for queues in 1, 2, 4:
        files = [bench.file(f'{i}.pcap') for i in range(queues)]
        of = [rng.choice(files) for _ in bursts]
        for file in files:
            write(file, [burst for burst, where in zip(bursts, of) if where == file])
        told.append(trips_by_clock(bench, files, rules_of(counts, wanted)))
        assert told[0] == told[-1], 'runs over one capture trip the same'
    fired = [[] for _ in wanted]
    for line, ns, value, ends in told[0]:
        if not ends:
            fired[line - 1 - len(counts)].append((ns - began, value))
    return judge(counts, [(ns - began, frames) for ns, frames in bursts], wanted, [], fired)


def generated_captures(bench):
    rng = random.Random(SEED)
    print(f'TRIP_SEED={SEED}')
    wanted = list(wanted_of_generated())
    firings, sharp = [0] * len(wanted), 0
    for steps in False, True:
        bursts = draw(rng)
        sets = sorted(rng.randrange(40 * SECOND) for _ in range(12)) if steps else []
        seen, only = play(bench, GENERATED, stepped(rng, bursts) if steps else bursts, wanted, sets)
        firings, sharp = [a + b for a, b in zip(firings, seen)], sharp + only
        if not steps:
            played, _ = play_by_clock(bench, rng, GENERATED, bursts, wanted)
            assert sum(n > 0 for n in played) > len(played) * 3 // 4, played
    print(f'{sum(firings)} firings, {sharp} of them by a whole window: {firings}')
    assert all(firings) and sharp > 0, firings


def real_captures(bench):
    rng = random.Random(SEED)
    for name, counts in REAL.items():
        bursts = [(ns, [frame]) for ns, frame in read_recorded(name)]
        came = counted(counts, bursts)
        wanted = list(wanted_of_real(counts, came))
        plain, sharp = play(bench, counts, bursts, wanted, [])
        play(bench, counts, bursts, wanted, sorted(rng.randrange(bursts[-1][0]) for _ in range(6)))
        by_clock, _ = play_by_clock(bench, rng, counts, bursts, wanted)
        assert sum(n > 0 for n in by_clock) > len(by_clock) / 2, by_clock
        print(f'{name}: {sum(plain)} firings of {len(bursts)} frames, {sharp} of them by a whole window: {plain}')
        for one, n in zip(wanted, plain):
            never = isinstance(one, Rate) and one.n > most_within(came, one.name, one.unit, one.ns)
            assert not (never and n), f'{one}: it fired {n} times'
        assert sum(n > 0 for n in plain) > len(plain) / 2, plain


main(generated_captures, real_captures)

# SPDX-License-Identifier: BSD-3-Clause
"""Generated captures and rates: each firing is explained by a window of the packets' times, and no window that is
1/64 shorter is without one (COND-03, COND-04, COND-05), in packets and in bytes, on one queue and on two."""
import json
import os
import random
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'apps'))
from tripd_test import *

RATES = os.path.abspath(sys.argv[2])
SEED = int(os.environ.get('TRIP_SEED', 20261123))
SECOND = 10**9
COUNTS = ('count dns port 0 priority 1 pattern eth / ipv4 / udp dst is 53 / end\n'
          'count web port 0 priority 2 pattern eth / ipv4 / udp dst is 80 / end\n')
PORTS = {'dns': 53, 'web': 80}
# Name, what is counted, how many within how long, whether again; and the words for that.
WANTED = [(name, unit, n, ns, again) for name in PORTS for again in (False, True) for unit, n, ns in (
    ('packets', 1, 10**6), ('packets', 20, SECOND), ('packets', 300, 5 * SECOND), ('packets', 64, 10**7),
    ('packets', 1000, SECOND // 3), ('bytes', 20000, SECOND), ('bytes', 5000, 10**8), ('bytes', 300000, 5 * SECOND),
    ('bytes', 64, 10**5))]


def words(name, unit, n, ns, again):
    """Such that exactly n come of it: of a whole number a day, n is what is rounded up."""
    if unit == 'packets':
        rate = f'{(n * 86400 * SECOND) // ns}/d'
    else:
        rate = f'{(n * 8 * SECOND) // ns}bit/s'
    return f'when {name}.{unit} rate >= {rate} over {ns}ns {"every 1 " if again else ""}log\n'


def count_of(unit, n, ns):
    """As the language has it, from what is written."""
    amount, per = ((n * 86400 * SECOND) // ns, 86400 * SECOND) if unit == 'packets' else ((n * 8 * SECOND) // ns, 8 * SECOND)
    return -(-amount * ns // per)


def draw(rng):
    """Bursts of packets by their times: steady for a while, sparse, in clumps, at rest."""
    now, bursts = 1000, []
    while now < 40 * SECOND:
        pace = 10**rng.uniform(3, 8.7)
        end = now + int(rng.choice((0.01, 0.3, 2)) * SECOND)
        exact, size = rng.random() < 0.5, rng.choice((1, 1, 3, 32))
        for _ in range(400):
            now += max(int(pace if exact else rng.expovariate(1 / pace)), 1)
            if now > end:
                break
            bursts.append((now, [(rng.choice(list(PORTS)), rng.randrange(0, 1200)) for _ in range(rng.randint(1, size))]))
        now = max(now, end) + (rng.randrange(7 * SECOND) if rng.random() < 0.2 else 1)
    return bursts


def write(path, bursts):
    with open(path, 'wb') as file:
        file.write(struct.pack('<IHHiIII', 0xa1b23c4d, 2, 4, 0, 0, 65535, 1))
        for ns, packets in bursts:
            for name, size in packets:
                frame = ethernet(ipv4(udp(PORTS[name], bytes(size)), 17))
                file.write(struct.pack('<IIII', ns // SECOND, ns % SECOND, len(frame), len(frame)) + frame)


def judge(wanted, bursts, fired):
    """How often it fired, and how often by a window that is no shorter than the whole. Windows begin anew with each."""
    name, unit, n, ns, again = wanted
    n = count_of(unit, n, ns)
    short = ns - ns // 64
    fired = dict(fired)
    came, seen, total, live, sharp = [], 0, 0, True, 0
    for at, packets in bursts:
        amount = sum(42 + size if unit == 'bytes' else 1 for which, size in packets if which == name)
        total += amount
        if not live:
            continue
        came.append((at, amount))
        while at - came[0][0] > ns:
            came.pop(0)
        whole = sum(count for _, count in came)
        surely = sum(count for when, count in came if at - when <= short)
        value = fired.pop(at, None)
        if value is None:
            assert surely < n, f'{wanted}: {surely} came within {short} ns before {at}, and it did not fire'
        else:
            assert value == total, f'{wanted}: it fired at {value}, when {total} had come'
            assert whole >= n, f'{wanted}: it fired at {at}, when {whole} had come within {ns} ns'
            sharp += surely < n
            came, live, seen = [(at, 0)], again, seen + 1
    assert not fired, f'{wanted}: it fired at times when nothing came, or once more: {fired}'
    return seen, sharp


def play(bench, rng):
    bursts = draw(rng)
    capture, rules = bench.file('in.pcap'), bench.file('rules', COUNTS + ''.join(words(*wanted) for wanted in WANTED))
    write(capture, bursts)
    told = []
    for queues in 1, 2:
        ran = subprocess.run([RATES, rules, capture, str(queues)], capture_output=True, text=True, timeout=HANG,
                             env=bench.environment)
        assert ran.returncode == 0, ran
        fired = [[] for _ in WANTED]
        for line in ran.stdout.splitlines():
            event = json.loads(line)
            fired[event['when']].append((event['ns'], event['value']))
        for wanted, times in zip(WANTED, fired):
            assert len(dict(times)) == len(times), f'{wanted}: it fired twice at one time: {times}'
        seen = [judge(wanted, bursts, times) for wanted, times in zip(WANTED, fired)]
        told.append(ran.stdout)
    assert told[0] == told[1], 'two runs over one capture fire the same'
    return seen, len(bursts)


def captures_are_judged_by_their_times(bench):
    rng = random.Random(SEED)
    print(f'TRIP_SEED={SEED}')
    firings, sharp = [0] * len(WANTED), 0
    for _ in range(2):
        seen, bursts = play(bench, rng)
        firings = [a + b for a, (b, _) in zip(firings, seen)]
        sharp += sum(s for _, s in seen)
    print(f'{sum(firings)} firings, {sharp} of them by a whole window, the last of {bursts} bursts: {firings}')
    assert all(firings) and sharp > 0, firings


main(captures_are_judged_by_their_times)

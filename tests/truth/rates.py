# SPDX-License-Identifier: BSD-3-Clause
"""Generated captures and rates: each firing is explained by a window of the packets' times, and no window that is
1/64 shorter is without one (COND-03, COND-04, COND-05), in packets and in bytes, on one queue, on two and on four,
with an until and without, and where the counters are set in between (COND-08)."""
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
# Name, what is counted, how many within how long, whether again, and when less than how many came in how long; and the
# words for that.
WANTED = [(name, unit, n, ns, again, None) for name in PORTS for again in (False, True) for unit, n, ns in (
    ('packets', 1, 10**6), ('packets', 20, SECOND), ('packets', 300, 5 * SECOND), ('packets', 64, 10**7),
    ('packets', 1000, SECOND // 3), ('bytes', 20000, SECOND), ('bytes', 5000, 10**8), ('bytes', 300000, 5 * SECOND),
    ('bytes', 64, 10**5))] + [(name, unit, n, ns, True, until) for name in PORTS for unit, n, ns, until in (
        ('packets', 20, SECOND, (15, 2 * SECOND)), ('packets', 64, 10**7, (64, 10**8)),
        ('bytes', 20000, SECOND, (9000, SECOND)), ('bytes', 5000, 10**8, (5000, 5 * SECOND)))]


def rate_of(unit, n, ns):
    """Such that exactly n come of it: of a whole number a day, n is what is rounded up."""
    return f'{(n * 86400 * SECOND) // ns}/d' if unit == 'packets' else f'{(n * 8 * SECOND) // ns}bit/s'


def words(name, unit, n, ns, again, until):
    behind = f' until < {rate_of(unit, *until)} for {until[1]}ns' if until else ' every 1' if again else ''
    return f'when {name}.{unit} rate >= {rate_of(unit, n, ns)} over {ns}ns{behind} log\n'


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


def within(came, at, ns):
    return sum(count for when, count in came if at - when <= ns)


class Hold:
    """From a firing until less came for so long: whether it may be over, and whether it is, before a burst."""

    def __init__(self, unit, until, began):
        self.time, self.began, self.came = until[1], began, []
        self.n, self.may, self.must = count_of(unit, *until), False, False

    def look(self, at):
        longer = self.time + self.time // 64
        self.may |= at > self.began + self.time and within(self.came, at, self.time - 1) < self.n
        self.must |= at > self.began + longer and within(self.came, at, longer) < self.n

    def again(self, at):
        """The counter is set."""
        self.look(at)
        self.began, self.came = at, []
        return None if self.must else self

    def count(self, at, amount):
        self.came.append((at, amount))
        while at - self.came[0][0] > 2 * self.time:
            self.came.pop(0)


def judge(wanted, bursts, sets, fired):
    """How often it fired, and how often by a window that is no shorter than the whole. Windows begin anew with each,
    and with each set; where there is an until, when it is over."""
    name, unit, n, ns, again, until = wanted
    n = count_of(unit, n, ns)
    short = ns - ns // 64
    fired, sets = dict(fired), list(sets)
    came, seen, total, live, sharp, hold, since = [], 0, 0, True, 0, None, 0
    for at, packets in bursts:
        while sets and sets[0] <= at:
            came, total, since = [], 0, sets.pop(0)
            hold = hold.again(since) if hold else None
        amount = sum(42 + size if unit == 'bytes' else 1 for which, size in packets if which == name)
        total += amount
        if not live:
            continue
        if hold:
            hold.look(at)
            since = at if hold.must else since
            hold = None if hold.must else hold
        if hold:
            hold.count(at, amount)
        came.append((at, amount))
        while at - came[0][0] > ns:
            came.pop(0)
        whole, surely = within(came, at, ns), 0 if hold else within(came, at, min(short, at - since))
        value = fired.pop(at, None)
        if value is None:
            assert surely < n, f'{wanted}: {surely} came within {short} ns before {at}, and it did not fire'
        else:
            assert value == total, f'{wanted}: it fired at {value}, when {total} had come'
            assert whole >= n, f'{wanted}: it fired at {at}, when {whole} had come within {ns} ns'
            assert not hold or hold.may, f'{wanted}: it fired at {at}, when it was not over'
            sharp += surely < n
            came, live, seen = [], again, seen + 1
            hold = Hold(unit, until, at) if until else None
    assert not fired, f'{wanted}: it fired at times when nothing came, or once more: {fired}'
    return seen, sharp


def play(bench, rng, sets):
    bursts = draw(rng)
    capture, rules = bench.file('in.pcap'), bench.file('rules', COUNTS + ''.join(words(*wanted) for wanted in WANTED))
    write(capture, bursts)
    told = []
    for queues in 1, 2, 4:
        ran = subprocess.run([RATES, rules, capture, str(queues), *map(str, sets)], capture_output=True, text=True,
                             timeout=HANG, env=bench.environment)
        assert ran.returncode == 0, ran
        told.append(ran.stdout)
        assert told[0] == ran.stdout, 'runs over one capture fire the same'
        if queues > 1:
            continue
        fired = [[] for _ in WANTED]
        for line in ran.stdout.splitlines():
            event = json.loads(line)
            fired[event['when']].append((event['ns'], event['value']))
        for wanted, times in zip(WANTED, fired):
            assert len(dict(times)) == len(times), f'{wanted}: it fired twice at one time: {times}'
        seen = [judge(wanted, bursts, sets, times) for wanted, times in zip(WANTED, fired)]
    return seen, len(bursts)


def captures_are_judged_by_their_times(bench):
    rng = random.Random(SEED)
    print(f'TRIP_SEED={SEED}')
    firings, sharp = [0] * len(WANTED), 0
    for sets in [], sorted(rng.randrange(40 * SECOND) for _ in range(12)):
        seen, bursts = play(bench, rng, sets)
        firings = [a + b for a, (b, _) in zip(firings, seen)]
        sharp += sum(s for _, s in seen)
    print(f'{sum(firings)} firings, {sharp} of them by a whole window, the last of {bursts} bursts: {firings}')
    assert all(firings) and sharp > 0, firings


main(captures_are_judged_by_their_times)

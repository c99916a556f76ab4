# SPDX-License-Identifier: BSD-3-Clause
"""RATE and IDLE as their promises have them, judged by nothing but when how much came: bursts of (time, {count: (packets,
bytes)}), and when all counters were set to 0. Each firing is a time and the value that the counter had."""
import collections

SECOND = 10**9


def amount_of(burst, name, unit):
    return burst[1].get(name, (0, 0))[unit == 'bytes']


def rate_of(unit, n, ns):
    """Such that exactly n come of it: of a whole number a day, n is what is rounded up."""
    return f'{(n * 86400 * SECOND) // ns}/d' if unit == 'packets' else f'{(n * 8 * SECOND) // ns}bit/s'


def count_of(unit, n, ns):
    """As the language has it, from what is written."""
    amount, per = ((n * 86400 * SECOND) // ns, 86400 * SECOND) if unit == 'packets' else ((n * 8 * SECOND) // ns, 8 * SECOND)
    return -(-amount * ns // per)


def within(came, at, ns):
    return sum(count for when, count in came if at - when <= ns)


def most_within(bursts, name, unit, ns):
    came, now, most = collections.deque(), 0, 0
    for burst in bursts:
        came.append((burst[0], amount_of(burst, name, unit)))
        now += came[-1][1]
        while burst[0] - came[0][0] > ns:
            now -= came.popleft()[1]
        most = max(most, now)
    return most


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


class Rate:
    """So many within so long (COND-03, COND-04); again for as many more, or when less than so many came in such a time
    (COND-05). Windows begin anew with each set (COND-08)."""

    def __init__(self, name, unit, n, ns, again=False, until=None):
        self.name, self.unit, self.ns, self.again, self.until = name, unit, ns, again, until
        self.n, self.rate = count_of(unit, n, ns), rate_of(unit, n, ns)

    def __str__(self):
        behind = f' until < {rate_of(self.unit, *self.until)} for {self.until[1]}ns' if self.until else \
            ' every 1' if self.again else ''
        return f'when {self.name}.{self.unit} rate >= {self.rate} over {self.ns}ns{behind} log'

    def judge(self, bursts, sets, fired):
        """How often it fired, and how often by a window that only the whole one explains."""
        short, fired, sets = self.ns - self.ns // 64, set(fired), list(sets)
        came, seen, total, live, sharp, hold, since = [], 0, 0, True, 0, None, 0
        for burst in bursts:
            at, amount = burst[0], amount_of(burst, self.name, self.unit)
            while sets and sets[0] <= at:
                came, total, since = [], 0, sets.pop(0)
                hold = hold.again(since) if hold else None
            total += amount
            if not live or amount == 0:
                continue
            if hold:
                hold.look(at)
                since = at if hold.must else since
                hold = None if hold.must else hold
            if hold:
                hold.count(at, amount)
            came.append((at, amount))
            while at - came[0][0] > self.ns:
                came.pop(0)
            whole, surely = within(came, at, self.ns), 0 if hold else within(came, at, min(short, at - since))
            if (at, total) not in fired:
                assert surely < self.n, f'{self}: {surely} came within {short} ns before {at}, and it did not fire'
                continue
            fired.remove((at, total))
            assert whole >= self.n, f'{self}: it fired at {at}, when {whole} had come within {self.ns} ns'
            assert not hold or hold.may, f'{self}: it fired at {at}, when it was not over'
            sharp += surely < self.n
            came, live, seen = [], self.again, seen + 1
            hold = Hold(self.unit, self.until, at) if self.until else None
        assert not fired, f'{self}: it fired at times when nothing came, with another value, or once more: {fired}'
        return seen, sharp


class Idle:
    """Nothing for so long, 1 % longer at most, since the beginning, the last that came or a set; once for each, or once
    (COND-06, COND-08)."""

    def __init__(self, name, unit, ns, again):
        self.name, self.unit, self.ns, self.again = name, unit, ns, again

    def __str__(self):
        return f'when {self.name}.{self.unit} idle {self.ns}ns{" every 1" if self.again else ""} log'

    def moments(self, bursts, sets):
        """When it began, and what the value is from then on."""
        total, sets = 0, list(sets)
        yield 0, 0
        for burst in bursts:
            while sets and sets[0] <= burst[0]:
                total = 0
                yield sets.pop(0), 0
            amount = amount_of(burst, self.name, self.unit)
            total += amount
            if amount > 0:
                yield burst[0], total
        yield bursts[-1][0], None

    def judge(self, bursts, sets, fired):
        fired, seen, (began, total) = list(fired), 0, (0, 0)
        for end, value in self.moments(bursts, sets):
            during = [firing for firing in fired if firing[0] <= end]
            fired = fired[len(during):]
            assert len(during) <= 1, f'{self}: it fired at {during} since {began}'
            for at, shown in during:
                assert self.again or seen == 0, f'{self}: it fired again, at {at}'
                assert shown == total, f'{self}: it fired at {at} with {shown}, when {total} had come'
                assert self.ns <= at - began <= self.ns + self.ns // 100, f'{self}: it fired at {at}, idle since {began}'
            assert during or end - began <= self.ns + self.ns // 100 or (seen > 0 and not self.again), \
                f'{self}: it did not fire between {began} and {end}'
            seen += len(during)
            began, total = end, value
        assert not fired, f'{self}: it fired behind the last packet: {fired}'
        return seen, 0

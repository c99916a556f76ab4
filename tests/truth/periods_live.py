# SPDX-License-Identifier: BSD-3-Clause
"""Quotas by the minute over live traffic, judged from the times of the packets alone, as tcpdump has recorded them where
they came and where they left, and from what tripd tells (--events, --report). The time of the day that tripd goes by is
moved on from minute to minute (moved_clock.c), so that nobody waits for one; nothing is on its way while it is. No
verdict depends on how long anything takes.

Of each quota: a period came to what was recorded in it, and all periods to what was recorded; one that came to its limit
tripped once, at that or above it, no earlier than the packet that brought it there, and one that did not, never. What was
recorded up to the limit has left; what was recorded behind the trip has not.

At the end minutes begin in the midst of traffic. A packet is of the period in which tripd's polling lcore reads it: so
periods came to no more than was recorded until their end was told, and to no less than was read before the clock was
moved; and nothing is in no period, or in two.
"""
import mmap
import os
import random
import signal
import struct
import subprocess
import sys
import threading
import time
from collections import namedtuple

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'apps'))
from clock_of_packets import ns_of
from taps import Sender, await_tap, enter_namespace, listen
from tools import read_records
from tripd_test import Skip, equal, ethernet, ipv4, json, main, shutil, udp, wait_until

TRIPCTL, MOVED_CLOCK = sys.argv[2:4]
SEED = int(os.environ.get('TRIP_SEED', 20261127))
SECOND, MINUTE = 10**9, 60 * 10**9
IN, OUT, MTU = 'truth0', 'truth1', 1500
# The quotas: of what, how much, and whether that is dropped then.
Quota = namedtuple('Quota', 'count unit limit drops')
QUOTAS = {'few': Quota('dns', 'packets', 40, True), 'much': Quota('web', 'bytes', 20000, True),
          'free': Quota('rest', 'packets', 10**9, False)}
PORTS = {'dns': 53, 'web': 80, 'rest': 9}
RULES = ''.join(f'count {name} port 0 pattern eth / ipv4 / udp dst is {port} / end\n' for name, port in PORTS.items()) + \
    ''.join(f'quota {name} {quota.limit} per minute of {quota.count}.{quota.unit}\n' for name, quota in QUOTAS.items()) + \
    ''.join(f'when {name} spent drop {quota.count}\n' for name, quota in QUOTAS.items() if quota.drops)
Packet = namedtuple('Packet', 'number name size at')


def read_recorded(path):
    """[Packet], in their order, by the time of the machine."""
    with open(path, 'rb') as file:
        assert file.read(4) == b'\x4d\x3c\xb2\xa1', f'{path}: no capture with nanoseconds'
    names, packets = {port: name for name, port in PORTS.items()}, []
    for seconds, ns, length, frame in read_records(path):
        port, number = struct.unpack_from('!2xH4xI', frame, 34)
        packets.append(Packet(number, names[port], length, seconds * SECOND + ns))
    return packets


class Clock:
    """The time of the day that tripd goes by."""

    def __init__(self, bench):
        self.path = bench.file('clock')
        with open(self.path, 'wb') as file:
            file.write(bytes(mmap.PAGESIZE))
        with open(self.path, 'r+b') as file:
            self.page = mmap.mmap(file.fileno(), mmap.PAGESIZE)
        # When it was moved, by the machine's: before and after; and by how much it is ahead since then.
        self.moves = []

    def shown(self, ns=None):
        ns, ahead = time.time_ns() if ns is None else ns, 0
        for before, after, moved in self.moves:
            assert not before <= ns <= after, f'something came at {ns}, while the clock was moved'
            ahead = moved if ns > after else ahead
        return ns + ahead

    def move_to(self, ns):
        before = time.time_ns()
        ahead = ns - before
        struct.pack_into('=q', self.page, 0, ahead)
        self.moves.append((before, time.time_ns(), ahead))
        # The next packet is no longer in between.
        while time.time_ns() <= self.moves[-1][1]:
            pass

    def next_minute(self, more=1):
        """Into the next one, or into a later one."""
        self.move_to((self.shown() // MINUTE + more) * MINUTE + 7 * SECOND)


class Bed:
    def __init__(self, bench):
        if shutil.which('tcpdump') is None:
            raise Skip('tcpdump is not installed')
        self.bench, self.clock, self.number = bench, Clock(bench), 0
        self.sent = dict.fromkeys(PORTS, 0)
        # Far from the end of a minute, whatever the time is.
        self.clock.move_to(time.time_ns() // MINUTE * MINUTE + 7 * SECOND)
        self.process = bench.start(
            *bench.eal(f'net_tap0,iface={IN}', f'net_tap1,iface={OUT}'), '--rules', bench.file('rules', RULES), '--socket',
            bench.file('socket'), '--events', bench.file('events'), '--report', bench.file('report'), '--pair', '0,1',
            env={**bench.environment, 'TZ': 'UTC', 'LD_PRELOAD': MOVED_CLOCK, 'TRIP_MOVED_CLOCK': self.clock.path})
        for tap in IN, OUT:
            await_tap(self.process, tap, MTU)
        bench.wait_for_line(self.process, '0 flows are counted in hardware')
        precise = '--time-stamp-precision=nano', '-B', '16384', '-s', '128'
        self.listeners = {tap: listen(bench, tap, bench.file(tap), *precise) for tap in (IN, OUT)}
        self.sender = Sender(IN)

    def send(self, name, n=1, size=100):
        for _ in range(n):
            self.sender.send([ethernet(ipv4(udp(PORTS[name], struct.pack('!I', self.number).ljust(size, b'\0')), 17))])
            self.number += 1
            self.sent[name] += 1

    def ask(self, *words):
        done = subprocess.run([TRIPCTL, '--socket', self.bench.file('socket'), *words], capture_output=True, text=True,
                              check=False, env=self.bench.environment)
        equal(done.returncode, 0, f'tripctl {words}: {done.stderr}')
        return done.stdout

    def settle(self):
        """All that was sent has been counted."""
        for name, n in self.sent.items():
            self.ask('wait', f'{name}.packets', str(n))

    def events(self, *kinds):
        with open(self.bench.file('events'), encoding='ascii') as file:
            lines = [json.loads(line) for line in file if line.endswith('\n')]
        return [line for line in lines if line['event'] in kinds]

    def await_event(self, kind, what, more=1):
        """Does what is to bring so many more of them."""
        before = len(self.events(kind))
        what()
        wait_until(f'a {kind}', lambda: len(self.events(kind)) >= before + more)

    def end_minute(self, more=1):
        self.settle()
        self.await_event('period', lambda: self.clock.next_minute(more), len(QUOTAS))
        # Who answers this has done all that the end of a period asks for.
        self.ask('list', 'quotas')

    def close(self):
        """What was recorded, where it came and where it left, and the report."""
        self.send('rest')
        self.settle()
        self.sender.close()
        # What was sent last leaves, and behind all else.
        for tap in IN, OUT:
            wait_until('listening', lambda: read_recorded(self.bench.file(tap))[-1:] and
                       read_recorded(self.bench.file(tap))[-1].number == self.number - 1)
        self.process.send_signal(signal.SIGTERM)
        code, _, err = self.bench.finish(self.process)
        equal(code, 0, f'exit code: {err}')
        recorded = []
        for tap in IN, OUT:
            # With tripd its interface has gone.
            said = self.listeners[tap].communicate()[1]
            assert '\n0 packets dropped by kernel' in said, said
            recorded.append(read_recorded(self.bench.file(tap)))
        equal([packet.number for packet in recorded[0]], list(range(self.number)), 'what was recorded')
        with open(self.bench.file('report'), encoding='utf-8') as file:
            return *recorded, json.load(file)


# ---- the judge: it knows what was recorded, when the clock was moved, and what was told --------------------------------


def amount(packet, quota):
    return packet.size if quota.unit == 'bytes' else 1


def judge_period(what, quota, packets, left, trips):
    """`packets` came in it, by shown time; how far they come to the limit, and what has left of them."""
    came, crossed = 0, None
    for packet in packets:
        came += amount(packet, quota)
        if crossed is None:
            assert packet.number in left, f'{what}: packet {packet.number} was dropped at {came} of {quota.limit}'
        if crossed is None and came >= quota.limit:
            crossed = packet
    equal(len(trips), int(quota.drops and crossed is not None), f'{what}: trips, of {came}')
    for trip in trips:
        at = ns_of(trip['time'])
        equal((trip['op'], trip['result'], trip['threshold']), ('drop', 0, quota.limit), f'{what}: the trip')
        assert quota.limit <= trip['value'] <= came, f'{what}: it tripped at {trip["value"]}, and came to {came}'
        assert at >= crossed.at, f'{what}: it tripped at {at}, and packet {crossed.number} came at {crossed.at}'
        for packet in packets:
            assert packet.at <= at or packet.number not in left, \
                f'{what}: packet {packet.number} has left, and came at {packet.at}, behind the trip at {at}'
    return came


def judge(name, quota, recorded, left, events, report):
    """Of one quota, minute by minute: how many have ended, how often it tripped."""
    told, trips = [], [[]]
    for event in events:
        if event['event'] == 'period' and event['quota'] == name:
            told.append(event)
            trips.append([])
        elif event['event'] == 'trip' and event['counter'] == name:
            trips[-1].append(event)
    now, = (entry for entry in report['quotas'] if entry['name'] == name)
    spent = [(period['began'], period['ended'], period['spent']) for period in told] + [(now['began'], None, now['spent'])]
    for (_, ended, _), (began, _, _) in zip(spent, spent[1:]):
        equal((began, ended % 60), (ended, 0), f'{name}: a period begins where one has ended, at the minute')
    for i, (began, ended, came) in enumerate(spent):
        def within(at):
            return at >= began * SECOND and (ended is None or at < ended * SECOND or i + 1 == len(spent))

        what = f'{name}, period {i}'
        packets = [packet for packet in recorded if packet.name == quota.count and within(packet.at)]
        equal(came, judge_period(what, quota, packets, left, trips[i]), f'{what}: what it came to')
    equal(sum(came for _, _, came in spent), sum(amount(packet, quota) for packet in recorded if packet.name == quota.count),
          f'{name}: all periods together')
    equal(now['ended'], len(told), f'{name}: periods that have ended')
    return len(told), sum(map(len, trips))


def by_shown_time(clock, packets):
    return [packet._replace(at=clock.shown(packet.at)) for packet in packets]


# ---- tests -------------------------------------------------------------------------------------------------------------


def draw_minute(bed, rng):
    """Some of all, up to twice the limits; behind a trip more of it."""
    for name in rng.sample(list(PORTS), rng.randrange(4)):
        for _ in range(rng.randrange(1, 8)):
            bed.send(name, rng.choice((1, 2, 5, rng.randrange(1, 30))), rng.randrange(18, 1000))
        if rng.random() < 0.5:
            bed.settle()
            bed.send(name, rng.randrange(5))


def each_minute_comes_to_what_was_recorded_in_it(bench):
    rng, bed = random.Random(SEED), Bed(bench)
    # Below, at and above the limit; nothing; and what comes behind the trip.
    bed.send('dns', 39)
    bed.end_minute()
    bed.await_event('trip', lambda: bed.send('dns', 40))
    bed.send('dns', 10)
    bed.end_minute()
    bed.end_minute()
    bed.await_event('trip', lambda: bed.send('web', 30, 1000))
    bed.send('web', 10)
    bed.end_minute(more=4)
    for _ in range(12):
        draw_minute(bed, rng)
        bed.end_minute(rng.choice((1, 1, 1, 2, 60)))
    bed.send('dns', 50)
    recorded, out, report = bed.close()
    recorded, left = by_shown_time(bed.clock, recorded), {packet.number for packet in out}
    events = bed.events('period', 'trip')
    for name, quota in QUOTAS.items():
        ended, tripped = judge(name, quota, recorded, left, events, report)
        print(f'{name}: {ended} periods, {tripped} trips, {len(recorded)} packets')
        equal(ended, 16, f'{name}: periods')
        assert (tripped > 1) == quota.drops, f'{name} tripped {tripped} times'


def each_packet_is_of_one_minute(bench):
    """While packets come all the time."""
    bed, going, read = Bed(bench), True, []

    def go_on():
        while going:
            bed.send('rest', 3)

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        for _ in range(8):
            before = bed.number
            read.append(int(bed.ask('wait', 'rest.packets', str(before + 50)).split()[1]))
            bed.await_event('period', bed.clock.next_minute, len(QUOTAS))
    finally:
        going = False
        thread.join()
    recorded, out, report = bed.close()
    equal(len(out), len(recorded), 'packets that have left')
    told = [event for event in bed.events('period') if event['quota'] == 'free']
    now, = (entry for entry in report['quotas'] if entry['name'] == 'free')
    equal(len(told), 8, 'periods')
    equal(sum(period['spent'] for period in told) + now['spent'], len(recorded), 'all periods together')
    until = 0
    for period, (_, _, ahead), least in zip(told, bed.clock.moves[1:], read):
        until += period['spent']
        # It was told when the clock had been moved.
        at = ns_of(period['time']) - ahead
        most = sum(packet.at <= at for packet in recorded)
        assert least <= until <= most, f'{until} packets until the end of {period}: {least} were read, {most} had come'


if sys.argv[-1] != 'inside':
    print(f'periods_live: TRIP_SEED={SEED}', flush=True)
enter_namespace('periods_live', TRIP_SEED=str(SEED))
main(each_minute_comes_to_what_was_recorded_in_it, each_packet_is_of_one_minute)

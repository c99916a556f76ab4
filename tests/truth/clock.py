# SPDX-License-Identifier: BSD-3-Clause
"""--clock packet: generated captures, judged from the times of their packets alone (COND-02, COND-06, DATA-10). Which
packets fire what, when quotas begin anew, when what is dropped for a time passes again, what is policed, and which packets come through: to the packet, and where a time ends, to the nanosecond. Two runs write the same, whatever the queues; times
that go back, jump, or are none, are taken as README.md of tripd says."""
import os
import random
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'apps'))
from tripd_test import *
from clock_of_packets import read_recorded, run_by_clock

SEED = int(os.environ.get('TRIP_SEED', 20261123))
US, SECOND = 1000, 10**9
PORTS = {'dns': 53, 'web': 80, 'other': 9}
IDLE, FOR, AFTER, EVERY = 2 * SECOND, 3 * SECOND, 7 * SECOND, 11 * SECOND
LIMIT, STEP, FREE, RATE = 60, 40, 20, 50
RULES = f'''count dns port 0 pattern eth / ipv4 / udp dst is 53 / end
count web port 0 pattern eth / ipv4 / udp dst is 80 / end
count other port 0 pattern eth / ipv4 / udp dst is 9 / end
quota q {LIMIT} per minute of dns.packets
when q spent drop dns
when web.packets >= {STEP} every {STEP} drop web for {FOR}ns
when dns.packets idle {IDLE}ns every 1 log
when after {AFTER}ns log
when every {EVERY}ns log
when other.packets >= {FREE} police other {RATE}pps
'''


def draw(rng, n):
    """Times and names of packets; some times are the same, some go back, some jump."""
    now, packets = 1700000000 * SECOND + rng.randrange(10**6) * US, []
    for _ in range(n):
        now += rng.choice((0, 1, 50, rng.randrange(1000), rng.randrange(400000))) * US
        if rng.random() < 0.02:
            now += rng.randrange(9 * 10**6) * US
        if rng.random() < 0.004:
            now += rng.randrange(200 * 10**6) * US
        back = rng.randrange(3 * 10**6) * US if rng.random() < 0.02 else 0
        packets.append((now - back, rng.choice(list(PORTS))))
    return packets


def write(path, packets):
    """As it is in a file: seconds and microseconds may be anything. The number of each packet is in it."""
    with open(path, 'wb') as file:
        file.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for number, (seconds, micros, name) in packets:
            frame = ethernet(ipv4(udp(PORTS[name], struct.pack('!I', number) + bytes(14)), 17))
            file.write(struct.pack('<IIII', seconds, micros, len(frame), len(frame)) + frame)


def split(ns, name):
    return ns // SECOND, ns % SECOND // US, name


def run(bench, queues, rules=RULES):
    """Plays packets, by file: what happened, and which packets came through."""
    out = bench.file('out.pcap')
    files = [bench.file(f'{i}.pcap') for i in range(len(queues))]
    for file, packets in zip(files, queues):
        write(file, packets)
    if os.path.exists(out):
        os.unlink(out)
    lines = run_by_clock(bench, files, rules, '--ports', '0,1', '--report', bench.file('report'),
                         vdevs=[f'net_pcap1,tx_pcap={out}'])
    return lines, [struct.unpack_from('!I', frame, 42)[0] for frame in read_pcap(out)]


def clock_of(packets):
    """When each is counted: never earlier than the one before."""
    times, now = [], 0
    for ns, _ in packets:
        now = max(now, ns)
        times.append(now)
    return times


def expect_quota(times, amounts, limit):
    """Trips of a quota of a minute, its periods, and which packets it drops: of packets that are not its, 0."""
    began, ends = times[0] // SECOND, (times[0] // SECOND // 60 + 1) * 60
    trips, periods, dropped, spent = [], [], set(), 0
    for number, (amount, now) in enumerate(zip(amounts, times)):
        if now >= ends * SECOND:
            periods.append((spent, began, ends))
            began, ends, spent = ends, (now // SECOND // 60 + 1) * 60, 0
        if amount == 0:
            continue
        if spent >= limit:
            dropped.add(number)
        elif spent + amount >= limit:
            trips.append((now, spent + amount))
        spent += amount
    return trips, periods, dropped


def expect_drops(packets, times):
    """Likewise of what is dropped for a time: with each end the value of the last trip."""
    trips, dropped, came, until, value = [], set(), 0, 0, 0
    for number, ((_, name), now) in enumerate(zip(packets, times)):
        if until and now >= until:
            trips.append((until, value, True))
            until = 0
        if name != 'web':
            continue
        if until:
            dropped.add(number)
        came += 1
        if came % STEP == 0:
            until, value = now + FOR + 1, came
            trips.append((now, came, False))
    return trips, dropped


def expect_policed(packets, times):
    """A token bucket of a tenth of a second, in sixteenths of a nanosecond."""
    cost, burst, full, came, dropped = 16 * SECOND // RATE, 16 * SECOND // 10, 0, 0, set()
    for number, ((_, name), now) in enumerate(zip(packets, times)):
        if name != 'other':
            continue
        came += 1
        if came <= FREE:
            continue
        now = 16 * (now - times[0])
        ahead = max(full - now, 0)
        if ahead != 0 and ahead + cost > burst:
            dropped.add(number)
        else:
            full = now + ahead + cost
    return dropped


def judge_idle(packets, times, trips):
    """From the beginning on, and behind each packet that nothing follows for long enough."""
    came = [times[0]] + [now for (_, name), now in zip(packets, times) if name == 'dns']
    for i, (begins, ends) in enumerate(zip(came, came[1:] + [times[-1]])):
        late = begins + IDLE + IDLE // 100
        here = [trip for trip in trips if begins < trip[0] and (trip[0] <= ends or late >= trip[0]) and trip[1] == i]
        assert len(here) <= 1, f'behind {begins}: {here}'
        trips = [trip for trip in trips if trip not in here]
        if here:
            assert begins + IDLE <= here[0][0] <= late, f'it fired at {here[0][0] - begins} ns'
        else:
            assert ends - begins <= IDLE + IDLE // 100, f'it did not fire behind {begins}'
    assert not trips, f'no packet explains {trips}'


def judge(packets, lines, through):
    times = clock_of(packets)
    trips = {line: [] for line in range(5, 11)}
    for event in lines:
        if event['event'] == 'trip':
            trips[event['line']].append(event)
    first, last = times[0], times[-1]
    quota, periods, by_quota = expect_quota(times, [name == 'dns' for _, name in packets], LIMIT)
    equal([(t['packet_time'], t['value']) for t in trips[5]], quota, 'trips of the quota')
    equal([(p['spent'], p['began'], p['ended']) for p in lines if p['event'] == 'period'], periods, 'periods')
    drops, by_time = expect_drops(packets, times)
    equal([(t['packet_time'], t['value'], t['ends']) for t in trips[6]], drops, 'trips of what drops for a time')
    judge_idle(packets, times, [(t['packet_time'], t['value']) for t in trips[7]])
    equal([t['packet_time'] for t in trips[8]], [first + AFTER] if first + AFTER <= last else [], 'after')
    equal([t['packet_time'] for t in trips[9]], list(range(first + EVERY, last + 1, EVERY)), 'every')
    by_rate = expect_policed(packets, times)
    assert by_quota and by_time and by_rate, 'what drops nothing shows nothing'
    dropped = by_quota | by_time | by_rate
    equal(through, [i for i in range(len(packets)) if i not in dropped], 'packets that come through')
    order = [event['packet_time'] for event in lines if event['event'] in ('trip', 'period')]
    equal(order, sorted(order), 'order of trips and periods')
    return {line: len(all) for line, all in trips.items()}


def captures_are_judged_by_their_times(bench):
    print(f'TRIP_SEED={SEED}')
    rng = random.Random(SEED)
    for _ in range(3):
        packets = draw(rng, 3000)
        numbered = list(enumerate(split(*packet) for packet in packets))
        lines, through = run(bench, [numbered])
        seen = judge(packets, lines, through)
        assert all(seen.values()), f'what never fired shows nothing: {seen}'
        equal(run(bench, [numbered]), (lines, through), 'a second run')
    print(f'{seen} of the last')


def queues_are_merged_by_time(bench):
    rng = random.Random(SEED + 1)
    packets = draw(rng, 2000)
    # In the order of time: between queues nothing else says it. Of one time, the first queue's come first.
    packets = sorted((ns, rng.randrange(4), name) for ns, name in packets)
    for n in 1, 2, 4:
        queues = [[] for _ in range(n)]
        ordered = sorted(((ns, queue % n, i, name) for i, (ns, queue, name) in enumerate(packets)))
        for number, (ns, queue, _, name) in enumerate(ordered):
            queues[queue].append((number, split(ns, name)))
        lines, through = run(bench, queues)
        judge([(ns, name) for ns, _, _, name in ordered], lines, through)


def hostile(rng):
    def word():
        return rng.choice((0, 1, 10**6 - 1, 10**6, 2**31 - 1, 2**31, 2**32 - 1, 1700000000, rng.randrange(2**32)))

    return [(word(), word(), rng.choice(list(PORTS))) for _ in range(40)]


def any_time_is_one(bench):
    """Microseconds above a million are so many; the largest time of such a file is in the year 2106."""
    rng = random.Random(SEED + 2)
    rules = RULES.replace(f'when every {EVERY}ns log\n', 'when every 10000d log\n')
    for _ in range(5):
        packets = hostile(rng)
        lines, _ = run(bench, [list(enumerate(packets))], rules)
        equal(run(bench, [list(enumerate(packets))], rules)[0], lines, 'a second run')
        order = [event['packet_time'] for event in lines if event['event'] == 'trip']
        equal(order, sorted(order), 'order of the trips')
        with open(bench.file('report'), encoding='utf-8') as file:
            counts = {c['name']: c['packets'] for c in json.load(file)['counters']}
        for name in 'dns', 'web':
            equal(counts[name], sum(which == name for _, _, which in packets), f'packets of {name}')


def until_idle_waits_for_what_is_left_to_do(bench):
    """A day in seconds takes longer than that to go through."""
    files = [bench.file('in.pcap')]
    write(files[0], [(0, (0, 0, 'dns')), (1, (86400, 0, 'dns')), (2, (86400, 0, 'dns'))])
    lines = run_by_clock(bench, files, RULES.split('\n', 1)[0] + '\nwhen every 1s log\nwhen dns.packets >= 3 log\n',
                         '--until-idle', '0.001')
    equal(sum(trip['line'] == 2 for trip in lines), 86400, 'seconds')
    equal(len([trip for trip in lines if trip['line'] == 3]), 1, 'trips at the last packet')


def a_jump_of_years_is_gone_through(bench):
    """What is due a billion times until the next packet is so at its own times only at first."""
    years = 1790000000
    rules = RULES.split('when ', 1)[0] + '''counter ticks
when every 1s log
when every 2s add ticks 1
when after 10000d log
when web.packets >= 1 every 1 drop web for 1000d
'''
    lines, _ = run(bench, [[(0, (0, 0, 'web')), (1, (years, 500000, 'web')), (2, (years + 3, 0, 'web'))]], rules)
    lines = [line for line in lines if line['event'] == 'trip']
    order = [trip['packet_time'] for trip in lines]
    equal(order, sorted(order), 'order of the trips')
    for line, period in (6, 1), (7, 2):
        every = [(trip['threshold'], trip['packet_time'], trip['count']) for trip in lines if trip['line'] == line]
        due = 0
        for threshold, time, count in every:
            due += count
            equal(threshold, due * period * SECOND, f'the last of {count} that were due')
            assert time >= threshold and (count > 1 or time == threshold), f'what was due at {threshold} was done at {time}'
        equal(due, (years + 3) // period, f'times that it was due every {period} s')
        # What is due once stops the clock on the way.
        assert 1 <= sum(count > 1 for _, _, count in every) <= 2, 'trips that stand for more than one'
        assert sum(count == 1 for _, _, count in every) > 40000, 'a day of them are by themselves'
    with open(bench.file('report'), encoding='utf-8') as file:
        ticks = [c['packets'] for c in json.load(file)['counters'] if c['name'] == 'ticks']
    equal(ticks, [(years + 3) // 2], 'what was added each time')
    # What is due once is so at its own time.
    equal([t['packet_time'] for t in lines if t['line'] == 8], [10000 * 86400 * SECOND], 'after')
    equal([(t['packet_time'], t['count']) for t in lines if t['line'] == 9 and t['ends']],
          [(1000 * 86400 * SECOND + 1, 1)], 'end of a drop')


def what_lasts_does_not_keep_it_from_its_end(bench):
    """Each millisecond of a day takes long."""
    write(bench.file('in.pcap'), [(i, (80 * i, 0, 'dns')) for i in range(1080)])
    process = bench.start(*bench.eal('net_pcap0,rx_pcap=' + bench.file('in.pcap')), '--rules', bench.file(
        'rules', RULES + 'when every 1ms log\n'), '--clock', 'packet', '--events', bench.file('events'))
    bench.wait_for_line(process, '1970-01-01T00:')
    process.send_signal(signal.SIGTERM)
    code, _, _ = bench.finish(process)
    assert code in (0, 1), f'exit code {code}'


def lines_are_bounded_by_the_time_of_the_packets(bench):
    """However fast they are gone through. A condition of several has no counter to begin its line."""
    files = [bench.file('in.pcap')]
    write(files[0], [(i, (i, 0, 'dns')) for i in range(31)])
    rules = RULES.split('\n', 1)[0] + '''
when every 1s log "tick" at most 2 per 10s
when any(dns.packets >= 5, after 1h) log "five"
'''
    _, out, _ = bench.run(*bench.eal('net_pcap0,rx_pcap=' + files[0]), '--rules', bench.file('rules', rules),
                          '--clock', 'packet', '--until-idle', '0.01')
    ticks = [line for line in out.splitlines() if line.endswith('log tick')]
    equal([int(line[17:19]) for line in ticks if line.startswith('1970')], [1, 2, 11, 12, 21, 22], 'seconds that have lines')
    equal([line.split()[1] for line in ticks if 'left out' in line], ['8', '8', '8'], 'lines left out')
    equal([line.split() for line in out.splitlines() if 'log five' in line],
          ['1970-01-01T00:00:04.000000000Z any(dns.packets >= 5, after 1h) log five'.split()], 'its line')
    assert '000Z  any(' in out, out


def a_period_has_all_that_came_in_it(bench):
    """Where nothing that is armed has the counters read: the quota is spent."""
    files = [bench.file('in.pcap')]
    write(files[0], [(i, (60 * (i // 10) + i % 10, 0, 'dns')) for i in range(40)])
    rules = RULES.split('\n', 1)[0] + '''
quota few 3 per minute of dns.packets
when few spent log
'''
    lines = run_by_clock(bench, files, rules)
    equal([(p['spent'], p['began'], p['ended'], p['packet_time']) for p in lines if p['event'] == 'period'],
          [(10, 60 * i, 60 * (i + 1), 60 * (i + 1) * SECOND) for i in range(3)], 'periods')
    equal([(t['packet_time'], t['value']) for t in lines if t['event'] == 'trip'],
          [((60 * i + 2) * SECOND, 3) for i in range(4)], 'trips')


def each_period_has_its_line_among_those_of_trips(bench):
    """However many end within one look of the control thread, and whatever lines of others are left out meanwhile."""
    minutes, files = 600, [bench.file('in.pcap')]
    write(files[0], [(i, (60 * (i // 5) + i % 5, 0, 'dns')) for i in range(5 * minutes)])
    rules = RULES.split('\n', 1)[0] + '''
quota few 3 per minute of dns.packets
when few spent log
when few >= 1 every 1 log "each" at most 2 per 60s
'''
    _, out, _ = bench.run(*bench.eal('net_pcap0,rx_pcap=' + files[0]), '--rules', bench.file('rules', rules),
                          '--clock', 'packet', '--until-idle', '0.01', env={**bench.environment, 'TZ': 'UTC'})
    lines = [line for line in out.splitlines() if line.startswith('1970-01-01T') or 'left out' in line]

    def at(minute, second=0):
        return f'1970-01-01T{minute // 60:02}:{minute % 60:02}:{second:02}.000000000Z  '

    equal([line for line in lines if 'begins anew' in line],
          [at(i) + 'quota few begins anew: it was 5 of 3 packets' for i in range(1, minutes)], 'lines of periods')
    # Of each minute: two of each packet, of the third the quota is spent; what is left out is told behind the minute.
    kinds = ['left out' if 'left out' in line else 'anew' if 'anew' in line else 'each' if line.endswith(' log each') else 'spent'
             for line in lines]
    equal(kinds, (['each', 'each', 'spent', 'left out', 'anew'] * minutes)[:-1], 'order of lines')


def expect_periods(bench, name, header, end, port):
    """Each byte of a recorded capture is in one period, whether it is dropped or not."""
    rng, slower = random.Random(f'{name} {SEED}'), 90
    now, frames = 0, []
    begin = 1700000000 * SECOND + rng.randrange(60 * SECOND)
    for ns, frame in read_recorded(name):
        # No two at one time: each may be the one that it trips with.
        now = max(now + US, (begin + ns * slower) // US * US)
        frames.append((now, frame))
    times = [ns for ns, _ in frames]
    at = {'src': 34, 'dst': 36}[end]
    sizes = [len(frame) * (frame[23] == header and struct.unpack_from('!H', frame, at) == (port,)) for _, frame in frames]
    packets, limit = sum(map(bool, sizes)) // 20, sum(sizes) // 25
    with open(bench.file('in.pcap'), 'wb') as file:
        file.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for ns, frame in frames:
            file.write(struct.pack('<IIII', ns // SECOND, ns % SECOND // US, len(frame), len(frame)) + frame)
    out = bench.file('out.pcap')
    lines = run_by_clock(bench, [bench.file('in.pcap')], f'''
count some port 0 pattern eth / ipv4 proto is {header} / {"tcp" if header == 6 else "udp"} {end} is {port} / end
quota few {packets} per minute of some.packets
quota much {limit} per minute of some.bytes
when few spent log
when much spent drop some
''', '--ports', '0,1', vdevs=[f'net_pcap1,tx_pcap={out}'])
    for line, (quota, most, amounts) in enumerate((('few', packets, [size > 0 for size in sizes]), ('much', limit, sizes)), 5):
        trips, periods, dropped = expect_quota(times, amounts, most)
        equal([(p['spent'], p['began'], p['ended']) for p in lines if p['event'] == 'period' and p['quota'] == quota],
              periods, f'periods of {quota}')
        equal([(t['packet_time'], t['value']) for t in lines if t['event'] == 'trip' and t['line'] == line and not t['ends']],
              trips, f'trips of {quota}')
        print(f'{name}: {quota} has {len(periods)} periods that ended, and {len(trips)} trips')
        assert len(periods) > 3 and len(trips) > 1, 'too few show nothing'
    assert dropped
    equal(read_pcap(out), [frame for number, (_, frame) in enumerate(frames) if number not in dropped], 'what came through')


def recorded_captures_have_periods(bench):
    """Slowed down, so that they take some minutes."""
    expect_periods(bench, 'curl', 6, 'src', 80)
    expect_periods(bench, 'iperf3', 17, 'dst', 5201)


def what_is_set_has_nothing_of_what_came_before(bench):
    """Ten packets a minute: more than that is never reached, however seldom the counters are read."""
    files = [bench.file('in.pcap')]
    write(files[0], [(i, (60 * (i // 10) + i % 10, 0, 'dns')) for i in range(100)])
    # What is reset is armed again, what is set is not.
    for of, change, most, times in ('dns.packets', 'reset dns', 10, 10), ('all', 'set all 5', 15, 1):
        lines = run_by_clock(bench, files, RULES.split('\n', 1)[0] + f'''
quota all 100 of dns.packets
when every 60s {change}
when {of} >= 10 log
when {of} >= {most + 1} log
''')
        found = [(t['line'], t['value']) for t in lines if t['line'] in (4, 5)]
        equal(found, times * [(4, 10)], f'trips by {change}')


def what_goes_round_holds_no_packet_up(bench):
    """What still holds behind its own reset does that once; and counters that have each other begin anew have an end."""
    files = [bench.file('in.pcap')]
    write(files[0], [(i, (i, 0, 'dns')) for i in range(10)])
    lines = run_by_clock(bench, files, RULES.split('\n', 1)[0] + '''
when any(dns.packets >= 3, after 4s) reset dns
when dns.packets >= 2 every 1 log
''')
    equal([(t['line'], t['packet_time'] // SECOND, t['value']) for t in lines if t['event'] == 'trip'],
          [(3, 1, 2), (3, 2, 3), (2, 2, 1), (2, 4, 1)] + [(3, i, i - 3) for i in range(5, 10)], 'what holds on')
    ring = range(12)
    lines = run_by_clock(bench, files, RULES.split('\n', 1)[0] + '''
when dns.packets >= 1 add c0 1
when dns.packets >= 2 every 1 log
''' + ''.join(f'counter c{i}\nwhen c{i} >= 1 add c{(i + 1) % len(ring)} 1\nwhen c{i} >= 1 reset c{i}\n' for i in ring))
    equal([(t['packet_time'] // SECOND, t['value']) for t in lines if t['event'] == 'trip' and t['line'] == 3],
          [(i, i + 1) for i in range(1, 10)], 'packets while counters go round')


def ports_without_times_are_refused(bench):
    capture = bench.pcap('in.pcap', [ethernet(b'')])
    for device in 'net_null0', f'net_pcap0,rx_pcap={capture},infinite_rx=1':
        code, _, err = bench.run(*bench.eal(device), '--rules', bench.file('rules', RULES), '--clock', 'packet')
        equal(code, 2, 'exit code')
        assert f'port 0 ({device.split(",")[0]}): --clock packet takes ports that give' in err, err
    code, _, err = bench.run('--iface', 'lo', '--rules', bench.file('rules', RULES), '--clock', 'sun')
    equal((code, err.splitlines()[0]), (2, 'tripd: --clock: "sun" is none of machine, packet'), 'exit code and stderr')


main(captures_are_judged_by_their_times, queues_are_merged_by_time, any_time_is_one, until_idle_waits_for_what_is_left_to_do,
     a_jump_of_years_is_gone_through, what_lasts_does_not_keep_it_from_its_end,
     lines_are_bounded_by_the_time_of_the_packets, a_period_has_all_that_came_in_it,
     each_period_has_its_line_among_those_of_trips,
     what_is_set_has_nothing_of_what_came_before, what_goes_round_holds_no_packet_up, recorded_captures_have_periods, ports_without_times_are_refused)

# SPDX-License-Identifier: BSD-3-Clause
"""tripd on the virtual ConnectX, with the quotas of the demo in hardware: the unmodified mlx5 driver, in the
engine that the last argument names."""
import re
import socket

from tripd_test import *

LIBRARY, ENGINE, TRIPCTL = sys.argv[2:5]
DEVARGS, OPTIONS = {'verbs': ('dv_flow_en=0', ''), 'bulk': ('dv_flow_en=1', ''),
                    'fallback': ('dv_flow_en=1', 'bulk=0')}[ENGINE]
NAMES = {'verbs': 'mlx5 verbs', 'bulk': 'mlx5 DV', 'fallback': 'mlx5 DV'}
# Of the demo's rules, those about pings are left to tripd: no engine of mlx5 is known to match them alike.
RULES = '''count dns  port 0 engine hw pattern eth / ipv4 / udp dst is 53 / end
count web  port 0 engine hw pattern eth / ipv4 / udp dst is 443 / end
count ping port 0 pattern eth / ipv4 / icmp type is 8 / end
counter warnings
when dns.packets  >= 1500               drop dns
when dns.packets  >= 1000               log "two thirds of dns"
when dns.packets  >= 1000               add warnings 1
when dns.packets  >= 500                log "one third of dns"
when web.bytes    >= 2M                 drop web
when web.bytes    >= 500k  every 500k   add warnings 1
when ping.packets >= 200   every 200    log "200 more pings"
when warnings     >= 4                  log "four warnings"
'''
INJECT, LATENCY, HOLD, REMOVE = 1, 2, 5, 6


class Device:
    """The device of a program under vcx-run, by its socket; tests/beds/vcx/vcx.h has the calls."""

    def __init__(self, directory):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        path = os.path.join(directory, 'control')
        wait_until('the device', lambda: os.path.exists(path))
        self.sock.connect(path)

    def call(self, op, *args, data=b''):
        head = struct.pack('=II4QI4x', op, 0, *args, *[0] * (4 - len(args)), len(data))
        self.sock.send(head[:44] + data + bytes(4))
        reply = self.sock.recv(1 << 17)
        result, = struct.unpack_from('=i', reply)
        assert result == 0, f'call {op} of the device: {os.strerror(-result)}'
        return struct.unpack_from('=4Q', reply, 8)

    def inject(self, frame, times=1):
        """How many were delivered, and how many a rule dropped."""
        delivered, dropped, unmatched, no_buffer = self.call(INJECT, times, 1, data=frame)
        equal((unmatched, no_buffer), (0, 0), 'packets without a rule or a buffer')
        return delivered, dropped


def words(bench, memory, *more):
    on = cpus()
    return ['--lcores', ','.join(f'{i}@{on[i]}' for i in range(3)), '--file-prefix', bench.prefix,
            *memory, '-a', f'0000:7f:00.0,{DEVARGS}', '--', *more]


def start(bench, rules, *more, memory=('--no-huge', '-m', '256')):
    directory = os.path.join(bench.path, 'vcx')
    os.makedirs(directory, exist_ok=True)
    if os.getuid() != 0 or not os.access('/dev/net/tun', os.R_OK | os.W_OK):
        raise Skip('a virtual ConnectX takes root and /dev/net/tun')
    bench.report = bench.file('report.json')
    environment = dict(bench.environment, LD_PRELOAD=os.path.abspath(LIBRARY), VCX_DIR=directory,
                       VCX_OPTIONS=','.join(filter(None, ('ports=1', OPTIONS))))
    process = bench.start(*words(bench, memory, '--rules', bench.file('rules', rules), *more), env=environment)
    return process, directory


def run(bench, rules):
    process, directory = start(bench, rules, '--report', bench.file('report.json'))
    bench.wait_for_line(process, '2 flows are counted in hardware')
    return process, Device(directory)


def end(bench, process):
    process.send_signal(signal.SIGTERM)
    code, out, err = bench.finish(process)
    # A pause of the traffic is what it is.
    err = re.sub('^((mlx5|EAL|TELEMETRY|ETHDEV).*|tripd: .*none matches, or .*)\n', '', err, flags=re.M)
    equal((code, beside_vain(err)), (0, ''), f'exit code and stderr, with {out}')
    with open(bench.report, encoding='utf-8') as file:
        return json.load(file)


def until_dropped(device, frame, at_least):
    """Sends until a packet is dropped; how many were sent."""
    sent = 0
    while True:
        delivered, dropped = device.inject(frame, 8)
        sent += delivered + dropped
        if dropped and sent >= at_least:
            return sent


def quotas_are_kept_in_hardware(bench):
    process, device = run(bench, RULES)
    sent = {'ping': 0}
    for _ in range(50):
        device.inject(ethernet(ipv4(icmp(8, bytes(16)), 1)), 10)
        sent['ping'] += 10
    sent['dns'] = until_dropped(device, ethernet(ipv4(udp(53, bytes(20)), 17)), 1500)
    web = ethernet(ipv4(udp(443, bytes(958)), 17))
    equal(len(web), 1000, 'bytes of a frame')
    sent['web'] = until_dropped(device, web, 2000)
    # From now on nothing gets through, and all of it counts.
    for name, port, size in ('dns', 53, 20), ('web', 443, 958):
        equal(device.inject(ethernet(ipv4(udp(port, bytes(size)), 17)), 100), (0, 100), f'{name}: fates')
        sent[name] += 100
    report = end(bench, process)
    found = {counter['name']: counter for counter in report['counters']}
    for name, n in sent.items():
        equal(found[name]['packets'], n, f'packets of {name}')
    equal(found['web']['bytes'], 1000 * sent['web'], 'bytes of web')
    equal([found[name]['engine'] for name in ('dns', 'web', 'ping')], ['hw', 'hw', 'sw'], 'engines')
    assert 'ICMP' in found['ping']['reason'], found['ping']
    trips = report['trips']
    equal({trip['result'] for trip in trips}, {0}, 'results')
    equal([trip['threshold'] for trip in trips if trip['op'] == 'drop'], [1500, 2000000], 'drops')
    logs = [trip['threshold'] for trip in trips if trip['counter'] == 'dns.packets']
    equal(logs, [500, 1000, 1000, 1500], 'thresholds of dns')
    port, = report['ports']
    equal((port['driver'], port['engine']), ('mlx5_pci', NAMES[ENGINE]), 'driver and engine')
    assert port['query_ns'] > 0 and port['readings'] > 0, port
    if ENGINE == 'verbs':
        equal((port['refresh_lag_ns'], port['refresh_lag_from']), (0, 'known'), 'refresh lag')


def rules_change_and_every_packet_counts(bench):
    """What a rule has counted last, a device in bulk tells up to a second after it went."""
    rules = 'count all port 0 priority 1 engine hw pattern eth / ipv4 / udp / end\n'
    more = ''.join(f'count p{port} port 0 engine hw pattern eth / ipv4 / udp dst is {port} / end\n' for port in (53, 54))
    process, directory = start(bench, rules, '--report', bench.file('report.json'), '--socket', bench.file('sock'))
    bench.wait_for_line(process, '1 flows are counted in hardware')
    device = Device(directory)
    sent = 0

    def inject():
        nonlocal sent
        for port in 53, 54, 55:
            device.inject(ethernet(ipv4(udp(port, bytes(20)), 17)), 10)
            sent += 10

    def control(*words):
        done = subprocess.run([TRIPCTL, '--socket', bench.file('sock'), *words], text=True, capture_output=True,
                              env=bench.environment, check=False, timeout=HANG)
        equal(done.returncode, 0, f'{words}: {done.stderr}')
        inject()

    inject()
    for _ in range(2):
        control('apply', bench.file('more', more))
        control('apply', bench.file('more', more.replace('udp', 'udp src is 40000')))
        control('remove', 'p53')
        control('reload')
    counters = end(bench, process)['counters']
    equal(sum(counter['packets'] for counter in counters), sent, f'packets of {counters}')


def another_process_counts_in_hardware(bench):
    """It attaches, and the primary asks the driver for its rule, and to drop."""
    rules = 'count web port 0 pattern eth / ipv4 / udp dst is 443 / end\n'
    process, directory = start(bench, rules, '--report', bench.file('report.json'),
                               memory=('-m', '96', '--base-virtaddr=0x200000000000'))
    try:
        for line in process.stdout:
            if line.startswith('1 flows are counted in hardware'):
                break
        else:
            err = process.stderr.read()
            assert 'hugepage' in err.lower() or 'memory' in err.lower(), err
            raise Skip('tripd has no hugepages here')
        device = Device(directory)
        refused = subprocess.run([TRIPCTL, '--file-prefix', bench.prefix, 'apply', '-'], text=True, capture_output=True,
                                 input='when web.packets >= 1 police web 5pps\n', env=bench.environment, check=False)
        assert "count web is at work in hardware (line 1)" in refused.stderr and refused.returncode != 0, refused
        statements = 'count dns port 0 engine hw pattern eth / ipv4 / udp dst is 53 / end ; ' \
            'when dns.packets >= 100 drop dns'
        ctl = bench.track(subprocess.Popen(
            [TRIPCTL, '--file-prefix', bench.prefix, '--json', *statements.split()],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=bench.environment))

        def has_work():
            assert ctl.poll() is None, ctl.communicate()
            listed = subprocess.run([TRIPCTL, '--file-prefix', bench.prefix, '--json', 'list', 'works'],
                                    capture_output=True, text=True, check=True, env=bench.environment)
            return len(json.loads(listed.stdout)['works']) == 1

        wait_until('its work', has_work)
        dns = ethernet(ipv4(udp(53, bytes(20)), 17))
        equal(device.inject(dns, 99), (99, 0), 'fates')
        equal(device.inject(dns, 1), (1, 0), 'the fate of the hundredth')
        told, err = ctl.communicate(timeout=HANG)
        equal((ctl.returncode, err), (0, ''), 'the end')
        fired, counted = (json.loads(line) for line in told.splitlines())
        equal((fired['threshold'], fired['value'], fired['does'], fired['result']),
              (100, 100, 'drop dns', 0), 'what fired')
        equal(counted, {'count': 'dns', 'packets': 100, 'bytes': 100 * len(dns), 'engine': 'hw'}, 'what it has counted')
        # Its rule has ended with it.
        equal(device.inject(dns, 5), (5, 0), 'fates')
        end(bench, process)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        remove_pages(bench.prefix)


def removal_of_the_only_port_ends_it_with_the_report(bench):
    process, device = run(bench, RULES)
    dns = ethernet(ipv4(udp(53, bytes(20)), 17))
    for _ in range(10):
        equal(device.inject(dns, 10), (10, 0), 'fates')
    device.call(REMOVE)
    code, _, err = bench.finish(process)
    equal(code, 1, 'exit code')
    assert re.search(r'^tripd: port 0 \(0000:7f:00.0\) has been removed: .*, and no port is left$', err, re.M), err
    with open(bench.report, encoding='utf-8') as file:
        report = json.load(file)
    port, = report['ports']
    equal((port['lost'], port['removed']), (2, True), 'rules lost, and the removal')


def dry_run_asks_the_driver(bench):
    process, _ = start(bench, RULES, '--dry-run')
    code, out, err = bench.finish(process)
    equal(code, 0, f'exit code, with {err}')
    assert re.search(f'^port 0: {NAMES[ENGINE]} by mlx5_pci: counters lag ', out, re.M), out
    assert re.search('^line 1: dns on port 0: hw: the rule asks for it$', out, re.M), out
    assert re.search('^line 3: ping on port 0: sw: item ICMP is not known', out, re.M), out


def rules_of_a_port_share_an_engine(bench):
    rules = RULES.replace(' engine hw', '')
    process, _ = start(bench, rules, '--dry-run')
    code, out, err = bench.finish(process)
    equal(code, 0, f'exit code, with {err}')
    assert re.search('^line 1: dns on port 0: sw: line 3 of the rules is in software', out, re.M), out
    assert re.search('^line 3: ping on port 0: sw: item ICMP is not known', out, re.M), out
    process, _ = start(bench, rules, '--report', bench.report)
    bench.wait_for_line(process, '0 flows are counted in hardware')
    found = {counter['name']: counter for counter in end(bench, process)['counters']}
    assert found['dns']['reason'].startswith('line 3 of the rules is in software'), found['dns']
    rules = ''.join(line for line in rules.splitlines(True) if 'ping' not in line)
    process, _ = start(bench, rules, '--dry-run')
    code, out, err = bench.finish(process)
    assert re.search("^line 1: dns on port 0: hw: the port's hardware counts it$", out, re.M), out
    process, _ = start(bench, rules + 'when dns.packets >= 1 police dns 5pps\n', '--dry-run')
    code, out, err = bench.finish(process)
    line = len(rules.splitlines()) + 1
    assert re.search(f'^line 1: dns on port 0: sw: line {line} of the rules polices it', out, re.M), out


KEYS = '''each victims port 0 ipv4.dst,proto,l4.dst max 1k idle 60s hardware 16 at most 1k per 1s
when victims.packets >= 50 drop victims
'''


def keys_are_dropped_in_hardware(bench):
    """A flood costs no packet of the host, top says where it is dropped, and the report agrees to the packet."""
    process, directory = start(bench, KEYS, '--report', bench.file('report.json'), '--socket', bench.file('sock'))
    bench.wait_for_line(process, '0 flows are counted in hardware')
    device = Device(directory)
    flood, other = (ethernet(ipv4(udp(port, bytes(20)), 17)) for port in (53, 54))
    wait_until('the socket', lambda: os.path.exists(bench.file('sock')))
    device.inject(other, 49)
    sent = until_dropped(device, flood, 51)
    equal(device.inject(flood, 500), (0, 500), 'fates of a flood in hardware')
    equal(device.inject(other), (1, 0), 'the fate of another')
    sent += 500

    def top(*words):
        done = subprocess.run([TRIPCTL, '--socket', bench.file('sock'), *words, 'top', 'victims', '--rounds', '1'],
                              text=True, capture_output=True, env=bench.environment, check=False, timeout=HANG)
        equal(done.returncode, 0, done.stderr)
        return done.stdout

    def is_whole():
        nonlocal shown
        shown = json.loads(top('--json').splitlines()[0])
        return shown['each']['coming_packets'] == 0 and shown['each']['packets'] == sent + 50

    shown = None
    wait_until('all that hardware has counted', is_whole)
    key = shown['keys'][0]
    equal((key['packets'], key['bytes'], key['state'], key['hardware']),
          (sent, sent * len(flood), 'drop', True), 'the key with most')
    equal((shown['each']['hardware'], shown['each']['hardware_keys']), (16, 1), 'of the statement')
    assert re.search(r' hw +10\..*,17,53$', top(), re.M) and ', 1 dropped in hardware' in top(), top()
    report = end(bench, process)
    each, = report['each']
    equal((each['packets'], each['bytes']), (sent + 50, (sent + 50) * len(flood)), 'packets of the report')
    hardware = each['hardware']
    equal((hardware['keys'], hardware['coming_packets'], hardware['changes'], hardware['failed']),
          (0, 0, 4 if ENGINE == 'verbs' else 2, 0), hardware)
    assert 500 <= hardware['packets'] <= sent - 50, hardware
    equal((each['dropped_packets'], each['top'][0]['packets'], each['top'][0]['hardware']),
          (sent - 50, sent, False), 'what was dropped')


def trips_are_told_while_keys_come_back(bench):
    """A reload waits for what hardware has counted, here until the device tells; trips come meanwhile."""
    if ENGINE != 'bulk':
        return
    process, directory = start(bench, KEYS + 'when victims.packets >= 40 log "forty"\n', '--report', bench.file('report.json'),
                               '--socket', bench.file('sock'), '--events', bench.file('events'))
    bench.wait_for_line(process, '0 flows are counted in hardware')
    device = Device(directory)
    flood = ethernet(ipv4(udp(53, bytes(20)), 17))
    wait_until('the socket', lambda: os.path.exists(bench.file('sock')))
    until_dropped(device, flood, 51)
    device.call(HOLD, 1)
    bench.file('rules', KEYS.replace('16', '8') + 'when victims.packets >= 40 log "forty"\n')
    reload = bench.track(subprocess.Popen([TRIPCTL, '--socket', bench.file('sock'), 'reload'], text=True, stdout=subprocess.PIPE,
                                          stderr=subprocess.STDOUT, env=bench.environment))
    wait_until('its rule to go', lambda: device.inject(flood)[0] == 1)
    for port in range(100, 120):
        device.inject(ethernet(ipv4(udp(port, bytes(20)), 17)), 40)
    equal(reload.poll(), None, 'the reload, which waits')
    device.call(HOLD, 0)
    out, _ = reload.communicate(timeout=HANG)
    equal(reload.returncode, 0, out)
    end(bench, process)
    with open(bench.file('events'), encoding='utf-8') as file:
        told = {event['key'] for event in map(json.loads, file) if event.get('op') == 'log'}
    equal(len(told), 21, f'keys that were told of: {told}')


def keys_in_hardware_are_alone_on_their_port(bench):
    process, _ = start(bench, KEYS + 'count dns port 0 pattern eth / ipv4 / udp dst is 53 / end\n')
    code, out, err = bench.finish(process)
    assert code != 0, out
    assert 'rules of hardware would drop packets of its keys' in err or 'has port 0 for itself' in err, err


def what_matches_other_packets_is_refused(bench):
    rules = 'count two port 0 engine hw pattern eth / vlan / vlan / ipv4 / end\n'
    process, _ = start(bench, rules)
    code, out, err = bench.finish(process)
    assert code != 0, out
    assert f'line 1 of the rules, count two: item VLAN matches other packets in {NAMES[ENGINE]}' in err, err


main(quotas_are_kept_in_hardware, rules_change_and_every_packet_counts, another_process_counts_in_hardware, removal_of_the_only_port_ends_it_with_the_report,
     dry_run_asks_the_driver,
     keys_are_dropped_in_hardware, trips_are_told_while_keys_come_back, keys_in_hardware_are_alone_on_their_port,
     rules_of_a_port_share_an_engine, what_matches_other_packets_is_refused)

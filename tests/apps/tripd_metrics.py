# SPDX-License-Identifier: BSD-3-Clause
"""tripd --metrics: what a strict parser of OpenMetrics reads is what tripctl lists, and no client is in the way of another.

tripd_metrics.py TRIPD TRIPCTL
"""
import http.client
import socket

try:
    from prometheus_client.openmetrics.parser import text_string_to_metric_families
except ImportError:
    print('python3-prometheus-client is not installed')
    raise SystemExit(77) from None

from tripd_test import *

TRIPCTL = os.path.abspath(sys.argv[2])
TYPE = 'application/openmetrics-text; version=1.0.0; charset=utf-8'
RULES = '''count dns port 0 pattern eth / ipv4 / udp dst is 53 / end
each sources port 0 ipv4.src max 1k idle 1h
when dns.packets >= 10 log
'''
KEYS = 25
# More than are open at once.
CONNECTIONS = 100


class Connection(http.client.HTTPConnection):
    """Over TCP, or a Unix socket."""

    def __init__(self, where):
        super().__init__('localhost', timeout=HANG)
        self.where = where

    def connect(self):
        self.sock = connect(self.where)


def connect(where):
    if where.startswith('unix:'):
        one = socket.socket(socket.AF_UNIX)
        one.settimeout(HANG)
        one.connect(where[5:])
        return one
    host, port = where.rsplit(':', 1)
    return socket.create_connection((host, int(port)), timeout=HANG)


def ask(where, path='/metrics', method='GET'):
    connection = Connection(where)
    connection.request(method, path)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer, text


def scrape(where):
    """{sample: {labels: value}}, of a text that keeps to the rules."""
    answer, text = ask(where)
    equal((answer.status, answer.getheader('content-type')), (200, TYPE), 'the answer')
    assert text.endswith('# EOF\n'), text[-100:]
    samples = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = tuple(sorted(sample.labels.items()))
            assert labels not in samples.setdefault(sample.name, {}), f'{sample.name} {labels} is there twice'
            samples[sample.name][labels] = sample.value
    return samples


def free_port():
    with socket.socket() as one:
        one.bind(('127.0.0.1', 0))
        return one.getsockname()[1]


def frames():
    """10 of each of so many sources, of which the first has 1000 more."""
    return [ethernet(ipv4(udp(53, bytes(22)), 17, src=f'10.0.0.{i % KEYS + 1}')) for i in range(10 * KEYS)] + \
        [ethernet(ipv4(udp(80, bytes(22)), 17, src='10.0.0.1'))] * 1000


def begin(bench, where, rules=RULES):
    process = bench.start(*bench.eal('net_pcap0,rx_pcap=' + bench.pcap('in.pcap', frames())),
                          '--rules', bench.file('rules', rules), '--metrics', where)
    wait_until('the capture is through', lambda: listed(bench, 'each')[0]['packets'] == 10 * KEYS + 1000)
    return process


def listed(bench, kind):
    ran = subprocess.run([TRIPCTL, '--file-prefix', bench.prefix, '--domain', 'tripd', '--json', 'list', kind],
                         capture_output=True, text=True, env=bench.environment, timeout=HANG, check=False)
    return json.loads(ran.stdout)[kind] if ran.returncode == 0 else [{'packets': None}]


def end(bench, process):
    process.send_signal(signal.SIGINT)
    code, _, err = bench.finish(process)
    equal((code, beside_vain(err)), (0, ''), 'the end')


def numbers_are_those_of_tripctl(bench):
    where = f'127.0.0.1:{free_port()}'
    process = begin(bench, where)
    # The home comes to its counters and its work when it has time.
    wait_until('the counter, and its one item', lambda: ('dns.packets', 250) in
               [(cntr['name'], cntr['success']) for cntr in listed(bench, 'counters')]
               and sum(lcore['fired'] for lcore in listed(bench, 'lcores')) == 1)
    samples = scrape(where)
    each, = listed(bench, 'each')
    for name in 'packets', 'bytes', 'refused_packets', 'remainder_packets', 'admitted', 'evicted', 'expired':
        equal(samples[f'tripline_each_{name}_total'][(('each', 'sources'), )], each[name], name)
    cntrs = {cntr['name']: cntr for cntr in listed(bench, 'counters') if cntr['name']}
    told = samples['tripline_cntr_success']
    equal({labels[0][1]: value for labels, value in told.items()},
          {name: cntr['success'] for name, cntr in cntrs.items()}, 'counters')
    fired = sum(lcore['fired'] for lcore in listed(bench, 'lcores'))
    equal(sum(samples['tripline_works_fired_total'].values()), fired, 'what has fired')
    equal(sum(samples['tripline_firing_seconds_count'].values()), fired, 'histograms of firings')
    equal(samples['tripline_port_packets_total'], {(('direction', 'ingress'), ('port', '0'), ('queue', '0')): 10 * KEYS + 1000},
          'what the port has seen')
    equal(sum(samples['tripline_port_nic_rx_total'].values()), 10 * KEYS + 1000, 'what the NIC has received')
    end(bench, process)


def keys_are_few_and_the_rest_is_counted(bench):
    where = f'unix:{bench.file("metrics.sock")}'
    process = begin(bench, where)
    samples = scrape(where)
    keys = {dict(labels)['key']: value for labels, value in samples['tripline_each_key_packets'].items()}
    assert 10 <= len(keys) <= 20 and keys['10.0.0.1'] == 1010, keys
    equal(samples['tripline_series_left_out'][(('of', 'keys'), )], KEYS - len(keys), 'what is left out')
    equal(os.stat(where[5:]).st_mode & 0o777, 0o600, 'the mode of the socket')
    end(bench, process)
    assert not os.path.exists(where[5:]), 'the socket is left'


def whoever_holds_on_is_in_nobodys_way(bench):
    where = f'127.0.0.1:{free_port()}'
    process = begin(bench, where)
    silent = []
    for i in range(CONNECTIONS):
        one = connect(where)
        # Some say nothing, some begin, and some are as long as they like.
        if i % 3 > 0:
            one.sendall(b'GET /metrics HTTP/1.1\r\nHost: x\r\n' + (b'X: y\r\n' if i % 3 == 1 else b'X: ' + b'y' * 4000))
        silent.append(one)
        if i % 10 == 9:
            scrape(where)
    for method, path, status in ('GET', '/', 404), ('POST', '/metrics', 405), ('GET', '/metrics/' + 'x' * 1000, 404), \
            ('HEAD', '/metrics', 200):
        equal(ask(where, path, method)[0].status, status, f'{method} {path[:20]}')
    with connect(where) as one:
        # It is refused, or cut off, before all of it is there.
        try:
            for _ in range(1000):
                one.sendall(b'GET /' + b'x' * 10000)
            said = one.recv(100)
        except OSError:
            said = b''
        assert not said.startswith(b'HTTP/1.1 200'), said
    scrape(where)
    for one in silent:
        one.close()
    end(bench, process)


def what_is_wrong_is_said(bench):
    words = bench.eal('net_pcap0,rx_pcap=' + bench.pcap('in.pcap', frames())) + ['--rules', bench.file('rules', RULES)]
    with socket.socket() as taken:
        taken.bind(('127.0.0.1', 0))
        taken.listen()
        for where, said in (('localhost:1', 'is no ADDRESS:PORT'), ('127.0.0.1', 'is no ADDRESS:PORT'), ('unix:', 'a path has 1 to'),
                            (f'127.0.0.1:{taken.getsockname()[1]}', 'Address already in use'),
                            ('unix:/nowhere/at/all', 'No such file or directory')):
            code, _, err = bench.run(*words, '--metrics', where)
            assert code != 0 and said in err, f'{where}: {code} {err}'


def promtool_has_nothing_to_say(bench):
    if not shutil.which('promtool'):
        return
    where = f'127.0.0.1:{free_port()}'
    process = begin(bench, where)
    # It knows the older format alone, which has no EOF, no units and no info.
    text = re.sub(r'^# (?:EOF|UNIT .*)\n', '', ask(where)[1], flags=re.M).replace(' info\n', ' gauge\n')
    text = re.sub(r'^(# (?:TYPE|HELP) tripline_domain) ', r'\1_info ', text, flags=re.M)
    text = re.sub(r'^# TYPE (\S+) counter$', r'# TYPE \1_total counter', text, flags=re.M)
    counters = set(re.findall(r'^# TYPE (\S+)_total counter$', text, re.M))
    text = re.sub(r'^# HELP (\S+) ', lambda found: f'# HELP {found[1]}{"_total" if found[1] in counters else ""} ', text, flags=re.M)
    ran = subprocess.run(['promtool', 'check', 'metrics'], input=text, capture_output=True, text=True, timeout=HANG, check=False)
    equal((ran.returncode, ran.stdout + ran.stderr), (0, ''), 'promtool')
    end(bench, process)


main(numbers_are_those_of_tripctl, keys_are_few_and_the_rest_is_counted, whoever_holds_on_is_in_nobodys_way,
     what_is_wrong_is_said, promtool_has_nothing_to_say)

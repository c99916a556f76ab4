# SPDX-License-Identifier: BSD-3-Clause
"""Ports that receive on several queues, and XDP sockets: all is counted, or tripd does not start; and what is
left of an interface's modes."""
from tripd_iface import end, ip, make_network, opened
from tripd_test import *

RULES = ('count mark{0} port {0} priority 1 pattern eth / ipv4 / udp dst is 9 / end\n'
         'count all{0} port {0} priority 2 pattern eth / ipv4 / udp / end\n')
FLOWS = 64


def frames(payload=18):
    """Of many flows, which hashes spread over queues."""
    return [ethernet(ipv4(udp(1000 + i, bytes(payload), src=2000 + i), 17)) for i in range(FLOWS)]


def a_port_of_many_files_is_read_whole(bench):
    files = [bench.pcap(f'{i}.pcap', frames()) for i in range(4)]
    code, _, err = bench.run(*bench.eal('net_pcap0' + ''.join(f',rx_pcap={file}' for file in files)),
                             '--rules', bench.file('rules', RULES.format(0)), '--until-idle', '0.3',
                             '--report', bench.file('report'))
    equal((code, err), (0, ''), 'exit code and stderr')
    with open(bench.file('report'), encoding='utf-8') as file:
        equal(json.load(file)['counters'][1]['packets'], 4 * FLOWS, 'counted')


def make_queues():
    make_network()
    ip('link add many0 numtxqueues 4 numrxqueues 4 type veth peer name far0 numtxqueues 4 numrxqueues 4')
    for name in 'many0', 'far0':
        ip(f'link set {name} arp off up')


def queues_that_are_left_out_are_refused(bench):
    make_queues()
    code, _, err = bench.run(*bench.eal('net_af_xdp0,iface=many0'), '--rules', bench.file('rules', RULES.format(0)))
    equal((code, err.splitlines()),
          (2, ['tripd: port 0 (net_af_xdp) takes 1 of the 4 queues of many0, and what arrives on the others would '
               'not be counted: ethtool -L many0 rx 1, or take them all by queue_count or start_queue']),
          'exit code and stderr')


def finish(bench, process):
    process.send_signal(signal.SIGTERM)
    code, _, err = bench.finish(process)
    equal((code, err.splitlines()), (0, []), 'exit code and stderr')
    with open(bench.file('report'), encoding='utf-8') as file:
        return {c['name']: (c['packets'], c['bytes']) for c in json.load(file)['counters']}


def total(bench, path, ports):
    """What has been counted so far by the rules `all`."""
    out = subprocess.run([TRIPCTL, '--socket', path, '--json', 'list', 'counters'], check=True, text=True,
                         capture_output=True, env=bench.environment).stdout
    cntrs = {cntr['name']: cntr['success'] for cntr in json.loads(out)['counters']}
    return sum(cntrs[f'all{port}.packets'] for port in ports)


def all_queues_count(bench):
    make_queues()
    path = bench.file('sock')
    devices = [f'net_af_xdp{i},iface=many0,start_queue={i}' for i in range(4)]
    process = bench.start(*bench.eal(*devices, memory=('--no-huge', '-m', '192')), '--rules',
                          bench.file('rules', ''.join(RULES.format(port) for port in range(4))),
                          '--report', bench.file('report'), '--socket', path, '--forward', 'none')
    bench.wait_for_line(process, '0 flows are counted in hardware')
    with opened('far0') as link:
        for _ in range(20):
            for frame in frames():
                link.send(frame)
    wait_until('counting', lambda: total(bench, path, range(4)) >= 20 * FLOWS)
    counts = finish(bench, process)
    by_queue = [counts[f'all{port}'][0] for port in range(4)]
    equal(sum(by_queue), 20 * FLOWS, 'counted')
    assert sum(n > 0 for n in by_queue) > 1, f'all on one queue: {by_queue}'
    equal(sum(counts[f'all{port}'][1] for port in range(4)), 20 * FLOWS * 60, 'bytes')


def xdp_runs_with_buffers_as_they_come(bench):
    make_network()
    words = '--rules', bench.file('rules', RULES.format(0)), '--report', bench.file('report'), '--until-idle', '0.2'
    code, out, err = bench.run(*bench.eal('net_af_xdp0,iface=in0'), *words)
    equal((code, err.splitlines()), (0, []), 'exit code and stderr')
    code, out, err = bench.run(*bench.eal('net_af_xdp0,iface=in0'), '--mbufs', '6000', *words)
    equal((code, err.splitlines()), (0, []), 'exit code and stderr with --mbufs')
    assert '6000 packet buffers' in out, out
    code, _, err = bench.run(*bench.eal('net_af_xdp0,iface=nothing0'), *words)
    equal(code, 2, 'exit code without the interface')
    assert 'there is no network interface nothing0; there are' in err, err


def why_an_xdp_port_does_not_start_is_told(bench):
    """What the libraries under net_af_xdp do without is not said, but why it fails is."""
    make_network()
    if shutil.which('setpriv') is None:
        raise Skip('setpriv is not installed')
    less = '-sys_admin,-bpf'
    code, _, err = bench.run(*bench.eal('net_af_xdp0,iface=in0'), '--rules', bench.file('rules', RULES.format(0)),
                             front=('setpriv', '--inh-caps', less, '--bounding-set', less))
    said = err.splitlines()
    equal((code, said[-1]), (1, 'tripd: port 0 (net_af_xdp0): an Rx queue: Invalid argument'), 'exit code and the last line')
    assert any(line.startswith('libbpf: ') and 'Operation not permitted' in line for line in said), said


def is_promiscuous(name):
    """In effect, whoever asked for it; and by its flag."""
    with open(f'/sys/class/net/{name}/flags', encoding='ascii') as file:
        flags = int(file.read(), 16)
    shown = json.loads(subprocess.run(['ip', '-j', 'link', 'show', name], check=True, capture_output=True).stdout)
    return flags & 0x100 != 0, 'PROMISC' in shown[0]['flags']


def promiscuous_meanwhile(bench, *words):
    """An interface is promiscuous while tripd runs, and is then as it was found; also where it is killed."""
    make_network()

    def start():
        process = bench.start(*words, '--rules', bench.file('rules', RULES.format(0)), '--report',
                              bench.file('report'))
        bench.wait_for_line(process, '0 flows are counted in hardware')
        return process

    for before in 'off', 'on':
        ip(f'link set in0 promisc {before}')
        process = start()
        equal(is_promiscuous('in0'), (True, before == 'on'), f'promiscuous while it runs, "{before}" before')
        finish(bench, process)
        equal(is_promiscuous('in0'), (before == 'on', before == 'on'), f'promiscuous after it ran, "{before}" before')
    ip('link set in0 promisc off')
    process = start()
    process.kill()
    process.communicate()
    equal(is_promiscuous('in0'), (False, False), 'promiscuous after it was killed')
    # Nor is anything else in the way of the next.
    finish(bench, start())


def by_xdp_promiscuous_meanwhile(bench):
    promiscuous_meanwhile(bench, *bench.eal('net_af_xdp0,iface=in0'))


def by_packet_socket_promiscuous_meanwhile(bench):
    promiscuous_meanwhile(bench, '--no-huge', '-m', '96', '--', '--iface', 'in0', '--socket', bench.file('socket'))


TRIPCTL = os.path.abspath(sys.argv[2])
if __name__ == '__main__':
    main(a_port_of_many_files_is_read_whole, queues_that_are_left_out_are_refused, all_queues_count,
         xdp_runs_with_buffers_as_they_come, why_an_xdp_port_does_not_start_is_told, by_xdp_promiscuous_meanwhile,
         by_packet_socket_promiscuous_meanwhile)

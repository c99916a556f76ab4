# SPDX-License-Identifier: BSD-3-Clause
"""tripd --check and --dry-run: what would be wrong and what would be taken, with nothing started."""
import re

from tripd_test import *

RULES = '''count dns port 0 pattern eth / ipv4 / udp dst is 53 / end
counter n
when dns.packets >= 10 add n 1
'''
QUOTA = 'quota q 5 of dns.bytes\n'


def check_counts_what_a_file_holds(bench):
    code, out, err = bench.run('--check', bench.file('good', RULES + QUOTA + QUOTA.replace(' q ', ' r ')))
    equal((code, err), (0, ''), 'exit code and stderr')
    equal(out, bench.file('good') + ': 1 count, 1 counter, 2 quotas, 1 when: nothing is wrong with them\n',
          'stdout')


def check_warns_of_overlaps(bench):
    for port in '0', 'name "net_pcap0"':
        line = f'count %s port {port} pattern eth / end\n'
        code, out, err = bench.run('--check', bench.file('rules', line % 'a' + line % 'b'))
        equal((code, 'nothing is wrong' in out), (0, True), 'exit code and output')
        assert re.search("rules:2:7: warning: 'b' overlaps 'a' on line 1", err), err


def check_reports_every_mistake(bench):
    code, out, err = bench.run('--check', bench.file('bad', 'count 7\n' + RULES + 'when x >= 1 log\n'))
    equal((code, out), (2, ''), 'exit code and stdout')
    equal(re.findall(r'^\S*bad:(\d+):', err, re.M), ['1', '5'], f'lines of the mistakes in {err!r}')


def check_reports_mistakes_and_files_that_are_missing_together(bench):
    """Whether or not the rules themselves are right."""
    files = 'set s file /no/set\nset t file /no/other\nwhen after 1s exec /no/program\nwhen after 1s exec /no/more\n'
    missing = '/no/set: cannot read the set of line 4 of the rules: No such file or directory\n' \
        '/no/other: cannot read the set of line 5 of the rules: No such file or directory\n' \
        'tripd: line 6 of the rules: exec /no/program: No such file or directory\n' \
        'tripd: line 7 of the rules: exec /no/more: No such file or directory\n'
    for wrong, mistakes in ('', []), ('when x >= 1 log\n', ['8']), ('set u file no/path\nwhen after 1s exec "y"\n', ['8', '9']):
        code, out, err = bench.run('--check', bench.file('bad', RULES + files + wrong))
        equal((code, out), (2, ''), 'exit code and stdout')
        equal(re.findall(r'^\S*bad:(\d+):', err, re.M), mistakes, f'lines of the mistakes in {err!r}')
        assert err.endswith(missing), f'{err!r} does not end with {missing!r}'


def dry_run_tells_memory_and_engines(bench):
    report = bench.file('report.json')
    code, out, err = bench.run(*bench.eal('net_null0'), '--rules', bench.file('rules', RULES),
                               '--report', report, '--dry-run')
    equal((code, err), (0, ''), 'exit code and stderr')
    assert re.search(r'^node 0: domain [0-9.]+ MiB$', out, re.M), out
    assert re.search(r'^packet buffers: [0-9.]+ MiB', out, re.M), out
    assert re.search(r'^line 1: dns on port 0: sw: \S', out, re.M), out
    assert not os.path.exists(report), 'a dry run wrote a report'


def dry_run_names_what_is_refused(bench):
    text = RULES + 'count hw port 0 priority 1 engine hw pattern eth / end\n'
    code, out, err = bench.run(*bench.eal('net_null0'), '--rules', bench.file('rules', text),
                               '--dry-run')
    equal((code, err), (2, ''), 'exit code and stderr')
    assert re.search(r'^line 4: hw on port 0: refused: the driver net_null has no rte_flow', out, re.M), out


def keys_that_go_to_no_hardware_are_refused(bench):
    """What a start refuses, with the reasons that it would give."""
    each = 'each e port 0 ipv4.src max 100 idle 10s hardware 16\n'
    for rules, reason in ((each + 'when e.packets >= 5 log\n', 'no condition that drops'),
                          (each + 'when all(e.packets >= 5, e.bytes >= 9) drop e\n', 'a condition with members'),
                          (each.replace('16', '16 pattern eth / ipv4 / end') + 'when e.packets >= 5 drop e\n', 'a pattern')):
        path = bench.file('rules', rules)
        for words in ('--check', path), (*bench.eal('net_null0'), '--rules', path, '--dry-run'), (*bench.eal('net_null0'), '--rules', path):
            code, out, err = bench.run(*words)
            equal((code, out), (2, ''), f'exit code and stdout of {words}')
            assert re.fullmatch(f'tripd: line 1 of the rules: each "e": no rule of hardware goes with .*{reason}.*\n', err), err
    drops = each + 'when e.packets >= 5 drop e\n'
    for rules, reason in ((drops, 'the port counts no rules of hardware'),
                          (drops.replace('port 0', 'port 0, 1'), 'keys in hardware are of one port')):
        code, out, err = bench.run(*bench.eal('net_null0', 'net_null1'), '--rules', bench.file('rules', rules), '--ports', '0,1', '--dry-run')
        equal((code, err), (2, ''), f'exit code and stderr of {rules}')
        assert f'line 1: each e: hardware 16: refused: {reason}\n' in out, out


# What forwards nothing, in `tripd WORDS`: the words, the rules that are in vain, and what gives port 0 a partner.
LONE = '''count in port 0 pattern eth / ipv4 / end
count out port 0 egress pattern eth / ipv4 / end
count off port 0 pattern eth / ipv6 / end actions drop / end
count fine port 0 priority 1 pattern eth / end
when in.packets >= 10 drop in
when in.packets >= 10 pass in
when out.packets >= 10 log
allow kept port 0 egress pattern eth / ipv6 / end
each keys port 0 ipv4.src max 16 idle 60s
each held port 0 ipv4.dst max 16 idle 60s
when keys.packets >= 10 drop keys for 60s
when keys.packets >= 9 log
when held.packets >= 10 police held 1Mbit/s
'''


def vain(advice):
    """What is said of LONE on a port that has no partner."""
    return ''.join(
        f'tripd: warning: line {line} of the rules: {what}, since port 0 has no partner and forwards nothing; '
        f'it has one {advice}\n' for line, what in (
            (2, 'count out counts nothing'), (3, 'count off drops nothing'), (8, 'allow kept counts nothing'),
            (5, 'drop in changes nothing'), (11, 'drop keys changes nothing'), (13, 'police held changes nothing')))


def what_forwarding_takes_is_warned_about(bench):
    rules = bench.file('rules', LONE)
    pair, lone, far = (bench.eal(*names) for names in (['net_null0', 'net_null1'], ['net_null0'],
                                                       ['net_null0', 'net_null1', 'net_null2']))
    for words, advice in (((*lone, ), 'with one more device'), ((*pair, ), 'with --ports 0,1'),
                          ((*pair, '--ports', '0,1', '--forward', 'none'), 'without --forward none'),
                          ((*pair, '--pair', '0,1'), None), ((*pair, '--ports', '0,1'), None),
                          ((*far, '--pair', '1,2'), 'with one more device and --pair'), ((*far, '--pair', '0,2'), None)):
        code, _, err = bench.run(*words, '--rules', rules, '--dry-run')
        equal((code, err), (0, vain(advice) if advice else ''), f'exit code and stderr of {words}')
    for words, advice in (((), 'with --ports 0,1, --pair or two --iface'), (('--ports', '1'), None),
                          (('--forward', 'none'), 'without --forward none'), (('--iface', 'lo', '--iface', 'lo'), None)):
        code, _, err = bench.run('--check', rules, *words)
        equal((code, err), (0, vain(advice) if advice else ''), f'exit code and stderr of --check {words}')
    # What --iface says of a port is known beforehand, and which interfaces there are.
    named = bench.file('rules', LONE.replace('port 0', 'port lo'))
    equal(bench.run('--check', named, '--iface', 'lo')[::2],
          (0, vain('with --ports 0,1, --pair or two --iface')), 'of an interface')
    equal(bench.run('--check', named, '--iface', 'lo', '--iface', 'none0')[::2],
          (0, 'tripd: warning: there is no network interface none0 here\n'), 'of one that is not there')
    named = bench.file('rules', LONE.replace('port 0', 'port none1', 1))
    equal(bench.run('--check', named, '--ports', '0,1')[::2],
          (0, 'tripd: warning: line 1 of the rules: there is no network interface none1 here\n'), 'of one of a rule')
    # A port that is called by a name has its number only when it is there.
    rules = bench.file('rules', LONE.replace('port 0', 'port name "net_null0"'))
    equal(bench.run('--check', rules)[::2], (0, ''), 'of a name')
    equal(bench.run(*lone, '--rules', rules, '--dry-run')[::2], (0, vain('with one more device')), 'of a name that is there')


def many_warnings_are_counted(bench):
    rules = 'count all port 0 pattern eth / end\n' + ''.join(f'when all.packets >= {i} drop all\n' for i in range(1, 31))
    code, _, err = bench.run('--check', bench.file('rules', rules))
    lines = err.splitlines()
    equal((code, len(lines), lines[-1]), (0, 21, 'tripd: and 10 more of these warnings'), 'exit code, lines and the last one')


main(check_counts_what_a_file_holds, check_warns_of_overlaps, check_reports_every_mistake, check_reports_mistakes_and_files_that_are_missing_together,
     dry_run_tells_memory_and_engines, dry_run_names_what_is_refused, keys_that_go_to_no_hardware_are_refused,
     what_forwarding_takes_is_warned_about, many_warnings_are_counted)

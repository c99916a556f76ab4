# SPDX-License-Identifier: BSD-3-Clause
"""tripd --check and --dry-run: what would be wrong and what would be taken, with nothing started."""
import re

from tripd_test import *

RULES = '''count dns port 0 pattern eth / ipv4 / udp dst is 53 / end
counter n
when dns.packets >= 10 add n 1
'''


def check_counts_what_a_file_holds(bench):
    code, out, err = bench.run('--check', bench.file('good', RULES))
    equal((code, err), (0, ''), 'exit code and stderr')
    equal(out, bench.file('good') + ': 1 counts, 1 counters, 1 whens: nothing is wrong with them\n',
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


main(check_counts_what_a_file_holds, check_warns_of_overlaps, check_reports_every_mistake,
     dry_run_tells_memory_and_engines, dry_run_names_what_is_refused)

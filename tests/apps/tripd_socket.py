# SPDX-License-Identifier: BSD-3-Clause
"""tripd's socket: who may look at it, and what tripctl then sees of the rules."""
import grp
import stat

from tripd_test import *

TRIPCTL = os.path.abspath(sys.argv[2])
PATTERN = 'eth / ipv4 src spec 10.0.0.0 src prefix 8 / udp dst is 53 / end'
RULES = f'count dns port 0 pattern {PATTERN}\ncounter trips\nwhen dns.packets >= 100 drop dns\n' \
    'when dns.packets >= 5 add trips 1\n'


def start(bench, *words, rules=RULES):
    """A run that has counted ten packets and waits for more."""
    pcap = bench.pcap('in.pcap', [ethernet(ipv4(udp(53), 17))] * 10)
    process = bench.start(*bench.eal('net_pcap0,rx_pcap=' + pcap), '--rules', bench.file('rules', rules), *words)
    bench.wait_for_line(process, 'dns.packets')
    return process


def start_tripctl(bench, *words, **options):
    return bench.track(subprocess.Popen([TRIPCTL, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True, env=bench.environment, **options))


def look(bench, *words, **options):
    return bench.finish(start_tripctl(bench, *words, **options))


def end(bench, process):
    process.send_signal(signal.SIGTERM)
    code, _, err = bench.finish(process)
    equal((code, beside_vain(err)), (0, ''), 'the end')


def tripctl_sees_what_the_rules_say(bench):
    path = bench.file('tripd.sock')
    process = start(bench, '--socket', path, '--domain', 'mine')
    # What has fired says nothing yet of the other counter.
    equal(look(bench, '--socket', path, 'wait', 'dns.bytes', '420'), (0, 'dns.bytes 420\n', ''), 'wait')
    code, out, err = look(bench, '--socket', path, '--json', 'list', 'counters', 'works', 'flows', 'domain')
    equal((code, err), (0, ''), 'exit code and stderr')
    told = json.loads(out)
    cntrs = {cntr['name']: cntr for cntr in told['counters']}
    equal([cntrs[name]['success'] for name in ('dns.packets', 'dns.bytes', 'trips')], [10, 420, 1], 'values')
    equal((cntrs['dns.packets']['next'], cntrs['dns.packets']['to_go']), (100, 90), 'the next threshold')
    equal([(work['counter'], work['threshold'], work['op'], work['flow']) for work in told['works']],
          [('dns.packets', 100, 'drop', told['flows'][0]['flow'])], 'work')
    flow, = told['flows']
    equal((flow['pattern'], flow['packets'], flow['bytes'], flow['fate'], flow['packets_counter']),
          (PATTERN, 10, 420, 'pass', 'dns.packets'), 'the flow')
    equal((flow['engine'], flow['reason']), ('sw', 'the driver net_pcap has no rte_flow'), 'why it is there')
    equal(told['domain'][0]['name'], 'mine', 'the domain')
    equal(look(bench, '--socket', path, 'wait', 'dns.packets', '10'), (0, 'dns.packets 10\n', ''), 'wait')
    end(bench, process)
    assert not os.path.exists(path), 'the socket is left'


def what_is_to_be_logged_is_listed(bench):
    """As the rules say it, and when it is to happen in time."""
    path = bench.file('tripd.sock')
    process = start(bench, '--socket', path,
                    rules=RULES + 'when dns.packets >= 50 log\nwhen after 200h every 150h log "text"\n')
    out = look(bench, '--socket', path, 'list', 'works')[1]
    assert re.search('^ +50 +- +40 .*  dns.packets  log$', out, re.M), out
    assert re.search('^ +8d +6d +in 8d .*  \\(clock\\)      log$', out, re.M), out
    works = json.loads(look(bench, '--socket', path, '--json', 'list', 'works')[1])['works']
    equal([(work['op'], work['to_go']) for work in works if work['counter'] == 'dns.packets'],
          [('drop', 90), ('call', 40)], 'what is missing')
    later, = [work for work in works if work['counter'] is None]
    equal((later['function_name'], later['every']), ('log', 150 * 3600 * 10**9), 'what is later')
    assert later['to_go'] <= 200 * 3600 * 10**9 <= later['threshold'], later
    end(bench, process)


def launch_shared(bench, *words, **options):
    """A run that others can attach to, with its memory in hugepages; and where its socket is."""
    directory, path = '/dev/hugepages', bench.file('tripd.sock')
    if os.getuid() != 0 or not os.path.ismount(directory):
        raise Skip('to attach takes hugepages and root')
    process = bench.start(
        *bench.eal('net_null0', memory=('-m', '64', '--huge-dir', directory, '--base-virtaddr=0x200000000000')),
        '--rules', bench.file('rules', RULES), '--socket', path, *words, **options)
    return process, path


def start_shared(bench, *words):
    """Such a run, when it counts."""
    process, path = launch_shared(bench, *words)
    try:
        bench.wait_for_line(process, '0 flows are counted in hardware')
    except AssertionError as error:
        if 'hugepages' in str(error):
            raise Skip(str(error)) from error
        raise
    return process, path


def attach(bench, process, path):
    """A process that has one of its counters, and work on it."""
    attached = start_tripctl(bench, '--socket', path, 'when', 'dns.packets >= 1T', 'log')

    def found():
        assert attached.poll() is None, attached.communicate()
        code, out, _ = look(bench, '--socket', path, '--json', 'list', 'processes', 'works')
        told = json.loads(out) if code == 0 else {'processes': [], 'works': []}
        return any(one['found'] > 0 for one in told['processes']) and len(told['works']) > 2

    wait_until('an attached process that has work', found)
    return attached


def no_page_is_left(bench):
    try:
        process, path = start_shared(bench)
        equal(look(bench, '--socket', path, 'add', 'trips', '1')[0], 0, 'exit code of an attached process')
        assert pages_of(bench.prefix), 'it has no pages'
        end(bench, process)
        equal(pages_of(bench.prefix), [], 'pages that are left')
    finally:
        remove_pages(bench.prefix)


def attached_processes_are_no_error(bench):
    """They have its counters open when it ends, and learn of the end by that."""
    report = bench.file('report')
    try:
        process, path = start_shared(bench, '--report', report)
        attached = attach(bench, process, path)
        process.send_signal(signal.SIGTERM)
        code, out, err = bench.finish(process)
        equal((code, beside_vain(err)), (0, ''), 'exit code and stderr')
        equal(out.splitlines()[-1], 'other processes are attached: they are told of the end', 'the last line')
        with open(report, encoding='utf-8') as file:
            equal([one['name'] for one in json.load(file)['counters']], ['dns', 'trips'], 'counters of the report')
        code, _, err = bench.finish(attached)
        equal(code, 5, f'exit code of the attached one, with {err!r}')
        equal(err, f'tripctl: the primary, process {process.pid}, has ended\n', 'what it says')
    finally:
        remove_pages(bench.prefix)


def a_full_disk_is_an_error_beside_attached_processes(bench):
    """It ends by another way than alone."""
    try:
        with open('/dev/full', 'w', encoding='utf-8') as full:
            process, path = launch_shared(bench, stdout=full)

        def counts():
            code, out, _ = look(bench, '--socket', path, '--json', 'list', 'works')
            return process.poll() is not None or (code == 0 and len(json.loads(out)['works']) > 1)

        wait_until('its rules at work', counts)
        if process.poll() is not None:
            raise Skip(process.communicate()[1])
        attached = attach(bench, process, path)
        process.send_signal(signal.SIGTERM)
        code, _, err = bench.finish(process)
        equal((code, beside_vain(err)), (1, 'tripd: what it says cannot be written\n'), 'exit code and stderr')
        code, _, err = bench.finish(attached)
        equal(code, 5, f'exit code of the attached one, with {err!r}')
    finally:
        remove_pages(bench.prefix)


def there_is_room_for_live_rules(bench):
    """However few the rules of the file are; the range takes ten flows."""
    live = 'count', 'live', 'port', '0', 'pattern', 'udp', 'dst', 'range', '1-62', '/', 'end', '--timeout', '1ms'
    for words, code, says in (([], 0, ''), (['--live-flows', '9'], 1, 'all 9 flows')):
        try:
            process, path = start_shared(bench, *words)
            found, _, err = look(bench, '--socket', path, *live)
            equal(found, code, f'exit code of tripctl, with {err!r}')
            assert says in err, err
            end(bench, process)
        finally:
            remove_pages(bench.prefix)


def there_is_room_for_all_that_may_attach(bench):
    """Beside those that only wait: each of eight has what it waits by, and a ninth is told that eight have."""
    try:
        process, path = start_shared(bench)
        waiting = [start_tripctl(bench, '--socket', path, 'wait', 'dns.packets', '1T') for _ in range(8)]
        attached = [start_tripctl(bench, '--socket', path, 'when', f'dns.packets >= {i}T', 'log') for i in range(1, 9)]

        def all_wait():
            for one in waiting + attached:
                assert one.poll() is None, one.communicate()
            told = json.loads(look(bench, '--socket', path, '--json', 'list', 'processes')[1])['processes']
            return {one['pid'] for one in told if one['waiters'] > 0} >= {one.pid for one in attached}

        wait_until('eight attached processes that wait', all_wait)
        code, _, err = look(bench, '--socket', path, 'when', 'dns.packets >= 1T', 'log')
        equal((code, 'all 8 ' in err), (1, True), f'a ninth, with {err!r}')
        process.send_signal(signal.SIGTERM)
        equal(bench.finish(process)[0], 0, 'exit code')
        equal([bench.finish(one)[0] for one in waiting + attached], [5] * 16, 'exit codes of those that waited')
    finally:
        remove_pages(bench.prefix)


def the_socket_has_its_group_and_mode(bench):
    path = bench.file('tripd.sock')
    if os.getuid() != 0:
        raise Skip('only root gives a file to another group')
    group = grp.getgrgid(65534)
    process = start(bench, '--socket', path, '--socket-group', group.gr_name, '--socket-mode', '0660')
    status = os.stat(path)
    equal((stat.S_IMODE(status.st_mode), status.st_gid), (0o660, group.gr_gid), 'mode and group')
    os.chmod(bench.path, 0o755)
    for gid, code in (65534, 0), (12345, 1):
        equal(look(bench, '--socket', path, 'list', user=65533, group=gid, extra_groups=[], cwd='/')[0], code,
              f'exit code of a user of group {gid}')
    end(bench, process)


def who_may_command_may_not_attach(bench):
    """And is told so, instead of what EAL has against it."""
    path = bench.file('tripd.sock')
    if os.getuid() != 0:
        raise Skip('only root gives a file to another group')
    process = start(bench, '--socket', path, '--control-group', 'daemon')
    os.chmod(bench.path, 0o755)
    member = {'user': 65533, 'group': 12345, 'extra_groups': [grp.getgrnam('daemon').gr_gid], 'cwd': '/'}
    equal(look(bench, '--socket', path, 'reset', 'dns', **member)[0], 0, 'exit code of a command')
    said = f'tripctl: process {process.pid} is of user 0 root, and shares its memory with that user: run tripctl as root (who ' \
        'may give commands to tripd may not attach for that)\n'
    for words in ('add', 'trips', '1'), ('when', 'dns.packets >= 1T', 'log'):
        equal(look(bench, '--socket', path, *words, **member), (1, '', said), f'of {words}')
    end(bench, process)


def a_group_that_is_not_let_in_is_warned_about(bench):
    path = bench.file('tripd.sock')
    if os.getuid() != 0:
        raise Skip('only root gives a file to another group')
    said = 'tripd: warning: --control-group daemon: the socket is of group {}, with mode {}, and lets nobody in for being in ' \
        'daemon\n'
    for words, warning in ((('--socket-group', 'bin'), said.format('bin', '0660')),
                           (('--socket-mode', '0600'), said.format('daemon', '0600')),
                           (('--socket-group', 'bin', '--socket-mode', '0666'), ''), ((), '')):
        process = start(bench, '--socket', path, '--control-group', 'daemon', *words)
        process.send_signal(signal.SIGTERM)
        code, _, err = bench.finish(process)
        equal((code, beside_vain(err)), (0, warning), f'with {words}')


def it_may_have_none(bench):
    end(bench, start(bench, '--socket', ''))


def what_is_wrong_is_said(bench):
    for words, said in ((['--socket-mode', '0999'], 'is no mode'), (['--socket-mode', '0060'], 'is no mode'),
                        (['--socket-mode', '01777'], 'is no mode'), (['--socket-group', 'no such'], 'there is no group'),
                        (['--domain', 'a b'], 'is no name'), (['--domain', 'x' * 21], 'is no name'),
                        (['--domain', '7'], 'is no name'), (['--live-works', '15'], 'not a number from 16 to 65536'),
                        (['--live-flows', '-1'], 'not a number from 0'), (['--live-processes', 'x'], 'not a number from 1')):
        code, out, err = bench.run('--rules', bench.file('rules', RULES), *words)
        equal((code, out), (2, ''), f'exit code and stdout of {words}')
        assert said in err, err
    code, _, err = bench.run(*bench.eal('net_null0'), '--rules', bench.file('rules', RULES), '--socket',
                             bench.file('no/such/folder'))
    equal(code, 1, 'exit code')
    assert 'no/such/folder' in err, err


main(tripctl_sees_what_the_rules_say, what_is_to_be_logged_is_listed, no_page_is_left, attached_processes_are_no_error,
     a_full_disk_is_an_error_beside_attached_processes, there_is_room_for_live_rules,
     there_is_room_for_all_that_may_attach, the_socket_has_its_group_and_mode,
     who_may_command_may_not_attach, a_group_that_is_not_let_in_is_warned_about, it_may_have_none, what_is_wrong_is_said)

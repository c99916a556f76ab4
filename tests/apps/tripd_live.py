# SPDX-License-Identifier: BSD-3-Clause
"""Rules that change while they are at work, by tripctl and by SIGHUP; who may, and what a kill leaves."""
import fcntl
import grp
import pty
import termios
import tty

from tripd_test import *

TRIPCTL = os.path.abspath(sys.argv[2])
DNS = 'count dns port 0 pattern eth / ipv4 / udp dst is 53 / end\n'
WEB = 'count web port 0 pattern eth / ipv4 / tcp dst is 80 / end\n'
STRANGER = 4711


def start(bench, *words, rules=DNS, **options):
    """A run that has counted ten packets and waits for more."""
    pcap = bench.pcap('in.pcap', [ethernet(ipv4(udp(53), 17))] * 10)
    process = bench.start(*bench.eal('net_pcap0,rx_pcap=' + pcap), '--rules', bench.file('rules', rules), '--socket',
                          bench.file('sock'), *words, **options)
    wait_until('a socket', lambda: control(bench, 'list', 'domain')[0] == 0)
    equal(control(bench, 'wait', 'dns.packets', '10')[:2], (0, 'dns.packets 10\n'), 'packets')
    return process


def control(bench, *words, **options):
    """What tripctl says."""
    process = subprocess.Popen([TRIPCTL, '--socket', bench.file('sock'), *words], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=bench.environment, **options)
    return bench.finish(bench.track(process))


def end(bench, process):
    process.send_signal(signal.SIGTERM)
    return bench.finish(process)


def names(bench):
    out = control(bench, '--json', 'list', 'counters')[1]
    return {cntr['name']: cntr['success'] for cntr in json.loads(out)['counters']}


def a_reload_is_a_difference(bench):
    report = bench.file('report')
    process = start(bench, '--report', report)
    equal(control(bench, 'diff'), (0, '', ''), 'nothing has changed')
    bench.file('rules', WEB + DNS.replace(' port', '  port') + 'when dns.packets >= 10 drop dns\n')
    told = '+ ' + WEB + '+ when dns.packets >= 10 drop dns\n'
    equal(control(bench, 'diff'), (0, told, ''), 'what would change')
    assert 'web.packets' not in names(bench), 'a difference was put to work'
    equal(control(bench, 'reload'), (0, told, ''), 'what has changed')
    equal(names(bench)['dns.packets'], 10, 'what stays keeps its counts')
    equal(control(bench, 'pass', 'dns'), (0, 'dns: 10 packets, 420 bytes\n', ''), 'pass')
    equal(control(bench, 'remove', 'dns')[:2], (0, '- ' + DNS + '- when dns.packets >= 10 drop dns\n'), 'remove')
    bench.file('more', DNS)
    equal(control(bench, 'apply', bench.file('more')), (0, '+ ' + DNS, ''), 'apply')
    equal(names(bench)['dns.packets'], 0, 'it has begun anew')
    equal(end(bench, process)[0], 0, 'exit code')
    with open(report, encoding='utf-8') as file:
        told = json.load(file)
    equal([(cntr['name'], cntr['packets'], cntr['reason'] == 'removed while it ran') for cntr in told['counters']],
          [('dns', 10, True), ('web', 0, False), ('dns', 0, False)], 'counts in the report')
    equal([trip['op'] for trip in told['trips']], ['drop'], 'trips in the report')


def a_file_with_an_error_changes_nothing(bench):
    process = start(bench)
    wrong = DNS.replace('dns', 'dms').replace('port 0', 'prot 0') + WEB
    bench.file('rules', wrong)
    code, out, err = control(bench, 'reload')
    equal((code, out), (2, ''), 'exit code and stdout')
    equal(err, bench.run('--check', bench.file('rules'))[2], 'the words are those of a start')
    code, out, err = control(bench, 'drop', 'dsn')
    equal((code, out, err), (2, '', "no 'count' rule is named 'dsn': did you mean 'dns'?\n"), 'drop')
    equal(control(bench, 'apply', '/no/such')[0], 2, 'no such file')
    equal(sorted(name for name in names(bench) if '.p' in name), ['dns.packets'], 'counters')
    process.send_signal(signal.SIGHUP)
    bench.file('rules', DNS + WEB)
    equal(end(bench, process)[0], 0, 'exit code')


def a_pipe_for_rules_holds_nobody_up(bench):
    """Which they may be at the start; and nobody has it open for writing when they are read again."""
    process = start(bench)
    path = bench.file('rules')
    os.unlink(path)
    os.mkfifo(path)
    told = f'{path}: cannot read the rules: it is no regular file\n'
    for words in ('reload', ), ('diff', ):
        equal(control(bench, *words), (2, '', told), f'{words} of a pipe')
    process.send_signal(signal.SIGHUP)
    equal(control(bench, 'drop', 'dns'), (0, 'dns: 10 packets, 420 bytes\n', ''), 'drop')
    os.unlink(path)
    bench.file('rules', DNS + WEB)
    equal(control(bench, 'reload'), (0, '+ ' + WEB, ''), 'reload')
    code, _, err = end(bench, process)
    equal((code, told in err), (0, True), f'exit code, and what SIGHUP found: {err}')


def sighup_reloads(bench):
    process = start(bench)
    bench.file('rules', DNS + WEB)
    process.send_signal(signal.SIGHUP)
    bench.wait_for_line(process, 'rules: 1 statement came in')
    equal(sorted(name for name in names(bench) if '.p' in name and name[0] != 'p'), ['dns.packets', 'web.packets'],
          'counters')
    code, out, err = end(bench, process)
    equal((code, '+ ' + WEB in err), (0, True), f'exit code, and what has changed: {err}')


def a_set_is_read_again_alone(bench):
    """By its name, with all rules, by SIGHUP; a file with an error leaves what was, and is told by line and value."""
    path = bench.file('list', '192.0.2.0/24\n')
    ask = f'set list file {path}\ncount some port 0 priority 1 pattern ipv4 src in list / end\n'
    process = start(bench, rules=ask + DNS)
    equal(control(bench, 'reload', 'list'), (0, '', ''), 'nothing has changed')
    bench.file('list', '192.0.2.0/24\n10.0.0.0/8\n')
    equal(control(bench, 'diff'), (0, f'~ set list file {path}\n', ''), 'what would change')
    equal(control(bench, 'reload', 'list'), (0, f'~ set list file {path}\n', ''), 'a set alone')
    equal(control(bench, 'reload'), (0, '', ''), 'nothing is left of it')
    bench.file('list', '10.0.0.0/8\nhost\n')
    told = f"{path}:2:1: expected an address, a prefix such as 10.0.0.0/8, or a port, found 'host'\n" \
        '    2 | host\n      | ^~~~\n'
    for words in ('reload', 'list'), ('reload', ), ('diff', ):
        equal(control(bench, *words), (2, '', told), f'{words} of a file with an error')
    equal(bench.run('--check', bench.file('rules')), (2, '', told), 'the words are those of a start')
    os.unlink(path)
    equal(control(bench, 'reload', 'list'), (2, '', f'{path}: cannot read the set: No such file or directory\n'),
          'no file')
    os.mkfifo(path)
    equal(control(bench, 'reload', 'list'), (2, '', f'{path}: cannot read the set: it is no regular file\n'), 'a pipe')
    os.unlink(path)
    bench.file('list', '192.0.2.0/24\n')
    process.send_signal(signal.SIGHUP)
    bench.wait_for_line(process, 'rules: 1 statement came in')
    equal(control(bench, 'remove', 'list')[::2], (2, 'count some asks for the set list\n'), 'remove')
    equal(names(bench)['dns.packets'], 10, 'packets')
    flows = json.loads(control(bench, '--json', 'list', 'flows')[1])['flows']
    equal([flow['pattern'] for flow in flows if 'in list' in flow['pattern']], ['eth / ipv4 src in list / end'], 'flows')
    equal(end(bench, process)[0], 0, 'exit code')


def who_may_not_is_refused_told_and_counted(bench):
    if os.geteuid() != 0:
        raise Skip('it takes root')
    group = grp.getgrnam('daemon').gr_gid
    os.chmod(bench.path, 0o755)
    process = start(bench, '--control-group', 'daemon', '--socket-mode', '0666', '--events', bench.file('events'))

    def become(*groups):
        def change():
            os.setgroups(groups)
            os.setgid(STRANGER)
            os.setuid(STRANGER)
        return change

    for _ in range(2):
        code, out, err = control(bench, 'drop', 'dns', preexec_fn=become())
        equal((code, out), (1, ''), 'exit code of a stranger')
        assert 'user 4711 may give no commands' in err, err
    equal(control(bench, 'list', 'domain', preexec_fn=become())[0], 0, 'looking')
    equal(control(bench, 'drop', 'dns', preexec_fn=become(group))[0], 0, 'exit code of who is in the group')
    domain = json.loads(control(bench, '--json', 'list', 'domain')[1])['domain'][0]
    equal((domain['commands'], domain['commands_refused']), (1, 2), 'commands')
    code, _, err = end(bench, process)
    said = [int(n) for n in re.findall(r'^tripd: (\d+) commands? w(?:as|ere) refused: ', err, re.M)]
    # At the end, what came within the minute of the first line.
    equal((code, sum(said), len(said) <= 2), (0, 2, True), f'exit code, and what is told: {err}')
    with open(bench.file('events'), encoding='ascii') as file:
        events = [json.loads(line) for line in file]
    done = [event for event in events if event['event'] == 'command']
    equal([(event['command'], event['uid'], event['name']) for event in done], [('do drop dns', STRANGER, 'tripctl')], 'commands')
    refused = [event for event in events if event['event'] == 'refused']
    equal(sum(event['commands'] for event in refused), 2, 'refused commands')
    assert all(event['uid'] == STRANGER and event['pid'] > 0 for event in refused), refused


def who_may_command_sees_quotas(bench):
    """Nobody is refused for looking, whatever group has the socket."""
    if os.geteuid() != 0:
        raise Skip('it takes root')
    group, other = grp.getgrnam('daemon').gr_gid, grp.getgrnam('bin').gr_gid
    os.chmod(bench.path, 0o755)
    process = start(bench, '--control-group', 'daemon', '--socket-group', 'bin', '--socket-mode', '0666',
                    rules=DNS + 'quota q 100 per month of dns.packets\n')

    def quotas(user, *groups):
        def change():
            os.setgroups(groups)
            os.setgid(user)
            os.setuid(user)
        code, out, err = control(bench, '--json', 'top', '--interval', '10ms', '--rounds', '1', preexec_fn=change)
        equal((code, err), (0, ''), 'exit code and stderr of top')
        return [quota['name'] for quota in json.loads(out)['quotas']]

    equal([quotas(0), quotas(STRANGER, group), quotas(STRANGER, other), quotas(STRANGER)], [['q'], ['q'], [], []],
          'quotas to root, to the groups of commands and of the socket, to a stranger')
    equal(json.loads(control(bench, '--json', 'list', 'domain')[1])['domain'][0]['commands_refused'], 0, 'refused')
    equal(end(bench, process)[0], 0, 'exit code')


def a_kill_in_the_middle_leaves_nothing(bench):
    """However far a reload has come; the next run has the same names, socket and memory."""
    many = ''.join(f'count c{i} port 0 pattern eth / ipv4 src is 10.0.{i // 256}.{i % 256} / end\n' for i in range(2000))
    bench.file('many', many)
    for wait in 0, 0.01, 0.05:
        process = start(bench, '--live-flows', '4096')
        client = subprocess.Popen([TRIPCTL, '--socket', bench.file('sock'), 'apply', bench.file('many')],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=bench.environment)
        bench.track(client)
        time.sleep(wait)
        process.kill()
        process.wait()
        assert bench.finish(client)[0] in (0, 3, 5), 'exit code of tripctl'
    process = start(bench, '--live-flows', '4096')
    code, out, err = control(bench, 'apply', bench.file('many'))
    equal((code, len(out.splitlines()), err), (0, 2000, ''), 'apply')
    equal(end(bench, process)[0], 0, 'exit code')


def one_change_is_made_after_the_other(bench):
    """However many ask at once, by tripctl and by SIGHUP, and whoever is killed before its answer comes."""
    process = start(bench, '--live-flows', '4096', '--live-counters', '8192')
    for i in range(8):
        bench.file(f'own{i}', ''.join(f'count c{i}.{k} port 0 pattern eth / ipv4 src is 10.{i}.0.{k} / end\n' for k in range(50)))
    clients = [bench.track(subprocess.Popen([TRIPCTL, '--socket', bench.file('sock'), 'apply', bench.file(f'own{i}')],
                                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=bench.environment))
               for i in range(8)]
    for client in clients[6:]:
        client.kill()
    process.send_signal(signal.SIGHUP)
    for client in clients[:6]:
        code, out, err = bench.finish(client)
        # What SIGHUP found at work has gone by the file, which has one rule.
        equal((code, len([line for line in out.splitlines() if line.startswith('+ count')]), err), (0, 50, ''), 'apply')
    for client in clients[6:]:
        bench.finish(client)
    # Each change is whole, whether or not its client has lived to see it.
    have = names(bench)
    for i in range(8):
        n = sum(name.startswith(f'c{i}.') and name.endswith('.packets') for name in have)
        assert n in (0, 50), f'{n} of 50 counts of one change'
    equal(control(bench, 'reload')[::2], (0, ''), 'reload')
    equal(sorted(name for name in names(bench) if '.packets' in name and name[0] != 'p'), ['dns.packets'], 'counters')
    equal(names(bench)['dns.packets'], 10, 'packets')
    equal(end(bench, process)[0], 0, 'exit code')


def reset_begins_anew(bench):
    """A quota its period, a count both values; and each command is an event."""
    events = bench.file('events')
    process = start(bench, '--events', events, rules=DNS + 'counter c\nwhen after 1ns add c 7\nquota q 8 per month of dns.packets\nwhen q spent drop dns\n')
    wait_until('a drop', lambda: os.path.exists(events) and '"drop"' in open(events, encoding='utf-8').read())
    equal(control(bench, 'reset', 'q'), (0, 'q 10\n', ''), 'a quota')
    equal(control(bench, 'reset', 'dns'), (0, 'dns.packets 10\ndns.bytes 420\n', ''), 'a count')
    told = json.loads(control(bench, '--json', 'reset', 'c')[1])
    equal((told['name'], told['was'], told['success']), ('c', 7, 0), 'a counter, in JSON')
    equal(control(bench, 'reset', 'no')[0], 3, 'none')
    now = names(bench)
    equal([now[name] for name in ('q', 'dns.packets', 'dns.bytes', 'c')], [0, 0, 0, 0], 'values')
    equal(end(bench, process)[0], 0, 'exit code')
    with open(events, encoding='utf-8') as file:
        lines = [json.loads(line) for line in file]
    equal([(line['command'], line['result']) for line in lines if line['event'] == 'command'],
          [('reset q', 0), ('reset dns', 0), ('reset c', 0), ('reset no', -2)], 'commands')
    period, = (line for line in lines if line['event'] == 'period')
    equal(sorted(period), sorted(['event', 'time', 'quota', 'of', 'limit', 'spent', 'began', 'ended']), 'keys of a period')
    equal([period[key] for key in ('quota', 'of', 'limit', 'spent')], ['q', 'packets', 8, 10], 'a period')
    equal(sorted(lines, key=lambda line: line['time']), lines, 'lines by their times')


QUOTAS = DNS + WEB + '''quota few 100 per month of dns.packets
quota some 8 of dns.packets
quota bytes 1k per day of dns.bytes, web.bytes
quota rated 10 per hour of dns.packets
quota joint 5 per minute of web.packets
when few >= 5 % drop dns
when rated spent police dns 1kpps
when any(joint spent, some spent) drop web
'''


def quotas(bench):
    listed = json.loads(control(bench, '--json', 'list', 'quotas')[1])['quotas']
    return {quota['name']: quota for quota in listed}, listed


def states(bench):
    return {name: quota['state'] for name, quota in quotas(bench)[0].items()}


def quotas_are_listed(bench):
    """What they have come to, and what has become of them; nothing is told of who looks."""
    events, report = bench.file('events'), bench.file('report')
    began = int(time.time())
    process = start(bench, '--events', events, '--report', report, rules=QUOTAS)
    held = {'few': 'dropped', 'some': 'dropped', 'bytes': 'counting', 'rated': 'policed', 'joint': 'dropped'}
    wait_until('what they hold', lambda: states(bench) == held)
    named, listed = quotas(bench)
    equal([named['few'][key] for key in ('of', 'limit', 'spent', 'share', 'ended')], ['packets', 100, 10, 0.1, 0], 'a quota')
    equal([named['bytes'][key] for key in ('of', 'limit', 'spent', 'share')], ['bytes', 1000, 420, 0.42], 'one of bytes')
    equal(named['some']['ends'], None, 'the end of one without periods')
    for quota in listed:
        assert began - 1 <= quota['began'] <= time.time(), quota
        assert quota['ends'] is None or quota['ends'] > quota['began'], quota
    _, out, _ = control(bench, 'list', 'quotas', '--match', 'by*')
    titles, row = (line.split() for line in out.splitlines())
    equal((titles, row[:5], row[-1]), (['SPENT', 'LIMIT', 'OF', 'SHARE', 'STATE', 'BEGAN', 'ENDS', 'NAME'],
                                       ['420', '1000', 'bytes', '42.0%', 'counting'], 'bytes'), 'a row')
    equal(time.strftime('%Y-%m-%dT%H:%M:%S%z', time.localtime(named['bytes']['began'])), row[5], 'when it began')
    top = json.loads(control(bench, '--json', 'top', '--rounds', '1', '--interval', '20ms', '--match', 'few*')[1])
    equal(top['quotas'], [named['few']], 'top')
    assert re.search(r'^quota few: dropped, 10\.0%, 10 of 100 packets, until ',
                     control(bench, 'top', '--rounds', '1', '--interval', '20ms')[1], re.M), 'top as text'
    equal(control(bench, 'pass', 'dns')[0], 0, 'pass')
    equal({name: state for name, state in states(bench).items() if held[name] != state},
          {'few': 'passed', 'rated': 'passed'}, 'what passes')
    equal(control(bench, 'reset', 'few')[0], 0, 'reset')
    equal([quotas(bench)[0]['few'][key] for key in ('spent', 'state', 'ended')], [0, 'counting', 1], 'one that began anew')
    equal(control(bench, 'remove', 'joint')[0], 0, 'remove')
    equal(states(bench), {'few': 'counting', 'some': 'tripped', 'bytes': 'counting', 'rated': 'passed'}, 'those that are left')
    listed = quotas(bench)[1]
    equal(end(bench, process)[0], 0, 'exit code')
    with open(report, encoding='utf-8') as file:
        told = json.load(file)['quotas']
    equal([quota for quota in told if quota['state'] != 'removed'],
          [{key: quota[key] for key in quota if key != 'share'} for quota in listed], 'the report')
    equal([quota['name'] for quota in told if quota['state'] == 'removed'], ['joint'], 'what was removed')
    with open(events, encoding='utf-8') as file:
        lines = [json.loads(line) for line in file]
    equal([line['command'] for line in lines if line['event'] == 'command'], ['do pass dns', 'reset few', 'remove joint'], 'commands')


def programs_come_and_go(bench):
    """A new exec is started by the helper that was there; the program of one that goes is ended, like it or not."""
    def script(name, text):
        path = bench.file(name, f'#!/bin/sh\necho $$ > {bench.path}/{name}.pid\n{text}\n')
        os.chmod(path, 0o755)
        return path

    def lives(name):
        with open(bench.file(name + '.pid'), encoding='utf-8') as file:
            return os.path.exists(f'/proc/{int(file.read())}')

    process = start(bench)
    obeys, resists = script('obeys', f'exec cat > {bench.path}/out'), script('resists', "trap '' TERM; exec 0<&-\nwhile :; do sleep 0.1; done")
    rules = DNS + f'when every 50ms exec {obeys}\nwhen after 1h exec {resists}\n'
    bench.file('rules', rules)
    code, _, err = control(bench, 'reload')
    equal((code, err), (0, ''), 'reload')
    wait_until('both run', lambda: all(os.path.exists(bench.file(name + '.pid')) for name in ('obeys', 'resists')))
    wait_until('trips', lambda: os.path.exists(bench.file('out')) and os.path.getsize(bench.file('out')) > 0)
    bench.file('more', f'when after 1h exec {bench.path}/none\n')
    code, out, err = control(bench, 'apply', bench.file('more'))
    equal((code, out, err), (2, '', f'exec {bench.path}/none: No such file or directory (line 1)\n'), 'no program')
    bench.file('rules', DNS)
    equal(control(bench, 'reload')[0], 0, 'reload')
    wait_until('both have ended', lambda: not lives('obeys') and not lives('resists'))
    for name in ('obeys.pid', 'out'):
        os.remove(bench.file(name))
    bench.file('rules', rules)
    equal(control(bench, 'reload')[0], 0, 'reload')
    wait_until('it runs again, with trips', lambda: os.path.exists(bench.file('out')) and os.path.getsize(bench.file('out')) > 0)
    result = end(bench, process)
    equal((result[0], result), (0, result), 'exit code')
    assert not lives('obeys') and not lives('resists'), 'a program is left'


def who_only_may_command_starts_no_programs(bench):
    """Programs run with tripd's rights: they are root's and its user's to bring, and its own file's."""
    if os.geteuid() != 0:
        raise Skip('it takes root')
    group = grp.getgrnam('daemon').gr_gid
    os.chmod(bench.path, 0o755)

    def script(name):
        path = bench.file(name, f'#!/bin/sh\necho > {bench.path}/{name}.ran\nexec cat > /dev/null\n')
        os.chmod(path, 0o755)
        return path

    def stranger():
        os.setgroups([group])
        os.setgid(STRANGER)
        os.setuid(STRANGER)

    process = start(bench, '--control-group', 'daemon')
    own, others = script('own'), script('others')
    line = f'when every 1s exec {others}\n'
    why = f"exec {{}}: programs run as tripd's user 0, and user {STRANGER} is neither that nor root: they come with tripd's own " \
        'rules: tripctl reload (line 2)\n'
    # What there is, and what is not, is told to nobody.
    for path in others, bench.path + '/none':
        bench.file('more', WEB + line.replace(others, path))
        equal(control(bench, 'apply', bench.file('more'), preexec_fn=stranger), (2, '', why.format(path)), 'apply with a program')
    equal([name for name in names(bench) if name.startswith('web')], [], 'what came along with it')
    bench.file('rules', DNS + f'when every 1s exec {own}\n')
    equal(control(bench, 'reload', preexec_fn=stranger), (0, f'+ when every 1s exec {own}\n', ''), "reload, of tripd's own file")
    wait_until('the program runs', lambda: os.path.exists(bench.file('own.ran')))
    bench.file('more', f'when every  1s exec {own}\n' + WEB)
    equal(control(bench, 'apply', bench.file('more'), preexec_fn=stranger), (0, '+ ' + WEB, ''), 'what is at work as it is')
    equal(control(bench, 'remove', 'web', preexec_fn=stranger), (0, '- ' + WEB, ''), 'remove')
    assert not os.path.exists(bench.file('others.ran')), 'a program that was refused has run'
    bench.file('more', line)
    equal(control(bench, 'apply', bench.file('more')), (0, '+ ' + line, ''), 'apply by root')
    wait_until('the program runs', lambda: os.path.exists(bench.file('others.ran')))
    result = end(bench, process)
    equal((result[0], result), (0, result), 'exit code')


def what_is_hostile_is_refused(bench):
    process = start(bench)
    for i, text in enumerate([b'\0' * 3000000, b'(' * 3000000, b'count ' * 500000, b'"' * 3000000]):
        path = bench.file(f'hostile{i}')
        with open(path, 'wb') as file:
            file.write(text)
        code, out, err = control(bench, 'apply', path)
        equal((code, out), (2, ''), 'exit code and stdout')
        assert len(err) < 100000 and all(31 < ord(c) < 127 or c == '\n' for c in err), err
    path = bench.file('long')
    with open(path, 'wb') as file:
        file.truncate((64 << 20) + 8192)
    equal(control(bench, 'apply', path)[0], 1, 'exit code of what is too long')
    equal(names(bench)['dns.packets'], 10, 'packets')
    equal(end(bench, process)[0], 0, 'exit code')


CHATTER = 'when every 1ms log "%s" at most 1000 per 1s\n' % ('x' * 100)


def who_reads_nothing_stops_nothing(bench):
    """Of what it says: commands and events go on, and the end does not wait for him where it is asked for twice."""
    report, events = bench.file('report'), bench.file('events')
    process = start(bench, '--report', report, '--events', events, rules=DNS + CHATTER)

    def waiting():
        return struct.unpack('i', fcntl.ioctl(process.stdout, termios.FIONREAD, b'    '))[0]

    wait_until('a full pipe', lambda: waiting() > 40000)
    # By far more than pipes hold.
    wait_until('more events', lambda: os.path.getsize(events) > 500000)
    for word in ('drop', 'pass'):
        equal(control(bench, word, 'dns', '--timeout', '20s'), (0, 'dns: 10 packets, 420 bytes\n', ''), word)
    process.send_signal(signal.SIGTERM)
    wait_until('a report', lambda: os.path.exists(report))
    process.send_signal(signal.SIGTERM)
    equal(process.wait(HANG), 1, 'exit code')
    _, _, err = bench.finish(process)
    assert re.fullmatch(r'tripd: \d+ lines of what it said were left out: nobody read them\n', beside_vain(err)), err


def a_terminal_that_is_held_stops_nothing(bench):
    """By Ctrl-S; what was said meanwhile comes once it goes on."""
    events = bench.file('events')
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    process = start(bench, '--events', events, rules=DNS + CHATTER, stdout=theirs)
    termios.tcflow(theirs, termios.TCOOFF)
    have = os.path.getsize(events)
    wait_until('more events', lambda: os.path.getsize(events) > have + 100000)
    for word in ('drop', 'pass'):
        equal(control(bench, word, 'dns', '--timeout', '20s'), (0, 'dns: 10 packets, 420 bytes\n', ''), word)
    termios.tcflow(theirs, termios.TCOON)
    os.close(theirs)
    process.send_signal(signal.SIGTERM)
    text = b''
    while True:
        try:
            text += os.read(ours, 65536)
        except OSError:
            break
    os.close(ours)
    equal((process.wait(HANG), bench.finish(process)[1]), (0, None), 'exit code')
    assert b'xxxxx' in text and text.index(b'software') < text.index(b'xxxxx') < text.rindex(b'dns'), text[-1000:]


run_tests(Bench, a_reload_is_a_difference, a_set_is_read_again_alone, a_file_with_an_error_changes_nothing,
          a_pipe_for_rules_holds_nobody_up, sighup_reloads,
          who_may_not_is_refused_told_and_counted, who_may_command_sees_quotas,
          a_kill_in_the_middle_leaves_nothing, one_change_is_made_after_the_other, reset_begins_anew, quotas_are_listed,
          programs_come_and_go, who_only_may_command_starts_no_programs, what_is_hostile_is_refused,
          who_reads_nothing_stops_nothing, a_terminal_that_is_held_stops_nothing)

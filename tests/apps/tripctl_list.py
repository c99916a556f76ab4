# SPDX-License-Identifier: BSD-3-Clause
"""tripctl list: what a domain has, told whoever may ask, without hugepages."""
import grp
import pwd
import socket

from tripctl_test import *

PATTERN = 'eth / ipv4 src spec 10.1.0.0 src prefix 16 / udp dst is 53 / end'


def fill(bed, program=BED):
    bed.open(program=program).tell('cntr one', 'cntr two', 'cntr -', 'add one 40', 'adderr one 2', 'set two 9223372036854775807',
                    'work one 100 50 two 3', f'count dns port 0 priority 7 pattern {PATTERN}')


def rows(text):
    """The columns of each line, by the titles; the last one may have blanks."""
    lines = text.splitlines()
    titles = re.split(r'\s{2,}', lines[0].strip())
    return [dict(zip(titles, re.split(r'\s{2,}', line.strip(), maxsplit=len(titles) - 1))) for line in lines[1:]]


def counters_are_listed(bed):
    fill(bed)
    listed = {row['NAME']: row for row in rows(bed.good('list'))}
    equal(listed['one'], {'VALUE': '40', 'ERRORS': '2', 'NEXT': '100', 'TO GO': '58', 'HOME': '0',
                          'PID': str(bed.primary.pid), 'FLOWS': '0', 'NAME': 'one'}, 'the row of one')
    equal((listed['two']['VALUE'], listed['two']['NEXT']), ('9223372036854775807', '-'), 'the row of two')
    assert any(re.fullmatch('0x[0-9a-f]+', name) for name in listed), 'no nameless counter'
    equal(listed['dns.packets']['FLOWS'], '1', 'flows')
    equal(bed.good('list', 'counters'), bed.good('list'), 'what is listed without a word')
    equal([row['NAME'] for row in rows(bed.good('list', '--match', 't*'))], ['two'], 'names that match')


def json_says_the_same(bed):
    fill(bed)
    listed = {cntr['name']: cntr for cntr in bed.json('list')['counters']}
    one, two, nameless = listed['one'], listed['two'], listed[None]
    equal({key: one[key] for key in ('name', 'success', 'error', 'next', 'to_go', 'events', 'pid')},
          {'name': 'one', 'success': 40, 'error': 2, 'next': 100, 'to_go': 58, 'events': 'completions',
           'pid': bed.primary.pid}, 'counter one')
    equal((two['success'], two['next'], nameless['success']), (2**63 - 1, None, 0), 'the others')
    work, = bed.json('list', 'works')['works']
    equal({key: work[key] for key in ('pid', 'counter', 'threshold', 'every', 'op', 'target', 'value', 'completion')},
          {'pid': bed.primary.pid, 'counter': 'one', 'threshold': 100, 'every': 50, 'op': 'add', 'target': 'two',
           'value': 3, 'completion': None}, 'the work')
    flow, = bed.json('list', 'flows')['flows']
    equal({key: flow[key] for key in ('port', 'pattern', 'engine', 'fate', 'priority', 'packets',
                                      'packets_counter', 'bytes_counter', 'direction')},
          {'port': 0, 'pattern': PATTERN, 'engine': 'sw', 'fate': 'pass', 'priority': 7, 'packets': 0,
           'packets_counter': 'dns.packets', 'bytes_counter': 'dns.bytes', 'direction': 'ingress'}, 'the flow')
    equal(flow['reason'], 'the driver net_null has no rte_flow', 'the reason')
    process, = bed.json('list', 'processes')['processes']
    equal((process['pid'], process['state'], process['counters'], process['works'], process['lcores'],
           process['command']), (bed.primary.pid, 'primary', 5, 1, [0], 'tripctl-bed'), 'the process')
    homes = bed.json('list', 'lcores')['lcores']
    equal([(home['home'], home['lcore']) for home in homes], [(0, None), (1, None)], 'the homes')
    equal((sum(home['accepted'] for home in homes), sum(home['pending'] for home in homes)), (1, 1), 'their work')
    domain, = bed.json('list', 'domain')['domain']
    equal((domain['name'], domain['counters'], domain['progress'], domain['processes']),
          ('bed', 5, 'manual', 1), 'the domain')
    row, = rows(bed.good('list', 'domain'))
    equal([int(row[title]) for title in ('COMMANDS', 'REFUSED')], [domain['commands'], domain['commands_refused']],
          'what the table says of commands')


def several_kinds_at_once(bed):
    fill(bed)
    listed = bed.json('list', 'flows', 'works', 'flows')
    equal((list(listed), len(listed['works'])), (['flows', 'works'], 1), 'kinds')
    parts = bed.good('list', 'works', 'flows').split('\n\n')
    equal(rows(parts[0])[0]['DOES'], 'add two 3', 'what the work does')
    equal((rows(parts[1])[0]['PATTERN'], rows(parts[1])[0]['COUNTER']), (PATTERN, 'dns.packets'), 'the flow')
    equal(bed.json('list', 'works', '--match', 'two')['works'], [], 'work of two')
    equal(bed.json('list', 'works', '--pid', '1')['works'], [], 'work of process 1')
    equal(len(bed.json('list', 'works', '--pid', str(bed.primary.pid), '--match', 'o*')['works']), 1, 'work of one')


def conditions_are_told_apart(bed):
    """Two of one counter differ in their times alone; both hold later than this test ends, or again and again."""
    times = {'500ms': 500000000, '2s': 2000000000, '90s': 90000000000, '25h': 90000000000000, '1ns': 1,
             '10000d': 864000000000000000, '0ns': 0}
    bed.open().tell('cntr one', 'work one 5 0 one 1', *(f'work one 5 1 one 0 {ns}' for ns in times.values()))
    equal({row['COUNTER'] for row in rows(bed.good('list', 'works'))}, {'one', *(f'one idle {time}' for time in times)},
          'what the table says')
    works = bed.json('list', 'works')['works']
    equal({(work['counter'], work['condition'], work['condition_ns']) for work in works},
          {('one', None, None), *(('one', 'idle', ns) for ns in times.values())}, 'what JSON says')


def a_rate_is_told_with_its_count(bed):
    bed.open().tell('cntr one', 'work one 0 0 one 1 5000000000 1000',
                    'work one 0 1 one 1 90000000000 5 60000000000 500', 'work one 0 0 one 1 3600000000000')
    equal({row['COUNTER'] for row in rows(bed.good('list', 'works'))},
          {'one rate 1000 in 5s', 'one rate 5 in 90s until < 500 in 1m', 'one idle 1h'}, 'what the table says')
    keys = 'condition', 'condition_ns', 'condition_count', 'condition_until_ns', 'condition_until_count'
    equal({tuple(work[key] for key in keys) for work in bed.json('list', 'works')['works']},
          {('rate', 5000000000, 1000, None, None), ('rate', 90000000000, 5, 60000000000, 500),
           ('idle', 3600000000000, None, None, None)}, 'what JSON says')


def what_only_the_home_knows_is_a_dash(bed):
    """Where a condition that repeats begins anew: at the value at which it held."""
    hour = 3600 * 10**9
    bed.open().tell('cntr one', 'cntr two', 'add one 9', f'work one 7 1 two 1 {hour}', f'work one 12 0 two 2 {hour}')
    equal({row['DOES']: (row['THRESHOLD'], row['EVERY'], row['TO GO']) for row in rows(bed.good('list', 'works'))},
          {'add two 1': ('-', '1', '-'), 'add two 2': ('12', '-', '3')}, 'what the table says')
    equal({work['value']: (work['threshold'], work['every'], work['to_go']) for work in bed.json('list', 'works')['works']},
          {1: (None, 1, None), 2: (12, 0, 3)}, 'what JSON says')


def thousands_are_listed(bed):
    """More than a message holds, and than a table holds back."""
    bed.open().tell(*(f'cntr c{i}' for i in range(1500)), *(f'work c{i} {i + 1} 0 c0 1' for i in range(1500)))
    equal(sorted(cntr['next'] for cntr in bed.json('list')['counters']), [i + 1 for i in range(1500)], 'thresholds')
    equal(sorted(work['threshold'] for work in bed.json('list', 'works')['works']),
          [i + 1 for i in range(1500)], 'work')
    equal({row['NAME'] for row in rows(bed.good('list'))}, {f'c{i}' for i in range(1500)}, 'names')


def strangers_need_no_hugepages(bed):
    """Somebody without privilege, and not one file of hugepages or of EAL is opened."""
    fill(bed)
    try:
        pwd.getpwuid(NOBODY)
    except KeyError:
        raise Skip(f'there is no user {NOBODY}') from None
    if os.getuid() != 0 or shutil.which('strace') is None:
        raise Skip('it takes root to be somebody else, and strace')
    program = shutil.copy(TRIPCTL, bed.path)
    library = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(TRIPCTL))), 'runtime')
    trace = os.path.join(bed.path, 'trace')
    # Leaks cannot be looked for in what is traced.
    bed.environment.update(LD_LIBRARY_PATH=bed.path, HOME='/', LSAN_OPTIONS='detect_leaks=0')
    for name in os.listdir(library):
        if name.startswith('libtripline.so') and os.path.isfile(os.path.join(library, name)):
            shutil.copy(os.path.join(library, name), bed.path)
    os.mknod(trace)
    os.chmod(trace, 0o666)
    process = bed.track(subprocess.Popen(
        ['strace', '-f', '-e', 'trace=open,openat,openat2,mmap,socket,connect', '-o', trace, program, '--socket',
         bed.socket, '--json', 'list', 'counters', 'works', 'flows', 'processes', 'lcores', 'domain'],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=bed.environment, cwd='/', user=NOBODY,
        group=NOBODY, extra_groups=[]))
    code, out, err = bed.finish(process)
    if 'ptrace' in err:
        raise Skip(err.strip())
    equal((code, err), (0, ''), 'exit code and stderr')
    equal(len(json.loads(out)['counters']), 5, 'counters')
    with open(trace, encoding='utf-8') as file:
        calls = file.read()
    assert bed.socket in calls, calls
    for word in 'huge', 'MAP_HUGETLB', '/dpdk/', 'pagemap', '/sys/kernel/mm':
        assert word not in calls, [line for line in calls.splitlines() if word in line]


def a_socket_may_be_shut(bed):
    fill(bed)
    if os.getuid() != 0:
        raise Skip('it takes root to be somebody else')
    os.chmod(bed.socket, 0o600)
    os.chown(bed.socket, 0, grp.getgrnam('daemon').gr_gid)
    code, out, err = bed.run('list', user=NOBODY, group=NOBODY, extra_groups=[], cwd='/')
    equal((code, out), (RUN, ''), 'exit code and stdout')
    shut = (f'does not let user {NOBODY} in: it is of user 0 root and group {grp.getgrnam("daemon").gr_gid} daemon, '
            'with mode 0600')
    assert f'the socket {bed.socket} {shut}' in err, err


def a_socket_that_nobody_serves_is_not_told(bed):
    """Of those that let the user not in, one that is served is; how many others there are, where none is."""
    if os.getuid() != 0:
        raise Skip('it takes root to be somebody else')
    run = os.path.join(bed.path, 'run')
    bed.environment['XDG_RUNTIME_DIR'] = run
    os.makedirs(os.path.join(run, 'tripline'))
    paths = [os.path.join(run, 'tripline', f'{bed.prefix}.{name}.sock') for name in ('bed', 'dead', 'gone')]

    def told():
        code, out, err = bed.run('list', '--file-prefix', bed.prefix, socket=False, user=NOBODY, group=NOBODY,
                                 extra_groups=[], cwd='/')
        equal((out, err.count('\n')), ('', 1), f'stdout, and lines of {err!r}')
        return code, err

    for path in paths[1:]:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as dead:
            dead.bind(path)
        os.chmod(path, 0o600)
    code, err = told()
    equal(code, NONE, 'exit code without a domain')
    assert f'(2 there let user {NOBODY} not in, and nobody of this network namespace serves them)' in err, err
    bed.socket = paths[0]
    bed.open()
    os.chmod(paths[0], 0o600)
    code, err = told()
    equal((code, err.split()[3]), (RUN, paths[0]), 'the one that is told')


def domains_are_found(bed):
    """By the names that are given; of several, all are told."""
    run = os.path.join(bed.path, 'run')
    folder = os.path.join(run, 'tripline')
    os.makedirs(folder)
    bed.environment['XDG_RUNTIME_DIR'] = run
    bed.socket = os.path.join(folder, bed.prefix + '.bed.sock')
    # Root's own folder is the machine's; another user finds root's domains, too.
    options = {'socket': False, 'cwd': '/'}
    if os.getuid() == 0:
        options.update(user=NOBODY, group=NOBODY, extra_groups=[])
    prefix = ['--file-prefix', bed.prefix]
    code, _, err = bed.run('list', *prefix, **options)
    equal(code, NONE, 'exit code without a domain')
    assert f'no domain of the file prefix {bed.prefix} has a socket in {folder}' in err, err
    err = bed.run('list', *prefix, '--domain', 'nope', **options)[2]
    assert f'no domain nope of the file prefix {bed.prefix} has a socket in {folder}' in err, err
    bed.open()
    for words in prefix, [*prefix, '--domain', 'bed']:
        equal(bed.run('list', *words, **options)[0], 0, f'exit code with {words}')
    for words in [*prefix, '--domain', 'ed'], ['--file-prefix', bed.prefix[:-1]], ['--file-prefix', bed.prefix + '.b']:
        equal(bed.run('list', *words, **options)[0], NONE, f'exit code with {words}')
    os.symlink(bed.socket, os.path.join(folder, bed.prefix + '.other.sock'))
    code, _, err = bed.run('list', *prefix, **options)
    equal((code, err.count('--socket ' + folder)), (USAGE, 2), f'exit code and sockets in {err!r}')
    # What stands in somebody else's folder is not even asked.
    if os.getuid() == 0:
        os.chown(folder, 1, 1)
        equal(bed.run('list', *prefix, **options)[0], NONE, 'exit code in a stranger\'s folder')


def a_stopped_primary_is_said(bed):
    """By each command: none of them gets to the point of attaching."""
    bed.open().tell('cntr one', 'add one 5')
    bed.stop()
    running = [(bed.start(*words), limit) for words, limit in (
        (['list'], 5), (['--json', 'list', 'works'], 5), (['top', '--rounds', '1'], 5), (['wait', 'one', '6'], 5),
        (['set', 'one', '1'], 5), (['add', 'one', '1'], 5), (['when', 'one >= 1 log'], 5),
        (['when', '--timeout', '1', 'one >= 1 log'], 1),
        (['count', '--timeout', '2s', 'all', 'port', '0', 'pattern', 'eth', '/', 'end'], 2))]
    for process, limit in running:
        equal(bed.finish(process), (SILENT, '', f'tripctl: socket {bed.socket}: process {bed.primary.pid} '
                                    f'has not answered for {limit} s\n'), f'the end of {process.args}')
    bed.primary.send_signal(signal.SIGCONT)
    equal(rows(bed.good('list'))[0]['VALUE'], '5', 'the counter')


def what_is_wrong_is_said(bed):
    code, out, err = bed.run('list')
    equal((code, out), (NONE, ''), 'no socket')
    assert bed.socket in err and 'No such file' in err, err
    fill(bed)
    # This primary takes no commands.
    code, out, err = bed.run('list', 'quotas')
    equal((code, out), (1, ''), 'exit code and stdout of quotas')
    assert 'takes no commands' in err, err
    for words, said in ((['list', 'cats'], '"cats" is none of counters'), (['list', '--pid', 'x'], '"x" is no process'),
                        (['cats'], 'there is no command "cats"'), ([], 'Usage'),
                        (['--domain', 'x', 'list'], '--socket says all'),
                        (['list', '--socket', 'x' * 200], 'longer than 107')):
        code, out, err = bed.run(*words)
        equal((code, out), (USAGE, ''), f'exit code and stdout of {words}')
        assert said in err, (words, err)
    for words in ['--help'], ['list', '--help'], ['--version']:
        equal(bed.run(*words)[0], 0, f'exit code of {words}')


def what_others_write_is_escaped(bed):
    """A command's name is a process's own to choose."""
    program = os.path.join(bed.path, 'a\x1b[31m\x07\\')
    os.symlink(BED, program)
    fill(bed, program)
    out = bed.good('list', 'processes')
    assert r'a\x1b[31m\x07\\' in out and '\x1b' not in out, out
    # JSON has escapes of its own, and no bytes but UTF-8.
    process, = bed.json('list', 'processes')['processes']
    equal(process['command'], 'a\x1b[31m\x07\\', 'command')
    code, _, err = bed.run('list', '\x1b[2J\x07')
    assert code == USAGE and '\x1b' not in err, repr(err)
    code, _, err = bed.run('\x1b[2J')
    assert code == USAGE and r'\x1b[2J' in err, repr(err)
    code, _, err = bed.run('--socket', '/tmp/\x1b[2J', 'list', socket=False)
    assert code == NONE and r'/tmp/\x1b[2J' in err, repr(err)


def a_full_disk_is_an_error(bed):
    fill(bed)
    with open('/dev/full', 'w', encoding='utf-8') as full:
        for words in ['list'], ['--json', 'list'], ['--help'], ['list', '--help'], ['--version']:
            code, _, err = bed.run(*words, stdout=full)
            assert code == RUN and 'cannot be written' in err, (code, err)


main(counters_are_listed, json_says_the_same, several_kinds_at_once, conditions_are_told_apart,
     a_rate_is_told_with_its_count,
     what_only_the_home_knows_is_a_dash, thousands_are_listed, strangers_need_no_hugepages, a_socket_may_be_shut,
     a_socket_that_nobody_serves_is_not_told,
     domains_are_found, a_stopped_primary_is_said, what_is_wrong_is_said, what_others_write_is_escaped,
     a_full_disk_is_an_error)

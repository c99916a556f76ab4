# SPDX-License-Identifier: BSD-3-Clause
"""What cannot be done is said in one sentence, with what helps, and nothing is started."""
import re

from tripd_test import *

RULES = 'count dns port 0 pattern eth / ipv4 / udp dst is 53 / end\n'
USAGE, RUN = 2, 1


def says(bench, expect, pattern, *words, lines=1, **options):
    """A run that ends at once with this exit code and these many lines on stderr."""
    code, out, err = bench.run(*words, **options)
    equal(code, expect, f'exit code, with stderr {err!r}')
    assert re.search(pattern, err), f'{err!r} does not match {pattern!r}'
    equal(len(err.splitlines()), lines, f'lines in {err!r}')
    return err


def pcap_port(bench):
    return 'net_pcap0,rx_pcap=' + bench.pcap('in.pcap', [])


def rules(bench, text=RULES):
    return '--rules', bench.file('rules', text)


def as_nobody(bench):
    """Options that run tripd without privilege, in a directory that it may write."""
    if os.getuid() != 0:
        return {}
    os.chmod(bench.path, 0o777)

    def become():
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    if subprocess.run(['test', '-x', TRIPD], preexec_fn=become, check=False).returncode != 0:
        raise Skip(f'{TRIPD} lies where an unprivileged user cannot execute it')
    return {'preexec_fn': become, 'cwd': '/'}


def bad_command_lines(bench):
    for pattern, *words in (
            ('--rules FILE is missing', ),
            ('unrecognized option \'--x\'', '--x'),
            ('"a" is no option of tripd; words for EAL stand before --', '--rules', 'r', 'a'),
            ('--ports: "0-x" is not a port|"x" is not a port number', '--ports', '0-x'),
            ('--ports: 3-1 runs backwards', '--ports', '3-1'),
            ('--ports: port 65535 is above the limit 65534', '--ports', '65535'),
            ('--pair: "1" is not a pair of ports such as 0,1', '--pair', '1'),
            ('--pair: 1,2 has a port of --pair 0,1', '--pair', '0,1', '--pair', '1,2'),
            ('--pair: 2,2: a port is no partner of itself', '--pair', '2,2'),
            ('--forward: "up" is none of io, mac, none', '--forward', 'up'),
            ('--until-idle: "soon" is not a number of seconds', '--until-idle', 'soon'),
            ('--until-idle: "0" is not', '--until-idle', '0'),
            ('--until-idle: "nan" is not', '--until-idle', 'nan'),
            ('--check: "--iface" is an option, and no FILE', '--check', '--iface', 'lo'),
            ('--iface: "lo,eth0" has a comma: each interface has an --iface of its own', '--iface', 'lo,eth0', '--rules', 'r'),
            ('--iface: an interface has a name', '--iface', '', '--rules', 'r'),
            ('--rules: "--report=r" is an option, and no FILE', '--rules', '--report=r'),
            ('--demo brings its own rules', '--demo', '--rules', 'r')):
        says(bench, USAGE, pattern, *words, lines=2)
        if words:
            says(bench, USAGE, pattern, '-l', '0', '--', *words, lines=2)


def words_for_eal_out_of_place(bench):
    """Told as such, wherever they stand; not as options that do not exist, nor where they are values of options."""
    for words in (('-l', '0-2'), ('-l0-2', ), ('--vdev', 'net_null0'), ('--vdev=net_null0', ), ('--no-huge', ), ('-m', '96'),
                  ('--syslog', 'user'), ('--in-memory', )):
        word = words[0]
        pattern = f"^tripd: {word} is a word for EAL; all of these stand in front of a --, as in: tripd -l 0-2 .* -- --rules FILE$"
        says(bench, USAGE, pattern, *words, '--rules', 'r')
        says(bench, USAGE, pattern, '--rules', 'r', '--iface', 'lo', *words)
        says(bench, USAGE, pattern, '--no-pci', '--', '--rules', 'r', *words)
    says(bench, USAGE, '^-l: cannot read the rules', '--check', '-l')


def help_and_version(bench):
    for word, pattern in (('--help', 'Usage: tripd.*--until-idle=SECONDS'), ('--version', '^tripd ')):
        code, out, err = bench.run(word)
        equal((code, err), (0, ''), word)
        assert re.search(pattern, out, re.S), out


def a_full_disk_is_an_error(bench):
    run = *bench.eal(pcap_port(bench)), *rules(bench), '--until-idle', '0.1'
    for words in ('--help', ), ('--version', ), ('--check', bench.file('rules')), (*run, '--dry-run'), run:
        with open('/dev/full', 'w', encoding='utf-8') as full:
            says(bench, RUN, '^tripd: what it says cannot be written$', *words, stdout=full)
        # A reader that has left is none.
        reader, writer = os.pipe()
        os.close(reader)
        code, _, err = bench.run(*words, stdout=writer)
        os.close(writer)
        assert code in (0, -signal.SIGPIPE) and err == '', (words, code, err)


def rules_missing_or_wrong(bench):
    missing = bench.file('absent')
    says(bench, USAGE, re.escape(missing) + '.*No such file', *bench.eal(pcap_port(bench)),
         '--rules', missing)
    err = says(bench, USAGE, r'rules:2:\d+: ', *bench.eal(pcap_port(bench)),
               *rules(bench, RULES + 'cuont web port 0\nwhen x.packets >= 1 log\n'), lines=6)
    assert 'rules:3:' in err and '^' in err, err
    says(bench, USAGE, 'the rules count on no port.*count all port 0', *bench.eal(pcap_port(bench)),
         *rules(bench, '# nothing\n'))
    says(bench, USAGE, "'port any' is every port that .* none does: add --ports 0$", *bench.eal(pcap_port(bench)),
         *rules(bench, 'count all port any pattern eth / end\n'))


def rules_that_overlap(bench):
    """A warning, and the run goes on; for ports by name as soon as their numbers are known."""
    for port in '0', 'name "net_pcap0"':
        text = RULES + f'count udp port {port} pattern ipv4 / udp / end\n'
        code, _, err = bench.run(*bench.eal(pcap_port(bench)), *rules(bench, text),
                                 '--until-idle', '0.1')
        equal(code, 0, 'exit code')
        equal(err, f"{bench.file('rules')}:2:7: warning: 'udp' overlaps 'dns' on line 1 at the same "
              'priority, 0: a packet that both match counts in the earlier line only\n'
              f'    2 | {text.splitlines()[1]}\n      |       ^~~\n', 'stderr')


def report_unwritable(bench):
    for path in (bench.file('none/report'), bench.path, bench.file('in.pcap/report')):
        says(bench, USAGE, 'the report cannot be written to ' + re.escape(path),
             *bench.eal(pcap_port(bench)), *rules(bench), '--report', path)
    equal(sorted(os.listdir(bench.path)), ['in.pcap', 'rules'], 'files left')


def port_missing(bench):
    says(bench, USAGE, r'port 3 does not exist \(line 2 of the rules names it\); the ports are 0 \(net_pcap0\): correct the rules$',
         *bench.eal(pcap_port(bench)), *rules(bench, RULES + RULES.replace('port 0', 'port 3')
                                              .replace('dns', 'other').replace('53', '54')))
    says(bench, USAGE, r'port 1 does not exist; the ports are 0 \(net_pcap0\): correct --ports or --pair$',
         *bench.eal(pcap_port(bench)), *rules(bench), '--ports', '1')
    for port, says_what in (('lo', 'no port is on the interface lo; --iface lo makes one'),
                            ('name "net_pcap7"', 'no port is named "net_pcap7"'),
                            ('mac 02:00:00:00:00:0a', 'no port has the address 02:00:00:00:00:0a')):
        says(bench, USAGE, says_what + r' \(line 1 of the rules\); the ports are 0 \(net_pcap0\): correct the rules',
             *bench.eal(pcap_port(bench)), *rules(bench, f'count c port {port} pattern eth / end\n'))
    says(bench, USAGE, 'port 0 does not exist.*there is none: use a network interface by --iface NAME', *bench.eal(), *rules(bench))


def devices_missing(bench):
    says(bench, USAGE, 'no network interface nosuch0; there are.* lo.*ip link', '--iface', 'nosuch0',
         *rules(bench))
    for name, words in (('nosuch0-15-chars', ('--iface', 'nosuch0-15-chars')),
                        ('x' * 40, bench.eal('net_af_packet3,iface=' + 'x' * 40))):
        says(bench, USAGE, f'"{name}" has {len(name)} characters, and the name of a network interface has up to 15$',
             *words, *rules(bench))
    says(bench, USAGE, 'no network interface nosuch0-15-char;', '--iface', 'nosuch0-15-char', *rules(bench))
    says(bench, USAGE, 'net_pcap0,rx_pcap=/nosuch.pcap: /nosuch.pcap: No such file',
         *bench.eal('net_pcap0,rx_pcap=/nosuch.pcap'), *rules(bench))


def lcores_too_few(bench):
    says(bench, USAGE, 'one lcore is too few.*--lcores', *bench.eal(pcap_port(bench), lcores=1),
         *rules(bench))


def processors_missing(bench):
    """Not a page of EAL's usage."""
    have = sorted(os.sched_getaffinity(0))
    many = os.sysconf('SC_NPROCESSORS_CONF') + 3
    for words in (('-l', f'{have[0]},{many}'), (f'-l{have[0]}-{many}', ), ('--lcores', f'0@{have[0]},1@({have[0]},{many})'),
                  (f'--lcores=0@{have[0]},(1-2)@{many}', ), ('-c', hex(1 << many | 1 << have[0]))):
        says(bench, USAGE, rf'^tripd: -(l|c|-lcores) \S+: this process has no CPU \S*{many}; its CPUs are {have[0]}\b.*; lcores '
             rf'may share them: --lcores 0@{have[0]},1@{have[0]},2@\d+$', *words,
             '--no-pci', '--no-huge', '-m', '96', '--vdev', pcap_port(bench), '--', *rules(bench))
    # What a test of ours does not know, EAL says, and the first line of that is it.
    # EAL 25.11 says no more of a wrong list than that it is wrong.
    for words, said in ((('--nonsense', ), "un(recognized|known) .*--nonsense"), (('-l', '0-x'), 'core list|parsing command line')):
        says(bench, RUN, f'EAL did not start: Invalid .* \\(.*({said}).*\\)', *words, '--no-huge', '-m', '96', '--',
             *rules(bench))


def memory_too_small(bench):
    err = says(bench, RUN, r'--no-huge gives EAL 4 MiB, and these rules need \d+: add -m \d+',
               *bench.eal(pcap_port(bench), memory=('--no-huge', '-m', '4')), *rules(bench))
    # What it advises is enough.
    enough = re.search(r'add (-m) (\d+)', err).groups()
    code, _, err = bench.run(*bench.eal(pcap_port(bench), memory=('--no-huge', *enough)),
                             *rules(bench), '--until-idle', '0.1')
    equal((code, err), (0, ''), 'a run with the memory that was advised')


def packet_buffers_too_few_or_many(bench):
    """It is --mbufs then, and not the rules, that is named."""
    says(bench, RUN, r'--no-huge gives EAL 96 MiB, and these rules and --mbufs need \d+: add -m \d+',
         *bench.eal(pcap_port(bench)), *rules(bench), '--mbufs', '1000000')
    code, _, err = bench.run(*bench.eal(pcap_port(bench)), *rules(bench), '--mbufs', '1000', '--until-idle', '0.1')
    equal((code, err), (0, 'tripd: warning: --mbufs 1000 are fewer than the 1600 that the queues of all ports can hold: for '
                        'lack of them frames are lost, or a port does not start\n'), 'exit code and stderr')


def with_hugepages(bench, total, free, directory):
    """Words in front of a command that make it see a machine with so many hugepages of 2 MB."""
    sizes = bench.file('hugepages')
    for name, value in ('nr_hugepages', total), ('free_hugepages', free):
        os.makedirs(f'{sizes}/hugepages-2048kB', exist_ok=True)
        with open(f'{sizes}/hugepages-2048kB/{name}', 'w', encoding='utf-8') as file:
            file.write(f'{value}\n')
    mount = f'mount -t hugetlbfs -o pagesize=2M nodev {directory} &&' if directory else \
        'umount -a -t hugetlbfs;'
    return 'unshare', '--mount', 'sh', '-c', \
        f'mount --bind {sizes} /sys/kernel/mm/hugepages && {mount} exec "$0" "$@"'


def hugepages_too_few(bench):
    directory = bench.file('huge')
    os.mkdir(directory)
    front = with_hugepages(bench, 10, 3, directory)
    if os.getuid() != 0 or subprocess.run([*front, 'true'], capture_output=True, check=False).returncode:
        raise Skip('no mount namespace with hugetlbfs can be made here')
    words = bench.eal(pcap_port(bench), memory=('--huge-dir', directory)), rules(bench)
    err = says(bench, RUN, 'too few hugepages: these rules need (\\d+) of 2048 kB, and 3 are free: '
               'scripts/setup --hugepages (\\d+), as root$', *words[0], *words[1], front=front)
    needs, advised = (int(re.search(pattern, err).group(1))
                      for pattern in (r'need (\d+)', r'--hugepages (\d+)'))
    # Seven are in use by others and stay so.
    equal(advised, needs + 7, 'the number that is advised')
    says(bench, RUN, 'the hugepages are not mounted: scripts/setup does that, as root$',
         *bench.eal(pcap_port(bench), memory=()), *rules(bench),
         front=with_hugepages(bench, 10, 3, None))


def no_permission(bench):
    options = as_nobody(bench)
    says(bench, RUN, 'no permission for net_tap0, which needs CAP_NET_ADMIN: run tripd as root|'
         '/dev/net/tun: ', *bench.eal('net_tap0'), *rules(bench), **options)
    says(bench, RUN, 'no permission for net_af_packet0,iface=lo, which needs CAP_NET_RAW and CAP_NET_ADMIN: run tripd '
         'as root', '--iface', 'lo', *rules(bench), **options)


def what_permission_is_missing(bench):
    """Of several that a driver needs."""
    if os.getuid() != 0 or shutil.which('setpriv') is None:
        raise Skip('capabilities are left out by root, with setpriv')
    for vdev, has, says_what in (
            ('net_af_packet0,iface=lo', '+net_raw', 'CAP_NET_RAW and CAP_NET_ADMIN, and tripd has no CAP_NET_ADMIN: '),
            ('net_af_packet0,iface=lo', '+net_admin', 'CAP_NET_RAW and CAP_NET_ADMIN, and tripd has no CAP_NET_RAW: '),
            ('net_pcap0,iface=lo', '+net_admin', 'CAP_NET_RAW: '),
            ('net_af_xdp0,iface=lo', '+net_raw', 'CAP_NET_RAW and CAP_NET_ADMIN, and tripd has no CAP_NET_ADMIN: '),
            ('net_af_xdp0,iface=lo', '+net_admin', 'CAP_NET_RAW and CAP_NET_ADMIN, and tripd has no CAP_NET_RAW: ')):
        says(bench, RUN, f'^tripd: no permission for {vdev}, which needs {says_what}run tripd as root',
             *bench.eal(vdev), *rules(bench), front=('setpriv', '--bounding-set', f'-all,{has}', '--inh-caps', '-all'))


def no_runtime_folder(bench):
    """As of a user who finds one of root's in /tmp."""
    options, folder = as_nobody(bench), bench.file('dpdk')
    if not options:
        raise Skip('only root can have a folder that is not ours')
    os.mkdir(folder, 0o755)
    says(bench, RUN, f'^tripd: no permission for {folder}, where EAL keeps what it runs by: run tripd as its owner, or set '
         'XDG_RUNTIME_DIR', *bench.eal(pcap_port(bench)), *rules(bench), **options)


def no_place_for_a_runtime_folder(bench):
    folder = bench.file('none')
    for variable in ('RUNTIME_DIRECTORY', ) if os.getuid() == 0 else ('RUNTIME_DIRECTORY', 'XDG_RUNTIME_DIR'):
        bench.environment.pop('RUNTIME_DIRECTORY', None)
        bench.environment[variable] = folder
        says(bench, RUN, f'^tripd: {folder}/dpdk, where EAL keeps what it runs by, cannot be made: No such file or directory: '
             f'{variable} names the folder it is to be in$', *bench.eal(pcap_port(bench)), *rules(bench))


def isolate_unsupported(bench):
    says(bench, RUN, r'port 0 \(net_pcap0\): --isolate, which its driver must support',
         *bench.eal(pcap_port(bench)), *rules(bench), '--isolate')


def eal_refuses(bench):
    says(bench, RUN, 'EAL did not start: .*--verbose', *bench.eal('net_nosuch0'), *rules(bench))


main(bad_command_lines, words_for_eal_out_of_place, help_and_version, a_full_disk_is_an_error, rules_missing_or_wrong, rules_that_overlap,
     report_unwritable, port_missing, devices_missing, lcores_too_few, processors_missing, memory_too_small,
     packet_buffers_too_few_or_many, hugepages_too_few, no_permission, what_permission_is_missing, no_runtime_folder, no_place_for_a_runtime_folder, isolate_unsupported, eal_refuses)

# SPDX-License-Identifier: BSD-3-Clause
"""The section JSON of tripctl.1 has every key that tripctl --json writes, with its type, and no other.

tripctl_json.py TRIPCTL BED TRIPD tripctl.1
"""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'apps'))
from tripctl_test import *  # pylint: disable=wrong-import-position

TRIPD, MANUAL = os.path.abspath(sys.argv[3]), sys.argv[4]
KINDS = ('counters', 'works', 'flows', 'each', 'processes', 'lcores', 'domain')
# Which only tripd has.
QUOTAS = ('quotas', )
# Of works: what they act on is one of these.
EITHER = {'target', 'value', 'flow', 'for_ns', 'function', 'function_name'}
NULL = type(None)
TYPES = {'string': (str, ), 'number': (int, ), 'real': (float, ), 'boolean': (bool, ), 'array': (list, ), 'null': (NULL, )}


def documented():
    """Of each object the types of its keys."""
    with open(MANUAL, encoding='utf-8') as file:
        section = re.search(r'^\.SH JSON\n(.*?)^\.SH ', file.read(), re.M | re.S)[1]
    found = {}
    for title, text in re.findall(r'^\.SS "?(.*?)"?\n(.*?)(?=^\.SS |\Z)', section, re.M | re.S):
        keys = re.findall(r'^\.K (\w+) "?([a-z]+(?: or [a-z]+)*)"? "\S', text, re.M)
        equal(len(keys), len(re.findall(r'^\.K', text, re.M)), f'keys of {title} that have a type')
        found[title] = {key: sum((TYPES[word] for word in types.split(' or ')), ()) for key, types in keys}
    return found


class Seen:
    """What has been written, beside what is documented."""

    def __init__(self):
        self.known = documented()
        self.seen = {title: set() for title in self.known}

    def look(self, title, object_, base=None, either=()):
        keys = {**(self.known[base] if base else {}), **self.known[title]}
        missing = keys.keys() ^ object_.keys()
        assert not missing - set(either), f'{title}: {sorted(missing - set(either))} are not in both, page and output'
        for key, value in object_.items():
            assert type(value) in keys[key], f'{title}: {key} is {value!r}, not one of {keys[key]}'
        self.seen[title] |= object_.keys()

    def look_at_list(self, told, kinds=KINDS):
        equal(sorted(told), sorted(kinds), 'kinds')
        for kind in kinds:
            for member in told[kind]:
                self.look(kind, member, either=EITHER if kind == 'works' else ())

    def end(self):
        for title, keys in self.known.items():
            equal(sorted(keys.keys() - self.seen[title]), [], f'{title}: keys that were never written')


def lines(out):
    return [json.loads(line) for line in out.splitlines()]


def look_at_keys(seen, told):
    seen.look('top of an each', {key: told[key] for key in told if key not in ('domain', 'each')})
    seen.look('domain', told['domain'])
    seen.look('each', told['each'])
    for key in told['keys']:
        seen.look('top, each of keys', key)


def look_at_tripd(bed, seen):
    """Functions and quotas only that has."""
    rules, path, capture = (os.path.join(bed.path, name) for name in ('rules', 'tripd.sock', 'in.pcap'))
    with open(capture, 'wb') as file:
        # Ethernet, IPv4 from 10.0.0.1 to 10.0.0.2, UDP, and what a minimum frame is filled up with.
        frame = bytes(12) + bytes.fromhex('0800 4500001c000100004011 0000 0a000001 0a000002 0001 0035 0008 0000') + bytes(18)
        file.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        file.write((struct.pack('<IIII', 1, 0, len(frame), len(frame)) + frame) * 3)
    with open(rules, 'w', encoding='utf-8') as file:
        file.write('count all port 0 pattern eth / ipv6 / end\nwhen all.packets >= 1T log\nwhen all.packets >= 1T drop all\n'
                   'each keys port 0 ipv4.src,proto max 10 idle 1h\n'
                   'quota month 1T per month of all.bytes\nquota once 1T of all.packets\n')
    process = bed.track(subprocess.Popen(
        [TRIPD, '--lcores=0@0-1,1@0-1', '--no-huge', '-m', '96', '--no-shconf', '--no-pci', '--file-prefix', bed.prefix,
         '--vdev=net_pcap0,rx_pcap=' + capture, '--', '--rules', rules, '--socket', path],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=bed.environment))
    for line in process.stdout:
        if 'flows are counted' in line:
            break
    code, out, err = bed.run('--socket', path, '--json', 'list', *KINDS, *QUOTAS, socket=False)
    equal((code, err), (0, ''), 'exit code and stderr of list')
    seen.look_at_list(json.loads(out), KINDS + QUOTAS)
    code, out, err = bed.run('--socket', path, '--json', 'top', '--rounds', '1', '--interval', '50ms', socket=False)
    equal((code, err), (0, ''), 'exit code and stderr of top')
    listed, = (json.loads(line)['quotas'] for line in out.splitlines())
    equal(len(listed), 2, 'quotas of top')
    for quota in listed:
        seen.look('quotas', quota)
    code, out, err = bed.run('--socket', path, '--json', 'top', 'keys', '--rounds', '2', '--interval', '50ms', socket=False)
    equal((code, err), (0, ''), 'exit code and stderr of top keys')
    for told in lines(out):
        look_at_keys(seen, told)
    equal(lines(out)[-1]['keys'][0]['key'], '10.0.0.1,17', 'the key')
    process.send_signal(signal.SIGTERM)
    process.wait()


def each_key_is_documented(bed):
    seen = Seen()
    look_at_tripd(bed, seen)
    bed.open(huge=True).tell('count dns port 0 pattern eth / ipv4 / udp dst is 53 / end', 'cntr n', 'cntr -',
                             'work dns.packets 1000 0 n 1',
                             'work dns.packets 1000 5 n 1 3600000000000')
    seen.look_at_list(bed.json('list', *KINDS))
    seen.look('wait', bed.json('wait', 'n', '0'), 'counters')
    for words in ('add', 'n', '1'), ('set', 'n', '0'):
        seen.look('add and set', bed.json(*words), 'counters')
    seen.look('reset', bed.json('reset', 'n'), 'counters')
    for told in lines(bed.good('--json', 'top', '--rounds', '2', '--interval', '50ms')):
        seen.look('top', {key: told[key] for key in told if key not in ('domain', 'lcores')})
        seen.look('domain', told['domain'])
        for lcore in told['lcores']:
            seen.look('lcores', lcore)
        for cntr in told['counters']:
            seen.look('top, each of counters', cntr, 'counters')
    for words in (('n >= 0', 'log'), ('after', '1ms', 'log')):
        for told in lines(bed.good('--json', 'when', *words)):
            seen.look('when', told)
    told = lines(bed.good('--json', 'count', 'all', 'port', '0', 'priority', '9', 'pattern', 'eth', '/', 'end', '--timeout', '50ms'))
    seen.look('count', told[-1])
    seen.end()


main(each_key_is_documented)

# SPDX-License-Identifier: BSD-3-Clause
"""What DPDK's telemetry tells under /tripline: what tripctl lists, page by page, and what profiles have."""
import random
import socket

from tripctl_test import *

ROOM = 1 << 14
# Of each command: under which name its records stand, and the kind as tripctl lists it.
KINDS = {'cntr': ('counters', 'counters'), 'work': ('works', 'works'), 'flow': ('flows', 'flows'), 'each': ('each', 'each'),
         'proc': ('processes', 'processes'), 'lcore': ('lcores', 'lcores'), 'domain': ('domains', 'domain')}


QUANTILES = ('p50', 'p90', 'p99', 'p999', 'most')
# What tripctl has by name, and these by id; what goes on between two looks; and what is cut here.
OTHERWISE = ('counter', 'target', 'completion', 'packets_counter', 'bytes_counter', 'iterations', 'busy_iterations',
             'longest_iteration_ns', 'age_ns', 'pattern', *(f'detection_ns_{part}' for part in QUANTILES))


class Telemetry:
    def __init__(self, bed):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(HANG)
        self.socket.connect(f'/var/run/dpdk/{bed.prefix}/dpdk_telemetry.v2')
        self.about = json.loads(self.socket.recv(ROOM))

    def ask(self, command):
        self.socket.send(command if isinstance(command, bytes) else command.encode())
        answer = self.socket.recv(2 * ROOM)
        assert len(answer) < ROOM - 16, f'{command}: an answer of {len(answer)} bytes, which telemetry would cut'
        (name, value), = json.loads(answer).items()
        return value

    def pages(self, word, domain=''):
        """All records of a kind."""
        records, page = [], self.ask(f'/tripline/{word},{domain}')
        while True:
            assert 'error' not in page, page
            listed = page[KINDS[word][0]]
            equal(list(listed), [str(i) for i in range(len(listed))], 'how records are called')
            records += listed.values()
            if 'next' not in page:
                return records
            page = self.ask(f'/tripline/{word},{domain},{page["next"]}')


def agree(told, listed):
    """What both tell of, they tell alike; what tripctl has as null, telemetry leaves out."""
    equal(len(told), len(listed), 'records')
    for one, other in zip(told, listed):
        common = [key for key in one if key in other and key not in OTHERWISE]
        assert len(common) >= 3, f'{sorted(one)} and {sorted(other)} have little in common'
        equal({key: one[key] for key in common}, {key: other[key] for key in common}, 'a record')


def fill(bed):
    bed.open(telemetry=True).tell(
        'cntr one', 'cntr two', 'cntr -', 'add one 40', 'adderr one 2', 'set two 9223372036854775807', 'work one 100 50 two 3',
        'count dns port 0 priority 7 pattern eth / ipv4 src spec 10.1.0.0 src prefix 16 / udp dst is 53 / end')
    return Telemetry(bed)


def lists_are_those_of_tripctl(bed):
    telemetry = fill(bed)
    equal(telemetry.ask('/tripline/list'), [bed.json('list', 'domain')['domain'][0]['name']], 'domains')
    for word, (_, kind) in KINDS.items():
        agree(telemetry.pages(word), bed.json('list', kind)[kind])
    one, = (cntr for cntr in telemetry.pages('cntr') if cntr.get('name') == 'one')
    work, = telemetry.pages('work')
    equal((work['counter'], work['op'], work['every']), (one['id'], 'add', 50), 'the work')


def pages_go_to_the_end(bed):
    """With texts and numbers as long as they may be."""
    telemetry = fill(bed)
    names = ['x' * 29 + f'{i:03}' for i in range(100)]
    most = 2**63 - 1
    pattern = 'eth / ipv6 src is 2001:db8:1111:2222:3333:4444:5555:6666 dst is 2001:db8:1111:2222:3333:4444:5555:7777 / ' \
        'udp src is 65535 dst is 65535 / end'
    bed.tell(*(f'cntr {name}' for name in names), *(f'work {name} {most} {most} two {most}' for name in names[:50]),
             *(f'set {name} {most - 1}' for name in names),
             *(f'count f{i} port 0 priority {i} pattern {pattern}' for i in range(20)))
    for word in 'cntr', 'work', 'flow':
        name, kind = KINDS[word]
        agree(telemetry.pages(word), bed.json('list', kind)[kind])
        page = telemetry.ask(f'/tripline/{word}')
        assert 'next' in page and len(page[name]) < len(telemetry.pages(word)), f'{word}: one page holds all'


def profiles_are_told(bed):
    telemetry = fill(bed)
    whole, meanings = telemetry.ask('/tripline/profile'), telemetry.ask('/tripline/vars')
    equal((whole['works_pending_now'], whole['lcores_limit']), (1, 2), 'the domain')
    equal(whole['works_accepted_total'],
          whole['works_pending_now'] + whole['works_fired_total'] + whole['works_canceled_total'], 'what holds together')
    lcores = [telemetry.ask(f'/tripline/profile,,{i}') for i in range(2)]
    equal(sum(lcore['works_pending_now'] for lcore in lcores), 1, 'the lcores')
    listed = telemetry.pages('lcore')
    for name in 'overshoot', 'firing_ns', 'detection_ns':
        for i, lcore in enumerate(lcores):
            quantiles = [lcore[f'{name}_{part}'] for part in QUANTILES]
            equal(quantiles, sorted(quantiles), f'quantiles of {name}')
            assert {f'{name}_{part}' for part in QUANTILES} - {'overshoot_most'} < set(listed[i]), 'quantiles of lcores'
    assert set(lcores[0]) < set(whole) < set(meanings), 'variables'


def help_says_what_is_taken(bed):
    telemetry = fill(bed)
    commands = [command for command in telemetry.ask('/') if command.startswith('/tripline/')]
    equal(sorted(commands), sorted(['/tripline/list', '/tripline/profile', '/tripline/vars'] + [f'/tripline/{word}' for word in KINDS]),
          'commands')
    for command in commands:
        said = telemetry.ask(f'/help,{command}')[command]
        assert 'arameters' in said or '[DOMAIN]' in said, f'{command}: {said}'


def what_is_wrong_is_said(bed):
    telemetry = fill(bed)
    name, = telemetry.ask('/tripline/list')
    for given, said in (
            ('/tripline/cntr,nobody', 'this process has no domain "nobody"'),
            ('/tripline/profile,nobody', 'this process has no domain "nobody"'),
            (f'/tripline/cntr,{name},x', '"x" is no "next" of an answer'),
            (f'/tripline/cntr,{name},-1', '"-1" is no "next" of an answer'),
            (f'/tripline/cntr,{name},18446744073709551616', '"18446744073709551616" is no "next" of an answer'),
            (f'/tripline/profile,{name},2', f'domain "{name}" has lcores 0 to 1, no 2'),
            (f'/tripline/profile,{name},', '"" is no number of an lcore of the domain'),
            ('/tripline/cntr,' + 'n' * 21, 'domain "nnnnnnnnnnnnnnnn...": 21 characters, at most 20')):
        equal(telemetry.ask(given).get('error'), said, given)


def whatever_is_sent_is_answered(bed):
    telemetry = fill(bed)
    seed = int(os.environ.get('TRIP_SEED', '1'))
    print(f'  seed {seed}')
    dice = random.Random(seed)
    commands = [command for command in telemetry.ask('/') if command.startswith('/tripline/')]
    for _ in range(int(2000 * float(os.environ.get('TRIP_SCALE', '1')))):
        given = dice.choice(commands).encode() + b',' + bytes(
            dice.choice(b'0123456789,,trip-"\\\x01\xff') for _ in range(dice.randrange(40)))
        assert telemetry.ask(given) is not None, given
    equal(telemetry.pages('work')[0]['every'], 50, 'the work')


main(lists_are_those_of_tripctl, pages_go_to_the_end, profiles_are_told, help_says_what_is_taken,
     what_is_wrong_is_said, whatever_is_sent_is_answered)

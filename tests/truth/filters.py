# SPDX-License-Identifier: BSD-3-Clause
"""How a pattern is said to tcpdump and to tshark.

tcpdump's filters are BPF: bytes at offsets, for which it has words. They hold for any frame, also for
one whose lengths lie, because BPF believes the frame and not the headers, as the rules do: a load past
the end of a frame makes a filter false as a whole, which is right wherever what comes next cannot be
true either. They are compiled without the optimizer (-O), which may drop a load that decides nothing
else. What is said besides the words:

- A rule for eth / ipv4 matches at any VLAN depth, the word `ip` at one. `vlan` moves all offsets of what
  follows, so the filter is nested: at this depth, or a tag and then the same one deeper.
- `udp dst port` follows IHL however short it is; a header cannot be shorter than 20 bytes, so there are
  no ports behind one that says so.
- `ip6 and udp dst port` looks directly behind the IPv6 header only; extension headers are walked here.
- A field that is compared in part must be there whole: present() loads its last byte.

tshark's filters are of two sorts. Words ask what tshark's dissectors have understood, and are asked
about well-behaved frames. Of others the dissectors have notions of their own: they believe IPv4's total
length and UDP's length, give up a header of which one byte is missing, look at the version instead of
the EtherType. There, tshark is asked about the same bytes by their offsets, frame[..], and dissects
nothing.
"""

TAGS_MAX = 8
# What is walked grows threefold with each; the captures have no frame with more.
EXTENSIONS_MAX = 3
IHL = range(5, 16)


# ---- tcpdump ----

def at_any_depth(words, depth=TAGS_MAX):
    if depth == 0:
        return f'({words})'
    return f'(({words}) or (vlan and {at_any_depth(words, depth - 1)}))'


def is_tag(at):
    return f'(ether[{at}:2] = 0x8100 or ether[{at}:2] = 0x88a8 or ether[{at}:2] = 0x9100)'


def tags_are(*vlans):
    """Exactly these tags: each is a word `vlan` or `vlan VID`. What follows the last is none, or not there."""
    end = 12 + 4 * len(vlans)
    return ' and '.join(vlans) + f' and (len < {end + 2} or not {is_tag(end)})'


def ip(words):
    return at_any_depth(f'ip and {words}')


def ip_l4(words):
    return ip(f'ip[0] & 15 >= 5 and {words}')


def ip6(words):
    return at_any_depth(f'ip6 and {words}')


def present(last):
    return f'{last} >= 0'


def walk(protocol, test, at, number, extensions):
    """Past up to so many extension headers. `at` is where the next header is, `number` which one it is."""
    behind = test(at) if test else None
    here = f'{number} = {protocol}' + (f' and {behind}' if behind else '')
    if extensions == 0:
        return f'({here})'

    def further(length):
        return walk(protocol, test, f'({at} + {length})', f'ip6[{at}]', extensions - 1)

    whole = f'ip6[{at} + 2:2] & 0xfff8 = 0'
    # A later fragment has the number of what was fragmented, and nothing of it.
    later = '' if test else f'ip6[{at}] = {protocol} or '
    return (f'(({here})'
            f' or (({number} = 0 or {number} = 43 or {number} = 60) and {further(f"(ip6[{at} + 1] + 1) * 8")})'
            f' or ({number} = 51 and {further(f"(ip6[{at} + 1] + 2) * 4")})'
            f' or ({number} = 44 and ({later}({whole} and {further("8")}))))')


def ip6_l4(protocol, test=None, and_='ip6'):
    """`test` makes of an offset a test of what is there. Extension headers are walked behind up to two
    tags, which is where the captures have them."""
    def at_depth(depth):
        words = f'{and_} and ' + walk(protocol, test, '40', 'ip6[6]', EXTENSIONS_MAX if depth <= 2 else 0)
        deeper = f' or (vlan and {at_depth(depth + 1)})' if depth < TAGS_MAX else ''
        return f'(({words}){deeper})'

    return at_depth(0)


def load(offset, size, value, mask=None):
    """A test for ip6_l4: the bytes at that offset."""
    return lambda at: f'ip6[{at} + {offset}:{size}]{"" if mask is None else f" & {mask}"} = {value}'


# ---- tcpdump, inside of tunnels ----
#
# BPF has no words for what is inside, so offsets are worked out from the outer IP header: `ip[..]` and
# `ip6[..]` take arithmetic. The captures have tunnels directly behind an outer IP header, and up to two
# tags in them.

INNER_TAGS_MAX = 2


class Inside:
    """Bytes from a place on, `at`, which is an expression over the header that `header` accesses."""

    def __init__(self, header, at):
        self.header, self.at = header, at

    def get(self, offset, size):
        return f'{self.header}[{self.at} + {offset}:{size}]'

    def is_(self, offset, size, value, mask=None):
        return f'{self.get(offset, size)}{"" if mask is None else f" & {mask}"} = {value}'

    def further(self, length):
        return Inside(self.header, f'({self.at} + {length})')


def in_ipv4(*tests, protocol=None, l4=()):
    """(offset, size, value[, mask]) in an IPv4 header, and in what is behind it."""
    def inside(place):
        parts = [place.is_(*test) for test in tests]
        if protocol is not None:
            parts.append(place.is_(9, 1, protocol))
        if l4:
            behind = place.further(f'({place.get(0, 1)} & 15) * 4')
            parts += [f'{place.get(0, 1)} & 15 >= 5', place.is_(6, 2, 0, 0x1fff), *(behind.is_(*test) for test in l4)]
        return IPV4_TYPE, parts

    return inside


def in_ipv6(*tests, protocol=None, l4=()):
    """The same of IPv6, directly behind its header: there are no extension headers inside."""
    def inside(place):
        parts = [place.is_(*test) for test in tests]
        if protocol is not None:
            parts.append(place.is_(6, 1, protocol))
        return IPV6_TYPE, parts + [place.further(40).is_(*test) for test in l4]

    return inside


IPV4_TYPE, IPV6_TYPE, BRIDGED_TYPE = 0x0800, 0x86dd, 0x6558


def in_ethernet(*tests, ip=None):
    """(offset, size, value[, mask]) in an Ethernet header, and what is behind its tags, however many."""
    def inside(place):
        parts = [place.is_(*test) for test in tests]
        if ip is None:
            return parts
        ways = []
        for tags in range(INNER_TAGS_MAX + 1):
            kind, behind = ip(place.further(14 + 4 * tags))
            ways.append('(' + ' and '.join([inner_tag(place, 12 + 4 * i) for i in range(tags)] +
                                           [place.is_(12 + 4 * tags, 2, kind), *behind]) + ')')
        return parts + ['(' + ' or '.join(ways) + ')']

    return inside


def inner_tag(place, at):
    return '(' + ' or '.join(place.is_(at, 2, tpid) for tpid in (0x8100, 0x88a8, 0x9100)) + ')'


def in_tagged(vid, ip):
    """Exactly one tag, with this VID, then IP."""
    def inside(place):
        kind, behind = ip(place.further(18))
        return [inner_tag(place, 12), place.is_(14, 2, vid, 0x0fff), place.is_(16, 2, kind), *behind]

    return inside


def over(protocol, tests, versions):
    """What is behind an outer IP header of these versions. One filter for each version: `vlan` moves what
    follows. `tests` makes of where that is the tests of it."""
    def ip4():
        place = Inside('ip', '(ip[0] & 15) * 4')
        outer = [f'ip proto {protocol}', 'ip[0] & 15 >= 5', 'ip[6:2] & 0x1fff = 0']
        return at_any_depth(' and '.join(outer + tests(place)), 2)

    def ip6():
        return at_any_depth(' and '.join([f'ip6 and ip6[6] = {protocol}', *tests(Inside('ip6', '40'))]), 2)

    return tuple({4: ip4, 6: ip6}[version]() for version in versions)


def vxlan(*tests, inside=None, versions=(4, 6)):
    """(offset, size, value) in a VXLAN header, and what it carries."""
    def all_tests(place):
        header = place.further(8)
        return [place.is_(2, 2, 4789), *(header.is_(*test) for test in tests),
                *(inside(header.further(8)) if inside else ())]

    return over(17, all_tests, versions)


def gre(*tests, ip=None, ethernet=None, versions=(4, 6)):
    """The same of GRE: IP directly or in a frame, or (`ethernet`) in a frame only."""
    def all_tests(place):
        parts = [place.is_(*test) for test in tests]
        if ip is None and ethernet is None:
            return parts
        flags = place.get(0, 2)
        carried = place.further('4 + ' + ' + '.join(f'(({flags} >> {bit}) & 1) * 4' for bit in (15, 13, 12)))
        frame = ' and '.join([place.is_(2, 2, BRIDGED_TYPE), *(ethernet or in_ethernet(ip=ip))(carried)])
        if ip is not None:
            kind, behind = ip(carried)
            frame = f'(({" and ".join([place.is_(2, 2, kind), *behind])}) or ({frame}))'
        return parts + [f'{flags} & 0x4007 = 0', frame]

    return over(47, all_tests, versions)


# ---- tshark, by words ----

def first(protocols):
    """The protocols from the outside in: what is inside of a tunnel or an error is further behind."""
    return f'frame.protocols matches "^eth:ethertype:((vlan|ieee8021ad):ethertype:)*{protocols}(:|$)"'


TAGGED = '(:(vlan|ieee8021ad):ethertype)*:'
BEHIND_EXTENSIONS = r'ipv6(:ipv6\\.[a-z]+|:ah)*:'


# ---- tshark, by bytes ----

def eq(at, value, mask=None):
    def octets(digits):
        # A byte alone could be the name of a protocol, such as fc.
        return '0x' + digits if len(digits) == 2 else ':'.join(digits[i:i + 2] for i in range(0, len(digits), 2))

    return f'frame[{at}:{len(value) // 2}]' + (f' & {octets(mask)}' if mask else '') + f' == {octets(value)}'


def tag_at(at):
    return f'({eq(at, "8100")} or {eq(at, "88a8")} or {eq(at, "9100")})'


def tags_at(count):
    """Exactly so many. A slice that is not in the frame equals nothing."""
    return ' and '.join(tag_at(12 + 4 * i) for i in range(count)) + f' and not {tag_at(12 + 4 * count)}'


def deep_bytes(at_depth, depth=0):
    words = f'({at_depth(depth)})'
    if depth == TAGS_MAX:
        return words
    return f'({words} or ({tag_at(12 + 4 * depth)} and {deep_bytes(at_depth, depth + 1)}))'


def all_at(base, tests):
    return [eq(base + offset, *test) for offset, *test in tests]


def bytes4(*tests, protocol=None, l4=()):
    """IPv4 with these (offset, value[, mask]) in its header, and in what is behind it."""
    def at_depth(depth):
        base = 14 + 4 * depth
        parts = [eq(base - 2, '0800'), *all_at(base, tests)]
        if protocol is not None:
            parts.append(eq(base + 9, f'{protocol:02x}'))
        if l4:
            parts.append(eq(base + 6, '0000', '1fff'))
            parts.append('(' + ' or '.join(
                '(' + ' and '.join([eq(base, f'{words:02x}', '0f'), *all_at(base + 4 * words, l4)]) + ')'
                for words in IHL) + ')')
        return ' and '.join(parts)

    return deep_bytes(at_depth)


def bytes6(*tests):
    """IPv6 with these in its header. Of what is behind it tshark is asked by words alone: there is no
    constant offset."""
    def at_depth(depth):
        base = 14 + 4 * depth
        return ' and '.join([eq(base - 2, '86dd'), *all_at(base, tests)])

    return deep_bytes(at_depth)

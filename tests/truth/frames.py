# SPDX-License-Identifier: BSD-3-Clause
"""Frames to count, by kinds: what well-behaved networks carry (`plain`), and what they do not (`wild`).

A kind is a generator of frames from a random source alone, so a seed repeats all of them. Values come
from small pools, so that rules which name one of them find it in many kinds.
"""
import struct

TAG, STAG, OLD_TAG = 0x8100, 0x88a8, 0x9100
IPV4, IPV6, ARP, LOCAL = 0x0800, 0x86dd, 0x0806, 0x88b5
ICMP, TCP, UDP, ICMP6, SCTP, GRE, ESP, AH = 1, 6, 17, 58, 132, 47, 50, 51
HOP, ROUTING, FRAGMENT, OPTIONS, NONE = 0, 43, 44, 60, 59
VXLAN, BRIDGED = 4789, 0x6558
VNIS = 1, 77, 0xfedcba
# Also values that end in zeros: what is cut off must not be taken for zeros.
PORTS = 53, 80, 123, 443, 5000, 0x3500
VIDS = 7, 8, 9, 100
HOSTS4 = '10.1.0.0', '10.1.0.1', '10.1.2.3', '10.9.0.7', '172.16.5.5', '172.31.255.254', '172.32.0.1', '192.0.2.9'
HOSTS6 = '20010db8000000000000000000000001', '20010db8000000000000000000000002', \
    '20010db8ffff00000000000000000001', 'fe800000000000000000000000000001'
STATIONS = '020000000001', '020000007701', '3333000000fb', 'ffffffffffff'
MORE_FRAGMENTS = 0x2000


def ethernet(rng, kind, payload, tags=()):
    return bytes.fromhex(rng.choice(STATIONS) + rng.choice(STATIONS[:2])) + \
        b''.join(struct.pack('!HH', tpid, tci) for tpid, tci in tags) + struct.pack('!H', kind) + payload


def random_tags(rng):
    """None, one, two or three; also of one VID with every priority."""
    def tci():
        return rng.choice(VIDS) | rng.choice((0, 0, 0x2000, 0xa000, 0xe000, 0x1000))

    depth = rng.choice((0, 0, 0, 1, 1, 2, 2, 3))
    if depth == 1:
        return [(rng.choice((TAG, TAG, TAG, STAG, OLD_TAG)), tci())]
    if depth == 2:
        outer, inner = rng.choice(((STAG, TAG), (STAG, TAG), (TAG, TAG), (OLD_TAG, TAG), (STAG, STAG)))
        return [(outer, tci()), (inner, tci())]
    return [(rng.choice((TAG, STAG)), tci()) for _ in range(depth)]


def ipv4(rng, protocol, payload, fragment=0, options=0, **lies):
    """`lies` are values of header fields that are not what the packet is."""
    words = 5 + options
    head = struct.pack(
        '!BBHHHBBH', lies.get('version', 4) << 4 | lies.get('ihl', words),
        rng.choice((0, 0, 0x10, 0xb8)), lies.get('length', 4 * words + len(payload)), rng.randrange(65536),
        fragment | (rng.choice((0, 0x4000)) if fragment == 0 else 0), rng.choice((1, 64, 255)), protocol, 0)
    addresses = b''.join(bytes(int(part) for part in rng.choice(HOSTS4).split('.')) for _ in range(2))
    head += addresses + (b'\x01' * (4 * options - 1) + b'\x00' if options else b'')
    total = sum(struct.unpack(f'!{len(head) // 2}H', head))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return head[:10] + struct.pack('!H', ~total & 0xffff) + head[12:] + payload


def ipv6(rng, next_header, payload, **lies):
    return struct.pack('!IHBB', lies.get('version', 6) << 28 | rng.choice((0, 0x0b800000)) |
                       rng.choice((0, 0x12345)), lies.get('length', len(payload)), next_header,
                       rng.choice((1, 64, 255))) + \
        bytes.fromhex(rng.choice(HOSTS6) + rng.choice(HOSTS6)) + payload


def udp(rng, payload, **lies):
    return struct.pack('!HHHH', rng.choice(PORTS + (40000,)), rng.choice(PORTS),
                       lies.get('length', 8 + len(payload)), 0) + payload


def tcp(rng, payload, **lies):
    return struct.pack('!HHIIBBHHH', rng.choice(PORTS + (40000,)), rng.choice(PORTS), 1, 1,
                       lies.get('offset', 5) << 4, rng.choice((2, 0x12, 0x10, 0x18, 0x11)), 1000, 0, 0) + payload


def icmp(rng, payload):
    return struct.pack('!BBHHH', rng.choice((0, 8, 13, 30)), rng.choice((0, 1, 3)), 0, 1, 1) + payload


def icmp6(rng, payload):
    return struct.pack('!BBHHH', rng.choice((128, 129, 160)), rng.choice((0, 1)), 0, 1, 1) + payload


def sctp(rng, payload):
    # With a whole DATA chunk.
    return struct.pack('!HHII', rng.choice(PORTS), rng.choice(PORTS), 7, 0) + \
        struct.pack('!BBHIHHI', 0, 3, 16 + len(payload), 1, 0, 0, 0) + payload + bytes(-len(payload) % 4)


def payload_of(rng, most=64):
    return rng.randbytes(rng.randrange(most))


def l4(rng, most=64, six=False):
    """A protocol number and what follows it."""
    protocol = rng.choice((UDP, UDP, UDP, TCP, TCP, ICMP6 if six else ICMP))
    make = {UDP: udp, TCP: tcp, ICMP: icmp, ICMP6: icmp6}[protocol]
    return protocol, make(rng, payload_of(rng, most))


# ---- what well-behaved networks carry ----

def over_ipv4(rng):
    return ethernet(rng, IPV4, ipv4(rng, *l4(rng)), random_tags(rng))


def over_ipv6(rng):
    return ethernet(rng, IPV6, ipv6(rng, *l4(rng, six=True)), random_tags(rng))


def with_options(rng):
    return ethernet(rng, IPV4, ipv4(rng, *l4(rng), options=rng.randrange(1, 11)), random_tags(rng))


def padded(rng):
    """Short ones, made 60 bytes long as a NIC does it; some padding looks like more of the packet."""
    frame = ethernet(rng, IPV4, ipv4(rng, *l4(rng, most=2)), random_tags(rng)[:1])
    return frame + (bytes(60) if rng.random() < 0.5 else rng.randbytes(60))[:max(0, 60 - len(frame))]


def fragments4(rng):
    """First, middle and last; the first bytes of a later one look like ports, and are not."""
    protocol, data = l4(rng, most=32)
    data += bytes(-len(data) % 8)
    fragment = rng.choice((MORE_FRAGMENTS, MORE_FRAGMENTS | 185, 370, 1, 0x1fff))
    return ethernet(rng, IPV4, ipv4(rng, protocol, data, fragment, rng.choice((0, 0, 2))), random_tags(rng))


def fragments6(rng):
    protocol, data = l4(rng, most=32, six=True)
    data += bytes(-len(data) % 8)
    # First, middle, last, and the "atomic" one, which is whole.
    offset = rng.choice((1, 1, 185 << 3 | 1, 370 << 3, 8, 0))
    head = struct.pack('!BBHI', protocol, 0, offset, 0x1234)
    kind = FRAGMENT
    if rng.random() < 0.3:
        kind, head = HOP, struct.pack('!BB6B', FRAGMENT, 0, 1, 4, 0, 0, 0, 0) + head
    return ethernet(rng, IPV6, ipv6(rng, kind, head + data), random_tags(rng)[:2])


def extension(rng, kind, following):
    """One extension header, of a length that it has room for. What fills it is no extension header, whoever
    comes to read it as one because of a wrong length."""
    if kind == ROUTING:
        segments = rng.randrange(3)
        return struct.pack('!BBBBI', following, 2 * segments, 0, segments, 0) + b'\xfe' * (16 * segments)
    if kind == AH:
        return struct.pack('!BBHII', following, 4, 0, 0x100, 1) + b'\xfe' * 12
    length = rng.randrange(3)
    # PadN over all that there is.
    return struct.pack('!BBBB', following, length, 1, 4 + 8 * length) + b'\xfe' * (4 + 8 * length)


def chain(rng, kinds, protocol, data):
    """The first header's number, and all headers with their data."""
    for kind in reversed(kinds):
        data, protocol = extension(rng, kind, protocol) + data, kind
    return protocol, data


CHAINS = [HOP], [OPTIONS], [ROUTING], [AH], [HOP, OPTIONS], [HOP, ROUTING], [ROUTING, OPTIONS], [HOP, AH], \
    [HOP, ROUTING, OPTIONS], [HOP, OPTIONS, AH]


def extensions(rng, chains=CHAINS):
    kinds = rng.choice(chains)
    return ethernet(rng, IPV6, ipv6(rng, *chain(rng, kinds, *l4(rng, six=True))), random_tags(rng)[:2])


def few_extensions(rng):
    """Of which a changed byte can make one more."""
    return extensions(rng, CHAINS[:8])


def opaque(rng):
    """Protocols that no rule looks into, also behind IPv4's AH, which is a protocol there, not an
    extension."""
    protocol, data = rng.choice((
        (ESP, struct.pack('!II', 0x200, 1) + rng.randbytes(40)),
        (AH, extension(rng, AH, UDP) + udp(rng, b'')),
        (NONE, b''),
        (253, rng.randbytes(20))))
    if rng.random() < 0.5:
        return ethernet(rng, IPV4, ipv4(rng, protocol, data), random_tags(rng))
    # Behind IPv6 it is one, and `extensions` has it.
    return ethernet(rng, IPV6, ipv6(rng, 253 if protocol == AH else protocol, data), random_tags(rng)[:2])


def in_errors(rng):
    """ICMP errors quote the packet that they answer: that one is not there."""
    if rng.random() < 0.5:
        quoted = ipv4(rng, *l4(rng, most=8))
        head = struct.pack('!BBHI', rng.choice((3, 3, 11)), rng.choice((1, 3)), 0, 0)
        return ethernet(rng, IPV4, ipv4(rng, ICMP, head + quoted), random_tags(rng))
    quoted = ipv6(rng, *l4(rng, most=8, six=True))
    return ethernet(rng, IPV6, ipv6(rng, ICMP6, struct.pack('!BBHI', 1, rng.choice((0, 4)), 0, 0) + quoted),
                    random_tags(rng)[:2])


def tunnels(rng):
    """What is inside IP in IP matches nothing of the outside."""
    inner4, inner6 = ipv4(rng, *l4(rng)), ipv6(rng, *l4(rng, six=True))
    return rng.choice((
        lambda: ethernet(rng, IPV4, ipv4(rng, 4, inner4), random_tags(rng)),
        lambda: ethernet(rng, IPV4, ipv4(rng, 41, inner6), random_tags(rng)),
        lambda: ethernet(rng, IPV6, ipv6(rng, 4, inner4), random_tags(rng)[:2]),
        lambda: ethernet(rng, IPV6, ipv6(rng, 41, inner6), random_tags(rng)[:2])))()


def inner_ethernet(rng, most=40):
    tags = random_tags(rng)[:2]
    if rng.random() < 0.6:
        return ethernet(rng, IPV4, ipv4(rng, *l4(rng, most)), tags)
    if rng.random() < 0.5:
        return ethernet(rng, IPV6, ipv6(rng, *l4(rng, most, six=True)), tags)
    return ethernet(rng, LOCAL, bytes(30), tags)


def vxlan_header(rng, flags=0x08):
    return struct.pack('!B3xI', flags, rng.choice(VNIS) << 8)


def over_udp(rng, dst, data):
    """To a port from some port, in IPv4 or IPv6."""
    datagram = struct.pack('!HHHH', rng.randrange(49152, 65536), dst, 8 + len(data), 0) + data
    if rng.random() < 0.7:
        return ethernet(rng, IPV4, ipv4(rng, UDP, datagram, options=rng.choice((0, 0, 0, 1))), random_tags(rng)[:2])
    return ethernet(rng, IPV6, ipv6(rng, UDP, datagram), random_tags(rng)[:2])


def vxlan(rng):
    return over_udp(rng, VXLAN, vxlan_header(rng) + inner_ethernet(rng))


def gre_header(rng, kind, bits=None):
    """With checksum, key and sequence number in every combination."""
    bits = rng.choice((0, 0, 0x8000, 0x2000, 0x1000, 0x3000, 0xa000, 0xb000)) if bits is None else bits
    return struct.pack('!HH', bits, kind) + b''.join(
        value for bit, value in ((0x8000, bytes(4)), (0x2000, b'\xfe\xfe\x00\x07'), (0x1000, b'\xfe\xfe\x00\x01'))
        if bits & bit)


def gre_payload(rng):
    kind = rng.choice((IPV4, IPV4, IPV6, BRIDGED, 0x880b))
    return kind, {IPV4: lambda: ipv4(rng, *l4(rng)), IPV6: lambda: ipv6(rng, *l4(rng, six=True)),
                  BRIDGED: lambda: inner_ethernet(rng), 0x880b: lambda: bytes(12)}[kind]()


def over_gre(rng, header, payload):
    if rng.random() < 0.7:
        return ethernet(rng, IPV4, ipv4(rng, GRE, header + payload, options=rng.choice((0, 0, 0, 1))),
                        random_tags(rng)[:2])
    return ethernet(rng, IPV6, ipv6(rng, GRE, header + payload), random_tags(rng)[:2])


def gre(rng):
    kind, payload = gre_payload(rng)
    return over_gre(rng, gre_header(rng, kind), payload)


def streams(rng):
    if rng.random() < 0.5:
        return ethernet(rng, IPV4, ipv4(rng, SCTP, sctp(rng, payload_of(rng))), random_tags(rng))
    return ethernet(rng, IPV6, ipv6(rng, SCTP, sctp(rng, payload_of(rng))), random_tags(rng)[:2])


def others(rng):
    """ARP, EtherTypes that nobody knows, and IEEE 802.3 with a length."""
    kind = rng.choice((ARP, ARP, LOCAL, LOCAL, 0x88cc, 46))
    data = struct.pack('!HHBBH', 1, IPV4, 6, 4, 1) + bytes(20) if kind == ARP else bytes(46)
    return ethernet(rng, kind, data, random_tags(rng))


def jumbo(rng):
    size = rng.choice((1600, 4000, 9000)) - 80
    data = udp(rng, rng.randbytes(size)) if rng.random() < 0.5 else tcp(rng, rng.randbytes(size))
    protocol = UDP if len(data) == size + 8 else TCP
    if rng.random() < 0.5:
        return ethernet(rng, IPV4, ipv4(rng, protocol, data), random_tags(rng))
    return ethernet(rng, IPV6, ipv6(rng, protocol, data), random_tags(rng)[:2])


def deep(rng):
    """As many tags as are looked behind."""
    tags = [(rng.choice((TAG, STAG)), rng.choice(VIDS)) for _ in range(rng.randrange(4, 9))]
    if rng.random() < 0.5:
        return ethernet(rng, IPV4, ipv4(rng, *l4(rng)), tags)
    return ethernet(rng, IPV6, ipv6(rng, *l4(rng, six=True)), tags)


PLAIN = {over_ipv4: 260, over_ipv6: 200, with_options: 80, padded: 120, fragments4: 160, fragments6: 120,
         extensions: 200, opaque: 60, in_errors: 60, tunnels: 80, vxlan: 200, gre: 240, streams: 80,
         others: 160, jumbo: 12, deep: 60}


# ---- what they do not ----

def ihl_lies(rng):
    """IHL of every value, over bytes that are ports wherever it leads."""
    protocol = rng.choice((UDP, TCP, ICMP))
    data = b''.join(struct.pack('!H', rng.choice(PORTS)) for _ in range(rng.choice((10, 30, 40))))
    return ethernet(rng, IPV4, ipv4(rng, protocol, data, ihl=rng.randrange(16)), random_tags(rng))


def length_lies4(rng):
    protocol, data = l4(rng)
    lie = rng.choice((0, 1, 19, 20, 21, 22, 24, 27, 28, 40, 20 + len(data) - 1, 20 + len(data) + 1, 1500, 65535))
    return ethernet(rng, IPV4, ipv4(rng, protocol, data, length=lie), random_tags(rng))


def length_lies6(rng):
    protocol, data = l4(rng, six=True)
    lie = rng.choice((0, 1, 2, 4, 7, 8, 20, len(data) - 1, len(data) + 1, 1500, 65535))
    return ethernet(rng, IPV6, ipv6(rng, protocol, data, length=lie), random_tags(rng)[:2])


def l4_lies(rng):
    """UDP lengths and TCP data offsets."""
    if rng.random() < 0.5:
        protocol, data = UDP, udp(rng, payload_of(rng), length=rng.choice((0, 1, 2, 4, 7, 8, 9, 65535)))
    else:
        protocol, data = TCP, tcp(rng, payload_of(rng), offset=rng.randrange(16))
    if rng.random() < 0.5:
        return ethernet(rng, IPV4, ipv4(rng, protocol, data), random_tags(rng))
    return ethernet(rng, IPV6, ipv6(rng, protocol, data), random_tags(rng)[:2])


def version_lies(rng):
    """The EtherType says which IP it is."""
    if rng.random() < 0.5:
        return ethernet(rng, IPV4, ipv4(rng, *l4(rng), version=rng.randrange(16)), random_tags(rng))
    return ethernet(rng, IPV6, ipv6(rng, *l4(rng, six=True), version=rng.randrange(16)), random_tags(rng)[:2])


def odd_fragments(rng):
    """Every combination of the flags, the reserved one too, with offsets and without."""
    protocol, data = l4(rng)
    fragment = rng.randrange(8) << 13 | rng.choice((0, 0, 1, 0x1000, 0x1fff))
    return ethernet(rng, IPV4, ipv4(rng, protocol, data, fragment), random_tags(rng))


def extension_lies(rng):
    """Lengths that lead out of the packet, headers that are cut off, and kinds where they do not belong."""
    kinds = [rng.choice((HOP, OPTIONS, ROUTING, AH, FRAGMENT)) for _ in range(rng.randrange(1, 3))]
    protocol, data = l4(rng, six=True)
    for kind in reversed(kinds):
        if kind == FRAGMENT:
            # Its second byte is reserved, and no length.
            data = struct.pack('!BBHI', protocol, rng.choice((0, 1, 255)),
                               rng.choice((0, 1, 2, 6, 7, 8, 0xfff8)), 0) + data
        else:
            data = extension(rng, kind, protocol) + data
            if rng.random() < 0.3:
                data = data[:1] + bytes([rng.choice((200, 255))]) + data[2:]
        protocol = kind
    frame = ethernet(rng, IPV6, ipv6(rng, protocol, data), random_tags(rng)[:2])
    return frame[:rng.randrange(54, len(frame))] if rng.random() < 0.3 else frame


def vxlan_lies(rng):
    """Any flags, lengths of nothing, tunnels in tunnels, and fragments of tunnels."""
    choice = rng.randrange(4)
    if choice == 0:
        return over_udp(rng, VXLAN, vxlan_header(rng, rng.choice((0, 0x0c, 0xff))) + inner_ethernet(rng))
    if choice == 1:
        deeper = over_udp(rng, VXLAN, vxlan_header(rng) + inner_ethernet(rng))
        return over_udp(rng, VXLAN, vxlan_header(rng) + deeper)
    data = struct.pack('!HHHH', 50000, VXLAN, rng.choice((0, 8, 9, 65535)), 0) + vxlan_header(rng) + inner_ethernet(rng)
    if choice == 2:
        return ethernet(rng, IPV4, ipv4(rng, UDP, data, rng.choice((0, MORE_FRAGMENTS, 1))), random_tags(rng)[:2])
    return ethernet(rng, IPV4, ipv4(rng, UDP, data, ihl=rng.randrange(16)), random_tags(rng)[:2])


def gre_lies(rng):
    """Versions, source routes and reserved bits; a checksum that is announced and not there."""
    kind, payload = gre_payload(rng)
    bits = rng.choice((1, 7, 0x4000, 0xc000, 0x2001, 0x0800, 0x0ff8, 0xb000))
    header = gre_header(rng, kind, bits)
    return over_gre(rng, header[:4] if rng.random() < 0.3 else header, payload)


def noise(rng):
    """Random bytes behind an EtherType that promises something."""
    kind = rng.choice((IPV4, IPV4, IPV6, TAG, STAG, OLD_TAG, ARP, LOCAL))
    return ethernet(rng, kind, rng.randbytes(rng.choice((0, 1, 3, 20, 60, 100))), random_tags(rng)[:2])


def flipped(rng):
    """A good frame with a few bytes changed among its headers."""
    frame = bytearray(rng.choice((over_ipv4, with_options, fragments4, padded, over_ipv6, few_extensions))(rng))
    for _ in range(rng.randrange(1, 4)):
        frame[rng.randrange(min(len(frame), 80))] = rng.choice((0, 1, 6, 17, 0x45, 0x81, 0xff, rng.randrange(256)))
    return bytes(frame)


def nothing(rng):
    return b''


WILD = {ihl_lies: 160, length_lies4: 160, length_lies6: 120, l4_lies: 120, version_lies: 80,
        odd_fragments: 120, extension_lies: 200, vxlan_lies: 160, gre_lies: 160, noise: 160, flipped: 300, nothing: 3}
CUT = (over_ipv4, over_ipv4, over_ipv6, with_options, fragments4, fragments6, extensions, extensions,
       padded, vxlan, vxlan, gre, gre, streams)
CUT_BYTES = 130


def truncated(rng):
    """Frames of several kinds, each cut behind every byte of its headers."""
    for kind in CUT:
        frame = kind(rng)
        for length in range(min(len(frame), CUT_BYTES)):
            yield frame[:length]


def generate(rng, kinds):
    """[(kind, frame)], shuffled: what is beside a frame in a burst must not matter."""
    frames = [(kind.__name__, kind(rng)) for kind, count in kinds.items() for _ in range(count)]
    if kinds is WILD:
        frames += [('truncated', frame) for frame in truncated(rng)]
    rng.shuffle(frames)
    return frames

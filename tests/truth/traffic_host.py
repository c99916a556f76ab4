# SPDX-License-Identifier: BSD-3-Clause
"""A host of the live traffic: a process in a network namespace of its own, which does what it is told, and
the traffic that two of them make. Each kind returns what its sender put on the wire: packets and bytes of
the frames, by what the kernel says of its own connection (TCP) or by what was sent (UDP, SCTP).
"""
import ctypes
import multiprocessing
import os
import platform
import socket
import struct
import subprocess
import sys
import threading
import time
import zlib

CLONE_NEWNET = 0x40000000
# Only a hang takes so long: one call to the kernel, and all that a host is told at a time.
HANG = 120
HANG_ALL = HANG * max(1, float(os.environ.get('TRIP_SCALE', '1')))
ETHERNET = 14
IP = {socket.AF_INET: 20, socket.AF_INET6: 40}
# What an IP packet of a veth may have behind its header.
MTU = 1500
UDP_SEGMENT = 103
SCTP = 132
TCP_CLOSE = 7
# Datagrams before the receiver says that all are there: so none is lost for want of room.
WINDOW = 128


def raise_buffers(sock):
    for force in 32, 33:    # SO_SNDBUFFORCE, SO_RCVBUFFORCE
        sock.setsockopt(socket.SOL_SOCKET, force, 8 << 20)


def wire_size(family, length):
    """(packets, bytes) of an IP packet with that behind its header, in fragments where it is too long."""
    room = MTU - IP[family]
    if length <= room:
        return 1, ETHERNET + IP[family] + length
    head = IP[family] + (8 if family == socket.AF_INET6 else 0)
    piece = (MTU - head) // 8 * 8
    # The last one may be as long as fits.
    packets = 1
    left = length
    while left > MTU - head:
        left -= piece
        packets += 1
    return packets, length + packets * (ETHERNET + head)


class Sum:
    def __init__(self):
        self.packets = self.size = 0

    def add(self, packets, size):
        self.packets += packets
        self.size += size

    def get(self):
        return self.packets, self.size


# ---- TCP: one connection, first one way, then the other ------------------------------------------------

def await_end(sock):
    """Until its own end is acknowledged, it acknowledges again what the other end sends again."""
    deadline = time.monotonic() + HANG
    while sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] != TCP_CLOSE:
        assert time.monotonic() < deadline, 'the end of a connection is not acknowledged'
        time.sleep(0.001)


def tcp_info(sock):
    info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    segments, = struct.unpack_from('=I', info, 136)
    sent, = struct.unpack_from('=Q', info, 200)
    return segments, sent


def tcp_send(sock, total):
    block = bytes(range(256)) * 1024
    crc = 0
    while total > 0:
        part = block[:min(total, len(block))]
        sock.sendall(part)
        crc = zlib.crc32(part, crc)
        total -= len(part)
    return crc


def tcp_receive(sock, total):
    crc = 0
    while total > 0:
        part = sock.recv(min(total, 1 << 18))
        assert part, f'the connection ended with {total} bytes missing'
        crc = zlib.crc32(part, crc)
        total -= len(part)
    return crc


def tcp_wire(family, sock, uncounted):
    """Time stamps make 12 bytes of options, and 20 in the first segment; there are no others. Of who
    accepts, the kernel does not count that one."""
    segments, sent = tcp_info(sock)
    packets = segments + uncounted
    return packets, sent + packets * (ETHERNET + IP[family] + 32) + 8


def tcp_client(family, address, port, total):
    with socket.socket(family, socket.SOCK_STREAM) as sock:
        sock.settimeout(HANG)
        sock.connect((address, port))
        sent = tcp_send(sock, total)
        assert tcp_receive(sock, total) == sent, 'TCP brings other bytes back'
        sock.shutdown(socket.SHUT_WR)
        assert sock.recv(1) == b''
        return tcp_wire(family, sock, 0)


def tcp_server(listener, family, total):
    sock, _ = listener.accept()
    with sock:
        sock.settimeout(HANG)
        tcp_receive(sock, total)
        tcp_send(sock, total)
        assert sock.recv(1) == b''
        sock.shutdown(socket.SHUT_WR)
        await_end(sock)
        return tcp_wire(family, sock, 1)


# ---- UDP and SCTP: datagrams one way, and a word back for each window of them ---------------------------

def udp_sizes(total):
    """Small, full, in fragments."""
    sizes = (1, 64, 512, 1400, 1472 - 20, 8000)
    i = 0
    while total > 0:
        yield sizes[i % len(sizes)]
        total -= sizes[i % len(sizes)]
        i += 1


class Windows:
    """What was sent, and the words that come back for each window of it."""

    def __init__(self, hear):
        self.count = self.heard = 0
        self.hear = hear

    def add(self, n):
        self.count += n
        while self.heard < self.count // WINDOW:
            self.hear()
            self.heard += 1


def send_joined(sock, family, sent, windows):
    """One call, which the sender's stack or its device makes many datagrams of."""
    sock.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, 1000)
    for _ in range(WINDOW):
        sock.send(bytes(7500))
        for size in [1000] * 7 + [500]:
            sent.add(*wire_size(family, 8 + size))
        windows.add(8)
    sock.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, 0)


def udp_client(family, address, port, total, joined):
    sent = Sum()
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        raise_buffers(sock)
        sock.settimeout(HANG)
        sock.connect((address, port))
        windows = Windows(lambda: sock.recv(16))
        for size in udp_sizes(total):
            sock.send(bytes(size))
            sent.add(*wire_size(family, 8 + size))
            windows.add(1)
        if joined:
            send_joined(sock, family, sent, windows)
        sock.send(b'end')
        sent.add(*wire_size(family, 8 + 3))
        assert sock.recv(16) == struct.pack('!I', windows.count), 'the last word'
    return sent.get()


def udp_server(sock, family):
    """Answers; returns what that put on the wire."""
    sent = Sum()
    count = 0
    with sock:
        while True:
            data, client = sock.recvfrom(65536)
            end = data == b'end'
            count += not end
            if end or count % WINDOW == 0:
                sock.sendto(struct.pack('!I', count), client)
                sent.add(*wire_size(family, 8 + 4))
            if end:
                return sent.get()


def crc32c_table():
    table = []
    for i in range(256):
        for _ in range(8):
            i = i >> 1 ^ (0x82f63b78 if i & 1 else 0)
        table.append(i)
    return table


TABLE = crc32c_table()


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xff] ^ crc >> 8
    return struct.pack('<I', crc ^ 0xffffffff)


def sctp_data(source, target, number, size):
    """A packet of one DATA chunk, with its checksum."""
    chunk = struct.pack('!BBHIHHI', 0, 3, 16 + size, number, 0, number & 0xffff, 0) + bytes(size)
    chunk += bytes(-len(chunk) % 4)
    head = struct.pack('!HHI', source, target, 1)
    return head + crc32c(head + bytes(4) + chunk) + chunk


def sctp_client(family, address, port, total):
    # Few different ones: a checksum takes long here.
    packets = [sctp_data(7, port, number, size) for number, size in enumerate((1, 100, 700, 1400, 1440, 1400))]
    end = sctp_data(8, port, 0, 4)
    sent = Sum()
    with socket.socket(family, socket.SOCK_RAW, SCTP) as sock:
        raise_buffers(sock)
        sock.settimeout(HANG)
        windows = Windows(lambda: await_word(sock, family))
        while total > 0:
            packet = packets[windows.count % len(packets)]
            sock.sendto(packet, (address, 0))
            sent.add(*wire_size(family, len(packet)))
            total -= len(packet)
            windows.add(1)
        sock.sendto(end, (address, 0))
        sent.add(*wire_size(family, len(end)))
        await_word(sock, family)
    return sent.get()


def sctp_of(family, data):
    return data[(data[0] & 15) * 4:] if family == socket.AF_INET else data


def await_word(sock, family):
    while True:
        packet = sctp_of(family, sock.recv(65536))
        if struct.unpack_from('!H', packet, 0)[0] == 9:
            return


def sctp_server(sock, family, port):
    """A word back comes from port 9."""
    known = {}
    word = sctp_data(9, 7, 0, 4)
    sent = Sum()
    count = 0
    with sock:
        while True:
            data, client = sock.recvfrom(65536)
            packet = sctp_of(family, data)
            source, target = struct.unpack_from('!HH', packet, 0)
            if target != port:
                continue
            if packet not in known:
                known[packet] = crc32c(packet[:8] + bytes(4) + packet[12:]) == packet[8:12]
            assert known[packet], 'an SCTP packet with a wrong checksum came through'
            end = source == 8
            count += not end
            if end or count % WINDOW == 0:
                sock.sendto(word, (client[0], 0))
                sent.add(*wire_size(family, len(word)))
            if end:
                return sent.get()


# ---- hosts ------------------------------------------------------------------------------------------------

class Served:
    """Servers of a host, each a thread that ends with its traffic."""

    def __init__(self):
        self.results = {}

    def start(self, name, function, *args):
        def run():
            try:
                self.results[name] = (True, function(*args))
            except Exception as error:
                self.results[name] = (False, f'{type(error).__name__}: {error}')

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread


class Calls:
    """What a host can be told to do; runs in its process."""

    def __init__(self):
        self.served = Served()
        self.threads = {}

    def ip(self, *words):
        subprocess.run(['ip', *words], check=True, capture_output=True)

    def set(self, name, value):
        """What this kernel does not have, it does not do either."""
        if not os.path.exists('/proc/sys/net/' + name):
            return
        with open('/proc/sys/net/' + name, 'w', encoding='ascii') as file:
            file.write(value)

    def read(self, path):
        with open(path, encoding='ascii') as file:
            return file.read()

    def serve(self, kind, family, address, port, total=0):
        proto = {'tcp': (socket.SOCK_STREAM, 0), 'udp': (socket.SOCK_DGRAM, 0),
                 'sctp': (socket.SOCK_RAW, SCTP)}[kind]
        sock = socket.socket(family, *proto)
        sock.settimeout(HANG)
        sock.bind((address, 0 if kind == 'sctp' else port))
        if kind == 'tcp':
            sock.listen()
            args = tcp_server, sock, family, total
        else:
            raise_buffers(sock)
            args = (udp_server, sock, family) if kind == 'udp' else (sctp_server, sock, family, port)
        self.threads[kind] = self.served.start(kind, *args)

    def served_by(self, kind):
        self.threads[kind].join(HANG_ALL)
        good, result = self.served.results.get(kind, (False, 'the server hangs'))
        assert good, f'{kind} server: {result}'
        return result

    def tcp(self, *args):
        return tcp_client(*args)

    def udp(self, *args):
        return udp_client(*args)

    def sctp(self, *args):
        return sctp_client(*args)

    def numbers(self, interface):
        for line in self.read('/proc/self/net/dev').splitlines():
            if line.strip().startswith(interface + ':'):
                return [int(word) for word in line.split(':')[1].split()]
        raise AssertionError(f'there is no {interface}')

    def dropped(self, interface):
        """What the kernel was to send by it, and dropped."""
        return self.numbers(interface)[11]

    def received(self, interface):
        """(packets, bytes) that have come in by it."""
        numbers = self.numbers(interface)
        return numbers[1], numbers[0]

    def mark(self, family, address, port):
        with socket.socket(family, socket.SOCK_DGRAM) as sock:
            sock.sendto(bytes(18), (address, port))


def host_main(pipe, own_network):
    if own_network and ctypes.CDLL(None).unshare(CLONE_NEWNET) != 0:
        pipe.send((False, 'no network namespace'))
        return
    pipe.send((True, os.getpid()))
    calls = Calls()
    while True:
        name, args = pipe.recv()
        if name == 'end':
            return
        try:
            pipe.send((True, getattr(calls, name)(*args)))
        except subprocess.CalledProcessError as error:
            pipe.send((False, f'{" ".join(error.cmd)}: {error.stderr.decode()}'))
        except Exception as error:
            pipe.send((False, f'{type(error).__name__}: {error}'))


class Host:
    """The other end of the pipe."""

    def __init__(self, own_network=True):
        self.pipe, other = multiprocessing.Pipe()
        # Where a test fails, it is ended with this process.
        self.process = multiprocessing.Process(target=host_main, args=(other, own_network), daemon=True)
        self.process.start()
        other.close()
        self.pid = self.answer('start')

    def answer(self, what):
        assert self.pipe.poll(HANG_ALL), f'{what}: a host does not answer'
        good, result = self.pipe.recv()
        assert good, f'{what}: {result}'
        return result

    def tell(self, name, *args):
        self.pipe.send((name, args))
        return self.answer(f'{name} {args}')

    def close(self):
        self.pipe.send(('end', ()))
        self.process.join()


def kernel_describes_joined_udp():
    """Before 6.2 a packet socket has no word for it, and such frames are lost, which is counted."""
    return tuple(int(part) for part in platform.release().split('.')[:2]) >= (6, 2)


if __name__ == '__main__':
    sys.exit('this is a part of traffic.py')

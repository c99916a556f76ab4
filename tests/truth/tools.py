# SPDX-License-Identifier: BSD-3-Clause
"""tcpdump, tshark and replay on one capture: which frames each takes for a rule."""
import json
import os
import shutil
import struct
import subprocess
import tempfile

from tripd_test import Skip

# Only a hang takes so long.
HANG = 120
ETHERNET = 1


def need_tools():
    for tool in ('tcpdump', 'tshark'):
        if shutil.which(tool) is None:
            raise Skip(f'{tool} is not installed')


def write_capture(path, frames, snap=65535):
    """Frame i gets the time i in microseconds, by which it is known again in a filtered file."""
    with open(path, 'wb') as file:
        file.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, ETHERNET))
        for i, frame in enumerate(frames):
            kept = frame[:snap]
            file.write(struct.pack('<IIII', i // 1000000, i % 1000000, len(kept), len(frame)) + kept)


def read_capture(path):
    """[(number from 1, captured bytes)] of a file that tcpdump filtered."""
    with open(path, 'rb') as file:
        data = file.read()
    found, at = [], 24
    while at < len(data):
        seconds, microseconds, captured, _ = struct.unpack_from('<IIII', data, at)
        found.append((seconds * 1000000 + microseconds + 1, captured))
        at += 16 + captured
    return found


def read_records(path):
    """[(seconds, fraction of one, bytes that it had, captured bytes)] of a file that may still be written to."""
    with open(path, 'rb') as file:
        data = file.read()
    records, at = [], 24
    while at + 16 <= len(data):
        seconds, fraction, captured, length = struct.unpack_from('<IIII', data, at)
        if at + 16 + captured > len(data):
            break
        records.append((seconds, fraction, length, data[at + 16:at + 16 + captured]))
        at += 16 + captured
    return records


def read_frames(path):
    return [frame for *_, frame in read_records(path)]


def run(words, **options):
    done = subprocess.run(words, capture_output=True, text=True, timeout=HANG, check=False, **options)
    assert done.returncode == 0, f'{words[0]} ended with {done.returncode}: {done.stderr}\n{" ".join(words)[:2000]}'
    return done.stdout


def tcpdump(path, capture, filters):
    """{rule: {number: bytes}}. `path` is a directory for files."""
    taken = {}
    words, out = os.path.join(path, 'filter'), os.path.join(path, 'filtered.pcap')
    # Where root runs it, it would drop to a user who may not write here.
    stay = ['-Z', 'root'] if os.getuid() == 0 else []
    for rule, parts in filters.items():
        taken[rule] = {}
        for part in (parts,) if isinstance(parts, str) else parts:
            with open(words, 'w', encoding='ascii') as file:
                file.write(part)
            run(['tcpdump', '-O', '-r', capture, '-w', out, *stay, '-F', words])
            taken[rule].update(read_capture(out))
    return taken


LUA = '''local length = Field.new("frame.cap_len")
local function listen(rule, filter)
  local tap = Listener.new("frame", filter)
  function tap.packet(packet) print("taken", rule, packet.number, length().value) end
end
'''


UNDISSECTED = [word for protocol in ('vlan', 'ieee8021ad', 'ip', 'ipv6', 'arp', 'llc')
               for word in ('--disable-protocol', protocol)]


# Newer ones run no script for root.
NOBODY = {'user': 'nobody', 'group': 'nogroup', 'extra_groups': []} if os.getuid() == 0 else {}


def tshark(capture, filters, dissect=True):
    """{rule: {number: bytes}}. One pass for all filters: each is that of a listener. Listeners are not told
    of frames that end within what an ICMP error quotes, so filters of bytes alone want no dissecting."""
    with tempfile.NamedTemporaryFile('w', suffix='.lua', encoding='ascii') as script, open(capture, 'rb') as frames:
        script.write(LUA)
        for rule, words in filters.items():
            assert ']==]' not in words
            # Lua's long brackets take a backslash as it is; tshark's strings want two for one.
            script.write(f'listen("{rule}", [==[{words}]==])\n')
        script.write('print("listening")\n')
        script.flush()
        os.chmod(script.name, 0o644)
        # Not what the user has set, but what a fresh tshark does; and each fragment by itself.
        home = {**os.environ, 'HOME': '/nonexistent', 'XDG_CONFIG_HOME': '/nonexistent'}
        out = run(['tshark', '-q', '-n', '-r', '-', '-X', f'lua_script:{script.name}', '-o', 'ip.defragment:FALSE',
                   '-o', 'ipv6.defragment:FALSE'] + ([] if dissect else UNDISSECTED), env=home, stdin=frames, **NOBODY)
    taken = {rule: {} for rule in filters}
    lines = out.splitlines()
    assert lines[:1] == ['listening'], f'tshark does not take one of {filters}: {out[:2000]}'
    for line in lines[1:]:
        word, rule, number, size = line.split()
        assert word == 'taken', line
        taken[rule][int(number)] = int(size)
    return taken


def replay(program, rules, *words):
    return parse_replay(run([program, '--rules', rules, *words]))


def parse_replay(out):
    """{rule: (packets, bytes, frames)}, and what was received and left."""
    said = json.loads(out.removeprefix('receiving\n'))
    return {rule['name']: (rule['packets'], rule['bytes'], rule['frames']) for rule in said['rules']}, \
        said['received'], said['left']

# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of tripctl share: a primary that does what it is told, and runs of tripctl on it."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from program_test import HANG, SKIP, Skip, environment, equal, remove_pages, run_tests, wait_until

TRIPCTL, BED = (os.path.abspath(path) for path in sys.argv[1:3])
# Exit codes.
RUN, USAGE, NONE, TIMEOUT, ENDED, ERROR, SILENT = range(1, 8)
NOBODY = 65534


class Bed:
    """A primary, and a folder of its own that others may enter."""

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix='tripctl-test-')
        os.chmod(self.path, 0o755)
        self.socket = os.path.join(self.path, 'bed.sock')
        self.prefix = f'trip-test-{os.getpid()}'
        self.environment = environment()
        self.running = []
        self.primary = None

    def open(self, huge=False, program=BED, telemetry=False):
        """Starts the primary; with hugepages others can attach."""
        words = ['--lcores=0@0-1', '--no-pci', '--log-level=error', '--vdev=net_null0']
        words += [f'--file-prefix={self.prefix}'] if telemetry else ['--no-telemetry']
        if huge:
            words += ['-m', '64', '--base-virtaddr=0x200000000000']
            words += [] if telemetry else [f'--file-prefix={self.prefix}']
        else:
            words += ['--no-huge', '-m', '128', '--no-shconf']
        self.primary = self.track(subprocess.Popen(
            [program, self.socket, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        if self.primary.stdout.readline() != 'ok\n':
            raise Skip('EAL does not start here' + (', or has no hugepages' if huge else ''))
        return self

    def tell(self, *lines):
        """Has it do something; it is done, with all that follows from it, when this returns."""
        for line in lines:
            self.primary.stdin.write(line + '\n')
            self.primary.stdin.flush()
            answer = self.primary.stdout.readline()
            assert answer == 'ok\n', f'{line}: {answer}'

    def stop(self):
        """Stops the primary: it is there, and does nothing."""
        self.primary.send_signal(signal.SIGSTOP)
        wait_until('the stop', lambda: open(f'/proc/{self.primary.pid}/stat').read().rpartition(')')[2].split()[0] == 'T')

    def value(self, name):
        self.primary.stdin.write(f'read {name}\n')
        self.primary.stdin.flush()
        value = int(self.primary.stdout.readline())
        assert self.primary.stdout.readline() == 'ok\n'
        return value

    def close(self):
        for process in self.running:
            if process.poll() is None:
                process.kill()
                process.wait()
        shutil.rmtree(self.path, ignore_errors=True)
        shutil.rmtree(f'/var/run/dpdk/{self.prefix}', ignore_errors=True)
        remove_pages(self.prefix)

    def track(self, process):
        self.running.append(process)
        return process

    def start(self, *words, front=(), socket=True, **options):
        where = ['--socket', self.socket] if socket else []
        options = {'stdin': subprocess.DEVNULL, 'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE,
                   'text': True, 'env': self.environment, **options}
        return self.track(subprocess.Popen([*front, TRIPCTL, *where, *words], **options))

    def finish(self, process):
        out, err = process.communicate(timeout=HANG)
        return process.returncode, out, err

    def run(self, *words, **options):
        return self.finish(self.start(*words, **options))

    def good(self, *words, **options):
        """stdout of a run that ends well and complains of nothing."""
        code, out, err = self.run(*words, **options)
        equal((code, err), (0, ''), f'exit code and stderr of {words}')
        return out

    def json(self, *words):
        return json.loads(self.good('--json', *words))


def main(*tests):
    run_tests(Bed, *tests)


__all__ = [name for name in dir() if not name.startswith('_')] + ['re', 'signal', 'subprocess']

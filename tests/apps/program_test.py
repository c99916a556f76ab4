# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of all programs share: running them one by one, and waiting for what happens."""
import contextlib
import os
import signal
import sys
import time
import traceback

SKIP = 77
FOREIGN_LEAKS = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'foreign_leaks')
# Far beyond what any run takes: only a hang ends there.
HANG = 120


class Skip(Exception):
    """This test cannot run here; the text says why."""


def wait_until(what, condition):
    deadline = time.monotonic() + HANG
    while not condition():
        assert time.monotonic() < deadline, f'{what} did not happen within {HANG} s'
        time.sleep(0.01)


def equal(found, expected, what):
    assert found == expected, f'{what}: {found!r}, not {expected!r}'


def environment(**more):
    """What programs under test find around them: under AddressSanitizer they answer for their own leaks alone."""
    return dict(os.environ, TERM='dumb', LSAN_OPTIONS=f'suppressions={FOREIGN_LEAKS}:print_suppressions=0', **more)


def pages_of(prefix):
    """Files with hugepages of this file prefix."""
    with open('/proc/mounts', encoding='utf-8') as file:
        folders = {line.split()[1] for line in file if line.split()[2] == 'hugetlbfs'}
    return [os.path.join(folder, name) for folder in folders if os.access(folder, os.R_OK | os.X_OK)
            for name in os.listdir(folder) if name.startswith(prefix + 'map_')]


def remove_pages(prefix):
    """EAL leaves some, however it ends. Another one that starts meanwhile removes what nobody holds, too."""
    for path in pages_of(prefix):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def run_tests(place, *tests):
    """Runs tests, each with a place() of its own that it closes, and exits as Meson wants it."""
    failed = skipped = 0
    # Under nohup it would be ignored in programs, too, some of which are to reload by it.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    for test in tests:
        at = place()
        try:
            test(at)
            print(f'ok    {test.__name__}')
        except Skip as reason:
            skipped += 1
            print(f'skip  {test.__name__}: {reason}')
        except Exception:  # a test that breaks has failed, whatever broke
            failed += 1
            print(f'FAIL  {test.__name__}')
            traceback.print_exc(file=sys.stdout)
        finally:
            at.close()
    sys.exit(1 if failed else SKIP if skipped == len(tests) else 0)

# SPDX-License-Identifier: BSD-3-Clause
"""The C program of api/README.md: libc and libtripline-client are all that it needs, in C and in C++, and it does what
stands there, for whomever the socket's mode lets in.

client_example.py TRIPCTL BED README.md BUILD [COMPILER FLAG ...]
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'apps'))
from tripctl_test import *  # pylint: disable=wrong-import-position

README, BUILD = sys.argv[3:5]
FLAGS = sys.argv[5:]
CC = os.environ.get('CC', 'cc')


def output_of(*words, **options):
    done = subprocess.run(words, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f'{words}: {done.stderr}'
    return done.stdout


def build(bed, compiler, language):
    """The program, in a folder that anybody may enter."""
    with open(README, encoding='utf-8') as file:
        source = re.search(r'^```c\n(.*?)^```', file.read(), re.M | re.S).group(1)
    assert source.count('\n') <= 40, 'it was meant to be small'
    path = os.path.join(bed.path, language)
    flags = output_of('pkg-config', '--cflags', '--libs', 'tripline-client',
                      env=dict(os.environ, PKG_CONFIG_PATH=os.path.join(BUILD, 'meson-uninstalled'))).split()
    output_of(*compiler.split(), '-x', language.split('-')[0], '-std=' + language.split('-')[1], '-Wall', '-Wextra',
              '-Wpedantic', '-Werror', *FLAGS, '-o', path, '-', '-x', 'none', *flags, input=source)
    needed = set(re.findall(r'NEEDED\s+(\S+)', output_of('objdump', '-p', path)))
    stranger = {name for name in needed if not re.match(r'(libc|libtripline-client|libasan|libubsan|libtsan|ld-linux.*|libstdc\+\+|libm|libgcc_s)\.so', name)}
    equal(stranger, set(), 'what else it needs')
    return path


def start(bed, program, *words, **options):
    # Others are to find the library, too, wherever it was built.
    library = os.path.join(bed.path, 'libtripline-client.so.0')
    if not os.path.exists(library):
        shutil.copy(os.path.join(BUILD, 'runtime', 'libtripline-client.so.0'), library)
    return bed.track(subprocess.Popen([program, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, text=True, cwd='/',
                                      env=dict(bed.environment, LD_LIBRARY_PATH=bed.path), **options))


def refused(bed, program, said, *words, **options):
    code, out, err = bed.finish(start(bed, program, *words, **options))
    equal((code, out), (1, ''), f'exit code and stdout of {words}, which said {err!r}')
    assert said in err, (words, err)


def it_tells_of_each_thousand(bed, compiler, language):
    program = build(bed, compiler, language)
    bed.open().tell('cntr dns.packets', 'add dns.packets 5')
    options = {'user': NOBODY, 'group': NOBODY, 'extra_groups': []} if os.getuid() == 0 else {}
    process = start(bed, program, bed.socket, 'dns.packets', **options)
    equal(process.stdout.readline(), 'dns.packets: 5\n', 'the first line')
    bed.tell('add dns.packets 999', 'add dns.packets 2')
    equal(process.stdout.readline(), 'dns.packets: 1006\n', 'the next one')
    refused(bed, program, 'cntr "web": no counter of domain "bed"', bed.socket, 'web', **options)
    refused(bed, program, 'cntr name "no name": character 3 is none of', bed.socket, 'no name', **options)
    refused(bed, program, 'No such file', bed.socket + '.no', 'dns.packets', **options)
    refused(bed, program, 'SOCKET COUNTER')
    if options:
        os.chmod(bed.socket, 0o600)
        refused(bed, program, f'socket {bed.socket}: Permission denied', bed.socket, 'dns.packets', **options)
    bed.primary.kill()
    code, out, err = bed.finish(process)
    equal((code, out), (1, ''), 'the end')
    assert 'the primary has ended' in err, err
    bed.primary.wait()
    refused(bed, program, f'socket {bed.socket}: ' + ('Permission denied' if options else 'Connection refused'),
            bed.socket, 'dns.packets', **options)


def in_c(bed):
    it_tells_of_each_thousand(bed, CC, 'c-c11')


def in_cpp(bed):
    compiler = re.sub(r'(clang|g|c)(cc|c|)(?=(-\d+)?$)', lambda match: match.group(1) + '++', CC)
    if shutil.which(compiler.split()[-1]) is None:
        raise Skip(f'there is no {compiler}')
    it_tells_of_each_thousand(bed, compiler, 'c++-c++17')


main(in_c, in_cpp)

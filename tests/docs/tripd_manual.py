# SPDX-License-Identifier: BSD-3-Clause
"""tripd.8 has every option, with the default that `tripd --help` names, and every number among its limits is
that of the code. Both manuals name the version that they are of."""
import os
import re
import subprocess
import sys

TRIPD, APPS = sys.argv[1:3]
HEADERS = ('rules/language/rules.h', 'tripd/start/program.h', 'tripd/start/options.h', 'tripd/run/quota.h')
# What stands around a number of LIMITS, and which constant it is, in what unit.
LIMITS = (
    ('rules file has up to {} MiB', 'TRIP_RULES_FILE_MAX', 1 << 20),
    ('name in it up to {} characters', 'TRIP_RULES_NAME_MAX', 1),
    ('become up to {} prefixes', 'TRIP_RULES_PREFIXES_MAX', 1),
    ('a rule up to {} patterns', 'TRIP_RULES_PATTERNS_MAX', 1),
    ('of a file have up to {} patterns', 'TRIP_RULES_PATTERNS_ALL', 1),
    ('and of warnings, {} are shown', 'TRIP_RULES_SHOWN_MAX', 1),
    ('Up to {} ports are used', 'TRIPD_PORTS_MAX', 1),
    ('of them up to {} by --iface', 'TRIPD_IFACES_MAX', 1),
    ('Rules have up to {} programs', 'TRIPD_EXEC_MAX', 1),
    ('report holds up to {} trips', 'TRIPD_TRIPS_MAX', 1),
)
failures = 0


def complain(text):
    global failures
    failures += 1
    print(f'FAIL  {text}')


def read(*path):
    with open(os.path.join(APPS, *path), encoding='utf-8') as file:
        return file.read()


def constants():
    """What the headers define as plain numbers."""
    found = {}
    for path in HEADERS:
        for name, value in re.findall(r'^#define (TRIP\w+) ([^/\n]+)', read(path), re.M):
            value = re.sub(r'\(size_t\)|(?<=\d)u\b', '', value).strip()
            if re.fullmatch(r'[\d\s()<]+', value):
                found[name] = eval(value)  # pylint: disable=eval-used
    return found


def plain(text):
    """The words of a man page, without its macros."""
    text = re.sub(r'^\.\\".*\n', '', text, flags=re.M)
    text = re.sub(r'^\.(TP|PP|br|nf|fi)\n', '', text, flags=re.M)
    text = re.sub(r'^\.(B|I|BI|BR|IR|RI|RB) (.*)$', lambda m: m[2].replace('" ', ' ').replace('"', ''), text, flags=re.M)
    return ' '.join(text.replace('\\-', '-').split())


def section(text, title):
    return re.search(rf'^\.SH {title}\n(.*?)(?=^\.SH |\Z)', text, re.M | re.S)[1]


def check_limits(manual, known):
    text = plain(section(manual, 'LIMITS')).replace(' ,', ',')
    for words, name, unit in LIMITS:
        number = known.get(name, 0) // unit
        if words.format(number) not in text:
            complain(f'LIMITS does not say "{words.format(number)}", which is {name}: {text}')
        text = text.replace(words.format(number), '')
    for number in re.findall(r'\b\d+\b', text):
        complain(f'LIMITS has the number {number}, and no constant is known for it')


def check_options(manual, known):
    told = subprocess.run([TRIPD, '--help'], capture_output=True, text=True, check=True).stdout
    options = dict(re.findall(r'^ +--([a-z-]+)\S* +(.*(?:\n {10,}\S.*)*)', told, re.M))
    text = section(manual, 'OPTIONS').replace('\\-', '-')
    described = dict(re.findall(r'^\.TP\n\.BI? --([a-z-]+)(.*?)(?=^\.TP|\Z)', text, re.M | re.S))
    options.pop('usage', None)
    for name in sorted(options.keys() ^ described.keys()):
        complain(f'--{name} is in --help or in tripd.8 only')
    for name in sorted(options.keys() & described.keys()):
        default = re.search(r'; default (\w+)', ' '.join(options[name].split()))
        if default and not re.search(rf'default\s+is\s+(\.BR?\s+)?{default[1]}\b', plain(described[name])) and \
                default[1][0] != '/':
            complain(f'tripd.8 does not say of --{name} that the default is {default[1]}')
        constant = 'TRIPD_' + name.upper().replace('-', '_').replace('COUNTERS', 'CNTRS')
        if name.startswith('live-') and default and int(default[1]) != known.get(constant):
            complain(f'the default of --{name} is {known.get(constant)}, not {default[1]}')


def check_unit():
    """What the systemd unit says are options, and its files stand where logrotate's example looks for them."""
    told = subprocess.run([TRIPD, '--help'], capture_output=True, text=True, check=True).stdout
    unit = read('tripd', 'tripd.service.in')
    lines = re.findall(r'^ExecStart(?:Pre)?=@sbindir@/tripd (.*)$', unit, re.M)
    for option in re.findall(r'--[a-z-]+', ' '.join(lines)):
        if not re.search(rf'^ +{option}\b', told, re.M):
            complain(f'tripd.service has {option}, which is no option')
    if len(lines) != 2 or re.search(r'--events (\S+)', lines[1])[1] not in read('tripd', 'tripd.logrotate'):
        complain('tripd.logrotate is not about the file of tripd.service')


def check_version():
    version = subprocess.run([TRIPD, '--version'], capture_output=True, text=True, check=True).stdout
    major, minor = re.match(r'tripd (\d+)\.(\d+)', version).groups()
    for page in 'tripd/tripd.8', 'tripctl/tripctl.1':
        if f'"Tripline {major}.{minor}"' not in read(page):
            complain(f'{page} is not of {version.strip()}')


def main():
    manual = read('tripd', 'tripd.8')
    known = constants()
    check_limits(manual, known)
    check_options(manual, known)
    check_unit()
    check_version()
    print(f'{failures} failures')
    sys.exit(failures > 0)


main()

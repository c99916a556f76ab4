# SPDX-License-Identifier: BSD-3-Clause
"""Each operation and condition of the rules language stands wherever its words are told: in the tables of its page, in
the manual of tripctl where its `when` takes it, in what tripd reports, and in the dictionary of the fuzzer.
Each packet item, and each of its fields that has a word, stands in the table of items.

rules_words.py SOURCE CONDITION ...

Operations are those of rules_op.c; tests/engine/op.c looks that each of the enum is there.
"""
import os
import re
import sys

SOURCE, CONDITIONS = sys.argv[1], sys.argv[2:]
failures = 0


def complain(text):
    global failures
    failures += 1
    print(f'FAIL  {text}')


def read(*path):
    with open(os.path.join(SOURCE, *path), encoding='utf-8') as file:
        return file.read()


def rows(page, title):
    """Of the first table behind this title: first cell, whole row."""
    table = re.search(rf'^## {title}\n.*?^\|---[-|]*\|\n((?:^\|[^\n]*\n)+)', page, re.M | re.S)[1]
    return [(line.split(' | ')[0], line) for line in table.splitlines()]


def has(text, word):
    return re.search(rf'(?<![\w-]){word}(?!\w)', text) is not None


def items():
    """Of item.c: each item, and those of its fields that have a word."""
    source = read('lcore', 'item', 'item.c')
    fields = dict(re.findall(r'^static const struct trip_flow_field (\w+)\[\] = \{\n(.*?)^\};', source, re.M | re.S))
    return {name: set(re.findall(r'^\t(?:FIELD|PART|FLAG)\("(\w+)"', fields[name], re.M))
            for name in re.findall(r'^\t(?:ITEM|MASKED)\([A-Z0-9_]+, (\w+),', source, re.M)}


def check_items(page):
    table = re.search(r'^\| item \| fields \|\n\|---\|---\|\n((?:^\|[^\n]*\n)+)', page, re.M)[1]
    told = {words[0]: set(words[1:]) for words in (re.findall(r'`(\w+)`', line) for line in table.splitlines())}
    known = items()
    for word in sorted(known.keys() ^ told.keys()):
        complain(f'the item {word} is in the table of apps/rules/README.md or in item.c only')
    for word in sorted(known.keys() & told.keys()):
        for field in sorted(known[word] ^ told[word]):
            complain(f'the field {field} of {word} is in the table of apps/rules/README.md or in item.c only')


def main():
    page = read('apps', 'rules', 'README.md')
    operations = re.findall(r'^\t\[TRIP_RULES_OP_\w+\] = \{"(\w+)"', read('apps', 'rules', 'language', 'rules_op.c'), re.M)
    described = {}
    for cell, row in rows(page, 'Operations'):
        for word in re.findall(r'`(\w+)', cell):
            described.setdefault(word, []).append(row)
    for word in sorted(described.keys() ^ set(operations)):
        complain(f'{word} is in the table of operations of apps/rules/README.md or in rules_op.c only')
    conditions = [cell for cell, _ in rows(page, 'Conditions')]
    for word in CONDITIONS:
        if not any(has(cell, word) for cell in conditions):
            complain(f'the condition {word} is not in the table of apps/rules/README.md')
    manual = re.search(r'^\.BI when .*?(?=^\.BI "also count")', read('apps', 'tripctl', 'tripctl.1'), re.M | re.S)[0]
    manual = '\n'.join(line for line in manual.splitlines() if re.match(r'\.(B|I|BI|IB|BR|RB|RI|IR) ', line))
    report = re.search(r'^\| `trips\[\]\.op` \|.*', read('apps', 'tripd', 'README.md'), re.M)[0]
    dictionary = read('tests', 'apps', 'rules.dict')
    for word in operations + CONDITIONS:
        of_tripd = any('`tripd` only' in row for row in described.get(word, []))
        if not of_tripd and not has(manual, word):
            complain(f'{word} is not in what tripctl.1 says of when')
        if word in operations and not has(report, word):
            complain(f'{word} is not in what apps/tripd/README.md says of trips[].op')
        if not has(dictionary, word):
            complain(f'{word} is not in tests/apps/rules.dict')
    check_items(page)
    print(f'{len(operations)} operations, {len(CONDITIONS)} conditions, {failures} failures')
    sys.exit(failures > 0 or not operations or not CONDITIONS)


main()

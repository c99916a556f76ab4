#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Cost against size, as SVG: plot.py CURVE.json > cost.svg, of what `trip-bench --only curve --json` wrote."""
import json
import math
import sys

SIZES = {'10': 10, '100': 100, '1k': 10**3, '10k': 10**4, '100k': 10**5, '1m': 10**6}
# (benchmarks, arm, label, colour, dashes)
LINES = [
    ('curve_queue_', 'value', 'queue', '#1f6feb', ''),
    ('curve_queue_', 'peer', 'queue, libfabric sockets', '#1f6feb', '6 4'),
    ('curve_fire_', 'value', 'fire', '#d1242f', ''),
    ('curve_fire_', 'peer', 'fire, libfabric sockets', '#d1242f', '6 4'),
    ('curve_idle_', 'value', 'idle iteration', '#57606a', ''),
]
LEFT, RIGHT, TOP, BOTTOM, WIDTH, HEIGHT = 70, 190, 46, 52, 760, 440


def across(size):
    return LEFT + (math.log10(size) - 1) / 5 * (WIDTH - LEFT - RIGHT)


def text(x, y, words, anchor='middle', colour='#24292f'):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{words}</text>'


def points(bench, prefix, arm):
    found = [(SIZES[row['name'].removeprefix(prefix)], row[arm]) for row in bench
             if row['name'].startswith(prefix) and row.get(arm)]
    return sorted(found)


def spread(labels):
    """Labels at the ends of lines, moved apart so that each can be read."""
    labels.sort()
    for i in range(1, len(labels)):
        labels[i][0] = max(labels[i][0], labels[i - 1][0] + 15)
    return labels


def main():
    with open(sys.argv[1], encoding='utf-8') as file:
        result = json.load(file)
    lines = [(points(result['bench'], prefix, arm), *rest) for prefix, arm, *rest in LINES]
    values = [math.log10(value) for line in lines for _, value in line[0]]
    top, low = math.ceil(max(values)), math.floor(min(values))

    def up(value):
        return HEIGHT - BOTTOM - (math.log10(value) - low) / (top - low) * (HEIGHT - TOP - BOTTOM)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
           'font-family="sans-serif" font-size="12">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
           text(LEFT, 20, 'What one item costs, against how many there are', 'start'),
           text(LEFT, 36, result['machine'], 'start', '#57606a')]
    for name, size in SIZES.items():
        out += [f'<line x1="{across(size):.1f}" x2="{across(size):.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" '
                'stroke="#eaeef2"/>', text(across(size), HEIGHT - BOTTOM + 18, name)]
    for power in range(low, top + 1):
        words = f'{10 ** power} ns' if power < 3 else f'{10 ** (power - 3)} µs' if power < 6 else \
            f'{10 ** (power - 6)} ms'
        out += [f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{up(10 ** power):.1f}" y2="{up(10 ** power):.1f}" '
                'stroke="#eaeef2"/>', text(LEFT - 6, up(10 ** power) + 4, words, 'end')]
    out.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, 'items pending; for the idle iteration: counters'))
    labels = []
    for line, label, colour, dashes in lines:
        if not line:
            continue
        path = ' '.join(f'{across(size):.1f},{up(value):.1f}' for size, value in line)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2" '
                   f'stroke-dasharray="{dashes}"/>')
        labels.append([up(line[-1][1]) + 4, across(line[-1][0]) + 8, label, colour])
    out += [text(x, y, label, 'start', colour) for y, x, label, colour in spread(labels)]
    print('\n'.join(out + ['</svg>']))


main()

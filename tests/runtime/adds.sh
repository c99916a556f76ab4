#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# adds.sh PROGRAM MODE: no system call between the marks of adds.c, by the thread that made them.
set -euo pipefail
export LC_ALL=C

command -v strace >/dev/null || { echo "strace is not installed here" && exit 77; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# A sandbox may deny ptrace; a sanitizer may, too.
strace -f -qq -o "$tmp/denied" true 2>"$tmp/why" || { cat "$tmp/why" && exit 77; }

# The leak checker wants ptrace for itself.
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0
status=0
strace -f -qq -o "$tmp/trace" "$@" >"$tmp/log" 2>&1 || status=$?
((status == 0)) || { cat "$tmp/log" && exit "$status"; }
awk '
	/write\(-1, "adds begin"/ { thread = $1; begun = 1; next }
	/write\(-1, "adds end"/ && $1 == thread { ended = 1; exit }
	/<\.\.\. write resumed>.*EBADF/ { next }
	begun && $1 == thread { print "during the adds: " $0; calls++ }
	END {
		if (!ended) print "the marks are missing in the trace"
		else if (!calls) print "1000000 adds, 0 system calls"
		exit !ended || calls > 0
	}' "$tmp/trace"

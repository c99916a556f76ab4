#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# apart.sh SYMBOL OUTPUT OBJECT... -- COMPILER...: links the objects into one that defines SYMBOL alone; what
# else they define is for themselves. So a program can have them and others of the same names.
set -euo pipefail
symbol=$1 output=$2
shift 2
objects=()
while [[ $1 != -- ]]; do
	objects+=("$1")
	shift
done
shift
"$@" -r -o "$output" "${objects[@]}"
objcopy --keep-global-symbol="$symbol" "$output"

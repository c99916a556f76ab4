#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# rename.sh PREFIX ARCHIVE...: a header that gives every global symbol of the archives another name, so
# that what they are made of can be compiled a second time into one program.
set -euo pipefail
prefix=$1
shift
nm -g -P --defined-only "$@" | awk -v prefix="$prefix" \
	'$2 ~ /^[A-Z]$/ && $1 ~ /^trip_/ && !seen[$1]++ { print "#define " $1 " " prefix "_" $1 }'

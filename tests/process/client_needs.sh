#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# client_needs.sh LIBRARY: it needs libc and nothing else.
set -euo pipefail
export LC_ALL=C
needed=$(objdump -p "$1" | sed -n 's/^ *NEEDED *//p' | grep -vE '^(libc|ld-linux.*|libasan|libubsan|libtsan)\.so' || true)
if [[ -n $needed ]]; then
	printf '%s needs %s\n' "${1##*/}" "$needed"
	exit 1
fi

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The libraries compile without a warning as they are released: an optimiser that looks further than
# that of a build for tests warns of more. By gcc and clang with -O3 and without assertions, as Debian's
# packages are built, and with link-time optimisation too.
set -euo pipefail

if (($# != 1)); then
	echo "usage: release.sh SOURCE" >&2
	exit 2
fi
source=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0

# build NAME COMPILER [MESON OPTION ...]
build() {
	local name=$1 compiler=$2 log=$tmp/log started=$SECONDS
	shift 2
	if CC=$compiler meson setup "$tmp/$name" "$source" -Dwerror=true -Dapps=false -Dtests=false \
		-Dc_args='-D_FORTIFY_SOURCE=2' "$@" >"$log" 2>&1 && ninja -C "$tmp/$name" -k 0 >"$log" 2>&1; then
		echo "ok     $name ($compiler), $((SECONDS - started)) s"
	else
		echo "FAILED $name ($compiler)"
		grep -E '(error|warning): ' "$log" || tail -n 20 "$log"
		failed=1
	fi
	rm -rf "${tmp:?}/$name"
}

release=(--buildtype=release -Db_ndebug=true)
for compiler in gcc clang; do
	command -v "$compiler" >/dev/null || { echo "$compiler is not installed" && continue; }
	build "$compiler-release" "$compiler" "${release[@]}"
	build "$compiler-lto" "$compiler" "${release[@]}" -Db_lto=true
	build "$compiler-debian" "$compiler" --buildtype=plain --optimization=2 --debug
done
exit "$failed"

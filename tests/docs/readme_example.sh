#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The C example of README.md compiles as C11 without a warning against an installed Tripline and against
# the tree, with the flags that pkg-config gives, and ends with exit 0. So the headers, the .pc files and
# the library are tested as a stranger gets them.
set -euo pipefail

if (($# < 2)); then
	echo "usage: readme_example.sh README.md BUILD [COMPILER FLAG ...]" >&2
	exit 2
fi
readme=$1 build=$2
shift 2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

awk '/^```/ { if (inside) exit; inside = $0 == "```c"; next } inside' "$readme" >"$tmp/example.c"
if [[ ! -s $tmp/example.c ]]; then
	echo "$readme has no C example (no block that starts with \`\`\`c)"
	exit 1
fi

meson install -C "$build" --no-rebuild --destdir "$tmp/root" >"$tmp/install.log" 2>&1 || {
	cat "$tmp/install.log"
	exit 1
}
pc=$(find "$tmp/root" -name tripline.pc)
[[ -n $pc ]] || { echo "nothing installs tripline.pc" && exit 1; }
# The file names the final prefix; here everything stands below a folder of its own.
sed -i "s|^prefix=|prefix=$tmp/root|" "$pc"

# try NAME FOLDER-OF-PC LIBRARIES [COMPILER FLAG ...]
try() {
	local name=$1 libraries=$3 flags compiler
	export PKG_CONFIG_PATH=$2
	shift 3
	read -ra flags <<<"$(pkg-config --cflags --libs tripline libdpdk)"
	read -ra compiler <<<"${CC:-cc}"
	# DPDK's headers use more of libc than strict C11 shows.
	"${compiler[@]}" -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror "$@" -o "$tmp/$name" "$tmp/example.c" "${flags[@]}"
	(cd "$tmp" && LD_LIBRARY_PATH=$libraries "./$name")
}

library=$(PKG_CONFIG_PATH=${pc%/*} pkg-config --variable=libdir tripline)
try installed "${pc%/*}" "$library" "$@"
try with_rpath "${pc%/*}" "" "-Wl,-rpath,$library" "$@"
try in_the_tree "$build/meson-uninstalled" "$build/runtime" "$@"

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What README.md says of installing: its commands configure a tree that has the programs; installed below a
# prefix of one's own they run and find their library; the rules that are shown are good; and no command or message takes a sudo that is
# there.
set -euo pipefail

if (($# != 2)); then
	echo "usage: readme_install.sh SOURCE BUILD" >&2
	exit 2
fi
source=$1 build=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0
complain() { echo "FAIL  $*" && failed=1; }

# The commands under the title, as they stand there, into a tree of the test's own.
block=$(awk '/^## /{inside = $0 == "## Installing"} inside && /^```/{code = !code; next} inside && code' "$source/README.md")
setup=$(grep '^meson setup' <<<"$block" || true)
tree=$(awk '{print $3}' <<<"$setup")
if [[ -z $tree ]]; then
	complain "README.md has no meson setup under Installing"
elif ! grep -q "^meson install -C $tree\$" <<<"$block"; then
	complain "README.md does not install $tree, which it sets up: $block"
else
	read -ra words <<<"${setup/ $tree / $tmp/tree $source }"
	"${words[@]}" >"$tmp/log" 2>&1 || { cat "$tmp/log" && exit 1; }
	for program in tripd/tripd tripctl/tripctl; do
		ninja -C "$tmp/tree" -n all "apps/$program" >"$tmp/log" 2>&1 || { cat "$tmp/log" && failed=1; }
	done
	grep -q 'scripts/setup --for build' <<<"$block" || complain "README.md does not make the machine ready"
fi

# Whatever the prefix is.
meson install -C "$build" --no-rebuild --destdir "$tmp/root" >"$tmp/log" 2>&1 || { cat "$tmp/log" && exit 1; }
for program in tripd tripctl trip-bench; do
	path=$(find "$tmp/root" -path '*bin/*' -name "$program")
	# Under a sanitizer trip-bench is not built.
	[[ -n $path || $program == trip-bench ]] || complain "nothing installs $program"
	[[ -z $path ]] || (cd / && env -u LD_LIBRARY_PATH "$path" --help >"$tmp/log" 2>&1) || {
		complain "$path does not run"
		cat "$tmp/log"
	}
done
for page in tripd.8 tripctl.1; do
	[[ -n $(find "$tmp/root" -name "$page*") ]] || complain "nothing installs $page"
done

# Rules that are shown are good ones.
for readme in README.md apps/rules/README.md; do
	awk '/^```/ { if (inside) exit; next_is = !next_is; next } next_is && /^count/ { inside = 1 } inside' \
		"$source/$readme" >"$tmp/rules"
	"$build/apps/tripd/tripd" --check "$tmp/rules" >"$tmp/log" 2>&1 || true
	grep -q ' 2 counts.*: nothing is wrong' "$tmp/log" || { complain "the rules of $readme" && cat "$tmp/log"; }
done

if grep -rnE '\bsudo (-n )?[a-z./]|with sudo' "$source/README.md" "$source/apps" "$source/scripts"; then
	complain "a minimal Debian has no sudo"
fi
exit "$failed"

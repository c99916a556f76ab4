#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Does every id that `done` claims have a test? Asks the programs themselves for the names of their
# tests: claims.sh DONE PROGRAM... Prints what is not claimed yet, and which claims rest on the primary
# alone: those that ELSEWHERE leaves nothing of.
set -euo pipefail
export LC_ALL=C

families=(CNTR:24 POLL:8 WAIT:12 WORK:15 COND:8 EACH:7 PROF:8 PNT:8)
claimed=$1
shift
tests=$(for program; do "$program" list; done)
elsewhere=$(dirname "$0")/elsewhere.c
wrong=0

ids() {
	local family n
	for family in "${families[@]}"; do
		for ((n = 1; n <= ${family#*:}; n++)); do
			printf '%s-%02d\n' "${family%:*}" "$n"
		done
	done
}

# tested ID [TESTS]: some test's name begins with it.
tested() {
	local word=${1,,}
	grep -q "^${word/-/_}_" <<<"${2-$tests}"
}

all=$(ids)
claims=$(sed 's/#.*//; s/[[:space:]]*$//; /^$/d' "$claimed")
for id in $claims; do
	if ! grep -qx "$id" <<<"$all"; then
		echo "claims: $id is claimed, but there is no such id"
		wrong=1
	elif ! tested "$id"; then
		echo "claims: $id is claimed, but no test's name begins with it"
		wrong=1
	fi
done
if [[ $(sort <<<"$claims") != $(sort -u <<<"$claims") ]]; then
	echo "claims: an id is claimed twice"
	wrong=1
fi
for id in $all; do
	grep -qx "$id" <<<"$claims" && continue
	if tested "$id"; then partly+=" $id"; else unclaimed+=" $id"; fi
done
while read -r name; do
	grep -qx "$name" <<<"$tests" && continue
	echo "claims: elsewhere.c names $name, which is no test"
	wrong=1
done < <(sed -n 's/^\t{"\([a-z0-9_]*\)".*/\1/p' "$elsewhere")
for layout in secondary split; do
	there=$(for program; do "$program" list "$layout"; done)
	missing=
	for id in $claims; do
		tested "$id" "$there" || missing+=" $id"
	done
	echo "claimed, but not shown by calls from $layout processes:${missing:- none}"
done
echo "not claimed, but tested in part:${partly-}"
echo "not claimed:${unclaimed-}"
exit "$wrong"

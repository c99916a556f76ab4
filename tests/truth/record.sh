#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# record.sh FOLDER: records the captures of captures/ anew: what curl, an HTTP server and iperf3 send between two network
# namespaces. Takes root, iproute2, ethtool, tcpdump, curl, iperf3 and python3. Of each frame the first 64 bytes are kept.
set -euo pipefail
out=$(realpath "$1")
site=$(mktemp -d)
a=trip-a b=trip-b

clean() {
	ip netns pids $a | xargs -r kill
	ip netns pids $b | xargs -r kill
	ip netns del $a
	ip netns del $b
	rm -r "$site"
}
trap clean EXIT

ip netns add $a
ip netns add $b
ip link add va netns $a type veth peer name vb netns $b
ip -n $a addr add 10.0.0.1/24 dev va
ip -n $b addr add 10.0.0.2/24 dev vb
for end in "$a va" "$b vb"; do
	read -r space device <<<"$end"
	# A frame is what would be on a wire.
	ip netns exec "$space" ethtool -K "$device" tso off gso off gro off
	ip -n "$space" link set "$device" up
done
head -c 20000 /dev/zero >"$site/small"
head -c 300000 /dev/zero >"$site/large"
ip netns exec $b python3 -m http.server -d "$site" 80 2>/dev/null &
ip netns exec $b iperf3 -s >/dev/null &
sleep 2

# record NAME FUNCTION: while the function runs.
record() {
	ip netns exec $b tcpdump -i vb -s 64 --time-stamp-precision=nano --immediate-mode -w "$site/$1" ip 2>/dev/null &
	sleep 1
	"$2"
	sleep 1
	kill $!
	wait $! || true
	gzip -9 -n <"$site/$1" >"$out/$1.pcap.gz"
}

browse() {
	for file in small small large small large; do
		ip netns exec $a curl -s -o /dev/null http://10.0.0.2/$file
		sleep 0.$((RANDOM % 9))
	done
	sleep 2
	for _ in {1..12}; do
		ip netns exec $a curl -s -o /dev/null --limit-rate 400k http://10.0.0.2/small
	done
}

stream() {
	ip netns exec $a iperf3 -c 10.0.0.2 -u -l 400 -b 1M -t 2 >/dev/null
	sleep 1
	ip netns exec $a iperf3 -c 10.0.0.2 -n 600K >/dev/null
	ip netns exec $a iperf3 -c 10.0.0.2 -u -l 100 -b 200K -t 2 >/dev/null
	sleep 1
	ip netns exec $a iperf3 -c 10.0.0.2 -u -l 1000 -b 8M/40 -t 1 >/dev/null
}

record curl browse
record iperf3 stream

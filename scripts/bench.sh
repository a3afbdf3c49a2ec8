#!/bin/sh
# Measures on a Redis of its own, which listens on a socket in a temporary
# folder and is gone afterwards. Without arguments it runs all benchmarks; the
# first argument may name one, the others go to it:
#
#   scripts/bench.sh logs --lines 5000000
#   scripts/bench.sh queue --runs 1
#   scripts/bench.sh formats
set -eu
folder=$(mktemp -d)
redis-server --port 0 --unixsocket "$folder/redis.sock" --save '' --appendonly no --dir "$folder" --loglevel warning >/dev/null &
server=$!
trap 'kill "$server" 2>/dev/null; wait "$server" 2>/dev/null || true; rm -rf "$folder"' EXIT INT TERM
until redis-cli -s "$folder/redis.sock" ping >/dev/null 2>&1; do sleep 0.1; done

bench() {
	name=$1
	shift
	./bin/skidway bench "$name" --redis "unix://$folder/redis.sock" "$@"
}

# formats prints how fast the lines of each log format are parsed, in MB/s of content; beside the
# combined format that, what it would be if the places of the address and the time were known, and
# the lines a second.
formats() {
	echo "log formats: MB/s of content; beside combined: these, their bound, lines/s"
	go test -run '^$' -bench Formats -benchtime 200ms ./distribute/accesslog |
		awk '/^BenchmarkFormats/ {
			sub(/.*\//, "", $1); sub(/-[0-9]+$/, "", $1)
			for (i = 4; i <= NF; i += 2) figure[$i] = $(i - 1)
			printf "  %-20s %8.0f %6.2f %6.2f %6.2f\n", $1, figure["MB/s"], figure["of-combined"], figure["floor-of-combined"], figure["lines-of-combined"]
		}'
}

case ${1-} in
'')
	bench logs
	echo
	formats
	echo
	bench queue --aof
	echo
	bench chat
	;;
formats) formats ;;
-*) bench logs "$@" ;;
*) bench "$@" ;;
esac

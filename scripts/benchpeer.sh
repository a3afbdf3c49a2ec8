#!/bin/sh
# Measures the queue and, in turn with it, asynq on the same Redis, which is this
# script's own and gone afterwards: machines differ, ratios less. Prints medians
# over the runs, with the aims of the queue. Needs bin/skidway.
#
#   scripts/benchpeer.sh [RUNS]
#
# How soon asynq starts a job depends on where in its polling it is met, which
# takes minutes to measure: pickup, lateness and idle commands of asynq are
# measured in the first run only.
set -eu
runs=${1:-5}
folder=$(mktemp -d)
redis-server --port 0 --unixsocket "$folder/redis.sock" --save '' --appendonly no --dir "$folder" --loglevel warning >/dev/null &
server=$!
trap 'kill "$server" 2>/dev/null; wait "$server" 2>/dev/null || true; rm -rf "$folder"' EXIT INT TERM
go build -C cmd/peerbench -o "$folder/peerbench" .
until redis-cli -s "$folder/redis.sock" ping >/dev/null 2>&1; do sleep 0.1; done

figures=enqueue,memory,drain,steady
more=,pickup,late,idle
for run in $(seq "$runs"); do
	echo "run $run of $runs" >&2
	./bin/skidway bench queue --quiet --redis "unix://$folder/redis.sock" --runs 1 --json >"$folder/skidway.$run"
	"$folder/peerbench" --redis "unix://$folder/redis.sock?db=1" --figures "$figures$more" --json >"$folder/asynq.$run" 2>"$folder/progress" || {
		cat "$folder/progress" >&2
		exit 1
	}
	more=
done

# Each figure is on a line of its own: "key": value.
cat "$folder"/skidway.* | sed 's/^ *"/skidway /; s/": / /; s/,$//' >"$folder/all"
cat "$folder"/asynq.* | sed 's/^ *"/asynq /; s/": / /; s/,$//' >>"$folder/all"
sort -k1,1 -k2,2 -k3,3g "$folder/all" | awk '
NF >= 3 { values[$1, $2, ++n[$1, $2]] = $3; text[$1, $2] = substr($0, index($0, $3)) }
function median(who, key,  m) {
	m = n[who, key]
	if (!m) return ""
	if (m % 2) return values[who, key, (m + 1) / 2]
	return (values[who, key, m / 2] + values[who, key, m / 2 + 1]) / 2
}
function amount(value, form) { return value == "" ? "" : sprintf(form, value) }
function row(name, key, form, aim,  ours, peer) {
	ours = median("skidway", key)
	peer = median("asynq", key)
	printf "%-34s %11s %11s %8s  %s\n", name, amount(ours, form), amount(peer, form), \
		ours == "" || peer == "" || peer == 0 ? "" : sprintf("%.3g", ours / peer), aim
}
END {
	gsub(/"/, "", text["asynq", "peer"])
	gsub(/"/, "", text["skidway", "redis"])
	printf "%s jobs of %s bytes, %s producers, %s handlers, %s, %s processors, medians of %s runs\n\n", \
		median("skidway", "jobs"), median("skidway", "payload_bytes"), median("skidway", "producers"), \
		median("skidway", "concurrency"), text["skidway", "redis"], median("skidway", "processors"), runs
	printf "%-34s %11s %11s %8s  %s\n", "", "skidway", text["asynq", "peer"], "ratio", "aim"
	row("drained/s", "drain_per_s", "%.0f", "stretch: ratio 8")
	printf "%-34s %11.2f %11s %8s  %s\n", "drained, of a bare loop", \
		median("skidway", "drain_per_s") / median("skidway", "bare_drain_per_s"), "", "", "0.6 or more"
	row("added/s, one a call", "enqueue_per_s", "%.0f", "ratio 2.5")
	row("added/s, 100 a call", "enqueue_batch_per_s", "%.0f", "500,000 or more")
	row("added, one a call, and drained/s", "steady_per_s", "%.0f", "")
	row("pickup when idle, p50 ms", "pickup_ms_p50", "%.2f", "0.3 or less")
	row("pickup when idle, p99 ms", "pickup_ms_p99", "%.2f", "1 or less")
	row("delayed jobs late, p50 ms", "late_ms_p50", "%.2f", "2 or less")
	row("delayed jobs late, p99 ms", "late_ms_p99", "%.2f", "10 or less")
	row("Redis bytes a waiting job", "redis_bytes_per_job", "%.0f", "200 or less")
	row("Redis commands/s of an idle worker", "idle_commands_per_s", "%.1f", "2 or less")
}' runs="$runs" -

#!/bin/sh
# Draws docs/session.svg: runs a few commands on a Redis of its own and writes what
# they print as a picture of a terminal. Needs bin/skidway.
#
#   make build && scripts/session.sh > docs/session.svg
set -eu
PATH=$(cd "$(dirname "$0")/.." && pwd)/bin:$PATH
folder=$(mktemp -d)
cd "$folder"
redis-server --port 0 --unixsocket "$folder/redis.sock" --save '' --appendonly no --dir "$folder" >/dev/null &
server=$!
worker=
trap 'kill $worker $server 2>/dev/null; wait 2>/dev/null; rm -rf "$folder"' EXIT INT TERM
until redis-cli -s "$folder/redis.sock" ping >/dev/null 2>&1; do sleep 0.1; done
export SKIDWAY_REDIS="unix://$folder/redis.sock"

cat > skidway.yaml <<END
queues: [{name: greetings}]
kinds:
  exec.run:
    commands:
      hello: {path: /bin/echo, args: [hello], max_args: 1}
END
seq 2500 | sed 's/.*/{"kind": "exec.run", "args": {"command": "hello", "args": ["&"]}}/' > jobs.ndjson
skidway logs sample logs --lines 200000 --seed 1 --files 6 --days 3 >/dev/null 2>&1

# show prints a command as one would type it, and what it prints.
show() {
	echo "\$ $1"
	sh -c "$1" 2>&1 || true
}
{
	show 'skidway enqueue greetings --batch jobs.ndjson'
	show 'skidway queues list -o table'
	echo '$ skidway worker --config skidway.yaml &'
	skidway worker --config skidway.yaml 2>/dev/null &
	worker=$!
	until skidway workers list -o csv 2>/dev/null | grep -q greetings; do sleep 0.1; done
	show "skidway enqueue greetings exec.run '{\"command\": \"hello\", \"args\": [\"Ada\"]}' --wait"
	show 'skidway queues list -o table'
	show 'skidway logs count logs --top 3 -o table --quiet'
	kill "$worker"
	wait "$worker" || true
	worker=
} > session

awk '
function escaped(text) {
	gsub(/&/, "\\&amp;", text); gsub(/</, "\\&lt;", text); gsub(/>/, "\\&gt;", text)
	return text
}
{ line[NR] = $0 }
END {
	height = 20 * NR + 58
	print "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"880\" height=\"" height "\" viewBox=\"0 0 880 " height "\" role=\"img\" aria-label=\"a terminal session\">"
	print "<style>text{font:14px ui-monospace,Menlo,Consolas,\"DejaVu Sans Mono\",monospace;fill:#d5dbe3;white-space:pre;animation:show .01s backwards}"
	print ".typed{fill:#8fd694}@keyframes show{from{opacity:0}}@media(prefers-reduced-motion:reduce){text{animation:none}}</style>"
	print "<rect width=\"880\" height=\"" height "\" rx=\"8\" fill=\"#1c2129\"/>"
	print "<circle cx=\"22\" cy=\"20\" r=\"6\" fill=\"#e06c60\"/><circle cx=\"42\" cy=\"20\" r=\"6\" fill=\"#e0b860\"/><circle cx=\"62\" cy=\"20\" r=\"6\" fill=\"#7fb873\"/>"
	delay = 0
	for (i = 1; i <= NR; i++) {
		typed = line[i] ~ /^\$ /
		delay += typed ? 0.9 : 0.05
		printf "<text x=\"18\" y=\"%d\" xml:space=\"preserve\"%s style=\"animation-delay:%.2fs\">%s</text>\n", 20 * i + 38, typed ? " class=\"typed\"" : "", delay, escaped(line[i])
	}
	print "</svg>"
}' session

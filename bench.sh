#!/bin/sh
# Measures on a Redis of its own, which listens on a socket in a temporary
# folder and is gone afterwards. Arguments go to `skidway bench logs`.
set -eu
folder=$(mktemp -d)
redis-server --port 0 --unixsocket "$folder/redis.sock" --save '' --appendonly no --dir "$folder" --loglevel warning >/dev/null &
server=$!
trap 'kill "$server" 2>/dev/null; wait "$server" 2>/dev/null || true; rm -rf "$folder"' EXIT INT TERM
until redis-cli -s "$folder/redis.sock" ping >/dev/null 2>&1; do sleep 0.1; done
./bin/skidway bench logs --redis "unix://$folder/redis.sock" "$@"

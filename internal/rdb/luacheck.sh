#!/bin/sh
# Checks all scripts, as Redis gets them, with luacheck. Installs the system's
# package of it if there is none.
set -eu

if ! command -v luacheck >/dev/null; then
	"$(dirname "$0")/../../scripts/install.sh" luacheck apt-get=lua-check
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
go build -race -o "$folder/skidway" ./cmd/skidway # as the tests and the other checks do: nothing is compiled twice
for name in $("$folder/skidway" debug script); do
	mkdir -p "$folder/lua/${name%/*}"
	"$folder/skidway" debug script "$name" >"$folder/lua/$name.lua"
done

# Redis has Lua 5.1 and three globals. Lines are as long as their authors want,
# as in Go.
luacheck --quiet --std lua51 --read-globals redis KEYS ARGV --no-max-line-length "$folder/lua"

#!/bin/sh
# Checks all scripts, as Redis gets them, with luacheck. Installs the system's
# package of it if there is none.
set -eu

install_luacheck() {
	as_root=
	if [ "$(id -u)" -ne 0 ]; then
		as_root=sudo
	fi
	if command -v apt-get >/dev/null; then
		$as_root apt-get update -qq
		DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq lua-check >/dev/null
	elif command -v dnf >/dev/null; then
		$as_root dnf install -y -q luacheck
	elif command -v apk >/dev/null; then
		$as_root apk add --quiet luacheck
	elif command -v pacman >/dev/null; then
		$as_root pacman -Sy --noconfirm --quiet luacheck
	elif command -v zypper >/dev/null; then
		$as_root zypper --quiet install -y luacheck
	elif command -v brew >/dev/null; then
		brew install --quiet luacheck
	else
		echo "luacheck is missing and no known package manager is here: install it and put it on the PATH" >&2
		exit 1
	fi
}

if ! command -v luacheck >/dev/null; then
	echo "luacheck is missing: installing the system's package" >&2
	install_luacheck
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
go build -o "$folder/skidway" ./cmd/skidway
for name in $("$folder/skidway" debug script); do
	mkdir -p "$folder/lua/${name%/*}"
	"$folder/skidway" debug script "$name" >"$folder/lua/$name.lua"
done

# Redis has Lua 5.1 and three globals. Lines are as long as their authors want,
# as in Go.
luacheck --quiet --std lua51 --read-globals redis KEYS ARGV --no-max-line-length "$folder/lua"

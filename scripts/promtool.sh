#!/bin/sh
# Prints the path of promtool, which tests the alerting rules. It unpacks the package of
# Debian or Ubuntu into the cache of the user if there is none; nothing is installed.
set -eu
command -v promtool && exit
folder="${XDG_CACHE_HOME:-$HOME/.cache}/skidway-promtool"
if ! [ -x "$folder/usr/bin/promtool" ]; then
	mkdir -p "$folder"
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	(cd "$work" && apt-get -qq download prometheus) >&2 || {
		echo 'promtool is missing: install the package prometheus' >&2
		exit 1
	}
	dpkg -x "$work"/prometheus_*.deb "$work/unpacked"
	mkdir -p "$folder/usr/bin"
	mv "$work/unpacked/usr/bin/promtool" "$folder/usr/bin/promtool"
fi
echo "$folder/usr/bin/promtool"

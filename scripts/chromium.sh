#!/bin/sh
# Makes sure that a Chromium is on this machine for the tests of the dashboard: installs the
# system's package if there is none.
set -eu

for name in chromium chromium-browser google-chrome; do
	if command -v "$name" >/dev/null; then
		exit 0
	fi
done
as_root=
if [ "$(id -u)" -ne 0 ]; then
	as_root=sudo
fi
echo "Chromium is missing: installing the system's package" >&2
if command -v apt-get >/dev/null; then
	$as_root apt-get update -qq
	DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null
elif command -v dnf >/dev/null; then
	$as_root dnf install -y -q chromium
elif command -v apk >/dev/null; then
	$as_root apk add --quiet chromium
elif command -v pacman >/dev/null; then
	$as_root pacman -Sy --noconfirm --quiet chromium
elif command -v zypper >/dev/null; then
	$as_root zypper --quiet install -y chromium
elif command -v brew >/dev/null; then
	brew install --quiet --cask chromium
else
	echo "no known package manager is here: install Chromium and put it on the PATH" >&2
	exit 1
fi

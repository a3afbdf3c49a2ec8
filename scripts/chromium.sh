#!/bin/sh
# Makes sure that a Chromium is on this machine for the tests of the pages: installs the
# system's package if there is none.
set -eu

for name in chromium chromium-browser google-chrome; do
	if command -v "$name" >/dev/null; then
		exit 0
	fi
done
exec "$(dirname "$0")/install.sh" chromium apt-get='chromium fonts-dejavu-core' brew='--cask chromium'

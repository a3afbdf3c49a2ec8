#!/bin/sh
# Makes sure that a redis-server of version 7.0 or newer is on this machine:
# installs the system's package if there is none, without leaving its service
# running. It never touches a server that is already there.
set -eu

want=7
install="$(dirname "$0")/../../scripts/install.sh"

if ! command -v redis-server >/dev/null; then
	"$install" redis apt-get=redis-server ||
		{ command -v dnf >/dev/null && "$install" redis dnf=valkey-compat-redis; } # newer Fedoras have Valkey
	if command -v apt-get >/dev/null && command -v systemctl >/dev/null; then
		systemctl disable redis-server >/dev/null 2>&1 || sudo systemctl disable redis-server >/dev/null 2>&1 || true
	fi
fi

version=$(redis-server --version | sed -n 's/.* v=\([0-9]*\)\..*/\1/p')
if [ "${version:-0}" -lt "$want" ]; then
	echo "$(command -v redis-server) is version ${version:-unknown}; the tests need $want.0 or newer: install a newer one (packages.redis.io has them) and put it first on the PATH" >&2
	exit 1
fi

#!/bin/sh
# Makes sure that a redis-server of version 7.0 or newer is on this machine:
# installs the system's package if there is none, without leaving its service
# running. It never touches a server that is already there.
set -eu

want=7

install_redis() {
	as_root=
	if [ "$(id -u)" -ne 0 ]; then
		as_root=sudo
	fi
	if command -v apt-get >/dev/null; then
		# A package's service starts on install unless this file says no.
		policy=/usr/sbin/policy-rc.d
		if [ ! -e "$policy" ]; then
			printf '#!/bin/sh\nexit 101\n' | $as_root tee "$policy" >/dev/null
			$as_root chmod +x "$policy"
			trap '$as_root rm -f "$policy"' EXIT
		fi
		$as_root apt-get update -qq
		DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq redis-server >/dev/null
		if command -v systemctl >/dev/null; then
			$as_root systemctl disable redis-server >/dev/null 2>&1 || true
		fi
	elif command -v dnf >/dev/null; then
		$as_root dnf install -y -q redis || $as_root dnf install -y -q valkey-compat-redis
	elif command -v apk >/dev/null; then
		$as_root apk add --quiet redis
	elif command -v pacman >/dev/null; then
		$as_root pacman -Sy --noconfirm --quiet redis
	elif command -v zypper >/dev/null; then
		$as_root zypper --quiet install -y redis
	elif command -v brew >/dev/null; then
		brew install --quiet redis
	else
		echo "redis-server is missing and no known package manager is here: install Redis $want.0 or newer and put redis-server on the PATH" >&2
		exit 1
	fi
}

if ! command -v redis-server >/dev/null; then
	echo "redis-server is missing: installing the system's package" >&2
	install_redis
fi

version=$(redis-server --version | sed -n 's/.* v=\([0-9]*\)\..*/\1/p')
if [ "${version:-0}" -lt "$want" ]; then
	echo "$(command -v redis-server) is version ${version:-unknown}; the tests need $want.0 or newer: install a newer one (packages.redis.io has them) and put it first on the PATH" >&2
	exit 1
fi

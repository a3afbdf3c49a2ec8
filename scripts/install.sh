#!/bin/sh
# Installs a program with the system's package manager. A service that the package brings is
# not started.
# usage: install.sh PROGRAM [MANAGER=PACKAGES]...; the package of a manager that is not named
# has the name of the program
set -eu

program=$1
shift
for manager in apt-get dnf apk pacman zypper brew none; do
	if command -v "$manager" >/dev/null; then break; fi
done
if [ "$manager" = none ]; then
	echo "$program is missing and no known package manager is here: install it and put it on the PATH" >&2
	exit 1
fi
packages=$program
for named; do
	if [ "${named%%=*}" = "$manager" ]; then packages=${named#*=}; fi
done
as_root=
if [ "$(id -u)" -ne 0 ]; then
	as_root=sudo
fi

echo "$program is missing: installing the system's package" >&2
# shellcheck disable=SC2086 # packages are words
case $manager in
apt-get)
	policy=/usr/sbin/policy-rc.d # says whether the services of new packages start
	if [ ! -e "$policy" ]; then
		printf '#!/bin/sh\nexit 101\n' | $as_root tee "$policy" >/dev/null
		$as_root chmod +x "$policy"
		trap '$as_root rm -f "$policy"' EXIT
	fi
	$as_root apt-get update -qq
	$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >/dev/null
	;;
dnf) $as_root dnf install -y -q $packages ;;
apk) $as_root apk add --quiet $packages ;;
pacman) $as_root pacman -Sy --noconfirm --quiet $packages ;;
zypper) $as_root zypper --quiet install -y $packages ;;
brew) brew install --quiet $packages ;;
esac

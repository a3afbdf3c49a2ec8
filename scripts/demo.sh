#!/bin/sh
# Counts made-up logs with the embedded Redis. Needs nothing but bin/skidway,
# and leaves nothing behind but the page bin/demo.html.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
skidway=$here/bin/skidway
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM
cd "$folder"

# show prints a command as one would type it, and runs it.
show() {
	echo "\$ skidway $*"
	"$skidway" "$@" 2>&1
	echo
}

show logs sample logs --lines 200000 --seed 1 --files 6 --days 14
show logs count logs --top 2 -o table --by day,country,crawler --by day,status --html page.html
mkdir -p "$here/bin"
mv page.html "$here/bin/demo.html"
echo "The page of these counts is $here/bin/demo.html: open it in a browser."
echo

# A count by day must have the same number of lines.
lines=$("$skidway" logs count logs --quiet --by day 2>&1 >/dev/null)
case $lines in
"lines=200000 "*) ;;
*) echo "demo: not all lines are counted: $lines" >&2; exit 1 ;;
esac

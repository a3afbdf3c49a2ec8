#!/bin/sh
# Runs every fuzz target for the time given, one after the other. It looks for them in the
# files: to list them, go test would build the tests of all packages.
set -eu
time=${1:-60s}
grep -rso --exclude-dir=.git --include='*_test.go' '^func Fuzz[A-Za-z0-9]*' . | sort | while IFS=: read -r file target; do
	package=$(dirname "$file")
	target=${target#func }
	echo "fuzz $package $target for $time"
	go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 10x "$package" </dev/null
done

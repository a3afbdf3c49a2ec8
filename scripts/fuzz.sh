#!/bin/sh
# Runs every fuzz target for the time given, one after the other. It looks for them in the
# files, and builds the tests of a package once: go test would link them for each target.
set -eu
time=${1:-60s}
found=$(go env GOCACHE)/fuzz/skidway # as go test does: inputs that reach more code
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
grep -rso --exclude-dir=.git --include='*_test.go' '^func Fuzz[A-Za-z0-9]*' . | sort | while IFS=: read -r file target; do
	package=$(dirname "${file#./}")
	target=${target#func }
	tests=$built/$(echo "$package" | tr / .)
	[ -x "$tests" ] || go test -c -fuzz . -o "$tests" "./$package"
	echo "fuzz $package $target for $time"
	(cd "$package" && "$tests" -test.run '^$' -test.fuzz "^$target\$" -test.fuzztime "$time" \
		-test.fuzzminimizetime 10x -test.fuzzcachedir "$found/$package") </dev/null
done

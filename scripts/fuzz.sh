#!/bin/sh
# Runs every fuzz target for the time given, one after the other. It looks for them in the
# files, and builds the tests of each package once: go test would link them for each target.
set -eu
time=${1:-60s}
found=$(go env GOCACHE)/fuzz/skidway # as go test does: inputs that reach more code
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT

# late reports whether all that failed was the end: before Go 1.27 a target may fail because its
# time is over (go.dev/issue/75804). It has found nothing then; an input that fails is named.
late() {
	grep -q '^    context deadline exceeded$' "$1" && ! grep -Eq 'Failing input|panic|hung' "$1"
}

grep -rso --exclude-dir=.git --include='*_test.go' '^func Fuzz[A-Za-z0-9]*' . | sort >"$built/targets"
cut -d: -f1 "$built/targets" | xargs -n 1 dirname | uniq |
	xargs -P 2 -I {} sh -c 'go test -c -fuzz . -o "$0/$(echo "$1" | tr ./ __)" "$1"' "$built" {}
while IFS=: read -r file target; do
	package=$(dirname "$file")
	target=${target#func }
	tests=$built/$(echo "$package" | tr ./ __)
	output=$built/output
	echo "fuzz $package $target for $time"
	rm -f "$built/failed"
	(
		cd "$package"
		"$tests" -test.run '^$' -test.fuzz "^$target\$" -test.fuzztime "$time" \
			-test.fuzzminimizetime 10x -test.fuzzcachedir "$found/$package" </dev/null || touch "$built/failed"
	) 2>&1 | tee "$output"
	if [ -e "$built/failed" ]; then
		late "$output" || exit 1
		echo "fuzz: nothing was found when the time was over"
	fi
done <"$built/targets"

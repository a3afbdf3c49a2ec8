#!/bin/sh
# Runs every fuzz target for the time given, two at a time with one process each. It looks for
# them in the files, and builds the tests of each package once: go test would link them for each
# target. With -tests FOLDER it takes those that keeptest.sh left there: they do not measure what an
# input reaches and find less.
set -eu
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
trap 'exit 1' HUP INT TERM
tests=$built
if [ "${1:-}" = -tests ]; then
	tests=$(realpath "$2") && shift 2
fi
time=${1:-60s}
found=$(go env GOCACHE)/fuzz/skidway # as go test does: inputs that reach more code
export time found built tests

grep -rso --exclude-dir=.git --include='*_test.go' '^func Fuzz[A-Za-z0-9]*' . | sort >"$built/targets"
if [ "$tests" = "$built" ]; then
	cut -d: -f1 "$built/targets" | xargs -n 1 dirname | uniq |
		xargs -P 2 -I {} sh -c 'go test -c -fuzz . -ldflags="-s -w" -o "$tests/$(cd "$1" && pwd -P | tr / _)" "$1"' - {}
fi

# A target may fail because its time is over, before Go 1.27 (go.dev/issue/75804): it has found
# nothing then; an input that fails is named.
cat >"$built/fuzz" <<'end'
package=$(dirname "${1%%:*}")
target=${1##*func }
output=$built/output.$target
failed=0
(cd "$package" && "$tests/$(pwd -P | tr / _)" -test.run '^$' -test.fuzz "^$target\$" -test.fuzztime "$time" -test.parallel 1 \
	-test.fuzzminimizetime 10x -test.fuzzcachedir "$found/$package") </dev/null >"$output" 2>&1 || failed=1
echo "fuzz $package $target for $time"
cat "$output"
if [ $failed = 1 ]; then
	grep -q '^    context deadline exceeded$' "$output" && ! grep -Eq 'Failing input|panic|hung' "$output" ||
		exit 255 # no other target is started
	echo "fuzz: nothing was found when the time was over"
fi
end
tr '\n' '\0' <"$built/targets" | xargs -0 -P 2 -n 1 sh "$built/fuzz"

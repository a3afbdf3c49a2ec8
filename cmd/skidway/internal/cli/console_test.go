package cli

import (
	"strings"
	"testing"
	"time"
)

// The rest of the line has a percentage, the time left and the bar, of which at least nine columns are shown.
func TestProgressFitsATerminal(t *testing.T) {
	t.Parallel()
	const others = len(" 100 %") + len(", left 99h59m59s") + len("[#######]")
	for _, test := range []struct {
		done, total, lines int64
		took               time.Duration
		want               string
	}{
		{0, 0, 0, 0, " 0 B of 0 B, 0 lines, 0/s"},
		{700, 1 << 20, 12, time.Second, " 700 B of 1.0 MiB, 12 lines, 12/s"},
		{642 << 20, 1288 << 20, 12_345_678, 3620 * time.Millisecond, " 642 MiB of 1.3 GiB, 12.3 M lines, 3.4 M/s"},
		{1023 << 40, 1023 << 40, 999_900_000_000, time.Second, " 1023 TiB of 1023 TiB, 999.9 G lines, 999.9 G/s"},
	} {
		got := byteProgress(test.done, test.total) + lineProgress(test.lines, test.took)
		if got != test.want || len(got)+others > barWidth || strings.Contains(got, "\n") {
			t.Errorf("%q of %d columns, want %q", got, len(got)+others, test.want)
		}
	}
}

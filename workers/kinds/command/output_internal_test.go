package command

import (
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
)

// For all texts, written in any pieces: both ends are kept, the missing bytes are
// counted, and memory is bounded.
func FuzzOutput(f *testing.F) {
	f.Add([]byte("a\nb\n"), 3, uint64(1))
	f.Add([]byte(strings.Repeat("some line\n", 500)), 100, uint64(2))
	f.Fuzz(func(t *testing.T, all []byte, limit int, seed uint64) {
		if limit < 1 || limit > 1000 {
			return
		}
		o := &output{name: "stdout", log: slog.New(slog.DiscardHandler), limit: limit}
		random := rand.New(rand.NewPCG(seed, 0))
		for rest := all; len(rest) > 0; {
			n := 1 + random.IntN(len(rest))
			o.Write(rest[:n])
			rest = rest[n:]
			if len(o.head)+len(o.tail) > 2*limit || len(o.line) > maxOutputLine {
				t.Fatalf("head %d, tail %d, line %d for a limit of %d", len(o.head), len(o.tail), len(o.line), limit)
			}
		}
		o.close()
		if len(all) <= limit {
			if o.String() != string(all) {
				t.Errorf("%q became %q", all, o.String())
			}
			return
		}
		head, tail := string(all[:limit-limit/2]), string(all[len(all)-limit/2:])
		if got := o.String(); !strings.HasPrefix(got, head+"\n… ") || !strings.HasSuffix(got, " …\n"+tail) {
			t.Errorf("%q became %q", all, got)
		}
	})
}

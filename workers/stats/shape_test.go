package stats_test

import (
	"strings"
	"testing"

	"skidway/workers/stats"
)

func TestShapesOfOneCauseAreEqual(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`dial tcp 10.1.2.3:25: i/o timeout after 30.5s`:                             "dial tcp <address>: i/o timeout after <n>s",
		`550 <ada@mail.example.com>: "no \"such\" user" in 'box'` + "\nsecond line": `<n> <<address>>: "…" in "…"`,
		`job 3f2b8c1e-9d4a-4c1b-8f2e-0123456789ab and deadbeef42`:                   "job <id> and <id>",
		`[2001:db8::1]:443 refused`:                                                 "<address> refused",
		`can't reach 'db 1', won't retry`:                                           `can't reach "…", won't retry`,
		`gave up after 1m30.5s`:                                                     "gave up after <n>s",
		`bad pointer 0x7fff12`:                                                      "bad pointer <id>",
		``:                                                                          "",
		strings.Repeat("ä", 500):                                                    strings.Repeat("ä", 100),
	} {
		if got := stats.Shape(text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

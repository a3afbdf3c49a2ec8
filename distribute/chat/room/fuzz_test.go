package room

import (
	"strings"
	"testing"

	"skidway/distribute/chat/internal/store"
	"skidway/internal/rdb"
)

// NewStretching is New with another slow hash.
func NewStretching(db *rdb.DB, hash func(password string, salt []byte, rounds int) ([]byte, error)) *Client {
	r := NewClient(db)
	r.kdf = hash
	return r
}

func FuzzRetraction(f *testing.F) {
	f.Add("retracts=7\x00by=ann\x00time=1763700000000")
	f.Add("retracts=-1\x00by=\x00time=1")
	f.Add("retracts=1\x00by=a\nb\x00time=soon")
	f.Add("")
	f.Fuzz(func(t *testing.T, fields string) {
		var raw []any
		for field := range strings.SplitSeq(fields, "\x00") {
			name, value, _ := strings.Cut(field, "=")
			raw = append(raw, name, value)
		}
		entries := []any{[]any{"9-0", append([]any{"retracts", "x"}, raw...)}}
		got := parsePage(rdb.Reply{Values: []any{nil, int64(0), entries}}, HistoryOptions{Forward: true})
		if len(got.Messages)+len(got.Changes) != 1 || got.Position != 9 || got.First != 9 {
			t.Fatalf("got %+v", got)
		}
		if len(got.Messages) == 1 && got.Messages[0].Err == nil {
			t.Errorf("took %q for a message", fields)
		}
		if len(got.Changes) == 1 && (got.Changes[0].Message > store.LastExact || got.Changes[0].Time.UnixMilli() < 0) {
			t.Errorf("accepted %q as %+v", fields, got.Changes[0])
		}
	})
}

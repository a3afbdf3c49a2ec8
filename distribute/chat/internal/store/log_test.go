package store

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

func FuzzMessage(f *testing.F) {
	f.Add("1-0", "sender=ann\x00body=hello\x00time=1763700000000")
	f.Add("7-3", "sender=ann\x00body=hello\x00time=1")
	f.Add("1-0", "body=hello\x00sender=ann")
	f.Add("x", "")
	f.Fuzz(func(t *testing.T, id, fields string) {
		values := map[string]any{}
		for field := range strings.SplitSeq(fields, "\x00") {
			name, value, _ := strings.Cut(field, "=")
			values[name] = value
		}
		m := ParseMessage(redis.XMessage{ID: id, Values: values})
		if m.Err != nil {
			return
		}
		if m.Sender == "" || string(m.Body) != values["body"] || m.Time.UnixMilli() < 0 || !strings.HasSuffix(id, "-0") {
			t.Errorf("accepted %q %q as %+v", id, fields, m)
		}
	})
}

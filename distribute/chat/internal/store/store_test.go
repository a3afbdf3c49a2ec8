package store

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"skidway/distribute/chat/internal/chattest"
	"skidway/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func TestScriptsOfLists(t *testing.T) {
	chattest.Suite{
		Keys:    func(prefix string) []string { return []string{prefix + ":{ann}:list", prefix + ":{ann}:wake"} },
		Fixture: []string{"ZADD $1 1700000000000 lunch", "XADD $2 1700000000000-0 chat lunch"},
		Scripts: []chattest.Script{
			{
				Name: "list_write", Run: listWriteScript.Do, Missing: "ok",
				Case: chattest.Case{Args: "dinner", Want: "ok", Then: []string{
					"ZSCORE $1 dinner > 1700000000000", "XLEN $2 = 1", "PTTL $2 > 0", "PTTL $1 = -1"}},
				Cases: []chattest.Case{
					{Name: "already listed", Args: "lunch", Want: "ok", Then: []string{"ZCARD $1 = 1", "ZSCORE $1 lunch > 1700000000000"}},
				},
			},
			{
				Name: "list_read", Run: listReadScript.Do, Full: true, Missing: "ok * 0 0",
				Case: chattest.Case{Args: "0", Want: "ok * 1700000000000-0 0 lunch 1700000000000", Same: true},
			},
			{
				Name: "list_drop", Run: listDropScript.Do, Full: true, Missing: "ok",
				Case: chattest.Case{Args: "60000 lunch 1700000000000 1", Want: "ok", Then: []string{"ZCARD $1 = 0"}},
				Cases: []chattest.Case{
					{Name: "written again meanwhile", Args: "60000 lunch 1699999999999 1", Want: "ok", Same: true},
					{Name: "not listed", Args: "60000 dinner 1700000000000 1", Want: "ok", Same: true},
					{Name: "young", Args: "60000 lunch 1700000000000 0", Want: "ok", Then: []string{"ZCARD $1 = 1", "PTTL $1 > 0"}},
				},
			},
		},
	}.Test(t)
}

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

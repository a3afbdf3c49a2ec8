package store

import (
	"testing"

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
					"ZSCORE $1 dinner > 1700000000000", "XLEN $2 = 1", "PTTL $2 > 0"}},
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
				Case: chattest.Case{Args: "lunch 1700000000000", Want: "ok", Then: []string{"ZCARD $1 = 0"}},
				Cases: []chattest.Case{
					{Name: "written again meanwhile", Args: "lunch 1699999999999", Want: "ok", Same: true},
					{Name: "not listed", Args: "dinner 1700000000000", Want: "ok", Same: true},
				},
			},
		},
	}.Test(t)
}

package chat

import (
	"context"
	"testing"

	"skidway/distribute/chat/internal/scripttest"
	"skidway/internal/rdb"
)

// runOf gives the call of a script as tables make it.
func runOf(s script) func(ctx context.Context, db *rdb.DB, keys []string, args ...any) (any, error) {
	return func(ctx context.Context, db *rdb.DB, keys []string, args ...any) (any, error) {
		cmd, err := s.lua.Do(ctx, db, keys, args...)
		if err != nil {
			return nil, err
		}
		return cmd.Val(), nil
	}
}

func TestScriptsOfLists(t *testing.T) {
	scripttest.Suite{
		Keys:    func(prefix string) []string { return keys{prefix}.chats("ann") },
		Fixture: []string{"ZADD $1 1700000000000 lunch", "XADD $2 1700000000000-0 chat lunch"},
		Scripts: []scripttest.Script{
			{
				Name: "index_write", Run: runOf(indexWriteScript), Missing: "ok",
				Case: scripttest.Case{Args: "dinner", Want: "ok", Then: []string{
					"ZSCORE $1 dinner > 1700000000000", "XLEN $2 = 1", "PTTL $2 > 0"}},
				Cases: []scripttest.Case{
					{Name: "already listed", Args: "lunch", Want: "ok", Then: []string{"ZCARD $1 = 1", "ZSCORE $1 lunch > 1700000000000"}},
				},
			},
			{
				Name: "index_list", Run: runOf(indexListScript), Full: true, Missing: "ok * 0 0",
				Case: scripttest.Case{Args: "0", Want: "ok * 1700000000000-0 0 lunch 1700000000000", Same: true},
			},
			{
				Name: "index_drop", Run: runOf(indexDropScript), Full: true, Missing: "ok",
				Case: scripttest.Case{Args: "lunch 1700000000000", Want: "ok", Then: []string{"ZCARD $1 = 0"}},
				Cases: []scripttest.Case{
					{Name: "written again meanwhile", Args: "lunch 1699999999999", Want: "ok", Same: true},
					{Name: "not listed", Args: "dinner 1700000000000", Want: "ok", Same: true},
				},
			},
		},
	}.Test(t)
}

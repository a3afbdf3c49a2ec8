package distribute

import (
	"fmt"
	"testing"
	"time"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

// A run may ship more new files than one call of a script forgets.
func TestRecordsBeyondTheirNumberAreForgottenAtOnce(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		s := newScriptRunner(t, db)
		for i := range sweepBatch + 30 {
			s.do([]any{"ZADD", s.k.files(), 1000 + i, fmt.Sprintf("%03d", i)})
		}
		s.do([]any{"ZADD", s.k.open(), 1, "000"}) // in Redis: it stays, beyond the number
		if err := s.c.files.forgetOld(t.Context(), 5, 100*365*24*time.Hour); err != nil {
			t.Fatal(err)
		}
		if left := s.text("ZRANGE", s.k.files(), 0, -1); left != "[000 125 126 127 128 129]" {
			t.Errorf("left are %s", left)
		}
	})
}

package rdb_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"testing"

	"skidway/internal/rdb"
)

func TestUnreachableRedisIsReportedByTheErrorAlone(t *testing.T) {
	t.Parallel()
	if os.Getenv("RDB_OPEN_NOTHING") != "" {
		_, err := rdb.Open(context.Background(), "redis://127.0.0.1:1", rdb.Options{Patience: -1})
		var unreachable *rdb.UnreachableError
		if !errors.As(err, &unreachable) {
			t.Errorf("%v, want an UnreachableError", err)
		}
		return
	}
	c := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	c.Env = append(os.Environ(), "RDB_OPEN_NOTHING=1")
	var stderr bytes.Buffer
	c.Stderr = &stderr
	if output, err := c.Output(); err != nil || stderr.Len() > 0 {
		t.Errorf("%v, %s; it printed %q", err, output, &stderr)
	}
}

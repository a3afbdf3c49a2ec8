package rdb_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

func TestAbsentServerIsUnreachable(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{
		"port":     "redis://user:s3cret@127.0.0.1:1/0",
		"socket":   "unix://user:s3cret@" + filepath.Join(t.TempDir(), "none") + "?db=1",
		"sentinel": "redis+sentinel://user:s3cret@127.0.0.1:1/main",
		"cluster":  "redis+cluster://user:s3cret@127.0.0.1:1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := rdb.Open(soon(t), url, rdb.Options{})
			var unreachable *rdb.UnreachableError
			if !errors.As(err, &unreachable) {
				t.Fatalf("the error is %v, want an UnreachableError", err)
			}
			if strings.Contains(err.Error(), "s3cret") || strings.Contains(unreachable.Name, "user") {
				t.Errorf("the error shows the password or the user: %v", err)
			}
		})
	}
}

func TestWrongPasswordIsNotShown(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	if err := open(t, server.URL(0), rdb.Options{}).ConfigSet(t.Context(), "requirepass", "right").Err(); err != nil {
		t.Fatal(err)
	}
	url := strings.Replace(server.URL(0), "unix://", "unix://:wr0ng@", 1)
	_, err := rdb.Open(soon(t), url, rdb.Options{})
	if err == nil || !strings.Contains(err.Error(), "WRONGPASS") || strings.Contains(err.Error(), "wr0ng") {
		t.Fatalf("the error is %v, want WRONGPASS without the password", err)
	}
	db := open(t, strings.Replace(url, "wr0ng", "right", 1), rdb.Options{})
	if strings.Contains(db.String(), "right") {
		t.Errorf("the name of the connection is %s", db)
	}
}

func TestURLFromAFileIsOpened(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "url")
	if err := os.WriteFile(path, []byte(redistest.URL(t)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	open(t, "@"+path, rdb.Options{Prefix: "mine"})
}

func TestBadPrefixIsRefusedBeforeConnecting(t *testing.T) {
	t.Parallel()
	_, err := rdb.Open(t.Context(), "redis://127.0.0.1:1", rdb.Options{Prefix: "a b"})
	if err == nil || !strings.Contains(err.Error(), `"a b"`) {
		t.Fatalf("the error is %v, want one that names the prefix", err)
	}
}

func TestOpenEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := rdb.Open(ctx, redistest.URL(t), rdb.Options{}); !errors.Is(err, context.Canceled) {
		t.Fatalf("the error is %v", err)
	}
}

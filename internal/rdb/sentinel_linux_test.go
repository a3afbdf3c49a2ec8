package rdb_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

func TestMasterIsFoundThroughASentinel(t *testing.T) {
	t.Parallel()
	ctx := soon(t)
	master, sentinel := freePort(t), freePort(t)
	server := redistest.Start(t, "--port", master, "--bind", "127.0.0.1")
	startSentinel(t, sentinel, master)

	db := open(t, "redis+sentinel://127.0.0.1:"+sentinel+"/mymaster/3", rdb.Options{})
	if n, err := rdb.NewScript("count", increment).Int(ctx, db, []string{"k"}); n != 1 || err != nil {
		t.Fatalf("the count is %d, the error %v", n, err)
	}
	if got := open(t, server.URL(3), rdb.Options{}).Get(ctx, "k").Val(); got != "1" {
		t.Errorf("the master's database 3 holds %q", got)
	}
	// No answer of a Sentinel is one to a command.
	control := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + sentinel})
	defer func() { _ = control.Close() }()
	impatient := open(t, "redis+sentinel://127.0.0.1:"+sentinel+"/mymaster/3", rdb.Options{Patience: 100 * time.Millisecond})
	if err := control.Do(ctx, "sentinel", "remove", "mymaster").Err(); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	var away *rdb.UnreachableError
	if n, err := rdb.NewScript("count", increment).Int(ctx, impatient, []string{"k"}); !errors.As(err, &away) {
		t.Errorf("without a master a script returns %d, %v", n, err)
	}
	_, err := rdb.Open(ctx, "redis+sentinel://127.0.0.1:"+sentinel+"/unknown/0", rdb.Options{Patience: 100 * time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), "unknown") && !strings.Contains(err.Error(), "sentinel") {
		t.Errorf("a master that is unknown: the error is %v", err)
	}
}

// startSentinel starts a Sentinel that watches one master and returns when it
// does. Where this file is built, it ends with the test binary in any case.
func startSentinel(t *testing.T, port, master string) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "sentinel.conf")
	config := fmt.Sprintf("port %s\nbind 127.0.0.1\ndir %s\nsentinel monitor mymaster 127.0.0.1 %s 1\n", port, dir, master)
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("redis-server", path, "--sentinel")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	var log strings.Builder
	for lines := bufio.NewScanner(output); lines.Scan(); {
		fmt.Fprintln(&log, lines.Text())
		if strings.Contains(lines.Text(), "+monitor master mymaster") {
			return
		}
	}
	t.Fatalf("the sentinel ended: %s", log.String())
}

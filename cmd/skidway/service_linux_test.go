package main

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"skidway/cmd/skidway/internal/cli"
)

func TestServiceReportsItsStateToSystemd(t *testing.T) {
	folder, err := os.MkdirTemp("", "skidway-notify-") // t.TempDir returns names that are too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	path := filepath.Join(folder, "s")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	hears := func(want string) {
		t.Helper()
		if err := socket.SetReadDeadline(time.Now().Add(waitLimit)); err != nil {
			t.Fatal(err)
		}
		for buffer := make([]byte, 1000); ; {
			n, err := socket.Read(buffer)
			if err != nil {
				t.Fatalf("systemd did not receive %s: %v", want, err)
			}
			switch got := string(buffer[:n]); got {
			case want:
				return
			case "WATCHDOG=1":
			default:
				t.Fatalf("systemd received %q, want %q", got, want)
			}
		}
	}
	t.Setenv("NOTIFY_SOCKET", path)
	t.Setenv("WATCHDOG_USEC", "200000")
	s := newWorkerFixture(t, waits+"queues: [{name: mail}]\n")
	hears("READY=1")
	hears("WATCHDOG=1")
	s.worker.Signal(syscall.SIGHUP)
	hears("RELOADING=1")
	hears("READY=1")
	s.runs("mail")
	s.worker.Signal(syscall.SIGTERM)
	hears("STOPPING=1")
	hears("WATCHDOG=1") // also while it waits for jobs
	s.end()
	if output, code := s.worker.End(); code != cli.ExitDone {
		t.Errorf("exit code %d: %s", code, output)
	}
}

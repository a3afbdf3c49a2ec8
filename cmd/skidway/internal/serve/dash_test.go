package serve

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"skidway/cmd/skidway/internal/cli"
)

func TestDemoShowsTroublesAndEndsInOrder(t *testing.T) {
	t.Parallel()
	console, err := os.Create(filepath.Join(t.TempDir(), "console"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = console.Close() }()
	out, in := io.Pipe()
	d := &dashCommand{App: &cli.App{Out: in, Console: &cli.Console{Out: console}}}
	d.Dash, d.gate.NoLogin = "127.0.0.1:0", true
	stopping, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.runDemo(t.Context(), stopping, slog.New(slog.DiscardHandler)) }()
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	// A page that opens before the queues are read for the first time says so and lists no troubles;
	// one that waits too long for the machine says that Redis does not answer.
	for started := time.Now(); ; {
		response, err := http.Get(strings.TrimSpace(address))
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if response.StatusCode == http.StatusOK && strings.Contains(string(page), "is paused by anna: “panics in invoice.render”.") {
			break
		}
		if time.Since(started) > time.Minute {
			t.Errorf("after a minute the page is %d %s", response.StatusCode, page)
			break
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestBrowserIsOpenedAtTheAddress(t *testing.T) {
	if browsers[runtime.GOOS] != nil {
		t.Skip("this system has another command")
	}
	folder := t.TempDir()
	opened := filepath.Join(folder, "opened")
	if err := syscall.Mkfifo(opened, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "xdg-open"), []byte("#!/bin/sh\necho \"$1\" >"+opened+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder)
	if err := browse("http://127.0.0.1:1/login?code=x"); err != nil {
		t.Fatal(err)
	}
	if address, err := os.ReadFile(opened); err != nil || string(address) != "http://127.0.0.1:1/login?code=x\n" {
		t.Errorf("%q, %v", address, err)
	}
}

//go:build unix

package kinds_test

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"skidway/workers/kinds"
)

// A fifo is a named pipe for scripts, which find it in $LIFE.
type fifo string

func makeFIFO(t *testing.T) fifo {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return fifo(path)
}

// command gives a command that runs a script.
func (f fifo) command(text string) kinds.Command {
	return kinds.Command{
		Path: "/bin/sh", Args: []string{"-c", text},
		Env: map[string]string{"LIFE": string(f), "PATH": "/bin:/usr/bin"},
	}
}

// A lifeline is a FIFO that the processes of a script hold open for writing. Its
// end tells that all of them are dead.
type lifeline struct {
	fifo
	file *os.File
	open chan struct{} // closed when the script has opened it
}

func newLifeline(t *testing.T) *lifeline {
	t.Helper()
	l := &lifeline{fifo: makeFIFO(t), open: make(chan struct{})}
	go func() {
		defer close(l.open)
		l.file, _ = os.Open(string(l.fifo)) // blocks until there is a writer
		_ = l.file.SetReadDeadline(time.Now().Add(30 * time.Second))
	}()
	t.Cleanup(func() {
		if writer, err := os.OpenFile(string(l.fifo), os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
			writer.Close() // nobody else came
		}
		<-l.open
		l.file.Close()
	})
	return l
}

// up blocks until the script has said that it is up.
func (l *lifeline) up() {
	<-l.open
	_, _ = io.ReadFull(l.file, make([]byte, len("up\n")))
}

// ended blocks until no process holds the lifeline, and gives what they wrote.
func (l *lifeline) ended(t *testing.T) string {
	t.Helper()
	<-l.open
	text, err := io.ReadAll(l.file)
	if err != nil {
		t.Fatalf("a process lives on: %v", err)
	}
	return string(text)
}

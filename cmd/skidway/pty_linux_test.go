package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// A terminal is the controlling side of a pseudo-terminal on which a command runs.
type terminal struct {
	t      testing.TB
	far    *os.File
	cmd    *exec.Cmd
	mu     sync.Mutex
	shown  strings.Builder
	more   chan struct{}
	closed chan struct{}
}

// onTerminal starts a command on a terminal of 80 by 24.
func onTerminal(t testing.TB, args ...string) *terminal {
	t.Helper()
	far, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	control := func(request uintptr, arg unsafe.Pointer) {
		if _, _, failed := syscall.Syscall(syscall.SYS_IOCTL, far.Fd(), request, uintptr(arg)); failed != 0 {
			t.Fatal(failed)
		}
	}
	var number uint32
	unlocked := int32(0)
	control(syscall.TIOCSPTLCK, unsafe.Pointer(&unlocked))
	control(syscall.TIOCGPTN, unsafe.Pointer(&number))
	size := [4]uint16{24, 80}
	control(syscall.TIOCSWINSZ, unsafe.Pointer(&size))
	near, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = near.Close() }()
	c := command(t, t.TempDir(), args...)
	c.Stdin, c.Stdout, c.Stderr = near, near, near
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	x := &terminal{t: t, far: far, cmd: c, more: make(chan struct{}, 1), closed: make(chan struct{})}
	go x.read()
	t.Cleanup(func() { _ = far.Close() })
	return x
}

func (x *terminal) read() {
	defer close(x.closed)
	for block := make([]byte, 4096); ; {
		n, err := x.far.Read(block)
		x.mu.Lock()
		x.shown.Write(block[:n])
		x.mu.Unlock()
		select {
		case x.more <- struct{}{}:
		default:
		}
		if err != nil { // EIO: the other side is closed
			return
		}
	}
}

func (x *terminal) text() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.shown.String()
}

// shows waits until the terminal shows a text.
func (x *terminal) shows(part string) {
	x.t.Helper()
	for late := time.After(waitLimit); !strings.Contains(x.text(), part); {
		select {
		case <-x.more:
		case <-late:
			x.t.Fatalf("it does not show %q:\n%q", part, x.text())
		}
	}
}

func (x *terminal) types(text string) {
	x.t.Helper()
	if _, err := io.WriteString(x.far, text); err != nil {
		x.t.Fatal(err)
	}
}

// ends waits for the end of the command and returns all that was shown.
func (x *terminal) ends() (shown string, code int) {
	_ = x.cmd.Wait() // the exit code is checked
	<-x.closed
	return x.text(), x.cmd.ProcessState.ExitCode()
}

//go:build unix

package processtest_test

import (
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"skidway/internal/processtest"
)

func TestMain(m *testing.M) {
	processtest.Main(m, func() error {
		terminated := make(chan os.Signal, 1)
		signal.Notify(terminated, syscall.SIGTERM)
		fmt.Println("began with", strings.Join(os.Args[1:], "+"))
		if os.Args[1] == "fail" {
			return fmt.Errorf("failed on request")
		}
		fmt.Fprintln(os.Stderr, "second line")
		<-terminated
		fmt.Println("third line")
		return nil
	})
}

func TestProcessPrintsItsLinesAndEndsWell(t *testing.T) {
	t.Parallel()
	p := processtest.Start(t, processtest.Command(t, "one", "two"))
	if rest, ok := p.Word("began with"); rest != "one+two" || !ok {
		t.Errorf("got %q, %t", rest, ok)
	}
	p.Await("second")
	p.Pause()
	if !p.Running() {
		t.Error("a stopped process does not run")
	}
	p.Signal(syscall.SIGCONT)
	p.Stop()
	p.Await("third")
	if p.Check() || p.Running() || p.ExitCode() != 0 {
		t.Errorf("it ended with %d", p.ExitCode())
	}
	if _, ok := p.Word("third"); ok {
		t.Error("a line was read twice")
	}
}

func TestFailedAndKilledProcessesAreDistinguished(t *testing.T) {
	t.Parallel()
	failed, killed := processtest.Start(t, processtest.Command(t, "fail")), processtest.Start(t, processtest.Command(t, "wait"))
	killed.Await("second line")
	killed.Kill()
	if !killed.Check() || killed.ExitCode() != -1 {
		t.Errorf("a killed process has the exit code %d", killed.ExitCode())
	}
	if failed.Killed() || failed.ExitCode() != 1 || !strings.Contains(failed.Output(), "failed on request") {
		t.Errorf("a process failed with %d: %s", failed.ExitCode(), failed.Output())
	}
}

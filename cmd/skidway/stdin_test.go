package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"skidway/cmd/skidway/internal/cli"
	"skidway/internal/processtest"
)

// piped runs a command whose standard input is a pipe.
func piped(t testing.TB, folder string, input []byte, args ...string) outcome {
	t.Helper()
	c := command(t, folder, args...)
	c.Stdin = bytes.NewReader(input)
	return finish(t, c)
}

// fifo makes a FIFO to which input is written once.
func fifo(t testing.TB, folder, name string, input []byte) {
	t.Helper()
	path := filepath.Join(folder, name)
	put(t, syscall.Mkfifo(path, 0o600))
	go func() {
		w, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err == nil {
			_, _ = w.Write(input) // the test checks what is read
			_ = w.Close()
		}
	}()
}

func TestCountReadsStandardInputInAnyCompression(t *testing.T) {
	t.Parallel()
	for _, extension := range []string{"", ".gz", ".zst"} {
		o := piped(t, t.TempDir(), pack(t, extension, small), "logs", "count", "-", "-o", "csv")
		if o.code != cli.ExitDone || o.stdout != smallCSV {
			t.Errorf("%s: exit code %d\n%s%s", extension, o.code, o.stdout, o.stderr)
		}
		hasLine(t, o.stderr, "lines=4 ", " files=1 ")
	}
}

func TestCountReadsStandardInputAndFIFOsAndFiles(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, folder, "a.log", small)
	fifo(t, folder, "b", pack(t, ".gz", line("8.8.8.8", "03")))
	fifo(t, folder, "c", []byte(small))
	o := piped(t, folder, []byte(line("8.8.8.8", "04")), "logs", "count", "--by", "day", "a.log", "-", "b", "c")
	if o.code != cli.ExitDone || o.stdout != "day,requests\n2026-11-01,2\n2026-11-02,1\n2026-11-03,1\n2026-11-04,1\n" {
		t.Errorf("exit code %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	hasLine(t, o.stderr, "c: already counted")
}

func TestEmptyStandardInputIsNothingToCount(t *testing.T) {
	t.Parallel()
	o := piped(t, t.TempDir(), nil, "logs", "count", "-")
	if o.code != cli.ExitFailed {
		t.Errorf("exit code %d", o.code)
	}
	hasLine(t, o.stderr, "(standard input): empty, nothing to count")
}

func TestCutOffInputIsCountedInPart(t *testing.T) {
	t.Parallel()
	packed := pack(t, ".gz", strings.Repeat(small, 5000))
	o := piped(t, t.TempDir(), packed[:900], "logs", "count", "-")
	if o.code != cli.ExitFailed {
		t.Errorf("exit code %d", o.code)
	}
	hasLine(t, o.stderr, "skidway: (standard input): ", "cut off", "counted up to line")
}

func TestStandardInputThatCannotBeReadIsWrongUsage(t *testing.T) {
	t.Parallel()
	web := channelFlags(t)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"logs", "count", "-", "-"}, "standard input is named 2 times"},
		{[]string{"logs", "count", "/dev/stdin", "-"}, "standard input is named 2 times"},
		{[]string{"logs", "count", "-", "--files-from", "-"}, "standard input lists the paths"},
		{with(web, "logs", "ship", "-", "--follow"), "standard input can't be followed"},
	} {
		cmd := command(t, t.TempDir(), c.args...)
		r, w, err := os.Pipe()
		put(t, err)
		put(t, w.Close())
		cmd.Stdin = r
		o := finish(t, cmd)
		put(t, r.Close())
		if o.code != cli.ExitUsage {
			t.Errorf("%v: exit code %d", c.args, o.code)
		}
		hasLine(t, o.stderr, c.want)
	}
}

func TestStandardInputOfAShipperIsCountedByWorkers(t *testing.T) {
	t.Parallel()
	folder, web := t.TempDir(), channelFlags(t)
	ship := with(web, "logs", "ship", "-", "--subscriber", "s")
	if o := piped(t, folder, []byte(small), append(ship, "--dry-run", "-o", "json")...); !strings.Contains(o.stdout, `"bytes": null`) || !strings.Contains(o.stdout, `"state": "new"`) {
		t.Errorf("%s", o.stdout)
	}
	o := piped(t, folder, []byte(small), ship...)
	if o.code != cli.ExitDone {
		t.Errorf("exit code %d", o.code)
	}
	hasLine(t, o.stderr, "(standard input): shipped")
	mustRun(t, folder, with(web, "logs", "work", "--subscriber", "s", "--until-done")...)
	o = piped(t, folder, []byte(small+line("8.8.8.8", "03")), ship...)
	hasLine(t, o.stderr, "(standard input): shipped (only what is new: from byte ")
	mustRun(t, folder, with(web, "logs", "work", "--subscriber", "s", "--until-done")...)
	o = mustRun(t, folder, with(web, "logs", "report", "--subscriber", "s")...)
	hasLine(t, o.stderr, "lines=5 ")
}

// The process that writes the stream goes on.
func TestInterruptEndsAStreamAndCountsWhatCame(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	put(t, err)
	c := command(t, t.TempDir(), "logs", "count", "-", "--by", "day")
	var stdout bytes.Buffer
	c.Stdin, c.Stdout = r, &stdout
	p := processtest.Start(t, c)
	put(t, r.Close())
	_, err = io.WriteString(w, strings.Repeat(small, 20_000))
	put(t, err)
	p.Signal(interrupt)
	output, code := p.End()
	put(t, w.Close())
	if code != cli.ExitFailed || !strings.HasPrefix(stdout.String(), "day,requests\n2026-11-01,") {
		t.Errorf("exit code %d\n%s", code, stdout.String())
	}
	hasLine(t, output, "(standard input): ", "cut off: stopped before its end; counted up to line")
}

func TestExplainReadsStandardInput(t *testing.T) {
	t.Parallel()
	o := piped(t, t.TempDir(), pack(t, ".gz", small), "logs", "explain", "-", "-o", "table")
	if o.code != cli.ExitDone {
		t.Errorf("exit code %d", o.code)
	}
	hasLine(t, o.stdout, "(standard input) (gzip): combined")
}

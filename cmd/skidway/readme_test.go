package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"skidway/internal/redistest"
)

// consoles are the README's blocks of commands.
var consoles = regexp.MustCompile("(?s)```console\n(.*?)```")

// TestReadmeIsTrue types every skidway command of the README, in order and in
// one folder, and compares what stands there as output with what is printed.
func TestReadmeIsTrue(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	folder, url := t.TempDir(), redistest.URL(t)
	sample := strings.Fields("logs sample logs --lines 200000 --seed 1 --files 6 --days 3")
	mustRun(t, folder, sample...)
	if err := os.Rename(filepath.Join(folder, "logs"), filepath.Join(folder, "demo")); err != nil {
		t.Fatal(err)
	}
	bin, commands := shellPath(t), 0
	for _, block := range consoles.FindAllStringSubmatch(string(readme), -1) {
		for _, c := range typed(block[1]) {
			if !strings.Contains(c.line, "skidway ") {
				continue
			}
			line, want := c.line, c.prints
			if strings.HasPrefix(line, "skidway logs count") && want != "" {
				line = strings.Replace(line, " logs ", " demo ", 2) // the demo's own folder
				line = strings.Replace(line, " demo ", " logs ", 1)
			}
			commands++
			o := inShell(t, folder, bin, url, line)
			if o.code != exitDone {
				t.Errorf("%s: exit code %d: %s", line, o.code, o.stderr)
			}
			if want != "" && !strings.HasPrefix(want, o.stdout) {
				t.Errorf("%s: printed\n%s\nbut the README says\n%s", line, o.stdout, want)
			}
		}
	}
	if commands < 16 {
		t.Errorf("only %d commands found", commands)
	}
}

// A typedLine is a command of a console and what it prints there, if that is
// shown.
type typedLine struct{ line, prints string }

// typed takes a console apart. A line that ends with a backslash goes on.
func typed(console string) (list []typedLine) {
	open := false // the last line goes on
	for line := range strings.Lines(console) {
		command, isCommand := strings.CutPrefix(line, "$ ")
		switch {
		case open:
			list[len(list)-1].line += line
		case isCommand:
			list = append(list, typedLine{line: command})
		case len(list) > 0:
			list[len(list)-1].prints += line
			continue
		}
		open = strings.HasSuffix(line, "\\\n")
	}
	return list
}

// shellPath gives a folder in which the command has its own name.
func shellPath(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.Symlink(self, filepath.Join(folder, "skidway")); err != nil {
		t.Fatal(err)
	}
	return folder
}

// inShell types a line into a shell.
func inShell(t *testing.T, folder, bin, url, line string) outcome {
	t.Helper()
	c := exec.CommandContext(t.Context(), "sh", "-c", line)
	c.Dir = folder
	c.Env = append(os.Environ(), runsCommand+"=1", "SKIDWAY_REDIS="+url, "PATH="+bin+":"+os.Getenv("PATH"))
	return finish(t, c)
}

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"skidway/cmd/skidway/internal/cli"
	"skidway/internal/processtest"
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
	folder, post := t.TempDir(), startMailServer(t)
	close(post.answer)
	sample := strings.Fields("logs sample logs --lines 200000 --seed 1 --files 6 --days 3")
	mustRun(t, folder, sample...)
	if err := os.Rename(filepath.Join(folder, "logs"), filepath.Join(folder, "demo")); err != nil {
		t.Fatal(err)
	}
	for _, file := range files.FindAllStringSubmatch(string(readme), -1) {
		if err := os.WriteFile(filepath.Join(folder, file[1]), []byte(file[2]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := typist{t: t, folder: folder, bin: shellPath(t), environment: []string{
		processtest.Environment, "SKIDWAY_REDIS=" + redistest.URL(t),
		// The mail server of the README's configuration is made up.
		"SKIDWAY_KINDS_EMAIL_SEND_HOST=127.0.0.1", "SKIDWAY_KINDS_EMAIL_SEND_PORT=" + strconv.Itoa(post.port), "SKIDWAY_KINDS_EMAIL_SEND_TLS=none",
	}}
	commands := 0
	for _, block := range consoles.FindAllStringSubmatch(string(readme), -1) {
		for _, c := range typed(t, block[1]) {
			if strings.Contains(c.line, "skidway ") {
				commands++
				s.enter(c)
			}
		}
	}
	if commands < 26 {
		t.Errorf("only %d commands found", commands)
	}
	for range 4 { // to Ada, Bob and Cem, and the report
		post.awaitOne(t)
	}
}

// files are the README's files: the first line names each.
var files = regexp.MustCompile("(?s)```yaml\n# (\\S+)\n(.*?)```")

// A typedLine is a command of a console and what it prints there, if that is
// shown.
type typedLine struct{ line, prints string }

// typed takes a console apart. A command goes on while the shell wants more.
func typed(t *testing.T, console string) (list []typedLine) {
	t.Helper()
	open := false // the last command goes on
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
		if len(list) > 0 {
			open = goesOn(list[len(list)-1].line)
		}
	}
	return list
}

// goesOn reports whether a command is not whole yet.
func goesOn(command string) bool {
	return strings.HasSuffix(command, "\\\n") || exec.Command("sh", "-n", "-c", command).Run() != nil
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

// A typist types into a shell.
type typist struct {
	t           *testing.T
	folder, bin string
	environment []string
}

// enter types a command, and compares what it prints with what the README shows,
// if that shows something. What ends with & runs until the test ends.
func (s *typist) enter(c typedLine) {
	s.t.Helper()
	line := c.line
	if strings.HasPrefix(line, "skidway logs count") && c.prints != "" {
		line = strings.Replace(line, "count logs", "count demo", 1) // the demo's own folder
	}
	command := strings.TrimSpace(line)
	if rest, background := strings.CutSuffix(command, "&"); background {
		s.start(rest)
		return
	}
	shell := exec.CommandContext(s.t.Context(), "sh", "-c", command)
	s.prepare(shell)
	o := finish(s.t, shell)
	if o.code != cli.ExitDone {
		s.t.Errorf("%s: exit code %d: %s", line, o.code, o.stderr)
	}
	if c.prints != "" && !strings.HasPrefix(c.prints, o.stdout) {
		s.t.Errorf("%s: printed\n%s\nbut the README says\n%s", line, o.stdout, c.prints)
	}
}

func (s *typist) prepare(c *exec.Cmd) {
	c.Dir = s.folder
	c.Env = append(append(os.Environ(), s.environment...), "PATH="+s.bin+":"+os.Getenv("PATH"))
}

// start runs a command until the test ends.
func (s *typist) start(command string) {
	s.t.Helper()
	c := exec.Command("sh", "-c", "exec "+command)
	s.prepare(c)
	var told bytes.Buffer
	c.Stdout, c.Stderr = &told, &told
	if err := c.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = c.Process.Signal(interrupt)
		if err := c.Wait(); err != nil {
			s.t.Errorf("%s: %v\n%s", command, err, told.String())
		}
	})
}

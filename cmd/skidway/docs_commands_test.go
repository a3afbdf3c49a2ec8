package main

import (
	"bytes"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"skidway/cmd/skidway/internal/cli"
	"skidway/internal/processtest"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

// mailsOf is how many messages the commands of a document send.
var mailsOf = map[string]int{"README.md": 4} // to Ada, Bob and Cem, and the report

// TestCommandsOfDocumentsRun types every command of the console and sh blocks of
// each document, in order and in one folder, and compares what stands there as
// output with what is printed. Each document has a Redis and a mail server of its own.
func TestCommandsOfDocumentsRun(t *testing.T) {
	t.Parallel()
	for _, d := range readDocuments(t) {
		t.Run(d.path, func(t *testing.T) {
			t.Parallel()
			mails := startMailServer(t)
			close(mails.answer)
			shell := newDocumentShell(t, mails.port)
			for _, b := range d.blocks {
				if name := b.file(); name != "" {
					write(t, shell.folder, name, strings.ReplaceAll(b.text, rdb.DefaultURL, shell.redisURL))
				}
				switch b.language {
				case "console":
					for _, command := range parseConsole(b.text) {
						shell.run(command)
					}
				case "sh":
					for line := range strings.Lines(b.text) {
						shell.runSubstituted(line)
					}
				}
			}
			for range mailsOf[d.path] {
				mails.awaitOne(t)
			}
		})
	}
}

var fileName = regexp.MustCompile(`^(?:#|//) (\S+\.[a-z]+)\n`)

// file returns the name of the file that a block shows: its first line is a
// comment with nothing else. It is empty for other blocks.
func (b block) file() string {
	if found := fileName.FindStringSubmatch(b.text); found != nil {
		return found[1]
	}
	return ""
}

// A shownCommand is a command of a console and what it prints there, if that is
// shown.
type shownCommand struct{ line, output string }

// parseConsole splits a console into commands. A command goes on while the shell
// wants more.
func parseConsole(console string) (list []shownCommand) {
	open := false // the last command goes on
	for line := range strings.Lines(console) {
		command, isCommand := strings.CutPrefix(line, "$ ")
		switch {
		case open:
			list[len(list)-1].line += line
		case isCommand:
			list = append(list, shownCommand{line: command})
		case len(list) > 0:
			list[len(list)-1].output += line
			continue
		}
		if len(list) > 0 {
			open = isIncomplete(list[len(list)-1].line)
		}
	}
	return list
}

func isIncomplete(command string) bool {
	return strings.HasSuffix(command, "\\\n") || exec.Command("sh", "-n", "-c", command).Run() != nil
}

// A documentShell runs the commands of one document.
type documentShell struct {
	t           *testing.T
	folder      string
	redisURL    string
	environment []string
}

// newDocumentShell returns a shell in an empty folder, beside the folder skidway of
// this module. Its programs skidway and redis-cli use a Redis of the test, and its
// mail server listens at a port of this machine.
func newDocumentShell(t *testing.T, mailPort int) *documentShell {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent, redisURL := t.TempDir(), redistest.URL(t)
	bin, folder := filepath.Join(parent, "bin"), filepath.Join(parent, "folder")
	for _, path := range []string{bin, folder} {
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(rootPath(t), filepath.Join(parent, "skidway")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(bin, "skidway")); err != nil {
		t.Fatal(err)
	}
	server, err := url.Parse(redisURL)
	if err != nil {
		t.Fatal(err)
	}
	redisCLI, err := exec.LookPath("redis-cli")
	if err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\nexec " + redisCLI + " -s " + server.Path + " -n " + server.Query().Get("db") + ` "$@"` + "\n"
	if err := os.WriteFile(filepath.Join(bin, "redis-cli"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return &documentShell{t: t, folder: folder, redisURL: redisURL, environment: append(os.Environ(),
		processtest.Environment, "SKIDWAY_REDIS="+redisURL, "PATH="+bin+":"+os.Getenv("PATH"),
		"SKIDWAY_KINDS_EMAIL_SEND_HOST=127.0.0.1", "SKIDWAY_KINDS_EMAIL_SEND_PORT="+strconv.Itoa(mailPort), "SKIDWAY_KINDS_EMAIL_SEND_TLS=none",
	)}
}

// run types a command and compares what it prints with what the document shows,
// if that shows something. What ends with & runs until the test ends.
func (s *documentShell) run(c shownCommand) {
	s.t.Helper()
	command := strings.TrimSpace(c.line)
	if rest, background := strings.CutSuffix(command, "&"); background {
		s.start(rest)
		return
	}
	process := exec.CommandContext(s.t.Context(), "sh", "-c", command)
	process.Dir, process.Env = s.folder, s.environment
	o := finish(s.t, process)
	if o.code != cli.ExitDone {
		s.t.Errorf("%s: exit code %d: %s%s", c.line, o.code, o.stdout, o.stderr)
	}
	if c.output != "" && !shows(c.output, o.stdout) && !shows(c.output, o.stdout+o.stderr) {
		s.t.Errorf("%s: printed\n%s%s\nbut the document shows\n%s", c.line, o.stdout, o.stderr, c.output)
	}
}

// shows reports whether a document shows this output: "…" in it stands for any
// text of a line, and on a line of its own for any lines.
func shows(document, output string) bool {
	var pattern strings.Builder
	for line := range strings.Lines(document) {
		switch trimmed := strings.TrimRight(line, " \n"); trimmed {
		case "…":
			pattern.WriteString(`(.*\n)*`)
		default:
			pattern.WriteString(strings.ReplaceAll(regexp.QuoteMeta(trimmed), "…", ".*") + " *\n")
		}
	}
	return regexp.MustCompile("^" + pattern.String() + "$").MatchString(output)
}

// start runs a command until the test ends.
func (s *documentShell) start(command string) {
	s.t.Helper()
	process := exec.Command("sh", "-c", "exec "+command)
	process.Dir, process.Env = s.folder, s.environment
	var output bytes.Buffer
	process.Stdout, process.Stderr = &output, &output
	if err := process.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = process.Process.Signal(interrupt)
		if err := process.Wait(); err != nil {
			s.t.Errorf("%s: %v\n%s", command, err, output.String())
		}
	})
}

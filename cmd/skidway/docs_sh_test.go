package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"skidway/internal/processtest"
)

// rootPath returns the absolute path of the module's root.
func rootPath(t testing.TB) string {
	t.Helper()
	path, err := filepath.Abs(moduleRoot)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// smallBenchmarks has the arguments with which a benchmark ends within seconds. That
// of the queue measures nothing where other tests run beside it.
var smallBenchmarks = map[string]string{
	"queue": "--help",
	"logs":  "--lines 2000",
	"chat":  "--members 2 --messages 100",
}

// runSubstituted runs a line of an sh block by its substitute.
func (s *documentShell) runSubstituted(line string) {
	s.t.Helper()
	line, _, _ = strings.Cut(line, " #")
	run := substitute(strings.TrimSpace(line))
	if run == nil {
		s.t.Fatalf("%s: no test runs this command: move it to a console block, or give it a substitute", line)
	}
	run(s)
}

// substitute returns what runs a command of an sh block, with something else in the
// place of what a test does not have: the port of a Redis, /etc, the modules of other
// tests, or a quarter of an hour. It returns nil for a command that it does not know.
func substitute(line string) func(*documentShell) {
	commands := func(lines ...string) func(*documentShell) {
		return func(s *documentShell) {
			s.t.Helper()
			for _, line := range lines {
				s.run(shownCommand{line: line})
			}
		}
	}
	words := append(strings.Fields(line), "", "")
	small, isBenchmark := smallBenchmarks[words[1]]
	switch {
	case words[0] == "make": // it only prints the recipes
		return commands("make -n -C ../skidway" + strings.TrimPrefix(line, "make"))
	case line == "redis-server --daemonize yes":
		return commands(line+` --port 0 --unixsocket "$PWD/redis.sock" --dir "$PWD"`, // it returns before it listens
			"PATH=${PATH#*:}; until redis-cli -s redis.sock PING 2>&1 | grep -q PONG; do :; done; redis-cli -s redis.sock SHUTDOWN NOSAVE")
	case line == "skidway doctor": // it finds a problem: the Redis of tests writes nothing to disk
		return commands("skidway doctor || [ $? = 1 ]")
	case words[0] == "skidway" && strings.Contains(line, "/etc/skidway/"):
		return func(s *documentShell) { s.t.Helper(); s.runDeployed(line) }
	case words[0] == "scripts/bench.sh" && isBenchmark:
		return commands("ln -sf ../skidway/scripts ../bin . && " + line + " " + small)
	case line == "scripts/bench.sh formats": // it measures for minutes
		return commands("grep -q '^formats)' ../skidway/scripts/bench.sh")
	case line == "go mod tidy": // it would also download what tests of dependencies import
		return commands("cp ../skidway/go.sum . && GOPROXY=off go mod tidy -e")
	case words[0] == "go" && words[1] == "mod": // Go has compiled the module at its own path
		return func(s *documentShell) {
			s.t.Helper()
			s.run(shownCommand{line: strings.Replace(line, "../skidway", rootPath(s.t), 1)})
		}
	case line == "skidway config variables":
		return commands(line)
	case line == "go run .":
		return func(s *documentShell) { s.t.Helper(); s.runFirstProgram(line) }
	}
	return nil
}

func TestCommandsOfShBlocksWithoutSubstituteAreRefused(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"", "curl https://example.com", "skidway queues list", "scripts/bench.sh disks", "go build ."} {
		if substitute(line) != nil {
			t.Errorf("%q has a substitute", line)
		}
	}
}

// runDeployed runs a command with the configuration of the folder deploy. A worker is
// stopped when it is ready.
func (s *documentShell) runDeployed(line string) {
	s.t.Helper()
	write(s.t, s.folder, "deployed.yaml", strings.ReplaceAll(deployFile(s.t, "skidway.yaml"), "/logs", "."))
	line = strings.NewReplacer("/etc/skidway/skidway.yaml", "deployed.yaml", "127.0.0.1:9310", "127.0.0.1:0").Replace(line)
	if !strings.HasPrefix(line, "skidway worker ") {
		s.run(shownCommand{line: line})
		return
	}
	p := s.process("exec " + line + " --prefix deployed")
	p.Await("worker is ready")
	p.Stop()
}

// runFirstProgram runs the program of the README until it has greeted twice, and
// ends it as Ctrl-C does.
func (s *documentShell) runFirstProgram(line string) {
	s.t.Helper()
	line = strings.Replace(line, " .", strings.Join(append([]string{""}, processtest.BuildFlags()...), " ")+" .", 1)
	p := s.process("exec " + line) // a shell around it would be ended by the signal
	p.Await("hello, Ada")
	p.Await("hello, Grace")
	if err := syscall.Kill(-p.PID(), syscall.SIGINT); err != nil {
		s.t.Fatal(err)
	}
	// go run ends with code 1 after Ctrl-C, whatever the program does; an error of the
	// program is printed.
	if output, _ := p.End(); output != "hello, Ada\nhello, Grace\n" {
		s.t.Errorf("%s: printed %q", line, output)
	}
}

// process starts a command in a process group of its own.
func (s *documentShell) process(command string) *processtest.Process {
	s.t.Helper()
	c := exec.CommandContext(s.t.Context(), "sh", "-c", command)
	c.Dir, c.Env, c.SysProcAttr = s.folder, s.environment, &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	return processtest.Start(s.t, c)
}

// Command mutate applies the changes of mutations.txt, each of which breaks one rule of
// the code, one at a time to a copy of this tree, and runs the tests of the packages
// that own the code. It fails if the tests pass with a change, if a change does not
// build, or if the code that it replaces is not found.
//
//	go run ./scripts/mutate [-only ID,...] [-tests REGEXP] [-jobs N] [-limit DURATION] [-v]
package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

//go:embed mutations.txt
var list string

// The results that a mutation can have.
const (
	noticed  = "noticed"
	survived = "SURVIVED"
	lost     = "PLACE LOST"
	broken   = "NO BUILD" // the change is not valid Go or Lua, so a failing test proves nothing
	timedOut = "TIMED OUT"
)

var (
	only  = flag.String("only", "", "comma-separated `IDs` of the mutations to make (default all)")
	tests = flag.String("tests", "", "`regexp` of the tests to run (default all), for mutations that these must notice")
	jobs  = flag.Int("jobs", 1, "number of mutations tested at once, each in a copy of the tree")
	loud  = flag.Bool("v", false, "print what the failing tests print")
	limit = flag.Duration("limit", 5*time.Minute, "the longest that the tests of a package may take")
)

func main() {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	mutations, err := parse(list)
	if err != nil {
		return err
	}
	if *only != "" {
		ids := strings.Split(*only, ",")
		mutations = slices.DeleteFunc(mutations, func(m mutation) bool { return !slices.Contains(ids, m.id) })
		for _, id := range ids {
			if !slices.ContainsFunc(mutations, func(m mutation) bool { return m.id == id }) {
				return fmt.Errorf("-only: no mutation of the list has the id %q", id)
			}
		}
	}
	folder, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	// Tests that are ended leave their temporary folders behind.
	if err := os.Setenv("TMPDIR", folder); err != nil {
		return err
	}
	var copies []string
	for i := range max(1, *jobs) {
		copies = append(copies, filepath.Join(folder, fmt.Sprint(i)))
		if err := copyTree(ctx, copies[i]); err != nil {
			return err
		}
	}
	unchanged := mutation{id: "-", meaning: "Nothing is changed: all tests must pass"}
	for _, m := range mutations {
		unchanged.packages = append(unchanged.packages, m.packages...)
	}
	slices.Sort(unchanged.packages)
	unchanged.packages = slices.Compact(unchanged.packages)
	if counts := testAll(ctx, copies[:1], []mutation{unchanged}); counts[survived] == 0 {
		return errors.Join(ctx.Err(), errors.New("the tests fail before any change: -v prints why"))
	}
	counts := testAll(ctx, copies, mutations)
	fmt.Printf("mutations=%d noticed=%d survived=%d place_lost=%d no_build=%d timed_out=%d\n",
		len(mutations), counts[noticed], counts[survived], counts[lost], counts[broken], counts[timedOut])
	if ctx.Err() == nil && counts[noticed] < len(mutations) {
		return errors.New("the tests do not notice every mutation")
	}
	return ctx.Err()
}

// copyTree copies the files that git tracks or would add, with their current content.
func copyTree(ctx context.Context, to string) error {
	if err := os.Mkdir(to, 0o755); err != nil {
		return err
	}
	c := exec.CommandContext(ctx, "sh", "-c", `git ls-files -z --cached --others --exclude-standard |
		xargs -0 sh -c 'for f; do if [ -e "$f" ]; then printf "%s\0" "$f"; fi; done' - | tar -c --null -T - | tar -x -C "$0"`, to)
	c.Stderr = os.Stderr
	return c.Run()
}

// testAll tests the mutations in the copies of the tree, prints the result of each, and
// returns how often each result came.
func testAll(ctx context.Context, copies []string, mutations []mutation) map[string]int {
	counts := map[string]int{}
	var mu sync.Mutex // of counts and the output
	waiting := make(chan mutation, len(mutations))
	for _, m := range mutations {
		waiting <- m
	}
	close(waiting)
	var work sync.WaitGroup
	for _, folder := range copies {
		work.Go(func() {
			for m := range waiting {
				start := time.Now()
				result, detail := m.test(ctx, folder)
				if ctx.Err() != nil {
					return
				}
				mu.Lock()
				counts[result]++
				fmt.Printf("%-6s %-10s %5.0f s  %s%s\n", m.id, result, time.Since(start).Seconds(), m.meaning, detail)
				mu.Unlock()
			}
		})
	}
	work.Wait()
	return counts
}

// test makes the change in the copy in folder, runs the tests, and reverts it.
func (m mutation) test(ctx context.Context, folder string) (result, detail string) {
	files, err := m.apply(folder)
	for name, changed := range files {
		path := filepath.Join(folder, name)
		original, readErr := os.ReadFile(path)
		err = errors.Join(err, readErr, os.WriteFile(path, []byte(changed), 0o644))
		defer func() { _ = os.WriteFile(path, original, 0o644) }()
	}
	if err != nil {
		return lost, "\n" + err.Error()
	}
	for _, name := range m.packages {
		if output, err := testPackage(ctx, folder, name); err != nil {
			return judge(output)
		}
	}
	return survived, ""
}

// testPackage runs the tests of a package and ends them soon after the first one
// has failed: with a mutation, others may wait for ever.
func testPackage(ctx context.Context, folder, name string) (output string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := exec.CommandContext(ctx, "go", "test", "-v", "-failfast", "-vet=off", "-timeout", limit.String(), "-run", *tests, name)
	c.Dir, c.WaitDelay = folder, 10*time.Second
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGTERM) }
	text := &failureWatcher{failed: func() { time.AfterFunc(time.Second, cancel) }} // until it has printed why
	c.Stdout, c.Stderr = text, text
	err = c.Run()
	return text.output.String(), err
}

// A failureWatcher collects the output of tests and calls failed when the first
// one has failed.
type failureWatcher struct {
	output bytes.Buffer // not embedded: io.Copy would call its ReadFrom in the place of Write
	failed func()
}

func (w *failureWatcher) Write(p []byte) (int, error) {
	n, err := w.output.Write(p)
	if w.failed != nil && failedTest.Match(p) {
		w.failed()
		w.failed = nil
	}
	return n, err
}

var (
	failedTest  = regexp.MustCompile(`--- FAIL: \S+`)
	scriptError = regexp.MustCompile(`Error compiling script.*`)
)

// isSyntaxError reports whether an error of a script is not one that it met while it ran:
// the embedded server has the same words for both.
func isSyntaxError(text string) bool { return !strings.Contains(text, "stack traceback") }

// judge returns the result that the output of failed tests means.
func judge(output string) (result, detail string) {
	switch {
	case strings.Contains(output, "[build failed]"), slices.ContainsFunc(scriptError.FindAllString(output, -1), isSyntaxError):
		return broken, "\n" + output
	case strings.Contains(output, "panic: test timed out") && !failedTest.MatchString(output):
		result = timedOut // no test failed before
	default:
		result = noticed
	}
	if *loud {
		return result, "\n" + output
	}
	return result, "  " + failedTest.FindString(output)
}

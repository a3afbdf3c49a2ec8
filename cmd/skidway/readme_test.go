package main

import (
	"os"
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
	commands := 0
	for _, block := range consoles.FindAllStringSubmatch(string(readme), -1) {
		for part := range strings.SplitSeq(block[1], "$ ") {
			line, want, _ := strings.Cut(part, "\n")
			args, ours := strings.CutPrefix(line, "skidway ")
			if !ours {
				continue
			}
			if want != "" {
				args = strings.Replace(args, " logs ", " demo ", 1) // the demo's own folder
			}
			commands++
			p := command(t, folder, strings.Fields(args)...)
			p.Env = append(p.Env, "SKIDWAY_REDIS="+url)
			o := finish(t, p)
			if o.code != exitDone {
				t.Errorf("%s: exit code %d: %s", line, o.code, o.stderr)
			}
			if want != "" && !strings.HasPrefix(want, o.stdout) {
				t.Errorf("%s: printed\n%s\nbut the README says\n%s", line, o.stdout, want)
			}
		}
	}
	if commands < 7 {
		t.Errorf("only %d commands found", commands)
	}
}

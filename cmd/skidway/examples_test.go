package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evanw/esbuild/pkg/api"

	"skidway/cmd/skidway/internal/cli"
)

// program returns the path of a program, which is installed if it is missing.
func program(t testing.TB, name string, packages ...string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	if output, err := exec.Command("../../scripts/install.sh", append([]string{name}, packages...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// typescript writes a program without its types, which not every Node.js understands, and returns its path.
func typescript(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	result := api.Transform(string(text), api.TransformOptions{Loader: api.LoaderTS, Format: api.FormatESModule, Target: api.ESNext, Sourcefile: path})
	if len(result.Errors) > 0 {
		t.Fatalf("%+v", result.Errors)
	}
	return writeFile(t, "client.mjs", string(result.Code))
}

// writeFile writes a file into a folder of its own and returns its path.
func writeFile(t testing.TB, name, text string) string {
	t.Helper()
	folder := t.TempDir()
	write(t, folder, name, text)
	return filepath.Join(folder, name)
}

func TestExamplesUseTheAPI(t *testing.T) {
	t.Parallel()
	for name, words := range map[string][]string{
		"python":     {program(t, "python3"), "../../docs/examples/client.py"},
		"typescript": {program(t, "node", "apt-get=nodejs"), typescript(t, "../../docs/examples/client.ts")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newFixture(t)
			w := d.workerFixture("queues: [{name: mail}]\nkinds: {exec.run: {commands: {hello: {path: /bin/echo, args: [hello]}, fails: {path: /bin/false}}}}\n", "--serve", "127.0.0.1:0")
			s := d.server(w.worker, []string{"view:mail", "operate:mail", "enqueue:mail:exec.run"})
			client := func(args ...string) (output string, ok bool) {
				c := exec.CommandContext(t.Context(), words[0], append(words[1:len(words):len(words)], args...)...)
				c.Env = append(os.Environ(), "SKIDWAY_SERVER="+s.url, "SKIDWAY_TOKEN="+s.token)
				text, err := c.CombinedOutput()
				return string(text), err == nil
			}
			if output, ok := client("run", "mail", "exec.run", `{"command":"hello"}`); !ok || !strings.HasPrefix(output, "succeeded {") || !strings.Contains(output, "hello") {
				t.Errorf("run: %s", output)
			}
			if output, ok := client("run", "mail", "http.request", `{}`); ok || !strings.Contains(output, "forbidden: ") {
				t.Errorf("run of a kind that the token may not add: %s", output)
			}
			d.ends(d.run("enqueue", "mail", "exec.run", `{"command":"fails"}`, "--max-attempts", "1", "--wait"), cli.ExitFailed, "is dead")
			if output, ok := client("retry", "mail", `kind == "exec.run" && error contains "exit"`); !ok || !strings.HasPrefix(output, "mail:0:") || !strings.Contains(output, "\nretried 1\n") {
				t.Errorf("retry: %s", output)
			}
			if output, ok := client("retry", "mail", "nonsense"); ok || !strings.Contains(output, "invalid: ") {
				t.Errorf("retry with a wrong filter: %s", output)
			}
		})
	}
}

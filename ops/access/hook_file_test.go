package access

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestHooksAreReadAgainWhenAFileChanges(t *testing.T) {
	t.Parallel()
	f := &fixture{TB: t}
	folder := t.TempDir()
	path, secret := filepath.Join(folder, "hooks.yaml"), filepath.Join(folder, "secret")
	hook := func(name string) string {
		return "hooks: [{name: " + name + ", scheme: github, secrets: ['@" + secret + "'], queue: ci, kind: ci.push}]\n"
	}
	writeFile(t, secret, "0123456789abcdef\n", 0o600)
	writeFile(t, path, hook("ci"), 0o600)
	var log bytes.Buffer
	hooks, err := OpenHooks(path, slog.New(slog.NewTextHandler(&log, nil)))
	f.must(err)
	now := time.Now()
	hooks.file.now = func() time.Time {
		now = now.Add(filesChecked)
		return now
	}
	if h, found := hooks.Lookup("ci"); !found || h.Secrets[0] != "0123456789abcdef" {
		t.Fatalf("%+v, %t", h, found)
	}
	writeFile(t, secret, "fedcba9876543210fedcba\r\n", 0o600)
	if h, _ := hooks.Lookup("ci"); h.Secrets[0] != "fedcba9876543210fedcba" {
		t.Errorf("the secret is %q", h.Secrets)
	}
	writeFile(t, path, hook("other"), 0o600)
	if _, found := hooks.Lookup("other"); !found || hooks.Err() != nil {
		t.Error(found, hooks.Err())
	}
	if _, found := hooks.Lookup("ci"); found {
		t.Error("ci was removed")
	}
	for _, broken := range []string{"hooks: [", hook("bad name"), strings.ReplaceAll(hook("other"), "@", "")} {
		writeFile(t, path, broken, 0o600)
		if _, found := hooks.Lookup("other"); !found || hooks.Err() == nil {
			t.Errorf("%q: %t, %v", broken, found, hooks.Err())
		}
	}
	if !strings.Contains(log.String(), "the hooks stay as they were") {
		t.Errorf("the log is %q", &log)
	}
	writeFile(t, path, hook("new"), 0o600)
	if _, found := hooks.Lookup("new"); !found || hooks.Err() != nil {
		t.Error(found, hooks.Err())
	}
}

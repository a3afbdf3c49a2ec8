package main

import (
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"skidway/internal/processtest"
)

// asOtherUser runs a script of bash and returns its output. Root runs it as a user of another uid. Other
// users can't: with their own uid it can do more, and must not be let in either.
func asOtherUser(t *testing.T, script string) string {
	t.Helper()
	bash := exec.CommandContext(t.Context(), "bash", "-c", script)
	bash.Dir, bash.Env = "/", []string{"PATH=" + os.Getenv("PATH")}
	if os.Geteuid() == 0 {
		bash.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	output, err := bash.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", script, err, output)
	}
	return string(output)
}

func TestOtherLocalUsersAreNotLetIn(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	if uid := strings.TrimSpace(asOtherUser(t, "id -u")); os.Geteuid() == 0 && uid != "65534" {
		t.Fatalf("the other user has the uid %s", uid)
	}
	p := processtest.Start(d, command(d, d.TempDir(), "dash", "--listen", "127.0.0.1:0", "--redis", d.url))
	d.Cleanup(func() { p.Signal(syscall.SIGTERM); _, _ = p.End() })
	p.Await("/login?code=")
	printed, err := url.Parse(regexp.MustCompile(`http://\S+/login\S+`).FindString(p.Output()))
	if err != nil {
		t.Fatal(err)
	}
	// Requests of the other user arrive at the same address as those of this one.
	get := func(path string) string {
		t.Helper()
		return asOtherUser(t, fmt.Sprintf(`exec 3<>/dev/tcp/127.0.0.1/%s; printf 'GET %s HTTP/1.0\r\nHost: %s\r\nAccept: text/html\r\n\r\n' >&3; cat <&3`, printed.Port(), path, printed.Host))
	}
	refused := func(claim, path string) {
		t.Helper()
		if answer := get(path); strings.HasPrefix(answer, "HTTP/1.0 200") || strings.Contains(answer, "Set-Cookie") {
			t.Errorf("%s: %s", claim, answer)
		}
	}
	for _, path := range []string{"/", "/queues", "/settings", "/login?code=", "/login?code=" + strings.Repeat("x", len(printed.Query().Get("code")))} {
		refused("without the code", path)
	}
	// What all users may see of the process does not have the code.
	shown := asOtherUser(t, fmt.Sprintf("for file in cmdline environ status; do cat /proc/%d/$file 2>/dev/null; done; true", p.PID()))
	if strings.Contains(shown, printed.Query().Get("code")) || !strings.Contains(shown, "dash") {
		t.Errorf("the process shows %q", shown)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Client{Jar: jar}).Get(printed.String())
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK || response.Request.URL.Path != "/" {
		t.Fatalf("the code leads to %s: %d", response.Request.URL, response.StatusCode)
	}
	refused("with the code that was used", printed.RequestURI())
	refused("while another user is logged in", "/")
}

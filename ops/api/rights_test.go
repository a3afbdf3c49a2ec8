package api_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"skidway/internal/handle"
	"skidway/internal/redistest"
	"skidway/ops/access"
	"skidway/ops/api"
)

// passwordHash is a hash that a file of users may have. No test logs in with it.
const passwordHash = "$2a$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy"

// usersOf returns the users of a file with such entries, in its order.
func usersOf(t *testing.T, entries ...string) []access.User {
	t.Helper()
	text := "users:\n"
	for i, entry := range entries {
		text += fmt.Sprintf("  - {name: user%d, password: %q, %s}\n", i, passwordHash, entry)
	}
	path := filepath.Join(t.TempDir(), "users.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	users, err := access.ReadUsers(path)
	if err != nil {
		t.Fatal(err)
	}
	return users
}

// statusFor returns the status of the answer to a request of a principal.
func (f *fixture) statusFor(p *access.Principal, method, path string, body any) int {
	f.Helper()
	for {
		r := f.request(method, path, body)
		w := httptest.NewRecorder()
		f.handler.ServeHTTP(w, r.WithContext(access.NewContext(f.Context(), p)))
		if w.Code >= http.StatusInternalServerError {
			f.Errorf("%s %s: %d %s%s", method, path, w.Code, w.Body, f.log)
		}
		if w.Code != http.StatusTooManyRequests { // the searches of a busy machine seem to take long
			return w.Code
		}
	}
}

// actionsOfRoles has the actions that each role must have, and no others.
var actionsOfRoles = map[string][]access.Action{
	"view":    {access.View},
	"operate": {access.View, access.Operate, access.Enqueue},
	"admin":   {access.View, access.Operate, access.Enqueue, access.Admin},
}

func TestEveryRouteIsForUsersOfItsRoleAndQueue(t *testing.T) {
	t.Parallel()
	f := setup(t)
	var entries []string
	for role := range actionsOfRoles {
		for _, queues := range []string{"", ", queues: [mail]", ", queues: ['ma*', other]", ", queues: [other]", ", queues: ['*']"} {
			for _, rest := range []string{"", ", reveal: true", ", scale: true", ", kinds: [none.*]"} {
				entries = append(entries, "role: "+role+queues+rest)
			}
		}
	}
	for _, user := range usersOf(t, entries...) {
		p := user.Principal()
		all := len(user.Queues) == 0 || user.Queues[0] == "*"
		mail := all || user.Queues[0] != "other"
		for _, row := range api.Rows() {
			want := row.Everyone || (all || row.Some || !row.All && mail) &&
				(slices.Contains(actionsOfRoles[user.Role], row.Action) || user.Scale && row.Action == access.Scale)
			if strings.Contains(row.Path, "{worker}") && !all {
				continue // it needs all queues of the worker
			}
			status := f.statusFor(p, row.Method, example.Replace(row.Path), nil)
			if allowed := status != http.StatusForbidden; allowed != want {
				t.Errorf("%s %s of %s, queues %q, kinds %q, reveal %t, scale %t: %d, allowed should be %t", row.Method, row.Path, user.Role, user.Queues, user.Kinds, user.Reveal, user.Scale, status, want)
			}
		}
	}
}

func TestEveryRouteThatAddsJobsIsForUsersOfTheKind(t *testing.T) {
	t.Parallel()
	f := setup(t)
	users := usersOf(t, "role: admin", "role: admin, kinds: ['*']", "role: admin, kinds: [email.*]", "role: operate, kinds: [report.make]", "role: admin, kinds: ['*', email.send]")
	// The kinds of each user, of those below. A pattern "*" does not have email.send, which sends mail.
	kinds := [][]string{{"report.make"}, {"report.make"}, {"email.send"}, {"report.make"}, {"report.make", "email.send"}}
	adds := map[string]string{ // bodies by method and path
		"POST /api/v1/queues/mail/jobs":        `{"kind":"KIND"}`,
		"POST /api/v1/jobs":                    `{"jobs":[{"queue":"mail","kind":"KIND"}]}`,
		"POST /api/v1/jobs/ID/copy":            `{}`,
		"PUT /api/v1/queues/mail/schedules/s":  `{"expression":"@daily","kind":"KIND"}`,
		"POST /api/v1/queues/other/jobs":       `{"kind":"KIND"}`,
		"PUT /api/v1/queues/other/schedules/s": `{"expression":"@daily","kind":"KIND"}`,
	}
	changes := []string{"retry", "run-now", "cancel", "priority"} // the job was accepted before
	for i, user := range users {
		for _, kind := range []string{"report.make", "email.send"} {
			id := f.add("mail", kind, `{}`)
			for add, body := range adds {
				method, path, _ := strings.Cut(add, " ")
				want := slices.Contains(kinds[i], kind) && !(method == http.MethodPut && user.Role == "operate")
				for _, then := range []bool{false, true} {
					body := strings.ReplaceAll(body, "KIND", kind)
					if then {
						if !strings.Contains(body, "kind") {
							continue // a copy has the jobs that follow the job
						}
						body = strings.ReplaceAll(body, `"kind":"`+kind+`"`, `"kind":"`+kinds[i][0]+`","then":[{"kind":"`+kind+`"}]`)
					}
					status := f.statusFor(user.Principal(), method, strings.ReplaceAll(path, "ID", id), body)
					if allowed := status < 300; allowed != want || !allowed && status != http.StatusForbidden {
						t.Errorf("%s %s with kinds %q: %s: %d, allowed should be %t", user.Role, add, user.Kinds, body, status, want)
					}
				}
			}
			for _, change := range changes {
				if status := f.statusFor(user.Principal(), "POST", "/api/v1/jobs/"+id+"/"+change, nil); status == http.StatusForbidden {
					t.Errorf("kinds %q: %s of %s is refused", user.Kinds, change, kind)
				}
			}
		}
	}
}

func TestHiddenValuesAreForUsersWithReveal(t *testing.T) {
	t.Parallel()
	f := setup(t)
	id := f.add("mail", "news", `{"token":"hush"}`)
	for i, user := range usersOf(t,
		"role: admin", "role: operate, reveal: true, queues: [other]", "role: view, reveal: true", "role: operate, reveal: true", "role: operate, reveal: true, queues: [mail]",
	) {
		want := map[bool]int{true: http.StatusCreated, false: http.StatusForbidden}[i > 2]
		if status := f.statusFor(user.Principal(), "POST", "/api/v1/jobs/"+id+"/copy", `{"args":{"token":"[hidden]"}}`); status != want {
			t.Errorf("%s, queues %q, reveal %t: a copy: %d, want %d", user.Role, user.Queues, user.Reveal, status, want)
		}
		r := f.request("GET", "/api/v1/jobs/"+id, nil)
		w := httptest.NewRecorder()
		f.handler.ServeHTTP(w, r.WithContext(access.NewContext(f.Context(), user.Principal())))
		if strings.Contains(w.Body.String(), "hush") {
			t.Errorf("%s, reveal %t: %s", user.Role, user.Reveal, w.Body)
		}
	}
}

func TestEveryRouteIsForTheHostsOfTheServer(t *testing.T) {
	t.Parallel()
	f := setupOn(t, redistest.DB(t), api.Config{})
	gate, err := access.NewGate(handle.New(f.db), access.GateConfig{Hosts: []string{"jobs.example.com"}, NoLogin: true, Hooks: true})
	f.must(err)
	handler := gate.Handler(f.handler)
	rows := append(api.Rows(), api.Row{Method: "POST", Path: "/hooks/ci"}, api.Row{Method: "GET", Path: "/metrics"}, api.Row{Method: "GET", Path: "/no/such/path"},
		api.Row{Method: "GET", Path: "/healthz"}, api.Row{Method: "GET", Path: "/readyz"})
	for _, row := range rows {
		for host, known := range map[string]bool{
			"127.0.0.1:8470": true, "localhost": true, "[::1]:1": true, "jobs.example.com": true,
			"evil.example": false, "127.0.0.1.evil.example:8470": false, "192.0.2.1": false, "": false,
		} {
			r := httptest.NewRequestWithContext(t.Context(), row.Method, example.Replace(row.Path), nil)
			r.Host = host
			if row.Path == "/api/v1/events" {
				r.URL.RawQuery = "queue=none" // no stream begins
			}
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			exempt := row.Path == "/healthz" || row.Path == "/readyz"
			if refused := w.Code == http.StatusMisdirectedRequest; refused == (known || exempt) {
				t.Errorf("%s %s of host %q: %d", row.Method, row.Path, host, w.Code)
			}
		}
	}
}

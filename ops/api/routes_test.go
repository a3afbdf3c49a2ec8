package api_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"skidway/internal/redistest"
	"skidway/ops/access"
	"skidway/ops/api"
)

// example replaces the values in the path of a route.
var example = strings.NewReplacer("{queue}", "mail", "{id}", "mail:0:n1-1", "{worker}", "w", "{schedule}", "s", "{channel}", "c", "{chat}", "g")

var actions = []access.Action{access.View, access.Operate, access.Enqueue, access.Admin, access.Reveal, access.Scale}

func TestEveryRouteNeedsItsActionForItsQueue(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for _, row := range api.Rows() {
		for _, action := range actions {
			for _, pattern := range []string{"mail", "other", "*"} {
				want := row.Everyone || action == row.Action && (pattern == "*" || row.Some || !row.All && pattern == "mail")
				scopes := []string{string(action) + ":" + pattern}
				if strings.HasSuffix(row.Path, "/copy") { // it shows the job too
					scopes = append(scopes, "view:"+pattern)
				}
				r := f.as(scopes...).request(row.Method, example.Replace(row.Path), nil)
				recorder := httptest.NewRecorder()
				f.handler.ServeHTTP(recorder, r)
				allowed := recorder.Code != http.StatusForbidden
				// Signals need all queues of the worker, so some queue does not suffice.
				if worker := strings.Contains(row.Path, "{worker}"); allowed != want && (!worker || pattern == "*") {
					t.Errorf("%s %s with %s:%s: %d, allowed should be %t", row.Method, row.Path, action, pattern, recorder.Code, want)
				}
				if recorder.Code == http.StatusInternalServerError {
					t.Errorf("%s %s: %s", row.Method, row.Path, f.log)
				}
			}
		}
	}
}

func TestOtherMethodsAreRefused(t *testing.T) {
	t.Parallel()
	f := setup(t)
	methods := map[string][]string{}
	for _, row := range api.Rows() {
		methods[row.Path] = append(methods[row.Path], row.Method)
	}
	for path, known := range methods {
		if slices.Contains(known, "GET") {
			known = append(known, "HEAD")
		}
		slices.Sort(known)
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "get"} {
			if slices.Contains(known, method) {
				continue
			}
			a := f.send(f.request(method, example.Replace(path), nil), http.StatusMethodNotAllowed)
			if allow := a.Header.Get("Allow"); allow != strings.Join(known, ", ") {
				t.Errorf("%s %s: Allow %q, want %v", method, path, allow, known)
			}
		}
	}
}

func TestOddPathsAreNotFound(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for _, path := range []string{
		"/", "/api/v1", "/api/v1/", "/api/v2/queues", "/api/v1/queues/", "/api/v1//queues", "/api/v1/queues/mail/", "/api/v1/queues//jobs", "/api/v1/queues/mail/../../whoami",
		"/api/v1/Queues", "/api/v1/queues%2Fmail", "/api/v1/%77hoami", "/healthz",
	} {
		f.send(f.request("GET", path, nil), http.StatusNotFound).problem("not-found")
	}
	for path, status := range map[string]int{
		"/api/v1/queues/..": 404, "/api/v1/queues/%2e%2e": 404, // a valid name, of which there is no queue
		"/api/v1/queues/a%2Fb": 403, "/api/v1/queues/%0D%0A": 403, // no scope has what is no name
	} {
		if a := f.send(f.request("DELETE", path, nil), status); a.Header.Get("Location") != "" {
			t.Errorf("%s is redirected", path)
		}
	}
}

func TestUnknownPrincipalsAreRefused(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for _, row := range api.Rows() {
		r := httptest.NewRequest(row.Method, example.Replace(row.Path), nil)
		f.send(r, http.StatusForbidden).problem("forbidden")
	}
	f = setupOn(t, redistest.DB(t), api.Config{Authorize: func(r *http.Request) (*access.Principal, error) {
		if r.Header.Get("Authorization") == "" {
			return nil, errors.New("no token")
		}
		return f.principal(), nil
	}})
	r := httptest.NewRequest("GET", "/api/v1/whoami", nil)
	a := f.send(r, http.StatusUnauthorized)
	a.problem("unauthorized")
	if a.Header.Get("WWW-Authenticate") == "" {
		t.Error("no WWW-Authenticate")
	}
	r.Header.Set("Authorization", "Bearer x")
	if who := into[api.Whoami](f.send(r, http.StatusOK)); who.Name != "robot" || len(who.Scopes) != len(admin) {
		t.Errorf("%+v", who)
	}
}

func TestDocumentNamesEachRoute(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for line := range strings.Lines(string(text)) {
		if row, _, found := strings.Cut(strings.TrimPrefix(line, "| "), " | "); found {
			rows = append(rows, row)
		}
	}
	for _, row := range api.Rows() {
		parts := strings.Split(row.Path, "/")
		for strings.HasPrefix(parts[len(parts)-1], "{") {
			parts = parts[:len(parts)-1]
		}
		name := regexp.MustCompile(`\b` + regexp.QuoteMeta(parts[len(parts)-1]) + `\b`)
		if !slices.ContainsFunc(rows, func(r string) bool { return strings.Contains(r, row.Method) && name.MatchString(r) }) {
			t.Errorf("no row of docs/api.md has %s %s", row.Method, row.Path)
		}
	}
}

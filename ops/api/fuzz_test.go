package api_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// FuzzBodies sends bodies to all routes that take one: none may be answered with 500.
func FuzzBodies(f *testing.F) {
	for _, body := range []string{`{"kind":"news","then":[{"kind":"x"}]}`, `{"jobs":[{"kind":"a"}]}`, `{"action":"retry","state":"dead","dry_run":true}`, `{"expression":"@daily","kind":"x"}`, `[[[`, `{"a":1}{`, "\xff"} {
		f.Add([]byte(body))
	}
	s := setup(f)
	s.add("mail", "news", `{}`)
	f.Fuzz(func(t *testing.T, body []byte) {
		s := s.in(t)
		for _, path := range []string{
			"POST /queues/mail/jobs", "POST /jobs", "POST /jobs/mail:0:n1-1/copy", "POST /jobs/mail:0:n1-1/reschedule", "POST /queues/mail/operations", "POST /queues/mail/purge",
			"PUT /queues/mail/schedules/s", "PUT /queues/mail/retention",
		} {
			recorder := httptest.NewRecorder()
			method, path, _ := strings.Cut(path, " ")
			r := s.request(method, "/api/v1"+path, string(body))
			s.handler.ServeHTTP(recorder, r)
			if recorder.Code == http.StatusInternalServerError {
				t.Errorf("%s: %q: %s", path, body, s.log)
			}
		}
	})
}

// FuzzCursors reads lists with cursors: those that are damaged are refused.
func FuzzCursors(f *testing.F) {
	s := setup(f)
	s.die("mail", "news", `1`, `2`)
	for _, cursor := range []string{"", "AAAAAAAAAAAA", "Ylavllyjd2FpdGluZ3w2IDE3OTU0MTc3MDk1MDYtMCAxNzk1NDE3NzA5NTA2LTA"} {
		f.Add(cursor)
	}
	f.Fuzz(func(t *testing.T, cursor string) {
		s := s.in(t)
		for _, path := range []string{"/queues", "/queues/mail/jobs", "/operations", "/audit"} {
			r := s.request("GET", "/api/v1"+path, nil)
			query := r.URL.Query()
			query.Set("cursor", cursor)
			r.URL.RawQuery = query.Encode()
			recorder := httptest.NewRecorder()
			s.handler.ServeHTTP(recorder, r)
			if code := recorder.Code; code != 200 && code != 400 && code != 429 {
				t.Errorf("%s: %q: %d: %s%s", path, cursor, code, recorder.Body, s.log)
			}
		}
	})
}

// in returns the fixture for a part of its test.
func (f *fixture) in(t testing.TB) *fixture {
	other := *f
	other.TB = t
	return &other
}

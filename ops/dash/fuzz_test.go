package dash_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"skidway/internal/redistest"
	"skidway/queue"
)

// FuzzRequests sends requests with any path, query and form. No answer may be a panic or an error of the server.
func FuzzRequests(f *testing.F) {
	s := setup(f, redistest.DB(f))
	id := s.add("mail", "email.send", `{"to":"ada"}`, queue.Options{})
	for _, address := range []string{
		"/", "/queues/mail?range=century", "/queues/-?queue=..", "/queues/%2e%2e", "/queues/{}", "/jobs?queue=mail&state=none&text=%ff", "/jobs?match=)(", "/jobs?cursor=x&queue=mail", "/jobs?since=yesterday&within=-1h",
		"/jobs/" + id, "/jobs/:0:", "/jobs/a:b:c-d", "/jobs/" + id + "/copy", "/jobs/question?all=1&do=none&state=dead&queue=mail&match=1", "/jobs/question?do=retry&id=x", "/jobs/export?format=xml&queue=mail", "/errors?queue=none&kind=%00&text=[", "/errors?to=9999-12-31T23:59:59Z", "/queues/mail?to=2001-01-01T00:00:00Z&range=hour", "/queues/mail?to=%00",
		"/workers?x", "/operations", "/schedules/edit?queue=mail&name=none", "/schedules/edit?queue={&name=", "/enqueue?queue=*&kind=", "/channels", "/counts?channel={x}&subscriber=&from=1&to=0", "/chats?chat={}&member=%ff", "/chats?member=", "/audit?cursor=x&before=-1", "/redis", "/settings", "/assets/..", "/none",
	} {
		f.Add(false, address, "")
	}
	for address, form := range map[string]string{
		"/queues/mail/pause": "note=%ff", "/queues/{/resume": "", "/queues/mail/retention": "dead_jobs=-1&results_days=9223372036854775807",
		"/jobs/change": "do=delete&state=dead&queue=mail&match=(&as_of=x&count=-1", "/jobs/" + id + "/reschedule": "in=x&at=y", "/jobs/" + id + "/priority": "priority=9", "/jobs/" + id + "/copy": "queue={}&args={", "/jobs/x/delete": "",
		"/workers/signal": "worker=&do=stop", "/operations/change": "id=x&do=y", "/enqueue": "queue=&kind=&args=%00&delay=x", "/schedules/put": "name=&queue={&expr=x&zone=../..", "/schedules/change": "queue=mail&name=&do=run",
		"/channels/window": "channel={&window=9e99EB", "/channels/drop": "channel=&subscriber=&name=", "/chats/drop": "chat={}&member=", "/settings": "zone=Local&theme=x&keys=&back=/%5C",
	} {
		f.Add(true, address, form)
	}
	f.Fuzz(func(t *testing.T, post bool, address, form string) {
		target, err := url.ParseRequestURI(address)
		if err != nil || !strings.HasPrefix(address, "/") || target.Path == "/live" {
			return // no server would get it; streams have no end
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		r := formRequest(ctx, "/", nil)
		if post {
			r = httptest.NewRequestWithContext(ctx, http.MethodPost, "/", strings.NewReader(form))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		} else {
			r.Method = http.MethodGet
		}
		r.URL, r.RequestURI = target, address
		w := httptest.NewRecorder()
		s.dash.ServeHTTP(w, r)
		if w.Code == http.StatusInternalServerError {
			t.Errorf("POST %t %q with %q: %.600s", post, address, form, w.Body)
		}
	})
}

package dash_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"skidway/internal/redistest"
)

func TestEnqueueFormAddsOnlyAllowedKinds(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	f.want(f.get("/enqueue?queue="+url.QueryEscape(attack)), http.StatusOK, "Enqueue a job", "&lt;img")
	form := url.Values{"queue": {"mail"}, "kind": {"email.send"}, "args": {`{"n": 9007199254740993}`}, "priority": {"high"}, "at": {"2h"}, "unique": {"one"}}
	f.want(f.follow(f.post("/enqueue", form)), http.StatusOK, "is added.", "9007199254740993", "<dd>high</dd>", "delayed", "<code>one</code>")
	f.want(f.follow(f.post("/enqueue", form)), http.StatusOK, "Not done:")
	form.Set("args", "{")
	f.want(f.follow(f.post("/enqueue", form)), http.StatusOK, "The args are not JSON.")
	form.Set("args", "{}")
	form.Set("kind", "exec.run")
	f.want(f.follow(f.post("/enqueue", form)), http.StatusOK, "not allowed: it needs the scope enqueue:mail:exec.run")
	if entries, _, err := f.audit.List(t.Context(), "", 10); err != nil || len(entries) != 4 || entries[3].Action != "enqueue" || entries[3].Who != "anna" {
		t.Errorf("the audit has %+v, %v", entries, err)
	}
	f.who = principal(t, "view:*", "operate:*")
	f.want(f.post("/enqueue", form), http.StatusForbidden)
	if page := f.get("/queues"); strings.Contains(page.body, `href="/enqueue"`) {
		t.Error("the form is in the list of pages of who may not enqueue")
	}
}

package dash_test

import (
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"skidway/internal/redistest"
	"skidway/ops/access"
)

func TestChangeWhoseEndIsOnAnotherPageIsNotShownAsUnfinished(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	end, err := f.audit.Begin(t.Context(), access.Entry{Who: "anna", Action: "pause", Queue: "begun"})
	f.must(err)
	_, err = f.audit.Begin(t.Context(), access.Entry{Who: "anna", Action: "pause", Queue: "unfinished"})
	f.must(err)
	for range 499 {
		f.must(f.audit.Record(t.Context(), access.Entry{Who: "anna", Action: "login", Outcome: "done"}))
	}
	f.must(end(nil, 0))
	first := f.get("/audit")
	f.want(first, http.StatusOK, "begun")
	next := regexp.MustCompile(`href="(/audit\?[^"]*cursor=[^"]*)"`).FindStringSubmatch(first.body)
	if next == nil {
		t.Fatalf("there is no page of older entries: %s", first.body)
	}
	older := f.get(html.UnescapeString(next[1]))
	f.want(older, http.StatusOK, "unfinished")
	if n := strings.Count(older.body, "data-row="); n != 1 {
		t.Errorf("%d rows of older entries, want 1", n)
	}
}

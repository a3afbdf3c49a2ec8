package dash_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"skidway/internal/redistest"
	"skidway/queue"
	"skidway/workers/stats"
)

// count adds failed attempts to the statistics of a queue.
func (f *fixture) count(name, kind, reason string, retried, died int) {
	f.Helper()
	q, err := f.queues.Queue(name)
	f.must(err)
	collector := stats.NewCollector(stats.Config{Client: f.queues, Pool: "p-" + name + kind + reason})
	collector.Counter(q).Add(func(yield func(stats.End) bool) {
		for i := range retried + died {
			end := stats.End{Job: &queue.Job{ID: name + ":0:n1-0", Kind: kind}, Disposition: queue.AttemptRetry, Error: reason}
			if i >= retried {
				end.Disposition = queue.AttemptDead
			}
			if !yield(end) {
				return
			}
		}
	})
	f.must(collector.Flush(f.Context()))
}

// age makes the group of an error older.
func (f *fixture) age(name, reason string, by time.Duration) {
	f.Helper()
	key := f.redis.Prefix() + ":{" + name + ":0}:errors"
	groups, err := f.redis.HGetAll(f.Context(), key).Result()
	f.must(err)
	for id, group := range groups {
		if numbers := strings.SplitN(group, " ", 4); strings.Contains(group, "\n"+reason+"\n") {
			first, err := strconv.ParseInt(numbers[2], 10, 64)
			f.must(err)
			numbers[2] = strconv.FormatInt(first-by.Milliseconds(), 10)
			f.must(f.redis.HSet(f.Context(), key, id, strings.Join(numbers, " ")).Err())
		}
	}
}

const attack = `<script>alert(1)</script>"'><img src=x onerror=alert(2)>`

func TestErrorsAreGroupedByDeathsAndRetried(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	f.add("mail", "email.send", `{}`, queue.Options{})
	f.add("mail", "email.send", `{}`, queue.Options{})
	f.bury("mail", "connection to 10.0.0.7 refused")
	f.add("mail", "email.send", `{}`, queue.Options{})
	f.bury("mail", "another error")
	f.add("docs", "pdf", `{}`, queue.Options{})
	f.count("mail", "email.send", "connection to 10.0.0.8 refused", 40, 2)
	f.count("docs", "pdf", attack, 1, 3)
	f.count("docs", "pdf", "slow", 90, 0)

	page := f.get("/errors")
	f.want(page, http.StatusOK, "3 groups of failed attempts", "attempts fail still", "3 are new in these 24 hours.", ">new, first seen ", "failed attempts in 24 hours: 42; deaths: 2", `class="hot"`, "connection to &lt;address&gt; refused", `aria-current="page" data-key="e"`)
	f.want(f.get("/errors?queue=docs&kind=pdf&text=the+slow&to=2999-01-01T00:00:00Z"), http.StatusOK, "skidway errors list docs --kind pdf --text &#39;the slow&#39; --to 2999-01-01T00:00:00Z<")
	if order := regexp.MustCompile(`<b><span[^>]*>3</span></b>(?s:.*)<b><span[^>]*>2</span></b>(?s:.*)slow`); !order.MatchString(page.body) {
		t.Errorf("the groups are not in the order of their deaths: %s", page.body)
	}
	if strings.Contains(page.body, "<img") || strings.Contains(page.body, "<script>alert") {
		t.Errorf("an error is in the page as HTML: %s", page.body)
	}
	f.age("docs", attack, 48*time.Hour)
	newest := f.get("/errors?order=first")
	f.want(newest, http.StatusOK, "2 are new in these 24 hours.", `<option value="first" selected>`)
	if strings.Index(newest.body, "alert(") < strings.Index(newest.body, ">slow</a>") || strings.Count(newest.body, ">new, first seen") != 2 {
		t.Errorf("the groups are not in the order of their first attempts: %s", newest.body)
	}
	if a := f.get("/errors?queue=mail&kind=email.send&text=REFUSED"); strings.Contains(a.body, "slow") || !strings.Contains(a.body, "1 group of") {
		t.Errorf("the filter is not used: %s", a.body)
	}
	f.want(f.get("/errors?queue=none"), http.StatusNotFound)
	for query, looked := range map[string]string{"kind=other": "Looked at 3 groups of 2 queues.", "queue=docs&text=refused": "Looked at 2 groups of 1 queue.", "queue=mail&to=2001-01-01T00:00:00Z": "Looked at 1 group of 1 queue."} {
		a := f.get("/errors?" + query)
		f.want(a, http.StatusOK, "No group matches", looked, `href="/errors">Clear the filter</a>`)
		if strings.Contains(a.body, "No attempt has failed") {
			t.Errorf("%s: it says that nothing has failed: %s", query, a.body)
		}
	}

	link := regexp.MustCompile(`href="(/jobs/question[^"]*queue=mail[^"]*)"`).FindStringSubmatch(page.body)
	question := f.get(html.UnescapeString(link[1]))
	f.want(question, http.StatusOK, "Retry 2 dead jobs? (mail)", "Retry 2 jobs</button>", "Attempts still fail", `shape ==`)
	a := f.post("/jobs/change", hidden(question.body, "/jobs/change"))
	if a.Header.Get("Location") != "/errors" {
		t.Errorf("it leads to %q", a.Header.Get("Location"))
	}
	f.want(f.follow(a), http.StatusOK, "2 jobs run again.")

	f.who = principal(t, "view:docs")
	page = f.get("/errors")
	f.want(page, http.StatusOK, "slow", `disabled title="Your role may not operate here"`)
	if strings.Contains(page.body, "refused") || strings.Contains(page.body, "mail") {
		t.Errorf("the errors of a queue are shown to who may not see it: %s", page.body)
	}
	f.want(f.get("/errors?queue=mail"), http.StatusForbidden)
	f.want(f.get("/errors?"+url.Values{"text": {attack}}.Encode()), http.StatusOK, html.EscapeString("<script>alert(1)"))
}

package dash_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"skidway"
	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/ops/access"
	"skidway/ops/dash"
	"skidway/ops/dash/internal/words"
	"skidway/queue"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// The dashboard below a path of another server, for administrators of the program itself.
func ExampleNew() {
	db, err := skidway.Open(context.Background(), "embedded:", nil) // or "redis://127.0.0.1:6379/0"
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	scopes, err := access.ParseScopes([]string{"view:*", "operate:*"})
	if err != nil {
		log.Fatal(err)
	}
	pages, err := dash.New(db, dash.Config{Authorize: func(r *http.Request) (*access.Principal, error) {
		return &access.Principal{Name: "anna", Scopes: scopes}, nil // by the session of the program
	}})
	if err != nil {
		log.Fatal(err)
	}
	defer pages.Close()
	mux := http.NewServeMux()
	mux.Handle("/jobs/", http.StripPrefix("/jobs", pages))
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/jobs/queues", nil))
	fmt.Println(w.Code, strings.Contains(w.Body.String(), "There is no queue yet"))
	// Output: 200 true
}

// A fixture is a dashboard over a Redis of its own.
type fixture struct {
	testing.TB
	dash   *dash.Dash
	queues *queue.Client
	audit  *access.Audit
	redis  *rdb.DB
	who    *access.Principal // who makes the requests
}

// principal returns a principal with scopes.
func principal(t testing.TB, scopes ...string) *access.Principal {
	t.Helper()
	parsed, err := access.ParseScopes(scopes)
	if err != nil {
		t.Fatal(err)
	}
	return &access.Principal{Name: "anna", Proven: true, Scopes: parsed}
}

func setup(t testing.TB, db *rdb.DB) *fixture {
	t.Helper()
	f := &fixture{TB: t, redis: db, who: principal(t, "view:*", "operate:*", "enqueue:*", "enqueue:*:email.*", "admin:*")}
	queues, err := queue.NewClient(handle.New(db), nil)
	f.must(err)
	f.queues, f.audit = queues, access.NewAudit(queues.DB(), slog.New(slog.DiscardHandler))
	f.dash, err = dash.New(queues.DB(), dash.Config{Logger: slog.New(slog.DiscardHandler), Authorize: func(*http.Request) (*access.Principal, error) { return f.who, nil }})
	f.must(err)
	t.Cleanup(func() { f.must(f.dash.Close()) })
	return f
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// add enqueues a job.
func (f *fixture) add(name, kind, args string, options queue.Options) string {
	f.Helper()
	options.Queue = name
	id, err := f.queues.Enqueue(f.Context(), queue.Raw(kind, []byte(args)), &options)
	f.must(err)
	return id
}

// An answer is the answer to a request.
type answer struct {
	*http.Response
	body string
}

// send sends a request to a handler as a browser does for its own pages.
func send(t testing.TB, handler http.Handler, r *http.Request) answer {
	t.Helper()
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	response := w.Result()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response, string(body)}
}

// getOnce gets a page as it is, also where its search ended early.
func (f *fixture) getOnce(path string) answer {
	f.Helper()
	return send(f, f.dash, httptest.NewRequestWithContext(f.Context(), http.MethodGet, path, nil))
}

// get gets a page. A busy machine may end its search early, or searches may have used their share of Redis's
// time: then the page is read again.
func (f *fixture) get(path string) answer {
	f.Helper()
	for range 60 {
		a := f.getOnce(path)
		if a.StatusCode == http.StatusTooManyRequests {
			f.must(rdb.Sleep(f.Context(), time.Second))
		} else if !endedEarly.MatchString(a.body) {
			return a
		}
	}
	f.Fatalf("the search for %s never ends", path)
	return answer{}
}

// endedEarly matches what a page says of a search that has not looked at all jobs.
var endedEarly = regexp.MustCompile(`shown\. Looked at [\d,]+ of`)

// awaitPage loads a page until it is as it should be: the sampler has not read all at first.
func (f *fixture) awaitPage(path string, ready func(body string) bool) {
	f.Helper()
	a := f.get(path)
	for deadline := time.Now().Add(5 * time.Minute); a.StatusCode != http.StatusOK || !ready(a.body); a = f.get(path) {
		if time.Now().After(deadline) {
			f.Fatalf("%s: %d %.2000s", path, a.StatusCode, a.body)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// post sends a form and returns the answer to it.
func (f *fixture) post(path string, form url.Values) answer {
	f.Helper()
	return send(f, f.dash, formRequest(f.Context(), path, form))
}

// follow returns the page to which an action leads, with what the action says.
func (f *fixture) follow(a answer) answer {
	f.Helper()
	if a.StatusCode != http.StatusSeeOther {
		f.Errorf("%d leads nowhere: %.300s", a.StatusCode, a.body)
		return a
	}
	r := httptest.NewRequestWithContext(f.Context(), http.MethodGet, a.Header.Get("Location"), nil)
	for _, cookie := range a.Cookies() {
		r.AddCookie(cookie)
	}
	return send(f, f.dash, r)
}

func formRequest(ctx context.Context, path string, form url.Values) *http.Request {
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return r
}

// want fails the test unless an answer has a status and contains texts.
func (f *fixture) want(a answer, status int, texts ...string) {
	f.Helper()
	if a.StatusCode != status {
		f.Errorf("%d, want %d: %.300s", a.StatusCode, status, a.body)
	}
	for _, text := range texts {
		if !strings.Contains(a.body, text) {
			f.Errorf("%q is not in %s", text, a.body)
		}
	}
}

func TestPagesListTheQueues(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	f.add("mail", "email.send", `{}`, queue.Options{})
	f.add("secret", "a", `{}`, queue.Options{})
	for _, path := range []string{"/", "/queues"} {
		f.want(f.get(path), http.StatusOK, `<a href="/queues/mail">mail</a>`, ">secret<")
	}
	f.who = principal(t, "view:mail")
	if a := f.get("/queues"); strings.Contains(a.body, "secret") {
		t.Errorf("a queue is shown to who may not see it: %s", a.body)
	}
}

func TestAnEmptyRedisSaysHowToBegin(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	for _, path := range []string{"/", "/queues"} {
		f.want(f.get(path), http.StatusOK, "There is no queue yet", "skidway enqueue mail")
	}
	f.want(f.get("/errors"), http.StatusOK, "No attempt has failed")
}

func TestEveryoneElseIsRefused(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	f.who = nil
	for _, path := range []string{"/", "/queues", "/none"} {
		f.want(f.get(path), http.StatusForbidden)
	}
	f.who = principal(t, "scale:*")
	f.want(f.get("/queues"), http.StatusForbidden, "Your role may not do this.")
}

func TestHeadersAreStrict(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	a := f.get("/")
	policy := a.Header.Get("Content-Security-Policy")
	_, nonce, _ := strings.Cut(policy, "'nonce-")
	nonce, _, _ = strings.Cut(nonce, "'")
	if want := "default-src 'none'; script-src 'nonce-" + nonce + "'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types 'none'"; policy != want {
		t.Errorf("the policy is %q", policy)
	}
	if len(nonce) < 20 || strings.Count(a.body, "<script") != 1 || !strings.Contains(a.body, `<script nonce="`+nonce+`" src="/assets/dash.`) {
		t.Errorf("the policy is %q, the page %.800s", policy, a.body)
	}
	if strings.Contains(a.body, " style=") || strings.Contains(a.body, " onclick=") {
		t.Error("the page has styles or scripts in attributes")
	}
	for header, want := range map[string]string{"Referrer-Policy": "same-origin", "X-Content-Type-Options": "nosniff", "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store"} {
		if got := a.Header.Get(header); got != want {
			t.Errorf("%s is %q", header, got)
		}
	}
	_, asset, _ := strings.Cut(a.body, `<link rel="stylesheet" href="`)
	asset, _, _ = strings.Cut(asset, `"`)
	css := f.get(asset)
	f.want(css, http.StatusOK, ":root{")
	if !strings.Contains(css.Header.Get("Cache-Control"), "immutable") || css.Header.Get("Content-Type") != "text/css; charset=utf-8" {
		t.Errorf("the headers of the styles are %v", css.Header)
	}
}

// pagesOf returns the paths of all pages, for a queue and a job.
func pagesOf(queue, job string) (paths []string) {
	for _, pattern := range dash.Patterns() {
		if path, isPage := strings.CutPrefix(pattern, "GET "); isPage {
			paths = append(paths, strings.NewReplacer("{$}", "", "{queue}", queue, "{id}", job).Replace(path))
		}
	}
	return paths
}

func TestPagesWorkUnderAnyPath(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	id := f.add("mail", "a", `{}`, queue.Options{})
	mux := http.NewServeMux()
	mux.Handle("/ops/jobs/", http.StripPrefix("/ops/jobs", f.dash))
	a := send(t, mux, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/ops/jobs/queues?x=/y", nil))
	f.want(a, http.StatusOK, `href="/ops/jobs/queues/mail"`)
	for _, path := range pagesOf("mail", id) {
		a := send(t, mux, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/ops/jobs"+path+"?queue=mail&state=waiting&do=delete&all=1&format=csv", nil))
		f.want(a, http.StatusOK)
		for _, part := range regexp.MustCompile(` (?:href|action)="([^"]*)`).FindAllStringSubmatch(a.body, -1) {
			if link := part[1]; link != "" && !strings.HasPrefix(link, "/ops/jobs/") && !strings.HasPrefix(link, "#") {
				t.Errorf("%s: a link leaves the path: %.60s", path, link)
			}
		}
	}
	r := formRequest(t.Context(), "/ops/jobs/settings", url.Values{"theme": {"dark"}, "back": {"/queues?a=b"}})
	if a := send(t, mux, r); a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != "/ops/jobs/queues?a=b" {
		t.Errorf("the answer is %d to %q", a.StatusCode, a.Header.Get("Location"))
	}
}

func TestPathsThatAreNotCleanLeadNowhere(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	for _, path := range []string{"/ops/x//evil.com/", "/ops/x//", "/ops/x/queues//", "/ops/x/../queues", "/ops/x/./queues"} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		a := send(t, http.StripPrefix("/ops/x", f.dash), r)
		if f.want(a, http.StatusNotFound, `href="/ops/x/"`); a.Header.Get("Location") != "" {
			t.Errorf("%s leads to %s", path, a.Header.Get("Location"))
		}
	}
}

func TestPagesAreSmall(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	for i := range 30 {
		f.add(fmt.Sprintf("queue-%02d", i), "email.send", `{}`, queue.Options{})
	}
	f.awaitQueues()
	page := f.get("/")
	f.want(page, http.StatusOK, "all 30")
	if rows := strings.Count(page.body, "<tr data-row="); rows != 25 {
		t.Errorf("the first page has %d queues", rows)
	}
	asset := func(kind string) string {
		a := f.get(regexp.MustCompile(`"(/assets/dash\.[0-9a-f]+\.` + kind + `)"`).FindStringSubmatch(page.body)[1])
		f.want(a, http.StatusOK)
		return a.body
	}
	style, script := asset("css"), asset("js")
	if len(style) >= 18<<10 || len(script) >= 12<<10 || len(page.body)+len(style) >= 64_000 {
		t.Errorf("the styles have %d bytes, the script %d, the first page with 25 queues %d", len(style), len(script), len(page.body))
	}
	var packed bytes.Buffer
	packer := gzip.NewWriter(&packed)
	_, err := packer.Write([]byte(page.body + style))
	f.must(err)
	f.must(packer.Close())
	if packed.Len() >= 14_000 {
		t.Errorf("the first page and the styles have %d bytes with gzip", packed.Len())
	}
	t.Logf("page %d, styles %d, script %d, packed %d", len(page.body), len(style), len(script), packed.Len())
}

func TestCookiesOfASessionAreSecure(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	for _, session := range []string{"", "a1"} {
		r := formRequest(access.NewContext(t.Context(), &access.Principal{Name: "ada", Session: session, Scopes: f.who.Scopes}), "/settings", url.Values{"theme": {"dark"}})
		a := send(t, f.dash, r)
		f.want(a, http.StatusSeeOther)
		for _, cookie := range a.Cookies() {
			if cookie.Secure != (session != "") {
				t.Errorf("with session %q: %v", session, cookie)
			}
		}
	}
}

func TestSettingsAreKept(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	a := f.post("/settings", url.Values{"theme": {"dark"}, "zone": {"Europe/Berlin"}})
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	for _, cookie := range a.Cookies() {
		r.AddCookie(cookie)
	}
	page := send(t, f.dash, r)
	f.want(page, http.StatusOK, `data-theme="dark"`, "Times are in Europe/Berlin.", "Your settings are saved.")
	job := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/jobs/"+f.add("mail", "a", `{}`, queue.Options{}), nil)
	job.AddCookie(r.Cookies()[0])
	if body := send(t, f.dash, job).body; !regexp.MustCompile(`title="[-0-9]{10} [:0-9]{8} CES?T · [-0-9]{10} [:0-9]{8} UTC"`).MatchString(body) {
		t.Errorf("a time has no title with its zone and UTC: %s", body)
	}
	if cookies := page.Cookies(); len(cookies) != 1 || cookies[0].Name != "skidway-said" || cookies[0].MaxAge >= 0 {
		t.Errorf("the message stays: %v", cookies)
	}
	f.want(f.post("/settings", url.Values{"zone": {"../../etc/passwd"}}), http.StatusSeeOther)
	f.want(f.get("/settings"), http.StatusOK, `name="zone" value="UTC"`, `value="on" checked`, `aria-current="page">Settings`)
	off := f.post("/settings", url.Values{"keys": {"off"}, "zone": {"Asia/Tokyo"}, "theme": {""}, "back": {"/settings"}})
	f.want(f.follow(off), http.StatusOK, `name="zone" value="Asia/Tokyo"`, `value="off" checked`, `data-keys="false"`)
}

func TestFormsOfOtherSitesAreRefused(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	for name, value := range map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://other.example"} {
		r := formRequest(t.Context(), "/settings", url.Values{"theme": {"dark"}})
		r.Header.Del("Sec-Fetch-Site")
		r.Header.Set(name, value)
		f.want(send(t, f.dash, r), http.StatusForbidden)
	}
}

func TestAFormLeadsBackOnlyToPages(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	for back, want := range map[string]string{
		"/queues": "/queues", "//example.com": "/", `/\example.com`: "/", "https://example.com/": "/", "/%5Cexample.com": "/", "/queues\r\nX: y": "/", "": "/", "/settings": "/settings", "/chats/drop": "/",
	} {
		a := f.post("/settings", url.Values{"theme": {""}, "back": {back}})
		if got := a.Header.Get("Location"); got != want {
			t.Errorf("back to %q leads to %q, want %q", back, got, want)
		}
	}
}

func TestTextsAreUsedAndExist(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, pattern := range []string{"*.go", "internal/words/*.go", "pages/*.html"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, quoted := range regexp.MustCompile(`"([a-z]+(\.[a-z0-9_-]+)*\.?)"`).FindAllSubmatch(content, -1) {
				used[string(quoted[1])] = true
			}
			for _, call := range regexp.MustCompile(`\b[tT][ (]"([^"]+)"\s*[,)}\s]`).FindAllSubmatch(content, -1) {
				if key := string(call[1]); words.Texts()[key] == "" && !strings.HasSuffix(key, ".") {
					t.Errorf("%s: there is no text %s", file, key)
				}
			}
		}
	}
	for key := range words.Texts() {
		if first, _, _ := strings.Cut(key, "."); !used[key] && !used[first+"."] {
			t.Errorf("the text %s is not used", key)
		}
	}
}

func TestMessageOfAnotherOriginIsNotShown(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	for text, shown := range map[string]bool{
		`{"r":"ok","k":"did.retry","a":["x"],"l":"/operations","m":"operation.show"}`: true, `{"r":"ok","k":"did.retry","a":["x"]}`: true,
		`{"r":"ok","k":"did.retry","a":["x"],"l":"//example.com","m":"operation.show"}`: false, `{"r":"ok","k":"did.retry","a":["x"],"l":"javascript:1","m":"operation.show"}`: false,
		`{"r":"ok","k":"did.retry","a":["x"],"l":"/","m":"none"}`: false, `{"r":"x","k":"did.retry"}`: false, `{"r":"ok","k":"none"}`: false, `{`: false,
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/settings", nil)
		r.AddCookie(&http.Cookie{Name: "skidway-said", Value: base64.RawURLEncoding.EncodeToString([]byte(text))})
		a := send(t, f.dash, r)
		f.want(a, http.StatusOK)
		if got := strings.Contains(a.body, "Job x runs again."); got != shown {
			t.Errorf("%s: it is shown: %t", text, got)
		}
	}
}

func TestQueuesAreListedInPagesAndByName(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	names := []string{"Queue-400"}
	for i := range 400 {
		names = append(names, fmt.Sprintf("queue-%03d", i))
	}
	f.must(f.queues.Register(t.Context(), names...))
	f.awaitPage("/queues", func(body string) bool { return strings.Contains(body, "401 queues") }) // idle ones keep their places when they are read
	rows := regexp.MustCompile(`<tr data-row="([^"]+)"`)
	seen := map[string]bool{}
	for _, c := range []struct {
		address, count string
		rows           int
		previous, next string
	}{
		{"/queues", "1 to 200 of 401 queues", 200, "", "?name=&amp;page=2"},
		{"/queues?page=2", "201 to 400 of 401 queues", 200, "?name=&amp;page=1", "?name=&amp;page=3"},
		{"/queues?page=3", "401 to 401 of 401 queues", 1, "?name=&amp;page=2", ""},
		{"/queues?page=9", "401 to 401 of 401 queues", 1, "?name=&amp;page=2", ""},
		{"/queues?page=-1", "1 to 200 of 401 queues", 200, "", "?name=&amp;page=2"},
		{"/queues?name=queue-40", ">1 queue with “queue-40” in the name", 1, "", ""},
		{"/queues?name=QUEUE-40", ">1 queue with “QUEUE-40” in the name", 1, "", ""},
		{"/queues?name=e-&page=2", "201 to 400 of 401 queues with “e-” in the name", 200, "?name=e-&amp;page=1", "?name=e-&amp;page=3"},
		{"/queues?name=nothing", "No queue has this in its name", 0, "", ""},
	} {
		a := f.get(c.address)
		f.want(a, http.StatusOK, c.count)
		found := rows.FindAllStringSubmatch(a.body, -1)
		if len(found) != c.rows {
			t.Errorf("%s has %d queues, want %d", c.address, len(found), c.rows)
		}
		if !strings.Contains(c.address, "name=") {
			for _, row := range found {
				seen[row[1]] = true
			}
		}
		for text, address := range map[string]string{"Previous": c.previous, "Next": c.next} {
			if link := `href="/queues` + address + `">` + text; strings.Contains(a.body, ">"+text+"</a>") != (address != "") || address != "" && !strings.Contains(a.body, link) {
				t.Errorf("%s: the link %q to %q is wrong", c.address, text, address)
			}
		}
	}
	if len(seen) != 401 {
		t.Errorf("the pages list %d queues, want 401", len(seen))
	}
}

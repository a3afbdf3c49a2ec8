package access

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"skidway/internal/redistest"
)

// A site is a server behind a gate.
type site struct {
	*fixture
	gate   *Gate
	server *httptest.Server
	client *http.Client
	log    bytes.Buffer
	sync.WaitGroup
}

// newSite returns a server behind a gate with a page of the login. It answers with what the gate passed
// to the handler.
func newSite(t testing.TB, config GateConfig) *site {
	s := &site{fixture: newFixture(t, redistest.DB(t))}
	s.start(config)
	return s
}

func (s *site) start(config GateConfig) {
	config.Logger = slog.New(slog.NewTextHandler(&s.log, nil))
	if config.LoginPage == nil {
		config.LoginPage = func(w http.ResponseWriter, _ *http.Request, form LoginForm) {
			w.WriteHeader(form.Status)
			fmt.Fprintf(w, "login %q next %q", form.Problem, form.Next)
		}
	}
	var err error
	s.gate, err = NewGate(s.db, config)
	s.must(err)
	s.server = httptest.NewServer(s.gate.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := "none"
		if p := FromContext(r.Context()); p != nil {
			name = p.Name
		}
		fmt.Fprintf(w, "%s %s from %s, user header %q", name, r.URL.Path, AddressFromContext(r.Context()), r.Header.Get("X-User"))
	})))
	s.Cleanup(s.server.Close)
	s.client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// An answer is a response that was read.
type answer struct {
	*http.Response
	body string
}

// send sends a request. headers are pairs; "Host" sets that of the request.
func (s *site) send(method, path, body string, headers ...string) answer {
	s.Helper()
	r, err := http.NewRequestWithContext(s.ctx, method, s.server.URL+path, strings.NewReader(body))
	s.must(err)
	if body != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		switch headers[i] {
		case "Host":
			r.Host = headers[i+1]
		case "Content-Type":
			r.Header.Set(headers[i], headers[i+1])
		default:
			r.Header.Add(headers[i], headers[i+1])
		}
	}
	response, err := s.client.Do(r)
	s.must(err)
	text, err := io.ReadAll(response.Body)
	s.must(err)
	s.must(response.Body.Close())
	return answer{response, string(text)}
}

func (s *site) want(claim string, a answer, status int, text string) {
	s.Helper()
	if a.StatusCode != status || !strings.Contains(a.body, text) {
		s.Errorf("%s: %d %s, want %d %s", claim, a.StatusCode, a.body, status, text)
	}
}

// session logs in and returns the header with the cookie.
func (s *site) session(name string) string {
	s.Helper()
	a := s.send("POST", "/login", url.Values{"name": {name}, "password": {"secret of " + name}}.Encode())
	if a.StatusCode != http.StatusSeeOther || len(a.Cookies()) != 1 {
		s.Fatalf("login: %d %s", a.StatusCode, a.body)
	}
	return a.Cookies()[0].Name + "=" + a.Cookies()[0].Value
}

func (s *site) token(scopes ...string) string {
	s.Helper()
	text, _ := s.create(NewTokens(s.db), time.Hour, scopes...)
	return "Bearer " + text
}

func TestRequestNeedsATokenOrASession(t *testing.T) {
	t.Parallel()
	s := newSite(t, GateConfig{})
	token := s.token("view:*")
	s.want("token", s.send("GET", "/x", "", "Authorization", token), 200, "ci /x from 127.0.0.1")
	s.want("scheme in lower case", s.send("POST", "/x", "", "Authorization", "b"+token[1:]), 200, "ci")
	for name, headers := range map[string][]string{
		"nothing":                {},
		"another scheme":         {"Authorization", "Basic " + token[7:]},
		"no scheme":              {"Authorization", token[7:]},
		"wrong token":            {"Authorization", token[:len(token)-4] + "AAAA"},
		"two tokens":             {"Authorization", token, "Authorization", token},
		"token as a cookie":      {"Cookie", s.gate.cookie + "=" + token[7:]},
		"no session":             {"Cookie", s.gate.cookie + "=x"},
		"session without prefix": {"Cookie", "skidway=x"},
		"name of a proxy's user": {"X-User", "ada"},
	} {
		a := s.send("GET", "/x", "", headers...)
		s.want(name, a, 401, "unauthorized")
		if !strings.HasPrefix(a.Header.Get("WWW-Authenticate"), "Bearer") || a.Header.Get("Content-Type") != "application/problem+json" || !json.Valid([]byte(a.body)) {
			t.Errorf("%s: headers %v", name, a.Header)
		}
	}
	s.want("token in the address", s.send("GET", "/x?token="+token[7:]+"&access_token="+token[7:], ""), 401, "unauthorized")
	for _, path := range openPaths {
		s.want("open", s.send("GET", path, "", "Host", "evil.example"), 200, "none")
	}
	for _, path := range []string{"/healthz/", "/readyz/x", "/x/healthz", "/healthz%2f", "/metrics"} {
		s.want(path, s.send("GET", path, ""), 401, "")
	}
	if strings.Contains(s.log.String(), token[7:]) {
		t.Error("the log has a token")
	}
}

func TestStrictHeaders(t *testing.T) {
	t.Parallel()
	s := newSite(t, GateConfig{})
	for _, a := range []answer{s.send("GET", "/", ""), s.send("GET", "/", "", "Host", "evil.example"), s.send("POST", "/", "", "Origin", "null"), s.send("GET", "/login", "")} {
		for name, value := range headers {
			if a.Header.Get(name) != value {
				t.Errorf("%d: %s is %q", a.StatusCode, name, a.Header.Get(name))
			}
		}
	}
}

func TestHostOfRequest(t *testing.T) {
	t.Parallel()
	s := newSite(t, GateConfig{Hosts: []string{"dash.example.com"}})
	token := s.token("view:*")
	for host, known := range map[string]bool{
		"127.0.0.1": true, "127.0.0.1:1": true, "127.8.9.1": true, "localhost": true, "LOCALHOST:8470": true, "localhost.": true, "[::1]:8470": true, "[::1]": true, "::ffff:127.0.0.1": true,
		"dash.example.com": true, "Dash.Example.Com.:443": true,
		"evil.example": false, "evil.example:8470": false, "localhost.evil.example": false, "127.0.0.1.evil.example": false, "x.localhost": false,
		"192.0.2.1": false, "0.0.0.0": false, "dash.example.com.evil": false, "dash.example.com:x": false, "[::1": false, "2130706433": false,
	} {
		for _, path := range []string{"/", "/api/v1/queues", "/login", "/events"} {
			a := s.send("GET", path, "", "Host", host, "Authorization", token)
			if (a.StatusCode == http.StatusMisdirectedRequest) == known && a.StatusCode != http.StatusBadRequest {
				t.Errorf("host %q, %s: %d", host, path, a.StatusCode)
			}
		}
	}
	// The address at which the connection arrived is known, whatever it is.
	r := httptest.NewRequest("GET", "http://192.0.2.7:80/", nil)
	for address, want := range map[string]bool{"192.0.2.7:8470": true, "192.0.2.8:8470": false} {
		if got := s.gate.knowsHost(arrivedAt(r, address)); got != want {
			t.Errorf("arrived at %s: %v", address, got)
		}
	}
}

func arrivedAt(r *http.Request, address string) *http.Request {
	return r.WithContext(withValue(r, http.LocalAddrContextKey, net.TCPAddrFromAddrPort(netip.MustParseAddrPort(address))))
}

func TestPlainHTTPIsRefusedOffLoopback(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t))
	for name, c := range map[string]struct {
		behindTLS       bool
		address, header string
		proxy           string
		want            bool
	}{
		"loopback":                      {false, "127.0.0.1:1", "", "", true},
		"other address":                 {false, "192.0.2.7:1", "", "", false},
		"behind a proxy":                {true, "192.0.2.7:1", "", "", true},
		"behind a proxy, with header":   {true, "192.0.2.7:1", "https", "", true},
		"behind a proxy without TLS":    {true, "192.0.2.7:1", "http", "", false},
		"behind a proxy that is named":  {true, "192.0.2.7:1", "", "192.0.2.1/32", true}, // the client of httptest
		"not through the proxy":         {true, "192.0.2.7:1", "", "198.51.100.1/32", false},
		"it claims to be the proxy":     {true, "192.0.2.7:1", "https", "198.51.100.1/32", false},
		"header without --behind-tls":   {false, "192.0.2.7:1", "https", "", false},
		"unknown address of the server": {false, "[2001:db8::1]:1", "", "", false},
	} {
		config := GateConfig{BehindTLS: c.behindTLS, Logger: silent()}
		if c.proxy != "" {
			config.Proxies = []netip.Prefix{netip.MustParsePrefix(c.proxy)}
		}
		g, err := NewGate(f.db, config)
		f.must(err)
		r := arrivedAt(httptest.NewRequest("GET", "http://"+c.address+"/", nil), c.address)
		r.Header.Set("X-Forwarded-Proto", c.header)
		w := httptest.NewRecorder()
		g.Handler(http.NotFoundHandler()).ServeHTTP(w, r)
		if refused := strings.Contains(w.Body.String(), "insecure"); refused == c.want {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

func TestOtherSitesChangeNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t))
	users, _ := f.usersOf(user(t, "ada", AdminRole))
	for _, base := range []string{"", "/skidway"} {
		s := &site{fixture: f}
		s.start(GateConfig{Users: users, BasePath: base})
		post := func(headers ...string) answer { return s.send("POST", base+"/x", "", headers...) }
		a := s.send("POST", base+"/login", "name=ada&password=secret+of+ada", "Sec-Fetch-Site", "same-origin")
		cookie := a.Cookies()[0].Name + "=" + a.Cookies()[0].Value
		for name, c := range map[string]struct {
			headers []string
			status  int
		}{
			"same origin":         {[]string{"Sec-Fetch-Site", "same-origin"}, 200},
			"by the user":         {[]string{"Sec-Fetch-Site", "none"}, 200},
			"origin of the host":  {[]string{"Origin", s.server.URL}, 200},
			"cross site":          {[]string{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"}, 403},
			"same site":           {[]string{"Sec-Fetch-Site", "same-site", "Origin", "https://a.example.com"}, 403},
			"another origin":      {[]string{"Origin", "https://evil.example"}, 403},
			"another port":        {[]string{"Origin", "http://127.0.0.1:1"}, 403},
			"null origin":         {[]string{"Origin", "null"}, 403},
			"neither header":      {nil, 403},
			"null and same site":  {[]string{"Origin", "null", "Sec-Fetch-Site", "same-site"}, 403},
			"cross site by token": {[]string{"Sec-Fetch-Site", "cross-site", "Authorization", s.token("view:*")}, 403},
			"no header by token":  {[]string{"Authorization", s.token("view:*")}, 200},
		} {
			s.want(base+" "+name, post(append(c.headers, "Cookie", cookie)...), c.status, "")
		}
		s.want("login of another site", s.send("POST", base+"/login", "name=ada&password=secret+of+ada", "Sec-Fetch-Site", "cross-site"), 403, "")
		s.want("logout of another site", s.send("POST", base+"/logout", "", "Sec-Fetch-Site", "cross-site", "Cookie", cookie), 403, "")
		s.want("logout without header", s.send("POST", base+"/logout", "", "Cookie", cookie), 403, "")
		s.want("logout by GET", s.send("GET", base+"/logout", "", "Cookie", cookie), 405, "")
		s.want("the session is there", s.send("GET", base+"/x", "", "Cookie", cookie), 200, "ada")
	}
}

func TestLoginBeginsASessionUnderANewID(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t))
	users, path := f.usersOf(user(t, "ada", AdminRole))
	s := &site{fixture: f}
	s.start(GateConfig{Users: users})
	html := []string{"Accept", "text/html"}
	a := s.send("GET", "/queues/mail?a=b", "", html...)
	s.want("a page", a, 303, "")
	if a.Header.Get("Location") != "/login?next="+url.QueryEscape("/queues/mail?a=b") {
		t.Errorf("it leads to %s", a.Header.Get("Location"))
	}
	s.want("wrong password", s.send("POST", "/login", "name=ada&password=wrong"), 401, "wrong")
	s.want("JSON", s.send("POST", "/login", `{"name":"ada"}`, "Content-Type", "application/json"), 415, "")
	a = s.send("POST", "/login", "name=ada&password=secret+of+ada&next=%2Fqueues%2Fmail", "Cookie", s.gate.cookie+"=fixed")
	s.want("login", a, 303, "")
	cookie := a.Cookies()[0]
	if a.Header.Get("Location") != "/queues/mail" || cookie.Value == "fixed" || len(cookie.Value) != 43 {
		t.Errorf("location %s, cookie %v", a.Header.Get("Location"), cookie)
	}
	if cookie.Name != "__Host-skidway" || !cookie.Secure || !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode || cookie.Path != "/" || cookie.Domain != "" {
		t.Errorf("cookie %+v", cookie)
	}
	first := cookie.Name + "=" + cookie.Value
	s.want("the session", s.send("GET", "/", "", "Cookie", first), 200, "ada")
	s.want("the id that was there before", s.send("GET", "/", "", "Cookie", s.gate.cookie+"=fixed"), 401, "")

	a = s.send("POST", "/login", "name=ada&password=secret+of+ada", "Cookie", first)
	s.want("login again", a, 303, "")
	s.want("the session before it", s.send("GET", "/", "", "Cookie", first), 401, "")
	second, third := cookie.Name+"="+a.Cookies()[0].Value, s.session("ada")
	a = s.send("POST", "/logout", "", "Cookie", second, "Sec-Fetch-Site", "same-origin")
	s.want("logout", a, 303, "")
	if a.Cookies()[0].MaxAge >= 0 {
		t.Errorf("the cookie stays: %v", a.Cookies()[0])
	}
	for name, stolen := range map[string]string{"stolen": second, "another one of the user": third} {
		s.want(name, s.send("GET", "/", "", "Cookie", stolen), 401, "")
	}
	for _, name := range []string{"a-password-of-ada", "correct horse"} {
		s.want("a password as the name", s.send("POST", "/login", url.Values{"name": {name}, "password": {"x"}}.Encode()), 401, "wrong")
		if strings.Contains(s.log.String()+f.stored(), name) {
			t.Errorf("the log or the audit has %q", name)
		}
	}
	for range loginsOfName {
		s.send("POST", "/login", "name=ada&password=wrong")
		f.passTime()
	}
	a = s.send("POST", "/login", "name=ada&password=secret+of+ada")
	s.want("after too many", a, 429, "too many")
	if a.Header.Get("Retry-After") == "" || len(a.Cookies()) > 0 {
		t.Errorf("headers %v", a.Header)
	}
	f.edit(path)
	entries, _, err := s.gate.audit.List(f.ctx, "", 100)
	f.must(err)
	var got []string
	for _, e := range entries {
		got = append(got, fmt.Sprint(e.Action, " ", e.Who, " ", e.Proven, " ", e.From))
	}
	text := strings.Join(got, ", ")
	if !strings.Contains(text, "logout ada true 127.0.0.1, login ada true 127.0.0.1") || strings.Count(text, "login ada false") != 1+loginsOfName {
		t.Errorf("the audit is %s", text)
	}
	if all := s.log.String() + f.stored(); strings.Contains(all, cookie.Value) || strings.Contains(all, "secret of") {
		t.Error("the log or Redis has a session or a password")
	}
}

func TestOpenPageKeepsItsSessionAndOtherStreamsDoNot(t *testing.T) {
	t.Parallel()
	s := newSite(t, GateConfig{})
	cookie := s.send("GET", s.gate.NewCode(), "").Cookies()[0]
	key, hash := s.gate.sessions.keys[keySessionsEnd], hashOf(cookie.Value)
	end := func() float64 { return s.conn.ZScore(s.ctx, key, hash).Val() }
	now := s.conn.Time(s.ctx).Val().UnixMilli()
	s.must(s.conn.ZAddArgs(s.ctx, key, zArgs(hash, now+60_000)).Err())
	r := httptest.NewRequest("GET", "/", nil)
	r.AddCookie(cookie)
	_, err := s.gate.Authorize(r)
	s.must(err)
	if end() != float64(now+60_000) {
		t.Error("a look at the session made it longer")
	}
	for claim, look := range map[string]func(){
		"a request": func() {
			s.want("a request", s.send("GET", "/", "", "Cookie", cookie.Name+"="+cookie.Value), 200, "local")
		},
		"an open page": func() { _, err := s.gate.AuthorizeOpenPage(r); s.must(err) },
	} {
		clear(s.gate.sessions.seen)
		s.must(s.conn.ZAddArgs(s.ctx, key, zArgs(hash, now+60_000)).Err())
		if look(); end() < float64(now+20*60_000) {
			t.Errorf("%s did not make the session longer", claim)
		}
	}
}

func TestFormOfASessionThatHasEndedLeadsToTheLogin(t *testing.T) {
	t.Parallel()
	s := newSite(t, GateConfig{})
	for referer, want := range map[string]string{
		s.server.URL + "/queues/mail?range=day": "/login?next=%2Fqueues%2Fmail%3Frange%3Dday", "https://evil.example/x": "/login", "": "/login",
	} {
		a := s.send("POST", "/queues/mail/pause", "note=x", "Accept", "text/html", "Cookie", s.gate.cookie+"=old", "Sec-Fetch-Site", "same-origin", "Referer", referer)
		if a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != want {
			t.Errorf("from %q: %d to %q, want %q", referer, a.StatusCode, a.Header.Get("Location"), want)
		}
	}
	s.want("a program", s.send("POST", "/queues/mail/pause", "note=x", "Cookie", s.gate.cookie+"=old", "Sec-Fetch-Site", "same-origin"), 401, "unauthorized")
}

func TestValidSessionIsNotLockedOut(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t))
	users, _ := f.usersOf(user(t, "ada", AdminRole))
	s := &site{fixture: f}
	s.start(GateConfig{Users: users})
	cookie := s.session("ada")
	for range loginsOfName + 1 {
		s.send("POST", "/login", "name=ada&password=wrong")
		f.passTime()
	}
	s.want("the session", s.send("GET", "/", "", "Cookie", cookie), 200, "ada")
}

func TestPathAfterTheLoginIsOurOwn(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"/queues/mail?a=b&c=%2F": "/queues/mail?a=b&c=%2F", "/queues/": "/queues/", "/": "/", "/jobs/a%20b": "/jobs/a%20b",
		"": "/", "//evil.example": "/", "///evil.example": "/", "/\\evil.example": "/", "\\\\evil.example": "/", "/%5Cevil.example": "/", "/%5cevil": "/",
		"https://evil.example": "/", "javascript:alert(1)": "/", "/\r\nSet-Cookie: a=b": "/", "/%0d%0aSet-Cookie:%20a=b": "/", "/%2F/evil": "/", "/%2fevil.example": "/",
		"/a/../..//evil": "/", "/./x": "/", "evil": "/", "/\tx": "/", "/x#y": "/x", "/%zz": "/", "/" + strings.Repeat("x", 3000): "/",
	} {
		if got := LocalPath(text); got != want {
			t.Errorf("%.40q leads to %q, want %q", text, got, want)
		}
	}
}

func TestOneTimeCodeIsGoodOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, GateConfig{})
	s.want("no code", s.send("GET", "/", ""), 401, "")
	path := s.gate.NewCode()
	s.want("only looked at", s.send("HEAD", path, ""), 200, "")
	a := s.send("GET", path, "")
	s.want("the code", a, 303, "")
	if a.Header.Get("Location") != "/" {
		t.Errorf("it leads to %s", a.Header.Get("Location"))
	}
	cookie := a.Cookies()[0].Name + "=" + a.Cookies()[0].Value
	s.want("the session", s.send("GET", "/", "", "Cookie", cookie), 200, "local")
	s.want("the code again", s.send("GET", path, ""), 403, "used already")
	s.want("another code", s.send("GET", "/login?code=x", ""), 403, "")
	_, code, _ := strings.Cut(s.gate.NewCode(), "=")
	for name, header := range map[string][]string{"a token": {"Authorization", "Bearer " + code}, "a cookie": {"Cookie", s.gate.cookie + "=" + code}} {
		s.want("the code is not "+name, s.send("GET", "/", "", header...), 401, "")
	}
	now := time.Now().Add(codeLife)
	s.gate.codes.now = func() time.Time { return now }
	s.want("after 10 minutes", s.send("GET", "/login?code="+code, ""), 403, "older than 10 minutes")
	s.want("login by name", s.send("POST", "/login", "name=ada&password=x"), 403, "")
	if strings.Contains(s.log.String()+s.stored(), code) {
		t.Error("the log or Redis has a code")
	}

	users, _ := s.usersOf(user(t, "ada", ViewRole))
	withUsers := &site{fixture: s.fixture}
	withUsers.start(GateConfig{Users: users})
	s.want("where there are users", withUsers.send("GET", withUsers.gate.NewCode(), ""), 403, "")
	s.want("its session where there are users", withUsers.send("GET", "/", "", "Cookie", cookie), 401, "")
}

func TestProxyIsBelievedOnlyAtItsAddress(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t))
	users, _ := f.usersOf(user(t, "ada", AdminRole))
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	s := &site{fixture: f}
	s.start(GateConfig{Users: users, Proxies: loopback, AuthHeader: "X-User"})
	s.want("the last entry", s.send("GET", "/", "", "X-User", "ada", "X-Forwarded-For", "1.1.1.1, 192.0.2.9"), 200, "ada / from 192.0.2.9")
	s.want("the last line", s.send("GET", "/", "", "X-User", "ada", "X-Forwarded-For", "1.1.1.1", "X-Forwarded-For", "192.0.2.8:99"), 200, "from 192.0.2.8")
	s.want("an entry that is none", s.send("GET", "/", "", "X-User", "ada", "X-Forwarded-For", "1.1.1.1, unknown"), 200, "from 127.0.0.1")
	for _, name := range []string{"bob", "Ada", "", "ada,bob", "adaé", strings.Repeat("a", 65), LocalName} {
		s.want("user "+name, s.send("GET", "/", "", "X-User", name), 401, "the proxy names no known user")
	}
	s.want("two users", s.send("GET", "/", "", "X-User", "ada", "X-User", "ada"), 401, "")
	s.want("a change without origin", s.send("POST", "/", "", "X-User", "ada"), 403, "")
	s.want("a change", s.send("POST", "/", "", "X-User", "ada", "Sec-Fetch-Site", "same-origin"), 200, "ada")
	basic := "Basic YWRhOnNlY3JldA=="
	s.want("a password for the proxy", s.send("GET", "/", "", "X-User", "ada", "Authorization", basic), 200, "ada")
	s.want("a password, and no user", s.send("GET", "/", "", "Authorization", basic), 401, "")
	s.want("a token beside the user", s.send("GET", "/", "", "X-User", "ada", "Authorization", s.token("view:*")), 200, "ci")
	s.want("a token that is wrong", s.send("GET", "/", "", "X-User", "ada", "Authorization", "Bearer x"), 401, "")
	s.want("a token after a password", s.send("GET", "/", "", "X-User", "ada", "Authorization", basic, "Authorization", "Bearer x"), 401, "")

	spoofed := &site{fixture: f}
	spoofed.start(GateConfig{Users: users, Proxies: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}, AuthHeader: "X-User"})
	s.want("another address", spoofed.send("GET", "/", "", "X-User", "ada", "X-Forwarded-For", "192.0.2.9"), 401, "")
	s.want("another address with a password", spoofed.send("GET", "/", "", "X-User", "ada", "Authorization", basic), 401, "")
	s.want("another address with a token", spoofed.send("GET", "/", "", "X-User", "ada", "X-Forwarded-For", "192.0.2.9", "Authorization", s.token("view:*")), 200, `ci / from 127.0.0.1, user header ""`)
}

func TestBasePath(t *testing.T) {
	t.Parallel()
	s := newSite(t, GateConfig{BasePath: "/skidway"})
	token := s.token("view:*")
	s.want("below", s.send("GET", "/skidway/queues/a%2Fb", "", "Authorization", token), 200, "ci /queues/a/b")
	s.want("health", s.send("GET", "/skidway/healthz", ""), 200, "none /healthz")
	for _, path := range []string{"/", "/queues", "/healthz", "/skidwayx/", "//skidway/", "/login"} {
		s.want(path, s.send("GET", path, "", "Authorization", token), 404, "")
	}
	a := s.send("GET", s.gate.NewCode(), "")
	if a.StatusCode != 303 || a.Header.Get("Location") != "/skidway/" || a.Cookies()[0].Path != "/" || a.Cookies()[0].Name == "__Host-skidway" || !strings.HasPrefix(a.Cookies()[0].Name, "__Host-skidway-") {
		t.Errorf("login: %d, location %s, cookies %v", a.StatusCode, a.Header.Get("Location"), a.Cookies())
	}
	s.want("without slash", s.send("GET", "/skidway", ""), 308, "")
}

func TestReadOnlyAndNoLogin(t *testing.T) {
	t.Parallel()
	s := newSite(t, GateConfig{NoLogin: true, ReadOnly: true})
	s.want("a local request", s.send("GET", "/", ""), 200, "local")
	for _, header := range []string{"X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP", "Forwarded", "Via"} {
		s.want("through a local proxy with "+header, s.send("GET", "/", "", header, "x"), 401, "")
	}
	r := httptest.NewRequest("GET", "/", nil)
	if _, err := s.gate.Authorize(r); err == nil { // from 192.0.2.1
		t.Error("a request of another machine needs no login")
	}
	r.RemoteAddr = "127.0.0.1:1"
	p, err := s.gate.Authorize(r)
	s.must(err)
	if !p.May(View, All) || p.May(Operate, "a") || p.May(Admin, "a") || p.MayAdd("a", "b") || p.Proven || !p.ReadOnly {
		t.Errorf("the local principal is %+v", p)
	}
	r.Header.Set("Authorization", s.token("operate:*", "view:mail", "scale:*"))
	if p, err = s.gate.Authorize(r); err != nil || len(p.Scopes) != 1 || !p.May(View, "mail") {
		t.Errorf("the token's principal is %+v, %v", p, err)
	}
}

func TestProgramsOfThisMachineNeedNoLoginWhereThereAreNoPages(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t))
	gate, err := NewGate(f.db, GateConfig{NoLogin: true, Logger: silent()})
	f.must(err)
	for name, c := range map[string]struct {
		host, header, value string
		status              int
	}{
		"a program": {"127.0.0.1:8470", "Accept", "*/*", 200}, "another site": {"127.0.0.1:8470", "Sec-Fetch-Site", "cross-site", 403}, "a site of the same machine": {"localhost:8470", "Sec-Fetch-Site", "same-site", 403},
		"an older browser": {"127.0.0.1:8470", "Origin", "https://evil.example", 403}, "no origin": {"127.0.0.1:8470", "Origin", "null", 403}, "another name": {"evil.example", "Accept", "*/*", 421},
	} {
		r := arrivedAt(httptest.NewRequest("POST", "http://"+c.host+"/", nil), "127.0.0.1:8470")
		r.RemoteAddr = "127.0.0.1:1"
		r.Header.Set(c.header, c.value)
		w := httptest.NewRecorder()
		gate.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, r)
		if w.Code != c.status {
			t.Errorf("%s: %d %s, want %d", name, w.Code, w.Body, c.status)
		}
	}
}

func TestChangesOfPagesWithoutLoginComeFromThem(t *testing.T) {
	t.Parallel()
	s := newSite(t, GateConfig{NoLogin: true})
	s.want("a page that hides where it comes from", s.send("POST", "/", ""), 403, "cross-origin")
	s.want("a page", s.send("POST", "/", "", "Sec-Fetch-Site", "same-origin"), 200, "local")
}

func TestHooksNeedNoPrincipalWhereThereAreSome(t *testing.T) {
	t.Parallel()
	s := newSite(t, GateConfig{Hooks: true})
	s.want("a hook", s.send("POST", "/hooks/ci", "x"), 200, "none /hooks/ci")
	s.want("another host", s.send("POST", "/hooks/ci", "x", "Host", "evil.example"), 421, "wrong-host")
	s.want("another site", s.send("POST", "/hooks/ci", "x", "Sec-Fetch-Site", "cross-site"), 403, "cross-origin")
	s.want("beside hooks", s.send("POST", "/hooksx", "x"), 401, "unauthorized")
	s.start(GateConfig{})
	s.want("no hooks", s.send("POST", "/hooks/ci", "x"), 401, "unauthorized")
	s.start(GateConfig{Hooks: true, ReadOnly: true})
	s.want("no changes", s.send("POST", "/hooks/ci", "x"), 401, "unauthorized")
}

func TestWithoutPagesOnlyTokensAreAccepted(t *testing.T) {
	t.Parallel()
	s := newSite(t, GateConfig{})
	cookie := ""
	if a := s.send("GET", s.gate.NewCode(), ""); len(a.Cookies()) == 1 {
		cookie = a.Cookies()[0].Name + "=" + a.Cookies()[0].Value
	}
	var err error
	s.gate, err = NewGate(s.db, GateConfig{Logger: silent()})
	s.must(err)
	for _, path := range []string{"/", "/login"} {
		r := arrivedAt(httptest.NewRequest("GET", "http://127.0.0.1"+path, nil), "127.0.0.1:1")
		r.Header.Set("Cookie", cookie)
		r.Header.Set("Accept", "text/html")
		w := httptest.NewRecorder()
		s.gate.Handler(http.NotFoundHandler()).ServeHTTP(w, r)
		if w.Code != 401 {
			t.Errorf("%s with the cookie of a session: %d", path, w.Code)
		}
	}
}

func TestUnknownTokensBeyondThoseThatWaitAreToldToComeAgain(t *testing.T) {
	t.Parallel()
	s := &site{fixture: newFixture(t, redistest.DB(t))}
	s.start(GateConfig{})
	for i := range maxMissed {
		_, _, _, _, err := s.gate.tokens.cached(s.ctx, fmt.Sprint(i))
		s.must(err)
	}
	if a := s.send("GET", "/", "", "Authorization", "Bearer skd_other_x"); a.StatusCode != 429 || a.Header.Get("Retry-After") != "1" {
		t.Errorf("%d %v", a.StatusCode, a.Header)
	}
}

func TestRequestsWhileRedisIsAway(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	f := newFixture(t, redistest.Open(t, server.URL(0)))
	users, _ := f.usersOf(user(t, "ada", AdminRole))
	s := &site{fixture: f}
	s.start(GateConfig{Users: users})
	s.gate.patience, s.gate.logins.patience = 100*time.Millisecond, 100*time.Millisecond
	token := s.token("view:*")
	server.Kill()
	began := time.Now()
	for range 20 { // one after the other or together, they wait once
		s.Go(func() {
			if _, err := s.gate.Authorize(s.request("Authorization", "Bearer skd_a_b")); !errors.Is(err, errAway) {
				s.Errorf("an unknown token: %v", err)
			}
		})
	}
	a := s.send("GET", "/", "", "Authorization", token)
	s.Wait()
	s.want("a token", a, 503, "redis-unavailable")
	if a.Header.Get("Retry-After") == "" {
		t.Error("Retry-After is missing")
	}
	s.want("a session", s.send("GET", "/", "", "Cookie", s.gate.cookie+"=x"), 503, "redis-unavailable")
	s.want("a session of a browser", s.send("GET", "/", "", "Cookie", s.gate.cookie+"=x", "Accept", "text/html"), 503, "login")
	ada, _ := users.Lookup("ada")
	before := time.Now().Add(-20 * time.Minute)
	for id, life := range map[string]time.Duration{"seen": time.Hour, "ended": 19 * time.Minute} {
		s.gate.sessions.seen[hashOf(id)] = seenSession{sessionRecord{User: ada.Name, Version: ada.version()}, before, before.Add(life)}
	}
	s.want("a session that was seen", s.send("GET", "/", "", "Cookie", s.gate.cookie+"=seen"), 200, "ada")
	s.want("one that has ended since", s.send("GET", "/", "", "Cookie", s.gate.cookie+"=ended"), 503, "redis-unavailable")
	s.want("a change by a session that was seen", s.send("POST", "/", "", "Cookie", s.gate.cookie+"=seen", "Sec-Fetch-Site", "same-origin"), 503, "redis-unavailable")
	s.want("a login", s.send("POST", "/login", "name=ada&password=secret+of+ada"), 503, "redis-unavailable")
	s.want("a logout", s.send("POST", "/logout", "", "Cookie", s.gate.cookie+"=x", "Sec-Fetch-Site", "same-origin"), 503, "redis-unavailable")
	s.want("health", s.send("GET", "/healthz", ""), 200, "")
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the answers took %s", took)
	}
}

func TestSessionThatRedisRefusesToReadIsNotAccepted(t *testing.T) {
	t.Parallel()
	s := newSite(t, GateConfig{})
	id, err := s.gate.sessions.Begin(s.ctx, nil)
	s.must(err)
	cookie := s.gate.cookie + "=" + id
	s.want("a session", s.send("GET", "/", "", "Cookie", cookie), 200, LocalName)
	s.gate.sessions.now = func() time.Time { return time.Now().Add(sessionsCached) }
	s.must(s.conn.Del(s.ctx, s.gate.sessions.keys[keySessions]).Err())
	s.must(s.conn.Set(s.ctx, s.gate.sessions.keys[keySessions], "no hash", 0).Err())
	s.want("a session of which Redis has another answer", s.send("GET", "/", "", "Cookie", cookie), 503, "redis-unavailable")
}

// request returns a request of this machine with headers, for [Gate.Authorize].
func (s *site) request(headers ...string) *http.Request {
	r := httptest.NewRequestWithContext(s.ctx, "GET", "/", nil)
	r.RemoteAddr = "127.0.0.1:1"
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

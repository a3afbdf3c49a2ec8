package access

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"skidway"
	"skidway/internal/rdb"
)

// GateConfig configures a [Gate]. With the zero value only tokens are accepted.
type GateConfig struct {
	Users *Users // who may log in; nil: no user

	// LoginPage writes the page with the form of the login, whose fields are name, password and next.
	// Nil means that there are no pages, sessions and cookies.
	LoginPage func(http.ResponseWriter, *http.Request, LoginForm)

	Hosts      []string       // names of the server in requests, beside those of loopback and its address
	Proxies    []netip.Prefix // whose X-Forwarded-For and AuthHeader are believed
	AuthHeader string         // header with the name of a user, set by a proxy; empty: none
	BasePath   string         // below which all is, such as "/skidway"; empty: none
	BehindTLS  bool           // a proxy ends TLS
	ReadOnly   bool           // leaves only the action [View], and no hooks
	NoLogin    bool           // local requests need no login
	Hooks      bool           // requests below /hooks/ need no principal: their handler checks signatures

	Logger *slog.Logger // nil means [slog.Default]
}

// A LoginForm is what a page with the form of the login shows.
type LoginForm struct {
	Status  int    // of the answer
	Problem string // why the last login failed; empty for the first
	Name    string // of the last login
	Next    string // the path after the login, for the field of this name
	Local   bool   // there are no users: only the address that the server printed logs in
	Base    string // the path below which all is, see GateConfig.BasePath
}

// A Gate lets requests pass whose principal is known, and refuses others. It is safe for concurrent
// use. What it checks, in this order:
//
//   - [http.CrossOriginProtection]: no other site changes anything
//   - the host, or 421: a name of loopback, the address at which the connection arrived, or one of
//     Hosts, with any port. So no other name can be made to lead here (DNS rebinding)
//   - plain HTTP only at a loopback address, or behind a proxy that ends TLS
//   - a bearer token, the user that a proxy names, or the cookie of a session, or 401
//
// It answers /login and /logout itself where there are pages, whose files below /assets/ need no
// principal. /healthz and /readyz pass without
// principal and with any host.
type Gate struct {
	config   GateConfig
	patience time.Duration // with Redis, for one request
	cookie   string        // its name
	tokens   *Tokens
	sessions *Sessions // nil: there are no pages
	logins   *Logins   // nil: there are no users
	codes    *codes
	audit    *Audit
}

// NewGate returns a gate whose tokens and sessions are in a Redis. Nothing is sent to it.
func NewGate(db *skidway.DB, config GateConfig) (*Gate, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	if config.Logger == nil {
		config.Logger = slog.Default()
	}
	g := &Gate{config: config, patience: patience, cookie: "__Host-skidway", tokens: NewTokens(db), codes: newCodes(), audit: NewAudit(db, config.Logger)}
	g.tokens.logger = config.Logger
	if config.BasePath != "" { // another one may be mounted beside it
		g.cookie += "-" + hashOf(config.BasePath)[:8]
	}
	if config.LoginPage != nil {
		g.sessions = NewSessions(db, config.Users)
	}
	if config.LoginPage != nil && config.Users != nil {
		g.logins = NewLogins(db, config.Users)
	}
	return g, nil
}

// openPaths need no principal: they say nothing of queues.
var openPaths = []string{"/healthz", "/readyz"}

// hooksPath is where signed requests of other programs go.
const hooksPath = "/hooks/"

// assetsPath is where the files of the pages are, which the page of the login needs too.
const assetsPath = "/assets/"

// headers are those of every answer, unless the handler behind the gate sets others.
var headers = map[string]string{
	"Content-Security-Policy":      "default-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
	"Referrer-Policy":              "same-origin", // with no-referrer, forms send "Origin: null"
	"X-Content-Type-Options":       "nosniff",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Cache-Control":                "no-store",
}

// Handler returns a handler that passes the requests that it lets through to next, without the base
// path and with principal and address in their contexts.
func (g *Gate) Handler(next http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setHeaders(w)
		refuse(w, r, http.StatusForbidden, "cross-origin", "a page of another site made the request")
	}))
	return protection.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setHeaders(w)
		g.serve(w, r, next)
	}))
}

func setHeaders(w http.ResponseWriter) {
	for name, value := range headers {
		w.Header().Set(name, value)
	}
}

func (g *Gate) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	path, below := strings.CutPrefix(r.URL.Path, g.config.BasePath)
	if !below || !strings.HasPrefix(path, "/") {
		if below && path == "" && g.knowsHost(r) {
			http.Redirect(w, r, g.config.BasePath+"/", http.StatusPermanentRedirect)
			return
		}
		refuse(w, r, http.StatusNotFound, "not-found", "there is nothing at this path")
		return
	}
	if slices.Contains(openPaths, path) {
		g.pass(w, r, next, nil)
		return
	}
	if !g.knowsHost(r) {
		refuse(w, r, http.StatusMisdirectedRequest, "wrong-host", "the server does not have the host name of the request: --host adds names")
		return
	}
	if !g.secure(r) {
		refuse(w, r, http.StatusForbidden, "insecure", "plain HTTP is refused: use https")
		return
	}
	if g.sessions != nil && (path == "/login" || path == "/logout") {
		g.serveLogin(w, r, path)
		return
	}
	if g.config.Hooks && !g.config.ReadOnly && strings.HasPrefix(path, hooksPath) || g.sessions != nil && strings.HasPrefix(path, assetsPath) {
		g.pass(w, r, next, nil)
		return
	}
	p, err := g.authorize(r, sessionIdle)
	if err != nil {
		g.refuseAuthorization(w, r, path, err)
		return
	}
	g.pass(w, r, next, p)
}

// pass passes a request on.
func (g *Gate) pass(w http.ResponseWriter, r *http.Request, next http.Handler, p *Principal) {
	ctx := context.WithValue(r.Context(), addressKey{}, g.address(r))
	if p != nil {
		ctx = NewContext(ctx, p)
	}
	r = r.WithContext(ctx)
	if !g.trusted(r) {
		r.Header = r.Header.Clone()
		for _, name := range []string{"X-Forwarded-For", g.config.AuthHeader} {
			r.Header.Del(name)
		}
	}
	http.StripPrefix(g.config.BasePath, next).ServeHTTP(w, r)
}

// errUnknown is the error for a request without anything that identifies its sender.
var errUnknown = errors.New("the request has neither token nor session")

// errProxyUser is the error for a name in the header of a proxy.
var errProxyUser = errors.New("the proxy names no known user")

// errSameOrigin is the error for a change by cookie or proxy from a client that does not tell from
// which page it comes.
var errSameOrigin = errors.New("a change with a cookie needs a browser that sends Origin or Sec-Fetch-Site")

// patience is how long a request waits for Redis, which a client of its own would do for longer.
const patience = 3 * time.Second

// errAway is the error for a Redis that did not answer within a request's patience.
var errAway = errors.New("no answer from Redis in time")

// Authorize returns who makes a request that passed the gate, as it is known now: a handler of a long
// stream asks again. That does not make a session last longer. The error is [ErrToken],
// [ErrTokenExpired], [ErrNoSession] or another one, also if Redis does not answer for 3 s.
func (g *Gate) Authorize(r *http.Request) (*Principal, error) { return g.authorize(r, 0) }

// AuthorizeOpenPage is Authorize for a stream that a browser has as long as it shows a page. Its session
// lasts for another 30 minutes.
func (g *Gate) AuthorizeOpenPage(r *http.Request) (*Principal, error) {
	return g.authorize(r, sessionIdle)
}

// Refused reports whether an error of [Gate.Authorize] refuses the request. With others it is not known
// who makes it, for example because Redis does not answer.
func Refused(err error) bool {
	return slices.ContainsFunc([]error{errUnknown, ErrNoSession, ErrToken, ErrTokenExpired, errProxyUser, errSameOrigin}, func(refusal error) bool { return errors.Is(err, refusal) })
}

// away reports whether an error is that of a Redis that did not answer, or runs no commands now.
func away(err error) bool {
	var unreachable *skidway.UnreachableError
	return errors.As(err, &unreachable) || errors.Is(err, errAway) || rdb.Refused(err)
}

// authorize is Authorize for another idle time of the session.
func (g *Gate) authorize(r *http.Request, idle time.Duration) (*Principal, error) {
	ctx, cancel := context.WithTimeoutCause(r.Context(), g.patience, errAway)
	defer cancel()
	p, err := g.authenticate(r.WithContext(ctx), idle)
	if err != nil {
		return nil, err
	}
	if !g.config.ReadOnly {
		return p, nil
	}
	limited := *p
	limited.ReadOnly = true
	limited.Scopes = slices.DeleteFunc(slices.Clone(p.Scopes), func(s Scope) bool { return s.Action != View })
	return &limited, nil
}

func (g *Gate) authenticate(r *http.Request, idle time.Duration) (*Principal, error) {
	if values := r.Header.Values("Authorization"); len(values) > 0 && !g.isForProxy(r, values) {
		scheme, text, _ := strings.Cut(values[0], " ")
		if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") {
			return nil, ErrToken
		}
		return g.tokens.Authenticate(r.Context(), strings.TrimSpace(text))
	}
	if names := r.Header.Values(g.config.AuthHeader); g.config.AuthHeader != "" && len(names) > 0 && g.trusted(r) {
		if len(names) > 1 || g.config.Users == nil || !isUserName(names[0]) {
			return nil, errProxyUser
		}
		user, found := g.config.Users.Lookup(names[0])
		if !found {
			return nil, errProxyUser
		}
		return user.Principal(), checkOrigin(r)
	}
	if g.config.NoLogin && g.local(r) {
		if g.sessions == nil { // there is no page that a browser could be made to send a form of
			return localPrincipal(false), nil
		}
		return localPrincipal(false), checkOrigin(r)
	}
	if g.sessions == nil {
		return nil, errUnknown
	}
	cookie, err := r.Cookie(g.cookie)
	if err != nil {
		return nil, errUnknown
	}
	p, err := g.sessions.principal(r.Context(), cookie.Value, idle)
	if away(err) && isSafe(r) {
		p, err = g.sessions.lastSeen(cookie.Value, err) // so that the last known figures can be looked at
	}
	if err != nil {
		return nil, err
	}
	return p, checkOrigin(r)
}

// isForProxy reports whether the values of Authorization are for a proxy that names the user itself, as those
// of the scheme Basic are.
func (g *Gate) isForProxy(r *http.Request, values []string) bool {
	if g.config.AuthHeader == "" || len(r.Header.Values(g.config.AuthHeader)) == 0 || !g.trusted(r) {
		return false
	}
	return !slices.ContainsFunc(values, func(value string) bool {
		scheme, _, _ := strings.Cut(value, " ")
		return strings.EqualFold(scheme, "Bearer")
	})
}

// isSafe reports whether a request changes nothing.
func isSafe(r *http.Request) bool {
	return r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions
}

// checkOrigin returns an error for a change whose client does not tell from which page it comes.
// [http.CrossOriginProtection] lets it pass.
func checkOrigin(r *http.Request) error {
	if isSafe(r) || r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != "" {
		return nil
	}
	return errSameOrigin
}

// local reports whether a program of this machine has sent the request, not a proxy for others.
func (g *Gate) local(r *http.Request) bool {
	for _, name := range []string{"X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Forwarded", "Via"} {
		if len(r.Header.Values(name)) > 0 {
			return false
		}
	}
	return addressOf(r.RemoteAddr).IsLoopback()
}

// refuseAuthorization answers a request whose principal is not known. A person who looks at a page
// is led to the login.
func (g *Gate) refuseAuthorization(w http.ResponseWriter, r *http.Request, path string, err error) {
	unknown := errors.Is(err, errUnknown) || errors.Is(err, ErrNoSession)
	switch {
	case unknown && g.isBrowser(r) && isSafe(r):
		http.Redirect(w, r, g.loginPath(path, r.URL.RawQuery), http.StatusSeeOther)
	case unknown && g.isBrowser(r): // a form of a page that was open for longer than the session
		http.Redirect(w, r, g.loginPath(g.referrer(r)), http.StatusSeeOther)
	case errors.Is(err, errSameOrigin):
		refuse(w, r, http.StatusForbidden, "cross-origin", err.Error())
	case unknown, errors.Is(err, ErrToken), errors.Is(err, ErrTokenExpired), errors.Is(err, errProxyUser):
		challenge := `Bearer realm="skidway"`
		if !unknown {
			challenge += `, error="invalid_token"`
		}
		w.Header().Set("WWW-Authenticate", challenge)
		refuse(w, r, http.StatusUnauthorized, "unauthorized", err.Error())
	case errors.Is(err, ErrTokensBusy):
		w.Header().Set("Retry-After", "1")
		refuse(w, r, http.StatusTooManyRequests, "busy", err.Error())
	default:
		g.unavailable(w, r, err)
	}
}

// isBrowser reports whether a person looks at a page, or sends a form of one.
func (g *Gate) isBrowser(r *http.Request) bool {
	return g.sessions != nil && strings.Contains(r.Header.Get("Accept"), "text/html") && r.Header.Get("Authorization") == ""
}

// referrer returns the path and the query of the page that has sent a request, "/" if that is none of this
// server.
func (g *Gate) referrer(r *http.Request) (path, query string) {
	page, err := url.Parse(r.Referer())
	if err != nil || page.Host != r.Host {
		return "/", ""
	}
	path, below := strings.CutPrefix(page.EscapedPath(), g.config.BasePath)
	if !below || !strings.HasPrefix(path, "/") {
		return "/", ""
	}
	return path, page.RawQuery
}

// unavailable answers a request that failed because of Redis.
func (g *Gate) unavailable(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return
	}
	g.config.Logger.Error("a request can't be authorized", "path", r.URL.Path, "error", err)
	w.Header().Set("Retry-After", strconv.Itoa(int(unavailableFor.Seconds())))
	if g.isBrowser(r) {
		g.showLogin(w, r, LoginForm{Status: http.StatusServiceUnavailable})
		return
	}
	refuse(w, r, http.StatusServiceUnavailable, "redis-unavailable", "who makes the request can't be found out: the log of the server has the reason")
}

const unavailableFor = 2 * time.Second

// refuse answers with a problem as of RFC 9457, of the same form as those of the API.
func refuse(w http.ResponseWriter, r *http.Request, status int, name, detail string) {
	text, _ := json.Marshal(struct { // texts only
		Type     string `json:"type"`
		Title    string `json:"title"`
		Status   int    `json:"status"`
		Detail   string `json:"detail"`
		Instance string `json:"instance"`
	}{"urn:skidway:problem:" + name, http.StatusText(status), status, detail, r.URL.EscapedPath()})
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n'))
}

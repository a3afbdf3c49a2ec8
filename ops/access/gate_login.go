package access

import (
	"context"
	"crypto/rand"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"
)

// maxLoginBody bounds the form of a login, in bytes.
const maxLoginBody = 8 << 10

// loginPath returns the path of the page of the login, with that of the page after it.
func (g *Gate) loginPath(next, query string) string {
	if query != "" {
		next += "?" + query
	}
	to := g.config.BasePath + "/login"
	if next != "/" && len(next) < 1000 {
		to += "?next=" + url.QueryEscape(next)
	}
	return to
}

// LocalPath returns a path below the base path with its query, if it can't lead to another server,
// else "/".
func LocalPath(text string) string {
	target, err := url.Parse(text)
	switch {
	case err != nil, target.Scheme != "", target.Host != "", target.User != nil, target.Opaque != "":
		return "/"
	case !strings.HasPrefix(text, "/"), strings.HasPrefix(text, "//"), len(text) > 2000:
		return "/"
	case strings.ContainsFunc(target.Path, func(r rune) bool { return r == '\\' || r < ' ' || r == 0x7f }), strings.ContainsAny(text, "\\\r\n\t"):
		return "/"
	case path.Clean(target.Path) != target.Path && path.Clean(target.Path)+"/" != target.Path:
		return "/"
	}
	target.Fragment = ""
	return target.RequestURI()
}

// serveLogin answers requests to /login and /logout.
func (g *Gate) serveLogin(w http.ResponseWriter, r *http.Request, path string) {
	r = r.WithContext(context.WithValue(r.Context(), addressKey{}, g.address(r)))
	switch {
	case path == "/login" && r.Method == http.MethodGet && r.URL.Query().Has("code"):
		g.useCode(w, r)
	case path == "/login" && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		g.showLogin(w, r, LoginForm{Status: http.StatusOK, Next: LocalPath(r.URL.Query().Get("next"))})
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", "POST")
		refuse(w, r, http.StatusMethodNotAllowed, "method-not-allowed", "use POST")
	case path == "/logout":
		g.logout(w, r)
	default:
		g.login(w, r)
	}
}

func (g *Gate) showLogin(w http.ResponseWriter, r *http.Request, form LoginForm) {
	form.Local, form.Base = g.logins == nil, g.config.BasePath
	g.config.LoginPage(w, r, form)
}

// login answers the form of the login.
func (g *Gate) login(w http.ResponseWriter, r *http.Request) {
	if mediaType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); mediaType != "application/x-www-form-urlencoded" {
		refuse(w, r, http.StatusUnsupportedMediaType, "wrong-type", "the login is a form")
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxLoginBody)
	if err := r.ParseForm(); err != nil {
		refuse(w, r, http.StatusBadRequest, "invalid", "the form can't be read")
		return
	}
	name, next := r.PostForm.Get("name"), LocalPath(r.PostForm.Get("next"))
	if g.logins == nil {
		g.showLogin(w, r, LoginForm{Status: http.StatusForbidden, Next: next})
		return
	}
	user, err := g.logins.Login(r.Context(), name, r.PostForm.Get("password"), AddressFromContext(r.Context()))
	var limit *LoginLimitError
	switch {
	case errors.As(err, &limit):
		w.Header().Set("Retry-After", strconv.Itoa(int(limit.Wait/time.Second)+1))
		g.showLogin(w, r, LoginForm{Status: http.StatusTooManyRequests, Problem: err.Error(), Name: name, Next: next})
	case errors.Is(err, ErrLogin):
		ctx, cancel := context.WithTimeoutCause(r.Context(), g.patience, errAway)
		defer cancel()
		if err := g.audit.Refuse(ctx, g.loginEntry(r, name, err)); err != nil {
			g.unavailable(w, r, err)
			return
		}
		g.showLogin(w, r, LoginForm{Status: http.StatusUnauthorized, Problem: err.Error(), Name: name, Next: next})
	case err != nil:
		g.unavailable(w, r, err)
	default:
		g.beginSession(w, r, &user, next)
	}
}

// loginEntry returns the entry of a login. A name of no user may be a password in the wrong field.
func (g *Gate) loginEntry(r *http.Request, name string, outcome error) Entry {
	if outcome != nil {
		if _, known := g.config.Users.Lookup(name); !known {
			name = "(unknown name)"
		}
	}
	e := NewEntry(r.Context(), "login", "")
	if e.Who, e.Proven, e.Outcome = name, outcome == nil, "done"; outcome != nil {
		e.Outcome = outcome.Error()
	}
	return e
}

// beginSession begins a session under a new id, of a user or with nil the local one, and ends that
// of the request. It reports whether it did.
func (g *Gate) beginSession(w http.ResponseWriter, r *http.Request, user *User, next string) bool {
	name := LocalName
	if user != nil {
		name = user.Name
	}
	ctx, cancel := context.WithTimeoutCause(r.Context(), g.patience, errAway)
	defer cancel()
	var err error
	if old, cookieErr := r.Cookie(g.cookie); cookieErr == nil {
		err = g.sessions.remove(ctx, hashOf(old.Value))
	}
	id := ""
	if err == nil {
		id, err = g.sessions.Begin(ctx, user)
	}
	if err == nil {
		if err = g.audit.Record(ctx, g.loginEntry(r, name, nil)); err != nil {
			err = errors.Join(err, g.sessions.remove(ctx, hashOf(id)))
		}
	}
	if err != nil {
		g.unavailable(w, r, err)
		return false
	}
	g.setCookie(w, id, int(sessionLife/time.Second))
	http.Redirect(w, r, g.config.BasePath+next, http.StatusSeeOther)
	return true
}

func (g *Gate) setCookie(w http.ResponseWriter, value string, age int) {
	http.SetCookie(w, &http.Cookie{Name: g.cookie, Value: value, Path: "/", MaxAge: age, Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode})
}

// logout ends all sessions of the user.
func (g *Gate) logout(w http.ResponseWriter, r *http.Request) {
	if cookie, err := r.Cookie(g.cookie); err == nil {
		if err := g.endSessions(r, cookie.Value); err != nil && !errors.Is(err, ErrNoSession) {
			g.refuseAuthorization(w, r, "/logout", err)
			return
		}
	}
	g.setCookie(w, "", -1)
	http.Redirect(w, r, g.config.BasePath+"/login", http.StatusSeeOther)
}

// endSessions ends all sessions of the user of a session.
func (g *Gate) endSessions(r *http.Request, id string) error {
	ctx, cancel := context.WithTimeoutCause(r.Context(), g.patience, errAway)
	defer cancel()
	p, err := g.sessions.Principal(ctx, id)
	if err != nil {
		return err
	}
	if err := checkOrigin(r); err != nil {
		return err
	}
	e := NewEntry(NewContext(ctx, p), "logout", "")
	e.Outcome = "done"
	if err := g.audit.Record(ctx, e); err != nil {
		return err
	}
	return g.sessions.End(ctx, id)
}

// NewCode returns the path and query of an address that logs in once, within 10 minutes, as the local
// principal. It is only for a gate at a loopback address that has pages and no users.
func (g *Gate) NewCode() string {
	return g.config.BasePath + "/login?code=" + g.codes.add()
}

// useCode exchanges a one-time code for a session.
func (g *Gate) useCode(w http.ResponseWriter, r *http.Request) {
	code := r.URL.Query().Get("code")
	expires, good := g.codes.use(code)
	if g.logins != nil || !good {
		g.showLogin(w, r, LoginForm{Status: http.StatusForbidden, Problem: "the address was used already, or is older than 10 minutes", Next: "/"})
		return
	}
	if !g.beginSession(w, r, nil, "/") {
		g.codes.keep(code, expires) // for another try
	}
}

// codes are one-time codes, in this process.
type codes struct {
	now func() time.Time

	mu      sync.Mutex
	expires map[string]time.Time // by the hash of a code
}

// Bounds of codes.
const (
	codeLife = 10 * time.Minute
	maxCodes = 100
)

func newCodes() *codes { return &codes{now: time.Now, expires: map[string]time.Time{}} }

func (c *codes) add() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.expires) >= maxCodes {
		clear(c.expires)
	}
	code := rand.Text()
	c.expires[hashOf(code)] = c.now().Add(codeLife)
	return code
}

// keep makes a code good again, until it expires.
func (c *codes) keep(code string, expires time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expires[hashOf(code)] = expires
}

// use reports whether a code is good, which ends it, and when it would expire. It is looked up by its
// hash, so the time that this takes says nothing of other codes.
func (c *codes) use(code string) (expires time.Time, good bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	hash := hashOf(code)
	expires, good = c.expires[hash]
	delete(c.expires, hash)
	return expires, good && c.now().Before(expires)
}

package dash

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"skidway"
	"skidway/ops"
	"skidway/ops/access"
	"skidway/ops/dash/internal/stream"
	"skidway/ops/dash/internal/words"
	"skidway/queue"
)

// Config configures a [Dash]. The zero value shows nothing: every request is refused until a
// principal is known, by the request's context or by Authorize.
type Config struct {
	// Ops is the client by which the pages read and change; nil means one that hides
	// [ops.DefaultRedactKeys]. A process should have one, because its searches share a budget.
	Ops *ops.Client

	// Authorize returns who makes a request, nil if that is not known. An error is that this can't be
	// found out now: the request is answered with 503, and an open stream goes on. It is asked where
	// the context of the request has no principal, and again every 30 s for an open stream. Nil means
	// that only the context counts: then a stream ends after 30 s, and the page opens another one.
	Authorize func(*http.Request) (*access.Principal, error)

	// Logger gets what fails without a page to show it; nil means [slog.Default].
	Logger *slog.Logger
}

// A Dash is the dashboard, an [http.Handler]. It finds out itself under which path it is mounted,
// as long as what comes before it removes the path with [http.StripPrefix]. It is safe for
// concurrent use.
type Dash struct {
	config    Config
	db        *skidway.DB
	queues    *queue.Client
	ops       *ops.Client
	mux       *http.ServeMux
	handler   http.Handler
	templates *template.Template
	assets    *assets
	sampler   *ops.Sampler
	audit     *access.Audit
	streams   stream.Set
	drawings  drawings
	lastPages lastPages
	fleet     sharedFleet

	checkEvery time.Duration // of sessions of open streams, and of their rights

	life    context.Context // of what goes on after an answer
	end     context.CancelFunc
	running sync.WaitGroup
}

// New returns the dashboard of a Redis. The caller closes it, and db after it. Nothing is sent to
// Redis.
func New(db *skidway.DB, config Config) (*Dash, error) {
	if config.Logger == nil {
		config.Logger = slog.Default()
	}
	queues, err := queue.NewClient(db, nil)
	if err != nil {
		return nil, err
	}
	if config.Ops == nil {
		if config.Ops, err = ops.NewClient(queues, &ops.Config{Redact: ops.Redact{Keys: ops.DefaultRedactKeys}}); err != nil {
			return nil, err
		}
	}
	d := &Dash{config: config, db: db, queues: queues, ops: config.Ops, mux: http.NewServeMux(), assets: loadAssets(), sampler: config.Ops.NewSampler(), audit: access.NewAudit(db, config.Logger), fleet: sharedFleet{turn: make(chan struct{}, 1)}, checkEvery: checkEvery}
	d.life, d.end = context.WithCancel(context.Background())
	if d.templates, err = parseTemplates(); err != nil {
		return nil, err
	}
	for i := range routes {
		route := &routes[i]
		d.mux.HandleFunc(route.pattern, func(w http.ResponseWriter, r *http.Request) { d.serve(w, r, route) })
	}
	d.mux.Handle("GET /assets/{name}", d.assets)
	d.mux.HandleFunc("GET /live", d.serveLive)
	d.mux.HandleFunc("/", d.serveNone)
	d.handler = strictHeaders(http.NewCrossOriginProtection().Handler(http.HandlerFunc(d.serveClean)))
	return d, nil
}

// Close ends the open streams and what reads for them, interrupts the operations that this process
// runs, and waits for all of them.
func (d *Dash) Close() error {
	d.EndStreams()
	d.end()
	d.sampler.Close()
	d.running.Wait()
	return nil
}

// EndStreams ends the open streams, for [http.Server.RegisterOnShutdown]: Shutdown would wait for
// them.
func (d *Dash) EndStreams() { d.streams.End() }

// ServeHTTP answers a request.
func (d *Dash) ServeHTTP(w http.ResponseWriter, r *http.Request) { d.handler.ServeHTTP(w, r) }

// serveClean answers a request whose path has no empty parts and no dots. The mux would redirect others to a
// path without the one under which the dashboard is mounted.
func (d *Dash) serveClean(w http.ResponseWriter, r *http.Request) {
	asked := r.URL.EscapedPath()
	clean := path.Clean(asked)
	if asked != clean && asked != strings.TrimSuffix(clean, "/")+"/" {
		d.serveNone(w, r)
		return
	}
	d.mux.ServeHTTP(w, r)
}

// serveNone answers with the page of an unknown path.
func (d *Dash) serveNone(w http.ResponseWriter, r *http.Request) {
	d.serve(w, r, &route{scope: anyQueue, page: notFound})
}

// maxForm bounds the body of a form: the largest payload, and what encoding it as a form adds.
const maxForm = 4 << 20

// answerWithin bounds the time of an answer: Redis may be away for longer.
const answerWithin = 5 * time.Second

// serve answers a request of a route of the table.
func (d *Dash) serve(w http.ResponseWriter, r *http.Request, route *route) {
	ctx, cancel := context.WithTimeout(r.Context(), cmp.Or(route.within, answerWithin))
	defer cancel()
	p := d.newPage(w, r.WithContext(ctx), route)
	p.request = p.request.WithContext(access.NewContext(ctx, p.Who))
	p.request.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := p.check(); err != nil {
		p.fail(err)
		return
	}
	if route.page != nil {
		p.show()
		return
	}
	if err := p.request.ParseForm(); err != nil {
		p.fail(&pageError{http.StatusBadRequest, "error.form"})
		return
	}
	to, said, err := route.action(p)
	var wrong *pageError
	if errors.As(err, &wrong) {
		p.fail(err)
		return
	}
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		return
	}
	if err != nil {
		said = message{Rank: "bad", Key: "said.not_done", Args: []string{errorText(err)}}
		if p.drawForm(said, err) {
			return
		}
	}
	p.say(said)
	http.Redirect(w, r, p.Link(to), http.StatusSeeOther)
}

// mountedAt returns the path under which the dashboard is mounted: what is in the request's line
// before the path that is left.
func mountedAt(r *http.Request) string {
	path, _, _ := strings.Cut(r.RequestURI, "?")
	if _, rest, found := strings.Cut(path, "://"); found {
		_, rest, _ = strings.Cut(rest, "/")
		path = "/" + rest
	}
	base, found := strings.CutSuffix(path, r.URL.EscapedPath())
	if !found {
		return ""
	}
	return strings.TrimSuffix(base, "/")
}

type nonceKey struct{}

// strictHeaders sets the headers of every answer. Only the script with the nonce of the answer
// runs, nothing comes from another host, and no script can insert HTML.
func strictHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		nonce := rand.Text()
		header := w.Header()
		header.Set("Content-Security-Policy", "default-src 'none'; script-src 'nonce-"+nonce+"'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types 'none'")
		header.Set("Referrer-Policy", "same-origin") // "no-referrer" makes forms send "Origin: null"
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), nonceKey{}, nonce)))
	})
}

// nonceOf returns the nonce of the script of an answer.
func nonceOf(r *http.Request) string {
	nonce, _ := r.Context().Value(nonceKey{}).(string)
	return nonce
}

// LoginPage writes the page with the form of the login, for [access.GateConfig].
func (d *Dash) LoginPage(w http.ResponseWriter, r *http.Request, form access.LoginForm) {
	strictHeaders(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := d.newPage(w, r, &route{})
		p.base = form.Base
		p.Title, p.Status, p.Data = words.T("login.title"), form.Status, form
		p.write("login")
	})).ServeHTTP(w, r)
}

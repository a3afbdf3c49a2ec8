package dash

import (
	"context"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"skidway"
	"skidway/ops"
	"skidway/ops/access"
	"skidway/ops/dash/internal/stream"
	"skidway/queue"
)

// Config configures a [Dash]. The zero value shows nothing: every request is refused until a
// principal is known, by the request's context or by Authorize.
type Config struct {
	// Ops is the client by which the pages read and change; nil means one that hides
	// [ops.DefaultRedactKeys]. A process should have one, because its searches share a budget.
	Ops *ops.Client

	// Authorize returns who makes a request, nil if that is not known. It is asked where the context of the
	// request has no principal, and again every 30 s for an open stream. Nil means that only the
	// context counts.
	Authorize func(*http.Request) *access.Principal

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
	d := &Dash{config: config, db: db, queues: queues, ops: config.Ops, mux: http.NewServeMux(), assets: loadAssets(), sampler: config.Ops.NewSampler(), audit: access.NewAudit(db, config.Logger)}
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
	d.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { d.serve(w, r, &route{scope: anyQueue, page: notFound}) })
	d.handler = strictHeaders(http.NewCrossOriginProtection().Handler(d.mux))
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

// maxForm bounds the body of a form: the largest payload, and what encoding it as a form adds.
const maxForm = 4 << 20

// answerWithin bounds the time of an answer: Redis may be away for longer.
const answerWithin = 5 * time.Second

// serve answers a request of a route of the table.
func (d *Dash) serve(w http.ResponseWriter, r *http.Request, route *route) {
	ctx, cancel := context.WithTimeout(r.Context(), answerWithin)
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
		said = message{Rank: "bad", Key: "said.not_done", Args: []string{err.Error()}}
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

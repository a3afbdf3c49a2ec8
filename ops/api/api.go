package api

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"skidway"
	"skidway/ops"
	"skidway/ops/access"
	"skidway/queue"
)

// Bounds of requests.
const (
	defaultTimeout = 10 * time.Second // of a request that is no stream
	requestTime    = time.Minute      // to read a request
	answerTime     = 2 * time.Minute  // to write an answer, from the start of the request
	maxWaits       = 100              // requests that wait for the end of a job, at the same time
	maxWaitsEach   = 40               // of them those of a principal
	maxWaitQueues  = 20               // of the jobs that they wait for
	waitLinger     = 6 * time.Second  // a wait's connection to Redis outlives it by up to 5 s
)

// Config configures a [Handler]. With the zero value it answers 403 to every request.
type Config struct {
	// Authorize returns who makes a request. An error is answered with 401, a nil principal with
	// 403. A nil function means the principal in the context of the request, see [access.NewContext].
	Authorize func(*http.Request) (*access.Principal, error)

	// BasePath is the path below which the handler is mounted, as "/skidway". It begins the
	// addresses in answers. The handler receives requests without it, as from [http.StripPrefix].
	BasePath string

	// Ops reads; nil means one that hides the values of [ops.DefaultRedactKeys]. A process should have
	// only one, because it bounds the searches of a process.
	Ops *ops.Client

	// MaxPayload and Middleware are those of [queue.Config], for jobs that are added.
	MaxPayload int
	Middleware []queue.Middleware

	// Hooks answer POST /hooks/NAME, which is not below /api/v1. Their signatures say who makes the
	// request, not Authorize. Nil means none.
	Hooks *access.Hooks

	// Timeout bounds a request that is no stream; zero means 10 s.
	Timeout time.Duration

	Logger *slog.Logger // nil means [slog.Default]
}

// A Handler answers requests of the API. It is safe for concurrent use.
type Handler struct {
	config Config
	db     *skidway.DB
	queues *queue.Client
	ops    *ops.Client
	audit  *access.Audit
	log    *slog.Logger
	routes []route
	origin *http.CrossOriginProtection

	document   document
	waits      limit // of requests that wait
	streams    limit
	answerTime time.Duration // to write an answer
	askAgain   time.Duration // after which a stream asks whether its principal may still see the queue
	deliveries limit
	hooks      *access.Hooks
	hooked     string           // the pattern of requests to hooks
	now        func() time.Time // of signatures
	scales     scales
	requests   sync.Map // those with an Idempotency-Key that are being served

	work   context.Context // of operations; it ends with the handler
	cancel context.CancelFunc
	mu     sync.Mutex // guards closed and additions to tasks
	closed bool
	tasks  sync.WaitGroup
}

// New returns a handler for a Redis, which the caller closes after the handler. Nothing is sent to
// Redis.
func New(db *skidway.DB, config Config) (*Handler, error) {
	queues, err := queue.NewClient(db, &queue.Config{MaxPayload: config.MaxPayload, Middleware: config.Middleware})
	if err != nil {
		return nil, err
	}
	if config.MaxPayload == 0 {
		config.MaxPayload = queue.DefaultMaxPayload
	}
	if config.Timeout == 0 {
		config.Timeout = defaultTimeout
	}
	if config.Logger == nil {
		config.Logger = slog.Default()
	}
	if config.Ops == nil {
		if config.Ops, err = ops.NewClient(queues, &ops.Config{Redact: ops.Redact{Keys: ops.DefaultRedactKeys}}); err != nil {
			return nil, err
		}
	}
	h := &Handler{config: config, db: db, queues: queues, ops: config.Ops, log: config.Logger, audit: access.NewAudit(db, config.Logger), routes: routes(), origin: http.NewCrossOriginProtection(),
		waits:      limit{max: maxWaits, maxEach: maxWaitsEach, maxQueues: maxWaitQueues, linger: waitLinger},
		streams:    limit{max: maxStreams, maxEach: maxStreamsEach, maxQueues: maxStreams},
		deliveries: limit{max: maxDeliveries, maxEach: maxDeliveriesEach, maxQueues: maxDeliveries},
		askAgain:   askAgain,
		answerTime: answerTime,
		hooks:      config.Hooks,
		now:        time.Now,
	}
	if h.hooks == nil {
		h.hooks = &access.Hooks{}
	}
	for i := range h.routes {
		h.routes[i].pattern = h.routes[i].method + " " + config.BasePath + prefix + h.routes[i].path
	}
	h.hooked = http.MethodPost + " " + config.BasePath + hooksPath + "{name}"
	h.work, h.cancel = context.WithCancel(context.Background())
	return h, nil
}

// Close ends streams and interrupts the operations that the handler runs, and blocks until they have
// ended. Requests that come later and need one are refused. Closing twice has no effect.
func (h *Handler) Close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.cancel()
	h.tasks.Wait()
}

// task calls f in a goroutine that Close waits for, with a context that Close ends. It returns false
// if the handler is closed.
func (h *Handler) task(f func(context.Context)) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		h.tasks.Go(func() { f(h.work) })
	}
	return !h.closed
}

// headers are those of every answer.
var headers = map[string]string{
	"Content-Security-Policy":      "default-src 'none'; frame-ancestors 'none'",
	"X-Content-Type-Options":       "nosniff",
	"Referrer-Policy":              "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Cache-Control":                "no-store",
}

// ServeHTTP implements [http.Handler]. As [http.ServeMux] does, it sets the pattern of the request, by
// which spans and metrics name it.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for name, value := range headers {
		w.Header().Set(name, value)
	}
	limit := http.NewResponseController(w) // a recorder of a test has no connection
	_ = limit.SetReadDeadline(time.Now().Add(requestTime))
	_ = limit.SetWriteDeadline(time.Now().Add(h.answerTime))
	if r.ContentLength == 0 {
		clearReadDeadline(w)
	}
	if name, isHook := strings.CutPrefix(r.URL.Path, hooksPath); isHook {
		r.Pattern = h.hooked
		h.answerError(w, r, h.deliver(w, r, name))
		return
	}
	c, err := h.newCall(w, r)
	if err == nil {
		err = c.serve()
	}
	h.answerError(w, r, err)
}

// answerError answers a request that failed.
func (h *Handler) answerError(w http.ResponseWriter, r *http.Request, err error) {
	if err == nil || r.Context().Err() != nil && errors.Is(err, context.Canceled) {
		return
	}
	p := problemOf(err)
	if p == nil {
		h.log.Error("a request failed", "method", r.Method, "path", r.URL.EscapedPath(), "error", err)
		p = problem("internal", "the log of the server has the reason")
	}
	if p.Status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", strings.Join(p.Allow, ", "))
	}
	writeProblem(w, r, p)
}

// clearReadDeadline ends the time for reading a request, once it has been read. A deadline that passes
// while the answer is made would cancel the request.
func clearReadDeadline(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // a recorder of a test has none
}

// newCall finds the route of a request, and checks what can be checked without its body: the site that
// it comes from, the principal, its scopes and the parameters.
func (h *Handler) newCall(w http.ResponseWriter, r *http.Request) (*call, error) {
	if err := h.origin.Check(r); err != nil {
		return nil, problem("forbidden", "%v", err)
	}
	route, values, err := h.find(r)
	if err != nil {
		return nil, err
	}
	r.Pattern = route.pattern
	c := &call{Handler: h, request: &request{w: w, r: r, route: route, values: values, maxPayload: h.config.MaxPayload}}
	if c.principal, err = h.authorize(r); err != nil {
		return nil, err
	}
	c.r = r.WithContext(access.NewContext(r.Context(), c.principal))
	if err := c.allowed(); err != nil {
		return nil, err
	}
	if err := cmp.Or(c.readIdempotencyKey(c.principal), c.readCondition()); err != nil {
		return nil, err
	}
	if err := c.readQuery(); err != nil {
		return nil, err
	}
	return c, c.refuseBody()
}

// authorize returns who makes a request.
func (h *Handler) authorize(r *http.Request) (*access.Principal, error) {
	if h.config.Authorize == nil {
		if p := access.FromContext(r.Context()); p != nil {
			return p, nil
		}
		return nil, problem("forbidden", "it is not known who makes the request")
	}
	p, err := h.config.Authorize(r)
	switch {
	case err != nil && problemOfRedis(err) != nil:
		return nil, err
	case err != nil:
		return nil, problem("unauthorized", "%v", err)
	case p == nil:
		return nil, problem("forbidden", "it is not known who makes the request")
	}
	return p, nil
}

// find returns the route of a request, with the values of its path.
func (h *Handler) find(r *http.Request) (*route, map[string]string, error) {
	var allow []string
	for i := range h.routes {
		candidate := &h.routes[i]
		values, ok := candidate.match(r.URL.EscapedPath())
		if !ok {
			continue
		}
		if candidate.method == r.Method || candidate.method == http.MethodGet && r.Method == http.MethodHead {
			return candidate, values, nil
		}
		allow = append(allow, candidate.method)
		if candidate.method == http.MethodGet {
			allow = append(allow, http.MethodHead)
		}
	}
	if allow == nil {
		return nil, nil, problem("not-found", "the API has no such path: %s/openapi.json lists those that there are", prefix)
	}
	slices.Sort(allow)
	p := problem("method-not-allowed", "%.20q is not possible here", r.Method)
	p.Allow = slices.Compact(allow)
	return nil, nil, p
}

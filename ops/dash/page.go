package dash

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"skidway"
	"skidway/ops"
	"skidway/ops/access"
	"skidway/queue"
)

// A page is an answer while it is made: the request, who asks, and what the template shows. The
// function of a route sets Title and Data, and what else it needs; templates call its methods.
type page struct {
	dash    *Dash
	route   *route
	request *http.Request
	writer  http.ResponseWriter
	base    string // the path under which the dashboard is mounted
	live    *recorder

	revealed bool // hidden values are shown

	overview *ops.Overview
	changed  <-chan struct{} // closed when there is a later overview

	Who      *access.Principal
	Settings settings
	Nonce    string
	Said     *message // by the last action

	Title  string
	Crumbs []Crumb
	Under  string // the entry of the list of pages to which a page without one belongs
	Status int
	Data   any // what only this page shows
}

// A Crumb is a page above this one; without a path it is this one.
type Crumb struct{ Text, Path string }

func (d *Dash) newPage(w http.ResponseWriter, r *http.Request, route *route) *page {
	p := &page{dash: d, route: route, request: r, writer: w, base: mountedAt(r), Status: http.StatusOK}
	p.Who = d.principal(r)
	p.Settings = readSettings(r)
	p.Nonce = nonceOf(r)
	return p
}

// principal returns who makes a request, nil if that is not known.
func (d *Dash) principal(r *http.Request) *access.Principal {
	if who := access.FromContext(r.Context()); who != nil || d.config.Authorize == nil {
		return who
	}
	return d.config.Authorize(r)
}

// ctx returns the context of the request.
func (p *page) ctx() context.Context { return p.request.Context() }

// Link returns the address of a page of the dashboard from its path, where parts have been escaped.
func (p *page) Link(path string) string { return p.base + path }

// QueueLink returns the address of a queue, or of a page or action below it.
func (p *page) QueueLink(name, below string) string { return p.Link(queuePath(name, below)) }

// queuePath returns the path of a queue. Browsers remove "." and ".." from paths.
func queuePath(name, below string) string {
	if name == "." || name == ".." {
		return "/queues/-" + below + "?queue=" + name
	}
	return "/queues/" + url.PathEscape(name) + below
}

// JobLink returns the address of a job, or of an action below it.
func (p *page) JobLink(id, below string) string { return p.Link(jobPath(id) + below) }

func jobPath(id string) string { return "/jobs/" + url.PathEscape(id) }

// Asset returns the address of a file of assets/.
func (p *page) Asset(name string) string { return p.Link("/assets/" + p.dash.assets.hashed[name]) }

// May reports whether the principal may do something with a queue; "*" means all of them.
func (p *page) May(action, queue string) bool { return p.Who.May(access.Action(action), queue) }

// WhyNot returns why a button is disabled, empty if it is not.
func (p *page) WhyNot(action, queue string) string {
	if p.May(action, queue) {
		return ""
	}
	return T("role.lacks", T("right."+action))
}

// WhyNotAdd returns why a button that adds a job of a kind is disabled, empty if it is not.
func (p *page) WhyNotAdd(queue, kind string) string {
	if p.Who.MayAdd(queue, kind) {
		return ""
	}
	return T("role.lacks_add", kind, queue)
}

// Server returns the Redis, without user name and password.
func (p *page) Server() string {
	text := p.dash.db.String()
	if _, rest, found := strings.Cut(text, "://"); found {
		text = strings.TrimSuffix(rest, "/0")
	}
	return text
}

// errAnswered is returned by a page that has answered the request itself.
var errAnswered = errors.New("answered")

// show fills in the page and writes it.
func (p *page) show() {
	if err := p.route.page(p); errors.Is(err, errAnswered) {
		return
	} else if err != nil {
		p.fail(err)
		return
	}
	p.Said = p.takeMessage()
	p.write(p.route.template)
}

// write writes the page with a template.
func (p *page) write(name string) {
	var out bytes.Buffer
	if err := p.dash.templates.ExecuteTemplate(&out, name, p); err != nil {
		p.dash.config.Logger.Error("a page can't be drawn", "page", name, "error", err)
		http.Error(p.writer, T("error.title"), http.StatusInternalServerError)
		return
	}
	header := p.writer.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Add("Vary", "Accept-Encoding")
	if !strings.Contains(p.request.Header.Get("Accept-Encoding"), "gzip") {
		p.writer.WriteHeader(p.Status)
		_, _ = p.writer.Write(out.Bytes())
		return
	}
	header.Set("Content-Encoding", "gzip")
	p.writer.WriteHeader(p.Status)
	packer, _ := gzip.NewWriterLevel(p.writer, gzip.BestSpeed)
	_, _ = packer.Write(out.Bytes())
	_ = packer.Close()
}

// A pageError is an error with its own status and text, whose key begins with "error.".
type pageError struct {
	status int
	key    string
}

func (e *pageError) Error() string { return T(e.key) }

// notFound is the page of an unknown path.
func notFound(*page) error { return &pageError{http.StatusNotFound, "error.not_found"} }

// failure is the data of the page of an error.
type failure struct {
	Title, Text string
	Unreachable bool
}

// fail writes the page of an error.
func (p *page) fail(err error) {
	if p.ctx().Err() != nil && !errors.Is(err, context.DeadlineExceeded) {
		return
	}
	data := failure{T("error.title"), err.Error(), false}
	var (
		known   *pageError
		noQueue *ops.NoQueueError
		busy    *ops.BusyError
		away    *skidway.UnreachableError
	)
	p.Status = http.StatusInternalServerError
	switch {
	case errors.As(err, &known):
		p.Status = known.status
	case errors.As(err, &noQueue):
		p.Status, data.Text = http.StatusNotFound, T("error.no_queue", noQueue.Name)
	case errors.Is(err, queue.ErrNoJob):
		p.Status, data.Text = http.StatusNotFound, T("error.no_job")
	case errors.Is(err, queue.ErrInvalid):
		p.Status = http.StatusBadRequest
	case errors.As(err, &busy):
		p.Status = http.StatusTooManyRequests
		p.writer.Header().Set("Retry-After", "1")
	case errors.As(err, &away), errors.Is(err, context.DeadlineExceeded):
		p.Status, data.Unreachable, data.Title = http.StatusServiceUnavailable, true, T("error.away", p.Server())
		p.writer.Header().Set("Retry-After", "2")
	default:
		p.dash.config.Logger.Error("a page failed", "path", p.request.URL.Path, "error", err)
	}
	p.Title, p.Crumbs, p.Data = data.Title, nil, data
	p.write("failure")
}

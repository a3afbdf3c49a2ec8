package dash

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"net/http"
	"strings"

	"skidway"
	"skidway/distribute/cuts"
	"skidway/ops"
	"skidway/ops/access"
	"skidway/ops/dash/internal/words"
	"skidway/queue"
)

// A page is an answer while it is made: the request, who asks, and what the template shows. The
// function of a route sets Title and Data, and what else it needs; templates call its methods.
type page struct {
	links
	viewer
	clock
	*recorder // nil: the page is not drawn for a stream

	dash    *Dash
	route   *route
	request *http.Request
	writer  http.ResponseWriter

	revealed bool // hidden values are shown

	overview *ops.Overview
	changed  <-chan struct{} // closed when there is a later overview

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
	p := &page{dash: d, route: route, request: r, writer: w, Status: http.StatusOK}
	p.links = links{mountedAt(r), d.assets}
	p.viewer = viewer{d.principal(r)}
	p.Settings = readSettings(r)
	p.clock = clock{p.Settings.zone}
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
		http.Error(p.writer, words.T("error.title"), http.StatusInternalServerError)
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

func (e *pageError) Error() string { return words.T(e.key) }

// notFound is the page of an unknown path.
func notFound(*page) error { return &pageError{http.StatusNotFound, "error.not_found"} }

// failure is the data of the page of an error.
type failure struct {
	Title, Text string
	Unreachable bool
}

// errorText returns an error in words. The names of other queues are not for everyone.
func errorText(err error) string {
	var noQueue *ops.NoQueueError
	if errors.As(err, &noQueue) {
		return words.T("error.no_queue", noQueue.Name)
	}
	return err.Error()
}

// fail writes the page of an error.
func (p *page) fail(err error) {
	if p.ctx().Err() != nil && !errors.Is(err, context.DeadlineExceeded) {
		return
	}
	data := failure{words.T("error.title"), errorText(err), false}
	var (
		known   *pageError
		noQueue *ops.NoQueueError
		busy    *ops.BusyError
		away    *skidway.UnreachableError
		query   *cuts.QueryError
	)
	p.Status = http.StatusInternalServerError
	switch {
	case errors.As(err, &known):
		p.Status = known.status
	case errors.As(err, &noQueue):
		p.Status = http.StatusNotFound
	case errors.Is(err, queue.ErrNoJob):
		p.Status, data.Text = http.StatusNotFound, words.T("error.no_job")
	case errors.Is(err, queue.ErrInvalid), errors.As(err, &query):
		p.Status = http.StatusBadRequest
	case errors.As(err, &busy):
		p.Status = http.StatusTooManyRequests
		p.writer.Header().Set("Retry-After", "1")
	case errors.As(err, &away), errors.Is(err, context.DeadlineExceeded):
		p.Status, data.Unreachable, data.Title = http.StatusServiceUnavailable, true, words.T("error.away", p.Server())
		p.writer.Header().Set("Retry-After", "2")
	default:
		p.dash.config.Logger.Error("a page failed", "path", p.request.URL.Path, "error", err)
	}
	p.Title, p.Crumbs, p.Data = data.Title, nil, data
	p.write("failure")
}

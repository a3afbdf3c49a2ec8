package dash

import (
	"bytes"
	"compress/gzip"
	"context"
	"embed"
	"errors"
	"html/template"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"skidway"
	"skidway/distribute/cuts"
	"skidway/ops"
	"skidway/ops/access"
	"skidway/ops/dash/internal/chart"
	"skidway/ops/dash/internal/words"
	"skidway/queue"
)

// A page is an answer while it is made: the request, who asks, and what the template shows. The
// function of a route sets Title and Data, and what else it needs; templates call its methods.
type page struct {
	exchange
	viewer
	clock
	*recorder // nil: the page is not drawn for a stream

	dash  *Dash
	route *route

	revealed bool  // hidden values are shown
	unknown  error // who makes the request can't be found out now

	overview *ops.Overview
	changed  <-chan struct{} // closed when there is a later overview
	now      time.Time       // by Redis's clock
	asOf     time.Time       // of the figures, if Redis does not answer and they are those of before

	Settings settings
	Nonce    string
	Said     *message // by the last action

	Title  string
	Crumbs []Crumb
	Under  string // the entry of the list of pages to which a page without one belongs
	Status int
	Data   any // what only this page shows
}

// An exchange is a request and its answer, with what they say of addresses and cookies.
type exchange struct {
	links
	request *http.Request
	writer  http.ResponseWriter
}

// A Crumb is a page above this one; without a path it is this one.
type Crumb struct{ Text, Path string }

func (d *Dash) newPage(w http.ResponseWriter, r *http.Request, route *route) *page {
	p := &page{exchange: exchange{links{mountedAt(r), d.assets}, r, w}, dash: d, route: route, Status: http.StatusOK}
	p.viewer.Who, p.unknown = d.principal(r)
	p.Settings = readSettings(r)
	p.clock = clock{p.Settings.zone}
	p.Nonce = nonceOf(r)
	return p
}

// principal returns who makes a request, nil if that is not known.
func (d *Dash) principal(r *http.Request) (*access.Principal, error) {
	if who := access.FromContext(r.Context()); who != nil || d.config.Authorize == nil {
		return who, nil
	}
	return d.config.Authorize(r)
}

// ctx returns the context of the request.
func (e *exchange) ctx() context.Context { return e.request.Context() }

// redisName returns the Redis in words. Its address is for those who may see all queues.
func (p *page) redisName() string {
	if address := p.Server(); address != "" {
		return words.T("redis.at", address)
	}
	return words.T("redis.title")
}

// Server returns the address of the Redis, without user name and password; empty for who may not see all
// queues.
func (p *page) Server() string {
	if p.Who == nil || !p.Who.May(access.View, access.All) {
		return ""
	}
	text := p.dash.db.String()
	if _, rest, found := strings.Cut(text, "://"); found {
		text = strings.TrimSuffix(rest, "/0")
	}
	return text
}

// errAnswered is returned by a page that has answered the request itself.
var errAnswered = errors.New("answered")

// awayWithin bounds the time of an answer while Redis is known to be away.
const awayWithin = time.Second

// show fills in the page and writes it. If Redis does not answer, it has the figures of before.
func (p *page) show() {
	if p.Overview().Away != nil {
		ctx, cancel := context.WithTimeout(p.ctx(), awayWithin)
		defer cancel()
		p.request = p.request.WithContext(ctx)
	}
	err := p.route.page(p)
	switch {
	case errors.Is(err, errAnswered):
		return
	case err == nil:
		p.dash.lastPages.keep(p)
	case silent(err) && (p.dash.lastPages.recall(p) || p.route.last != nil && p.route.last(p)):
		p.asOf = p.AsOf()
	default:
		p.fail(err)
		return
	}
	p.Said = p.takeMessage()
	p.write(p.route.template)
}

// drawForm writes the form of an action that failed, with what was typed into it, and reports whether
// there is such a form that the principal may see.
func (p *page) drawForm(said message, why error) bool {
	i := slices.IndexFunc(routes, func(r route) bool { return r.pattern == p.route.form })
	if i < 0 || p.denied(routes[i].right, routes[i].scope) {
		return false
	}
	p.route, p.Status, p.Said = &routes[i], http.StatusUnprocessableEntity, &said
	if silent(why) {
		p.Status = http.StatusServiceUnavailable
	}
	if err := p.route.page(p); err != nil {
		p.fail(err)
	} else {
		p.write(p.route.template)
	}
	return true
}

// typed returns what was typed into a field of a form that is drawn again, and else its first value.
func (e *exchange) typed(name, first string) string {
	if e.request.PostForm.Has(name) {
		return e.request.PostForm.Get(name)
	}
	return first
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
	NoFigures   bool // Redis does not answer, and there are no figures of before
}

// silent reports whether an error is that of a Redis that does not answer.
func silent(err error) bool {
	var away *skidway.UnreachableError
	return errors.As(err, &away) || errors.Is(err, context.DeadlineExceeded)
}

// fail writes the page of an error.
func (p *page) fail(err error) {
	if errors.Is(p.ctx().Err(), context.Canceled) {
		return
	}
	data := failure{Title: words.T("error.title"), Text: errorText(err)}
	var (
		known   *pageError
		noQueue *ops.NoQueueError
		busy    *ops.BusyError
		query   *cuts.QueryError
	)
	p.Status = http.StatusInternalServerError
	switch {
	case p.unknown != nil:
		p.Status, data.Unreachable, data.Text = http.StatusServiceUnavailable, true, words.T("error.who")
		p.writer.Header().Set("Retry-After", "2")
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
	case silent(err):
		p.Status, data.Unreachable, data.Title = http.StatusServiceUnavailable, true, words.T("error.away", p.redisName())
		data.NoFigures = p.route.kept()
		p.writer.Header().Set("Retry-After", "2")
	default:
		p.dash.config.Logger.Error("a page failed", "path", p.request.URL.Path, "error", err)
	}
	p.Title, p.Crumbs, p.Data = data.Title, nil, data
	p.Said = p.takeMessage() // of an action that led to a page which is not there
	p.write("failure")
}

// A viewer is who looks at a page, with their rights. Its principal is nil if that is not known.
type viewer struct{ Who *access.Principal }

// May reports whether the principal may do something with a queue; "*" means all of them.
func (v viewer) May(action, queue string) bool { return v.Who.May(access.Action(action), queue) }

// MayAny reports whether the principal has a right on any queue.
func (v viewer) MayAny(action string) bool { return v.mayAny(access.Action(action)) }

// mayAny reports whether the principal has a right on any queue.
func (v viewer) mayAny(right access.Action) bool {
	return v.Who != nil && (right == "" || slices.ContainsFunc(v.Who.Scopes, func(s access.Scope) bool { return s.Action == right }))
}

// WhyNot returns why a button is disabled, empty if it is not.
func (v viewer) WhyNot(action, queue string) string {
	if v.May(action, queue) {
		return ""
	}
	if v.ReadOnly() {
		return words.T("role.read_only")
	}
	return words.T("role.lacks", words.T("right."+action))
}

// WhyNotAny returns why a button that needs a right on any queue is disabled, empty if it is not.
func (v viewer) WhyNotAny(action string) string {
	if v.MayAny(action) {
		return ""
	}
	return v.WhyNot(action, access.All)
}

// ReadOnly reports whether changes are refused to all.
func (v viewer) ReadOnly() bool { return v.Who != nil && v.Who.ReadOnly }

// WhyNotAdd returns why a button that adds a job of a kind is disabled, empty if it is not.
func (v viewer) WhyNotAdd(queue, kind string) string {
	if v.Who.MayAdd(queue, kind) {
		return ""
	}
	if v.ReadOnly() {
		return words.T("role.read_only")
	}
	return words.T("role.lacks_add", kind, queue)
}

// Rights returns what the principal may do, in words.
func (v viewer) Rights() string {
	var names []string
	for _, action := range []access.Action{access.View, access.Operate, access.Enqueue, access.Admin, access.Reveal} {
		if v.mayAny(action) {
			names = append(names, words.T("right."+string(action)))
		}
	}
	return words.T("me.rights", strings.Join(names, ", "))
}

//go:embed pages/*.html
var pageFiles embed.FS

// parseTemplates parses the templates of the pages and their parts. Functions that need nothing of
// the request are here; the methods of [page] are the others.
func parseTemplates() (*template.Template, error) {
	return template.New("").Funcs(template.FuncMap{
		"t":     words.T,
		"num":   words.Text,
		"age":   words.Age,
		"took":  words.Took,
		"about": words.About,
		"bytes": words.Bytes,
		"ratio": words.Ratio,
		"long":  words.Long,
		"dict":  dict,
		"join":  strings.Join,
		"int64": func(n int) int64 { return int64(n) },
		"state_icon": func(state queue.State) string {
			if state == queue.Dead {
				return "bad"
			}
			return "warn"
		},
		"cmd":        command,
		"priorities": func() []string { return []string{"high", "normal", "low"} },
		"quote":      regexp.QuoteMeta,
		"bar": func(label string, part, whole int64, bad bool) chart.Bar {
			return chart.Share(label, float64(part), float64(whole), bad)
		},
	}).ParseFS(pageFiles, "pages/*.html")
}

// dict returns a map for a part that needs several values, from names and values in turn.
func dict(pairs ...any) map[string]any {
	values := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		values[pairs[i].(string)] = pairs[i+1]
	}
	return values
}

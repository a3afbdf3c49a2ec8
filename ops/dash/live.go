package dash

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"skidway/ops"
	"skidway/ops/access"
	"skidway/ops/dash/internal/stream"
	"skidway/ops/dash/internal/words"
	"skidway/queue"
)

// Times of a stream.
const (
	checkEvery = 30 * time.Second // of the session and its rights
	minEvery   = time.Second      // between two events
)

// An event is what has changed of a page.
type event struct {
	Values map[string]string   `json:"values,omitempty"`
	Rows   map[string][]string `json:"rows,omitempty"`
}

// serveLive answers with the changes of a page, as server-sent events, until the reader goes, the
// principal may no longer see the page, or there are too many streams.
func (d *Dash) serveLive(w http.ResponseWriter, r *http.Request) {
	who, err := d.principal(r)
	if err != nil {
		w.Header().Set("Retry-After", "2")
		http.Error(w, words.T("error.who"), http.StatusServiceUnavailable)
		return
	}
	target, route := d.liveRoute(r.URL.Query().Get("page"))
	if who == nil || route == nil {
		http.Error(w, words.T("error.not_found"), http.StatusNotFound)
		return
	}
	opened := d.streams.Open(sessionOf(r, who))
	if opened == nil {
		w.Header().Set("Retry-After", "30")
		http.Error(w, words.T("error.streams"), http.StatusTooManyRequests)
		return
	}
	d.running.Add(1)
	defer d.running.Done()
	defer d.streams.Close(opened)
	writer := stream.NewWriter(w)
	defer writer.Close()
	follower := &follower{dash: d, request: r, target: target, route: route, who: who, checked: time.Now()}
	for {
		changed, next, err := follower.step()
		if err != nil {
			why := "refused"
			switch {
			case errors.Is(err, errCheckAgain):
				why = "check"
			case errors.Is(err, queue.ErrNoJob):
				why = "gone"
			}
			_ = writer.Write("over", `{"why":"`+why+`"}`) // the reader may be gone
			return
		}
		if changed != nil && writer.Write("change", changed) != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-d.life.Done():
			return
		case why := <-opened.Over():
			_ = writer.Write("over", `{"why":"`+why+`"}`) // likewise
			return
		case <-next:
		case <-time.After(checkEvery / 2): // a sign of life
			if writer.Write("alive", "{}") != nil {
				return
			}
		}
		select {
		case <-r.Context().Done():
			return
		case <-time.After(minEvery):
		}
	}
}

// sessionOf returns what streams of one browser have in common: nothing that the browser itself names.
// Where there are no sessions, it is the viewer and the address.
func sessionOf(r *http.Request, who *access.Principal) string {
	if who.Session != "" {
		return who.Session
	}
	address := access.AddressFromContext(r.Context()).String()
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil && !access.AddressFromContext(r.Context()).IsValid() {
		address = host
	}
	return strings.Join([]string{who.Name, who.ID, address}, " ")
}

// liveRoute returns the page of a path, nil if it is none with live parts.
func (d *Dash) liveRoute(path string) (*url.URL, *route) {
	target, err := url.Parse(path)
	if err != nil || !strings.HasPrefix(path, "/") || target.Host != "" {
		return nil, nil
	}
	_, pattern := d.mux.Handler(&http.Request{Method: http.MethodGet, URL: target})
	for i := range routes {
		if routes[i].pattern == pattern && routes[i].live {
			return target, &routes[i]
		}
	}
	return nil, nil
}

// A follower draws a page again and again, and returns what has changed.
type follower struct {
	dash    *Dash
	request *http.Request
	target  *url.URL
	route   *route
	who     *access.Principal
	checked time.Time
	last    recorder
}

// errCheckAgain ends a stream whose reader only the handlers before the dashboard can find out: the browser
// opens another one, and they see its request.
var errCheckAgain = errors.New("the stream is to be opened again")

// step returns what has changed since the last step, nil for nothing, and a channel that is closed when
// there are later figures.
func (f *follower) step() (*event, <-chan struct{}, error) {
	if time.Since(f.checked) >= f.dash.checkEvery {
		if f.dash.config.Authorize == nil {
			return nil, nil, errCheckAgain
		}
		if who, err := f.dash.config.Authorize(f.request); err == nil {
			f.who = who
		}
		f.checked = time.Now()
	}
	drawn, next := f.dash.drawings.get(f)
	if drawn.err != nil {
		return nil, nil, drawn.err
	}
	changed := drawn.since(f.last)
	f.last = drawn.recorder
	return changed, next, nil
}

// A drawing is a page that was drawn for its live values alone, for all who see the same.
type drawing struct {
	recorder
	once  sync.Once
	drawn time.Time
	took  time.Duration   // set with err
	next  <-chan struct{} // closed when there are later figures
	err   error
	made  atomic.Bool
}

// drawings are the latest drawings of pages, so that any number of viewers of a page cost Redis what
// one costs.
type drawings struct {
	mu     sync.Mutex
	latest map[string]*drawing
}

// keepDrawings is the time after which a drawing of older figures is dropped; no page uses one for
// longer.
const keepDrawings = 15 * time.Second

// drawShare bounds how often a page that reads Redis is drawn: its reading takes about one part in so many
// of all time, or less often than once in keepDrawings.
const drawShare = 100

// drawEvery returns the time between two reads of Redis for a page, if the last one took so long.
func drawEvery(every, took time.Duration) time.Duration {
	return max(every, min(drawShare*took, keepDrawings))
}

// old reports whether a drawing of older figures is to be made anew. One that is being made is not.
func (d *drawing) old(every time.Duration) bool {
	return d.made.Load() && time.Since(d.drawn) >= drawEvery(every, d.took)
}

// get returns the drawing of a follower's page from the latest figures, or from those of a short
// time ago if the page reads Redis itself, and a channel that is closed when there are later
// figures.
func (d *drawings) get(f *follower) (*drawing, <-chan struct{}) {
	_, next := f.dash.sampler.Overview(f.request.Context())
	settings := readSettings(f.request)
	key := fmt.Sprint(f.target, " ", mountedAt(f.request), " ", settings.Zone)
	if f.who != nil { // else the page is refused
		key += fmt.Sprint(f.who.Scopes)
	}
	d.mu.Lock()
	found := d.latest[key]
	if found == nil || found.next != next && found.old(f.route.every) {
		if d.latest == nil {
			d.latest = map[string]*drawing{}
		}
		maps.DeleteFunc(d.latest, func(_ string, other *drawing) bool { return time.Since(other.drawn) > keepDrawings })
		found = &drawing{recorder: recorder{map[string]string{}, map[string][]string{}}, drawn: time.Now(), next: next}
		d.latest[key] = found
	}
	d.mu.Unlock()
	found.once.Do(func() {
		found.err, found.took = f.draw(&found.recorder), time.Since(found.drawn)
		found.made.Store(true)
	})
	return found, next
}

// draw draws the page for its live values alone.
func (f *follower) draw(into *recorder) error {
	ctx, cancel := context.WithTimeout(access.NewContext(f.dash.life, f.who), answerWithin)
	defer cancel()
	r := f.request.Clone(ctx)
	r.URL, r.RequestURI = f.target, mountedAt(f.request)+f.target.RequestURI()
	for _, value := range pathValues(f.route.pattern, f.target) {
		r.SetPathValue(value[0], value[1])
	}
	w := &nowhere{http.Header{}}
	p := f.dash.newPage(w, r, f.route)
	p.Who, p.recorder = f.who, into
	if err := p.check(); err != nil {
		return err
	}
	if err := f.route.page(p); err != nil {
		if silent(err) && f.dash.lastPages.recall(p) {
			p.recorder.set("as_of", p.AsOfText())
		}
		return liveError(p, err)
	}
	f.dash.lastPages.keep(p)
	return f.dash.templates.ExecuteTemplate(w, f.route.template, p)
}

// A lastPage is what a page has shown last.
type lastPage struct {
	title, under string
	crumbs       []Crumb
	data         any
	asOf         time.Time // by Redis's clock
}

// lastPages are what pages have shown last, for the time in which Redis does not answer.
type lastPages struct {
	mu    sync.Mutex
	pages map[string]lastPage
}

// maxLast is the number of pages that are kept.
const maxLast = 32

// kept reports whether what a page shows is kept: that of a form or a question is not.
func (r *route) kept() bool { return r.live || r.rail != "" }

// key returns what two pages that show the same have in common.
func (p *page) key() string {
	return fmt.Sprint(p.Here(), " ", p.base, " ", p.Settings.Zone, " ", p.Who.Scopes, " ", p.Who.ReadOnly)
}

// keep keeps what a page shows, in place of the oldest one.
func (l *lastPages) keep(p *page) {
	if !p.route.kept() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pages == nil {
		l.pages = map[string]lastPage{}
	}
	l.pages[p.key()] = lastPage{p.Title, p.Under, p.Crumbs, p.Data, p.Now()}
	if len(l.pages) > maxLast {
		oldest := p.key()
		for key, page := range l.pages {
			if page.asOf.Before(l.pages[oldest].asOf) {
				oldest = key
			}
		}
		delete(l.pages, oldest)
	}
}

// recall sets what the page has shown last, and reports whether that is known.
func (l *lastPages) recall(p *page) bool {
	l.mu.Lock()
	last, found := l.pages[p.key()]
	l.mu.Unlock()
	if found {
		p.Title, p.Under, p.Crumbs, p.Data, p.asOf = last.title, last.under, last.crumbs, last.data, last.asOf
	}
	return found
}

// liveError returns the error of a page that is gone or forbidden. Others may pass: the page stays as it
// is, and its header says if Redis is away.
func liveError(p *page, err error) error {
	var (
		known   *pageError
		noQueue *ops.NoQueueError
	)
	if errors.As(err, &known) || errors.As(err, &noQueue) || errors.Is(err, queue.ErrNoJob) || errors.Is(err, queue.ErrInvalid) {
		return err
	}
	p.Away()
	return nil
}

// pathValues returns the names and values of the wildcards of a pattern.
func pathValues(pattern string, target *url.URL) (values [][2]string) {
	_, pattern, _ = strings.Cut(pattern, " ")
	names, parts := strings.Split(pattern, "/"), strings.Split(target.EscapedPath(), "/")
	for i, name := range names {
		if strings.HasPrefix(name, "{") && i < len(parts) {
			value, _ := url.PathUnescape(parts[i]) // the mux has matched it
			values = append(values, [2]string{strings.Trim(name, "{}"), value})
		}
	}
	return values
}

// nowhere is a writer that discards an answer.
type nowhere struct{ header http.Header }

func (n *nowhere) Header() http.Header         { return n.header }
func (n *nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (n *nowhere) WriteHeader(int)             {}

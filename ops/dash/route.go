package dash

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"skidway/ops/access"
)

// A scope names the queues on which a principal must have the right of a route.
type scope int

const (
	allQueues scope = iota // the pattern "*"; the zero value, so that a route is closed by default
	anyQueue               // at least one queue; the page leaves out the others
	oneQueue               // the queue {queue} of the path
	jobQueue               // the queue in the job's id {id}
)

// A route is a page or an action. Each has the right that it needs; see doc.go for how to add one.
type route struct {
	pattern string // of [http.ServeMux]
	right   access.Action
	scope   scope

	// Of a page: its template in pages/, and the function that fills it in. rail is its place in
	// the list of pages, as the text rail.NAME, empty for none. key is its second letter behind
	// "g". live pages change in place. Their viewers share a drawing, for as long as every if the
	// function reads Redis itself, and else until the sampler has later figures.
	template string
	page     func(*page) error
	last     func(*page) bool // fills in the last figures of the sampler while Redis does not answer; false: there are none
	live     bool
	every    time.Duration
	rail     string
	key      string
	within   time.Duration // bounds the answer; zero means answerWithin

	// Of an action, which is called by a form: it returns where to go, and what is said there. If
	// it fails, the page with the pattern form is drawn with what was typed into it, if there is one.
	action func(*page) (to string, said message, err error)
	form   string
}

// routes is the table of all pages and actions, in the order of the list of pages. What is not in
// it does not exist, except for the files in assets/.
var routes []route

func init() { // not in the declaration: the list of pages is drawn by the pages themselves
	routes = []route{
		{pattern: "GET /{$}", right: access.View, scope: anyQueue, template: "overview", page: overviewPage, live: true, rail: "overview", key: "o"},
		{pattern: "GET /queues", right: access.View, scope: anyQueue, template: "queues", page: queuesPage, live: true, rail: "queues", key: "q"},
		{pattern: "GET /queues/{queue}", right: access.View, scope: oneQueue, template: "queue", page: queuePage, last: lastQueue, live: true, every: 2 * time.Second},

		{pattern: "GET /jobs", right: access.View, scope: anyQueue, template: "jobs", page: jobsPage, live: true, every: 5 * time.Second, rail: "jobs", key: "j"},
		{pattern: "GET /jobs/export", right: access.View, scope: anyQueue, page: exportJobs, within: exportTime + answerWithin},
		{pattern: "GET /jobs/question", right: access.View, scope: anyQueue, template: "question", page: questionPage},
		{pattern: "GET /jobs/{id}", right: access.View, scope: jobQueue, template: "job", page: jobPage, live: true, every: 2 * time.Second},
		{pattern: "GET /jobs/{id}/copy", right: access.View, scope: jobQueue, template: "copy", page: copyPage},

		{pattern: "GET /errors", right: access.View, scope: anyQueue, template: "errors", page: errorsPage, live: true, every: 10 * time.Second, rail: "errors", key: "e"},
		{pattern: "GET /workers", right: access.View, scope: anyQueue, template: "workers", page: workersPage, last: lastWorkers, live: true, every: 2 * time.Second, rail: "workers", key: "w"},
		{pattern: "GET /operations", right: access.View, scope: anyQueue, template: "operations", page: operationsPage, live: true, every: 2 * time.Second, rail: "operations"},
		{pattern: "GET /schedules", right: access.View, scope: anyQueue, template: "schedules", page: schedulesPage, live: true, every: 5 * time.Second, rail: "schedules", key: "s"},
		{pattern: "GET /schedules/edit", right: access.View, scope: anyQueue, template: "schedule", page: scheduleFormPage},
		{pattern: "GET /enqueue", right: access.Enqueue, scope: anyQueue, template: "enqueue", page: enqueuePage, rail: "enqueue"},
		{pattern: "GET /channels", right: access.View, scope: allQueues, template: "channels", page: channelsPage, live: true, rail: "channels", key: "c"},
		{pattern: "GET /counts", right: access.View, scope: allQueues, template: "counts", page: countsPage, live: true, every: 10 * time.Second, rail: "counts"},
		{pattern: "GET /chats", right: access.View, scope: allQueues, template: "chats", page: chatsPage, live: true, every: 5 * time.Second, rail: "chats"},
		{pattern: "GET /audit", right: access.Admin, scope: allQueues, template: "audit", page: auditPage, live: true, every: 5 * time.Second, rail: "audit", key: "a"},
		{pattern: "GET /redis", right: access.View, scope: allQueues, template: "redis", page: redisPage, live: true, every: 10 * time.Second, rail: "redis"},
		{pattern: "GET /settings", right: access.View, scope: anyQueue, template: "settings", page: settingsPage, rail: "settings"},

		{pattern: "POST /queues/{queue}/pause", right: access.Operate, scope: oneQueue, action: pauseQueue},
		{pattern: "POST /queues/{queue}/resume", right: access.Operate, scope: oneQueue, action: resumeQueue},
		{pattern: "POST /queues/{queue}/retention", right: access.Admin, scope: oneQueue, action: retainQueue},
		{pattern: "POST /jobs/change", right: access.View, scope: anyQueue, action: changeJobs}, // it checks each queue
		{pattern: "POST /jobs/{id}/retry", right: access.Operate, scope: jobQueue, action: jobAction("retry")},
		{pattern: "POST /jobs/{id}/run-now", right: access.Operate, scope: jobQueue, action: jobAction("run-now")},
		{pattern: "POST /jobs/{id}/cancel", right: access.Operate, scope: jobQueue, action: jobAction("cancel")},
		{pattern: "POST /jobs/{id}/reschedule", right: access.Operate, scope: jobQueue, action: jobAction("reschedule")},
		{pattern: "POST /jobs/{id}/priority", right: access.Operate, scope: jobQueue, action: jobAction("priority")},
		{pattern: "POST /jobs/{id}/reveal", right: access.Reveal, scope: jobQueue, template: "job", page: revealPage},
		{pattern: "POST /jobs/{id}/delete", right: access.Admin, scope: jobQueue, action: jobAction("delete")},
		{pattern: "POST /jobs/{id}/copy", right: access.Operate, scope: jobQueue, action: copyJob, form: "GET /jobs/{id}/copy"}, // and what the copy needs

		{pattern: "POST /workers/signal", right: access.View, scope: anyQueue, action: signalWorker}, // it checks the worker's queues

		{pattern: "POST /operations/change", right: access.View, scope: anyQueue, action: changeOperation}, // it checks the queue

		{pattern: "POST /enqueue", right: access.Enqueue, scope: anyQueue, action: enqueueJob, form: "GET /enqueue"},            // it checks the job
		{pattern: "POST /schedules/put", right: access.View, scope: anyQueue, action: putSchedule, form: "GET /schedules/edit"}, // it checks the job that it adds
		{pattern: "POST /schedules/change", right: access.View, scope: anyQueue, action: changeSchedule},                        // it checks the queue

		{pattern: "POST /channels/window", right: access.Operate, scope: allQueues, action: setWindow},
		{pattern: "POST /channels/drop", right: access.Admin, scope: allQueues, action: dropSubscriber},
		{pattern: "POST /chats/drop", right: access.Admin, scope: allQueues, action: dropMember},

		{pattern: "POST /settings", right: access.View, scope: anyQueue, action: changeSettings},
	}
}

// check returns an error if the principal may not do what the route does.
func (p *page) check() error {
	if p.unknown != nil {
		return p.unknown
	}
	if p.Who == nil {
		return &pageError{http.StatusForbidden, "error.no_user"}
	}
	if p.denied(p.route.right, p.route.scope) {
		return &pageError{http.StatusForbidden, "error.forbidden"}
	}
	return nil
}

// denied reports whether the principal lacks a right.
func (p *page) denied(right access.Action, of scope) bool {
	switch of {
	case anyQueue:
		return !p.mayAny(right)
	case oneQueue:
		return !p.Who.May(right, p.queueName())
	case jobQueue:
		name, _, _ := strings.Cut(p.request.PathValue("id"), ":")
		return !p.Who.May(right, name)
	}
	return !p.Who.May(right, access.All)
}

// queueName returns the queue that the request names: in its path or, where a path can't have it
// ("." and ".."), in the query.
func (e *exchange) queueName() string {
	name := e.request.PathValue("queue")
	if other := e.request.URL.Query().Get("queue"); name == "-" && other != "" {
		return other
	}
	return name
}

// gaps are the pages before which the list of pages has a line.
var gaps = []string{"channels", "audit"}

// A RailEntry is a line of the list of pages.
type RailEntry struct {
	Name, Path, Key string
	Current, Gap    bool
}

// Rail returns the list of pages that the principal may see.
func (p *page) Rail() (entries []RailEntry) {
	for i := range routes {
		r := &routes[i]
		if r.rail == "" || p.denied(r.right, r.scope) {
			continue
		}
		_, path, _ := strings.Cut(r.pattern, " ")
		entries = append(entries, RailEntry{
			Name: r.rail, Path: p.Link(strings.TrimSuffix(path, "{$}")), Key: r.key,
			Current: p.route.rail == r.rail || p.Under == r.rail, Gap: slices.Contains(gaps, r.rail),
		})
	}
	return entries
}

// Live reports whether the page has live parts. That of an error has none: its stream would be
// refused, and the script would load the page again and again.
func (p *page) Live() bool { return p.route.live && p.Status < http.StatusBadRequest }

// LiveIcon is the shape of a page that changes.
func (p *page) LiveIcon() Icon {
	icon := p.Icon("run", "")
	icon.Class = "ok"
	return icon
}

// AsOfText returns the time of the figures.
func (p *page) AsOfText() string { return p.AsOf().In(p.Settings.zone).Format("15:04:05") }

package api

import (
	"net/http"
	"time"

	"skidway/ops/access"
)

// A Row is a route, for tests.
type Row struct {
	Method, Path string
	Action       access.Action
	Everyone     bool // every principal may
	All          bool // it needs the action for all queues
	Some         bool // for some queue
	Audited      bool
	Repeatable   bool // it may have an Idempotency-Key
	Body         any
}

// Rows returns the table of routes.
func Rows() (rows []Row) {
	for _, r := range routes() {
		rows = append(rows, Row{r.method, prefix + r.path, r.action, r.scope == noQueue, r.scope == allQueues, r.scope == anyQueue, r.audit != "", r.repeatable, r.body})
	}
	return rows
}

// UTC and ProblemOf are those of answers.
var (
	UTC       = utc
	ProblemOf = problemOf
	Sent      = sent
)

// TimeOf returns how long a request may take.
func TimeOf(r *http.Request) time.Duration {
	h := &Handler{routes: routes(), config: Config{Timeout: defaultTimeout}}
	route, values, err := h.find(r)
	if err != nil {
		return 0
	}
	q := &request{r: r, route: route, values: values}
	if err := q.readQuery(); err != nil {
		return 0
	}
	return q.time(h.config.Timeout)
}

// ExportMargin is left of the time of a request when an export stops reading.
const ExportMargin = exportMargin

// Bounds of requests that last long.
const (
	MaxStreams     = maxStreams
	MaxStreamsEach = maxStreamsEach
	MaxWaitsEach   = maxWaitsEach
	MaxWaitQueues  = maxWaitQueues
)

// AskAlways makes streams ask before each event whether their principals may see it.
func (h *Handler) AskAlways() { h.askAgain = 0 }

// SetAnswerTime sets the time for writing an answer.
func (h *Handler) SetAnswerTime(t time.Duration) { h.answerTime = t }

// SetNow sets the time of signatures.
func (h *Handler) SetNow(now time.Time) { h.now = func() time.Time { return now } }

// MaxDeliveriesEach bounds the deliveries of an address that are being received.
const MaxDeliveriesEach = maxDeliveriesEach

package dash

import (
	"errors"
	"net/url"
	"strconv"
	"strings"
	"time"

	"skidway/ops/dash/internal/words"
	"skidway/queue"
)

// A keptRow is the limits of one sort of jobs that a queue keeps: dead ones or results. A field
// is empty for the default.
type keptRow struct {
	Name, Jobs, MiB, Days string
	Text                  string // all of them in words
}

// maxLimit bounds a limit in its own unit: bytes, or nanoseconds.
const maxLimit = 1 << 62

// day is the unit in which ages are shown and entered.
const day = 24 * time.Hour

// keptRows returns the limits that a queue has, and their version.
func keptRows(p *page, name string) (rows []keptRow, version string, err error) {
	q, err := p.dash.queues.Queue(name)
	if err != nil {
		return nil, "", err
	}
	kept, version, err := q.Retention(p.ctx())
	return []keptRow{newKeptRow("dead", kept.Dead), newKeptRow("results", kept.Results)}, version, err
}

func newKeptRow(name string, limit queue.RetentionLimit) keptRow {
	text := func(n int64) string {
		if n == 0 {
			return ""
		}
		return strconv.FormatInt(n, 10)
	}
	row := keptRow{Name: name, Jobs: text(int64(limit.Jobs)), MiB: text(limit.Bytes >> 20), Days: text(int64(limit.Age / day))}
	var parts []string
	if limit.Jobs > 0 {
		parts = append(parts, words.T("queue.keeps_jobs", limit.Jobs))
	}
	if limit.Bytes > 0 {
		parts = append(parts, words.Bytes(limit.Bytes))
	}
	if limit.Age > 0 {
		parts = append(parts, words.Age(limit.Age))
	}
	if row.Text = strings.Join(parts, ", "); row.Text == "" {
		row.Text = words.T("queue.keeps_default")
	}
	return row
}

// retainQueue is the action that sets how long jobs that have ended are kept.
func retainQueue(p *page) (string, message, error) {
	q, err := p.dash.queues.Queue(p.queueName())
	if err != nil {
		return "/queues", message{}, err
	}
	to := queuePath(q.Name(), "")
	if _, err := namedQueue(p); err != nil {
		return "/queues", message{}, err
	}
	before, _, err := q.Retention(p.ctx())
	if err != nil {
		return to, message{}, err
	}
	kept, err := parseRetention(p.request.PostForm, before)
	if err != nil {
		return to, message{}, err
	}
	kept.IfVersion = p.request.PostForm.Get("version") // that the form has shown
	err = p.audited("retention", q.Name(), kept.text(), 0, func() error { return q.SetRetention(p.ctx(), kept.Retention) })
	return to, done("queue.retained", q.Name()), err
}

// retention is the limits of a form.
type retention struct{ queue.Retention }

// parseRetention reads the limits of a form; an empty field means the default. A field that is as
// the form has shown it leaves the limit as it was, also where it has no whole unit.
func parseRetention(form url.Values, before queue.Retention) (r retention, err error) {
	number := func(field, shown string, old, unit int64) int64 {
		text := strings.TrimSpace(form.Get(field))
		if text == shown {
			return old
		}
		if text == "" || err != nil {
			return 0
		}
		n, wrong := strconv.ParseInt(text, 10, 64)
		if wrong != nil || n < 0 || n > maxLimit/unit {
			err = errors.New(words.T("queue.no_number", text))
			return 0
		}
		return n * unit
	}
	limit := func(name string, old queue.RetentionLimit) queue.RetentionLimit {
		shown := newKeptRow(name, old)
		return queue.RetentionLimit{
			Jobs:  int(number(name+"_jobs", shown.Jobs, int64(old.Jobs), 1)),
			Bytes: number(name+"_mib", shown.MiB, old.Bytes, 1<<20),
			Age:   time.Duration(number(name+"_days", shown.Days, int64(old.Age), int64(day))),
		}
	}
	r.Dead, r.Results = limit("dead", before.Dead), limit("results", before.Results)
	return r, err
}

// text returns the limits for the audit.
func (r retention) text() string {
	one := func(l queue.RetentionLimit) string {
		return strconv.Itoa(l.Jobs) + " jobs, " + strconv.FormatInt(l.Bytes, 10) + " bytes, " + l.Age.String()
	}
	return "dead: " + one(r.Dead) + "; results: " + one(r.Results)
}

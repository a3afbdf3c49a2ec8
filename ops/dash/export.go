package dash

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"skidway/internal/escape"
	"skidway/ops"
	"skidway/ops/dash/internal/words"
	"skidway/queue"
)

// Bounds of an export.
const (
	maxExport  = 10_000 // jobs
	exportStep = 500
	exportTime = time.Minute
)

// exportJobs writes the jobs of a list as a file.
func exportJobs(p *page) error {
	f, err := readFilter(p)
	if err != nil {
		return err
	}
	format := p.request.FormValue("format")
	if format != "csv" && format != "ndjson" {
		return &pageError{http.StatusBadRequest, "error.format"}
	}
	limit, err := strconv.Atoi(cmp.Or(p.request.FormValue("limit"), strconv.Itoa(maxExport)))
	if err != nil || limit < 1 || limit > maxExport {
		return &pageError{http.StatusBadRequest, "error.limit"}
	}
	end, _ := p.ctx().Deadline()
	until := end.Add(-answerWithin) // so that there is time for the note
	found, err := searchUntil(p, until, f, "")
	if err != nil {
		return err
	}
	header := p.writer.Header()
	header.Set("Content-Type", map[string]string{"csv": "text/csv; charset=utf-8", "ndjson": "application/x-ndjson"}[format])
	header.Set("Content-Disposition", `attachment; filename="jobs.`+format+`"`)
	write, note := ndjsonWriter(p.writer)
	if format == "csv" {
		write, note = csvWriter(p.writer)
	}
	for n := 0; ; {
		for _, job := range found.jobs {
			if n == limit {
				_ = note(words.T("jobs.not_complete", n)) // else the reader has gone
				return errAnswered
			}
			if err := write(job); err != nil {
				return errAnswered // the reader has gone
			}
			n++
		}
		if found.next == "" {
			return errAnswered
		}
		var busy *ops.BusyError
		late := !time.Now().Before(until)
		if !late {
			found, err = searchUntil(p, until, f, found.next)
			late = err != nil && !time.Now().Before(until) && p.ctx().Err() == nil
		}
		if late || errors.As(err, &busy) {
			_ = note(words.T("jobs.not_complete", n)) // else the reader has gone
			return errAnswered
		}
		if err != nil {
			p.dash.config.Logger.Error("an export ended early", "jobs", n, "error", err)
			panic(http.ErrAbortHandler) // a part must not look like the whole file
		}
	}
}

// searchUntil is searchJobs for the next part of an export. It waits, until a time, while other searches
// use the time that searches may take. Only the search for the first part may take longer.
func searchUntil(p *page, until time.Time, f jobFilter, cursor string) (found jobSearch, err error) {
	ctx, cancel := context.WithDeadline(p.ctx(), until)
	defer cancel()
	searching := *p
	if cursor != "" {
		searching.request = p.request.WithContext(ctx)
	}
	err = ops.RetryWhileBusy(ctx, func() error {
		found, err = searchJobs(&searching, f, cursor, exportStep)
		return err
	})
	return found, err
}

// An exportedJob is a job of an export.
type exportedJob struct {
	ID       string          `json:"id"`
	Queue    string          `json:"queue"`
	State    string          `json:"state"`
	Kind     string          `json:"kind"`
	Priority string          `json:"priority"`
	Enqueued time.Time       `json:"enqueued"`
	Due      time.Time       `json:"due,omitzero"`
	Ended    time.Time       `json:"ended,omitzero"`
	Attempts int             `json:"attempts"`
	Error    string          `json:"error,omitempty"`
	Args     json.RawMessage `json:"args"`
}

// ndjsonWriter returns what writes a job, and a note, as a line of JSON. Args that are not JSON are texts.
func ndjsonWriter(w http.ResponseWriter) (write func(*queue.Job) error, note func(string) error) {
	encoder := json.NewEncoder(w)
	note = func(text string) error { return encoder.Encode(map[string]string{"note": text}) }
	return func(job *queue.Job) error {
		args := json.RawMessage(job.Args)
		if deep(args) || !json.Valid(args) {
			args, _ = json.Marshal(strings.ToValidUTF8(string(job.Args), "�")) // a text alone
		}
		return encoder.Encode(exportedJob{job.ID, job.Queue, string(job.State), job.Kind, job.Priority.String(), job.Enqueued.UTC(), job.Due.UTC(), job.Ended.UTC(), job.Attempts, jobError(job), args})
	}, note
}

// csvWriter returns what writes a job, and a note, as a row of CSV. The first row has the names of the
// columns.
func csvWriter(w http.ResponseWriter) (write func(*queue.Job) error, note func(string) error) {
	out := csv.NewWriter(w)
	put := func(row ...string) error {
		_ = out.Write(row) // Error returns it
		out.Flush()
		return out.Error()
	}
	columns := []string{"id", "queue", "state", "kind", "priority", "enqueued", "due", "ended", "attempts", "error", "args"}
	_ = put(columns...)
	note = func(text string) error {
		row := make([]string, len(columns))
		row[0] = text
		return put(row...)
	}
	at := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.UTC().Format(time.RFC3339)
	}
	return func(job *queue.Job) error {
		row := []string{job.ID, job.Queue, string(job.State), job.Kind, job.Priority.String(), at(job.Enqueued), at(job.Due), at(job.Ended), strconv.Itoa(job.Attempts), jobError(job), string(job.Args)}
		for i, cell := range row {
			row[i] = escape.Cell(cell)
		}
		return put(row...)
	}, note
}

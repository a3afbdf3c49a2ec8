package dash

import (
	"encoding/csv"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"skidway/internal/escape"
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
	found, err := searchJobs(p, f, "", exportStep)
	if err != nil {
		return err
	}
	header := p.writer.Header()
	header.Set("Content-Type", map[string]string{"csv": "text/csv; charset=utf-8", "ndjson": "application/x-ndjson"}[format])
	header.Set("Content-Disposition", `attachment; filename="jobs.`+format+`"`)
	write := ndjsonWriter(p.writer)
	if format == "csv" {
		write = csvWriter(p.writer)
	}
	for n, until := 0, time.Now().Add(exportTime); ; {
		for _, job := range found.jobs {
			if n == maxExport {
				return errAnswered
			}
			if err := write(job); err != nil {
				return errAnswered // the reader has gone
			}
			n++
		}
		if found.next == "" || time.Now().After(until) {
			return errAnswered
		}
		if found, err = searchJobs(p, f, found.next, exportStep); err != nil {
			p.dash.config.Logger.Error("an export ended early", "jobs", n, "error", err)
			return errAnswered
		}
	}
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

// ndjsonWriter returns what writes a job as a line of JSON. Args that are not JSON are texts.
func ndjsonWriter(w http.ResponseWriter) func(*queue.Job) error {
	encoder := json.NewEncoder(w)
	return func(job *queue.Job) error {
		args := json.RawMessage(job.Args)
		if deep(args) || !json.Valid(args) {
			args, _ = json.Marshal(strings.ToValidUTF8(string(job.Args), "�")) // a text alone
		}
		return encoder.Encode(exportedJob{job.ID, job.Queue, string(job.State), job.Kind, job.Priority.String(), job.Enqueued.UTC(), job.Due.UTC(), job.Ended.UTC(), job.Attempts, jobError(job), args})
	}
}

// csvWriter returns what writes a job as a row of CSV, the first with the names of the columns.
func csvWriter(w http.ResponseWriter) func(*queue.Job) error {
	out := csv.NewWriter(w)
	_ = out.Write([]string{"id", "queue", "state", "kind", "priority", "enqueued", "due", "ended", "attempts", "error", "args"})
	out.Flush()
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
		_ = out.Write(row)
		out.Flush()
		return out.Error()
	}
}

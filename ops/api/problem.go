package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"skidway"
	"skidway/distribute"
	"skidway/distribute/chat"
	"skidway/distribute/cuts"
	"skidway/internal/rdb"
	"skidway/ops"
	"skidway/ops/access"
	"skidway/queue"
)

// A Problem is an error as in RFC 9457. The type is ProblemType and a name, such as
// "urn:skidway:problem:wrong-state". What the optional fields hold depends on it.
type Problem struct {
	Type     string `json:"type"`
	Title    string `json:"title"`
	Status   int    `json:"status"`
	Detail   string `json:"detail,omitzero"`
	Instance string `json:"instance,omitzero"`

	Field     string   `json:"field,omitzero" jsonschema:"the field or parameter that is not valid"`
	Needs     string   `json:"needs,omitzero" jsonschema:"the scope that is missing"`
	Allow     []string `json:"allow,omitzero" jsonschema:"the methods that the path has"`
	Holder    string   `json:"holder,omitzero" jsonschema:"the job that holds the unique key"`
	Operation string   `json:"operation,omitzero" jsonschema:"the operation that is running"`
	Job       string   `json:"job,omitzero" jsonschema:"the job that was added"`

	after time.Duration // Retry-After
}

// ProblemType begins the types of all problems.
const ProblemType = "urn:skidway:problem:"

func (p *Problem) Error() string { return p.Title + ": " + p.Detail }

// Name returns the end of the problem's type, such as "wrong-state".
func (p *Problem) Name() string { return p.Type[len(ProblemType):] }

// problems are the names of problems, with status and title.
var problems = map[string]struct {
	status int
	title  string
}{
	"invalid":            {http.StatusBadRequest, "The request is not valid"},
	"bad-cursor":         {http.StatusBadRequest, "The cursor is not one of this list"},
	"unauthorized":       {http.StatusUnauthorized, "The request has no valid token"},
	"forbidden":          {http.StatusForbidden, "It is not allowed"},
	"not-found":          {http.StatusNotFound, "There is no such thing"},
	"no-queue":           {http.StatusNotFound, "There is no such queue"},
	"no-job":             {http.StatusNotFound, "The job has finished or is unknown"},
	"method-not-allowed": {http.StatusMethodNotAllowed, "The path does not have this method"},
	"wrong-state":        {http.StatusConflict, "The job is in another state"},
	"duplicate":          {http.StatusConflict, "Another job holds the unique key"},
	"question-expired":   {http.StatusConflict, "The jobs were counted too long ago"},
	"running":            {http.StatusConflict, "An operation of the queue is running"},
	"ended":              {http.StatusConflict, "The operation has ended"},
	"not-empty":          {http.StatusConflict, "The queue is in use"},
	"no-way":             {http.StatusConflict, "The worker can't be reached"},
	"wrong-format":       {http.StatusConflict, "Another release wrote the queue"},
	"unfit-server":       {http.StatusConflict, "The Redis can't do this"},
	"events-off":         {http.StatusConflict, "The queue keeps no events"},
	"changed":            {http.StatusPreconditionFailed, "It was changed meanwhile"},
	"still-running":      {http.StatusConflict, "The same request is being served"},
	"other-request":      {http.StatusUnprocessableEntity, "Another request had the same Idempotency-Key"},
	"too-large":          {http.StatusRequestEntityTooLarge, "The body is too large"},
	"wrong-type":         {http.StatusUnsupportedMediaType, "The body has another type or encoding"},
	"busy":               {http.StatusTooManyRequests, "Too many requests of this kind"},
	"internal":           {http.StatusInternalServerError, "The request failed"},
	"unconfirmed":        {http.StatusInternalServerError, "The job was added, and is not confirmed"},
	"redis-unavailable":  {http.StatusServiceUnavailable, "Redis does not answer"},
	"redis-full":         {http.StatusServiceUnavailable, "Redis is full"},
	"outcome-unknown":    {http.StatusServiceUnavailable, "Redis did not confirm the change"},
	"not-sent":           {http.StatusServiceUnavailable, "The job was not added"},
	"audit-unavailable":  {http.StatusServiceUnavailable, "The audit can't be written"},
	"stopping":           {http.StatusServiceUnavailable, "The server is stopping"},
}

// problem returns a problem by its name.
func problem(name, detail string, values ...any) *Problem {
	known := problems[name]
	return &Problem{Type: ProblemType + name, Title: known.title, Status: known.status, Detail: fmt.Sprintf(detail, values...)}
}

// invalidField returns the problem of a field or a query parameter.
func invalidField(field, detail string, values ...any) *Problem {
	p := problem("invalid", detail, values...)
	p.Field = field
	return p
}

// forbidden returns the problem of a missing scope.
func forbidden(needs access.Scope) *Problem {
	p := problem("forbidden", "it needs the scope %s", needs)
	p.Needs = needs.String()
	return p
}

// retryAfter is when a request that Redis did not answer can be repeated.
const retryAfter = 2 * time.Second

// after returns the problem with a time after which the request can be repeated.
func (p *Problem) retry(after time.Duration) *Problem {
	p.after = max(after, time.Second)
	return p
}

// problemOf returns the problem that an error of the packages below is. It returns nil for an error
// that needs a look into the log.
func problemOf(err error) *Problem {
	var known *Problem
	if errors.As(err, &known) {
		return known
	}
	for _, of := range []func(error) *Problem{problemOfRedis, problemOfJob, problemOfOperation, problemOfName} {
		if p := of(err); p != nil {
			return p
		}
	}
	return nil
}

func problemOfRedis(err error) *Problem {
	var away *skidway.UnreachableError
	var unknown *skidway.OutcomeUnknownError
	var unconfirmed *skidway.UnconfirmedError
	var unfit *skidway.UnfitServerError
	switch {
	case errors.As(err, &unknown):
		return problem("outcome-unknown", "the change may have happened or not: look before you repeat it").retry(retryAfter)
	case errors.As(err, &unconfirmed):
		return problem("unconfirmed", "it must not be repeated: %v", err)
	case errors.As(err, &away), errors.Is(err, context.DeadlineExceeded), rdb.Refused(err):
		return problem("redis-unavailable", "Redis did not answer in time").retry(retryAfter)
	case errors.Is(err, queue.ErrNotSent):
		return problem("not-sent", "%v", err).retry(retryAfter)
	case errors.As(err, &unfit):
		return problem("unfit-server", "%v", err)
	case goredis.HasErrorPrefix(err, "OOM"):
		return problem("redis-full", "Redis has no memory left: 'skidway doctor' prints what to change").retry(30 * time.Second)
	}
	return nil
}

func problemOfJob(err error) *Problem {
	var duplicate *queue.DuplicateError
	var format *queue.FormatError
	var denied *access.ForbiddenError
	switch {
	case errors.As(err, &denied):
		return forbidden(denied.Needs)
	case errors.Is(err, queue.ErrNoJob):
		return problem("no-job", "a job that has succeeded, or was cancelled or deleted, is kept only if it was added with retain")
	case errors.As(err, &duplicate) && duplicate.Owner == "":
		return problem("other-request", "the key is kept for 24 hours: use another one for other jobs")
	case errors.As(err, &duplicate):
		p := problem("duplicate", "%v", err)
		p.Holder = duplicate.Owner
		return p
	case errors.Is(err, ops.ErrUnreachableWorker):
		return problem("no-way", "%v", err)
	case errors.Is(err, queue.ErrChanged):
		return problem("changed", "read it again, with its "+etagHeader)
	case errors.Is(err, queue.ErrState):
		return problem("wrong-state", "%v", err)
	case errors.As(err, &format):
		return problem("wrong-format", "%v", err)
	}
	return nil
}

func problemOfOperation(err error) *Problem {
	var busy *ops.BusyError
	var running *ops.OperationRunningError
	switch {
	case errors.As(err, &busy):
		return problem("busy", "other searches use all the time of Redis that searches may take").retry(busy.RetryAfter)
	case errors.As(err, &running):
		p := problem("running", "%v", err)
		p.Operation = running.ID
		return p
	case errors.Is(err, ops.ErrQuestionExpired):
		return problem("question-expired", "%v", err)
	case errors.Is(err, ops.ErrQuestionEarly):
		return invalidField("as_of", "%v", err)
	case errors.Is(err, ops.ErrOperationDone), errors.Is(err, ops.ErrContinued):
		return problem("ended", "%v", err)
	case errors.Is(err, ops.ErrNoOperation):
		return problem("not-found", "%v", err)
	}
	return nil
}

func problemOfName(err error) *Problem {
	var none *ops.NoQueueError
	var name *distribute.InvalidNameError
	var wrong *chat.InvalidError
	var query *cuts.QueryError
	switch {
	case errors.As(err, &none): // without the names of the others
		return problem("no-queue", "there is no queue %s", none.Name)
	case errors.Is(err, queue.ErrNoSchedule), errors.Is(err, distribute.ErrNoChannel), errors.Is(err, distribute.ErrNoSubscriber), errors.Is(err, chat.ErrNoChat):
		return problem("not-found", "%v", err)
	case errors.Is(err, queue.ErrInvalid), errors.As(err, &name), errors.As(err, &wrong), errors.As(err, &query):
		return problem("invalid", "%v", err)
	}
	return nil
}

// writeProblem answers with a problem.
func writeProblem(w http.ResponseWriter, r *http.Request, p *Problem) {
	if p.after > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((p.after+time.Second-1)/time.Second)))
	}
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="skidway"`)
	}
	answer := *p
	answer.Instance = r.URL.EscapedPath()
	text, err := json.Marshal(answer)
	if err != nil {
		text = []byte(`{"type":"` + ProblemType + `internal"}`)
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(text, '\n'))
}

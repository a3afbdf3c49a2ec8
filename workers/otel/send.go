package otel

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"skidway/queue"
)

// Enqueue is middleware for the configuration of the client. Jobs that it adds headers to are
// copies; those of the caller stay as they are.
func (t *Telemetry) Enqueue(ctx context.Context, jobs []queue.NewJob, next func(context.Context, []queue.NewJob) []queue.Result) []queue.Result {
	began, to := time.Now(), t.destination(queueOf(jobs))
	var links []trace.Link
	if t.config.Create {
		jobs, links = t.create(ctx, jobs)
	}
	ctx, span := t.tracer.Start(ctx, to.send.span, to.send.start...)
	if span.IsRecording() {
		span.SetAttributes(to.send.more...)
		if len(jobs) > 1 {
			span.SetAttributes(semconv.MessagingBatchMessageCount(len(jobs)))
		} else if len(jobs) == 1 {
			setKind(span, &jobs[0])
		}
		for _, job := range jobs[:min(len(jobs), maxLinks)] {
			_, headers := effective(&job)
			if creation := creationOf(headers); !t.config.Create && creation.IsValid() {
				links = append(links, trace.Link{SpanContext: creation})
			}
		}
		for _, link := range links {
			span.AddLink(link)
		}
	}
	results := next(ctx, t.inject(ctx, span.SpanContext(), jobs))
	if len(jobs) == 1 && len(results) == 1 && span.IsRecording() {
		_, headers := effective(&jobs[0])
		setConversation(span, headers, hasThen(&jobs[0]), results[0].ID)
	}
	t.sent(ctx, span, to, results, began)
	return results
}

// maxLinks is the default limit of the SDK for the links of a span.
const maxLinks = 128

// sent ends the span of a call that added jobs since a time, and counts them.
func (t *Telemetry) sent(ctx context.Context, span trace.Span, to *destination, results []queue.Result, began time.Time) {
	added, failed := 0, error(nil)
	for i := range results {
		var duplicate *queue.DuplicateError
		switch {
		case results[i].ID != "" && !results[i].Repeated:
			added++
		case results[i].Err != nil && !errors.As(results[i].Err, &duplicate):
			failed = cmp.Or(failed, results[i].Err)
		}
	}
	to.sent.Add(int64(added))
	if metric := t.metrics.operation.Inst(); metric.Enabled(ctx) {
		metric.Record(ctx, time.Since(began).Seconds(), to.send.recordOf(typeOf(failed))...)
	}
	if span.IsRecording() {
		if len(results) == 1 && results[0].ID != "" {
			span.SetAttributes(semconv.MessagingMessageID(results[0].ID))
		}
		fail(span, failed, typeOf(failed))
	}
	span.End()
}

// fail records an error of a span, if there is one.
func fail(span trace.Span, err error, errorType string) {
	if errorType == "" {
		return
	}
	text := errorType
	if err != nil {
		text = err.Error()
	}
	span.SetAttributes(semconv.ErrorTypeKey.String(errorType))
	span.SetStatus(codes.Error, text)
}

// create makes a span for the creation of each job that has no traceparent, and returns jobs with
// these and links to all of them.
func (t *Telemetry) create(ctx context.Context, jobs []queue.NewJob) (_ []queue.NewJob, links []trace.Link) {
	jobs = slices.Clone(jobs)
	for i := range jobs {
		name, headers := effective(&jobs[i])
		creation := creationOf(headers)
		if !creation.IsValid() {
			to := t.destination(name)
			_, span := t.tracer.Start(ctx, to.create.span, to.create.start...)
			span.SetAttributes(to.create.more...)
			setKind(span, &jobs[i])
			setConversation(span, headers, false, "") // the job has no id yet
			creation = span.SpanContext()
			jobs[i].Options.Headers = t.headers(headers, creation)
			span.End()
		}
		if creation.IsSampled() && len(links) < maxLinks {
			links = append(links, trace.Link{SpanContext: creation})
		}
	}
	return jobs, links
}

// setKind sets the kind of a job, unless it has no args: then the client refuses it.
func setKind(span trace.Span, job *queue.NewJob) {
	if job.Args != nil {
		span.SetAttributes(kindKey.String(job.Args.Kind()))
	}
}

// flow is the header with the id of the first of the jobs that follow each other, for which a client may
// choose another one.
const flow = "flow"

// setConversation sets the flow of a job with headers; of the first one it is the job's id, which is empty
// if it is not known.
func setConversation(span trace.Span, headers map[string]string, first bool, id string) {
	conversation := headers[flow]
	if conversation == "" && first {
		conversation = id
	}
	if conversation != "" {
		span.SetAttributes(semconv.MessagingMessageConversationID(conversation))
	}
}

// hasThen reports whether other jobs follow a job.
func hasThen(job *queue.NewJob) bool {
	if args, ok := job.Args.(interface{ Options() *queue.Options }); ok && job.Options.Then == nil {
		defaults := args.Options()
		return defaults != nil && len(defaults.Then) > 0
	}
	return len(job.Options.Then) > 0
}

// inject returns jobs that have the context of the span that creates them, unless they have one.
func (t *Telemetry) inject(ctx context.Context, creation trace.SpanContext, jobs []queue.NewJob) []queue.NewJob {
	if !creation.IsValid() || !creation.IsSampled() && !t.config.Child {
		return jobs
	}
	jobs = slices.Clone(jobs)
	shared := t.headers(nil, creation) // jobs without other headers have one map: it is only read
	for i := range jobs {
		switch _, headers := effective(&jobs[i]); {
		case len(headers) == 0:
			jobs[i].Options.Headers = shared
		case headers[traceparent] == "":
			jobs[i].Options.Headers = t.headers(headers, creation)
		}
	}
	return jobs
}

// The headers of W3C Trace Context.
const (
	traceparent = "traceparent"
	tracestate  = "tracestate"
)

// Headers of a job that would exceed its limits with a context stay as they are.
const (
	roomHeaders = 60
	roomBytes   = 3 << 10
)

// headers returns headers with the context of a span, which does not travel if it is not sampled
// unless process spans are its children.
func (t *Telemetry) headers(headers map[string]string, creation trace.SpanContext) map[string]string {
	size := 0
	for name, value := range headers {
		size += len(name) + len(value)
	}
	if !creation.IsValid() || !creation.IsSampled() && !t.config.Child || len(headers) > roomHeaders || size > roomBytes {
		return headers
	}
	with := make(map[string]string, len(headers)+1)
	maps.Copy(with, headers)
	propagation.TraceContext{}.Inject(trace.ContextWithSpanContext(context.Background(), creation), propagation.MapCarrier(with))
	if len(with[tracestate]) > roomBytes/4 {
		delete(with, tracestate)
	}
	return with
}

// creationOf returns the context of the span that created a job with headers; an invalid one if they
// have none.
func creationOf(headers map[string]string) trace.SpanContext {
	if headers[traceparent] == "" {
		return trace.SpanContext{}
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier(headers))
	return trace.SpanContextFromContext(ctx)
}

// effective returns the queue and the headers of a job, which its args may have.
func effective(job *queue.NewJob) (name string, headers map[string]string) {
	name, headers = job.Options.Queue, job.Options.Headers
	if args, ok := job.Args.(interface{ Options() *queue.Options }); ok {
		if defaults := args.Options(); defaults != nil {
			name = cmp.Or(name, defaults.Queue)
			if headers == nil {
				headers = defaults.Headers
			}
		}
	}
	return cmp.Or(name, queue.DefaultQueue), headers
}

// queueOf returns the queue of jobs, "" if they go to several.
func queueOf(jobs []queue.NewJob) (queue string) {
	for i := range jobs {
		name, _ := effective(&jobs[i])
		if i > 0 && name != queue {
			return ""
		}
		queue = name
	}
	return queue
}

// Attributes of Skidway.
const (
	kindKey     = attribute.Key("skidway.job.kind")
	attemptKey  = attribute.Key("skidway.job.attempt")
	priorityKey = attribute.Key("skidway.job.priority")
)

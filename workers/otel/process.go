package otel

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"skidway/queue"
	"skidway/workers"
)

// maxChildDelay is how long a job may wait so that its process span is a child of its creation.
const maxChildDelay = time.Hour

// Process is middleware for the configuration of pools. It should be the outermost. The context of
// the handler has the process span, so that the jobs that it adds belong to it; and so do those that
// follow the job.
func (t *Telemetry) Process(next workers.Handler) workers.Handler {
	return func(ctx context.Context, job *queue.Job) (err error) {
		began, of := time.Now(), t.destination(job.Queue)
		parent, creation := context.Background(), creationOf(job.Headers)
		if t.config.Child && isChild(job, began) {
			parent = trace.ContextWithRemoteSpanContext(parent, creation)
		}
		_, span := t.tracer.Start(parent, of.process.span, of.process.start...)
		if span.IsRecording() {
			span.SetAttributes(of.process.more...)
			span.SetAttributes(
				semconv.MessagingMessageID(job.ID), semconv.MessagingClientID(job.Worker),
				kindKey.String(job.Kind), attemptKey.Int(job.Attempts+1), priorityKey.String(job.Priority.String()),
			)
			setConversation(span, job.Headers, leads(job), job.ID)
			if creation.IsValid() {
				span.AddLink(trace.Link{SpanContext: creation})
			}
		}
		ctx = trace.ContextWithSpan(ctx, span)
		of.consumed.Add(1)
		if waited, known := job.Waited(began); known && t.metrics.wait.Enabled(ctx) {
			t.metrics.wait.Record(ctx, waited.Seconds(), of.process.record...)
		}
		if len(job.Then) > 0 {
			_ = workers.SetThenHeaders(ctx, t.thenHeaders(span.SpanContext(), job)) // ctx is a handler's
		}
		returned := false
		defer func() {
			errorType := outcomeOf(ctx, err, returned)
			if metric := t.metrics.process.Inst(); metric.Enabled(ctx) {
				metric.Record(ctx, time.Since(began).Seconds(), of.process.recordOf(errorType)...)
			}
			if span.IsRecording() {
				fail(span, err, errorType)
			}
			span.End()
		}()
		err = next(ctx, job)
		returned = true
		return err
	}
}

// leads reports whether a job is the first of those that follow each other, if it has no header flow. A
// job that forwards another one is none of them.
func leads(job *queue.Job) bool { return len(job.Then) > 0 && job.Kind != queue.Forward }

// thenHeaders returns the headers of the jobs that follow a job with a process span. They name the first
// of the flow also if that span is not sampled: another one may be.
func (t *Telemetry) thenHeaders(process trace.SpanContext, job *queue.Job) map[string]string {
	headers := t.headers(nil, process)
	if process.IsValid() && job.Headers[flow] == "" && leads(job) {
		if headers == nil {
			headers = map[string]string{}
		}
		headers[flow] = job.ID
	}
	return headers
}

// isChild reports whether the process span of a job may be a child of its creation.
func isChild(job *queue.Job, now time.Time) bool {
	return job.Attempts == 0 && job.Headers[queue.HeaderSchedule] == "" && now.Sub(job.LocalTime(job.Enqueued)) <= maxChildDelay
}

// outcomeOf returns the error.type of an attempt, "" if it has not failed. A handler that has not
// returned has panicked.
func outcomeOf(ctx context.Context, err error, returned bool) string {
	if !returned {
		return "panic"
	}
	if err == nil && ctx.Err() == nil {
		return ""
	}
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, workers.ErrLeaseLost): // whatever the handler returns is refused
		return "lease_lost"
	case err == nil || isNoFailure(err):
		return ""
	case errors.Is(cause, workers.ErrTimeout):
		return "timeout"
	case errors.Is(cause, workers.ErrCancelled):
		return "cancelled"
	case errors.Is(cause, workers.ErrShutdown):
		return "shutdown"
	}
	return typeOf(err)
}

// noFailures are the types of the errors by which a handler snoozes or discards its job.
var noFailures = []reflect.Type{reflect.TypeOf(workers.Snooze(0)), reflect.TypeOf(workers.Discard(""))}

func isNoFailure(err error) bool {
	return slices.ContainsFunc(noFailures, func(t reflect.Type) bool { return errors.As(err, reflect.New(t).Interface()) })
}

// wrappers are the types of errors that say nothing of what went wrong.
var wrappers = func() map[string]bool {
	types := map[string]bool{}
	inner := errors.New("")
	for _, err := range []error{
		inner, fmt.Errorf("%w", inner), fmt.Errorf("%w %w", inner, inner), errors.Join(inner), //nolint:errorlint
		workers.Dead(inner), workers.RetryAfter(0, inner),
	} {
		types[fmt.Sprintf("%T", err)] = true
	}
	return types
}()

// typeOf returns the first Go type in the chain of an error that says what went wrong, "_OTHER" if
// there is none, "" for nil.
func typeOf(err error) string {
	if err == nil {
		return ""
	}
	for ; err != nil; err = errors.Unwrap(err) {
		if name := fmt.Sprintf("%T", err); !wrappers[name] {
			return name
		}
	}
	return semconv.ErrorTypeOther.Value.AsString()
}

// Written is a hook for the configuration of pools ([workers.Hooks]). With [Config.Ack] it makes a
// span for each write of outcomes, with links to the creations of their jobs.
func (t *Telemetry) Written(name string, outcomes []queue.Completion, began time.Time, err error) {
	if !t.config.Ack {
		return
	}
	of := t.destination(name)
	_, span := t.tracer.Start(context.Background(), of.ack.span, append(of.ack.start[:len(of.ack.start):len(of.ack.start)], trace.WithTimestamp(began))...)
	if span.IsRecording() {
		span.SetAttributes(of.ack.more...)
		span.SetAttributes(semconv.MessagingBatchMessageCount(len(outcomes)))
		for i := range outcomes[:min(len(outcomes), maxLinks)] {
			if creation := creationOf(outcomes[i].Job.Headers); creation.IsValid() {
				span.AddLink(trace.Link{SpanContext: creation})
			}
		}
		fail(span, err, typeOf(err))
	}
	span.End()
}

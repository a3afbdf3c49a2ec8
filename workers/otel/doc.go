// Package otel traces and measures jobs with OpenTelemetry, by the semantic conventions for
// messaging, version 1.43.
//
//	telemetry, err := otel.New(nil) // the global providers
//	client, err := queue.NewClient(db, &queue.Config{Middleware: []queue.Middleware{telemetry.Enqueue}})
//	pool := workers.NewPool(client, &workers.Config{Middleware: []workers.Middleware{telemetry.Process}})
//
// It uses only the API of OpenTelemetry: the program chooses the SDK and the exporters. Where a
// program installs none of this, tracing costs nothing.
//
// # Spans
//
//	send {queue}     PRODUCER   one call that adds jobs: child of the caller's span
//	create {queue}   PRODUCER   one job of such a call, with [Config.Create]; then send is CLIENT
//	process {queue}  CONSUMER   one attempt: a trace of its own that has a link to the creation of the
//	                            job, or its child with [Config.Child]
//	ack {queue}      CLIENT     one write of outcomes to Redis, with [Config.Ack]
//
// The creation of a job is the span that added it: send, or create. Its context travels in the
// headers traceparent and tracestate of the job, by W3C Trace Context, through delays, retries and
// moves. A job that already has a traceparent keeps it, and send has a link to it. The jobs of a
// schedule have the headers of the schedule. Jobs that follow another one ([queue.Options.Then])
// were created by its process span.
//
// Contexts that are not sampled do not travel, unless [Config.Child] is set: then the sampler of the
// process span must know the decision.
//
// Even with [Config.Child] a process span is no child, but has a link, if the job waited for more
// than an hour, was tried before or comes from a schedule.
//
// Jobs that follow each other are a flow: the attribute messaging.message.conversation_id of their spans is
// the id of the first of them, which the others have in the header flow. A job that is added with a header
// flow has that instead.
//
// The error.type of a process span is timeout, panic, cancelled, lease_lost or shutdown, or the Go
// type of the handler's error, or _OTHER for an error that has only a text. A job that is snoozed or
// discarded has no error.
//
// # Metrics
//
//	messaging.client.operation.duration  s   of send
//	messaging.client.sent.messages           jobs that were added
//	messaging.client.consumed.messages       attempts
//	messaging.process.duration           s   of handlers
//	skidway.job.wait                     s   time in line until the fetch
//
// With [Telemetry.ObserveQueues], which one process should call, since it asks Redis:
//
//	skidway.queue.jobs                       by state and, where jobs wait or are active, priority
//	skidway.queue.oldest                 s   age of the first waiting job
//	skidway.queue.workers                    living workers that serve the queue
package otel

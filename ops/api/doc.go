// Package api is the HTTP API of queues, jobs and workers.
//
//	handler, err := api.New(db, api.Config{Authorize: who})
//	http.Handle("/api/v1/", handler)
//
// Its routes are the rows of one table, in routes.go. The table decides which requests exist, what a
// [access.Principal] needs for them, what they may carry, and what the document at
// /api/v1/openapi.json says. A request whose principal is not known is refused.
//
// # Requests
//
// Bodies are JSON, not compressed, and strict: an unknown field, a field in other letters ("KIND"), a
// field that stands there twice, and more than 64 levels are refused, and so are unknown query
// parameters. Durations are texts such as "90s", times are those of RFC 3339. Args are passed on as
// they are.
//
// # Answers
//
// A list is an object {items, next, looked_at, complete, as_of}. The next page is that with the
// parameter cursor=next; a cursor is opaque, and one of another list is refused. A list has only what
// the principal may see. Times are in UTC, by the clock of Redis.
//
// Errors are problems of RFC 9457, see [Problem]. While Redis does not answer they have status 503
// and Retry-After: an answer never shows an empty list instead. A change whose outcome is not known
// is the problem outcome-unknown.
//
// # Changes
//
// Every change of what is there is written to the audit before and after it. Jobs that are added
// are not. Operations, changes of many jobs, run in the process of the handler: [Handler.Close]
// interrupts them, and they can be continued. A schedule and a retention have an ETag: a PUT with
// If-Match replaces only that version.
//
// Running jobs over HTTP (to lease, fetch and acknowledge them) is not part of the API: package
// workers runs jobs.
package api

// Package rdb connects to Redis and sets the rules by which all of Skidway
// talks to it.
//
// # Connecting
//
// [Open] takes one URL and gives a [DB]:
//
//	redis://[user:password@]host:port/db        one server
//	rediss://…                                  the same over TLS
//	unix:///path/to/socket?db=N                 a local socket
//	redis+sentinel://h1:p,h2:p/master/db        found through Sentinels
//	redis+cluster://h1:p,h2:p                   a Redis Cluster
//	embedded:                                   a server inside this process; keeps nothing
//	@FILE                                       the URL is the first line of FILE
//
// rediss+sentinel: and rediss+cluster: are the same over TLS. A password never
// appears in an error, in [DB.String] or in a log line.
//
// A server whose certificate comes from an authority of one's own is trusted
// where the system trusts it; on Linux SSL_CERT_FILE names the file with that
// authority. User and password are those of the servers; Sentinels are asked
// without.
//
// # The retry rule
//
// A command may have happened although its answer never came. The client
// itself therefore never repeats anything (MaxRetries is -1). What may be
// repeated safely says so: an idempotent [Script], and every function handed
// to [DB.Retry], is tried again with growing pauses while Redis is away, for
// at most [Options.Patience]; then the error is an [UnreachableError]. A script
// that is not idempotent is tried again only while it is certain that it was
// not run; a lost answer is an [OutcomeUnknownError], for the caller to decide.
//
// # Waiting
//
// [DB.Wait] blocks in Redis until a stream has something new. What it tells
// is only that looking again is worth while.
package rdb

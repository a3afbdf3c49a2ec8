// Package rdb connects to Redis and sets the rules by which all of Skidway
// talks to it.
//
// # Connecting
//
// [Open] takes one URL and returns a [DB]:
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
// TLS trusts the certificate authorities of the system. On Linux, SSL_CERT_FILE
// names a file of authorities that is read instead of the system's file, and
// SSL_CERT_DIR does the same for its directories. User and password are those of
// the Redis servers. Connections to Sentinels use no credentials.
//
// # The retry rule
//
// A command may have run although its reply was lost. The client itself therefore
// sends each command once (MaxRetries is -1).
//
// Only idempotent scripts and functions passed to [DB.Retry] are retried. Retries
// use increasing pauses, for at most [Options.Patience]; if Redis can't be reached
// by then, the error is an [UnreachableError].
//
// Any other script, and a command passed to [DB.SendOnce], is retried only if it
// certainly did not run. If its reply is lost, the error is an [OutcomeUnknownError],
// for the caller to decide.
//
// [Backoff] computes the pauses between tries, and [Sleep] makes them.
//
// # Scripts
//
// A package's scripts are the .lua files of its folder lua, and are declared
// together:
//
//	//go:embed lua
//	var luaFiles embed.FS
//
//	var scripts = rdb.LoadScripts("queue", luaFiles, rdb.Keys{"meta", "leases"}, rdb.Words{
//		"lost": rdb.Refusal(ErrLeaseLost), // becomes the error
//		"none": nil,                       // stays with the caller, in Reply.Word
//	})
//
//	var finishScript = scripts.Idempotent("finish", "finish jobs")
//
// A reply may begin with a word; LoadScripts maps words to errors. [Script.Run]
// returns that error, or a [Reply].
//
// In the Lua, keys have the names that Go declares. The loader prepends
// "local META, LEASES = KEYS[1], KEYS[2]", with the keys that the script uses. Two
// directives, each alone on a line that begins with it, combine files:
//
//	-- @include NAME...     inserts the files here unless already included
//	-- @lazy FUNC NAME...   declares a function FUNC whose body is these files
//
// Top-level declarations of an included file are locals of the script, usable
// after the directive. A lazy function is for code that only some calls need: the
// other calls then do not create the functions in it (creating all those of a
// queue takes 20 µs a call). A lazy function returns what its last file returns.
// It sees what was included before it; what it includes is visible only in it.
//
// The first line of a script may be its flags, as "#!lua flags=allow-oom": the
// script then runs also while Redis is full (at maxmemory). Use it for all that frees
// memory, or that must not fail before memory can be freed.
//
// Files may also be included from folders that packages share, and from the
// folder lua of this package: int (integers as text), clock (time in ms), entries
// (order of entry ids), groups (replies of XINFO). A wrong directive, a missing
// file or files that include each other cause a panic when the script is first
// needed. [ScriptText] returns the assembled texts, which "skidway debug script"
// prints and "make lint" checks with luacheck.
//
// Redis Functions have libraries of their own, but are not used: the embedded
// server has no FCALL. A library is also shared server state, so releases running
// side by side would overwrite it; scripts are identified by the hash of their
// text.
//
// # Waiting
//
// [DB.Wait] blocks in Redis until a stream has a new entry. A return from Wait is
// only a hint: the caller must read the state again.
package rdb

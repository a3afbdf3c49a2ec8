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
// [Sleep] and [Backoff] are the pauses between tries.
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
// [Script.Run] then returns a [Reply] or the error that its word means. In the
// Lua, keys have the names that Go declares: the kit writes
// "local META, LEASES = KEYS[1], KEYS[2]", with those that the script uses. Two
// directives, each alone on a line that begins with it, put files together:
//
//	-- @include NAME...     these files stand here, if they do not stand before
//	-- @lazy FUNC NAME...   a function FUNC, which has these files as its body
//
// What a file says at its top level is a local of the script, so a name can be
// used behind its include. A lazy function is for code that only some calls
// need: making its functions then costs the others nothing (all of those of a
// queue take 20 µs a call). It returns what its last file returns, and sees what
// was included before it; what it includes itself is visible only in it.
//
// Files may also be included from folders that packages share, and from the
// folder lua of this package: int (integers as text), clock (time in ms), entries
// (order of entry ids), groups (replies of XINFO). A wrong directive, a missing
// file and files that include each other panic when the script is first needed.
// [ScriptText] has the assembled texts, which "skidway debug script" prints and
// "make lint" gives to luacheck.
//
// Why not Redis Functions, which have libraries of their own? The embedded
// server has no FCALL; a function library is also state of the server, which
// releases that run side by side would overwrite for each other, while a script
// goes by the hash of its text.
//
// # Waiting
//
// [DB.Wait] blocks in Redis until a stream has something new. What it tells
// is only that looking again is worth while.
package rdb

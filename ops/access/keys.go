package access

import (
	"embed"
	"fmt"

	"skidway/internal/rdb"
)

// keyNames are the keys of this package, in the order in which scripts get them. They share a slot.
var keyNames = rdb.Keys{"tokens", "tokens:used", "sessions", "sessions:end", "logins", "logins:end", "audit", "audit:refused"}

// Places in keyNames.
const (
	keyTokens = iota
	keyTokensUsed
	keySessions
	keySessionsEnd
	keyLogins
	keyLoginsEnd
	keyAudit
	keyRefused // logins and deliveries to hooks that were refused
)

// keysOf returns the keys in a Redis.
func keysOf(db *rdb.DB) []string {
	keys := make([]string, len(keyNames))
	for i, name := range keyNames {
		keys[i] = db.Prefix() + ":{dash}:" + name
	}
	return keys
}

// format is the version of all that is stored in these keys.
const format = 1

// formatError returns the error of a value that another release has written.
func formatError(what string, found int) error {
	return fmt.Errorf("%s has format %d, this release knows %d: upgrade", what, found, format)
}

//go:embed lua
var luaFiles embed.FS

// scripts are the scripts of this package. Words without an error are handled by the callers.
var scripts = rdb.LoadScripts("access", luaFiles, keyNames, rdb.Words{"full": nil, "none": nil, "wait": nil})

var (
	tokenAddScript   = scripts.Idempotent("token_add", "add a token")
	tokenUsedScript  = scripts.Idempotent("token_used", "note the use of a token")
	sessionAddScript = scripts.Idempotent("session_add", "begin a session")
	sessionUseScript = scripts.Idempotent("session_use", "read a session")

	// A repeated begin counts a login twice, which only makes the limit stricter.
	loginBeginScript = scripts.Idempotent("login_begin", "begin a login")
	loginEndScript   = scripts.Script("login_end", "end a login")
)

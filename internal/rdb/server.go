package rdb

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// OldestMajor is the oldest major version of Redis that is supported.
const OldestMajor = 7

// A Server is what Redis says of itself.
type Server struct {
	Name      string // "redis", "valkey" or "embedded"
	Version   string // "7.0.15"; empty when an ACL hides INFO
	Policy    string // the setting maxmemory-policy
	MaxMemory int64  // the setting maxmemory in bytes; 0: no limit
}

// UnfitServerError says why a server can't hold what must not get lost, and
// what to change.
type UnfitServerError struct{ Reason string }

func (e *UnfitServerError) Error() string { return "this Redis can't be used: " + e.Reason }

// Check asks the server what it is and refuses one that is too old or that
// drops keys when memory is short. A server whose ACL hides INFO passes.
func (db *DB) Check(ctx context.Context) (Server, error) {
	if db.Embedded() {
		return Server{Name: "embedded"}, nil
	}
	var text string
	err := db.Retry(ctx, func() (err error) {
		text, err = db.Info(ctx).Result()
		return err
	})
	if err != nil {
		if isAnswer(err) && !refused(err) {
			return Server{Name: "redis"}, nil
		}
		return Server{}, err
	}
	server := parseInfo(text)
	return server, server.fit()
}

func parseInfo(text string) Server { return serverOf(infoFields(text)) }

func serverOf(fields map[string]string) Server {
	server := Server{Name: "redis", Version: fields["redis_version"], Policy: fields["maxmemory_policy"]}
	server.MaxMemory, _ = strconv.ParseInt(fields["maxmemory"], 10, 64)
	if version := fields["valkey_version"]; version != "" {
		server.Name, server.Version = "valkey", version
	}
	return server
}

func (s Server) tooOld() bool {
	head, _, _ := strings.Cut(s.Version, ".")
	major, err := strconv.Atoi(head)
	return err == nil && major < OldestMajor
}

func (s Server) fit() error {
	if s.tooOld() {
		return &UnfitServerError{fmt.Sprintf("its version is %s; Skidway needs Redis %d.0 or newer", s.Version, OldestMajor)}
	}
	// The volatile-* policies can drop rooms and idle mailboxes, which expire by
	// themselves. Nothing else that expires is more than a wake-up, so they are
	// told by Checkup and not refused: some hosts allow no other.
	if strings.HasPrefix(s.Policy, "allkeys-") {
		return &UnfitServerError{fmt.Sprintf("maxmemory-policy is %s, which drops data when memory is short; set maxmemory-policy to noeviction", s.Policy)}
	}
	return nil
}

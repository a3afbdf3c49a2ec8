package access

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"skidway"
	"skidway/internal/handle"
	"skidway/internal/rdb"
)

// Bounds of sessions.
const (
	sessionIdle    = 30 * time.Minute
	sessionLife    = 12 * time.Hour
	maxSessions    = 1000
	sessionsOfUser = 20 // or a few more, of logins at the same time
	sessionsCached = 5 * time.Second
)

// ErrNoSession is the error for a session that does not exist or has ended.
var ErrNoSession = errors.New("there is no such session")

// Sessions are the sessions of users in a Redis, at most 1,000, and about 20 of a user: then the
// one that would end first, or the first of the user, makes room. A session ends after 30 minutes
// without a request and an open page, after 12 hours, and when the entry of its user changes. Other
// processes than the one that ended it may accept it for 5 s longer. While Redis does not answer, a
// [Gate] accepts it for requests that change nothing, for up to 30 minutes after it was read last.
// Sessions is safe for concurrent use.
type Sessions struct {
	db    *rdb.DB
	keys  []string
	users *Users // nil: only local sessions
	local string // the version of the local sessions that these began: others are none of theirs
	now   func() time.Time

	mu   sync.Mutex
	seen map[string]seenSession // by the hash of the id
}

// A seenSession is a session that was read.
type seenSession struct {
	sessionRecord
	at, end time.Time // when it was read, and when it ends for good, by the local clock
}

// A sessionRecord is a session as it is stored.
type sessionRecord struct {
	Format  int    `json:"format"`
	User    string `json:"user"`    // [LocalName]: not of a user
	Version string `json:"version"` // of the user's entry, or of the [Sessions] that began a local one
}

// NewSessions returns the sessions of users. With nil users there are only local sessions. Nothing
// is sent to Redis.
func NewSessions(db *skidway.DB, users *Users) *Sessions {
	conn := handle.Conn(db)
	return &Sessions{db: conn, keys: keysOf(conn), users: users, local: rand.Text(), now: time.Now, seen: map[string]seenSession{}}
}

// Begin begins a session of a user who has logged in, or with nil one of the local principal. It
// returns the id, which only the browser is to have.
func (s *Sessions) Begin(ctx context.Context, user *User) (id string, err error) {
	record := sessionRecord{Format: format, User: LocalName, Version: s.local}
	if user != nil {
		record.User, record.Version = user.Name, user.version()
	}
	text, err := json.Marshal(record)
	if err != nil {
		return "", err
	}
	own, err := s.ofUser(ctx, record.User)
	if err != nil {
		return "", err
	}
	if err := s.remove(ctx, own[:max(0, len(own)-sessionsOfUser+1)]...); err != nil {
		return "", err
	}
	var random [32]byte
	_, _ = rand.Read(random[:]) // never fails
	id = base64.RawURLEncoding.EncodeToString(random[:])
	_, err = sessionAddScript.Run(ctx, s.db, s.keys, hashOf(id), text, sessionIdle.Milliseconds(), sessionLife.Milliseconds(), maxSessions)
	return id, err
}

// Principal returns whose session an id is, and makes it last for another 30 minutes. The error is
// [ErrNoSession] if there is none.
func (s *Sessions) Principal(ctx context.Context, id string) (*Principal, error) {
	return s.principal(ctx, id, sessionIdle)
}

// principal is Principal for another idle time; zero lets the session end when it would.
func (s *Sessions) principal(ctx context.Context, id string, idle time.Duration) (*Principal, error) {
	hash := hashOf(id)
	record, err := s.record(ctx, hash, idle)
	if err != nil {
		return nil, err
	}
	p, err := s.principalOf(record, hash)
	if err != nil && s.users != nil {
		if err := s.remove(ctx, hash); err != nil {
			return nil, err
		}
	}
	return p, err
}

// principalOf returns whose session a record is, if the user is as at its beginning.
func (s *Sessions) principalOf(record sessionRecord, hash string) (*Principal, error) {
	if s.users == nil {
		if record.User != LocalName || record.Version != s.local {
			return nil, ErrNoSession
		}
		return inSession(localPrincipal(true), hash), nil
	}
	user, found := s.users.Lookup(record.User)
	if !found || user.version() != record.Version {
		return nil, ErrNoSession
	}
	return inSession(user.Principal(), hash), nil
}

// lastSeen returns whose session an id was when it was read last, if it has not ended for good and that is
// not longer ago than it lasts without a request, else the error for which it can't be read now.
func (s *Sessions) lastSeen(id string, away error) (*Principal, error) {
	hash := hashOf(id)
	s.mu.Lock()
	found, known := s.seen[hash]
	s.mu.Unlock()
	if now := s.now(); !known || now.Sub(found.at) > sessionIdle || !now.Before(found.end) {
		return nil, away
	}
	return s.principalOf(found.sessionRecord, hash)
}

// inSession returns a principal with the digest of its session's id.
func inSession(p *Principal, hash string) *Principal {
	p.Session = hash
	return p
}

// localPrincipal returns who asks from this machine without being a user. Only the one-time code
// proves something.
func localPrincipal(proven bool) *Principal {
	return &Principal{Name: LocalName, Proven: proven, Scopes: scopesOf(roles[AdminRole], []string{All}, []string{All})}
}

// record returns a session as it was at most 5 s ago.
func (s *Sessions) record(ctx context.Context, hash string, idle time.Duration) (sessionRecord, error) {
	s.mu.Lock()
	found, known := s.seen[hash]
	s.mu.Unlock()
	if age := s.now().Sub(found.at); known && age >= 0 && age < sessionsCached {
		return found.sessionRecord, nil
	}
	began := s.now()
	reply, err := sessionUseScript.Run(ctx, s.db, s.keys, hash, idle.Milliseconds())
	if err != nil {
		return sessionRecord{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if reply.Word == "none" {
		delete(s.seen, hash)
		return sessionRecord{}, ErrNoSession
	}
	var record sessionRecord
	if err := json.Unmarshal([]byte(reply.Text(0)), &record); err != nil {
		return sessionRecord{}, fmt.Errorf("read a session: %w", err)
	}
	if record.Format != format {
		return sessionRecord{}, formatError("a session", record.Format)
	}
	if len(s.seen) >= maxSessions {
		clear(s.seen)
	}
	s.seen[hash] = seenSession{record, began, began.Add(time.Duration(reply.Int(1)) * time.Millisecond)}
	return record, nil
}

// End ends a session, and all others of its user. It is no error if there is none.
func (s *Sessions) End(ctx context.Context, id string) error {
	record, err := s.record(ctx, hashOf(id), 0)
	if errors.Is(err, ErrNoSession) {
		return nil
	}
	if err != nil {
		return err
	}
	hashes, err := s.ofUser(ctx, record.User)
	if err != nil {
		return err
	}
	return s.remove(ctx, hashes...)
}

// ofUser returns the hashes of the ids of a user's sessions, the one that began first at the beginning.
func (s *Sessions) ofUser(ctx context.Context, name string) (hashes []string, err error) {
	var rows map[string]string
	err = s.db.Retry(ctx, func() (err error) {
		rows, err = s.db.HGetAll(ctx, s.keys[keySessions]).Result()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the sessions: %w", err)
	}
	for hash, row := range rows {
		_, text, _ := strings.Cut(row, " ")
		var other sessionRecord
		if json.Unmarshal([]byte(text), &other) == nil && other.User == name {
			hashes = append(hashes, hash)
		}
	}
	slices.SortFunc(hashes, func(a, b string) int { return strings.Compare(rows[a], rows[b]) }) // rows begin with their ends
	return hashes, nil
}

// remove ends sessions. They are forgotten after that too: a request in between has read them again.
func (s *Sessions) remove(ctx context.Context, hashes ...string) error {
	if len(hashes) == 0 {
		return nil
	}
	s.forget(hashes)
	defer s.forget(hashes)
	members := make([]any, len(hashes))
	for i, hash := range hashes {
		members[i] = hash
	}
	return s.db.Retry(ctx, func() error {
		if err := s.db.HDel(ctx, s.keys[keySessions], hashes...).Err(); err != nil {
			return err
		}
		return s.db.ZRem(ctx, s.keys[keySessionsEnd], members...).Err()
	})
}

func (s *Sessions) forget(hashes []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, hash := range hashes {
		delete(s.seen, hash)
	}
}

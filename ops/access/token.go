package access

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/redis/go-redis/v9"

	"skidway"
	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/queue"
)

// Bounds of tokens.
const (
	maxTokens     = 1000
	maxTokenName  = 80
	maxScopes     = 20
	maxTokenLife  = 10 * 365 * 24 * time.Hour
	tokensCached  = 5 * time.Second
	tokensFailed  = time.Second            // how long a failure to read them is that of all requests
	tokenMissed   = 100 * time.Millisecond // between lookups whether those that are not known have been created
	maxMissed     = 1000                   // ids of a lookup
	useNotedEvery = time.Minute
	useNotedIn    = time.Second
)

// A Token allows a program to do what its scopes name, until it expires. The text that the program
// sends is not stored, only its hash.
type Token struct {
	ID      string
	Name    string // what it is for, at most 80 bytes
	Scopes  []Scope
	Created time.Time
	Expires time.Time
	Used    time.Time // the last time, up to a minute earlier; zero if never
	By      string    // who created it
	Err     error     // of [Tokens.List]: why its scopes can't be read, as if another release wrote it
}

// Errors of tokens.
var (
	// ErrToken is the error for a token that is unknown, wrong or revoked.
	ErrToken = errors.New("the token is not valid")

	// ErrTokenExpired is the error for a token that was right until it expired.
	ErrTokenExpired = errors.New("the token has expired")

	// ErrTokensBusy is the error for a token that is not known yet, while requests with very many others
	// wait until it is known whether these have been created.
	ErrTokensBusy = errors.New("too many requests with unknown tokens")

	// ErrNoToken is the error for an id of no token.
	ErrNoToken = errors.New("there is no such token")
)

// Tokens are the tokens in a Redis. They are read again after 5 s, so a revoked one may be accepted
// for that long. Tokens is safe for concurrent use.
type Tokens struct {
	db     *rdb.DB
	keys   []string
	now    func() time.Time
	logger *slog.Logger

	turn   chan struct{} // to use what follows
	read   time.Time     // when records were read, or could not be, by now
	at     time.Time     // the same by Redis's clock
	rows   map[string]tokenRecord
	failed error                // why they could not be read
	missed time.Time            // when the last lookup was done, by now
	next   *lookup              // nil: no request waits
	noted  map[string]time.Time // when the use was written
	notedM sync.Mutex
}

// A tokenRecord is a token as it is stored.
type tokenRecord struct {
	Format  int      `json:"format"`
	Hash    string   `json:"hash"` // SHA-256 of the text, in hex
	Name    string   `json:"name,omitempty"`
	Scopes  []string `json:"scopes"`
	Created int64    `json:"created"` // in ms, as all times
	Expires int64    `json:"expires"`
	By      string   `json:"by,omitempty"`

	used int64
}

// NewTokens returns the tokens in a Redis. Nothing is sent to it.
func NewTokens(db *skidway.DB) *Tokens {
	conn := handle.Conn(db)
	return &Tokens{db: conn, keys: keysOf(conn), now: time.Now, logger: slog.Default(), turn: make(chan struct{}, 1), noted: map[string]time.Time{}}
}

// Create adds a token with a name, scopes and who created it, which is valid for some time. It
// returns the text that the program sends, which can't be read again.
func (t *Tokens) Create(ctx context.Context, token Token, valid time.Duration) (text string, _ Token, err error) {
	switch {
	case len(token.Scopes) == 0 || len(token.Scopes) > maxScopes:
		return "", token, fmt.Errorf("%w: a token with %d scopes: want 1 to %d", queue.ErrInvalid, len(token.Scopes), maxScopes)
	case strings.ContainsFunc(token.Name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "", token, fmt.Errorf("%w: the name of a token %.80q: want characters that can be printed", queue.ErrInvalid, token.Name)
	case len(token.Name) > maxTokenName:
		return "", token, fmt.Errorf("%w: the name of a token has %d bytes: at most %d", queue.ErrInvalid, len(token.Name), maxTokenName)
	case valid < time.Millisecond || valid > maxTokenLife:
		return "", token, fmt.Errorf("%w: a token that is valid for %s: want at most 10 years", queue.ErrInvalid, valid)
	}
	now, err := t.clock(ctx)
	if err != nil {
		return "", token, err
	}
	var id [6]byte
	var secret [32]byte
	_, _ = rand.Read(id[:]) // never fails
	_, _ = rand.Read(secret[:])
	token.ID, token.Created, token.Expires = hex.EncodeToString(id[:]), now, now.Add(valid)
	text = "skd_" + token.ID + "_" + base64.RawURLEncoding.EncodeToString(secret[:])
	record := tokenRecord{Format: format, Hash: hashOf(text), Name: token.Name, Created: token.Created.UnixMilli(), Expires: token.Expires.UnixMilli(), By: token.By}
	for _, scope := range token.Scopes {
		record.Scopes = append(record.Scopes, scope.String())
	}
	if err := t.add(ctx, token.ID, record); err != nil {
		return "", token, err
	}
	return text, token, nil
}

// add stores a token. Where there are too many, those that have expired make room.
func (t *Tokens) add(ctx context.Context, id string, record tokenRecord) error {
	encoded, err := json.Marshal(record)
	if err != nil {
		return err
	}
	for again := true; ; again = false {
		reply, err := tokenAddScript.Run(ctx, t.db, t.keys, id, encoded, maxTokens)
		if err != nil || reply.Word == "ok" {
			return err
		}
		if !again {
			return fmt.Errorf("there are %d tokens: revoke some", maxTokens)
		}
		rows, now, err := t.readAll(ctx)
		if err != nil {
			return err
		}
		var expired []string
		for id, row := range rows {
			if row.Format == format && row.Expires <= now.UnixMilli() {
				expired = append(expired, id)
			}
		}
		if err := t.remove(ctx, expired...); err != nil {
			return err
		}
	}
}

// hashOf returns the SHA-256 of a secret, in hex.
func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// clock returns the time of Redis.
func (t *Tokens) clock(ctx context.Context) (now time.Time, err error) {
	err = t.db.Retry(ctx, func() (err error) {
		now, err = t.db.Time(ctx).Result()
		return err
	})
	return now, err
}

// readAll returns all tokens by their ids, and Redis's time.
func (t *Tokens) readAll(ctx context.Context) (rows map[string]tokenRecord, now time.Time, err error) {
	var all, used *redis.MapStringStringCmd
	var clock *redis.TimeCmd
	err = t.db.ReadTogether(ctx, t.keys[keyTokens], func(pipe redis.Pipeliner) {
		all, used, clock = pipe.HGetAll(ctx, t.keys[keyTokens]), pipe.HGetAll(ctx, t.keys[keyTokensUsed]), pipe.Time(ctx)
	})
	if err == nil {
		err = cmp.Or(all.Err(), used.Err(), clock.Err())
	}
	if err != nil {
		return nil, now, fmt.Errorf("read the tokens: %w", err)
	}
	rows = make(map[string]tokenRecord, len(all.Val()))
	for id, text := range all.Val() {
		var row tokenRecord
		if err := json.Unmarshal([]byte(text), &row); err != nil {
			continue // it is none
		}
		_, _ = fmt.Sscan(used.Val()[id], &row.used) // else it was never used
		rows[id] = row
	}
	return rows, clock.Val(), nil
}

// List returns all tokens, the latest first, also those that have expired.
func (t *Tokens) List(ctx context.Context) ([]Token, error) {
	rows, _, err := t.readAll(ctx)
	if err != nil {
		return nil, err
	}
	var tokens []Token
	for id, row := range rows {
		token, err := row.token(id)
		if err != nil {
			token = Token{ID: id, Name: row.Name, Created: time.UnixMilli(row.Created), Expires: time.UnixMilli(row.Expires), By: row.By, Err: err}
		}
		tokens = append(tokens, token)
	}
	slices.SortFunc(tokens, func(a, b Token) int {
		return cmp.Or(b.Created.Compare(a.Created), strings.Compare(a.ID, b.ID))
	})
	return tokens, nil
}

func (r tokenRecord) token(id string) (Token, error) {
	if r.Format != format {
		return Token{}, formatError("token "+id, r.Format)
	}
	scopes, err := ParseScopes(r.Scopes)
	if err != nil {
		return Token{}, fmt.Errorf("token %s: %w", id, err)
	}
	token := Token{ID: id, Name: r.Name, Scopes: scopes, Created: time.UnixMilli(r.Created), Expires: time.UnixMilli(r.Expires), By: r.By}
	if r.used > 0 {
		token.Used = time.UnixMilli(r.used)
	}
	return token, nil
}

// Revoke removes a token. The error is [ErrNoToken] if there is none of this id.
func (t *Tokens) Revoke(ctx context.Context, id string) error {
	found, err := t.exists(ctx, id)
	if err == nil && !found {
		err = ErrNoToken
	}
	if err == nil {
		err = t.remove(ctx, id)
	}
	if err != nil {
		return fmt.Errorf("revoke token %.40q: %w", id, err)
	}
	return nil
}

func (t *Tokens) remove(ctx context.Context, ids ...string) error {
	if len(ids) == 0 {
		return nil
	}
	return t.db.Retry(ctx, func() error {
		if err := t.db.HDel(ctx, t.keys[keyTokens], ids...).Err(); err != nil {
			return err
		}
		return t.db.HDel(ctx, t.keys[keyTokensUsed], ids...).Err()
	})
}

// Authenticate returns who sends a token. The error is [ErrToken] or [ErrTokenExpired] for a text
// that is none, [ErrTokensBusy] or another one if that is not known.
func (t *Tokens) Authenticate(ctx context.Context, text string) (*Principal, error) {
	parts := strings.SplitN(text, "_", 3)
	if len(parts) != 3 || parts[0] != "skd" || len(text) > 100 {
		return nil, ErrToken
	}
	id := parts[1]
	row, known, now, err := t.find(ctx, id)
	if err != nil {
		return nil, err
	}
	if subtle.ConstantTimeCompare([]byte(hashOf(text)), []byte(row.Hash)) != 1 || !known {
		return nil, ErrToken
	}
	if row.Expires <= now.UnixMilli() {
		return nil, ErrTokenExpired
	}
	token, err := row.token(id)
	if err != nil {
		return nil, err
	}
	t.noteUse(ctx, id)
	return &Principal{Name: cmp.Or(token.Name, id), ID: id, Token: true, Proven: true, Scopes: token.Scopes}, nil
}

// exists reports whether there is a token of an id.
func (t *Tokens) exists(ctx context.Context, id string) (found bool, err error) {
	err = t.db.Retry(ctx, func() (err error) {
		found, err = t.db.HExists(ctx, t.keys[keyTokens], id).Result()
		return err
	})
	return found, err
}

// noteUse writes that a token is used, once a minute. It is no error if that fails: the token is
// right.
func (t *Tokens) noteUse(ctx context.Context, id string) {
	t.notedM.Lock()
	now := t.now()
	noted := now.Sub(t.noted[id]) < useNotedEvery
	if !noted {
		if len(t.noted) >= maxTokens {
			clear(t.noted)
		}
		t.noted[id] = now
	}
	t.notedM.Unlock()
	if noted {
		return
	}
	ctx, cancel := context.WithTimeoutCause(ctx, useNotedIn, errAway)
	defer cancel()
	if _, err := tokenUsedScript.Run(ctx, t.db, t.keys, id); err != nil {
		t.logger.Warn("the last use of a token was not written", "token", id, "error", err)
	}
}

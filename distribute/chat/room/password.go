package room

import (
	"context"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"

	"skidway/distribute/chat/internal/store"
	"skidway/internal/rdb"
)

// A password is turned into a key by PBKDF2 (RFC 8018) with HMAC-SHA-256, so
// many rounds that guessing is slow: what OWASP's Password Storage Cheat Sheet
// asks for. Salt and rounds are stored in the room, so that they can be raised
// for new ones.
const (
	hashRounds = 600_000
	mostRounds = 20 * hashRounds // more are damage, and would take for ever
	saltBytes  = 16
	keyDigits  = 2 * sha256.Size
)

// A stretch makes a key out of a password, slowly. Tests count its runs.
type stretch func(password string, salt []byte, rounds int) ([]byte, error)

func pbkdf2Stretch(password string, salt []byte, rounds int) ([]byte, error) {
	return pbkdf2.Key(sha256.New, password, salt, rounds, sha256.Size)
}

// A lock is what a room stores of its password; the zero value is for none.
//
// The digest only has to hide a key of 256 bits that cannot be guessed, from
// who can read it but not the key. For that SHA-1, the one digest that scripts
// of Redis can compute, is enough: collisions do not help.
type lock struct {
	digest, salt string
	rounds       int
}

// lock makes a new lock for a password, and the key that opens it.
func (r *Client) lock(password string) (lock, string, error) {
	if password == "" {
		return lock{}, "", nil
	}
	salt := newSalt()
	key, err := r.derive(password, salt, hashRounds)
	if err != nil {
		return lock{}, "", err
	}
	digest := sha1.Sum([]byte(key))
	return lock{hex.EncodeToString(digest[:]), hex.EncodeToString(salt), hashRounds}, key, nil
}

// Key turns the password of a room into the key of a [Credential], which takes a fifth
// of a second of computing; no password is no key. It does not tell whether the
// password is right, nor whether there is such a room: the work is the same.
// [Client.Enter] does this by itself; it is for operators, and for those who are
// inside and lost their credential.
func (r *Client) Key(ctx context.Context, name, password string) (string, error) {
	if err := store.CheckName("room", name); err != nil {
		return "", err
	}
	if err := checkPassword(password); err != nil || password == "" {
		return "", err
	}
	var stored []any
	err := r.db.Retry(ctx, func() (err error) {
		stored, err = r.db.HMGet(ctx, r.keys.tag(name), "salt", "rounds").Result()
		return err
	})
	if err != nil {
		return "", fmt.Errorf("room %q: read the salt of the password: %w", name, err)
	}
	a := rdb.Reply{Values: stored}
	salt, rounds := newSalt(), uint64(hashRounds) // for a room without password, or no room
	if a.Text(0) != "" {
		if salt, err = hex.DecodeString(a.Text(0)); err != nil {
			return "", fmt.Errorf("room %q: %w", name, store.Corrupt("salt", "it is not hexadecimal"))
		}
		if rounds = a.Uint(1); rounds == 0 || rounds > mostRounds {
			return "", fmt.Errorf("room %q: %w", name, store.Corrupt("rounds", "want a number up to "+strconv.Itoa(mostRounds)))
		}
	}
	return r.derive(password, salt, int(rounds))
}

func (r *Client) derive(password string, salt []byte, rounds int) (string, error) {
	key, err := r.stretch(password, salt, rounds)
	if err != nil {
		return "", fmt.Errorf("turn the password into a key: %w", err)
	}
	return hex.EncodeToString(key), nil
}

func newSalt() []byte {
	salt := make([]byte, saltBytes)
	_, _ = rand.Read(salt) // never fails, says its doc
	return salt
}

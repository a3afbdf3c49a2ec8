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

// The key of a password is derived by PBKDF2 (RFC 8018) with HMAC-SHA-256. The
// number of rounds makes guessing slow; it is the recommendation of OWASP's
// Password Storage Cheat Sheet. Salt and rounds are stored in the room, so that a
// later release can use more rounds for new rooms.
const (
	hashRounds = 600_000
	maxRounds  = 20 * hashRounds // more are malformed, and would take minutes
	saltBytes  = 16
	keyDigits  = 2 * sha256.Size
)

// A kdf derives a key from a password. Tests count its calls.
type kdf func(password string, salt []byte, rounds int) ([]byte, error)

func deriveKey(password string, salt []byte, rounds int) ([]byte, error) {
	return pbkdf2.Key(sha256.New, password, salt, rounds, sha256.Size)
}

// A passwordHash is stored in a room to check its password; the zero value is for a
// room without password.
//
// The digest hides a random key of 256 bits from readers of the Redis. SHA-1 is
// enough for that, because collisions do not help to find the key; it is the only
// digest that scripts of Redis can compute.
type passwordHash struct {
	digest, salt string
	rounds       int
}

// hashPassword returns the hash of a new password, and its key.
func (r *Client) hashPassword(password string) (passwordHash, string, error) {
	if password == "" {
		return passwordHash{}, "", nil
	}
	salt := newSalt()
	key, err := r.derive(password, salt, hashRounds)
	if err != nil {
		return passwordHash{}, "", err
	}
	digest := sha1.Sum([]byte(key))
	return passwordHash{hex.EncodeToString(digest[:]), hex.EncodeToString(salt), hashRounds}, key, nil
}

// Key returns the key of a [Credential] for the password of a room; without a
// password it is empty. It takes a fifth of a second of computing time, and does
// not depend on whether the password is right or the room exists. [Client.Enter]
// calls it; use it for operators, and for a person inside who lost its credential.
func (r *Client) Key(ctx context.Context, name, password string) (string, error) {
	if err := store.CheckName("room", name); err != nil {
		return "", err
	}
	if err := checkPassword(password); err != nil || password == "" {
		return "", err
	}
	var stored []any
	err := r.rooms.Retry(ctx, func() (err error) {
		stored, err = r.rooms.HMGet(ctx, r.rooms.Hash(name), "salt", "rounds").Result()
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
		if rounds = a.Uint(1); rounds == 0 || rounds > maxRounds {
			return "", fmt.Errorf("room %q: %w", name, store.Corrupt("rounds", "want a number up to "+strconv.Itoa(maxRounds)))
		}
	}
	return r.derive(password, salt, int(rounds))
}

func (r *Client) derive(password string, salt []byte, rounds int) (string, error) {
	key, err := r.kdf(password, salt, rounds)
	if err != nil {
		return "", fmt.Errorf("turn the password into a key: %w", err)
	}
	return hex.EncodeToString(key), nil
}

func newSalt() []byte {
	salt := make([]byte, saltBytes)
	_, _ = rand.Read(salt) // it never returns an error
	return salt
}

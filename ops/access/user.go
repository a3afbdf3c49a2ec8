package access

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/goccy/go-yaml"
	"golang.org/x/crypto/bcrypt"

	"skidway/internal/yamltext"
	"skidway/queue"
)

// A User is an entry of a file of users.
type User struct {
	Name     string   `yaml:"name"`                  // 1 to 64 letters, digits, '.', '_', '-' or '@'
	Password string   `yaml:"password"`              // its bcrypt hash
	Role     string   `yaml:"role"`                  // [ViewRole], [OperateRole] or [AdminRole]
	Queues   []string `yaml:"queues,flow,omitempty"` // patterns; none: all queues
	Kinds    []string `yaml:"kinds,flow,omitempty"`  // patterns of what it may add; none: [All]
	Reveal   bool     `yaml:"reveal,omitempty"`      // whether it has the action [Reveal]
	Scale    bool     `yaml:"scale,omitempty"`       // whether it has the action [Scale]
}

// usersFile is the content of a file of users.
type usersFile struct {
	Users []User `yaml:"users"`
}

// Bounds of users and passwords.
const (
	passwordCost = 12
	leastCost    = 10 // of a hash that does not need a warning
	minPassword  = 8
	maxPassword  = 72 // bcrypt ignores what follows
	maxUserName  = 64
	maxUsersFile = 1 << 20
)

// HashPassword returns the bcrypt hash of a password of 8 to 72 bytes. It takes about a third of a
// second.
func HashPassword(password string) (string, error) {
	if len(password) < minPassword || len(password) > maxPassword {
		return "", fmt.Errorf("%w: a password of %d bytes: want %d to %d", queue.ErrInvalid, len(password), minPassword, maxPassword)
	}
	hash, err := bcrypt.GenerateFromPassword([]byte(password), passwordCost)
	return string(hash), err
}

// Validate returns an error, which wraps [queue.ErrInvalid], if the entry can't be used.
func (u User) Validate() error {
	invalid := func(format string, args ...any) error {
		return fmt.Errorf("%w: user %.80q: %w", queue.ErrInvalid, u.Name, fmt.Errorf(format, args...))
	}
	if !isUserName(u.Name) {
		return invalid("a name has 1 to %d letters, digits, '.', '_', '-' or '@', and is not %q", maxUserName, LocalName)
	}
	if _, known := roles[u.Role]; !known {
		return invalid("role %.40q: want %s, %s or %s", u.Role, ViewRole, OperateRole, AdminRole)
	}
	if cost, err := bcrypt.Cost([]byte(u.Password)); err != nil {
		return invalid("password: want a bcrypt hash: %w", err)
	} else if cost > passwordCost+3 {
		return invalid("password: a hash of cost %d: at most %d", cost, passwordCost+3)
	}
	for _, pattern := range u.Queues {
		if err := checkPattern(pattern, false); err != nil {
			return invalid("queues: %.80q: %w", pattern, err)
		}
	}
	for _, pattern := range u.Kinds {
		if err := checkPattern(pattern, true); err != nil {
			return invalid("kinds: %.80q: %w", pattern, err)
		}
	}
	return nil
}

// isUserName reports whether a name is one of a user. That of the local principal is none.
func isUserName(name string) bool {
	for _, c := range []byte(name) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && !strings.ContainsRune("._-@", rune(c)) {
			return false
		}
	}
	return name != "" && len(name) <= maxUserName && name != LocalName
}

// Principal returns what the user may do.
func (u User) Principal() *Principal {
	granted := slices.Clone(roles[u.Role])
	if u.Reveal {
		granted = append(granted, Reveal)
	}
	if u.Scale {
		granted = append(granted, Scale)
	}
	queues, kinds := u.Queues, u.Kinds
	if len(queues) == 0 {
		queues = []string{All}
	}
	if len(kinds) == 0 {
		kinds = []string{All}
	}
	return &Principal{Name: u.Name, Proven: true, Scopes: scopesOf(granted, queues, kinds)}
}

// version identifies the entry: a session of another version has ended.
func (u User) version() string {
	text, _ := json.Marshal(u) // has no values that can't be encoded
	return hashOf(string(text))[:32]
}

// parseUsers parses the content of a file of users.
func parseUsers(text []byte) ([]User, error) {
	var file usersFile
	if err := yamltext.Decode(text, &file); err != nil {
		return nil, fmt.Errorf("%w: %w", queue.ErrInvalid, err)
	}
	names := map[string]bool{}
	for _, u := range file.Users {
		if err := u.Validate(); err != nil {
			return nil, err
		}
		if names[u.Name] {
			return nil, fmt.Errorf("%w: user %s is there twice", queue.ErrInvalid, u.Name)
		}
		names[u.Name] = true
	}
	return file.Users, nil
}

// ReadUsers reads a file of users. It must not be readable or writable for all, nor writable for its
// group.
func ReadUsers(path string) ([]User, error) {
	users, _, err := readUsers(path)
	return users, err
}

func readUsers(path string) (users []User, info fs.FileInfo, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = file.Close() }()
	if info, err = file.Stat(); err != nil {
		return nil, nil, err
	}
	switch {
	case !info.Mode().IsRegular():
		return nil, info, fmt.Errorf("%w: %s is not a regular file", queue.ErrInvalid, path)
	case info.Mode().Perm()&0o027 != 0:
		return nil, info, fmt.Errorf("%w: %s has mode %04o, so others could read or change it: 'chmod 600 %s'", queue.ErrInvalid, path, info.Mode().Perm(), path)
	case info.Size() > maxUsersFile:
		return nil, info, fmt.Errorf("%w: %s has %d bytes: at most %d", queue.ErrInvalid, path, info.Size(), maxUsersFile)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxUsersFile))
	if err != nil {
		return nil, info, err
	}
	if users, err = parseUsers(text); err != nil {
		return nil, info, fmt.Errorf("%s: %w", path, err)
	}
	return users, info, nil
}

// EditUsers changes a file of users by a function, which gets its users and returns those that it is
// to have. A file that does not exist is made, with mode 0600. Readers see the old or the new file.
func EditUsers(path string, edit func([]User) ([]User, error)) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // the link stays
	}
	return replaceFile(path, func() (text []byte, mode fs.FileMode, err error) {
		users, info, err := readUsers(path)
		if mode = 0o600; info != nil {
			mode = info.Mode().Perm()
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, mode, err
		}
		if users, err = edit(users); err != nil {
			return nil, mode, err
		}
		if text, err = yaml.Marshal(usersFile{users}); err != nil {
			return nil, mode, err
		}
		_, err = parseUsers(text)
		return text, mode, err
	})
}

// replaceFile writes a file through another one beside it. That is made before the content is, so two
// commands can't change the file at the same time.
func replaceFile(path string, content func() ([]byte, fs.FileMode, error)) (err error) {
	name := path + ".new"
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists: another command changes %s, or was killed; then delete it", name, path)
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(name)
		}
	}()
	text, mode, err := content()
	if err == nil {
		_, err = file.Write(text)
	}
	for _, step := range []func() error{
		func() error { return file.Chmod(mode) },
		func() error { return keepOwner(path, file) },
		file.Sync,
		file.Close,
	} {
		if stepErr := step(); err == nil {
			err = stepErr
		}
	}
	if err == nil {
		err = os.Rename(name, path)
	}
	return err
}

// Users are the users of a file, which is read again when it has changed. It is safe for concurrent
// use.
type Users struct {
	watched

	mu     sync.Mutex
	byName map[string]User
	cost   int // the highest of their hashes
}

// OpenUsers reads a file of users. Later changes that can't be read are logged, and the users stay
// as they were. A nil logger means [slog.Default].
func OpenUsers(path string, logger *slog.Logger) (*Users, error) {
	if logger == nil {
		logger = slog.Default()
	}
	u := &Users{}
	u.watched = watched{what: "users", path: path, logger: logger, now: time.Now, read: func() (map[string]fs.FileInfo, error) {
		users, info, err := readUsers(path)
		if err == nil {
			u.setLocked(users)
		}
		return map[string]fs.FileInfo{path: info}, err
	}}
	return u, u.open()
}

func (u *Users) setLocked(users []User) {
	u.byName, u.cost = make(map[string]User, len(users)), 0
	for _, user := range users {
		u.byName[user.Name] = user
		cost, _ := bcrypt.Cost([]byte(user.Password)) // was validated
		if u.cost = max(u.cost, cost); cost < leastCost {
			u.logger.Warn("the password's hash is quick to try: set the password again", "user", user.Name, "cost", cost, "least", leastCost)
		}
	}
}

// Lookup returns the user of a name, as the file was at most 1 s ago.
func (u *Users) Lookup(name string) (user User, found bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.refresh()
	user, found = u.byName[name]
	return user, found
}

// Err returns why the file is refused as it is now, nil if it is not.
func (u *Users) Err() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.refresh()
	return u.refused
}

// compare reports whether a password is that of a hash. Without a hash it takes as long and returns
// false.
func (u *Users) compare(hash, password string) bool {
	known := hash != ""
	if !known {
		u.mu.Lock()
		cost := u.cost
		u.mu.Unlock()
		hash = dummyHash(cost)
	}
	err := bcrypt.CompareHashAndPassword([]byte(hash), []byte(password))
	return known && err == nil
}

// dummyHash returns a hash of a cost, of no password that is used.
func dummyHash(cost int) string {
	if cost == 0 {
		cost = passwordCost
	}
	return fmt.Sprintf("$2a$%02d$%s", cost, "abcdefghijklmnopqrstuuabcdefghijklmnopqrstuabcdefghij")
}

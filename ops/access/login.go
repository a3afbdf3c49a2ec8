package access

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"skidway"
	"skidway/internal/handle"
	"skidway/internal/rdb"
)

// Bounds of logins.
const (
	loginWindow    = 15 * time.Minute
	loginsOfName   = 5  // wrong ones in the window
	loginsOfHost   = 20 // the same of an address
	loginPause     = time.Second
	maxLoginRows   = 10_000
	maxComparing   = 2  // passwords at the same time: each takes a processor for a third of a second
	maxLoginsQueue = 10 // that wait for one of them
)

// ErrLogin is the error for a wrong name or password.
var ErrLogin = errors.New("the name or the password is wrong")

// A LoginLimitError is the error for a login that was not tried, because there were too many.
type LoginLimitError struct{ Wait time.Duration }

func (e *LoginLimitError) Error() string {
	return fmt.Sprintf("there were too many logins: try again in %s", (e.Wait + time.Second - 1).Truncate(time.Second))
}

// Logins checks names and passwords, within limits that all processes share. It is safe for
// concurrent use.
type Logins struct {
	db        *rdb.DB
	keys      []string
	users     *Users
	patience  time.Duration // with Redis, for each of two questions
	queue     chan struct{}
	comparing chan struct{}
}

// NewLogins returns the logins of users. Nothing is sent to Redis.
func NewLogins(db *skidway.DB, users *Users) *Logins {
	conn := handle.Conn(db)
	return &Logins{conn, keysOf(conn), users, patience, make(chan struct{}, maxComparing+maxLoginsQueue), make(chan struct{}, maxComparing)}
}

// Login returns the user of a name and password. The error is [ErrLogin] if one is wrong, and a
// [LoginLimitError] if there were 5 wrong logins of the name or 20 of the address in 15 minutes, if
// the name's last wrong login is too short ago, or if too many logins wait. Redis counts a login as
// a wrong one when it begins, so that many at the same time don't pass the limit.
func (l *Logins) Login(ctx context.Context, name, password string, from netip.Addr) (User, error) {
	select {
	case l.queue <- struct{}{}:
		defer func() { <-l.queue }()
	default:
		return User{}, &LoginLimitError{loginPause}
	}
	ofName, ofHost := "name "+hashOf(name), "host "+hostOf(from)
	reply, err := l.run(ctx, loginBeginScript, loginWindow.Milliseconds(), maxLoginRows,
		ofName, loginsOfName, loginPause.Milliseconds(), ofHost, loginsOfHost, 0)
	if err != nil {
		return User{}, err
	}
	if reply.Word == "wait" {
		return User{}, &LoginLimitError{time.Duration(reply.Int(0)) * time.Millisecond}
	}
	select {
	case l.comparing <- struct{}{}:
		defer func() { <-l.comparing }()
	case <-ctx.Done():
		return User{}, context.Cause(ctx)
	}
	user, _ := l.users.Lookup(name)
	fits := len(password) <= maxPassword // else bcrypt would ignore the rest
	if !l.users.compare(user.Password, password[:min(len(password), maxPassword)]) || !fits {
		return User{}, ErrLogin
	}
	_, err = l.run(ctx, loginEndScript, ofName, ofHost)
	return user, err
}

// run runs a script within the patience.
func (l *Logins) run(ctx context.Context, script *rdb.Script, args ...any) (rdb.Reply, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, l.patience, errAway)
	defer cancel()
	return script.Run(ctx, l.db, l.keys, args...)
}

// hostOf returns an address, or the network of one host where hosts have many.
func hostOf(address netip.Addr) string {
	address = address.Unmap()
	if !address.Is6() {
		return address.String()
	}
	network, _ := address.WithZone("").Prefix(64) // of an IPv6 address, never fails
	return network.String()
}

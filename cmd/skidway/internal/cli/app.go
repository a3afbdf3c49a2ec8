// Package cli has what all commands share.
//
// A command is completed by [Run], which opens the Redis that several processes share,
// or its RunE is made by [Action]. [Args], [ArgsOr] and [OneOrMore] declare arguments,
// and the types of values.go are values of flags.
//
// Results go to standard output: rows by a [View] and [PrintView], which print tables,
// CSV and JSON, single values by [App.PrintLine]. Everything else goes to standard
// error, by the [Console]. Errors become exit codes in [ExitCode]: [WrongUsage] makes
// an error one of the command line.
//
// To add a view, declare a [View] with one [Column] for each value:
//
//	var chatView = cli.View[chat]{
//		{Key: "id", Head: "ID", Value: func(c chat) any { return c.id }},
//		{Key: "unread", Head: "UNREAD", Right: true, Value: func(c chat) any { return c.unread }},
//	}
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"skidway"
	"skidway/internal/handle"
	"skidway/internal/rdb"
)

// An App is what all commands of one run share.
type App struct {
	Out     io.Writer // results
	Console *Console  // everything else

	// Global flags.
	Redis, Prefix string
	Server, Token string // of the HTTP API; the token as @FILE

	rawCSV bool // of the command that is run
}

// EmbeddedURL is the URL of the Redis inside the process.
const EmbeddedURL = "embedded:"

// urlVariables are the environment variables with the URL of the Redis that several
// processes share. The first one that is set counts.
var urlVariables = []string{"SKIDWAY_REDIS", "REDIS_URL"}

// URL returns the URL of the Redis that several processes share.
func (a *App) URL() string {
	url := a.Redis
	for _, variable := range urlVariables {
		url = cmp.Or(url, os.Getenv(variable))
	}
	return cmp.Or(url, rdb.DefaultURL)
}

// namesRedis reports whether the URL is one that the user has chosen.
func (a *App) namesRedis() bool {
	return a.Redis != "" || slices.ContainsFunc(urlVariables, func(variable string) bool { return os.Getenv(variable) != "" })
}

// Open connects to a Redis. A server that Skidway cannot use is an error.
func (a *App) Open(ctx context.Context, url string) (*rdb.DB, error) {
	return OpenAt(ctx, url, a.Prefix)
}

// OpenAt is [App.Open] with a prefix for all keys.
func OpenAt(ctx context.Context, url, prefix string) (*rdb.DB, error) {
	db, err := rdb.Open(ctx, url, rdb.Options{Prefix: prefix})
	if err != nil {
		return nil, OpenError(url, err)
	}
	if _, err := db.Check(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// OpenError turns the error of an invalid URL or prefix into an error of usage, which
// names the environment variable that the URL is from, and explains that of a server that
// refuses the connection.
func OpenError(url string, err error) error {
	var unreachable *rdb.UnreachableError
	var answer redis.Error
	switch {
	case errors.As(err, &unreachable):
		return err
	case errors.As(err, &answer):
		return fmt.Errorf("redis refuses this connection: %w: check user, password and database in the URL", err)
	}
	for _, variable := range urlVariables {
		if errors.Is(err, rdb.ErrURL) && os.Getenv(variable) == url {
			return WrongUsage("the environment variable %s: %w", variable, err)
		}
	}
	return AsUsage(err)
}

// WithRedis opens the Redis that several processes share for as long as f runs. It
// refuses the embedded one, with alternative as the end of the message. If ctx is that of
// a command which is a change, the audit has an entry before and after f.
func (a *App) WithRedis(ctx context.Context, alternative string, f func(*skidway.DB) error) (err error) {
	if err := a.OnlyRedis(); err != nil {
		return err
	}
	db, err := a.Open(ctx, a.URL())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if db.Embedded() {
		return WrongUsage("the embedded Redis is inside this process, so no other process can use it: give --redis the URL of a server%s", alternative)
	}
	return a.audited(ctx, handle.New(db), f)
}

// With opens the shared Redis, and a client of it, for as long as f runs. Names
// and values that are invalid make the command end with [ExitUsage].
func With[T any](ctx context.Context, a *App, open func(*skidway.DB) (T, error), f func(T) error) error {
	return a.WithRedis(ctx, "", func(db *skidway.DB) error {
		client, err := open(db)
		if err == nil {
			err = f(client)
		}
		return InvalidAsUsage(err)
	})
}

// Run completes a command whose action is f, called by [With].
func Run[T any](a *App, c *cobra.Command, open func(*skidway.DB) (T, error), f func(ctx context.Context, client T, args []string) error) *cobra.Command {
	c.RunE = Action(func(c *cobra.Command, args []string) error {
		return With(c.Context(), a, open, func(client T) error { return f(c.Context(), client, args) })
	})
	return c
}

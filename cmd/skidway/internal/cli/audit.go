package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/user"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"skidway"
	"skidway/ops/access"
)

// changes are the commands that the audit has entries of, with the names of their actions, which are
// those of the same changes by the API and by pages: those that change what there is, or copy it. Jobs
// that are enqueued, messages that are sent, and the processes that work on jobs and logs, are not among
// them. A command without a name here has its own.
var changes = map[string]string{
	"queues pause": "pause", "queues resume": "resume", "queues retention": "retention", "queues purge": "purge", "queues delete": "delete queue",
	"jobs retry": "retry", "jobs run-now": "run-now", "jobs reschedule": "reschedule", "jobs priority": "priority", "jobs copy": "copy", "jobs cancel": "cancel", "jobs delete": "delete",
	"operations stop": "stop", "operations continue": "continue",
	"workers quiet": "quiet worker", "workers stop": "stop worker",
	"cron add": "put schedule", "cron pause": "pause schedule", "cron remove": "remove schedule", "cron resume": "resume schedule", "cron run": "run schedule",
	"logs window": "window", "logs unsubscribe": "unsubscribe",
	"logs import": "", "logs reset": "", "logs channels delete": "",
	"chat create": "", "chat drop": "", "chat join": "", "chat leave": "", "chat limit": "",
	"mail delete": "", "mail keep": "", "mail limit": "", "dm delete": "",
	"room create": "", "room delete": "", "room mute": "", "room unmute": "", "room retract": "", "room set": "",
	"user add": "", "user password": "", "user remove": "", "token create": "", "token revoke": "",
}

// late are the changes that call [BeginChange] themselves, after their question or when they know the
// number of jobs. The others begin at once.
var late = []string{"queues retention", "queues purge", "queues delete", "logs channels delete",
	"jobs retry", "jobs run-now", "jobs reschedule", "jobs priority", "jobs cancel", "jobs delete", "operations continue"}

// IsChange reports whether the audit has entries of a command.
func IsChange(c *cobra.Command) bool {
	_, ok := changes[pathOf(c)]
	return ok
}

// ActionOf returns the name in the audit of what a command that is a change does with arguments.
func ActionOf(c *cobra.Command, args []string) string {
	path := pathOf(c)
	if path == "chat drop" && len(args) > 1 {
		return "drop member"
	}
	return cmp.Or(changes[path], path)
}

// pathOf returns the name of a command without that of the program.
func pathOf(c *cobra.Command) string {
	_, path, _ := strings.Cut(c.CommandPath(), " ")
	return path
}

// A change is a command that the audit has entries of.
type change struct {
	entry access.Entry
	of    func(args []string) access.Entry     // returns the entry of the command with other arguments
	late  bool                                 // whether the command calls BeginChange
	audit *access.Audit                        // nil: the server of the API has one
	end   func(outcome error, count int) error // nil before the change
	count int                                  // of jobs changed; -1 if it is not known
}

type changeKey struct{}

// AuditChanges makes [App.WithRedis] write the audit of a command that is a change. It is called
// before the command runs.
func AuditChanges(c *cobra.Command, args []string) {
	if IsChange(c) {
		of := func(args []string) access.Entry { return entryOf(c, args) }
		c.SetContext(context.WithValue(c.Context(), changeKey{}, &change{count: -1, entry: of(args), of: of, late: slices.Contains(late, pathOf(c))}))
	}
}

// NotAudited returns a context of a run of a change that changes nothing this time, as it only shows
// what there is.
func NotAudited(ctx context.Context) context.Context {
	return context.WithValue(ctx, changeKey{}, nil)
}

// BeginChange writes the entry of the audit before a change of a number of jobs, 0 for other changes.
// With an error nothing must be changed.
func BeginChange(ctx context.Context, count int) (err error) {
	change, ok := ctx.Value(changeKey{}).(*change)
	if !ok || change.audit == nil {
		return nil
	}
	change.entry.Count = count
	change.end, err = change.audit.Begin(ctx, change.entry)
	return err
}

// AuditJobs calls f, which changes jobs of one queue, between the two entries of the audit of that. f returns
// how many it has changed, -1 if it is not known. It is not called if the first entry can't be written.
func AuditJobs(ctx context.Context, ids []string, f func() (changed int, err error)) error {
	change, ok := ctx.Value(changeKey{}).(*change)
	if !ok || change.audit == nil {
		_, err := f()
		return err
	}
	entry := change.of(ids)
	entry.Count = len(ids)
	end, err := change.audit.Begin(ctx, entry)
	if err != nil {
		return err
	}
	changed, err := f()
	outcome := err
	if failed := len(ids) - changed; err == nil && failed > 0 {
		outcome = fmt.Errorf("%d of %d jobs failed, the others are done", failed, len(ids))
	}
	return errors.Join(err, end(outcome, changed))
}

// SetCount sets the number of jobs that a command has changed, for the audit.
func SetCount(ctx context.Context, count int) {
	if change, ok := ctx.Value(changeKey{}).(*change); ok {
		change.count = count
	}
}

// Caller returns the system's user and host. It proves nothing.
func Caller() string {
	name, host := "unknown", "unknown"
	if current, err := user.Current(); err == nil {
		name = current.Username
	}
	if found, err := os.Hostname(); err == nil {
		host = found
	}
	return name + "@" + host
}

// shownFlags are the flags whose values an entry has: they select what is changed, and to what. Others,
// such as headers, may be secret.
var shownFlags = []string{"queue", "match", "state", "kind", "error", "older-than", "newer-than", "all", "rate", "to", "in", "at", "name", "scope", "role", "days", "users", "queues", "kinds", "channel", "subscriber",
	"defaults", "dead-jobs", "dead-bytes", "dead-age", "results-jobs", "results-bytes", "results-age"}

// entryOf returns the entry of a command. Its filter is the arguments, without args of jobs and messages, which
// may be secret, and flags.
func entryOf(c *cobra.Command, args []string) access.Entry {
	path := pathOf(c)
	e := access.Entry{Who: Caller(), From: "command line", Action: ActionOf(c, args)}
	switch path {
	case "jobs copy":
		args = args[:min(1, len(args))]
	case "cron add":
		args = args[:min(4, len(args))]
	case "chat create":
		args = nil
	}
	words, names := slices.Clone(args), strings.Join(args, " ")
	c.Flags().Visit(func(flag *pflag.Flag) {
		if c.InheritedFlags().Lookup(flag.Name) != nil {
			return // which Redis
		}
		if slices.Contains(shownFlags, flag.Name) {
			words = append(words, "--"+flag.Name+"="+flag.Value.String())
		} else {
			words = append(words, "--"+flag.Name)
		}
		if flag.Name == "queue" {
			e.Queue = flag.Value.String()
		}
	})
	e.Filter = strings.Join(words, " ")
	switch name, _, isID := strings.Cut(names, ":"); {
	case strings.HasPrefix(path, "queues "):
		e.Queue = names
	case isID && e.Queue == "" && (strings.HasPrefix(path, "jobs ") || strings.HasPrefix(path, "operations ")):
		e.Queue = name
	}
	return e
}

// audited calls f, between the two entries of the audit if the command is a change.
func (a *App) audited(ctx context.Context, db *skidway.DB, f func(*skidway.DB) error) error {
	change, ok := ctx.Value(changeKey{}).(*change)
	if !ok {
		return f(db)
	}
	// The terminal shows what the command does; only what the audit lacks is logged there.
	logger := slog.New(slog.NewTextHandler(a.Console.Out, &slog.HandlerOptions{Level: slog.LevelError}))
	change.audit = access.NewAudit(db, logger)
	if !change.late {
		if err := BeginChange(ctx, 0); err != nil {
			return err
		}
	}
	err := f(db)
	if change.end == nil { // it was not confirmed, or there was nothing to change
		return err
	}
	return errors.Join(err, change.end(err, change.count))
}

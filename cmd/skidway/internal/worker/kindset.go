package worker

import (
	"reflect"
	"slices"

	"skidway/internal/rdb"
	"skidway/workers"
	"skidway/workers/kinds"
)

// A kindSet are the built-in kinds by one configuration, made with the Redis that
// the log channels are in; it is not used before jobs run.
type kindSet struct {
	email  *kinds.Email // nil: there is no mail server
	http   *kinds.HTTP
	exec   *kinds.Exec // nil: there are no commands
	logs   *kinds.Logs // nil: there are no folders
	config kindsConfig
}

// newKindSet checks the settings; its errors are a [configError].
func newKindSet(db *rdb.DB, c *config) (*kindSet, error) {
	set := &kindSet{config: c.Kinds}
	settings, err := c.Kinds.HTTP.settings()
	if err != nil {
		return nil, c.wrong("kinds.http.request", "%w", err)
	}
	set.http = kinds.NewHTTP(settings)
	for _, one := range []struct {
		place, needs string
		settings     any
		there        bool
	}{
		{"kinds.email.send", "host", c.Kinds.Email, c.Kinds.Email.Host != ""},
		{"kinds.exec.run", "commands", c.Kinds.Exec, len(c.Kinds.Exec.Commands) > 0},
		{"kinds.logs", "folders", c.Kinds.Logs, len(c.Kinds.Logs.Folders) > 0},
	} {
		if !one.there && !reflect.ValueOf(one.settings).IsZero() {
			return nil, c.wrong(one.place, "it has settings, but no %s: its jobs could not run", one.needs)
		}
	}
	if len(c.Kinds.Exec.Commands) > 0 {
		if set.exec, err = kinds.NewExec(c.Kinds.Exec.settings()); err != nil {
			return nil, c.wrong("kinds.exec.run", "%w", err)
		}
	}
	if c.Kinds.Email.Host != "" {
		if set.email, err = kinds.NewEmail(c.Kinds.Email.settings(set.http)); err != nil {
			return nil, c.wrong("kinds.email.send", "%w", err)
		}
	}
	if len(c.Kinds.Logs.Folders) > 0 {
		settings, err := c.Kinds.Logs.settings()
		if err == nil {
			set.logs, err = kinds.NewLogs(db, settings)
		}
		if err != nil {
			return nil, c.wrong("kinds.logs", "%w", err)
		}
	}
	return set, nil
}

// handle makes a pool run them.
func (s *kindSet) handle(p *workers.Pool) {
	workers.Handle(p, s.http.Do, s.config.HTTP.kind())
	if s.exec != nil {
		workers.Handle(p, s.exec.Run, s.config.Exec.kind())
	}
	if s.email != nil {
		workers.Handle(p, s.email.Send, s.config.Email.kind())
	}
	if s.logs != nil {
		workers.Handle(p, s.logs.Ship, s.config.Logs.kind())
		workers.Handle(p, s.logs.Report, s.config.Logs.kind())
		workers.Handle(p, s.logs.Count, s.config.Logs.kind())
	}
}

// names are those of the kinds that it has.
func (s *kindSet) names() []string {
	names := []string{kinds.HTTPArgs{}.Kind()}
	if s.exec != nil {
		names = append(names, kinds.ExecArgs{}.Kind())
	}
	if s.email != nil {
		names = append(names, kinds.EmailArgs{}.Kind())
	}
	if s.logs != nil {
		names = append(names, kinds.LogsShipArgs{}.Kind(), kinds.LogsReportArgs{}.Kind(), kinds.LogsCountArgs{}.Kind())
	}
	slices.Sort(names)
	return names
}

// close closes the connections that kinds keep. No job may run any more.
func (s *kindSet) close() {
	s.http.Close()
	if s.email != nil {
		s.email.Close()
	}
}

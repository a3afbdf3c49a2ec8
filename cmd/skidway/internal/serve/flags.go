package serve

import (
	"log/slog"

	"github.com/spf13/pflag"

	"skidway/cmd/skidway/internal/cli"
	"skidway/ops"
	"skidway/ops/access"
)

// Flags are the flags of the servers of a process: where they listen, who may connect, and what they
// show.
type Flags struct {
	API, Dash string // addresses; empty: there is no such server

	listener access.Listener
	gate     access.GateConfig
	proxies  []string
	ops      ops.Config
	rules    func() ([]ops.Rule, error)
	file     string // with hooks
	hooks    *access.Hooks
	own      *pflag.FlagSet // all but the addresses
}

// Add adds the flags to those of a command, which adds those of the addresses itself.
func (f *Flags) Add(flags *pflag.FlagSet) {
	f.own = pflag.NewFlagSet("", pflag.ContinueOnError)
	f.own.StringVar(&f.listener.UsersFile, "users", "", "`FILE` of the users who may log in")
	f.own.StringVar(&f.listener.TLSCert, "tls-cert", "", "`FILE` with the certificate of the server")
	f.own.StringVar(&f.listener.TLSKey, "tls-key", "", "`FILE` with the key of the certificate")
	f.own.BoolVar(&f.gate.BehindTLS, "behind-tls", false, "a proxy ends TLS")
	f.own.StringArrayVar(&f.gate.Hosts, "host", nil, "further host `NAME` of the server in requests (repeatable)")
	f.own.StringArrayVar(&f.proxies, "proxy", nil, "`CIDR` of proxies whose X-Forwarded-For is believed (repeatable)")
	f.own.StringVar(&f.gate.AuthHeader, "auth-header", "", "`NAME` of the header in which a proxy sends the user")
	f.own.StringVar(&f.gate.BasePath, "base-path", "", "`PATH` below which all is, such as /skidway")
	f.own.StringSliceVar(&f.ops.Redact.Keys, "redact", ops.DefaultRedactKeys, "`NAMES` of values in args, results and headers that are hidden; empty: none (default passwords, tokens and others)")
	f.own.Lookup("redact").DefValue = "[]" // the list is long
	f.own.StringArrayVar(&f.ops.Redact.Values, "redact-value", nil, "`REGEXP` of texts that are hidden everywhere (repeatable)")
	f.rules = cli.RulesFlag(f.own)
	f.own.BoolVar(&f.gate.NoLogin, "no-login", false, "local requests need no login")
	f.own.BoolVar(&f.gate.ReadOnly, "read-only", false, "refuse all changes")
	flags.AddFlagSet(f.own)
}

// AddHooks adds the flag of the hooks, which only the API has.
func (f *Flags) AddHooks(flags *pflag.FlagSet) {
	f.own.StringVar(&f.file, "hooks", "", "`FILE` with hooks, by which other programs add jobs")
	flags.AddFlag(f.own.Lookup("hooks"))
}

// Complete checks the flags, opens the file of the users, and reads those of the rules and the hooks.
func (f *Flags) Complete(logger *slog.Logger) error {
	if f.API == "" && f.Dash == "" {
		return f.refuseAll()
	}
	f.gate.Logger = logger
	for _, text := range f.proxies {
		proxy, err := access.ParseProxy(text)
		if err != nil {
			return err
		}
		f.gate.Proxies = append(f.gate.Proxies, proxy)
	}
	for i, address := range []string{f.API, f.Dash} {
		listener := f.listener
		listener.Address, listener.Pages = address, i == 1
		if address == "" {
			continue
		}
		if err := listener.Validate(f.gate); err != nil {
			return err
		}
	}
	rules, err := f.rules()
	if err != nil {
		return err
	}
	f.ops.Rules = rules
	if f.file != "" {
		if f.API == "" {
			return cli.WrongUsage("--hooks is for a server of the API: give --serve too")
		}
		if f.gate.ReadOnly {
			return cli.WrongUsage("hooks add jobs: give --hooks or --read-only")
		}
		hooks, err := access.OpenHooks(f.file, logger)
		if err != nil {
			return err
		}
		f.hooks = hooks
	}
	if f.listener.UsersFile == "" {
		return nil
	}
	users, err := access.OpenUsers(f.listener.UsersFile, logger)
	f.gate.Users = users
	return err
}

// refuseAll returns an error if a flag is given although there is no server.
func (f *Flags) refuseAll() (err error) {
	f.own.VisitAll(func(flag *pflag.Flag) {
		if flag.Changed {
			err = cli.WrongUsage("--%s is for a server: give --serve or --dash too", flag.Name)
		}
	})
	return err
}

package serve

import (
	"log/slog"

	"github.com/spf13/pflag"

	"skidway"
	"skidway/ops"
	"skidway/ops/access"
	"skidway/queue"
)

// accessFlags are the flags of who may connect, and what they see.
type accessFlags struct {
	listener access.Listener
	gate     access.GateConfig
	proxies  []string
	redact   ops.Redact
}

// add adds the flags to those of a command.
func (f *accessFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.listener.Address, "listen", access.DefaultAddress, "`ADDRESS` to listen on; any but a loopback one needs TLS")
	flags.StringVar(&f.listener.UsersFile, "users", "", "`FILE` of the users who may log in")
	flags.StringVar(&f.listener.TLSCert, "tls-cert", "", "`FILE` with the certificate of the server")
	flags.StringVar(&f.listener.TLSKey, "tls-key", "", "`FILE` with the key of the certificate")
	flags.BoolVar(&f.gate.BehindTLS, "behind-tls", false, "a proxy ends TLS")
	flags.StringArrayVar(&f.gate.Hosts, "host", nil, "further host `NAME` of the server in requests (repeatable)")
	flags.StringArrayVar(&f.proxies, "proxy", nil, "`CIDR` of proxies whose X-Forwarded-For is believed (repeatable)")
	flags.StringVar(&f.gate.AuthHeader, "auth-header", "", "`NAME` of the header in which a proxy sends the user")
	flags.StringVar(&f.gate.BasePath, "base-path", "", "`PATH` below which all is, such as /skidway")
	flags.StringSliceVar(&f.redact.Keys, "redact", ops.DefaultRedactKeys, "`NAMES` of values in args, results and headers that are hidden; empty: none (default passwords, tokens and others)")
	flags.Lookup("redact").DefValue = "[]" // the list is long
	flags.StringArrayVar(&f.redact.Values, "redact-value", nil, "`REGEXP` of texts that are hidden everywhere (repeatable)")
	flags.BoolVar(&f.gate.NoLogin, "no-login", false, "local requests need no login")
	flags.BoolVar(&f.gate.ReadOnly, "read-only", false, "nobody changes anything")
}

// complete checks the flags and opens the file of the users.
func (f *accessFlags) complete(logger *slog.Logger) error {
	f.gate.Logger = logger
	for _, text := range f.proxies {
		proxy, err := access.ParseProxy(text)
		if err != nil {
			return err
		}
		f.gate.Proxies = append(f.gate.Proxies, proxy)
	}
	if err := f.listener.Validate(f.gate); err != nil || f.listener.UsersFile == "" {
		return err
	}
	users, err := access.OpenUsers(f.listener.UsersFile, logger)
	f.gate.Users = users
	return err
}

// client returns the client by which requests read, one for all because searches share a budget.
func (f *accessFlags) client(db *skidway.DB) (*ops.Client, error) {
	queues, err := queue.NewClient(db, nil)
	if err != nil {
		return nil, err
	}
	return ops.NewClient(queues, &ops.Config{Redact: f.redact})
}

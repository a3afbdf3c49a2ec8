package serve

import (
	"log/slog"

	"github.com/spf13/pflag"

	"skidway/ops/access"
)

// accessFlags are the flags of who may connect.
type accessFlags struct {
	listener access.Listener
	gate     access.GateConfig
	proxies  []string
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

package cli

import (
	"cmp"
	"fmt"
	"os"
	"strings"
)

// The environment variables of a server of the HTTP API. A token on the command line would be in the
// list of processes.
const (
	serverVariable = "SKIDWAY_SERVER"
	tokenVariable  = "SKIDWAY_TOKEN"
)

// An UnreachableServerError reports that a server of the HTTP API can't be reached.
type UnreachableServerError struct {
	Address string
	Err     error
}

func (e *UnreachableServerError) Error() string {
	return fmt.Sprintf("the server at %s is not reachable: %v", e.Address, e.Err)
}

func (e *UnreachableServerError) Unwrap() error { return e.Err }

// OnlyRedis returns an error if a command that can't go through a server is to do so: by --server, or by
// the environment where that names no Redis. The error states what to do.
func (a *App) OnlyRedis() error {
	switch {
	case a.Server != "":
		return WrongUsage("this command needs Redis itself, so it can't go through --server")
	case a.namesRedis():
		return nil
	}
	address, _, err := a.ServerOf()
	if err == nil && address != "" {
		err = WrongUsage("this command needs Redis itself, so it can't go through the server %s of %s: give --redis or set %s", address, serverVariable, urlVariables[0])
	}
	return err
}

// ServerOf returns the address and the token of the server that a command goes through, "" for Redis
// itself. --redis is stronger than the environment.
func (a *App) ServerOf() (address, token string, err error) {
	if a.Server != "" && a.Redis != "" {
		return "", "", WrongUsage("give --server or --redis, not both")
	}
	address = a.Server
	if a.Redis == "" {
		address = cmp.Or(address, os.Getenv(serverVariable))
	}
	if a.Token == "" || address == "" {
		if a.Token != "" {
			return "", "", WrongUsage("--token goes with --server")
		}
		return address, os.Getenv(tokenVariable), nil
	}
	name, isFile := strings.CutPrefix(a.Token, "@")
	if !isFile {
		return "", "", WrongUsage("--token: want @FILE, because others can read the command line; or set %s", tokenVariable)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return "", "", WrongUsage("--token: %w", err)
	}
	return address, strings.TrimSpace(string(text)), nil
}

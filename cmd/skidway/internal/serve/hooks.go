package serve

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/goccy/go-yaml"

	"skidway/cmd/skidway/internal/cli"
	"skidway/ops/access"
	"skidway/queue"
)

// maxHooksFile bounds the bytes of a file of hooks.
const maxHooksFile = 1 << 20

// hooksFile is the content of a file of hooks.
type hooksFile struct {
	Hooks []struct {
		Name    string   `yaml:"name"`
		Scheme  string   `yaml:"scheme"`
		Secrets []string `yaml:"secrets"` // as @FILE
		Queue   string   `yaml:"queue"`
		Kind    string   `yaml:"kind"`
	} `yaml:"hooks"`
}

// readHooks reads a file of hooks, and the files of their secrets.
func readHooks(path string) (hooks []access.Hook, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it is only read
	var content hooksFile
	err = yaml.NewDecoder(io.LimitReader(file, maxHooksFile), yaml.Strict()).Decode(&content)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: %s: %s", queue.ErrInvalid, path, yaml.FormatError(err, false, false))
	}
	for _, one := range content.Hooks {
		hook := access.Hook{Name: one.Name, Scheme: one.Scheme, Queue: one.Queue, Kind: one.Kind}
		for _, text := range one.Secrets {
			name, isFile := strings.CutPrefix(text, "@")
			if !isFile {
				return nil, fmt.Errorf("%w: %s: hook %.80q: a secret is not in this file itself: write @FILE", queue.ErrInvalid, path, one.Name)
			}
			secret, err := cli.ReadSecret(name)
			if err != nil {
				return nil, fmt.Errorf("%s: hook %.80q: %w", path, one.Name, err)
			}
			hook.Secrets = append(hook.Secrets, secret)
		}
		if err := hook.Validate(); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		hooks = append(hooks, hook)
	}
	return hooks, nil
}

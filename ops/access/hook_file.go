package access

import (
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"skidway/internal/yamltext"
	"skidway/queue"
)

// maxHooksFile bounds the bytes of a file of hooks, and of a secret.
const maxHooksFile = 1 << 20

// Hooks are hooks by their names. Those of a file are read again when it or a file with a secret has
// changed. It is safe for concurrent use.
type Hooks struct {
	mu     sync.Mutex
	file   *watched // nil: they do not change
	byName map[string]Hook
}

// NewHooks returns hooks that do not change. The error wraps [queue.ErrInvalid] if one can't be used.
func NewHooks(hooks ...Hook) (*Hooks, error) {
	h := &Hooks{byName: map[string]Hook{}}
	for _, hook := range hooks {
		if err := hook.Validate(); err != nil {
			return nil, err
		}
		if _, twice := h.byName[hook.Name]; twice {
			return nil, fmt.Errorf("%w: hook %s is there twice", queue.ErrInvalid, hook.Name)
		}
		h.byName[hook.Name] = hook
	}
	return h, nil
}

// OpenHooks reads a file of hooks, and the files of their secrets. Later changes that can't be read are
// logged, and the hooks stay as they were. A nil logger means [slog.Default].
func OpenHooks(path string, logger *slog.Logger) (*Hooks, error) {
	if logger == nil {
		logger = slog.Default()
	}
	h := &Hooks{}
	h.file = &watched{what: "hooks", path: path, logger: logger, now: time.Now, read: func() (map[string]fs.FileInfo, error) {
		hooks, files, err := readHooks(path)
		if err != nil {
			return files, err
		}
		read, err := NewHooks(hooks...)
		if err != nil {
			return files, fmt.Errorf("%s: %w", path, err)
		}
		h.byName = read.byName
		return files, nil
	}}
	return h, h.file.open()
}

// Lookup returns the hook of a name, as the files were at most 1 s ago.
func (h *Hooks) Lookup(name string) (hook Hook, found bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.file != nil {
		h.file.refresh()
	}
	hook, found = h.byName[name]
	return hook, found
}

// Err returns why the file is refused as it is now, nil if it is not.
func (h *Hooks) Err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.file == nil {
		return nil
	}
	h.file.refresh()
	return h.file.refused
}

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

// readHooks reads a file of hooks, and the files of their secrets. It returns all these files.
func readHooks(path string) (hooks []Hook, files map[string]fs.FileInfo, err error) {
	files = map[string]fs.FileInfo{}
	text, err := readFile(path, files)
	if err != nil {
		return nil, files, err
	}
	var content hooksFile
	if err := yamltext.Decode(text, &content); err != nil {
		return nil, files, fmt.Errorf("%w: %s: %w", queue.ErrInvalid, path, err)
	}
	for _, one := range content.Hooks {
		hook := Hook{Name: one.Name, Scheme: one.Scheme, Queue: one.Queue, Kind: one.Kind}
		for _, name := range one.Secrets {
			name, isFile := strings.CutPrefix(name, "@")
			if !isFile {
				return nil, files, fmt.Errorf("%w: %s: hook %.80q: a secret is not in this file itself: write @FILE", queue.ErrInvalid, path, one.Name)
			}
			secret, err := readFile(name, files)
			if err != nil {
				return nil, files, fmt.Errorf("%s: hook %.80q: %w", path, one.Name, err)
			}
			first, _, _ := strings.Cut(string(secret), "\n")
			hook.Secrets = append(hook.Secrets, strings.TrimRight(first, "\r"))
		}
		hooks = append(hooks, hook)
	}
	return hooks, files, nil
}

// readFile returns the content of a file, and adds it to files.
func readFile(path string, files map[string]fs.FileInfo) ([]byte, error) {
	files[path] = nil
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it is only read
	if files[path], err = file.Stat(); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(file, maxHooksFile))
}

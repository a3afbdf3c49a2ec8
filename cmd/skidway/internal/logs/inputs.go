package logs

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute"
)

// inputs has the flags that choose files.
type inputs struct {
	from   string
	hidden bool
	memory cli.Size
}

func (k *inputs) addFlags(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&k.from, "files-from", "", "`FILE` that lists more paths, one on a line or each ended by a NUL; -: standard input")
	flags.BoolVar(&k.hidden, "hidden", false, "take files and folders whose name starts with a dot, too")
	memoryFlag(c, &k.memory)
}

// memoryFlag adds the flag that bounds the windows of compressed files.
func memoryFlag(c *cobra.Command, memory *cli.Size) {
	c.Flags().Var(memory, "memory", "size of the windows that the compressed files read at once may need (default: 64 MiB a file)")
}

// args declares the arguments: paths, unless a file lists them.
func (k *inputs) args(missing string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if k.from != "" {
			return nil
		}
		return cli.OneOrMore(missing)(c, args)
	}
}

// paths returns the paths of the command line and of the file that lists more.
func (k *inputs) paths(c *cobra.Command, args []string) ([]string, error) {
	if k.from == "" {
		return args, nil
	}
	var list []byte
	var err error
	if k.from == "-" {
		list, err = io.ReadAll(c.InOrStdin())
	} else {
		list, err = os.ReadFile(k.from)
	}
	if err != nil {
		return nil, fmt.Errorf("--files-from: %w", err)
	}
	separator := "\n"
	if bytes.IndexByte(list, 0) >= 0 {
		separator = "\x00"
	}
	for path := range strings.SplitSeq(string(list), separator) {
		if separator == "\n" {
			path = strings.TrimSuffix(path, "\r")
		}
		if path != "" {
			args = append(args, path)
		}
	}
	if len(args) == 0 {
		return nil, fmt.Errorf("--files-from: %s lists no paths", k.from)
	}
	return args, nil
}

// list lists files, reports the paths that cannot be listed, and prints notes about those
// that are left out. A pattern without a match is wrong usage.
func (k *inputs) list(console *cli.Console, paths []string) ([]string, []*distribute.FileError, error) {
	list := distribute.ListFiles(paths, distribute.ListOptions{Hidden: k.hidden})
	for _, bad := range list.Problems {
		if errors.Is(bad, distribute.ErrNoMatch) || errors.Is(bad, filepath.ErrBadPattern) {
			return nil, nil, cli.AsUsage(bad)
		}
	}
	for _, bad := range list.Problems {
		console.Problem(bad.Path, bad.Err)
	}
	for _, d := range list.Duplicates {
		if d.Path == d.Listed {
			console.Notice("%s: named more than once, taken once", d.Path)
		} else {
			console.Notice("%s: the same file as %s, taken once", d.Path, d.Listed)
		}
	}
	for _, path := range list.Vanished {
		console.Notice("%s: deleted meanwhile", path)
	}
	if list.Special > 0 {
		console.Notice("pipes, sockets and devices left out: %d", list.Special)
	}
	return list.Files, list.Problems, nil
}

// window returns the largest window of each file, by --memory and the number of files that
// are read at once: 0 means one for each processor. It is zero for the default.
func window(memory cli.Size, files int) int64 {
	return int64(memory) / int64(cmp.Or(files, runtime.GOMAXPROCS(0)))
}

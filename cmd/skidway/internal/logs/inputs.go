package logs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute"
	"skidway/distribute/s3"
	"skidway/distribute/stream"
)

// inputs has the flags that choose files.
type inputs struct {
	from   string
	hidden bool
	memory cli.Size
	bucket s3.Config
	client *s3.Client // nil: no path is in a bucket
}

func (k *inputs) addFlags(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&k.from, "files-from", "", "`FILE` that lists more paths, one on a line or each ended by a NUL; -: standard input")
	flags.BoolVar(&k.hidden, "hidden", false, "take files and folders whose name starts with a dot, too")
	memoryFlag(c, &k.memory)
	flags.StringVar(&k.bucket.Endpoint, "s3-endpoint", "", "`URL` of the service of s3:// paths (default: by AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL, else AWS)")
	flags.StringVar(&k.bucket.Profile, "s3-profile", "", "`NAME` of the credentials in the files of the AWS tools (default: by AWS_PROFILE)")
	flags.BoolVar(&k.bucket.Anonymous, "s3-anonymous", false, "read public buckets, without credentials")
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
func (k *inputs) list(ctx context.Context, console *cli.Console, paths []string) ([]string, []*distribute.FileError, error) {
	local, objects, problems, err := k.objects(ctx, paths)
	if err != nil {
		return nil, nil, err
	}
	list := distribute.ListFiles(local, distribute.ListOptions{Hidden: k.hidden})
	list.Files, list.Problems = append(list.Files, objects...), append(list.Problems, problems...)
	for _, bad := range list.Problems {
		if errors.Is(bad, distribute.ErrNoMatch) {
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

// objects separates the paths of the file system from those in buckets, and lists these.
func (k *inputs) objects(ctx context.Context, paths []string) (local, objects []string, problems []*distribute.FileError, err error) {
	for _, path := range paths {
		if !strings.HasPrefix(path, s3.Scheme) {
			local = append(local, path)
			continue
		}
		if k.client == nil {
			k.bucket.Hidden = k.hidden
			if k.client, err = s3.New(&k.bucket); err != nil {
				return nil, nil, nil, cli.AsUsage(err)
			}
		}
		found, err := k.client.List(ctx, path)
		if ctx.Err() != nil {
			return nil, nil, nil, context.Cause(ctx)
		}
		if err != nil {
			problems = append(problems, &distribute.FileError{Path: path, Err: err})
		}
		objects = append(objects, found...)
	}
	slices.Sort(objects)
	return local, slices.Compact(objects), problems, nil
}

// open returns the function that opens files and objects, nil if there are only files.
func (k *inputs) open() func(context.Context, string) (stream.Object, error) {
	if k.client == nil {
		return nil
	}
	return func(ctx context.Context, path string) (stream.Object, error) {
		if strings.HasPrefix(path, s3.Scheme) {
			return k.client.Open(ctx, path)
		}
		return stream.OpenFile(path)
	}
}

// window returns the largest window of each file, by --memory and the number of files that
// are read at once: 0 means one for each processor. It is zero for the default.
func window(memory cli.Size, files int) int64 {
	return int64(memory) / int64(cmp.Or(files, runtime.GOMAXPROCS(0)))
}

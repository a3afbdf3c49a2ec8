package logs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute"
	"skidway/distribute/accesslog"
	"skidway/distribute/s3"
	"skidway/distribute/stream"
)

// inputs has the flags that choose files.
type inputs struct {
	from   string
	listed []string // the paths that the file lists
	hidden bool
	memory cli.Size
	bucket s3.Config
	client *s3.Client // nil: no path is in a bucket
	stdin  io.Reader  // nil: it is not read
	named  []string   // the paths on the command line, but for standard input

	skipped int // files and objects that are left out by their names
}

// The path of standard input, and its name in results.
const (
	stdinPath = "-"
	stdinName = "(standard input)"
)

func (k *inputs) addFlags(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&k.from, "files-from", "", "`FILE` that lists more paths, one on a line or each ended by a NUL; -: standard input")
	flags.BoolVar(&k.hidden, "hidden", false, "take files and folders whose name starts with a dot, too")
	memoryFlag(c, &k.memory)
	flags.StringVar(&k.bucket.Endpoint, "s3-endpoint", "", "`URL` of the service of s3:// paths (default: by AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL, else AWS)")
	flags.StringVar(&k.bucket.Profile, "s3-profile", "", "`NAME` of the credentials in the files of the AWS tools, instead of those of the environment")
	flags.BoolVar(&k.bucket.Anonymous, "s3-anonymous", false, "read public buckets, without credentials")
}

// memoryFlag adds the flag that bounds the windows of compressed files.
func memoryFlag(c *cobra.Command, memory *cli.Size) {
	c.Flags().Var(memory, "memory", "memory for the windows of the compressed files that are read at once (default: 256 MiB, 64 MiB a file)")
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

// read reads the list of paths, and returns the arguments without standard input, which it
// takes if it is named.
func (k *inputs) read(c *cobra.Command, args []string) ([]string, error) {
	if err := k.readList(c, args); err != nil {
		return nil, err
	}
	paths := slices.DeleteFunc(slices.Clone(args), func(path string) bool { return path == stdinPath })
	k.named = paths
	named := len(args) - len(paths)
	if named == 0 {
		return paths, nil
	}
	if k.from == stdinPath {
		return nil, cli.WrongUsage("-: standard input lists the paths (--files-from -), and can't be read twice")
	}
	var err error
	if k.stdin, err = cli.StandardInput(c, "the content of a log", "zcat FILE"); err != nil {
		return nil, err
	}
	for _, path := range slices.Concat(paths, k.listed) {
		if k.isStdin(path) {
			named++
		}
	}
	if named > 1 {
		return nil, cli.WrongUsage("-: standard input is named %d times, and can't be read twice", named)
	}
	return paths, nil
}

// isStdin reports whether a path leads to standard input, as /dev/stdin does.
func (k *inputs) isStdin(path string) bool {
	file, ok := k.stdin.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	other, otherErr := os.Stat(path)
	return errors.Join(err, otherErr) == nil && !info.Mode().IsRegular() && os.SameFile(info, other)
}

// readList reads the paths in the file that lists more than are on the command line.
func (k *inputs) readList(c *cobra.Command, args []string) error {
	if k.from == "" {
		return nil
	}
	var list []byte
	var err error
	if k.from == stdinPath {
		list, err = io.ReadAll(c.InOrStdin())
	} else {
		list, err = os.ReadFile(k.from)
	}
	if err != nil {
		return fmt.Errorf("--files-from: %w", err)
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
			k.listed = append(k.listed, path)
		}
	}
	if len(args)+len(k.listed) == 0 {
		return cli.WrongUsage("--files-from: %s lists no paths", k.from)
	}
	return nil
}

// list lists standard input and the files of paths on the command line and of those that a
// file lists, reports the paths that cannot be listed, and prints notes about those that are
// left out. A pattern without a match is wrong usage.
func (k *inputs) list(ctx context.Context, console *cli.Console, paths []string) ([]string, []*stream.FileError, error) {
	objects, problems, err := k.objects(ctx, console, slices.Concat(paths, k.listed))
	if err != nil {
		return nil, nil, err
	}
	list := stream.ListFiles(local(paths), stream.ListOptions{Members: k.members(), Names: local(k.listed)})
	list.Files, list.Problems = append(list.Files, objects...), append(list.Problems, problems...)
	if k.stdin != nil {
		list.Files = slices.Insert(list.Files, 0, stdinName)
	}
	for _, bad := range list.Problems {
		if errors.Is(bad, stream.ErrNoMatch) {
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
	for _, file := range list.Skipped {
		k.skip(console, file.Path, file.Reason)
	}
	if list.Special > 0 {
		console.Notice("pipes, sockets and devices left out: %d", list.Special)
	}
	return list.Files, list.Problems, nil
}

// members chooses the files of directories, buckets and archives.
func (k *inputs) members() stream.Members {
	return distribute.AccessLogs(k.hidden, slices.Concat(k.named, k.listed)...)
}

// skip counts and names a file that is left out.
func (k *inputs) skip(console *cli.Console, path, reason string) {
	k.skipped++
	console.Notice("%s: %s", path, shippedText(distribute.ShippedFile{Outcome: distribute.Skipped, Reason: reason}))
}

// isObject reports whether a path is in a bucket.
func isObject(path string) bool { return strings.HasPrefix(path, s3.Scheme) }

// local returns the paths of the file system.
func local(paths []string) []string { return slices.DeleteFunc(slices.Clone(paths), isObject) }

// objects lists the objects of the paths that are in buckets.
func (k *inputs) objects(ctx context.Context, console *cli.Console, paths []string) (objects []string, problems []*stream.FileError, err error) {
	for _, path := range paths {
		if !isObject(path) {
			continue
		}
		if k.client == nil {
			k.bucket.Hidden = k.hidden
			if k.client, err = s3.New(&k.bucket); err != nil {
				return nil, nil, cli.AsUsage(err)
			}
		}
		found, err := k.client.List(ctx, path)
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		if errors.Is(err, s3.ErrURL) {
			return nil, nil, cli.AsUsage(fmt.Errorf("%q: %w", path, err))
		}
		if err != nil {
			problems = append(problems, &stream.FileError{Path: path, Err: err})
		}
		for _, object := range found {
			if kind := accesslog.OtherLog(object, nil); kind != "" && object != path {
				k.skip(console, object, kind)
			} else {
				objects = append(objects, object)
			}
		}
	}
	slices.Sort(objects)
	return slices.Compact(objects), problems, nil
}

// open returns the function that opens files, objects and standard input, nil if there are
// only files.
func (k *inputs) open() func(context.Context, string) (stream.Object, error) {
	if k.client == nil && k.stdin == nil {
		return nil
	}
	return func(ctx context.Context, path string) (stream.Object, error) {
		switch {
		case k.stdin != nil && path == stdinName:
			return pipeOf(k.stdin), nil
		case isObject(path):
			return k.client.Open(ctx, path)
		}
		return stream.Open(path)
	}
}

// pipeOf returns standard input as a pipe.
func pipeOf(stdin io.Reader) *stream.Pipe {
	return stream.NewPipe(func() (io.ReadCloser, error) { return io.NopCloser(stdin), nil })
}

package bench

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/klauspost/compress/gzip"
	"github.com/spf13/cobra"

	"skidway"
	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute"
	"skidway/internal/samplelog"
)

// logsBench is the command "bench logs".
type logsBench struct {
	rig
	lines cli.Number
}

// benchFiles is the number of files of the larger measurement.
const benchFiles = 4

func logsCommand(a *cli.App) *cobra.Command {
	b := &logsBench{rig: rig{App: a, runs: 5}, lines: 1_000_000}
	c := &cobra.Command{
		Use:   "logs",
		Short: "Measures shipping and counting gzip files through Redis",
		Long: `Measures how many lines a second are shipped to Redis by this process, counted
by a worker process and committed, for one gzip file and for four. For
comparison it decompresses the same files with the same library, by one
goroutine per processor: no program that counts them can be faster. All figures
are medians over the runs; ratios are computed within a run.

The worker runs before the clock starts. Its peak memory is the largest of all
runs. The channel is deleted afterwards.`,
		Example: `  skidway bench logs
  skidway bench logs --lines 5000000 --runs 3 --json`,
		Args: cobra.NoArgs,
	}
	c.Flags().Var(&b.lines, "lines", "lines in each file")
	b.addFlags(c)
	c.Flags().Lookup("runs").Usage = "number of runs"
	c.RunE = cli.Action(func(c *cobra.Command, _ []string) error { return b.measureAndPrint(c.Context()) })
	return c
}

// logsFigures are the medians of all runs.
type logsFigures struct {
	OneFile          float64 `json:"one_file_lines_per_s"`
	OneFileRatio     float64 `json:"one_file_vs_inflate"`
	OneFileInflate   float64 `json:"one_file_inflate_lines_per_s"`
	FourFiles        float64 `json:"four_files_lines_per_s"`
	FourFilesRatio   float64 `json:"four_files_vs_inflate"`
	FourFilesInflate float64 `json:"four_files_inflate_lines_per_s"`
	PeakMemory       float64 `json:"worker_peak_rss_mb"`
	Lines            int     `json:"lines_per_file"`
	Runs             int     `json:"runs"`
	Processors       int     `json:"processors"`
	Redis            string  `json:"redis"`
}

func (b *logsBench) measureAndPrint(ctx context.Context) error {
	if b.lines == 0 || b.runs == 0 {
		return cli.WrongUsage("--lines and --runs must be 1 or more")
	}
	if err := b.OnlyRedis(); err != nil {
		return err
	}
	db, err := b.Open(ctx, b.URL())
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	if db.Embedded() {
		return cli.WrongUsage("the embedded Redis cannot be measured: give --redis the URL of a server")
	}
	server, err := db.Check(ctx)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "skidway-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	ctx, _, end := b.Console.Listen(ctx)
	defer end()
	files, err := b.writeFiles(folder)
	if err != nil {
		return err
	}
	figures, err := b.measure(ctx, files)
	if err != nil {
		return err
	}
	figures.Redis = server.Name + " " + server.Version
	return b.print(figures)
}

func (b *logsBench) writeFiles(folder string) ([]string, error) {
	b.Console.Notice("writing %d gzip files of %s lines each", benchFiles, humanize.Comma(int64(b.lines)))
	files, errs := make([]string, benchFiles), make([]error, benchFiles)
	var wait sync.WaitGroup
	for i := range files {
		files[i] = filepath.Join(folder, fmt.Sprintf("%d.gz", i+1))
		wait.Go(func() {
			errs[i] = samplelog.WriteFile(files[i], samplelog.Options{Lines: int(b.lines), Seed: uint64(i + 1)})
		})
	}
	wait.Wait()
	return files, errors.Join(errs...)
}

// measure counts and inflates the files in turn.
func (b *logsBench) measure(ctx context.Context, files []string) (logsFigures, error) {
	var one, oneBare, oneRatio, four, fourBare, fourRatio []float64
	var peak int64
	for run := range int(b.runs) {
		b.Console.Notice("run %d of %d", run+1, b.runs)
		for _, m := range []struct {
			files             []string
			rate, bare, ratio *[]float64
		}{{files[:1], &one, &oneBare, &oneRatio}, {files, &four, &fourBare, &fourRatio}} {
			bare, err := timed(func() error { return inflateAll(m.files) })
			if err != nil {
				return logsFigures{}, err
			}
			took, memory, err := b.endToEnd(ctx, m.files)
			if err != nil {
				return logsFigures{}, err
			}
			lines := float64(len(m.files) * int(b.lines))
			*m.rate = append(*m.rate, lines/took.Seconds())
			*m.bare = append(*m.bare, lines/bare.Seconds())
			*m.ratio = append(*m.ratio, bare.Seconds()/took.Seconds())
			peak = max(peak, memory)
		}
	}
	return logsFigures{
		OneFile: median(one), OneFileInflate: median(oneBare), OneFileRatio: median(oneRatio),
		FourFiles: median(four), FourFilesInflate: median(fourBare), FourFilesRatio: median(fourRatio),
		PeakMemory: float64(peak) / 1e6, Lines: int(b.lines), Runs: int(b.runs), Processors: runtime.GOMAXPROCS(0),
	}, nil
}

// endToEnd ships and counts files through a new channel, with a worker process that
// is ready before the clock starts.
func (b *logsBench) endToEnd(ctx context.Context, files []string) (took time.Duration, peak int64, err error) {
	name := "bench-" + strings.ToLower(rand.Text())
	err = b.WithRedis(ctx, "", func(db *skidway.DB) (err error) {
		channel, err := distribute.Open(ctx, db, name)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, channel.Delete(context.WithoutCancel(ctx), true)) }()
		worker, err := b.startWorker(ctx, channel)
		if err != nil {
			return err
		}
		defer func() { peak, err = worker.end(err) }()
		shipper := distribute.NewShipper(channel, &distribute.ShipperConfig{Wait: true})
		took, err = timed(func() error {
			results, err := shipper.Ship(ctx, files)
			for _, r := range results {
				err = errors.Join(err, r.Err)
			}
			return err
		})
		return err
	})
	return took, peak, err
}

func (b *logsBench) print(f logsFigures) error {
	if b.json {
		return cli.WriteJSON(b.Out, f)
	}
	text := fmt.Sprintf(`gzip files of %s lines, %s, %d processors, medians of %d runs

             counted/s    inflated/s    ratio
one file  %12s  %12s    %.2f
four files%12s  %12s    %.2f

worker's peak memory: %.0f MB
`, humanize.Comma(int64(f.Lines)), f.Redis, f.Processors, f.Runs,
		humanize.Comma(int64(f.OneFile)), humanize.Comma(int64(f.OneFileInflate)), f.OneFileRatio,
		humanize.Comma(int64(f.FourFiles)), humanize.Comma(int64(f.FourFilesInflate)), f.FourFilesRatio, f.PeakMemory)
	_, err := io.WriteString(b.Out, text)
	return err
}

// inflateAll decompresses files and discards the content, one file per processor at a
// time.
func inflateAll(files []string) error {
	errs := make([]error, len(files))
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var wait sync.WaitGroup
	for i, path := range files {
		wait.Go(func() {
			slots <- struct{}{}
			errs[i] = inflateFile(path)
			<-slots
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

func inflateFile(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	content, err := gzip.NewReader(bufio.NewReaderSize(file, 256<<10))
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, content)
	return err
}

// A benchWorker is this program, run again as "logs work".
type benchWorker struct {
	command *exec.Cmd
	errors  strings.Builder
	ended   chan struct{}
	err     error // how it ended
}

const benchSubscriber = "bench"

// startWorker starts a worker and returns when it waits for files.
func (b *logsBench) startWorker(ctx context.Context, channel *distribute.Channel) (*benchWorker, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	w := &benchWorker{ended: make(chan struct{}), command: exec.CommandContext(ctx, program, "logs", "work", "--quiet",
		"--channel", channel.Name(), "--subscriber", benchSubscriber, "--until-done", "--prefix", b.Prefix)}
	// In the environment: the list of processes shows arguments, and the URL may
	// have a password.
	w.command.Env = append(os.Environ(), "SKIDWAY_REDIS="+b.URL())
	w.command.Stderr = &w.errors
	if err := w.command.Start(); err != nil {
		return nil, err
	}
	go func() {
		w.err = w.command.Wait()
		close(w.ended)
	}()
	for {
		subscribers, err := channel.Subscribers(ctx)
		if err == nil && len(subscribers) > 0 && !subscribers[0].Seen.IsZero() {
			return w, nil
		}
		select {
		case <-w.ended:
			_, err = w.end(nil)
			return nil, fmt.Errorf("the worker ended before there was work: %w", err)
		case <-time.After(5 * time.Millisecond):
		}
		if err != nil {
			_, err = w.end(err)
			return nil, err
		}
	}
}

// end returns the peak memory of the worker in bytes when it has ended. If err is not
// nil it kills the worker and returns err.
func (w *benchWorker) end(err error) (peak int64, _ error) {
	if err != nil {
		_ = w.command.Process.Kill()
		<-w.ended
		return 0, err
	}
	<-w.ended
	if w.err != nil {
		return 0, fmt.Errorf("the worker failed: %w: %s", w.err, strings.TrimSpace(w.errors.String()))
	}
	return peakMemory(w.command.ProcessState), nil
}

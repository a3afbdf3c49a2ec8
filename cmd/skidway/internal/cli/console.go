package cli

import (
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// A Console prints messages for people on standard error. It is safe for concurrent
// use.
type Console struct {
	Out      *os.File
	Terminal bool
	Quiet    bool

	mu    sync.Mutex
	above io.Writer // prints above the progress bar; nil without one
}

// Notice prints a line that is no error, unless the console is quiet.
func (c *Console) Notice(format string, args ...any) {
	if !c.Quiet {
		c.Line(fmt.Sprintf(format, args...))
	}
}

// Problem prints an error. file is what it is about, or empty.
func (c *Console) Problem(file string, err error) {
	text := "skidway: "
	if file != "" {
		text += file + ": "
	}
	c.Line(text + WithHint(err))
}

// Hint prints a line that belongs to the problem before it.
func (c *Console) Hint(text string) { c.Line("skidway: " + text) }

// Line prints a line, above the progress bar while there is one.
func (c *Console) Line(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	to := io.Writer(c.Out)
	if c.above != nil {
		to = c.above
	}
	_, _ = fmt.Fprintln(to, Printable(text)) // there is no other place to report the error
}

// refresh is how often the progress bar is redrawn.
const refresh = 100 * time.Millisecond

// barWidth is the width of the progress line in columns.
const barWidth = 78

// ShowBytes shows a progress bar for total bytes, on a terminal, until stop is called.
// bytes and lines return what is done so far; lines may be nil. If the total is 0, because it is not
// known, only the lines are shown.
func (c *Console) ShowBytes(total int64, bytes, lines func() int64) (stop func()) {
	if total <= 0 && lines != nil {
		return c.ShowLines(lines)
	}
	started := time.Now()
	text := func(decor.Statistics) string {
		if lines == nil {
			return byteProgress(bytes(), total)
		}
		return byteProgress(bytes(), total) + lineProgress(lines(), time.Since(started))
	}
	parts := []decor.Decorator{decor.Percentage(decor.WC{W: 5}), decor.Any(text)}
	if lines == nil {
		parts = append(parts, decor.AverageSpeed(decor.SizeB1024(0), ", % .1f"))
	}
	parts = append(parts, decor.Name(", left "), decor.AverageETA(decor.ET_STYLE_GO))
	return c.show(total, bytes, bar(), mpb.AppendDecorators(parts...))
}

// byteProgress returns how many bytes are done: " 612 MiB of 1.2 GiB".
func byteProgress(done, total int64) string {
	return " " + humanize.IBytes(uint64(max(done, 0))) + " of " + humanize.IBytes(uint64(total))
}

// lineProgress returns how many lines are done, and how many in a second: ", 12.3 M lines, 3.4 M/s".
func lineProgress(lines int64, took time.Duration) string {
	rate := float64(lines) / max(took.Seconds(), refresh.Seconds())
	return ", " + rounded(float64(lines)) + " lines, " + rounded(rate) + "/s"
}

// rounded returns a number with at most one digit behind the point: "12.3 M".
func rounded(n float64) string { return strings.TrimSpace(humanize.SIWithDigits(math.Round(n), 1, "")) }

// ShowJobs shows a progress bar for a number of jobs, as [Console.ShowBytes] does for bytes.
func (c *Console) ShowJobs(total int64, jobs func() int64) (stop func()) {
	return c.show(total, jobs, bar(), mpb.AppendDecorators(
		decor.Percentage(decor.WC{W: 5}),
		decor.AverageSpeed(0, " %.0f jobs/s"),
		decor.Name(" left "), decor.AverageETA(decor.ET_STYLE_GO),
	))
}

// Progress prints a line where no progress bar can be shown.
func (c *Console) Progress(format string, args ...any) {
	if !c.Terminal {
		c.Notice(format, args...)
	}
}

func bar() mpb.BarFillerBuilder {
	return mpb.BarStyle().Lbound("[").Filler("#").Tip("#").Padding(".").Rbound("]")
}

// ShowLines shows how many lines are done, where the total is unknown.
func (c *Console) ShowLines(lines func() int64) (stop func()) {
	return c.show(0, lines, mpb.SpinnerStyle("|", "/", "-", `\`), mpb.BarWidth(1),
		mpb.AppendDecorators(lineCount(lines), decor.AverageSpeed(0, "  %.0f lines/s")))
}

func lineCount(lines func() int64) decor.Decorator {
	return decor.Any(func(decor.Statistics) string { return "  " + humanize.Comma(lines()) + " lines" })
}

func (c *Console) show(total int64, current func() int64, style mpb.BarFillerBuilder, options ...mpb.BarOption) (stop func()) {
	if !c.Terminal || c.Quiet {
		return func() {}
	}
	container := mpb.New(mpb.WithOutput(c.Out), mpb.WithWidth(barWidth))
	// A bar that is created with its total ends when it is full. This one stays
	// until the shipped files are counted too.
	bar := container.New(0, style, append(options, mpb.BarRemoveOnComplete())...)
	bar.SetTotal(total, false)
	c.mu.Lock()
	c.above = container
	c.mu.Unlock()

	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(refresh)
		defer ticker.Stop()
		for {
			select {
			case <-ended:
				return
			case <-ticker.C:
				bar.SetCurrent(current())
			}
		}
	}()
	return func() {
		close(ended)
		<-done
		c.mu.Lock()
		defer c.mu.Unlock()
		bar.Abort(true)
		container.Wait()
		c.above = nil
	}
}

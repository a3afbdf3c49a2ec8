package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"unicode"
)

// A Console tells people on standard error what happens. It is safe for
// concurrent use.
type Console struct {
	Out      *os.File
	Terminal bool
	Quiet    bool

	mu    sync.Mutex
	above io.Writer // prints above the progress bar while there is one
}

// Notice tells something that is no error.
func (c *Console) Notice(format string, args ...any) {
	if !c.Quiet {
		c.Line(fmt.Sprintf(format, args...))
	}
}

// Problem tells what went wrong, with a file or with all.
func (c *Console) Problem(file string, err error) {
	text := "skidway: "
	if file != "" {
		text += file + ": "
	}
	c.Line(text + err.Error())
}

// Hint follows a problem.
func (c *Console) Hint(text string) { c.Line("skidway: " + text) }

// Line prints a line, above the progress bar while there is one.
func (c *Console) Line(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	to := io.Writer(c.Out)
	if c.above != nil {
		to = c.above
	}
	_, _ = fmt.Fprintln(to, Printable(text)) // nobody is left to be told
}

// Printable makes one line of a text and takes out what a terminal might obey:
// names of files come from anywhere.
func Printable(text string) string {
	text = strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "; ")
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || r == '\u200c' || r == '\u200d' { // joiners: part of words and of emoji
			return r
		}
		return '?'
	}, text)
}

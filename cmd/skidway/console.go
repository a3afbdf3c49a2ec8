package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"unicode"

	"skidway/distribute"
)

// A console tells people on standard error what happens. It is safe for
// concurrent use.
type console struct {
	out      *os.File
	terminal bool
	quiet    bool

	mu    sync.Mutex
	above io.Writer // prints above the progress bar while there is one
}

// notice tells something that is no error.
func (c *console) notice(format string, args ...any) {
	if !c.quiet {
		c.line(fmt.Sprintf(format, args...))
	}
}

// problem tells what went wrong, with a file or with all.
func (c *console) problem(file string, err error) {
	text := "skidway: "
	if file != "" {
		text += file + ": "
	}
	c.line(text + err.Error())
}

// hint follows a problem.
func (c *console) hint(text string) { c.line("skidway: " + text) }

// event tells what the library tells of a file.
func (c *console) event(e distribute.Event) {
	switch {
	case e.Err != nil:
		c.problem(e.File, e.Err)
	case e.File != "":
		c.notice("%s: %s", e.File, e.Text)
	default:
		c.notice("%s", e.Text)
	}
}

func (c *console) line(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	to := io.Writer(c.out)
	if c.above != nil {
		to = c.above
	}
	_, _ = fmt.Fprintln(to, printable(text)) // nobody is left to be told
}

// printable makes one line of a text and takes out what a terminal might obey:
// names of files come from anywhere.
func printable(text string) string {
	text = strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "; ")
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || r == '\u200c' || r == '\u200d' { // joiners: part of words and of emoji
			return r
		}
		return '?'
	}, text)
}

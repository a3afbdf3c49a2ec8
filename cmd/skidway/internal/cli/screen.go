package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// A Screen is a terminal on which a view is drawn over the last one. A nil Screen is opened and
// closed without effect.
type Screen struct {
	terminal *os.File
	console  *Console
	quiet    bool // as the console was before
}

// Screen returns the terminal that results go to, or nil.
func (a *App) Screen() *Screen {
	if terminal := a.Terminal(); terminal != nil {
		return &Screen{terminal, a.Console, a.Console.Quiet}
	}
	return nil
}

// Control sequences of ECMA-48.
const (
	hideCursor  = "\x1b[?25l"
	showCursor  = "\x1b[?25h"
	clearScreen = "\x1b[2J"
	toTop       = "\x1b[H"
	clearRest   = "\x1b[K" // of the line
	clearBelow  = "\x1b[J"
)

// Open clears the screen, and makes the console quiet: notices would spoil the view.
func (s *Screen) Open() error {
	if s == nil {
		return nil
	}
	s.console.Quiet = true
	_, err := io.WriteString(s.terminal, hideCursor+clearScreen)
	return err
}

// Close shows the cursor again, and lets the console print notices. The last view stays.
func (s *Screen) Close() {
	if s != nil {
		s.console.Quiet = s.quiet
		_, _ = io.WriteString(s.terminal, showCursor) // there is no other place to report the error
	}
}

// Size returns the width and the height of a view in characters, without the last line.
func (s *Screen) Size() (width, height int) {
	width, height = TerminalSize(s.terminal)
	return width, max(1, height-2)
}

// Draw draws lines over those of the last call, and the time below them. It leaves out what does not
// fit: the terminal would scroll.
func (s *Screen) Draw(lines []string) error {
	width, room := s.Size()
	if len(lines) > room {
		hidden := len(lines) - room + 1
		lines = append(lines[:room-1:room-1], fmt.Sprintf("and %d more lines: the terminal is too small", hidden))
	}
	var screen strings.Builder
	screen.WriteString(toTop)
	for _, line := range append(lines, time.Now().Format(time.TimeOnly)+"  Ctrl-C ends this") {
		if runes := []rune(line); len(runes) > width {
			line = string(runes[:width])
		}
		screen.WriteString(line + clearRest + "\r\n")
	}
	screen.WriteString(clearBelow)
	_, err := io.WriteString(s.terminal, screen.String())
	return err
}

// FollowEvery calls take at once and after each interval, until Ctrl-C.
func (a *App) FollowEvery(ctx context.Context, interval time.Duration, take func(context.Context) error) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	return a.Follow(ctx, take, func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
			return nil
		}
	})
}

package distribute

import (
	"context"
	"errors"
	"fmt"
	"time"

	"skidway/distribute/stream"
)

// A TooLargeError says that a file does not fit the window.
type TooLargeError struct {
	Need   int64 // bytes of memory that the file takes up in Redis
	Window int64
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("needs %d bytes in Redis at once, and the channel's window is %d: ship it with --window %dMiB or more, or split the file",
		e.Need, e.Window, (e.Need>>20)+1)
}

// admit asks for the file's place in the window until it is granted.
func (s *Shipper) admit(ctx context.Context, src *stream.Source, p plan) (shipment int64, err error) {
	size := src.Size - p.base
	segment := s.channel.segmentSize()
	cost := stream.UploadCost(size, segment)
	defer func() {
		if err != nil {
			err = errors.Join(err, s.leaveLine(ctx))
		}
	}()
	newHead := ""
	if p.newHead {
		newHead = src.Head.Fingerprint().Encode()
	}
	for told := (notice{}); ; {
		since, err := s.channel.moment(ctx)
		if err != nil {
			return 0, err
		}
		answer, err := s.channel.call(ctx, admitScript, subject{file: p.id},
			s.token, p.id, p.indexKey, p.index, p.shipment, newHead, cost, s.config.Lease.Milliseconds(),
			"name", src.Path, "codec", string(src.Codec), "size", src.Size, "base", p.base, "segment", segment, "upload", size)
		if err != nil {
			return 0, err
		}
		switch answer.Text(0) {
		case "admitted":
			return answer.Int(1), s.channel.forgive(ctx, p.replaces)
		case "changed":
			return 0, errChanged
		case "large":
			return 0, &TooLargeError{cost, answer.Int(1)}
		}
		if closed(s.config.Quit) {
			return 0, errQuit
		}
		wait := waitFor{file: src.Path, text: "waits for its turn: other shippers asked first"}
		if answer.Text(0) == "full" {
			wait.text, wait.laggards = "waits, the window is full: ", true
		}
		if err := s.await(ctx, since, wait, &told); err != nil {
			return 0, err
		}
	}
}

var (
	errChanged = errors.New("the record changed since it was looked at")
	errQuit    = errors.New("told to quit")
)

// leaveLine gives up the place among those who wait for the window.
func (s *Shipper) leaveLine(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return s.channel.db.Retry(ctx, func() error { return s.channel.db.ZRem(ctx, s.channel.keys.line(), s.token).Err() })
}

// smallestWindow holds a file of one block at least.
const smallestWindow = 1 << 20

// InvalidWindowError says that a window is too small for any use.
type InvalidWindowError struct{ Bytes int64 }

func (e *InvalidWindowError) Error() string {
	return fmt.Sprintf("a window of %d bytes is too small: 1 MiB is the least", e.Bytes)
}

// SetWindow sets how many bytes of memory the channel's files may take up in
// Redis at once, for all its shippers. Files that are in Redis already stay.
func (c *Channel) SetWindow(ctx context.Context, bytes int64) error {
	if bytes < smallestWindow {
		return &InvalidWindowError{bytes}
	}
	err := c.db.Retry(ctx, func() error { return c.db.HSet(ctx, c.keys.channel(), "window", bytes).Err() })
	if err != nil {
		return fmt.Errorf("set the window of channel %q: %w", c.name, err)
	}
	return nil
}

package distribute

import (
	"context"
	"errors"
	"fmt"
	"strconv"
)

// ErrFilesInRedis is the error for a reset while files are in Redis: workers may count them.
var ErrFilesInRedis = errors.New("files that are not counted are in Redis")

// errReset is the error for a report of a subscriber whose reset is not complete.
var errReset = errors.New("the reset is not complete")

// Reset deletes the counts of a subscriber, the numbers of its lines, its visitors, its imported
// sources and the list of the files that it has counted, and begins its next epoch. Its settings, the
// oldest day that it keeps and its identity as a source of others stay. Files that are shipped again
// are counted again. No part of a file of an earlier epoch is counted in this one.
//
// It returns [ErrFilesInRedis], and changes nothing, while a file is in Redis that a subscriber has
// not counted. A report that begins afterwards has nothing of what was deleted. If Reset is
// interrupted, the next shipper, worker or report completes it.
func (c *Channel) Reset(ctx context.Context, name string) error {
	if err := c.reset(ctx, name); err != nil {
		return fmt.Errorf("reset subscriber %q of channel %q: %w", name, c.name, err)
	}
	return nil
}

func (c *Channel) reset(ctx context.Context, name string) error {
	for {
		if err := c.files.sweep(ctx); err != nil { // completes others, and frees files that are counted
			return err
		}
		epoch, err := c.epoch(ctx, name)
		if err != nil {
			return err
		}
		next := strconv.FormatInt(parseInt(epoch)+1, 10)
		reply, err := c.call(ctx, resetScript, target{subscriber: name}, name, epoch, next)
		if err != nil {
			return err
		}
		switch reply.Int(0) {
		case 1:
			return c.files.completeRemoval(ctx, removal{name, resetPrefix + next})
		case 0:
			spent, err := query(ctx, c.db, func() (int64, error) { return c.db.SCard(ctx, c.keys.spent()).Result() })
			if err != nil || spent == 0 {
				return errors.Join(err, ErrFilesInRedis)
			}
		case -1:
			return ErrNoSubscriber
		}
	}
}

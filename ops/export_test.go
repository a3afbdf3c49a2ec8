package ops

import (
	"sync/atomic"
	"time"
)

// SetClock replaces the clock by which searches end.
func (c *Client) SetClock(now func() time.Time) { c.now = now }

// Unlimited makes the budget of searches full at any time.
func (c *Client) Unlimited() {
	var hours atomic.Int64
	c.budget.now = func() time.Time { return time.Unix(3600*hours.Add(1), 0) }
}

// SetPath makes the budget believe that a round trip takes so long.
func (c *Client) SetPath(took time.Duration) {
	c.budget.pings = []pingTime{{c.budget.now().Add(100 * 365 * 24 * time.Hour), took}}
}

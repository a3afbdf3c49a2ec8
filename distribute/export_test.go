package distribute

import (
	"context"
	"net/netip"
	"time"

	"skidway/internal/hyperloglog"
)

// A Visitor is the address and the agent of a line; empty: it has none.
type Visitor struct {
	Addr  netip.Addr
	Agent string
}

// Visitors reads the sketches of visitors in the totals, by name, and adds those of lines, which
// are by name too, to empty ones with the same key.
func (c *Channel) Visitors(ctx context.Context, subscriber string, lines map[string][]Visitor) (stored, expected map[string]string, err error) {
	totals := c.totals(subscriber)
	if err := totals.tidy(ctx); err != nil {
		return nil, nil, err
	}
	key, err := c.visitorKey(ctx, subscriber)
	if err != nil {
		return nil, nil, err
	}
	stored, expected = map[string]string{}, map[string]string{}
	names, err := totals.visitorNames(ctx, "-", "+", -1)
	for _, name := range names {
		sketch, bad := hyperloglog.Parse([]byte(c.db.Get(ctx, c.keys.subscriber(subscriber).visitorsOf(name)).Val()))
		if bad != nil {
			return nil, nil, bad
		}
		stored[name] = string(sketch.Encode())
	}
	for name, visitors := range lines {
		var sketch hyperloglog.Sketch
		for _, v := range visitors {
			hash, _ := key.hash(v.Addr, []byte(v.Agent), nil)
			sketch.Add(hash)
		}
		expected[name] = string(sketch.Encode())
	}
	return stored, expected, err
}

// LookEvery sets the time between two looks of Follow.
func (s *Shipper) LookEvery(interval time.Duration) { s.interval = interval }

package doctor

import (
	"strconv"
	"strings"
	"testing"
)

func TestProposedMaxmemoryIsWellAboveWhatIsUsed(t *testing.T) {
	t.Parallel()
	const gib, first = 1 << 30, "first free memory or use a larger machine"
	for name, c := range map[string]struct {
		used, limit, system int
		change              string // the first line; empty: none
	}{
		"no limit":                              {gib, 0, 8 * gib, "redis-cli CONFIG SET maxmemory 6144mb"},
		"no limit, nearly full":                 {7 * gib, 0, 8 * gib, first},
		"no limit, as much used as is proposed": {6 * gib, 0, 8 * gib, first},
		"no limit, machine of unknown size":     {gib, 0, 0, "set maxmemory to three quarters of the machine's memory"},
		"limit with room":                       {gib, 2 * gib, 8 * gib, ""},
		"short, room for twice":                 {2 * gib, 2 * gib, 8 * gib, "redis-cli CONFIG SET maxmemory 4096mb"},
		"short, room for less than twice":       {4 * gib, 4 * gib, 8 * gib, "redis-cli CONFIG SET maxmemory 6144mb"},
		"short, no room":                        {6 * gib, 6 * gib, 8 * gib, first},
		"short, limit above the proposal":       {6 * gib, 7 * gib, 8 * gib, first},
		"short, machine of unknown size":        {2 * gib, 2 * gib, 0, "redis-cli CONFIG SET maxmemory 4096mb"},
		"more used than the limit":              {3 * gib, gib, 64 * gib, "redis-cli CONFIG SET maxmemory 6144mb"},
	} {
		f := &facts{info: map[string]string{
			"used_memory": strconv.Itoa(c.used), "maxmemory": strconv.Itoa(c.limit), "total_system_memory": strconv.Itoa(c.system),
		}}
		change := append(f.memory()[0].Change, "")[0]
		if !strings.HasPrefix(change, c.change) || c.change == "" && change != "" {
			t.Errorf("%s: the change is %q, want %q", name, change, c.change)
		}
	}
}

func TestVolatileEvictionMayRepeatRequests(t *testing.T) {
	t.Parallel()
	f := &facts{config: map[string]string{"maxmemory-policy": "volatile-lru"}}
	if found := f.eviction()[0]; found.Level != Warning || !strings.Contains(found.Why, "a repeated request can add its jobs twice") {
		t.Errorf("%+v", found)
	}
}

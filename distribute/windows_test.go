package distribute

import (
	"testing"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

func TestWindowsAreComparedWithTheMasterThatHoldsThem(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	server := rdb.Server{Addr: "a:1", UsedMemory: 60 * mib, MaxMemory: 100 * mib}
	for name, c := range map[string]struct {
		channels []ChannelInfo
		full     bool
	}{
		"no channel":   {nil, false},
		"fits":         {[]ChannelInfo{{Window: 40 * mib}}, false},
		"partly used":  {[]ChannelInfo{{Window: 60 * mib, Bytes: 30 * mib}}, false},
		"too large":    {[]ChannelInfo{{Window: 41 * mib}}, true},
		"two together": {[]ChannelInfo{{Window: 30 * mib}, {Window: 30 * mib}}, true},
	} {
		got := compareWindows(server, c.channels)
		if (got != nil) != c.full || got != nil && (got.Server != "a:1" || got.Channels != len(c.channels) || got.MaxMemory != 100*mib || got.Used != 60*mib) {
			t.Errorf("%s: %+v, want an error: %t", name, got, c.full)
		}
	}
	server.MaxMemory = 0
	if got := compareWindows(server, []ChannelInfo{{Window: 1 << 40}}); got != nil {
		t.Errorf("without maxmemory: %v", got)
	}
}

func TestKeysOfAChannelLieOnOneOfTheServers(t *testing.T) {
	t.Parallel()
	for name, db := range map[string]*rdb.DB{"redis": redistest.DB(t), "cluster": redistest.ClusterDB(t)} {
		servers, err := db.Servers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		addr, err := db.MasterOf(t.Context(), channelKeys(db.Prefix(), "web").channel())
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, server := range servers {
			if server.Addr == addr {
				found++
			}
		}
		if found != 1 || (addr == "") != (name == "redis") {
			t.Errorf("%s: the channel is on %q, which %d of %d servers are", name, addr, found, len(servers))
		}
	}
}

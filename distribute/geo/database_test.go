package geo

import (
	"errors"
	"math/rand/v2"
	"net/netip"
	"sync"
	"testing"
)

// TestDamageBetweenTheSurveysAddressesIsRememberedNotFatal breaks a network that
// Open does not look at.
func TestDamageBetweenTheSurveysAddressesIsRememberedNotFatal(t *testing.T) {
	t.Parallel()
	file := image{databaseType: "country", ipVersion: 4, networks: map[string]any{
		"5.0.0.0/8":  flat("FR"),
		"6.6.6.6/32": flat("DE"),
	}}.bytes(t)
	// The record of 6.6.6.6 becomes a pointer out of the data section.
	at := indexOfLast(t, file, encode(t, flat("DE")))
	copy(file[at:], []byte{1<<5 | 3<<3, 0xff, 0xff, 0xff, 0xff})
	db, err := Open(write(t, file))
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Err(); err != nil {
		t.Fatalf("damage before the lookup: %v", err)
	}
	for range 2 {
		if got := db.Country(netip.MustParseAddr("6.6.6.6")); got != Unknown {
			t.Errorf("broken record is in %s, want %s", got, Unknown)
		}
	}
	if err := db.Err(); !errors.Is(err, ErrDamaged) {
		t.Errorf("error is %v, want %v", err, ErrDamaged)
	}
	if got := db.Country(netip.MustParseAddr("5.6.7.8")).String(); got != "FR" {
		t.Errorf("sound record is in %s, want FR", got)
	}
}

func TestCacheAnswersAsTheDatabaseWhileManyUseIt(t *testing.T) {
	t.Parallel()
	db := embeddedDB(t)
	var group sync.WaitGroup
	for seed := range uint64(4) {
		group.Go(func() {
			random := rand.New(rand.NewPCG(seed, 0))
			for range 50_000 {
				// Few high bits, so that addresses come again and slots are shared.
				addr := ipv4(random.Uint32() & 0xff0f0f03)
				want, err := db.schema.country(db.reader.Lookup(addr))
				if err != nil {
					t.Error(err)
					return
				}
				if !addr.IsGlobalUnicast() || addr.IsPrivate() {
					want = Unknown
				}
				if got := db.Country(addr); got != want {
					t.Errorf("%s is in %s, want %s", addr, got, want)
					return
				}
			}
		})
	}
	group.Wait()
}

func TestRecordsThatShareAMemoSlotKeepTheirCountries(t *testing.T) {
	t.Parallel()
	db, err := Open(write(t, image{databaseType: "GeoLite2-City", ipVersion: 4, spacing: memoSlots,
		networks: map[string]any{"5.0.0.0/8": located("FR"), "6.0.0.0/8": located("DE")}}.bytes(t)))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		for addr, want := range map[string]string{"5.6.7.8": "FR", "6.7.8.9": "DE"} {
			if got := db.Country(netip.MustParseAddr(addr)).String(); got != want {
				t.Errorf("%s is in %s, want %s", addr, got, want)
			}
		}
	}
}

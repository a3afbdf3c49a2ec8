package geo

import (
	"errors"
	"math/rand/v2"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oschwald/maxminddb-golang/v2"
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

func TestReservedNetworksHaveNoCountry(t *testing.T) {
	t.Parallel()
	db, err := Open(write(t, image{databaseType: "country", ipVersion: 6, networks: map[string]any{
		"2001::/16":       flat("JP"),
		"::192.0.0.0/104": flat("US"),
		"::203.0.0.0/112": flat("AU"),
		"::10.0.0.0/104":  flat("DE"),
	}}.bytes(t)))
	if err != nil {
		t.Fatal(err)
	}
	for _, lookup := range []struct{ addr, want string }{
		{"203.0.112.1", "AU"}, {"203.0.113.7", "ZZ"}, {"203.0.114.7", "AU"},
		{"192.0.1.1", "US"}, {"192.0.2.1", "ZZ"}, {"192.88.0.1", "US"}, {"192.168.0.1", "ZZ"},
		{"10.0.0.1", "ZZ"}, {"2001:200::1", "JP"}, {"2001:db8::1", "ZZ"}, {"2001:2::1", "ZZ"},
	} {
		for range 2 {
			if got := db.Country(netip.MustParseAddr(lookup.addr)).String(); got != lookup.want {
				t.Errorf("%s is in %s, want %s", lookup.addr, got, lookup.want)
			}
		}
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

func TestIndexAndCountryAtAreInverse(t *testing.T) {
	t.Parallel()
	for i := range Countries {
		if got := CountryAt(i).Index(); got != i {
			t.Fatalf("CountryAt(%d) = %s has index %d", i, CountryAt(i), got)
		}
	}
}

func TestIndexIsAlwaysInRange(t *testing.T) {
	t.Parallel()
	for _, c := range []Country{{}, {'a', 'b'}, {'A', 0xff}, {'0', '9'}, Unknown} {
		if got, want := c.Index(), Unknown.Index(); got != want {
			t.Errorf("index of %q = %d, want that of Unknown, %d", c, got, want)
		}
	}
}

func TestCountryAtOutOfRangeIsUnknown(t *testing.T) {
	t.Parallel()
	for _, i := range []int{-1, Countries} {
		if got := CountryAt(i); got != Unknown {
			t.Errorf("CountryAt(%d) = %s, want %s", i, got, Unknown)
		}
	}
}

func TestIllFormedCodeIsUnknown(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"", "-", "G", "gb", "Gb", "GBR", "None", "ZZ", "A1", "É", "\x00\x00"} {
		if got := countryOf(code); got != Unknown {
			t.Errorf("code %q is %q, want %s", code, got, Unknown)
		}
	}
}

func TestBuildIsPrintableForEveryFile(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name         string
		databaseType string
		epoch        uint
		want         string
	}{
		{"ordinary", "GeoLite2-Country", 1770245369, "GeoLite2-Country 2026-02-04"},
		{"no type", "", 1770245369, "file 2026-02-04"},
		{"terminal escape", "\x1b[2J", 1770245369, "file 2026-02-04"},
		{"not UTF-8", "\xff\xfe", 1770245369, "file 2026-02-04"},
		{"long", strings.Repeat("x", 65), 1770245369, "file 2026-02-04"},
		{"no date", "GeoLite2-Country", 0, "GeoLite2-Country (undated)"},
		{"impossible date", "GeoLite2-Country", 1 << 63, "GeoLite2-Country (undated)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			metadata := maxminddb.Metadata{DatabaseType: test.databaseType, BuildEpoch: test.epoch}
			if got := buildOf(metadata, "file").String(); got != test.want {
				t.Errorf("build is %q, want %q", got, test.want)
			}
		})
	}
}

func TestOldAndUndatedDatabasesAreStale(t *testing.T) {
	t.Parallel()
	built := time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)
	for age, want := range map[time.Duration]bool{-48 * time.Hour: false, 0: false, StaleAfter: false, StaleAfter + 1: true} {
		if got := (Build{Date: built}).Stale(built.Add(age)); got != want {
			t.Errorf("after %v: stale is %v", age, got)
		}
	}
	if !(Build{}).Stale(built) {
		t.Error("an undated database is not stale")
	}
}

func TestBuildOfFileWithoutPresentableNameIsUnnamed(t *testing.T) {
	t.Parallel()
	if got, want := buildOf(maxminddb.Metadata{}, "\x1b[2J").String(), "unnamed (undated)"; got != want {
		t.Errorf("build is %q, want %q", got, want)
	}
}

package geo

import (
	"math/rand/v2"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"
)

func embeddedDB(t testing.TB) *DB {
	t.Helper()
	db, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func TestDefaultKnowsWellKnownAddresses(t *testing.T) {
	t.Parallel()
	db := embeddedDB(t)
	for addr, want := range map[string]string{
		"8.8.8.8":                "US",
		"::ffff:8.8.8.8":         "US",
		"2001:4860:4860::8888":   "US",
		"1.1.1.1":                "AU",
		"193.0.6.139":            "NL",
		"2001:67c:2e8::1":        "NL",
		"133.11.0.1":             "JP",
		"200.160.2.3":            "BR",
		"196.216.2.1":            "ZA",
		"129.132.1.1":            "CH",
		"0.0.0.0":                "ZZ",
		"10.0.0.1":               "ZZ",
		"100.64.0.1":             "ZZ",
		"127.0.0.1":              "ZZ",
		"169.254.1.1":            "ZZ",
		"192.0.2.1":              "ZZ",
		"192.168.1.1":            "ZZ",
		"198.51.100.1":           "ZZ",
		"203.0.113.7":            "ZZ",
		"2001:db8::1":            "ZZ",
		"224.0.0.1":              "ZZ",
		"255.255.255.255":        "ZZ",
		"::":                     "ZZ",
		"::1":                    "ZZ",
		"::ffff:10.0.0.1":        "ZZ",
		"fc00::1":                "ZZ",
		"fe80::1%eth0":           "ZZ",
		"ff02::1":                "ZZ",
		"2001:4860:4860::8888%0": "US",
	} {
		ip := netip.MustParseAddr(addr)
		if got := db.Country(ip).String(); got != want {
			t.Errorf("%s is in %s, want %s", addr, got, want)
		}
		if got := db.Country(ip).String(); got != want {
			t.Errorf("%s is in %s the second time, want %s", addr, got, want)
		}
	}
	if err := db.Err(); err != nil {
		t.Errorf("damage: %v", err)
	}
}

func TestInvalidAddressIsUnknown(t *testing.T) {
	t.Parallel()
	db := embeddedDB(t)
	if got := db.Country(netip.Addr{}); got != Unknown {
		t.Errorf("database: %s", got)
	}
}

func TestDefaultSurvivesTheSurveyOfOpen(t *testing.T) {
	t.Parallel()
	if err := embeddedDB(t).survey().run(); err != nil {
		t.Error(err)
	}
}

func TestNoticeBesideTheDataAgreesWithTheCode(t *testing.T) {
	t.Parallel()
	notice, err := os.ReadFile("data/NOTICE")
	if err != nil {
		t.Fatal(err)
	}
	build := embeddedDB(t).Build()
	for _, want := range []string{build.Attribution, build.Date.Format(time.DateOnly), build.Name + ".mmdb"} {
		if want == "" || !strings.Contains(string(notice), want) {
			t.Errorf("data/NOTICE lacks %q", want)
		}
	}
}

const benchAddrs = 1 << 20

// publicIPv4 is random addresses, far more than the cache holds.
func publicIPv4() []netip.Addr {
	random := rand.New(rand.NewPCG(1, 2))
	addrs := make([]netip.Addr, benchAddrs)
	for i := range addrs {
		for !addrs[i].IsGlobalUnicast() || addrs[i].IsPrivate() {
			addrs[i] = ipv4(random.Uint32N(223 << 24))
		}
	}
	return addrs
}

// routedIPv6 is addresses of random IPv6 networks of the database.
func routedIPv6(db *DB) []netip.Addr {
	var addrs []netip.Addr
	for network := range db.reader.NetworksWithin(netip.MustParsePrefix("2000::/3")) {
		addrs = append(addrs, network.Prefix().Addr())
	}
	random := rand.New(rand.NewPCG(1, 2))
	random.Shuffle(len(addrs), func(i, j int) { addrs[i], addrs[j] = addrs[j], addrs[i] })
	return addrs
}

func benchmark(b *testing.B, addrs []netip.Addr, country func(netip.Addr) Country) {
	b.Helper()
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		country(addrs[i])
		if i++; i == len(addrs) {
			i = 0
		}
	}
}

// BenchmarkCountry counts lookups in the embedded database: of addresses that
// the cache holds all (4,096 of them) or next to none of (a million).
func BenchmarkCountry(b *testing.B) {
	db := embeddedDB(b)
	addrs := publicIPv4()
	b.Run("IPv4/hit", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ { // Not through benchmark: its indirect call costs as much again.
			db.Country(addrs[i%4096])
		}
	})
	b.Run("IPv4/miss", func(b *testing.B) { benchmark(b, addrs, db.Country) })
	b.Run("IPv6", func(b *testing.B) { benchmark(b, routedIPv6(db), db.Country) })
}

// BenchmarkDefault counts unpackings of the embedded database, which a process
// does once.
func BenchmarkDefault(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := unpackEmbedded(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSurvey counts the checks that Open makes, on the embedded database.
func BenchmarkSurvey(b *testing.B) {
	db := embeddedDB(b)
	for b.Loop() {
		if err := db.survey().run(); err != nil {
			b.Fatal(err)
		}
	}
}

package geo

import (
	"math/rand/v2"
	"net/netip"
	"testing"
)

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
		if err := (&survey{db: db}).run(); err != nil {
			b.Fatal(err)
		}
	}
}

package geo

import (
	"encoding/binary"
	"net/netip"
	"sync/atomic"
)

// A cache answers most lookups without the walk down the database's tree: a log
// repeats few addresses many times, and large networks are in one country. It is
// shared by all goroutines, so what one file has warmed up the next one uses.
//
// Each entry is exact and fits a word with others, so that a lookup is one load
// of one word, and goroutines that race for a word store what is all right.
type cache struct {
	// wide holds the countries of IPv4 /16 networks that lie in one country as a
	// whole, four in a word.
	wide [1 << 14]atomic.Uint64

	// hosts holds recent IPv4 addresses of the other networks, two in a set, the
	// later one in the low half: 16 bits of the address and 16 of the country.
	// That is the whole address: multiplying by an odd number loses nothing of
	// it; the upper half of the product chooses the set, the lower half is in
	// the entry.
	hosts [1 << 16]atomic.Uint64

	// nets holds recent IPv6 /64 networks in the same way, one in a word: 51
	// bits of the network and the country's index plus one.
	nets [1 << netsBits]atomic.Uint64
}

const netsBits = 13

// Multipliers of Fibonacci hashing: neighbours, which logs are full of, come
// apart.
const (
	spread32 = 0x9E3779B1
	spread64 = 0x9E3779B97F4A7C15
)

func (c *cache) ipv4(addr netip.Addr, db *DB) Country {
	bytes := addr.As4()
	address := binary.BigEndian.Uint32(bytes[:])
	network, shift := address>>18, address>>16&3*16
	if letters := c.wide[network].Load() >> shift & 0xFFFF; letters != 0 {
		return unpack(letters)
	}
	mixed := address * spread32
	set, tag := &c.hosts[mixed>>16], uint64(mixed&0xFFFF)<<16
	entries := set.Load()
	for entry := entries; entry != 0; entry >>= 32 {
		if entry&0xFFFF0000 == tag {
			return unpack(entry)
		}
	}
	country, bits := db.find(addr)
	if bits <= 16 {
		c.wide[network].Or(country.pack() << shift)
	} else {
		set.Store(entries<<32 | tag | country.pack())
	}
	return country
}

func (c *cache) ipv6(addr netip.Addr, db *DB) Country {
	bytes := addr.As16()
	mixed := binary.BigEndian.Uint64(bytes[:]) * spread64
	word, tag := &c.nets[mixed>>(64-netsBits)], mixed<<netsBits>>netsBits<<10
	if entry := word.Load(); entry&^1023 == tag && entry != 0 {
		return CountryAt(int(entry&1023) - 1)
	}
	country, bits := db.find(addr)
	if bits <= 64 {
		word.Store(tag | uint64(country.Index()+1))
	}
	return country
}

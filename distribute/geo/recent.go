package geo

import (
	"net/netip"
	"sync/atomic"
)

// A log repeats few addresses many times, so a small cache of recent IPv4
// addresses answers most lines without the walk down the database's tree. It is
// shared by all goroutines: what one file has warmed up the next one uses.
//
// A set is one word and holds two entries, the later one in the low half. An
// entry is 16 bits of the address and the 16 bits of the country's letters, zero
// for empty. That is the whole address: multiplying by an odd number loses
// nothing of it, the upper half of the product chooses the set and the lower
// half is in the entry. So an entry answers for no other address, a lookup is one
// load, and two goroutines that race for a set store what is both right.
type recent [1 << 16]atomic.Uint64

// spread is the multiplier of Fibonacci hashing: neighbours, which logs are full
// of, come apart.
const spread = 0x9E3779B1

// country looks an address up, asking the database only for one that is not in
// its set.
func (r *recent) country(address uint32, addr netip.Addr, db *DB) Country {
	mixed := address * spread
	set, tag := &r[mixed>>16], uint64(mixed&0xFFFF)<<16
	entries := set.Load()
	for entry := entries; entry != 0; entry >>= 32 {
		if entry&0xFFFF0000 == tag {
			return unpack(entry)
		}
	}
	country := db.find(addr)
	set.Store(entries<<32 | tag | country.pack())
	return country
}

package geo

import (
	"encoding/binary"
	"net/netip"
)

// A log repeats few addresses many times, so a small cache answers most lines
// without the walk down the database's tree. Two ways, because of a few thousand
// addresses that a busy log repeats, some share a set: evicting each other in
// turn, they would cost more than all the hits.
const (
	recentBits = 15
	recentSets = 1 << recentBits
)

// Resolver is a [DB] behind a cache of recent IPv4 addresses, 512 KiB. It is for
// one goroutine: each that counts has its own. Make it with [DB.Resolver].
type Resolver struct {
	db *DB
	// recent holds sets of address << 16 | country letters, the latest first,
	// zero for empty.
	recent [recentSets][2]uint64
}

// Resolver returns a new, empty resolver on the database.
func (db *DB) Resolver() *Resolver { return &Resolver{db: db} }

// Country is [DB.Country], faster for an IPv4 address that was asked for
// recently. It does not allocate.
func (r *Resolver) Country(addr netip.Addr) Country {
	addr = addr.Unmap()
	if !addr.Is4() {
		return r.db.Country(addr)
	}
	bytes := addr.As4()
	key := binary.BigEndian.Uint32(bytes[:])
	// Fibonacci hashing: neighbours, which logs are full of, spread out.
	set := &r.recent[key*0x9E3779B1>>(32-recentBits)]
	if entry := set[0]; holds(entry, key) {
		return unpack(entry)
	}
	entry := set[1]
	if !holds(entry, key) {
		entry = uint64(key)<<16 | r.db.Country(addr).pack()
	}
	set[0], set[1] = entry, set[0]
	return unpack(entry)
}

// holds tells an entry for 0.0.0.0 from an empty one by its country.
func holds(entry uint64, key uint32) bool { return entry>>16 == uint64(key) && entry != 0 }

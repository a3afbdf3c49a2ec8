package geo

import (
	"fmt"
	"net/netip"
	"sync/atomic"

	"github.com/oschwald/maxminddb-golang/v2"
)

// memoSlots is the size of the record → country memo. A country database has a
// few hundred distinct records, a city database some hundred thousand, so the
// memo is bounded and a slot keeps the record that used it last: 512 KiB, of
// which a country database touches a few pages.
const memoSlots = 1 << 16

// DB answers which country an address is in. It is safe for concurrent use and
// lives in memory only: there is nothing to close.
type DB struct {
	reader *maxminddb.Reader
	schema schema
	ipv6   bool
	build  Build
	// memo holds (record offset + 1) << 16 | country letters, zero for empty.
	// A record is identified by its offset and decoded only when its slot has
	// another; two goroutines that race for a slot store answers that are both
	// right.
	memo    *[memoSlots]atomic.Uint64
	cache   *cache
	failure atomic.Pointer[error]
}

// Build tells which database this is.
func (db *DB) Build() Build { return db.build }

// Err returns the first damage that a lookup met, or nil. [Open] looks for
// damage, but cannot visit every network of a large file; a lookup that meets
// it answers [Unknown], and a caller that needs exact counts asks here at the
// end.
func (db *DB) Err() error {
	if err := db.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// Country returns the country of an address: [Unknown] for one that is invalid,
// private or otherwise not globally routable, or not in the database. An IPv4
// address in IPv6 form (::ffff:8.8.8.8) is looked up as IPv4. It does not
// allocate, except to decode a record that is not in memory.
func (db *DB) Country(addr netip.Addr) Country {
	addr = addr.Unmap()
	switch {
	case addr.Is4():
		return db.cache.ipv4(addr, db)
	case addr.Is6():
		return db.cache.ipv6(addr, db)
	}
	return Unknown
}

// find looks an address up in the database. bits is the length of the network
// for which the answer is the same, 128 if that is not known.
func (db *DB) find(addr netip.Addr) (country Country, bits int) {
	if !addr.IsGlobalUnicast() || addr.IsPrivate() {
		return Unknown, 128
	}
	country, bits, err := db.lookup(addr)
	if err != nil {
		db.fail(addr, err)
	}
	return country, bits
}

// fail is apart from find so that a lookup which succeeds does not allocate.
func (db *DB) fail(addr netip.Addr, err error) {
	err = fmt.Errorf("look up %s in %s: %w (%w)", addr, db.build, ErrDamaged, err)
	db.failure.CompareAndSwap(nil, &err)
}

// lookup returns Unknown with every error.
func (db *DB) lookup(addr netip.Addr) (country Country, bits int, err error) {
	if addr.Is6() && !db.ipv6 {
		return Unknown, 128, nil
	}
	record := db.reader.Lookup(addr)
	switch {
	case record.Err() != nil:
		return Unknown, 128, record.Err()
	case !record.Found():
		return Unknown, record.Prefix().Bits(), nil
	}
	country, err = db.remember(record)
	return country, record.Prefix().Bits(), err
}

// remember returns the country of a record, decoding it only if the memo does
// not have it. A record that can't be decoded is remembered as Unknown.
func (db *DB) remember(record maxminddb.Result) (Country, error) {
	offset := uint64(record.Offset())
	slot := &db.memo[offset%memoSlots]
	if entry := slot.Load(); entry>>16 == offset+1 {
		return unpack(entry), nil
	}
	country, err := db.schema.country(record)
	slot.Store((offset+1)<<16 | country.pack())
	return country, err
}

// pack returns the letters as the low 16 bits of a cache entry, never zero for
// a valid country.
func (c Country) pack() uint64 { return uint64(c[0])<<8 | uint64(c[1]) }

func unpack(entry uint64) Country { return Country{byte(entry >> 8), byte(entry)} }

// newDB is a DB on a reader; name is for a file that does not name itself.
func newDB(reader *maxminddb.Reader, name string, s schema) *DB {
	return &DB{
		reader: reader,
		schema: s,
		ipv6:   reader.Metadata.IPVersion == 6,
		build:  buildOf(reader.Metadata, name),
		memo:   new([memoSlots]atomic.Uint64),
		cache:  new(cache),
	}
}

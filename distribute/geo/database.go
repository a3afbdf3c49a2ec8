package geo

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"sync/atomic"

	"github.com/oschwald/maxminddb-golang/v2"

	"skidway/distribute/internal/reserved"
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

// Build returns the identity of the database.
func (db *DB) Build() Build { return db.build }

// Err returns the first damage that a lookup met, or nil. [Open] searches for
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
// private or otherwise reserved, or not in the database. An IPv4
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

// find looks an address up in the database; a reserved one is Unknown, whatever
// the database holds. bits is the length of the network for which the answer is
// the same, 128 if that is not known. It is above wideBits if a part of the
// address's wide network is reserved.
func (db *DB) find(addr netip.Addr) (country Country, bits int) {
	if !reserved.IsPublic(addr) {
		return Unknown, 128
	}
	country, bits, err := db.lookup(addr)
	if err != nil {
		db.fail(addr, err)
	}
	if addr.Is4() && bits <= wideBits && reserved.OverlapsIPv4(netip.PrefixFrom(addr, wideBits)) {
		bits = wideBits + 1
	}
	return country, bits
}

// fail is not a part of find, so that a lookup that succeeds does not allocate.
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

// A cache answers most lookups without the walk down the database's tree: a log
// repeats few addresses many times, and large networks are in one country. It is
// shared by all goroutines, so what one file has warmed up the next one uses.
//
// Each entry is exact and fits a word with others, so that a lookup is one load
// of one word. Goroutines that race for a word all store correct entries.
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

// wideBits is the length of the IPv4 networks that the cache holds as a whole.
const wideBits = 16

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
	if bits <= wideBits {
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

// Country is an ISO 3166-1 alpha-2 code in upper case, as in the database
// (also XK, the code in use for Kosovo). The zero value is not a country;
// every function here that has no answer returns [Unknown].
type Country [2]byte

// Unknown stands for an address that is private, missing, or in no country that
// the database knows. ZZ is a user-assigned code that ISO 3166-1 never assigns to
// a country.
var Unknown = Country{'Z', 'Z'}

// Countries is the number of values of [Country.Index]: the size of an array of
// counters indexed by country.
const Countries = 26 * 26

// String returns the two letters.
func (c Country) String() string { return string(c[:]) }

// Index returns the country's place in an array of [Countries] counters, in
// alphabetical order. A value that is not two upper-case letters has the
// place of [Unknown], so that an index is always in range.
func (c Country) Index() int {
	if !c.valid() {
		return Countries - 1
	}
	return int(c[0]-'A')*26 + int(c[1]-'A')
}

// CountryAt is the inverse of [Country.Index]. It returns [Unknown] for an
// index out of range.
func CountryAt(index int) Country {
	if index < 0 || index >= Countries {
		return Unknown
	}
	return Country{'A' + byte(index/26), 'A' + byte(index%26)}
}

func (c Country) valid() bool {
	return 'A' <= c[0] && c[0] <= 'Z' && 'A' <= c[1] && c[1] <= 'Z'
}

// countryOf reads the code of a database record. Databases write "no country"
// as "", "-", "None" and more: every malformed code is Unknown.
func countryOf(code string) Country {
	if len(code) != 2 {
		return Unknown
	}
	c := Country{code[0], code[1]}
	if !c.valid() {
		return Unknown
	}
	return c
}

package geo

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/oschwald/maxminddb-golang/v2"

	"skidway/distribute/internal/reserved"
)

// ErrNoNetworks is an error of [OpenNetworks]: the file is a sound database of something else.
var ErrNoNetworks = errors.New("database without networks: give an ASN database (records with autonomous_system_number or asn)")

// Networks returns which autonomous system an address is in. It is safe for concurrent use and
// lives in memory only: there is nothing to close.
type Networks struct {
	reader *maxminddb.Reader
	schema schema
	ipv6   bool
	build  Build

	// memo has (record offset + 1) << 32 | number, zero for empty, as that of a [DB].
	memo *[memoSlots]atomic.Uint64

	// hosts has recent IPv4 addresses, by the upper half of a product that loses nothing of the
	// address, in the same way as that of a cache: a mark, the lower half and the number.
	hosts *[1 << 16]atomic.Uint64
}

// networkSchemas are the paths from a record to its number: that of GeoLite2, DB-IP and
// ip-location-db, and a text such as "AS13335".
var networkSchemas = []schema{{"autonomous_system_number"}, {"asn"}}

// OpenNetworks reads the database of autonomous systems at path, as [Open] does that of countries.
// Its errors are those of Open, with [ErrNoNetworks] instead of ErrNoCountries.
func OpenNetworks(path string) (*Networks, error) {
	image, err := readDatabase(path)
	if err == nil {
		var n *Networks
		if n, err = openNetworks(image, nameOf(path)); err == nil {
			return n, nil
		}
	}
	return nil, fmt.Errorf("open database of networks %s: %w", path, err)
}

// nameOf returns the name of a database that does not name itself.
func nameOf(path string) string { return strings.TrimSuffix(filepath.Base(path), ".mmdb") }

// openNetworks takes the first schema by which the database has a network.
func openNetworks(image []byte, name string) (*Networks, error) {
	reader, err := maxminddb.OpenBytes(image)
	if err != nil {
		return nil, fmt.Errorf("%w (%w)", ErrNotDatabase, err)
	}
	for _, s := range networkSchemas {
		n := &Networks{
			reader: reader, schema: s, ipv6: reader.Metadata.IPVersion == 6, build: buildOf(reader.Metadata, name),
			memo: new([memoSlots]atomic.Uint64), hosts: new([1 << 16]atomic.Uint64),
		}
		if err = n.survey().run(); err == nil {
			return n, nil
		}
		if !errors.Is(err, ErrNoNetworks) {
			break
		}
	}
	return nil, err
}

// survey returns the survey of the database.
func (n *Networks) survey() *survey {
	return &survey{reader: n.reader, missing: ErrNoNetworks, find: func(record maxminddb.Result) (bool, error) {
		number, err := n.remember(record)
		return number != 0, err
	}}
}

// Build returns the identity of the database.
func (n *Networks) Build() Build { return n.build }

// Number returns the number of the autonomous system of an address, as in AS13335; 0 for one that
// is invalid, private or otherwise reserved, or not in the database. An IPv4 address in IPv6 form
// is looked up as IPv4. It does not allocate, except to decode a record that is not in memory.
func (n *Networks) Number(addr netip.Addr) uint32 {
	addr = addr.Unmap()
	if !addr.Is4() {
		return n.find(addr)
	}
	bytes := addr.As4()
	mixed := binary.BigEndian.Uint32(bytes[:]) * spread32
	slot, tag := &n.hosts[mixed>>16], 1<<48|uint64(mixed&0xFFFF)<<32
	if entry := slot.Load(); entry>>32<<32 == tag {
		return uint32(entry) //nolint:gosec // the lower half
	}
	number := n.find(addr)
	slot.Store(tag | uint64(number))
	return number
}

// find looks an address up in the database.
func (n *Networks) find(addr netip.Addr) uint32 {
	if !addr.IsValid() || addr.Is6() && !n.ipv6 || !reserved.IsPublic(addr) {
		return 0
	}
	record := n.reader.Lookup(addr)
	if record.Err() != nil || !record.Found() {
		return 0
	}
	number, _ := n.remember(record) // a record that can't be decoded has none
	return number
}

// remember returns the number of a record, decoding it only if the memo does not have it.
func (n *Networks) remember(record maxminddb.Result) (uint32, error) {
	offset := uint64(record.Offset())
	slot := &n.memo[offset%memoSlots]
	if entry := slot.Load(); entry>>32 == offset+1 {
		return uint32(entry), nil //nolint:gosec // the lower half
	}
	number, err := n.schema.network(record)
	slot.Store((offset+1)<<32 | uint64(number))
	return number, err
}

// network decodes the number of a record; 0 if it has none.
func (s schema) network(record maxminddb.Result) (number uint32, err error) {
	if s[0] != "asn" {
		err = record.DecodePath(&number, s...)
		return number, err
	}
	var text string
	if err := record.DecodePath(&text, s...); err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(text, "AS"), 10, 32)
	if err != nil {
		return 0, nil //nolint:nilerr // a text without a number, as for "no country"
	}
	return uint32(n), nil
}

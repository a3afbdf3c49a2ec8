package geo

import (
	"fmt"
	"net/netip"

	"github.com/oschwald/maxminddb-golang/v2"
)

// surveyNetworks bounds the walk of a file in which the spread of addresses met
// no country: a company's own database may have a single network.
const surveyNetworks = 1 << 16

// survey is the result of reading a sample of a database's records.
type survey struct {
	db     *DB
	found  bool  // A record has a country by the schema.
	broken error // The first record that can't be decoded by it.
}

// run looks up one address in each IPv4 /16 and in each /16 of the routed part
// of IPv6 (2000::/3), which takes some milliseconds; if none has a country, it
// walks the first networks. It returns ErrDamaged, or ErrNoCountries if the
// schema does not fit. The format has no checksum, so damage elsewhere is
// found by the lookup that reads it.
func (s *survey) run() error {
	if err := s.spread(); err != nil {
		return err
	}
	if !s.found {
		if err := s.walk(); err != nil {
			return err
		}
	}
	switch {
	case s.found && s.broken == nil:
		return nil
	case s.found:
		return fmt.Errorf("%w (%w)", ErrDamaged, s.broken)
	default:
		return fmt.Errorf("type %q: %w", s.db.reader.Metadata.DatabaseType, ErrNoCountries)
	}
}

func (s *survey) spread() error {
	for i := range 1 << 16 {
		// The low bytes vary too, so that the paths are not all leftmost.
		addr := netip.AddrFrom4([4]byte{byte(i >> 8), byte(i), byte(i * 151), byte(i * 29)})
		if err := s.visit(s.db.reader.Lookup(addr)); err != nil {
			return err
		}
	}
	if !s.db.ipv6 {
		return nil
	}
	for i := range 1 << 13 {
		addr := netip.AddrFrom16([16]byte{0x20 | byte(i>>8), byte(i), byte(i * 151), byte(i * 29)})
		if err := s.visit(s.db.reader.Lookup(addr)); err != nil {
			return err
		}
	}
	return nil
}

// walk counts empty networks too, so that it ends on a huge tree without records.
func (s *survey) walk() error {
	visited := 0
	for network := range s.db.reader.Networks(maxminddb.IncludeNetworksWithoutData()) {
		if err := s.visit(network); err != nil {
			return err
		}
		if visited++; s.found || visited == surveyNetworks {
			return nil
		}
	}
	return nil
}

// visit records the result of a lookup, and returns an error if the tree that leads to it is
// broken. A record that can't be decoded may only be of another schema.
func (s *survey) visit(record maxminddb.Result) error {
	if err := record.Err(); err != nil {
		return fmt.Errorf("%w (%w)", ErrDamaged, err)
	}
	if !record.Found() {
		return nil
	}
	country, err := s.db.remember(record)
	if err != nil && s.broken == nil {
		s.broken = err
	}
	s.found = s.found || country != Unknown
	return nil
}

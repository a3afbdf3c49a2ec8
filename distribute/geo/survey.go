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
	reader  *maxminddb.Reader
	find    func(maxminddb.Result) (bool, error) // reports whether a record has what is searched for
	missing error                                // no record has it
	found   bool                                 // A record has it.
	broken  error                                // The first record that can't be decoded.
}

// survey returns the survey of a database of countries.
func (db *DB) survey() *survey {
	return &survey{reader: db.reader, missing: ErrNoCountries, find: func(record maxminddb.Result) (bool, error) {
		country, err := db.remember(record)
		return country != Unknown, err
	}}
}

// run looks up one address in each IPv4 /16 and in each /16 of the routed part
// of IPv6 (2000::/3), which takes some milliseconds; if none has what is searched
// for, it walks the first networks. It returns ErrDamaged, or missing if the
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
		return fmt.Errorf("type %q: %w", s.reader.Metadata.DatabaseType, s.missing)
	}
}

func (s *survey) spread() error {
	for i := range 1 << 16 {
		// The low bytes vary too, so that the paths are not all leftmost.
		addr := netip.AddrFrom4([4]byte{byte(i >> 8), byte(i), byte(i * 151), byte(i * 29)})
		if err := s.visit(s.reader.Lookup(addr)); err != nil {
			return err
		}
	}
	if s.reader.Metadata.IPVersion != 6 {
		return nil
	}
	for i := range 1 << 13 {
		addr := netip.AddrFrom16([16]byte{0x20 | byte(i>>8), byte(i), byte(i * 151), byte(i * 29)})
		if err := s.visit(s.reader.Lookup(addr)); err != nil {
			return err
		}
	}
	return nil
}

// walk counts empty networks too, so that it ends on a huge tree without records.
func (s *survey) walk() error {
	visited := 0
	for network := range s.reader.Networks(maxminddb.IncludeNetworksWithoutData()) {
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
	found, err := s.find(record)
	if err != nil && s.broken == nil {
		s.broken = err
	}
	s.found = s.found || found
	return nil
}

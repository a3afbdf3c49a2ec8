package geo

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/oschwald/geoip2-golang/v2"
	"github.com/oschwald/maxminddb-golang/v2"
)

// schema is the path from a record to its country code.
type schema []any

var (
	// maxmindSchema is that of GeoIP2, GeoLite2 and DB-IP files. Only `country`
	// is read, which is where the address is; `registered_country` is where its
	// block was registered. A record that has only the latter (anycast
	// networks, mostly) is Unknown, as it is for users of geoip2's
	// Country.ISOCode: mixing the two would answer neither question.
	maxmindSchema = schema{"country", "iso_code"}
	// flatSchema is that of ip-location-db files.
	flatSchema = schema{"country_code"}
)

// schemasOf returns the schemas that the file may have, likeliest first, or
// ErrNoCountries if its type rules all of them out. geoip2 knows the types of
// MaxMind and DB-IP; files that it does not know are told by their records.
func schemasOf(data []byte) ([]schema, error) {
	reader, err := geoip2.OpenBytes(data)
	if unknown := (geoip2.UnknownDatabaseTypeError{}); errors.As(err, &unknown) {
		return []schema{flatSchema, maxmindSchema}, nil
	}
	if err != nil {
		return nil, err
	}
	_, err = reader.Country(netip.IPv4Unspecified())
	if wrongType := (geoip2.InvalidMethodError{}); errors.As(err, &wrongType) {
		return nil, fmt.Errorf("type %q: %w", reader.Metadata().DatabaseType, ErrNoCountries)
	}
	return []schema{maxmindSchema}, nil
}

// country decodes a record. A record without the path has no country, which is
// no error.
func (s schema) country(record maxminddb.Result) (Country, error) {
	var code string
	if err := record.DecodePath(&code, s...); err != nil {
		return Unknown, err
	}
	return countryOf(code), nil
}

package geo

import (
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
	"time"

	"github.com/oschwald/maxminddb-golang/v2"

	"skidway/distribute/internal/reserved"
)

// A Description is what a database file holds.
type Description struct {
	Build
	Title     string // by its maker; empty if the file has none
	Countries bool   // its addresses have countries; otherwise [Open] refuses it
	IPv6      bool   // it has IPv6 addresses beside those of IPv4
	Known     int    // percent of a spread of public IPv4 addresses that have a country
}

// minKnown is the percentage of public IPv4 addresses with a country below which a database is odd: complete ones
// have more than four fifths.
const minKnown = 50

// Describe describes the database at path, also one without countries; the empty path is the embedded one. Its
// errors are those of [Open], but for [ErrNoCountries].
func Describe(path string) (Description, error) {
	if path == "" {
		db, err := Default()
		if err != nil {
			return Description{}, err
		}
		return describe(db.reader, db, db.build), nil
	}
	d, err := describeFile(path)
	if err != nil {
		return d, fmt.Errorf("describe database %s: %w", path, err)
	}
	return d, nil
}

func describeFile(path string) (d Description, err error) {
	image, err := readDatabase(path)
	if err != nil {
		return d, err
	}
	name := strings.TrimSuffix(filepath.Base(path), ".mmdb")
	db, err := openImage(image, name)
	if err == nil {
		return describe(db.reader, db, db.build), nil
	}
	if !errors.Is(err, ErrNoCountries) {
		return d, err
	}
	reader, err := maxminddb.OpenBytes(image)
	if err != nil {
		return d, err
	}
	return describe(reader, nil, buildOf(reader.Metadata, name)), nil
}

// describe describes a database; db is nil if it has no countries.
func describe(reader *maxminddb.Reader, db *DB, build Build) Description {
	d := Description{Build: build, IPv6: reader.Metadata.IPVersion == 6}
	if title := reader.Metadata.Description["en"]; presentable(title) {
		d.Title = title
	}
	if db == nil {
		return d
	}
	d.Countries = true
	public, known := 0, 0
	for i := range 1 << 16 {
		addr := netip.AddrFrom4([4]byte{byte(i >> 8), byte(i), byte(i * 151), byte(i * 29)})
		if !reserved.IsPublic(addr) {
			continue
		}
		public++
		if country, _, err := db.lookup(addr); err == nil && country != Unknown {
			known++
		}
	}
	d.Known = 100 * known / public
	return d
}

// Warnings returns what is odd about the database for counting by country.
func (d Description) Warnings(now time.Time) []string {
	switch {
	case !d.Countries && strings.Contains(strings.ToLower(d.Name), "asn"):
		return []string{d.Name + " has networks (ASN) and no countries: give a Country database to count by country"}
	case !d.Countries:
		return []string{d.Name + " has no countries: give a Country database to count by country"}
	}
	warnings := d.Build.Warnings(now)
	if d.Known < minKnown {
		warnings = append(warnings, fmt.Sprintf("%s has a country for %d %% of the public IPv4 addresses only: check that it is complete", d.Name, d.Known))
	}
	return warnings
}

// Warnings returns what is odd about a database with countries by its name and date.
func (b Build) Warnings(now time.Time) (warnings []string) {
	const month = 365 * 24 * time.Hour / 12
	name := strings.ToLower(b.Name)
	if strings.Contains(name, "city") || strings.Contains(name, "enterprise") {
		warnings = append(warnings, b.Name+" has cities, of which only the countries are used: a Country database needs a fraction of the memory")
	}
	switch {
	case !b.Stale(now):
	case b.Date.IsZero():
		warnings = append(warnings, b.Name+" does not say when it was built: check that it is recent")
	default:
		warnings = append(warnings, fmt.Sprintf("%s is %d months old: addresses that moved since count for their old country; use a newer .mmdb file",
			b, now.Sub(b.Date)/month))
	}
	return warnings
}

// ParseBuild parses the text of a [Build]. The attribution is not in it.
func ParseBuild(text string) Build {
	if name, ok := strings.CutSuffix(text, undated); ok {
		return Build{Name: name}
	}
	at := strings.LastIndexByte(text, ' ')
	if date, err := time.Parse(time.DateOnly, text[at+1:]); err == nil && at > 0 {
		return Build{Name: text[:at], Date: date}
	}
	return Build{Name: text}
}

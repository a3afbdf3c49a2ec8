package geo

import (
	"errors"
	"fmt"
	"net/netip"
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
	Networks  bool   // they have none, but the numbers of networks: it is one for [OpenNetworks]
	IPv6      bool   // it has IPv6 addresses beside those of IPv4
	Known     int    // percent of a spread of public IPv4 addresses that have a country, or the number of a network
}

// minKnown is the percentage of public IPv4 addresses with a country below which a database is
// odd: complete ones have more than four fifths.
const minKnown = 50

// Describe describes the database at path, also one without countries; the empty path is the
// embedded one. Its errors are those of [Open], but for [ErrNoCountries].
func Describe(path string) (Description, error) {
	if path == "" {
		db, err := Default()
		if err != nil {
			return Description{}, err
		}
		return describe(db), nil
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
	name := nameOf(path)
	db, err := openImage(image, name)
	if err == nil {
		return describe(db), nil
	}
	if !errors.Is(err, ErrNoCountries) {
		return d, err
	}
	reader, err := maxminddb.OpenBytes(image)
	if err != nil {
		return d, err
	}
	d = newDescription(reader, buildOf(reader.Metadata, name))
	if networks, err := openNetworks(image, name); err == nil {
		d.Networks, d.Known = true, percentOf(func(addr netip.Addr) bool { return networks.find(addr) != 0 })
	}
	return d, nil
}

func newDescription(reader *maxminddb.Reader, build Build) Description {
	d := Description{Build: build, IPv6: reader.Metadata.IPVersion == 6}
	if title := reader.Metadata.Description["en"]; presentable(title) {
		d.Title = title
	}
	return d
}

// describe describes a database of countries.
func describe(db *DB) Description {
	d := newDescription(db.reader, db.build)
	d.Countries, d.Known = true, percentOf(func(addr netip.Addr) bool {
		country, _, err := db.lookup(addr)
		return err == nil && country != Unknown
	})
	return d
}

// percentOf returns for how many public IPv4 addresses of a spread something is known, in percent.
func percentOf(isKnown func(netip.Addr) bool) int {
	public, known := 0, 0
	for i := range 1 << 16 {
		addr := netip.AddrFrom4([4]byte{byte(i >> 8), byte(i), byte(i * 151), byte(i * 29)})
		if !reserved.IsPublic(addr) {
			continue
		}
		public++
		if isKnown(addr) {
			known++
		}
	}
	return 100 * known / public
}

// Warnings returns what is odd about the database for counting by country.
func (d Description) Warnings(now time.Time) []string {
	switch {
	case d.Networks:
		return append([]string{d.Name + " has networks (ASN) and no countries: it is for --asn, and --geoip takes a Country database"}, d.Build.Warnings(now)...)
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
		warnings = append(warnings, fmt.Sprintf("%s is %d months old: addresses that moved since count for their old place; use a newer .mmdb file",
			b, now.Sub(b.Date)/month))
	}
	return warnings
}

// betweenBuilds stands between the texts of several builds.
const betweenBuilds = " + "

// JoinBuilds returns the text of all builds with which lines are counted.
func JoinBuilds(builds ...Build) string {
	texts := make([]string, len(builds))
	for i, b := range builds {
		texts[i] = b.String()
	}
	return strings.Join(texts, betweenBuilds)
}

// ParseBuilds parses the text of [JoinBuilds]. The attributions are not in it.
func ParseBuilds(text string) (builds []Build) {
	for part := range strings.SplitSeq(text, betweenBuilds) {
		builds = append(builds, ParseBuild(part))
	}
	return builds
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

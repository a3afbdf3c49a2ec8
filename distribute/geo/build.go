package geo

import (
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/oschwald/maxminddb-golang/v2"
)

// StaleAfter is the age above which a database is [Build.Stale]. Address blocks
// change hands every day: a database of a year ago still has the right
// country for most requests, and is wrong for enough of them to be worth a line.
const StaleAfter = 365 * 24 * time.Hour

const (
	maxNameBytes  = 64
	maxBuildEpoch = 253402300799 // The last second of the year 9999.
)

// Build is the identity of a database. It is comparable, and is stored beside
// results.
type Build struct {
	// Name is the type in the database's metadata, such as
	// "GeoLite2-Country". It is printable and short for every file.
	Name string
	// Date is the day (UTC, midnight) the database was built. It is zero if the
	// file does not say.
	Date time.Time
	// Attribution is the credit that must be shown with results. It is set for
	// the embedded database; for a file of the user's own it is empty, since
	// its terms are between the user and its maker.
	Attribution string
}

// undated follows the name of a database without a date.
const undated = " (undated)"

// String returns name and day, such as "geo-whois-asn-country 2026-06-17".
func (b Build) String() string {
	if b.Date.IsZero() {
		return b.Name + undated
	}
	return b.Name + " " + b.Date.Format(time.DateOnly)
}

// Stale reports whether the database is older than [StaleAfter] or undated. That is never
// an error: it would stop a run that is nearly right.
func (b Build) Stale(now time.Time) bool { return b.Date.IsZero() || now.Sub(b.Date) > StaleAfter }

// buildOf reads the metadata of a file, which is not to be trusted: fallback is
// the name for a file whose own is empty, long or not printable.
func buildOf(metadata maxminddb.Metadata, fallback string) Build {
	b := Build{Name: "unnamed"}
	for _, name := range []string{metadata.DatabaseType, fallback} {
		if presentable(name) {
			b.Name = name
			break
		}
	}
	if metadata.BuildEpoch > 0 && metadata.BuildEpoch <= maxBuildEpoch {
		b.Date = metadata.BuildTime().UTC().Truncate(24 * time.Hour)
	}
	return b
}

func presentable(name string) bool {
	if name == "" || len(name) > maxNameBytes || !utf8.ValidString(name) {
		return false
	}
	for _, r := range name {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

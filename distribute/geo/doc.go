// Package geo returns the country of an IP address.
//
//	db, err := geo.Default()            // embedded, or geo.Open("GeoLite2-Country.mmdb")
//	if err != nil {
//		return err
//	}
//	count[db.Country(addr).Index()]++
//
// # Databases
//
// [Default] is a database inside the program, so that counting works at once
// and without a download. It is frozen at its build date; its licence requires
// that [Attribution] is shown. [Open] reads a file of the user's own, in the MaxMind DB
// format (https://maxmind.github.io/MaxMind-DB/), of one of two schemas:
//
//	country.iso_code   GeoIP2, GeoLite2, DB-IP and what imitates them
//	country_code       ip-location-db
//
// [OpenNetworks] reads the numbers of autonomous systems (AS) from a file with
// autonomous_system_number, such as GeoLite2-ASN, or asn. None is embedded.
//
// # Promises
//
//   - The answer is the database's `country`, or [Unknown] (ZZ): for private,
//     invalid and unlisted addresses, and for records without a well-formed code.
//   - A broken file is an error when it is opened, as far as a spread of lookups
//     can tell. Damage met later makes the answer Unknown and is kept for
//     [DB.Err]. Nothing in a file makes this package panic.
//   - An old database is [Build.Stale], never an error.
//   - Lookups do not allocate, except to decode a record seen for the first
//     time (or crowded out of a bounded memo, in databases of cities).
//
// The embedded database is made by `go run ./distribute/geo/generate`.
package geo

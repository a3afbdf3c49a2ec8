package geo

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/oschwald/geoip2-golang/v2"
	"github.com/oschwald/maxminddb-golang/v2"
)

// Errors of [Open], to be matched with errors.Is.
var (
	// ErrNotDatabase: the file is something else, or its end is missing.
	ErrNotDatabase = errors.New("not a MaxMind DB file, or cut short: give the unpacked .mmdb file, or download it again")
	// ErrDamaged: the file is a database with broken content.
	ErrDamaged = errors.New("damaged database: download it again")
	// ErrNoCountries: the file is a sound database of something else.
	ErrNoCountries = errors.New("database without countries: give a Country or City database (records with country.iso_code or country_code)")
)

// maxFileBytes keeps a wrong path (a log, a disk image) from filling the memory.
const maxFileBytes = 1 << 30

// Open reads the database at path: any MaxMind-schema file with countries
// (GeoIP2, GeoLite2, DB-IP: Country, City, Enterprise) or one of the
// country_code schema of ip-location-db. It looks up a spread of addresses, so
// that a broken file is an error now ([ErrNotDatabase], [ErrDamaged],
// [ErrNoCountries], or one of package os) and not in the middle of a run.
//
// The file is read into memory rather than mapped: a mapped file that another process
// truncates or overwrites in place kills the process with SIGBUS. The price is
// its size in memory. A new file at the same path is seen by the next Open.
func Open(path string) (*DB, error) {
	if path == "" {
		return nil, errors.New("open country database: empty path")
	}
	db, err := openFile(path)
	if err != nil {
		return nil, fmt.Errorf("open country database %s: %w", path, err)
	}
	return db, nil
}

func openFile(path string) (*DB, error) {
	image, err := readDatabase(path)
	if err != nil {
		return nil, err
	}
	return openImage(image, nameOf(path))
}

// readDatabase reads a file that is not compressed.
func readDatabase(path string) ([]byte, error) {
	image, err := readImage(path)
	if err != nil {
		return nil, err
	}
	if format := compression(image); format != "" {
		return nil, fmt.Errorf("%s-compressed, unpack it first: %w", format, ErrNotDatabase)
	}
	return image, nil
}

// openImage takes the first schema by which the database has a country.
func openImage(image []byte, name string) (*DB, error) {
	reader, err := maxminddb.OpenBytes(image)
	if err != nil {
		return nil, fmt.Errorf("%w (%w)", ErrNotDatabase, err)
	}
	schemas, err := schemasOf(image)
	if err != nil {
		return nil, err
	}
	for _, s := range schemas {
		db := newDB(reader, name, s)
		if err = db.survey().run(); err == nil {
			return db, nil
		}
		if !errors.Is(err, ErrNoCountries) {
			break
		}
	}
	return nil, err
}

func readImage(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, withoutPath(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, withoutPath(err)
	}
	tooLarge := fmt.Errorf("larger than %d MiB: %w", maxFileBytes>>20, ErrNotDatabase)
	if info.Size() > maxFileBytes {
		return nil, tooLarge
	}
	var image bytes.Buffer
	image.Grow(int(info.Size()) + bytes.MinRead)
	// A pipe has no size, so the limit counts what is read too.
	n, err := image.ReadFrom(io.LimitReader(file, maxFileBytes+1))
	if err != nil {
		return nil, withoutPath(err)
	}
	if n > maxFileBytes {
		return nil, tooLarge
	}
	return image.Bytes(), nil
}

// withoutPath takes the path out of an error of package os, which Open names.
func withoutPath(err error) error {
	if where := (*fs.PathError)(nil); errors.As(err, &where) {
		return where.Err
	}
	return err
}

// compression names the format that databases are often downloaded in.
func compression(image []byte) string {
	for _, format := range []struct{ name, magic string }{
		{"gzip", "\x1f\x8b"},
		{"zstd", "\x28\xb5\x2f\xfd"},
		{"zip", "PK\x03\x04"},
	} {
		if bytes.HasPrefix(image, []byte(format.magic)) {
			return format.name
		}
	}
	return ""
}

// Attribution is the credit that the licence of the embedded database (CC BY
// 4.0) asks for. Show it wherever results or versions are shown.
const Attribution = "Country data: geo-whois-asn-country by ip-location-db, from data of the Number Resource Organization (nro.net), CC BY 4.0"

const embeddedName = "geo-whois-asn-country"

//go:embed data/geo-whois-asn-country.mmdb.zst
var embedded []byte

var openEmbedded = sync.OnceValues(func() (*DB, error) {
	image, err := unpackEmbedded()
	if err != nil {
		return nil, fmt.Errorf("unpack embedded country database: %w", err)
	}
	// No survey: the generator has checked the image and zstd its checksum.
	reader, err := maxminddb.OpenBytes(image)
	if err != nil {
		return nil, fmt.Errorf("open embedded country database: %w", err)
	}
	db := newDB(reader, embeddedName, flatSchema)
	db.build.Name = embeddedName // Its own is "country ipvAll".
	db.build.Attribution = Attribution
	return db, nil
})

// Default returns the embedded database: IPv4 and IPv6, frozen at the date of
// its [Build]. A process unpacks it on the first call (8 MB of memory, some
// 20 ms) and shares it after that. It fails only if the program was built wrong.
func Default() (*DB, error) { return openEmbedded() }

func unpackEmbedded() ([]byte, error) {
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer decoder.Close()
	return decoder.DecodeAll(embedded, nil)
}

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
// MaxMind and DB-IP; unknown files are recognised by their records.
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

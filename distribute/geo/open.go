package geo

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

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
// The file is read into memory rather than mapped: a mapped file that somebody
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
	image, err := readImage(path)
	if err != nil {
		return nil, err
	}
	if format := compression(image); format != "" {
		return nil, fmt.Errorf("%s-compressed, unpack it first: %w", format, ErrNotDatabase)
	}
	return openImage(image, strings.TrimSuffix(filepath.Base(path), ".mmdb"))
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
		if err = (&survey{db: db}).run(); err == nil {
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

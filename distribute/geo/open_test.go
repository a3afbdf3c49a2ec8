package geo

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/oschwald/geoip2-golang/v2"
	"github.com/oschwald/maxminddb-golang/v2"
)

const maxmindFile = "testdata/GeoIP2-Country-Test.mmdb"

func write(t testing.TB, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.mmdb")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestEveryNetworkOfMaxMindFileAnswersAsGeoip2Does(t *testing.T) {
	t.Parallel()
	db, err := Open(maxmindFile)
	if err != nil {
		t.Fatal(err)
	}
	reference, err := geoip2.Open(maxmindFile)
	if err != nil {
		t.Fatal(err)
	}
	defer reference.Close()
	checked := 0
	for network := range db.reader.Networks(maxminddb.IncludeNetworksWithoutData()) {
		addr := network.Prefix().Addr()
		if !addr.IsGlobalUnicast() || addr.IsPrivate() {
			continue
		}
		record, err := reference.Country(addr)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := db.Country(addr), countryOf(record.Country.ISOCode); got != want {
			t.Errorf("%s is in %s, want %s", network.Prefix(), got, want)
		}
		checked++
	}
	if checked < 300 {
		t.Errorf("compared %d networks only", checked)
	}
}

func TestOpenFindsTheSchemaByTypeOrRecords(t *testing.T) {
	t.Parallel()
	type networks = map[string]any
	for _, test := range []struct {
		name         string
		databaseType string
		ipVersion    uint16
		networks     map[string]any
		addr, want   string
	}{
		{"known type", "DBIP-Country-Lite", 6, networks{"2a00::/16": located("FR")}, "2a00::1", "FR"},
		{"unknown type of MaxMind schema", "My-Own", 6, networks{"5.0.0.0/8": located("FR")}, "5.6.7.8", "FR"},
		{"country_code", "country ipvAll", 6, networks{"5.0.0.0/8": flat("FR")}, "5.6.7.8", "FR"},
		{"country_code beside a country name", "lite", 6, networks{"5.0.0.0/8": map[string]any{"country": "France", "country_code": "FR"}}, "5.6.7.8", "FR"},
		{"one small network", "country", 4, networks{"5.6.7.8/32": flat("FR")}, "5.6.7.8", "FR"},
		{"address elsewhere", "country", 4, networks{"5.6.7.8/32": flat("FR")}, "5.6.7.9", "ZZ"},
		{"IPv6 address, IPv4 database", "country", 4, networks{"5.0.0.0/8": flat("FR")}, "2a00::1", "ZZ"},
		{"IPv4 address, database without IPv4", "country", 6, networks{"2a00::/16": flat("FR")}, "5.6.7.8", "ZZ"},
		{"private address in the database", "country", 4, networks{"5.0.0.0/8": flat("FR"), "10.0.0.0/8": flat("FR")}, "10.0.0.1", "ZZ"},
		{"registered country only", "GeoLite2-Country", 4, networks{"5.0.0.0/8": located("FR"),
			"6.0.0.0/8": map[string]any{"registered_country": map[string]any{"iso_code": "AU"}}}, "6.0.0.1", "ZZ"},
		{"lower-case code", "country", 4, networks{"5.0.0.0/8": flat("FR"), "6.0.0.0/8": flat("fr")}, "6.0.0.1", "ZZ"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			db, err := Open(write(t, image{databaseType: test.databaseType, ipVersion: test.ipVersion, networks: test.networks}.bytes(t)))
			if err != nil {
				t.Fatal(err)
			}
			if got := db.Country(netip.MustParseAddr(test.addr)).String(); got != test.want {
				t.Errorf("%s is in %s, want %s", test.addr, got, test.want)
			}
			if err := db.Err(); err != nil {
				t.Errorf("damage: %v", err)
			}
		})
	}
}

func TestOpenRefusesWhatIsNoCountryDatabase(t *testing.T) {
	t.Parallel()
	sound := image{databaseType: "country", ipVersion: 4, networks: map[string]any{"5.0.0.0/8": flat("FR")}}.bytes(t)
	var gzipped bytes.Buffer
	writer := gzip.NewWriter(&gzipped)
	_, _ = writer.Write(sound)
	_ = writer.Close()
	asn := image{databaseType: "GeoLite2-ASN", ipVersion: 4,
		networks: map[string]any{"5.0.0.0/8": map[string]any{"autonomous_system_number": uint16(7)}}}
	other := asn
	other.databaseType = "asn"
	number := image{databaseType: "country", ipVersion: 4,
		networks: map[string]any{"5.0.0.0/8": map[string]any{"country_code": uint16(7)}}}
	lone := image{databaseType: "country", ipVersion: 4, networks: map[string]any{"5.0.0.0/8": "FR"}}
	empty := image{databaseType: "country", ipVersion: 6, networks: map[string]any{}}
	badTree := bytes.Clone(sound)
	badTree[0], badTree[1], badTree[2] = 0xff, 0xff, 0xff // The root's left child.
	for _, test := range []struct {
		name    string
		content []byte
		want    error
		hint    string
	}{
		{"empty file", nil, ErrNotDatabase, "not a MaxMind DB file"},
		{"web page", []byte("<html>not found</html>"), ErrNotDatabase, "not a MaxMind DB file"},
		{"truncated", sound[:len(sound)/2], ErrNotDatabase, "cut short"},
		{"metadata cut", sound[:len(sound)-20], ErrNotDatabase, "cut short"},
		{"gzip", gzipped.Bytes(), ErrNotDatabase, "gzip-compressed, unpack it first"},
		{"broken tree", badTree, ErrDamaged, "download it again"},
		{"known type without countries", asn.bytes(t), ErrNoCountries, `type "GeoLite2-ASN"`},
		{"unknown type without countries", other.bytes(t), ErrNoCountries, `type "asn"`},
		{"country_code that is a number", number.bytes(t), ErrNoCountries, `type "country"`},
		{"records that are strings", lone.bytes(t), ErrNoCountries, `type "country"`},
		{"no networks", empty.bytes(t), ErrNoCountries, `type "country"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			path := write(t, test.content)
			_, err := Open(path)
			if !errors.Is(err, test.want) {
				t.Fatalf("error is %v, want %v", err, test.want)
			}
			for _, part := range []string{path, test.hint} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q lacks %q", err, part)
				}
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q has several lines", err)
			}
		})
	}
}

func TestOpenRefusesHugeFileWithoutReadingIt(t *testing.T) {
	t.Parallel()
	path := write(t, nil)
	if err := os.Truncate(path, maxFileBytes+1); err != nil { // Sparse: takes no space.
		t.Fatal(err)
	}
	if _, err := Open(path); !errors.Is(err, ErrNotDatabase) {
		t.Errorf("error is %v, want %v", err, ErrNotDatabase)
	}
}

func TestOpenNamesThePathOnceWhenItCannotRead(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "missing.mmdb")
	_, err := Open(missing)
	if !errors.Is(err, fs.ErrNotExist) || strings.Count(err.Error(), missing) != 1 {
		t.Errorf("missing file: %v", err)
	}
	folder := t.TempDir()
	if _, err := Open(folder); err == nil || strings.Count(err.Error(), folder) != 1 {
		t.Errorf("folder: %v", err)
	}
	if _, err := Open(""); err == nil {
		t.Error("empty path is no error")
	}
}

// FuzzOpen feeds the reader damaged files: whatever opens must answer every
// address without a panic, with a valid code. Its seeds are small: the fuzzer
// would spend its time on minimizing a real file.
func FuzzOpen(f *testing.F) {
	f.Add(image{databaseType: "country", ipVersion: 6, networks: map[string]any{
		"5.0.0.0/8": flat("FR"), "2a00::/16": flat("DE")}}.bytes(f), uint32(0x05060708))
	f.Add(image{databaseType: "own", ipVersion: 4, networks: map[string]any{
		"5.0.0.0/8": located("FR")}}.bytes(f), uint32(0x05060708))
	f.Fuzz(func(t *testing.T, file []byte, bits uint32) {
		db, err := openImage(file, "fuzz")
		if err != nil {
			return
		}
		for range 2 {
			if got := db.Country(ipv4(bits)); !got.valid() {
				t.Errorf("answer is %q", got)
			}
		}
		if name := db.Build().Name; !presentable(name) {
			t.Errorf("name is %q", name)
		}
	})
}

// FuzzOpenOneByte damages one byte of a real file, which mutation of whole files
// seldom does.
func FuzzOpenOneByte(f *testing.F) {
	maxmind, err := os.ReadFile(maxmindFile)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint16(0), byte(0xff), uint32(0x51024501))
	f.Add(uint16(len(maxmind)-1), byte(0xff), uint32(0x51024501))
	f.Fuzz(func(t *testing.T, at uint16, value byte, bits uint32) {
		file := append([]byte(nil), maxmind...)
		file[int(at)%len(file)] = value
		db, err := openImage(file, "fuzz")
		if err != nil {
			return
		}
		if got := db.Country(ipv4(bits)); !got.valid() {
			t.Errorf("answer is %q", got)
		}
	})
}

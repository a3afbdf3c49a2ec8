// Command generate makes the embedded country database of package geo: it
// fetches a pinned npm package, checks it, and writes the database in it,
// compressed with zstd. The output depends on the pins alone. Run it from the
// module's root:
//
//	go run ./distribute/geo/generate
//
// To move to another version, change the pins here and the version and date in
// data/NOTICE. It does not use package geo, which can't be built before the
// file exists.
package main

import (
	"context"
	"flag"
	"fmt"
	"net/netip"
	"path/filepath"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/oschwald/maxminddb-golang/v2"

	"skidway/internal/pinned"
)

const (
	member = "geo-whois-asn-country.mmdb"
	output = "geo-whois-asn-country.mmdb.zst"
)

var source = pinned.Package{
	Name:    "@ip-location-db/geo-whois-asn-country-mmdb",
	Version: "2.3.2026061719",
	SHA256:  "91757a1b06cdcd1955f292e4c4cfc54e091204f998e159a3187f7a2ef3724be0",
}

func main() {
	dir := flag.String("dir", filepath.FromSlash("distribute/geo/data"), "folder to write "+output+" to")
	pinned.Main(func(ctx context.Context) error { return generate(ctx, filepath.Join(*dir, output)) })
}

func generate(ctx context.Context, path string) error {
	files, err := source.Files(ctx, member)
	if err != nil {
		return err
	}
	image := files[0]
	built, err := check(image)
	if err != nil {
		return fmt.Errorf("check %s: %w", member, err)
	}
	packed, err := compress(image)
	if err != nil {
		return fmt.Errorf("compress %s: %w", member, err)
	}
	if err := pinned.Write(path, packed); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	fmt.Printf("%s: built %s, %d bytes, %d compressed\n", path, built.Format(time.DateOnly), len(image), len(packed))
	return nil
}

func compress(image []byte) ([]byte, error) {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer encoder.Close()
	return encoder.EncodeAll(image, nil), nil
}

// check looks up addresses whose country is not in doubt, and returns when the
// database was built.
func check(image []byte) (time.Time, error) {
	db, err := maxminddb.OpenBytes(image)
	if err != nil {
		return time.Time{}, err
	}
	for addr, want := range map[string]string{
		"8.8.8.8":              "US", // Google's resolver
		"2001:4860:4860::8888": "US",
		"193.0.6.139":          "NL", // RIPE NCC
		"2001:67c:2e8::1":      "NL",
		"133.11.0.1":           "JP", // University of Tokyo
		"200.160.2.3":          "BR", // NIC.br
		"10.0.0.1":             "",
	} {
		var code string
		if err := db.Lookup(netip.MustParseAddr(addr)).DecodePath(&code, "country_code"); err != nil {
			return time.Time{}, fmt.Errorf("look up %s: %w", addr, err)
		}
		if code != want {
			return time.Time{}, fmt.Errorf("%s is in %q, want %q", addr, code, want)
		}
	}
	return db.Metadata.BuildTime().UTC(), nil
}

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
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/oschwald/maxminddb-golang/v2"
)

const (
	packageName    = "@ip-location-db/geo-whois-asn-country-mmdb"
	packageVersion = "2.3.2026061719"
	packageSHA256  = "91757a1b06cdcd1955f292e4c4cfc54e091204f998e159a3187f7a2ef3724be0"
	member         = "package/geo-whois-asn-country.mmdb"
	output         = "geo-whois-asn-country.mmdb.zst"
	fetchTimeout   = 5 * time.Minute
)

func main() {
	dir := flag.String("dir", filepath.FromSlash("distribute/geo/data"), "folder to write "+output+" to")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := generate(ctx, filepath.Join(*dir, output)); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		stop()
		os.Exit(1)
	}
}

func generate(ctx context.Context, path string) error {
	archive, err := fetch(ctx)
	if err != nil {
		return fmt.Errorf("fetch %s@%s: %w", packageName, packageVersion, err)
	}
	image, err := extract(archive)
	if err != nil {
		return fmt.Errorf("extract %s: %w", member, err)
	}
	built, err := check(image)
	if err != nil {
		return fmt.Errorf("check %s: %w", member, err)
	}
	packed, err := compress(image)
	if err != nil {
		return fmt.Errorf("compress %s: %w", member, err)
	}
	if err := replace(path, packed); err != nil {
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

// replace puts content at path so that a crash leaves the old file or the new
// one: a synced temporary file beside it, renamed over it, the folder synced.
func replace(path string, content []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // Fails once it is renamed.
	defer file.Close()
	if _, err := file.Write(content); err != nil {
		return err
	}
	if err := file.Chmod(0o644); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// fetch downloads the pinned package with npm, from wherever the user's npm is
// set up to download, and checks that it is the one.
func fetch(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	dir, err := os.MkdirTemp("", "geo-generate-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	npm := exec.CommandContext(ctx, "npm", "pack", "--ignore-scripts", "--pack-destination", dir,
		packageName+"@"+packageVersion)
	npm.Dir = dir
	npm.Stderr = os.Stderr
	err = npm.Run()
	if errors.Is(err, exec.ErrNotFound) {
		return nil, fmt.Errorf("%w: install Node.js, which brings npm", err)
	}
	if err != nil {
		return nil, fmt.Errorf("npm pack: %w", err)
	}
	archives, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil || len(archives) != 1 {
		return nil, fmt.Errorf("npm pack left %d archives, want 1", len(archives))
	}
	archive, err := os.ReadFile(archives[0])
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(archive); hex.EncodeToString(sum[:]) != packageSHA256 {
		return nil, fmt.Errorf("sha256 is %x, want %s: the registry returned another file", sum, packageSHA256)
	}
	return archive, nil
}

// extract returns the database in the package.
func extract(archive []byte) ([]byte, error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, err
	}
	files := tar.NewReader(unzipped)
	for {
		header, err := files.Next()
		if err != nil {
			return nil, err
		}
		if header.Name == member {
			return io.ReadAll(files)
		}
	}
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

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/oschwald/maxminddb-golang/v2"
)

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
		return nil, fmt.Errorf("sha256 is %x, want %s: the registry gave another file", sum, packageSHA256)
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

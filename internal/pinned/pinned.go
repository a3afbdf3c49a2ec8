// Package pinned is for the generators of embedded data: it fetches files of pinned npm packages,
// and writes what was made of them.
package pinned

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
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"
)

// Main reads the flags of a generator, and runs it until it ends or is interrupted.
func Main(generate func(context.Context) error) {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := generate(ctx)
	if stop(); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// fetchTimeout bounds a download.
const fetchTimeout = 5 * time.Minute

// A Package is one version of an npm package; SHA256 is that of its archive, in hexadecimal.
type Package struct{ Name, Version, SHA256 string }

// Files downloads the package with npm, from the registry that the user's npm is set up for, checks
// its sum, and returns the named files in it ("LICENSE", not "package/LICENSE"), in their order.
func (p Package) Files(ctx context.Context, names ...string) ([][]byte, error) {
	archive, err := p.fetch(ctx)
	if err != nil {
		return nil, fmt.Errorf("fetch %s@%s: %w", p.Name, p.Version, err)
	}
	var files [][]byte
	for _, name := range names {
		file, err := extract(archive, "package/"+name)
		if err != nil {
			return nil, fmt.Errorf("extract %s of %s@%s: %w", name, p.Name, p.Version, err)
		}
		files = append(files, file)
	}
	return files, nil
}

func (p Package) fetch(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	dir, err := os.MkdirTemp("", "skidway-generate-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	npm := exec.CommandContext(ctx, "npm", "pack", "--ignore-scripts", "--pack-destination", dir, p.Name+"@"+p.Version)
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
	if sum := sha256.Sum256(archive); hex.EncodeToString(sum[:]) != p.SHA256 {
		return nil, fmt.Errorf("sha256 is %x, want %s: the registry returned another file", sum, p.SHA256)
	}
	return archive, nil
}

// extract returns a member of an archive.
func extract(archive []byte, member string) ([]byte, error) {
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

// Write puts content at path so that a crash leaves the old file or the new
// one: a synced temporary file beside it, renamed over it, the folder synced.
func Write(path string, content []byte) error {
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

package samplelog

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// blockSize is how many bytes of lines are made before they are handed on.
const blockSize = 256 << 10

// writeTo writes the next lines in large blocks.
func (g *generator) writeTo(w io.Writer, lines int) error {
	const longest = 4 << 10 // well above any line
	block := make([]byte, 0, blockSize+longest)
	for range lines {
		block = g.line(block)
		if len(block) >= blockSize {
			if _, err := w.Write(block); err != nil {
				return err
			}
			block = block[:0]
		}
	}
	_, err := w.Write(block)
	return err
}

// writeFile writes under a temporary name and renames when all is there.
func writeFile(path string, g *generator, lines int) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return fmt.Errorf("write sample log %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			_ = file.Close()
			_ = os.Remove(file.Name())
			err = fmt.Errorf("write sample log %s: %w", path, err)
		}
	}()
	if err := compress(file, filepath.Ext(path), g, lines); err != nil {
		return err
	}
	if err := errors.Join(file.Chmod(0o644), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// compress writes the next lines as files with the extension have them.
func compress(file io.Writer, extension string, g *generator, lines int) error {
	var to io.WriteCloser
	var err error
	switch extension {
	case ".gz":
		to, err = gzip.NewWriterLevel(file, gzip.DefaultCompression)
	case ".zst":
		// More than one encoder would cut the blocks by who is ready first.
		to, err = zstd.NewWriter(file, zstd.WithEncoderConcurrency(1))
	default:
		return g.writeTo(file, lines)
	}
	if err != nil {
		return err
	}
	return errors.Join(g.writeTo(to, lines), to.Close())
}

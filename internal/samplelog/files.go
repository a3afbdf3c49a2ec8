package samplelog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Write makes log files in the folder dir, which it creates if it is missing,
// and returns their paths, newest first. The lines continue from file to file,
// from the oldest to the newest. A file that exists is never overwritten: then
// nothing is written, and the error is an [fs.ErrExist]. A file is complete
// when it has its name. After an error, the paths are those of the files
// that were finished.
func Write(dir string, o Options) ([]string, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("write sample logs: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("write sample logs: %w", err)
	}
	paths := make([]string, min(o.Files, o.Lines))
	for i := range paths {
		paths[i] = filepath.Join(dir, fileName(i))
		if err := refuseExisting(paths[i]); err != nil {
			return nil, err
		}
	}
	g := newGenerator(o)
	for i := len(paths) - 1; i >= 0; i-- {
		// Files share the lines evenly: the first i files that are still to
		// come get what is left.
		lines := o.Lines*(len(paths)-i)/len(paths) - int(g.next)
		if err := writeFile(paths[i], g, lines); err != nil {
			return paths[i+1:], err
		}
	}
	return paths, nil
}

// WriteFile makes one log file. The extension of its name chooses the compression:
// .gz, .zst, or else none. It does not overwrite a file that exists: the error is
// an [fs.ErrExist].
func WriteFile(path string, o Options) error {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return fmt.Errorf("write sample log %s: %w", path, err)
	}
	if err := refuseExisting(path); err != nil {
		return err
	}
	return writeFile(path, newGenerator(o), o.Lines)
}

// Lines writes the lines to w.
func Lines(w io.Writer, o Options) error {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return fmt.Errorf("write sample lines: %w", err)
	}
	return newGenerator(o).writeTo(w, o.Lines)
}

func fileName(i int) string {
	name := "access.log"
	if i > 0 {
		name += "." + strconv.Itoa(i)
	}
	switch {
	case i < 2:
		return name
	case i%2 == 0:
		return name + ".gz"
	}
	return name + ".zst"
}

func refuseExisting(path string) error {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("write sample log %s: %w: choose a folder without logs, or remove it first", path, fs.ErrExist)
	}
	return nil
}

// blockSize is the number of bytes of lines that are made before they are written.
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

// compress writes the next lines with the compression of a file extension.
func compress(file io.Writer, extension string, g *generator, lines int) error {
	var to io.WriteCloser
	var err error
	switch extension {
	case ".gz":
		to, err = gzip.NewWriterLevel(file, gzip.DefaultCompression)
	case ".zst":
		// With more than one encoder the blocks would depend on their timing.
		to, err = zstd.NewWriter(file, zstd.WithEncoderConcurrency(1))
	default:
		return g.writeTo(file, lines)
	}
	if err != nil {
		return err
	}
	return errors.Join(g.writeTo(to, lines), to.Close())
}

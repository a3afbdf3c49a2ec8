package samplelog

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// Write makes log files in the folder dir, which it creates if it is missing,
// and returns their paths, newest first. The lines go on from file to file,
// from the oldest to the newest. A file that exists is never overwritten: then
// nothing is written, and the error is an [fs.ErrExist]. A file is complete
// when it has its name. After an error, the paths are those of the files
// that were finished.
func Write(dir string, o Options) ([]string, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("write sample logs: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("write sample logs: %w", err)
	}
	paths := make([]string, o.Files)
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

// WriteFile makes one log file. It is compressed as its name says: .gz, .zst,
// or else not at all. It does not overwrite a file that exists: that is an
// [fs.ErrExist].
func WriteFile(path string, o Options) error {
	o, err := o.withDefaults()
	if err != nil {
		return fmt.Errorf("write sample log %s: %w", path, err)
	}
	if err := refuseExisting(path); err != nil {
		return err
	}
	return writeFile(path, newGenerator(o), o.Lines)
}

// Lines writes the lines to w.
func Lines(w io.Writer, o Options) error {
	o, err := o.withDefaults()
	if err != nil {
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

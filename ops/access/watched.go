package access

import (
	"io/fs"
	"log/slog"
	"os"
	"time"
)

// How often files are looked at, and how often is logged that they are refused.
const (
	filesChecked = time.Second
	filesRefused = time.Minute
)

// A watched is a file, and others that it names, which are read again when one of them has
// changed. If they can't be read, that is logged, and what was read before stays. It is for one
// goroutine at a time.
type watched struct {
	what   string // that the file has: "users"
	path   string
	logger *slog.Logger
	now    func() time.Time

	// read reads the files and keeps what they have, unless one is refused. It returns all of them,
	// with nil for those that are missing, also with an error.
	read func() (map[string]fs.FileInfo, error)

	files         map[string]fs.FileInfo // as they were read last
	checked, said time.Time              // when they were looked at, and when the refusal was logged
	refused       error                  // nil if what they have is known
}

// open reads the files for the first time.
func (w *watched) open() (err error) {
	w.checked = w.now()
	w.files, err = w.read()
	return err
}

// refresh reads the files again if one of them has changed, and it has not been looked at for 1 s.
func (w *watched) refresh() {
	now := w.now()
	if now.Sub(w.checked) < filesChecked {
		return
	}
	w.checked = now
	changed, missing := false, false
	for path, before := range w.files {
		info, err := os.Stat(path)
		missing = missing || err != nil
		changed = changed || err == nil && !sameFile(info, before)
	}
	if changed {
		w.said = time.Time{} // other files
	}
	if changed || missing {
		w.files, w.refused = w.read()
		if w.refused == nil {
			w.logger.Info("the file of "+w.what+" was read again", "file", w.path)
		}
	}
	if w.refused != nil && w.checked.Sub(w.said) >= filesRefused {
		w.said = w.checked
		w.logger.Error("the file of "+w.what+" can't be read: the "+w.what+" stay as they were", "file", w.path, "error", w.refused)
	}
}

// sameFile reports whether a file has not changed.
func sameFile(a, b fs.FileInfo) bool {
	return b != nil && os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size() && a.Mode() == b.Mode()
}

package stream

import (
	"archive/tar"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"strings"
	"time"
)

// ErrArchive is the error for an archive where a file is expected.
var ErrArchive = errors.New("it is an archive")

// MemberSeparator is between the path of an archive and the name of a member.
const MemberSeparator = "!"

// Bounds on archives.
const (
	maxMembers   = 100_000
	maxName      = 4096
	maxDirectory = 24 << 20 // bytes of a zip archive's directory
	maxPadding   = 16 << 20 // bytes that are read behind the end of a tar archive
)

// Members chooses the members of archives that are sources. The zero value is ready to use.
type Members struct {
	Hidden bool // take those whose name, or whose folder's name, begins with a dot, too

	// Skip returns the reason for which a member is left out by its name; empty: it is taken.
	// Nil takes all.
	Skip func(name string) (reason string)

	// SkipContent is Skip for a file or a member by its path and what its content begins with.
	// A stream is never left out.
	SkipContent func(path string, head []byte) (reason string)
}

// pass passes on a source that was opened, unless it is left out by its content.
func (m Members) pass(s *Source, yield func(*Source, error) bool) bool {
	if m.SkipContent != nil {
		if reason := m.SkipContent(s.Path, s.Head); reason != "" {
			return yield(&Source{Path: s.Path, Size: s.Size}, &SkippedError{reason})
		}
	}
	return yield(s, nil)
}

// A SkippedError is the error for a file or a member that [Members] leaves out.
type SkippedError struct{ Reason string }

func (e *SkippedError) Error() string { return "left out: " + e.Reason }

// Sources returns the sources of a file that open opens: the file itself, or the members of an
// archive (tar, in any compression, or zip), in their order. Members are named ARCHIVE!MEMBER. A
// source is open until the next one is requested, unless its error is set: then only its path is,
// and the error concerns this member, or the whole file if the path is that of the file.
// Directories, links and members that are not chosen are left out.
func Sources(path string, open func() (Object, error), members Members, options Decoding) iter.Seq2[*Source, error] {
	return func(yield func(*Source, error) bool) {
		file, err := open()
		if err != nil {
			yield(&Source{Path: path}, err)
			return
		}
		sourcesOf(path, file, members, options, yield)
	}
}

func sourcesOf(path string, file Object, members Members, options Decoding, yield func(*Source, error) bool) {
	if pipe, ok := file.(*Pipe); ok {
		passStream(path, pipe, options, yield)
		return
	}
	watched := &watchedObject{Object: file, left: -1}
	s, err := newSource(path, watched, options)
	if err == nil {
		err = s.readHead()
	}
	defer s.Close()
	switch {
	case errors.Is(err, ErrArchive):
		a := archive{Source: s, file: watched, chosen: members, yield: yield}
		if err := a.each(); err != nil && !errors.Is(err, errEnough) {
			yield(&Source{Path: path, Size: s.Size}, err)
		}
	case err != nil:
		yield(&Source{Path: path, Size: s.Size}, err)
	default:
		members.pass(s, yield)
	}
}

// errEnough is returned when no more sources are requested.
var errEnough = errors.New("enough")

// An archive passes on its members.
type archive struct {
	*Source
	file    *watchedObject // of the source
	chosen  Members
	yield   func(*Source, error) bool
	members int
	content int64 // bytes of the members that were read
}

func (a *archive) each() (err error) {
	if a.Codec == "" {
		err = a.eachOfZip()
	} else {
		err = a.eachOfTar()
	}
	if err == nil {
		err = a.CheckUnchanged()
	}
	if err == nil && a.members == 0 {
		err = ErrEmpty
	}
	return err
}

func (a *archive) eachOfTar() error {
	inflated, err := a.Packed.Inflate(a.raw(0), a.options)
	if err != nil {
		return err
	}
	defer func() { _ = inflated.Close() }()
	content := &nulCounter{r: inflated}
	archive := tar.NewReader(content)
	member := memberReader{archive, "tar", a}
	for sparse := false; ; {
		if !sparse { // a hole has no bytes in the archive
			if _, err := io.Copy(io.Discard, archive); err != nil {
				return a.damaged("tar", err)
			}
		}
		content.nuls = 0 // a member may end with some
		header, err := archive.Next()
		switch {
		case err == io.EOF && content.nuls < tarHeader: // a block of NULs ends an archive
			return a.damaged("tar", io.ErrUnexpectedEOF)
		case err == io.EOF:
			return a.verifyEnd(content)
		case err != nil:
			return a.damaged("tar", err)
		}
		sparse = isSparse(header)
		if header.Typeflag != tar.TypeReg && header.Typeflag != tar.TypeGNUSparse {
			continue
		}
		taken, err := a.take(header.Name)
		if taken {
			err = a.pass(header.Name, header.ModTime, header.Size, member)
		}
		if err != nil {
			return err
		}
	}
}

// isSparse reports whether a member may have holes.
func isSparse(header *tar.Header) bool {
	records := header.PAXRecords
	return header.Typeflag == tar.TypeGNUSparse || records["GNU.sparse.major"] != "" || records["GNU.sparse.map"] != ""
}

// verifyEnd reads what is behind a tar archive, where the check sum is of what it is compressed
// with.
func (a *archive) verifyEnd(content io.Reader) error {
	if _, err := io.CopyN(io.Discard, content, maxPadding); err != nil && err != io.EOF {
		return a.damaged("tar", err)
	}
	return nil
}

// A nulCounter counts the NUL bytes at the end of what was read.
type nulCounter struct {
	r    io.Reader
	nuls int64
}

func (c *nulCounter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	others := len(bytes.TrimRight(p[:n], "\x00"))
	if others > 0 {
		c.nuls = 0
	}
	c.nuls += int64(n - others)
	return n, err
}

// pass passes on the source of a member, whose bytes are content.
func (a *archive) pass(name string, modified time.Time, size int64, content io.Reader) error {
	s := &Source{Path: a.Path + MemberSeparator + name, Size: size, modified: modified, options: a.options}
	err := s.readMember(content)
	if errors.Is(err, ErrArchive) {
		err = &UnsupportedCompressionError{"an archive in an archive"}
	}
	if err != nil {
		return a.fail(name, err)
	}
	defer s.Close()
	if !a.chosen.pass(s, a.yield) {
		return errEnough
	}
	return checkRatio(a.Size, a.content)
}

// fail passes on the error of a member.
func (a *archive) fail(name string, err error) error {
	if !a.yield(&Source{Path: a.Path + MemberSeparator + name}, err) {
		return errEnough
	}
	return nil
}

// readMember finds out how a member, or a stream, is compressed, and reads its head.
func (s *Source) readMember(member io.Reader) error {
	buffered := bufio.NewReaderSize(member, 4<<10)
	start, err := buffered.Peek(4 << 10)
	if withoutEOF(err) != nil && !s.keeps(start) {
		return err
	}
	if len(start) == 0 {
		return ErrEmpty
	}
	if s.Packed, err = Sniff(start, s.Path); err != nil {
		return err
	}
	if isZip(start) {
		return ErrArchive
	}
	if s.Codec = Zstd; s.IsStream() {
		s.Codec = s.Packed
	}
	content, err := s.Packed.Inflate(buffered, s.options)
	if err != nil {
		return err
	}
	return s.begin(content)
}

// take counts a member that is not hidden, and reports whether it is to be read, by its name.
// It passes on those that are skipped.
func (a *archive) take(name string) (bool, error) {
	if name == "" || strings.HasSuffix(name, "/") || !a.chosen.Hidden && isHidden(name) {
		return false, nil
	}
	if a.members++; a.members > maxMembers {
		return false, fmt.Errorf("more than %d members: those behind are not read", maxMembers)
	}
	if len(name) > maxName {
		return false, a.fail(name[:100]+"…", fmt.Errorf("its name is longer than %d bytes", maxName))
	}
	if a.chosen.Skip == nil {
		return true, nil
	}
	reason := a.chosen.Skip(name)
	if reason == "" {
		return true, nil
	}
	return false, a.fail(name, &SkippedError{reason})
}

// isHidden reports whether a name, or that of a folder in it, begins with a dot.
func isHidden(name string) bool {
	for element := range strings.SplitSeq(path.Clean(name), "/") {
		if strings.HasPrefix(element, ".") && element != "." && element != ".." {
			return true
		}
	}
	return false
}

// A memberReader reads the bytes of a member. It bounds the sum of all members, and returns
// damage of the archive as such.
type memberReader struct {
	r       io.Reader
	format  string
	archive *archive
}

func (m memberReader) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.archive.content += int64(n)
	if err == nil {
		err = checkRatio(m.archive.Size, m.archive.content)
	}
	if err != nil && err != io.EOF {
		err = m.archive.damaged(m.format, err)
	}
	return n, err
}

// damaged returns an error of an archive, as damage unless it is one of reading the file.
func (a *archive) damaged(format string, err error) error {
	switch {
	case a.file.err != nil:
		return a.file.err
	case IsDamage(err):
		return err
	case err == io.EOF:
		err = io.ErrUnexpectedEOF
	}
	return &CorruptError{format, err}
}

// tarHeader is the number of bytes of the header of a member in a tar archive.
const tarHeader = 512

// isTar reports whether the bytes begin with the header of a tar archive: one whose checksum
// is right (POSIX.1-2024, pax, "ustar Interchange Format").
func isTar(start []byte) bool {
	const at, end = 148, 156 // of the checksum
	if len(start) < tarHeader || start[0] == 0 {
		return false
	}
	var sum, want int64
	for i, b := range start[:tarHeader] {
		if i >= at && i < end {
			b = ' '
		}
		sum += int64(b)
	}
	digits := bytes.Trim(start[at:end], " \x00")
	for _, d := range digits {
		if d < '0' || d > '7' {
			return false
		}
		want = want*8 + int64(d-'0')
	}
	return len(digits) > 0 && sum == want
}

package inflate_test

import (
	"bytes"
	stdgzip "compress/gzip"
	"fmt"
	"io"
	"testing"

	"github.com/klauspost/compress/gzip"

	"skidway/distribute/stream/inflate"
	"skidway/internal/samplelog"
)

// One operation is a file of about 20 MB of log lines; MB/s is of content.
func BenchmarkReaders(b *testing.B) {
	var lines bytes.Buffer
	if err := samplelog.Lines(&lines, samplelog.Options{Lines: 100_000, Seed: 1}); err != nil {
		b.Fatal(err)
	}
	for _, level := range []int{1, 6} {
		var packed bytes.Buffer
		w, err := stdgzip.NewWriterLevel(&packed, level)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := w.Write(lines.Bytes()); err != nil {
			b.Fatal(err)
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
		for name, open := range map[string]func(io.Reader) (io.Reader, error){
			"inflate":       func(r io.Reader) (io.Reader, error) { return inflate.NewReader(r) },
			"klauspost":     func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
			"compress/gzip": func(r io.Reader) (io.Reader, error) { return stdgzip.NewReader(r) },
		} {
			b.Run(fmt.Sprintf("level %d/%s", level, name), func(b *testing.B) {
				b.SetBytes(int64(lines.Len()))
				for b.Loop() {
					r, err := open(bytes.NewReader(packed.Bytes()))
					if err != nil {
						b.Fatal(err)
					}
					if n, err := io.Copy(io.Discard, r); n != int64(lines.Len()) || err != nil {
						b.Fatalf("%d bytes, %v", n, err)
					}
				}
			})
		}
	}
}

// One operation is a file of about 20 MB of log lines in members of 64 KB, as bgzip makes them.
func BenchmarkMembers(b *testing.B) {
	var lines bytes.Buffer
	if err := samplelog.Lines(&lines, samplelog.Options{Lines: 100_000, Seed: 1}); err != nil {
		b.Fatal(err)
	}
	packed := blocks(b, lines.Bytes(), 65_280)
	for _, parallel := range []bool{false, true} {
		b.Run(fmt.Sprintf("parallel=%v", parallel), func(b *testing.B) {
			b.SetBytes(int64(lines.Len()))
			for b.Loop() {
				r, err := inflate.NewReader(bytes.NewReader(packed))
				if err != nil {
					b.Fatal(err)
				}
				r.SetIdle(func() bool { return parallel })
				if n, err := r.WriteTo(io.Discard); n != int64(lines.Len()) || err != nil {
					b.Fatalf("%d bytes, %v", n, err)
				}
			}
		})
	}
}

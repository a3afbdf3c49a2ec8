package stream_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/gzip"

	"skidway/distribute/stream"
)

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// splitterWriter passes blocks to a Splitter.
type splitterWriter struct{ *stream.Splitter }

func (w splitterWriter) Write(block []byte) (int, error) {
	w.Split(block)
	return len(block), nil
}

// A compressed file is cut into pieces, fetched again, decompressed and split into
// lines.
func Example() {
	folder, err := os.MkdirTemp("", "example")
	must(err)
	defer func() { _ = os.RemoveAll(folder) }()
	path := filepath.Join(folder, "access.log.gz")
	file, err := os.Create(path)
	must(err)
	compressed := gzip.NewWriter(file)
	_, err = compressed.Write([]byte("8.8.8.8 2026-11-01 a\n8.8.4.4 2026-11-02 b\n"))
	must(err)
	must(compressed.Close())
	must(file.Close())

	source, err := stream.OpenSource(path, stream.Decoding{})
	must(err)
	defer source.Close()
	var stored []byte
	must(source.Pieces(0, stream.SegmentSize, func(piece []byte) error {
		stored = append(stored, piece...)
		return nil
	}))
	must(source.CheckUnchanged())

	content := stream.Prefetch(context.Background(), 0, func(_ context.Context, position int64, buffer []byte) ([]byte, error) {
		if position == int64(len(stored)) {
			return nil, io.EOF
		}
		return buffer[:copy(buffer, stored[position:])], nil
	})
	defer content.Close()
	splitter := stream.NewSplitter(0, func(line []byte) { fmt.Printf("%s\n", line) })
	must(source.Codec.CopyContent(splitterWriter{splitter}, content, stream.Checkpoint{}, stream.Decoding{}))
	fmt.Println(source.Codec, splitter.Offset(), "bytes")
	// Output:
	// 8.8.8.8 2026-11-01 a
	// 8.8.4.4 2026-11-02 b
	// gzip 42 bytes
}

func ExampleSplitter() {
	splitter := stream.NewSplitter(0, func(line []byte) { fmt.Printf("%q\n", line) })
	splitter.Split([]byte("one\ntw"))
	splitter.Split([]byte("o\nthr"))
	tail, size, _ := splitter.Tail()
	fmt.Printf("%q %d, continue at %d\n", tail, size, splitter.Resume())
	// Output:
	// "one"
	// "two"
	// "thr" 3, continue at 8
}

func ExampleSniff() {
	codec, err := stream.Sniff([]byte("\x1f\x8b\x08"), "access.log.1")
	fmt.Println(codec, err)
	_, err = stream.Sniff([]byte("7z\xbc\xaf\x27\x1c"), "logs.7z")
	fmt.Println(err)
	// Output:
	// gzip <nil>
	// a 7z archive is not supported: convert it to plain lines, or compress these with gzip or zstd
}

func ExampleListFiles() {
	folder, err := os.MkdirTemp("", "example")
	must(err)
	defer func() { _ = os.RemoveAll(folder) }()
	must(os.Mkdir(filepath.Join(folder, "old"), 0o700))
	for _, name := range []string{"access.log", "old/access.log.1.gz", ".hidden"} {
		must(os.WriteFile(filepath.Join(folder, name), []byte("x"), 0o600))
	}
	list := stream.ListFiles([]string{folder, filepath.Join(folder, "missing")}, stream.ListOptions{})
	for _, file := range list.Files {
		name, _ := filepath.Rel(folder, file)
		fmt.Println(name)
	}
	for _, problem := range list.Problems {
		fmt.Println(filepath.Base(problem.Path)+":", problem.Err)
	}
	// Output:
	// access.log
	// old/access.log.1.gz
	// missing: no such file or directory
}

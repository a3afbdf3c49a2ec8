package distribute_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/klauspost/compress/gzip"

	"skidway/distribute"
	"skidway/internal/redistest"
	"skidway/internal/samplelog"
)

// benchLines is how many lines each file of a benchmark has.
const benchLines = 500_000

// benchFiles writes gzip files of benchLines Combined lines, once for all
// benchmarks.
var benchFiles = sync.OnceValues(func() ([]string, error) {
	folder, err := os.MkdirTemp("", "skidway-bench-")
	if err != nil {
		return nil, err
	}
	var files []string
	for i := range 4 {
		path := filepath.Join(folder, strconv.Itoa(i)+".gz")
		if err := samplelog.WriteFile(path, samplelog.Options{Lines: benchLines, Seed: uint64(i)}); err != nil {
			return nil, err
		}
		files = append(files, path)
	}
	return files, nil
})

func sampleFiles(b *testing.B, n int) []string {
	files, err := benchFiles()
	if err != nil {
		b.Fatal(err)
	}
	return files[:n]
}

// BenchmarkInflate only decompresses, a file in each goroutine: what the others
// are to be compared with.
func BenchmarkInflate(b *testing.B) {
	for _, n := range []int{1, 4} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			files := sampleFiles(b, n)
			for b.Loop() {
				var wait sync.WaitGroup
				for _, path := range files {
					wait.Go(func() {
						if err := inflate(path); err != nil {
							b.Error(err)
						}
					})
				}
				wait.Wait()
			}
			linesPerSecond(b, n)
		})
	}
}

func inflate(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	content, err := gzip.NewReader(bufio.NewReaderSize(file, 256<<10))
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, content)
	return err
}

// BenchmarkBatch ships and counts through a real Redis.
func BenchmarkBatch(b *testing.B) {
	for _, n := range []int{1, 4} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			files := sampleFiles(b, n)
			db, aggregation := redistest.DB(b), countryDay(b)
			for b.Loop() {
				if _, err := distribute.NewBatch(db, aggregation, distribute.BatchConfig{}).Run(context.Background(), files); err != nil {
					b.Fatal(err)
				}
			}
			linesPerSecond(b, n)
		})
	}
}

func linesPerSecond(b *testing.B, files int) {
	b.ReportMetric(float64(files*benchLines*b.N)/b.Elapsed().Seconds(), "lines/s")
}

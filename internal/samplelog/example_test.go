package samplelog_test

import (
	"fmt"
	"os"
	"path/filepath"

	"skidway/internal/samplelog"
)

func ExampleWrite() {
	dir, err := os.MkdirTemp("", "logs")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()

	paths, err := samplelog.Write(dir, samplelog.Options{Lines: 1000, Seed: 42})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, path := range paths {
		fmt.Println(filepath.Base(path))
	}
	// Output:
	// access.log
	// access.log.1
	// access.log.2.gz
	// access.log.3.zst
}

func ExampleWriteFile() {
	path := filepath.Join(os.TempDir(), fmt.Sprintf("skidway-example-%d.log.gz", os.Getpid()))
	defer func() { _ = os.Remove(path) }()
	fmt.Println(samplelog.WriteFile(path, samplelog.Options{Lines: 1000}))
	// Output: <nil>
}

func ExampleLines() {
	if err := samplelog.Lines(os.Stdout, samplelog.Options{Lines: 2}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 181.13.219.74 - - [02/Mar/2026:00:00:00 +0000] "GET /img/products/45_400.webp HTTP/2.0" 200 40470 "https://shop.example.org/" "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:147.0) Gecko/20100101 Firefox/147.0"
	// 113.185.3.76 - - [03/Mar/2026:14:53:47 +0000] "GET /assets/app-9f3c1e7b.css HTTP/2.0" 304 0 "https://shop.example.org/search?q=winter+jacket&page=1" "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:147.0) Gecko/20100101 Firefox/147.0"
}

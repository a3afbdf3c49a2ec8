package samplelog_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"skidway/internal/samplelog"
)

func TestFilesTogetherAreTheLines(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "made", "here")
	o := samplelog.Options{Lines: 10_001, Files: 5, Seed: 3}
	paths, err := samplelog.Write(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	var together string
	for _, path := range paths {
		names = append(names, filepath.Base(path))
		together = readLog(t, path) + together
	}
	want := []string{"access.log", "access.log.1", "access.log.2.gz", "access.log.3.zst", "access.log.4.gz"}
	if !slices.Equal(names, want) {
		t.Errorf("files are %v, want %v", names, want)
	}
	if together != strings.Join(lines(t, o), "") {
		t.Error("the files from the oldest to the newest are not the lines")
	}
	for _, path := range paths {
		if n := strings.Count(readLog(t, path), "\n"); n < 2_000 || n > 2_001 {
			t.Errorf("%s has %d lines, want a fifth of 10,001", path, n)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != len(paths) {
		t.Errorf("the folder holds %v (%v), want the logs alone", left, err)
	}
}

func TestFileIsCompressedByItsName(t *testing.T) {
	t.Parallel()
	o := samplelog.Options{Lines: 20_000}
	want := strings.Join(lines(t, o), "")
	for _, name := range []string{"a.log", "a.log.gz", "a.log.zst"} {
		path := filepath.Join(t.TempDir(), name)
		if err := samplelog.WriteFile(path, o); err != nil {
			t.Fatal(err)
		}
		if readLog(t, path) != want {
			t.Errorf("%s does not hold the lines", name)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		ratio := float64(len(want)) / float64(info.Size())
		if filepath.Ext(name) != ".log" && (ratio < 7 || ratio > 13) {
			t.Errorf("%s is %.1f times smaller than its lines, unlike real logs", name, ratio)
		}
	}
}

func TestExistingFilesAreNotOverwritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "access.log.3.zst")
	if err := os.WriteFile(path, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := samplelog.Write(dir, samplelog.Options{Lines: 10})
	if !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("Write: the error is %v, want one that names %s", err, path)
	}
	if err := samplelog.WriteFile(path, samplelog.Options{Lines: 10}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("WriteFile: the error is %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %v (%v) after the refusal", entries, err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "mine" {
		t.Errorf("the file holds %q (%v)", text, err)
	}
}

func TestThereAreNeverMoreFilesThanLines(t *testing.T) {
	t.Parallel()
	paths, err := samplelog.Write(t.TempDir(), samplelog.Options{Lines: 2})
	if err != nil || len(paths) != 2 {
		t.Fatalf("2 lines made %v (%v)", paths, err)
	}
}

func readLog(t *testing.T, path string) string {
	t.Helper()
	packed, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var text io.Reader = bytes.NewReader(packed)
	switch filepath.Ext(path) {
	case ".gz":
		text, err = gzip.NewReader(text)
	case ".zst":
		text, err = zstd.NewReader(text, zstd.WithDecoderConcurrency(1))
	}
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(text)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return string(plain)
}

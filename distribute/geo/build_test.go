package geo

import (
	"strings"
	"testing"
	"time"

	"github.com/oschwald/maxminddb-golang/v2"
)

func TestBuildIsPrintableWhateverTheFileSays(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name         string
		databaseType string
		epoch        uint
		want         string
	}{
		{"ordinary", "GeoLite2-Country", 1770245369, "GeoLite2-Country 2026-02-04"},
		{"no type", "", 1770245369, "file 2026-02-04"},
		{"terminal escape", "\x1b[2J", 1770245369, "file 2026-02-04"},
		{"not UTF-8", "\xff\xfe", 1770245369, "file 2026-02-04"},
		{"long", strings.Repeat("x", 65), 1770245369, "file 2026-02-04"},
		{"no date", "GeoLite2-Country", 0, "GeoLite2-Country (undated)"},
		{"impossible date", "GeoLite2-Country", 1 << 63, "GeoLite2-Country (undated)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			metadata := maxminddb.Metadata{DatabaseType: test.databaseType, BuildEpoch: test.epoch}
			if got := buildOf(metadata, "file").String(); got != test.want {
				t.Errorf("build is %q, want %q", got, test.want)
			}
		})
	}
}

func TestOldDatabaseWarnsAndNewOneDoesNot(t *testing.T) {
	t.Parallel()
	built := time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)
	db := &DB{build: Build{Name: "X-Country", Date: built}}
	for _, age := range []time.Duration{-48 * time.Hour, 0, StaleAfter} {
		if got := db.Warning(built.Add(age)); got != "" {
			t.Errorf("after %v: %q, want no warning", age, got)
		}
	}
	got := db.Warning(built.Add(2 * StaleAfter))
	if !strings.Contains(got, "X-Country 2024-03-01 is 24 months old") {
		t.Errorf("after two years: %q", got)
	}
}

func TestUndatedDatabaseWarns(t *testing.T) {
	t.Parallel()
	db := &DB{build: Build{Name: "X-Country"}}
	if got := db.Warning(time.Now()); !strings.Contains(got, "X-Country does not say when it was built") {
		t.Errorf("warning is %q", got)
	}
}

func TestBuildOfFileWithoutPresentableNameIsUnnamed(t *testing.T) {
	t.Parallel()
	if got, want := buildOf(maxminddb.Metadata{}, "\x1b[2J").String(), "unnamed (undated)"; got != want {
		t.Errorf("build is %q, want %q", got, want)
	}
}

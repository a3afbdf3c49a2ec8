package geo

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestDescriptionWarnsOfWhatIsOdd(t *testing.T) {
	t.Parallel()
	built := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	file := func(databaseType string, record any) image {
		return image{databaseType: databaseType, buildEpoch: uint64(built.Unix()), ipVersion: 4, networks: map[string]any{"0.0.0.0/1": record, "128.0.0.0/1": record}}
	}
	part := file("Country", flat("DE"))
	part.networks = map[string]any{"8.8.0.0/16": flat("DE")}
	for name, test := range map[string]struct {
		image image
		age   time.Duration
		want  []string // parts of the warnings
	}{
		"country":      {file("GeoLite2-Country", located("DE")), 0, nil},
		"city":         {file("GeoLite2-City", located("DE")), 0, []string{"GeoLite2-City has cities"}},
		"networks":     {file("GeoLite2-ASN", numbered(1)), 2 * StaleAfter, []string{"networks (ASN) and no countries", "24 months old"}},
		"no countries": {file("GeoIP2-ISP", map[string]any{"isp": "x"}), 0, []string{"GeoIP2-ISP has no countries"}},
		"old":          {file("GeoLite2-Country", located("DE")), 2 * StaleAfter, []string{"24 months old"}},
		"in part":      {part, 0, []string{"for 0 % of the public IPv4 addresses only"}},
	} {
		d, err := Describe(write(t, test.image.bytes(t)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := d.Warnings(built.Add(test.age))
		if !slices.EqualFunc(got, test.want, strings.Contains) || d.Name != test.image.databaseType || !d.Date.Equal(built) {
			t.Errorf("%s: %q, want %q: %+v", name, got, test.want, d)
		}
	}
	if _, err := Describe(write(t, []byte("no database"))); !errors.Is(err, ErrNotDatabase) {
		t.Errorf("the error is %v", err)
	}
	if d, err := Describe(""); err != nil || d.Known < minKnown || !d.Countries || !d.IPv6 {
		t.Errorf("the embedded database is %+v, %v", d, err)
	}
}

func TestBuildsAreParsedFromTheirText(t *testing.T) {
	t.Parallel()
	for _, b := range []Build{{Name: "a b-c", Date: time.Date(2026, 6, 17, 0, 0, 0, 0, time.UTC)}, {Name: "a"}, {Name: "a b"}} {
		if got := ParseBuild(b.String()); got != b {
			t.Errorf("%v, want %v", got, b)
		}
	}
	if got := ParseBuild("x 12"); got.Name != "x 12" || !got.Date.IsZero() {
		t.Errorf("%v", got)
	}
	if got := (Build{Name: "X"}).Warnings(time.Time{}); len(got) != 1 || !strings.Contains(got[0], "does not say when") {
		t.Errorf("%q", got)
	}
}

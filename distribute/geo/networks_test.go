package geo

import (
	"bytes"
	"errors"
	"flag"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"
)

func numbered(number uint64) map[string]any {
	return map[string]any{"autonomous_system_number": number, "autonomous_system_organization": "Example"}
}

func TestNetworksHaveTheirNumbers(t *testing.T) {
	t.Parallel()
	for name, networks := range map[string]map[string]any{
		"number": {"1.1.1.0/24": numbered(13335), "1.1.2.0/24": numbered(4_294_967_295), "2606:4700::/32": numbered(13335), "10.0.0.0/8": numbered(7), "9.9.9.0/24": flat("US")},
		"text": {
			"1.1.1.0/24": map[string]any{"asn": "AS13335"}, "1.1.2.0/24": map[string]any{"asn": "AS4294967295"},
			"2606:4700::/32": map[string]any{"asn": "AS13335"}, "10.0.0.0/8": map[string]any{"asn": "AS7"}, "9.9.9.0/24": map[string]any{"asn": ""},
		},
	} {
		n, err := OpenNetworks(write(t, image{databaseType: "X", ipVersion: 6, buildEpoch: 1, networks: networks}.bytes(t)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for range 2 { // the second time they are remembered
			for addr, want := range map[string]uint32{
				"1.1.1.1": 13335, "::ffff:1.1.1.1": 13335, "1.1.2.255": 4_294_967_295, "2606:4700::1": 13335, "10.0.0.1": 0, "9.9.9.9": 0, "8.8.8.8": 0, "2001:4860::1": 0,
			} {
				if got := n.Number(netip.MustParseAddr(addr)); got != want {
					t.Errorf("%s: %s is in AS%d, want AS%d", name, addr, got, want)
				}
			}
		}
		if got := n.Number(netip.Addr{}); got != 0 {
			t.Errorf("%s: no address is in AS%d", name, got)
		}
	}
}

func TestDatabasesWithoutNetworksAreRefused(t *testing.T) {
	t.Parallel()
	if _, err := OpenNetworks(maxmindFile); !errors.Is(err, ErrNoNetworks) {
		t.Errorf("the error is %v", err)
	}
	if _, err := OpenNetworks(write(t, []byte("no database"))); !errors.Is(err, ErrNotDatabase) {
		t.Errorf("the error is %v", err)
	}
}

func TestTextsOfSeveralBuildsAreParsed(t *testing.T) {
	t.Parallel()
	builds := []Build{{Name: "a-country", Date: time.Date(2026, 6, 17, 0, 0, 0, 0, time.UTC)}, {Name: "a-asn"}}
	if got := ParseBuilds(JoinBuilds(builds...)); !slices.Equal(got, builds) {
		t.Errorf("%v", got)
	}
	if got := ParseBuilds(builds[0].String()); !slices.Equal(got, builds[:1]) {
		t.Errorf("%v", got)
	}
}

// networksFile is for tests of other packages. Its networks are made up.
const networksFile = "testdata/networks.mmdb"

var update = flag.Bool("update", false, "write "+networksFile)

func TestFileOfNetworksIsUpToDate(t *testing.T) {
	t.Parallel()
	want := image{databaseType: "Example-ASN", ipVersion: 6, buildEpoch: 1_793_000_000, networks: map[string]any{
		"1.1.1.0/24": numbered(13335), "2606:4700::/32": numbered(13335), "8.8.0.0/16": numbered(15169),
	}}.bytes(t)
	if *update {
		if err := os.WriteFile(networksFile, want, 0o644); err != nil { //nolint:gosec // everyone may read it
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(networksFile); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the file is of another test, %v: give -update", err)
	}
}

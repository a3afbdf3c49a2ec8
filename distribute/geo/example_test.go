package geo_test

import (
	"fmt"
	"net/netip"
	"time"

	"skidway/distribute/geo"
)

func ExampleDefault() {
	db, err := geo.Default()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(db.Build())
	fmt.Println(db.Country(netip.MustParseAddr("193.0.6.139")))
	fmt.Println(db.Country(netip.MustParseAddr("192.168.1.1")))
	// Output:
	// geo-whois-asn-country 2026-06-17
	// NL
	// ZZ
}

func ExampleOpen() {
	db, err := geo.Open("testdata/GeoIP2-Country-Test.mmdb")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(db.Build())
	fmt.Println(db.Country(netip.MustParseAddr("81.2.69.142")))
	fmt.Println("stale in 2028:", db.Build().Stale(time.Date(2028, 2, 1, 0, 0, 0, 0, time.UTC)))
	// Output:
	// GeoIP2-Country 2026-02-04
	// GB
	// stale in 2028: true
}

func ExampleCountry_Index() {
	db, err := geo.Default()
	if err != nil {
		fmt.Println(err)
		return
	}
	var requests [geo.Countries]int
	for _, client := range []string{"8.8.8.8", "193.0.6.139", "8.8.8.8", "10.0.0.7"} {
		requests[db.Country(netip.MustParseAddr(client)).Index()]++
	}
	for i, n := range requests {
		if n > 0 {
			fmt.Println(geo.CountryAt(i), n)
		}
	}
	// Output:
	// NL 1
	// US 2
	// ZZ 1
}

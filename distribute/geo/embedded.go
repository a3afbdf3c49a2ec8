package geo

import (
	_ "embed"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/oschwald/maxminddb-golang/v2"
)

// Attribution is the credit that the licence of the embedded database (CC BY
// 4.0) asks for. Show it wherever results or versions are shown.
const Attribution = "Country data: geo-whois-asn-country by ip-location-db, from data of the Number Resource Organization (nro.net), CC BY 4.0"

const embeddedName = "geo-whois-asn-country"

//go:embed data/geo-whois-asn-country.mmdb.zst
var embedded []byte

var openEmbedded = sync.OnceValues(func() (*DB, error) {
	image, err := unpackEmbedded()
	if err != nil {
		return nil, fmt.Errorf("unpack embedded country database: %w", err)
	}
	// No survey: the generator has checked the image and zstd its checksum.
	reader, err := maxminddb.OpenBytes(image)
	if err != nil {
		return nil, fmt.Errorf("open embedded country database: %w", err)
	}
	db := newDB(reader, embeddedName, flatSchema)
	db.build.Name = embeddedName // Its own is "country ipvAll".
	db.build.Attribution = Attribution
	return db, nil
})

// Default returns the embedded database: IPv4 and IPv6, frozen at the date of
// its [Build]. A process unpacks it on the first call (8 MB of memory, some
// 20 ms) and shares it after that. It fails only if the program was built wrong.
func Default() (*DB, error) { return openEmbedded() }

func unpackEmbedded() ([]byte, error) {
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer decoder.Close()
	return decoder.DecodeAll(embedded, nil)
}

// Command generate makes the map of package worldmap: it fetches a pinned version of the npm
// package world-atlas, which has the countries of Natural Earth, and writes data/world.tsv. The
// output depends on the pins, and on the names in the version of golang.org/x/text in go.mod. Run
// it from the module's root:
//
//	go run ./distribute/worldmap/generate
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"

	"skidway/internal/pinned"
)

var source = pinned.Package{
	Name:    "world-atlas",
	Version: "2.0.2",
	SHA256:  "032e7765f2ce00edaeafec23ff22bc3b77e42987c257da944cc585b452c05b97",
}

func main() {
	path := flag.String("file", filepath.FromSlash("distribute/worldmap/data/world.tsv"), "file to write")
	pinned.Main(func(ctx context.Context) error { return generate(ctx, *path) })
}

func generate(ctx context.Context, path string) error {
	files, err := source.Files(ctx, "countries-110m.json", "countries-10m.json")
	if err != nil {
		return err
	}
	var scales [2][]country
	for i, file := range files {
		var atlas topology
		if err := json.Unmarshal(file, &atlas); err != nil {
			return err
		}
		scales[i] = atlas.countries()
	}
	table := draw(scales[0], scales[1])
	if err := pinned.Write(path, table); err != nil {
		return err
	}
	fmt.Printf("%s: %d bytes\n", path, len(table))
	return nil
}

// A country has the outlines of its parts, in degrees.
type country struct {
	code  string // of ISO 3166-1, or XK; empty: an area without one
	name  string
	parts [][]point
}

// overseas are boxes (west, south, east, north) around the parts of countries that have codes of
// their own, but belong to these countries in Natural Earth.
var overseas = []box{
	{"FR", "GF", -55, 2, -51, 6},
	{"FR", "GP", -62, 15.8, -60.9, 16.6},
	{"FR", "MQ", -61.3, 14.3, -60.7, 15},
	{"FR", "RE", 55, -21.5, 56, -20.7},
	{"FR", "YT", 44.9, -13.1, 45.4, -12.5},
	{"NL", "BQ", -68.5, 12, -68.1, 12.4},
	{"NO", "SJ", 10, 74, 34, 81},
	{"NZ", "TK", -173, -9.6, -171, -8.4},
}

type box struct {
	of, code                 string
	west, south, east, north float64
}

// leftOut is Antarctica, which no address is in.
const leftOut = "AQ"

// split takes overseas parts out of a country.
func split(c country) []country {
	parts := map[string][][]point{}
	for _, part := range c.parts {
		code, at := c.code, centre(part)
		for _, b := range overseas {
			if b.of == c.code && at.x > b.west && at.x < b.east && at.y > b.south && at.y < b.north {
				code = b.code
			}
		}
		parts[code] = append(parts[code], part)
	}
	var all []country
	for _, code := range slices.Sorted(maps.Keys(parts)) {
		all = append(all, country{code, c.name, parts[code]})
	}
	return all
}

// draw returns the table: for each country and area its code, its name, and the path or the centre of
// its dot. Countries that have neither follow, so that each code has a name.
func draw(areas, all []country) []byte {
	var table bytes.Buffer
	fmt.Fprintf(&table, "Natural Earth by %s %s, public domain; names by Unicode CLDR %s\n", source.Name, source.Version, display.CLDRVersion)
	drawn := map[string]bool{leftOut: true}
	for _, c := range areas {
		drawn[c.code] = c.code != ""
	}
	dots := slices.DeleteFunc(slices.Clone(all), func(c country) bool { return c.code == "" || drawn[c.code] })
	frame := fit(areas, dots)
	for _, c := range areas {
		if c.code != leftOut {
			fmt.Fprintf(&table, "%s\t%s\t%s\n", c.code, nameOf(c), frame.path(c))
		}
	}
	for _, c := range dots {
		at := frame.place(centre(largest(c.parts)))
		fmt.Fprintf(&table, "%s\t%s\t%d %d\n", c.code, nameOf(c), at.x, at.y)
		drawn[c.code] = true
	}
	for _, code := range codes() {
		if name := nameOf(country{code: code}); name != "" && (!drawn[code] || code == leftOut) {
			fmt.Fprintf(&table, "%s\t%s\t\n", code, name)
		}
	}
	return table.Bytes()
}

// codes returns all codes of countries that are assigned, and XK.
func codes() (all []string) {
	for a := 'A'; a <= 'Z'; a++ {
		for b := 'A'; b <= 'Z'; b++ {
			region, err := language.ParseRegion(string([]rune{a, b}))
			if err == nil && region.IsCountry() && region.String() == string([]rune{a, b}) && region.Canonicalize() == region && region.M49() != 0 {
				all = append(all, region.String())
			}
		}
	}
	return all
}

// renamed are names that are newer or shorter than those of the version of CLDR.
var renamed = map[string]string{"HK": "Hong Kong", "MK": "North Macedonia", "MM": "Myanmar", "MO": "Macao", "SZ": "Eswatini"}

func nameOf(c country) string {
	if c.code == "" {
		return c.name
	}
	if name := renamed[c.code]; name != "" {
		return name
	}
	return display.English.Regions().Name(language.MustParseRegion(c.code))
}

// codeOf returns the code of a number of ISO 3166-1.
func codeOf(id, name string) string {
	if name == "Kosovo" {
		return "XK"
	}
	number, err := strconv.Atoi(id)
	if err != nil {
		return ""
	}
	region, err := language.EncodeM49(number)
	if err != nil || !region.IsCountry() {
		return ""
	}
	return region.String()
}

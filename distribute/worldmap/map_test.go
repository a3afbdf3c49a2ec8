package worldmap_test

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"skidway/distribute/worldmap"
)

func TestEachCountryIsOnTheMapInItsClass(t *testing.T) {
	t.Parallel()
	drawing := worldmap.Draw(map[string]int64{"DE": 34_000_000, "SG": 999, "FR": 1_000, "LU": 1, "ZZ": 1 << 60}, `req<u>est`, `req<u>ests`)
	shapes := map[string][2]string{} // class and title by code
	var key, class string
	without := 0
	for decoder := xml.NewDecoder(strings.NewReader(string(drawing.SVG))); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			if token.Name.Local == "title" {
				continue
			}
			key, class = "", ""
			for _, attr := range token.Attr {
				switch attr.Name.Local {
				case "data-k":
					key = attr.Value
				case "class":
					class = attr.Value
				}
			}
		case xml.CharData:
			if key == "" {
				without++
			} else if shapes[key][0] != "" {
				t.Errorf("%s is there twice", key)
			}
			shapes[key] = [2]string{class, string(token)}
		}
	}
	for code, want := range map[string][2]string{
		"DE": {"c7", "Germany: 34,000,000 req<u>ests"},
		"SG": {"c2", "Singapore: 999 req<u>ests"},
		"FR": {"c3", "France: 1,000 req<u>ests"},
		"LU": {"c1", "Luxembourg: 1 req<u>est"},
		"XK": {"c0", "Kosovo: none"},
		"GF": {"c0", "French Guiana: none"},
		"MT": {"c0", "Malta: none"},
	} {
		if shapes[code] != want {
			t.Errorf("%s is %q, want %q", code, shapes[code], want)
		}
	}
	if len(shapes) < 240 || without != 2 {
		t.Errorf("%d countries, %d areas without a code", len(shapes), without)
	}
	if _, ok := shapes["AQ"]; ok {
		t.Error("Antarctica is on the map")
	}
	if size := len(worldmap.Draw(nil, "request", "requests").SVG); size > 66_000 {
		t.Errorf("the map has %d bytes", size)
	}
}

func TestScaleFitsTheHighestCount(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		highest int64
		first   []string
		class   int
	}{
		{0, []string{"none", "< 10", "10–100"}, 0},
		{5, []string{"none", "< 10", "10–100"}, 1},
		{349_653_097, []string{"none", "< 1 k", "1–10 k", "10–100 k", "0.1–1 M", "1–10 M", "10–100 M", "≥ 100 M"}, 7},
		{1_000_000, []string{"none", "< 10", "10–100", "0.1–1 k", "1–10 k", "10–100 k", "0.1–1 M", "≥ 1 M"}, 7},
		{1 << 62, []string{"none"}, 7},
	} {
		scale := worldmap.ScaleOf(map[string]int64{"DE": test.highest})
		var labels []string
		for _, step := range scale.Steps() {
			labels = append(labels, step.Label)
		}
		if !slices.Equal(labels[:len(test.first)], test.first) || len(labels) != 8 {
			t.Errorf("%d: %q, want %q", test.highest, labels, test.first)
		}
		if class := scale.Class(test.highest); class != test.class {
			t.Errorf("%d is in class %d, want %d", test.highest, class, test.class)
		}
	}
}

func TestNamesOfCountries(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{"US": "United States", "XK": "Kosovo", "CC": "Cocos (Keeling) Islands", "SU": "", "ZZ": "", "": ""} {
		if name := worldmap.Name(code); name != want {
			t.Errorf("%s is %q, want %q", code, name, want)
		}
	}
}

package cuts

import (
	"fmt"
	"slices"
	"strings"

	"skidway/internal/filter"
)

// continents are the countries of ISO 3166-1, and XK, by continent: the regions of UN M49
// (https://unstats.un.org/unsd/methodology/m49/, by the territory containment of Unicode CLDR),
// where the Caribbean and Central America are part of North America; and AQ as AN.
var continents = [...]struct{ code, countries string }{
	{"AF", "AO BF BI BJ BW CD CF CG CI CM CV DJ DZ EG EH ER ET GA GH GM GN GQ GW IO KE KM LR LS LY MA MG ML MR MU MW MZ NA NE NG RE RW SC SD SH SL SN SO SS ST SZ TD TF TG TN TZ UG YT ZA ZM ZW"},
	{"AN", "AQ"},
	{"AS", "AE AF AM AZ BD BH BN BT CN CY GE HK ID IL IN IQ IR JO JP KG KH KP KR KW KZ LA LB LK MM MN MO MV MY NP OM PH PK PS QA SA SG SY TH TJ TL TM TR TW UZ VN YE"},
	{"EU", "AD AL AT AX BA BE BG BY CH CZ DE DK EE ES FI FO FR GB GG GI GR HR HU IE IM IS IT JE LI LT LU LV MC MD ME MK MT NL NO PL PT RO RS RU SE SI SJ SK SM UA VA XK"},
	{"NA", "AG AI AW BB BL BM BQ BS BZ CA CR CU CW DM DO GD GL GP GT HN HT JM KN KY LC MF MQ MS MX NI PA PM PR SV SX TC TT US VC VG VI"},
	{"OC", "AS AU CC CK CX FJ FM GU HM KI MH MP NC NF NR NU NZ PF PG PN PW SB TK TO TV UM VU WF WS"},
	{"SA", "AR BO BR BV CL CO EC FK GF GS GY PE PY SR UY VE"},
}

// unknownPlace is the country and the continent of an address for which none is known.
const unknownPlace = "ZZ"

// continentOf returns the continent of a country.
func continentOf(country string) string {
	for _, c := range continents {
		if len(country) == 2 && strings.Contains(c.countries, country) {
			return c.code
		}
	}
	return unknownPlace
}

// checkCountry returns an error for a text that is no country.
func checkCountry(text string) error {
	if text == unknownPlace || continentOf(text) != unknownPlace {
		return nil
	}
	var known []string
	for _, c := range continents {
		known = append(known, strings.Fields(c.countries)...)
	}
	if text == "UK" { // which ISO 3166-1 reserves for it
		return fmt.Errorf("there is no country %q: did you mean GB?", text)
	}
	return fmt.Errorf("there is no country %.20q: want a code of ISO 3166-1, or ZZ%s", text, filter.Suggest(text, known))
}

// checkContinent returns an error for a text that is no continent.
func checkContinent(text string) error {
	codes := []string{unknownPlace}
	for _, c := range continents {
		codes = append(codes, c.code)
	}
	if slices.Contains(codes, text) {
		return nil
	}
	return fmt.Errorf("there is no continent %.20q: want one of %s", text, strings.Join(codes, ", "))
}

package geo

// Country is an ISO 3166-1 alpha-2 code in upper case, as the database gives
// it (so also XK, the code in use for Kosovo). The zero value is not a country;
// every function here that has no answer returns [Unknown].
type Country [2]byte

// Unknown stands for an address that is private, missing, or in no country that
// the database knows. ZZ is a user-assigned code that ISO 3166-1 never gives to
// a country.
var Unknown = Country{'Z', 'Z'}

// Countries is how many values [Country.Index] has: the size of an array of
// counters indexed by country.
const Countries = 26 * 26

// String returns the two letters.
func (c Country) String() string { return string(c[:]) }

// Index returns the country's place in an array of [Countries] counters, in
// alphabetical order. What is not two upper-case letters has the place of
// [Unknown], so that an index is always in range.
func (c Country) Index() int {
	if !c.valid() {
		return Countries - 1
	}
	return int(c[0]-'A')*26 + int(c[1]-'A')
}

// CountryAt is the inverse of [Country.Index]. It returns [Unknown] for an
// index out of range.
func CountryAt(index int) Country {
	if index < 0 || index >= Countries {
		return Unknown
	}
	return Country{'A' + byte(index/26), 'A' + byte(index%26)}
}

func (c Country) valid() bool {
	return 'A' <= c[0] && c[0] <= 'Z' && 'A' <= c[1] && c[1] <= 'Z'
}

// countryOf reads the code of a database record. Databases write "no country"
// as "", "-", "None" and more: whatever is not a well-formed code is Unknown.
func countryOf(code string) Country {
	if len(code) != 2 {
		return Unknown
	}
	c := Country{code[0], code[1]}
	if !c.valid() {
		return Unknown
	}
	return c
}

package geo

import "testing"

func TestIndexAndCountryAtAreInverse(t *testing.T) {
	t.Parallel()
	for i := range Countries {
		if got := CountryAt(i).Index(); got != i {
			t.Fatalf("CountryAt(%d) = %s has index %d", i, CountryAt(i), got)
		}
	}
}

func TestIndexIsAlwaysInRange(t *testing.T) {
	t.Parallel()
	for _, c := range []Country{{}, {'a', 'b'}, {'A', 0xff}, {'0', '9'}, Unknown} {
		if got, want := c.Index(), Unknown.Index(); got != want {
			t.Errorf("index of %q = %d, want that of Unknown, %d", c, got, want)
		}
	}
}

func TestCountryAtOutOfRangeIsUnknown(t *testing.T) {
	t.Parallel()
	for _, i := range []int{-1, Countries} {
		if got := CountryAt(i); got != Unknown {
			t.Errorf("CountryAt(%d) = %s, want %s", i, got, Unknown)
		}
	}
}

func TestIllFormedCodeIsUnknown(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"", "-", "G", "gb", "Gb", "GBR", "None", "ZZ", "A1", "É", "\x00\x00"} {
		if got := countryOf(code); got != Unknown {
			t.Errorf("code %q is %q, want %s", code, got, Unknown)
		}
	}
}

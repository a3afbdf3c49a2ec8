package jobs

import "testing"

func TestJSONIsReadableWithoutEscapesOfHTML(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{
		`{"id":"\u003ca@b\u003e \u0026c"}`:       `{"id":"<a@b> &c"}`,
		`"\\u003c \\\u003c \u00e4 \n \" \u2028"`: `"\\u003c \\< \u00e4 \n \" \u2028"`,
		`no JSON: \u003c`:                        `no JSON: \u003c`,
		``:                                       ``,
	} {
		if got := readable([]byte(data)); got != want {
			t.Errorf("%s becomes %s, want %s", data, got, want)
		}
	}
}

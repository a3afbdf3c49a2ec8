package filter_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"skidway/internal/filter"
)

var schema = filter.Schema{
	{Name: "kind", Type: filter.Text},
	{Name: "state", Type: filter.Text, Words: []string{"waiting", "dead"}},
	{Name: "attempts", Type: filter.Number},
	{Name: "error", Type: filter.Text},
	{Name: "died", Type: filter.Time},
	{Name: "took", Type: filter.Duration},
	{Name: "args", Type: filter.Any, Named: true},
}

var now = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// A record is a job for tests.
type record struct {
	kind, state string
	attempts    int64
	errors      []string
	died        time.Time
	took        time.Duration
	args        string
}

func (r *record) Value(field int, path []string) filter.Value {
	switch field {
	case 0:
		return filter.OfText(r.kind)
	case 1:
		return filter.OfText(r.state)
	case 2:
		return filter.OfInt(r.attempts)
	case 3:
		return filter.OfTexts(r.errors)
	case 4:
		return filter.OfTime(r.died)
	case 5:
		return filter.OfDuration(r.took)
	}
	return filter.OfJSON([]byte(r.args), path)
}

var sample = record{
	kind: "email.send", state: "dead", attempts: 3, errors: []string{"dial tcp: Timeout", "no such user"},
	died: now.Add(-time.Hour), took: 90 * time.Second,
	args: `{"user": 9007199254740993, "to": ["a@example.com", "b@example.com"], "deep": {"a b": {"in": "x\ny"}}, "rate": 0.5,
		"urgent": true, "none": null, "huge": 1e999, "hex": 0x10, "nan": NaN, "n": 1, "n": 2, "esc\u0061pe": "\u00e4"}`,
}

func TestFiltersSelect(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"":                     true,
		`kind == "email.send"`: true,
		`"email.send" == kind`: true,
		`kind != "email.send"`: false,
		`kind startsWith "email." && attempts > 2`:                  true,
		`kind == "a" || attempts >= 3 and not (state == "waiting")`: true,
		`kind in ["a", "email.send"]`:                               true,
		`kind not in ["a", "email.send"]`:                           false,
		`!(kind == "email.send")`:                                   false,
		`kind > "email" && kind < "f"`:                              true,
		`1 < attempts <= 3`:                                         true,
		`attempts == 3.0`:                                           true,
		`attempts in [1, 2, -3]`:                                    false,
		`error contains "Timeout"`:                                  true,
		`error contains "timeout"`:                                  false,
		`error matches "(?i)timeout"`:                               true,
		`error matches "(?i)timeouts"`:                              false,
		`error matches "^no such (user|host)$"`:                     true,
		`error == "no such user"`:                                   true,
		`error != "no such user"`:                                   false,
		`error == nil`:                                              false,
		`died >= "-2h" && died < "now"`:                             true,
		`died >= "-30m"`:                                            false,
		`"-1d" < died < "-30m"`:                                     true,
		`died >= "2026-11-22"`:                                      true,
		`died < "2026-11-22 11:00:00.5"`:                            true,
		`died == "2026-11-22T12:00:00+01:00"`:                       true,
		`died == nil`:                                               false,
		`took > "1m" && took <= "90s"`:                              true,
		`args.user == 9007199254740993`:                             true,
		`args.user == 9007199254740992`:                             false,
		`args.user == "9007199254740993"`:                           false,
		`args.user > 9007199254740992.0`:                            true,
		`args.huge > 1`:                                             true,
		`args.hex == nil && args.nan == nil`:                        true,
		`args.user contains "0071"`:                                 true,
		`args.to[1] == "b@example.com"`:                             true,
		`args.to[2] == nil`:                                         true,
		`args.to contains "@example.com"`:                           true,
		`args.deep["a b"]["in"] == "x\ny"`:                          true,
		`args["deep"]["a b"].in startsWith "x"`:                     true,
		`args.rate < 1 && args.rate > 0.25`:                         true,
		`args.urgent == true`:                                       true,
		`args.urgent != false`:                                      true,
		`args.none == nil && args.missing == nil`:                   true,
		`args.missing != 5`:                                         true,
		`args.missing < 5`:                                          false,
		`args.n == 2`:                                               true,
		`args.escape == "ä"`:                                        true,
		`args.kind.kind == nil`:                                     true,
	} {
		f, err := filter.Parse(text, schema)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := f.Matcher(now)(&sample); got != want {
			t.Errorf("%s: got %t, want %t", text, got, want)
		}
		again, err := filter.Parse(f.String(), schema)
		if err != nil || again.String() != f.String() || again.Matcher(now)(&sample) != want {
			t.Errorf("%s: the canonical form %s is another filter: %v", text, f, err)
		}
	}
}

func TestCanonicalForm(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		` kind=='a'  and(attempts<3 or error contains 'x') `: `kind == "a" && (attempts < 3 || error contains "x")`,
		`kind == "a" && (state == "dead" && attempts > 1)`:   `kind == "a" && state == "dead" && attempts > 1`,
		`(kind == "a" && state == "dead") || attempts > 1`:   `kind == "a" && state == "dead" || attempts > 1`,
		`not (kind in ["a"]) && 3 > attempts > 1`:            `!(kind in ["a"]) && attempts < 3 && attempts > 1`,
		`!!(kind == "a")`:                       `!!(kind == "a")`,
		`args["x"]["a-b"]["0"]["not"] == -1.50`: `args.x["a-b"][0]["not"] == -1.5`,
		`died > "-12h" && took > "1d"`:          `died > "-12h" && took > "1d"`,
	} {
		f, err := filter.Parse(text, schema)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if f.String() != want {
			t.Errorf("%s: got %s, want %s", text, f, want)
		}
	}
}

func TestWhatIsNoFilterIsRefusedByName(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`kind`:                            "character 1: kind alone is no condition",
		`true`:                            "true alone is no condition",
		`kind == "a" && len(kind) > 3`:    "character 16: the function len() is refused",
		`foo(kind) == "a"`:                "the call foo() is refused",
		`attempts + 1 > 3`:                "character 10: the operator + is refused",
		`kind endsWith "a"`:               "the operator endsWith is refused",
		`kind == "a" ? true : false`:      "a choice (if, ? :) is refused",
		`let x = 1; attempts > x`:         "a variable (let) is refused",
		`kind == "a"; kind == "b"`:        "a sequence (;) is refused",
		`args?.a == 1`:                    "?. is refused",
		`(kind ?? "a") == "b"`:            "the operator ?? is refused",
		`kind | len() == 3`:               "is refused",
		`args.a[1:2] == "b"`:              "a part of a list ([:]) is refused",
		`kind == {a: 1}`:                  "a map ({}) is refused",
		`kind == b"a"`:                    `a text of bytes (b"") is refused`,
		`!kind == "a"`:                    "! stands before a condition in parentheses",
		`knd == "a"`:                      "character 1: there is no field knd: want one of kind, state, attempts, error, died, took, args.NAME",
		`args == 1`:                       "args needs a name: args.NAME",
		`kind.a == "b"`:                   "kind has no parts",
		`args[kind] == 1`:                 "want a name or a number in []",
		`kind == attempts`:                "two fields can't be compared",
		`kind == 1`:                       `kind is a text: want "1"`,
		`state == "ded"`:                  `character 10: state is never "ded": want one of waiting, dead`,
		`state < "dead"`:                  "state has no order here",
		`attempts == "3"`:                 "attempts is a number",
		`attempts contains "3"`:           "contains is for texts, attempts is a number",
		`kind contains 3`:                 "want a text behind contains",
		`"a" contains kind`:               "want a field on the left of contains",
		`1 == 1`:                          "want a field on the left of ==",
		`kind in "a"`:                     "want a list of constants behind in",
		`kind in []`:                      "want a list of constants behind in",
		`kind in [attempts]`:              "want a constant",
		`died > "yesterday"`:              "died is a time: want a time such as",
		`died > 5`:                        `died is a time: want`,
		`took > "long"`:                   "took is a duration: want a duration such as",
		`error matches "("`:               "missing closing )",
		`error matches "(?=a)"`:           "want a regular expression of RE2",
		`error matches "(abcdefgh){500}"`: "it repeats too much",
		`args.a > true`:                   "args.a has no order here",
		`kind == "a`:                      "character",
		`kind == `:                        "unexpected token EOF",
		`kind == "a" kind`:                "unexpected token",
		"kind == \"\xff\"":                "it is not valid UTF-8",
		strings.Repeat("(", 5000):         "it is too long",
		strings.Repeat("(", 4000):         "unexpected token EOF",
		strings.Repeat("!", 4000):         "unexpected token EOF",
		strings.Repeat(`error matches "a" && `, 11) + `kind == "a"`: "more than 10 regular expressions",
	} {
		_, err := filter.Parse(text, schema)
		var refusal *filter.Error
		if !errors.As(err, &refusal) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: got %v, want %q", text, err, want)
		}
	}
}

func TestUsesNamesTheFieldsOfAFilter(t *testing.T) {
	t.Parallel()
	f, err := filter.Parse(`!(kind == "a") || args.a == 1`, schema)
	if err != nil {
		t.Fatal(err)
	}
	for i, field := range schema {
		if want := field.Name == "kind" || field.Name == "args"; f.Uses(i) != want {
			t.Errorf("%s: got %t, want %t", field.Name, f.Uses(i), want)
		}
	}
}

func TestFiltersExcludeStatesAndTimesBeforeTheyAreRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		allows bool
		from   time.Time
	}{
		``:                                    {true, time.Time{}},
		`state == "waiting" && attempts > 1`:  {true, time.Time{}},
		`attempts > 1 && (state == "dead")`:   {false, time.Time{}},
		`state != "waiting"`:                  {false, time.Time{}},
		`state in ["dead"] || attempts > 1`:   {true, time.Time{}},
		`!(state == "waiting")`:               {true, time.Time{}},
		`died > "-2h" && died >= "-1h"`:       {true, now.Add(-time.Hour)},
		`died > "-2h" || died < "-3h"`:        {true, time.Time{}},
		`died < "-2h" && !(died > "-3h")`:     {true, time.Time{}},
		`kind == "a" && "2026-11-01" <= died`: {true, time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)},
	} {
		f, err := filter.Parse(text, schema)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Allows(1, filter.OfText("waiting")); got != want.allows {
			t.Errorf("%s allows waiting jobs: %t", text, got)
		}
		if got := f.From(4, now); !got.Equal(want.from) {
			t.Errorf("%s: from %s, want %s", text, got, want.from)
		}
	}
}

func TestDamagedJSONHasNoValues(t *testing.T) {
	t.Parallel()
	for _, data := range []string{"", "{", `{"a"`, `{"a":`, `{"a" 1}`, `{"b": 1, "a`, `{"b": "\`, `[1`, `nul`, `{"b":{"a":1}}`, "\"", `{,"a":1}`} {
		f, err := filter.Parse(`args.a != nil`, schema)
		if err != nil {
			t.Fatal(err)
		}
		if f.Matcher(now)(&record{args: data}) {
			t.Errorf("%s has a value", data)
		}
	}
}

func FuzzFilter(f *testing.F) {
	for _, text := range []string{`kind == "a" && died > "-1d12h"`, `!(args.a["b c"][0] in [1, -2.5, true, nil, "x"])`, `1 < attempts < 3 or error matches "(?i)a+"`, `took <= "1.5h" and not (state == "dead")`} {
		f.Add(text, `{"a": {"b c": ["x", 1e3]}}`)
	}
	f.Fuzz(func(t *testing.T, text, args string) {
		parsed, err := filter.Parse(text, schema)
		if err != nil {
			return
		}
		r := sample
		r.args = args
		matches, canonical := parsed.Matcher(now)(&r), parsed.String()
		again, err := filter.Parse(canonical, schema)
		if err != nil && len(canonical) <= 4096 {
			t.Fatalf("%q has the canonical form %q: %v", text, canonical, err)
		}
		if err == nil && (again.String() != canonical || again.Matcher(now)(&r) != matches) {
			t.Fatalf("%q has the canonical form %q, which is another filter", text, canonical)
		}
	})
}

func BenchmarkMatch(b *testing.B) {
	for name, text := range map[string]string{
		"text":     `kind == "email.send"`,
		"number":   `attempts > 2`,
		"time":     `died >= "-12h"`,
		"contains": `error contains "user"`,
		"folded":   `error matches "(?i)no such host"`,
		"pattern":  `error matches "no such (user|host)"`,
		"args":     `args.deep["a b"].in == "x"`,
		"three":    `kind == "email.send" && error contains "timeout" && died >= "-12h"`,
	} {
		b.Run(name, func(b *testing.B) {
			f, err := filter.Parse(text, schema)
			if err != nil {
				b.Fatal(err)
			}
			match := f.Matcher(now)
			b.ReportAllocs()
			for b.Loop() {
				match(&sample)
			}
		})
	}
}

// A visit is a line of a log for tests.
type visit struct {
	addr  string
	bytes int64 // negative: missing
}

func (v visit) Value(field int, _ []string) filter.Value {
	if field == 0 {
		addr, _ := netip.ParseAddr(v.addr)
		return filter.OfAddress(addr)
	}
	if v.bytes < 0 {
		return filter.Value{}
	}
	return filter.OfInt(v.bytes)
}

var visits = filter.Schema{
	{Name: "address", Type: filter.Address},
	{Name: "bytes", Type: filter.Number, Definite: true, Check: func(_, text string) error {
		if text == "13" {
			return errors.New("never 13")
		}
		return nil
	}},
}

func TestAddressesMatchNetworks(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`address in ["10.0.0.0/8", "::1"]`:          "10.1.2.3 ::1",
		`address == "10.1.2.3"`:                     "10.1.2.3",
		`address != "10.9.9.9/8"`:                   "192.0.2.1 ::1 -",
		`address == nil`:                            "-",
		`not (address in ["0.0.0.0/0", "::/0"])`:    "-",
		`address == "::ffff:192.0.2.1"`:             "192.0.2.1",
		`bytes != 0 && address in ["192.0.2.0/24"]`: "192.0.2.1",
	} {
		f, err := filter.Parse(text, visits)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var found []string
		for _, addr := range []string{"10.1.2.3", "192.0.2.1", "::1", "-"} {
			if f.Matcher(now)(visit{addr, 1}) {
				found = append(found, addr)
			}
		}
		if got := strings.Join(found, " "); got != want {
			t.Errorf("%s: %s, want %s", f, got, want)
		}
	}
	if f, err := filter.Parse(`address in ["10.9.9.9/8", "::ffff:1.2.3.4", "::ffff:192.0.2.9/120"]`, visits); err != nil || f.String() != `address in ["10.0.0.0/8", "1.2.3.4", "192.0.2.0/24"]` {
		t.Errorf("%s, %v", f, err)
	}
	for _, text := range []string{`address < "10.0.0.1"`, `address == "10.0.0"`, `address contains "10"`, `address == 10`, `bytes == 13`, `bytes == nil`, `bytes in [1, nil]`} {
		if f, err := filter.Parse(text, visits); err == nil {
			t.Errorf("%s is a filter", f)
		}
	}
}

func TestComparisonsWithAMissingDefiniteValueAreFalse(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`bytes != 5`, `bytes == 5`, `bytes > 5`, `bytes <= 5`} {
		f, err := filter.Parse(text, visits)
		if err != nil || f.Matcher(now)(visit{"-", -1}) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestSplitFiltersMatchWhatTheWholeMatches(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`bytes > 1 && address == "::1" && bytes < 9`: `bytes > 1 && bytes < 9; address == "::1"`,
		`bytes > 1 || address == "::1"`:              `; bytes > 1 || address == "::1"`,
		`(bytes > 1 || bytes < 0) && !(bytes == 7)`:  `(bytes > 1 || bytes < 0) && !(bytes == 7); `,
		``: `; `,
	} {
		f, err := filter.Parse(text, visits)
		if err != nil {
			t.Fatal(err)
		}
		accepted, rest := f.Split(func(field int) bool { return field == 1 })
		if got := accepted.String() + "; " + rest.String(); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
		for n := range int64(12) {
			for _, addr := range []string{"::1", "::2"} {
				v := visit{addr, n}
				if f.Matcher(now)(v) != (accepted.Matcher(now)(v) && rest.Matcher(now)(v)) {
					t.Errorf("%s: %+v", text, v)
				}
			}
		}
	}
}

// A hidden record has the values 0 to 3 of bytes, of which one may be unknown.
type hidden struct {
	bytes int64
	known bool
}

func (h hidden) Value(int, []string) filter.Value {
	if !h.known {
		return filter.Unknown
	}
	return filter.OfInt(h.bytes)
}

func TestBoundsHoldForUnknownValues(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]bool{ // of an unknown value
		`bytes == 1`:                    {false, true},
		`bytes != 1`:                    {false, true},
		`!(bytes == 1)`:                 {false, true},
		`!(!(bytes in [1, 2]))`:         {false, true},
		`bytes == 1 && !(bytes == 1)`:   {false, true}, // although never
		`bytes == 1 || address == "::"`: {false, true},
		``:                              {true, true},
	} {
		f, err := filter.Parse(text, visits)
		if err != nil {
			t.Fatal(err)
		}
		certain, possible := f.Bounds(now)
		if got := [2]bool{certain(hidden{}), possible(hidden{})}; got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
		if strings.Contains(text, "address") {
			continue
		}
		for n := range int64(3) {
			r := hidden{n, true}
			if known := f.Matcher(now)(r); certain(r) != known || possible(r) != known {
				t.Errorf("%s: %d", text, n)
			}
		}
	}
}

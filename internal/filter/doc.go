// Package filter selects records, such as jobs or log lines, by expressions:
//
//	kind == "email.send" && error contains "timeout" && died >= "-12h"
//
// A [Schema] names the fields of the records. [Parse] checks an expression against it, and
// [Filter.Matcher] returns a function that reports whether a record matches. The syntax is a part
// of that of github.com/expr-lang/expr, whose parser is used:
//
//   - comparisons of a field with a constant: == != < <= > >=, and several at once as in
//     "-2h" <= died < "-1h"
//   - a field in a list of constants: kind in ["a", "b"]
//   - parts of texts: startsWith, contains, and matches with a regular expression (RE2)
//   - && || ! and parentheses, also written and, or, not
//
// Everything else is refused when it is parsed: functions, arithmetic, conditions, variables. So
// the time that a match takes is bounded by the size of the record and of the filter.
//
// Constants are texts, numbers, true, false and nil, which stands for a value that is missing.
// An address is a text such as "192.0.2.1", or a network such as "10.0.0.0/8", in which it may be.
// A time is a text: "-12h" and "-3d12h" are before now, "now" is now, others have the form of
// RFC 3339, or "2006-01-02", "2006-01-02 15:04" and "2006-01-02 15:04:05", in UTC. A duration is
// a text such as "90s".
//
// A missing value, and one of another type, is not equal to a constant and neither less nor
// greater; so != holds for it. A field with several texts, such as the errors of a job, matches
// if one of them does, and != if none is equal.
package filter

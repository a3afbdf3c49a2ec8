// Package cuts has what lines of logs are counted by, and reads the counts.
//
// A dimension is a property of a line, such as its day, its country or its status. A [Cut] is a
// list of dimensions; a cell is one combination of their values on one day. Counts are always
// stored by day, also when the cut has no dimension day, so that each range of days can be
// reported. Weeks and months are sums of days. A [Measure] is what is added up in each cell.
//
// # The read model
//
// A [Table] is what a report prints, and what a page is drawn from: the columns By, then the
// measures; rows of values and numbers, sorted by their values; the sum of all rows; and the
// numbers of the period before if [Query].Compare asked for them. It has nothing of Redis. A
// report has one Table for each cut, or those that [Query].By asks for:
//
//	report, err := channel.Report(ctx, "countries", &cuts.Query{By: [][]string{{"week", "country"}}, Last: 28})
//	table := report.Tables[0]
//	for _, row := range table.Rows {
//		fmt.Println(row.Values, row.Requests, row.AtLeast)
//	}
//
// The sums of all lines, the databases that were used, and the files with a problem stand beside
// the tables, in distribute.Report: its Subscriber has Tally (lines, counted, unknown country,
// filtered, expired, unparsable, and of those private addresses and crawlers) and Builds.
//
// # Values
//
// The columns of a Table are the names of dimensions; path:2 has the column path. Values that
// a line lacks are "-", for country and continent ZZ. A value of more than 256 bytes is cut at a
// character and ends in "…". Names in parentheses, such as (other), are not of a line: a
// parenthesis with which a value of a line begins is written %28, and control characters and
// bytes that are not UTF-8 are written in the same way.
//
// # Cells in Redis
//
// A cell has a group, which names a sorted set, and a member. A group is a day, for the requests
// of the first cut, and else a day with the number of the cut and the name of the series, see
// [Group]. A member has the values of the dimensions that are not made of the day, joined by the
// byte 0x1F, which no value has; it is [Any] if there is none.
package cuts

// Package htmlreport writes a report as a page: one file of HTML that works without a network, and
// can be sent to others.
//
//	report, err := channel.Report(ctx, "countries", &cuts.Query{By: htmlreport.Query(settings), Last: 28, Compare: true})
//	if err != nil {
//		return err
//	}
//	err = htmlreport.Write(file, report, htmlreport.Options{Channel: "web", Generated: time.Now()})
//
// # Promises
//
//   - Without script, everything of the report can be read: totals, a map, a line per day, the days of each
//     month, sorted tables, the period before if the report has it, how the lines add up, and the files with a
//     problem.
//   - With the script of the page the reader chooses days, people or crawlers, a class of status and a
//     comparison, and sorts tables. A choice that was not counted is not there. One that the cuts can't combine
//     is disabled, and the page names the --by that would combine it.
//   - The page sends no request, and its content policy allows none. Every text from lines is escaped. The script
//     sets texts and attributes only.
//   - The page names the filter of the subscriber, and that of the query. Visitors are of the days of the report,
//     and of single days: those of other ranges can't be known from them.
//   - A report of more than 8,192 days, those with which they are compared among them, is refused.
//   - A page that would be larger than Options.MaxBytes has fewer details: countries with few requests are
//     counted by week, then added up, as are the values of other tables. The page names what it lacks.
package htmlreport

// Package htmlreport writes a report as a page: one file of HTML that works without a network, and can be sent
// to others.
//
//	report, err := channel.Report(ctx, "countries", &cuts.Query{By: htmlreport.Query(settings), Last: 28, Compare: true})
//	if err != nil {
//		return err
//	}
//	err = htmlreport.Write(file, report, htmlreport.Options{Channel: "web", Generated: time.Now()})
//
// # Promises
//
//   - The page has no script: totals, a map, a line per day, the days of each month, sorted tables, the period
//     before if the report has it, how the lines add up, and the files with a problem can be read at once.
//   - The page sends no request, and its content policy allows none. Every text from lines is escaped.
//   - A page that would be larger than Options.MaxBytes has fewer details: values with few requests are
//     added up. The page tells so.
package htmlreport

package logs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute"
	"skidway/distribute/cuts"
	"skidway/distribute/htmlreport"
)

// A pageFile is the web page that a command writes beside what it prints.
type pageFile struct {
	path    string
	max     cli.Size
	days    string // the flags that choose days
	printed int    // tables of a report; the others are those of the page
}

func (p *pageFile) addFlags(c *cobra.Command) {
	p.max = htmlreport.DefaultMaxBytes
	c.Flags().StringVar(&p.path, "html", "", "also write a web page to `FILE`")
	c.Flags().Var(&p.max, "html-max", "size of the page; a larger one has fewer details")
}

// check refuses flags of a page that can't be written, before anything is counted.
func (p *pageFile) check(c *cobra.Command) error {
	if p.path == "" {
		if c.Flags().Changed("html-max") || c.Flags().Changed("html") {
			return cli.WrongUsage("--html-max needs --html FILE")
		}
		return nil
	}
	folder := filepath.Dir(p.path)
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return cli.WrongUsage("--html %s: there is no directory %s", p.path, folder)
	}
	if info, err := os.Stat(p.path); err == nil && info.IsDir() {
		return cli.WrongUsage("--html %s: it is a directory", p.path)
	}
	return nil
}

// query adds the tables of the page to those of a query of counts with some settings.
func (p *pageFile) query(query cuts.Query, settings cuts.Settings) *cuts.Query {
	if p.path == "" {
		return &query
	}
	if len(query.By) == 0 {
		for _, cut := range settings.Cuts {
			query.By = append(query.By, strings.Split(cut.String(), ","))
		}
	} else {
		settings.Cuts = nil
		for _, names := range query.By {
			cut, _ := cuts.ParseCut(names) // which the flag has checked
			settings.Cuts = append(settings.Cuts, cut)
		}
	}
	if query.Where != "" {
		settings.Visitors = nil // which are known without it only
	}
	p.printed = len(query.By)
	query.By = append(slices.Clone(query.By), htmlreport.Query(settings)...)
	return &query
}

// split returns the report that is printed, and that of the page.
func (p *pageFile) split(report distribute.Report) (printed, page distribute.Report) {
	printed, page = report, report
	if p.printed > 0 && p.printed <= len(report.Tables) {
		printed.Tables, page.Tables = report.Tables[:p.printed], report.Tables[p.printed:]
	}
	return printed, page
}

// write writes the page of a report under a temporary name and renames it, so that a reader
// never sees half of it. where is the filter of its query.
func (p *pageFile) write(console *cli.Console, channel, where string, report distribute.Report) (err error) {
	file, err := os.CreateTemp(filepath.Dir(p.path), "."+filepath.Base(p.path)+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", p.path, err)
	}
	defer func() {
		if err != nil {
			_ = file.Close()
			_ = os.Remove(file.Name())
			err = fmt.Errorf("write %s: %w", p.path, err)
		}
	}()
	err = htmlreport.Write(file, report, htmlreport.Options{
		Channel: channel, Where: where, Generated: time.Now().UTC(), Attribution: attribution(report.Subscriber.Builds), MaxBytes: int(p.max),
	})
	if _, ok := errors.AsType[*htmlreport.TooManyDaysError](err); ok {
		return fmt.Errorf("%w with %s", err, p.days)
	}
	if err != nil {
		return err
	}
	if err := errors.Join(file.Chmod(0o644), file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), p.path); err != nil {
		return err
	}
	console.Notice("wrote %s", p.path)
	return nil
}

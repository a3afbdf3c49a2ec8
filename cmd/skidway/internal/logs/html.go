package logs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute"
	"skidway/distribute/cuts"
	"skidway/distribute/htmlreport"
)

// A pageFile is the web page that a command writes beside what it prints.
type pageFile struct {
	path string
	max  cli.Size
}

func (p *pageFile) addFlags(c *cobra.Command) {
	p.max = htmlreport.DefaultMaxBytes
	c.Flags().StringVar(&p.path, "html", "", "also write a web page to `FILE`")
	c.Flags().Var(&p.max, "html-max", "size of the page; a larger one has fewer details")
}

// pageQuery changes a query to that of a page, by the dimensions of some cuts, or of those that were counted.
func pageQuery(query cuts.Query, by cutList, settings cuts.Settings) *cuts.Query {
	if len(by) > 0 {
		settings.Cuts = nil
		for _, names := range by {
			cut, _ := cuts.ParseCut(names) // which the flag has checked
			settings.Cuts = append(settings.Cuts, cut)
		}
	}
	query.By = htmlreport.Query(settings)
	return &query
}

// write writes the page of a report under a temporary name and renames it, so that a reader
// never sees half of it.
func (p *pageFile) write(console *cli.Console, channel string, report distribute.Report) (err error) {
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
		Channel: channel, Generated: time.Now().UTC(), Attribution: attribution(report.Subscriber.Builds), MaxBytes: int(p.max),
	})
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

package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
)

func TestWrongUsageEndsWithTwoAndAHint(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, folder, "a.log", small)
	for name, c := range map[string]struct{ args, want string }{
		"unknown command":         {"lgos", `did you mean logs`},
		"unknown command below":   {"logs cuont", `did you mean count`},
		"unknown command to help": {"help logs nope", `unknown command "nope"`},
		"unknown flag":            {"logs count --nope a.log", "--nope"},
		"no path":                 {"logs count", "missing PATH"},
		"no channel":              {"logs ship a.log", `"channel"`},
		"no subscriber":           {"logs work --channel web", `"subscriber"`},
		"unknown format":          {"logs count --format klingon a.log", `"klingon": use one of`},
		"bad zone":                {"logs count --tz Mars/Base a.log", "Europe/Berlin"},
		"zone of this machine":    {"logs count --tz Local a.log", "Europe/Berlin"},
		"bad by":                  {"logs count --by week a.log", "by day"},
		"bad output":              {"logs count -o xml a.log", "table, csv, json"},
		"bad window":              {"logs count --window much a.log", "512MiB"},
		"bad workers":             {"logs count --workers -1 a.log", "whole number"},
		"bad lease":               {"logs work --channel web --subscriber s --lease 1ms", "100ms"},
		"bad day":                 {"logs report --channel web --subscriber s --from 1.11.", "2026-11-30"},
		"days in reverse":         {"logs report --channel web --subscriber s --from 2026-11-02 --to 2026-11-01", "after"},
		"embedded to share":       {"logs ship a.log --channel web --redis embedded:", "embedded"},
		"bad Redis URL":           {"logs ship a.log --channel web --redis http://x", "unknown scheme"},
		"bad prefix":              {"logs count a.log --prefix {x}", "prefix"},
		"wait and follow":         {"logs ship a.log --channel web --wait --follow", "follow"},
		"sample without lines":    {"logs sample d --lines 0", "start at 1"},
		"sample without folder":   {"logs sample", "missing DIR"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := skidway(t, folder, strings.Fields(c.args)...)
			if o.code != cli.ExitUsage || o.stdout != "" {
				t.Errorf("exit code %d, standard output %q", o.code, o.stdout)
			}
			hasLine(t, o.stderr, "skidway: ", c.want)
			hasLine(t, o.stderr, "--help' for how to use it")
		})
	}
}

func TestEveryCommandHelpsWithin80Columns(t *testing.T) {
	t.Parallel()
	var check func(c *cobra.Command)
	check = func(c *cobra.Command) {
		if c.Short == "" || c.Long == "" || c.Example == "" {
			t.Errorf("%s: wants Short, Long and Example", c.CommandPath())
		}
		for text := range strings.Lines(c.Long + "\n" + c.UsageString()) {
			if n := utf8.RuneCountInString(strings.TrimRight(text, "\n")); n > 80 {
				t.Errorf("%s: %d columns: %s", c.CommandPath(), n, text)
			}
		}
		for _, below := range c.Commands() {
			check(below)
		}
	}
	check(root((&cli.App{Console: &cli.Console{}})))
}

func TestHelpAndVersionGoToStandardOutput(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"", "--help", "logs", "help logs count", "version", "completion bash"} {
		o := mustRun(t, t.TempDir(), strings.Fields(args)...)
		if o.stdout == "" || o.stderr != "" {
			t.Errorf("skidway %s: %q, %q", args, o.stdout, o.stderr)
		}
	}
	o := mustRun(t, t.TempDir(), "version")
	hasLine(t, o.stdout, "country database geo-whois-asn-country 20")
	hasLine(t, o.stdout, "CC BY 4.0")
}

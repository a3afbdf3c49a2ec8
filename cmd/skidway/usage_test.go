package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

func TestWrongUsageEndsWithTwoAndAHint(t *testing.T) {
	t.Parallel()
	file := write(t, t.TempDir(), "a.log", small)
	for name, c := range map[string]struct{ args, want string }{
		"unknown command":         {"lgos", `did you mean logs`},
		"unknown command below":   {"logs cuont", `did you mean count`},
		"unknown command to help": {"help logs nope", `unknown command "nope"`},
		"unknown flag":            {"logs count --nope a.log", "--nope"},
		"misspelled flag":         {"logs count --formt plain a.log", "unknown flag: --formt: did you mean --format?"},
		"misspelled global flag":  {"logs count --redsi x a.log", "did you mean --redis?"},
		"no path":                 {"logs count", "missing PATH"},
		"two databases":           {"geoip info a.mmdb b.mmdb", "accepts at most 1"},
		"no channel":              {"logs ship a.log", `"channel"`},
		"no subscriber":           {"logs work --channel web", `"subscriber"`},
		"unknown format":          {"logs count --format klingon a.log", `"klingon": use one of`},
		"layout without time":     {"logs count --format $remote_addr a.log", "it has no time"},
		"keys without time":       {"logs count --field address=ip a.log", "of the time"},
		"two keys of a field":     {"logs count --field address=a --field address=b --field time=at a.log", "the key of the address is a already"},
		"unknown field":           {"logs count --field adress=ip --field time=at a.log", `unknown field "adress"`},
		"keys of another format":  {"logs count --format caddy --field address=ip --field time=at a.log", `"caddy"`},
		"explain without file":    {"logs explain", "missing FILE"},
		"bad zone":                {"logs count --tz Mars/Base a.log", "Europe/Berlin"},
		"zone of this machine":    {"logs count --tz Local a.log", "Europe/Berlin"},
		"bad by":                  {"logs count --by weekday a.log", "day, week, month"},
		"bad switch":              {"logs count --csv-raw=maybe a.log", `invalid argument "maybe" for "--csv-raw" flag: want true or false`},
		"bad output":              {"logs count -o xml a.log", "table, csv, json"},
		"bad window":              {"logs count --window much a.log", "512MiB"},
		"visitors by a path":      {"logs count --by day,path --visitors day a.log", "no table has visitors: --by day"},
		"visitors by no country":  {"logs count --by day,path --visitors day,country --html page.html a.log", "no cut has country"},
		"size without page":       {"logs count --html-max 1MB a.log", "--html-max needs --html"},
		"page in no directory":    {"logs count --html none/page.html a.log", "there is no directory none"},
		"page as a directory":     {"logs report --channel web --subscriber s --html .", "it is a directory"},
		"bad workers":             {"logs count --workers -1 a.log", "whole number"},
		"bad lease":               {"logs work --channel web --subscriber s --lease 1ms", "100ms"},
		"bad day":                 {"logs report --channel web --subscriber s --from 1.11.", "2026-11-30"},
		"days in reverse":         {"logs report --channel web --subscriber s --from 2026-11-02 --to 2026-11-01", "after"},
		"embedded to share":       {"logs ship a.log --channel web --redis embedded:", "embedded"},
		"bad Redis URL":           {"logs ship a.log --channel web --redis http://x", "unknown scheme"},
		"bad prefix":              {"logs count a.log --prefix {x}", "prefix"},
		"format of shipping":      {"logs ship a.log --channel web -o json", "go with --dry-run"},
		"page of a dry run":       {"logs count a.log --dry-run --html page.html", "give --dry-run or --html, not both"},
		"wait and follow":         {"logs ship a.log --channel web --wait --follow", "give --wait or --follow, not both"},
		"no setting":              {"room set r --as ann", "give at least one of --ttl, --presence, --max, "},
		"top of nothing":          {"logs top", "missing --channel, or PATH"},
		"top of both":             {"logs top a.log --channel web", "give one of them"},
		"top with a filter":       {"logs top --channel web --where status==200", "--where is for files"},
		"top of a subscriber":     {"logs top a.log --subscriber s", "--subscriber needs --channel"},
		"sample without lines":    {"logs sample d --lines 0", "start at 1"},
		"sample without folder":   {"logs sample", "missing DIR"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := skidway(t, "", strings.Fields(strings.ReplaceAll(c.args, "a.log", file))...)
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
		o := mustRun(t, "", strings.Fields(args)...)
		if o.stdout == "" || o.stderr != "" {
			t.Errorf("skidway %s: %q, %q", args, o.stdout, o.stderr)
		}
	}
	o := mustRun(t, "", "version")
	hasLine(t, o.stdout, "country database geo-whois-asn-country 20")
	hasLine(t, o.stdout, "CC BY 4.0")
}

func TestExitCodesOfConfigCheck(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, folder, "right.yaml", "queues: [{name: mail}]\nkinds: {exec.run: {commands: {a: {path: /bin/true}}}}\n")
	write(t, folder, "wrong.yaml", "queue: []\n")
	write(t, folder, "host.yaml", "kinds:\n  email.send:\n    from: a@example.com\n")
	write(t, folder, "kind.yaml", "kinds:\n  email.send:\n    host: h\n    tls: perhaps\n")
	o := mustRun(t, folder, "config", "check", "right.yaml")
	hasLine(t, o.stderr, "right.yaml is valid", "[mail]", "exec.run", "http.request")
	for file, want := range map[string]string{"wrong.yaml": "wrong.yaml:1: ", "kind.yaml": `kind.yaml:2: kinds.email.send: `, "host.yaml": `host.yaml:2: kinds.email.send: it has settings, but no host`, "none.yaml": "none.yaml: no such file"} {
		o := skidway(t, folder, "config", "check", file)
		if o.code != cli.ExitFailed || strings.Count(o.stderr, file) != 1 {
			t.Errorf("exit code %d: %s", o.code, o.stderr)
		}
		hasLine(t, o.stderr, "skidway: ", want)
		o = skidway(t, folder, "worker", "--config", file, "--redis", "redis://127.0.0.1:1")
		if o.code != cli.ExitUsage {
			t.Errorf("a worker with %s ends with %d: %s", file, o.code, o.stderr)
		}
	}
	if o := skidway(t, folder, "config", "check"); o.code != cli.ExitUsage {
		t.Errorf("exit code %d", o.code)
	}
}

func TestConfigVariablesListsThem(t *testing.T) {
	t.Parallel()
	o := mustRun(t, "", "config", "variables")
	hasLine(t, o.stdout, "worker.max_attempts ", " SKIDWAY_WORKER_MAX_ATTEMPTS")
	hasLine(t, o.stdout, "kinds.email.send.password ", " SKIDWAY_KINDS_EMAIL_SEND_PASSWORD")
}

// Redis compiles what it loads: Lua has at most 200 locals and 60 upvalues for
// each function.
func TestRedisLoadsEveryScript(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		names := rdb.ScriptNames()
		if len(names) == 0 {
			t.Fatal("there are no scripts")
		}
		for _, name := range names {
			text, _ := rdb.ScriptText(name)
			if db.Embedded() {
				text = rdb.WithoutFlags(text)
			}
			if err := db.ScriptLoad(t.Context(), text).Err(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestEveryFileOfLuaIsInAScript(t *testing.T) {
	t.Parallel()
	var scripts []string
	for _, name := range rdb.ScriptNames() {
		text, _ := rdb.ScriptText(name)
		scripts = append(scripts, text)
	}
	files := 0
	err := filepath.WalkDir("../..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".lua" {
			return err
		}
		files++
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		// Directives are replaced; the code after the last one is kept.
		code := rdb.WithoutFlags(string(source))
		if i := strings.LastIndex(code, "\n-- @"); i >= 0 {
			_, code, _ = strings.Cut(code[i+1:], "\n")
		}
		if !slices.ContainsFunc(scripts, func(script string) bool { return strings.Contains(script, strings.TrimSpace(code)) }) {
			t.Errorf("no script has %s", path)
		}
		return nil
	})
	if err != nil || files < 50 {
		t.Fatalf("%d files, %v", files, err)
	}
}

func TestDebugPrintsAssembledScripts(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	list := mustRun(t, folder, "debug", "script").stdout
	if list != strings.Join(rdb.ScriptNames(), "\n")+"\n" {
		t.Errorf("the list is\n%s", list)
	}
	source, err := os.ReadFile("../../queue/lua/register.lua")
	if err != nil {
		t.Fatal(err)
	}
	head, code, _ := strings.Cut(string(source), "-- @include int clock\n")
	got := mustRun(t, folder, "debug", "script", "queue/register").stdout
	for _, part := range []string{head, "-- from clock.lua\n", "-- from register.lua\n" + code} {
		if !strings.Contains(got, part) {
			t.Errorf("the script lacks\n%s\nit is\n%s", part, got)
		}
	}
	o := skidway(t, folder, "debug", "script", "queue/none")
	if o.code != cli.ExitUsage || o.stdout != "" {
		t.Errorf("exit code %d, %q", o.code, o.stdout)
	}
	hasLine(t, o.stderr, "skidway: ", `unknown script "queue/none"`)
}

// Every command pays for what packages do before main begins: scripts, regular
// expressions and tables are made when they are first needed. (They took 2.3 MB once.)
func TestPackagesAllocateLittleBeforeMain(t *testing.T) {
	t.Parallel()
	c := command(t, t.TempDir(), "version")
	c.Env = append(c.Env, "GODEBUG=inittrace=1")
	o := finish(t, c)
	const limit = 1 << 20
	packages, total := 0, 0
	for text := range strings.Lines(o.stderr) {
		var name string
		var at, clock float64
		var bytes, allocs int
		if _, err := fmt.Sscanf(text, "init %s @%f ms, %f ms clock, %d bytes, %d allocs", &name, &at, &clock, &bytes, &allocs); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if strings.HasPrefix(name, "skidway/") {
			packages, total = packages+1, total+bytes
		}
	}
	if packages == 0 || total > limit {
		t.Errorf("%d packages allocate %d bytes, want at most %d:\n%s", packages, total, limit, o.stderr)
	}
	t.Logf("%d bytes", total)
}

// notAudited are the commands that the audit has no entries of: those that read, those that add jobs
// and messages or mark them as read, and processes that work.
const notAudited = `
audit, bench chat, bench logs, bench queue, chat info, chat list, chat members, chat read, chat send, config alerts, config check,
config variables, cron list, dash, debug script, dm history, dm read, dm send, dm unread, doctor, enqueue, errors list,
errors show, geoip info, help, jobs list, jobs logs, jobs running, jobs show, logs channels, logs count, logs explain, logs export, logs formats,
logs report, logs sample, logs ship, logs status, logs top, logs work, mail count, mail read, mail send, mail status,
operations list, operations show, queues list, queues show, queues stats, queues watch, room enter, room history,
room info, room leave, room people, room read, room send, serve, token list, user list, version, worker, workers list`

func TestEveryCommandIsAuditedOrKnownToChangeNothing(t *testing.T) {
	t.Parallel()
	known := strings.Split(strings.ReplaceAll(strings.TrimSpace(notAudited), "\n", " "), ", ")
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for _, below := range c.Commands() {
			visit(below)
		}
		_, name, _ := strings.Cut(c.CommandPath(), " ")
		if c.HasSubCommands() || name == "" || strings.HasPrefix(name, "completion") {
			return
		}
		if listed := slices.Contains(known, name); listed == cli.IsChange(c) {
			t.Errorf("%s: audited %v, in the list of commands that are not %v", name, cli.IsChange(c), listed)
		}
	}
	visit(root(&cli.App{Console: &cli.Console{}}))
}

func TestNetworksAreCountedByTheirDatabase(t *testing.T) {
	t.Parallel()
	made, err := filepath.Abs("../../distribute/geo/testdata/networks.mmdb")
	put(t, err)
	folder := t.TempDir()
	o := mustRun(t, folder, "geoip", "info", made)
	hasLine(t, o.stdout, "holds", "networks (ASN)")
	hasLine(t, o.stderr, "warning: country database Example-ASN has networks (ASN) and no countries: it is for --asn")
	write(t, folder, "a.log", strings.Repeat(`1.1.1.1 - - [01/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 1`+"\n", 3)+`10.0.0.1 - - [01/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 1`+"\n")
	by := []string{"logs", "count", "a.log", "--by", "asn,format,file"}
	o = mustRun(t, folder, append(by, "--asn", made, "-o", "csv", "--html", "a.html")...)
	if want := "asn,format,file,requests\n-,common,a.log,1\nAS13335,common,a.log,3\n"; o.stdout != want {
		t.Errorf("%s, want %s", o.stdout, want)
	}
	hasLine(t, o.stderr, "lines=4 counted=3 unknown_country=1", "private=1")
	hasLine(t, o.stderr, "country database: geo-whois-asn-country ", " + Example-ASN ")
	page, err := os.ReadFile(filepath.Join(folder, "a.html"))
	if put(t, err); !strings.Contains(string(page), "<h2>Networks</h2>") || !strings.Contains(string(page), "<h2>Formats</h2>") || !strings.Contains(string(page), "<h2>Files</h2>") {
		t.Error("the page lacks a table")
	}
	for _, wrong := range [][]string{by, {"logs", "count", "a.log", "--where", `asn == "AS1"`}} {
		o = skidway(t, folder, wrong...)
		if o.code != cli.ExitUsage || !strings.Contains(o.stderr, "asn needs --asn FILE") {
			t.Errorf("%v: %d, %s", wrong, o.code, o.stderr)
		}
	}
}

func TestGeoIPInfoShowsADatabaseAndWarns(t *testing.T) {
	t.Parallel()
	o := mustRun(t, "", "geoip", "info", "-o", "csv")
	for _, part := range []string{"field,value\n", "type,geo-whois-asn-country\n", "date,20", "holds,countries\n", "addresses,\"IPv4, IPv6\"\n"} {
		if !strings.Contains(o.stdout, part) {
			t.Errorf("there is no %q in %s", part, o.stdout)
		}
	}
	made, err := filepath.Abs("../../distribute/geo/testdata/GeoIP2-Country-Test.mmdb")
	put(t, err)
	folder := t.TempDir()
	o = mustRun(t, folder, "geoip", "info", made)
	hasLine(t, o.stdout, "type", "GeoIP2-Country")
	hasLine(t, o.stderr, "warning: country database", "check that it is complete")
	// Most addresses of a log are not in it.
	write(t, folder, "a.log", strings.Repeat(`9.9.9.9 - - [01/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 1`+"\n", 1000))
	o = mustRun(t, folder, "logs", "count", "a.log", "--geoip", made)
	hasLine(t, o.stderr, "warning: 100 % of the addresses have no country", "--trusted-proxies")
}

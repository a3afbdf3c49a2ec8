package main

import (
	"testing"

	"skidway/cmd/skidway/internal/cli"
	"skidway/queue"
)

func TestJobsFollowAJobOfTheCommandLine(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	file := write(t, t.TempDir(), "then.json", `[{"kind":"email.send","queue":"mail","args":{"to":"{{.result.owner}}","subject":"{{.result.lines}} lines","text":"x"}}]`)
	for name, then := range map[string]string{"given": `[{"kind":"a"},{"kind":"b","priority":"high","then":[{"kind":"c"}]}]`, "in a file": "@" + file} {
		job, err := d.client.Get(t.Context(), d.must("enqueue", "mail", "report", "--then", then).one(t))
		if err != nil || len(job.Then) == 0 {
			t.Errorf("%s: %+v, %v", name, job, err)
			continue
		}
		last := job.Then[len(job.Then)-1]
		if name == "given" && (len(job.Then) != 2 || last.Args.Kind() != "b" || last.Options.Priority != queue.High || len(last.Options.Then) != 1) {
			t.Errorf("%s: %+v", name, job.Then)
		}
		if name == "in a file" && last.Args.Kind() != "email.send" {
			t.Errorf("%s: %+v", name, job.Then)
		}
	}
}

func TestJobsThatCannotFollowAreWrongUsage(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	for name, c := range map[string]struct{ then, want string }{
		"no JSON":             {`[{]`, "--then: its jobs are not JSON"},
		"no list":             {`{"kind":"a"}`, "want a list of jobs"},
		"empty":               {` `, "--then"},
		"no kind":             {`[{}]`, "needs a kind"},
		"unknown option":      {`[{"kind":"a","nope":1}]`, "nope"},
		"wrong args":          {`[{"kind":"a"},{"kind":"http.request","args":{"url":"ftp://x"}}]`, "then[1]: "},
		"wrong args deeper":   {`[{"kind":"a","then":[{"kind":"exec.run"}]}]`, "then[0]: then[0]: "},
		"unknown field":       {`[{"kind":"exec.run","args":{"command":"{{.result}}","nope":1}}]`, "nope"},
		"wrong beside braces": {`[{"kind":"email.send","args":{"to":"no address","text":"{{.result}}"}}]`, "field to"},
	} {
		d.ends(d.run("enqueue", "mail", "report", "--then", c.then), cli.ExitUsage, c.want)
		if t.Failed() {
			t.Fatal(name)
		}
	}
	d.ends(d.run("enqueue", "mail", "report", "--then", "@/no/such"), cli.ExitFailed, "/no/such")
}

func TestFieldsThatAreFilledInLaterAreLetThrough(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	for name, then := range map[string]string{
		"a text":            `[{"kind":"http.request","args":{"url":"{{.result.url}}"}}]`,
		"an object":         `[{"kind":"email.send","args":{"to":"a@example.com","text":"x","data":"{{.result}}"}}]`,
		"inside of a field": `[{"kind":"email.send","args":{"to":["a@example.com","{{.result.to}}"],"text":"x"}}]`,
	} {
		if o := d.run("enqueue", "mail", "report", "--then", then); o.code != cli.ExitDone {
			t.Errorf("%s: %s", name, o.stderr)
		}
	}
}

package access

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"skidway/queue"
)

// principal returns a principal with scopes.
func principal(t testing.TB, texts ...string) *Principal {
	t.Helper()
	scopes, err := ParseScopes(texts)
	if err != nil {
		t.Fatal(err)
	}
	return &Principal{Name: "ada", Scopes: scopes}
}

// withDefaults are args with default options.
type withDefaults struct{}

func (withDefaults) Kind() string { return "report" }
func (withDefaults) Options() *queue.Options {
	return &queue.Options{Queue: "reports", Then: []queue.NewJob{{Args: queue.Raw("exec.run", nil)}}}
}

func TestEveryJobThatIsAddedNeedsAScope(t *testing.T) {
	for _, c := range []struct {
		name, job string
		scopes    []string
		needs     string // empty: it may be added; "invalid": the job is refused
	}{
		{"plain", `{"queue":"mail","kind":"email.send"}`, []string{"enqueue:mail:email.send"}, ""},
		{"default queue", `{"kind":"report"}`, []string{"enqueue:mail"}, "enqueue:default:report"},
		{"follows in its queue", `{"queue":"mail","kind":"a","then":[{"kind":"b"}]}`, []string{"enqueue:mail"}, ""},
		{"follows elsewhere", `{"queue":"mail","kind":"a","then":[{"kind":"b","queue":"x"}]}`, []string{"enqueue:mail"}, "enqueue:x:b"},
		{"follows deep", `{"queue":"mail","kind":"a","then":[{"kind":"b"},{"kind":"c","then":[{"kind":"exec.run"}]}]}`, []string{"enqueue:mail"}, "enqueue:mail:exec.run"},
		{"follows the default of a queue", `{"kind":"a","queue":"x","then":[{"kind":"b"}]}`, []string{"enqueue:x:a", "enqueue:default"}, "enqueue:x:b"},
		{"forwarded", `{"queue":"mail","kind":"skidway.forward","args":{"job":{"kind":"exec.run"}}}`, []string{"enqueue:mail:skidway.*"}, "enqueue:default:exec.run"},
		{"forwarded without its queue", `{"queue":"mail","kind":"skidway.forward","args":{"job":{"kind":"report"}}}`, []string{"enqueue:mail:skidway.forward", "enqueue:mail"}, "enqueue:default:report"},
		{"forwarded to its queue", `{"queue":"mail","kind":"skidway.forward","args":{"job":{"kind":"report","queue":"mail","then":[{"kind":"a"}]}}}`, []string{"enqueue:mail:skidway.forward", "enqueue:mail"}, ""},
		{"follows and is forwarded", `{"queue":"mail","kind":"a","then":[{"kind":"skidway.forward","args":{"job":{"kind":"report"}}}]}`, []string{"enqueue:mail:skidway.forward", "enqueue:mail"}, "enqueue:default:report"},
		{"follows what is forwarded", `{"queue":"mail","kind":"skidway.forward","args":{"job":{"kind":"a","then":[{"kind":"b"}]}}}`, []string{"enqueue:mail:skidway.forward", "enqueue:mail", "enqueue:default:a"}, "enqueue:default:b"},
		{"forwarded, another case", `{"queue":"mail","kind":"skidway.forward","args":{"JOB":{"KIND":"exec.run"}}}`, []string{"enqueue:mail:skidway.*"}, "enqueue:default:exec.run"},
		{"forwarded twice", `{"queue":"mail","kind":"skidway.forward","args":{"job":{"kind":"skidway.forward","queue":"mail","args":{"job":{"kind":"exec.run"}}}}}`, []string{"enqueue:mail:skidway.*"}, "enqueue:default:exec.run"},
		{"forwarded template", `{"queue":"mail","kind":"skidway.forward","args":{"job":{"kind":"{{.result}}"}}}`, []string{"enqueue:mail:skidway.*", "enqueue:*"}, "enqueue:default:{{.result}}"},
		{"all forwarded is a template", `{"queue":"mail","kind":"skidway.forward","args":{"job":"{{.result}}"}}`, []string{"enqueue:mail:skidway.*"}, "invalid"},
		{"forwards nothing", `{"queue":"mail","kind":"skidway.forward","then":[{"kind":"a"}]}`, []string{"enqueue:mail:skidway.*", "enqueue:mail:a"}, ""},
		{"no scope", `{"kind":"a"}`, nil, "enqueue:default:a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var job queue.NewJob
			if err := json.Unmarshal([]byte(c.job), &job); err != nil {
				t.Fatal(err)
			}
			checkNeeds(t, principal(t, c.scopes...).CheckJob(job), c.needs)
		})
	}
	deep := `{"kind":"a"}`
	for range 40 {
		deep = `{"kind":"skidway.forward","args":{"job":` + deep + `}}`
	}
	var job queue.NewJob
	if err := json.Unmarshal([]byte(deep), &job); err != nil {
		t.Fatal(err)
	}
	checkNeeds(t, principal(t, "enqueue:*", "enqueue:*:skidway.*").CheckJob(job), "invalid")
	checkNeeds(t, principal(t, "enqueue:*").CheckJob(queue.NewJob{Args: withDefaults{}}), "enqueue:reports:exec.run")
	checkNeeds(t, principal(t, "enqueue:*").CheckJob(queue.NewJob{}), "invalid")
	checkNeeds(t, (*Principal)(nil).CheckJob(queue.NewJob{Args: queue.Raw("a", nil)}), "enqueue:default:a")
}

func checkNeeds(t *testing.T, err error, needs string) {
	t.Helper()
	var forbidden *ForbiddenError
	switch {
	case needs == "" && err == nil:
	case needs == "invalid" && errors.Is(err, queue.ErrInvalid):
	case errors.As(err, &forbidden) && forbidden.Needs.String() == needs:
	default:
		t.Errorf("error %v, want the need of %q", err, needs)
	}
}

func TestContextHasItsPrincipal(t *testing.T) {
	p := principal(t, "view:*")
	if FromContext(NewContext(t.Context(), p)) != p || FromContext(context.Background()) != nil {
		t.Error("a context has another principal")
	}
}

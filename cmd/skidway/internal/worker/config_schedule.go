package worker

import (
	"encoding/json"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"skidway/queue"
)

type scheduleConfig struct {
	Name    string  `yaml:"name"`
	Cron    string  `yaml:"cron"`
	Zone    string  `yaml:"tz"`
	CatchUp string  `yaml:"catch_up"`
	Job     jobYAML `yaml:"job"`

	line int
}

// UnmarshalYAML notes where the schedule is.
func (s *scheduleConfig) UnmarshalYAML(node ast.Node) error {
	type plain scheduleConfig
	p := plain{line: node.GetToken().Position.Line}
	if err := yaml.NodeToValue(node, &p, yaml.Strict()); err != nil {
		return err
	}
	*s = scheduleConfig(p)
	return nil
}

// schedule is the schedule as Redis is to have it.
func (s *scheduleConfig) schedule(revision wholeNumber) (queue.Schedule, error) {
	args, err := json.Marshal(s.Job.Args)
	if err != nil {
		return queue.Schedule{}, err
	}
	return queue.Schedule{
		Name: s.Name, Expr: s.Cron, Zone: s.Zone, Queue: s.Job.Options.Queue, Kind: s.Job.Args.Kind(), Args: args,
		Options: s.Job.Options, CatchUp: queue.CatchUp(s.CatchUp), Revision: max(1, int(revision)),
	}, nil
}

// A jobYAML is a job, with the names that it has in JSON.
type jobYAML struct{ queue.Insert }

// UnmarshalYAML reads the job as JSON.
func (j *jobYAML) UnmarshalYAML(node ast.Node) error {
	text, err := node.MarshalYAML()
	if err == nil {
		text, err = yaml.YAMLToJSON(text)
	}
	if err == nil {
		err = j.Insert.UnmarshalJSON(text)
	}
	if err != nil {
		return &lineError{node.GetToken().Position.Line, err}
	}
	return nil
}

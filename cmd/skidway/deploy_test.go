package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"skidway/cmd/skidway/internal/cli"
	"skidway/workers"
)

const deploy = "../../deploy/"

// deployFile reads a file of the folder deploy.
func deployFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(deploy, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// checkCommand fails the test unless the line is a valid command line of skidway.
func checkCommand(t *testing.T, line string) {
	t.Helper()
	root := root((&cli.App{Console: &cli.Console{}}))
	c, rest, err := root.Find(strings.Fields(line))
	if err == nil {
		err = c.ParseFlags(rest)
	}
	if err == nil {
		err = c.ValidateArgs(c.Flags().Args())
	}
	if err == nil {
		err = c.ValidateRequiredFlags()
	}
	if err != nil || c == root {
		t.Errorf("%s: %v", line, err)
	}
}

// stopTimeout returns how long a worker with the deployed configuration takes to stop
// at most.
func stopTimeout(t *testing.T) time.Duration {
	t.Helper()
	var c struct{ Worker struct{ Drain string } }
	if err := yaml.Unmarshal([]byte(deployFile(t, "skidway.yaml")), &c); err != nil {
		t.Fatal(err)
	}
	drain, err := time.ParseDuration(c.Worker.Drain)
	if err != nil {
		t.Fatal(err)
	}
	return drain + workers.DefaultGrace
}

func TestDeployedComposeFileIsValid(t *testing.T) {
	t.Parallel()
	var file struct {
		Services map[string]struct {
			Image, Command, Restart, User string
			Build                         struct{ Context, Dockerfile string }
			Environment                   map[string]string
			Volumes, Ports                []string
			DependsOn                     map[string]struct{ Condition string } `yaml:"depends_on"`
			StopGracePeriod               string                                `yaml:"stop_grace_period"`
			Deploy                        struct{ Replicas int }
			Healthcheck                   struct {
				Test, Interval string
				Retries        int
			}
		}
		Volumes map[string]any
	}
	if err := yaml.UnmarshalWithOptions([]byte(deployFile(t, "compose.yaml")), &file, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"redis", "uploader", "aggregator", "worker"} {
		s, there := file.Services[name]
		if !there {
			t.Errorf("no service %s", name)
		}
		if s.Image != "" {
			continue
		}
		checkCommand(t, s.Command)
		if _, err := os.Stat(filepath.Join(deploy, s.Build.Context, s.Build.Dockerfile)); err != nil {
			t.Error(err)
		}
		for other := range s.DependsOn {
			if _, there := file.Services[other]; !there {
				t.Errorf("%s depends on %s, which is not there", name, other)
			}
		}
		for _, volume := range s.Volumes {
			if path, _, _ := strings.Cut(volume, ":"); strings.HasPrefix(path, "./") {
				if _, err := os.Stat(filepath.Join(deploy, path)); err != nil {
					t.Error(err)
				}
			}
		}
	}
	if file.Services["aggregator"].Deploy.Replicas != 2 {
		t.Error("want two aggregators")
	}
	if grace, err := time.ParseDuration(file.Services["worker"].StopGracePeriod); err != nil || grace < stopTimeout(t) {
		t.Errorf("the worker has %s to stop and may need %s: %v", grace, stopTimeout(t), err)
	}
}

func TestDeployedUnitIsValid(t *testing.T) {
	t.Parallel()
	settings := map[string]string{}
	for line := range strings.Lines(deployFile(t, "skidway.service")) {
		if name, value, set := strings.Cut(strings.TrimSpace(line), "="); set && !strings.HasPrefix(line, "#") {
			settings[name] = value
		}
	}
	checkCommand(t, strings.TrimPrefix(settings["ExecStart"], "/usr/local/bin/skidway "))
	if timeout, err := time.ParseDuration(settings["TimeoutStopSec"] + "s"); err != nil || timeout < stopTimeout(t) {
		t.Errorf("the worker has %s to stop and may need %s: %v", timeout, stopTimeout(t), err)
	}
	if settings["Type"] != "notify" || settings["KillMode"] != "mixed" || settings["RestartPreventExitStatus"] != "2" {
		t.Errorf("%v", settings)
	}
}

func TestDockerfileBuildsWithTheGoOfTheModule(t *testing.T) {
	t.Parallel()
	module, err := os.ReadFile(filepath.Join(moduleRoot, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	_, version, _ := strings.Cut(string(module), "\ngo ")
	text := deployFile(t, "Dockerfile")
	hasLine(t, text, "FROM golang:"+version[:len("1.26")]+" AS build")
	hasLine(t, text, "go build ", " -o /skidway ./cmd/skidway")
	hasLine(t, text, "COPY --from=build /skidway /skidway")
	for _, file := range []string{"Dockerfile", "compose.yaml"} {
		hasLine(t, deployFile(t, file), "# docker ", " -f deploy/"+file+" ")
	}
}

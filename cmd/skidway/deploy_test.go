package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"skidway/workers"
)

const deploy = "../../deploy/"

// deployed reads a file of the folder deploy.
func deployed(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(deploy, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// isCommand fails the test unless the command line is one of ours.
func isCommand(t *testing.T, line string) {
	t.Helper()
	root := (&app{console: &console{}}).root()
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

// needs is how long a worker with the deployed configuration may take to stop.
func needs(t *testing.T) time.Duration {
	t.Helper()
	text := strings.ReplaceAll(deployed(t, "skidway.yaml"), "/logs", t.TempDir())
	c, err := read(t, text, none)
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(c.Worker.Drain) + workers.DefaultGrace
}

func TestDeployedConfigIsRight(t *testing.T) {
	t.Parallel()
	text := deployed(t, "skidway.yaml")
	folder := t.TempDir()
	if _, err := read(t, strings.ReplaceAll(text, "/logs", folder), none); err != nil {
		t.Error(err)
	}
	// What is commented out is right as well.
	secret := write(t, folder, "smtp", "x\n")
	on := regexp.MustCompile(`(?m)^(  )?# ([a-z_. ]+:|  )`).ReplaceAllString(text, "$1$2")
	on = strings.NewReplacer("/logs", folder, "/run/secrets/smtp", secret).Replace(on)
	c, err := read(t, on, none)
	if err != nil || c.Kinds.Email.Host == "" || len(c.Kinds.Exec.Commands) == 0 || c.Listen == "" {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestDeployedComposeFileIsTrue(t *testing.T) {
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
	if err := yaml.UnmarshalWithOptions([]byte(deployed(t, "compose.yaml")), &file, yaml.Strict()); err != nil {
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
		isCommand(t, s.Command)
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
	if grace, err := time.ParseDuration(file.Services["worker"].StopGracePeriod); err != nil || grace < needs(t) {
		t.Errorf("the worker has %s to stop and may need %s: %v", grace, needs(t), err)
	}
}

func TestDeployedUnitIsTrue(t *testing.T) {
	t.Parallel()
	settings := map[string]string{}
	for line := range strings.Lines(deployed(t, "skidway.service")) {
		if name, value, set := strings.Cut(strings.TrimSpace(line), "="); set && !strings.HasPrefix(line, "#") {
			settings[name] = value
		}
	}
	isCommand(t, strings.TrimPrefix(settings["ExecStart"], "/usr/local/bin/skidway "))
	if most, err := time.ParseDuration(settings["TimeoutStopSec"] + "s"); err != nil || most < needs(t) {
		t.Errorf("the worker has %s to stop and may need %s: %v", most, needs(t), err)
	}
	if settings["Type"] != "notify" || settings["KillMode"] != "mixed" || settings["RestartPreventExitStatus"] != "2" {
		t.Errorf("%v", settings)
	}
}

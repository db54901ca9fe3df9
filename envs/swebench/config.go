package swebench

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hindsightrl/harness/envs/internal/container"
	"github.com/hindsightrl/harness/internal/errext"
)

// Name is the environment name of SWE-bench tasks.
const Name = "swebench"

// Interface is how an agent acts.
type Interface string

// The interfaces.
const (
	Bash  Interface = "bash"  // a shell command a turn; observations as mini-swe-agent's
	Tools Interface = "tools" // a call of file_editor, search, execute_bash or finish; observations as R2E-Gym's
)

// ParseInterface reads an interface's name.
func ParseInterface(name string) (Interface, error) {
	switch i := Interface(name); i {
	case Bash, Tools:
		return i, nil
	}
	return "", errext.WithHint(fmt.Errorf("no interface %q", name), "there are bash and tools")
}

// Defaults of Config. The commands' limits are the scaffolds' own.
const (
	DefaultBashTimeout  = 60 * time.Second
	DefaultToolsTimeout = 90 * time.Second
	DefaultSetupTimeout = 10 * time.Minute
	DefaultReady        = 4
	NoReady             = -1
)

// Config configures a Suite. The zero value is the bash interface in strict containers of the official
// images, without a judge.
type Config struct {
	Interface Interface
	Images    ImageConfig
	// Limits bound what a container may use, Relax gives defaults up: no network, no capabilities, no new
	// privileges. What was given up is part of Info.
	Limits Limits
	Relax  Relax
	// StepTimeout ends a command; 0 is the interface's default.
	StepTimeout time.Duration
	// SetupTimeout bounds what is done before the agent looks and after it stopped: removing future
	// history, taking the patch. 0 is DefaultSetupTimeout.
	SetupTimeout time.Duration
	// KeepHistory leaves the future in the repository, which an agent can look up the repair in.
	KeepHistory bool
	// Hints shows the comments that were made on the issue before it was solved.
	Hints bool
	// Patch bounds what is taken; the zero value is DefaultPatchLimits.
	Patch PatchLimits
	// Ready is how many containers are prepared ahead of the episodes that Prepare tells of, beside those of
	// episodes under way; 0 is DefaultReady, NoReady none.
	Ready int
	// Judge evaluates patches; nil leaves every reward at 0 and says so.
	Judge Judge
}

func (c Config) withDefaults() Config {
	if c.Interface == "" {
		c.Interface = Bash
	}
	if c.StepTimeout == 0 {
		c.StepTimeout = DefaultBashTimeout
		if c.Interface == Tools {
			c.StepTimeout = DefaultToolsTimeout
		}
	}
	if c.SetupTimeout == 0 {
		c.SetupTimeout = DefaultSetupTimeout
	}
	if c.Ready == 0 {
		c.Ready = DefaultReady
	}
	if c.Patch == (PatchLimits{}) {
		c.Patch = DefaultPatchLimits
	}
	return c
}

// Validate reports the first value that cannot work.
func (c Config) Validate() error {
	c = c.withDefaults()
	if _, err := ParseInterface(string(c.Interface)); err != nil {
		return err
	}
	if _, err := c.Images.arch(); err != nil {
		return err
	}
	if c.StepTimeout < 0 || c.SetupTimeout < 0 {
		return errors.New("swebench config: a time-out is below 0")
	}
	if c.Ready < NoReady {
		return fmt.Errorf("swebench config: %d containers prepared ahead", c.Ready)
	}
	return c.Patch.Validate()
}

// commandEnv keeps pagers and progress bars out of outputs, and activates the environment that official
// images keep in root's profile. Source: SWE-agent/mini-swe-agent@a83fcae8 config/benchmarks/swebench.yaml.
var commandEnv = []string{
	"PAGER=cat", "MANPAGER=cat", "GIT_PAGER=cat", "LESS=-R", "PIP_PROGRESS_BAR=off", "TQDM_DISABLE=1", "BASH_ENV=/root/.bashrc",
}

// spec is the container of an instance's episode.
func (c Config) spec(in *Instance, image string) container.Spec {
	return container.Spec{
		Image: image, Prefix: "hindsight." + containerSafe(in.ID), WorkDir: WorkDir, Env: commandEnv,
		Limits: c.Limits, Relax: c.Relax,
	}
}

// containerSafe makes an id a part of a container's name.
func containerSafe(id string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '.', r == '-':
			return r
		}
		return '-'
	}, id)
}

package container

import (
	"errors"
	"slices"

	"github.com/docker/docker/api/types/container"
)

// Spec is a container to be made.
type Spec struct {
	Image   string
	Name    string // "" lets the daemon choose
	WorkDir string
	Env     []string // "NAME=value"
	Limits  Limits
	Relax   Relax
}

// Limits bound what a container may use. A zero takes the default.
type Limits struct {
	Processes int64   // default 1024
	Memory    int64   // bytes, default 8 GiB; swap is not allowed beyond it
	CPUs      float64 // default 2
}

// The defaults of Limits.
const (
	DefaultProcesses = 1024
	DefaultMemory    = 8 << 30
	DefaultCPUs      = 2
)

// Relax gives up defaults by name.
type Relax struct {
	Network      string   // a Docker network's name, "bridge" or "host"; "" is none
	Capabilities []string // added to none, e.g. "SYS_ADMIN" for a browser's sandbox
	Privileges   bool     // allow new privileges (set-uid programs)
	Unlimited    bool     // no limits on processes, memory and processors
}

// names lists what was relaxed, for the run's record.
func (r Relax) names() []string {
	var all []string
	if r.Network != "" {
		all = append(all, "network="+r.Network)
	}
	for _, c := range slices.Sorted(slices.Values(r.Capabilities)) {
		all = append(all, "capability="+c)
	}
	if r.Privileges {
		all = append(all, "new-privileges")
	}
	if r.Unlimited {
		all = append(all, "unlimited")
	}
	return all
}

func (s Spec) validate() error {
	switch {
	case s.Image == "":
		return errors.New("no image is named")
	case s.Limits.Processes < 0 || s.Limits.Memory < 0 || s.Limits.CPUs < 0:
		return errors.New("a limit is below 0")
	}
	return nil
}

// host translates limits and relaxations.
func (s Spec) host() *container.HostConfig {
	h := &container.HostConfig{NetworkMode: "none", CapDrop: []string{"ALL"}, CapAdd: s.Relax.Capabilities}
	if s.Relax.Network != "" {
		h.NetworkMode = container.NetworkMode(s.Relax.Network)
	}
	if !s.Relax.Privileges {
		h.SecurityOpt = []string{"no-new-privileges"}
	}
	if s.Relax.Unlimited {
		return h
	}
	processes, memory, cpus := s.Limits.Processes, s.Limits.Memory, s.Limits.CPUs
	if processes == 0 {
		processes = DefaultProcesses
	}
	if memory == 0 {
		memory = DefaultMemory
	}
	if cpus == 0 {
		cpus = DefaultCPUs
	}
	h.PidsLimit, h.Memory, h.MemorySwap, h.NanoCPUs = &processes, memory, memory, int64(cpus*1e9)
	return h
}

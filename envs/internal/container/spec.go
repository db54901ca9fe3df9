package container

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/docker/docker/api/types/container"
)

// Spec is a container to be made.
type Spec struct {
	Image   string
	Name    string // "" lets the daemon choose, or makes one of Prefix
	Prefix  string // of a name that nobody else has: <prefix>.<8 hex digits>
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
	Disk      int64   // bytes that it may write, in files of the image's system; default 10 GiB
}

// The defaults of Limits.
const (
	DefaultProcesses = 1024
	DefaultMemory    = 8 << 30
	DefaultCPUs      = 2
	DefaultDisk      = 10 << 30
)

// Relax gives up defaults by name.
type Relax struct {
	Network      string   // a Docker network's name, "bridge" or "host"; "" is none
	Capabilities []string // added to none, e.g. "SYS_ADMIN" for a browser's sandbox
	Privileges   bool     // allow new privileges (set-uid programs)
	Unlimited    bool     // no limits on processes, memory, processors and disk
}

// The names of what can be relaxed, as Names writes and ParseRelax reads them.
const (
	relaxNetwork    = "network="
	relaxCapability = "capability="
	relaxPrivileges = "new-privileges"
	relaxUnlimited  = "unlimited"
	relaxOfficial   = "official"
)

// officialCapabilities are what Docker gives by default, and the one that the official harness adds.
var officialCapabilities = []string{
	"AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "NET_RAW",
	"SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_ADMIN", "SYS_CHROOT",
}

// ParseRelax reads names as Names writes them. "official" is everything that the official harness
// allows: Docker's bridge network, its capabilities and SYS_ADMIN, new privileges, and no limits.
func ParseRelax(names []string) (Relax, error) {
	var r Relax
	for _, name := range names {
		network, isNetwork := strings.CutPrefix(name, relaxNetwork)
		capability, isCapability := strings.CutPrefix(name, relaxCapability)
		switch {
		case isNetwork && network != "":
			r.Network = network
		case isCapability && capability != "":
			r.Capabilities = append(r.Capabilities, capability)
		case name == relaxPrivileges:
			r.Privileges = true
		case name == relaxUnlimited:
			r.Unlimited = true
		case name == relaxOfficial:
			r = Relax{Network: "bridge", Capabilities: officialCapabilities, Privileges: true, Unlimited: true}
		default:
			return r, fmt.Errorf("relax %q: want network=NAME, capability=NAME, %s, %s or %s", name, relaxPrivileges, relaxUnlimited, relaxOfficial)
		}
	}
	return r, nil
}

// Names lists what was relaxed, for the run's record.
func (r Relax) Names() []string {
	var all []string
	if r.Network != "" {
		all = append(all, relaxNetwork+r.Network)
	}
	for _, c := range slices.Sorted(slices.Values(r.Capabilities)) {
		all = append(all, relaxCapability+c)
	}
	if r.Privileges {
		all = append(all, relaxPrivileges)
	}
	if r.Unlimited {
		all = append(all, relaxUnlimited)
	}
	return all
}

func (s Spec) validate() error {
	switch {
	case s.Image == "":
		return errors.New("no image is named")
	case s.Limits.Processes < 0 || s.Limits.Memory < 0 || s.Limits.CPUs < 0 || s.Limits.Disk < 0:
		return errors.New("a limit is below 0")
	}
	return nil
}

// name is the container's name; "" lets the daemon choose.
func (s Spec) name() string {
	if s.Name != "" || s.Prefix == "" {
		return s.Name
	}
	return fmt.Sprintf("%s.%08x", notInNames.ReplaceAllString(s.Prefix, "_"), rand.Uint32())
}

// disk is the bound on what the container may write, 0 for none.
func (s Spec) disk() int64 {
	switch {
	case s.Relax.Unlimited:
		return 0
	case s.Limits.Disk == 0:
		return DefaultDisk
	}
	return s.Limits.Disk
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
	// One file cannot grow beyond the bound; many files are noticed while commands run.
	h.Ulimits = []*container.Ulimit{{Name: "fsize", Soft: s.disk(), Hard: s.disk()}}
	h.PidsLimit, h.Memory, h.MemorySwap, h.NanoCPUs = &processes, memory, memory, int64(cpus*1e9)
	return h
}

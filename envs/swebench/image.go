package swebench

import (
	"errors"
	"fmt"
	"strings"
)

// ImageConfig chooses between the official names of one image. The zero value is what a user pulls.
type ImageConfig struct {
	Namespace string // "" is "swebench"; "none" means images that were built locally, without a namespace
	Tag       string // "" is "latest"
	Arch      string // "" is "x86_64"; or "arm64" (and the synonyms amd64 and aarch64)
}

// ErrArch is returned for an architecture that no official image has.
var ErrArch = errors.New("official images are for x86_64 and arm64")

func (c ImageConfig) arch() (string, error) {
	switch c.Arch {
	case "", "x86_64", "amd64":
		return "x86_64", nil
	case "arm64", "aarch64":
		return "arm64", nil
	}
	return "", fmt.Errorf("architecture %q: %w", c.Arch, ErrArch)
}

// ImageName is the official name of an instance's image: sweb.eval.<arch>.<id>:<tag>, in lower case;
// under a namespace each "__" is written "_1776_", for a registry takes no double underscore.
func ImageName(id string, c ImageConfig) (string, error) {
	arch, err := c.arch()
	if err != nil {
		return "", err
	}
	tag := c.Tag
	if tag == "" {
		tag = "latest"
	}
	name := "sweb.eval." + arch + "." + strings.ToLower(id) + ":" + tag
	switch c.Namespace {
	case "none":
		return name, nil
	case "":
		return strings.ReplaceAll("swebench/"+name, "__", "_1776_"), nil
	}
	return strings.ReplaceAll(c.Namespace+"/"+name, "__", "_1776_"), nil
}

// Images lists the names under which an instance's image may be found, the most exact first and each
// once: the row's own, the official one by the config, and the name of an image built locally.
func Images(in *Instance, c ImageConfig) ([]string, error) {
	official, err := ImageName(in.ID, c)
	if err != nil {
		return nil, err
	}
	local := c
	local.Namespace = "none"
	built, err := ImageName(in.ID, local)
	if err != nil {
		return nil, err
	}
	var names []string
	seen := map[string]bool{"": true}
	for _, n := range [...]string{in.Image, official, built} {
		short := strings.TrimPrefix(n, "docker.io/")
		if !seen[short] {
			seen[short] = true
			names = append(names, n)
		}
	}
	return names, nil
}

// ContainerName is the official name of the container that evaluates an instance in a run.
func ContainerName(id, runID string) string {
	return "sweb.eval." + strings.ToLower(id) + "." + runID
}

package swebench_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hindsightrl/harness/envs/swebench"
)

func TestImageNames(t *testing.T) {
	t.Parallel()
	tests := []struct {
		config swebench.ImageConfig
		want   string
	}{
		{swebench.ImageConfig{}, "swebench/sweb.eval.x86_64.pallets_1776_flask-1:latest"},
		{swebench.ImageConfig{Namespace: "me/x", Tag: "v2", Arch: "aarch64"}, "me/x/sweb.eval.arm64.pallets_1776_flask-1:v2"},
		{swebench.ImageConfig{Namespace: "none", Arch: "amd64"}, "sweb.eval.x86_64.pallets__flask-1:latest"},
	}
	for _, tt := range tests {
		if got, err := swebench.ImageName("Pallets__Flask-1", tt.config); err != nil || got != tt.want {
			t.Errorf("%+v: %s, %v, want %s", tt.config, got, err, tt.want)
		}
	}
	if _, err := swebench.ImageName("a", swebench.ImageConfig{Arch: "riscv"}); !errors.Is(err, swebench.ErrArch) {
		t.Errorf("another architecture: %v", err)
	}
}

func TestImagesNamesEachOnce(t *testing.T) {
	t.Parallel()
	const official, local = "swebench/sweb.eval.x86_64.pallets_1776_flask-1:latest", "sweb.eval.x86_64.pallets__flask-1:latest"
	tests := []struct {
		image string
		want  []string
	}{
		{"", []string{official, local}},
		{"own:1", []string{"own:1", official, local}},
		{"docker.io/" + official, []string{"docker.io/" + official, local}},
	}
	for _, tt := range tests {
		in := instance(t, nil)
		in.Image = tt.image
		got, err := swebench.Images(in, swebench.ImageConfig{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.image, diff)
		}
	}
	if _, err := swebench.Images(instance(t, nil), swebench.ImageConfig{Arch: "x"}); err == nil {
		t.Error("another architecture has images")
	}
	if got := swebench.ContainerName("A__b-1", "run"); got != "sweb.eval.a__b-1.run" {
		t.Errorf("container %s", got)
	}
}

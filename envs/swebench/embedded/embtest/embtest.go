// Package embtest gives tests a Docker engine and the images of the embedded instances, or skips them
// with a line that says what is missing. Images are built once per machine and recipe, and stay.
package embtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hindsightrl/harness/envs/internal/container"
	"github.com/hindsightrl/harness/envs/swebench"
	"github.com/hindsightrl/harness/envs/swebench/embedded"
)

// Engine opens the daemon for one test, as an owner of its own, and removes what the test leaves. The
// test is skipped where no daemon answers.
func Engine(t testing.TB) *container.Engine {
	t.Helper()
	e, err := container.Open(t.Context(), container.Config{Owner: Owner(t), Run: "run"})
	if errors.Is(err, container.ErrNoDaemon) {
		t.Skip("no Docker daemon answers: start one, or set DOCKER_HOST, to test containers")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := e.Reap(context.WithoutCancel(t.Context()), func(string) bool { return false }); err != nil {
			t.Error(err)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// Owner is the name of the owner whose containers Engine removes.
func Owner(t testing.TB) string {
	return fmt.Sprintf("test-%d-%s", os.Getpid(), strings.ToLower(strings.NewReplacer("/", "-", " ", "-").Replace(t.Name())))
}

// Open is Engine with the embedded instances, whose images are there when it returns. The test is
// skipped where they are not and cannot be made, and in short mode where they would have to be: that
// takes minutes.
func Open(t testing.TB) (*container.Engine, *swebench.Dataset) {
	t.Helper()
	e := Engine(t)
	data, err := embedded.Dataset()
	if err != nil {
		t.Fatal(err)
	}
	if there(t, e) {
		return e, data
	}
	if testing.Short() {
		t.Skip("the embedded images are not built: harness swebench images --base mmdebstrap, or test without -short")
	}
	unlock, err := lock(filepath.Join(os.TempDir(), "hindsight-embedded-images.lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	var log strings.Builder
	_, err = embedded.BuildImages(t.Context(), e, embedded.Options{Base: embedded.BaseLocal, Log: &log})
	if errors.Is(err, embedded.ErrNoMmdebstrap) {
		t.Skip("the embedded images are not built, and mmdebstrap is not installed: apt-get install mmdebstrap, or harness swebench images")
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	return e, data
}

func there(t testing.TB, e *container.Engine) bool {
	t.Helper()
	for _, id := range embedded.IDs {
		name, err := embedded.ImageName(id)
		if err != nil {
			t.Fatal(err)
		}
		found, err := e.HasImage(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if !found {
			return false
		}
	}
	return true
}
